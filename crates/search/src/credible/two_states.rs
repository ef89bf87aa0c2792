//! Two states: capacities that fall into two groups far apart, and each after its like.
//!
//! A trial with losses shows its own capacity, one without that its capacity is above its load. Where many trials
//! are slow, half of all may be or not, and the middle of what is believed lies where no trial was.

use super::constants::ends::TELLS;
use super::constants::two_states::{APART, FAR, GROUP, RARE, SHARE};
use super::model::Evidence;
use super::random_orders::strange;

/// Whether trials fall into a slow and a fast group. Looks at trials in order, and at what others, by their numbers, let through far
/// above the knee: no less than that was their capacity, and how much more is not known.
pub(super) fn are_two(seen: &[Evidence], far: &[(usize, f64)]) -> bool {
    let shows = |one: &&Evidence| one.loss_ratio() >= TELLS.start;
    let mut shown: Vec<f64> = seen.iter().filter(shows).map(Evidence::log_forwarded).collect();
    shown.sort_by(f64::total_cmp);
    let Some(split) = (GROUP..=shown.len()).find(|&split| is_apart(&shown, split)) else { return false };
    let slow_end = shown[split - 1];
    let between = slow_end + FAR.max(APART * (slow_end - shown[0]));
    // Whether a trial was slow: 1, or 0; none of what lost nothing where a slow one would not have either.
    let state = |one: &Evidence| {
        let through = one.log_forwarded();
        match one.loss_ratio() >= TELLS.start {
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
    let both = states.len() as f64 - slow >= GROUP as f64 && slow / states.len() as f64 >= SHARE;
    both && strange(&states, |order| -changes(order), false, RARE).is_some()
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

    fn are_two_of(of: &[(f64, f64)]) -> bool {
        are_two(&trials(of), &[])
    }

    #[test]
    fn two_groups_far_apart_in_blocks_are_two_states() {
        let mut chance = seed::generator(3);
        let mut near = |capacity: f64| (1.02, capacity + 0.002 * chance.random::<f64>());
        let slow: Vec<(f64, f64)> = (0..6).map(|_| near(0.94)).collect();
        let fast: Vec<(f64, f64)> = (0..4).map(|_| near(1.0)).collect();
        assert!(are_two_of(&[slow.clone(), fast.clone()].concat()));
        // What lost nothing far above the slow ones was fast too; what lost nothing below them cannot tell.
        let clean = [vec![(0.97, 1.0); 3], vec![(0.93, 1.0); 9]].concat();
        assert!(are_two_of(&[slow.clone(), clean].concat()));
        assert!(!are_two_of(&slow));
    }

    #[test]
    fn a_trial_far_above_the_knee_was_fast_or_says_nothing() {
        let (slow, fast) = (vec![(1.02, 0.94); 8], vec![(1.02, 1.0); 2]);
        // Numbered from 3 on: the far ones came before.
        let mut near = trials(&[fast, slow].concat());
        near.iter_mut().for_each(|one| one.number += 3);
        let found = |share: f64| are_two(&near, &[(1, libm::log(9e6 * share)), (2, libm::log(9e6 * 0.8))]);
        assert!(!found(0.9) && !found(0.94), "two are no group, and overload may droop");
        assert!(found(0.99));
    }

    #[test]
    fn a_capacity_that_scatters_or_dips_now_and_then_is_one_state() {
        let scattered: Vec<(f64, f64)> = (0..20).map(|step| (1.2, 0.9 + 0.01 * f64::from(step))).collect();
        assert!(!are_two_of(&scattered));
        let dips: Vec<(f64, f64)> =
            (0..24).map(|number| (1.02, if number % 6 == 5 { 0.8 } else { 1.0 })).collect();
        assert!(!are_two_of(&dips));
    }
}
