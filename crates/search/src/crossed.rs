//! Crossed pairs of trials: at the lower load, or the same, more was lost, and by more than chance has it.
//!
//! More load never loses less. So in such a pair one trial was worse by chance, or found a slower target. What that comes to
//! is a matter of the [order](crate::steadiness) of the trials that were slow and of those that were not.
//!
//! A loss is compared with that of a trial that took as long, or longer, as a share and as a number: a packet lost each second is
//! a larger share of a lower load, and what is lost at the start of each trial of a shorter one; a buffer is filled by long
//! trials. Delays are compared of trials that lost packets and whose queue was full: idle targets need time to wake.

use dropline_trial::{Rate, Trial};
use std::time::Duration;

/// Deviations by which more is lost than in the other trial.
const MORE: f64 = 4.0;
/// A trial that lost this share has a full queue.
const FULL: f64 = 0.01;
/// And its delay is so many times the shortest of the search.
const QUEUED: f64 = 5.0;
/// A delay is longer by this factor.
const LONGER: f64 = 1.1;
/// Slow trials that lost this share show what a slow target lets through.
const SHOWS: f64 = 0.002;
/// More than so many times that much came through of a trial that found no slow target.
const ABOVE: f64 = 1.02;
/// So many times as much comes through of the better trial of a pair that is far apart.
const FAR: f64 = 1.05;
/// A trial that lost less than this, and more than shows, has found a limit.
const BREAKS: f64 = 0.7;
/// Of those that lost more than shows, fewer than one in so many: the target breaks down above it.
const ONE_IN: usize = 10;
/// Trials that are looked at, at even distances where there are more.
const MOST_TRIALS: usize = 120;

/// What became of each trial that counts, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crossed {
    all: Vec<Seen>,
    /// Load of the last trial, counted here or not, and whether it lost packets.
    last: Option<(Rate, bool)>,
}

/// What was before a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Before {
    /// A trial that lost packets: what that left in a queue, this one found there.
    Loss,
    /// None, or one at a lower load that lost none.
    Rest,
    /// One at no lower load that lost none, and may have filled a queue.
    AsMuch,
}

/// A trial, as far as others can cross it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    /// Its number in the search.
    pub(crate) number: u64,
    /// When it began: the sum of what trials before it took.
    pub(crate) at: Duration,
    pub(crate) pps: f64,
    pub(crate) nanos: u128,
    pub(crate) offered: f64,
    /// What the target lost at most.
    pub(crate) lost: f64,
    surely_lost: f64,
    /// What came through, in packets a second.
    pub(crate) through_pps: f64,
    pub(crate) before: Before,
    median_ns: Option<f64>,
}

/// Places of the worse trial of a pair and of the better one.
pub(crate) type Pair = (usize, usize);

/// A trial of which it is known which target it found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) seen: Seen,
    pub(crate) is_slow: bool,
}

impl Seen {
    pub(crate) fn loss_ratio(&self) -> f64 {
        self.lost / self.offered
    }

    /// Whether more was lost than in another trial, at no higher load and in no more time; or whether packets waited longer in a
    /// full queue, which is `queued` from so many ns on.
    fn is_worse_than(&self, other: &Self, queued: f64) -> bool {
        if self.pps > other.pps || self.nanos > other.nanos {
            return false;
        }
        let both = self.surely_lost + other.lost;
        let share = self.offered / (self.offered + other.offered);
        let by_share = self.surely_lost - both * share > MORE * libm::sqrt(both * share * (1.0 - share));
        by_share && self.surely_lost - other.lost > MORE * libm::sqrt(both)
            || self.waited_longer(other, queued)
    }

    fn waited_longer(&self, other: &Self, queued: f64) -> bool {
        let full = |one: &Self| {
            one.median_ns.filter(|median| one.surely_lost >= FULL * one.offered && *median >= queued)
        };
        full(self).zip(full(other)).is_some_and(|(waited, less)| waited > LONGER * less)
    }
}

