//! Goals with trials of one length: where to look, then what is believed.

use super::choice::{self, Wish};
use super::cloud::Cloud;
use super::doubt::Doubt;
use super::locate::{Locate, Place};
use super::model::Evidence;
use super::normal::Normal;
use crate::{CurvePoint, Goal, GoalOutcome, GoalResult, Irregular, Outlook};
use dropline_trial::{Caveat, LoadRange, Rate, Ratio, Trial, TrialInput, seed};
use std::time::Duration;

/// Trials before an answer is believed to be narrow.
const LEAST_TRIALS: usize = 6;
/// The same where trials scatter by more than this: they may be alike for a while, and only time shows it.
const LEAST_WHERE_THEY_SCATTER: usize = 20;
const SCATTER: f64 = 8e-4;
/// There an interval is never stated narrower than this share of the width asked for: slow states may hide.
const NARROWEST: f64 = 0.9;
/// So many trials have been made when it asks, in turn, whether the first half is to be forgotten, for the
/// target had to warm up.
const LOOKS_BACK: [usize; 2] = [12, 18];
/// The first load was tried again, and found a faster target: so many trials later it forgets all before, and some
/// after it.
const LONGER: usize = 9;
const STILL_COLD: usize = 2;
/// What must be left then.
const LEAST_TO_GO_ON: usize = 3;
/// Loss above this share while looking around, and later, says nothing about the knee.
const FAR_WHILE_LOCATING: f64 = 0.1;
const FAR: f64 = 0.3;
/// A first trial that forwarded less than the lower end by this, on a logarithmic scale, is made again.
const SLOW: f64 = 0.03;
/// And by so many standard deviations of the trials' capacities.
const SLOW_SCATTERS: f64 = 8.0;
/// Share of the way to the lower end that it must have come then to have been cold.
const CATCHES_UP: f64 = 0.6;
/// θ is looked for within this distance of where the first trials lead, on a logarithmic scale.
const REACH: f64 = 0.5;
/// A narrow answer is more often a lucky one: what is left out of an interval is so much less than what its
/// level says, and falls with this power.
const PRUDENCE: f64 = 3.1;
const PRUDENCE_POWER: f64 = 1.7;

/// A search for goals whose trials are equally long.
#[derive(Debug)]
pub(super) struct Inquiry {
    goals: Vec<Goal>,
    /// Indices of the goals in the answer.
    indices: Vec<usize>,
    range: LoadRange,
    level: f64,
    seed: u64,
    stage: Stage,
    trials: usize,
    /// Of each goal, what trials at the ends of the range said.
    at_ends: Vec<AtEnds>,
    /// Whether the highest load is our own limit.
    capped: bool,
    views: Vec<View>,
    doubt: Doubt,
    /// The doubt that made it forget the first trials.
    warmed_up: Option<Doubt>,
    first: First,
}

/// The first load was far above the knee: when less came through than what turns out to be the capacity, it was
/// overloaded, or still cold. The same load again tells.
#[derive(Clone, Copy, Debug, PartialEq)]
enum First {
    /// No trial yet, or one that says nothing.
    Unknown,
    /// What came through a second, as a logarithm.
    Forwarded { load: Rate, log_pps: f64 },
    /// Tried again, as which trial, and whether it found a faster target then.
    Settled { faster: bool, number: usize },
}

#[derive(Debug)]
enum Stage {
    Locating(Locate, Vec<Evidence>),
    Weighing(Box<Cloud>),
    AtMaximum,
    BelowMinimum,
}

/// Trials at the ends of the range, good ones less bad ones.
#[derive(Clone, Copy, Debug, Default)]
struct AtEnds {
    min: i32,
    max: i32,
}

/// What is believed of one goal: logarithms of loads.
#[derive(Clone, Copy, Debug)]
struct View {
    lower: f64,
    median: f64,
    upper: f64,
}

impl Inquiry {
    /// Goals with their indices in the answer; all have the same trial duration.
    pub(super) fn new(
        goals: Vec<(usize, Goal)>,
        range: LoadRange,
        level: f64,
        seed: u64,
        start: Rate,
    ) -> Self {
        let (indices, goals): (Vec<usize>, Vec<Goal>) = goals.into_iter().unzip();
        let stage = Stage::Locating(Locate::new(range, start), Vec::new());
        let at_ends = vec![AtEnds::default(); goals.len()];
        Self {
            goals,
            indices,
            range,
            level,
            seed,
            stage,
            trials: 0,
            at_ends,
            capped: false,
            views: Vec::new(),
            doubt: Doubt::default(),
            warmed_up: None,
            first: First::Unknown,
        }
    }

