//! `fit`: what one distribution says.

mod shape;
mod sliced;

use crate::import::{Imported, Order};
use dropline_record::fit::{CellLine, CensoredLine, FitPercentileLine, MomentsLine};
use dropline_record::{CaveatLine, Count, Fit};
use dropline_stats::{
    Binned, Cell, Counted, Event, Moments, Percentile, Replicates, Rounding, percentiles, replicates,
};
use dropline_trial::number_of;

/// Percentiles that are stated, or refused with what they need.
const PERCENTILES: [f64; 11] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];
/// More cells are put together before laws are fitted to them.
const MOST_CELLS: usize = 600;
const FEWEST_CELLS: usize = 40;
/// Where a cell is no tick that many events share.
const EVENTS_A_CELL: u64 = 50;
/// A clock that coarse makes ticks.
const COARSE_NS: f64 = 100.0;

/// How a distribution is looked at.
#[derive(Clone, Debug)]
pub struct FitPlan {
    /// How often intervals hold the true value, were the events independent.
    pub level: f64,
    /// The tail begins above this, in nanoseconds; `None` takes the highest percentile that the events bear.
    pub above_ns: Option<f64>,
    /// Whether mixtures are fitted.
    pub mixtures: bool,
    /// Chance of the draws.
    pub seed: u64,
}

impl Default for FitPlan {
    fn default() -> Self {
        Self { level: 0.95, above_ns: None, mixtures: false, seed: 7 }
    }
}

/// Everything that the events can bear.
pub fn fit(source: &str, imported: &Imported, plan: &FitPlan) -> Fit {
    let counted = &imported.counted;
    let binned = counted.binned();
    let sliced = sliced::Sliced::of(imported);
    let meaning = counted.meaning();
    let name =
        if imported.name.is_empty() { source.to_owned() } else { format!("{source}, {}", imported.name) };
    let mut fit = Fit {
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
        estimator: sliced.replicates().map_or(percentiles::ESTIMATOR, |_| replicates::ESTIMATOR).into(),
        level: plan.level,
        percentiles: no_easier_further_out(
            PERCENTILES
                .map(|p| spanning(&binned, percentile(&binned, sliced.replicates(), p, plan.level)))
                .into(),
        ),
        moments: moments(counted, &binned, sliced.replicates()),
        histogram: binned
            .cells()
            .iter()
            .map(|cell| CellLine { low: cell.low, high: cell.high, count: Count(cell.count) })
            .collect(),
        slices: sliced.line(),
        caveats: imported.notes.iter().map(|note| CaveatLine::said("import", note)).collect(),
        ..Fit::default()
    };
    fit.caveats.extend(sliced.dependent());
    if counted.count() > 0 {
        let most = most_cells(counted);
        let events: Vec<f64> = match &imported.order {
            Order::Events(ticks) => {
                ticks.iter().map(|&tick| tick as f64 * meaning.quantum_ns / meaning.unit_ns as f64).collect()
            }
            Order::Unknown | Order::Stretches(_) => Vec::new(),
        };
        match binned.stepped() {
            Some(stepped) => {
                fit.caveats.push(CaveatLine::said(
                    "stepped",
                    format!(
                        "the values come in steps of {:.0} ns: laws, modes and tail take that as their tick",
                        stepped.quantum() * meaning.unit_ns as f64
                    ),
                ));
                shape::add(&mut fit, &stepped, &events, most, plan);
            }
            None => shape::add(&mut fit, &binned, &events, most, plan),
        }
        let doubts = doubts(&fit, counted, &binned);
        fit.caveats.extend(doubts);
    }
    fit
}

/// Ticks are taken as they are. Cells of a recorder, and values without a common tick, have few events each: so many
/// cells of a grid that chance alone moves few of them.
fn most_cells(counted: &Counted) -> usize {
    if counted.is_exact() && counted.meaning().quantum_ns >= COARSE_NS {
        MOST_CELLS
    } else {
        usize::try_from(counted.count() / EVENTS_A_CELL).unwrap_or(MOST_CELLS).clamp(FEWEST_CELLS, MOST_CELLS)
    }
}

