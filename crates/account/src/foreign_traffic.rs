//! What other programs sent or got in a namespace while the trial ran: as much of what a counter of the whole namespace
//! counted may be theirs.

use crate::claims::LONGEST_TRAIN;
use crate::{Device, Outcome, Role, Snapshot, Space, Way};

/// So many packets, or one in so many, may lie between the readings of two counters.
const A_FEW: u64 = 16;
const IN_SO_MANY: u64 = 256;

impl Outcome {
    /// Replies that surely came to be: what the target says, else what came back in any form.
    pub(crate) fn replies(&self) -> u64 {
        match self.target {
            _ if self.one_way => self.queries,
            Some(target) => target.served,
            None => [
                self.generator_lost,
                self.late,
                self.elsewhere,
                self.reply_truncated,
                self.reply_extended,
                self.reply_changed,
            ]
            .into_iter()
            .fold(self.forwarded, u64::saturating_add),
        }
    }

    /// The trial's packets, as the layers below the socket count them: a train is one.
    fn departures(&self) -> u64 {
        self.offered.saturating_sub(self.in_trains).saturating_add(self.queries)
    }

    /// Packets that surely came to the target.
    fn arrivals(&self) -> u64 {
        let read = self.target.map_or(0, |target| target.received);
        let answered = if self.one_way { self.forwarded } else { self.replies() };
        read.max(answered).min(self.offered)
    }
}

impl Space {
    /// Packets that came to the IP layer and may not be the trial's, of whose packets at most so many were lost `before` that.
    /// Replies that were lost here, and of which the target says nothing, are among them.
    pub fn others_arrived(&self, outcome: &Outcome, before: u64) -> u64 {
        let stack = &self.stack;
        let known = match self.role {
            Role::Near => outcome.replies(),
            Role::Far => outcome.departures(),
            Role::Both | Role::Between => outcome.departures().saturating_add(outcome.replies()),
        };
        let parts = stack.fragments.saturating_sub(stack.reassembled);
        // Of each that is given up or waited for, some parts came.
        let whole = stack.received.saturating_sub(parts).saturating_add(stack.in_parts());
        whole.saturating_sub(stack.icmp_received).saturating_sub(known.saturating_sub(before))
    }

    /// The same of those that came to UDP: what other protocols do here loses no packet of its counters.
    pub fn others_arrived_at_udp(&self, outcome: &Outcome, before: u64) -> u64 {
        let stack = &self.stack;
        // Above this layer a train is its packets; what was lost before did not come here, unless it is known to have.
        let out = outcome.offered.saturating_add(outcome.queries);
        let (known, surely) = match self.role {
            Role::Near => (outcome.replies(), outcome.forwarded),
            Role::Far => (out, outcome.arrivals()),
            Role::Both | Role::Between => {
                (out.saturating_add(outcome.replies()), outcome.arrivals().saturating_add(outcome.forwarded))
            }
        };
        let lost = before.saturating_add(stack.lost_inside());
        let lost = if outcome.in_trains > 0 { lost.saturating_mul(LONGEST_TRAIN) } else { lost };
        let known = known.saturating_sub(lost).max(surely.min(known));
        // What waits at a socket is counted when it is read.
        let came = [stack.no_ports, stack.in_errors, outcome.unread]
            .into_iter()
            .fold(stack.udp_read, u64::saturating_add);
        came.saturating_sub(known).min(self.others_arrived(outcome, before))
    }

    /// Whether packets may have been lost here in any number where nothing counts them.
    fn loses_uncounted(&self) -> bool {
        self.ruled == Some(true) || self.is_cut() || self.neighbour_found == Some(false)
    }

    /// Packets that may have been lost between its interfaces and its IP layer: what interfaces received and the IP layer did
    /// not. Whatever came there by another way hides as many, so nothing is known of it then.
    fn lost_arriving(&self) -> u64 {
        let counted = |device: &Device| {
            [device.ingress_drops, device.receive_drops, device.other_host]
                .into_iter()
                .fold(0, u64::saturating_add)
        };
        let counted = self.devices().map(counted).fold(0, u64::saturating_add);
        let Some(devices) = &self.devices else { return u64::MAX };
        let hides = |device: &Device| !device.own && device.received > 0;
        if self.role != Role::Between && devices.iter().any(hides) {
            return u64::MAX;
        }
        match self.came_otherwise() {
            0 => self.vanished_before().max(counted),
            // Counters are read one after the other, while others' packets come.
            few if few <= A_FEW.max(self.stack.received / IN_SO_MANY) => few.saturating_add(counted),
            _ if self.role == Role::Between => counted,
            _ => u64::MAX,
        }
    }

