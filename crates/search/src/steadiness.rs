//! What a search says of its target beside its answer: one statement at most. It stayed the same, or it changed once, or it is
//! one of two in turns, or nearly nothing comes through of some trials.
//!
//! Each trial of which it is known found a [slow target or a fast one](crate::crossed). Where all trials are independent of one
//! another, any order of these is as probable as any other. Of what may be instead, the explanation under which the order is most
//! probable is held against that: how often a random order is explained as well is counted over many of them. The best of all
//! explanations is looked for in each of these too, so that it is one test, made once at the end of a search.

use crate::crossed::{Crossed, Seen, Told, median};
use crate::moments::Moments;
use crate::{Goal, GoalOutcome};
use dropline_trial::{Caveat, Trial, seed};
use rand::Rng as _;
use std::time::Duration;

/// Random orders.
const ORDERS: u32 = 1999;
/// What is rarer than this among them is said of the target.
const RARE: f64 = 0.005;
/// Of trials on either side of a change, so many are of its kind.
const OF_ITS_KIND: f64 = 0.75;
/// A target that found its pace within this share of the search was warming up.
const FIRST: f64 = 1.0 / 3.0;
/// So many pairs within one side of a change, and so many times more than those that deny it, show that it went on.
const WENT_ON: usize = 6;
/// See `WENT_ON`.
const TIMES: usize = 4;
/// A trial that lost this share was made in an outage, where others lost no more than that at its load.
const OUT: f64 = 0.9;
/// See `OUT`.
const WHOLE: f64 = 0.01;
/// So many of both.
const OUTAGES: usize = 2;

/// All trials of a search that count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steadiness {
    crossed: Crossed,
    moments: Moments,
    spent: Duration,
}

/// What explains the order of slow trials and fast ones.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// From this place on they are of the other kind.
    Change(usize),
    /// A trial is like the one before it.
    Turns,
}

impl Steadiness {
    /// Learns from a trial that counts.
    pub(crate) fn note(&mut self, trial: &Trial, goals: &[Goal], at: Duration) {
        self.crossed.note(trial, at);
        self.moments.note(trial, goals);
        self.spent = at + trial.elapsed;
    }

    /// Which trials contradict the others, where the target stayed the same.
    pub(crate) fn moments(&self, goals: &[Goal], outcomes: &[GoalOutcome]) -> Vec<Caveat> {
        self.moments.caveats(goals, outcomes)
    }

    /// That the target is not the same in all trials.
    pub(crate) fn change(&self) -> Option<Caveat> {
        let seen = self.crossed.seen();
        let told = Crossed::told(&seen);
        match order(&told) {
            Some((Order::Change(place), by_chance)) => Some(self.changed(&told, place, by_chance)),
            turns => outages(&seen).or_else(|| Some(in_turns(&told, turns?.1))),
        }
    }

    /// That it became another one, from a place on.
    fn changed(&self, told: &[Told], place: usize, by_chance: f64) -> Caveat {
        let (before, since) = told.split_at(place);
        let is_faster = !since[since.len() - 1].is_slow;
        let began = since[0].seen;
        if is_faster && began.at.as_secs_f64() <= FIRST * self.spent.as_secs_f64() {
            return Caveat::WarmUp {
                by_chance,
                since_trial: Some(began.number),
                since_s: Some(began.at.as_secs_f64()),
            };
        }
        let of_kind =
            |side: &[Told], slow: bool| side.iter().filter(|one| one.is_slow == slow).count() as f64;
        let correlation =
            of_kind(since, is_faster) / since.len() as f64 - of_kind(before, is_faster) / before.len() as f64;
        Caveat::Drift {
            correlation: if is_faster { -correlation } else { correlation },
            by_chance,
            since_trial: Some(began.number),
            since_s: Some(began.at.as_secs_f64()),
            by_degrees: went_on(before, is_faster) || went_on(since, is_faster),
        }
    }
}

/// That of some trials nearly nothing came through, at loads of which others lost next to nothing: those of no higher loads are
/// compared, of any length, for no buffer takes a whole trial.
fn outages(seen: &[Seen]) -> Option<Caveat> {
    let whole = || seen.iter().filter(|one| one.loss_ratio() <= WHOLE);
    let most = whole().map(|one| one.pps).fold(0.0, f64::max);
    let out: Vec<&Seen> = seen.iter().filter(|one| one.loss_ratio() >= OUT && one.pps <= most).collect();
    let lowest = out.iter().map(|one| one.pps).min_by(f64::total_cmp)?;
    let good = whole().filter(|one| one.pps >= lowest).count();
    (out.len() >= OUTAGES && good >= OUTAGES).then(|| Caveat::Outages {
        trials: out.len() as u64,
        good: good as u64,
        lowest_pps: lowest,
        borne_pps: most,
        least_lost: out.iter().map(|one| one.loss_ratio()).fold(1.0, f64::min),
    })
}

