//! The round trip of a report, of both servers one after the other.

use super::contestant::Contestant;
use dropline_aggregator::wire::{REPORT_BYTES, REQUEST};
use dropline_failure::Failure;
use std::time::Instant;

/// Before the pairs that count.
const WARM_UP: usize = 50;

/// A request to each, and how long the reports took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    pub(super) original_ns: u64,
    pub(super) ours_ns: u64,
}

impl Trip {
    /// Ours over the original's.
    pub(super) fn ratio(&self) -> f64 {
        self.ours_ns as f64 / self.original_ns as f64
    }
}

pub(super) fn pairs(
    original: &mut Contestant,
    ours: &mut Contestant,
    count: usize,
) -> Result<Vec<Trip>, Failure> {
    let mut trips = Vec::with_capacity(count);
    for pair in 0..WARM_UP + count {
        let trip = if pair % 2 == 0 {
            let original_ns = once(original)?;
            Trip { original_ns, ours_ns: once(ours)? }
        } else {
            let ours_ns = once(ours)?;
            Trip { original_ns: once(original)?, ours_ns }
        };
        if pair >= WARM_UP {
            trips.push(trip);
        }
    }
    Ok(trips)
}

fn once(server: &mut Contestant) -> Result<u64, Failure> {
    let mut report = [0; REPORT_BYTES + 1];
    let asked = Instant::now();
    server.send(&REQUEST)?;
    let length = server
        .socket
        .recv(&mut report)
        .map_err(|why| Failure::environment(format!("a request was not answered: {why}")))?;
    let took = asked.elapsed().as_nanos() as u64;
    if length == REPORT_BYTES {
        Ok(took)
    } else {
        Err(Failure::environment(format!("{length} B are not a report")))
    }
}

/// The median and its 95 % interval by order statistics: the ranks n/2 ∓ 0.98·√n, whatever the distribution.
/// `None` below 20 values, of which no two ranks make that interval well.
pub(super) fn median_with_interval(values: &[f64]) -> Option<(f64, f64, f64)> {
    if values.len() < 20 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let half = 1.959_964 * n.sqrt() / 2.0;
    let rank = |at: f64| sorted[(at as usize).clamp(1, sorted.len()) - 1];
    Some((rank((n / 2.0).ceil()), rank((n / 2.0 - half).floor()), rank((n / 2.0 + half).ceil() + 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_a_hundred_lies_between_the_40th_and_the_61st() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(median_with_interval(&values), Some((50.0, 40.0, 61.0)));
        assert_eq!(median_with_interval(&values[..19]), None);
    }
}
