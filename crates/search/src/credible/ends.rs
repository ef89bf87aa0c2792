//! What trials said of a goal without any model: at the ends of the range, and where they met it and failed it.

use super::constants::ends::{
    AGREES, BLIND, BLIND_ONE_IN, EACH_BAD, ENOUGH, MOST_LACKED, NEAR, OFTEN, PLACES, PLAIN, ROUNDING, TELLS,
};
use super::constants::goal_search::CHECK;
use super::constants::low_load_probe::LOSSES;
use super::constants::model::DEEPEST;
use super::monotone::{Monotone, Possible};
use super::monotone_bounds::Bets;
use crate::bad_moments::{FAR, are_about};
use crate::{Goal, GoalOutcome, GoalResult, Irregular};
use dropline_trial::{Caveat, LoadRange, Rate, Ratio, Trial};
use std::time::Duration;

/// What was seen of one goal.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// Trials at the ends of the range, good ones less bad ones.
    min: i32,
    max: i32,
    /// Loads that met the goal, from the highest down, for how long that counts, and for how long they were tried.
    good: Vec<(Rate, Duration, Duration)>,
    /// The highest load at and above which the goal was met for as long as a trial of it takes.
    highest_good: Option<Rate>,
    /// The lowest load that failed it.
    lowest_bad: Option<Rate>,
    /// Of each trial, in order, its load if it failed the goal, and whether it was a whole one.
    failed: Vec<Option<(Rate, bool)>>,
    /// Whether short ones that met it are forgotten.
    is_of_whole: bool,
    /// Of each trial that failed the goal, the load (a logarithm) from which on it would have.
    fails_from: Vec<f64>,
    /// Of each trial that failed the goal, logarithms of its load and of what came through.
    through: Vec<(f64, f64)>,
    bets: Bets,
}

/// The load (a logarithm) from which on a trial would have failed the goal that it failed: its own, or where no more came
/// through than that.
fn fails_from(trial: &Trial, goal: &Goal) -> f64 {
    let ratio = trial.lost() as f64 / trial.offered.max(1) as f64;
    let allowed = libm::log1p(-goal.loss_ratio.as_f64());
    let through = if TELLS.contains(&ratio) { libm::log1p(-ratio) - allowed } else { 0.0 };
    libm::log(trial.input.load.as_pps()) + through.min(0.0)
}

impl Shown {
    pub(super) fn note(&mut self, trial: &Trial, goal: &Goal, range: LoadRange) {
        let Some(exceeds) = trial.fails(goal.loss_ratio) else { return };
        let load = trial.input.load;
        let (time, whole) = (trial.input.duration, goal.trial_duration);
        let is_whole = time >= whole;
        if is_whole {
            self.bets.note(libm::log(load.as_pps()), exceeds);
        }
        // A short trial failed the goal only if it lost what a whole one may not, though nothing be lost after it.
        let share = (time.as_secs_f64() / whole.as_secs_f64()).min(1.0);
        let of_whole = Ratio::new((goal.loss_ratio.as_f64() / share).min(1.0)).unwrap_or(goal.loss_ratio);
        let is_bad = exceeds && (is_whole || trial.exceeds(of_whole));
        self.failed.push(is_bad.then_some((load, is_whole)));
        if is_bad {
            self.lowest_bad = Some(self.lowest_bad.map_or(load, |lowest| lowest.min(load)));
            self.fails_from.push(fails_from(trial, goal));
            let log = libm::log(load.as_pps());
            let ratio = trial.lost() as f64 / trial.offered.max(1) as f64;
            self.through.push((log, log + libm::log1p(-ratio.min(1.0 - 1e-9))));
        } else if !exceeds {
            // What loses nothing for a while may lose something later: short trials count together.
            let counts = if goal.loss_ratio > Ratio::ZERO { whole } else { time };
            self.good.push((load, counts, time));
            self.good.sort_by_key(|&(load, ..)| std::cmp::Reverse(load));
            self.find_highest_good(goal.trial_duration);
        }
        let vote = if is_bad { -1 } else { 1 };
        if trial.input.load == range.min() {
            self.min += vote;
        }
        if trial.input.load == range.max() {
            self.max += vote;
        }
    }

    /// Loads that failed it.
    fn bad(&self) -> impl Iterator<Item = &Rate> {
        self.failed.iter().flatten().map(|(load, _)| load)
    }

