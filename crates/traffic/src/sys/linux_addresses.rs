//! Linux: which addresses a network namespace has.

use crate::counters::addresses;
use std::net::IpAddr;
use std::path::Path;

/// Addresses that packets sent to are delivered on this machine, in this namespace.
pub(crate) fn local_addresses() -> Vec<(IpAddr, u8)> {
    addresses_at(Path::new("/proc/thread-self/net"))
}

/// The same of the namespace whose `/proc/…/net` directory this is.
pub(crate) fn addresses_at(net: &Path) -> Vec<(IpAddr, u8)> {
    let read = |name| std::fs::read_to_string(net.join(name)).unwrap_or_default();
    let mut addresses = addresses::ipv4(&read("fib_trie"));
    addresses.extend(addresses::ipv6(&read("if_inet6")));
    addresses
}
