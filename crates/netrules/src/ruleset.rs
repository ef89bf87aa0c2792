//! A ruleset of nftables, read from the messages in which the kernel lists it: chains, rules, sets and their elements.
//!
//! What a rule is made of is kept as far as [`met`](super::rule_match) understands it; what is not understood is there as such.

use crate::expressions::{Does, Part, Verdict, number};
use crate::message::{Attributes, Message, text};

/// Chains with their rules, and sets with their elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ruleset {
    /// Each chain, whether packets come to it by a hook or from another one.
    pub chains: Vec<Chain>,
    /// Sets and maps that rules look into.
    pub sets: Vec<Set>,
    /// Tables that are switched off (`flags dormant`), by family and name: no packet comes to their chains.
    pub dormant: Vec<(u8, String)>,
}

/// A list of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Which packets its table is of: `NFPROTO_…`.
    pub family: u8,
    /// The name of its table.
    pub table: String,
    /// Its own.
    pub name: String,
    /// Where packets come to it; `None` where other chains alone lead there.
    pub hook: Option<Hook>,
    /// In order.
    pub rules: Vec<Vec<Part>>,
}

/// Where packets come to a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The family's number of it.
    pub number: u32,
    /// The lower, the earlier.
    pub priority: i32,
    /// Whether it is asked for the first packet of a flow alone, and translates all of the flow.
    pub translates: bool,
    /// Whether it drops what no rule accepts.
    pub drops: bool,
    /// The interfaces that it stands at, for chains of interfaces; those that end in `*` are any that begin so.
    pub devices: Vec<String>,
}

/// Something to look a register up in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Which packets its table is of.
    pub family: u8,
    /// The name of its table.
    pub table: String,
    /// Its own.
    pub name: String,
    /// Its elements are where intervals begin, or end.
    pub intervals: bool,
    /// Rules put elements into it, or these go with time: what is not there now may be.
    pub changes: bool,
    /// It says what to do.
    pub decides: bool,
    /// Bytes of each part of its keys, where these have several.
    pub fields: Vec<usize>,
    /// What is in it; `None` where it was too much to be read.
    pub elements: Option<Vec<Element>>,
}

/// One of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// What is looked up; empty for the one that stands for all others.
    pub key: Vec<u8>,
    /// The last key that is meant, for sets whose keys have several parts.
    pub last: Option<Vec<u8>>,
    /// An interval ends before it, and none begins.
    pub ends: bool,
    /// Whether it is so for some packets alone.
    pub some: bool,
    /// What a map has for it.
    pub value: Option<Vec<u8>>,
    /// What is to be done, where it is for that.
    pub verdict: Option<Verdict>,
}

/// Sets that are larger are not read.
pub const MOST_ELEMENTS: usize = 65_536;

/// Attributes are found behind the family and what follows it.
const FIXED: usize = 4;

/// Messages of nftables that list something.
const TABLE: u16 = 10 << 8;
const CHAIN: u16 = (10 << 8) | 3;
const RULE: u16 = (10 << 8) | 6;
const SET: u16 = (10 << 8) | 9;
const ELEMENTS: u16 = (10 << 8) | 12;

impl Ruleset {
    /// Takes what a message lists: a table, before its chains, a rule of a chain that was taken before, a set, or elements of
    /// one. Others list
    /// nothing.
    pub fn add(&mut self, message: Message<'_>) {
        match message.kind {
            TABLE => self.dormant.extend(dormant(message.body)),
            CHAIN => {
                let is_on = |chain: &Chain| {
                    !self.dormant.iter().any(|(family, name)| (*family, name) == (chain.family, &chain.table))
                };
                self.chains.extend(Chain::read(message.body).filter(is_on));
            }
            RULE => self.add_rule(message.body),
            SET => self.sets.extend(Set::read(message.body)),
            ELEMENTS => self.add_elements(message.body),
            _ => {}
        }
    }

    /// Whether any of its rules, or a policy, drops packets.
    pub fn drops_any(&self) -> bool {
        let parts = || self.chains.iter().flat_map(|chain| chain.rules.iter().flatten());
        let verdicts =
            || self.sets.iter().flat_map(|set| set.elements.iter().flatten()).map(|one| &one.verdict);
        self.chains.iter().filter_map(|chain| chain.hook.as_ref()).any(|hook| hook.drops)
            || parts().any(|part| {
                matches!(part, Part::Verdict(Verdict::Drop | Verdict::Queue) | Part::Does(Does::Drops))
            })
            || verdicts().any(|verdict| *verdict == Some(Verdict::Drop))
    }

    fn add_rule(&mut self, body: &[u8]) {
        let (Some(&family), Some(table), Some(name)) = (body.first(), named(body, 1), named(body, 2)) else {
            return;
        };
        let parts = Attributes::find(body, FIXED, 4).unwrap_or_default();
        let rule = Attributes::behind(parts, 0).map(|(_, part)| Part::read(part)).collect();
        let is_its =
            |chain: &&mut Chain| (chain.family, &chain.table, &chain.name) == (family, &table, &name);
        if let Some(chain) = self.chains.iter_mut().find(is_its) {
            chain.rules.push(rule);
        }
    }

