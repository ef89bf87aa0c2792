//! Crossed pairs of trials: at the lower load, or the same, more was lost, and by more than chance has it.
//!
//! More load never loses less. So in such a pair one trial was worse by chance, or found a slower target. The loads of a search
//! are chosen from what its trials showed: where they fall, only the later trial of a pair can be the worse one, and counting
//! pairs says nothing. But where trials are worse by chance alone, those that were made soon after one another cross as
//! often as those that are far apart; where the target changes, these cross, and those do not. How often chance has such an order is
//! counted over random exchanges of the trials' outcomes, their loads being as they were.
//!
//! A loss is compared with that of a trial as long, as a share and as a number: a packet lost each second is a larger share of a
//! lower load. Delays are compared of trials that lost packets and whose queue was full: idle targets need time to wake.

use dropline_trial::{Caveat, Trial, seed};
use rand::Rng as _;

/// Deviations by which more is lost than in the other trial.
const MORE: f64 = 4.0;
/// A trial that lost this share has a full queue.
const FULL: f64 = 0.01;
/// And its delay is so many times the shortest of the search.
const QUEUED: f64 = 5.0;
/// A delay is longer by this factor.
const LONGER: f64 = 1.1;
/// Random exchanges.
const ORDERS: u32 = 1999;
/// What is rarer than this among them is said to be of the target; three such tests are made at the end of a search.
const RARE: f64 = 0.0026;
/// Pairs that bear out a change that an algorithm sees, where none denies it.
const ONE_WAY: usize = 3;
/// Trials that are looked at, at even distances where there are more.
const MOST_TRIALS: usize = 120;

/// What became of each trial that counts, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crossed(Vec<Seen>);

#[derive(Clone, Copy, Debug)]
struct Seen {
    millipps: u64,
    nanos: u128,
    offered: f64,
    /// What the target lost at most, and at least.
    lost: f64,
    surely_lost: f64,
    median_ns: Option<f64>,
}

/// Places of the worse trial of a pair and of the better one.
type Pair = (usize, usize);

/// A trial that was worse, or better, in most of its pairs: its place, and which of both.
#[derive(Clone, Copy, Debug)]
struct Told {
    place: usize,
    is_slow: bool,
}

/// The place of a trial whose queue was full, its load, and the median of its delays.
type FullQueue = (usize, u64, f64);

impl Seen {
    /// Whether more was lost than in another trial, at no higher load.
    fn is_worse_than(&self, other: &Self) -> bool {
        if self.millipps > other.millipps || self.nanos != other.nanos {
            return false;
        }
        let both = self.surely_lost + other.lost;
        let share = self.offered / (self.offered + other.offered);
        let by_share = self.surely_lost - both * share > MORE * libm::sqrt(both * share * (1.0 - share));
        by_share && self.surely_lost - other.lost > MORE * libm::sqrt(both)
    }
}

impl Crossed {
    pub(crate) fn note(&mut self, trial: &Trial) {
        if trial.offered == 0 || trial.tells_nothing() {
            return;
        }
        let median = trial.delay.histogram.as_ref().and_then(|delays| delays.quantile(0.5));
        self.0.push(Seen {
            millipps: trial.input.load.as_millipps(),
            nanos: trial.input.duration.as_nanos(),
            offered: trial.offered as f64,
            lost: trial.lost() as f64,
            surely_lost: trial.lost_by_target() as f64,
            median_ns: median.map(|median| median as f64),
        });
    }

    /// Of an algorithm's doubts those that crossed pairs bear out.
    pub(crate) fn borne(&self, caveats: Vec<Caveat>) -> Vec<Caveat> {
        let (later, earlier) = self.later_and_earlier();
        let spells = self.spells();
        // What an algorithm takes for a change is one where all the pairs say the same.
        let is_one_way = later.max(earlier) >= ONE_WAY && later.min(earlier) == 0;
        let is_borne = |caveat: &Caveat| match caveat {
            Caveat::Drift { .. } | Caveat::DependentTrials { .. } => is_one_way,
            Caveat::WarmUp { .. } => earlier > later,
            Caveat::TwoStates { .. } => spells.is_some(),
            Caveat::Slowed { .. } => later > 0 && earlier == 0,
            _ => true,
        };
        caveats.into_iter().filter(is_borne).collect()
    }

