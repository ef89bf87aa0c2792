//! A lookout for what lies on the way of packets and may change while they are under way: whether it did is cheap to ask, what it
//! does is not.
//!
//! | what | by what a change is known |
//! |---|---|
//! | rules of this namespace's firewall | the generation of nftables, the bytes of the older tables |
//! | an interface of the way, and what is on top of it or at its other end | the kernel tells (`RTMGRP_LINK`) |
//! | whose hardware address a neighbour has | the kernel tells (`RTMGRP_NEIGH`) |
//! | filters of traffic control at an interface of the way | the kernel tells (`RTMGRP_TC`) |
//! | programs there (tcx) | they are counted at each look: the kernel tells nobody |

use super::firewall::generation;
use super::netlink::Netlink;
use super::older;
use super::passed::Passed;
use super::programs::first_with_program;
use super::view::{View, enter};
use dropline_netrules::links::Link;
use dropline_netrules::older::OlderTable;
use dropline_netrules::routes::Neighbour;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

/// What was there when this was last asked.
#[derive(Debug)]
pub(crate) struct Lookout {
    filter: Option<Netlink>,
    last: Looked,
    /// Those that the packets pass; the first is that of the calling thread.
    namespaces: Vec<Namespace>,
}

/// The generation of nftables' rules, and the older tables; `None` where they are not to be seen.
type Looked = (Option<u32>, Option<Vec<OlderTable>>);

/// What is known of one that packets pass.
#[derive(Debug)]
struct Namespace {
    id: u64,
    file: Option<File>,
    told: Option<Netlink>,
    /// Interfaces of the way, with what a person knows them by.
    interfaces: BTreeMap<u32, String>,
    /// Hardware addresses of neighbours, by what the kernel tells of whom.
    neighbours: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing is new.
    None,
    /// Something is, which may lead packets elsewhere or not.
    Some,
    /// What leads packets where nobody can tell, in words: an interface of the way is not where it was, or a program came to it.
    Astray(String),
}

const NEW_LINK: u16 = 16;
const GONE_LINK: u16 = 17;
const NEW_NEIGHBOUR: u16 = 28;

impl Lookout {
    /// From now on, in the namespace of the calling thread.
    pub(crate) fn new() -> Self {
        let filter = Netlink::open(libc::NETLINK_NETFILTER).ok();
        let mut lookout = Self { filter, last: (None, None), namespaces: Vec::new() };
        lookout.last = lookout.look();
        lookout
    }

    /// Over this way too.
    pub(crate) fn add(&mut self, passed: &mut Passed) {
        for (view, interfaces) in passed.views.iter_mut().zip(&passed.interfaces) {
            let links = view.links().unwrap_or_default().into_iter();
            let named = |link: Link| (link.index, format!("{} of {}", link.name, view.name));
            let interfaces: BTreeMap<u32, String> =
                links.filter(|link| interfaces.contains(&link.index)).map(named).collect();
            if interfaces.is_empty() {
                continue;
            }
            match self.namespaces.iter_mut().find(|known| known.id == view.id) {
                Some(known) => known.interfaces.extend(interfaces),
                None => {
                    let is_here = self.namespaces.is_empty();
                    self.namespaces.push(Namespace::of(view, interfaces, is_here));
                }
            }
        }
    }

    fn look(&mut self) -> Looked {
        let tables = if older::are_there() { older::tables().ok().flatten() } else { None };
        // Counters of packets are among the bytes of a rule.
        (self.filter.as_mut().and_then(generation), tables.map(OlderTable::without_counts))
    }

    /// What changed since this was last asked; asked by a thread of the same namespace.
    pub(crate) fn change(&mut self) -> Change {
        let now = self.look();
        let mut is_new = now != self.last;
        self.last = now;
        for namespace in &mut self.namespaces {
            match namespace.told() {
                Change::None => {}
                Change::Some => is_new = true,
                astray @ Change::Astray(_) => return astray,
            }
        }
        match self.program() {
            Some(program) => Change::Astray(program),
            None if is_new => Change::Some,
            None => Change::None,
        }
    }

    /// A program that stands at an interface of the way, in words: none did before, else no packet would have been sent.
    fn program(&self) -> Option<String> {
        let stands = |namespace: &Namespace| {
            let interfaces: BTreeSet<u32> = namespace.interfaces.keys().copied().collect();
            let name = namespace.interfaces.get(&first_with_program(&interfaces)?)?;
            Some(format!(
                "a program of tc (BPF, tcx) at interface {name}: nobody can tell where it sends packets"
            ))
        };
        let (here, others) = self.namespaces.split_first()?;
        let mut found = stands(here);
        let mut is_here = true;
        for other in others {
            // Who may not enter it may not ask either.
            if other.file.as_ref().is_some_and(|file| enter(file).is_ok()) {
                is_here = false;
                found = found.or_else(|| stands(other));
            }
        }
        if !is_here && let Some(file) = &here.file {
            // Who was let into another is let back.
            let _ = enter(file);
        }
        found
    }
}

impl Namespace {
    fn of(view: &View, interfaces: BTreeMap<u32, String>, is_here: bool) -> Self {
        const TRAFFIC_CONTROL: u32 = 8;
        let groups = (libc::RTMGRP_LINK | libc::RTMGRP_NEIGH) as u32 | TRAFFIC_CONTROL;
        let open = || Netlink::told_of(libc::NETLINK_ROUTE, groups).ok();
        let told = if is_here { open() } else { view.inside(open).ok().flatten() };
        Self { id: view.id, file: view.file(), told, interfaces, neighbours: BTreeMap::new() }
    }

    /// What the kernel told since the last time.
    fn told(&mut self) -> Change {
        let mut change = Change::None;
        let Self { told: Some(told), interfaces, neighbours, .. } = self else { return change };
        told.news(|message| {
            // Messages of all these kinds have the number of the interface there; those of a bridge's ports say its family first.
            let index = message
                .body
                .get(4..)
                .and_then(|rest| rest.first_chunk())
                .map(|number| u32::from_ne_bytes(*number));
            let Some(name) = index.and_then(|index| interfaces.get(&index)) else { return };
            let is_new = match message.kind {
                GONE_LINK if message.body.first() == Some(&0) => {
                    change = Change::Astray(format!(
                        "interface {name}, which is on the way, was taken away from there"
                    ));
                    false
                }
                NEW_LINK if Link::read(message).is_some_and(|link| link.program) => {
                    let what = format!(
                        "a program of XDP (BPF) at interface {name}: nobody can tell where it sends packets"
                    );
                    change = Change::Astray(what);
                    false
                }
                NEW_NEIGHBOUR => match Neighbour::told(message) {
                    Some((whose, hardware)) => neighbours.insert(whose, hardware.clone()) != Some(hardware),
                    None => false,
                },
                _ => true,
            };
            if is_new && change == Change::None {
                change = Change::Some;
            }
        });
        change
    }
}
