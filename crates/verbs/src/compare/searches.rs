//! Two searches: did the limits move?

mod differences;

use super::side::name;
use crate::algorithm::AlgorithmPlan;
use crate::resume::going_on;
use dropline_archive::record_file;
use dropline_failure::Failure;
use dropline_record::LoadUnit;
use dropline_record::{AnswerLine, ComparedSearches, GoalLine, MovedLine, OpenLine, Record, SearchedLine};
use dropline_report::{Denied, denied, disputed, failed_and_passed};
use dropline_stats::compare::{Overall, SMALLEST_EFFECT, Verdict};
use dropline_stats::limits::{Limit, MovedLimit, TriedLoad, moved};
use std::path::Path;

/// What the intervals are.
const ESTIMATOR: &str = "B's limit as a multiple of A's; on logarithms the facing halves of both intervals are added in \
     quadrature (variance estimates recovery, Zou and Donner 2008), bounds without a level are set end to end, \
     widened by what they were seen to scatter, and on until the trials of both sides rule out what is beyond; Holm over the goals";

/// A search to compare.
#[derive(Clone, Debug)]
pub struct Searched {
    name: String,
    record: Record,
    answers: Vec<AnswerLine>,
}

impl Searched {
    /// What was recorded of it.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Reads a record.
    ///
    /// # Errors
    /// If it cannot be read, or [`of`](Self::of) refuses it.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        Self::of(&name(path), record_file::read_record(path)?)
    }

    /// The search of a record; `name` is how it is spoken of.
    ///
    /// # Errors
    /// If the record is of another verb, or has no trial.
    pub fn of(name: &str, record: Record) -> Result<Self, Failure> {
        let Some(answers) = record.answers() else {
            let verb = &record.header.verb;
            return Err(Failure::usage(format!(
                "{name} was made by dropline {verb} and is not a search: it does not say from which load on packets drop"
            ))
            .advice(format!("search:  dropline search {} -o FILE", record.header.target)));
        };
        if record.trials.is_empty() {
            return Err(Failure::usage(format!("{name} is a search without a trial: it knows nothing yet"))
                .advice(format!("resume it:  {}", going_on(name, &record.header))));
        }
        Ok(Self { name: name.into(), record, answers })
    }

    /// Whether a search for these goals, with loads of these things, can be compared with it.
    ///
    /// # Errors
    /// If no loss ratio is in both, or a load counts something else.
    pub fn fits(&self, load_unit: LoadUnit, goals: &[GoalLine]) -> Result<(), Failure> {
        let own_unit = self.record.header.load_unit;
        if own_unit != load_unit {
            return Err(Failure::usage(format!(
                "the loads of {} are {own_unit} a second, those of the other search {load_unit}: their ratio means nothing",
                self.name
            ))
            .advice("compare two searches of the same kind of target"));
        }
        let own = self.goals();
        if own.iter().any(|own| goals.iter().any(|goal| is_of(own, goal))) {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "the two searches have no goal in common: {} was asked for {}, the other for {}",
            self.name,
            listed(&own),
            listed(goals)
        ))
        .advice("search both for the same loss ratios:  --goal 0 --goal 0.5%"))
    }

    fn algorithm(&self) -> &str {
        self.record.header.search.as_ref().map_or("", |search| search.algorithm.as_str())
    }

    fn goals(&self) -> Vec<GoalLine> {
        self.answers.iter().map(|answer| answer.goal.clone()).collect()
    }
}

