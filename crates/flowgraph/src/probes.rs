//! What a block records when a granule passes.

use dropline_trace::Clock;

/// Whether a block records. Two kinds of one program: the first is compiled to nothing.
pub trait Probes: Send + 'static {
    /// Whether granules are counted at all.
    const ON: bool;
}

/// No tracepoints.
pub struct Untraced;

impl Probes for Untraced {
    const ON: bool = false;
}

/// Tracepoints: off at run time unless a session records.
pub struct Traced;

impl Probes for Traced {
    const ON: bool = true;
}

/// Number of the event that says for how long a granule had been due when it left: pipe, granule, ns.
pub const DUE: u32 = 1;
/// Number of the event that says that a granule left a copy block: pipe and stage, granule.
pub const STAGE: u32 = 2;

/// A granule left copy block `stage`, from 1, of `pipe`.
#[inline]
pub fn stage(pipe: u32, stage: u32, n: u64) {
    dropline_trace::event(STAGE, pipe, n, u64::from(stage));
}

/// Granule `n` of `pipe` leaves now and has been due since `due_ns` of CLOCK_MONOTONIC. The age is recorded and not
/// the moment: who reads it may stamp events by another clock.
#[inline]
pub fn due(pipe: u32, n: u64, due_ns: u64) {
    dropline_trace::event(DUE, pipe, n, Clock::Monotonic.ticks().saturating_sub(due_ns));
}
