//! Rules of a firewall that give packets, or copies of them, to another host: by the side of routes and of addresses, so
//! that neither an interface nor a time to live holds them.

use super::netlink::{Attributes, Netlink, Request, text};
use crate::sys;
use std::io;

/// The subsystem of nftables, and its request for rules.
const RULES: u16 = (10 << 8) | 7;
/// Attributes of a rule, of a part of it, and of an extension of iptables that such a part holds.
const CHAIN: u16 = 2;
const PARTS: u16 = 4;
const NAME: u16 = 1;
const SETTINGS: u16 = 2;

/// What a rule does that leads packets away, and the chain that it is in; `None` where there is none, or this user may
/// not see.
pub(super) fn leading_away(netlink: &mut Netlink) -> Option<String> {
    let mut found = None;
    let asked: io::Result<()> = netlink.ask(&Request::all(RULES, &[0; 4]), |message| {
        found = found.take().or_else(|| of_rule(message.body));
    });
    asked.ok().and(found)
}

/// Where the kernel lists the older tables of a namespace, which nftables does not show, and where an entry of theirs has
/// the offsets of its target and of the next entry (ip_tables.h, ip6_tables.h).
const OLDER: [(&str, sys::IpVersion, usize); 2] = [
    ("/proc/thread-self/net/ip_tables_names", sys::IpVersion::V4, 88),
    ("/proc/thread-self/net/ip6_tables_names", sys::IpVersion::V6, 140),
];

/// A rule in a table of iptables-legacy of the calling thread's namespace that gives copies of packets to another host;
/// `None` where there is none, or this user may not see.
pub(super) fn copying_in_older_tables() -> Option<String> {
    OLDER.iter().find_map(|&(names, version, offsets)| {
        let names = std::fs::read_to_string(names).unwrap_or_default();
        names.lines().find_map(|table| {
            let entries = sys::older_rules(version, table).ok()?;
            copies(&entries, offsets).then(|| format!("TEE in table {table} of iptables-legacy"))
        })
    })
}

/// Whether an entry of a table has the target TEE: its name stands behind two bytes of length.
fn copies(entries: &[u8], offsets: usize) -> bool {
    let mut left = entries;
    while let Some([a, b, c, d]) = left.get(offsets..offsets + 4) {
        let (target, next) = (u16::from_ne_bytes([*a, *b]), u16::from_ne_bytes([*c, *d]));
        if left.get(usize::from(target) + 2..).is_some_and(|name| name.starts_with(b"TEE\0")) {
            return true;
        }
        if next == 0 {
            return false;
        }
        left = left.get(usize::from(next)..).unwrap_or_default();
    }
    false
}

/// Of one rule, as the kernel tells it.
fn of_rule(rule: &[u8]) -> Option<String> {
    let chain = Attributes::find(rule, 4, CHAIN).map(text).unwrap_or_default();
    let parts = Attributes::find(rule, 4, PARTS)?;
    let does = Attributes::behind(parts, 0).find_map(|(_, part)| {
        let name = text(Attributes::find(part, 0, NAME)?);
        match name.as_str() {
            "dup" | "fwd" => Some(name),
            "target" => {
                let settings = Attributes::find(part, 0, SETTINGS)?;
                Some(text(Attributes::find(settings, 0, NAME)?)).filter(|name| name == "TEE")
            }
            _ => None,
        }
    })?;
    Some(format!("{does} in chain {chain}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn rule(part: &[u8]) -> Vec<u8> {
        let counter = attribute(1, &attribute(NAME, b"counter\0"));
        let parts = [counter, attribute(1, part)].concat();
        [vec![2, 0, 0, 0], attribute(CHAIN, b"out\0"), attribute(PARTS, &parts)].concat()
    }

    #[test]
    fn a_rule_that_copies_or_hands_on_is_told_from_others() {
        let of = |part: &[u8]| of_rule(&rule(part));
        assert_eq!(of(&attribute(NAME, b"dup\0")).as_deref(), Some("dup in chain out"));
        assert_eq!(of(&attribute(NAME, b"fwd\0")).as_deref(), Some("fwd in chain out"));
        let extension =
            |name: &[u8]| [attribute(NAME, b"target\0"), attribute(SETTINGS, &attribute(NAME, name))];
        assert_eq!(of(&extension(b"TEE\0").concat()).as_deref(), Some("TEE in chain out"));
        assert_eq!((of(&extension(b"LOG\0").concat()), of(&attribute(NAME, b"nat\0"))), (None, None));
    }

    /// An entry as version 4 has it, with that target.
    fn entry(target: &[u8]) -> Vec<u8> {
        let mut entry = vec![0; 112];
        entry[88..90].copy_from_slice(&112u16.to_ne_bytes());
        entry[90..92].copy_from_slice(&(112u16 + 40).to_ne_bytes());
        entry.extend(40u16.to_ne_bytes());
        entry.extend(target);
        entry.resize(112 + 40, 0);
        entry
    }

    #[test]
    fn a_copying_rule_of_an_older_table_is_found_behind_others_and_nothing_else_is() {
        let of =
            |targets: &[&[u8]]| copies(&targets.iter().flat_map(|name| entry(name)).collect::<Vec<_>>(), 88);
        assert!(of(&[b"", b"LOG", b"TEE"]) && of(&[b"TEE", b""]));
        assert!(!of(&[]) && !of(&[b"", b"TEEN", b"xTEE", b"LOG"]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_entries_of_a_table_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = (copies(&bytes, 88), copies(&bytes, 140));
        }

        #[test]
        fn any_bytes_are_a_rule_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = of_rule(&bytes);
        }
    }
}
