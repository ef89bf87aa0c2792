//! Reading what the kernel counted of a trial's packets, in every namespace that they pass.
//!
//! Nothing is judged here: [`dropline_account::account`] does. A namespace is entered once, on a thread that
//! ends; what was opened in it is read from outside later, so a snapshot costs a few dozen system calls.

mod hop;
mod passing;

use crate::kernel::between::{Between, SpacePassed};
use crate::kernel::path::Path;
use crate::kernel::reasons::Reasons;
use crate::kernel::socket_table::AtSocket;
use crate::kernel::view::View;
use crate::kernel::{tables, view};
use crate::sockets::consented::Consented;
use crate::sockets::flows::Flows;
use crate::sockets::whereabouts::Whereabouts;
use dropline_account::{Bars, Device, Role, Snapshot, Space, TargetSockets, Way};
use dropline_netrules::firewall::{Dropped, Seat as Stands};
use dropline_netrules::links::{Link, Qdisc, Side};
use dropline_netrules::visit::{By, Tuple};
use dropline_trial::Caveat;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub use hop::Hop;
use passing::Passing;

/// The counters along the way from us to a target.
#[derive(Debug)]
pub struct Counters {
    source: IpAddr,
    pub(crate) target: SocketAddr,
    places: Vec<Seat>,
    softnet: Option<File>,
    reasons: Option<Reasons>,
    /// Whether the target's sockets are looked at.
    sockets: bool,
    /// Of frames between two interfaces: the other ends of the second and of the first.
    last: [Option<(u64, u32)>; 2],
    /// Of a host that packets of others pass: by which interface and next hop they leave it.
    leave: Option<(u32, Option<IpAddr>)>,
    /// What counts the trial's own flow there.
    passing: Option<Passing>,
    unseen: Vec<Caveat>,
}

/// One namespace on the way.
#[derive(Debug)]
struct Seat {
    role: Role,
    view: View,
    /// Interfaces on the way, and which way packets go that leave through them; none if that is not known.
    leaves: BTreeMap<u32, Way>,
    /// Interfaces of which that is known where all may be on the way.
    faces: BTreeMap<u32, Way>,
}

impl Counters {
    /// Finds what counts packets that the calling thread's namespace sends from `source` to `target`. What
    /// is not to be seen is left out, and said by [`unseen`](Self::unseen).
    pub fn open(source: IpAddr, target: SocketAddr) -> Self {
        let mut counters = Self { source, target, ..Self::of_any() };
        match View::here() {
            Ok(here) => counters.look_around(here),
            Err(_) => counters.miss("the counters of this machine", "there is no /proc to read them from"),
        }
        if counters
            .places
            .first_mut()
            .is_some_and(|here| here.view.firewall().is_ok_and(|rules| !rules.is_seen()))
        {
            counters.miss(
                "the rules of this namespace's firewall",
                "to list them takes CAP_NET_ADMIN: whether one of them drops the trial's packets, or leads them elsewhere, is \
                 not known",
            );
        }
        counters
    }

    /// The same of frames from one interface to another, each named by the file of its namespace, `None` for the calling thread's, and
    /// by its name there.
    ///
    /// # Errors
    /// If one of them is not to be seen.
    pub fn between(ends: [(Option<&std::path::Path>, &str); 2]) -> io::Result<Self> {
        let Between { spaces, last } = Between::find(ends)?;
        let mut counters = Self::of_any();
        let seats = spaces.into_iter().map(|SpacePassed { view, role, leaves, faces }| Seat {
            role,
            view,
            leaves,
            faces,
        });
        counters.places.extend(seats);
        (counters.last, counters.sockets) = (last, false);
        Ok(counters)
    }

    /// Of frames between two interfaces: the interface from which they arrive at the one where they come out, its namespace and its
    /// number. `Back` is from the second to the first.
    pub fn last(&self, way: Way) -> Option<(u64, u32)> {
        self.last[usize::from(way == Way::Back)]
    }

    /// What counts packets of any namespace.
    fn of_any() -> Self {
        let any = Ipv4Addr::UNSPECIFIED;
        let mut counters = Self {
            source: any.into(),
            target: SocketAddr::from((any, 0)),
            places: Vec::new(),
            softnet: File::open("/proc/net/softnet_stat").ok(),
            reasons: Reasons::open().ok(),
            sockets: true,
            last: [None; 2],
            leave: None,
            passing: None,
            unseen: Vec::new(),
        };
        if counters.reasons.is_none() {
            counters.miss(
                "the kernel's own reasons for dropping packets (skb:kfree_skb)",
                "that takes CAP_PERFMON and tracefs, as root has them, and would name what no counter counts",
            );
        }
        counters
    }

