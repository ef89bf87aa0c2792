//! Which records of a history go, and which stay whatever their age is.

use super::wanted::moments;
use crate::indexed::indexed;
use crate::series::Series;
use crate::trend::{Acknowledged, Followed, of_lines};
use dropline_archive::clock;
use dropline_archive::history::{Contents, History};
use dropline_failure::Failure;
use dropline_record::{IndexLine, News, Pruned, PrunedLine, SeriesLine, Trends};
use dropline_stats::trend::FEWEST_NIGHTS;
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
    let contents = history.contents()?;
    let known = Acknowledged::beside(&[directory.to_owned()])?;
    let record = |file: &str| history.record(file).ok();
    let trends = |is_there: &dyn Fn(&IndexLine) -> bool| {
        let named = contents.records.iter().filter(|line| is_there(line));
        let named = named.map(|line| (line.file.clone(), line.clone())).collect();
        of_lines(named, Vec::new(), &record, &Followed::default(), || Ok(known.clone()))
    };
    let told = trends(&|_| true)?;
    let mut aside = BTreeMap::new();
    let mut pruned = loop {
        let pruned = plan(&contents, keeping, &known, &untold(&told, &aside));
        let going: BTreeSet<&str> = pruned.removed.iter().map(|line| line.file.as_str()).collect();
        let left = trends(&|line| !going.contains(line.file.as_str()))?;
        let differing = differing(&told, &left, &aside);
        if differing.is_empty() {
            break pruned;
        }
        aside.extend(differing);
    };
    let copies = contents.copies.iter().map(|(copy, _)| copy);
    let by_file: BTreeMap<&str, &IndexLine> =
        contents.records.iter().chain(copies).map(|line| (line.file.as_str(), line)).collect();
    for line in pruned.removed.iter_mut().chain(&mut pruned.kept) {
        line.bytes = by_file.get(line.file.as_str()).map_or(line.bytes, |line| history.size(line));
    }
    if yes && pruned.removed.is_empty() {
        pruned.done = true;
    } else if yes {
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
    let is_gone = |line: &&IndexLine| pruned.removed.iter().any(|gone| gone.file == line.file);
    pruned.left = (contents.records.len() - contents.records.iter().filter(is_gone).count()) as u64;
    Ok(pruned)
}

/// Histories of which without what goes another thing would be said of a change that nobody has acknowledged, each with twice as many
/// nights as were kept on either side of it; none where all of its nights were.
fn differing(told: &Trends, left: &Trends, aside: &BTreeMap<String, usize>) -> Vec<(String, usize)> {
    let is_same = |series: &SeriesLine| {
        let found = left.series.iter().find(|other| other.id == series.id);
        let is_told = |news: News<'_>| {
            let mut others = found.into_iter().flat_map(SeriesLine::news);
            let says = |other: &News<'_>| (other.verdict, other.suspected, other.size > 0.0);
            // The night may be another one: one change is told for one.
            others.any(|other| says(&other) == says(&news))
        };
        series.news().all(is_told) && found.map_or(0, |found| found.news().count()) >= series.news().count()
    };
    let kept = |series: &SeriesLine| aside.get(&series.id).copied().unwrap_or(FEWEST_NIGHTS);
    let differs = |series: &&SeriesLine| kept(series) < series.points.len() && !is_same(series);
    told.series.iter().filter(differs).map(|series| (series.id.clone(), 2 * kept(series))).collect()
}

/// The files that changes rest on that nobody has acknowledged: as many nights on either side as make a history, or as many as a
/// history takes `aside` to say the same of them.
fn untold<'a>(trends: &'a Trends, aside: &BTreeMap<String, usize>) -> BTreeSet<&'a str> {
    let mut files = BTreeSet::new();
    for series in &trends.series {
        let nights_aside = aside.get(&series.id).copied().unwrap_or(FEWEST_NIGHTS);
        let changes = series.changes.iter().filter(|line| !line.acknowledged);
        let changes = changes.map(|line| (line.at_low.as_str(), line.at_high.as_str()));
        let drifts = series.drifts.iter().filter(|line| !line.acknowledged);
        let drifts = drifts.map(|line| (line.from.as_str(), line.to.as_str()));
        for (low, high) in changes.chain(drifts) {
            let from = series.points.partition_point(|point| point.at.as_str() < low);
            let to = series.points.partition_point(|point| point.at.as_str() <= high);
            let to = (to + nights_aside).min(series.points.len());
            let nights = &series.points[from.saturating_sub(nights_aside)..to];
            files.extend(nights.iter().map(|point| point.source.as_str()));
        }
    }
    files
}

/// What goes and what stays. Copies go with their record.
fn plan(contents: &Contents, keeping: &Keeping, known: &Acknowledged, untold: &BTreeSet<&str>) -> Pruned {
    let mut pruned = Pruned::default();
    let leaned_on = known.rests_on(&contents.records);
    for (line, Rank { newer, is_newest }) in contents.records.iter().zip(ranks(&contents.records)) {
        let began = clock::unix_s(&line.started);
        let is_kept = keeping.newest.is_some_and(|newest| newer < newest)
            || keeping.since.iter().any(|since| began.is_none_or(|began| began >= *since));
        if is_kept {
            continue;
        }
        let why = match () {
            () if is_newest => Some("it is the newest of its series"),
            () if leaned_on.contains(line.file.as_str()) => Some("a change that is acknowledged rests on it"),
            () if untold.contains(line.file.as_str()) => {
                Some("a change that nobody has acknowledged rests on it")
            }
            () => None,
        };
        if why.is_some() {
            pruned.kept.push(told(line, why));
        } else {
            pruned.removed.push(told(line, None));
            let copies = contents.copies.iter().filter(|(_, of)| *of == line.file);
            pruned.removed.extend(copies.map(|(copy, _)| PrunedLine { copy: true, ..told(copy, None) }));
        }
    }
    pruned
}

fn told(line: &IndexLine, why: Option<&str>) -> PrunedLine {
    PrunedLine {
        file: line.file.clone(),
        started: line.started.clone(),
        target: line.target.clone(),
        bytes: line.bytes,
        why: why.map(str::to_owned),
        copy: false,
    }
}

/// Where a record stands among those of its series; a search for several goals, where it stands best.
struct Rank {
    /// So many are newer. Before one that says what was asked for, others do not count.
    newer: usize,
    /// None that says as much is newer.
    is_newest: bool,
}

/// Those of records in order of time.
fn ranks(records: &[IndexLine]) -> Vec<Rank> {
    let of_record: Vec<Vec<(Series, bool)>> = records.iter().map(Series::all).collect();
    let say: BTreeSet<&Series> =
        of_record.iter().flatten().filter(|(_, says)| *says).map(|(series, _)| series).collect();
    // How many of a series are newer: those that say what was asked for, and all.
    let mut counts: BTreeMap<&Series, [usize; 2]> = BTreeMap::new();
    let mut ranks: Vec<Rank> = Vec::new();
    for of_record in of_record.iter().rev() {
        let mut rank = Rank { newer: usize::MAX, is_newest: false };
        for (series, says) in of_record {
            let [saying, all] = counts.entry(series).or_default();
            let newer = if *says { *saying } else { *all };
            rank.newer = rank.newer.min(newer);
            rank.is_newest |= newer == 0 && (*says || !say.contains(series));
            *saying += usize::from(*says);
            *all += 1;
        }
        ranks.push(rank);
    }
    ranks.reverse();
    ranks
}
