//! Replies come back, and are counted.

pub(crate) mod elsewhere;
pub(crate) mod late;
pub(crate) mod reading;
pub(crate) mod received;
pub(crate) mod receiver;