fn in_turns(told: &[Told], by_chance: f64) -> Caveat {
    let of = |slow: bool| told.iter().filter(move |one| one.is_slow == slow).map(|one| one.seen.through_pps);
    Caveat::TwoStates {
        slow_pps: median(of(true).collect()).unwrap_or(0.0),
        fast_pps: of(false).fold(0.0, f64::max),
        slow: of(true).count() as f64 / told.len() as f64,
        by_chance: Some(by_chance),
    }
}

/// Whether within one side of a change trials cross in the same direction: it went on.
fn went_on(side: &[Told], is_faster: bool) -> bool {
    // A trial during which it changed is no state of its own.
    let inner = side.get(1..side.len().saturating_sub(1)).unwrap_or_default();
    let seen: Vec<Seen> = inner.iter().map(|one| one.seen).collect();
    let pairs = Crossed::pairs(&seen);
    let so = pairs.iter().filter(|(worse, better)| (worse < better) == is_faster).count();
    so >= WENT_ON && so > TIMES * (pairs.len() - so)
}

/// The order that trials are in, and how often chance has it, where that is seldom.
fn order(told: &[Told]) -> Option<(Order, f64)> {
    let slow: Vec<bool> = told.iter().map(|one| one.is_slow).collect();
    let (order, gain) = explained(&slow)?;
    Some((order, by_chance(&slow, gain)?))
}

/// Whether trials show that the target became another one.
pub(crate) fn is_another(crossed: &Crossed) -> bool {
    matches!(order(&Crossed::told(&crossed.seen())), Some((Order::Change(_), _)))
}

/// What explains an order best, and by how much better than that all orders are as probable: as a logarithm of probabilities.
fn explained(slow: &[bool]) -> Option<(Order, f64)> {
    let last = *slow.last()?;
    let (all, of_last) = (slow.len(), slow.iter().filter(|slow| **slow == last).count());
    let mut before = 0;
    let mut best = turns(slow);
    for place in 1..all {
        before += usize::from(slow[place - 1] == last);
        let since = of_last - before;
        // Most trials on either side, and those next to the place and at the end, are of another kind than on the other.
        let is_change = slow[place] == last
            && since as f64 >= OF_ITS_KIND * (all - place) as f64
            && before as f64 <= (1.0 - OF_ITS_KIND) * place as f64;
        if is_change {
            let found = likelihood(before, place) + likelihood(since, all - place);
            if best.is_none_or(|(_, best)| found >= best) {
                best = Some((Order::Change(place), found));
            }
        }
    }
    best.map(|(order, found)| (order, found - likelihood(of_last, all)))
}

/// How probable it is where a trial is like the one before it more often than not.
fn turns(slow: &[bool]) -> Option<(Order, f64)> {
    let from = |kind: bool| slow.windows(2).filter(move |pair| pair[0] == kind);
    let [(fast, left_fast), (slow, left_slow)] =
        [false, true].map(|kind| (from(kind).count(), from(kind).filter(|pair| pair[0] != pair[1]).count()));
    let all = fast + slow;
    let is_like = all > 0 && (left_fast + left_slow) * all < 2 * fast * slow;
    is_like.then(|| (Order::Turns, likelihood(left_fast, fast) + likelihood(left_slow, slow)))
}

/// Logarithm of the probability of so many of all, each as probable as they are often.
fn likelihood(number: usize, of: usize) -> f64 {
    let part =
        |count: usize| if count == 0 { 0.0 } else { count as f64 * libm::log(count as f64 / of as f64) };
    part(number) + part(of - number)
}

