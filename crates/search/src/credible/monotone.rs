//! Where a goal's load may be, if more load is never better, and nothing else is taken for granted.
//!
//! Trials at a load fail with a probability that does not fall with the load, and crosses the goal's exceed ratio at the
//! truth. For each place of the truth, the likeliest such probabilities are an isotonic regression (Ayer and others
//! 1955), cut off at the exceed ratio on both sides of it; so each place has a likelihood without a model. A place is
//! possible as long as it is not much less likely than the likeliest one (Banerjee and Wellner 2001). How much less that
//! is grows with the logarithm of the number of trials: loads are chosen by what trials showed, and a search that goes on
//! until its ends look certain gives chance as many turns as it makes trials.

use super::constants::monotone::LESS_LIKELY;

/// Trials of one goal at one load (a logarithm): how many there were, and how many failed it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct At {
    log_load: f64,
    trials: f64,
    bad: f64,
}

/// Trials of one goal, by load.
#[derive(Clone, Debug)]
pub(super) struct Monotone {
    loads: Vec<At>,
}

/// What trials leave possible: logarithms of loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Possible {
    /// Between these every possible truth is; infinite where one may be beyond all trials.
    pub(super) ends: (f64, f64),
}

impl Possible {
    /// Ends anywhere: trials deny nothing.
    pub(super) const UNASKED: Self = Self { ends: (f64::INFINITY, f64::NEG_INFINITY) };
}

impl Monotone {
    /// Trials that met the goal, with how much of a whole one each was, and trials that failed it: by logarithms of loads.
    pub(super) fn of(met: impl Iterator<Item = (f64, f64)>, failed: impl Iterator<Item = f64>) -> Self {
        let met = met.map(|(log_load, trials)| At { log_load, trials, bad: 0.0 });
        let failed = failed.map(|log_load| At { log_load, trials: 1.0, bad: 1.0 });
        let mut loads: Vec<At> = met.chain(failed).collect();
        loads.sort_by(|one, other| one.log_load.total_cmp(&other.log_load));
        loads.dedup_by(|later, at| {
            let is_same = later.log_load == at.log_load;
            if is_same {
                (at.trials, at.bad) = (at.trials + later.trials, at.bad + later.bad);
            }
            is_same
        });
        Self { loads }
    }

    /// What is possible of the load at which a trial fails with the probability `exceed`.
    pub(super) fn possible(&self, exceed: f64) -> Possible {
        let below = likelihoods(self.loads.iter().copied(), exceed);
        let turned = self.loads.iter().rev().map(|at| At { bad: at.trials - at.bad, ..*at });
        let mut above = likelihoods(turned, 1.0 - exceed);
        above.reverse();
        let of_places: Vec<f64> = below.iter().zip(&above).map(|(below, above)| below + above).collect();
        let best = of_places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let trials: f64 = self.loads.iter().map(|at| at.trials).sum();
        let less_likely = LESS_LIKELY * libm::log(trials.max(1.0));
        let is_possible = |likelihood: &f64| *likelihood > best - less_likely;
        let first = of_places.iter().position(is_possible).unwrap_or(0);
        let last = of_places.iter().rposition(is_possible).unwrap_or(of_places.len());
        let load = |place: Option<usize>| Some(self.loads.get(place?)?.log_load);
        Possible {
            ends: (
                load(first.checked_sub(1)).unwrap_or(f64::NEG_INFINITY),
                load(Some(last)).unwrap_or(f64::INFINITY),
            ),
        }
    }
}

/// Loads in a row with the same probability of a failure.
#[derive(Clone, Copy)]
struct Block {
    trials: f64,
    bad: f64,
    /// Logarithm of the likelihood of all blocks before it.
    before: f64,
}

impl Block {
    /// Whether its share of failures is not below that of the next one.
    fn is_above(&self, next: &Self) -> bool {
        self.bad * next.trials >= next.bad * self.trials
    }

    fn with(self, next: &Self) -> Self {
        Self { trials: self.trials + next.trials, bad: self.bad + next.bad, ..self }
    }

    /// Logarithm of its likelihood where failures have at most the probability `most`.
    fn likelihood(&self, most: f64) -> f64 {
        let probability = (self.bad / self.trials).min(most);
        let of = |count: f64, each: f64| if count > 0.0 { count * libm::log(each) } else { 0.0 };
        of(self.bad, probability) + of(self.trials - self.bad, 1.0 - probability)
    }
}

