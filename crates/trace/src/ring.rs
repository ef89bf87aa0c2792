//! A ring of events: one thread writes, one reads, neither waits.

use crate::TraceEvent;
#[cfg(not(loom))]
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// What becomes of an event for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The new event is discarded and counted: the beginning is kept.
    DiscardNewest,
    /// The oldest event is written over: a flight recorder, read after its writer stopped, or with laps
    /// reported.
    OverwriteOldest,
}

/// The counters of a ring, as they lie in shared memory: what the writer touches and what the reader
/// touches on cache lines of their own.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct RingCounters {
    /// Events written since the session began.
    pub(crate) head: AtomicU64,
    /// Events discarded for want of room.
    pub(crate) discarded: AtomicU64,
    /// The thread that writes, by its kernel number; the last one, if it ended.
    pub(crate) thread: AtomicU32,
    /// 1 while a thread has the ring.
    pub(crate) taken: AtomicU32,
    writer_line: [u64; 13],
    /// Events read.
    pub(crate) tail: AtomicU64,
    reader_line: [u64; 15],
}

/// Room for one event. Its words are atomics so that a reader that comes too late reads a wrong event,
/// which it can tell, and not undefined memory.
#[repr(C, align(32))]
#[derive(Debug, Default)]
pub struct Slot([AtomicU64; 4]);

/// A ring over memory that somebody owns.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'a> {
    counters: &'a RingCounters,
    /// A power of two of them.
    slots: &'a [Slot],
    when_full: WhenFull,
}

impl<'a> Ring<'a> {
    /// # Panics
    /// If there is not a power of two of slots.
    pub fn new(counters: &'a RingCounters, slots: &'a [Slot], when_full: WhenFull) -> Self {
        assert!(slots.len().is_power_of_two(), "{} slots are not a power of two", slots.len());
        Self { counters, slots, when_full }
    }

    /// Its writing end. There must be one at a time: two would write over one another's events.
    pub fn writer(self) -> Writer<'a> {
        let head = self.counters.head.load(Ordering::Acquire);
        Writer { ring: self, head, tail: self.counters.tail.load(Ordering::Acquire) }
    }

    /// Its reading end; one at a time.
    pub fn reader(self) -> Reader<'a> {
        Reader { ring: self, lapped: 0, unreadable: 0 }
    }

    /// Events discarded for want of room.
    pub fn discarded(&self) -> u64 {
        self.counters.discarded.load(Ordering::Relaxed)
    }

    /// Events written, those written over included.
    pub fn written(&self) -> u64 {
        self.counters.head.load(Ordering::Acquire)
    }

    fn slot(&self, index: u64) -> &'a Slot {
        &self.slots[index as usize & (self.slots.len() - 1)]
    }
}

impl Slot {
    #[inline]
    fn write(&self, words: [u64; 4]) {
        for (to, word) in self.0.iter().zip(words) {
            to.store(word, Ordering::Relaxed);
        }
    }

    fn read(&self) -> [u64; 4] {
        [0, 1, 2, 3].map(|word: usize| self.0[word].load(Ordering::Relaxed))
    }
}

/// The end of a ring that a thread writes to.
#[derive(Debug)]
pub struct Writer<'a> {
    ring: Ring<'a>,
    head: u64,
    /// The reader's progress when it was last looked at.
    tail: u64,
}

