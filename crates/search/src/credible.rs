//! Credible intervals: where the truth lies, with what probability, after the time that was given.
//!
//! Bisection believes each trial; on a system that varies it returns a narrow interval around a random
//! point. This search weighs instead: a [model](model) of what one trial does, with nine unknowns; a
//! [cloud](particles) of particles that is the belief after all trials; the [load](choice) after whose trial
//! the goals' loads are expected to be known best. It stops when every interval is within its goal's width
//! or the budget is spent; then it says how wide the interval is. What it takes for granted it [doubts](diagnostics)
//! afterwards: that trials do not depend on one another, and that nothing is lost [far below](low_load_probe). Whatever it believes,
//! no interval contradicts [what trials showed](ends), leaves out much of what they leave [possible](monotone), or reaches
//! beyond what they make [certain](monotone_bounds) by themselves. Where trials seem to leave something to the next ones, it [asks](CarryOver)
//! whether a rest helps.

mod choice;
mod constants;
mod curve;
mod diagnostics;
mod discarded;
mod ends;
mod first_load;
mod freshness;
mod goal_search;
mod locate;
mod low_load_probe;
mod model;
mod monotone;
mod monotone_bounds;
mod normal;
mod particles;
mod prior;
mod random_orders;
mod short_trials;
mod two_states;
mod view;

use crate::carry_over::CarryOver;
use crate::crossed::Crossed;
use crate::second_look::SecondLook;
use crate::{Algorithm, Belief, Bound, Bounds, Goal, GoalError, GoalOutcome, GoalResult};
use constants::credible::{MOST_TRIALS, PROBED_BEFORE, PROBES};
use dropline_trial::{Caveat, LoadRange, Rate, Ratio, Trial, TrialInput, seed};
use goal_search::GoalSearch;
use low_load_probe::LowLoadProbe;
use std::time::Duration;

/// Time for a search that nobody gave a budget.
pub const BUDGET: Duration = Duration::from_secs(36);

/// What a search for credible intervals is built from.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What to find, in any order; at least one. The truth of a goal is the load up to which one more trial
    /// of its duration exceeds its loss ratio with a probability of at most its exceed ratio, or 0.5 where
    /// that is 0. Duration sums and initial durations are ignored.
    pub goals: Vec<Goal>,
    /// Loads that may be tried.
    pub range: LoadRange,
    /// Bound on the sum of the trials' elapsed times, looked at before each trial.
    pub budget: Duration,
    /// How often the intervals shall hold the true value, in [0.5, 0.999].
    pub level: f64,
    /// Chance of the search's own: the same seed and trials give the same loads.
    pub seed: u64,
}

impl Config {
    /// Thirty-six seconds, 95 %.
    pub fn new(goals: Vec<Goal>, range: LoadRange) -> Self {
        Self { goals, range, budget: BUDGET, level: 0.95, seed: 7 }
    }
}

/// Why a search for credible intervals cannot be built.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq)]
pub enum CredibleError {
    /// Nothing to find.
    #[error("the credible search needs at least one goal")]
    NoGoal,
    /// A goal that no search can reach.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// Less than half is no claim, and more than 999 of 1000 cannot be learned from a few trials.
    #[error("the level of an interval must be between 50 % and 99.9 %, not {} %", 100.0 * .0)]
    Level(f64),
    /// A search without time measures nothing.
    #[error("the budget must be above 0")]
    NoBudget,
}

/// A search for credible intervals.
#[derive(Debug)]
pub struct Credible {
    goals: usize,
    /// By trial duration, shortest first.
    inquiries: Vec<GoalSearch>,
    /// The inquiry at work.
    current: usize,
    /// Below the lower end of a zero-loss goal, once the inquiries are over.
    probe: Option<LowLoadProbe>,
    crossed: Crossed,
    /// Asked where trials look like it, between those of an inquiry.
    carry_over: CarryOver,
    /// The inquiry that ended for it.
    carried_over: Option<usize>,
    /// Once the probes are over too.
    second_look: SecondLook,
    /// What the trial that is wanted is made for.
    made_for: For,
    /// Whether a trial was wanted, and its time did not suffice.
    lacked_time: bool,
    range: LoadRange,
    /// By how much the longest trial was longer than its traffic.
    waits: Duration,
    budget: Duration,
    spent: Duration,
    trials: usize,
    wanted: Option<TrialInput>,
}