    pub(super) fn duration(&self) -> Duration {
        self.goals[0].trial_duration
    }

    pub(super) fn indices(&self) -> &[usize] {
        &self.indices
    }

    pub(super) fn goals(&self) -> &[Goal] {
        &self.goals
    }

    pub(super) fn is_untried(&self) -> bool {
        self.trials == 0
    }

    pub(super) fn is_locating(&self) -> bool {
        matches!(self.stage, Stage::Locating(..))
    }

    /// The trial that teaches most; `None` when every goal is answered.
    pub(super) fn next_trial(&self) -> Option<TrialInput> {
        let load = match &self.stage {
            Stage::Locating(locate, _) => match locate.place() {
                Place::Open(load) => load,
                _ => return None,
            },
            Stage::Weighing(cloud) => match self.first_again() {
                Some(load) => load,
                None if self.is_narrow() => return None,
                None => self.best_load(cloud)?,
            },
            Stage::AtMaximum | Stage::BelowMinimum => return None,
        };
        Some(TrialInput { load, duration: self.duration() })
    }

    pub(super) fn record(&mut self, trial: &Trial) {
        self.trials += 1;
        self.note_ends(trial);
        self.note_first(trial);
        if let Some(ceiling) = our_limit(trial) {
            self.cap(ceiling);
            return;
        }
        match &mut self.stage {
            Stage::Locating(locate, seen) => {
                locate.record(trial);
                seen.extend(
                    Evidence::of(trial, self.trials).filter(|one| one.loss_ratio() <= FAR_WHILE_LOCATING),
                );
                match locate.place() {
                    Place::Open(_) => {}
                    Place::Near(load) => self.begin_weighing(load),
                    Place::AtMaximum => self.stage = Stage::AtMaximum,
                    Place::BelowMinimum => self.stage = Stage::BelowMinimum,
                }
            }
            Stage::Weighing(cloud) => {
                if let Some(evidence) = Evidence::of(trial, self.trials).filter(|one| one.loss_ratio() <= FAR)
                {
                    cloud.learn(evidence);
                    self.look();
                    self.forget_the_first();
                }
            }
            Stage::AtMaximum | Stage::BelowMinimum => {}
        }
    }

    fn note_first(&mut self, trial: &Trial) {
        let load = trial.input.load;
        let Some(loss) = trial.loss_ratio().filter(|&loss| loss < 1.0) else { return };
        let log_pps = libm::log(load.as_pps() * (1.0 - loss));
        if self.trials == 1 && loss > FAR_WHILE_LOCATING {
            self.first = First::Forwarded { load, log_pps };
        }
        if let First::Forwarded { load: first, log_pps: before } = self.first
            && self.trials > 1
            && load == first
            && let Some(view) = self.views.first()
        {
            let faster = log_pps > before + CATCHES_UP * (view.lower - before);
            self.first = First::Settled { faster, number: self.trials };
        }
    }

    /// The first load, when it has to be tried again.
    fn first_again(&self) -> Option<Rate> {
        let lowest = self.views.iter().map(|view| view.lower).fold(f64::INFINITY, f64::min);
        let Stage::Weighing(cloud) = &self.stage else { return None };
        let slow = SLOW.max(SLOW_SCATTERS * cloud.median_scatter());
        match self.first {
            First::Forwarded { load, log_pps } if load <= self.range.max() && log_pps < lowest - slow => {
                Some(load)
            }
            _ => None,
        }
    }

    fn note_ends(&mut self, trial: &Trial) {
        for (goal, at_ends) in self.goals.iter().zip(&mut self.at_ends) {
            let vote = if trial.exceeds(goal.loss_ratio) { -1 } else { 1 };
            if trial.input.load == self.range.min() {
                at_ends.min += vote;
            }
            if trial.input.load == self.range.max() {
                at_ends.max += vote;
            }
        }
    }

    /// Keeps below what our own generator can offer.
    fn cap(&mut self, ceiling: Rate) {
        let ceiling = ceiling.clamp(self.range.min(), self.range.max());
        self.range = LoadRange::new(self.range.min(), ceiling).expect("the ceiling is in the range");
        self.capped = true;
        self.at_ends.iter_mut().for_each(|at_ends| at_ends.max = 0);
        if let Stage::Locating(locate, _) = &mut self.stage {
            locate.cap(self.range);
            if self.range.min() == ceiling {
                self.stage = Stage::AtMaximum;
            }
        }
    }

