//! What a search says of its target beside its answer: one statement at most. It stayed the same, or it changed once, or it is
//! one of two in turns, or it comes and goes, or what one trial leaves comes into the next, or nearly nothing comes through of
//! some trials.
//!
//! Each trial of which it is known found a [slow target or a fast one](crate::crossed). What [explains](crate::change) their
//! order is looked for once, at the end of a search.

use crate::bad_moments::Moments;
use crate::change::{Order, order, order_once_more};
use crate::crossed::{Before, Crossed, Seen, Told, breaks, median};
use crate::{Goal, GoalOutcome};
use dropline_trial::{Caveat, Trial};
use std::cmp::Ordering;
use std::time::Duration;

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
/// A limit above which the target breaks down scatters by no more than this (a logistic distribution of the logarithm).
const SCATTERS: [f64; 6] = [0.001, 0.003, 0.01, 0.03, 0.08, 0.15];
/// Where trials fail at any load besides, that is so of such a share.
const ANYWHERE: [f64; 6] = [0.01, 0.03, 0.07, 0.15, 0.3, 0.6];
/// Loads at which the limit is looked for.
const MIDDLES: usize = 24;
/// And explains them so much better, as a logarithm of probabilities: chance has it once in two hundred times.
const CLEARLY: f64 = 3.3;
/// Elsewhere, so many standard deviations above the mean of ranks, and trials of which nothing came through are those of higher loads.
const HIGHER: f64 = 2.0;
/// And a limit that scatters explains them within this share of the load.
const NEAR: f64 = 0.1;
/// So many trials that show what they let through are a group.
const GROUP: usize = 3;
/// And two groups are apart by more than so many times what most of either differ by.
const APART: f64 = 2.0;

