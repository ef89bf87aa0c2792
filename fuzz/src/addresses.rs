//! The kernel's tables of its own addresses.

use super::text;
use dropline_traffic::kernel::addresses::{ipv4, ipv6};

/// What is read is an address of its family with a prefix that it can have, and IPv4's stand there once each.
pub fn check(bytes: &[u8]) {
    let text = &*text(bytes);
    let found = ipv4(text);
    for (at, (ip, prefix)) in found.iter().enumerate() {
        assert!(ip.is_ipv4() && *prefix <= 32);
        assert!(text.contains(&ip.to_string()) && !found[..at].contains(&(*ip, *prefix)));
    }
    assert!(ipv6(text).iter().all(|(ip, prefix)| ip.is_ipv6() && *prefix == 128));
}
