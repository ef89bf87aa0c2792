//! All that is computed and tried of a bus and its monitor, and how the original's sentences stand.

use super::chance::RandomPacket;
use super::pattern::Burst;
use super::payload::Sharing;
use super::simulation::{Simulation, Splitting};
use super::swap::Reordered;
use super::weight::Undetected;
use serde::Serialize;

/// All that was computed and tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reliability {
    /// Shares of all packets.
    pub random: RandomPacket,
    /// How long the bus waits for a false heartbeat.
    pub waiting: Waiting,
    /// What a test with random packets shows.
    pub trying: Trying,
    /// Checksums of the storable heartbeats.
    pub stored: Sharing,
    /// Checksums of heartbeats with any variable.
    pub all: Sharing,
    /// The checks side by side.
    pub checks: Vec<CheckLine>,
    /// Undetected errors over the bit error rate.
    pub curves: ErrorCurves,
    /// Bursts within the storable bits.
    pub bursts: Vec<Burst>,
    /// Length of the shortest burst that can pass.
    pub shortest_burst_bits: Option<u32>,
    /// Swaps of two bytes.
    pub swaps: Reordered,
    /// Rotations of the packet.
    pub rotations: Reordered,
    /// Whether a false value is seen.
    pub polls: Polls,
    /// Random packets in parts.
    pub splitting: Splitting,
    /// The other simulations.
    pub simulations: Vec<Simulation>,
    /// The original's sentences.
    pub sentences: Vec<Sentence>,
}

/// False heartbeats on a bus of random frames, times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Waiting {
    /// Frames a second.
    pub frame_rate_pps: f64,
    /// Mean time between accepted ones.
    pub accepted_s: f64,
    /// Mean time between stored ones.
    pub stored_s: f64,
    /// Mean time if the checksum were all.
    pub checksum_alone_s: f64,
    /// The first of these at the original's 4000 frames a second.
    pub seed_accepted_s: f64,
    /// The second.
    pub seed_stored_s: f64,
    /// The third.
    pub seed_checksum_alone_s: f64,
    /// Chance of at least one stored within a day.
    pub stored_in_a_day: f64,
    /// Chance of at least one stored within a year of 365.25 days.
    pub stored_in_a_year: f64,
}

/// A test that tried random packets and saw none accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Trying {
    /// Packets tried.
    pub tried: u64,
    /// Level.
    pub level: f64,
    /// Upper end of the interval for the chance; null if none were tried.
    pub at_most: Option<f64>,
    /// Packets that would show 2^-32.
    pub tries_for_2_to_minus_32: f64,
    /// Packets that would show 2^-40.
    pub tries_for_2_to_minus_40: f64,
}

/// A check in front of the heartbeat's payload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckLine {
    /// Its name.
    pub name: &'static str,
    /// Width of the check.
    pub bits: u32,
    /// Smallest distance of a wrong frame; null where a tag has none for certain.
    pub minimum_distance: Option<usize>,
    /// Ordered pairs at each distance from 0; null for a tag, of which only means exist.
    pub pairs: Option<Vec<u64>>,
    /// Mean number of wrong frames at distances 1 to 4.
    pub mean: Vec<f64>,
    /// For each bit error rate asked.
    pub undetected: Vec<ErrorLine>,
}

/// What passes each check, over the bit error rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorCurves {
    /// Ten a decade from 10^-6 to 10^-2.
    pub bit_error_rates: Vec<f64>,
    /// A check's name, and the probability that a wrong frame passes at each rate.
    pub undetected: Vec<(&'static str, Vec<f64>)>,
}

/// Undetected errors at one bit error rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorLine {
    /// Chance that a bit arrives wrong.
    pub bit_error_rate: f64,
    /// Chance that the frame does.
    pub any_error: f64,
    /// Chance that it passes as another.
    pub undetected: Undetected,
    /// Mean time between such frames at the frame rate asked, in seconds; null if there are none.
    pub between_s: Option<f64>,
}

/// Whether a monitor sees a false value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Polls {
    /// Time between heartbeats of a variable.
    pub heartbeat_s: f64,
    /// Time between polls.
    pub poll_s: f64,
    /// Variables in use.
    pub used: u32,
    /// In a variable in use with regular heartbeats.
    pub used_seen: f64,
    /// In a variable in use with heartbeats at random.
    pub used_seen_random: f64,
    /// In a variable that nobody writes.
    pub unused_seen: f64,
    /// In any, as they are hit.
    pub seen: f64,
    /// Mean time between false values that are seen, of a bus of random frames.
    pub between_seen_s: f64,
}

/// How a sentence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It holds under conditions that it does not name.
    Depends,
    /// It does not hold.
    Wrong,
}

impl Verdict {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Depends => "depends",
            Self::Wrong => "wrong",
        }
    }
}

/// A quantitative sentence of the original's `performance.md`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sentence {
    /// As it stands there.
    pub quoted: &'static str,
    /// How it stands.
    pub verdict: Verdict,
    /// Why, with the numbers computed here.
    pub why: String,
}
