//! What other programs sent or got in a namespace while the trial ran: as much of what a counter of the whole namespace
//! counted may be theirs.

use crate::hearing::LONGEST_TRAIN;
use crate::{Device, Outcome, Role, Snapshot, Space};

impl Outcome {
    /// Replies that surely came to be: what the target says, else what came back in any form.
    fn replies(&self) -> u64 {
        match self.target {
            _ if self.one_way => self.queries,
            Some(target) => target.served,
            None => [
                self.generator_lost,
                self.late,
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

    /// Packets that were lost between its interfaces and its IP layer.
    fn lost_arriving(&self) -> u64 {
        let of = |device: &Device| {
            [device.ingress_drops, device.receive_drops, device.other_host]
                .into_iter()
                .fold(0, u64::saturating_add)
        };
        let by_rules = if self.hooked == Some(true) { self.vanished_before() } else { 0 };
        self.devices().map(of).fold(by_rules, u64::saturating_add)
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

impl Snapshot {
    /// Of the trial's packets, as many as may have been lost before they came to the IP layer of that namespace.
    pub(crate) fn lost_before(&self, space: &Space, outcome: &Outcome) -> u64 {
        let lost = outcome.ledger().lost();
        if self.spaces.iter().any(Space::loses_uncounted) {
            return lost;
        }
        let of = |other: &Space| match (other.id == space.id, other.role) {
            (true, Role::Both) => other.lost_arriving().saturating_add(other.lost_leaving(outcome)),
            (true, _) => other.lost_arriving(),
            (false, Role::Between) => [other.lost_arriving(), other.stack.lost_inside()]
                .into_iter()
                .fold(other.lost_leaving(outcome), u64::saturating_add),
            (false, _) => other.lost_leaving(outcome),
        };
        self.spaces.iter().map(of).fold(0, u64::saturating_add).min(lost)
    }
}

impl Space {
    /// Packets that came to sockets here and are known not to be the trial's, neither its packets nor their replies; what
    /// sockets had no room for is not among them, but for the `dropped` of the target's.
    pub fn others_got(&self, outcome: &Outcome, dropped: u64) -> u64 {
        let out = outcome.offered.saturating_add(outcome.queries);
        let known = match self.role {
            Role::Near => outcome.replies().saturating_add(outcome.duplicated),
            Role::Far => out,
            Role::Both | Role::Between => {
                out.saturating_add(outcome.replies()).saturating_add(outcome.duplicated)
            }
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
mod tests {
    use super::*;
    use crate::{Stack, TargetSockets, account};
    use dropline_trial::Caveat;

    #[test]
    fn packets_of_others_at_the_targets_socket_are_said_and_a_few_beside_it_are_not() {
        let others = |drops: u64, got: u64| {
            // 1 000 packets, of which 600 were read and answered; each reply is read here too.
            let stack = Stack {
                udp_read: 1200 + got,
                in_errors: drops,
                receive_buffer_errors: drops,
                received: 10_000,
                delivered: 10_000,
                ..Stack::default()
            };
            let space = Space {
                id: 1,
                role: Role::Both,
                stack,
                devices: None,
                hooked: Some(false),
                ruled: Some(false),
                ruled_way: None,
                drops_arriving: crate::Bars::Nothing,
                drops_leaving: crate::Bars::Nothing,
                source_is_own: false,
                neighbour_found: None,
            };
            let target = Some(TargetSockets { drops, ..TargetSockets::default() });
            let grown = Snapshot { spaces: vec![space], target, ..Snapshot::default() };
            let outcome = Outcome { offered: 1000, forwarded: 600, ..Outcome::default() };
            let account = account(&outcome, &grown, |_| None);
            account.caveats.into_iter().find(|caveat| caveat.code() == "others_came")
        };
        assert_eq!(others(400, 0), None, "all that was dropped is the trial's");
        assert_eq!(others(405, 0), None, "count queries are dropped too");
        assert_eq!(others(400, 40), None, "a few");
        let another_trial = Caveat::OthersCame { dropped: 400, came: 1600 };
        assert_eq!(others(800, 1200), Some(another_trial), "another trial of the same load");
        let beside = Caveat::OthersCame { dropped: 0, came: 500 };
        assert_eq!(others(400, 500), Some(beside), "to this socket, or to others of its namespace");
    }
}
