//! The verb `search`: plan in, record out (RFC 9971: the Manager).

use crate::observer::Watcher;
use crate::plan::SearchPlan;
use crate::validity::is_counted_elsewhere;
use dropline_archive::record_file::{Keeper, Output};
use dropline_archive::{clock, environment};
use dropline_failure::{Failure, FailureKind};
use dropline_record::{
    AnswerLine, BROKEN, CaveatLine, CertifiedLine, CurveLine, DelayAtLine, EndWord, Header, LoadUnit,
    OutlookLine, ProfileLine, Purpose, Record, ResultLine, TrialLine, schema,
};
use dropline_search::{Limits, Search};
use dropline_targets::{AnyMeasurer, Opened, Opening, ProgramFile, Target};
use dropline_traffic::Moving;
use dropline_trial::{Rate, Trial, TrialInput};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

mod doubts;
mod resumed;

pub use doubts::load_in;
use doubts::{ended, said_in};
pub use resumed::resume;

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
    /// What the record says of itself beside what the build service said.
    pub labels: BTreeMap<String, String>,
    /// The program `dropline`, whose helpers some targets need: a process that searches may be another one.
    pub program: ProgramFile,
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
            labels: BTreeMap::new(),
            program: ProgramFile::Own,
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
    let opened = warmed_up(plan, conditions, watcher)?;
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
        earlier: None,
    };
    let finished = run.run();
    match finished.failure {
        // What was asked for cannot be had of this target: nothing was measured, nothing is kept.
        Some(why) if why.kind() == FailureKind::Usage && finished.record.trials.is_empty() => {
            let _ = output.path().map(std::fs::remove_file);
            Err(why)
        }
        failure => Ok(Finished { failure, ..finished }),
    }
}

/// Code of the doubt about a trial that could not be written.
const NOT_KEPT: &str = "not_kept";

/// What failed, and so ended the search.
fn broken(why: &Failure) -> CaveatLine {
    CaveatLine::said(BROKEN, why.to_string().lines().next().unwrap_or_default())
}

/// What a measurer is told, no packet's times being kept.
pub(crate) fn opening(conditions: &Conditions, first_trial: u64, watcher: &dyn Watcher) -> Opening {
    Opening {
        first_trial,
        asked_below: 0,
        stop: Arc::clone(&conditions.stop),
        patience: conditions.patience,
        slices: conditions.slices,
        keep_packets: 0,
        keep_events: None,
        moving: conditions.moving.clone(),
        live: watcher.live(),
        together: None,
        program: conditions.program.clone(),
    }
}

/// The target, opened once, after a trial at the highest load that is dropped where a warm-up is wanted: what is warm after it is what
/// the search asks. That trial has number 0, so that it takes no later one's chance.
fn warmed_up(
    plan: &SearchPlan,
    conditions: &Conditions,
    watcher: &mut dyn Watcher,
) -> Result<Opened, Failure> {
    let is_cold = !plan.warm_up.is_zero();
    let mut opened = plan.target.open(&plan.profile, opening(conditions, u64::from(!is_cold), watcher))?;
    if is_cold {
        let input = TrialInput { load: plan.range.max(), duration: plan.warm_up };
        watcher.begins(0, input, "warm-up");
        opened.measurer.measure(input).and_then(dropline_targets::whole)?;
    }
    Ok(opened)
}

