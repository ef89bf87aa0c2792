//! Packets leave when they are due.

mod deadline_wait;
pub(crate) mod leaving;
pub(crate) mod pauses;
pub(crate) mod requests;
pub(crate) mod schedule;
pub(crate) mod send_queue;
pub(crate) mod sender;
pub(crate) mod sent;
pub(crate) mod spread;