    /// The doubt that the target became slower or faster.
    pub(crate) fn drift(&self) -> Option<Caveat> {
        self.drift_of_losses().or_else(|| self.drift_of_delays())
    }

    /// The doubt that trials find what the one before them found: slow ones and fast ones follow their like, and chance seldom
    /// makes so few runs of two kinds (Wald and Wolfowitz 1940).
    pub(crate) fn spells(&self) -> Option<Caveat> {
        let (told, _) = self.told();
        let of_slow = told.iter().filter(|one| one.is_slow).count();
        let of_fast = told.len() - of_slow;
        let changes = told.windows(2).filter(|pair| pair[0].is_slow != pair[1].is_slow).count();
        let by_chance = few_runs(of_fast, of_slow, changes + 1);
        // Were each as likely to be either kind whatever the last one was.
        let expected = 2.0 * of_fast as f64 * of_slow as f64 / told.len().max(1) as f64;
        let correlation = 1.0 - changes as f64 / expected;
        (by_chance < RARE).then_some(Caveat::DependentTrials { correlation, by_chance })
    }

    /// The trials, no more than so many.
    fn seen(&self) -> Vec<&Seen> {
        self.0.iter().step_by(self.0.len().div_ceil(MOST_TRIALS).max(1)).collect()
    }

