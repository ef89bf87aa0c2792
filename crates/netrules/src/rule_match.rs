//! Which rules one packet of a trial meets, certainly, possibly or not: a walk through the chains that it comes to.
//!
//! Whatever is not understood, or not known of the packet, is met possibly.

use crate::elements::Meant;
use crate::expressions::{Does, Part, To, Verdict, Zone};
use crate::registers::{Certainty, Registers, Word, compared, masked, turned, within, words_of};
use crate::ruleset::{Chain, Ruleset, Set};
use crate::visit::{ChainPlace, Passes, Tuple, Visit};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// A rule that is met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetRule {
    /// What it does.
    pub does: Does,
    /// To which address, where it translates to one.
    pub address: Option<IpAddr>,
    /// Whether it is met for certain: never [`Certainty::Not`].
    pub certainty: Certainty,
    /// Where.
    pub place: ChainPlace,
    /// Whether it stands where frames are, and not packets: what it drops no counter of IP has.
    pub is_of_frames: bool,
    /// In which chain, in words.
    pub chain: String,
}

/// Chains lead to one another at most so deep (`NFT_JUMP_STACK_SIZE`).
const DEEPEST: usize = 16;
/// Parts of rules that are looked at for one packet; beyond, each is taken to be met.
const MOST_STEPS: usize = 200_000;
/// So many elements of a set are looked at in the time of one part.
const ELEMENTS_A_STEP: usize = 16;

/// Families of tables.
const INET: u8 = 1;
const IPV4: u8 = 2;
const DEVICE: u8 = 5;
const BRIDGE: u8 = 7;
const IPV6: u8 = 10;

impl Ruleset {
    /// All rules that do something to the packet on its way through these places.
    pub fn met(&self, packet: &Tuple, visits: &[Visit]) -> Vec<MetRule> {
        // Without a rule that marks it, it has no mark.
        let found = self.walk(packet, visits);
        if packet.mark.is_some() || found.iter().any(|met| met.does == Does::Marks) {
            return found;
        }
        self.walk(&Tuple { mark: Some(0), ..packet.clone() }, visits)
    }

    fn walk(&self, packet: &Tuple, visits: &[Visit]) -> Vec<MetRule> {
        let mut walk = Walk { rules: self, packet: packet.clone(), visit: None, found: Vec::new(), steps: 0 };
        let mut reach = Certainty::Certainly;
        for visit in visits {
            walk.visit = Some(visit);
            let mut chains: Vec<&Chain> =
                self.chains.iter().filter(|chain| chain.is_at(packet, visit)).collect();
            chains.sort_by_key(|chain| chain.hook.as_ref().map(|hook| hook.priority));
            for chain in chains {
                if reach == Certainty::Not {
                    break;
                }
                reach = walk.base(chain, reach);
            }
        }
        if walk.steps > MOST_STEPS { self.all() } else { walk.found }
    }

    /// All that any rule does, to whatever packet.
    fn all(&self) -> Vec<MetRule> {
        let of_verdict = |verdict: &Verdict| match verdict {
            Verdict::Drop => Some(Does::Drops),
            Verdict::Queue => Some(Does::Takes("queue")),
            _ => None,
        };
        let of_part = |chain: &Chain, part: &Part| match part {
            Part::Does(does) => vec![*does],
            Part::Verdict(verdict) => of_verdict(verdict).into_iter().collect(),
            Part::Lookup(name, ..) => {
                let elements = self.set(chain, name).and_then(|set| set.elements.as_ref());
                let verdicts = elements.into_iter().flatten().filter_map(|element| element.verdict.as_ref());
                verdicts.filter_map(of_verdict).collect()
            }
            _ => Vec::new(),
        };
        let mut all = Vec::new();
        for chain in &self.chains {
            let words = chain.words();
            let drops = chain.hook.as_ref().is_some_and(|hook| hook.drops).then_some(Does::Drops);
            let does = chain.rules.iter().flatten().flat_map(|part| of_part(chain, part));
            all.extend(does.chain(drops).map(|does| MetRule {
                does,
                address: None,
                certainty: Certainty::Possibly,
                place: ChainPlace::Forward,
                is_of_frames: true,
                chain: words.clone(),
            }));
        }
        all
    }
}

