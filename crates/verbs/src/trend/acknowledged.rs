//! Changes that somebody knows of: `acknowledged.json` beside the records.

use crate::indexed::indexed;
use crate::series::{Series, name};
use dropline_archive::history::History;
use dropline_archive::{clock, reading, whole_file};
use dropline_failure::Failure;
use dropline_record::{IndexLine, Trends, VerdictWord};
use dropline_stats::trend::{SizedChange, WantedEffect};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const NAME: &str = "acknowledged.json";
const ADVICE: &str = "mend it, or move it away: then every change is told again";

/// What the file holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acknowledged {
    changes: Vec<Known>,
}

/// A change or a drift that is known: as its interval moves with further nights, it is the same one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    id: String,
    series: String,
    rises: bool,
    at_low: String,
    at_high: String,
    /// Of a drift, how far it had come then: what it goes on by is not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<f64>,
    /// Whether it is what came after a change for the worse, against the level before that: another thing than that change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    behind: bool,
}

/// A change or a drift that was found.
pub(super) struct Moved<'a> {
    pub(super) series: &'a str,
    pub(super) rises: bool,
    pub(super) at: &'a str,
    pub(super) at_low: &'a str,
    pub(super) at_high: &'a str,
    pub(super) behind: bool,
}

/// How far a drift has come.
pub(super) struct Come {
    pub(super) size: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// By which name it is told, and whether it is known by that name.
pub(super) struct Told {
    pub(super) id: String,
    pub(super) acknowledged: bool,
    /// Of a drift, how much of it somebody has acknowledged.
    pub(super) of_it: Option<f64>,
}

impl Acknowledged {
    /// What is known in the directories that were named, and beside the files that were.
    pub(crate) fn beside(paths: &[PathBuf]) -> Result<Self, Failure> {
        let of = |path: &PathBuf| {
            let (here, around) = places(path);
            std::iter::once(here).chain(around)
        };
        let (remote, local): (Vec<&PathBuf>, Vec<&PathBuf>) =
            paths.iter().partition(|path| History::is_remote(path));
        let mut places: Vec<PathBuf> = local.into_iter().flat_map(of).collect();
        places.sort();
        places.dedup();
        let mut all = Self::default();
        for place in places {
            all.changes.extend(Self::at(&place)?.changes);
        }
        for named in remote {
            all.changes.extend(Self::of(&History::open(named, indexed)?)?.changes);
        }
        Ok(all)
    }

    /// What the file of a history says.
    fn of(history: &History) -> Result<Self, Failure> {
        let place = history.path(NAME);
        match history.beside(NAME)? {
            None => Ok(Self::default()),
            Some(bytes) => {
                let text = reading::as_text(bytes).map_err(|why| why.of(&place))?;
                Self::read(&place, &text)
            }
        }
    }

    /// What a file says; nothing where there is none.
    fn at(place: &Path) -> Result<Self, Failure> {
        match reading::file_bytes(place, reading::MOST_SETTINGS).and_then(reading::as_text) {
            Ok(text) => Self::read(place, &text),
            Err(why) if why.is_missing() => Ok(Self::default()),
            Err(why) => Err(why.of(place)),
        }
    }

    /// What the text of a file says.
    ///
    /// # Errors
    /// If it is not what [`acknowledge`] writes.
    pub fn read(place: &Path, text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(|why| {
            Failure::environment(format!("cannot read {}: {why}", place.display())).advice(ADVICE)
        })
    }

    /// The same as text.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("names are JSON");
        format!("{text}\n")
    }

    /// The files of the records, in order of time, that a change or a drift rests on that is known: those between whose nights it
    /// lies, and the last night before them, with which they are compared.
    pub(crate) fn rests_on<'a>(&self, records: &'a [IndexLine]) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        if self.changes.is_empty() {
            return found;
        }
        let mut by_series: BTreeMap<String, Vec<(i64, &str)>> = BTreeMap::new();
        for line in records {
            let Some(at) = clock::unix_s(&line.started) else { continue };
            for (series, _) in Series::all(line).into_iter().filter(|(_, says)| *says) {
                by_series.entry(series.id()).or_default().push((at, &line.file));
            }
        }
        for known in &self.changes {
            let [low, high] = [&known.at_low, &known.at_high].map(|at| clock::unix_s(at));
            let nights = by_series.get(&known.series).into_iter().flatten();
            let between = nights.clone().filter(|(at, _)| low <= Some(*at) && Some(*at) <= high);
            let before = nights.clone().rfind(|(at, _)| Some(*at) < low);
            found.extend(between.chain(before).map(|(_, file)| *file));
        }
        found
    }

    /// A change that is known by its own name, or as one the same way at nights that overlap, keeps that name.
    pub(super) fn told(&self, moved: &Moved<'_>) -> Told {
        let Moved { series, rises, at, at_low, at_high, behind } = *moved;
        let way = [if rises { "up" } else { "down" }, "behind"];
        let own = name(&[&[series, at], &way[..=usize::from(behind)]].concat());
        let is_it = |known: &&Known| {
            let overlaps = known.at_low.as_str() <= at_high && at_low <= known.at_high.as_str();
            known.id == own
                || (known.series == series && known.rises == rises && known.behind == behind && overlaps)
        };
        match self.changes.iter().find(is_it) {
            Some(known) => Told { id: known.id.clone(), acknowledged: true, of_it: known.size },
            None => Told { id: own, acknowledged: false, of_it: None },
        }
    }

    /// The same of what goes on from night to night: known as far as it had come when it was acknowledged, and by what does not matter
    /// beyond that.
    pub(super) fn told_as_far(&self, moved: &Moved<'_>, come: &Come, wanted: WantedEffect) -> Told {
        let told = self.told(moved);
        let Some(known) = told.of_it.filter(|_| told.acknowledged) else { return told };
        let half = (come.high.ln_1p() - come.low.ln_1p()) / 2.0;
        let further = SizedChange::of(come.size.ln_1p() - known.ln_1p(), half, wanted);
        let goes_on = VerdictWord::from(further.verdict).is_change() && (further.size > 0.0) == moved.rises;
        Told { acknowledged: !goes_on, ..told }
    }
}