    /// Number of the trial that showed that the first ones found a slower target.
    fn cold_until(&self) -> Option<usize> {
        match self.first {
            First::Settled { faster: true, number } => Some(number),
            _ => None,
        }
    }

    /// Once, when they look like those of a target that had to warm up.
    fn forget_the_first(&mut self) {
        let Stage::Weighing(cloud) = &self.stage else { return };
        let forgotten = match self.cold_until() {
            Some(number) if self.trials >= number + LONGER => number + STILL_COLD,
            None if LOOKS_BACK.contains(&self.trials) && self.doubt.warm_up.is_some() => self.trials / 2,
            _ => return,
        };
        let (first, rest): (Vec<Evidence>, Vec<Evidence>) =
            cloud.seen().iter().partition(|one| one.number <= forgotten);
        if self.warmed_up.is_some() || first.is_empty() || rest.len() < LEAST_TO_GO_ON {
            return;
        }
        self.warmed_up = Some(self.doubt);
        let centre = self.views.first().map_or(0.0, |view| view.median);
        let chance = seed::generator(seed::of_trial(self.seed, self.trials as u64));
        self.stage = Stage::Weighing(Box::new(Cloud::new((centre - REACH, centre + REACH), rest, chance)));
        self.look();
    }

    /// Doubts about the trials.
    pub(super) fn caveats(&self) -> Vec<Caveat> {
        let mut caveats = self.doubt.caveats();
        let before = self.warmed_up.map(|doubt| Doubt { warm_up: doubt.warm_up, ..Doubt::default() });
        if self.doubt.warm_up.is_none() {
            caveats.extend(before.iter().flat_map(Doubt::caveats));
        }
        caveats
    }

    fn begin_weighing(&mut self, near: Rate) {
        let Stage::Locating(_, seen) = &mut self.stage else { return };
        let centre = libm::log(near.as_pps());
        let chance = seed::generator(self.seed);
        let cloud = Cloud::new((centre - REACH, centre + REACH), std::mem::take(seen), chance);
        self.stage = Stage::Weighing(Box::new(cloud));
        self.look();
    }

    /// Takes the goals' loads from the cloud.
    fn look(&mut self) {
        let Stage::Weighing(cloud) = &self.stage else { return };
        let normal = Normal::tables();
        let left_out = PRUDENCE * libm::pow(1.0 - self.level, PRUDENCE_POWER);
        let tail = 0.5 * left_out.min(1.0 - self.level);
        self.doubt = Doubt::of(cloud, self.cold_until().is_some());
        let widening = self.doubt.widening();
        let scatters = cloud.median_scatter() > SCATTER;
        self.views = self
            .goals
            .iter()
            .map(|goal| {
                let mut loads: Vec<(f64, f64)> = cloud
                    .weighted()
                    .map(|(shape, weight)| {
                        (
                            goal_load(goal, |ratio, exceed, seconds| {
                                shape.goal_load(ratio, exceed, seconds, normal)
                            }),
                            weight,
                        )
                    })
                    .collect();
                loads.sort_by(|one, other| one.0.total_cmp(&other.0));
                let least = if scatters { 0.5 * NARROWEST * goal.width.as_f64() } else { 0.0 };
                let [lower, median, upper] = [tail, 0.5, 1.0 - tail].map(|share| quantile(&loads, share));
                View {
                    lower: median - (widening * (median - lower)).max(least),
                    median,
                    upper: median + (widening * (upper - median)).max(least),
                }
            })
            .collect();
    }

    fn is_narrow(&self) -> bool {
        self.trials >= self.least_trials()
            && self.doubt.is_none()
            && (self.cold_until().is_none() || self.warmed_up.is_some())
            && self.goals.iter().zip(&self.views).all(|(goal, view)| self.is_settled(goal, view))
    }

    fn least_trials(&self) -> usize {
        match &self.stage {
            Stage::Weighing(cloud) if cloud.median_scatter() > SCATTER => LEAST_WHERE_THEY_SCATTER,
            _ => LEAST_TRIALS,
        }
    }

    /// Whether a goal's interval is within its width, or beyond an end of the range.
    fn is_settled(&self, goal: &Goal, view: &View) -> bool {
        let (lower, upper) = self.ends(view);
        match (lower, upper) {
            (Some(lower), Some(upper)) => width(lower, upper) <= goal.width.as_f64(),
            (Some(lower), None) => width(lower, self.range.max()) <= goal.width.as_f64(),
            (None, _) => true,
        }
    }

