//! An algorithm within its limits, fed with evidence only.

use crate::contradiction::contradictions;
use crate::steadiness::Steadiness;
use crate::undisturbed::Undisturbed;
use crate::{Algorithm, Belief, Bounds, Goal, GoalOutcome, GoalResult, Irregular};
use dropline_trial::{Caveat, Rate, Trial, TrialInput};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a load is tried again when our own failings spoil the trial.
///
/// After that the trial counts as bad: a load that cannot be offered cannot be a lower bound.
const VOID_TRIES: u32 = 2;
/// A target fell silent where so many last trials lost more than a tenth at loads that were achieved before.
const SILENT: usize = 3;
/// So many void trials in a search are tried again in any case; further ones while half of all trials are good.
const VOIDS_BORNE: u64 = 12;

/// When a search gives up, whatever it knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bound on the sum of the trials' elapsed times, looked at before each trial.
    pub budget: Option<Duration>,
    /// Bound on the number of trials.
    pub max_trials: Option<u64>,
}

/// A search: asks for trials, learns from them, knows what it would answer.
///
/// Trials that say more about us than about the target (see
/// [`Trial::is_void_at`](dropline_trial::Trial::is_void_at)) are asked for again, twice at each load, while not most
/// trials are void. What an algorithm makes of one that stays void is charged to us: no answer rests on it, nor on
/// trials alone that our own side disturbed. A trial in which the target died is asked for again likewise; one that it never survives is the target's own failure.
///
/// ```
/// use dropline_search::{Binary, Limits, Preset, Search};
/// use dropline_sim::{Settings, Simulated, System, default_range};
/// use dropline_trial::{Measurer as _, Rate, TrafficProfile};
///
/// let capacity = Rate::pps(8e6)?;
/// let settings = Settings { capacity: Some(capacity), ..Settings::default() };
/// let mut target = Simulated::new(System::named("hard")?, settings, TrafficProfile::default(), 1);
/// let goals = Preset::Csit.goals();
/// let algorithm = Binary::new(&goals, default_range())?;
/// let mut search = Search::new(Box::new(algorithm), goals, Limits::default());
/// while let Some(input) = search.next_trial() {
///     let trial = target.measure(input)?; // the only line that touches the world
///     search.record(&trial);
/// }
/// let no_loss = search.outcome()[0];
/// assert!(no_loss.lower <= Some(capacity) && no_loss.upper >= Some(capacity));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Search {
    algorithm: Box<dyn Algorithm>,
    goals: Vec<Goal>,
    limits: Limits,
    spent: Duration,
    trials: u64,
    /// The algorithm wants another trial, whatever the limits say.
    is_open: bool,
    /// Trials that say more about us than about the target.
    ours: u64,
    /// Those of them of which that is mostly so because others kept the target from its CPU.
    starved: u64,
    /// What whole trials of each load said that our own side left alone, an entry a goal.
    judged: Vec<BTreeMap<Rate, Judged>>,
    /// The highest load at which a whole trial achieved the goal, an entry a goal.
    achieved: Vec<Option<Rate>>,
    /// What came through in the last trial, in packets a second.
    last_pps: f64,
    /// How many last trials lost more than a tenth at loads at which a goal was achieved before.
    silent: usize,
    /// Void trials, of all loads and of each: those, and trials in which the target died.
    voids: u64,
    voids_at: BTreeMap<Rate, u32>,
    last_is_void: bool,
    /// Loads that failed a goal only through our own failings, an entry a goal.
    charged: BTreeMap<Rate, Vec<Charge>>,
    undisturbed: Undisturbed,
    steadiness: Steadiness,
}

/// What one goal owes to our own failings at a load.
#[derive(Clone, Copy, Debug, Default)]
struct Charge {
    /// A trial failed the goal only through them, and the target's own failures do not suffice.
    stands: bool,
    /// For how long the target failed the goal by itself since then.
    own: Duration,
}

impl Charge {
    /// The target failed the goal by itself: for long enough, and the bound is its own (RFC 9971, appendix A).
    fn fails(&mut self, goal: &Goal, lasted: Duration) {
        self.own += lasted;
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.stands &= !goal.exceed_ratio.is_exceeded_by(nanos(self.own), nanos(goal.duration_sum));
    }
}

impl Search {
    /// A search for `goals` by `algorithm`, which was built for the same goals in the same order.
    pub fn new(algorithm: Box<dyn Algorithm>, goals: Vec<Goal>, limits: Limits) -> Self {
        Self {
            algorithm,
            judged: vec![BTreeMap::new(); goals.len()],
            achieved: vec![None; goals.len()],
            last_pps: 0.0,
            silent: 0,
            goals,
            limits,
            spent: Duration::ZERO,
            trials: 0,
            is_open: true,
            ours: 0,
            starved: 0,
            voids: 0,
            voids_at: BTreeMap::new(),
            last_is_void: false,
            charged: BTreeMap::new(),
            undisturbed: Undisturbed::default(),
            steadiness: Steadiness::default(),
        }
    }

