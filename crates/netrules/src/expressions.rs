//! Parts of rules, as the kernel writes each kind of them.

use crate::message::{Attributes, half, text, word};
use crate::registers::{Comparison, Register};
use std::net::IpAddr;

/// A part of a rule; each goes on with the next one, or ends the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Reads something of the packet.
    Load(Register, Read),
    /// Ends the rule where the register is not so.
    Compare(Register, Comparison, Vec<u8>),
    /// Ends the rule where the register is not between these, or where it is.
    Range(Register, bool, Vec<u8>, Vec<u8>),
    /// Bits of the first, some of them taken and some of them turned, go into the second.
    Bits(Register, Register, Vec<u8>, Vec<u8>),
    /// The bytes of each number of so many, in the other order: of the first into the second, which are so long.
    Turn(Register, Register, usize, usize),
    /// Ends the rule where the register is not in the set, or where it is; what a map has goes into the other register, or is
    /// what to do.
    Lookup(String, Register, Option<Register>, bool),
    /// Bytes that are always the same.
    Give(Register, Vec<u8>),
    /// What to do with the packet.
    Verdict(Verdict),
    /// Something happens to the packet.
    Does(Does),
    /// An extension of iptables that looks at ports.
    Ports(PortMatch),
    /// One that looks at what kind of address the destination is: a bit for each kind, and whether those are not meant.
    Kinds(u16, bool),
    /// Changes nothing, and goes on for every packet.
    Nothing,
    /// Goes on for some packets, or reads what is not known, into this register.
    Unknown(Option<Register>),
}

/// What a part reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Bytes of a header: which, from where on, how many.
    Header(u32, u32, u32),
    /// What the kernel knows of a packet, by its number.
    Meta(u32),
    /// Of what kind the destination is: an own address, say.
    DestinationKind,
}

/// What is to be done with a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No chain of this hook with this priority looks further.
    Accept,
    /// It is gone.
    Drop,
    /// The next rule.
    Continue,
    /// Back to the rule behind the one that led here.
    Return,
    /// To a chain, and back.
    Jump(String),
    /// To a chain.
    Goto(String),
    /// A program decides.
    Queue,
}

/// What happens to packets that matters to a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It is dropped, and its sender may be told.
    Drops,
    /// It, or a copy of it, goes another way: by this word of a rule.
    Hands(&'static str),
    /// The same, and the rule ends here.
    Takes(&'static str),
    /// Bytes of a header are written: which, from where on, how many.
    Writes(u32, u32, u32),
    /// The time to live is set, by this extension of iptables.
    Lives(&'static str),
    /// Its destination is translated, to that.
    Destination(To),
    /// Its source is translated.
    Source(To),
    /// It is translated to an address that this namespace has anyway.
    Own(&'static str),
    /// It has another mark from here on.
    Marks,
    /// No connection is kept of it.
    Untracks,
    /// What is known of its connection is that of this zone.
    Zones(Zone),
}

/// An address that packets are translated to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// What the register has.
    Register(Register),
    /// This.
    Address(IpAddr),
    /// One of several, or one that is not known.
    Any,
}

/// A zone of connection tracking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// What the register has.
    Register(Register),
    /// This.
    Number(u16),
    /// One that hangs on the packet.
    Any,
}

/// What iptables' extensions for ports ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortMatch {
    /// Ports it may come from, if that is asked for.
    pub from: Option<Vec<(u16, u16)>>,
    /// Ports it may go to.
    pub to: Option<Vec<(u16, u16)>>,
    /// One of the two is enough.
    pub either: bool,
    /// Those that are not so are meant.
    pub inverted: [bool; 2],
}

