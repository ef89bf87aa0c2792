//! What a block records when a granule passes.

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

/// Number of the event that says when a granule was due: pipe, granule, ns of CLOCK_MONOTONIC.
pub const DUE: u32 = 1;
/// Number of the event that says that a granule left a copy block: pipe and stage, granule.
pub const STAGE: u32 = 2;

/// A granule left copy block `stage`, from 1, of `pipe`.
#[inline]
pub fn stage(pipe: u32, stage: u32, n: u64) {
    dropline_trace::event(STAGE, pipe, n, u64::from(stage));
}

/// Granule `n` of `pipe` was due at `at_ns`.
#[inline]
pub fn due(pipe: u32, n: u64, at_ns: u64) {
    dropline_trace::event(DUE, pipe, n, at_ns);
}
