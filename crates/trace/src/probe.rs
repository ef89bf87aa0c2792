//! Probes: named places in a program where an experimenter can add a delay.

use crate::Clock;
use crate::Kind;
use crate::layout::{NAME_BYTES, ProbeEntry};
use crate::sys::local;
use core::sync::atomic::Ordering;

/// A named place; made by [`probe!`](crate::probe), one static for each.
#[derive(Debug)]
pub struct Probe {
    name: &'static str,
    /// Its entry in the session's table, once it has one.
    entry: std::sync::OnceLock<Option<(u32, &'static ProbeEntry, Clock)>>,
}

impl Probe {
    /// A place called `name`; forty bytes of it are kept.
    pub const fn new(name: &'static str) -> Self {
        Self { name, entry: std::sync::OnceLock::new() }
    }

    /// Takes its place in the session's list before it is passed, so that it can be named; for a program's start.
    pub fn announce(&self) {
        if local::region().is_some() {
            self.entry.get_or_init(|| self.register());
        }
    }

    /// Passes the place. Where a delay was asked for, waits it out awake and records what it really was.
    #[inline]
    pub fn cross(&self) {
        if local::is_on() {
            self.delay();
        }
    }

    #[cold]
    fn delay(&self) {
        let Some((number, entry, clock)) = *self.entry.get_or_init(|| self.register()) else { return };
        let wanted_ns = entry.delay_ns.load(Ordering::Relaxed);
        if wanted_ns == 0 {
            return;
        }
        // Awake: a sleep would give the CPU away, which is another experiment.
        let begun = clock.ticks();
        let begun_ns = Clock::Monotonic.ticks();
        while Clock::Monotonic.ticks() - begun_ns < wanted_ns {
            core::hint::spin_loop();
        }
        local::write(Kind::Crossing, number, clock.ticks().wrapping_sub(begun), 0);
    }

    /// Takes an entry, or the one that has this name already; `None` without a session or when it is full.
    fn register(&self) -> Option<(u32, &'static ProbeEntry, Clock)> {
        let region = local::region()?;
        let entries = region.probes();
        let number = region.head().probes.fetch_add(1, Ordering::Relaxed);
        let entry = entries.get(number as usize)?;
        for (to, byte) in entry.name.iter().zip(self.name.bytes().take(NAME_BYTES)) {
            to.store(byte, Ordering::Relaxed);
        }
        entry.named.store(1, Ordering::Release);
        Some((number, entry, region.clock()))
    }
}