impl Chain {
    /// Whether packets come to it there by themselves.
    fn is_at(&self, packet: &Tuple, visit: &Visit) -> bool {
        let Some(hook) = &self.hook else { return false };
        let number = match (visit.place, self.family) {
            (ChainPlace::Ingress, DEVICE) => 0,
            (ChainPlace::Egress, DEVICE) => 1,
            (ChainPlace::Ingress, INET) => 5,
            (ChainPlace::Ingress | ChainPlace::Egress, _) | (_, DEVICE) => return false,
            (ChainPlace::Prerouting, _) => 0,
            (ChainPlace::Input, _) => 1,
            (ChainPlace::Forward, _) => 2,
            (ChainPlace::Output, _) => 3,
            (ChainPlace::Postrouting, _) => 4,
        };
        let is_of = match self.family {
            INET | DEVICE | BRIDGE => true,
            IPV4 => packet.is_version_4,
            IPV6 => !packet.is_version_4,
            _ => false,
        };
        let passed = if visit.place == ChainPlace::Egress { &visit.leaves } else { &visit.came };
        let stands_there = match passed {
            Passes::These(these) if !hook.devices.is_empty() => {
                these.iter().any(|(name, _)| hook.devices.iter().any(|device| is_named(name, device)))
            }
            _ => true,
        };
        let sees = visit.of_frames.is_none_or(|of_frames| of_frames == (self.family == BRIDGE));
        hook.number == number && is_of && sees && stands_there && (visit.begins || !hook.translates)
    }
}

/// Whether that is the name of an interface, or what it begins with.
fn is_named(name: &str, device: &str) -> bool {
    device.strip_suffix('*').map_or(name == device, |begins| name.starts_with(begins))
}

/// What became of a packet that came to a chain: how certain it came to its end, or was accepted.
struct Outcome {
    returned: Certainty,
    accepted: Certainty,
}

struct Walk<'a> {
    rules: &'a Ruleset,
    packet: Tuple,
    visit: Option<&'a Visit>,
    found: Vec<MetRule>,
    steps: usize,
}

impl<'a> Walk<'a> {
    /// How certain the packet is behind a chain that it came to by itself.
    fn base(&mut self, chain: &'a Chain, reach: Certainty) -> Certainty {
        let Outcome { returned, accepted } = self.through(chain, reach, 0);
        if chain.hook.as_ref().is_some_and(|hook| hook.drops) {
            self.find(chain, Does::Drops, None, returned);
            return accepted;
        }
        returned.max(accepted)
    }

    fn find(&mut self, chain: &Chain, does: Does, address: Option<IpAddr>, certainty: Certainty) {
        let Some(place) = self.visit.map(|visit| visit.place).filter(|_| certainty > Certainty::Not) else {
            return;
        };
        let is_of_frames =
            matches!(place, ChainPlace::Ingress | ChainPlace::Egress) || chain.family == BRIDGE;
        self.found.push(MetRule { does, address, certainty, place, is_of_frames, chain: chain.words() });
    }

    fn through(&mut self, chain: &'a Chain, mut reach: Certainty, depth: usize) -> Outcome {
        let mut outcome = Outcome { returned: Certainty::Not, accepted: Certainty::Not };
        for rule in &chain.rules {
            if reach == Certainty::Not || self.steps > MOST_STEPS {
                break;
            }
            reach = self.rule(chain, rule, reach, depth, &mut outcome);
        }
        outcome.returned = outcome.returned.max(reach);
        outcome
    }

