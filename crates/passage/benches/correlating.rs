//! Events correlated a second: six pipes, granules in flight as in a graph of six stages, sinks drained before sources.
//!
//! `cargo bench -p dropline-passage`; the least of 21 rounds.

#![expect(clippy::disallowed_types, reason = "a bench reads the clock")]

use dropline_passage::{Correlator, CorrelatorSettings};
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 21;
const GRANULES: u64 = 200_000;
const PIPES: u32 = 6;

fn main() {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let mut correlator = Correlator::new(CorrelatorSettings::default());
        let begun = Instant::now();
        for batch in 0..GRANULES / 100 {
            for pipe in 0..PIPES {
                // What one drain finds in the sink's ring, then in the source's, four granules ahead.
                for n in 100 * batch + 1..=100 * (batch + 1) {
                    black_box(correlator.rx(pipe, n, 30_000 * n + 360_000 + n * 7919 % 20_011));
                }
                for n in 100 * batch + 5..=100 * (batch + 1) + 4 {
                    black_box(correlator.tx(pipe, n, 30_000 * n));
                }
            }
        }
        best = best.min(begun.elapsed());
        black_box(correlator.finish(None));
    }
    let events = 2 * GRANULES * u64::from(PIPES);
    println!(
        "events correlated a second   {:7.1} M   (target 20; least of {ROUNDS} rounds of {events} events)",
        events as f64 / best.as_secs_f64() / 1e6
    );
}
