//! `fit`: what one distribution says.

use crate::import::Imported;
use dropline_record::fit::{CellLine, CensoredLine, MomentsLine, PercentileLine};
use dropline_record::{CaveatLine, Count, Fit};
use dropline_stats::{Binned, Counted, Event, Moments, Percentile, Rounding, percentiles};

/// Percentiles that are stated, or refused with what they need.
const PERCENTILES: [f64; 11] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// How a distribution is looked at.
#[derive(Clone, Debug)]
pub struct FitPlan {
    /// How often intervals hold the truth, were the events independent.
    pub level: f64,
}

impl Default for FitPlan {
    fn default() -> Self {
        Self { level: 0.95 }
    }
}

/// Everything that the events can bear.
pub fn fit(source: &str, imported: &Imported, plan: &FitPlan) -> Fit {
    let counted = &imported.counted;
    let binned = counted.binned();
    let meaning = counted.meaning();
    let name =
        if imported.name.is_empty() { source.to_owned() } else { format!("{source}, {}", imported.name) };
    let mut caveats: Vec<CaveatLine> = imported.notes.iter().map(|note| caveat("import", note)).collect();
    if counted.count() > 0 {
        caveats.push(caveat(
            "independence_assumed",
            "no time slices: all intervals take the events as independent, and are too narrow where they are not",
        ));
    }
    Fit {
        source: name,
        count: Count(counted.count()),
        censored: binned.above().map(|(from, count)| CensoredLine { from, count: Count(count) }),
        unit_ns: meaning.unit_ns,
        quantum_ns: meaning.quantum_ns,
        rounding: match meaning.rounding {
            Rounding::Round => "round".into(),
            Rounding::Floor => "floor".into(),
        },
        event: match meaning.event {
            Event::Each => "each".into(),
            Event::MaximumOf(k) => format!("maximum of {k}"),
            Event::Unknown => "unknown".into(),
        },
        min: binned.cells().first().map(|cell| cell.value),
        max: binned.cells().last().map(|cell| cell.value).filter(|_| binned.above().is_none()),
        distinct: binned.cells().len() as u64,
        estimator: percentiles::ESTIMATOR.into(),
        level: plan.level,
        percentiles: PERCENTILES.map(|p| percentile(&binned, p, plan.level)).into(),
        moments: moments(counted, &binned),
        histogram: binned
            .cells()
            .iter()
            .map(|cell| CellLine { low: cell.low, high: cell.high, count: Count(cell.count) })
            .collect(),
        caveats,
    }
}

fn percentile(binned: &Binned, p: f64, level: f64) -> PercentileLine {
    let found = Percentile::of(binned, p, level);
    PercentileLine {
        p,
        value: found.value,
        low: found.low,
        high: found.high,
        needed: found.needed.map(Count),
    }
}

fn moments(counted: &Counted, binned: &Binned) -> MomentsLine {
    let found = Moments::of(binned);
    let sums = counted.sums();
    MomentsLine {
        sum_ticks: sums.map(|(sum, _)| sum.to_string()),
        sum_squared_ticks: sums.map(|(_, squares)| squares.to_string()),
        mean: found.mean,
        standard_error: found.standard_error,
        standard_deviation: found.deviation,
        standard_deviation_sheppard: found.deviation_sheppard,
        skewness: found.skewness,
        excess_kurtosis: found.excess_kurtosis,
        coefficient_of_variation: found.coefficient_of_variation,
        geometric_mean: found.geometric_mean,
        trimmed_mean: found.trimmed_mean,
        median_absolute_deviation: found.median_absolute_deviation,
    }
}

fn caveat(code: &str, text: &str) -> CaveatLine {
    CaveatLine { code: code.into(), text: text.into(), numbers: serde_json::Map::new() }
}