/// Compares B with A. A change by a smaller share than `smallest_effect` does not matter; 2 % where nobody says.
///
/// # Errors
/// If their loads count different things, or they have no goal in common.
pub fn compare(
    a: &Searched,
    b: &Searched,
    smallest_effect: Option<f64>,
) -> Result<ComparedSearches, Failure> {
    let smallest_effect = smallest_effect.unwrap_or(SMALLEST_EFFECT);
    let load_unit = b.record.header.load_unit;
    a.fits(load_unit, &b.goals())?;
    let (pairs, alone) = pairs(&a.answers, &b.answers);
    let trials: Vec<[Vec<TriedLoad>; 2]> =
        pairs.iter().map(|(of_a, of_b)| [tried(of_a, a), tried(of_b, b)]).collect();
    let limits: Vec<(Limit<'_>, Limit<'_>)> = pairs
        .iter()
        .zip(&trials)
        .map(|((of_a, of_b), [by_a, by_b])| (limit(of_a, a, by_a), limit(of_b, b, by_b)))
        .collect();
    let mut found = moved(&limits, smallest_effect);
    let is_same = differences::are_same(a, b);
    for (moved, (of_a, of_b)) in found.iter_mut().zip(&pairs) {
        if of_a.is_generators() || of_b.is_generators() {
            *moved = MovedLimit { verdict: Verdict::NoEvidence, needed: None, ..*moved };
        }
        // Nothing was met since a target changed: it may stand still for a moment, or be another one.
        let bears_nothing = |of, answer| open(of, answer).is_some_and(|open| open.low_pps.is_none());
        if bears_nothing(a, of_a) || bears_nothing(b, of_b) {
            *moved = MovedLimit { verdict: Verdict::NoEvidence, needed: None, ..*moved };
        }
        if is_same {
            // Nothing was measured twice, whatever either concludes from it.
            let verdict = Verdict::NoEvidence;
            *moved = MovedLimit { ratio: None, low: None, high: None, verdict, needed: None, ..*moved };
        }
    }
    let not_valid = not_valid([a, b], &pairs);
    let verdict = match not_valid {
        Some(_) => Overall::NoEvidence,
        None => Overall::of(&found.iter().map(|moved| moved.verdict).collect::<Vec<_>>()),
    };
    let line = |(moved, pair): (&MovedLimit, &(&AnswerLine, &AnswerLine))| MovedLine {
        doubted: doubted([a, b], *pair),
        open_a: open(a, pair.0),
        open_b: open(b, pair.1),
        ..line(moved, *pair)
    };
    let goals: Vec<MovedLine> = found.iter().zip(&pairs).map(line).collect();
    Ok(ComparedSearches {
        verdict: verdict.into(),
        not_valid,
        caveats: differences::caveats(a, b, &goals, &alone),
        goals,
        smallest_effect,
        load_unit,
        a: side_line(a),
        b: side_line(b),
        estimator: ESTIMATOR.into(),
    })
}

type Pairs<'a> = Vec<(&'a AnswerLine, &'a AnswerLine)>;

/// Answers to goals with the same loss ratio, and the goals that one side alone has. Where a side has several of a
/// loss ratio, those with the same attributes belong together.
fn pairs<'a>(a: &'a [AnswerLine], b: &'a [AnswerLine]) -> (Pairs<'a>, Vec<GoalLine>) {
    let mut left: Vec<&AnswerLine> = b.iter().collect();
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for answer in a {
        let same = left.iter().position(|other| other.goal == answer.goal);
        match same.or_else(|| left.iter().position(|other| is_of(&other.goal, &answer.goal))) {
            Some(index) => pairs.push((answer, left.remove(index))),
            None => alone.push(answer.goal.clone()),
        }
    }
    alone.extend(left.into_iter().map(|answer| answer.goal.clone()));
    (pairs, alone)
}

/// Why nothing can be said of the targets: an answer is about the generator or other programs.
fn not_valid([a, b]: [&Searched; 2], pairs: &Pairs) -> Option<String> {
    let mut answers = pairs.iter().flat_map(|(of_a, of_b)| [(a, of_a), (b, of_b)]);
    let (side, answer, others) =
        answers.find_map(|(side, answer)| Some((side, answer, answer.about_others()?)))?;
    Some(format!(
        "what {} says for {} is about {others}, and not about the target: whether the limit moved is not known",
        side.name,
        answer.goal.words()
    ))
}