/// All trials of a search that count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steadiness {
    crossed: Crossed,
    moments: Moments,
    spent: Duration,
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
        let found = order(&told);
        if let Some((Order::Change(place), by_chance)) = found {
            return Some(self.changed(&told, place, by_chance));
        }
        outages(&seen).or_else(|| self.explained(&seen, &told, found)).or_else(|| {
            // Where each trial crosses some others by chance, a large change shows in those that are far apart.
            let far = Crossed::told_far(&seen);
            self.explained(&seen, &far, order_once_more(&far))
        })
    }

    fn explained(&self, seen: &[Seen], told: &[Told], found: Option<(Order, f64)>) -> Option<Caveat> {
        Some(match found? {
            (Order::Change(place), by_chance) => self.changed(told, place, by_chance),
            (Order::CarryOver, by_chance) => carried_over(told, by_chance),
            (Order::Turns, by_chance) => came_and_went(seen, told, by_chance),
        })
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
                until_s: before.iter().rfind(|one| one.is_slow).map(|one| ends_s(&one.seen)),
                warmed_s: 0.0,
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
/// compared, of any length, for no buffer takes a whole trial. Of a target that breaks down, a limit that scatters explains them unless
/// trials failed at any load besides; of one that shows at other loads what it lets through, only where they are those of the higher
/// loads, and close to one another.
fn outages(seen: &[Seen]) -> Option<Caveat> {
    let whole = || seen.iter().filter(|one| one.loss_ratio() <= WHOLE);
    let most = whole().map(|one| one.pps).fold(0.0, f64::max);
    let is_out = |one: &&Seen| one.loss_ratio() >= OUT;
    let out: Vec<&Seen> = seen.iter().filter(|one| is_out(one) && one.pps <= most).collect();
    let lowest = out.iter().map(|one| one.pps).min_by(f64::total_cmp)?;
    let good = whole().filter(|one| one.pps >= lowest).count();
    let is_limit = if breaks(seen.iter().map(Seen::loss_ratio)) {
        let both = whole().chain(seen.iter().filter(is_out)).map(|one| (libm::log(one.pps), is_out(&one)));
        !fail_anywhere(both.collect())
    } else {
        let least = (1.0 - NEAR) * most;
        let near: Vec<&Seen> = whole().filter(|one| one.pps > least).collect();
        lowest > least && are_higher(&out, &near)
    };
    (out.len() >= OUTAGES && good >= OUTAGES && !is_limit).then(|| Caveat::Outages {
        trials: out.len() as u64,
        good: good as u64,
        lowest_pps: lowest,
        borne_pps: most,
        least_lost: out.iter().map(|one| one.loss_ratio()).fold(1.0, f64::min),
    })
}

/// Whether trials, logarithms of their loads and whether they failed, did so at any load, besides above a limit that scatters.
fn fail_anywhere(mut trials: Vec<(f64, bool)>) -> bool {
    trials.sort_by(|one, other| one.0.total_cmp(&other.0));
    let above = trials.last().map(|one| one.0 + 1.0);
    let tried = trials.iter().step_by(trials.len().div_ceil(MIDDLES)).map(|one| one.0);
    let middles: Vec<f64> = tried.chain(above).collect();
    let likelihood = |middle: f64, scatter: f64, anywhere: f64| -> f64 {
        let of = |(load, failed): &(f64, bool)| {
            let meets = (1.0 - anywhere) / (1.0 + libm::exp((load - middle) / scatter));
            libm::log(if *failed { 1.0 - meets } else { meets }.max(1e-12))
        };
        trials.iter().map(of).sum()
    };
    let best = |anywhere: f64| {
        let all =
            middles.iter().flat_map(|middle| SCATTERS.map(|scatter| likelihood(*middle, scatter, anywhere)));
        all.fold(f64::NEG_INFINITY, f64::max)
    };
    ANYWHERE.map(best).into_iter().fold(f64::NEG_INFINITY, f64::max) > best(0.0) + CLEARLY
}

/// Whether some trials are those of higher loads, by the sum of their ranks (Mann and Whitney).
fn are_higher(some: &[&Seen], others: &[&Seen]) -> bool {
    let above = |one: &Seen, other: &Seen| match one.pps.total_cmp(&other.pps) {
        Ordering::Greater => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Less => 0.0,
    };
    let found: f64 = some.iter().flat_map(|one| others.iter().map(move |other| above(one, other))).sum();
    let (some, others) = (some.len() as f64, others.len() as f64);
    found - some * others / 2.0 > HIGHER * (some * others * (some + others + 1.0) / 12.0).sqrt()
}

/// That what trials leave comes into the next ones.
fn carried_over(told: &[Told], by_chance: f64) -> Caveat {
    let after_loss = || told.iter().filter(|one| one.seen.before == Before::Loss);
    Caveat::CarriesOver {
        by_chance,
        slow: after_loss().filter(|one| one.is_slow).count() as u64,
        after_loss: after_loss().count() as u64,
        after_loss_pps: median(through(told, true).collect()).unwrap_or(0.0),
        rested_pps: through(told, false).fold(0.0, f64::max),
    }
}

/// That it is one of two in turns; or, where it was another one once, or one of more than two, that it was not the same.
fn came_and_went(seen: &[Seen], told: &[Told], by_chance: f64) -> Caveat {
    let spells = |slow: bool| {
        let mut runs = told.chunk_by(|one, next| one.is_slow == next.is_slow);
        let of_kind = runs.clone().filter(|run| run[0].is_slow == slow).count();
        (of_kind, runs.find(|run| run[0].is_slow == slow && of_kind == 1))
    };
    let fast_pps = through(told, false).fold(0.0, f64::max);
    let ((slow_spells, once), (fast_spells, fast_once)) = (spells(true), spells(false));
    if slow_spells > 1 && fast_spells > 1 && are_two(told) {
        return Caveat::TwoStates {
            slow_pps: median(through(told, true).collect()).unwrap_or(0.0),
            fast_pps,
            slow: told.iter().filter(|one| one.is_slow).count() as f64 / told.len() as f64,
            by_chance: Some(by_chance),
        };
    }
    let least = through(told, true).fold(f64::INFINITY, f64::min);
    let once = once.or(fast_once);
    Caveat::Unsteady {
        by_chance,
        low_pps: least.min(borne_since(seen, told).unwrap_or(least)),
        high_pps: fast_pps,
        is_slow: once.is_none_or(|run| run[0].is_slow),
        from_s: once.map(|run| run[0].seen.at.as_secs_f64()),
        to_s: once.map(|run| ends_s(&run[run.len() - 1].seen)),
    }
}

/// Where the target was slow at last, the most that it bore since, or that it ever did below: it may be slower still.
fn borne_since(seen: &[Seen], told: &[Told]) -> Option<f64> {
    let last = told.last().filter(|one| one.is_slow)?.seen;
    let borne = |since: u64| {
        let such = seen.iter().filter(|one| one.number > since && one.lost == 0.0);
        such.map(|one| one.pps).max_by(f64::total_cmp)
    };
    let below = || seen.iter().filter(|one| one.lost == 0.0 && one.pps < last.through_pps).map(|one| one.pps);
    borne(last.number).or_else(|| below().max_by(f64::total_cmp))
}

/// Whether what came through of slow trials and of fast ones are two groups, as far as they show it: most of each are alike, next
/// to how far they are apart.
fn are_two(told: &[Told]) -> bool {
    let quartiles = |slow: bool| {
        let shows = |one: &&Told| one.is_slow == slow && one.seen.loss_ratio() > WHOLE;
        let mut shown: Vec<f64> = told.iter().filter(shows).map(|one| one.seen.through_pps).collect();
        shown.sort_by(f64::total_cmp);
        (shown.len() >= GROUP).then(|| (shown[shown.len() / 4], shown[(3 * shown.len()) / 4]))
    };
    let Some(slow) = quartiles(true) else { return true };
    let most = through(told, false).fold(0.0, f64::max);
    let fast = quartiles(false).unwrap_or((most, most));
    fast.0 - slow.1 > APART * f64::max(slow.1 - slow.0, fast.1 - fast.0)
}

/// What came through of slow trials, or of fast ones, in packets a second.
fn through(told: &[Told], slow: bool) -> impl Iterator<Item = f64> {
    told.iter().filter(move |one| one.is_slow == slow).map(|one| one.seen.through_pps)
}

/// When a trial ended, in seconds of the search.
fn ends_s(seen: &Seen) -> f64 {
    seen.at.as_secs_f64() + seen.nanos as f64 / 1e9
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

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::{Rate, TrialInput, seed};
    use rand::Rng as _;

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

    /// Each trial before crosses some others, so that as many are slow as fast: the last ones are far slower than any.
    #[test]
    fn a_large_change_is_told_where_small_differences_are_chance() {
        let near = |place: u64| (10_000 + place % 5, 100 + 80 * (7 * place % 5));
        let steady: Vec<_> = (0..20).map(near).collect();
        assert_eq!(said(steady.clone()), None);
        let slower = said(steady.into_iter().chain(vec![(10_000, 1_800); 4]));
        assert!(matches!(slower, Some(Caveat::Drift { since_trial: Some(21), .. })), "{slower:?}");
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
    fn one_that_was_slow_once_or_swings_is_unsteady_and_not_one_of_two() {
        let once = said(runs(&[(8, FAST), (6, SLOW), (12, FAST)]));
        let Some(Caveat::Unsteady { is_slow: true, from_s, to_s, low_pps, high_pps, .. }) = once else {
            panic!("{once:?}")
        };
        assert_eq!((from_s, to_s, low_pps, high_pps), (Some(8.0), Some(14.0), 7_000.0, 10_000.0));
        let swing = |second: u64| {
            let lost = 1_500.0 * (1.0 + (second as f64 * 0.3).sin());
            (10_000, lost as u64)
        };
        let swings = said((0..60).map(swing));
        assert!(matches!(swings, Some(Caveat::Unsteady { from_s: None, .. })), "{swings:?}");
    }

    #[test]
    fn what_is_left_of_trials_that_lost_packets_is_told_where_a_rest_helps_each_time() {
        // As much as it bears, and then the same again and again: the queue is full.
        let rest = (5_000, 0);
        let half = (10_000, 2_000);
        let carried = said([
            FAST, rest, FAST, half, SLOW, SLOW, SLOW, rest, FAST, half, SLOW, rest, FAST, half, SLOW, rest,
            FAST,
        ]);
        let Some(Caveat::CarriesOver { slow: 4 | 5, after_loss_pps, rested_pps, .. }) = carried else {
            panic!("{carried:?}")
        };
        assert_eq!((after_loss_pps, rested_pps), (7_000.0, 10_000.0));
        let stays = said([[FAST; 8].as_slice(), &[SLOW, SLOW, SLOW, rest, SLOW, SLOW, rest, SLOW]].concat());
        assert!(matches!(stays, Some(Caveat::Drift { .. })), "{stays:?}");
    }

    #[test]
    fn trials_of_which_nothing_came_through_are_outages_in_any_order_and_overload_is_none() {
        let out = said((0..30).map(|place| if place % 3 == 0 { (9_000, 8_990) } else { FAST }));
        assert!(matches!(out, Some(Caveat::Outages { trials: 10, good: 20, .. })), "{out:?}");
        assert_eq!(said((0..30).map(|place| if place % 3 == 0 { (900_000, 890_000) } else { FAST })), None);
    }

    #[test]
    fn a_limit_that_scatters_and_above_which_the_target_breaks_down_is_no_outage_unless_trials_fail_far_below()
     {
        let scattered = |number| {
            let mut chance = seed::generator(number);
            (0..150)
                .map(|_| {
                    let offered = chance.random_range(980_000..1_020_000);
                    let limit = chance.random_range(990_000..1_010_000);
                    (offered, if offered > limit { offered * 19 / 20 } else { 0 })
                })
                .collect::<Vec<_>>()
        };
        for number in 0..50 {
            let mut trials = scattered(number);
            let told = said(trials.clone());
            assert!(!matches!(told, Some(Caveat::Outages { .. })), "{number}: {told:?}");
            for at in [7, 17, 27] {
                trials[at] = (800_000 + 10 * at as u64, 790_000);
            }
            let told = said(trials);
            assert!(matches!(told, Some(Caveat::Outages { .. })), "{number}: {told:?}");
        }
    }

    /// It does not break down above its limit: where it is overloaded far more, as much comes through as ever.
    #[test]
    fn stops_near_the_limit_are_outages_where_other_trials_show_what_it_lets_through() {
        let near = |place: u64| 97_000 + 700 * (place % 4);
        let stops = (0..32).map(|place| (near(place), if place % 8 < 3 { near(place) - 900 } else { 0 }));
        let shows = [190_000, 130_000, 108_000].map(|pps| (pps, pps - 100_000));
        let told = said(shows.into_iter().chain(stops.clone()));
        assert!(matches!(told, Some(Caveat::Outages { trials: 12, .. })), "{told:?}");
        let told = said(stops);
        assert!(!matches!(told, Some(Caveat::Outages { .. })), "{told:?}");
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
