//! Measuring again before a change is told: the newest search of a history whose level changed, as its record says it.

use super::confirming::{CHANGED, GOOD, SIDE};
use super::nights::CONFIRMS;
use crate::indexed::indexed;
use crate::plan::SearchPlan;
use dropline_archive::history::History;
use dropline_archive::record_file::read_record;
use dropline_archive::{clock, environment};
use dropline_failure::{Failure, quoted};
use dropline_record::{ChangeLine, Quantity, Record, SeriesLine, Trends, VerdictWord};
use dropline_stats::trend::YOUNG;
use dropline_targets::Target;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What the user says beside the records.
#[derive(Clone, Debug, Default)]
pub struct Again {
    /// The target of the newest record, where that starts a program, asks the network for a name, or opens a file elsewhere.
    pub target: Option<String>,
    /// What was good before the change, to be searched in turns with it.
    pub good: Option<String>,
}

/// A search that is made again.
#[derive(Debug)]
pub struct Confirmation {
    /// What is searched for, and how: as the record says.
    pub plan: SearchPlan,
    /// What its record is told to say of it.
    pub labels: BTreeMap<String, String>,
    /// The history in which its record is filed: that of the newest record.
    pub history: Option<PathBuf>,
    source: PathBuf,
}

/// What is measured again, and what cannot be here.
#[derive(Debug, Default)]
pub struct Confirmations {
    /// Searches of targets of this machine.
    pub here: Vec<Confirmation>,
    /// Why others are not confirmed: another machine has to.
    pub elsewhere: Vec<Failure>,
}

/// In which order: what changed twice, around what was good twice.
const IN_TURNS: [&str; 4] = [CHANGED, GOOD, GOOD, CHANGED];
const ALONE: [&str; 2] = [CHANGED, CHANGED];
/// Their seeds are so far from one another, and from those of the nights.
const APART: u64 = 1_000_003;

/// The searches that confirm what is told of `named`: of each history whose last level regressed or is young, the newest one; none
/// where nothing is to be confirmed.
///
/// # Errors
/// If a record cannot be read, all are of other machines, a target has to be typed and was not, or what was typed is none of
/// them.
pub fn confirmations(trends: &Trends, named: &[PathBuf], again: &Again) -> Result<Confirmations, Failure> {
    let mut due: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for series in &trends.series {
        if let (Some(change), Some(newest)) = (due_in(series), series.points.last()) {
            due.entry(&newest.source).or_default().insert(change);
        }
    }
    let mut found = Confirmations::default();
    let mut targets = BTreeSet::new();
    for (source, ids) in due {
        let (record, history) = read(source, named)?;
        if let Some(why) = elsewhere(source, &record)? {
            found.elsewhere.push(why);
            continue;
        }
        let plan = plan(source, &record, again)?;
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
            let history = history.clone();
            found.here.push(Confirmation { plan, labels, history, source: source.into() });
        }
    }
    if found.here.is_empty() && !found.elsewhere.is_empty() {
        return Err(found.elsewhere.swap_remove(0));
    }
    let is_another = |typed: &&String| !found.here.is_empty() && !targets.contains(*typed);
    if let Some(typed) = again.target.as_ref().filter(is_another) {
        let named = targets.iter().map(|target| quoted(target)).collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format!("--target {} is not what is confirmed", quoted(typed)))
            .advice(format!("what changed is {named}")));
    }
    if again.good.is_some() && targets.len() > 1 {
        return Err(Failure::usage("--abba names one good target, and several targets changed")
            .advice("name the records of one of them"));
    }
    Ok(found)
}

/// The change that the newest nights of a history are behind, if it is one of a limit and to be confirmed.
fn due_in(series: &SeriesLine) -> Option<&str> {
    if series.quantity != Quantity::Limit {
        return None;
    }
    let is_answered = |last: &ChangeLine| {
        last.confirmation
            .as_ref()
            .is_some_and(|fresh| fresh.nights_since < YOUNG as u64 || fresh.verdict == last.verdict)
    };
    let last = series.changes.last().filter(|last| !last.acknowledged && !is_answered(last))?;
    let is_bad = last.verdict == VerdictWord::Regressed || last.suspected;
    let drifted = series.drifts.iter().any(|drift| drift.to > last.at);
    (is_bad && !drifted).then_some(last.id.as_str())
}

/// Why nothing is measured again, where nothing is.
pub fn why_none(trends: &Trends) -> String {
    let is_other = |series: &&SeriesLine| {
        let is_bad = |line: &ChangeLine| line.verdict == VerdictWord::Regressed || line.suspected;
        series.quantity != Quantity::Limit
            && series.changes.last().is_some_and(|last| !last.acknowledged && is_bad(last))
    };
    match trends.series.iter().find(is_other) {
        Some(series) => format!(
            "nothing is measured again: only searches can be, and what changed is the {} of {}",
            series.goal, series.target
        ),
        None => "nothing is to be confirmed: no new level that was not measured again already is young, or worse than the \
                 one before"
            .into(),
    }
}

/// A record that one of these names holds, and the history that it lies in.
fn read(source: &str, named: &[PathBuf]) -> Result<(Record, Option<PathBuf>), Failure> {
    let path = Path::new(source);
    let is_around = |named: &&PathBuf| History::is_remote(named) && path.starts_with(named);
    if let Some(remote) = named.iter().find(is_around) {
        let file = path.strip_prefix(remote).unwrap_or(path).to_string_lossy();
        return Ok((History::open(remote, indexed)?.record(&file)?, Some(remote.clone())));
    }
    let history = History::around(path, indexed).map(|history| history.named().to_owned());
    Ok((read_record(path)?, history))
}

/// Why a search cannot be made again on this machine, if it cannot.
fn elsewhere(source: &str, record: &Record) -> Result<Option<Failure>, Failure> {
    if record.header.verb != "search" {
        return Err(Failure::usage(format!(
            "{source} was measured by another program: that search cannot be made again"
        ))
        .advice("confirm it where it was measured, and add what comes of it to the history"));
    }
    let here = environment::capture(&[]).machine();
    let there = record.header.environment.machine();
    let another = || {
        Failure::environment(format!("{source} was measured on another machine: {there}, and this is {here}"))
            .advice("confirm it on that machine: what another one says does not tell whether it changed")
    };
    Ok((here != there).then(another))
}

/// A search, as its record says. A record is data: what it names is opened like what a file names.
fn plan(source: &str, record: &Record, again: &Again) -> Result<SearchPlan, Failure> {
    let mut plan = SearchPlan::of_record(record, Path::new(source))?;
    plan.repetition = None;
    let word = &record.header.target;
    if again.target.as_ref() == Some(word) {
        plan.target = Target::parse(word)?;
    }
    if let Some(would) = plan.target.refused() {
        let typed = again
            .target
            .as_ref()
            .map_or_else(String::new, |typed| format!(", which --target {} is not", quoted(typed)));
        return Err(Failure::environment(format!(
            "{source}: to confirm it would {would} {}{typed}",
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

impl Confirmation {
    /// Where its record goes if there is no history: beside the newest record.
    pub fn beside(&self) -> Option<PathBuf> {
        let second = clock::now_compact();
        let named = |number: u32| self.source.with_file_name(format!("confirm-{second}-{number}.jsonl"));
        self.history
            .is_none()
            .then(|| (1..).map(named).find(|path| !path.exists()).expect("numbers do not end"))
    }
}
