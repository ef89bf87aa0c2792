//! What a receiver received, and what all receivers of a trial did together.

use super::reading::Heard;
use crate::packet::clock_join::ClockJoin;
use crate::packet::content::Difference;
use crate::packet::received_set::ReceivedSet;
use crate::packet::sampling::{Sample, Stamped};
use crate::packet::trial_state::TrialState;
use crate::sys::{Queued, errno_name};
use dropline_payload::service::Origin;
use dropline_payload::service::parts::{Part, Parts};
use dropline_stats::{Cut, Histogram, Slices};
use std::io;

/// Classes that a protocol's replies have at most.
pub(crate) const MOST_CLASSES: usize = 8;

/// What came back.
pub(crate) struct Received {
    pub(crate) seen: ReceivedSet,
    pub(crate) forwarded: u64,
    /// Of those, how many had which class.
    pub(crate) classes: [u64; MOST_CLASSES],
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
    pub(crate) late: u64,
    pub(crate) foreign: u64,
    /// From a service, and to none of its requests.
    pub(crate) unasked: u64,
    /// Replies whose tag an earlier request without a reply had too.
    pub(crate) ambiguous: u64,
    /// Packets that these were counted for.
    pub(crate) unsure: ReceivedSet,
    /// Replies that do not say whose they are, and came when a further request of their stream had left.
    pub(crate) together: u64,
    /// Payload bytes of answers, and of parts of some that were never whole.
    pub(crate) reply_bytes: u64,
    /// Answers that a service has from others.
    pub(crate) relayed: u64,
    /// Answers of several datagrams.
    parts: Parts,
    /// Packets that came back otherwise, by the kind of their difference.
    pub(crate) otherwise: [ReceivedSet; Difference::KINDS],
    /// Replies of which nobody can tell whose they are, by kind: cut before that, or changed there.
    pub(crate) unknown: [u64; Difference::KINDS],
    /// All replies that came back otherwise, by kind: several of a packet too.
    pub(crate) different: [u64; Difference::KINDS],
    pub(crate) without_delay: u64,
    /// Replies that the kernel stamped, and ones that it did not.
    pub(crate) stamped: u64,
    pub(crate) unstamped: u64,
    pub(crate) delay: Histogram,
    pub(crate) service_delay: Histogram,
    /// Delays by when packets were due.
    pub(crate) slices: Slices,
    /// Departures with the kernel's stamps.
    pub(crate) sample: Sample,
    /// What was met where the two clocks were joined.
    pub(crate) join: ClockJoin,
    /// Reports that the target, or the way to it, is gone.
    pub(crate) unreachable: Option<Reports>,
}

/// Reports of the network about packets that had left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reports {
    /// What the first of them said.
    pub(crate) error: String,
    /// When it came, in ns after the start.
    pub(crate) at_ns: u64,
    /// How many there were.
    pub(crate) reports: u64,
}

impl Received {
    pub(crate) fn with_room(expected: u64, cut: Cut) -> Self {
        Self {
            seen: ReceivedSet::with_room(expected),
            forwarded: 0,
            classes: [0; MOST_CLASSES],
            duplicated: 0,
            reordered: 0,
            late: 0,
            foreign: 0,
            unasked: 0,
            ambiguous: 0,
            together: 0,
            reply_bytes: 0,
            unsure: ReceivedSet::default(),
            relayed: 0,
            parts: Parts::default(),
            otherwise: Default::default(),
            unknown: [0; Difference::KINDS],
            different: [0; Difference::KINDS],
            without_delay: 0,
            stamped: 0,
            unstamped: 0,
            delay: Histogram::new(),
            service_delay: Histogram::new(),
            slices: Slices::new(cut),
            sample: Sample::new(),
            join: ClockJoin::default(),
            unreachable: None,
        }
    }