    fn look_around(&mut self, mut here: View) {
        let address = self.target.ip().to_canonical();
        if Consented::is_to(self.target) {
            // What the other hosts counted is read there.
            let through = here.route(address).and_then(|route| route.through);
            let leaves = through.map(|through| (through, Way::Out)).into_iter().collect();
            self.places.push(Seat { role: Role::Near, view: here, leaves, faces: BTreeMap::new() });
            self.reasons = None;
            self.unseen.clear();
            return;
        }
        let here_too = address.is_unspecified() || here.route(address).is_some_and(|route| route.local);
        if here_too || address.is_loopback() {
            self.places.push(Seat {
                role: Role::Both,
                view: here,
                leaves: BTreeMap::new(),
                faces: BTreeMap::new(),
            });
            return;
        }
        match Path::find(here, address) {
            Ok(path) => {
                let last = path.views.len() - 1;
                let seats = path.views.into_iter().zip(path.leaves).enumerate();
                self.places.extend(seats.map(|(at, (view, leaves))| {
                    let role = match at {
                        0 => Role::Near,
                        at if at == last => Role::Far,
                        _ => Role::Between,
                    };
                    Seat { role, view, leaves, faces: BTreeMap::new() }
                }));
            }
            Err(here) => {
                self.places.push(Seat {
                    role: Role::Near,
                    view: *here,
                    leaves: BTreeMap::new(),
                    faces: BTreeMap::new(),
                });
                if let Whereabouts::OtherNamespace { net: Some(net) } = Whereabouts::of(self.target)
                    && let Ok(view) = View::of_process(&net)
                {
                    self.places.push(Seat {
                        role: Role::Far,
                        view,
                        leaves: BTreeMap::new(),
                        faces: BTreeMap::new(),
                    });
                    self.miss(
                        "interfaces and queues of the target's namespace",
                        "entering it takes root, or CAP_SYS_ADMIN and CAP_SYS_PTRACE",
                    );
                } else {
                    self.miss(
                        "the target's side",
                        "it is not on this machine, or entering its namespace takes root",
                    );
                }
            }
        }
    }

    fn miss(&mut self, what: &str, need: &str) {
        self.unseen.push(Caveat::PlacesUnseen { what: what.into(), need: need.into() });
    }

    /// Packets go to several sockets: what the namespace counts of all is heard instead.
    pub(crate) fn leave_out_sockets(&mut self) {
        self.sockets = false;
        self.miss("each target's own socket", "packets go to several, so offer to one at a time");
    }

    /// What could not be looked at, and what it takes.
    pub fn unseen(&self) -> &[Caveat] {
        &self.unseen
    }

    /// Packets that wait in front of interfaces that the trial's packets pass, now.
    pub fn waiting(&mut self) -> u64 {
        let of = |seat: &mut Seat| {
            let waiting = Qdisc::waiting(&seat.view.qdiscs().unwrap_or_default());
            let passed = |index: &u32| seat.leaves.is_empty() || seat.leaves.contains_key(index);
            waiting.iter().filter(|(index, _)| passed(index)).map(|(_, packets)| packets).sum::<u64>()
        };
        self.places.iter_mut().map(of).sum()
    }

    /// Everything that can be read, now.
    pub fn read(&mut self) -> Snapshot {
        let target = self.target_sockets().filter(|_| self.sockets);
        let (source, address) = (self.source, self.target.ip());
        let packets = self.packets();
        let mut spaces: Vec<Space> =
            self.places.iter_mut().map(|seat| seat.read(source, address, &packets)).collect();
        if let (Some(passing), [space]) = (&mut self.passing, spaces.as_mut_slice()) {
            space.flow = passing.read();
        }
        let softnet = self.softnet.as_ref().map(view::whole);
        let backlog_drops = softnet.and_then(|rows| tables::backlog_drops(&rows));
        let reasons = self.reasons.as_ref().map(Reasons::read);
        Snapshot { spaces, target, backlog_drops, reasons }
    }

    /// What rules see of the trial's packets.
    fn packets(&self) -> Vec<Tuple> {
        let any = Tuple::any(self.target.ip().to_canonical().is_ipv4());
        if !self.sockets {
            return vec![any];
        }
        let flows = Flows::from(self.target);
        let target = self.target.ip().to_canonical();
        // An own address is reached by loopback's too, where the service is bound to all.
        let is_both = self.places.iter().any(|seat| seat.role == Role::Both) && target.is_ipv4();
        let loopback = is_both.then_some(Ipv4Addr::LOCALHOST.into());
        let source = Some(self.source.to_canonical()).filter(|source| !source.is_unspecified());
        flows.tuples(source, &[target].into_iter().chain(loopback).collect::<Vec<_>>())
    }

    /// The sockets that take what is sent to the target; `None` if they are gone, or not to be seen.
    pub(crate) fn target_sockets(&self) -> Option<TargetSockets> {
        let at = AtSocket::of_table(&self.targets_view()?.sockets(), self.target)?;
        Some(TargetSockets { identity: at.identity, drops: at.drops, waiting_bytes: at.waiting_bytes })
    }

    /// The namespace that the target is in.
    pub(crate) fn targets_view(&self) -> Option<&View> {
        let seat = self.places.last()?;
        matches!(seat.role, Role::Both | Role::Far).then_some(&seat.view)
    }
}

