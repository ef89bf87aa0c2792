//! Tracepoints for real-time programs: [`tx`] and [`rx`] at the ends of a pipe, [`event`] for anything else,
//! [`probe!`] where a delay can be added.
//!
//! Owns the rings that events are written to, their clock and their layout in shared memory. It knows nothing of
//! pipelines, statistics or any framework, and depends on nothing.
//! Start reading at [`tx`], then `ring`; the collecting side is [`Session`].
//!
//! Off, a tracepoint is two loads and one branch that always goes the same way; with the feature `silent` it is nothing.
//! On, it is one read of the clock and 32 bytes into the thread's own ring.
#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(feature = "std")]
pub mod ctf;
mod event;
mod layout;
#[cfg(feature = "std")]
mod probe;
mod ring;
#[cfg(feature = "std")]
mod session;
mod sys;

pub use event::{Event, Kind};
pub use layout::{Head, MAGIC, NAME_BYTES, PROBES, ProbeEntry, Shape};
#[cfg(feature = "std")]
pub use probe::Probe;
pub use ring::{Counters, Reader, Ring, Slot, WhenFull, Writer};
#[cfg(feature = "std")]
pub use session::{Calibration, Counts, Session, SessionError};
pub use sys::clock::{Clock, Pair};

/// Granule `n` (from 1) leaves the source of `pipe`. Call it before the granule is handed on.
#[cfg(feature = "std")]
#[inline]
pub fn tx(pipe: u32, n: u64) {
    trace(Kind::Tx, pipe, n, 0);
}

/// Granule `n` (from 1) has reached the sink of `pipe`.
#[cfg(feature = "std")]
#[inline]
pub fn rx(pipe: u32, n: u64) {
    trace(Kind::Rx, pipe, n, 0);
}

/// An event of the program's own: `number` says which, the rest is the program's.
#[cfg(feature = "std")]
#[inline]
pub fn event(number: u32, which: u32, first: u64, second: u64) {
    trace(Kind::Own(number), which, first, second);
}

#[cfg(feature = "std")]
#[inline]
fn trace(kind: Kind, pipe: u32, n: u64, extra: u64) {
    if cfg!(feature = "silent") {
        return;
    }
    if sys::local::is_on() {
        sys::local::write(kind, pipe, n, extra);
    }
}

/// A place called `$name` where an experimenter can add a delay from outside the program.
///
/// ```
/// fn answer() {
///     dropline_trace::probe!("parse");
/// }
/// ```
#[cfg(feature = "std")]
#[macro_export]
macro_rules! probe {
    ($name:literal) => {{
        static PROBE: $crate::Probe = $crate::Probe::new($name);
        PROBE.cross();
    }};
}