    /// Ends of the interval within the range; `None` where it reaches beyond.
    fn ends(&self, view: &View) -> (Option<Rate>, Option<Rate>) {
        let rate = |log: f64| Rate::pps(libm::exp(log)).unwrap_or(self.range.min());
        let (min, max) = (self.range.min(), self.range.max());
        if rate(view.upper) <= min {
            return (None, Some(min));
        }
        let lower = self.range.clamp(rate(view.lower));
        let upper = rate(view.upper);
        (Some(lower), (upper < max).then_some(upper))
    }

    fn best_load(&self, cloud: &Cloud) -> Option<Rate> {
        let normal = Normal::tables();
        let draws = cloud.sample(choice::draws());
        let open = self.goals.iter().zip(&self.views).filter(|(goal, view)| !self.is_settled(goal, view));
        let mut wishes: Vec<Wish> = open.map(|(goal, view)| self.wish(goal, view, &draws, normal)).collect();
        if wishes.is_empty() {
            wishes = self
                .goals
                .iter()
                .zip(&self.views)
                .map(|(goal, view)| self.wish(goal, view, &draws, normal))
                .collect();
        }
        let range = (libm::log(self.range.min().as_pps()), libm::log(self.range.max().as_pps()));
        let best = choice::best(&draws, &wishes, self.duration().as_secs_f64(), range)?;
        Rate::pps(libm::exp(best)).ok().map(|load| self.range.clamp(load))
    }

    fn wish(&self, goal: &Goal, view: &View, draws: &[super::model::Shape], normal: &Normal) -> Wish {
        let mut loads: Vec<f64> = draws
            .iter()
            .map(|shape| {
                goal_load(goal, |ratio, exceed, seconds| shape.goal_load(ratio, exceed, seconds, normal))
            })
            .collect();
        let ordered = {
            let mut ordered = loads.clone();
            ordered.sort_by(f64::total_cmp);
            ordered
        };
        // A stray draw far outside the interval must not decide where to look.
        let span = (view.upper - view.lower).max(1e-6);
        for load in &mut loads {
            *load = load.clamp(view.lower - span, view.upper + span);
        }
        let at = |share: f64| ordered[((ordered.len() - 1) as f64 * share) as usize];
        Wish { loads, points: [at(0.1), at(0.5), at(0.9)], width: goal.width.as_f64() }
    }

    /// What is believed of the mean loss, from below the lowest interval to above the highest.
    pub(super) fn curve(&self) -> Vec<CurvePoint> {
        const POINTS: usize = 49;
        const DRAWS: usize = 400;
        let Stage::Weighing(cloud) = &self.stage else { return Vec::new() };
        let draws = cloud.sample(DRAWS);
        let lowest = self.views.iter().map(|view| view.lower).fold(f64::INFINITY, f64::min);
        let highest = self.views.iter().map(|view| view.upper).fold(f64::NEG_INFINITY, f64::max);
        let margin = (highest - lowest).max(1e-3);
        let (min, max) = (libm::log(self.range.min().as_pps()), libm::log(self.range.max().as_pps()));
        let (from, to) = ((lowest - margin).max(min), (highest + margin).min(max));
        let point = |index: usize| {
            let log_load = from + (to - from) * index as f64 / (POINTS - 1) as f64;
            let mut losses: Vec<f64> = draws.iter().map(|shape| shape.mean_loss(log_load, 0.0)).collect();
            losses.sort_by(f64::total_cmp);
            let at = |share: f64| losses[((losses.len() - 1) as f64 * share) as usize];
            let load = Rate::pps(libm::exp(log_load)).ok()?;
            Some(CurvePoint { load, low: at(0.025), median: at(0.5), high: at(0.975) })
        };
        (0..POINTS).filter_map(point).collect()
    }

    /// How each interval would become narrower; `None` where there is none between two ends.
    pub(super) fn outlooks(&self, cost: Duration) -> Vec<Option<Outlook>> {
        let Stage::Weighing(cloud) = &self.stage else { return vec![None; self.goals.len()] };
        let outlook = |(goal, view): (&Goal, &View)| {
            let (lower, upper) = self.ends(view);
            let width = width(lower?, upper?);
            Some(Outlook::new(width, goal.width.as_f64(), cloud.seen().len(), cost))
        };
        self.goals.iter().zip(&self.views).map(outlook).collect()
    }