/// What a trial is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum For {
    #[default]
    Inquiry,
    CarryOver,
    Probe,
    SecondLook,
}

impl Credible {
    /// A search that has not begun.
    ///
    /// # Errors
    /// If there is no goal, one cannot be searched for, the level is no claim, or there is no time.
    pub fn new(config: Config) -> Result<Self, CredibleError> {
        let Config { goals, range, budget, level, seed } = config;
        if goals.is_empty() {
            return Err(CredibleError::NoGoal);
        }
        for goal in &goals {
            goal.checked()?;
        }
        if !(0.5..=0.999).contains(&level) {
            return Err(CredibleError::Level(level));
        }
        if budget.is_zero() {
            return Err(CredibleError::NoBudget);
        }
        let mut durations: Vec<Duration> = goals.iter().map(|goal| goal.trial_duration).collect();
        durations.sort();
        durations.dedup();
        let inquiries = durations
            .iter()
            .zip(1..)
            .map(|(&duration, number)| {
                let alike =
                    goals.iter().copied().enumerate().filter(|(_, goal)| goal.trial_duration == duration);
                GoalSearch::new(alike.collect(), range, level, seed::of_trial(seed, number), range.max())
            })
            .collect();
        let mut credible = Self {
            goals: goals.len(),
            inquiries,
            current: 0,
            probe: None,
            crossed: Crossed::default(),
            carry_over: CarryOver::default(),
            carried_over: None,
            second_look: SecondLook::default(),
            made_for: For::default(),
            lacked_time: false,
            range,
            waits: Duration::ZERO,
            budget,
            spent: Duration::ZERO,
            trials: 0,
            wanted: None,
        };
        credible.decide();
        Ok(credible)
    }

    /// Whether no trial is wanted any more.
    pub(crate) fn is_over(&self) -> bool {
        self.wanted.is_none()
    }

    /// Whether at least half of another trial is within the time of the inquiry at work; one trial always is.
    fn has_time(&self, inquiry: &GoalSearch) -> bool {
        let half = (inquiry.duration() + self.waits) / 2;
        let fresh = inquiry.is_untried() && self.spent < self.budget;
        fresh || self.spent + half < self.share()
    }

    /// How many whole trials are within the time of the inquiry at work.
    fn left(&self, inquiry: &GoalSearch) -> usize {
        let left = self.share().saturating_sub(self.spent).as_secs_f64();
        libm::round(left / (inquiry.duration() + self.waits).as_secs_f64()) as usize
    }

    /// Time that the inquiries up to the one at work may spend: by their trials' durations, less what the
    /// probes need.
    fn share(&self) -> Duration {
        let sum = |count: usize| -> f64 {
            self.inquiries[..count].iter().map(|inquiry| inquiry.duration().as_secs_f64()).sum()
        };
        let reserve = match self.zero_loss() {
            Some(inquiry) if self.probe.as_ref().is_none_or(|probe| probe.next_trial().is_some()) => {
                LowLoadProbe::cost(inquiry.duration(), self.waits).min(self.budget.mul_f64(PROBES))
            }
            _ => Duration::ZERO,
        };
        (self.budget - reserve).mul_f64(sum(self.current + 1) / sum(self.inquiries.len()))
    }

    /// The inquiry with the shortest trials that has a zero-loss goal.
    fn zero_loss(&self) -> Option<&GoalSearch> {
        self.inquiries.iter().find(|inquiry| inquiry.goals().iter().any(is_zero_loss))
    }

    fn decide(&mut self) {
        self.wanted = if self.trials < MOST_TRIALS { self.choose() } else { None };
    }

