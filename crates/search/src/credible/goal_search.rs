//! Goals with trials of one length: where to look, then what is believed.

mod answers;
mod next_load;

use super::constants::diagnostics::DRAWS;
use super::constants::freshness::ASKS;
use super::constants::goal_search::{
    BORNE, FAR_WHILE_LOCATING, LEAST_TRIALS, LEAST_WHERE_THEY_SCATTER, MODERATE, NARROWEST, PRUDENCE,
    PRUDENCE_POWER, REACH, SCATTER, SHOWN_SCATTER, SHOWS_KNEE, STEP_DOWN, SURELY, TOLERATED, WORTH_A_STEP,
};
use super::diagnostics::{self, Diagnostics};
use super::discarded::Discarded;
use super::ends::Shown;
use super::first_load::FirstLoad;
use super::freshness::Run;
use super::is_zero_loss;
use super::locate::{LoadGuess, Locate};
use super::model::Evidence;
use super::monotone::Possible;
use super::particles::Particles;
use super::short_trials::{self, ShortTrials};
use super::view::{self, Stated, UNCERTAIN, View};
use crate::Goal;
use dropline_trial::{LoadRange, Rate, Ratio, Trial, TrialInput, seed};
use std::time::Duration;

/// A search for goals whose trials are equally long.
#[derive(Debug)]
pub(super) struct GoalSearch {
    goals: Vec<Goal>,
    /// Indices of the goals in the answer.
    indices: Vec<usize>,
    range: LoadRange,
    level: f64,
    seed: u64,
    stage: Stage,
    trials: usize,
    /// Of each goal, what trials said without a model.
    shown: Vec<Shown>,
    /// What the last ones say against the belief.
    fresh: Run,
    /// What was the highest load before our own limit took its place.
    capped: Option<Rate>,
    /// The lowest load of which trials were disturbed so that a lower one was made the highest.
    disturbed: Option<Rate>,
    views: Vec<View>,
    doubt: Diagnostics,
    /// The first trials, once they were forgotten.
    forgotten: Option<Discarded>,
    first: FirstLoad,
    short: ShortTrials,
    /// How many of the last trials all met the loosest goal: nothing failed since.
    met_since: usize,
    /// Whether probes far below were made.
    is_probed: bool,
    /// By how much the longest trial was longer than its traffic.
    waits: Option<Duration>,
}

#[derive(Debug)]
enum Stage {
    Locating(Locate, Vec<Evidence>),
    Weighing(Box<Particles>),
    AtMaximum,
    BelowMinimum,
}