    fn pairs(seen: &[&Seen]) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (place, one) in seen.iter().enumerate() {
            for (before, other) in seen[..place].iter().enumerate() {
                if one.is_worse_than(other) {
                    pairs.push((place, before));
                } else if other.is_worse_than(one) {
                    pairs.push((before, place));
                }
            }
        }
        pairs
    }

    /// Of all crossed pairs, in how many the worse trial is the later one, and in how many the earlier one.
    fn later_and_earlier(&self) -> (usize, usize) {
        let pairs = Self::pairs(&self.seen());
        let later = pairs.iter().filter(|(worse, better)| worse > better).count();
        (later, pairs.len() - later)
    }

    /// The trials of crossed pairs, and which of them is at no higher load than which other one as long, by their numbers.
    fn told(&self) -> (Vec<Told>, Vec<(usize, usize)>) {
        let seen = self.seen();
        let mut scores = vec![0; seen.len()];
        for (worse, better) in Self::pairs(&seen) {
            scores[worse] -= 1;
            scores[better] += 1;
        }
        let told = scores.iter().enumerate().filter(|(_, score)| **score != 0);
        let told: Vec<Told> = told.map(|(place, score)| Told { place, is_slow: *score < 0 }).collect();
        let below = |one: usize, other: usize| {
            let (one, other) = (seen[told[one].place], seen[told[other].place]);
            one.millipps <= other.millipps && one.nanos == other.nanos
        };
        let all = (0..told.len()).flat_map(|one| (0..told.len()).map(move |other| (one, other)));
        let ordered = all.filter(|&(one, other)| one != other && below(one, other)).collect();
        (told, ordered)
    }

    /// Whether trials cross the more the longer one is after the other.
    fn drift_of_losses(&self) -> Option<Caveat> {
        let (told, ordered) = self.told();
        let later: Vec<f64> =
            ordered.iter().map(|&(one, other)| told[one].place as f64 - told[other].place as f64).collect();
        let found = |slow: &[bool]| {
            let crosses = ordered.iter().map(|&(one, other)| f64::from(u8::from(slow[one] && !slow[other])));
            correlation(&crosses.collect::<Vec<f64>>(), &later)
        };
        // Outcomes of trials that are as long can be exchanged.
        let seen = self.seen();
        let mut lengths: Vec<u128> = told.iter().map(|one| seen[one.place].nanos).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let of =
            |nanos: &u128| (0..told.len()).filter(|one| seen[told[*one].place].nanos == *nanos).collect();
        let groups: Vec<Vec<usize>> = lengths.iter().map(of).collect();
        let mut slow: Vec<bool> = told.iter().map(|one| one.is_slow).collect();
        let correlation = found(&slow);
        let by_chance = rare(|chance| {
            groups.iter().for_each(|group| exchange(&mut slow, group, chance));
            found(&slow).abs() >= correlation.abs()
        })?;
        (correlation != 0.0).then_some(Caveat::Drift { correlation: -correlation, by_chance })
    }

    /// Whether full queues took longer and longer at no higher loads, or ever less at no lower ones.
    fn drift_of_delays(&self) -> Option<Caveat> {
        let seen = self.seen();
        let shortest = seen.iter().filter_map(|one| one.median_ns).fold(f64::INFINITY, f64::min);
        let is_full = |one: &&Seen| one.surely_lost >= FULL * one.offered;
        let full = seen.iter().enumerate().filter(|(_, one)| is_full(one));
        let full: Vec<FullQueue> = full
            .filter_map(|(place, one)| Some((place, one.millipps, one.median_ns?)))
            .filter(|(.., median)| *median >= QUEUED * shortest)
            .collect();
        let [slower, faster] = [Self::longer(&full, false), Self::longer(&full, true)];
        slower.or(faster)
    }

    /// Whether delays grew, or shrank where they are `turned` around, though the load did not.
    fn longer(full: &[FullQueue], turned: bool) -> Option<Caveat> {
        let pairs = (0..full.len()).flat_map(|later| (0..later).map(move |earlier| (earlier, later)));
        let turn =
            |(earlier, later): (usize, usize)| if turned { (later, earlier) } else { (earlier, later) };
        let pairs: Vec<(usize, usize)> =
            pairs.map(turn).filter(|&(short, long)| full[long].1 <= full[short].1).collect();
        let score = |delays: &[f64]| -> i64 {
            let longer = |one: usize, other: usize| i64::from(delays[one] > LONGER * delays[other]);
            pairs.iter().map(|&(short, long)| longer(long, short) - longer(short, long)).sum()
        };
        let mut delays: Vec<f64> = full.iter().map(|one| one.2).collect();
        let (all, found) = ((0..full.len()).collect::<Vec<usize>>(), score(&delays));
        if found <= 0 {
            return None;
        }
        let by_chance = rare(|chance| {
            exchange(&mut delays, &all, chance);
            score(&delays) >= found
        })?;
        let correlation = found as f64 / pairs.len() as f64;
        Some(Caveat::Drift { correlation: if turned { correlation } else { -correlation }, by_chance })
    }
}

/// How often chance is as strange, where that is seldom: most are told after a few exchanges.
fn rare(mut is_as_strange: impl FnMut(&mut rand_chacha::ChaCha8Rng) -> bool) -> Option<f64> {
    let too_many = (RARE * f64::from(ORDERS + 1)) as u32;
    let mut chance = seed::generator(u64::from(ORDERS));
    let mut as_strange = 0;
    for _ in 0..ORDERS {
        as_strange += u32::from(is_as_strange(&mut chance));
        if as_strange >= too_many {
            return None;
        }
    }
    Some(f64::from(as_strange + 1) / f64::from(ORDERS + 1))
}

/// Puts the values of these places into a random order.
fn exchange<T>(values: &mut [T], places: &[usize], chance: &mut rand_chacha::ChaCha8Rng) {
    for last in (1..places.len()).rev() {
        values.swap(places[last], places[chance.random_range(0..=last)]);
    }
}

/// Pearson's; 0 where one side does not vary.
pub(crate) fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let count = one.len().max(1) as f64;
    let (mean, other_mean) = (one.iter().sum::<f64>() / count, other.iter().sum::<f64>() / count);
    let (mut both, mut first, mut second) = (0.0, 0.0, 0.0);
    for (a, b) in one.iter().zip(other) {
        both += (a - mean) * (b - other_mean);
        first += (a - mean) * (a - mean);
        second += (b - other_mean) * (b - other_mean);
    }
    let scale = libm::sqrt(first * second);
    if scale > 1e-9 { both / scale } else { 0.0 }
}

