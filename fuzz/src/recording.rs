//! Recorded departures, as text or as numbers: replayed, or refused.

use super::text;
use dropline_trial::arrival::read_times;
use dropline_trial::{Arrival, Pace, Rate, TrialInput};
use std::time::Duration;

/// Departures of a recording stand in order within the trial, at its own rate and at any other.
pub fn check(bytes: &[u8]) {
    let read = read_times(&text(bytes));
    if let Ok(times) = &read {
        assert!(times.len() > 1 && times[0] == 0 && times.is_sorted());
    }
    let numbers = || bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().expect("eight")));
    for times in [read.ok(), Some(numbers().collect())].into_iter().flatten() {
        let Ok(arrival) = Arrival::parse("replay:x", &mut |_| Ok(times.clone())) else { continue };
        let Pace::LoadOr(own) = arrival.pace() else { panic!("a recording has a rate of its own") };
        for load in [own, Rate::LOWEST, Rate::HIGHEST, Rate::from_millipps(1_234_567)] {
            for duration in [Duration::from_nanos(1), Duration::from_secs(1), Duration::from_secs(1 << 40)] {
                let input = TrialInput { load, duration };
                let due: Vec<u64> = arrival.departures(input, 7).take(300).collect();
                let end = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
                assert!(due.is_sorted() && due.iter().all(|due| *due < end), "{load} {duration:?}");
            }
        }
    }
}
