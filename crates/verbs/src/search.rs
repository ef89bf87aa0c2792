//! The verb `search`: plan in, record out (RFC 9971: the Manager).

use crate::observer::Watcher;
use crate::plan::SearchPlan;
use crate::replay::{Replayed, replay};
use crate::resume::going_on;
use dropline_archive::record_file::{Keeper, Output, read_record};
use dropline_archive::{clock, environment};
use dropline_failure::{Failure, quoted};
use dropline_record::{
    AnswerLine, BROKEN, CaveatLine, CertifiedLine, CurveLine, DelayAtLine, GoalLine, Header, LoadUnit,
    OutlookLine, ProfileLine, Purpose, Record, ResultLine, TrialLine, schema,
};
use dropline_search::Search;
use dropline_targets::{AnyMeasurer, Opened, Opening, Target};
use dropline_traffic::Moving;
use dropline_trial::number_of;
use dropline_trial::{Rate, Trial, TrialInput};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

mod doubts;

pub use doubts::load_in;
use doubts::said_in;

/// What a search is given beside its plan.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// The command as it was typed, in words.
    pub command_line: Vec<String>,
    /// Set when the user wants to stop.
    pub stop: Arc<AtomicBool>,
    /// How long a program may stay silent beyond a trial's duration.
    pub patience: Duration,
    /// Time slices of each trial, where the measurer can give them.
    pub slices: Option<u32>,
    /// What the generator was measured to offer.
    pub generator_limit: Option<Rate>,
    /// How packets of ours are moved.
    pub moving: Moving,
}

impl Default for Conditions {
    /// Nobody typed a command, and nobody will stop it; a program may be silent for 20 s.
    fn default() -> Self {
        Self {
            command_line: Vec::new(),
            stop: Arc::default(),
            patience: Duration::from_secs(20),
            slices: None,
            generator_limit: None,
            moving: Moving::default(),
        }
    }
}

/// A search that ended, or was ended.
#[derive(Debug)]
pub struct Finished {
    /// All that was measured.
    pub record: Record,
    /// Why it ended early, where it did. What was measured before is in the record, and kept.
    pub failure: Option<Failure>,
}

/// Searches from the start.
///
/// # Errors
/// If it could not begin: nothing was measured, nothing is kept.
pub fn search(
    plan: &SearchPlan,
    output: &Output,
    conditions: &Conditions,
    watcher: &mut dyn Watcher,
) -> Result<Finished, Failure> {
    let search = plan.search()?;
    warm_up(plan, conditions, watcher)?;
    let opened = plan.target.open(&plan.profile, opening(conditions, 1, watcher))?;
    let header = header(plan, conditions, &opened);
    watcher.opened(&header.target, header.target_note.as_deref());
    let keeper = Keeper::begin(output, &header)?;
    let run = Run {
        plan,
        conditions,
        search,
        record: Record::begin(header),
        keeper,
        measurer: Some(opened.measurer),
        at: Duration::ZERO,
        watcher,
    };
    Ok(run.run())
}

/// Goes on with a record where it stood: its trials are replayed, then new ones are made.
///
/// A finished record under the limits that it has is its own answer: nothing is opened or computed. The file stays as
/// it is until there is something to add to it.
///
/// # Errors
/// If the record cannot be read or locked, is of another plan, its trials are not those that the search would have
/// asked for, or the target cannot be opened: then the file is as it was, byte for byte.
pub fn resume(
    plan: &SearchPlan,
    path: &Path,
    conditions: &Conditions,
    watcher: &mut dyn Watcher,
) -> Result<Finished, Failure> {
    let record = read_record(path)?;
    same_search(plan, &record, path)?;
    if record.is_finished() && SearchPlan::of_record(&record)?.limits == plan.limits {
        return Ok(Finished { record, failure: None });
    }
    let (mut keeper, mut record) = Keeper::resume(path)?;
    same_search(plan, &record, path)?;
    let Replayed { mut search, at } = replay(plan, &record).map_err(|why| why.of(path))?;
    let limits = SearchPlan::of_record(&record)?.limits;
    let spent = (limits != plan.limits).then(|| spent_before(plan, &search)).flatten();
    if limits != plan.limits {
        plan.limit(&mut search, plan.limits);
        let line = plan.limits_line(record.last_number().unwrap_or(0));
        keeper.limits(&line);
        record.limits.push(line);
    }
    let goes_on = search.next_trial().is_some();
    if record.is_finished() && !goes_on {
        // More was allowed, and nothing more is wanted.
        let mut record = read_record(path)?;
        record.reading.extend(spent);
        return Ok(Finished { record, failure: None });
    }
    record.reading.extend(spent);
    if goes_on && plan.target.is_refused() {
        let word = quoted(&record.header.target);
        let again = going_on(&path.to_string_lossy(), &record.header.target);
        let would = match plan.target.name_to_ask_for() {
            Some(_) => "ask the network for the host of",
            None => "start a program,",
        };
        return Err(Failure::environment(format!("{}: going on would {would} {word}", path.display())).advice(
            format!("a record is data, and may come from elsewhere. If that is meant, write it yourself:\n  {again}"),
        ));
    }
    let mut run = Run { plan, conditions, search, record, keeper, measurer: None, at, watcher };
    if goes_on {
        run.open()?;
    }
    run.record.result = None;
    Ok(run.run())
}

