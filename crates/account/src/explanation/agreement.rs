//! Whether a replay loses the packets that were lost, or merely as many.

use super::backlog::Moment;
use crate::replay::SeenArrival;
use std::collections::BTreeMap;

/// So many standard errors are not a coincidence.
const SURE: f64 = 4.0;
/// Packets in a row whose losses are counted together: one by one, and in stretches.
const STRETCHES: [usize; 3] = [1, 16, 128];
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
    if one.len() != other.len() {
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

    /// Numbers that look like chance.
    fn chance(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    #[test]
    fn lost_packets_found_more_waiting_if_they_win_six_of_ten_pairs_and_chance_does_not_explain_it() {
        let by_pairs = |moments: &[Moment]| {
            let of = |is: bool| moments.iter().filter(move |moment| moment.lost == is);
            let (lost, served) = (of(true).count() as f64, of(false).count() as f64);
            let won = |lost: &Moment, served: &Moment| match lost.backlog.cmp(&served.backlog) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            };
            let wins: f64 = of(true).flat_map(|lost| of(false).map(move |served| won(lost, served))).sum();
            let error = ((lost + served + 1.0) / (12.0 * lost * served)).sqrt();
            let share = wins / (lost * served);
            share >= 0.6 && share > 0.5 + 4.0 * error
        };
        let mut said = [0, 0];
        for seed in 0..400u64 {
            let mut chance = chance(seed);
            let (count, more) = (20 + chance(300), chance(5));
            let found = moments((0..count).map(|_| {
                let lost = chance(3) == 0;
                (chance(4 + 2 * seed % 9) as u32 + if lost { more as u32 } else { 0 }, lost)
            }));
            if found.iter().any(|moment| moment.lost) {
                said[usize::from(by_pairs(&found))] += 1;
                assert_eq!(found_more_waiting(&found), by_pairs(&found), "{seed}");
            }
        }
        assert!(said.iter().all(|times| *times > 100), "{said:?}");
        // Exactly six of ten: one in five of the lost found one more than all others.
        let six = moments((0..2000u32).map(|n| (u32::from(n < 200), n < 1000)));
        assert!(found_more_waiting(&six));
        assert!(!found_more_waiting(&moments((0..2000u32).map(|n| (u32::from(n < 198), n < 1000)))));
    }

    #[test]
    fn losses_are_alike_if_their_correlation_is_four_standard_errors_of_chance() {
        let pearson = |pairs: &[(f64, f64)]| {
            let n = pairs.len() as f64;
            let sum = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
            let both = n * sum(|it| it.0 * it.1) - sum(|it| it.0) * sum(|it| it.1);
            let each = |of: f64, squares: f64| n * squares - of * of;
            let spread =
                each(sum(|it| it.0), sum(|it| it.0 * it.0)) * each(sum(|it| it.1), sum(|it| it.1 * it.1));
            both / spread.sqrt()
        };
        let mut said = [0, 0];
        for seed in 0..300u64 {
            let mut chance = chance(seed);
            let (length, noise) = ([1, 16][seed as usize % 2], 1 + chance(10));
            let one: Vec<bool> = (0..100 + chance(900)).map(|_| chance(5) == 0).collect();
            let other: Vec<bool> =
                one.iter().map(|lost| if chance(10) < noise { chance(5) == 0 } else { *lost }).collect();
            let sums = |all: &[bool]| -> Vec<f64> {
                (0..all.len() / length)
                    .map(|at| (0..length).filter(|n| all[at * length + n]).count() as f64)
                    .collect()
            };
            let pairs: Vec<(f64, f64)> = sums(&one).into_iter().zip(sums(&other)).collect();
            let is_sure = pearson(&pairs) * (pairs.len() as f64).sqrt() > 4.0;
            said[usize::from(is_sure)] += 1;
            assert_eq!(are_alike(&one, &other, length), is_sure, "{seed}");
        }
        assert!(said.iter().all(|times| *times > 50), "{said:?}");
    }

    #[test]
    fn seventeen_stretches_that_agree_wholly_are_enough_and_sixteen_or_others_in_number_are_not() {
        // Of n that agree wholly the correlation is one, which is sqrt(n) errors.
        let alike = |count: usize| {
            let one: Vec<bool> = (0..count).map(|n| n % 2 == 0).collect();
            are_alike(&one, &one, 1)
        };
        assert_eq!((alike(17), alike(16)), (true, false));
        let long: Vec<bool> = (0..100).map(|n| n % 2 == 0).collect();
        assert!(are_alike(&long, &long, 1) && !are_alike(&long, &long[..99], 1));
        assert!(!are_alike(&[false; 100], &[false; 100], 1), "what never changes agrees with nothing");
    }
}
