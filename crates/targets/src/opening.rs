//! A target made ready: what is said to it before, and what is had then.

use crate::Live;
use dropline_failure::Failure;
use dropline_traffic::Moving;
use dropline_trial::Measurer;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A target that is ready to be measured.
pub struct Opened {
    /// Performs the trials.
    pub measurer: AnyMeasurer,
    /// In words, what it is and how fast it answers.
    pub note: Option<String>,
    /// In words, how packets are sent.
    pub generator: Option<String>,
    /// Receive buffer that our reply sockets got, in bytes.
    pub reply_buffer_bytes: Option<u64>,
}

/// Any way to perform a trial.
pub type AnyMeasurer = Box<dyn Measurer<Error = Failure>>;

/// What a measurer is told beside the profile.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Number of the first trial it will perform.
    pub first_trial: u64,
    /// Set when the user wants to stop.
    pub stop: Arc<AtomicBool>,
    /// How long a program may stay silent beyond a trial's duration.
    pub patience: Duration,
    /// Time slices of each trial, where the measurer can give them.
    pub slices: Option<u32>,
    /// Packets whose times are kept one by one, where the measurer can give them; 0 keeps none.
    pub keep_packets: usize,
    /// Where events of a pipeline are kept as a trace, where they are.
    pub keep_events: Option<PathBuf>,
    /// How packets of ours are moved.
    pub moving: Moving,
    /// Told how far the trial is, where the measurer can tell.
    pub live: Option<Arc<Live>>,
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            first_trial: 1,
            stop: Arc::default(),
            patience: Duration::from_secs(60),
            slices: None,
            keep_packets: 0,
            keep_events: None,
            moving: Moving::default(),
            live: None,
        }
    }
}
