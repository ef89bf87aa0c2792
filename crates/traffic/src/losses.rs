//! Where packets were lost: counters before and after a trial, what the target counted, what it did meanwhile.

pub(crate) mod counters;
pub(crate) mod counting;
pub(crate) mod evidence;
pub(crate) mod led_away;
pub(crate) mod ledger;
pub(crate) mod target_socket;
pub(crate) mod watch;
