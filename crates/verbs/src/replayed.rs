//! A record's trials given to its search again: what `--resume` stands on.

use crate::plan::SearchPlan;
use crate::resume;
use dropline_failure::Failure;
use dropline_record::{BoundsLine, Purpose, Record};
use dropline_search::Search;
use dropline_stats::HistogramError;
use std::path::Path;
use std::time::Duration;

/// A search that knows what a record knows.
#[derive(Debug)]
pub struct ReplayedSearch {
    /// After the last trial, under the limits that held there.
    pub search: Search,
    /// Sum of the elapsed times of all trials.
    pub at: Duration,
}

/// Why a record cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// What its header, or a change of limits, says is no search.
    #[error(transparent)]
    Plan(#[from] Failure),
    /// A trial's delays are broken.
    #[error("trial {number}: {why}")]
    Trial {
        /// Its number.
        number: u64,
        /// What is wrong.
        why: HistogramError,
    },
    /// What it says that was known after a trial is not what the trials say.
    #[error("trial {0} is kept with bounds that do not follow from the trials up to it")]
    Bounds(u64),
    /// The search would have made another trial, or none.
    #[error("trial {0} is not the one that the search would make")]
    Unasked(u64),
}

impl ReplayError {
    /// The failure of a verb on this file.
    pub(crate) fn of(self, path: &Path) -> Failure {
        let failure = Failure::environment(format!("{}: {self}", path.display()));
        match self {
            Self::Plan(why) => why,
            Self::Trial { .. } => failure.advice("the record was edited or damaged"),
            Self::Unasked(_) | Self::Bounds(_) => {
                failure.advice("the record was edited, or made by another version of the algorithm")
            }
        }
    }
}

/// Lets the plan's search learn from the record's trials, each change of limits where it was made. The search is shown to `after` behind
/// each trial and each change of limits.
///
/// That a limit was reached is no reason to refuse a trial: it was made.
///
/// # Errors
/// If a trial is not the one that the search would have made.
pub fn replay(
    plan: &SearchPlan,
    record: &Record,
    after: &mut dyn FnMut(&mut Search),
) -> Result<ReplayedSearch, ReplayError> {
    let first =
        record.header.search.as_ref().map(|search| resume::limits(search.budget_s, search.max_trials));
    let mut search =
        SearchPlan { limits: first.transpose()?.unwrap_or(plan.limits), ..plan.clone() }.search()?;
    let mut at = Duration::ZERO;
    let limit =
        |search: &mut Search, number: u64, after: &mut dyn FnMut(&mut Search)| -> Result<(), Failure> {
            for line in record.limits_after(number) {
                plan.limit(search, resume::limits(line.budget_s, line.max_trials)?);
                after(search);
            }
            Ok(())
        };
    limit(&mut search, 0, after)?;
    for (number, line) in (1..).zip(&record.trials) {
        let trial = line.trial().map_err(|why| ReplayError::Trial { number, why })?;
        if line.purpose == Purpose::Search {
            if search.wanted() != Some(trial.input) {
                return Err(ReplayError::Unasked(number));
            }
            search.record(&trial);
            let bounds = || search.bounds().iter().map(BoundsLine::from).collect::<Vec<_>>();
            if !line.bounds.is_empty() && line.bounds != bounds() {
                return Err(ReplayError::Bounds(number));
            }
        }
        at = at.saturating_add(trial.elapsed);
        after(&mut search);
        limit(&mut search, number, after)?;
    }
    Ok(ReplayedSearch { search, at })
}