/// Whose answer does not stand as it is stated, and why.
fn doubted([a, b]: [&Searched; 2], (of_a, of_b): (&AnswerLine, &AnswerLine)) -> Option<String> {
    let words = |which: &str, side: &Searched, answer| {
        Denied::of(&side.record, answer)
            .map(|denied| format!("{which}'s answer does not stand as it is stated: {}", denied.why))
    };
    let found: Vec<String> = [words("A", a, of_a), words("B", b, of_b)].into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join("; "))
}

/// The loads that are open of an answer that does not stand as it is stated.
fn open(side: &Searched, answer: &AnswerLine) -> Option<OpenLine> {
    let denied = denied(&side.record, answer)?;
    Some(OpenLine { low_pps: denied.low_pps, high_pps: denied.high_pps })
}

/// Whether both goals ask about the same share of packets that are lost, or later than the same bound: ratios are whole
/// billionths.
fn is_of(one: &GoalLine, other: &GoalLine) -> bool {
    (one.loss_ratio - other.loss_ratio).abs() < 0.5e-9 && one.within_s == other.within_s
}

fn listed(goals: &[GoalLine]) -> String {
    goals.iter().map(GoalLine::words).collect::<Vec<_>>().join(" and ")
}

/// The trials behind an answer without a level.
fn tried(answer: &AnswerLine, side: &Searched) -> Vec<TriedLoad> {
    if answer.level.is_some() {
        return Vec::new();
    }
    let [failed, passed] = failed_and_passed(&side.record.trials, &answer.goal);
    let of = |loads: Vec<f64>, failed| loads.into_iter().map(move |load| TriedLoad { load, failed });
    of(failed, true).chain(of(passed, false)).collect()
}

/// What an answer says of the limit. Bounds without a level are wider here than they were stated; where a caveat denies
/// the answer, the next search may find any load that the trials leave open, none of them more probable than another. Where trials
/// contradict an end, the limit may be where they were; a single failure is a pause.
fn limit<'a>(answer: &AnswerLine, side: &Searched, trials: &'a [TriedLoad]) -> Limit<'a> {
    let scatter = match answer.level {
        Some(_) => 0.0,
        None => AlgorithmPlan::parse(side.algorithm()).map_or(0.0, AlgorithmPlan::scatter),
    };
    if let Some(Denied { low_pps, high_pps, .. }) = Denied::of(&side.record, answer) {
        return Limit { lower: low_pps, middle: None, upper: high_pps, level: None, trials };
    }
    let (low, high) = match disputed(&side.record.trials, &answer.goal, 1).as_slice() {
        &[low, high] => (low, high),
        _ => (f64::INFINITY, 0.0),
    };
    let lower = answer.lower_pps.map(|lower| low.min(lower / (1.0 + scatter)));
    let upper = bound_above(answer).map(|upper| high.max(upper * (1.0 + scatter)));
    // Bounds have no median: of the numbers between them none is better than the one in the middle.
    let middle = || Some((lower? * upper?).sqrt());
    Limit { lower, middle: answer.median_pps.or_else(middle), upper, level: answer.level, trials }
}

/// The upper bound; one that is the generator's is none of the target's.
fn bound_above(answer: &AnswerLine) -> Option<f64> {
    answer.upper_pps.filter(|_| !answer.is_generators())
}

fn line(moved: &MovedLimit, (of_a, of_b): (&AnswerLine, &AnswerLine)) -> MovedLine {
    let MovedLimit { ratio, low, high, level, verdict, needed } = *moved;
    MovedLine {
        loss_ratio: of_a.goal.loss_ratio,
        ratio,
        low,
        high,
        verdict: verdict.into(),
        level,
        needed,
        doubted: None,
        open_a: None,
        open_b: None,
        of_a: of_a.clone(),
        of_b: of_b.clone(),
    }
}

fn side_line(side: &Searched) -> SearchedLine {
    let Record { header, trials, .. } = &side.record;
    SearchedLine {
        source: side.name.clone(),
        target: header.target.clone(),
        algorithm: side.algorithm().into(),
        started: header.started.clone(),
        trials: trials.len() as u64,
        elapsed_s: trials.iter().map(|trial| trial.elapsed_s).sum(),
    }
}
