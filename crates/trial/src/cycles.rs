//! What a trial of an audio server's cycles saw beside its delays.

/// Cycles by how late they were, and the server that ran them.
///
/// A delay is counted from the server's schedule, whose zero is the fastest cycle seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cycles {
    /// Which server.
    pub server: String,
    /// Whether it has a real-time policy.
    pub realtime: bool,
    /// Frames a second.
    pub rate: u32,
    /// Frames of a period.
    pub period_frames: u32,
    /// How long a period was by this machine's clock.
    pub period_ns: f64,
    /// Schedules: one, and one more for each time that the server began anew.
    pub schedules: u64,
    /// Cycles that were late by less than half a period: nobody hears them.
    pub below_half: u64,
    /// By half a period to a period: JACK of 2004 restarted.
    pub to_period: u64,
    /// By more than a period.
    pub beyond: u64,
    /// Xruns that the server told.
    pub xruns: u64,
    /// The same an hour: lower end of the 95 % interval, rate, upper end.
    pub xruns_per_hour: Option<(f64, f64, f64)>,
    /// Mean delay: lower end of the 95 % interval, mean, upper end.
    pub mean_ns: Option<(f64, f64, f64)>,
}