    /// How many trials failed it at no higher load (a logarithm).
    pub(super) fn failed_up_to(&self, load: f64) -> u64 {
        self.bad().filter(|one| libm::log(one.as_pps()) <= load).count() as u64
    }

    /// The lowest load that failed it above another (logarithms); infinite where none did.
    pub(super) fn lowest_bad_above(&self, load: f64) -> f64 {
        self.bad().map(|one| libm::log(one.as_pps())).filter(|one| *one > load).fold(f64::INFINITY, f64::min)
    }

    fn find_highest_good(&mut self, whole: Duration) {
        let mut sum = Duration::ZERO;
        let found = self.good.iter().find(|(_, time, _)| {
            sum += *time;
            sum >= whole
        });
        self.highest_good = found.map(|&(load, ..)| load);
    }

    /// Trials that were shorter than whole ones met the goal, and whole ones do not agree with them.
    pub(super) fn forget_short(&mut self, whole: Duration) {
        self.good.retain(|&(.., tried)| tried >= whole);
        self.is_of_whole = true;
        self.find_highest_good(whole);
    }

    /// Logarithms of the highest load that met the goal and of the lowest that failed it, infinite where there is none:
    /// no interval may begin above the one or end below the other.
    pub(super) fn between(&self) -> (f64, f64) {
        let log = |load: Rate| libm::log(load.as_pps());
        (self.highest_good.map_or(f64::NEG_INFINITY, log), self.lowest_bad.map_or(f64::INFINITY, log))
    }

    /// What trials leave possible, whatever a model believes; anything as long as none contradicts another.
    pub(super) fn possible(&self, goal: &Goal) -> Possible {
        let (good, bad) = self.between();
        if good < bad {
            return Possible::UNASKED;
        }
        let log = |load: Rate| libm::log(load.as_pps());
        let whole = goal.trial_duration.as_secs_f64();
        let met =
            self.good.iter().map(|&(load, counts, _)| (log(load), (counts.as_secs_f64() / whole).min(1.0)));
        Monotone::of(met, self.bad().copied().map(log)).possible(goal.exceed_at_truth())
    }

    /// Whether enough trials met the goal at an end (a logarithm), little below it or above to call it the lower one.
    /// Otherwise more than half of such trials may fail, and a few have been lucky.
    pub(super) fn bears(&self, goal: &Goal, lower: f64) -> bool {
        let near = lower + libm::log(NEAR);
        let good = self.good.iter().take_while(|(load, ..)| libm::log(load.as_pps()) >= near);
        let good: Duration = good.map(|&(_, time, _)| time.min(goal.trial_duration)).sum();
        let bad = self.bad().filter(|load| libm::log(load.as_pps()) <= lower).count();
        good >= goal.trial_duration * (ENOUGH + EACH_BAD * bad as u32)
    }

    /// The highest load at or below a lower end (logarithms) that trials agree with.
    pub(super) fn lower_agreed(&self, goal: &Goal, lower: f64) -> f64 {
        let met = self.good.iter().map(|(load, ..)| libm::log(load.as_pps()));
        let before_failing = self.fails_from.iter().map(|load| load - 2.0 * ROUNDING);
        let below = met.chain(before_failing).filter(|load| *load < lower);
        let mut ends: Vec<f64> = below.chain([lower]).collect();
        ends.sort_by(|one, other| other.total_cmp(one));
        ends.into_iter().find(|end| self.agree(goal, *end)).unwrap_or(lower)
    }

    /// Whether trials, as far as they tell of a lower end, met the goal there no less often than at the truth.
    fn agree(&self, goal: &Goal, lower: f64) -> bool {
        let bad = self.fails_from.iter().filter(|load| **load < lower - ROUNDING).count() as u64;
        bad == 0 || at_most(bad, bad + self.good_from(goal, lower), goal.exceed_at_truth()) <= AGREES
    }

    /// Trials of a goal, the lowest load (a logarithm) first: how much of a whole one each was that met it, 0 where it failed.
    fn by_load(&self, goal: &Goal) -> Vec<(f64, f64)> {
        let (whole, log) = (goal.trial_duration.as_secs_f64(), |load: Rate| libm::log(load.as_pps()));
        let met = self.good.iter().map(|&(load, _, time)| (log(load), (time.as_secs_f64() / whole).min(1.0)));
        let mut trials: Vec<(f64, f64)> = met.chain(self.bad().map(|load| (log(*load), 0.0))).collect();
        trials.sort_by(|one, other| one.0.total_cmp(&other.0));
        trials
    }

