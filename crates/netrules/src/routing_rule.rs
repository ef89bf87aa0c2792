//! Rules of routing, and routes, that tell packets to one address from others to it: by their port, protocol, source, user, mark
//! or type of service. What such a rule does to packets is asked of the kernel itself.

use crate::message::{Attributes, Message, Request, double, text, word};
use crate::routes::{self, Flow};
use std::net::IpAddr;

const NEW_RULE: u16 = 32;
const GET_RULE: u16 = 34;
/// Bytes of `fib_rule_hdr`, and what they say.
const FIXED: usize = 12;
const TO_A_TABLE: u8 = 1;
const INVERTED: u32 = 2;

/// A rule that looks for a route in a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    preference: u32,
    /// The table.
    pub table: u32,
    inverted: bool,
    from: Option<(IpAddr, u8)>,
    to: Option<(IpAddr, u8)>,
    /// The interfaces that packets come from and leave by.
    arriving: Option<String>,
    leaving: Option<String>,
    /// Value and mask.
    mark: Option<(u32, u32)>,
    service: u8,
    user: Option<u32>,
    protocol: Option<u8>,
    /// First and last port of the source and of the destination.
    ports: [Option<(u16, u16)>; 2],
}

/// As `ip rule` has it.
pub fn table_name(table: u32) -> String {
    match table {
        253 => "default".into(),
        254 => "main".into(),
        255 => "local".into(),
        number => number.to_string(),
    }
}

impl Rule {
    /// Asks for those of the version of IP that an address is of, as they are tried.
    pub fn all(of: IpAddr) -> Request {
        let mut fixed = [0; FIXED];
        fixed[0] = routes::written(of).0;
        Request::all(GET_RULE, &fixed)
    }

    /// Reads one from a netlink message; `None` if it is another message, torn, or leads to no table.
    pub fn read(message: Message<'_>) -> Option<Self> {
        if message.kind != NEW_RULE || *message.body.get(7)? != TO_A_TABLE {
            return None;
        }
        let attribute = |kind| Attributes::find(message.body, FIXED, kind);
        let number = |kind| attribute(kind).and_then(|value| word(value, 0));
        let range = |kind| {
            let both = number(kind)?.to_ne_bytes();
            Some((u16::from_ne_bytes([both[0], both[1]]), u16::from_ne_bytes([both[2], both[3]])))
        };
        let prefix = |kind, bits: u8| Some((routes::address(attribute(kind)?)?, bits));
        let [to_bits, from_bits, service, table] = *message.body.get(1..5)?.first_chunk()?;
        Some(Self {
            preference: number(6).unwrap_or(0),
            table: number(15).unwrap_or(table.into()),
            inverted: word(message.body, 8)? & INVERTED != 0,
            from: prefix(2, from_bits),
            to: prefix(1, to_bits),
            arriving: attribute(3).map(text),
            leaving: attribute(17).map(text),
            mark: number(10).map(|mark| (mark, number(16).unwrap_or(u32::MAX))),
            // By a rule of newer kernels it has an attribute of its own.
            service: attribute(25).and_then(|code| code.first()).map_or(service, |code| code << 2),
            user: attribute(20).and_then(|range| double(range, 0)).map(|range| range as u32),
            protocol: attribute(22).and_then(|protocol| protocol.first().copied()),
            ports: [range(23), range(24)],
        })
    }

    /// Whether packets of a flow may meet it, whatever their mark, type of service and user are.
    pub fn may_meet(&self, flow: &Flow) -> bool {
        const UDP: u8 = 17;
        let has = |prefix: &Option<(IpAddr, u8)>, address: Option<IpAddr>| match (prefix, address) {
            (Some(prefix), Some(address)) => is_in(address, *prefix),
            _ => true,
        };
        let port = |range: Option<(u16, u16)>, port: u16| {
            port == 0 || range.is_none_or(|(first, last)| (first..=last).contains(&port))
        };
        let by_flow = self.protocol.is_none_or(|protocol| protocol == UDP)
            && has(&self.from, flow.from.map(|from| from.ip()))
            && has(&self.to, Some(flow.to.ip()))
            && port(self.ports[0], flow.from.map_or(0, |from| from.port()))
            && port(self.ports[1], flow.to.port())
            // What a program sends is routed as if it came in by loopback.
            && self.arriving.as_ref().is_none_or(|name| name == "lo");
        // One for all others than those leads these where it does not lead those.
        self.inverted || by_flow
    }

