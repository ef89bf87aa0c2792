//! Measuring again before a change is told: the newest search of a history whose level changed, as its record says it.

use super::confirming::{CHANGED, CONFIRMS, GOOD, SIDE};
use crate::indexed::indexed;
use crate::plan::SearchPlan;
use dropline_archive::history::History;
use dropline_archive::record_file::read_record;
use dropline_archive::{clock, environment};
use dropline_failure::{Failure, quoted};
use dropline_record::{SeriesLine, Trends, VerdictWord};
use dropline_targets::Target;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What the user says beside the records.
#[derive(Clone, Debug, Default)]
pub struct Again {
    /// The target of the newest record, where that starts a program or asks the network for a name.
    pub target: Option<String>,
    /// What was good before the change, to be searched in turns with it.
    pub good: Option<String>,
}

/// A search that is made again.
#[derive(Debug)]
pub struct Turn {
    /// What is searched for, and how: as the record says.
    pub plan: SearchPlan,
    /// What its record is told to say of it.
    pub labels: BTreeMap<String, String>,
    source: PathBuf,
}

/// Where turns are measured: what changed twice, around what was good twice.
const IN_TURNS: [&str; 4] = [CHANGED, GOOD, GOOD, CHANGED];
const ALONE: [&str; 2] = [CHANGED, CHANGED];
/// Seeds of turns are so far from one another, and from those of the nights.
const APART: u64 = 1_000_003;

/// The searches that confirm what is told: of each history whose last level regressed or is young, the newest one; none where
/// nothing is to be confirmed.
///
/// # Errors
/// If a record cannot be read, is of another machine, its target has to be typed and was not, or what was typed is none of
/// them.
pub fn turns(trends: &Trends, again: &Again) -> Result<Vec<Turn>, Failure> {
    let mut due: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for series in &trends.series {
        if let (Some(change), Some(newest)) = (due_in(series), series.points.last()) {
            due.entry(&newest.source).or_default().insert(change);
        }
    }
    let mut turns = Vec::new();
    let mut targets = BTreeSet::new();
    for (source, ids) in due {
        let plan = plan(Path::new(source), again)?;
        targets.insert(plan.target.to_string());
        let good = again.good.as_deref().map(|word| good(word, &plan)).transpose()?;
        let sides = if good.is_some() { &IN_TURNS[..] } else { &ALONE[..] };
        for (number, &side) in (1..).zip(sides) {
            let mut plan = plan.clone();
            plan.profile.seed = plan.profile.seed.wrapping_add(number * APART);
            if let Some(good) = good.as_ref().filter(|_| side == GOOD) {
                plan.target = good.clone();
            }
            let ids = ids.iter().copied().collect::<Vec<_>>().join(",");
            let labels = BTreeMap::from([(CONFIRMS.to_owned(), ids), (SIDE.to_owned(), side.to_owned())]);
            turns.push(Turn { plan, labels, source: source.into() });
        }
    }
    if let Some(typed) = again.target.as_ref().filter(|typed| !turns.is_empty() && !targets.contains(*typed))
    {
        let named = targets.iter().map(|target| quoted(target)).collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format!("--target {} is not what is confirmed", quoted(typed)))
            .advice(format!("what changed is {named}")));
    }
    if again.good.is_some() && targets.len() > 1 {
        return Err(Failure::usage("--abba names one good target, and several targets changed")
            .advice("name the records of one of them"));
    }
    Ok(turns)
}

/// The change that the newest nights of a history are behind, if it is to be confirmed.
fn due_in(series: &SeriesLine) -> Option<&str> {
    let last = series.changes.last().filter(|last| !last.acknowledged && last.confirmation.is_none())?;
    let is_bad = last.verdict == VerdictWord::Regressed || last.suspected;
    let drifted = series.drifts.iter().any(|drift| drift.to > last.at);
    (is_bad && !drifted).then_some(last.id.as_str())
}

/// The newest search, as its record says. A record is data: what it names is opened like what a file names.
fn plan(source: &Path, again: &Again) -> Result<SearchPlan, Failure> {
    let record = read_record(source)?;
    if record.header.verb != "search" {
        return Err(Failure::usage(format!(
            "{} was measured by another program: that search cannot be made again",
            source.display()
        ))
        .advice("confirm it where it was measured, and add what comes of it to the history"));
    }
    let here = environment::capture(&[]).machine();
    let there = record.header.environment.machine();
    if here != there {
        return Err(Failure::environment(format!(
            "{} was measured on another machine: {there}, and this is {here}",
            source.display()
        ))
        .advice("confirm it on that machine: what another one says does not tell whether it changed"));
    }
    let mut plan = SearchPlan::of_record(&record)?;
    plan.repetition = None;
    let word = &record.header.target;
    if again.target.as_ref() == Some(word) {
        plan.target = Target::parse(word)?;
    }
    if plan.target.is_refused() {
        let would = match plan.target.name_to_ask_for() {
            Some(_) => "ask the network for the host of",
            None => "start a program,",
        };
        return Err(Failure::environment(format!(
            "{}: to confirm it would {would} {}",
            source.display(),
            quoted(word)
        ))
        .advice(format!(
            "a record is data, and may come from elsewhere. If that is meant, write it yourself:\n  --target {}",
            quoted(word)
        )));
    }
    Ok(plan)
}

fn good(word: &str, changed: &SearchPlan) -> Result<Target, Failure> {
    let target = Target::parse(word)?;
    if target.load_unit() == changed.target.load_unit() {
        return Ok(target);
    }
    Err(Failure::usage(format!(
        "--abba {}: its load counts {}, and that of {} {}",
        quoted(word),
        target.load_unit().many(),
        changed.target,
        changed.target.load_unit().many()
    )))
}

impl Turn {
    /// Where its record goes: into the history of the newest record, else beside it.
    ///
    /// # Errors
    /// If the history has no place for it.
    pub fn place(&self) -> Result<PathBuf, Failure> {
        if let Some(history) = History::around(&self.source, indexed) {
            return history.place(&self.plan.target.to_string());
        }
        let second = clock::now_compact();
        let named = |number: u32| self.source.with_file_name(format!("confirm-{second}-{number}.jsonl"));
        Ok((1..).map(named).find(|path| !path.exists()).expect("numbers do not end"))
    }

    /// Takes its record into the history that it lies in.
    ///
    /// # Errors
    /// If the index cannot be written.
    pub fn filed(&self) -> Result<(), Failure> {
        History::around(&self.source, indexed).map_or(Ok(()), |history| history.update())
    }
}
