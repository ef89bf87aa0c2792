//! The hearing of a trial's loss: each counter makes its claim, and each lost packet goes to one place, or is unexplained.
//!
//! Evidence is heard in order of how much it can prove. First what programs counted themselves, by the tag of
//! the trial; then the target's own sockets; then what a whole namespace counted with a counter of its own;
//! then differences between two counters; then what can only be what remains, which a caveat names; last the
//! kernel's reasons for dropping packets, in which all namespaces are mixed.

mod remainder;

use crate::flow;
use crate::hops::HostPath;
use crate::outcome::Account;
use crate::{Bars, Ledger, Outcome, Place, Role, Site, Snapshot, Space, Way};
use dropline_trial::Caveat;
use remainder::Inference;
use std::collections::BTreeMap;

/// Frames with which the kernel asks for a hardware address before it gives up, and some.
const QUESTIONS: u64 = 8;

/// Packets that other programs of a namespace may get beside a trial without a word: fewer than these, or one in so many.
const A_FEW: u64 = 64;
const NEGLIGIBLE: u64 = 20;

/// Packets of the longest train (`UDP_MAX_SEGMENTS`): for so many at most stands one tick of a counter that counts trains.
pub(crate) const LONGEST_TRAIN: u64 = 128;

/// The claims being heard.
pub(crate) struct Hearing<'a> {
    ledger: Ledger,
    outcome: &'a Outcome,
    grown: &'a Snapshot,
    /// Packets that counters claimed beyond the loss.
    over: u64,
    /// Packets that differences of two counters would have claimed beyond it.
    vanished_beside: u64,
    /// Whether a counter is known to hold other programs' packets.
    shared: bool,
    inferred: Vec<(Site, u64, Inference)>,
    /// Whether a place gets no packet that another program may have lost there.
    wary: bool,
    /// Packets that other programs may have lost where a counter counted some.
    pub(crate) others: u64,
    /// Packets that were counted at a place and may be other programs'.
    withheld: BTreeMap<Place, u64>,
    /// Whose counters they are, where they are several hosts'.
    path: Option<&'a HostPath>,
}

impl<'a> Hearing<'a> {
    /// Everything that is counted.
    pub(crate) fn of(outcome: &'a Outcome, grown: &'a Snapshot, wary: bool) -> Self {
        Self::on_path(outcome, grown, wary, None)
    }

    /// The same of several hosts.
    pub(crate) fn on_path(
        outcome: &'a Outcome,
        grown: &'a Snapshot,
        wary: bool,
        path: Option<&'a HostPath>,
    ) -> Self {
        let mut hearing = Self::with(outcome.ledger(), outcome, grown, wary, path);
        hearing.hear();
        hearing.links();
        hearing
    }

    /// What counters of several hosts say of packets of a flow that each host counted too; `None` where one did not.
    pub(crate) fn of_flow(outcome: &'a Outcome, grown: &'a Snapshot, path: &'a HostPath) -> Option<Self> {
        let claims = |wary| {
            let mut hearing = Self::with(Ledger::of_claims(), outcome, grown, wary, Some(path));
            hearing.hear();
            hearing.ledger.claims()
        };
        let listens = grown.target.is_some() && !outcome.closed;
        let placed = flow::places(path, &grown.spaces, &claims(false), &claims(true), listens)?;
        let mut hearing = Self::with(outcome.ledger(), outcome, grown, false, Some(path));
        hearing.withheld.insert(Place::Unexplained, placed.unplaced);
        for ((site, of), packets) in placed.at {
            hearing.ledger.hear(Some(of));
            hearing.ledger.claim(site, packets);
        }
        hearing.ledger.hear(None);
        Some(hearing)
    }

    fn with(
        ledger: Ledger,
        outcome: &'a Outcome,
        grown: &'a Snapshot,
        wary: bool,
        path: Option<&'a HostPath>,
    ) -> Self {
        Self {
            ledger,
            outcome,
            grown,
            over: 0,
            vanished_beside: 0,
            shared: false,
            inferred: Vec::new(),
            wary,
            others: 0,
            withheld: BTreeMap::new(),
            path,
        }
    }

    fn hear(&mut self) {
        self.programs();
        self.target_sockets();
        self.stacks();
        self.queues();
        self.differences();
    }

