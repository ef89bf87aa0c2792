//! One direction of frames that go both ways at once: its part of every count.

use crate::{Delay, Rate};
use std::collections::BTreeMap;

/// The host that a key of [`LostAt`] names before the place, and the place. What is between two hosts names both:
/// `router..target/between`.
pub fn host_and_place(key: &str) -> (Option<&str>, &str) {
    key.split_once('/').map_or((None, key), |(host, place)| (Some(host), place))
}

/// Packets lost by place. Places are those of the record's `lost_at`; they sum to the loss.
pub type LostAt = BTreeMap<String, u64>;

/// One direction of a trial: its part of the load, and its part of every count.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// As the profile calls it.
    pub name: String,
    /// Its part of the load.
    pub load: Rate,
    /// Packets that its load asked for.
    pub intended: u64,
    /// Those that left.
    pub offered: u64,
    /// Those that came out in time, each counted once.
    pub forwarded: u64,
    /// Further copies.
    pub duplicated: u64,
    /// Packets that came out behind one that left later.
    pub reordered: u64,
    /// What our own end had no room for.
    pub generator_lost: u64,
    /// Packets that left in lumps behind a pause of the sender.
    pub displaced: u64,
    /// From when each packet was due.
    pub delay: Delay,
    /// From when each packet left.
    pub service_delay: Delay,
    /// Where its packets were lost; they sum to its loss.
    pub lost_at: LostAt,
}

impl Direction {
    /// Packets that the target lost.
    pub fn lost(&self) -> u64 {
        self.offered.saturating_sub(self.forwarded).saturating_sub(self.generator_lost)
    }

    /// Lost ÷ offered; `None` when nothing was offered.
    pub fn loss_ratio(&self) -> Option<f64> {
        (self.offered > 0).then(|| self.lost() as f64 / self.offered as f64)
    }
}
