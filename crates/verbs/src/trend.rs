//! Many records: when did a limit move?

mod acknowledged;
pub mod confirm;
mod confirming;
mod lines;
mod nights;
mod sources;

pub use crate::measured::kept;
pub use acknowledged::{Acknowledged, acknowledge};

use confirming::Confirming;
use dropline_failure::{Failure, quoted};
use dropline_record::{IndexLine, LeftOutLine, Quantity, Record, SeriesLine, Trends};
use dropline_stats::compare::SMALLEST_EFFECT;
use dropline_stats::trend::{ESTIMATOR, WantedEffect};
use dropline_trial::number_of;
use nights::{Night, Nights, Without};
use sources::{once, read, record_at};
use std::path::{Path, PathBuf};

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Followed {
    /// A change by a smaller share does not matter; the usual one where nothing is said.
    pub smallest_effect: Option<f64>,
    /// Only these; all that an index keeps where nothing is said.
    pub quantities: Vec<Quantity>,
    /// The target that is measured beside the others, to be taken out of these.
    pub reference: Option<String>,
}

/// Reads records, and the records of directories, and looks for changes in each history.
///
/// # Errors
/// If a path that was named cannot be read, nothing in them is a night, or there is no history of the reference.
pub fn trend(paths: &[PathBuf], followed: &Followed) -> Result<Trends, Failure> {
    let mut left_out = Vec::new();
    let lines = read(paths, &followed.quantities, &mut left_out)?;
    let record = |source: &str| record_at(Path::new(source)).ok();
    let trends = of_lines(lines, left_out, &record, followed, || Acknowledged::beside(paths))?;
    if trends.series.is_empty() { Err(nothing(&trends.left_out)) } else { Ok(trends) }
}

/// The same of what an index says of records, each by its name; no series where none of them is a night.
pub(crate) fn of_lines(
    lines: Vec<(String, IndexLine)>,
    mut left_out: Vec<LeftOutLine>,
    record: &dyn Fn(&str) -> Option<Record>,
    followed: &Followed,
    acknowledged: impl FnOnce() -> Result<Acknowledged, Failure>,
) -> Result<Trends, Failure> {
    let smallest_effect = followed.smallest_effect.unwrap_or(SMALLEST_EFFECT);
    let (mut nights, mut silent) = (Vec::new(), Vec::new());
    for (source, line) in once(lines, record, &mut left_out) {
        let (found, without) = Night::all(&source, &line, &followed.quantities);
        nights.extend(found);
        for Without { series, why } in without {
            silent.extend(series);
            // Of a record that lost its end, that is said already.
            if line.finished || !left_out.iter().any(|left: &LeftOutLine| left.source == source) {
                left_out.push(LeftOutLine { source: source.clone(), why });
            }
        }
    }
    let (confirming, nights) = Confirming::out_of(nights);
    let acknowledged = if nights.is_empty() { Acknowledged::default() } else { acknowledged()? };
    let (mut histories, again) = Nights::all(nights);
    left_out.extend(again);
    if let Some(reference) = &followed.reference {
        if !histories.iter().any(|history| history.nights[0].series.target == *reference) {
            return Err(Failure::usage(format!(
                "there is no history of the reference {}",
                quoted(reference)
            ))
            .advice("name its target as its records do:  dropline history list"));
        }
        let (divided, without) = Nights::beside(histories, reference);
        histories = divided;
        left_out.extend(without);
    }
    let of = |history: &Nights| {
        let more_is_better = history.nights[0].quantity.more_is_better();
        lines::of(history, WantedEffect { smallest_effect, more_is_better }, &acknowledged, &confirming)
    };
    let series: Vec<SeriesLine> = histories
        .iter()
        .map(|history| {
            let is_divided =
                history.nights[0].series.target != followed.reference.as_deref().unwrap_or_default();
            let reference = followed.reference.clone().filter(|_| is_divided);
            SeriesLine { reference, silent: history.silent(&silent), ..of(history) }
        })
        .collect();
    let told = series.iter().flat_map(|series| series.changes.iter().map(|change| change.id.clone()));
    left_out.extend(confirming.left_out(&told.collect()));
    Ok(Trends { series, smallest_effect, estimator: ESTIMATOR.into(), left_out })
}

/// Why there is no history.
fn nothing(left_out: &[LeftOutLine]) -> Failure {
    let first = left_out.first().map(|left| format!(": {}: {}", left.source, left.why)).unwrap_or_default();
    let files = match left_out.len() {
        0 => "there is no record in what was named".to_owned(),
        1 => format!("the only record is not a night of a history{first}"),
        count => format!("of {}, none is a night of a history{first}", number_of(count, "record")),
    };
    Failure::usage(files)
        .advice("keep a search of each night in one directory:  dropline search TARGET --history nights")
}
