//! What is believed of the unknowns before the first trial.

use super::constants::prior::{
    BREAKS, FLOORS, LOG_CLUMP_MOST, LOG_FLOOR, LOG_FLOOR_MATTERS, LOG_SCATTER, LOG_SOFTNESS, LOG_STEEPNESS,
    LOG_TAU, LOGIT_DIPS, OFTEN, PARTIAL, RISE, SHOWN_FLOORS, STEEPNESS_SCALE, SUSPECTED,
};
use super::model::Unknowns;
use super::normal::Normal;

/// Logarithm of the prior density; minus infinity where something cannot be.
pub(super) fn log_prior(unknowns: &Unknowns) -> f64 {
    let [_, softness, scatter, dips, clump, tau, steepness, log_floor, rise] = *unknowns;
    let within = |value: f64, (least, most): (f64, f64)| least <= value && value <= most;
    if !(within(softness, LOG_SOFTNESS)
        && within(scatter, LOG_SCATTER)
        && within(dips, LOGIT_DIPS)
        && within(clump, (0.0, LOG_CLUMP_MOST))
        && within(tau, LOG_TAU)
        && within(steepness, LOG_STEEPNESS)
        && within(log_floor, LOG_FLOOR)
        && within(rise, RISE))
    {
        return f64::NEG_INFINITY;
    }
    let log_dips = libm::log(dips_density(dips));
    let log_clump = libm::log(0.7 / 0.08 * libm::exp(-clump / 0.08) + 0.3 / 1.5 * libm::exp(-clump / 1.5));
    let log_tau = libm::log(LOG_TAU.1 - tau + 1e-12);
    let log_floor = libm::log(floor_density(log_floor));
    log_dips + log_clump + log_tau + libm::log(steepness_density(steepness, BREAKS)) + log_floor
}

/// Of the logit of how often a trial dips: Beta(0.5, 8) for most systems, anything for some.
fn dips_density(logit: f64) -> f64 {
    let (log_often, log_seldom) = (-libm::log1p(libm::exp(-logit)), -libm::log1p(libm::exp(logit)));
    let seldom = libm::exp(0.5 * log_often + 8.0 * log_seldom) / BETA_HALF_8;
    (1.0 - OFTEN) * seldom + OFTEN * libm::exp(log_often + log_seldom)
}

/// The beta function of 0.5 and 8.
const BETA_HALF_8: f64 = 0.636_519;

fn floor_density(log_floor: f64) -> f64 {
    if log_floor < LOG_FLOOR_MATTERS {
        (1.0 - FLOORS) / (LOG_FLOOR_MATTERS - LOG_FLOOR.0)
    } else {
        FLOORS / (LOG_FLOOR.1 - LOG_FLOOR_MATTERS)
    }
}

/// A loss that may be a floor: its logarithm, and how far off that may be.
pub(super) type ShownFloor = (f64, f64);

/// Where floors are drawn from: from the prior, or near a loss that was seen.
fn drawn_floor_density(log_floor: f64, shown: &[ShownFloor]) -> f64 {
    if shown.is_empty() {
        return floor_density(log_floor);
    }
    let bell = |&(middle, deviation): &ShownFloor| {
        let z = (log_floor - middle) / deviation;
        libm::exp(-0.5 * z * z) / (deviation * libm::sqrt(2.0 * std::f64::consts::PI))
    };
    let near = shown.iter().map(bell).sum::<f64>() / shown.len() as f64;
    (1.0 - SHOWN_FLOORS) * floor_density(log_floor) + SHOWN_FLOORS * near
}

/// Of ln b, where forwarding breaks down with a probability, and with another only a part of the excess is lost.
fn steepness_density(steepness: f64, breaks: f64) -> f64 {
    let droops = 0.5 / STEEPNESS_SCALE * libm::exp(-steepness.abs() / STEEPNESS_SCALE);
    let broken = if steepness > 0.0 { 1.0 / LOG_STEEPNESS.1 } else { 0.0 };
    let partial = if steepness < 0.0 { -1.0 / LOG_STEEPNESS.0 } else { 0.0 };
    (1.0 - breaks - PARTIAL) * droops + breaks * broken + PARTIAL * partial
}

