//! A lookout for what lies on the way of packets and may change while they are under way: whether anything did is cheap to ask,
//! what it does is not, and is looked at as it was before the first packet.
//!
//! | what, in each namespace of the way | by what a change is known |
//! |---|---|
//! | rules of its firewall | the generation of nftables, the bytes of the older tables |
//! | interfaces, bridges and their ports | the kernel tells (`RTMGRP_LINK`) |
//! | neighbours, and tables of bridges | the kernel tells (`RTMGRP_NEIGH`) |
//! | addresses, routes, next hops and rules of routing | the kernel tells |
//! | filters of traffic control | the kernel tells (`RTMGRP_TC`) |
//! | policies of IPsec | the kernel tells (`XFRMNLGRP_POLICY`) |
//! | programs at an interface of the way (tcx) | they are asked for at each look: the kernel tells nobody |

use super::firewall::generation;
use super::legacy_tables;
use super::look_error::seen;
use super::netlink::Netlink;
use super::path_passed::PathPassed;
use super::programs::first_with_program;
use super::view::{View, enter};
use dropline_netrules::legacy_tables::LegacyTable;
use dropline_netrules::links::Link;
use dropline_netrules::message::Message;
use dropline_netrules::routes::Neighbour;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;

/// What was there when this was last asked.
#[derive(Debug, Default)]
pub(crate) struct Lookout {
    /// Those that the packets pass; the first is that of the thread that asks.
    namespaces: Vec<Namespace>,
}

/// What is known of one that packets pass.
#[derive(Debug)]
struct Namespace {
    id: u64,
    name: String,
    file: Option<File>,
    filter: Option<Netlink>,
    last: Looked,
    told: Vec<Netlink>,
    /// Interfaces of the way, each with its name and what it belonged to when it came to be watched.
    interfaces: BTreeMap<u32, (String, Option<u32>)>,
    /// Where the kernel said last that hardware addresses are, by whom it said it of.
    neighbours: BTreeMap<Vec<u8>, Vec<u8>>,
    /// What became of interfaces of the way, in words.
    moved: BTreeMap<u32, String>,
    /// Hardware addresses of the way, in all its namespaces.
    hardware: BTreeSet<Vec<u8>>,
    /// What a bridge did with one of these, in words: the next frame from there may undo it.
    astray: Option<String>,
}

/// What does not tell of itself; `None` where it is not to be seen.
#[derive(Debug, Default, PartialEq, Eq)]
struct Looked {
    generation: Option<u32>,
    older: Option<Vec<LegacyTable>>,
    program: Option<u32>,
}

const NEW_LINK: u16 = 16;
const GONE_LINK: u16 = 17;
const NEW_NEIGHBOUR: u16 = 28;
const GONE_NEIGHBOUR: u16 = 29;
/// rtnetlink.h, xfrm.h: groups of those who are told.
pub(super) const ROUTES: u32 = {
    const TRAFFIC_CONTROL: u32 = 1 << 3;
    const IPV4: u32 = 1 << 4 | 1 << 6 | 1 << 7;
    const IPV6: u32 = 1 << 8 | 1 << 10 | 1 << 18;
    const NEXT_HOPS: u32 = 1 << 31;
    (libc::RTMGRP_LINK | libc::RTMGRP_NEIGH) as u32 | TRAFFIC_CONTROL | IPV4 | IPV6 | NEXT_HOPS
};
const POLICIES: u32 = 1 << 3;

impl Lookout {
    /// Over this way too, from now on, as far as this user may; whether any of it was not looked out over before.
    ///
    /// # Errors
    /// If the system has nothing left to look with.
    pub(crate) fn add(&mut self, passed: &mut PathPassed) -> io::Result<bool> {
        let mut is_new = false;
        let mut hardware = BTreeSet::new();
        for (view, interfaces) in passed.views.iter_mut().zip(&passed.interfaces) {
            if interfaces.is_empty() {
                continue;
            }
            let count = self.namespaces.len();
            let at = self.namespaces.iter().position(|known| known.id == view.id).unwrap_or(count);
            if at == count {
                self.namespaces.push(Namespace::of(view, count == 0)?);
            }
            let known = &mut self.namespaces[at];
            if interfaces.iter().all(|index| known.interfaces.contains_key(index)) {
                continue;
            }
            is_new = true;
            for link in view.links().unwrap_or_default() {
                if interfaces.contains(&link.index) {
                    hardware.insert(link.hardware);
                    known.interfaces.entry(link.index).or_insert((link.name, link.master));
                }
            }
            // One that went meanwhile is looked for once.
            for &index in interfaces {
                known.interfaces.entry(index).or_insert_with(|| (format!("number {index}"), None));
            }
        }
        for namespace in &mut self.namespaces {
            namespace.hardware.extend(hardware.iter().filter(|own| !own.is_empty()).cloned());
        }
        Ok(is_new)
    }

    /// What a bridge of the way did with frames for one of its ends, though it may do otherwise by now, in words.
    pub(crate) fn astray(&mut self) -> Option<String> {
        self.namespaces.iter_mut().find_map(|namespace| namespace.astray.take())
    }