    /// The flow with the mark, the type of service and the user that the rule speaks of; `None` where it speaks of none.
    pub fn met_by(&self, flow: &Flow) -> Option<Flow> {
        let speaks = self.mark.is_some() || self.service != 0 || self.user.is_some();
        speaks.then(|| Flow {
            mark: self.mark.map_or(flow.mark, |(mark, _)| mark),
            service: self.service,
            user: self.user.or(flow.user),
            ..*flow
        })
    }

    /// As `ip rule` shows it.
    pub fn words(&self) -> String {
        let mut words = format!("{}:", self.preference);
        let mut say = |word: String| {
            words.push(' ');
            words.push_str(&word);
        };
        if self.inverted {
            say("not".into());
        }
        match self.from {
            Some((address, bits)) => say(format!("from {address}/{bits}")),
            None => say("from all".into()),
        }
        if let Some((address, bits)) = self.to {
            say(format!("to {address}/{bits}"));
        }
        if self.service != 0 {
            say(format!("tos {:#04x}", self.service));
        }
        match self.mark {
            Some((mark, u32::MAX)) => say(format!("fwmark {mark:#x}")),
            Some((mark, mask)) => say(format!("fwmark {mark:#x}/{mask:#x}")),
            None => {}
        }
        for (what, name) in [("iif", &self.arriving), ("oif", &self.leaving)] {
            if let Some(name) = name {
                say(format!("{what} {name}"));
            }
        }
        if let Some(user) = self.user {
            say(format!("uidrange {user}"));
        }
        match self.protocol.map(i32::from) {
            Some(17) => say("ipproto udp".into()),
            Some(other) => say(format!("ipproto {other}")),
            None => {}
        }
        for (what, range) in ["sport", "dport"].iter().zip(self.ports) {
            match range {
                Some((first, last)) if first == last => say(format!("{what} {first}")),
                Some((first, last)) => say(format!("{what} {first}-{last}")),
                None => {}
            }
        }
        say(format!("lookup {}", table_name(self.table)));
        words
    }
}

/// Whether an address begins with as many bits of that one.
fn is_in(address: IpAddr, (prefix, bits): (IpAddr, u8)) -> bool {
    let (family, bytes) = routes::written(address);
    let (other, all) = routes::written(prefix);
    let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
    family == other && (0..usize::from(bits).min(bytes.len() * 8)).all(|at| bit(&bytes, at) == bit(&all, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flow() -> Flow {
        let from = Some("10.9.0.1:4000".parse().unwrap());
        Flow {
            from,
            to: "10.9.0.2:7007".parse().unwrap(),
            through: None,
            arrives: None,
            mark: 0,
            service: 0,
            user: None,
        }
    }

    #[test]
    fn rules_of_other_packets_are_not_met_and_what_a_rule_speaks_of_is_what_meets_it() {
        let rule = Rule { table: 100, ..Rule::default() };
        let meets = |rule: &Rule| rule.may_meet(&flow());
        assert!(meets(&rule) && rule.met_by(&flow()).is_none());
        for other in [
            Rule { protocol: Some(6), ..rule.clone() },
            Rule { ports: [None, Some((7008, 7009))], ..rule.clone() },
            Rule { ports: [Some((5000, 5000)), None], ..rule.clone() },
            Rule { from: Some(("10.8.0.0".parse().unwrap(), 16)), ..rule.clone() },
            Rule { to: Some(("10.9.0.3".parse().unwrap(), 32)), ..rule.clone() },
            Rule { arriving: Some("eth0".into()), ..rule.clone() },
        ] {
            assert!(!meets(&other), "{}", other.words());
            assert!(meets(&Rule { inverted: true, ..other }));
        }
        let marked = Rule { mark: Some((7, 15)), service: 16, ports: [None, Some((7000, 7010))], ..rule };
        assert!(meets(&marked));
        let met = marked.met_by(&flow()).unwrap();
        assert_eq!((met.mark, met.service, met.to), (7, 16, flow().to));
        assert_eq!(marked.words(), "0: from all tos 0x10 fwmark 0x7/0xf dport 7000-7010 lookup 100");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_rule_or_none(body in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(rule) = Rule::read(Message { kind: NEW_RULE, number: 0, body: &body }) {
                let _ = (rule.words(), rule.may_meet(&flow()), rule.met_by(&flow()));
            }
        }
    }
}
