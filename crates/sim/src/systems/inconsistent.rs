//! A system that varies from trial to trial, stalls now and then, and slows down in overload.

use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio, seed};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Exp1, Poisson, StandardNormal};
use std::time::Duration;

/// Stands for a test suite whose rate is another one in each run: vhost-user and a virtual machine in FD.io CSIT
/// measurements of 2018.
#[derive(Debug)]
pub(super) struct Inconsistent;

pub(super) const INCONSISTENT: Inconsistent = Inconsistent;

/// Standard deviation of the logarithm of a trial's limit.
const SCATTER: f64 = 0.015;
/// Stalls a second.
const STALLS: f64 = 0.025;
/// Mean length of a stall in seconds.
const STALL_SECONDS: f64 = 0.02;
/// A stall lowers the limit by up to this share.
const STALL_DEPTH: f64 = 0.15;
/// Share of the limit that deep overload costs.
const DROOP: f64 = 0.08;
/// Overload, as a multiple of the limit, at which the droop is complete.
const DROOP_COMPLETE: f64 = 6.0;
/// Trials from which a truth with loss is taken.
const TRUTH_TRIALS: u32 = 20_000;

/// One trial's state: its limit as a multiple of the capacity, and its stalls.
struct State {
    limit: f64,
    /// Length in seconds, and what is left of the limit.
    stalls: Vec<(f64, f64)>,
}

impl State {
    fn draw(z: f64, seconds: f64, chance: &mut ChaCha8Rng) -> Self {
        let count = Poisson::new(STALLS * seconds).map_or(0.0, |stalls| stalls.sample(chance)) as u64;
        let stalls = (0..count).map(|_| {
            let length: f64 = Exp1.sample(chance);
            (length * STALL_SECONDS, 1.0 - STALL_DEPTH * chance.random::<f64>())
        });
        Self { limit: libm::exp(SCATTER * z), stalls: stalls.collect() }
    }

    /// Share of a trial of `seconds` at a multiple of the capacity that is lost.
    fn loss_ratio(&self, multiple: f64, seconds: f64) -> f64 {
        let stalled: f64 = self.stalls.iter().map(|(length, _)| length).sum();
        let shrink = if stalled > seconds { seconds / stalled } else { 1.0 };
        let in_stalls: f64 = self
            .stalls
            .iter()
            .map(|(length, left)| length * shrink * excess(multiple, self.limit * left))
            .sum();
        let between = (seconds - stalled * shrink) * excess(multiple, self.limit);
        (in_stalls + between) / (seconds * multiple)
    }
}

/// What is lost of a load, both as multiples of the capacity, by a limit that droops in overload.
fn excess(load: f64, limit: f64) -> f64 {
    if load <= limit {
        return 0.0;
    }
    let overload = (load - limit) / (DROOP_COMPLETE * limit);
    load - limit * (1.0 - DROOP * overload.min(1.0))
}

/// Probability that a trial of `seconds` at a multiple of the capacity loses anything.
///
/// It loses nothing when its limit is above the load, and no stall brings it below: an integral over the
/// limit's scatter.
fn loses_anything(multiple: f64, seconds: f64) -> f64 {
    const STEPS: u32 = 1000;
    const FAR: f64 = 9.0;
    let start = (libm::log(multiple) / SCATTER).max(-FAR);
    let step = (FAR - start).max(0.0) / f64::from(STEPS);
    let unharmed: f64 = (0..STEPS)
        .map(|index| {
            let z = start + (f64::from(index) + 0.5) * step;
            let room = 1.0 - multiple / libm::exp(SCATTER * z);
            let deep_enough = (1.0 - room / STALL_DEPTH).clamp(0.0, 1.0);
            libm::exp(-0.5 * z * z - STALLS * seconds * deep_enough) * step
        })
        .sum();
    1.0 - unharmed / libm::sqrt(2.0 * std::f64::consts::PI)
}

impl Behaviour for Inconsistent {
    fn name_and_about(&self) -> [&'static str; 2] {
        ["inconsistent", "a limit that scatters by 1.5 %, stalls and droops in overload (a virtual machine)"]
    }

    fn nominal_capacity(&self) -> Rate {
        Rate::from_millipps(1_920_000_000)
    }

    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let seconds = offer.duration.as_secs_f64();
        let z = StandardNormal.sample(chance);
        let state = State::draw(z, seconds, chance);
        let pps = offer.pps();
        libm::ceil(state.loss_ratio(pps / capacity.as_pps(), seconds) * pps * seconds) as u64
    }

    /// Zero loss: an integral. Otherwise the load that each of many fixed trials just bears, sorted; their
    /// limits are spread evenly over the scatter, so only the stalls are chance.
    fn truth(&self, capacity: Rate, loss_ratio: Ratio, duration: Duration, probability: f64) -> Option<Rate> {
        let seconds = duration.as_secs_f64();
        let most = 4.0 / (1.0 - loss_ratio.as_f64());
        if loss_ratio == Ratio::ZERO {
            return tails::highest_load(capacity, most, probability, |load| loses_anything(load, seconds));
        }
        let mut chance = seed::generator(0);
        let mut bearable: Vec<f64> = (0..TRUTH_TRIALS)
            .map(|index| {
                let z = tails::normal_quantile((f64::from(index) + 0.5) / f64::from(TRUTH_TRIALS));
                let state = State::draw(z, seconds, &mut chance);
                tails::highest(most, 0.5, |load| {
                    f64::from(u8::from(state.loss_ratio(load, seconds) > loss_ratio.as_f64()))
                })
            })
            .collect();
        bearable.sort_by(f64::total_cmp);
        let rank = libm::floor(probability * f64::from(TRUTH_TRIALS)) as usize;
        Rate::pps(bearable[rank.min(bearable.len() - 1)] * capacity.as_pps()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overload_costs_up_to_eight_per_cent_of_the_limit() {
        assert_eq!(excess(0.9, 1.0), 0.0);
        assert!((excess(4.0, 1.0) - 3.04).abs() < 1e-12, "half the way to complete droop");
        assert!((excess(7.0, 1.0) - 6.08).abs() < 1e-12);
        assert!((excess(70.0, 1.0) - 69.08).abs() < 1e-12);
    }

    #[test]
    fn a_stall_loses_packets_only_while_it_lasts() {
        let state = State { limit: 1.0, stalls: vec![(0.02, 0.9)] };
        assert_eq!(state.loss_ratio(0.9, 1.0), 0.0);
        let droop = 0.9 * DROOP * (0.1 / (6.0 * 0.9));
        assert!((state.loss_ratio(1.0, 1.0) - 0.02 * (0.1 + droop)).abs() < 1e-12);
        assert!((state.loss_ratio(1.0, 0.001) - (0.1 + droop)).abs() < 1e-12, "longer than the trial");
    }
}
