//! Which records of a history are wanted.

use crate::goals::WrittenGoal;
use dropline_archive::clock;
use dropline_failure::Failure;
use dropline_record::IndexLine;

/// What a record must have to be wanted; nothing is asked where nothing was said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WantedRecords {
    /// Part of the target.
    pub target: Option<String>,
    /// The verb that made it.
    pub kind: Option<String>,
    since: Option<i64>,
    until: Option<i64>,
    labels: Vec<(String, String)>,
    goal: Option<WrittenGoal>,
}

impl WantedRecords {
    /// It must have begun on this day or at this time, or later.
    ///
    /// # Errors
    /// If it is not a date.
    pub fn since(mut self, date: Option<&str>) -> Result<Self, Failure> {
        self.since = date.map(|date| moments("--since", date)).transpose()?.map(|[first, _]| first);
        Ok(self)
    }

    /// It must have begun on this day or at this time, or earlier.
    ///
    /// # Errors
    /// If it is not a date.
    pub fn until(mut self, date: Option<&str>) -> Result<Self, Failure> {
        self.until = date.map(|date| moments("--until", date)).transpose()?.map(|[_, last]| last);
        Ok(self)
    }

    /// It must have these labels, as `commit=1a2b`; the beginning of a value will do.
    ///
    /// # Errors
    /// If one is not a name with a value.
    pub fn labelled(mut self, labels: &[String]) -> Result<Self, Failure> {
        for label in labels {
            let (name, value) = label.split_once('=').ok_or_else(|| {
                Failure::usage(format!("--label {label:?} is not NAME=VALUE, such as commit=1a2b3c"))
            })?;
            self.labels.push((name.to_owned(), value.to_owned()));
        }
        Ok(self)
    }

    /// It must be a search for this goal, written as `search` takes it.
    ///
    /// # Errors
    /// If it is not a goal.
    pub fn goal(mut self, goal: Option<&str>) -> Result<Self, Failure> {
        self.goal = goal.map(WrittenGoal::parse).transpose()?;
        Ok(self)
    }

    /// The record with the goals that are wanted, if it is wanted.
    pub(crate) fn of(&self, mut line: IndexLine) -> Option<IndexLine> {
        if !self.is(&line) {
            return None;
        }
        if let Some(goal) = &self.goal {
            line.goals.retain(|found| goal.is_asked_by(&found.asked));
        }
        Some(line)
    }

    /// Whether the record is wanted.
    pub(crate) fn is(&self, line: &IndexLine) -> bool {
        let has = |label: &(String, String)| {
            line.labels.get(&label.0).is_some_and(|value| value.starts_with(&label.1))
        };
        let began = clock::unix_s(&line.started);
        self.target.as_ref().is_none_or(|part| line.target.contains(part.as_str()))
            && self.kind.as_ref().is_none_or(|kind| line.kind == *kind)
            && self.since.is_none_or(|first| began.is_some_and(|began| began >= first))
            && self.until.is_none_or(|last| began.is_some_and(|began| began <= last))
            && self.labels.iter().all(has)
            && self
                .goal
                .as_ref()
                .is_none_or(|goal| line.goals.iter().any(|found| goal.is_asked_by(&found.asked)))
    }
}

/// The first and the last second that a date means.
pub(super) fn moments(flag: &str, date: &str) -> Result<[i64; 2], Failure> {
    clock::seconds_of(date).ok_or_else(|| {
        Failure::usage(format!("{flag} {date:?} is not a date")).advice(
            "write a day as 2026-11-26 (it begins and ends in UTC), or a time as 2026-11-26T22:00:00Z",
        )
    })
}
