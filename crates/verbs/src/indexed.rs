//! What the index of a history says of a record.

use crate::measured::{measured, verdict};
use dropline_record::{AnswerLine, IndexLine, IndexedGoal, IndexedTrial, ReasonWord, Record, ResultWord};
use dropline_report::Denied;

/// All that is said of it, but for its file.
pub fn indexed(record: &Record) -> IndexLine {
    let header = &record.header;
    let environment = &header.environment;
    let finished = match &header.search {
        Some(_) => record.is_finished(),
        None => !record.trials.is_empty() && record.reading.is_empty(),
    };
    let answers = record.answers().unwrap_or_default();
    IndexLine {
        started: header.started.clone(),
        kind: header.verb.clone(),
        target: header.target.clone(),
        finished,
        load_unit: header.load_unit,
        algorithm: header.search.as_ref().map(|search| search.algorithm.clone()),
        level: header.search.as_ref().and_then(|search| search.level),
        goals: answers.into_iter().map(|answer| goal(record, answer, finished)).collect(),
        trial: header.search.is_none().then(|| trial(record)),
        profile: header.profile.clone(),
        machine: environment.machine(),
        kernel: environment.kernel.clone(),
        governor: environment.governor.clone(),
        turbo: environment.turbo.clone(),
        smt: environment.smt.clone(),
        dropline: environment.dropline.clone(),
        labels: environment.labels.clone(),
        file: String::new(),
        bytes: 0,
        header_sha256: String::new(),
        sha256: String::new(),
    }
}

fn goal(record: &Record, answer: AnswerLine, finished: bool) -> IndexedGoal {
    let limit = if finished { limit(record, &answer) } else { Err(UNFINISHED.into()) };
    let bound_pps = limit.as_ref().ok().filter(|limit| limit.is_none()).and_then(|_| bound(&answer));
    let (limit_pps, why_not) = match limit {
        Ok(Some(limit)) => (Some(limit), None),
        Ok(None) => (None, Some("it does not say where the limit is".into())),
        Err(why) => (None, Some(why)),
    };
    IndexedGoal {
        goal: answer.goal.words(),
        lower_pps: answer.lower_pps,
        median_pps: answer.median_pps,
        upper_pps: answer.upper_pps,
        result: answer.result,
        standing: Some(dropline_report::standing(record, &answer)),
        level: answer.level,
        limit_pps,
        bound_pps,
        why_not,
        asked: answer.goal,
    }
}

/// What trials found, or a comparison of two targets in turns.
fn trial(record: &Record) -> IndexedTrial {
    let last = record.trials.last();
    let delays = last.and_then(|trial| trial.delay_ns.as_ref());
    let compared = verdict(record);
    let (measured, why_not) = match measured(record, compared.as_ref()) {
        Ok(measured) => (measured, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    IndexedTrial {
        answer: compared
            .map_or_else(|| dropline_report::said(record), |found| dropline_report::compared_line(&found)),
        trials: record.trials.len() as u64,
        load_pps: last.map(|trial| trial.intended_load_pps).filter(|load| *load > 0.0),
        loss_ratio: last.and_then(|trial| trial.loss_ratio),
        trial_loss_ratio: last.and_then(|trial| trial.trial_loss_ratio),
        p50_ns: delays.and_then(|delays| delays.p50),
        p99_ns: delays.and_then(|delays| delays.p99),
        measured,
        why_not,
    }
}

/// Why a search that was stopped is not a night.
pub const UNFINISHED: &str = "the search did not come to its end; --resume does that";

/// The number to compare, where the answer stands as it is stated; `None` where it does not say where the limit is.
fn limit(record: &Record, answer: &AnswerLine) -> Result<Option<f64>, String> {
    if answer.is_generators() {
        return Err("the generator or other programs were the limit, not the target".into());
    }
    if let Some(denied) = Denied::of(record, answer) {
        return Err(format!("its answer does not stand: {}", denied.why));
    }
    let is_bounds_apart = answer.level.is_none() && answer.result == ResultWord::Irregular;
    let value = answer.headline_pps().filter(|value| *value > 0.0);
    let has_both = answer.lower_pps.is_some() && answer.upper_pps.is_some();
    Ok(value.filter(|_| !is_bounds_apart && has_both))
}

/// The highest load where the goal is achieved there, the lowest where it fails there.
fn bound(answer: &AnswerLine) -> Option<f64> {
    let is = |result, why| answer.result == result || answer.why == Some(why);
    let end = match () {
        () if is(ResultWord::BelowMinimum, ReasonWord::BelowMinimum) => answer.upper_pps,
        () if is(ResultWord::AtMaximum, ReasonWord::AtMaximum) => answer.lower_pps,
        () => None,
    };
    end.filter(|end| *end > 0.0)
}