/// What stands between the numbers and their reader.
fn doubts(fit: &Fit, counted: &Counted, binned: &Binned) -> Vec<CaveatLine> {
    let mut doubts = sliced::doubts(fit);
    let mut counts: Vec<u64> = binned.cells().iter().map(|cell| cell.count).collect();
    counts.sort_unstable();
    let ten = counts.iter().rev().take(10).map(|&count| count as f64).sum::<f64>();
    let share = ten / fit.count.0 as f64;
    if counted.is_exact() && share > 0.5 && fit.distinct > 10 {
        doubts.push(CaveatLine::said(
            "quantised",
            format!(
                "quantised: {:.0} % of the events share 10 ticks of {} ns; differences below a tick are not resolved \
                 for an event, though they are for the mean",
                share * 100.0,
                fit.quantum_ns
            ),
        ));
    }
    if binned.cells().len() > most_cells(counted) {
        doubts.push(CaveatLine::said(
            "cells_merged",
            format!(
                "{} different values: laws, modes and tail are fitted to neighbours put together; percentiles and \
                 moments are not",
                binned.cells().len()
            ),
        ));
    }
    if let Some(above) = fit.censored {
        doubts.push(CaveatLine::said(
            "censored",
            format!(
                "of {} it is only known that each took {} ns or longer: laws take that into account; moments, modes, PPCC \
                 and the tail's shape cannot",
                number_of(above.count.0, "event"),
                above.from * fit.unit_ns as f64
            ),
        ));
    }
    doubts
}

/// A percentile further out than one that the events cannot support needs no fewer of them, in slices that wander as these do.
fn no_easier_further_out(mut lines: Vec<FitPercentileLine>) -> Vec<FitPercentileLine> {
    let further = |at: usize, lines: &[FitPercentileLine]| {
        let p = lines[at].p;
        let nearer = lines
            .iter()
            .filter(|line| if p >= 0.5 { (0.5..=p).contains(&line.p) } else { (p..0.5).contains(&line.p) });
        nearer.filter_map(|line| Some(line.needed?.0)).max()
    };
    for at in 0..lines.len() {
        if lines[at].needed.is_some() {
            lines[at].needed = further(at, &lines).map(Count);
        }
    }
    lines
}

fn percentile(binned: &Binned, replicates: Option<&Replicates>, p: f64, level: f64) -> FitPercentileLine {
    let found = match replicates {
        Some(replicates) => replicates.percentile(binned, p, level),
        None => Percentile::of(binned, p, level),
    };
    FitPercentileLine {
        p,
        value: found.value,
        low: found.low,
        high: found.high,
        needed: found.needed.map(Count),
    }
}

/// The same with an interval that holds the whole cell that its lower end is in: where in it the events are is not
/// known.
fn spanning(binned: &Binned, line: FitPercentileLine) -> FitPercentileLine {
    let within = |low: f64| {
        let cells = binned.cells();
        let cell = cells.get(cells.partition_point(|cell| cell.value < low))?;
        (cell.high - cell.low > binned.quantum() * 1.5).then_some(cell.low.min(low))
    };
    FitPercentileLine { low: line.low.map(|low| within(low).unwrap_or(low)), ..line }
}

/// Standard errors of the 95 % interval that is stated of a mean.
const REACH: f64 = 1.96;

/// Between which values the mean is, where cells are so wide that it may be anywhere in so large a share of itself.
const OPEN_MEAN: f64 = 0.02;

fn open_mean(counted: &Counted, binned: &Binned) -> Option<(f64, f64)> {
    if counted.is_exact() || binned.above().is_some() {
        return None;
    }
    let mean = |end: fn(&Cell) -> f64| {
        let sum: f64 = binned.cells().iter().map(|cell| end(cell) * cell.count as f64).sum();
        sum / binned.count() as f64
    };
    let (low, high) = (mean(|cell| cell.low), mean(|cell| cell.high));
    (high - low > OPEN_MEAN * high.abs()).then_some((low, high))
}