/// P(no more than `most` runs) of so many of one kind and of another in random order; 1 where there is one kind.
fn few_runs(one: usize, other: usize, most: usize) -> f64 {
    if one == 0 || other == 0 {
        return 1.0;
    }
    let factorial = |of: usize| libm::lgamma(of as f64 + 1.0);
    let choose = |of: usize, number: usize| match number <= of {
        true => libm::exp(factorial(of) - factorial(number) - factorial(of - number)),
        false => 0.0,
    };
    let (all, one, other) = (choose(one + other, one), one - 1, other - 1);
    let ways = |runs: usize| match (runs / 2, runs % 2) {
        (half, 0) => 2.0 * choose(one, half - 1) * choose(other, half - 1),
        (half, _) => {
            choose(one, half) * choose(other, half - 1) + choose(one, half - 1) * choose(other, half)
        }
    };
    (2..=most).map(ways).sum::<f64>() / all
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_stats::Histogram;
    use dropline_trial::{Delay, Rate, TrialInput};
    use std::time::Duration;

    /// Trials of a second, or as long as is said: packets a second, what was lost of them, and the delay in ms.
    fn crossed(trials: &[(u64, u64, u64)], ms: impl Fn(usize) -> u64) -> Crossed {
        let mut crossed = Crossed::default();
        for (place, &(pps, lost, delay)) in trials.iter().enumerate() {
            let input = TrialInput {
                load: Rate::from_millipps(pps * 1000),
                duration: Duration::from_millis(ms(place)),
            };
            let mut delays = Histogram::new();
            if delay > 0 {
                delays.record_n(delay * 1_000_000, pps - lost);
            }
            let counts = Trial { offered: pps, forwarded: pps - lost, ..Trial::new(1, input, 7) };
            crossed.note(&Trial { delay: Delay::of(delays), ..counts });
        }
        crossed
    }

    fn drifts(crossed: &Crossed) -> Option<f64> {
        match crossed.drift() {
            Some(Caveat::Drift { correlation, by_chance }) => {
                assert!(by_chance < RARE);
                Some(correlation)
            }
            None => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_change_that_an_algorithm_sees_stands_where_three_pairs_say_so_and_none_denies_it() {
        let stands = |trials: &[(u64, u64, u64)]| {
            let doubt = Caveat::Drift { correlation: -0.9, by_chance: 0.001 };
            !crossed(trials, |_| 1000).borne(vec![doubt]).is_empty()
        };
        let good = [(10_000, 0, 0); 3];
        assert!(stands(&[&good[..], &[(9_000, 900, 0)]].concat()), "one slow trial after three good ones");
        assert!(!stands(&[&good[..2], &[(9_000, 900, 0)]].concat()), "two pairs");
        assert!(!stands(&[&good[..], &[(9_000, 1, 0)]].concat()), "a packet crosses nothing");
        assert!(!stands(&[&good[..], &[(9_000, 900, 0)], &good[..]].concat()), "later ones are good again");
    }

    #[test]
    fn a_target_of_which_later_trials_lose_more_at_lower_loads_became_slower() {
        let before = (0..10).map(|step| (10_000 - step, 100, 0));
        let later = (0..6).map(|step| (9_000 - step, 1_000, 0));
        let trials: Vec<_> = before.clone().chain(later.clone()).collect();
        assert!(drifts(&crossed(&trials, |_| 1000)).unwrap() < -0.5);
        let turned: Vec<_> = later.chain(before).collect();
        assert!(drifts(&crossed(&turned, |_| 1000)).unwrap() > 0.5);
    }

    #[test]
    fn single_packets_and_lower_losses_at_lower_loads_cross_nothing() {
        // A packet of a thousand, lost at the lowest load alone and only later; and what a capacity loses.
        let above = (0..10).map(|step| (20_000 - 1_000 * step, 5_000, 0));
        let trials: Vec<_> = above.chain((0..20).map(|_| (1_000, 1, 0))).collect();
        assert_eq!(crossed(&trials, |_| 1000).later_and_earlier(), (0, 0));
        // As many packets in each second are a larger share of a lower load.
        let of_a_timer: Vec<_> = (1..20).map(|step| (200_000 / step, 50, 0)).collect();
        assert_eq!(crossed(&of_a_timer, |_| 1000).later_and_earlier(), (0, 0));
    }

    #[test]
    fn trials_of_other_lengths_are_not_compared() {
        let short_first = |place: usize| if place < 10 { 200 } else { 1000 };
        let trials: Vec<_> = (0..20).map(|place| (10_000, if place < 10 { 0 } else { 900 }, 0)).collect();
        assert_eq!(crossed(&trials, short_first).later_and_earlier(), (0, 0));
        assert_eq!(crossed(&trials, |_| 1000).later_and_earlier(), (100, 0));
    }

    /// What was seen of a service time of 200 us that grew by a tenth each second, with a queue of 64.
    #[test]
    fn a_full_queue_that_takes_longer_at_lower_loads_is_that_of_a_slower_target() {
        let trials: Vec<_> = (0..9)
            .map(|step| (8_000 - 500 * step, (8_000 - 500 * step) / 10, 13 + 2 * step))
            .chain([(1_000, 0, 1)])
            .collect();
        assert!(drifts(&crossed(&trials, |_| 1000)).unwrap() < -0.8);
        // One that is idle takes longer to wake, and no queue of it is full.
        let idle: Vec<_> = (0..9).map(|step| (8_000 - 500 * step, 0, 1 + step)).collect();
        assert_eq!(drifts(&crossed(&idle, |_| 1000)), None);
    }

    #[test]
    fn few_runs_are_as_seldom_as_all_orders_say() {
        // All ways to put three of one kind and four of the other into a row.
        let orders = (0u32..128).filter(|order| order.count_ones() == 3);
        let runs: Vec<u32> = orders.map(|order| 1 + ((order ^ (order >> 1)) & 63).count_ones()).collect();
        for most in 1..=7 {
            let counted = runs.iter().filter(|runs| **runs <= most).count() as f64 / runs.len() as f64;
            assert!((few_runs(3, 4, most as usize) - counted).abs() < 1e-9, "{most}: {counted}");
        }
        assert_eq!(few_runs(0, 5, 1), 1.0);
    }

    #[test]
    fn slow_and_fast_trials_in_a_few_spells_depend_on_one_another() {
        let spells = |long: usize| {
            let lost = |place: usize| if (place / long).is_multiple_of(2) { 0 } else { 2_000 };
            let trials: Vec<_> = (0..30).map(|place| (10_000, lost(place), 0)).collect();
            crossed(&trials, |_| 1000).spells()
        };
        assert!(spells(6).is_some() && spells(15).is_some());
        assert_eq!(spells(2), None, "half of them are like the next");
    }

    /// Loads that fall, as those of a bisection may: only the later trial of a pair can be the worse one.
    #[test]
    fn bad_trials_at_loads_that_fall_are_no_target_that_became_slower() {
        let mut said = 0;
        for number in 0..200 {
            let mut chance = seed::generator(number);
            let trials: Vec<_> = (0..30)
                .map(|place| (20_000 - 300 * place, if chance.random_bool(0.3) { 2_000 } else { 0 }, 0))
                .collect();
            said += u32::from(drifts(&crossed(&trials, |_| 1000)).is_some());
        }
        assert!(said <= 4, "{said} of 200, and 1 or less is expected");
    }

    #[test]
    fn bad_trials_in_any_order_are_no_change() {
        let mut said = 0;
        for number in 0..200 {
            let mut chance = seed::generator(number);
            let trials: Vec<_> =
                (0..30).map(|_| (10_000, if chance.random_bool(0.3) { 2_000 } else { 0 }, 0)).collect();
            let found = crossed(&trials, |_| 1000);
            said += u32::from(found.drift().is_some() || found.spells().is_some());
        }
        assert!(said <= 4, "{said} of 200, and 1 or less is expected");
    }
}
