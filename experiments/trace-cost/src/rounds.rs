//! Rounds of events in turn, and the least of each.

use std::time::{Duration, Instant};

pub const ROUNDS: usize = 41;
pub const EVENTS: u64 = 20_000;

/// What a process found, in ns, less its empty loop.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub event: f64,
    pub clock: f64,
    pub monotonic: f64,
}

impl Report {
    pub fn print(self) {
        eprintln!("report {} {} {}", self.event, self.clock, self.monotonic);
    }

    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("report "))?;
        let numbers: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [event, clock, monotonic] = numbers[..] else { return None };
        Some(Self { event, clock, monotonic })
    }
}

/// Least time a call, in ns, of each of several things done in turn; `between` runs after each.
pub fn least<const N: usize>(things: [&mut dyn FnMut(u64); N], mut between: impl FnMut()) -> [f64; N] {
    let mut least = [Duration::MAX; N];
    let mut things = things;
    for _ in 0..ROUNDS {
        for (thing, least) in things.iter_mut().zip(&mut least) {
            let begun = Instant::now();
            for n in 0..EVENTS {
                thing(n);
            }
            *least = (*least).min(begun.elapsed());
            between();
        }
    }
    least.map(|time| time.as_nanos() as f64 / EVENTS as f64)
}