impl Crossed {
    /// Learns from a trial that began after so much time.
    pub(crate) fn note(&mut self, trial: &Trial, at: Duration) {
        let loses = trial.lost() as f64 > SHOWS * trial.offered as f64;
        let before = match self.last.replace((trial.input.load, loses)) {
            Some((_, true)) => Before::Loss,
            Some((load, false)) if load >= trial.input.load => Before::AsMuch,
            _ => Before::Rest,
        };
        if trial.offered == 0 || trial.tells_nothing() {
            return;
        }
        let median = trial.delay.histogram.as_ref().and_then(|delays| delays.quantile(0.5));
        let (offered, lost) = (trial.offered as f64, trial.lost() as f64);
        self.all.push(Seen {
            number: trial.number,
            at,
            pps: trial.input.load.as_pps(),
            nanos: trial.input.duration.as_nanos(),
            offered,
            lost,
            surely_lost: trial.lost_by_target() as f64,
            through_pps: trial.input.load.as_pps() * (1.0 - lost / offered),
            before,
            median_ns: median.map(|median| median as f64),
        });
    }

    /// The trials, no more than so many.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let step = self.all.len().div_ceil(MOST_TRIALS).max(1);
        // The last ones first: they tell what the target does now.
        let mut seen: Vec<Seen> = self.all.iter().rev().step_by(step).copied().collect();
        seen.reverse();
        seen
    }

    /// Those crossed pairs of which more than a twentieth more came through of the better one: targets whose trials scatter by a
    /// hundredth have hardly any, and a limit that moved by a tenth makes them.
    pub(crate) fn far_pairs(seen: &[Seen]) -> Vec<Pair> {
        let is_far = |(worse, better): &Pair| seen[*better].through_pps > FAR * seen[*worse].through_pps;
        Self::pairs(seen).into_iter().filter(is_far).collect()
    }

    /// All crossed pairs of these.
    pub(crate) fn pairs(seen: &[Seen]) -> Vec<Pair> {
        let shortest = seen.iter().filter_map(|one| one.median_ns).fold(f64::INFINITY, f64::min);
        let queued = QUEUED * shortest;
        let all = (0..seen.len()).flat_map(|one| (0..seen.len()).map(move |other| (one, other)));
        all.filter(|&(one, other)| one != other && seen[one].is_worse_than(&seen[other], queued)).collect()
    }

    /// The trials of crossed pairs, slow where they were the worse ones more often than not; and those that let more through than
    /// slow ones do, which the others show to be no matter of the load.
    pub(crate) fn told(seen: &[Seen]) -> Vec<Told> {
        Self::told_by(Self::pairs(seen), ABOVE, seen)
    }

    /// The same by pairs that are far apart alone: where each trial crosses some others by chance, a large change shows in these.
    pub(crate) fn told_far(seen: &[Seen]) -> Vec<Told> {
        Self::told_by(Self::far_pairs(seen), FAR, seen)
    }

    fn told_by(pairs: Vec<Pair>, above: f64, seen: &[Seen]) -> Vec<Told> {
        let mut scores = vec![0i64; seen.len()];
        for (worse, better) in pairs {
            scores[worse] -= 1;
            scores[better] += 1;
        }
        let is_slow = |(one, score): &(&Seen, &i64)| **score < 0 && one.loss_ratio() > SHOWS;
        let slow: Vec<&Seen> = seen.iter().zip(&scores).filter(is_slow).map(|(one, _)| one).collect();
        let through = median(slow.iter().map(|one| one.through_pps).collect());
        // A buffer lets more through of a shorter trial.
        let longest = slow.iter().map(|one| one.nanos).max().unwrap_or(0);
        // Where it breaks down, what comes through is a matter of the load.
        let breaks = breaks(seen.iter().map(Seen::loss_ratio));
        let is_above = |one: &Seen| {
            !breaks
                && one.nanos >= longest
                && through.is_some_and(|through| one.through_pps > above * through)
        };
        let told = seen.iter().zip(scores).filter_map(|(one, score)| match score {
            0 => is_above(one).then_some(Told { seen: *one, is_slow: false }),
            score => Some(Told { seen: *one, is_slow: score < 0 }),
        });
        told.collect()
    }
}

