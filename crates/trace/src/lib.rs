//! Tracepoints for real-time programs: [`tx`] and [`rx`] at the ends of a pipe, [`event`] for anything else,
//! [`probe!`] where a delay can be added.
//!
//! Owns the rings that events are written to, their clock and their layout in shared memory. It knows nothing of
//! pipelines, statistics or any framework, and depends on nothing.
//! Start reading at [`tx`], then `ring`; the collecting side is [`Session`].
//!
//! A source and a sink of a pipe, in the program that is measured:
//!
//! ```
//! use dropline_trace::Granules;
//! let (mut sent, mut received) = (Granules::of(32768), Granules::of(32768));
//! // In the source, before the samples are handed on:
//! sent.tx(0, 4096);
//! // In the sink:
//! received.rx(0, 4096);
//! ```
//!
//! Where the environment's `DROPLINE_LTTNG` names LTTng's provider (`c/trace/lttng`), it is loaded and gets the same
//! events: one program works with and without LTTng.
//!
//! `dropline trial flowgraph:exec:COMMAND` starts the program with a session and correlates what it records.
//!
//! Off, a tracepoint is one load and one branch that always goes the same way (two more loads where a session stands
//! still); with the feature `silent` it is nothing.
//! On, it is one read of the clock and 32 bytes into the thread's own ring.
#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/sdr-graphs.md")]
mod shown {}

mod clock;
mod event;
mod granules;
mod layout;
#[cfg(feature = "std")]
mod owned;
#[cfg(feature = "std")]
mod probe;
mod ring;
#[cfg(feature = "std")]
mod session;
#[cfg(feature = "std")]
mod session_error;
mod sys;

pub use clock::Clock;
pub use event::{Kind, TraceEvent};
pub use granules::Granules;
pub use layout::{Head, MAGIC, NAME_BYTES, PROBES, ProbeEntry, Shape};
#[cfg(feature = "std")]
pub use probe::Probe;
pub use ring::{Reader, Ring, RingCounters, Slot, WhenFull, Writer};
#[cfg(feature = "std")]
pub use session::{ClockCalibration, EventCounts, Session};
#[cfg(feature = "std")]
pub use session_error::SessionError;
pub use sys::clock::ClockPair;

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

/// So many samples are in `pipe` now, between its source and its sink: a sampler's event, against which the delays are
/// checked (Little's law).
#[cfg(feature = "std")]
#[inline]
pub fn in_flight(pipe: u32, samples: u64) {
    trace(Kind::InFlight, pipe, samples, 0);
}

/// An event of the program's own: `number` says which, the rest is the program's.
#[cfg(feature = "std")]
#[inline]
pub fn event(number: u32, which: u32, first: u64, second: u64) {
    trace(Kind::Own(number), which, first, second);
}

/// Joins the session that the environment names, where it names one, and says whether tracepoints record now.
///
/// The first event does this by itself; a program that calls it first, before its threads start, takes no page fault
/// and loads no library in the middle of its work.
#[cfg(feature = "std")]
pub fn join() -> bool {
    !cfg!(feature = "silent") && sys::local::join()
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