    /// The highest load at or below a lower end (logarithms) that trials make plain as one. Minus infinity where there is none.
    pub(super) fn lower_plain(&self, goal: &Goal, lower: f64) -> f64 {
        let trials = self.by_load(goal);
        let met = trials.iter().filter(|(load, met)| *met > 0.0 && *load < lower).map(|(load, _)| *load);
        let mut ends: Vec<f64> = met.chain([lower]).collect();
        ends.sort_by(|one, other| other.total_cmp(one));
        ends.into_iter().find(|end| is_plain(&trials, *end, 0, goal)).unwrap_or(f64::NEG_INFINITY)
    }

    /// How many more trials have to meet the goal at a lower end (a logarithm) to make it plain.
    pub(super) fn lower_lacks(&self, goal: &Goal, lower: f64) -> usize {
        let trials = self.by_load(goal);
        (0..MOST_LACKED).find(|more| is_plain(&trials, lower, *more, goal)).unwrap_or(MOST_LACKED)
    }

    /// How many whole trials met the goal at a load (a logarithm) or above.
    fn good_from(&self, goal: &Goal, load: f64) -> u64 {
        let good = self.good.iter().take_while(|(one, ..)| libm::log(one.as_pps()) >= load - ROUNDING);
        let good: Duration = good.map(|&(_, time, _)| time.min(goal.trial_duration)).sum();
        (good.as_secs_f64() / goal.trial_duration.as_secs_f64()).round() as u64
    }

    /// The lowest load at or above an upper end (logarithms) that trials bear as one: were the goal's load above it, trials
    /// there and below would fail seldom, and what met the goal at it and above would be the rule. Infinite where
    /// trials bear none.
    pub(super) fn upper_borne(&self, goal: &Goal, upper: f64) -> f64 {
        let log = |load: &Rate| libm::log(load.as_pps());
        let exceed = goal.exceed_at_truth();
        let bears = |end: &f64| {
            let near = end - libm::log(NEAR);
            let bad = self.bad().filter(|load| log(load) <= near).count();
            let good = self.good.iter().take_while(|(load, ..)| log(load) >= *end);
            let good: Duration = good.map(|&(_, time, _)| time.min(goal.trial_duration)).sum();
            let good = good.as_secs_f64() / goal.trial_duration.as_secs_f64();
            bad as f64 >= f64::from(EACH_BAD) * good * exceed / (1.0 - exceed)
        };
        let higher = self.bad().map(log).filter(|load| *load > upper && bears(load));
        if bears(&upper) { upper } else { higher.fold(f64::INFINITY, f64::min) }
    }

    /// Trials that failed the goal, logarithms of their loads from the lowest on, though a load bore it from which no dip leads so far
    /// down: so little came through that a far lower load would have failed as well, or the load is one that a target bears in any dip.
    /// What single lost packets deny is another matter.
    pub(super) fn failed_anywhere(&self) -> Vec<f64> {
        let highest = self.between().0;
        let least = libm::log1p(-TELLS.start);
        let is_such = |(load, through): &&(f64, f64)| {
            let is_low = *load < highest - DEEPEST && *through < load + least;
            is_low || *through < load.min(highest) - DEEPEST
        };
        let mut such: Vec<f64> = self.through.iter().filter(is_such).map(|(load, _)| *load).collect();
        such.sort_by(f64::total_cmp);
        let is_far = such.first().is_some_and(|load| *load < highest - libm::log(FAR));
        let is_enough = such.len() >= BLIND.max(self.failed.len().div_ceil(BLIND_ONE_IN));
        if is_far && is_enough { such } else { Vec::new() }
    }

    /// That an answer has no lower end, or no upper one, since trials fail at any load.
    pub(super) fn why_open(&self, goal: &Goal, (has_lower, has_upper): (bool, bool)) -> Option<Caveat> {
        let failed = self.failed_anywhere();
        let highest = self.between().0;
        Some(Caveat::FailsAnywhere {
            loss_ratio: goal.loss_ratio.as_f64(),
            trials: failed.len() as u64,
            of: self.failed.len() as u64,
            lowest_pps: libm::exp(*failed.first()?),
            borne_pps: libm::exp(highest),
            has_lower,
            has_upper,
        })
    }

