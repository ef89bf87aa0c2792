//! What is done with files and records: compare, explain, fit. The answers are those of `--json`, with the text that is printed.

use crate::kept::Record;
use crate::raised::{raised, wrong};
use dropline_distributions::fit::{FitPlan, fit as fit_of};
use dropline_distributions::import::{Format, Hints, read};
use dropline_failure::Failure;
use dropline_report::Style;
use dropline_stats::compare::Questions;
use dropline_trial::quantities;
use dropline_verbs::compare::searches::{Searched, compare as compare_searches};
use dropline_verbs::compare::{self as of_delays, Comparable};
use dropline_verbs::explain::explain as explain_of;
use pyo3::prelude::*;
use serde::Serialize;
use std::path::PathBuf;

/// An answer as JSON, and as text.
type Told = (String, String);

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("answers are JSON")
}

/// What of two measurements is compared: files, or records.
#[derive(FromPyObject)]
pub(crate) enum Side {
    Record(Py<Record>),
    File(PathBuf),
}

impl Side {
    fn searched(&self, py: Python<'_>, name: &str) -> PyResult<Searched> {
        match self {
            Self::Record(record) => record.get().searched(name),
            Self::File(path) => py.detach(|| Searched::read(path)).map_err(|why| raised(&why)),
        }
    }
}

/// Compares B with A; whether it got worse stands last.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    a: Side,
    b: Side,
    smallest_effect: Option<&str>,
) -> PyResult<(String, String, bool)> {
    let smallest_effect = smallest_effect
        .map(|text| quantities::ratio(text).map(|share| share.as_f64()))
        .transpose()
        .map_err(|why| wrong(format!("smallest_effect: {why}")))?;
    let searches = match (&a, &b) {
        (Side::File(a), Side::File(b)) => {
            match py.detach(|| of_delays::read(a, b, &Hints::default())).map_err(|why| raised(&why))? {
                Comparable::Searches(searches) => *searches,
                Comparable::Bursts(bursts) => {
                    let [a, b] = &*bursts;
                    let compared =
                        of_delays::bursts::compare(a, b, smallest_effect).map_err(|why| raised(&why))?;
                    let text = dropline_report::compared_bursts_text(&compared, Style::default());
                    return Ok((json(&compared), text, compared.is_worse()));
                }
                Comparable::Delays(pair) => {
                    let questions =
                        Questions { percentile: 0.99, above: None, smallest_effect, more_loss: 0.0 };
                    let compared = py.detach(|| of_delays::compare(&pair, &questions));
                    let text = dropline_report::compared_text(&compared, Style::default());
                    return Ok((json(&compared), text, compared.is_worse()));
                }
            }
        }
        _ => [a.searched(py, "A")?, b.searched(py, "B")?],
    };
    let [a, b] = &searches;
    let compared = compare_searches(a, b, smallest_effect).map_err(|why| raised(&why))?;
    let text = dropline_report::compared_searches_text(&compared, Style::default());
    Ok((json(&compared), text, compared.is_worse()))
}

/// Explains the loss of a trial in a record's file.
#[pyfunction]
pub(crate) fn explain(py: Python<'_>, path: PathBuf) -> PyResult<Told> {
    let explained = py.detach(|| explain_of(&path)).map_err(|why| raised(&why))?;
    let text = dropline_report::explain_text(&explained.record, &explained.line, Style::default());
    Ok((json(&explained.line), text))
}

/// The format of this name.
fn named(word: &str) -> PyResult<Format> {
    Format::named(word)
        .ok_or_else(|| wrong(format!("there is no format {word:?}: dropline import --help lists them")))
}

/// What each distribution of a file says.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    unit: Option<&str>,
    mixtures: bool,
) -> PyResult<Vec<Told>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let unit = unit.map(|text| quantities::positive_duration(&format!("1{text}"))).transpose();
    let unit = unit.map_err(|why| wrong(format!("unit: {why}")))?;
    let hints = Hints {
        format: format.map(named).transpose()?,
        unit_ns: unit.map(|unit| u64::try_from(unit.as_nanos()).unwrap_or(u64::MAX)),
        ..Hints::default()
    };
    let plan = FitPlan { mixtures, ..FitPlan::default() };
    let fits = py.detach(|| -> Result<_, Failure> {
        let (_, imported) = read(&path, &hints, &mut |_| {})?;
        Ok(imported.iter().map(|one| fit_of(&name, one, &plan)).collect::<Vec<_>>())
    });
    let fits = fits.map_err(|why| raised(&why))?;
    Ok(fits.iter().map(|fit| (json(fit), dropline_report::fit_text(fit, Style::default()))).collect())
}
