//! A session: rings in a file that programs write to and a collector reads from.

use crate::layout::Shape;
use crate::owned::Owned;
use crate::session_error::SessionError;
use crate::sys::local;
use crate::sys::region::{Mapping, Region};
use crate::{Clock, ClockPair};
use crate::{Reader, TraceEvent};
use core::sync::atomic::Ordering;
use std::path::Path;

/// The collecting end of a session. Its file goes with it; a program that still writes is not disturbed.
#[derive(Debug)]
pub struct Session {
    region: Region,
    readers: Vec<Reader<'static>>,
    began: ClockPair,
    file: Owned,
    /// Dropped last: what is above looks into it.
    _mapping: Mapping,
}

/// What a session counted. `recorded` + `discarded` + `homeless` is what tracepoints were asked to record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Events that a ring took, those written over later included.
    pub recorded: u64,
    /// Events for which their ring had no room.
    pub discarded: u64,
    /// Events of threads for which there was no ring.
    pub homeless: u64,
    /// Events written over before they were read.
    pub lapped: u64,
    /// Slots that held what no tracepoint writes.
    pub unreadable: u64,
    /// Programs that attached.
    pub programs: u32,
}

/// Ticks in nanoseconds of CLOCK_MONOTONIC, from two moments when both clocks were read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockCalibration {
    from: ClockPair,
    ns_per_tick: f64,
}

impl ClockCalibration {
    /// From two pairs of the same clock; the further apart, the better: 100 ms apart, a pair within 30 ns is
    /// off by 0.6 ppm at most.
    pub fn between(from: ClockPair, to: ClockPair) -> Option<Self> {
        let ticks = to.ticks.checked_sub(from.ticks).filter(|&ticks| ticks > 0)?;
        let ns = to.ns.checked_sub(from.ns).filter(|&ns| ns > 0)?;
        Some(Self { from, ns_per_tick: ns as f64 / ticks as f64 })
    }

    /// The moment of `ticks` in nanoseconds of CLOCK_MONOTONIC.
    pub fn ns(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.from.ticks) as i64;
        self.from.ns.saturating_add_signed((since as f64 * self.ns_per_tick).round() as i64)
    }

    /// Length of a tick.
    pub fn ns_per_tick(&self) -> f64 {
        self.ns_per_tick
    }
}

impl Session {
    /// Makes a session in a new file. Programs whose environment has [`variable`](Self::variable) attach to it
    /// at their first tracepoint; nothing records before [`start`](Self::start).
    ///
    /// Put it on a RAM disk (`/dev/shm`): a page that is written back to a disk delays the program.
    ///
    /// # Errors
    /// If the file exists or cannot be made, or the shape is none.
    pub fn create(path: &Path, shape: Shape) -> Result<Self, SessionError> {
        Self::begin(Owned::create(path)?, shape)
    }

    /// Makes a session in memory, in a file of a name that no other has; what this user's killed programs left
    /// there is removed.
    ///
    /// # Errors
    /// If there is no room, or the shape is none.
    pub fn in_memory(shape: Shape) -> Result<Self, SessionError> {
        Self::begin(Owned::in_memory()?, shape)
    }

    fn begin(file: Owned, shape: Shape) -> Result<Self, SessionError> {
        let clock = Clock::best();
        let region = Region::create(file.file(), shape, clock)?;
        let readers = (0..shape.rings).map(|ring| region.ring(ring).reader()).collect();
        Ok(Self { region, readers, began: ClockPair::read(clock), file, _mapping: Mapping(region) })
    }

    /// The environment variable, and its value, by which a program finds the session.
    pub fn variable(&self) -> (&'static str, &Path) {
        (local::VARIABLE, self.file.path())
    }

    /// Lets this process itself record into the session. The first session that a process attaches to stays its
    /// session for good.
    pub fn attach(&self) {
        local::attach(self.region);
    }

    /// Tracepoints record from now on.
    pub fn start(&self) {
        self.region.head().recording.store(1, Ordering::Release);
    }

    /// Tracepoints record no more. One that was under way may still end.
    pub fn stop(&self) {
        self.region.head().recording.store(0, Ordering::Release);
    }

    /// Hands over the events that are there, ring by ring, in order within a ring; returns how many.
    pub fn drain(&mut self, mut each: impl FnMut(u32, TraceEvent)) -> u64 {
        self.readers.iter_mut().zip(0..).map(|(reader, ring)| reader.drain(|event| each(ring, event))).sum()
    }

    /// What was counted so far.
    pub fn counts(&self) -> EventCounts {
        let head = self.region.head();
        let rings = (0..self.region.shape().rings).map(|ring| self.region.ring(ring));
        let (recorded, discarded) = rings.fold((0u64, 0u64), |(written, gone), ring| {
            (written.saturating_add(ring.written()), gone.saturating_add(ring.discarded()))
        });
        EventCounts {
            recorded,
            discarded,
            homeless: head.homeless.load(Ordering::Relaxed),
            lapped: self.readers.iter().map(Reader::lapped).fold(0, u64::saturating_add),
            unreadable: self.readers.iter().map(Reader::unreadable).fold(0, u64::saturating_add),
            programs: head.attached.load(Ordering::Relaxed),
        }
    }

    /// The clock that stamps the events.
    pub fn clock(&self) -> Clock {
        self.region.clock()
    }

    /// Ticks in nanoseconds, from the session's beginning to now; `None` if no time has passed.
    pub fn calibration(&self) -> Option<ClockCalibration> {
        ClockCalibration::between(self.began, ClockPair::read(self.region.clock()))
    }

    /// The probes that programs have reached, by number.
    pub fn probes(&self) -> Vec<String> {
        let entries = self.region.probes().iter();
        entries
            .take_while(|entry| entry.named.load(Ordering::Acquire) != 0)
            .map(|entry| {
                let bytes = entry.name.iter().map(|byte| byte.load(Ordering::Relaxed));
                String::from_utf8_lossy(&bytes.take_while(|&byte| byte != 0).collect::<Vec<_>>()).into_owned()
            })
            .collect()
    }

    /// Adds `delay_ns` at every crossing of a probe from now on; 0 adds nothing.
    ///
    /// # Panics
    /// If no probe has that number.
    pub fn delay(&self, probe: usize, delay_ns: u64) {
        self.region.probes()[probe].delay_ns.store(delay_ns, Ordering::Relaxed);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
    }
}
