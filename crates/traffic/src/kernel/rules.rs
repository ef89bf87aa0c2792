//! Rules of a firewall that nothing holds packets against: they give them, or copies of them, to another host by the side of
//! routes, write into some of them where they go or where replies go, or set the time to live that keeps routers from passing them on.
//!
//! A translation of addresses is none of these: it is the same for all packets of a flow, and each flow is asked.

use super::netlink::{Attributes, Netlink, Request, text, word};
use super::seen::seen;
use crate::sys;
use std::io;
use std::ops::Range;

/// The subsystem of nftables, and its request for rules.
const RULES: u16 = (10 << 8) | 7;
/// Attributes of a rule, of a part of it, and of an extension of iptables that such a part holds.
const CHAIN: u16 = 2;
const PARTS: u16 = 4;
const NAME: u16 = 1;
const SETTINGS: u16 = 2;
/// Settings of a part that reads or writes bytes of a packet: from which header on, where, how many, and from which
/// register, which only one that writes has.
const BASE: u16 = 2;
const OFFSET: u16 = 3;
const LENGTH: u16 = 4;
const SOURCE: u16 = 5;
/// Headers that such a part counts from.
const OF_LINK: u32 = 0;
const OF_NETWORK: u32 = 1;
/// Families of rules that see one version alone.
const IPV4: u8 = 2;
const IPV6: u8 = 10;
/// Where they have the addresses of their source, which replies go to, and of their destination; and Ethernet has them.
const ADDRESSES_IPV4: Range<u32> = 12..20;
const ADDRESSES_IPV6: Range<u32> = 8..40;
const ADDRESSES_LINK: Range<u32> = 0..12;
/// Where the two versions have the time to live, from the network header on; that of Ethernet before it may be longer by
/// tags.
const IN_IPV4: u32 = 8;
const IN_IPV6: u32 = 7;
const ETHERNET: u32 = 14;

/// Targets of iptables that copy packets, and that set their time to live.
const EXTENSIONS: [&str; 3] = ["TEE", "TTL", "HL"];

/// What a rule does that leads packets away or sets their time to live, and the chain that it is in; `None` where there is
/// none, or this user may not see.
///
/// # Errors
/// If the kernel did not tell all, and what it told has none.
pub(super) fn leading_away(netlink: &mut Netlink) -> io::Result<Option<String>> {
    let mut found = None;
    let told = netlink.ask(&Request::all(RULES, &[0; 4]), |message| {
        found = found.take().or_else(|| of_rule(message.body));
    });
    // An error is of what was not told; what was told is so.
    if found.is_none() {
        seen(told)?;
    }
    Ok(found)
}

/// Where the kernel lists the older tables of a namespace, which nftables does not show, and where an entry of theirs has
/// the offsets of its target and of the next entry (ip_tables.h, ip6_tables.h).
const OLDER: [(&str, sys::IpVersion, usize); 2] = [
    ("/proc/thread-self/net/ip_tables_names", sys::IpVersion::V4, 88),
    ("/proc/thread-self/net/ip6_tables_names", sys::IpVersion::V6, 140),
];

/// A rule in a table of iptables-legacy of the calling thread's namespace that does as [`leading_away`]; `None` where there
/// is none, or this user may not see.
///
/// # Errors
/// If a table could not be read.
pub(super) fn leading_away_in_older_tables() -> io::Result<Option<String>> {
    for (names, version, offsets) in OLDER {
        let names = seen(std::fs::read_to_string(names))?.unwrap_or_default();
        for table in names.lines() {
            let entries = seen(sys::older_rules(version, table))?.unwrap_or_default();
            if let Some(extension) = extension_in(&entries, offsets) {
                return Ok(Some(format!("{extension} in table {table} of iptables-legacy")));
            }
        }
    }
    Ok(None)
}

/// Which of the [`EXTENSIONS`] an entry of a table has as its target: its name stands behind two bytes of length.
fn extension_in(entries: &[u8], offsets: usize) -> Option<&'static str> {
    let mut left = entries;
    while let Some([a, b, c, d]) = left.get(offsets..offsets + 4) {
        let (target, next) = (u16::from_ne_bytes([*a, *b]), u16::from_ne_bytes([*c, *d]));
        let name = left.get(usize::from(target) + 2..).map(text);
        if let Some(found) = EXTENSIONS.into_iter().find(|known| name.as_deref() == Some(known)) {
            return Some(found);
        }
        if next == 0 {
            return None;
        }
        left = left.get(usize::from(next)..).unwrap_or_default();
    }
    None
}

