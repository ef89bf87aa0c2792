//! What other programs sent or got in a namespace while the trial ran: as much of what a counter of the whole namespace
//! counted may be theirs.

use crate::{Outcome, Role, Space};

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
}

impl Space {
    /// Packets that came to the IP layer and are not known to be the trial's. Replies that were lost here, and of which the
    /// target says nothing, are among them.
    pub fn others_arrived(&self, outcome: &Outcome) -> u64 {
        let stack = &self.stack;
        let known = match self.role {
            Role::Near => outcome.replies(),
            Role::Far => outcome.departures(),
            Role::Both | Role::Between => outcome.departures().saturating_add(outcome.replies()),
        };
        let parts = stack.fragments.saturating_sub(stack.reassembled);
        stack.received.saturating_sub(parts).saturating_sub(stack.icmp_received).saturating_sub(known)
    }

    /// The same of those that came to UDP: what other protocols do here loses no packet of its counters.
    pub fn others_arrived_at_udp(&self, outcome: &Outcome) -> u64 {
        let stack = &self.stack;
        // Above this layer a train is its packets.
        let out = outcome.offered.saturating_add(outcome.queries);
        let known = match self.role {
            Role::Near => outcome.replies(),
            Role::Far => out,
            Role::Both | Role::Between => out.saturating_add(outcome.replies()),
        };
        // What waits at a socket is counted when it is read.
        let came = [stack.no_ports, stack.in_errors, outcome.unread]
            .into_iter()
            .fold(stack.udp_read, u64::saturating_add);
        came.saturating_sub(known).min(self.others_arrived(outcome))
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
