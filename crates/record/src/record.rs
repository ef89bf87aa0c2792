//! A whole record: read from its lines, written line by line.

mod agreement;
mod read_error;

use crate::schema::{CURRENT, Line};
use crate::{
    AnswerLine, BackToBackLine, BoundsLine, CaveatLine, EndWord, Header, LimitsLine, ReasonWord, ResultLine,
    ResultWord, SearchLine, TrialLine,
};
use dropline_printable::{in_one_line, printable_json};
use serde_json::{Map, Value};

pub use agreement::VERBS;
pub use read_error::ReadError;

/// A measurement as it is kept: a header, trials in order, and a result when it ended.
///
/// ```
/// use dropline_record::Record;
///
/// // A search that was killed: its header and four trials.
/// let text = include_str!("../tests/records/dropline-1.jsonl");
/// let begun = text.lines().take(5).map(|line| format!("{line}\n")).collect::<String>();
/// let record = Record::read(&begun)?;
/// let offered: u64 = record.trials.iter().map(|trial| trial.offered.0).sum();
/// assert!(offered > 0 && record.trials.len() == 4 && !record.is_finished());
/// // What was read is written as it was.
/// assert_eq!(Record::read(&record.to_lines())?, record);
/// # Ok::<(), dropline_record::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What was measured, and how.
    pub header: Header,
    /// Every finished trial.
    pub trials: Vec<TrialLine>,
    /// Limits other than the header's, in order, each from the trial after which it was set.
    pub limits: Vec<LimitsLine>,
    /// What was found; `None` when the program was killed before it ended.
    pub result: Option<ResultLine>,
    /// Doubts that arose while reading, such as a torn last line.
    pub reading: Vec<CaveatLine>,
}

impl Record {
    /// A record that has only begun.
    pub fn begin(header: Header) -> Self {
        Self { header, trials: Vec::new(), limits: Vec::new(), result: None, reading: Vec::new() }
    }

