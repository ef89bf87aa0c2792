//! What trials alone make certain, whatever a model believes: bounds that rest on monotony and nothing else.
//!
//! If the truth were below a load L, trials at L and above would fail the goal at least as often as its exceed ratio
//! says. So somebody who bets, at fair odds for that, on success of such trials would not become rich: his wealth is
//! a nonnegative supermartingale, and it ever exceeds 1/α with probability α at most (Ville 1939; Shafer 2021), however
//! loads were chosen and whenever the search stopped. The same from above. What he bets on is what earlier trials lead
//! to expect.
//!
//! That refutes one load at a time. A bound is where every load beyond it is refuted, so that it is wrong only if the
//! truth itself is, which happens with probability α at most: the highest load refuted would be wrong oftener.

use super::constants::monotone_bounds::{NEAR, STAKE};
use std::cmp::Ordering;

/// Trials of one goal in order: logarithms of their loads, and whether they failed it.
#[derive(Clone, Debug, Default)]
pub(super) struct Bets {
    trials: Vec<Bet>,
}

#[derive(Clone, Copy, Debug)]
struct Bet {
    log_load: f64,
    is_bad: bool,
    /// What was bet on before it was made, where there was a reason.
    expected_bad: Option<bool>,
}

impl Bets {
    /// Learns from a trial.
    pub(super) fn note(&mut self, log_load: f64, is_bad: bool) {
        let good = self.trials.iter().filter(|one| !one.is_bad && one.log_load >= log_load).count();
        let bad = self.trials.iter().filter(|one| one.is_bad && one.log_load <= log_load).count();
        let expected_bad = match good == bad {
            true => self.nearest(log_load).map(|one| one.is_bad),
            false => Some(bad > good),
        };
        self.trials.push(Bet { log_load, is_bad, expected_bad });
    }

    fn nearest(&self, log_load: f64) -> Option<&Bet> {
        let distance = |one: &&Bet| (one.log_load - log_load).abs();
        let nearest = self.trials.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
        nearest.filter(|one| distance(one) < NEAR)
    }

    /// The highest load that the truth is not below, and the lowest that it is not above, each but for the probability
    /// `doubt`; infinite where nothing is certain. The truth is where trials fail with probability `exceed`.
    pub(super) fn certain(&self, exceed: f64, doubt: f64) -> (f64, f64) {
        let enough = -libm::log(doubt);
        let lower = self.farthest(false, 1.0 - exceed, enough, f64::total_cmp);
        let upper = self.farthest(true, exceed, enough, |load, end| end.total_cmp(load));
        (lower.unwrap_or(f64::NEG_INFINITY), upper.unwrap_or(f64::INFINITY))
    }

    /// How far ends are refuted one after the other, the outermost first, by bets on one outcome at them and inwards,
    /// which has at most the probability `chance` there.
    fn farthest(
        &self,
        bad: bool,
        chance: f64,
        enough: f64,
        inwards: impl Fn(&f64, &f64) -> Ordering,
    ) -> Option<f64> {
        let (won, lost) = (libm::log(STAKE / chance + 1.0 - STAKE), libm::log(1.0 - STAKE));
        let mut bets: Vec<&Bet> = self.trials.iter().filter(|one| one.expected_bad == Some(bad)).collect();
        bets.sort_by(|one, other| inwards(&one.log_load, &other.log_load));
        let gain = |one: &Bet| if one.is_bad == bad { won } else { lost };
        let mut wealth: f64 = bets.iter().map(|one| gain(one)).sum();
        let mut end = None;
        for at_one_load in bets.chunk_by(|one, other| one.log_load == other.log_load) {
            if wealth < enough {
                break;
            }
            end = Some(at_one_load[0].log_load);
            wealth -= at_one_load.iter().map(|one| gain(one)).sum::<f64>();
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::seed;
    use rand::Rng as _;

    #[test]
    fn eight_that_came_out_as_expected_make_an_end_certain_at_99_percent() {
        for (is_bad, certain) in [(false, (1.0, f64::INFINITY)), (true, (f64::NEG_INFINITY, 1.0))] {
            let mut bets = Bets::default();
            for step in 0..9 {
                assert_eq!(bets.certain(0.5, 0.01), (f64::NEG_INFINITY, f64::INFINITY), "{step}");
                bets.note(1.0, is_bad);
            }
            assert_eq!(bets.certain(0.5, 0.01), certain);
            assert_eq!(bets.certain(0.5, 0.001), (f64::NEG_INFINITY, f64::INFINITY));
            bets.note(1.0, !is_bad);
            assert_eq!(bets.certain(0.5, 0.01), (f64::NEG_INFINITY, f64::INFINITY), "that costs most of it");
        }
    }

    /// However trials are chosen: here where they failed as often as not, which is the worst for a bound.
    #[test]
    fn certain_bounds_are_wrong_no_oftener_than_they_say() {
        for exceed in [0.5, 0.1] {
            let mut wrong = 0;
            for number in 0..1000 {
                let mut chance = seed::generator(number);
                let mut bets = Bets::default();
                let mut load: f64 = chance.random_range(-3.0..3.0);
                for _ in 0..40 {
                    // P(bad) grows from 0 to 1, and is what was asked for at 0.
                    let bad =
                        exceed + if load > 0.0 { (1.0 - exceed) * 0.1 * load } else { exceed * 0.3 * load };
                    let is_bad = chance.random::<f64>() < bad.clamp(0.0, 1.0);
                    bets.note(load, is_bad);
                    load += if is_bad { -0.3 } else { 0.3 };
                    load = load.clamp(-3.0, 3.0);
                }
                let (lower, upper) = bets.certain(exceed, 0.02);
                wrong += u32::from(lower > 0.0) + u32::from(upper < 0.0);
            }
            assert!(wrong <= 40 + 12, "{exceed}: {wrong} of 1000, 40 are allowed by both ends");
        }
    }
}