/// Keeps that changes are known, beside the records; the file that says so.
///
/// # Errors
/// If none has one of these names, or the file cannot be written.
pub fn acknowledge(paths: &[PathBuf], trends: &Trends, ids: &[String]) -> Result<PathBuf, Failure> {
    let all: Vec<Known> = trends.series.iter().flat_map(known_of).collect();
    let mut known = Vec::new();
    for id in ids {
        let Some(found) = all.iter().find(|known| known.id == *id) else {
            return Err(Failure::usage(format!("none of the changes has the id {id}"))
                .advice("dropline trend prints the id of each change"));
        };
        known.push(found.clone());
    }
    let with_these = |mut kept: Acknowledged| {
        for known in &known {
            // A drift that went on since is known as far as it has come now.
            kept.changes.retain(|kept| kept.id != known.id);
            kept.changes.push(known.clone());
        }
        kept.text().into_bytes()
    };
    if History::is_remote(&paths[0]) {
        let history = History::open(&paths[0], indexed)?;
        history.change_beside(NAME, || Acknowledged::of(&history).map(with_these))?;
        return Ok(history.path(NAME));
    }
    let place = place(&paths[0]);
    whole_file::change(&place, || Acknowledged::at(&place).map(with_these))?;
    Ok(place)
}

/// The changes and drifts of a history, as they are kept.
fn known_of(series: &dropline_record::SeriesLine) -> Vec<Known> {
    let known = |id: &str, size: f64, [at_low, at_high]: [&String; 2]| Known {
        id: id.into(),
        series: series.id.clone(),
        rises: size > 0.0,
        at_low: at_low.clone(),
        at_high: at_high.clone(),
        size: None,
        behind: false,
    };
    let changes = series.changes.iter().map(|line| known(&line.id, line.size, [&line.at_low, &line.at_high]));
    let drifts = series.drifts.iter().map(|line| Known {
        size: Some(line.size),
        behind: line.behind,
        ..known(&line.id, line.size, [&line.from, &line.to])
    });
    changes.chain(drifts).collect()
}

/// Where changes of what lies here are known: in this directory or beside this record, and in the history around it.
fn places(path: &Path) -> (PathBuf, Option<PathBuf>) {
    let here = if path.is_dir() { path.join(NAME) } else { path.with_file_name(NAME) };
    let is_history = History::is_at(path);
    (here, History::around(path, indexed).filter(|_| !is_history).map(|history| history.path(NAME)))
}

/// Where they are kept: in the history, unless they are kept here already.
fn place(path: &Path) -> PathBuf {
    let (here, around) = places(path);
    around.filter(|_| !here.exists()).unwrap_or(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drift_is_known_as_far_as_it_had_come() {
        let moved = Moved {
            series: "s",
            rises: false,
            at: "2026-02",
            at_low: "2026-01",
            at_high: "2026-03",
            behind: false,
        };
        let known = |size| {
            let at = |at: &str| at.to_owned();
            let (id, series) = (at("a"), at("s"));
            let known = Known {
                id,
                series,
                rises: false,
                at_low: at("2026-01"),
                at_high: at("2026-02"),
                size,
                behind: false,
            };
            Acknowledged { changes: vec![known] }
        };
        let wanted = WantedEffect { smallest_effect: 0.02, more_is_better: true };
        let told = |of: Option<f64>, size: f64| {
            let come = Come { size, low: size - 0.005, high: size + 0.005 };
            let Told { id, acknowledged, of_it } = known(of).told_as_far(&moved, &come, wanted);
            assert_eq!((id.as_str(), of_it), ("a", of), "its name stays");
            acknowledged
        };
        assert!(told(Some(-0.03), -0.03) && told(Some(-0.03), -0.05), "no more than it may be off by");
        assert!(!told(Some(-0.03), -0.12), "nine more in a hundred are news");
        assert!(told(Some(-0.12), -0.03), "it came back");
        assert!(told(None, -0.12), "what does not go on has come as far as it will");
    }
}
