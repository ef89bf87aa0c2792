//! What the kernel tells of its namespaces, interfaces, sockets and processes, and what it counted: netlink and `/proc`.

pub mod addresses;
pub(crate) mod between;
pub(crate) mod cpu_time;
pub(crate) mod diag;
pub(crate) mod firewall;
pub mod frame_path;
pub(crate) mod legacy_tables;
pub(crate) mod links;
pub(crate) mod look_error;
pub(crate) mod namespaces;
pub(crate) mod netlink;
pub(crate) mod path;
pub(crate) mod path_changes;
pub(crate) mod path_passed;
pub(crate) mod process;
mod programs;
pub mod quota;
pub(crate) mod reasons;
mod redirects;
mod routing;
pub(crate) mod segment;
pub(crate) mod socket_table;
pub mod tables;
mod tracked;
pub(crate) mod transforms;
pub mod usage;
pub(crate) mod view;