impl GoalSearch {
    /// Goals with their indices in the answer; all have the same trial duration.
    pub(super) fn new(
        goals: Vec<(usize, Goal)>,
        range: LoadRange,
        level: f64,
        seed: u64,
        start: Rate,
    ) -> Self {
        let (indices, goals): (Vec<usize>, Vec<Goal>) = goals.into_iter().unzip();
        let allowed = goals.iter().map(|goal| goal.loss_ratio).min().unwrap_or(Ratio::ZERO);
        let stage = Stage::Locating(Locate::new(range, start, allowed), Vec::new());
        let shown = vec![Shown::default(); goals.len()];
        Self {
            goals,
            indices,
            range,
            level,
            seed,
            stage,
            trials: 0,
            shown,
            fresh: Run::default(),
            capped: None,
            disturbed: None,
            views: Vec::new(),
            doubt: Diagnostics::default(),
            forgotten: None,
            first: FirstLoad::Unknown,
            short: ShortTrials::Trying { made: 0 },
            met_since: 0,
            is_probed: false,
            waits: None,
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

    pub(super) fn is_weighing(&self) -> bool {
        matches!(self.stage, Stage::Weighing(..))
    }

    /// The trial that teaches most, where there is time for so many that are `left`; `None` when every goal is answered.
    pub(super) fn next_trial(&self, left: usize) -> Option<TrialInput> {
        let load = match &self.stage {
            Stage::Locating(locate, _) => match locate.place() {
                LoadGuess::Open(load) => self.first_again(locate, left).unwrap_or(load),
                _ => return None,
            },
            Stage::Weighing(cloud) => {
                match self.first.again(self.between(), (self.trials, left), cloud.scatter(0.5), self.range) {
                    Some(load) => load,
                    None if self.is_narrow() => return None,
                    None => self.best_load(cloud, left)?,
                }
            }
            Stage::AtMaximum => return None,
            Stage::BelowMinimum => {
                let mut goals = self.goals.iter().zip(&self.shown);
                goals.find_map(|(goal, shown)| shown.open_end(goal, self.range, 1.0 - self.level))?
            }
        };
        Some(TrialInput { load, duration: self.length_at(load) })
    }

    /// The first load again, where a lower one than came through of it has lost much since, and little time is left.
    fn first_again(&self, locate: &Locate, left: usize) -> Option<Rate> {
        let (_, bad) = locate.bracket();
        self.first.again((f64::NEG_INFINITY, libm::log(bad.as_pps())), (0, left), 0.0, self.range)
    }

    /// How long a trial at a load will be.
    fn length_at(&self, load: Rate) -> Duration {
        self.short.duration(load, self.range, self.duration(), self.waits)
    }

    pub(super) fn record(&mut self, trial: &Trial) {
        self.trials += 1;
        let waited = trial.elapsed.saturating_sub(trial.input.duration);
        self.waits = Some(self.waits.map_or(waited, |waits| waits.max(waited)));
        let whole = trial.input.duration >= self.duration();
        self.short.note(whole);
        for (goal, shown) in self.goals.iter().zip(&mut self.shown) {
            shown.note(trial, goal, self.range);
        }
        self.note_load(trial);
        self.bet_on(trial);
        let evidence = Evidence::of(trial, self.trials);
        if let Some(ceiling) = self.our_limit(trial) {
            self.cap(ceiling);
            return;
        }
        if let Some(evidence) = evidence.filter(|one| !one.is_vague()) {
            self.first.note(&evidence, trial.input.load);
        }
        match &mut self.stage {
            Stage::Locating(locate, seen) => {
                locate.record(trial);
                let near = |one: &Evidence| one.loss_ratio() <= FAR_WHILE_LOCATING || one.is_far();
                seen.extend(evidence.filter(near));
                match locate.place() {
                    LoadGuess::Open(_) => {}
                    LoadGuess::Near(load) => self.begin_weighing((load, load)),
                    LoadGuess::AtMaximum => self.rise(),
                    LoadGuess::BelowMinimum => self.stage = Stage::BelowMinimum,
                }
            }
            Stage::Weighing(cloud) => {
                if let Some(evidence) = evidence {
                    let agree = !whole || evidence.is_vague() || self.short.meets(cloud, &evidence);
                    cloud.learn(evidence);
                    self.look();
                    self.be_brisk(agree);
                    self.recall_the_first();
                    self.forget_the_first();
                }
            }
            Stage::AtMaximum | Stage::BelowMinimum => {}
        }
    }

    /// Learns what a probe far below says of the goals without loss, but for what is believed.
    pub(super) fn note_probe(&mut self, trial: &Trial) {
        let zero_loss = self.goals.iter().zip(&mut self.shown).filter(|(goal, _)| is_zero_loss(goal));
        zero_loss.for_each(|(goal, shown)| shown.note(trial, goal, self.range));
        self.bet_on(trial);
        self.is_probed = true;
        self.look();
    }

    /// What a faster target would have lost less of counts, and not which goals that fails. Single packets may be lost at any load.
    fn note_load(&mut self, trial: &Trial) {
        let most = self.goals.iter().map(|goal| goal.loss_ratio).max().unwrap_or(Ratio::ZERO);
        let shows = Ratio::new(SHOWS_KNEE * most.as_f64()).unwrap_or(most);
        self.met_since = if trial.exceeds(shows) { 0 } else { self.met_since + 1 };
    }

    /// Holds a trial against what is believed.
    fn bet_on(&mut self, trial: &Trial) {
        let (Stage::Weighing(cloud), Some(one)) = (&self.stage, Evidence::of(trial, self.trials)) else {
            return;
        };
        if !one.is_vague() {
            let expected = diagnostics::loss_was_expected(&cloud.sample(DRAWS), &one);
            self.fresh.note(one.log_load, one.loss_ratio(), expected);
        }
    }

    /// Learns from a trial that was made for something else whether the target is still what it is believed to be.
    pub(super) fn note_later(&mut self, trial: &Trial) {
        self.bet_on(trial);
        self.look();
    }

    /// Whether the last trials say that the target became faster.
    pub(super) fn is_passed(&self) -> bool {
        self.fresh.has(ASKS)
    }

    /// The highest load that is worth another trial, where our own side did not bear this one.
    fn our_limit(&mut self, trial: &Trial) -> Option<Rate> {
        let is_void = self.goals.iter().any(|goal| trial.is_void_at(goal.loss_ratio));
        let is_disturbed = is_void && (trial.lost_by_us() > 0 || trial.tells_nothing()) && self.is_locating();
        borne_by_us(trial).or_else(|| is_disturbed.then(|| self.below_disturbed(trial.input.load)))
    }

    /// The highest load from now on, where trials at one were disturbed: none below what was borne.
    fn below_disturbed(&mut self, load: Rate) -> Rate {
        self.disturbed = Some(load);
        let borne = self.shown.iter().filter_map(|shown| Rate::pps(libm::exp(shown.between().0)).ok()).max();
        share_of(load, STEP_DOWN).max(borne.filter(|borne| *borne < load).unwrap_or(Rate::LOWEST))
    }

    /// The highest load is borne. Where a higher one was only disturbed, loads between may tell more.
    fn rise(&mut self) {
        self.stage = Stage::AtMaximum;
        let borne = self.range.max();
        let Some(disturbed) = self.disturbed.filter(|load| load.as_pps() > WORTH_A_STEP * borne.as_pps())
        else {
            return;
        };
        let between = Rate::pps(libm::sqrt(borne.as_pps() * disturbed.as_pps())).unwrap_or(borne);
        if let Ok(range) = LoadRange::new(self.range.min(), between) {
            self.range = range;
            self.shown.iter_mut().for_each(Shown::forget_max);
            let allowed = self.goals.iter().map(|goal| goal.loss_ratio).min().unwrap_or(Ratio::ZERO);
            self.stage = Stage::Locating(Locate::new(range, between, allowed), Vec::new());
        }
    }

    /// Keeps below what our own generator can offer.
    fn cap(&mut self, ceiling: Rate) {
        let ceiling = ceiling.clamp(self.range.min(), self.range.max());
        self.capped = self.capped.or(Some(self.range.max()));
        self.range = LoadRange::new(self.range.min(), ceiling).expect("the ceiling is in the range");
        self.shown.iter_mut().for_each(Shown::forget_max);
        let is_borne = self.shown.iter().all(|shown| shown.between().0 >= libm::log(ceiling.as_pps()));
        if let Stage::Locating(locate, _) = &mut self.stage {
            locate.cap(self.range);
            if is_borne {
                self.rise();
            } else if self.range.min() == ceiling {
                self.stage = Stage::AtMaximum;
            }
        }
    }

    /// Once, when they look like those of a target that had to warm up.
    fn forget_the_first(&mut self) {
        let Stage::Weighing(cloud) = &self.stage else { return };
        if self.forgotten.is_some() {
            return;
        }
        if let Some((forgotten, rest)) =
            Discarded::part(cloud.seen(), self.trials, self.cold_until(), self.doubt.warms_up)
        {
            self.forgotten = Some(forgotten);
            self.begin_again(rest);
        }
    }

    /// When a target that seemed to have been cold is as slow again: it is so now and then.
    fn recall_the_first(&mut self) {
        let Stage::Weighing(cloud) = &self.stage else { return };
        let slow = self.first.is_slow_later();
        if let Some(forgotten) = self.forgotten.take_if(|one| slow && one.is_undone_by_slowness()) {
            let all = forgotten.taken_back(cloud.seen());
            self.begin_again(all);
        }
    }

    /// Number of the trial that showed that those before it found a cold target.
    fn cold_until(&self) -> Option<usize> {
        let Stage::Weighing(cloud) = &self.stage else { return None };
        self.first.cold_until(self.lowest(), cloud.scatter(0.5))
    }

    /// There is time for so many whole trials yet.
    pub(super) fn leave_time(&mut self, left: usize) {
        if self.is_weighing() {
            self.short.leave_time(left);
        }
    }

    /// Its time is over: what was seen while looking around is weighed, however little it is, and short trials that no whole
    /// one bears out are forgotten.
    pub(super) fn settle(&mut self) {
        if let Stage::Locating(locate, seen) = &self.stage
            && !seen.is_empty()
        {
            self.begin_weighing(locate.bracket());
        }
        if !self.short.is_borne_out() {
            self.be_brisk(false);
        }
    }

    /// θ is about between these.
    fn begin_weighing(&mut self, (low, high): (Rate, Rate)) {
        let Stage::Locating(_, seen) = &mut self.stage else { return };
        let between = (libm::log(low.as_pps()) - REACH, libm::log(high.as_pps()) + REACH);
        let mut seen = std::mem::take(seen);
        // Wherever θ is between them, more than that is lost above.
        seen.retain(|one| !one.is_far() || one.log_load < between.1);
        let cloud = Particles::new(between, seen, seed::generator(self.seed));
        self.stage = Stage::Weighing(Box::new(cloud));
        self.look();
    }

    /// Takes the goals' loads from the cloud.
    fn look(&mut self) {
        let Stage::Weighing(cloud) = &self.stage else { return };
        let left_out = PRUDENCE * libm::pow(1.0 - self.level, PRUDENCE_POWER);
        let tail = 0.5 * left_out.min(1.0 - self.level);
        let cold = self.forgotten.is_none() && self.cold_until().is_some();
        self.doubt = Diagnostics {
            slowed: self.first.slowed(self.between().1, cloud.scatter(0.5)),
            ..Diagnostics::of(cloud, cold, &self.first.shown())
        };
        let stated = Stated {
            tail,
            widening: self.doubt.widening(),
            least: if cloud.scatter(0.5) > SCATTER { 0.5 * NARROWEST } else { 0.0 },
            shown: UNCERTAIN,
            certain: UNCERTAIN,
            possible: Possible::UNASKED,
            borne_minimum: None,
            is_minimum_failed: false,
        };
        let doubt = 0.5 * (1.0 - self.level);
        // Of trials that depend on one another a few tell no more than one.
        let certain = |goal: &Goal, shown: &Shown| match self.doubt.is_none() {
            true => shown.certain(goal, doubt),
            false => UNCERTAIN,
        };
        let fails_anywhere = self.shown.iter().any(|shown| !shown.failed_anywhere().is_empty());
        // Probes are trials of the strictest goal alone, and tell of the others how often they fail.
        let ends = self.goals.iter().zip(&self.shown).map(|(goal, shown)| shown.certain_upper(goal, doubt));
        let highest = if fails_anywhere { ends.fold(f64::NEG_INFINITY, f64::max) } else { f64::INFINITY };
        let view = |(goal, shown): (&Goal, &Shown)| {
            let (min, _) = view::logs(self.range);
            let is_minimum_failed = shown.fails_at(goal, self.range.min(), 1.0 - self.level);
            let (certain, mut possible) = (certain(goal, shown), shown.possible(goal));
            let plainly = shown.certain_lower(goal, doubt);
            if fails_anywhere {
                let (least, most) = possible.ends;
                possible.ends = (least.min(plainly), most.max(certain.1.min(highest)));
            }
            // A few that met the goal do not bear the lowest load where so many failed it that it may be below all that were tried.
            let is_possible = possible.ends.0 > f64::NEG_INFINITY || certain.0 >= min;
            let is_borne = !fails_anywhere && is_possible && shown.bears(goal, min);
            let borne_minimum = Some(min).filter(|_| is_borne || plainly >= min);
            let stated = Stated {
                shown: shown.between(),
                certain,
                possible,
                borne_minimum,
                is_minimum_failed,
                ..stated
            };
            let view = View::of(goal, cloud, stated);
            view.with_borne(|lower| shown.lower_agreed(goal, lower), |upper| shown.upper_borne(goal, upper))
                .unless_passed(|upper| {
                    self.fresh.upper(upper, goal.loss_ratio.as_f64(), |met| shown.lowest_bad_above(met))
                })
        };
        self.views = self.goals.iter().zip(&self.shown).map(view).collect();
    }

    /// Goes on with short trials, or asks whole ones whether they agree, or forgets them.
    fn be_brisk(&mut self, agree: bool) {
        let Stage::Weighing(cloud) = &self.stage else { return };
        if !matches!(self.short, ShortTrials::Trying { made: 1.. } | ShortTrials::Agreeing { .. }) {
            return;
        }
        if agree && self.doubt.is_none() && cloud.scatter(SURELY) <= SCATTER {
            let narrow =
                self.goals.iter().zip(&self.views).all(|(goal, view)| view.is_believed(goal, self.range));
            self.short.ask_whole_ones(narrow);
            return;
        }
        self.short = ShortTrials::Over;
        let duration = self.duration();
        let whole: Vec<Evidence> =
            cloud.seen().iter().copied().filter(|one| !short_trials::is_short(one, duration)).collect();
        self.shown.iter_mut().for_each(|shown| shown.forget_short(duration));
        self.begin_again(whole);
    }

    /// Believes what these trials say and no others.
    fn begin_again(&mut self, seen: Vec<Evidence>) {
        let Stage::Weighing(cloud) = &self.stage else { return };
        // Not about a goal's load: a floor may put that far below the knee.
        // Nor only about what was believed: short trials may have found a buffer, which whole ones fill.
        // Where nothing came through, it is anywhere below.
        let least = view::logs(self.range).0;
        let forwarded = || seen.iter().map(|one| one.log_forwarded().max(least));
        let through = |from: f64, of: fn(f64, f64) -> f64| forwarded().fold(from, of);
        let (low, high) = (through(cloud.theta(0.1), f64::min), through(cloud.theta(0.9), f64::max));
        let between = (low - REACH, high + REACH);
        let chance = seed::generator(seed::of_trial(self.seed, self.trials as u64));
        self.fresh = Run::default();
        self.stage = Stage::Weighing(Box::new(Particles::new(between, seen, chance)));
        self.look();
    }

    fn is_narrow(&self) -> bool {
        self.trials >= self.least_trials()
            && self.unborne().or_else(|| self.stale()).is_none()
            && self.short.is_borne_out()
            && self.doubt.is_none()
            && (self.cold_until().is_none() || self.forgotten.is_some())
            && self.goals.iter().zip(&self.views).all(|(goal, view)| view.is_settled(goal, self.range))
    }

    fn least_trials(&self) -> usize {
        match &self.stage {
            Stage::Weighing(cloud) if scatters(cloud) => LEAST_WHERE_THEY_SCATTER,
            _ => LEAST_TRIALS,
        }
    }

    /// Where the lowest interval begins.
    fn lowest(&self) -> f64 {
        self.views.iter().map(|view| view.lower).fold(f64::INFINITY, f64::min)
    }

    /// Where the lowest interval begins and the highest ends.
    fn between(&self) -> (f64, f64) {
        let highest = self.views.iter().map(|view| view.upper).fold(f64::NEG_INFINITY, f64::max);
        (self.lowest(), highest)
    }
}

/// Whether the trials' capacities vary: by what is believed, or by what the trials with moderate losses show.
fn scatters(cloud: &Particles) -> bool {
    let shown: Vec<f64> = cloud
        .seen()
        .iter()
        .filter(|one| MODERATE.contains(&one.loss_ratio()) && !one.is_vague())
        .map(Evidence::log_forwarded)
        .collect();
    let least = shown.iter().copied().fold(f64::INFINITY, f64::min);
    let most = shown.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    cloud.scatter(0.5) > SCATTER || most - least > SHOWN_SCATTER
}

/// The load that our own side could bear, where it failed by more than it should.
fn borne_by_us(trial: &Trial) -> Option<Rate> {
    let intended = trial.intended.unwrap_or(trial.offered).max(1) as f64;
    let borne = trial.offered.saturating_sub(trial.generator_lost) as f64 / intended;
    let ours = trial.is_void_at(Ratio::ZERO) && borne < 1.0 - TOLERATED;
    ours.then(|| share_of(trial.input.load, borne * BORNE))
}

fn share_of(load: Rate, share: f64) -> Rate {
    Rate::pps((load.as_pps() * share).max(1e-3)).unwrap_or(Rate::LOWEST)
}