    /// Reads JSON Lines. A torn last line is dropped with a caveat; a line broken elsewhere is an error, and so is one
    /// that contradicts itself or those before it.
    ///
    /// # Errors
    /// If there is no header, an unknown schema, a broken line before the last, or a contradiction.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let mut lines: Vec<(usize, &str)> = text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
            .filter(|(_, line)| !line.trim().is_empty())
            .collect();
        let ends_whole = text.ends_with('\n');
        if lines.is_empty() {
            return Err(ReadError::Empty);
        }
        let (first, line) = lines.remove(0);
        let contradiction = |line: usize| move |what| ReadError::Contradiction { line, what };
        let mut record = Self::begin(header(line)?);
        agreement::of_header(&record.header).map_err(contradiction(first))?;
        let last = lines.last().map(|(number, _)| *number);
        for (number, line) in lines {
            match serde_json::from_str::<Line>(line) {
                Ok(Line::Header(_)) => {
                    return Err(ReadError::Misplaced { line: number, what: "header" });
                }
                Ok(Line::Distribution(_)) => {
                    return Err(ReadError::Misplaced {
                        line: number,
                        what: "kind of record: a distribution",
                    });
                }
                Ok(Line::Result(_)) if record.result.is_some() => {
                    return Err(ReadError::Misplaced { line: number, what: "result" });
                }
                Ok(_) if record.result.is_some() => return Err(ReadError::AfterResult { line: number }),
                Ok(Line::Trial(trial)) => {
                    record.numbered(&trial, number)?;
                    agreement::of_trial(&record, &trial).map_err(contradiction(number))?;
                    record.trials.push(*trial);
                }
                Ok(Line::Limits(limits)) => record.limit(limits, number)?,
                Ok(Line::Result(result)) => {
                    agreement::of_result(&record, &result).map_err(contradiction(number))?;
                    record.result = Some(*result);
                }
                Err(_) if Some(number) == last && !ends_whole => record.reading.push(torn(number)),
                Err(why) => {
                    return Err(ReadError::Broken {
                        line: number,
                        why: in_one_line(&why.to_string()).into_owned(),
                    });
                }
            }
        }
        Ok(record)
    }

    fn numbered(&self, trial: &TrialLine, line: usize) -> Result<(), ReadError> {
        let (number, before) = (trial.number, self.last_number().unwrap_or(0));
        if before.checked_add(1) == Some(number) {
            Ok(())
        } else {
            Err(ReadError::Misnumbered { line, number, before })
        }
    }

    fn limit(&mut self, limits: LimitsLine, line: usize) -> Result<(), ReadError> {
        let (after, before) = (limits.after_trial, self.last_number().unwrap_or(0));
        if after != before {
            return Err(ReadError::MisplacedLimits { line, after, before });
        }
        self.limits.push(limits);
        Ok(())
    }

    /// Whether it has the answer of a search that came to its end.
    pub fn is_finished(&self) -> bool {
        let has_failed = self.ended_by().is_some_and(EndWord::is_failure);
        self.result.as_ref().is_some_and(|result| !result.interrupted && !has_failed)
    }

    /// What ended the search; `None` where it has no end.
    pub fn ended_by(&self) -> Option<EndWord> {
        Some(self.result.as_ref()?.ended_by)
    }

    /// Number of the last trial.
    pub fn last_number(&self) -> Option<u64> {
        self.trials.last().map(|trial| trial.number)
    }

    /// The limits that were set after the trial of this number, in order; 0 is before the first.
    pub fn limits_after(&self, number: u64) -> impl Iterator<Item = &LimitsLine> {
        self.limits.iter().filter(move |limits| limits.after_trial == number)
    }

    /// The record as JSON Lines.
    pub fn to_lines(&self) -> String {
        let mut text = header_line(&self.header);
        self.limits_after(0).for_each(|limits| text.push_str(&limits_line(limits)));
        for trial in &self.trials {
            text.push_str(&trial_line(trial));
            let after = self.limits_after(trial.number).filter(|limits| limits.after_trial > 0);
            after.for_each(|limits| text.push_str(&limits_line(limits)));
        }
        if let Some(result) = &self.result {
            text.push_str(&result_line(result));
        }
        text
    }

    /// The same data as one object: the promised fields of `--json`.
    ///
    /// For the verbs `trial` and `watch` that is the trial with the header's fields beside it; any other has its `trials`.
    pub fn to_object(&self) -> Value {
        let mut object = Map::new();
        if self.header.is_of_one_trial()
            && let Some(trial) = self.trials.last()
        {
            merge(&mut object, trial);
        }
        merge(&mut object, &self.header);
        if self.header.verb == "search" {
            let search = object.remove("search").unwrap_or_default();
            if let Value::Object(search) = search {
                search.into_iter().for_each(|(key, value)| {
                    object.insert(key, value);
                });
            }
            if !self.limits.is_empty() {
                object.insert("limits".into(), serde_json::to_value(&self.limits).unwrap_or_default());
            }
        }
        if !self.header.is_of_one_trial() {
            object.insert("trials".into(), serde_json::to_value(&self.trials).unwrap_or_default());
        }
        let bursts = self.back_to_back();
        match (&self.result, self.answers()) {
            (Some(result), _) => merge(&mut object, result),
            // What was known when it was cut off.
            (None, Some(answers)) => {
                object.insert("goals".into(), serde_json::to_value(answers).unwrap_or_default());
            }
            (None, None) => {}
        }
        if let Some(bursts) = bursts {
            object.insert("back_to_back".into(), serde_json::to_value(bursts).unwrap_or_default());
        }
        object.insert("caveats".into(), serde_json::to_value(self.caveats()).unwrap_or_default());
        Value::Object(object)
    }

    /// What the search answers, or knew when it was cut off; `None` when the record is of no search.
    pub fn answers(&self) -> Option<Vec<AnswerLine>> {
        let search = self.header.search.as_ref()?;
        Some(match &self.result {
            Some(result) => result.goals.clone(),
            None => cut_off(search, &self.trials),
        })
    }

    /// The longest bursts of back-to-back frames, as far as they are known; `None` where nobody looked for them.
    pub fn back_to_back(&self) -> Option<BackToBackLine> {
        let kept = self.result.as_ref().and_then(|result| result.back_to_back.clone());
        let is_going_on = self.header.bursts.is_some() && !self.is_finished();
        kept.or_else(|| BackToBackLine::of(&self.header, &self.trials, is_going_on))
    }

    /// Doubts about the whole: the result's, those of a single trial, those of reading.
    pub fn caveats(&self) -> Vec<CaveatLine> {
        let mut caveats = self.reading.clone();
        match (&self.result, self.header.is_of_one_trial(), self.trials.last()) {
            (_, true, Some(trial)) => caveats.extend(trial.caveats.clone()),
            (Some(result), _, _) => caveats.extend(result.caveats.clone()),
            _ => {}
        }
        caveats
    }
}