    /// Packets that came to the IP layer and not by an interface that counts alone.
    fn came_otherwise(&self) -> u64 {
        let alone = self.devices.iter().flatten().filter(|device| device.own);
        let arrived: u64 = alone.map(|device| device.received.saturating_sub(device.other_host)).sum();
        self.stack.received.saturating_add(self.stack.received_otherwise).saturating_sub(arrived)
    }

    /// What its interfaces on the way counted, those by which packets leave on one way alone; `None` where that is not to be seen.
    fn counted(&self, way: Option<Way>, of: fn(&Device) -> u64) -> Option<u64> {
        self.devices.as_ref()?;
        Some(self.devices().filter(|device| way.is_none_or(|way| device.leaves == Some(way))).map(of).sum())
    }

    /// Packets on one way that came to a namespace between the two sides and that may have been lost there, whether anything
    /// counts them or not.
    fn lost_passing(&self, way: Way) -> Option<u64> {
        let against = if way == Way::Out { Way::Back } else { Way::Out };
        let came = self.counted(Some(against), |device| device.received)?;
        let left = self.counted(Some(way), |device| device.transmitted)?;
        // What came by other interfaces, or from programs here, may have left there in their stead.
        let aside = self.devices.iter().flatten().filter(|device| !device.on_path);
        let others: u64 = aside.map(|device| device.received).sum();
        Some(came.saturating_add(others).saturating_add(self.stack.requested).saturating_sub(left))
    }

