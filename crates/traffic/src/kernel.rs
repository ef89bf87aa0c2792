//! What the kernel tells of its namespaces, interfaces, sockets and processes, and what it counted: netlink and `/proc`.

pub mod addresses;
pub(crate) mod cpu_time;
pub mod diag;
pub mod links;
pub mod netlink;
pub(crate) mod path;
pub(crate) mod process;
pub mod quota;
pub mod reasons;
mod redirects;
mod routing;
mod rules;
pub(crate) mod seen;
pub(crate) mod segment;
pub(crate) mod socket_table;
pub mod tables;
pub(crate) mod transforms;
pub(crate) mod view;
