//! Sockets, and the rule that nothing which leaves by them leaves this machine, but for a host that consented.

pub(crate) mod connection;
pub(crate) mod consented;
pub mod datagrams;
pub(crate) mod flows;
pub(crate) mod guard;
pub(crate) mod leash;
pub(crate) mod whereabouts;
