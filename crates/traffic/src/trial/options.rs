//! What can be set about the measuring.

use super::means::Means;
use crate::losses::evidence::Watching;
use crate::packet::together::Together;
use crate::packet::trial_state::ClockStep;
use crate::sockets::connection::{Sources, Targets};

/// What can be set about the measuring, as opposed to the traffic.
#[derive(Clone, Debug)]
pub struct MeasurerOptions {
    /// Parts of equal length in which packets are also counted, by when they were due; 40 where nobody says.
    pub slices: Option<u32>,
    /// Receive buffer to ask for at each reply socket, in bytes.
    pub receive_buffer_bytes: u64,
    /// Keep the times of this many packets of each trial, one by one.
    pub keep_packets: Option<usize>,
    /// How packets are moved, by how many threads, where.
    pub means: Means,
    /// Where the streams' packets come from.
    pub sources: Sources,
    /// Where they go, beside the target.
    pub targets: Targets,
    /// How a target on this machine is watched.
    pub watching: Watching,
    /// Who says when trials start, where several generators perform them together.
    pub together: Option<Together>,
    /// Turns below this were had by requests of this measurement, where it is resumed.
    pub asked_below: u64,
    /// For tests: the clock that stamps packets is set meanwhile.
    pub clock_step: Option<ClockStep>,
}

impl Default for MeasurerOptions {
    /// Slices as many as fit, no times of single packets, means as fit, and room for twenty thousand small replies where
    /// the system grants it.
    fn default() -> Self {
        Self {
            slices: None,
            receive_buffer_bytes: 8 << 20,
            keep_packets: None,
            means: Means::default(),
            sources: Sources::default(),
            targets: Targets::default(),
            watching: Watching::default(),
            together: None,
            asked_below: 0,
            clock_step: None,
        }
    }
}