/// The header's line, newline included.
pub fn header_line(header: &Header) -> String {
    line(&Line::Header(Box::new(header.clone())))
}

/// A trial's line, newline included.
pub fn trial_line(trial: &TrialLine) -> String {
    line(&Line::Trial(Box::new(trial.clone())))
}

/// The line of a change of limits, newline included.
pub fn limits_line(limits: &LimitsLine) -> String {
    line(&Line::Limits(*limits))
}

/// The result's line, newline included.
pub fn result_line(result: &ResultLine) -> String {
    line(&Line::Result(Box::new(result.clone())))
}

fn line(line: &Line) -> String {
    let text = serde_json::to_string(line).expect("a line is JSON");
    // A record is looked at with other programs too.
    printable_json(&text).into_owned() + "\n"
}

fn header(line: &str) -> Result<Header, ReadError> {
    let value: Value = serde_json::from_str(line).map_err(|why| ReadError::NoHeader(why.to_string()))?;
    let found = value.get("schema").and_then(Value::as_str);
    match found {
        Some(CURRENT) => {}
        Some(found) => return Err(ReadError::UnknownSchema { found: found.into() }),
        None => return Err(ReadError::NoHeader("it has no \"schema\"".into())),
    }
    match serde_json::from_value(value) {
        Ok(Line::Header(header)) => Ok(*header),
        Ok(Line::Distribution(_)) => Err(ReadError::Imported),
        Ok(_) => Err(ReadError::NoHeader("it is another line".into())),
        Err(why) => Err(ReadError::NoHeader(why.to_string())),
    }
}

/// Code of the doubt that says what failed, and so ended a search before its time.
pub const BROKEN: &str = "search_broken";

/// What a search that was cut off knew after its last trial.
fn cut_off(search: &SearchLine, trials: &[TrialLine]) -> Vec<AnswerLine> {
    let known = trials.iter().rev().find(|trial| !trial.bounds.is_empty());
    let bounds = |index: usize| known.and_then(|trial| trial.bounds.get(index)).copied().unwrap_or_default();
    search
        .goals
        .iter()
        .enumerate()
        .map(|(index, goal)| {
            let BoundsLine { lower_pps, lower_valid, upper_pps, upper_valid, .. } = bounds(index);
            AnswerLine {
                goal: goal.clone(),
                lower_pps: lower_pps.filter(|_| lower_valid),
                upper_pps: upper_pps.filter(|_| upper_valid),
                median_pps: None,
                level: None,
                conditional_throughput_pps: None,
                result: ResultWord::Irregular,
                why: Some(ReasonWord::Unfinished),
                outlook: None,
                certified: None,
            }
        })
        .collect()
}

fn torn(line: usize) -> CaveatLine {
    CaveatLine {
        code: "torn_line".into(),
        text: format!("line {line}, the last one, was cut off while it was written; it is left out"),
        numbers: Map::new(),
    }
}