    /// The goals, in the order of the answers.
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// The next trial to perform; `None` when the search is done or a limit is reached.
    pub fn next_trial(&mut self) -> Option<TrialInput> {
        let out_of_time = self.limits.budget.is_some_and(|budget| self.spent >= budget);
        let out_of_trials = self.limits.max_trials.is_some_and(|most| self.trials >= most);
        if out_of_time || out_of_trials {
            self.settle();
            return None;
        }
        self.algorithm.next_trial()
    }

    /// Whether the algorithm made no more of what it wanted, its budget being too short for that.
    pub fn lacked_time(&self) -> bool {
        self.algorithm.lacked_time()
    }

    /// No trial follows, whatever the reason: what was seen so far is made an answer.
    pub fn settle(&mut self) {
        self.algorithm.settle();
    }

    /// The next trial whatever the limits; `None` when the search is done.
    pub fn wanted(&mut self) -> Option<TrialInput> {
        self.algorithm.next_trial()
    }

    /// Goes on with other limits from here on. What was decided before stays: an algorithm that shares out its
    /// budget shares out the new one.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
        self.algorithm.budget(limits.budget);
    }

    /// Learns from the trial that [`next_trial`](Self::next_trial) asked for.
    pub fn record(&mut self, trial: &Trial) {
        let trial = &*trial.as_judged();
        self.spent += trial.elapsed;
        self.trials += 1;
        let void = |goal: &Goal| trial.fails(goal.loss_ratio).is_none();
        let died = |goal: &Goal| trial.target_went_away() && trial.exceeds(goal.loss_ratio);
        let is_ours = self.goals.iter().any(void);
        if is_ours || self.goals.iter().any(died) {
            self.ours += u64::from(is_ours);
            self.starved += u64::from(is_ours && trial.is_mostly_starved());
            self.voids += 1;
            let tries = self.voids_at.entry(trial.input.load).or_default();
            *tries += 1;
            let is_borne = self.voids <= VOIDS_BORNE || !is_most(self.voids, self.trials);
            self.last_is_void = *tries <= VOID_TRIES && is_borne;
        } else {
            self.last_is_void = false;
        }
        if self.last_is_void {
            return;
        }
        if is_ours {
            let charged = self.charged.entry(trial.input.load).or_default();
            charged.resize(self.goals.len(), Charge::default());
            for (charge, _) in charged.iter_mut().zip(&self.goals).filter(|(_, goal)| void(goal)) {
                *charge = Charge { stands: true, own: Duration::ZERO };
            }
        }
        let load = trial.input.load;
        for (loads, goal) in self.judged.iter_mut().zip(&self.goals) {
            let judged = loads.entry(load).or_default();
            judged.failed += u64::from(is_failed(trial, goal));
            judged.met += u64::from(is_met(trial, goal));
        }
        for (highest, goal) in self.achieved.iter_mut().zip(&self.goals) {
            if is_met(trial, goal) {
                *highest = (*highest).max(Some(load));
            }
        }
        self.last_pps = trial.forwarding_rate_pps();
        let was_achieved = self.achieved.iter().flatten().any(|highest| load <= *highest);
        let is_deep = 10 * trial.lost_by_target() > trial.offered;
        self.silent = if was_achieved && is_deep { self.silent + 1 } else { 0 };
        for (charge, goal) in self.charged.get_mut(&trial.input.load).into_iter().flatten().zip(&self.goals) {
            if trial.target_exceeds(goal.loss_ratio) {
                charge.fails(goal, trial.input.duration);
            }
        }
        self.undisturbed.note(trial, &self.goals);
        self.steadiness.note(trial, &self.goals, self.spent - trial.elapsed);
        self.algorithm.record(trial);
        self.is_open = self.algorithm.next_trial().is_some();
    }

    /// Whether the last trial was void: it changed nothing, and is asked for again.
    pub fn last_is_void(&self) -> bool {
        self.last_is_void
    }

    /// Name of the phase that the next trial belongs to.
    pub fn phase(&self) -> String {
        self.algorithm.phase()
    }

    /// Sum of the trials' elapsed times.
    pub fn spent(&self) -> Duration {
        self.spent
    }

    /// Number of trials.
    pub fn trials(&self) -> u64 {
        self.trials
    }

    /// What is known now, a pair of bounds a goal.
    pub fn bounds(&self) -> Vec<Bounds> {
        self.algorithm.bounds()
    }

    /// A second statement by RFC 9971, one a goal, where the algorithm makes one.
    pub fn certified(&self) -> Option<Vec<GoalOutcome>> {
        self.algorithm.certified().map(|outcomes| self.charged_to_us(outcomes))
    }

    /// What is believed beyond the answer, where the algorithm has a model.
    pub fn belief(&self) -> Option<Belief> {
        self.algorithm.belief()
    }

    /// Doubts about what the search answers now. That the target changed explains all others.
    pub fn caveats(&self) -> Vec<Caveat> {
        let outcome = self.outcome();
        if let Some(change) = self.steadiness.change().or_else(|| self.fell_silent(&outcome)) {
            return vec![change];
        }
        let mut caveats = self.algorithm.caveats();
        caveats.extend(contradictions(&self.goals, &outcome));
        caveats.extend(self.steadiness.moments(&self.goals, &outcome));
        caveats
    }

    /// The doubt about a target that is said to fail at the lowest load, and achieved the goal before.
    fn fell_silent(&self, outcome: &[GoalOutcome]) -> Option<Caveat> {
        let fails = |outcome: &GoalOutcome| {
            matches!(
                outcome.result,
                GoalResult::BelowMinimum { .. } | GoalResult::Irregular(Irregular::BelowMinimum)
            )
        };
        let mut goals = outcome.iter().zip(&self.achieved);
        let load = goals.find_map(|(outcome, achieved)| achieved.filter(|_| fails(outcome)))?;
        let slowed = Caveat::Slowed { before_pps: load.as_pps(), then_pps: self.last_pps };
        (self.silent >= SILENT).then_some(slowed)
    }

    /// What the search answers now, one a goal; irregular until it is done.
    pub fn outcome(&self) -> Vec<GoalOutcome> {
        self.charged_to_us(self.algorithm.outcome())
    }

    /// The outcomes, irregular where they rest on trials that say more about us than about the target.
    fn charged_to_us(&self, mut outcomes: Vec<GoalOutcome>) -> Vec<GoalOutcome> {
        // One that ends between two tries of a load has that load's void trials to thank for it.
        let pending = u64::from(self.last_is_void && self.ours > 0);
        let mostly_void = is_most(self.ours + pending, self.trials);
        for (index, outcome) in outcomes.iter_mut().enumerate() {
            let charged = outcome.upper.and_then(|upper| self.charged.get(&upper));
            let is_vague = match outcome.result {
                GoalResult::Wide { .. } => true,
                GoalResult::Irregular(Irregular::Unfinished) => self.is_open,
                _ => false,
            };
            let is_shown = self.undisturbed.show(index, outcome);
            if charged.is_some_and(|charged| charged[index].stands) || mostly_void && is_vague || !is_shown {
                outcome.result = GoalResult::Irregular(Irregular::GeneratorLimited);
            }
            if outcome.result == GoalResult::Irregular(Irregular::GeneratorLimited) {
                let is_above = |failed: &Rate| outcome.lower.is_none_or(|lower| lower < *failed);
                outcome.upper = lowest_failed(&self.judged[index]).filter(is_above);
                if is_most(self.starved, self.ours)
                    || !is_shown && self.ours == 0 && self.undisturbed.is_mostly_starved()
                {
                    outcome.result = GoalResult::Irregular(Irregular::TargetStarved);
                }
            }
        }
        outcomes
    }
}

/// What whole trials of a load said of a goal.
#[derive(Clone, Copy, Debug, Default)]
struct Judged {
    failed: u64,
    met: u64,
}

/// The lowest load at which more trials failed than met the goal, and none above at which more met it.
fn lowest_failed(judged: &BTreeMap<Rate, Judged>) -> Option<Rate> {
    let from_above = judged.iter().rev().take_while(|(_, of)| of.met <= of.failed);
    from_above.filter(|(_, of)| of.met < of.failed).last().map(|(load, _)| *load)
}

/// Whether a whole trial met a goal.
fn is_met(trial: &Trial, goal: &Goal) -> bool {
    trial.input.duration >= goal.trial_duration && trial.fails(goal.loss_ratio) == Some(false)
}

/// Whether the target itself failed a goal in a whole trial of it.
fn is_failed(trial: &Trial, goal: &Goal) -> bool {
    trial.target_exceeds(goal.loss_ratio) && trial.input.duration >= goal.trial_duration
}

/// Whether more than half are void.
fn is_most(voids: u64, trials: u64) -> bool {
    2 * voids > trials
}

#[cfg(test)]
mod tests;