/// Whether trials lose next to nothing, or so much at once that it shows no limit.
pub(crate) fn breaks(losses: impl Iterator<Item = f64>) -> bool {
    let (found, all) = losses
        .filter(|loss| *loss > SHOWS)
        .fold((0, 0), |(found, all), loss| (found + usize::from(loss < BREAKS), all + 1));
    found * ONE_IN < all
}

pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
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

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_stats::Histogram;
    use dropline_trial::{Delay, TrialInput};

    /// Trials of so many ms: packets a second, what was lost of them, and the delay in ms.
    fn seen(trials: &[(u64, u64, u64, u64)]) -> Vec<Seen> {
        let mut crossed = Crossed::default();
        for (&(ms, pps, lost, delay), number) in trials.iter().zip(1..) {
            let input =
                TrialInput { load: Rate::from_millipps(pps * 1000), duration: Duration::from_millis(ms) };
            let offered = pps * ms / 1000;
            let mut delays = Histogram::new();
            if delay > 0 {
                delays.record_n(delay * 1_000_000, offered - lost);
            }
            let trial = Trial { offered, forwarded: offered - lost, ..Trial::new(number, input, 7) };
            crossed.note(&Trial { delay: Delay::of(delays), ..trial }, Duration::ZERO);
        }
        crossed.seen()
    }

    fn pairs(trials: &[(u64, u64, u64, u64)]) -> Vec<Pair> {
        Crossed::pairs(&seen(trials))
    }

    #[test]
    fn single_packets_and_lower_losses_at_lower_loads_cross_nothing() {
        // A packet of a thousand at the lowest load alone; and what a capacity loses.
        assert_eq!(pairs(&[(1000, 20_000, 5_000, 0), (1000, 19_000, 4_000, 0), (1000, 1_000, 1, 0)]), []);
        // As many packets in each second are a larger share of a lower load.
        assert_eq!(pairs(&[(1000, 200_000, 50, 0), (1000, 20_000, 50, 0)]), []);
        assert_eq!(pairs(&[(1000, 20_000, 0, 0), (1000, 19_000, 900, 0)]), [(1, 0)]);
    }

    #[test]
    fn a_short_trial_crosses_a_longer_one_and_none_crosses_a_shorter_one() {
        let (short, long) = ((200, 10_000, 900, 0), (1000, 10_000, 0, 0));
        assert_eq!(pairs(&[short, long]), [(0, 1)]);
        assert_eq!(pairs(&[(200, 10_000, 0, 0), (1000, 10_000, 900, 0)]), [], "it may have filled a buffer");
        assert_eq!(pairs(&[(200, 10_000, 90, 0), (1000, 10_000, 90, 0)]), [], "as much at each start");
    }

    #[test]
    fn full_queues_that_take_longer_cross_and_idle_targets_that_wake_do_not() {
        let idle = (1000, 1_000, 0, 1);
        assert_eq!(pairs(&[idle, (1000, 8_000, 800, 13), (1000, 7_000, 700, 20)]), [(2, 1)]);
        assert_eq!(pairs(&[(1000, 8_000, 0, 1), (1000, 7_000, 0, 20)]), []);
    }

    #[test]
    fn trials_that_let_more_through_than_a_slow_one_found_a_fast_target() {
        let told = |trials: &[(u64, u64, u64, u64)]| -> Vec<(u64, bool)> {
            Crossed::told(&seen(trials)).iter().map(|one| (one.seen.number, one.is_slow)).collect()
        };
        let fast = [(1000, 90_000, 0, 0), (1000, 100_000, 0, 0), (1000, 40_000, 0, 0)];
        assert_eq!(told(&fast), []);
        let slow = [(1000, 95_000, 45_000, 0)];
        assert_eq!(told(&[&fast[..], &slow].concat()), [(1, false), (2, false), (4, true)]);
    }
}
