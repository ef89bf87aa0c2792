//! When each packet was due and when it left, for the time until its reply is here.

use std::sync::atomic::{AtomicU64, Ordering};

/// The times of the latest packets, written by the sender and read by the receiver without a lock.
///
/// Both times of a packet carry the round of the ring they belong to, so a reader never takes a time of
/// one packet for that of another. All memory is touched when it is made.
pub(crate) struct Stamps {
    /// Due and departed, in ns after the trial's start.
    slots: Vec<[AtomicU64; 2]>,
}

/// 52 bits of nanoseconds are 52 days; the other 12 hold the round. All ones is no round.
const TIME_BITS: u32 = 52;
const ROUNDS: u64 = (1 << (64 - TIME_BITS)) - 1;
const EMPTY: u64 = u64::MAX;

impl Stamps {
    /// For the latest `packets`, a power of two.
    pub(crate) fn new(packets: usize) -> Self {
        assert!(packets.is_power_of_two());
        Self { slots: (0..packets).map(|_| [AtomicU64::new(EMPTY), AtomicU64::new(EMPTY)]).collect() }
    }

    /// Forgets all; `written` packets were noted since the last time.
    pub(crate) fn forget(&mut self, written: u64) {
        let used = usize::try_from(written).unwrap_or(usize::MAX).min(self.slots.len());
        for slot in &mut self.slots[..used] {
            *slot = [AtomicU64::new(EMPTY), AtomicU64::new(EMPTY)];
        }
    }

    /// Notes a packet that is about to leave.
    pub(crate) fn note(&self, index: u64, due_ns: u64, departed_ns: u64) {
        let (slot, round) = self.place(index);
        slot[0].store(round | time(due_ns), Ordering::Release);
        slot[1].store(round | time(departed_ns), Ordering::Release);
    }

    /// When the packet was due and when it left; `None` if it is too long ago.
    pub(crate) fn of(&self, index: u64) -> Option<(u64, u64)> {
        let (slot, round) = self.place(index);
        let (due, departed) = (slot[0].load(Ordering::Acquire), slot[1].load(Ordering::Acquire));
        let same = |word: u64| word >> TIME_BITS == round >> TIME_BITS;
        (same(due) && same(departed)).then_some((time(due), time(departed)))
    }

    fn place(&self, index: u64) -> (&[AtomicU64; 2], u64) {
        let size = self.slots.len() as u64;
        let slot = &self.slots[(index & (size - 1)) as usize];
        (slot, ((index / size) % ROUNDS) << TIME_BITS)
    }
}

fn time(word: u64) -> u64 {
    word & ((1 << TIME_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_packet_are_known_until_it_is_overwritten() {
        let stamps = Stamps::new(4);
        assert_eq!(stamps.of(0), None, "never sent");
        (0..6).for_each(|index| stamps.note(index, 10 * index, 10 * index + 1));
        assert_eq!((stamps.of(0), stamps.of(1)), (None, None));
        assert_eq!((stamps.of(2), stamps.of(5)), (Some((20, 21)), Some((50, 51))));
    }

    #[test]
    fn a_new_trial_knows_nothing_of_the_last() {
        let mut stamps = Stamps::new(4);
        stamps.note(0, 1, 2);
        stamps.note(1, 3, 4);
        stamps.forget(2);
        assert_eq!((stamps.of(0), stamps.of(1)), (None, None));
    }
}
