//! What does a search cost? MDR beside binary search and RFC 9971, as in the tables of 2018.
//!
//! Two simulated systems stand for the two test suites there; time is virtual, and a trial costs half a
//! second beyond its duration. The widths are those that made MDR comparable with the binary result.

use super::{Effort, Experiment, FoundStudy};
use dropline_archive::record_file::Output;
use dropline_failure::Failure;
use dropline_record::{Record, Study, Table};
use dropline_report::Graph;
use dropline_search::mlr::EffectiveDuration;
use dropline_search::{Goal, mdr};
use dropline_stats::sample::{mean, ratio_deviation, standard_error};
use dropline_targets::Target;
use dropline_trial::{Ratio, TrafficProfile};
use dropline_verbs::observer::Unwatched;
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use dropline_verbs::search::{Conditions, search};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Runs of each cell when the user does not say how many, for the spread.
const RUNS: u32 = 40;
/// Runs behind each cell of the published tables.
const PUBLISHED_RUNS: usize = 6;
const FINAL_SECONDS: [u64; 3] = [10, 30, 60];
/// Warm-up of each binary search there, in seconds.
const WARM_UP_S: f64 = 5.0;

/// A test suite of 2018 and the system that stands for it.
struct Suite {
    system: &'static str,
    heading: &'static str,
    /// Relative width in billionths.
    width: u64,
    /// Width of the binary searches: their step there was one of rate, which nine or eleven trials reach at
    /// any capacity.
    binary_width: u64,
}

const SUITES: [Suite; 2] = [
    Suite { system: "consistent", heading: "IP4", width: 11_800_000, binary_width: 13_500_000 },
    Suite { system: "inconsistent", heading: "Vhost", width: 7_600_000, binary_width: 9_000_000 },
];

/// Published durations in seconds, mean and avgdev: rows MDR, NDR, PDR; columns IP4 10, 30, 60, Vhost 10, 30, 60.
const PUBLISHED: [[(f64, f64); 6]; 3] = [
    [(50.8, 1.2), (109.0, 10.0), (202.8, 11.7), (80.5, 9.0), (201.9, 20.6), (474.9, 58.2)],
    [(98.9, 0.1), (278.6, 0.1), (548.8, 0.1), (119.8, 0.1), (339.3, 0.1), (669.6, 0.2)],
    [(98.9, 0.1), (278.6, 0.1), (548.8, 0.1), (119.7, 0.1), (339.3, 0.1), (669.5, 0.1)],
];

/// Published MDR ÷ NDR in per cent, with its deviation.
const PUBLISHED_FRACTIONS: [(f64, f64); 6] =
    [(51.4, 1.2), (39.1, 3.6), (37.0, 2.1), (67.2, 7.5), (59.5, 6.1), (70.9, 8.7)];

/// What is run in each cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contender {
    MdrFirst,
    MdrCurrent,
    MlrRfc2544,
    MlrCsit,
    BinaryNdr,
    BinaryPdr,
}

impl Contender {
    const ALL: [Self; 6] =
        [Self::MdrFirst, Self::MdrCurrent, Self::MlrRfc2544, Self::MlrCsit, Self::BinaryNdr, Self::BinaryPdr];

    fn name(self) -> &'static str {
        match self {
            Self::MdrFirst => "MDR first (both intervals)",
            Self::MdrCurrent => "MDR today (both intervals)",
            Self::MlrRfc2544 => "mlr, trial = sum, exceed 0 (both)",
            Self::MlrCsit => "mlr, csit, 1 s trials (both)",
            Self::BinaryNdr => "NDR binary",
            Self::BinaryPdr => "PDR binary",
        }
    }

    fn algorithm(self) -> AlgorithmPlan {
        let mdr = |version| AlgorithmPlan::Mdr { version, intermediate_phases: 2, doublings: 1 };
        match self {
            Self::MdrFirst => mdr(mdr::Version::First),
            Self::MdrCurrent => mdr(mdr::Version::Current),
            Self::MlrRfc2544 => AlgorithmPlan::Mlr { effective: EffectiveDuration::Trial },
            Self::MlrCsit => AlgorithmPlan::Mlr { effective: EffectiveDuration::Elapsed },
            Self::BinaryNdr | Self::BinaryPdr => AlgorithmPlan::Binary,
        }
    }

    fn goals(self, suite: &Suite, final_s: u64) -> Vec<Goal> {
        let share = |billionths| Ratio::from_billionths(billionths).expect("below one");
        let (trial, initial, sum, exceed) = match self {
            Self::MlrCsit => (1, 1, 21, 500_000_000),
            Self::MlrRfc2544 => (final_s, 1, final_s, 0),
            Self::MdrFirst | Self::MdrCurrent => (final_s, 1, final_s, 0),
            Self::BinaryNdr | Self::BinaryPdr => (final_s, final_s, final_s, 0),
        };
        let width = match self {
            Self::BinaryNdr | Self::BinaryPdr => suite.binary_width,
            _ => suite.width,
        };
        let goal = |loss_billionths| Goal {
            loss_ratio: share(loss_billionths),
            exceed_ratio: share(exceed),
            width: share(width),
            trial_duration: Duration::from_secs(trial),
            initial_trial_duration: Duration::from_secs(initial),
            duration_sum: Duration::from_secs(sum),
        };
        match self {
            Self::BinaryNdr => vec![goal(0)],
            Self::BinaryPdr => vec![goal(5_000_000)],
            _ => vec![goal(0), goal(5_000_000)],
        }
    }

    /// Search time in seconds, the binary searches' warm-up included.
    fn seconds(self, record: &Record) -> f64 {
        let trials: f64 = record.trials.iter().map(|line| line.elapsed_s).sum();
        match self {
            Self::BinaryNdr | Self::BinaryPdr => trials + WARM_UP_S,
            _ => trials,
        }
    }
}

