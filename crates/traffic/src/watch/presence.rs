//! Whether somebody's socket is there: what came while it was not, and what waited at it when it was closed.

use dropline_account::{AddressFamily, TargetSockets, truesize};

/// What looks at a port's socket found, and the packets that came between them.
#[derive(Clone, Debug)]
pub(super) struct Presence {
    family: AddressFamily,
    /// As it was at the last look that found one.
    last: TargetSockets,
    /// When that was.
    there_ns: u64,
    /// The last look, if it found none.
    gone_ns: Option<u64>,
    /// Drops of the socket before the first look.
    before: u64,
    /// Drops of sockets that were closed.
    dropped_by_closed: u64,
    /// Memory of the packets that waited at sockets when these were closed.
    unread_bytes: u64,
    /// Packets since the last look.
    unsettled: u64,
    /// Packets between two looks of which one found the socket, and the other none, or another one.
    perhaps: u64,
    /// Packets between two looks that found none.
    sure: u64,
}

impl Presence {
    /// A socket that is there.
    pub(super) fn begin(first: TargetSockets, family: AddressFamily) -> Self {
        Self {
            family,
            last: first,
            there_ns: 0,
            gone_ns: None,
            before: first.drops,
            dropped_by_closed: 0,
            unread_bytes: 0,
            unsettled: 0,
            perhaps: 0,
            sure: 0,
        }
    }

    /// Packets came, which may be told late: after a look that was after them.
    pub(super) fn arrived(&mut self, at_ns: u64, packets: u64) {
        match self.gone_ns {
            _ if at_ns <= self.there_ns => {}
            Some(gone_ns) if at_ns <= gone_ns => self.perhaps += packets,
            _ => self.unsettled += packets,
        }
    }

    /// What a look found.
    pub(super) fn look(&mut self, at_ns: u64, found: Option<TargetSockets>) {
        let between = std::mem::take(&mut self.unsettled);
        let was_there = self.gone_ns.is_none();
        match found {
            Some(now) => {
                let is_other = now.identity != self.last.identity;
                if is_other && was_there {
                    self.close();
                }
                if is_other || !was_there {
                    self.perhaps += between;
                    self.before = 0;
                }
                (self.last, self.there_ns, self.gone_ns) = (now, at_ns, None);
            }
            None if was_there => {
                self.close();
                self.perhaps += between;
                self.gone_ns = Some(at_ns);
            }
            None => {
                self.sure += between;
                self.gone_ns = Some(at_ns);
            }
        }
    }

    fn close(&mut self) {
        self.dropped_by_closed += self.last.drops.saturating_sub(self.before);
        self.unread_bytes += self.last.waiting_bytes;
        (self.before, self.last.drops, self.last.waiting_bytes) = (0, 0, 0);
    }

    /// Whether the last look found a socket.
    pub(super) fn is_there(&self) -> bool {
        self.gone_ns.is_none()
    }

    /// Memory that waiting packets are charged for, now.
    pub(super) fn waiting_bytes(&self) -> u64 {
        self.last.waiting_bytes
    }

    /// Packets that the sockets did not take since the first look.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped_by_closed + self.last.drops.saturating_sub(self.before)
    }

    /// The sockets as one, since the first look.
    pub(super) fn sockets(&self) -> TargetSockets {
        TargetSockets { drops: self.dropped(), ..self.last }
    }

    /// Packets that wait now, at most: none is charged less than an empty one.
    pub(super) fn waiting(&self) -> u64 {
        self.last.waiting_bytes.div_ceil(u64::from(truesize(0, self.family)))
    }

    /// Packets that waited at sockets when these were last seen before they were closed.
    pub(super) fn unread(&self, payload_bytes: Option<u16>) -> u64 {
        let charged = truesize(payload_bytes.unwrap_or(0).into(), self.family);
        self.unread_bytes.div_ceil(u64::from(charged))
    }

    /// Packets that came while no socket was open. Of those of which the looks do not tell it, as many as the kernel found no
    /// socket for beyond the others.
    pub(super) fn without_socket(&self, no_ports: u64) -> u64 {
        self.sure + self.perhaps.min(no_ports.saturating_sub(self.sure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(identity: u64, drops: u64, waiting_bytes: u64) -> Option<TargetSockets> {
        Some(TargetSockets { identity, drops, waiting_bytes })
    }

    fn begun() -> Presence {
        Presence::begin(TargetSockets { identity: 1, drops: 7, waiting_bytes: 0 }, AddressFamily::V4)
    }

    #[test]
    fn what_came_between_two_looks_without_a_socket_had_none_and_at_the_edges_the_kernel_knows() {
        let mut seen = begun();
        seen.arrived(5, 100);
        seen.look(10, at(1, 9, 30 * 832));
        seen.arrived(15, 8);
        seen.look(20, None);
        assert_eq!((seen.dropped(), seen.unread(Some(100)), seen.waiting()), (2, 30, 0));
        // Told late: it came before the look that found none.
        seen.arrived(18, 1);
        // Told later still: the socket was there.
        seen.arrived(9, 50);
        seen.arrived(25, 1000);
        seen.look(30, None);
        assert_eq!(seen.without_socket(0), 1000);
        assert_eq!(seen.without_socket(1005), 1005);
        assert_eq!(seen.without_socket(9999), 1009, "others' packets found no socket either");
        assert!(!seen.is_there());
    }

    #[test]
    fn a_service_that_began_anew_keeps_the_drops_of_its_old_socket() {
        let mut seen = begun();
        seen.look(10, at(1, 17, 832));
        seen.arrived(12, 4);
        seen.look(20, at(2, 3, 0));
        assert_eq!((seen.dropped(), seen.unread(Some(100)), seen.without_socket(9)), (13, 1, 4));
        seen.look(30, None);
        seen.arrived(35, 6);
        seen.look(40, at(3, 1, 0));
        seen.arrived(45, 6);
        seen.look(50, at(3, 2, 0));
        assert_eq!((seen.dropped(), seen.without_socket(99)), (15, 10));
        assert!(seen.is_there());
    }
}