    /// How certain the packet comes to the next rule.
    fn rule(
        &mut self,
        chain: &'a Chain,
        rule: &'a [Part],
        reach: Certainty,
        depth: usize,
        outcome: &mut Outcome,
    ) -> Certainty {
        let mut registers = Registers::default();
        let mut matches = Certainty::Certainly;
        for part in rule {
            self.steps += 1;
            match part {
                Part::Nothing => {}
                Part::Load(to, what) => registers.set(*to, self.packet.read(*what, self.visit)),
                Part::Give(to, bytes) => registers.set(*to, words_of(bytes)),
                Part::Bits(from, to, mask, turn) => {
                    let words: Vec<Word> = masked(registers.words(*from, mask.len()), mask, turn).collect();
                    registers.set(*to, words);
                }
                Part::Turn(from, to, each, length) => {
                    let words: Vec<Word> = turned(registers.words(*from, (*length).min(64)), *each).collect();
                    registers.set(*to, words);
                }
                Part::Compare(from, how, bytes) => {
                    matches = matches.min(compared(registers.words(*from, bytes.len()), *how, bytes));
                }
                Part::Range(from, is_outside, first, last) => {
                    let is_in = within(registers.words(*from, first.len()), first, last);
                    matches = matches.min(if *is_outside { !is_in } else { is_in });
                }
                Part::Ports(asked) => matches = matches.min(asked.meets(&self.packet)),
                Part::Kinds(kinds, is_inverted) => {
                    matches = matches.min(self.packet.is_of(*kinds, *is_inverted));
                }
                Part::Does(Does::Zones(zone)) if zone.number(&registers).is_some() => {}
                Part::Unknown(to) => {
                    match to {
                        Some(to) => registers.set(*to, [const { None }; 4]),
                        None => registers.forget(),
                    }
                    matches = matches.min(Certainty::Possibly);
                }
                Part::Lookup(name, from, to, is_inverted) => {
                    let set = self.rules.set(chain, name);
                    let elements = set.and_then(|set| set.elements.as_ref()).map_or(0, Vec::len);
                    self.steps += elements / ELEMENTS_A_STEP;
                    if set.is_none_or(|set| set.decides && set.elements.is_none()) {
                        // It may lead anywhere.
                        self.steps = MOST_STEPS + 1;
                    }
                    let meant = set.map(|set| set.find(&registers, *from));
                    let is_in = meant.as_ref().map_or(Certainty::Possibly, Meant::certainty);
                    matches = matches.min(if *is_inverted { !is_in } else { is_in });
                    let meant = meant.map(|meant| meant.elements).unwrap_or_default();
                    let verdicts =
                        meant.iter().filter_map(|(is_it, element)| Some((*is_it, element.verdict.as_ref()?)));
                    let verdicts: Vec<_> = verdicts.collect();
                    if !verdicts.is_empty() {
                        let mut rest = remaining(reach, matches);
                        for (is_it, verdict) in verdicts {
                            let certainty = reach.min(matches).min(is_it);
                            rest = rest.max(self.follow(chain, verdict, certainty, depth, outcome));
                        }
                        return rest;
                    }
                    if let Some(to) = to {
                        let one = meant.first().filter(|_| meant.len() == 1);
                        match one.and_then(|(_, element)| element.value.as_ref()) {
                            Some(value) => registers.set(*to, words_of(value)),
                            None => registers.set(*to, [const { None }; 4]),
                        }
                    }
                }
                Part::Verdict(verdict) => {
                    let certainty = reach.min(matches);
                    let rest = self.follow(chain, verdict, certainty, depth, outcome);
                    return remaining(reach, matches).max(rest);
                }
                Part::Does(does) => {
                    let certainty = reach.min(matches);
                    if certainty == Certainty::Not {
                        return reach;
                    }
                    let address = self.translated(*does, &registers);
                    self.find(chain, *does, address, certainty);
                    self.change(*does, address);
                    match does {
                        Does::Drops | Does::Takes(_) => return remaining(reach, matches),
                        Does::Destination(_) | Does::Source(_) | Does::Own(_) => {
                            outcome.accepted = outcome.accepted.max(certainty);
                            return remaining(reach, matches);
                        }
                        _ => {}
                    }
                }
            }
            if matches == Certainty::Not {
                return reach;
            }
        }
        reach
    }

    /// Does what a verdict says; how certain the next rule comes then.
    fn follow(
        &mut self,
        chain: &'a Chain,
        verdict: &'a Verdict,
        certainty: Certainty,
        depth: usize,
        outcome: &mut Outcome,
    ) -> Certainty {
        match verdict {
            Verdict::Continue => return certainty,
            Verdict::Accept => outcome.accepted = outcome.accepted.max(certainty),
            Verdict::Return => outcome.returned = outcome.returned.max(certainty),
            Verdict::Drop => self.find(chain, Does::Drops, None, certainty),
            Verdict::Queue => {
                self.find(chain, Does::Takes("queue"), None, certainty);
                outcome.accepted = outcome.accepted.max(certainty);
            }
            Verdict::Jump(name) | Verdict::Goto(name) => {
                let is_it = |other: &&Chain| {
                    (other.family, &other.table, &other.name) == (chain.family, &chain.table, name)
                };
                let to = self.rules.chains.iter().find(is_it).filter(|_| depth < DEEPEST);
                let back = match to {
                    Some(to) if certainty > Certainty::Not => {
                        let Outcome { returned, accepted } = self.through(to, certainty, depth + 1);
                        outcome.accepted = outcome.accepted.max(accepted);
                        returned
                    }
                    Some(_) => Certainty::Not,
                    // What is not there to be looked at may do anything.
                    None => {
                        self.steps = MOST_STEPS + 1;
                        certainty
                    }
                };
                if matches!(verdict, Verdict::Jump(_)) {
                    return back;
                }
                outcome.returned = outcome.returned.max(back);
            }
        }
        Certainty::Not
    }

