//! A server with a queue that never overflows: it loses nothing, and beyond a load everything is late.

use super::{Behaviour, Offer};
use dropline_stats::Histogram;
use dropline_trial::{Rate, Ratio};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Exp1};
use std::time::Duration;

/// Service times are exponential, in the mean 1 ÷ capacity.
#[derive(Debug)]
pub(super) struct Queue;

/// So many packets of a trial are followed; of a longer one they stand for all.
const MOST: u64 = 1_000_000;

/// In order, one packet at a time.
pub(super) const QUEUE: Queue = Queue;

impl Behaviour for Queue {
    fn name_and_about(&self) -> [&'static str; 2] {
        [
            "queue",
            "loses nothing, and has delays: one server with exponential service times and an endless queue",
        ]
    }

    fn nominal_capacity(&self) -> Rate {
        Rate::from_millipps(100_000_000)
    }

    fn lost(&self, _: Rate, _: &Offer, _: &mut ChaCha8Rng) -> u64 {
        0
    }

    fn truth(&self, _: Rate, _: Ratio, _: Duration, _: f64) -> Option<Rate> {
        None
    }

    /// By Lindley's recursion.
    fn delays(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> Option<Histogram> {
        let mut delays = Histogram::new();
        let mean_ns = 1e9 / capacity.as_pps();
        let gap_ns = offer.duration.as_nanos() as f64 / offer.packets as f64;
        let mut left_ns = 0.0;
        let simulated = offer.packets.min(MOST);
        let before = |number: u64| u128::from(number) * u128::from(offer.packets) / u128::from(simulated);
        for number in 0..simulated {
            let gap: f64 = if offer.constant { 1.0 } else { Exp1.sample(chance) };
            let service: f64 = Exp1.sample(chance);
            left_ns = f64::max(left_ns - gap * gap_ns, 0.0) + service * mean_ns;
            // Each stands for as many.
            let count = before(number + 1) - before(number);
            delays.record_n(left_ns as u64, u64::try_from(count).unwrap_or(u64::MAX));
        }
        Some(delays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::seed;

    /// Of GI/M/1 the time in the system is exponential, of rate μ(1 − σ) where σ solves σ = E e^(−μ(1 − σ)·gap).
    #[test]
    fn as_many_packets_are_later_as_queueing_theory_says() {
        let capacity = Rate::pps(100e3).unwrap();
        for (constant, pps) in [(true, 74.6e3), (false, 53.95e3)] {
            let offer = Offer {
                packets: MOST,
                load: Rate::pps(pps).unwrap(),
                duration: Duration::from_secs_f64(MOST as f64 / pps),
                constant,
            };
            let delays = QUEUE.delays(capacity, &offer, &mut seed::generator(7)).unwrap();
            assert_eq!(delays.count(), offer.packets);
            let late: u64 =
                delays.ranges().filter(|(low, _, _)| *low > 100_000).map(|(_, _, count)| count).sum();
            let share = late as f64 / offer.packets as f64;
            assert!((share - 0.01).abs() < 0.001, "{share} later than 100 us at {pps}");
        }
    }
}