    /// The lowest load (a logarithm) up to which, above all that met the goal, so many trials failed that chance has it no oftener than
    /// `doubt`, at any of the loads that were tried, where they fail as often as others do. Infinite where there is none.
    pub(super) fn certain_upper(&self, goal: &Goal, doubt: f64) -> f64 {
        let trials = self.by_load(goal);
        let highest = trials.iter().filter(|(_, met)| *met > 0.0).map(|(load, _)| *load + ROUNDING);
        let highest = highest.fold(f64::NEG_INFINITY, f64::max);
        let above: Vec<f64> = trials.iter().map(|(load, _)| *load).filter(|load| *load > highest).collect();
        // How often trials fail is known of those that would be counted as well if they had not.
        let counts = |(load, is_whole): &&(Rate, bool)| {
            (*is_whole || !self.is_of_whole) && libm::log(load.as_pps()) <= highest
        };
        let failed = self.failed.iter().flatten().filter(counts).count() as f64;
        let met = trials.iter().filter(|(_, met)| *met > 0.0).count() as f64;
        let enough = doubt / trials.len() as f64;
        let is_enough =
            |run: &usize| all_fail(*run as f64, (failed, failed + met), goal.exceed_at_truth()) <= enough;
        (1..=above.len()).find(is_enough).map_or(f64::INFINITY, |run| above[run - 1])
    }

    /// Where trials above all that met the goal make no upper end certain: the load (a logarithm) at which one more would help most.
    pub(super) fn uncertain_upper(&self, goal: &Goal, doubt: f64) -> Option<f64> {
        let met = self.good.first().map_or(f64::NEG_INFINITY, |(load, ..)| libm::log(load.as_pps()));
        let failed = self.lowest_bad_above(met);
        let is_open = failed.is_finite() && self.certain_upper(goal, doubt).is_infinite();
        let is_far = met.is_finite() && failed - met > CHECK;
        is_open.then_some(if is_far { 0.5 * (met + failed) } else { failed })
    }

    /// The same of a lower end: where no trial so far would have failed, then the highest load that met the goal.
    pub(super) fn uncertain_lower(&self, goal: &Goal, doubt: f64) -> Option<f64> {
        let through = self.through.iter().map(|(_, through)| *through).fold(f64::INFINITY, f64::min);
        let (all_met, met) = (through - 2.0 * ROUNDING, libm::log(self.good.first()?.0.as_pps()));
        let plainly = self.certain_lower(goal, doubt);
        let load = if plainly < all_met { all_met } else { met };
        (plainly < load + libm::log1p(-goal.width.as_f64()).min(-ROUNDING)).then_some(load)
    }

    /// A load far below an end, a logarithm, that failed the goal and was not met about there since: a bad moment, or a band
    /// of bad loads. After three failures it is no moment.
    pub(super) fn unmet(&self, lower: f64) -> Option<Rate> {
        let far = lower - libm::log(FAR);
        let open = |load: &&Rate| {
            let failed = self.bad().filter(|one| are_about(**one, **load)).count();
            failed < LOSSES && !self.good.iter().any(|&(one, ..)| are_about(one, **load))
        };
        self.bad().filter(|load| libm::log(load.as_pps()) < far).find(open).copied()
    }

    /// Logarithms of loads that the truth is not below and not above, whatever a model believes, each but for the
    /// probability `doubt`; infinite where trials are too few.
    pub(super) fn certain(&self, goal: &Goal, doubt: f64) -> (f64, f64) {
        self.bets.certain(goal.exceed_at_truth(), doubt)
    }

    /// The highest load is another one now.
    pub(super) fn forget_max(&mut self) {
        self.max = 0;
    }

    /// Whether trials at the lowest load show that the goal's is below it.
    fn is_below(&self, goal: &Goal, range: LoadRange, doubt: f64) -> bool {
        let min = libm::log(range.min().as_pps());
        self.min < 0 && self.upper_borne(goal, min) <= min && self.fails_at(goal, range.min(), doubt)
    }

    /// Whether trials at the highest load show that it meets the goal.
    fn is_above(&self, goal: &Goal, range: LoadRange) -> bool {
        self.max > 0 && self.bears(goal, libm::log(range.max().as_pps()))
    }

