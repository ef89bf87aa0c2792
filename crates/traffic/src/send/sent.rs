//! What a sender sent, and what all senders of a trial did together.

use crate::sys::errno_name;
use dropline_stats::Histogram;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// What was sent.
pub(crate) struct Sent {
    pub(crate) offered: u64,
    pub(crate) refused: BTreeMap<String, u64>,
    /// Of the refused, those because the target or the way to it was gone.
    pub(crate) unreachable: Option<Unreachable>,
    pub(crate) lateness: Histogram,
    /// Packets the schedule had.
    pub(crate) intended: u64,
    /// Where each slice begins, by when packets are due, and the end of the last.
    pub(crate) marks: Vec<Mark>,
    /// The cheapest send of one packet by itself.
    pub(crate) send_cost_ns: Option<u64>,
    /// Trains that were sent, and packets in them.
    pub(crate) trains: Trains,
    /// Times that a packet was refused and then sent again: it was not the first of its call, which told of none.
    pub(crate) resent: u64,
    /// How long it waited for a CPU; `None` where that is not known.
    pub(crate) waited: Option<Duration>,
    /// Packets that left late in lumps, behind its pauses.
    pub(crate) displaced: u64,
    /// When the user stopped it, in ns after the start, if it was not through by then.
    pub(crate) stopped_ns: Option<u64>,
    /// How much later than due the first packet left, in ns.
    pub(crate) first_late_ns: Option<u64>,
    /// What ended it early.
    pub(crate) error: Option<io::Error>,
}

/// The target was there, and then it was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreachable {
    /// The first error that said so.
    pub(crate) error: String,
    /// When, in ns after the start.
    pub(crate) at_ns: u64,
    /// Packets that could not leave for it.
    pub(crate) packets: u64,
}

/// Packets that left as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trains {
    /// How many.
    pub trains: u64,
    /// Packets in them.
    pub packets: u64,
}

impl Trains {
    /// Packets behind the first of their train.
    pub(crate) fn behind(self) -> u64 {
        self.packets.saturating_sub(self.trains)
    }
}

/// A moment between two packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    /// The next packet's index; the largest where the sender gave up before it.
    pub(crate) index: u64,
    /// Packets offered so far.
    pub(crate) offered: u64,
}

impl Sent {
    pub(crate) fn with_slices(slices: usize) -> Self {
        Self {
            offered: 0,
            refused: BTreeMap::new(),
            unreachable: None,
            lateness: Histogram::new(),
            intended: 0,
            marks: Vec::with_capacity(slices + 1),
            send_cost_ns: None,
            trains: Trains::default(),
            resent: 0,
            waited: None,
            displaced: 0,
            stopped_ns: None,
            first_late_ns: None,
            error: None,
        }
    }

    pub(crate) fn unreachable(&mut self, error: &io::Error, at_ns: u64, packets: u64) {
        let unreachable = self.unreachable.get_or_insert_with(|| Unreachable {
            error: errno_name(error),
            at_ns,
            packets: 0,
        });
        unreachable.packets += packets;
    }

    /// Adds what another sender of the same trial sent.
    pub(crate) fn merge(&mut self, other: Self) {
        self.offered += other.offered;
        for (error, count) in other.refused {
            *self.refused.entry(error).or_default() += count;
        }
        self.unreachable = match (self.unreachable.take(), other.unreachable) {
            (Some(a), Some(b)) => {
                let packets = a.packets + b.packets;
                Some(Unreachable { packets, ..if a.at_ns <= b.at_ns { a } else { b } })
            }
            (a, b) => a.or(b),
        };
        self.lateness.merge(&other.lateness);
        self.first_late_ns = self.first_late_ns.or(other.first_late_ns);
        self.intended = match self.stopped_ns.or(other.stopped_ns) {
            // Senders do not look at the same time: what the first one did not come to was cut off.
            Some(_) => self.intended.min(other.intended).max(self.offered),
            None => self.intended.max(other.intended),
        };
        let ends = self.marks.last().map_or(0, |end| end.index);
        for (mark, others) in self.marks.iter_mut().zip(&other.marks) {
            // The first packet of a slice is the first of all senders'.
            mark.index = mark.index.min(others.index);
            mark.offered += others.offered;
        }
        if let (Some(end), Some(others)) = (self.marks.last_mut(), other.marks.last()) {
            end.index = ends.max(others.index);
        }
        self.send_cost_ns = self.send_cost_ns.into_iter().chain(other.send_cost_ns).min();
        self.trains.trains += other.trains.trains;
        self.trains.packets += other.trains.packets;
        self.resent += other.resent;
        self.waited = self.waited.max(other.waited);
        self.displaced += other.displaced;
        self.stopped_ns = self.stopped_ns.max(other.stopped_ns);
        self.error = self.error.take().or(other.error);
    }
}
