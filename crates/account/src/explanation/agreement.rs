//! Whether a replay loses the packets that were lost, or merely as many.

use super::backlog::Moment;
use crate::replay::SeenArrival;
use std::collections::BTreeMap;

/// So many standard errors are not a coincidence.
const SURE: f64 = 4.0;
/// Packets in a row whose losses are counted together: one by one, and in stretches.
const STRETCHES: [usize; 3] = [1, 16, 128];
/// Fewer stretches say nothing.
const FEWEST: usize = 8;
/// A lost packet found more waiting than a served one with this probability at least, where packets are lost because many wait.
const MORE_WAITED: f64 = 0.6;

/// Whether a replay agrees with a loss better than one that loses as many packets at random: it loses the same ones, or in the
/// same stretches of the trial, or the lost ones found more packets waiting than the others, as in a queue that is full. A
/// service that drops every tenth packet by itself agrees in none.
pub(super) fn is_more_than_the_count(measured: &[Moment], replayed: &[SeenArrival]) -> bool {
    let lost: Vec<bool> = measured.iter().map(|moment| moment.lost).collect();
    let in_replay: Vec<bool> = replayed.iter().map(|seen| seen.lost).collect();
    STRETCHES.into_iter().any(|length| are_alike(&lost, &in_replay, length)) || found_more_waiting(measured)
}

/// Whether both have their losses in the same stretches of `length` packets.
fn are_alike(one: &[bool], other: &[bool], length: usize) -> bool {
    let counts = |all: &[bool]| -> Vec<f64> {
        all.chunks_exact(length).map(|some| some.iter().filter(|lost| **lost).count() as f64).collect()
    };
    let (one, other) = (counts(one), counts(other));
    if one.len() != other.len() || one.len() < FEWEST {
        return false;
    }
    let n = one.len() as f64;
    let mean = |all: &[f64]| all.iter().sum::<f64>() / n;
    let (of_one, of_other) = (mean(&one), mean(&other));
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        one.iter().zip(&other).map(|(a, b)| of(a - of_one, b - of_other)).sum()
    };
    let spread = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    spread > 0.0 && sum(&|a, b| a * b) / spread * n.sqrt() > SURE
}

/// Whether lost packets found more waiting than those that were served (Mann and Whitney 1947).
pub(super) fn found_more_waiting(measured: &[Moment]) -> bool {
    let mut by_backlog: BTreeMap<u32, [f64; 2]> = BTreeMap::new();
    for moment in measured {
        by_backlog.entry(moment.backlog).or_default()[usize::from(moment.lost)] += 1.0;
    }
    let (mut below, mut wins, mut lost) = (0.0, 0.0, 0.0);
    for [served_here, lost_here] in by_backlog.values() {
        wins += lost_here * (below + served_here / 2.0);
        below += served_here;
        lost += lost_here;
    }
    let pairs = lost * below;
    if pairs == 0.0 {
        // All were lost, or none: nothing tells them apart.
        return false;
    }
    let share = wins / pairs;
    let error = ((lost + below + 1.0) / (12.0 * pairs)).sqrt();
    share >= MORE_WAITED && share - 0.5 > SURE * error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(backlogs: impl Iterator<Item = (u32, bool)>) -> Vec<Moment> {
        backlogs.enumerate().map(|(n, (backlog, lost))| Moment { at_ns: n as u64, backlog, lost }).collect()
    }

    fn seen(lost: impl Iterator<Item = bool>) -> Vec<SeenArrival> {
        lost.map(|lost| SeenArrival { backlog: 0, lost }).collect()
    }

    #[test]
    fn as_many_losses_elsewhere_are_no_agreement_and_the_same_ones_are() {
        let own = moments((0..4000u32).map(|n| (n * 7 % 11, n % 10 == 3)));
        let in_bursts = seen((0..4000).map(|n| n / 100 % 10 == 0));
        assert!(!is_more_than_the_count(&own, &in_bursts));
        assert!(is_more_than_the_count(&own, &seen((0..4000).map(|n| n % 10 == 3))));
        let bursts = moments((0..4000u32).map(|n| (3, n / 100 % 10 == 0 && n % 3 > 0)));
        assert!(is_more_than_the_count(&bursts, &in_bursts), "in the same stretches");
    }

    #[test]
    fn a_queue_that_is_always_full_is_known_from_what_waited_whichever_it_loses() {
        let full = moments((0..4000u32).map(|n| (63 + u32::from(n % 4 == 1), n % 4 == 1)));
        assert!(is_more_than_the_count(&full, &seen((0..4000).map(|n| n % 4 == 2))));
        let all = moments((0..4000u32).map(|n| (n % 5, true)));
        assert!(!is_more_than_the_count(&all, &seen((0..4000).map(|_| true))), "nothing tells them apart");
    }
}