    /// Places that got packets so far.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        self.ledger.places().keys().map(|site| site.place)
    }

    /// Whether what was counted is the loss, neither more nor less.
    pub(crate) fn fits(&self) -> bool {
        self.over == 0 && self.vanished_beside == 0 && !self.shared && self.ledger.left(None) == 0
    }

    /// What remains, and the verdict.
    pub(crate) fn judge(mut self) -> Account {
        self.remainders();
        self.reasons();
        self.close()
    }

    /// Of packets that a counter of a whole namespace counted at a place, those that are no other program's, where these had
    /// so many packets there.
    fn ours(&mut self, place: Place, packets: u64, others: u64) -> u64 {
        let perhaps = packets.min(others);
        self.others = self.others.saturating_add(perhaps);
        if !self.wary {
            return packets;
        }
        *self.withheld.entry(place).or_default() += perhaps;
        packets - perhaps
    }

    /// The same of what rules of a firewall dropped: nothing where none may drop the trial's packets.
    fn barred(&mut self, packets: u64, by_rules: Bars, others: u64) -> u64 {
        match by_rules {
            Bars::Unseen | Bars::Ours => self.ours(Place::Netfilter, packets, others),
            Bars::Nothing => 0,
            Bars::Others => {
                *self.withheld.entry(Place::Netfilter).or_default() += packets;
                0
            }
        }
    }

    /// What programs counted by the trial's tag.
    fn programs(&mut self) {
        self.ledger.hear(self.target_space());
        if let Some(counts) = self.outcome.target {
            self.ledger.claim(Site::out(Place::ServiceQueue), counts.dropped_queue);
            let waiting = counts.received.saturating_sub(counts.served).saturating_sub(counts.dropped_queue);
            self.ledger.claim(Site::out(Place::Unread), waiting);
        }
        self.ledger.claim(Site::out(Place::NoListener), self.outcome.without_socket);
        self.ledger.hear(None);
        self.ledger.claim(Site::back(Place::NoListener), self.outcome.elsewhere);
        self.ledger.claim(Site::back(Place::Late), self.outcome.late);
        self.ledger.claim(Site::back(Place::ReplyTruncated), self.outcome.reply_truncated);
        self.ledger.claim(Site::back(Place::ReplyExtended), self.outcome.reply_extended);
        self.ledger.claim(Site::back(Place::ReplyChanged), self.outcome.reply_changed);
    }

    /// The target's own sockets know what they dropped; the namespace says why.
    fn target_sockets(&mut self) {
        self.ledger.hear(self.target_space());
        let stack = self.spaces(&[Role::Far, Role::Both]).next().map(|space| space.stack);
        // Our reply sockets' drops are in the same counters if the namespace is the same.
        let ours = match self.spaces(&[Role::Both]).next() {
            Some(_) => self.outcome.generator_lost.saturating_add(self.outcome.elsewhere_dropped),
            None => 0,
        };
        let full = stack.map(|stack| stack.receive_buffer_errors.saturating_sub(ours));
        let (memory, filtered) = stack.map_or((0, 0), |stack| (stack.memory_errors, stack.filtered()));
        match self.grown.target {
            Some(sockets) => {
                let memory = memory.min(sockets.drops);
                let filtered = match full {
                    // A filter drops only what was not dropped for want of room.
                    Some(full) => filtered.min(sockets.drops.saturating_sub(memory).saturating_sub(full)),
                    None => 0,
                };
                let full_here = sockets.drops - memory - filtered;
                self.take(Site::out(Place::UdpMemory), memory);
                self.take(Site::out(Place::SocketFilter), filtered);
                self.take(Site::out(Place::ReceiveBuffer), full_here);
                self.shared |= full.is_some_and(|full| full > full_here);
            }
            None => {
                let others = self.spaces(&[Role::Far, Role::Both]).next();
                let others = others.map_or(0, |space| {
                    space.others_arrived_at_udp(self.outcome, self.grown.lost_before(space, self.outcome))
                });
                let claims = [
                    (Place::UdpMemory, memory),
                    (Place::SocketFilter, filtered),
                    (Place::ReceiveBuffer, full.unwrap_or(0)),
                ];
                for (place, packets) in claims {
                    let packets = self.ours(place, packets, others);
                    self.take(Site::out(place), packets);
                }
            }
        }
        // After what the socket dropped; their number is found from the memory that they take.
        self.ledger.claim(Site::out(Place::Unread), self.outcome.unread);
    }

    /// Places with a counter of their own.
    fn stacks(&mut self) {
        for space in &self.grown.spaces {
            self.ledger.hear(Some(space.id));
            let (stack, way) = (&space.stack, space.arrives());
            let before = self.grown.lost_before(space, self.outcome);
            let others = space.others_arrived(self.outcome, before);
            let at_udp = space.others_arrived_at_udp(self.outcome, before);
            // What was seen to come without a socket is in it.
            let no_ports = stack.no_ports.saturating_sub(self.outcome.without_socket);
            let by_replies = no_ports.saturating_sub(self.unheard(space));
            let may_be_others = by_replies.min(at_udp);
            // On the way out and where both ways meet, the target's socket was heard already.
            let errors = if way == Some(Way::Back) { stack.memory_errors } else { 0 };
            let claims = [
                (Place::Checksum, stack.checksum_errors),
                (Place::NoListener, no_ports - by_replies),
                (Place::RpFilter, stack.rp_filtered),
                (Place::Ttl, stack.header_errors),
                (Place::NoRoute, stack.in_no_routes + stack.address_errors),
                (Place::Fragment, stack.in_parts()),
                (Place::UdpMemory, errors),
            ];
            for (place, packets) in claims {
                let others = match place {
                    Place::NoListener => at_udp - may_be_others,
                    Place::Checksum | Place::UdpMemory => at_udp,
                    _ => others,
                };
                let packets = self.ours(place, packets, others);
                self.take_way(place, way, packets);
            }
            let other_host = space.devices().map(|device| device.other_host).sum();
            let other_host = self.ours(Place::OtherHost, other_host, self.others_at_interfaces(space));
            self.take_way(Place::OtherHost, way, other_host);
            let by_replies = self.ours(Place::NoListener, by_replies, at_udp);
            let before = self.ledger.left(None);
            self.infer(Site::back(Place::NoListener), by_replies, Inference::Heard);
            self.over += by_replies - (before - self.ledger.left(None));
        }
    }

    /// Requests that may have come to no socket of the target's, in whose namespace replies come too, and meet no listener alike: all but
    /// those that were read there beside our own replies, or found no room, or wait.
    fn unheard(&self, space: &Space) -> u64 {
        // What comes to a socket that was closed meets none.
        if space.role != Role::Both || self.outcome.one_way || self.outcome.closed {
            return u64::MAX;
        }
        let came = [space.stack.in_errors, self.outcome.unread]
            .into_iter()
            .fold(space.stack.udp_read, u64::saturating_add);
        let replies = self.outcome.replies().saturating_add(self.outcome.duplicated);
        self.outcome.offered.saturating_sub(came.saturating_sub(replies))
    }

    /// Packets that came to the interfaces of a namespace and may be other programs'.
    fn others_at_interfaces(&self, space: &Space) -> u64 {
        space.others_at_interfaces(self.outcome, self.grown.lost_ahead(space, self.outcome))
    }

    /// Queueing disciplines, send buffers, the per-CPU backlog.
    fn queues(&mut self) {
        for space in &self.grown.spaces {
            self.ledger.hear(Some(space.id));
            let ahead = self.grown.lost_ahead(space, self.outcome);
            let arrived = space.others_at_interfaces(self.outcome, ahead);
            let mut dropped = 0;
            for device in space.devices() {
                let drops = device.queue_drops.unwrap_or(0).saturating_add(space.filtered_leaving(device));
                // We are told of what finds a queue full: that was not offered.
                let told = if matches!(space.role, Role::Near | Role::Both) {
                    self.outcome.refused_by_queue
                } else {
                    0
                };
                let drops = drops.saturating_sub(told);
                dropped += drops;
                let way = match space.role {
                    Role::Near => Some(Way::Out),
                    // Our own sends are told of; a target's mostly are not.
                    Role::Far | Role::Both => Some(Way::Back),
                    Role::Between => device.leaves,
                };
                let drops = self.ours(Place::Qdisc, drops, space.others_leaving(device, self.outcome, ahead));
                self.take_way(Place::Qdisc, way, drops);
                let ingress = self.ours(Place::Ingress, device.ingress_drops, arrived);
                self.take_way(Place::Ingress, space.arrives_through(device), ingress);
            }
            if matches!(space.role, Role::Far | Role::Both) {
                self.refused_replies(space, dropped);
            }
        }
        let backlog = self.grown.backlog_drops.unwrap_or(0);
        // The backlog is the machine's; what the interfaces of these namespaces dropped on arrival is ours.
        let seen = self.grown.spaces.iter().any(|space| space.devices.is_some());
        let arrived: u64 =
            self.grown.spaces.iter().flat_map(Space::devices).map(|device| device.receive_drops).sum();
        let drops = |space: &Space| space.devices().map(|device| device.receive_drops).sum::<u64>();
        self.ledger.hear(self.grown.spaces.iter().max_by_key(|space| drops(space)).map(|space| space.id));
        self.take_either(Place::Softnet, if seen { backlog.min(arrived) } else { backlog });
    }

    /// What the system refused to send for the target. A full send buffer and a firewall both raise Ip.OutDiscards. A full
    /// send buffer raises Udp.SndbufErrors too, and so does whatever else refuses a socket that once waited for room
    /// (SOCK_NOSPACE), and a program in front of the interface: what is in both counters is one of these. The kernel's reasons
    /// tell a firewall's, and what the IP layer gave to an interface that did not send it was no full buffer's.
    fn refused_replies(&mut self, space: &Space, dropped: u64) {
        // Where the target has our own counters, they count what was refused to us too.
        let ours = if space.role == Role::Both { self.outcome } else { &Outcome::default() };
        let &Outcome { refused, refused_by_queue, refused_without_route, .. } = ours;
        let others = space.others_sent(self.outcome);
        let without_route = space.stack.out_no_routes.saturating_sub(refused_without_route);
        let without_route = self.ours(Place::NoRoute, without_route, others);
        self.take(Site::back(Place::NoRoute), without_route);
        let discards = space.stack.out_discards.saturating_sub(dropped).saturating_sub(refused);
        let errors = space.stack.send_buffer_errors.saturating_sub(dropped).saturating_sub(refused_by_queue);
        let either = errors.min(discards);
        let forbidden_alone = self.barred(discards - either, space.drops_leaving, others);
        self.take(Site::back(Place::Netfilter), forbidden_alone);
        let in_front = space.given_and_not_sent().map(|given| match given.saturating_sub(dropped) {
            0 => 0,
            // A few of the frames that left are the kernel's own answers.
            given => given.saturating_add(QUESTIONS),
        });
        // What a full buffer refuses was never sent: who sends anything may have had any number refused.
        let unsent = if others > 0 { u64::MAX } else { 0 };
        let full = self.ours(Place::SendBuffer, either.saturating_sub(in_front.unwrap_or(0)), unsent);
        let take = |hearing: &mut Self, packets: u64| match in_front {
            Some(_) => hearing.take(Site::back(Place::SendBuffer), packets),
            None => hearing.infer(Site::back(Place::SendBuffer), packets, Inference::Refused),
        };
        if matches!(space.drops_leaving, Bars::Nothing | Bars::Others) {
            return take(self, full);
        }
        let reasons = self.grown.reasons.as_ref();
        let by_firewalls = reasons.and_then(|reasons| reasons.get(&Place::Netfilter));
        let Some(by_firewalls) = by_firewalls else {
            // A rule that may drop them is as good as a full buffer: neither is named.
            if space.drops_leaving == Bars::Ours {
                return;
            }
            return self.infer(Site::back(Place::SendBuffer), full, Inference::Refused);
        };
        // Of the whole machine: at most so many are this firewall's, and the others are not.
        let forbidden = either.min(by_firewalls.saturating_sub(discards - either));
        let by_rules = self.ours(Place::Netfilter, forbidden, others);
        self.infer(Site::back(Place::Netfilter), by_rules, Inference::Refused);
        take(self, (either - forbidden).min(full));
    }

    /// Rules that drop packets leave a difference between two counters. So do a few packets that nobody wanted,
    /// of groups that were not joined: hence after all that is counted, and the largest first.
    fn differences(&mut self) {
        let mut differences = Vec::new();
        for space in &self.grown.spaces {
            let before = self.grown.lost_before(space, self.outcome);
            let others = space.others_arrived(self.outcome, before);
            let vanished = space.stack.vanished_inside();
            if self.path.is_some() && space.role == Role::Between {
                // What a host between does not pass on: its rules may stand anywhere.
                let bars = match (space.drops_arriving, space.drops_leaving) {
                    (Bars::Ours, _) | (_, Bars::Ours) => Bars::Ours,
                    (arriving, _) => arriving,
                };
                let passing = if space.counts_what_it_gives() { space.stack.vanished_passing() } else { 0 };
                let vanished = self.barred(vanished.saturating_add(passing), bars, others);
                differences.push((vanished, Place::Netfilter, space.ruled_way, space.id));
            } else if space.source_is_own {
                let vanished = self.ours(Place::Martian, vanished, others);
                differences.push((vanished, Place::Martian, space.arrives(), space.id));
            } else {
                let vanished = self.barred(vanished, space.drops_arriving, others);
                differences.push((vanished, Place::Netfilter, space.arrives(), space.id));
            }
            if space.hooked == Some(true) {
                // A discipline's drops are among them.
                let told: u64 = space.devices().filter(|one| one.own).map(|one| one.ingress_drops).sum();
                let vanished = space.vanished_before().saturating_sub(told);
                let vanished = self.ours(Place::Ingress, vanished, self.others_at_interfaces(space));
                differences.push((vanished, Place::Ingress, space.arrives(), space.id));
            }
        }
        differences.sort_by_key(|(packets, ..)| std::cmp::Reverse(*packets));
        for (packets, place, way, space) in differences {
            self.ledger.hear(Some(space));
            let got = match way {
                Some(way) => self.ledger.claim(Site { way, place }, packets),
                None => self.ledger.claim_either(place, packets),
            };
            self.vanished_beside += packets - got;
        }
    }

    fn close(self) -> Account {
        let mut caveats = Vec::new();
        let unplaced = self.withheld.values().sum::<u64>().min(self.ledger.left(None));
        if self.ledger.lost() > 0 && (self.shared || self.over > 0 || unplaced > 0) {
            caveats.push(Caveat::CountersShared { beyond: self.over, unplaced });
        }
        caveats.extend(self.others_came());
        let fallen = self.grown.spaces.iter().flat_map(Space::devices).filter(|one| one.carrier_changes > 0);
        caveats.extend(fallen.map(|device| Caveat::LinkDown { interface: device.name.clone() }));
        let mut by_why: BTreeMap<&str, (String, u64)> = BTreeMap::new();
        for (site, packets, why) in self.inferred {
            let entry = by_why.entry(why.words()).or_insert_with(|| (site.to_string(), 0));
            entry.1 += packets;
        }
        for (because, (place, packets)) in by_why {
            caveats.push(Caveat::PlaceInferred { place, packets, because: because.into() });
        }
        let lost_at = match self.path {
            Some(path) => self.ledger.close_by_host(&path.names()),
            None => self.ledger.close(),
        };
        Account { lost_at, caveats }
    }

    /// Whether others' packets came to the target's socket, or may have.
    fn others_came(&self) -> Option<Caveat> {
        let lost = self.ledger.lost();
        let sockets = self.grown.target.filter(|_| lost > 0)?;
        let dropped = sockets.drops.saturating_sub(lost);
        let target = self.spaces(&[Role::Far, Role::Both]).next();
        let came = target.map_or(0, |space| space.others_got(self.outcome, sockets.drops));
        // Count queries that it had no room for are dropped too.
        let were_dropped = dropped > QUESTIONS;
        let were_got = came >= A_FEW && came.saturating_mul(NEGLIGIBLE) >= self.outcome.offered;
        (were_dropped || were_got)
            .then_some(Caveat::OthersCame { dropped: if were_dropped { dropped } else { 0 }, came })
    }

    /// Packets that left one host and did not come to the next: what its interfaces sent and the next one's did not receive.
    fn links(&mut self) {
        let Some(path) = self.path else { return };
        for (link, site, packets) in path.lost_between(self.grown) {
            self.ledger.hear(Some(link));
            self.infer(site, packets, Inference::Between);
        }
        self.ledger.hear(None);
    }

    /// The number of the target's namespace.
    fn target_space(&self) -> Option<u64> {
        self.spaces(&[Role::Far, Role::Both]).next().map(|space| space.id)
    }

    fn spaces(&self, roles: &'static [Role]) -> impl Iterator<Item = &Space> {
        self.grown.spaces.iter().filter(|space| roles.contains(&space.role))
    }

    fn take(&mut self, site: Site, packets: u64) {
        self.over += packets - self.ledger.claim(site, packets);
    }

    fn take_way(&mut self, place: Place, way: Option<Way>, packets: u64) {
        match way {
            Some(way) => self.take(Site { way, place }, packets),
            None => self.take_either(place, packets),
        }
    }

    fn take_either(&mut self, place: Place, packets: u64) {
        self.over += packets - self.ledger.claim_either(place, packets);
    }
}
