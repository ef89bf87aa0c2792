//! What is known of a packet without asking the system: its bytes, its stamps, whose it is.

pub(crate) mod attribution;
pub(crate) mod clock_join;
pub(crate) mod content;
pub mod control;
pub(crate) mod frame;
pub(crate) mod lease;
pub(crate) mod received_set;
pub(crate) mod sampling;
pub(crate) mod stamps;
pub(crate) mod together;
pub(crate) mod trial_state;