impl Part {
    /// Reads one: its kind by its name, and what that has.
    pub(super) fn read(part: &[u8]) -> Self {
        let name = Attributes::find(part, 0, 1).map(text).unwrap_or_default();
        let has = Attributes::find(part, 0, 2).unwrap_or_default();
        let register = |kind| number(has, kind).and_then(Register::of);
        let read = match name.as_str() {
            "meta" => meta(has),
            "payload" => payload(has),
            "cmp" => compare(has),
            "range" => range(has),
            "bitwise" => bits(has),
            "byteorder" => turn(has),
            "lookup" => lookup(has),
            "immediate" => immediate(has),
            "fib" => Some(fib(has)),
            "match" => Some(matched(has)),
            "target" => Some(target(has)),
            "nat" => nat(has),
            "masq" => Some(Self::Does(Does::Own("masquerade"))),
            "redir" => Some(Self::Does(Does::Own("redirect"))),
            "dup" => Some(Self::Does(Does::Hands("dup"))),
            "fwd" => Some(Self::Does(Does::Takes("fwd"))),
            "tproxy" => Some(Self::Does(Does::Hands("tproxy"))),
            "queue" => Some(Self::Verdict(Verdict::Queue)),
            "reject" => Some(Self::Does(Does::Drops)),
            "ct" => zone(has),
            "notrack" => Some(Self::Does(Does::Untracks)),
            "counter" | "log" | "last" | "objref" => Some(Self::Nothing),
            // What it has is not known; of all that read into a register that one is attribute 1, or none is.
            _ => None,
        };
        read.unwrap_or_else(|| Self::Unknown(register(1)))
    }
}

fn meta(has: &[u8]) -> Option<Part> {
    const MARK: u32 = 3;
    let key = number(has, 2)?;
    match number(has, 1).and_then(Register::of) {
        Some(to) => Some(Part::Load(to, Read::Meta(key))),
        None if key == MARK => Some(Part::Does(Does::Marks)),
        None => Some(Part::Nothing),
    }
}

fn payload(has: &[u8]) -> Option<Part> {
    let (base, offset, length) = (number(has, 2)?, number(has, 3)?, number(has, 4)?);
    match number(has, 1).and_then(Register::of) {
        Some(to) => Some(Part::Load(to, Read::Header(base, offset, length))),
        None => Some(Part::Does(Does::Writes(base, offset, length))),
    }
}

/// The bytes of an attribute that holds a value.
fn value(has: &[u8], kind: u16) -> Option<Vec<u8>> {
    Some(Attributes::find(Attributes::find(has, 0, kind)?, 0, 1)?.to_vec())
}

fn compare(has: &[u8]) -> Option<Part> {
    let how = match number(has, 2)? {
        0 => Comparison::Equal,
        1 => Comparison::Unequal,
        2 => Comparison::Less,
        3 => Comparison::AtMost,
        4 => Comparison::Greater,
        5 => Comparison::AtLeast,
        _ => return None,
    };
    Some(Part::Compare(Register::of(number(has, 1)?)?, how, value(has, 3)?))
}

fn range(has: &[u8]) -> Option<Part> {
    let is_outside = number(has, 2)? == 1;
    Some(Part::Range(Register::of(number(has, 1)?)?, is_outside, value(has, 3)?, value(has, 4)?))
}

fn bits(has: &[u8]) -> Option<Part> {
    let (from, to) = (Register::of(number(has, 1)?)?, Register::of(number(has, 2)?)?);
    match number(has, 6).unwrap_or(0) {
        0 => Some(Part::Bits(from, to, value(has, 4)?, value(has, 5)?)),
        _ => Some(Part::Unknown(Some(to))),
    }
}

fn turn(has: &[u8]) -> Option<Part> {
    let (from, to) = (Register::of(number(has, 1)?)?, Register::of(number(has, 2)?)?);
    Some(Part::Turn(from, to, number(has, 5)? as usize, number(has, 4)? as usize))
}

fn lookup(has: &[u8]) -> Option<Part> {
    let set = Attributes::find(has, 0, 1).map(text)?;
    let from = Register::of(number(has, 2)?)?;
    let is_inverted = number(has, 5).is_some_and(|flags| flags & 1 != 0);
    // Into register 0 goes what is to be done.
    let to = number(has, 3).and_then(Register::of);
    Some(Part::Lookup(set, from, to, is_inverted))
}