/// Times of one cell: a value a seed.
struct Cell {
    contender: Contender,
    column: usize,
    seconds: Vec<f64>,
}

/// Its row in the table of experiments.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "search-cost",
    about: "What MDR costs beside binary search and RFC 9971, as in the tables of 2018",
    runs: Some(RUNS),
    flags: &[],
    run,
    distributions: Vec::new,
    of_kept: None,
};

/// Runs the whole matrix.
///
/// # Errors
/// If the user wants to stop.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
    let runs = (effort.runs.unwrap_or(RUNS) as usize).max(PUBLISHED_RUNS);
    let mut cells = Vec::new();
    let mut graphs = Vec::new();
    for (row, suite) in SUITES.iter().enumerate() {
        for (at, &final_s) in FINAL_SECONDS.iter().enumerate() {
            progress(&format!("{} at {final_s} s, {runs} runs each", suite.system));
            for contender in Contender::ALL {
                let mut seconds = Vec::new();
                for seed in 1..=runs as u64 {
                    let record = one(contender, suite, final_s, seed, effort)?;
                    seconds.push(contender.seconds(&record));
                    if suite.system == "inconsistent" {
                        graphs.extend(graph(contender, final_s, seed, record));
                    }
                }
                cells.push(Cell { contender, column: row * FINAL_SECONDS.len() + at, seconds });
            }
        }
    }
    graphs.sort_by_key(|graph| graph.time_axis);
    Ok(FoundStudy { study: study(&cells, runs), graphs, calibrations: Vec::new() })
}

/// The six graphs of 2018, all of the inconsistent suite; those of 10 s share their time axis.
fn graph(contender: Contender, final_s: u64, seed: u64, record: Record) -> Option<Graph> {
    let (caption, time_axis) = match (contender, final_s, seed) {
        (Contender::MdrFirst, 10, 1..=3) => (format!("MDR, 10 s trials, run {seed}"), 0),
        (Contender::MdrFirst, 60, 1) => ("MDR, 60 s trials".into(), 1),
        (Contender::BinaryNdr, 60, 1) => ("NDR binary, 60 s trials".into(), 2),
        (Contender::BinaryPdr, 60, 1) => ("PDR binary, 60 s trials".into(), 3),
        _ => return None,
    };
    Some(Graph { caption, record, time_axis })
}

fn one(
    contender: Contender,
    suite: &Suite,
    final_s: u64,
    seed: u64,
    effort: &Effort,
) -> Result<Record, Failure> {
    if effort.stop.load(Ordering::Relaxed) {
        return Err(Failure::interrupted());
    }
    let target = Target::parse(&format!("sim:{}", suite.system))?;
    let simulation = target.simulation().expect("sim: is a simulation");
    let range = simulation.range();
    let plan = SearchPlan {
        profile: TrafficProfile { seed, ..TrafficProfile::default() },
        ..SearchPlan::of(target, contender.algorithm(), contender.goals(suite, final_s), range)
    };
    let conditions = Conditions {
        command_line: vec!["dropline".into(), "experiment".into(), "search-cost".into()],
        stop: Arc::clone(&effort.stop),
        ..Conditions::default()
    };
    Ok(search(&plan, &Output::Nowhere, &conditions, &mut Unwatched)?.record)
}