fn header(plan: &SearchPlan, conditions: &Conditions, opened: &Opened) -> Header {
    let mut environment = environment::capture(&conditions.command_line);
    environment.reply_buffer_bytes = opened.reply_buffer_bytes;
    environment.labels.extend(conditions.labels.clone());
    Header {
        schema: schema::CURRENT.into(),
        verb: "search".into(),
        started: clock::now_utc(),
        target: plan.target.to_string(),
        target_note: opened.note.clone(),
        asked_digest: plan.target.asked_digest().unwrap_or_default(),
        load_unit: plan.target.load_unit(),
        load_is: load_is(&plan.target, &plan.profile),
        profile: ProfileLine::from(&plan.profile),
        search: Some(plan.line()),
        generator: opened.generator.clone(),
        on: plan.target.on().unwrap_or_default(),
        bursts: None,
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
    /// What broke off the search that this one goes on with.
    earlier: Option<CaveatLine>,
}

impl Run<'_> {
    fn run(mut self) -> Finished {
        let mut failure = self.search_on().err();
        let mut delay_at = Vec::new();
        if failure.is_none() {
            failure = self.measure_delays(&mut delay_at).err();
        }
        let has_all = failure.is_none();
        if has_all {
            failure = self.finish().err();
        }
        // What is not kept is made again: no answer that rests on it is kept either.
        let is_kept = !self.record.reading.iter().any(|doubt| doubt.code == NOT_KEPT);
        if is_kept {
            let ended_by = self.ended_by(failure.as_ref(), has_all);
            let is_cut_off = ended_by == EndWord::Interrupted || ended_by.is_failure();
            let known = if is_cut_off { self.answers() } else { Vec::new() };
            self.search.settle();
            let mut result = self.result(ended_by, delay_at, known);
            if let Some(why) = failure.as_ref().filter(|_| ended_by.is_failure()) {
                result.caveats.insert(0, broken(why));
            }
            self.record.result = Some(result);
            dropline_report::give_way(&mut self.record);
            let kept = self.record.result.as_ref().map_or(Ok(()), |result| self.keeper.result(result));
            failure = failure.or(kept.err());
        } else if let Some(why) = &failure {
            self.record.reading.push(broken(why));
        }
        Finished { record: self.record, failure }
    }

    /// What ended it, a failure or none; `has_all` says that every trial was made.
    fn ended_by(&mut self, failure: Option<&Failure>, has_all: bool) -> EndWord {
        match failure.map(Failure::kind) {
            Some(FailureKind::Interrupted) => return EndWord::Interrupted,
            Some(_) if has_all => return EndWord::EndingFailed,
            Some(_) => return EndWord::TargetFailed,
            None => {}
        }
        let Limits { budget, max_trials } = self.plan.limits;
        let is_open = self.search.wanted().is_some();
        if is_open && max_trials.is_some_and(|most| self.search.trials() >= most) {
            return EndWord::MaxTrials;
        }
        // An algorithm that shares its time out asks for nothing once a share is spent.
        match budget.is_some() && is_open || self.search.lacked_time() {
            true => EndWord::Budget,
            false => EndWord::Done,
        }
    }

    fn open(&mut self) -> Result<&mut AnyMeasurer, Failure> {
        if self.measurer.is_none() {
            let opening = Opening {
                asked_below: self.asked_below(),
                ..opening(self.conditions, self.number(), self.watcher)
            };
            let opened = self.plan.target.open(&self.plan.profile, opening)?;
            self.watcher.opened(&self.record.header.target, opened.note.as_deref());
            self.measurer = Some(opened.measurer);
        }
        Ok(self.measurer.as_mut().expect("it was opened"))
    }

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        let mut trial = self.open()?.measure(input).and_then(dropline_targets::whole)?;
        if let Some(bound) = self.plan.within {
            let has_delays = trial.delay.histogram.is_some() || trial.service_delay.histogram.is_some();
            if trial.forwarded > 0 && !has_delays {
                return Err(Failure::usage(format!(
                    "{}: a goal bounds the delay, and the trials of this target have none",
                    self.plan.target
                ))
                .advice("ask for a share of loss, such as  --goal 0.5%"));
            }
            trial.forward_within(bound);
        }
        self.plan.goals.iter().for_each(|goal| trial.say_why_void(goal.loss_ratio));
        Ok(trial)
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

    /// Turns below this were had by requests of the trials that are known.
    fn asked_below(&self) -> u64 {
        let last = self.record.trials.iter().filter_map(|line| line.turns).map(|turns| turns.last.0).max();
        last.map_or(0, |last| last.saturating_add(1))
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
                NOT_KEPT,
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
                ..AnswerLine::new(self.plan.goal_line(goal), outcome)
            })
            .collect()
    }

    /// What was found; `known` is what was known when the last trial of a search that was cut off had ended.
    fn result(&self, ended_by: EndWord, delay_at: Vec<DelayAtLine>, known: Vec<AnswerLine>) -> ResultLine {
        let interrupted = ended_by == EndWord::Interrupted;
        let mut goals = self.answers();
        // What was known and is not borne out yet is no answer, and not to be lost either.
        for (answer, known) in goals.iter_mut().zip(known) {
            if known.span() < answer.span() {
                *answer = known;
                answer.leave_unfinished();
            }
        }
        if ended_by.is_failure() {
            goals.iter_mut().for_each(AnswerLine::leave_unfinished);
        }
        let caveats = self.caveats(&goals, interrupted);
        ResultLine {
            trial_seconds: self.record.trials.iter().map(|line| line.duration_s).sum(),
            elapsed_s: self.at.as_secs_f64(),
            goals,
            interrupted,
            ended_by,
            delay_at,
            back_to_back: None,
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
        let doubts = self.search.caveats().into_iter().map(|caveat| caveat.after(self.plan.warm_up));
        let mut caveats: Vec<CaveatLine> = doubts.map(|caveat| said_in(&caveat, unit)).collect();
        let mut said = |code: &str, text: String| {
            caveats.push(CaveatLine::said(code, text));
        };
        if interrupted {
            said("interrupted", doubts::stopped(goals).into());
        }
        if let Some(what) = ended(goals, AnswerLine::is_starved, "is not the target's limit") {
            let why = "other programs kept the target from its CPU, and what it lost may come of that; give the target a CPU \
                       of its own or stop what else runs, and search again: dropline doctor says what runs here";
            said("target_starved", format!("{what}: {why}"));
        }
        let is_generators = |answer: &AnswerLine| answer.is_generators() && !answer.is_starved();
        if let Some(what) = ended(goals, is_generators, "may not be the target's limit, which may be higher")
        {
            let why = match (doubts::refused(&self.record), doubts::of_a_program(&self.record)) {
                (Some((line, caveat)), _) => format!("as trial {} had it, {}", line.number, caveat.text),
                (None, Some((line, caveat))) => format!(
                    "mend what its program says of trial {}, or lower the highest load: {}",
                    line.number, caveat.text
                ),
                _ if is_counted_elsewhere(&self.record.header.target) => {
                    "let the program offer what it is asked for, or lower the highest load".into()
                }
                _ if doubts::are_of_a_short_drain(&self.record) => {
                    "answers take longer than the wait for them: search with a longer --drain".into()
                }
                _ => "free a CPU for the generator, or lower the highest load: dropline doctor says what disturbs here"
                    .into(),
            };
            let text = format!(
                "{what}: loads that would tell were not offered as asked, or lost what may be our own doing; {why}"
            );
            said("generator_limited", text);
        }
        caveats.extend(self.earlier.clone());
        caveats.extend(doubts::of_trials(&self.record));
        caveats
    }
}