/// What is said where other limits leave no room for another trial.
fn spent_before(plan: &SearchPlan, search: &Search) -> Option<CaveatLine> {
    let (spent, trials) = (search.spent(), search.trials());
    let budget = plan.limits.budget.filter(|budget| *budget <= spent);
    let most = plan.limits.max_trials.filter(|most| *most <= trials);
    let limit = match (budget, most) {
        (Some(budget), _) => format!("--budget {} s", budget.as_secs_f64()),
        (None, Some(most)) => format!("--max-trials {most}"),
        (None, None) => return None,
    };
    let text = format!(
        "{limit} was spent before this --resume: {} of this record took {:.3} s, so none is added; \
         to go on, allow more than that",
        number_of(trials, "trial"),
        spent.as_secs_f64()
    );
    Some(CaveatLine::said("limit_spent_before", text))
}

/// Refuses a plan that is not that of the record.
fn same_search(plan: &SearchPlan, record: &Record, path: &Path) -> Result<(), Failure> {
    let other = match &record.header.search {
        Some(stored) => plan.differs_from(stored, &record.header.profile),
        None => Some("verb".into()),
    };
    let other = if record.header.target == plan.target.to_string() { other } else { Some("target".into()) };
    let Some(what) = other else { return Ok(()) };
    if let Some(stored) = &record.header.search
        && let Some(what) = SearchPlan::of_record(record)?.differs_from(stored, &record.header.profile)
    {
        return Err(no_search_of_ours(path, &what));
    }
    let as_it_was = going_on(&path.to_string_lossy(), &record.header.target);
    Err(Failure::usage(format!("{} is a search with another {what}", path.display()))
        .advice(format!("to resume it as it was:  {as_it_was}")))
}

/// Not even the plan that is read from the record is that of the record.
fn no_search_of_ours(path: &Path, what: &str) -> Failure {
    Failure::environment(format!(
        "{}: its header contradicts itself: no search has the {what} that it says",
        path.display()
    ))
    .advice("the file was edited or damaged: take a copy that was not, or search anew into another file")
}

/// What a measurer is told, no packet's times being kept.
pub(crate) fn opening(conditions: &Conditions, first_trial: u64, watcher: &dyn Watcher) -> Opening {
    Opening {
        first_trial,
        stop: Arc::clone(&conditions.stop),
        patience: conditions.patience,
        slices: conditions.slices,
        keep_packets: 0,
        keep_events: None,
        moving: conditions.moving.clone(),
        live: watcher.live(),
    }
}

/// A trial at the highest load, dropped. It has number 0, so that it takes no later trial's chance.
fn warm_up(plan: &SearchPlan, conditions: &Conditions, watcher: &mut dyn Watcher) -> Result<(), Failure> {
    if plan.warm_up.is_zero() {
        return Ok(());
    }
    let input = TrialInput { load: plan.range.max(), duration: plan.warm_up };
    watcher.begins(0, input, "warm-up");
    let mut opened = plan.target.open(&plan.profile, opening(conditions, 0, watcher))?;
    opened.measurer.measure(input).and_then(dropline_targets::whole).map(|_dropped| ())
}

fn header(plan: &SearchPlan, conditions: &Conditions, opened: &Opened) -> Header {
    let mut environment = environment::capture(&conditions.command_line);
    environment.reply_buffer_bytes = opened.reply_buffer_bytes;
    Header {
        schema: schema::CURRENT.into(),
        verb: "search".into(),
        started: clock::now_utc(),
        target: plan.target.to_string(),
        target_note: opened.note.clone(),
        load_unit: plan.target.load_unit(),
        load_is: load_is(&plan.target, &plan.profile),
        profile: ProfileLine::from(&plan.profile),
        search: Some(plan.line()),
        generator: opened.generator.clone(),
        generator_limit_pps: conditions.generator_limit.map(Rate::as_pps),
        environment,
    }
}