fn study(cells: &[Cell], runs: usize) -> Study {
    let fraction = {
        let mdr = average(cells, Contender::MdrFirst, 1, runs);
        let ndr = average(cells, Contender::BinaryNdr, 1, runs);
        mdr.0 / ndr.0 * 100.0
    };
    Study {
        charts: Vec::new(),
        name: "search-cost".into(),
        title: format!("MDR finds both rates in {fraction:.0} % of the time of one binary search, at 30 s on a consistent system"),
        paragraphs: vec![
            "How long does a search take that looks for two loss ratios at once, beside binary searches for each? \
             The systems are simulated: sim:consistent for the IP4 suite of 2018, sim:inconsistent for the vhost \
             suite. Time is virtual; a trial costs 0.5 s beyond its duration, a binary search begins with 5 s of \
             warm-up. Width 1.18 % on the consistent system and 0.76 % on the inconsistent one; the binary searches \
             stop at a step of rate, after nine and eleven trials, as they did then."
                .into(),
            "avgdev is the standard deviation over the square root of the number of runs; the deviation of a \
             fraction follows by the simplified error propagation formula, as in 2018."
                .into(),
        ],
        tables: vec![
            durations(cells, PUBLISHED_RUNS, "Table 1. Search part of test duration, six runs"),
            fractions(cells, PUBLISHED_RUNS, "Table 2. MDR duration as percentage of NDR duration, six runs"),
            durations(cells, runs, &format!("Search duration, {runs} runs")),
            fractions(cells, runs, &format!("Duration as percentage of NDR binary duration, {runs} runs")),
        ],
        caveats: Vec::new(),
    }
}

fn durations(cells: &[Cell], runs: usize, title: &str) -> Table {
    let cell = |(mean, avgdev): (f64, f64)| format!("{mean:.1}±{avgdev:.1}");
    let mut rows = Vec::new();
    for contender in Contender::ALL {
        let row = (0..6).map(|column| cell(average(cells, contender, column, runs)));
        rows.push(std::iter::once(contender.name().to_owned()).chain(row).collect());
    }
    let sums = (0..6).map(|column| {
        let ndr = average(cells, Contender::BinaryNdr, column, runs);
        let pdr = average(cells, Contender::BinaryPdr, column, runs);
        cell((ndr.0 + pdr.0, ndr.1.hypot(pdr.1)))
    });
    rows.push(std::iter::once("NDR+PDR sum".to_owned()).chain(sums).collect());
    for (name, published) in ["2018: MDR", "2018: NDR binary", "2018: PDR binary"].iter().zip(PUBLISHED) {
        rows.push(std::iter::once((*name).to_owned()).chain(published.map(cell)).collect());
    }
    Table {
        title: title.into(),
        note: "Duration±avgdev in seconds; columns: suite and final trial duration.".into(),
        columns: columns("Duration±avgdev, s"),
        rows,
    }
}

fn fractions(cells: &[Cell], runs: usize, title: &str) -> Table {
    let of_ndr = |contender: Contender, column: usize| {
        let (a, b) =
            (average(cells, contender, column, runs), average(cells, Contender::BinaryNdr, column, runs));
        let deviation = ratio_deviation(a.0, a.1, b.0, b.1);
        format!("{:.1}±{:.1}", a.0 / b.0 * 100.0, deviation * 100.0)
    };
    let both = [Contender::MdrFirst, Contender::MdrCurrent, Contender::MlrRfc2544, Contender::MlrCsit];
    let mut rows: Vec<Vec<String>> = both
        .into_iter()
        .map(|contender| {
            let row = (0..6).map(|column| of_ndr(contender, column));
            std::iter::once(format!("{} ÷ NDR binary", contender.name())).chain(row).collect()
        })
        .collect();
    let published = PUBLISHED_FRACTIONS.map(|(mean, deviation)| format!("{mean:.1}±{deviation:.1}"));
    rows.push(std::iter::once("2018: MDR ÷ NDR".to_owned()).chain(published).collect());
    Table {
        title: title.into(),
        note: "Fraction±stdev in per cent; both rates in one search, over one binary search for one.".into(),
        columns: columns("Fraction±stdev, %"),
        rows,
    }
}

fn columns(first: &str) -> Vec<String> {
    let heads = SUITES
        .iter()
        .flat_map(|suite| FINAL_SECONDS.iter().map(|final_s| format!("{} {final_s}s", suite.heading)));
    std::iter::once(first.to_owned()).chain(heads).collect()
}

/// Mean and avgdev over the first `runs` seeds.
fn average(cells: &[Cell], contender: Contender, column: usize, runs: usize) -> (f64, f64) {
    let cell = cells
        .iter()
        .find(|cell| cell.contender == contender && cell.column == column)
        .expect("the matrix is complete");
    let seconds = &cell.seconds[..runs.min(cell.seconds.len())];
    (mean(seconds).expect("six runs at least"), standard_error(seconds).expect("six runs at least"))
}
