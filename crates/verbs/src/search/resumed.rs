//! A search that goes on with its record, or says why it does not.

use super::{Conditions, Finished, Run};
use crate::observer::Watcher;
use crate::plan::SearchPlan;
use crate::replayed::{ReplayedSearch, replay};
use crate::resume::going_on;
use crate::validity::is_generators;
use dropline_archive::record_file::{Keeper, read_record};
use dropline_failure::{Failure, quoted};
use dropline_record::{BROKEN, CaveatLine, EndWord, Record, measured_by};
use dropline_search::{Limits, Search};
use dropline_trial::number_of;
use std::path::Path;

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
    if record.is_finished() && SearchPlan::of_record(&record, path)?.limits == plan.limits {
        return Ok(shown(record, None));
    }
    let (mut keeper, mut record) = Keeper::resume(path)?;
    same_search(plan, &record, path)?;
    let ReplayedSearch { mut search, at } = replay(plan, &record, &mut |_| {}).map_err(|why| why.of(path))?;
    let limits = SearchPlan::of_record(&record, path)?.limits;
    let spent = (limits != plan.limits).then(|| spent_before(plan, &search, limits)).flatten();
    if limits != plan.limits {
        plan.limit(&mut search, plan.limits);
        let line = plan.limits_line(record.last_number().unwrap_or(0));
        keeper.limits(&line);
        record.limits.push(line);
    }
    let goes_on = search.next_trial().is_some();
    // What their number ended says nothing of what more time would tell: where more trials are allowed, it has to.
    let by_number = |limits: Limits| limits.max_trials.is_some_and(|most| search.trials() >= most);
    let is_stated = !by_number(limits) || by_number(plan.limits);
    if record.is_finished() && !goes_on && is_stated {
        // More was allowed, and nothing more is wanted.
        let record = read_record(path)?;
        return Ok(shown(record, spent));
    }
    if !goes_on && record.ended_by() == Some(EndWord::EndingFailed) {
        return Err(failed_at_its_end(&record, path));
    }
    record.reading.extend(spent);
    if let Some(would) = plan.target.refused().filter(|_| goes_on) {
        let word = quoted(&record.header.target);
        let again = going_on(&path.to_string_lossy(), &record.header);
        return Err(Failure::environment(format!("{}: to resume it would {would} {word}", path.display())).advice(
            format!("a record is data, and may come from elsewhere. If that is meant, write it yourself:\n  {again}"),
        ));
    }
    if goes_on {
        asks_the_same(plan, &record, path)?;
        measured_by_the_same(plan, &record, path)?;
    }
    let earlier = broken_off(&record);
    let mut run = Run { plan, conditions, search, record, keeper, measurer: None, at, watcher, earlier };
    if goes_on {
        run.open()?;
    }
    run.record.result = None;
    Ok(run.run())
}

/// A finished record, and why nothing is added to it.
fn shown(mut record: Record, why: Option<CaveatLine>) -> Finished {
    let why = why.or_else(|| is_generators(&record).then(|| nothing_wanted(&record)));
    record.reading.extend(why);
    Finished { record, failure: None }
}

/// What is said of a search that came to its end without valid trials.
fn nothing_wanted(record: &Record) -> CaveatLine {
    let text = format!(
        "nothing was added by this --resume: the search had come to its end after {}, and not because of --budget or \
         --max-trials: it had no valid trials where they would have told more, and more time brings none; mend what the \
         other caveats name, and search again, into another file",
        number_of(record.trials.len(), "trial")
    );
    CaveatLine::said("nothing_added", text)
}

/// What ended the search that is gone on with, where something failed.
fn broken_off(record: &Record) -> Option<CaveatLine> {
    let broken = record.result.as_ref()?.caveats.iter().find(|caveat| caveat.code == BROKEN)?;
    let text = format!(
        "the search was broken off after {}, and resumed with --resume: {}",
        number_of(record.trials.len(), "trial"),
        broken.text
    );
    Some(CaveatLine::said("went_on", text))
}

/// There is no trial that could be made again, and nobody knows what those that are there are worth.
fn failed_at_its_end(record: &Record, path: &Path) -> Failure {
    let why = record.caveats().into_iter().find(|caveat| caveat.code == BROKEN);
    Failure::environment(format!(
        "{}: the search has every trial that it asks for, and no answer, for its target failed at the end: {}",
        path.display(),
        why.map_or_else(String::new, |why| why.text)
    ))
    .advice(format!(
        "no trial is left to be made: mend the target, and search again, into another file:  dropline search {}",
        quoted(&record.header.target)
    ))
}

/// What is said where other limits than those of the record, `before`, leave no room for another trial: a limit that was named for
/// this --resume goes before one that the record has.
fn spent_before(plan: &SearchPlan, search: &Search, before: Limits) -> Option<CaveatLine> {
    let (spent, trials) = (search.spent(), search.trials());
    let budget = plan.limits.budget.filter(|budget| *budget <= spent);
    let most = plan.limits.max_trials.filter(|most| *most <= trials);
    let is_named = plan.limits.budget != before.budget;
    let limit = match (budget, most) {
        (Some(budget), most) if is_named || most.is_none() => {
            let of_record = if is_named { "" } else { ", which the record has," };
            format!("--budget {} s{of_record}", budget.as_secs_f64())
        }
        (_, Some(most)) => format!("--max-trials {most}"),
        (_, None) => return None,
    };
    let text = format!(
        "{limit} was spent before this --resume: {} of this record took {:.3} s, so none is added; \
         to resume it, allow more than that",
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
        && let Some(what) = SearchPlan::of_record(record, path)?.differs_from(stored, &record.header.profile)
    {
        return Err(no_search_of_ours(path, &what));
    }
    let as_it_was = going_on(&path.to_string_lossy(), &record.header);
    Err(Failure::usage(format!("{} is a search with another {what}", path.display()))
        .advice(format!("to resume it as it was:  {as_it_was}")))
}

/// Refuses a file of questions or payloads that is not the one of the trials that are there: what is measured would be
/// something else. Of a record without a digest, a file whose bytes would be sent is not read at all.
fn asks_the_same(plan: &SearchPlan, record: &Record, path: &Path) -> Result<(), Failure> {
    let before = record.header.asked_digest.as_ref();
    let Some(file) = plan.target.file().filter(|_| before.is_some() || plan.target.sends_a_file()) else {
        return Ok(());
    };
    if plan.target.asked_digest()?.as_ref() == before {
        return Ok(());
    }
    Err(Failure::environment(format!(
        "{}: its trials were made with other contents of {} than it has now: what is asked would be something else",
        path.display(),
        file.display()
    ))
    .advice("put the file back as it was then, or begin a new search, into another file"))
}

/// Refuses other generators than those of the trials that are there: one process, or other agents, offer what they can and not what
/// those could, and the answer would be of both.
fn measured_by_the_same(plan: &SearchPlan, record: &Record, path: &Path) -> Result<(), Failure> {
    let (before, now) = (record.header.on.as_deref(), plan.target.on()?);
    if now.as_deref() == before {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{}: its trials were measured by {}, and now {} would measure: the answer would be of both",
        path.display(),
        record.header.measured_by(),
        measured_by(now.as_deref())
    ))
    .advice(format!("to resume it as it was:  {}", going_on(&path.to_string_lossy(), &record.header))))
}

/// Not even the plan that is read from the record is that of the record.
fn no_search_of_ours(path: &Path, what: &str) -> Failure {
    Failure::environment(format!(
        "{}: its header contradicts itself: no search has the {what} that it says",
        path.display()
    ))
    .advice("the file was edited or damaged: take a copy that was not, or search again into another file")
}
