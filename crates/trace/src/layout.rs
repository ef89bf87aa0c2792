//! How a session lies in memory: a page of facts, a table of probes, then rings. The C header follows it.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 4096 | [`Head`] |
//! | 4096 | 64 × 64 | [`ProbeEntry`] |
//! | 8192 | rings × 256 | [`RingCounters`](crate::RingCounters) of each ring |
//! | the next page | rings × events × 32 | the slots of each ring |

#[cfg(feature = "std")]
use crate::Clock;
use crate::WhenFull;
use core::mem::size_of;
#[cfg(not(loom))]
use core::mem::{align_of, offset_of};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// "DLTRACE1", little-endian: other bytes are no session, or one of another layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"DLTRACE1");
/// Probes that a session has room for.
pub const PROBES: usize = 64;
/// Bytes of a probe's name; shorter ones end in zeros.
pub const NAME_BYTES: usize = 40;
/// What everything is aligned to that is mapped.
pub(crate) const PAGE: usize = 4096;

/// The facts of a session. Written by who made it before any program attaches, except for the counters.
#[repr(C)]
#[derive(Debug)]
pub struct Head {
    /// [`MAGIC`].
    pub(crate) magic: u64,
    /// Rings that threads can take.
    pub(crate) rings: u32,
    /// 0: discard the newest; 1: write over the oldest.
    pub(crate) when_full: u32,
    /// Events in a ring; a power of two.
    pub(crate) capacity: u64,
    /// 1: the time-stamp counter; 2: nanoseconds of CLOCK_MONOTONIC.
    pub(crate) clock: u32,
    /// 1 while tracepoints record.
    pub(crate) recording: AtomicU32,
    /// Entries of the probe table that are in use or being written.
    pub(crate) probes: AtomicU32,
    /// Programs that attached.
    pub(crate) attached: AtomicU32,
    /// Events of threads for which there was no ring.
    pub(crate) homeless: AtomicU64,
}

/// A named place in a program where a delay can be added.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct ProbeEntry {
    /// Set from outside, at any time.
    pub(crate) delay_ns: AtomicU64,
    /// 1 once the name is written.
    pub(crate) named: AtomicU32,
    reserved: u32,
    pub(crate) name: [core::sync::atomic::AtomicU8; NAME_BYTES],
}

/// How large a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads that can record at the same time; at least one.
    pub rings: u32,
    /// Events that fit a ring; a power of two.
    pub capacity: u64,
    /// What becomes of an event for which there is no room.
    pub when_full: WhenFull,
}

impl Default for Shape {
    /// Sixteen threads with room for 65 536 events each: 32 MiB.
    fn default() -> Self {
        Self { rings: 16, capacity: 1 << 16, when_full: WhenFull::DiscardNewest }
    }
}

#[cfg(feature = "std")]
impl Shape {
    /// Bytes at a session's begin that say what it is.
    pub const HEAD_BYTES: usize = 28;

    /// What a session of that length is, by its first bytes; `None` if they are of none, or of one of another length.
    pub fn of_head(head: &[u8; Self::HEAD_BYTES], length: u64) -> Option<(Self, Clock)> {
        let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        let half = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let when_full = match half(12) {
            0 => WhenFull::DiscardNewest,
            1 => WhenFull::OverwriteOldest,
            _ => return None,
        };
        let shape = Self { rings: half(8), capacity: word(16), when_full };
        let clock = Clock::of_code(half(24))?;
        (word(0) == MAGIC && shape.bytes()? as u64 == length).then_some((shape, clock))
    }

    pub(crate) const COUNTERS_AT: usize = PAGE + PROBES * size_of::<ProbeEntry>();

    pub(crate) fn slots_at(self) -> usize {
        (Self::COUNTERS_AT + self.rings as usize * size_of::<crate::RingCounters>()).next_multiple_of(PAGE)
    }

    /// Bytes of the whole session; `None` if they cannot be addressed, or the shape is none.
    pub fn bytes(self) -> Option<usize> {
        if self.rings == 0 || self.rings > 4096 || !self.capacity.is_power_of_two() {
            return None;
        }
        let slots = usize::try_from(self.capacity).ok()?.checked_mul(self.rings as usize)?;
        slots.checked_mul(size_of::<crate::Slot>())?.checked_add(self.slots_at())
    }
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Head>() <= PAGE && offset_of!(Head, homeless) == 40);
    assert!(size_of::<ProbeEntry>() == 64 && offset_of!(ProbeEntry, name) == 16);
    assert!(size_of::<crate::RingCounters>() == 256 && align_of::<crate::RingCounters>() == 128);
    assert!(size_of::<crate::Slot>() == 32);
};