impl Seat {
    fn read(&mut self, source: IpAddr, target: IpAddr, packets: &[Tuple]) -> Space {
        // Tables first: what netlink asks for takes longer.
        let stack = self.view.stack(tables::Version::of(target));
        let links = self.view.links();
        let qdiscs = self.view.qdiscs();
        let (links, known) = (links.as_deref(), qdiscs.as_deref().unwrap_or_default());
        let towards = match self.role {
            Role::Near => Some(target),
            Role::Far => Some(source),
            Role::Both | Role::Between => None,
        };
        let ways = self.dropped(packets);
        let dropped = ways.map(|[out, back]| out.or(back));
        let hooked = links.and_then(|links| {
            let on_path = links.iter().filter(|link| self.is_on_path(link));
            if view::is_hooked(on_path, known) { Some(true) } else { dropped.map(|dropped| dropped.before) }
        });
        // What the IP layer of an end loses to a rule is a difference of its counters; what is only bridged is not.
        let is_between = self.role == Role::Between;
        let untraced =
            |dropped: Dropped| dropped.of_frames || is_between && (dropped.arriving || dropped.leaving);
        let ruled = dropped.map(untraced);
        let ruled_way = ways.and_then(|ways| match ways.map(untraced) {
            [true, false] => Some(Way::Out),
            [false, true] => Some(Way::Back),
            _ => None,
        });
        let source_is_own = self.role == Role::Far
            && !source.is_unspecified()
            && self.view.route(source).is_some_and(|route| route.local);
        let neighbour_found = towards.and_then(|address| self.view.neighbour_found(address));
        let drops = |side| qdiscs.is_some().then(|| Qdisc::drops(known, side));
        let waiting = Qdisc::waiting(known);
        let sides = [drops(Side::Leaving), drops(Side::Arriving), drops(Side::Either)];
        let sides = sides.each_ref().map(Option::as_ref);
        let device = |link: &Link| Device {
            queue_waiting: waiting.get(&link.index).copied().unwrap_or(0),
            ..self.device(link, sides)
        };
        let devices = links.map(|links| links.iter().map(device).collect());
        Space {
            id: self.view.id,
            role: self.role,
            stack,
            devices,
            hooked,
            ruled,
            ruled_way,
            drops_arriving: bars(dropped, |dropped| dropped.arriving),
            drops_leaving: bars(dropped, |dropped| dropped.leaving),
            source_is_own,
            neighbour_found,
            flow: None,
        }
    }

    fn is_on_path(&self, link: &Link) -> bool {
        match self.role {
            Role::Both => link.name == "lo",
            _ => self.leaves.is_empty() || self.leaves.contains_key(&link.index),
        }
    }

    /// What rules of the firewall here may drop of the trial's packets and of replies; `None` where that is not to be seen.
    fn dropped(&mut self, packets: &[Tuple]) -> Option<[Dropped; 2]> {
        const LOOPBACK: u32 = 1;
        let firewall = self.view.firewall().ok()?;
        let by = match (self.role, self.leaves.keys().next()) {
            (Role::Both, _) => self.view.by(LOOPBACK),
            (Role::Between, _) | (_, None) => By::ANY,
            (_, Some(&index)) => self.view.by(index),
        };
        let seat = match self.role {
            Role::Both => Stands::Both(&by),
            Role::Near => Stands::Near(&by),
            Role::Far => Stands::Far(&by, &by),
            Role::Between => Stands::Between(&by),
        };
        let mut dropped = [Dropped::default(); 2];
        for packet in packets {
            for (all, through) in dropped.iter_mut().zip(seat.ways(packet)) {
                *all = all.or(firewall.drops(&through)?);
            }
        }
        Some(dropped)
    }

    fn device(&self, link: &Link, [leaving, arriving, either]: [Option<&BTreeMap<u32, u64>>; 3]) -> Device {
        let of = |drops: &BTreeMap<u32, u64>| drops.get(&link.index).copied().unwrap_or(0);
        let leaves = self.leaves.get(&link.index).or_else(|| self.faces.get(&link.index)).copied();
        Device {
            index: link.index,
            name: link.name.clone(),
            on_path: self.is_on_path(link),
            leaves,
            own: link.stands_alone(),
            up: link.up,
            carrier_changes: link.carrier_changes,
            received: link.received,
            receive_drops: link.receive_drops,
            other_host: link.other_host,
            transmitted: link.transmitted,
            transmit_drops: link.transmit_drops,
            queue_drops: leaving.map(of),
            queue_waiting: 0,
            ingress_drops: arriving.map_or(0, of),
            filter_drops: either.map_or(0, of),
        }
    }
}

/// Whose packets rules may drop at one place.
fn bars(dropped: Option<Dropped>, of: fn(&Dropped) -> bool) -> Bars {
    match dropped {
        None => Bars::Unseen,
        Some(dropped) if of(&dropped) => Bars::Ours,
        Some(dropped) if dropped.any => Bars::Others,
        Some(_) => Bars::Nothing,
    }
}
