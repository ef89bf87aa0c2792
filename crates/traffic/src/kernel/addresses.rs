//! The kernel's tables of its own addresses, as text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Addresses that packets sent to are delivered on this machine, in this namespace, each with its prefix length.
pub(crate) fn here() -> Vec<(IpAddr, u8)> {
    of_namespace(Path::new("/proc/thread-self/net"))
}

/// The same of the namespace whose `/proc/…/net` directory this is.
pub(crate) fn of_namespace(net: &Path) -> Vec<(IpAddr, u8)> {
    let read = |name| std::fs::read_to_string(net.join(name)).unwrap_or_default();
    let mut addresses = ipv4(&read("fib_trie"));
    addresses.extend(ipv6(&read("if_inet6")));
    addresses
}

/// Entries of `fib_trie` such as `|-- 10.0.0.1` followed by `/32 host LOCAL`, each with its prefix length.
pub fn ipv4(fib_trie: &str) -> Vec<(IpAddr, u8)> {
    let mut address = None;
    let mut found = Vec::new();
    for line in fib_trie.lines().map(str::trim) {
        if let Some(leaf) = line.strip_prefix("|-- ") {
            address = leaf.parse::<Ipv4Addr>().ok();
        } else if let (Some(ip), Some(prefix)) = (address, line.strip_suffix(" host LOCAL"))
            && let Some(length) = prefix.strip_prefix('/').and_then(|length| length.parse().ok())
            && length <= 32
            && !found.contains(&(ip.into(), length))
        {
            found.push((ip.into(), length));
        }
    }
    found
}

/// Lines of `if_inet6`: the address in 32 hexadecimal digits comes first.
pub fn ipv6(if_inet6: &str) -> Vec<(IpAddr, u8)> {
    let digits = |line: &str| u128::from_str_radix(line.split_whitespace().next()?, 16).ok();
    if_inet6.lines().filter_map(digits).map(|bits| (Ipv6Addr::from(bits).into(), 128)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_read_from_the_routing_tables() {
        let fib_trie = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.9.0.1\n        /32 host LOCAL\n     \
                        |-- 10.9.0.255\n        /32 link BROADCAST\n     +-- 127.0.0.0/8 2 0 2\n        \
                        |-- 127.0.0.0\n           /8 host LOCAL\n";
        assert_eq!(
            ipv4(fib_trie),
            [(Ipv4Addr::new(10, 9, 0, 1).into(), 32), (Ipv4Addr::new(127, 0, 0, 0).into(), 8)]
        );
        let if_inet6 = "00000000000000000000000000000001 01 80 10 80       lo\n";
        assert_eq!(ipv6(if_inet6), [(Ipv6Addr::LOCALHOST.into(), 128)]);
    }
}
