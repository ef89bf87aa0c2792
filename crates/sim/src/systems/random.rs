//! A family of systems: each capacity has a make of its own.

use super::smooth::softplus_loss;
use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio, seed};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution as _, Gamma, Poisson, StandardNormal};
use std::time::Duration;

/// What no other system has together: any softness, scatter, dips, clumps, over-dispersion and droop.
#[derive(Debug)]
pub(super) struct Random;

pub(super) const RANDOM: Random = Random;

/// Points that a truth is averaged over: limits, and factors of the loss.
const LIMITS: u32 = 201;
const FACTORS: u32 = 15;

/// How one of the family behaves.
#[derive(Clone, Copy, Debug)]
struct Make {
    /// How gently loss sets in, as a share of the limit.
    softness: f64,
    /// Standard deviation of the logarithm of the limit.
    scatter: f64,
    /// Share of the trials that run at `dip` of the limit.
    dips: f64,
    dip: f64,
    /// Mean packets of a clump.
    clump: f64,
    /// Standard deviation of the logarithm of what is lost besides the excess.
    factor: f64,
    /// How much of the limit is gone for each share of overload.
    droop: f64,
}

impl Make {
    /// The same for the same capacity.
    fn of(capacity: Rate) -> Self {
        let mut chance = seed::generator(capacity.as_millipps());
        let mut even = |from: f64, to: f64| from + (to - from) * chance.random::<f64>();
        let softness = libm::exp(even(libm::log(1e-4), libm::log(0.02)));
        let scatter = libm::exp(even(libm::log(1e-4), libm::log(0.03)));
        // Each complication in three systems of ten.
        let mut now_and_then = |from: f64, to: f64, otherwise: f64| {
            let value = even(from, to);
            if even(0.0, 1.0) < 0.3 { value } else { otherwise }
        };
        Self {
            softness,
            scatter,
            dips: now_and_then(0.02, 0.25, 0.0),
            dip: now_and_then(0.7, 0.95, 0.8),
            clump: libm::exp(now_and_then(0.0, libm::log(50.0), 0.0)),
            factor: now_and_then(0.1, 0.6, 0.0),
            droop: now_and_then(0.1, 0.8, 0.0),
        }
    }

    /// Mean loss ratio at a multiple of a trial's own limit, when what is lost besides the excess has a factor.
    fn loss(&self, multiple: f64, factor: f64) -> f64 {
        let excess = (1.0 - 1.0 / multiple).max(0.0);
        let besides = (softplus_loss(multiple, self.softness) - excess).max(0.0);
        (excess * (1.0 + self.droop) + besides * factor).clamp(0.0, 1.0)
    }

    fn factor(&self, z: f64) -> f64 {
        libm::exp(self.factor * z - 0.5 * self.factor * self.factor)
    }

    /// P(more than `allowed` are lost) when `mean` are in the mean: none where no clump is, else about normal.
    fn exceeds(&self, mean: f64, allowed: f64) -> f64 {
        if allowed == 0.0 {
            return 1.0 - libm::exp(-mean / self.clump);
        }
        let deviation = libm::sqrt(mean * (2.0 * self.clump - 1.0)).max(1e-9);
        tails::normal_below((mean - allowed - 0.5) / deviation)
    }
}

fn poisson(mean: f64, chance: &mut ChaCha8Rng) -> f64 {
    Poisson::new(mean).map_or(0.0, |count| count.sample(chance))
}

/// Normal quantiles in the middle of so many equal shares.
fn points(count: u32) -> Vec<f64> {
    (0..count).map(|index| tails::normal_quantile((f64::from(index) + 0.5) / f64::from(count))).collect()
}

impl Behaviour for Random {
    fn name_and_about(&self) -> [&'static str; 2] {
        ["random", "another make for each capacity: any softness, scatter, dips, clumps and droop"]
    }

    fn nominal_capacity(&self) -> Rate {
        Rate::from_millipps(5_000_000_000)
    }

    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let make = Make::of(capacity);
        let z: f64 = StandardNormal.sample(chance);
        let dip = if chance.random::<f64>() < make.dips { make.dip } else { 1.0 };
        let z_of_factor: f64 = StandardNormal.sample(chance);
        let multiple = offer.pps() / (capacity.as_pps() * libm::exp(make.scatter * z) * dip);
        let loss = make.loss(multiple, make.factor(z_of_factor));
        if make.clump == 1.0 {
            return Binomial::new(offer.packets, loss).expect("a probability").sample(chance);
        }
        let clumps = poisson(offer.packets as f64 * loss / make.clump, chance);
        // Geometric sizes of at least 1 sum up to their number and a negative binomial number.
        let further = Gamma::new(clumps, make.clump - 1.0).map_or(0.0, |mean| mean.sample(chance));
        (clumps + poisson(further, chance)) as u64
    }

    fn truth(&self, capacity: Rate, loss_ratio: Ratio, duration: Duration, probability: f64) -> Option<Rate> {
        let make = Make::of(capacity);
        let limits: Vec<f64> = points(LIMITS).iter().map(|z| libm::exp(make.scatter * z)).collect();
        let factors: Vec<f64> =
            points(if make.factor > 0.0 { FACTORS } else { 1 }).iter().map(|&z| make.factor(z)).collect();
        let exceeds = |multiple: f64| {
            let packets = capacity.as_pps() * multiple * duration.as_secs_f64();
            let allowed = libm::floor(packets * loss_ratio.as_f64());
            let at = |limit: f64| -> f64 {
                let chances = factors
                    .iter()
                    .map(|&factor| make.exceeds(packets * make.loss(multiple / limit, factor), allowed));
                chances.sum::<f64>() / factors.len() as f64
            };
            let upright: f64 = limits.iter().map(|&limit| at(limit)).sum();
            let dipped: f64 = match make.dips {
                0.0 => 0.0,
                _ => limits.iter().map(|&limit| at(limit * make.dip)).sum(),
            };
            ((1.0 - make.dips) * upright + make.dips * dipped) / limits.len() as f64
        };
        tails::highest_load(capacity, 4.0 / (1.0 - loss_ratio.as_f64()), probability, exceeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_the_truth_of_any_make_half_the_trials_are_bad() {
        const TRIALS: u64 = 1500;
        for number in 0..12 {
            let capacity = Rate::from_millipps(5_000_000_000 + 7_919_000 * number);
            for loss_ratio in [Ratio::ZERO, Ratio::new(0.005).unwrap()] {
                let second = Duration::from_secs(1);
                let load = RANDOM.truth(capacity, loss_ratio, second, 0.5).unwrap();
                let offer =
                    Offer { packets: load.packets_in(second), load, duration: second, constant: true };
                let bad = (0..TRIALS).filter(|&trial| {
                    let lost =
                        RANDOM.lost(capacity, &offer, &mut seed::generator(seed::of_trial(number, trial)));
                    loss_ratio.is_exceeded_by(lost, offer.packets)
                });
                let share = bad.count() as f64 / TRIALS as f64;
                assert!(
                    (share - 0.5).abs() < 0.06,
                    "{number}, {loss_ratio}: {share} {:?}",
                    Make::of(capacity)
                );
            }
        }
    }
}