/// What a load is the sum of, in words (RFC 9971 §4.5.2).
pub(crate) fn load_is(target: &Target, profile: &dropline_trial::TrafficProfile) -> String {
    if target.load_unit() == LoadUnit::Samples {
        return "the sum over all pipes".into();
    }
    let total: u64 = profile.directions.iter().map(|part| u64::from(part.share)).sum();
    match profile.directions.as_slice() {
        [_] => "the load of one interface".into(),
        parts => {
            let shares: Vec<String> =
                parts.iter().map(|part| format!("{} {}/{total}", part.name, part.share)).collect();
            format!("the sum over {} directions: {}", parts.len(), shares.join(", "))
        }
    }
}

/// A search under way.
struct Run<'a> {
    plan: &'a SearchPlan,
    conditions: &'a Conditions,
    search: Search,
    record: Record,
    keeper: Keeper,
    /// `None` until a trial is to be made.
    measurer: Option<AnyMeasurer>,
    /// Sum of the elapsed times so far.
    at: Duration,
    watcher: &'a mut dyn Watcher,
}

impl Run<'_> {
    fn run(mut self) -> Finished {
        let mut failure = self.search_on().err();
        let mut delay_at = Vec::new();
        if failure.is_none() {
            failure = self.measure_delays(&mut delay_at).and_then(|()| self.finish()).err();
        }
        let interrupted =
            failure.as_ref().is_some_and(|why| why.kind() == dropline_failure::Kind::Interrupted);
        if failure.is_none() || interrupted {
            self.search.settle();
            let result = self.result(interrupted, delay_at);
            if let Err(why) = self.keeper.result(&result) {
                failure = failure.or(Some(why));
            }
            self.record.result = Some(result);
        } else if let Some(why) = &failure {
            let what = why.to_string();
            self.record.reading.push(CaveatLine::said(BROKEN, what.lines().next().unwrap_or_default()));
        }
        Finished { record: self.record, failure }
    }

    fn open(&mut self) -> Result<&mut AnyMeasurer, Failure> {
        if self.measurer.is_none() {
            let opening = opening(self.conditions, self.number(), self.watcher);
            let opened = self.plan.target.open(&self.plan.profile, opening)?;
            self.watcher.opened(&self.record.header.target, opened.note.as_deref());
            self.measurer = Some(opened.measurer);
        }
        Ok(self.measurer.as_mut().expect("it was opened"))
    }

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        self.open()?.measure(input).and_then(dropline_targets::whole)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.measurer.as_mut().map_or(Ok(()), |measurer| measurer.finish())
    }

    fn search_on(&mut self) -> Result<(), Failure> {
        while let Some(input) = self.search.next_trial() {
            let phase = self.search.phase();
            self.watcher.begins(self.number(), input, &phase);
            let trial = self.measure(input)?;
            self.search.record(&trial);
            let bounds = self.search.bounds();
            let line = self.line(&trial, Purpose::Search).in_search(phase, &bounds);
            self.keep(TrialLine { void: self.search.last_is_void(), ..line }, trial.elapsed)?;
        }
        Ok(())
    }

    /// Delay percentiles at shares of each goal's load; equal loads are measured once.
    fn measure_delays(&mut self, done: &mut Vec<DelayAtLine>) -> Result<(), Failure> {
        let answers = self.answers();
        for (goal, answer) in answers.iter().enumerate() {
            let Some(headline) = answer.headline_pps() else { continue };
            for &share in &self.plan.delay_at {
                let Ok(load) = Rate::pps(headline * share.as_f64()) else { continue };
                let input = TrialInput { load, duration: self.plan.goals[goal].trial_duration };
                let known =
                    self.record.trials.iter().find(|line| {
                        line.purpose == Purpose::DelayAt && line.intended_load_pps == load.as_pps()
                    });
                let number = match known {
                    Some(line) => line.number,
                    None => {
                        let number = self.number();
                        self.watcher.begins(number, input, "delay");
                        let trial = self.measure(input)?;
                        let line = self.line(&trial, Purpose::DelayAt);
                        self.keep(line, trial.elapsed)?;
                        number
                    }
                };
                let goal = u32::try_from(goal).expect("goals are few");
                done.push(DelayAtLine { goal, share: share.as_f64(), trial: number });
            }
        }
        Ok(())
    }

    fn number(&self) -> u64 {
        self.record.last_number().map_or(1, |number| number + 1)
    }

    fn line(&self, trial: &Trial, purpose: Purpose) -> TrialLine {
        let header = &self.record.header;
        TrialLine::new(trial, &header.target, &header.profile.arrival, purpose, self.at)
    }

    fn keep(&mut self, line: TrialLine, elapsed: Duration) -> Result<(), Failure> {
        let kept = self.keeper.trial(&line);
        if kept.is_err() {
            self.record.reading.push(CaveatLine::said(
                "not_kept",
                format!(
                    "what is shown rests on 1 trial that is not in the record, trial {}: it could not be written; \
                     --resume makes it again",
                    line.number
                ),
            ));
        }
        self.at += elapsed;
        let search = (line.purpose == Purpose::Search).then_some(&self.search);
        self.watcher.ended(&line, search);
        self.record.trials.push(line);
        kept
    }

    fn answers(&self) -> Vec<AnswerLine> {
        let outcomes = self.search.outcome();
        let mut certified = self
            .search
            .certified()
            .unwrap_or_default()
            .into_iter()
            .map(|outcome| CertifiedLine::new(&outcome));
        // A certificate's trials made no interval narrower.
        // Nor would more time, where their number ended it.
        let by_number = self.plan.limits.max_trials.is_some_and(|most| self.search.trials() >= most);
        let belief = self.search.belief().filter(|_| certified.len() == 0 && !by_number);
        let mut outlooks = belief.map_or_else(Vec::new, |belief| belief.outlooks).into_iter();
        let elapsed_s = self.search.spent().as_secs_f64();
        let goals = self.plan.goals.iter().zip(&outcomes);
        goals
            .map(|(goal, outcome)| AnswerLine {
                certified: certified.next(),
                outlook: outlooks.next().flatten().and_then(|outlook| OutlookLine::new(&outlook, elapsed_s)),
                ..AnswerLine::new(GoalLine::from(goal), outcome)
            })
            .collect()
    }

    fn result(&self, interrupted: bool, delay_at: Vec<DelayAtLine>) -> ResultLine {
        let goals = self.answers();
        let caveats = self.caveats(&goals, interrupted);
        ResultLine {
            trial_seconds: self.record.trials.iter().map(|line| line.duration_s).sum(),
            elapsed_s: self.at.as_secs_f64(),
            goals,
            interrupted,
            delay_at,
            loss_curve: self
                .search
                .belief()
                .map_or_else(Vec::new, |belief| belief.curve.iter().map(CurveLine::from).collect()),
            caveats,
        }
    }

    /// Doubts about the whole: each kind of doubt about trials once, with how many trials share it.
    fn caveats(&self, goals: &[AnswerLine], interrupted: bool) -> Vec<CaveatLine> {
        let unit = self.record.header.load_unit;
        let mut caveats: Vec<CaveatLine> =
            self.search.caveats().iter().map(|caveat| said_in(caveat, unit)).collect();
        let mut said = |code: &str, text: String| {
            caveats.push(CaveatLine::said(code, text));
        };
        if interrupted {
            said("interrupted", "the search was stopped early: the bounds are what was known then".into());
        }
        for answer in goals.iter().filter(|answer| answer.is_starved()) {
            let text = format!(
                "what ends the answer for {} is not the target's limit: other programs kept the target from its CPU, and \
                 what it lost may come of that; give the target a CPU of its own or stop what else runs, and search \
                 again: dropline doctor says what runs here",
                answer.goal.words()
            );
            said("target_starved", text);
        }
        for answer in goals.iter().filter(|answer| answer.is_generators() && !answer.is_starved()) {
            let why = match doubts::refused(&self.record) {
                Some((line, caveat)) => format!("as trial {} had it, {}", line.number, caveat.text),
                None => "free a CPU for the generator, raise its CPU quota, give it real-time priority (CAP_SYS_NICE) or \
                         lower the highest load: dropline doctor says what disturbs here"
                    .into(),
            };
            let text = format!(
                "what ends the answer for {} is this generator's limit, not the target's: loads that would tell more were not \
                 offered as asked or when they were due, or lost what may be our own doing, and the target may do more; \
                 {why}",
                answer.goal.words()
            );
            said("generator_limited", text);
        }
        caveats.extend(doubts::of_trials(&self.record));
        caveats
    }
}