    /// The answer to each goal, in the order of [`indices`](Self::indices).
    pub(super) fn outcome(&self) -> Vec<GoalOutcome> {
        let one_by_one = |answer: &dyn Fn(usize) -> GoalOutcome| (0..self.goals.len()).map(answer).collect();
        match &self.stage {
            Stage::Locating(..) => {
                one_by_one(&|_| outcome(None, None, GoalResult::Irregular(Irregular::Unfinished)))
            }
            Stage::AtMaximum => one_by_one(&|_| self.at_maximum()),
            Stage::BelowMinimum => one_by_one(&|goal| self.without_knee(self.at_ends[goal])),
            Stage::Weighing(_) => one_by_one(&|goal| self.answer(&self.goals[goal], &self.views[goal])),
        }
    }

    fn at_maximum(&self) -> GoalOutcome {
        let result = if self.capped {
            GoalResult::Irregular(Irregular::GeneratorLimited)
        } else {
            GoalResult::AtMaximum { level: self.level_ratio() }
        };
        outcome(Some(self.range.max()), None, result)
    }

    /// The answer of a system that loses much at every load, which a generous goal may allow.
    fn without_knee(&self, at_ends: AtEnds) -> GoalOutcome {
        let (min, max, level) = (self.range.min(), self.range.max(), self.level_ratio());
        if at_ends.min < 0 {
            outcome(None, Some(min), GoalResult::BelowMinimum { level })
        } else if at_ends.max > 0 {
            self.at_maximum()
        } else {
            let median =
                Rate::pps(libm::sqrt(min.as_pps() * max.as_pps())).map_or(min, |load| self.range.clamp(load));
            outcome(Some(min), Some(max), GoalResult::Wide { median, level })
        }
    }

    fn answer(&self, goal: &Goal, view: &View) -> GoalOutcome {
        let (lower, upper) = self.ends(view);
        let level = self.level_ratio();
        let median = Rate::pps(libm::exp(view.median)).unwrap_or(self.range.min());
        let median = median.clamp(lower.unwrap_or(self.range.min()), upper.unwrap_or(self.range.max()));
        let settled = self.is_settled(goal, view);
        let result = match (lower, upper) {
            (None, _) => GoalResult::BelowMinimum { level },
            (Some(_), None) if self.capped => GoalResult::Irregular(Irregular::GeneratorLimited),
            (Some(_), None) if settled => GoalResult::AtMaximum { level },
            _ if settled => GoalResult::Narrow { median, level },
            _ => GoalResult::Wide { median, level },
        };
        outcome(lower, upper, result)
    }

    fn level_ratio(&self) -> Ratio {
        Ratio::new(self.level).expect("a level is below 1")
    }
}

fn outcome(lower: Option<Rate>, upper: Option<Rate>, result: GoalResult) -> GoalOutcome {
    GoalOutcome { lower, upper, conditional_throughput_pps: None, result }
}

/// The load that our own side could bear, where it failed by more than it should.
fn our_limit(trial: &Trial) -> Option<Rate> {
    const TOLERATED: f64 = 1e-3;
    let intended = trial.intended.unwrap_or(trial.offered).max(1) as f64;
    let borne = trial.offered.saturating_sub(trial.generator_lost) as f64 / intended;
    let ours = trial.is_void_at(Ratio::ZERO) && borne < 1.0 - TOLERATED;
    ours.then(|| Rate::pps((trial.input.load.as_pps() * borne * 0.99).max(1e-3)).unwrap_or(Rate::LOWEST))
}

/// A goal without exceed ratio asks for an even chance, as RFC 9971's goals in one trial do.
fn goal_load(goal: &Goal, load: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let exceed = if goal.exceed_ratio == Ratio::ZERO { 0.5 } else { goal.exceed_ratio.as_f64() };
    load(goal.loss_ratio.as_f64(), exceed, goal.trial_duration.as_secs_f64())
}

fn width(lower: Rate, upper: Rate) -> f64 {
    1.0 - lower.as_pps() / upper.as_pps()
}

/// The value below which `share` of the weight is.
fn quantile(ordered: &[(f64, f64)], share: f64) -> f64 {
    let mut below = 0.0;
    for &(value, weight) in ordered {
        below += weight;
        if below >= share {
            return value;
        }
    }
    ordered[ordered.len() - 1].0
}