/// Of one rule, as the kernel tells it.
fn of_rule(rule: &[u8]) -> Option<String> {
    let chain = Attributes::find(rule, 4, CHAIN).map(text).unwrap_or_default();
    let parts = Attributes::find(rule, 4, PARTS)?;
    let does = Attributes::behind(parts, 0).find_map(|(_, part)| {
        let name = text(Attributes::find(part, 0, NAME)?);
        let settings = || Attributes::find(part, 0, SETTINGS);
        match name.as_str() {
            "dup" | "fwd" => Some(name),
            "payload" => what_is_set(*rule.first()?, settings()?).map(str::to_owned),
            "target" => Some(text(Attributes::find(settings()?, 0, NAME)?))
                .filter(|name| EXTENSIONS.contains(&name.as_str())),
            _ => None,
        }
    })?;
    Some(format!("{does} in chain {chain}"))
}

/// What a part of a rule of this family writes that may lead packets away, of either version where the rule sees both.
fn what_is_set(family: u8, settings: &[u8]) -> Option<&'static str> {
    let number =
        |kind| Attributes::find(settings, 0, kind).and_then(|value| word(value, 0)).map(u32::from_be);
    let (Some(base), Some(first), Some(length), Some(_)) =
        (number(BASE), number(OFFSET), number(LENGTH), number(SOURCE))
    else {
        return None;
    };
    let bytes = first..first.saturating_add(length);
    let meets = |other: &Range<u32>| bytes.start < other.end && other.start < bytes.end;
    let (sees_4, sees_6) = (family != IPV6, family != IPV4);
    let of_version = |in_4, in_6| sees_4 && bytes.contains(&in_4) || sees_6 && bytes.contains(&in_6);
    let sets_time = match base {
        OF_NETWORK => of_version(IN_IPV4, IN_IPV6),
        OF_LINK => bytes.end > ETHERNET + IN_IPV6,
        _ => false,
    };
    let sets_address = match base {
        OF_NETWORK => sees_4 && meets(&ADDRESSES_IPV4) || sees_6 && meets(&ADDRESSES_IPV6),
        OF_LINK => meets(&ADDRESSES_LINK),
        _ => false,
    };
    match (sets_time, sets_address) {
        (true, _) => Some("a time to live that is set"),
        (_, true) => Some("an address that is set"),
        _ => None,
    }
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
        rule_of(IPV4, part)
    }

    fn rule_of(family: u8, part: &[u8]) -> Vec<u8> {
        let counter = attribute(1, &attribute(NAME, b"counter\0"));
        let parts = [counter, attribute(1, part)].concat();
        [vec![family, 0, 0, 0], attribute(CHAIN, b"out\0"), attribute(PARTS, &parts)].concat()
    }

    /// Moves bytes between a packet and the register that `register` names.
    fn payload(register: u16, base: u32, offset: u32, length: u32) -> Vec<u8> {
        let number = |kind, number: u32| attribute(kind, &number.to_be_bytes());
        let numbers =
            [number(BASE, base), number(OFFSET, offset), number(LENGTH, length), number(register, 9)];
        [attribute(NAME, b"payload\0"), attribute(SETTINGS, &numbers.concat())].concat()
    }

    #[test]
    fn a_rule_that_writes_an_address_is_told_from_one_that_reads_it_or_writes_beside_it() {
        /// A register that is read into.
        const INTO: u16 = 1;
        let [both, device] = [1, 5];
        let sets = |family, part: &[u8]| of_rule(&rule_of(family, part)).is_some();
        for family in [both, device, IPV4] {
            assert!(sets(family, &payload(SOURCE, OF_NETWORK, 16, 4)), "{family}");
            assert!(sets(family, &payload(SOURCE, OF_NETWORK, 18, 2)), "its end, {family}");
            assert!(sets(family, &payload(SOURCE, OF_NETWORK, 12, 4)), "where replies go, {family}");
            assert!(!sets(family, &payload(INTO, OF_NETWORK, 16, 4)), "{family}");
        }
        for family in [both, device, IPV6] {
            assert!(sets(family, &payload(SOURCE, OF_NETWORK, 24, 16)), "{family}");
            assert!(sets(family, &payload(SOURCE, OF_NETWORK, 8, 16)), "where replies go, {family}");
        }
        assert!(
            !sets(IPV4, &payload(SOURCE, OF_NETWORK, 4, 2))
                && !sets(IPV6, &payload(SOURCE, OF_NETWORK, 1, 3))
        );
        assert!(
            sets(device, &payload(SOURCE, OF_LINK, 0, 6)) && !sets(device, &payload(SOURCE, OF_LINK, 12, 2))
        );
        let said = of_rule(&rule(&payload(SOURCE, OF_NETWORK, 16, 4)));
        assert_eq!(said.as_deref(), Some("an address that is set in chain out"));
    }

    #[test]
    fn a_rule_that_writes_the_time_to_live_is_told_from_one_that_reads_it_or_writes_beside_it() {
        /// A register that is read into.
        const INTO: u16 = 1;
        let [both, device, bridge] = [1, 5, 7];
        let sets = |family, part: &[u8]| of_rule(&rule_of(family, part)).is_some();
        for family in [both, IPV4, device, bridge] {
            assert!(sets(family, &payload(SOURCE, OF_NETWORK, 8, 1)), "{family}");
            assert!(sets(family, &payload(SOURCE, OF_NETWORK, 8, 2)), "with its neighbour, {family}");
            assert!(sets(family, &payload(SOURCE, OF_NETWORK, 0, 20)), "{family}");
            assert!(!sets(family, &payload(INTO, OF_NETWORK, 8, 1)), "{family}");
            assert!(!sets(family, &payload(SOURCE, OF_NETWORK, 0, 2)), "{family}");
            assert!(!sets(family, &payload(SOURCE, OF_NETWORK, 2, 2)), "a length, {family}");
            assert!(!sets(family, &payload(SOURCE, 2, 8, 1)), "of the transport, {family}");
        }
        for family in [both, IPV6, device, bridge] {
            assert!(sets(family, &payload(SOURCE, OF_NETWORK, 6, 2)), "{family}");
        }
        assert!(
            !sets(IPV4, &payload(SOURCE, OF_NETWORK, 6, 2))
                && !sets(IPV6, &payload(SOURCE, OF_NETWORK, 1, 3))
        );
        assert!(
            sets(device, &payload(SOURCE, OF_LINK, 22, 1)) && !sets(device, &payload(SOURCE, OF_LINK, 12, 2))
        );
    }

    #[test]
    fn a_rule_that_copies_or_hands_on_is_told_from_others() {
        let of = |part: &[u8]| of_rule(&rule(part));
        assert_eq!(of(&attribute(NAME, b"dup\0")).as_deref(), Some("dup in chain out"));
        assert_eq!(of(&attribute(NAME, b"fwd\0")).as_deref(), Some("fwd in chain out"));
        let extension =
            |name: &[u8]| [attribute(NAME, b"target\0"), attribute(SETTINGS, &attribute(NAME, name))];
        for name in EXTENSIONS {
            let said = of(&extension(format!("{name}\0").as_bytes()).concat());
            assert_eq!(said, Some(format!("{name} in chain out")));
        }
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
    fn a_rule_of_an_older_table_is_found_behind_others_and_nothing_else_is() {
        let of = |targets: &[&[u8]]| {
            extension_in(&targets.iter().flat_map(|name| entry(name)).collect::<Vec<_>>(), 88)
        };
        assert_eq!((of(&[b"", b"LOG", b"TEE"]), of(&[b"TTL", b""])), (Some("TEE"), Some("TTL")));
        assert_eq!((of(&[]), of(&[b"", b"TEEN", b"xTEE", b"LOG", b"HLX"])), (None, None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_entries_of_a_table_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = (extension_in(&bytes, 88), extension_in(&bytes, 140));
        }

        #[test]
        fn any_bytes_are_a_rule_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = of_rule(&bytes);
        }
    }
}