    /// Counts what is not a reply to this trial.
    pub(crate) fn count_stray(&mut self, heard: Heard) {
        match heard {
            Heard::Late => self.late += 1,
            // An answer to a count query that was asked twice is nobody's.
            Heard::Counted | Heard::Part { .. } => {}
            // One of the requests may have got it instead of its answer, whichever.
            Heard::Unasked => {
                self.unasked += 1;
                self.unknown[Difference::Changed as usize] += 1;
            }
            Heard::Reply { .. } | Heard::Different { .. } | Heard::Astray { .. } | Heard::Foreign => {
                self.foreign += 1;
            }
        }
    }

    /// Counts a reply that is not what was sent.
    pub(crate) fn count_different(&mut self, difference: Difference, index: Option<u64>) {
        let kind = difference as usize;
        self.different[kind] += 1;
        match index {
            Some(index) => drop(self.otherwise[kind].insert(index)),
            None => self.unknown[kind] += 1,
        }
    }

    /// Takes one datagram of an answer; its class once it is whole.
    pub(crate) fn take_part(&mut self, index: u64, part: Part) -> Option<usize> {
        self.parts.take(index, part).unwrap_or_else(|unlike| {
            self.count_different(unlike.into(), Some(index));
            None
        })
    }

    /// Nothing comes any more: what is not whole by now was cut.
    pub(crate) fn end(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        parts.unfinished().for_each(|index| self.count_different(Difference::Truncated, Some(index)));
    }

    /// Counts where an answer is from.
    pub(crate) fn count_origin(&mut self, origin: Origin) {
        self.relayed += u64::from(origin == Origin::Others);
    }

    /// Takes the kernel's stamp of a departure.
    pub(crate) fn hear(
        &mut self,
        queued: Queued,
        sender: usize,
        join: &mut ClockJoin,
        flight: &TrialState<'_>,
    ) {
        let Queued::Left { number, stamp_ns } = queued else { return };
        let (now, end) = (flight.now_ns(), flight.next_index(sender));
        // The number is the low half of the index; the packet is one of the latest.
        let back = (end as u32).wrapping_sub(number);
        let Some(index) = end.checked_sub(u64::from(back)) else { return };
        join.observe(now, flight.real_ns(), flight.now_ns());
        if let Some((due_ns, departed)) = flight.stamps.of(index)
            && let Some(left_ns) = join.trial_ns(flight.stamped(stamp_ns), departed, now)
        {
            self.sample.push(Stamped { index, due_ns, left_ns });
        }
    }

    pub(crate) fn report(&mut self, error: &io::Error, at_ns: u64) {
        let first = || Reports { error: errno_name(error), at_ns, reports: 0 };
        self.unreachable.get_or_insert_with(first).reports += 1;
    }

    /// Adds what another receiver of the same trial received.
    pub(crate) fn merge(&mut self, other: Self) {
        self.seen.merge(other.seen);
        self.forwarded += other.forwarded;
        self.classes = std::array::from_fn(|class| self.classes[class] + other.classes[class]);
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.late += other.late;
        self.foreign += other.foreign;
        self.unasked += other.unasked;
        self.ambiguous += other.ambiguous;
        self.together += other.together;
        self.reply_bytes += other.reply_bytes;
        self.unsure.merge(other.unsure);
        self.relayed += other.relayed;
        for (own, other) in self.otherwise.iter_mut().zip(other.otherwise) {
            own.merge(other);
        }
        self.unknown = std::array::from_fn(|kind| self.unknown[kind] + other.unknown[kind]);
        self.different = std::array::from_fn(|kind| self.different[kind] + other.different[kind]);
        self.without_delay += other.without_delay;
        self.stamped += other.stamped;
        self.unstamped += other.unstamped;
        self.delay.merge(&other.delay);
        self.service_delay.merge(&other.service_delay);
        self.slices.merge(&other.slices);
        self.sample.merge(&other.sample);
        self.join.merge(&other.join);
        self.unreachable = match (self.unreachable.take(), other.unreachable) {
            (Some(a), Some(b)) => {
                let reports = a.reports + b.reports;
                Some(Reports { reports, ..if a.at_ns <= b.at_ns { a } else { b } })
            }
            (a, b) => a.or(b),
        };
    }
}
