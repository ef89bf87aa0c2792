//! What the kernel tells of its namespaces, interfaces, sockets and processes, and what it counted: netlink and `/proc`.

pub mod addresses;
pub(crate) mod cpu_time;
pub mod diag;
pub(crate) mod elements;
pub mod expressions;
pub(crate) mod fields;
pub(crate) mod firewall;
pub mod links;
pub(crate) mod lookout;
pub mod met;
pub mod netlink;
pub mod older;
pub(crate) mod path;
pub(crate) mod process;
pub mod quota;
pub mod reasons;
mod redirects;
pub mod registers;
mod routing;
pub mod ruleset;
pub(crate) mod seen;
pub(crate) mod segment;
pub(crate) mod socket_table;
pub mod tables;
pub(crate) mod transforms;
pub(crate) mod view;
pub mod visit;