    /// Whether trials at a load failed the goal so often that they do it more often than at its own load, but for the
    /// probability `doubt`: what failed above it says nothing of it, and what was met above it was met.
    pub(super) fn fails_at(&self, goal: &Goal, load: Rate, doubt: f64) -> bool {
        let bad = self.bad().filter(|one| **one <= load).count() as u64;
        let good = self.good.iter().filter(|(one, ..)| *one >= load);
        let good: Duration = good.map(|&(_, time, _)| time.min(goal.trial_duration)).sum();
        let good = (good.as_secs_f64() / goal.trial_duration.as_secs_f64()).ceil() as u64;
        at_most(good, good + bad, 1.0 - goal.exceed_at_truth()) <= doubt
    }

    /// The highest load (a logarithm) that trials at it and next above it met so often that chance has it no oftener than `doubt`,
    /// where the goal's load is lower. Minus infinity where there is none.
    pub(super) fn certain_lower(&self, goal: &Goal, doubt: f64) -> f64 {
        let trials = self.by_load(goal);
        let below = trials.iter().rposition(|(_, met)| *met > 0.0).unwrap_or(0);
        let failed = trials[..below].iter().filter(|(_, met)| *met == 0.0).count();
        // Where they fail often, a run of good ones may be luck, which begins anew after each that failed.
        let runs = if failed as f64 > OFTEN * below as f64 { 1 + failed } else { 1 };
        let enough = doubt / runs as f64;
        let met = trials.iter().filter(|(_, met)| *met > 0.0).map(|(load, _)| *load);
        met.filter(|end| are_met(&trials, *end, 0, goal, enough)).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The end of the range where more trials are wanted of a system that loses much at every load.
    pub(super) fn open_end(&self, goal: &Goal, range: LoadRange, doubt: f64) -> Option<Rate> {
        match (self.min < 0, self.max > 0) {
            (true, _) => (!self.is_below(goal, range, doubt)).then_some(range.min()),
            (false, true) => (!self.is_above(goal, range)).then_some(range.max()),
            (false, false) => None,
        }
    }

    /// The answer of a system that loses much at every load, which a generous goal may allow.
    pub(super) fn without_knee(
        &self,
        goal: &Goal,
        range: LoadRange,
        level: Ratio,
        capped: Option<Rate>,
    ) -> GoalOutcome {
        let (min, max) = (range.min(), range.max());
        let (lower, upper, result) = if self.is_below(goal, range, 1.0 - level.as_f64()) {
            (None, Some(min), GoalResult::BelowMinimum { level })
        } else if self.is_above(goal, range) {
            return self.at_maximum(goal, range, level, capped);
        } else {
            let median =
                Rate::pps(libm::sqrt(min.as_pps() * max.as_pps())).map_or(min, |load| range.clamp(load));
            let lower = self.bears(goal, libm::log(min.as_pps())).then_some(min);
            (lower, (self.max <= 0).then_some(max), GoalResult::Wide { median, level })
        };
        GoalOutcome { lower, upper, conditional_throughput_pps: None, result }
    }

    /// The answer of a system that loses nothing. Where the range is `capped`, below what was the highest load, its end is our
    /// own limit, and no load is claimed that was not borne. A highest load that was borne all the same is: with a level where
    /// enough trials bear it, and by what trials showed where nothing failed.
    pub(super) fn at_maximum(
        &self,
        goal: &Goal,
        range: LoadRange,
        level: Ratio,
        capped: Option<Rate>,
    ) -> GoalOutcome {
        let is_borne = capped.is_some() && self.highest_good >= capped && self.lowest_bad.is_none();
        let (lower, result) = match capped {
            None => (Some(range.max()), GoalResult::AtMaximum { level }),
            Some(most) if is_borne && self.bears(goal, libm::log(most.as_pps())) => {
                (capped, GoalResult::AtMaximum { level })
            }
            Some(_) if is_borne => (capped, GoalResult::Irregular(Irregular::AtMaximum)),
            Some(_) => (self.highest_good, GoalResult::Irregular(Irregular::GeneratorLimited)),
        };
        GoalOutcome { lower, upper: None, conditional_throughput_pps: None, result }
    }
}

/// Whether trials make a lower end (a logarithm) plain, and `more` that would meet the goal there: were the truth below it, each
/// at it and above would fail at least as often as at the truth, and of those next above it too few did.
fn is_plain(trials: &[(f64, f64)], end: f64, more: usize, goal: &Goal) -> bool {
    let exceed = goal.exceed_at_truth();
    // A search that was too short for so many has no more to show.
    let shown = more as f64 + trials.iter().map(|(_, met)| met).sum::<f64>();
    let enough = (1.0 - exceed).powi(PLAIN.min((shown as i32).max(1))) * (1.0 + 1e-9);
    are_met(trials, end, more, goal, enough)
}

/// Whether so many of the trials at a load (a logarithm) and next above it met the goal, with `more` there, that chance has it no
/// oftener than that where the goal's load is lower.
fn are_met(trials: &[(f64, f64)], end: f64, more: usize, goal: &Goal, enough: f64) -> bool {
    let exceed = goal.exceed_at_truth();
    let is_enough = |met: f64, failed: u64| at_most(failed, met.floor() as u64 + failed, exceed) <= enough;
    let above: Vec<&(f64, f64)> = trials.iter().filter(|(load, _)| *load >= end - ROUNDING).collect();
    // Trials at one load count together, in whichever order they were made.
    let is_at_end = above.first().is_some_and(|(load, _)| *load <= end + ROUNDING);
    let (mut met, mut failed) = (more as f64, 0);
    (!is_at_end && is_enough(met, failed))
        || above.chunk_by(|one, next| next.0 - one.0 <= ROUNDING).any(|at_one_load| {
            met += at_one_load.iter().map(|(_, met)| met).sum::<f64>();
            failed += at_one_load.iter().filter(|(_, met)| *met == 0.0).count() as u64;
            is_enough(met, failed)
        })
}

/// P(so many trials all fail), where each does with one probability, `most` or less, of which nothing else is known but how many of
/// how many others failed.
fn all_fail(run: f64, (failed, others): (f64, f64), most: f64) -> f64 {
    let each: Vec<f64> = (0..PLACES).map(|place| most * (place as f64 + 0.5) / PLACES as f64).collect();
    let log = |p: &f64| failed * libm::log(*p) + (others - failed) * libm::log1p(-p);
    let best = each.iter().map(log).fold(f64::NEG_INFINITY, f64::max);
    let sum = |of: &dyn Fn(&f64) -> f64| each.iter().map(|p| libm::exp(log(p) - best) * of(p)).sum::<f64>();
    sum(&|p| libm::pow(*p, run)) / sum(&|_| 1.0)
}

/// P(no more than `number` of `all`), each with probability `each`.
fn at_most(number: u64, all: u64, each: f64) -> f64 {
    let log_odds = libm::log(each) - libm::log1p(-each);
    let (mut log_one, mut sum) = (all as f64 * libm::log1p(-each), 0.0);
    for count in 0..=number {
        sum += libm::exp(log_one);
        log_one += libm::log((all - count) as f64 / (count + 1) as f64) + log_odds;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;
    use dropline_trial::TrialInput;

    /// To a thousand times it.
    fn range_from(millipps: u64) -> LoadRange {
        LoadRange::new(Rate::from_millipps(millipps), Rate::from_millipps(millipps * 1000)).unwrap()
    }

    fn trial(pps: u64, lost: u64, ms: u64) -> Trial {
        let input = TrialInput { load: Rate::from_millipps(pps * 1000), duration: Duration::from_millis(ms) };
        Trial { offered: pps, forwarded: pps - lost, ..Trial::new(1, input, 7) }
    }

    #[test]
    fn an_end_is_borne_by_good_trials_near_it_and_above_and_by_more_where_some_failed() {
        let goal = Preset::Csit.goals()[0];
        let range = range_from(1_000);
        let mut shown = Shown::default();
        let mut note = |pps: u64, lost: u64, ms: u64| {
            shown.note(&trial(pps, lost, ms), &goal, range);
            shown.bears(&goal, libm::log(100.0))
        };
        assert!(!note(50, 0, 9000), "far below it");
        assert!(!note(100, 0, 1000) && !note(90, 0, 1000) && !note(120, 0, 1000));
        assert!(!note(100, 0, 400), "a short one counts as much as it is long");
        assert!(note(100, 0, 600));
        assert!(note(101, 1, 1000), "what failed above it is no matter");
        assert!(!note(70, 1, 1000), "what failed below it is");
        assert!(!note(100, 0, 1000) && note(100, 0, 1000));
    }

    #[test]
    fn a_lower_end_is_plain_where_three_in_a_row_met_the_goal_or_more_where_some_failed() {
        let goal = Preset::Csit.goals()[0];
        let range = range_from(1_000);
        let mut shown = Shown::default();
        let mut note = |pps: u64, lost: u64| {
            shown.note(&trial(pps, lost, 1000), &goal, range);
            let end = libm::log(200.0);
            (libm::exp(shown.lower_plain(&goal, end)).round(), shown.lower_lacks(&goal, end))
        };
        assert_eq!(note(200, 0), (200.0, 0), "there is no other one yet");
        assert_eq!(
            (note(250, 9), note(300, 9)),
            ((200.0, 0), (200.0, 0)),
            "what failed above it is no matter"
        );
        assert_eq!(
            (note(100, 0), note(150, 0)),
            ((100.0, 2), (100.0, 2)),
            "three in a row, the lowest of them is an end"
        );
        assert_eq!(note(200, 0), (150.0, 1));
        assert_eq!(note(201, 0), (200.0, 0), "three from 200 on");
        assert_eq!(note(200, 1), (100.0, 2), "three of four are not enough, and five of six are");
    }

    /// A trial in five bears 110, and the others 100: those at 105 and 110 that failed let no more than 100 through.
    #[test]
    fn no_lower_end_stands_that_more_trials_failed_than_met() {
        let goal = Preset::Csit.goals()[0];
        let range = range_from(1_000_000);
        let mut shown = Shown::default();
        let mut note = |pps: u64, lost: u64| {
            shown.note(&trial(pps, lost, 1000), &goal, range);
            libm::exp(shown.lower_agreed(&goal, libm::log(105_000.0))).round()
        };
        assert_eq!((note(99_000, 0), note(105_000, 0)), (105_000.0, 105_000.0), "none failed");
        assert_eq!(note(110_000, 10_000), 100_000.0, "as many failed as met it: so much came through");
        assert_eq!((note(107_000, 7_000), note(105_000, 0)), (100_000.0, 100_000.0));
        assert_eq!(
            (note(106_000, 0), note(110_000, 0)),
            (105_000.0, 105_000.0),
            "four met it, and two failed"
        );
        assert_eq!(
            note(103_000, 90_000),
            103_000.0,
            "three failed, and so large a loss tells of no lower load"
        );
    }

    #[test]
    fn an_upper_end_is_borne_where_twice_as_many_failed_there_and_below_as_met_it_there_and_above() {
        let goal = Preset::Csit.goals()[1];
        let range = range_from(1_000);
        let mut shown = Shown::default();
        let mut note = |pps: u64, lost: u64| {
            shown.note(&trial(pps, lost, 1000), &goal, range);
            libm::exp(shown.upper_borne(&goal, libm::log(100.0))).round()
        };
        assert_eq!(note(100, 50), 100.0);
        assert_eq!(note(500, 0), f64::INFINITY, "one failed, one met it far above");
        assert_eq!(note(900, 500), 900.0, "there and above none met it");
        assert_eq!(note(110, 50), 100.0, "a little above counts too");
        assert_eq!(note(200, 0), 900.0);
        assert_eq!((note(300, 50), note(300, 50)), (300.0, 300.0), "four failed there, and one met it above");
    }

    #[test]
    fn a_goal_that_trials_at_a_load_fail_nearly_always_fails_there() {
        let goal = Preset::Csit.goals()[0];
        let range = range_from(1_000_000);
        let mut shown = Shown::default();
        let mut note = |lost: u64| {
            shown.note(&trial(1000, lost, 1000), &goal, range);
            shown.fails_at(&goal, range.min(), 0.05)
        };
        let said: Vec<bool> = [1, 1, 1, 1, 1, 0, 1, 1, 1].map(&mut note).to_vec();
        assert_eq!(said, [false, false, false, false, true, false, false, true, true]);
    }

    #[test]
    fn one_bad_trial_at_the_lowest_load_puts_no_limit_below_it_and_five_do() {
        let goal = Preset::Csit.goals()[0];
        let range = range_from(1_000_000);
        let mut shown = Shown::default();
        let mut note = |pps: u64, lost: u64| {
            shown.note(&trial(pps, lost, 1000), &goal, range);
            let level = Ratio::new(0.95).unwrap();
            let answer = shown.without_knee(&goal, range, level, None).result;
            (answer == GoalResult::BelowMinimum { level }, shown.open_end(&goal, range, 0.05).is_some())
        };
        let outage: Vec<_> = (0..5).map(|_| note(1000, 1000)).collect();
        assert_eq!(outage, [(false, true), (false, true), (false, true), (false, true), (true, false)]);
        assert_eq!(note(2000, 0), (false, true), "a higher load was met");
    }

    #[test]
    fn trials_that_lost_far_more_than_others_did_at_no_lower_load_fail_anywhere() {
        let goal = Preset::Csit.goals()[0];
        let range = range_from(1_000_000);
        let mut shown = Shown::default();
        let mut note = |pps: u64, lost: u64| {
            shown.note(&trial(pps, lost, 1000), &goal, range);
            !shown.failed_anywhere().is_empty()
        };
        assert!(!note(9000, 0) && !note(20_000, 11_000), "overload");
        assert!(!note(8000, 2000) && !note(8500, 2000), "dips");
        assert!(!note(7000, 6000), "a moment");
        assert!(note(5000, 5000));
    }

    /// The same shallow: a load at which one in twenty packets is lost, far below what others bore.
    #[test]
    fn shallow_failures_far_below_what_others_bore_are_of_any_load_and_single_packets_are_not() {
        let goal = Preset::Csit.goals()[0];
        let range = range_from(1_000_000);
        let fails_anywhere = |lost: u64| {
            let mut shown = Shown::default();
            for (pps, lost) in [(9000, 0), (10_000, 500), (5000, lost), (4000, lost)] {
                shown.note(&trial(pps, lost, 1000), &goal, range);
            }
            !shown.failed_anywhere().is_empty()
        };
        assert!(fails_anywhere(250) && fails_anywhere(20));
        assert!(!fails_anywhere(1) && !fails_anywhere(0));
    }

    /// One in eleven failed at lower loads: five in a row above are no chance. Where four did, seven may be.
    #[test]
    fn the_rarer_trials_fail_at_any_load_the_fewer_that_fail_in_a_row_are_an_upper_end() {
        let goal = Preset::Csit.goals()[0];
        let range = range_from(1_000_000);
        let ends = |bad: u64| -> Vec<u64> {
            let mut shown = Shown::default();
            let mut note = |pps: u64, is_bad: bool| {
                let input =
                    TrialInput { load: Rate::from_millipps(pps * 1000), duration: Duration::from_secs(1) };
                let forwarded = if is_bad { pps / 2 } else { pps };
                shown.note(&Trial { offered: pps, forwarded, ..Trial::new(1, input, 7) }, &goal, range);
                let end = shown.certain_upper(&goal, 0.025);
                if end.is_finite() { libm::exp(end).round() as u64 } else { 0 }
            };
            for step in 0..10 {
                note(5000 + 100 * (step * 7 % 10), step < bad);
            }
            note(6000, false);
            (0..9).map(|step| note(9000 + step, true)).collect()
        };
        assert_eq!(ends(1), [0, 0, 0, 0, 9004, 9004, 9004, 9004, 9004]);
        assert_eq!(ends(4)[6], 0, "{:?}", ends(4));
    }

    #[test]
    fn good_trials_in_a_row_are_a_lower_end_where_few_failed_and_luck_where_many_did() {
        let goal = Preset::Csit.goals()[0];
        let end = |failed: u64, met: u64| {
            let mut shown = Shown::default();
            (0..failed).for_each(|at| shown.note(&trial(2000 + at, 500, 1000), &goal, range_from(1_000_000)));
            (0..met).for_each(|at| shown.note(&trial(5000 + at, 0, 1000), &goal, range_from(1_000_000)));
            libm::exp(shown.certain_lower(&goal, 0.025)).round()
        };
        // Half of them would fail: six in a row are luck in 1.6 % of searches.
        assert_eq!((end(0, 5), end(0, 6), end(2, 6)), (0.0, 5000.0, 5000.0));
        assert_eq!((end(9, 6), end(9, 8), end(9, 9)), (0.0, 0.0, 5000.0));
    }

    #[test]
    fn a_failure_far_below_is_tried_again_until_it_was_met_or_failed_three_times() {
        let goal = Preset::Csit.goals()[0];
        let range = range_from(1_000);
        let mut shown = Shown::default();
        let mut note = |pps: u64, lost: u64| {
            shown.note(&trial(pps, lost, 1000), &goal, range);
            shown.unmet(libm::log(100.0)).map(|load| load.as_pps() as u64)
        };
        assert_eq!((note(100, 0), note(95, 1)), (None, None), "near it is no band");
        assert_eq!(note(70, 1), Some(70));
        assert_eq!(note(71, 0), None, "it was a moment");
        assert_eq!((note(50, 1), note(50, 1), note(50, 1)), (Some(50), Some(50), None), "it is a band");
    }
}