    /// The address that a packet is translated to, where it is one.
    fn translated(&self, does: Does, registers: &Registers) -> Option<IpAddr> {
        let (Does::Destination(from) | Does::Source(from)) = does else { return None };
        let from = match from {
            To::Register(from) => from,
            To::Address(address) => return Some(address),
            To::Any => return None,
        };
        let length = if self.packet.is_version_4 { 4 } else { 16 };
        let numbers = registers.words(from, length).iter().map(|word| {
            let range = word.as_ref()?;
            (range.start() == range.end()).then(|| *range.start())
        });
        let bytes: Vec<u8> =
            numbers.collect::<Option<Vec<u32>>>()?.into_iter().flat_map(u32::to_be_bytes).collect();
        match bytes.len() {
            4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
            _ => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        }
    }

    /// What is known of the packet behind a rule, which translates to that address where it does to one.
    fn change(&mut self, does: Does, address: Option<IpAddr>) {
        /// Headers that bytes are written in, and where they have addresses.
        const OF_NETWORK: u32 = 1;
        const OF_TRANSPORT: u32 = 2;
        const BEFORE_ADDRESSES: u32 = 8;
        let any = Tuple::any(self.packet.is_version_4);
        let packet = &mut self.packet;
        match does {
            Does::Marks => packet.mark = None,
            Does::Writes(OF_NETWORK, first, length)
                if first.saturating_add(length) > BEFORE_ADDRESSES + 2 =>
            {
                (packet.source, packet.destination, packet.is_own) = (None, None, None);
            }
            Does::Writes(OF_TRANSPORT, ..) => {
                packet.source_ports = any.source_ports;
                packet.destination_ports = any.destination_ports;
            }
            Does::Destination(_) => {
                if address.is_some() && address == packet.destination {
                    packet.destination_ports = any.destination_ports;
                    return;
                }
                (packet.destination, packet.is_own) = (None, None);
                packet.destination_ports = any.destination_ports;
            }
            Does::Source(_) => (packet.source, packet.source_ports) = (None, any.source_ports),
            Does::Own(_) => *packet = Tuple { mark: packet.mark, owner: packet.owner, ..any },
            _ => {}
        }
    }
}

/// How certain the next rule comes of itself.
fn remaining(reach: Certainty, matches: Certainty) -> Certainty {
    match matches {
        Certainty::Certainly => Certainty::Not,
        Certainty::Possibly => reach.min(Certainty::Possibly),
        Certainty::Not => reach,
    }
}

impl Zone {
    /// Its number, where it is the same for all packets.
    fn number(self, registers: &Registers) -> Option<u16> {
        match self {
            Self::Number(number) => Some(number),
            Self::Register(from) => {
                let number = registers.words(from, 2).first()?.as_ref()?;
                (number.start() == number.end())
                    .then(|| u16::from_ne_bytes(((number.start() >> 16) as u16).to_be_bytes()))
            }
            Self::Any => None,
        }
    }
}

impl Ruleset {
    /// Zones of connection tracking that rules put packets into which give a number.
    pub fn zones(&self) -> BTreeSet<u16> {
        let mut zones = BTreeSet::new();
        for rule in self.chains.iter().flat_map(|chain| &chain.rules) {
            let mut registers = Registers::default();
            for part in rule {
                match part {
                    Part::Give(to, bytes) => registers.set(*to, words_of(bytes)),
                    Part::Does(Does::Zones(zone)) => zones.extend(zone.number(&registers)),
                    _ => {}
                }
            }
        }
        zones
    }

    fn set(&self, chain: &Chain, name: &str) -> Option<&Set> {
        let is_it =
            |set: &&Set| (set.family, &set.table, set.name.as_str()) == (chain.family, &chain.table, name);
        self.sets.iter().find(is_it)
    }
}