fn moments(counted: &Counted, binned: &Binned, replicates: Option<&Replicates>) -> MomentsLine {
    if let Some((low, high)) = open_mean(counted, binned) {
        return MomentsLine { mean_low: Some(low), mean_high: Some(high), ..MomentsLine::default() };
    }
    let found = Moments::of(binned);
    let by_slices = replicates.and_then(Replicates::mean_error);
    let sums = counted.sums();
    MomentsLine {
        sum_ticks: sums.map(|(sum, _)| sum.to_string()),
        sum_squared_ticks: sums.map(|(_, squares)| squares.to_string()),
        mean: found.mean,
        mean_low: None,
        mean_high: None,
        standard_error: by_slices
            .or(found.standard_error)
            .zip(found.cell_error)
            // A bound is no scatter: it is in the interval once, not 1.96 times.
            .map(|(error, cells)| error + cells / REACH),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Format, Hints};
    use dropline_record::{LawWord, ShapeWord};

    fn fitted(text: &str, format: Format) -> Fit {
        let hints = Hints { unit_ns: Some(1000), ..Hints::default() };
        fit("test", &format.parse(text, &hints).unwrap()[0], &FitPlan::default())
    }

    #[test]
    fn what_is_known_to_lie_between_two_printed_percentiles_is_stated_no_closer() {
        // 1 to 1000, printed at each tenth: the median is 500, and the mean 500.5.
        let rows: Vec<String> =
            (1..=9).map(|tenth| format!("{} 0.{tenth} {}\n", tenth * 100 + 40, tenth * 100 + 40)).collect();
        let text = format!("Value Percentile TotalCount\n1 0.0 1\n{}1000 1.0 1000\n", rows.concat());
        let found = fitted(&text, Format::Hgrm);
        let median = found.percentiles.iter().find(|line| line.p == 0.5).unwrap();
        assert!(median.low.unwrap() < 500.0 && median.high.unwrap() >= 500.0, "{median:?}");
        for line in found.percentiles.iter().filter(|line| line.value.is_some()) {
            assert!(
                line.low.unwrap() <= line.p * 1000.0 && line.high.unwrap() >= line.p * 1000.0,
                "{line:?}"
            );
        }
        let moments = &found.moments;
        let (low, high) = (moments.mean_low.unwrap(), moments.mean_high.unwrap());
        assert!(moments.mean.is_none() && low < 500.5 && high > 500.5 && high - low > 90.0, "{moments:?}");
        assert_eq!(moments.standard_error, None);
    }

    #[test]
    fn equal_values_have_a_mean_within_their_own_cell_and_no_farther() {
        for (value, events) in [(5u64, 200u64), (31, 40), (1_000, 3)] {
            let found = fitted(&format!("{value}\n").repeat(events as usize), Format::Raw).moments;
            let reach = REACH * found.standard_error.unwrap();
            assert!((reach - 0.5).abs() < 1e-9, "{value}: {found:?}");
        }
    }

    #[test]
    fn the_mean_of_wide_cells_is_no_closer_than_they_are() {
        for (low, high, truth) in [(1_073_152, 1_074_175, 1_073_741.0), (49_664, 50_175, 49_920.0)] {
            let meaning = dropline_stats::Meaning { unit_ns: 1, quantum_ns: 1.0, ..Default::default() };
            let counted = Counted::ranges(meaning, [(low, high, 1000)], None).unwrap();
            let found = moments(&counted, &counted.binned(), None);
            let (mean, error) = (found.mean.unwrap(), found.standard_error.unwrap());
            assert!((mean - truth).abs() < REACH * error && error < 0.01 * mean, "{found:?}");
        }
    }

    #[test]
    fn the_idle_machine_of_2004_is_no_single_code_path() {
        let idle = fitted(include_str!("../../../experiments/audio-2004/idle.tsv"), Format::Tsv);
        assert_eq!(
            (idle.best.as_deref(), idle.verdict),
            (Some("gamma_shifted"), Some(ShapeWord::NotOnePath))
        );
        assert_eq!(idle.modes.iter().map(|mode| mode.mass.0).collect::<Vec<_>>(), [7483, 2917]);
        let tail = idle.tail.unwrap();
        assert_eq!((tail.threshold, tail.count.0, tail.gpd), (42.0, 9, None), "nine events bear no law");
        assert_eq!(idle.normality.unwrap().verdict, LawWord::DoesNotFit);
    }

    #[test]
    fn no_percentile_is_said_to_need_fewer_events_than_one_nearer_to_the_median() {
        let line = |p: f64, needed: Option<u64>| FitPercentileLine {
            p,
            value: None,
            low: None,
            high: None,
            needed: needed.map(Count),
        };
        let lines = [
            (0.01, Some(900)),
            (0.1, Some(1_000)),
            (0.5, None),
            (0.75, Some(25_208)),
            (0.9, Some(21_841)),
            (0.999, Some(120_913)),
            (0.9999, Some(50_000)),
        ];
        let found = no_easier_further_out(lines.map(|(p, needed)| line(p, needed)).to_vec());
        let needed: Vec<Option<u64>> = found.iter().map(|line| line.needed.map(|count| count.0)).collect();
        assert_eq!(
            needed,
            [Some(1_000), Some(1_000), None, Some(25_208), Some(25_208), Some(120_913), Some(120_913)]
        );
    }

    #[test]
    fn modes_one_after_the_other_in_time_are_a_step_and_no_code_paths() {
        let text = |place: fn(usize) -> bool| -> String {
            let event = |at: usize| {
                let noise = (at * 7919 % 101 + at * 104_729 % 89) / 4;
                format!("{}\n", noise + if place(at) { 300 } else { 100 })
            };
            (0..600).map(event).collect()
        };
        let of = |text: &str| fitted(text, Format::Raw);
        let (step, mixed) = (of(&text(|at| at >= 200)), of(&text(|at| at * 31 % 97 > 33)));
        assert_eq!((step.modes.len(), mixed.modes.len()), (2, 2));
        assert!(step.verdict_text.unwrap().contains("a step in time rather than code paths"));
        assert!(mixed.verdict_text.unwrap().contains("2 modes (code paths"));
        let codes = |fit: &[CaveatLine]| fit.iter().map(|caveat| caveat.code.clone()).collect::<Vec<_>>();
        let (step, mixed) = (codes(&step.caveats), codes(&mixed.caveats));
        assert!(
            step.contains(&"dependent_events".into()) && step.contains(&"modes_in_time".into()),
            "{step:?}"
        );
        assert!(mixed.contains(&"independence_assumed".into()), "{mixed:?}");
    }

    #[test]
    fn whatever_is_counted_gets_an_answer_and_no_number_that_is_none() {
        for text in [
            "7 1\n",
            "7 100000\n",
            "6 1\n9 1\n",
            "-5 10\n-2 40\n3 9\n4503599627370496 3\n",
            "1 3002399751580330\n2 3002399751580330\n3 3002399751580316\n4 7\n5 9\n",
            "0 500\n1 300\n2 100\n",
        ] {
            let fit = fitted(text, Format::Tsv);
            let json = serde_json::to_value(&fit).unwrap();
            let back: Fit =
                serde_json::from_value(json.clone()).unwrap_or_else(|why| panic!("{text}: {why}: {fit:?}"));
            // JSON has no NaN and no infinity: they would be null where a number must stand.
            assert_eq!(serde_json::to_value(&back).unwrap(), json, "{text}");
        }
        // More than were ever counted are no number of a double, and not fitted.
        let why = Format::Tsv.parse("1 9007199254740993\n", &Hints::default()).unwrap_err().to_string();
        assert!(why.contains("more than 2^53 events"), "{why}");
    }

    #[test]
    fn events_of_unknown_length_leave_moments_without_a_number() {
        let text = "000007 000400\n000008 000300\n000009 000200\n# Histogram Overflows: 00100\n";
        let fit = fitted(text, Format::Cyclictest);
        assert_eq!((fit.max, fit.moments.mean, fit.censored.unwrap().count.0), (None, None, 100));
        let at = |p: f64| fit.percentiles.iter().find(|line| line.p == p).unwrap();
        assert_eq!((at(0.5).value, at(0.95).value, at(0.95).needed), (Some(8.0), None, None));
        assert!(fit.caveats.iter().any(|caveat| caveat.code == "censored"));
    }
}
