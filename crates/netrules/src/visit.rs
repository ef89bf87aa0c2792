//! A packet of a trial as rules of a firewall see it, and the places where they do.

use crate::expressions::PortMatch;
use crate::registers::Certainty;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// One packet, or any of several that are alike. What is `None` is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// Whether it is of version 4.
    pub is_version_4: bool,
    /// Where it comes from.
    pub source: Option<IpAddr>,
    /// Where it goes.
    pub destination: Option<IpAddr>,
    /// Ports it may come from.
    pub source_ports: RangeInclusive<u16>,
    /// Ports it may go to.
    pub destination_ports: RangeInclusive<u16>,
    /// What rules of routing and of firewalls know it by.
    pub mark: Option<u32>,
    /// Whether where it goes is an address of the namespace that looks.
    pub is_own: Option<bool>,
    /// The user and the group that the program has which sends it.
    pub owner: Option<(u32, u32)>,
}

impl Tuple {
    /// That of what comes back.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_ports: self.destination_ports.clone(),
            destination_ports: self.source_ports.clone(),
            is_own: None,
            owner: None,
            ..self.clone()
        }
    }
}

/// A place where packets come to chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChainPlace {
    /// Behind an interface, before anything else.
    Ingress,
    /// Behind that, before it is known where they go.
    Prerouting,
    /// Before a program of this namespace.
    Input,
    /// From one interface to another.
    Forward,
    /// Behind a program of this namespace.
    Output,
    /// Before they leave.
    Postrouting,
    /// In front of an interface.
    Egress,
}

/// Interfaces that a packet may have passed, or may be about to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passes {
    /// None: a program of this namespace has it, or had it.
    None,
    /// Nobody can tell.
    Any,
    /// One of these, each by its name and number.
    These(Vec<(String, u32)>),
}

/// A packet at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Where.
    pub place: ChainPlace,
    /// What it came by.
    pub came: Passes,
    /// What it leaves by.
    pub leaves: Passes,
    /// Whether it is the first of a flow, which alone is asked about in chains that translate.
    pub begins: bool,
    /// Whether chains of bridges alone see it there, who know it by the ports, or all others alone; `None`: all do.
    pub of_frames: Option<bool>,
}

impl Tuple {
    /// What is known of a packet of that version without looking at any.
    pub fn any(is_version_4: bool) -> Self {
        Self {
            is_version_4,
            source: None,
            destination: None,
            source_ports: 0..=u16::MAX,
            destination_ports: 0..=u16::MAX,
            mark: None,
            is_own: None,
            owner: None,
        }
    }
}

/// What packets pass to come to a namespace or to leave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// The interfaces that the IP layer has them from, or gives them to.
    pub packets: Passes,
    /// Those where frames are seen: these, and the ports of a bridge.
    pub frames: Passes,
}

impl By {
    /// Nobody can tell.
    pub const ANY: Self = Self { packets: Passes::Any, frames: Passes::Any };
}

impl Visit {
    fn at<const N: usize>(
        places: [ChainPlace; N],
        came: Option<&By>,
        leaves: Option<&By>,
        begins: bool,
    ) -> Vec<Self> {
        let of = |by: Option<&By>, of_frames: bool| match by {
            None => Passes::None,
            Some(by) => if of_frames { &by.frames } else { &by.packets }.clone(),
        };
        let is_bridged = [came, leaves].into_iter().flatten().any(|by| by.packets != by.frames);
        let visits = places.into_iter().flat_map(|place| {
            let visit = |is_frames, of_frames| Self {
                place,
                came: of(came, is_frames),
                leaves: of(leaves, is_frames),
                begins,
                of_frames,
            };
            match (place, is_bridged) {
                (ChainPlace::Ingress | ChainPlace::Egress, _) => vec![visit(true, None)],
                (_, true) => vec![visit(true, Some(true)), visit(false, Some(false))],
                (_, false) => vec![visit(false, None)],
            }
        });
        visits.collect()
    }

    /// The places of what a program of a namespace sends.
    pub fn leaving(by: &By, begins: bool) -> Vec<Self> {
        Self::at([ChainPlace::Output, ChainPlace::Postrouting, ChainPlace::Egress], None, Some(by), begins)
    }

    /// Those of what comes to one.
    pub fn arriving(by: &By, begins: bool) -> Vec<Self> {
        Self::at([ChainPlace::Ingress, ChainPlace::Prerouting, ChainPlace::Input], Some(by), None, begins)
    }

    /// Those of what goes on from one interface to another.
    pub fn passing(by: &By, begins: bool) -> Vec<Self> {
        let places = [
            ChainPlace::Ingress,
            ChainPlace::Prerouting,
            ChainPlace::Forward,
            ChainPlace::Postrouting,
            ChainPlace::Egress,
        ];
        Self::at(places, Some(by), Some(by), begins)
    }
}

impl Tuple {
    /// Whether the address that it goes to is of one of these kinds (`XT_ADDRTYPE_…`).
    pub(super) fn is_of(&self, kinds: u16, is_inverted: bool) -> Certainty {
        const UNICAST: u16 = 1 << 1;
        const LOCAL: u16 = 1 << 2;
        match self.is_own.map(|is_own| kinds & if is_own { LOCAL } else { UNICAST } != 0) {
            None => Certainty::Possibly,
            Some(is_so) if is_so != is_inverted => Certainty::Certainly,
            Some(_) => Certainty::Not,
        }
    }
}

impl PortMatch {
    /// Whether a packet is so.
    pub(super) fn meets(&self, packet: &Tuple) -> Certainty {
        let is_in = |asked: &Option<Vec<(u16, u16)>>, ports: &RangeInclusive<u16>, is_inverted: bool| {
            let asked = asked.as_ref()?;
            let covers = |&(first, last): &(u16, u16)| {
                if first <= *ports.start() && *ports.end() <= last {
                    Certainty::Certainly
                } else if last < *ports.start() || *ports.end() < first {
                    Certainty::Not
                } else {
                    Certainty::Possibly
                }
            };
            let is_in = asked.iter().map(covers).max().unwrap_or(Certainty::Not);
            Some(if is_inverted { !is_in } else { is_in })
        };
        let from = is_in(&self.from, &packet.source_ports, self.inverted[0]);
        let to = is_in(&self.to, &packet.destination_ports, self.inverted[1]);
        let (from, to) = match (from, to) {
            (None, None) => return Certainty::Certainly,
            (Some(one), None) | (None, Some(one)) => return one,
            (Some(from), Some(to)) => (from, to),
        };
        // What is neither is not the one and not the other.
        if self.either && !self.inverted[0] { from.max(to) } else { from.min(to) }
    }
}