    fn add_elements(&mut self, body: &[u8]) {
        let (Some(&family), Some(table), Some(name)) = (body.first(), named(body, 1), named(body, 2)) else {
            return;
        };
        let is_it = |set: &&mut Set| (set.family, &set.table, &set.name) == (family, &table, &name);
        let Some(set) = self.sets.iter_mut().find(is_it) else { return };
        let listed = Attributes::find(body, FIXED, 3).unwrap_or_default();
        let Some(elements) = &mut set.elements else { return };
        elements.extend(Attributes::behind(listed, 0).map(|(_, element)| Element::read(element)));
        if elements.len() > MOST_ELEMENTS {
            set.elements = None;
        }
    }
}

impl Chain {
    fn read(body: &[u8]) -> Option<Self> {
        let hook = Attributes::find(body, FIXED, 4).and_then(|hook| {
            let kind = Attributes::find(body, FIXED, 7).map(text).unwrap_or_default();
            let one = Attributes::find(hook, 0, 3).map(text);
            let several = Attributes::find(hook, 0, 4).unwrap_or_default();
            // A name that is a beginning has an attribute of its own.
            let several = Attributes::behind(several, 0)
                .map(|(how, name)| if how == 2 { format!("{}*", text(name)) } else { text(name) });
            Some(Hook {
                number: number(hook, 1)?,
                priority: number(hook, 2)? as i32,
                translates: kind == "nat",
                drops: number(body_of(body), 5) == Some(0),
                devices: one.into_iter().chain(several).collect(),
            })
        });
        Some(Self {
            family: *body.first()?,
            table: named(body, 1)?,
            name: named(body, 3)?,
            hook,
            rules: Vec::new(),
        })
    }

    /// As a person finds it: `chain out of table ip filter`.
    pub fn words(&self) -> String {
        let family = match self.family {
            1 => "inet",
            2 => "ip",
            5 => "netdev",
            7 => "bridge",
            10 => "ip6",
            _ => "other",
        };
        format!("chain {} of table {family} {}", self.name, self.table)
    }
}

impl Set {
    fn read(body: &[u8]) -> Option<Self> {
        const INTERVALS: u32 = 4;
        const VERDICTS: u32 = 0xffff_ff00;
        const TIMED: u32 = 0x10;
        const BY_RULES: u32 = 0x20;
        let attributes = body_of(body);
        let flags = number(attributes, 3).unwrap_or(0);
        let described = Attributes::find(attributes, 0, 9).unwrap_or_default();
        let fields = Attributes::find(described, 0, 2).unwrap_or_default();
        Some(Self {
            family: *body.first()?,
            table: named(body, 1)?,
            name: named(body, 2)?,
            intervals: flags & INTERVALS != 0,
            changes: flags & (TIMED | BY_RULES) != 0,
            decides: number(attributes, 6) == Some(VERDICTS),
            fields: Attributes::behind(fields, 0)
                .filter_map(|(_, field)| number(field, 1))
                .map(|length| length as usize)
                .collect(),
            elements: Some(Vec::new()),
        })
    }
}

impl Element {
    fn read(element: &[u8]) -> Self {
        const ENDS: u32 = 1;
        const EXPRESSION: u16 = 7;
        const EXPRESSIONS: u16 = 11;
        let data = |kind| Attributes::find(element, 0, kind);
        let bytes = |kind| data(kind).and_then(|data| Attributes::find(data, 0, 1)).map(<[u8]>::to_vec);
        Self {
            key: bytes(1).unwrap_or_default(),
            last: bytes(10),
            ends: number(element, 3).is_some_and(|flags| flags & ENDS != 0),
            some: data(EXPRESSION).is_some() || data(EXPRESSIONS).is_some(),
            value: bytes(2),
            verdict: data(2).and_then(|data| Attributes::find(data, 0, 2)).map(Verdict::read),
        }
    }
}

/// The number of a ruleset, which every change of it raises, in a message that tells it.
pub fn generation(message: Message<'_>) -> Option<u32> {
    number(body_of(message.body), 1)
}

/// A table that is switched off.
fn dormant(body: &[u8]) -> Option<(u8, String)> {
    const DORMANT: u32 = 1;
    let flags = number(body_of(body), 2)?;
    Some((*body.first()?, named(body, 1)?)).filter(|_| flags & DORMANT != 0)
}

/// What follows the family.
fn body_of(body: &[u8]) -> &[u8] {
    body.get(FIXED..).unwrap_or_default()
}

fn named(body: &[u8], kind: u16) -> Option<String> {
    Attributes::find(body, FIXED, kind).map(text)
}