    fn choose(&mut self) -> Option<TrialInput> {
        while self.current < self.inquiries.len() {
            if let Some(probe) = self.probe_meanwhile() {
                return Some(probe);
            }
            let left = self.left(&self.inquiries[self.current]);
            self.inquiries[self.current].leave_time(left);
            let inquiry = &self.inquiries[self.current];
            let rest = self.carry_over.next(inquiry.duration()).map(|input| self.within_range(input));
            self.made_for = if rest.is_some() { For::CarryOver } else { For::Inquiry };
            let is_open = self.carried_over != Some(self.current);
            let wanted = rest.or_else(|| inquiry.next_trial(left)).filter(|_| is_open);
            if wanted.is_some() && self.has_time(inquiry) {
                return wanted;
            }
            self.lacked_time |= wanted.is_some();
            self.inquiries[self.current].settle();
            self.current += 1;
        }
        if self.probe.is_none() {
            self.probe = self.first_probe();
        }
        let probe = self.probe.as_ref().and_then(LowLoadProbe::next_trial);
        self.made_for = if probe.is_some() { For::Probe } else { For::SecondLook };
        let wanted = probe.or_else(|| self.look_again());
        self.lacked_time |= wanted.is_some() && self.spent >= self.budget;
        wanted.filter(|_| self.spent < self.budget)
    }

    /// A probe between the trials of the inquiry at work, so that its last ones tell of the end of the search.
    fn probe_meanwhile(&mut self) -> Option<TrialInput> {
        let inquiry = &self.inquiries[self.current];
        let is_time = inquiry.is_weighing() && self.left(inquiry) <= PROBED_BEFORE;
        if !is_time
            || !inquiry.goals().iter().any(is_zero_loss)
            || matches!(self.carry_over, CarryOver::Asking { .. })
        {
            return None;
        }
        if self.probe.is_none() {
            self.probe = self.first_probe();
        }
        self.made_for = For::Probe;
        self.probe.as_ref().and_then(LowLoadProbe::next_trial)
    }

    fn within_range(&self, input: TrialInput) -> TrialInput {
        TrialInput { load: self.range.clamp(input.load), ..input }
    }

    /// A trial as long as those of a goal, at a load at which the last ones failed and others did not.
    fn look_again(&self) -> Option<TrialInput> {
        if self.carry_over == CarryOver::Shown {
            return None;
        }
        let goals = || self.inquiries.iter().flat_map(GoalSearch::goals);
        let allowed = goals().map(|goal| goal.loss_ratio).min()?;
        let (pps, length) = self.second_look.next(&self.crossed, allowed.as_f64())?;
        let as_long = goals().map(|goal| goal.trial_duration).filter(|duration| *duration >= length).min();
        let duration = as_long.unwrap_or(length);
        let load = Rate::pps(pps).unwrap_or(self.range.min());
        (self.spent + duration / 2 < self.budget).then(|| self.within_range(TrialInput { load, duration }))
    }

    fn first_probe(&self) -> Option<LowLoadProbe> {
        let inquiry = self.zero_loss()?;
        let answers = inquiry.goals().iter().zip(inquiry.outcome());
        let lower =
            answers.filter(|(goal, _)| is_zero_loss(goal)).filter_map(|(_, answer)| answer.lower).min()?;
        Some(LowLoadProbe::below(lower, inquiry.duration(), self.range.min(), |input| {
            inquiry.loss_expected(input)
        }))
    }

    /// A probe is a trial too: where it failed below an end, more good ones have to bear that end. They are made once the
    /// probes are over, unless these deny the end altogether.
    fn note_probe(&mut self, trial: &Trial, is_over: bool) {
        let Some(place) = self.inquiries.iter().position(|one| one.goals().iter().any(is_zero_loss)) else {
            return;
        };
        self.inquiries[place].note_probe(trial);
        if is_over && self.probe.as_ref().is_some_and(|probe| probe.found().is_none()) {
            self.current = place;
        }
    }

    /// The answer to a zero-loss goal when packets were lost far below it.
    fn lowered(&self, outcome: GoalOutcome, goal: &Goal) -> GoalOutcome {
        let found = self.probe.as_ref().and_then(LowLoadProbe::found).filter(|_| is_zero_loss(goal));
        match (found, outcome.result.level()) {
            (Some((lossy, clean)), Some(level)) if outcome.lower.is_some_and(|lower| lossy < lower) => {
                let lowest = clean.unwrap_or(self.range.min());
                let middle = Rate::pps(libm::sqrt(lowest.as_pps() * lossy.as_pps()));
                let median = middle.map_or(lowest, |middle| middle.clamp(lowest, lossy));
                GoalOutcome { lower: clean, result: GoalResult::Wide { median, level }, ..outcome }
            }
            _ => outcome,
        }
    }