/// Logarithms of the likelihood of the first 0, 1, … loads, where failures are never less probable at the next one
/// and have at most the probability `most`.
fn likelihoods(loads: impl Iterator<Item = At>, most: f64) -> Vec<f64> {
    let (mut blocks, mut all): (Vec<Block>, Vec<f64>) = (Vec::new(), vec![0.0]);
    for At { trials, bad, .. } in loads {
        let mut last = Block { trials, bad, before: all[all.len() - 1] };
        while let Some(block) = blocks.pop_if(|block| block.is_above(&last)) {
            last = block.with(&last);
        }
        all.push(last.before + last.likelihood(most));
        blocks.push(last);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All probabilities of a grid, tried out.
    fn likelihoods_by_trying(loads: &[At], most: f64) -> f64 {
        const STEPS: usize = 60;
        let grid = |step: usize| most * step as f64 / STEPS as f64;
        let mut best = [0.0; STEPS + 1];
        for at in loads {
            let mut so_far = f64::NEG_INFINITY;
            for (step, best) in best.iter_mut().enumerate() {
                so_far = f64::max(so_far, *best);
                let p = grid(step).clamp(1e-12, 1.0 - 1e-12);
                *best = so_far + at.bad * p.ln() + (at.trials - at.bad) * (1.0 - p).ln();
            }
        }
        best.into_iter().fold(f64::NEG_INFINITY, f64::max)
    }

    #[test]
    fn likelihoods_are_the_best_of_all_that_never_fall() {
        let mut chance = 7u64;
        let mut drawn = |end: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (chance >> 33) % end
        };
        for _ in 0..200 {
            let loads: Vec<At> = (0..8)
                .map(|load| {
                    let trials = 1 + drawn(4);
                    At { log_load: load as f64, trials: trials as f64, bad: drawn(trials + 1) as f64 }
                })
                .collect();
            for most in [0.5, 0.2, 0.9] {
                let fast = likelihoods(loads.iter().copied(), most);
                for count in 0..=loads.len() {
                    let slow = likelihoods_by_trying(&loads[..count], most);
                    assert!((fast[count] - slow).abs() < 0.02, "{loads:?} {most}: {fast:?} {slow}");
                }
            }
        }
    }

    fn of(met: &[f64], failed: &[f64]) -> Possible {
        let met = met.iter().map(|load| (*load, 1.0));
        Monotone::of(met, failed.iter().copied()).possible(0.5)
    }

    #[test]
    fn one_trial_at_an_end_is_too_few() {
        let nothing = of(&[], &[]);
        assert_eq!(nothing.ends, (f64::NEG_INFINITY, f64::INFINITY));
        let step = of(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]);
        assert_eq!(step.ends, (3.0, 6.0), "two beyond it deny a place");
    }

    #[test]
    fn what_failed_far_below_is_outweighed_by_what_met_the_goal_between() {
        let good = [4.0, 4.1, 4.2, 4.3, 4.4, 4.5];
        let bad = [1.0, 5.0, 5.1, 5.2, 5.3];
        assert_eq!(of(&good[..4], &bad).ends.0, f64::NEG_INFINITY, "it may be the rule below 4");
        assert_eq!(of(&good, &bad).ends.0, 4.3);
        // And two failures there need more.
        assert_eq!(of(&good, &[1.0, 1.1, 5.0, 5.1, 5.2, 5.3]).ends.0, f64::NEG_INFINITY);
    }

    #[test]
    fn more_trials_need_more_to_deny_a_place() {
        let steps = |count: usize| {
            let met: Vec<f64> = (0..count).map(|index| -(index as f64)).collect();
            let failed: Vec<f64> = (0..count).map(|index| 1.0 + index as f64).collect();
            of(&met, &failed).ends
        };
        assert_eq!([steps(4), steps(20), steps(100)], [(-1.0, 2.0), (-3.0, 4.0), (-4.0, 5.0)]);
    }

    #[test]
    fn parts_of_trials_count_as_parts() {
        let short = |count: usize| {
            let met = (0..count).map(|index| (1.0 + index as f64 / 100.0, 0.2));
            Monotone::of(met, [2.0, 2.1, 2.2, 2.3].into_iter()).possible(0.5).ends.0
        };
        assert_eq!((short(7), short(8)), (f64::NEG_INFINITY, 1.0));
    }
}