impl Writer<'_> {
    /// Writes an event, or discards it for want of room. Never waits, allocates or fails.
    #[inline]
    pub fn write(&mut self, event: TraceEvent) {
        match self.ring.when_full {
            WhenFull::DiscardNewest => {
                let capacity = self.ring.slots.len() as u64;
                if self.head.wrapping_sub(self.tail) >= capacity {
                    self.tail = self.ring.counters.tail.load(Ordering::Acquire);
                    if self.head.wrapping_sub(self.tail) >= capacity {
                        return self.discard();
                    }
                }
            }
            // A reader that sees a word of this event also sees the head that made its slot unsafe.
            WhenFull::OverwriteOldest => fence(Ordering::Release),
        }
        self.ring.slot(self.head).write(event.words());
        self.head = self.head.wrapping_add(1);
        self.ring.counters.head.store(self.head, Ordering::Release);
    }

    #[cold]
    fn discard(&self) {
        let discarded = &self.ring.counters.discarded;
        discarded.store(discarded.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

/// The end of a ring that a collector reads from.
#[derive(Debug)]
pub struct Reader<'a> {
    ring: Ring<'a>,
    lapped: u64,
    unreadable: u64,
}

impl Reader<'_> {
    /// Hands over every event that is there, oldest first; returns how many.
    pub fn drain(&mut self, mut each: impl FnMut(TraceEvent)) -> u64 {
        let counters = self.ring.counters;
        let head = counters.head.load(Ordering::Acquire);
        let begun = counters.tail.load(Ordering::Relaxed);
        let discards = self.ring.when_full == WhenFull::DiscardNewest;
        if head < begun || (discards && head - begun > self.ring.slots.len() as u64) {
            // No writer leaves such counters: somebody wrote over them, and what lies here is nobody's.
            self.unreadable += 1;
            counters.tail.store(head, Ordering::Release);
            return 0;
        }
        let mut tail = self.skip_lapped(begun, head, head);
        let mut drained = 0;
        while tail != head {
            let words = self.ring.slot(tail).read();
            if self.ring.when_full == WhenFull::OverwriteOldest {
                fence(Ordering::Acquire);
                let safe = self.skip_lapped(tail, counters.head.load(Ordering::Relaxed), head);
                if safe > tail {
                    // The words may be of two events.
                    tail = safe;
                    continue;
                }
            }
            tail += 1;
            match TraceEvent::of_words(words) {
                Some(event) => {
                    drained += 1;
                    each(event);
                }
                None => self.unreadable += 1,
            }
        }
        counters.tail.store(tail, Ordering::Release);
        drained
    }

    /// Events that were written over before they were read; with [`WhenFull::DiscardNewest`] none.
    pub fn lapped(&self) -> u64 {
        self.lapped
    }

    /// Slots that held what no tracepoint writes.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// The oldest event at or after `tail`, `end` at most, that its writer is not at once it has written
    /// `head`.
    fn skip_lapped(&mut self, tail: u64, head: u64, end: u64) -> u64 {
        if self.ring.when_full == WhenFull::DiscardNewest {
            return tail;
        }
        // The writer may be in the slot of `head` already.
        let oldest = head.saturating_add(1).saturating_sub(self.ring.slots.len() as u64);
        let safe = oldest.clamp(tail, end.max(tail));
        self.lapped = self.lapped.saturating_add(safe - tail);
        safe
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use crate::Kind;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn event(n: u64) -> TraceEvent {
        TraceEvent { ticks: n, kind: Kind::Tx, pipe: 1, n, extra: 0 }
    }

    fn memory(slots: usize) -> (RingCounters, Vec<Slot>) {
        (RingCounters::default(), (0..slots).map(|_| Slot::default()).collect())
    }

    proptest! {
        #[test]
        fn a_ring_that_discards_keeps_what_a_bounded_queue_keeps(
            size in 0u32..6, steps in prop::collection::vec(0u64..12, 0..60)
        ) {
            let (counters, slots) = memory(1 << size);
            let ring = Ring::new(&counters, &slots, WhenFull::DiscardNewest);
            let (mut writer, mut reader) = (ring.writer(), ring.reader());
            let (mut twin, mut discarded, mut n) = (VecDeque::new(), 0, 0);
            for (step, count) in steps.into_iter().enumerate() {
                if step % 2 == 0 {
                    for _ in 0..count {
                        writer.write(event(n));
                        if twin.len() < 1 << size { twin.push_back(n) } else { discarded += 1 }
                        n += 1;
                    }
                } else {
                    let mut read = Vec::new();
                    reader.drain(|event| read.push(event.n));
                    prop_assert_eq!(read, twin.drain(..).collect::<Vec<_>>());
                }
            }
            prop_assert_eq!(ring.discarded(), discarded);
            prop_assert_eq!(ring.written() + ring.discarded(), n);
        }

        #[test]
        fn a_flight_recorder_keeps_the_newest_and_says_how_many_it_wrote_over(
            size in 1u32..6, counts in prop::collection::vec(0u64..100, 1..6)
        ) {
            let (counters, slots) = memory(1 << size);
            let ring = Ring::new(&counters, &slots, WhenFull::OverwriteOldest);
            let (mut writer, mut reader) = (ring.writer(), ring.reader());
            let (mut n, mut read) = (0, 0);
            for count in counts {
                for _ in 0..count { writer.write(event(n)); n += 1 }
                let mut seen = Vec::new();
                read += reader.drain(|event| seen.push(event.n));
                // One slot less than there are: the writer may be in it.
                let kept = count.min((1 << size) - 1);
                prop_assert_eq!(seen, (n - kept..n).collect::<Vec<_>>());
            }
            prop_assert_eq!(read + reader.lapped(), n);
        }
    }

    #[test]
    fn a_writer_that_takes_over_goes_on_where_the_last_one_ended() {
        let (counters, slots) = memory(8);
        let ring = Ring::new(&counters, &slots, WhenFull::DiscardNewest);
        ring.writer().write(event(1));
        ring.writer().write(event(2));
        let mut read = Vec::new();
        ring.reader().drain(|event| read.push(event.n));
        assert_eq!(read, [1, 2]);
    }

    #[test]
    fn what_no_tracepoint_writes_is_counted_and_not_handed_over() {
        let (counters, slots) = memory(2);
        let ring = Ring::new(&counters, &slots, WhenFull::DiscardNewest);
        ring.writer().write(event(1));
        slots[0].write([0, 9, 0, 0]);
        let mut reader = ring.reader();
        assert_eq!((reader.drain(|_| panic!("not an event")), reader.unreadable()), (0, 1));
    }

    proptest! {
        /// Whatever another program wrote over the counters, now or while they are read.
        #[test]
        fn counters_that_no_writer_leaves_are_no_events(
            head in any::<u64>(), near in 0u64..9, swapped: bool, all: bool, overwrites: bool,
        ) {
            let (counters, slots) = memory(4);
            slots.iter().for_each(|slot| slot.write(event(1).words()));
            let tail = if all { 0 } else { head.saturating_sub(near) };
            let (head, tail) = if swapped { (tail, head) } else { (head, tail) };
            counters.head.store(head, Ordering::Relaxed);
            counters.tail.store(tail, Ordering::Relaxed);
            let when_full = if overwrites { WhenFull::OverwriteOldest } else { WhenFull::DiscardNewest };
            let ring = Ring::new(&counters, &slots, when_full);
            let mut reader = ring.reader();
            let drained = reader.drain(|_| {});
            prop_assert!(drained <= 4, "{}", drained);
            prop_assert_eq!(reader.drain(|_| {}), 0, "and it goes on behind them");
            prop_assert_eq!(counters.tail.load(Ordering::Relaxed), head);
        }
    }

    #[test]
    fn no_event_is_lost_or_invented_between_two_threads() {
        const EVENTS: u64 = 200_000;
        let (counters, slots) = memory(64);
        let ring = Ring::new(&counters, &slots, WhenFull::DiscardNewest);
        let mut read = Vec::new();
        std::thread::scope(|threads| {
            let writing = threads.spawn(|| {
                let mut writer = ring.writer();
                (0..EVENTS).for_each(|n| writer.write(event(n)));
            });
            let mut reader = ring.reader();
            while !writing.is_finished() {
                reader.drain(|event| read.push(event.n));
                std::thread::yield_now();
            }
            reader.drain(|event| read.push(event.n));
        });
        assert_eq!(read.len() as u64 + ring.discarded(), EVENTS);
        assert!(read.is_sorted_by(|a, b| a < b), "out of order or twice");
    }
}

/// Every order in which two threads can meet: `make test-trace` runs it, with `RUSTFLAGS="--cfg loom"`.
#[cfg(all(test, loom))]
mod orders {
    use super::*;
    use crate::Kind;
    use loom::sync::Arc;

    /// An event whose words all tell its number, so that a mixture of two shows.
    fn event(n: u64) -> TraceEvent {
        TraceEvent { ticks: n, kind: Kind::Own(n as u32), pipe: n as u32, n, extra: n }
    }

    fn meet(when_full: WhenFull, slots: usize, events: u64) {
        loom::model(move || {
            let memory =
                Arc::new((RingCounters::default(), (0..slots).map(|_| Slot::default()).collect::<Vec<_>>()));
            let writing = {
                let memory = Arc::clone(&memory);
                loom::thread::spawn(move || {
                    let mut writer = Ring::new(&memory.0, &memory.1, when_full).writer();
                    (1..=events).for_each(|n| writer.write(event(n)));
                })
            };
            let ring = Ring::new(&memory.0, &memory.1, when_full);
            let mut reader = ring.reader();
            let mut read = Vec::new();
            reader.drain(|event| read.push(event));
            writing.join().unwrap();
            reader.drain(|event| read.push(event));
            assert_eq!(read.len() as u64 + ring.discarded() + reader.lapped(), events);
            assert_eq!(reader.unreadable(), 0);
            let mut last = 0;
            for read in read {
                assert_eq!(read, event(read.n), "torn");
                assert!(read.n > last, "out of order");
                last = read.n;
            }
        });
    }

    #[test]
    fn no_sample_is_lost_and_none_is_torn_when_the_newest_is_discarded() {
        meet(WhenFull::DiscardNewest, 2, 3);
    }

    #[test]
    fn no_sample_is_torn_when_the_oldest_is_written_over() {
        meet(WhenFull::OverwriteOldest, 2, 3);
    }
}