fn merge<T: serde::Serialize>(object: &mut Map<String, Value>, part: &T) {
    if let Ok(Value::Object(part)) = serde_json::to_value(part) {
        object.extend(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, ProfileLine, Purpose};
    use dropline_stats::Histogram;
    use dropline_trial::{Delay, Rate, TrafficProfile, Trial, TrialInput, seed};
    use proptest::prelude::*;
    use std::time::Duration;

    fn header() -> Header {
        Header {
            schema: CURRENT.into(),
            verb: "search".into(),
            started: "2026-11-21T09:31:00Z".into(),
            target: "sim:hard".into(),
            target_note: None,
            asked_digest: None,
            load_unit: crate::LoadUnit::Packets,
            load_is: "one interface".into(),
            profile: ProfileLine::from(&TrafficProfile::default()),
            search: None,
            generator: None,
            on: None,
            bursts: None,
            generator_limit_pps: None,
            environment: Environment::default(),
        }
    }

    fn trial(number: u64) -> Trial {
        let input =
            TrialInput { load: Rate::from_millipps(182_600), duration: Duration::from_nanos(5_477_225_575) };
        let mut histogram = Histogram::new();
        histogram.record_n(34_000, 50);
        Trial {
            intended: Some(1000),
            offered: 1000,
            forwarded: 990,
            delay: Delay { histogram: Some(histogram), ..Delay::default() },
            ..Trial::new(number, input, seed::of_trial(7, number))
        }
    }

    fn line_of(number: u64) -> TrialLine {
        let trial = trial(number);
        let at = trial.elapsed * (number as u32 - 1);
        TrialLine::new(&trial, "sim:hard", "constant", Purpose::Search, at)
    }

    #[test]
    fn a_torn_last_line_is_dropped_with_a_caveat() {
        let record = Record { trials: vec![line_of(1), line_of(2)], ..Record::begin(header()) };
        let text = record.to_lines();
        let read = Record::read(&text[..text.len() - 20]).unwrap();
        assert_eq!((read.trials.len(), read.reading[0].code.as_str()), (1, "torn_line"));
    }

    #[test]
    fn a_broken_line_in_the_middle_is_an_error_that_names_it() {
        let record = Record { trials: vec![line_of(1), line_of(2)], ..Record::begin(header()) };
        let text = record.to_lines().replacen("\"offered\":1000", "\"offered\":-1", 1);
        assert!(matches!(Record::read(&text), Err(ReadError::Broken { line: 2, .. })));
    }

    #[test]
    fn an_unknown_schema_and_an_empty_file_are_told_apart() {
        let text = header_line(&header()).replace("dropline/1", "dropline/99");
        assert!(matches!(Record::read(&text), Err(ReadError::UnknownSchema { .. })));
        assert!(matches!(Record::read("\n"), Err(ReadError::Empty)));
        assert!(matches!(Record::read("{}\n"), Err(ReadError::NoHeader(_))));
    }

    #[test]
    fn a_line_that_stands_twice_or_in_another_place_is_an_error_that_names_it() {
        let record = Record { trials: (1..=3).map(line_of).collect(), ..Record::begin(header()) };
        let text = record.to_lines();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let doubled = [lines[0], lines[1], lines[1], lines[2]].concat();
        assert!(matches!(Record::read(&doubled), Err(ReadError::Misnumbered { line: 3, number: 1, .. })));
        let missing = [lines[0], lines[1], lines[3]].concat();
        let why = Record::read(&missing).unwrap_err().to_string();
        assert!(why.contains("line 3") && why.contains("trial 2 is missing"), "{why}");
        let limits = limits_line(&LimitsLine { after_trial: 2, budget_s: None, max_trials: Some(9) });
        let moved = [lines[0], lines[1], &limits].concat();
        assert!(matches!(Record::read(&moved), Err(ReadError::MisplacedLimits { line: 3, .. })));
    }

    #[test]
    fn a_change_of_limits_is_read_and_written_where_it_was_made() {
        let limits = |after_trial, budget_s| LimitsLine { after_trial, budget_s, max_trials: Some(u64::MAX) };
        let record = Record {
            trials: (1..=3).map(line_of).collect(),
            limits: vec![limits(0, None), limits(2, Some(0.1)), limits(2, Some(36.0))],
            ..Record::begin(header())
        };
        let text = record.to_lines();
        assert_eq!(Record::read(&text).unwrap(), record);
        let kinds: Vec<bool> = text.lines().map(|line| line.contains(r#""line":"limits""#)).collect();
        assert_eq!(kinds, [false, true, false, false, true, true, false]);
    }

    proptest! {
        #[test]
        fn cutting_a_record_anywhere_loses_at_most_one_trial(at in 0.0f64..1.0) {
            let trials: Vec<TrialLine> = (1..=5).map(line_of).collect();
            let text = Record { trials, ..Record::begin(header()) }.to_lines();
            let head = header_line(&header()).len();
            let cut = head + ((text.len() - head) as f64 * at) as usize;
            let whole = text[..cut].matches('\n').count() - 1;
            let read = Record::read(&text[..cut]).unwrap();
            prop_assert!(read.trials.len() >= whole);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
            let _ = Record::read(&text);
        }
    }
}
