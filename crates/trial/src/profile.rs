//! What the packets of every trial of a search look like (RFC 9971: the Traffic Profile).

use crate::{Arrival, Packet, seed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Everything about the traffic but load and duration; given to the measurer once.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficProfile {
    /// When packets leave.
    pub arrival: Arrival,
    /// How long they are.
    pub packet: Packet,
    /// What the load is divided over; at least one, the shares are relative.
    pub streams: Vec<Part>,
    /// Directions that the load is the sum of; at least one.
    pub directions: Vec<Part>,
    /// Wait after the last departure (RFC 2544 §23 d).
    pub drain: Drain,
    /// Chance of the whole search; each trial derives its own.
    pub seed: u64,
}

impl TrafficProfile {
    /// The seed of trial `number`, from 1.
    pub fn trial_seed(&self, number: u64) -> u64 {
        seed::of_trial(self.seed, number)
    }
}

impl Default for TrafficProfile {
    /// Constant arrivals, 64 bytes of payload, one stream in one direction, seed 7.
    fn default() -> Self {
        Self {
            arrival: Arrival::constant(),
            packet: Packet::of_payload(64).expect("64 bytes is legal"),
            streams: vec![Part::whole("1")],
            directions: vec![Part::whole("out")],
            drain: Drain::default(),
            seed: 7,
        }
    }
}

/// Streams that a load is spread over, at most.
pub const MOST_STREAMS: u32 = 1024;

/// A named part of the load and its share of the sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// As a report calls it.
    pub name: String,
    /// Relative to the other parts; above zero.
    pub share: u32,
}

impl Part {
    /// The only part.
    pub fn whole(name: &str) -> Self {
        Self { name: name.into(), share: 1 }
    }

    /// `count` equal parts named by their numbers.
    pub fn equal(count: u32) -> Vec<Self> {
        (1..=count.max(1)).map(|number| Self::whole(&number.to_string())).collect()
    }
}

/// The wait for packets that are still on their way after the last departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// The longest wait.
    pub longest: Duration,
    /// End early after this time without a packet; `None` waits in full (RFC 2544 §23 d).
    pub quiet: Option<Duration>,
    /// Rest after the drain, before the next trial (RFC 2544 §23 e).
    pub rest: Duration,
}

impl Default for Drain {
    /// Until all are back, or 100 ms without a packet, 2 s at most.
    fn default() -> Self {
        Self {
            longest: Duration::from_secs(2),
            quiet: Some(Duration::from_millis(100)),
            rest: Duration::ZERO,
        }
    }
}

impl Drain {
    /// The waits of RFC 2544 §23: 2 s for the last packets, 5 s for the device to settle.
    pub fn rfc2544() -> Self {
        Self { longest: Duration::from_secs(2), quiet: None, rest: Duration::from_secs(5) }
    }
}
