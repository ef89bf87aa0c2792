//! Two states: capacities that fall into two groups far apart, and each after its like.
//!
//! A trial with losses shows its own capacity, one without that its capacity is above its load. Where many trials
//! are slow, half of all may be or not, and the middle of what is believed lies where no trial was.

use super::constants::two_states::{APART, FAR, GROUP, RARE, SHARE, SHOWS};
use super::model::Evidence;
use super::random_orders::strange;
use dropline_trial::Caveat;

/// A slow and a fast group of trials; capacities are logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TwoStates {
    slowest: f64,
    fastest: f64,
    /// Share of slow ones among the trials that could tell.
    slow: f64,
}

impl TwoStates {
    /// Looks at trials in order, and at what others, by their numbers, let through far above the knee: no less than
    /// that was their capacity, and how much more is not known.
    pub(super) fn of(seen: &[Evidence], far: &[(usize, f64)]) -> Option<Self> {
        let shows = |one: &&Evidence| one.loss_ratio() >= SHOWS;
        let mut shown: Vec<f64> = seen.iter().filter(shows).map(Evidence::log_forwarded).collect();
        shown.sort_by(f64::total_cmp);
        let split = (GROUP..=shown.len()).find(|&split| is_apart(&shown, split))?;
        let (slowest, slow_end) = (shown[0], shown[split - 1]);
        let between = slow_end + FAR.max(APART * (slow_end - slowest));
        // Whether a trial was slow: 1, or 0; none of what lost nothing where a slow one would not have either.
        let state = |one: &Evidence| {
            let through = one.log_forwarded();
            match one.loss_ratio() >= SHOWS {
                true => Some(f64::from(u8::from(through <= slow_end))),
                false => (through > between).then_some(0.0),
            }
        };
        let near = seen.iter().filter_map(|one| Some((one.number, state(one)?)));
        let fast = far.iter().filter(|(_, through)| *through > between).map(|&(number, _)| (number, 0.0));
        let mut in_order: Vec<(usize, f64)> = near.chain(fast).collect();
        in_order.sort_by_key(|&(number, _)| number);
        let states: Vec<f64> = in_order.into_iter().map(|(_, state)| state).collect();
        let slow = states.iter().sum::<f64>();
        let share = slow / states.len() as f64;
        let both = states.len() as f64 - slow >= GROUP as f64 && share >= SHARE;
        let in_blocks = || strange(&states, |order| -changes(order), false, RARE).is_some();
        let fastest = seen.iter().map(Evidence::log_forwarded).fold(slow_end, f64::max);
        (both && in_blocks()).then_some(Self { slowest, fastest, slow: share })
    }

    pub(super) fn caveat(&self) -> Caveat {
        Caveat::TwoStates {
            slow_pps: libm::exp(self.slowest),
            fast_pps: libm::exp(self.fastest),
            slow: self.slow,
        }
    }
}

/// Whether the first so many capacities are one group, and the others, if any, another one far above.
fn is_apart(shown: &[f64], split: usize) -> bool {
    let (slow, fast) = shown.split_at(split);
    let wide = |group: &[f64]| group[group.len() - 1] - group[0];
    fast.is_empty() || fast[0] - slow[split - 1] > FAR.max(APART * wide(slow).max(wide(fast)))
}

/// How often the state changes from one trial to the next.
fn changes(states: &[f64]) -> f64 {
    states.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::seed;
    use rand::Rng as _;

    /// Trials at a load of which each has its own capacity, both as shares.
    fn trials(of: &[(f64, f64)]) -> Vec<Evidence> {
        let trial = |(number, &(load, capacity)): (usize, &(f64, f64))| Evidence {
            log_load: libm::log(9e6 * load),
            packets: 9e6 * load,
            lost: (9e6 * (load - capacity)).max(0.0),
            doubted: 0.0,
            number,
        };
        of.iter().enumerate().map(trial).collect()
    }

    fn states(of: &[(f64, f64)]) -> Option<TwoStates> {
        TwoStates::of(&trials(of), &[])
    }

    #[test]
    fn two_groups_far_apart_in_blocks_are_two_states() {
        let mut chance = seed::generator(3);
        let mut near = |capacity: f64| (1.02, capacity + 0.002 * chance.random::<f64>());
        let slow: Vec<(f64, f64)> = (0..6).map(|_| near(0.94)).collect();
        let fast: Vec<(f64, f64)> = (0..4).map(|_| near(1.0)).collect();
        let found = states(&[slow.clone(), fast.clone()].concat()).unwrap();
        assert!((found.slow - 0.6).abs() < 1e-9, "{found:?}");
        assert!((libm::exp(found.slowest) / 9e6 - 0.94).abs() < 0.003);
        assert!((libm::exp(found.fastest) / 9e6 - 1.0).abs() < 0.003);
        // What lost nothing far above the slow ones was fast too; what lost nothing below them cannot tell.
        let clean = [vec![(0.97, 1.0); 3], vec![(0.93, 1.0); 9]].concat();
        assert!((states(&[slow.clone(), clean].concat()).unwrap().slow - 6.0 / 9.0).abs() < 1e-9);
        assert_eq!(states(&slow), None);
    }

    #[test]
    fn a_trial_far_above_the_knee_was_fast_or_says_nothing() {
        let (slow, fast) = (vec![(1.02, 0.94); 8], vec![(1.02, 1.0); 2]);
        // Numbered from 3 on: the far ones came before.
        let mut near = trials(&[fast, slow].concat());
        near.iter_mut().for_each(|one| one.number += 3);
        let found =
            |share: f64| TwoStates::of(&near, &[(1, libm::log(9e6 * share)), (2, libm::log(9e6 * 0.8))]);
        assert_eq!((found(0.9), found(0.94)), (None, None), "two are no group, and overload may droop");
        assert!((found(0.99).unwrap().slow - 8.0 / 11.0).abs() < 1e-9);
    }

    #[test]
    fn a_capacity_that_scatters_or_dips_now_and_then_is_one_state() {
        let scattered: Vec<(f64, f64)> = (0..20).map(|step| (1.2, 0.9 + 0.01 * f64::from(step))).collect();
        assert_eq!(states(&scattered), None);
        let dips: Vec<(f64, f64)> =
            (0..24).map(|number| (1.02, if number % 6 == 5 { 0.8 } else { 1.0 })).collect();
        assert_eq!(states(&dips), None);
    }
}