    /// Packets that were lost behind its IP layer, but for what was refused to us.
    fn lost_leaving(&self, outcome: &Outcome) -> u64 {
        let none = Outcome::default();
        let ours = if matches!(self.role, Role::Near | Role::Both) { outcome } else { &none };
        let queued = self.devices().filter_map(|device| device.queue_drops).fold(0, u64::saturating_add);
        [
            queued.saturating_sub(ours.refused_by_queue),
            self.stack.out_discards.saturating_sub(ours.refused),
            self.stack.out_no_routes.saturating_sub(ours.refused_without_route),
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

impl Space {
    /// Packets that came to leave by an interface and are not known to be the trial's, of whose packets at most so many were
    /// lost ahead of this namespace.
    pub(crate) fn others_leaving(&self, device: &Device, outcome: &Outcome, ahead: u64) -> u64 {
        if self.role != Role::Between {
            return self.others_sent(outcome);
        }
        let drops = device.queue_drops.unwrap_or(0);
        let known = match device.leaves {
            Some(Way::Out) => outcome.departures(),
            Some(Way::Back) => outcome.replies(),
            None => outcome.departures().saturating_add(outcome.replies()),
        };
        // What its queue dropped came as far as that.
        let inside = device.leaves.map_or(Some(0), |way| self.lost_passing(way));
        let lost = inside.map_or(u64::MAX, |lost| lost.saturating_sub(drops).saturating_add(ahead));
        device.transmitted.saturating_add(drops).saturating_sub(known.saturating_sub(lost))
    }

    /// Of what filters of an interface dropped, arriving and leaving in one counter, as much as must have been leaving. Between
    /// the two sides nothing tells them apart.
    pub(crate) fn filtered_leaving(&self, device: &Device) -> u64 {
        let may_tell = self.role != Role::Between && device.own && self.came_otherwise() == 0;
        if may_tell { device.filter_drops.saturating_sub(self.vanished_before()) } else { 0 }
    }

    /// Packets that the IP layer gave to an interface and that no interface sent, those of its queue among them; `None` where
    /// that is not to be seen.
    pub(crate) fn given_and_not_sent(&self) -> Option<u64> {
        let devices = self.devices.as_ref()?;
        let given = match self.stack.transmitted {
            0 => self.stack.requested.saturating_add(self.stack.forwarded),
            given => given,
        };
        // What is sent by a part of another interface is sent twice.
        let sent: u64 = devices.iter().filter(|device| device.own).map(|device| device.transmitted).sum();
        let hides = devices.iter().any(|device| !device.own && device.transmitted > 0);
        (!hides).then(|| given.saturating_sub(sent))
    }
}

impl Snapshot {
    /// Of the trial's packets, as many as may have been lost before they came to the IP layer of that namespace, whether
    /// anything counts them or not: a packet is known to have come only where nothing can have been lost ahead of it.
    pub(crate) fn lost_before(&self, space: &Space, outcome: &Outcome) -> u64 {
        let lost = outcome.ledger().lost();
        if self.spaces.iter().any(Space::loses_uncounted) {
            return lost;
        }
        self.lost_ahead(space, outcome).saturating_add(space.lost_arriving()).min(lost)
    }

    /// The same before they came to its interfaces.
    pub(crate) fn lost_ahead(&self, space: &Space, outcome: &Outcome) -> u64 {
        let of = |other: &Space| match (other.id == space.id, other.role) {
            (true, Role::Both) | (false, _) => other.lost_leaving(outcome),
            (true, _) => 0,
        };
        let counted = self.spaces.iter().map(of).fold(0, u64::saturating_add);
        counted.saturating_add(self.lost_between(space).unwrap_or(u64::MAX)).min(outcome.ledger().lost())
    }

    /// Packets that may have been lost between the interfaces of the side that sent them and those of that namespace;
    /// `None` where it is not known.
    fn lost_between(&self, space: &Space) -> Option<u64> {
        let of = |role: Role| self.spaces.iter().find(|space| space.role == role);
        let (way, sender) = match space.role {
            Role::Both => return Some(0),
            Role::Far => (Way::Out, of(Role::Near)),
            Role::Near => (Way::Back, of(Role::Far)),
            Role::Between => {
                let link = |side: Option<&Space>, leaves: Way| {
                    let Some(side) = side else { return Some(0) };
                    let sent = side.counted(None, |device| device.transmitted)?;
                    Some(sent.abs_diff(space.counted(Some(leaves), |device| device.received)?))
                };
                let is_one = self.spaces.iter().filter(|space| space.role == Role::Between).count() == 1;
                let both = link(of(Role::Near), Way::Back)?.saturating_add(link(of(Role::Far), Way::Out)?);
                return is_one.then_some(both);
            }
        };
        let mut between = self.spaces.iter().filter(|space| space.role == Role::Between);
        let passed = between.next();
        let Some(sender) = sender.filter(|_| between.next().is_none()) else {
            return (sender.is_none() && passed.is_none()).then_some(0);
        };
        let sent = sender.counted(None, |device| device.transmitted)?;
        let came = space.counted(None, |device| device.received)?;
        let Some(passed) = passed else { return Some(sent.abs_diff(came)) };
        let against = if way == Way::Out { Way::Back } else { Way::Out };
        let entered = passed.counted(Some(against), |device| device.received)?;
        let left = passed.counted(Some(way), |device| device.transmitted)?;
        let links = sent.abs_diff(entered).saturating_add(left.abs_diff(came));
        Some(passed.lost_passing(way)?.saturating_add(links))
    }
}

impl Space {
    /// Packets that came to its interfaces on the way and are not known to be the trial's, of whose packets at most so many were
    /// lost ahead of them.
    pub(crate) fn others_at_interfaces(&self, outcome: &Outcome, ahead: u64) -> u64 {
        let known = match self.role {
            Role::Near => outcome.replies(),
            Role::Far => outcome.departures(),
            Role::Both | Role::Between => outcome.departures().saturating_add(outcome.replies()),
        };
        let came: u64 = self.devices().map(|device| device.received).sum();
        came.saturating_sub(known.saturating_sub(ahead))
    }
}

impl Space {
    /// Packets that came to sockets here and are known not to be the trial's, neither its packets nor their replies; what
    /// sockets had no room for is not among them, but for the `dropped` of the target's.
    pub fn others_got(&self, outcome: &Outcome, dropped: u64) -> u64 {
        let out = outcome.offered.saturating_add(outcome.queries);
        // Replies that came late, of this trial or of one before, came to us all the same.
        let replies = outcome.replies().saturating_add(outcome.duplicated).saturating_add(outcome.late);
        let known = match self.role {
            Role::Near => replies,
            Role::Far => out,
            Role::Both | Role::Between => out.saturating_add(replies),
        };
        let ours = dropped.saturating_add(outcome.generator_lost);
        let got = [self.stack.receive_buffer_errors.min(ours), outcome.unread];
        got.into_iter().fold(self.stack.udp_read, u64::saturating_add).saturating_sub(known)
    }

    /// Packets that programs here wanted to send and that are not known to be the trial's. Replies that were lost, and of
    /// which the target says nothing, are among them.
    pub fn others_sent(&self, outcome: &Outcome) -> u64 {
        let ours = outcome.departures().saturating_add(outcome.refused);
        let known = match self.role {
            Role::Near => ours,
            Role::Far => outcome.replies(),
            Role::Both => ours.saturating_add(outcome.replies()),
            Role::Between => return 0,
        };
        self.stack.requested.saturating_sub(self.stack.icmp_sent).saturating_sub(known)
    }
}

#[cfg(test)]
mod tests;
