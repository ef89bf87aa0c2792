//! Rules of a firewall that give packets, or copies of them, to another host: by the side of routes and of addresses, so
//! that neither an interface nor a time to live holds them.

use super::netlink::{Attributes, Netlink, Request, text};
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

    proptest! {
        #[test]
        fn any_bytes_are_a_rule_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = of_rule(&bytes);
        }
    }
}
