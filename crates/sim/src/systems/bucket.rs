//! A token bucket: what a trial bears depends on its length.

use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio};
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// Forwards at its capacity, and besides what it holds at the start of a trial and what may wait at its end.
#[derive(Debug)]
pub(super) struct Bucket;

pub(super) const BUCKET: Bucket = Bucket;

/// What it holds and what may wait, as time at its capacity: that of `tbf rate 8mbit burst 15000 limit 3000`.
const HELD: Duration = Duration::from_millis(18);

impl Behaviour for Bucket {
    fn name_and_about(&self) -> [&'static str; 2] {
        [
            "bucket",
            "forwards up to its capacity and 18 ms of it more: a short trial takes more (a token bucket)",
        ]
    }

    fn lost(&self, capacity: Rate, offer: &Offer, _: &mut ChaCha8Rng) -> u64 {
        offer.packets.saturating_sub(capacity.packets_in(offer.duration + HELD))
    }

    fn truth(&self, capacity: Rate, loss_ratio: Ratio, duration: Duration, probability: f64) -> Option<Rate> {
        let borne = 1.0 + HELD.as_secs_f64() / duration.as_secs_f64();
        let good = 1.0 - loss_ratio.as_f64();
        let exceeds = |multiple: f64| f64::from(u8::from(multiple * good > borne));
        tails::highest_load(capacity, 4.0 * borne / good, probability, exceeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::seed;

    #[test]
    fn a_bucket_of_8_mbit_bears_9604_packets_of_106_bytes_in_a_second_and_more_in_less() {
        let capacity = Rate::pps(1e6 / 106.0).unwrap();
        let lost = |pps: f64, millis| {
            let (load, duration) = (Rate::pps(pps).unwrap(), Duration::from_millis(millis));
            let offer = Offer { packets: load.packets_in(duration), load, duration, constant: true };
            BUCKET.lost(capacity, &offer, &mut seed::generator(1))
        };
        assert_eq!((lost(9603.0, 1000), lost(9610.0, 1000)), (0, 7));
        assert_eq!(lost(10_000.0, 200), 0, "the bucket is full when a trial begins");
        let truth = |millis| BUCKET.truth(capacity, Ratio::ZERO, Duration::from_millis(millis), 0.5).unwrap();
        assert!((truth(1000).as_pps() - 1_018_000.0 / 106.0).abs() < 0.1);
        assert!((truth(200).as_pps() - 1_090_000.0 / 106.0).abs() < 0.1);
    }
}