/// How often a random order is explained as well, where that is seldom: most are told after a few orders.
fn by_chance(slow: &[bool], gain: f64) -> Option<f64> {
    let too_many = (RARE * f64::from(ORDERS + 1)) as u32;
    let mut chance = seed::generator(u64::from(ORDERS));
    let mut order = slow.to_vec();
    let mut as_well = 0;
    for _ in 0..ORDERS {
        for last in (1..order.len()).rev() {
            order.swap(last, chance.random_range(0..=last));
        }
        as_well += u32::from(explained(&order).is_some_and(|(_, found)| found >= gain - 1e-9));
        if as_well >= too_many {
            return None;
        }
    }
    Some(f64::from(as_well + 1) / f64::from(ORDERS + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::{Rate, TrialInput};

    /// What is said of trials of a second each: packets a second, and what was lost of them.
    fn said(trials: impl IntoIterator<Item = (u64, u64)>) -> Option<Caveat> {
        let mut steadiness = Steadiness::default();
        for ((pps, lost), number) in trials.into_iter().zip(1..) {
            let duration = Duration::from_secs(1);
            let input = TrialInput { load: Rate::from_millipps(pps * 1000), duration };
            let trial = Trial {
                offered: pps,
                forwarded: pps - lost,
                elapsed: duration,
                ..Trial::new(number, input, 7)
            };
            steadiness.note(&trial, &[], duration * (number as u32 - 1));
        }
        steadiness.change()
    }

    const FAST: (u64, u64) = (10_000, 0);
    const SLOW: (u64, u64) = (10_000, 3_000);

    fn runs(of: &[(usize, (u64, u64))]) -> Vec<(u64, u64)> {
        of.iter().flat_map(|&(number, trial)| vec![trial; number]).collect()
    }

    #[test]
    fn a_target_that_was_fast_and_is_slow_became_slower_from_that_trial_on() {
        let Some(Caveat::Drift { correlation, since_trial, since_s, by_degrees, .. }) =
            said(runs(&[(20, FAST), (4, SLOW)]))
        else {
            panic!("{:?}", said(runs(&[(20, FAST), (4, SLOW)])))
        };
        assert_eq!((correlation, since_trial, since_s, by_degrees), (-1.0, Some(21), Some(20.0), false));
        assert!(matches!(said(runs(&[(12, SLOW), (8, FAST)])), Some(Caveat::Drift { correlation: 1.0, .. })));
        assert_eq!(said(runs(&[(5, FAST), (2, SLOW)])), None, "two are few");
    }

    #[test]
    fn one_that_was_slow_in_the_first_third_alone_warmed_up() {
        let warm = said(runs(&[(5, SLOW), (20, FAST)]));
        assert!(matches!(warm, Some(Caveat::WarmUp { since_trial: Some(6), .. })), "{warm:?}");
    }

    #[test]
    fn one_that_loses_more_and_more_became_slower_by_degrees() {
        let slower = said((0..24).map(|step| (10_000 - 20 * step, 200 * step)));
        assert!(matches!(slower, Some(Caveat::Drift { by_degrees: true, .. })), "{slower:?}");
    }

    #[test]
    fn one_that_is_either_for_a_while_is_one_of_two_in_turns() {
        let turns = said(runs(&[(6, FAST), (6, SLOW), (6, FAST), (6, SLOW), (6, FAST)]));
        let Some(Caveat::TwoStates { slow_pps, fast_pps, slow, .. }) = turns else { panic!("{turns:?}") };
        assert_eq!((slow_pps, fast_pps, slow), (7_000.0, 10_000.0, 0.4));
        assert_eq!(
            said((0..30).map(|place| if place % 4 < 2 { FAST } else { SLOW })),
            None,
            "half are like the next"
        );
    }

    #[test]
    fn trials_of_which_nothing_came_through_are_outages_in_any_order_and_overload_is_none() {
        let out = said((0..30).map(|place| if place % 3 == 0 { (9_000, 8_990) } else { FAST }));
        assert!(matches!(out, Some(Caveat::Outages { trials: 10, good: 20, .. })), "{out:?}");
        assert_eq!(said((0..30).map(|place| if place % 3 == 0 { (900_000, 890_000) } else { FAST })), None);
    }

    /// Loads that fall, as those of a bisection may: only the later trial of a pair can be the worse one.
    #[test]
    fn bad_trials_in_any_order_are_no_change_at_loads_that_fall_and_at_one() {
        let mut doubted = 0;
        for number in 0..200 {
            let mut chance = seed::generator(number);
            let falls = if number % 2 == 0 { 300 } else { 0 };
            let trials: Vec<_> = (0..30)
                .map(|place| (20_000 - falls * place, if chance.random_bool(0.3) { 2_000 } else { 0 }))
                .collect();
            doubted += u32::from(said(trials).is_some());
        }
        assert!(doubted <= 4, "{doubted} of 200, and 1 is expected");
    }
}