    /// Whether anything changed since this was last asked; asked by a thread of the namespace that packets leave, which is in others
    /// meanwhile.
    pub(crate) fn change(&mut self) -> bool {
        let mut is_new = false;
        let mut is_away = false;
        for (at, namespace) in self.namespaces.iter_mut().enumerate() {
            is_new |= namespace.is_told();
            // Who may not enter it may not look either.
            let is_in = at == 0 || namespace.file.as_ref().is_some_and(|file| enter(file).is_ok());
            is_away |= is_in && at > 0;
            if is_in {
                is_new |= namespace.looks_new();
            }
        }
        if is_away && let Some(file) = self.namespaces.first().and_then(|here| here.file.as_ref()) {
            // Who was let into another is let back.
            let _ = enter(file);
        }
        is_new
    }

    /// What became of an interface of the way since it is watched, in words.
    pub(crate) fn moved(&self) -> Option<&str> {
        self.namespaces.iter().find_map(|namespace| namespace.moved.values().next()).map(String::as_str)
    }
}

impl Namespace {
    fn of(view: &View, is_here: bool) -> io::Result<Self> {
        let open = || {
            let routes = seen(Netlink::told_of(libc::NETLINK_ROUTE, ROUTES))?;
            // A kernel without IPsec has nothing to tell of it.
            let policies = seen(Netlink::told_of(libc::NETLINK_XFRM, POLICIES))?;
            let told = routes.into_iter().chain(policies).collect();
            Ok::<_, io::Error>((seen(Netlink::open(libc::NETLINK_NETFILTER))?, told))
        };
        let opened = if is_here { Some(open()) } else { seen(view.inside(open))? };
        let (filter, told) = opened.transpose()?.unwrap_or_default();
        Ok(Self {
            id: view.id,
            name: view.name.clone(),
            file: view.file(),
            filter,
            last: Looked::default(),
            told,
            interfaces: BTreeMap::new(),
            neighbours: BTreeMap::new(),
            moved: BTreeMap::new(),
            hardware: BTreeSet::new(),
            astray: None,
        })
    }

    /// Whether what does not tell of itself is otherwise than the last time; asked inside.
    fn looks_new(&mut self) -> bool {
        let tables = if legacy_tables::are_there() { legacy_tables::tables().ok().flatten() } else { None };
        let now = Looked {
            generation: self.filter.as_mut().and_then(generation),
            // Counters of packets are among the bytes of a rule.
            older: tables.map(LegacyTable::without_counts),
            program: first_with_program(&self.interfaces.keys().copied().collect()),
        };
        let is_new = now != self.last;
        self.last = now;
        is_new
    }

    /// Whether the kernel told of anything since the last time that is new.
    fn is_told(&mut self) -> bool {
        let mut is_new = false;
        let Self { told, interfaces, neighbours, moved, name, hardware, astray, .. } = self;
        for told in told {
            let is_whole = told.news(|message| {
                is_new |= match message.kind {
                    NEW_NEIGHBOUR | GONE_NEIGHBOUR => is_new_neighbour(message, neighbours),
                    _ => true,
                };
                if let Some(port) = Neighbour::learnt(message, hardware).filter(|port| !interfaces.contains_key(port)) {
                    *astray = Some(format!(
                        "a bridge of {name} came to send frames that are for the path, or for replies, out by port number {port}, \
                         which is not on it"
                    ));
                }
                if let Some((index, device, what)) = of_interface(message, interfaces) {
                    moved.remove(&index);
                    let words = |what| format!("interface {device} of {name}, which is on the path, {what}");
                    moved.extend(what.map(|what| (index, words(what))));
                }
            });
            is_new |= !is_whole;
        }
        is_new
    }
}

/// Whether a message tells of another hardware address, or of another place of one, than the last one of the same did.
fn is_new_neighbour(message: Message<'_>, neighbours: &mut BTreeMap<Vec<u8>, Vec<u8>>) -> bool {
    match Neighbour::told(message) {
        Some((whose, hardware)) => neighbours.insert(whose, hardware.clone()) != Some(hardware),
        // What is gone is asked for anew, or not known to a bridge any more.
        None if message.kind == GONE_NEIGHBOUR => {
            neighbours.clear();
            true
        }
        // What is asked for, and what did not answer, gets no packet.
        None => false,
    }
}

/// The interface of the way that a message tells of, and what became of it where it is not where it was.
fn of_interface<'a>(
    message: Message<'_>,
    interfaces: &'a BTreeMap<u32, (String, Option<u32>)>,
) -> Option<(u32, &'a str, Option<&'static str>)> {
    // What is told of a bridge's ports says its family first.
    let is_of_all = matches!(message.kind, NEW_LINK | GONE_LINK) && message.body.first() == Some(&0);
    let index = message.body.get(4..)?.first_chunk().map(|number| u32::from_ne_bytes(*number))?;
    let (name, master) = interfaces.get(&index).filter(|_| is_of_all)?;
    let what = if message.kind == GONE_LINK {
        Some("was taken away from there")
    } else {
        match Link::read(message)?.master {
            now if now == *master => None,
            Some(_) => Some("was made a port of another bridge, or a part of another interface"),
            None => Some("was taken out of its bridge"),
        }
    };
    Some((index, name, what))
}