    /// Answers of the inquiries in the order of the goals.
    fn in_order<T: Clone>(&self, of: impl Fn(&GoalSearch) -> Vec<T>) -> Vec<T> {
        let mut answers: Vec<(usize, T)> = self
            .inquiries
            .iter()
            .flat_map(|inquiry| inquiry.indices().iter().copied().zip(of(inquiry)).collect::<Vec<_>>())
            .collect();
        answers.sort_by_key(|(index, _)| *index);
        debug_assert_eq!(answers.len(), self.goals);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }
}

impl Algorithm for Credible {
    fn next_trial(&mut self) -> Option<TrialInput> {
        self.wanted
    }

    fn record(&mut self, trial: &Trial) {
        self.spent += trial.elapsed;
        self.trials += 1;
        self.waits = self.waits.max(trial.elapsed.saturating_sub(trial.input.duration));
        self.crossed.note(trial, Duration::ZERO);
        match (self.made_for, &mut self.probe) {
            (For::SecondLook, _) => {
                self.second_look.note();
                self.inquiries.iter_mut().for_each(|inquiry| inquiry.note_later(trial));
                let passed = self.inquiries.iter().position(GoalSearch::is_passed);
                self.current = passed.unwrap_or(self.current);
            }
            (For::Probe, Some(probe)) => {
                probe.record(trial);
                let is_over = probe.next_trial().is_none();
                self.note_probe(trial, is_over);
            }
            _ => {
                let Some(inquiry) = self.inquiries.get_mut(self.current) else { return };
                inquiry.record(trial);
                self.carry_over.note(trial, &self.crossed, self.made_for == For::CarryOver);
                let is_shown = self.carry_over == CarryOver::Shown;
                self.carried_over = self.carried_over.or(Some(self.current).filter(|_| is_shown));
            }
        }
        self.decide();
    }

    /// Every inquiry is asked again whether it has time now. Probes that were cut short begin anew, below what is
    /// found by then; what they found stays.
    fn budget(&mut self, budget: Option<Duration>) {
        self.budget = budget.unwrap_or(BUDGET);
        self.lacked_time = false;
        self.current = 0;
        self.probe.take_if(|probe| probe.next_trial().is_some() && !probe.is_suspicious());
        self.decide();
    }

    fn lacked_time(&self) -> bool {
        self.lacked_time
    }

    fn settle(&mut self) {
        self.inquiries.iter_mut().for_each(GoalSearch::settle);
    }

    fn phase(&self) -> String {
        match (self.made_for, self.inquiries.get(self.current)) {
            (For::CarryOver, _) => "rest",
            (For::Probe, _) => "probe",
            (For::SecondLook, _) => "look again",
            (For::Inquiry, Some(inquiry)) if inquiry.is_locating() => "locate",
            (For::Inquiry, _) => "weigh",
        }
        .into()
    }

    fn bounds(&self) -> Vec<Bounds> {
        let bound = |load: Option<Rate>| load.map(|load| Bound { load, valid: true });
        let bounds = |outcome: &GoalOutcome| Bounds {
            lower: bound(outcome.lower),
            upper: bound(outcome.upper),
            median: outcome.median(),
        };
        self.outcome().iter().map(bounds).collect()
    }

    fn outcome(&self) -> Vec<GoalOutcome> {
        self.in_order(|inquiry| {
            let answers = inquiry.outcome().into_iter().zip(inquiry.goals());
            answers.map(|(outcome, goal)| self.lowered(outcome, goal)).collect()
        })
    }

    /// The curve is that of the inquiry with the longest trials that has one.
    fn belief(&self) -> Option<Belief> {
        let cost = self.spent.checked_div(u32::try_from(self.trials).ok()?)?;
        let curve = self.inquiries.iter().rev().map(GoalSearch::curve).find(|curve| !curve.is_empty())?;
        let outlooks = self.in_order(|inquiry| inquiry.outlooks(self.spent, cost));
        Some(Belief { curve, outlooks })
    }

    fn caveats(&self) -> Vec<Caveat> {
        let below = self.probe.as_ref().and_then(LowLoadProbe::caveat);
        below.into_iter().chain(self.in_order(GoalSearch::why_open).into_iter().flatten()).collect()
    }
}

fn is_zero_loss(goal: &Goal) -> bool {
    goal.loss_ratio == Ratio::ZERO
}