fn immediate(has: &[u8]) -> Option<Part> {
    let data = Attributes::find(has, 0, 2)?;
    match Attributes::find(data, 0, 2) {
        Some(verdict) => Some(Part::Verdict(Verdict::read(verdict))),
        None => Some(Part::Give(Register::of(number(has, 1)?)?, Attributes::find(data, 0, 1)?.to_vec())),
    }
}

fn fib(has: &[u8]) -> Part {
    const KIND: u32 = 3;
    const DESTINATION: u32 = 2;
    let to = number(has, 1).and_then(Register::of);
    match to {
        Some(to) if number(has, 2) == Some(KIND) && number(has, 3) == Some(DESTINATION) => {
            Part::Load(to, Read::DestinationKind)
        }
        to => Part::Unknown(to),
    }
}

fn nat(has: &[u8]) -> Option<Part> {
    // A range of addresses is as good as any.
    let is_one = number(has, 3) == number(has, 4);
    let to = number(has, 3).and_then(Register::of).filter(|_| is_one).map_or(To::Any, To::Register);
    Some(Part::Does(if number(has, 1)? == 0 { Does::Source(to) } else { Does::Destination(to) }))
}

/// What is written of a connection, where that is its zone.
fn zone(has: &[u8]) -> Option<Part> {
    const ZONE: u32 = 17;
    let from = number(has, 4).filter(|_| number(has, 2) == Some(ZONE))?;
    Some(Part::Does(Does::Zones(Register::of(from).map_or(Zone::Any, Zone::Register))))
}

/// An extension of iptables that looks at packets.
fn matched(has: &[u8]) -> Part {
    let name = Attributes::find(has, 0, 1).map(text).unwrap_or_default();
    Part::extension_that_looks(&name, Attributes::find(has, 0, 3).unwrap_or_default())
}

/// An extension of iptables that does something to packets.
fn target(has: &[u8]) -> Part {
    let name = Attributes::find(has, 0, 1).map(text).unwrap_or_default();
    Part::extension_that_does(&name, Attributes::find(has, 0, 3).unwrap_or_default())
}

impl Part {
    /// One of iptables by its name, and what that has (`struct xt_udp`, `xt_multiport_v1`).
    pub(super) fn extension_that_looks(name: &str, has: &[u8]) -> Self {
        let port = |at| half(has, at);
        let ports = match name {
            "comment" => return Self::Nothing,
            "udp" => || {
                let inverted = *has.get(8)?;
                Some(PortMatch {
                    from: Some(vec![(port(0)?, port(2)?)]),
                    to: Some(vec![(port(4)?, port(6)?)]),
                    either: false,
                    inverted: [inverted & 1 != 0, inverted & 2 != 0],
                })
            },
            "addrtype" => return kinds(has).unwrap_or(Self::Unknown(None)),
            "multiport" => return multiport(has).map_or(Self::Unknown(None), Self::Ports),
            _ => return Self::Unknown(None),
        };
        ports().map_or(Self::Unknown(None), Self::Ports)
    }

    /// One of iptables by its name, and what that has (`struct nf_nat_range`, `xt_ct_target_info`).
    pub(super) fn extension_that_does(name: &str, has: &[u8]) -> Self {
        match name {
            "TEE" => Self::Does(Does::Hands("TEE")),
            "TPROXY" => Self::Does(Does::Hands("TPROXY")),
            "TTL" => Self::Does(Does::Lives("TTL")),
            "HL" => Self::Does(Does::Lives("HL")),
            "DNAT" => Self::Does(Does::Destination(one_address(has).map_or(To::Any, To::Address))),
            "NETMAP" => Self::Does(Does::Destination(To::Any)),
            "SNAT" => Self::Does(Does::Source(one_address(has).map_or(To::Any, To::Address))),
            "MASQUERADE" => Self::Does(Does::Own("MASQUERADE")),
            "REDIRECT" => Self::Does(Does::Own("REDIRECT")),
            "NFQUEUE" | "QUEUE" => Self::Verdict(Verdict::Queue),
            "REJECT" => Self::Does(Does::Drops),
            "DROP" => Self::Verdict(Verdict::Drop),
            "MARK" | "CONNMARK" => Self::Does(Does::Marks),
            "CT" => connection(has),
            "NOTRACK" => Self::Does(Does::Untracks),
            "LOG" | "NFLOG" | "ULOG" => Self::Nothing,
            _ => Self::Unknown(None),
        }
    }
}

