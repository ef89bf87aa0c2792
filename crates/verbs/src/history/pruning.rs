//! Which records of a history go, and which stay whatever their age is.

use super::wanted::moments;
use crate::indexed::indexed;
use crate::trend::Acknowledged;
use dropline_archive::clock;
use dropline_archive::history::History;
use dropline_failure::Failure;
use dropline_record::{IndexLine, Pruned, PrunedLine};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// What keeps a record: one of these is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// It is one of so many newest of its series.
    newest: Option<usize>,
    /// It began then or later.
    since: Vec<i64>,
}

impl Keeping {
    /// From what was said: days, a number of each series, a date.
    ///
    /// # Errors
    /// If nothing was said, or it is not a date.
    pub fn of(days: Option<u32>, newest: Option<usize>, older_than: Option<&str>) -> Result<Self, Failure> {
        if days.is_none() && newest.is_none() && older_than.is_none() {
            return Err(Failure::usage("nothing says which records may go").advice(
                "say what is kept: --keep-days N, --keep N of each series, or what goes: --older-than DATE",
            ));
        }
        let days = days.map(|days| clock::now_s() - i64::from(days) * DAY);
        let date = older_than.map(|date| moments("--older-than", date)).transpose()?;
        Ok(Self { newest, since: days.into_iter().chain(date.map(|[first, _]| first)).collect() })
    }
}

/// Says which records go; with `yes`, removes them.
///
/// # Errors
/// If the history cannot be read or changed.
pub fn prune(directory: &Path, keeping: &Keeping, yes: bool) -> Result<Pruned, Failure> {
    let history = History::open(directory, indexed)?;
    let records = history.contents()?.records;
    let known = Acknowledged::beside(&[directory.to_owned()])?;
    let mut pruned = plan(&records, keeping, &known);
    for line in pruned.removed.iter_mut().chain(&mut pruned.kept) {
        line.bytes = history.size(&line.file);
    }
    if yes {
        let going: Vec<String> = pruned.removed.iter().map(|line| line.file.clone()).collect();
        let removed: BTreeSet<String> = history.remove(&going)?.into_iter().collect();
        let (gone, held): (Vec<_>, Vec<_>) =
            pruned.removed.into_iter().partition(|line| removed.contains(&line.file));
        pruned.removed = gone;
        let held =
            held.into_iter().map(|line| PrunedLine { why: Some("it is being written".into()), ..line });
        pruned.kept.extend(held);
        pruned.done = true;
    }
    pruned.left = (records.len() - pruned.removed.len()) as u64;
    Ok(pruned)
}

/// What goes and what stays of records in order of time.
fn plan(records: &[IndexLine], keeping: &Keeping, known: &Acknowledged) -> Pruned {
    let mut pruned = Pruned::default();
    // How many records of its series are newer than each.
    let mut newer: BTreeMap<[&str; 4], usize> = BTreeMap::new();
    for line in records.iter().rev() {
        let of_series = newer.entry(line.series()).or_default();
        let position = *of_series;
        *of_series += 1;
        let began = clock::unix_s(&line.started);
        let is_kept = keeping.newest.is_some_and(|newest| position < newest)
            || keeping.since.iter().any(|since| began.is_none_or(|began| began >= *since));
        if is_kept {
            continue;
        }
        let why = match () {
            () if position == 0 => Some("it is the newest of its series"),
            () if known.rests_on(line) => Some("a change that is acknowledged rests on it"),
            () => None,
        };
        let told = PrunedLine {
            file: line.file.clone(),
            started: line.started.clone(),
            target: line.target.clone(),
            bytes: line.bytes,
            why: why.map(str::to_owned),
        };
        if why.is_some() { pruned.kept.push(told) } else { pruned.removed.push(told) }
    }
    pruned.removed.reverse();
    pruned.kept.reverse();
    pruned
}
