//! What is lost when more heartbeats come than usual.

use super::contestant::Contestant;
use dropline_aggregator::sender::offer;
use dropline_aggregator::wire::{Heartbeat, VARIABLES};
use dropline_failure::Failure;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Heartbeats a second.
pub(super) const RATE_PPS: u64 = 200_000;

/// What a flood left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flood {
    /// Heartbeats that left.
    pub(super) offered: u64,
    /// Heartbeats that found the buffer full.
    pub(super) lost: u64,
    /// How long it took, in seconds.
    pub(super) took_s: f64,
    /// How long it should take.
    pub(super) due_s: f64,
}

impl Flood {
    /// Whether it was no flood of this rate: the sender could not.
    pub(super) fn is_late(&self) -> bool {
        self.took_s > 1.1 * self.due_s
    }
}

pub(super) fn flood(server: &mut Contestant, heartbeats: u64, stop: &AtomicBool) -> Result<Flood, Failure> {
    let before = server.drops()?;
    let departures = (0..heartbeats).map(|index| {
        let variable = (index % VARIABLES as u64) as u8;
        let heartbeat = Heartbeat { variable, from: (index >> 14) as u8, value: (index >> 6) as u8 };
        (index * 1_000_000_000 / RATE_PPS, heartbeat)
    });
    let began = Instant::now();
    let sent = offer(&server.socket, departures, None, || stop.load(Ordering::Relaxed), |_, _| {})
        .map_err(|why| Failure::environment(format!("cannot send: {why}")))?;
    let took_s = began.elapsed().as_secs_f64();
    server.sent += sent.offered;
    server.drained()?;
    let lost = server.drops()? - before;
    Ok(Flood { offered: sent.offered, lost, took_s, due_s: heartbeats as f64 / RATE_PPS as f64 })
}