/// Unknowns from the prior, but for θ, which is 0, with the weight of this draw; `chance` gives numbers in [0, 1).
///
/// More of those that break down are drawn where that is `suspected`; each weighs less then.
/// `floors` are losses near which a floor may be.
pub(super) fn draw(
    mut chance: impl FnMut() -> f64,
    suspected: bool,
    floors: &[ShownFloor],
) -> (Unknowns, f64) {
    let share = if suspected { SUSPECTED } else { BREAKS };
    let mut uniform = |(least, most): (f64, f64)| least + (most - least) * chance();
    let softness = uniform(LOG_SOFTNESS);
    let scatter = uniform(LOG_SCATTER);
    // Beta(0.5, 8) from Gamma(0.5), half a squared normal, and Gamma(8), eight exponentials.
    let angle = libm::cos(2.0 * std::f64::consts::PI * uniform((0.0, 1.0)));
    let half = -libm::log(1.0 - uniform((0.0, 1.0))) * angle * angle;
    let eight: f64 = (0..8).map(|_| -libm::log(1.0 - uniform((0.0, 1.0)))).sum();
    let anything = uniform((1e-7, 1.0));
    let odds = if uniform((0.0, 1.0)) < OFTEN { anything / (1.0 - anything) } else { half / eight.max(1e-9) };
    let dips = libm::log(odds.max(1e-7)).clamp(LOGIT_DIPS.0, LOGIT_DIPS.1);
    let clump = -libm::log(1.0 - uniform((0.0, 1.0)));
    let clump = clump * if uniform((0.0, 1.0)) < 0.7 { 0.08 } else { 1.5 };
    let tau = LOG_TAU.1 - (LOG_TAU.1 - LOG_TAU.0) * libm::sqrt(uniform((0.0, 1.0)));
    let sign = if uniform((0.0, 1.0)) < 0.5 { -1.0 } else { 1.0 };
    let droops = -sign * STEEPNESS_SCALE * libm::log(1.0 - uniform((0.0, 1.0)));
    let which_steepness = uniform((0.0, 1.0));
    let steepness = match which_steepness {
        which if which < share => uniform((0.0, LOG_STEEPNESS.1)),
        which if which < share + PARTIAL => uniform((LOG_STEEPNESS.0, 0.0)),
        _ => droops,
    };
    let steepness = steepness.clamp(LOG_STEEPNESS.0, LOG_STEEPNESS.1);
    let (which, place) = (uniform((0.0, 1.0)), uniform((1e-9, 1.0)));
    let log_floor = if !floors.is_empty() && which < SHOWN_FLOORS {
        let (middle, deviation) = floors[(which / SHOWN_FLOORS * floors.len() as f64) as usize];
        (middle + deviation * Normal::tables().quantile(place)).clamp(LOG_FLOOR.0, LOG_FLOOR.1)
    } else if uniform((0.0, 1.0)) < FLOORS {
        uniform((LOG_FLOOR_MATTERS, LOG_FLOOR.1))
    } else {
        uniform((LOG_FLOOR.0, LOG_FLOOR_MATTERS))
    };
    let rise = uniform(RISE);
    let (clump, tau) = (clump.min(LOG_CLUMP_MOST), tau.clamp(LOG_TAU.0, LOG_TAU.1));
    let unknowns = [0.0, softness, scatter, dips, clump, tau, steepness, log_floor, rise];
    let weight = steepness_density(steepness, BREAKS) / steepness_density(steepness, share)
        * floor_density(log_floor)
        / drawn_floor_density(log_floor, floors);
    (unknowns, weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::seed;
    use rand::Rng as _;

    #[test]
    fn those_that_break_down_weigh_what_their_prior_says_however_many_are_drawn() {
        for suspected in [false, true] {
            let mut chance = seed::generator(1);
            let draws: Vec<(f64, f64)> = (0..20_000)
                .map(|_| draw(|| chance.random::<f64>(), suspected, &[]))
                .map(|(unknowns, weight)| (unknowns[6], weight))
                .collect();
            let all: f64 = draws.iter().map(|(_, weight)| weight).sum();
            let steep: Vec<&(f64, f64)> = draws.iter().filter(|(steepness, _)| *steepness > 3.0).collect();
            let weight = steep.iter().map(|(_, weight)| weight).sum::<f64>() / all;
            assert!((weight - BREAKS / 2.0).abs() < 0.003, "{suspected}: {weight}");
            assert_eq!(steep.len() > 3000, suspected, "{}", steep.len());
        }
    }

    /// The share of draws beyond a value is the integral of the density beyond it.
    #[test]
    fn what_is_drawn_has_the_density_that_it_is_weighed_by() {
        const DRAWS: usize = 40_000;
        const STEPS: u32 = 20_000;
        let mut chance = seed::generator(3);
        let draws: Vec<Unknowns> =
            (0..DRAWS).map(|_| draw(|| chance.random::<f64>(), false, &[]).0).collect();
        let integral = |density: &dyn Fn(f64) -> f64, from: f64, to: f64| -> f64 {
            let step = (to - from) / f64::from(STEPS);
            (0..STEPS).map(|index| density(from + (f64::from(index) + 0.5) * step) * step).sum()
        };
        let of_steepness = |value| steepness_density(value, BREAKS);
        for (name, unknown, density, from, to) in [
            ("dips in half of the trials", 3, &dips_density as &dyn Fn(f64) -> f64, 0.0, LOGIT_DIPS.1),
            ("dips in a tenth to a half", 3, &dips_density, -2.2, 0.0),
            ("a tenth of the excess", 6, &of_steepness, LOG_STEEPNESS.0, -2.3),
            ("about all of it", 6, &of_steepness, -0.2, 0.2),
        ] {
            let drawn = draws.iter().filter(|one| (from..to).contains(&one[unknown])).count() as f64;
            let (drawn, expected) = (drawn / DRAWS as f64, integral(density, from, to));
            let error = (expected * (1.0 - expected) / DRAWS as f64).sqrt();
            assert!((drawn - expected).abs() < 4.0 * error + 2e-4, "{name}: {drawn} and {expected}");
        }
    }
}