/// The kinds of the destination that are asked for, if nothing else is (`struct xt_addrtype_info_v1`).
fn kinds(has: &[u8]) -> Option<Part> {
    const DESTINATION_INVERTED: u32 = 2;
    const ELSE: u32 = !DESTINATION_INVERTED;
    let flags =
        word(has, 4).filter(|flags| flags & ELSE == 0 && has.len() == 8 && half(has, 0) == Some(0))?;
    Some(Part::Kinds(half(has, 2)?, flags & DESTINATION_INVERTED != 0))
}

/// The address of a translation to one alone. The oldest form has a count in front, and addresses of four bytes.
fn one_address(has: &[u8]) -> Option<IpAddr> {
    const ADDRESSES: u32 = 1;
    const NEWER: usize = 40;
    let (flags, bytes) = if has.len() < NEWER { (4, 4) } else { (0, 16) };
    let of = |at: usize| has.get(flags + 4 + at * bytes..flags + 4 + (at + 1) * bytes);
    let one = of(0).filter(|&first| {
        word(has, flags).is_some_and(|flags| flags & ADDRESSES != 0) && of(1) == Some(first)
    })?;
    let (first, rest) = one.split_first_chunk::<4>()?;
    match rest.iter().all(|&byte| byte == 0) {
        true => Some(IpAddr::from(*first)),
        false => <[u8; 16]>::try_from(one).ok().map(IpAddr::from),
    }
}

/// What is said of a packet's connection before it is looked for.
fn connection(has: &[u8]) -> Part {
    const UNTRACKED: u16 = 1;
    const ZONE_IS_MARK: u16 = 16;
    Part::Does(match (half(has, 0), half(has, 2)) {
        (Some(flags), Some(number)) if flags & (UNTRACKED | ZONE_IS_MARK) == 0 => {
            Does::Zones(Zone::Number(number))
        }
        (Some(flags), _) if flags & UNTRACKED == 0 => Does::Zones(Zone::Any),
        _ => Does::Untracks,
    })
}

fn multiport(has: &[u8]) -> Option<PortMatch> {
    /// Ports that there is room for.
    const ROOM: usize = 15;
    let (which, count) = (*has.first()?, usize::from(*has.get(1)?).min(ROOM));
    let mut ports = Vec::new();
    let mut at = 0;
    while at < count {
        let first = half(has, 2 + 2 * at)?;
        // A port that is flagged is the first of a range, and the next one its last.
        let is_range = *has.get(2 + 2 * ROOM + at)? != 0;
        at += usize::from(is_range);
        ports.push((first, half(has, 2 + 2 * at)?));
        at += 1;
    }
    let is_inverted = *has.get(2 + 3 * ROOM)? != 0;
    let from = (which != 1).then(|| ports.clone());
    let to = (which != 0).then_some(ports);
    Some(PortMatch { from, to, either: which == 2, inverted: [is_inverted; 2] })
}

impl Verdict {
    pub(super) fn read(verdict: &[u8]) -> Self {
        let to = Attributes::find(verdict, 0, 2).map(text).unwrap_or_default();
        // The upper half of what a program decides on is its number.
        let of_queue = |code: u32| if code & 0x8000_0000 == 0 { code & 0xff } else { code };
        match number(verdict, 1).map(|code| of_queue(code) as i32) {
            Some(0) => Self::Drop,
            Some(1) => Self::Accept,
            Some(-3) => Self::Jump(to),
            Some(-4) => Self::Goto(to),
            Some(-5) => Self::Return,
            Some(-1 | -2) => Self::Continue,
            _ => Self::Queue,
        }
    }
}

/// A number among attributes, which nftables writes with its highest byte first.
pub(super) fn number(attributes: &[u8], kind: u16) -> Option<u32> {
    Attributes::find(attributes, 0, kind).and_then(|value| word(value, 0)).map(u32::from_be)
}
