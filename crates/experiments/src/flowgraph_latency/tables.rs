//! What the runs say: tables, the plot of the weblog of 2021, and whether the bars are kept.

use super::ALL_PAIRS;
use super::cell::{Cell, Part, SYSTEMS, System, VARIANTS, Variant, WEIGHED};
use super::ran::Ran;
use dropline_record::{CaveatLine, Chart, Series, Study, Table};
use dropline_stats::sample::median;
use dropline_stats::special::binomial_quantile;

/// CPU time that the tracepoints may add, with our ring: at the median, and at the upper end of its interval.
const MEDIAN_AT_MOST: f64 = 0.005;
const UPPER_AT_MOST: f64 = 0.015;
/// Level of the interval of a median.
const TAIL: f64 = 0.025;

/// `event_ns` is what one event of ours costs here.
pub(super) fn study(cells: &[Cell], seen: &[Ran], event_ns: Option<f64>, caveats: Vec<CaveatLine>) -> Study {
    let mut frameworks: Vec<&str> = seen.iter().map(|ran| ran.framework.as_str()).collect();
    frameworks.sort_unstable();
    frameworks.dedup();
    let weighed: Vec<Weighed> =
        WEIGHED.iter().filter_map(|system| Weighed::of(*system, cells, seen)).collect();
    let turns = cells.iter().map(|cell| cell.size.turns).max().unwrap_or(1);
    let stages = chart(cells, seen, Part::Stages);
    let buffers = chart(cells, seen, Part::Buffer);
    let tables = [
        latency(cells, seen, Part::Stages),
        latency(cells, seen, Part::Buffer),
        overhead(&weighed, turns, event_ns),
    ];
    Study {
        name: "flowgraph-latency".into(),
        title: title(cells, seen, &weighed),
        paragraphs: vec![
            format!(
                "Pipes of null source, head, copies of 1 to 512 samples at random, and sink, in {}. A granule of 32768 \
                 samples is stamped when it leaves its source and when it reaches its sink; the delay is between.",
                frameworks.join(" and ")
            ),
            "The source takes part: it fills every buffer in front of it, so the delay is what the buffers hold by the \
             rate at which they empty. It says how a scheduler treats a graph that is always full, and grows with the \
             size of the buffers; a graph that is fed at a rate below its limit answers sooner (--load)."
                .into(),
        ],
        tables: tables.into_iter().flatten().collect(),
        charts: [stages, buffers].into_iter().flatten().collect(),
        caveats,
    }
}

/// The first fact that the runs bear: what the tracepoints cost, or who is fastest.
fn title(cells: &[Cell], seen: &[Ran], weighed: &[Weighed]) -> String {
    let deepest = cells.iter().filter(|cell| cell.part == Part::Stages).map(|cell| cell.stages).max();
    let at_deepest = |name: &str| {
        let cell = cells.iter().find(|cell| {
            cell.part == Part::Stages && Some(cell.stages) == deepest && cell.system.name == name
        })?;
        Some(Summary::of(cell, seen)?.delay_ns[1])
    };
    let cost = weighed
        .iter()
        .filter_map(|of| of.median(Variant::Ring))
        .filter_map(|paired| Some((paired.median, paired.interval?)))
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(middle, (low, high))| {
            let shown = if low > 0.0 { "cost" } else { "are not shown to cost more CPU time:" };
            let of = if low > 0.0 { " of the CPU time" } else { "" };
            format!("{shown} {}{of}, 95 % interval [{}, {}]", percent(middle), percent(low), percent(high))
        });
    let ratio = (|| Some((deepest?, at_deepest("GNU Radio")? / at_deepest("flow")?)))().map(|(stages, ratio)| {
        format!(
            "At {stages} stages a sample takes {} times as long in GNU Radio as on FutureSDR's flow scheduler",
            three(ratio)
        )
    });
    match (ratio, cost) {
        (Some(ratio), Some(cost)) => format!("{ratio}; the tracepoints that say so {cost}"),
        (Some(ratio), None) => ratio,
        (None, Some(cost)) => format!("The tracepoints {cost}"),
        (None, None) => "How long a sample takes through a graph".into(),
    }
}

/// The runs of a cell together: medians of what each says.
struct Summary {
    runs: usize,
    rate: f64,
    passages: u64,
    delay_ns: [f64; 4],
    p99_9_ns: Option<f64>,
    little: Option<f64>,
}

impl Summary {
    fn of(cell: &Cell, seen: &[Ran]) -> Option<Self> {
        let runs: Vec<&Ran> = seen.iter().filter(|ran| ran.is_of(cell)).collect();
        let over = |of: &dyn Fn(&Ran) -> Option<f64>| {
            median(&runs.iter().filter_map(|ran| of(ran)).collect::<Vec<_>>())
        };
        let delay = |at: usize| over(&|ran| Some(ran.delay_ns?[at] as f64));
        Some(Self {
            runs: runs.len(),
            rate: over(&|ran| Some(ran.rate()))?,
            passages: runs.iter().map(|ran| ran.passages).sum(),
            delay_ns: [delay(0)?, delay(1)?, delay(2)?, delay(3)?],
            p99_9_ns: over(&|ran| ran.p99_9_ns.map(|ns| ns as f64)),
            little: median(&runs.iter().flat_map(|ran| ran.little.iter().copied()).collect::<Vec<_>>()),
        })
    }
}

fn latency(cells: &[Cell], seen: &[Ran], part: Part) -> Option<Table> {
    let us = |ns: f64| three(ns / 1000.0);
    let rows: Vec<Vec<String>> = cells
        .iter()
        .enumerate()
        .filter(|(index, cell)| cell.part == part && !cells[..*index].contains(cell))
        .filter_map(|(_, cell)| {
            let of = Summary::of(cell, seen)?;
            let [p5, p50, p95, most] = of.delay_ns;
            let rare = of.p99_9_ns.map_or_else(|| "\u{2013}".into(), us);
            Some(vec![
                format!(
                    "{}, {} x {}, {} KiB",
                    cell.system.name, cell.size.pipes, cell.stages, cell.buffer_kib
                ),
                of.runs.to_string(),
                three(of.rate / 1e6),
                count(of.passages),
                us(p5),
                us(p50),
                us(p95),
                rare,
                us(most),
                of.little.map_or_else(|| "\u{2013}".into(), |ratio| format!("{ratio:.2}")),
            ])
        })
        .collect();
    let (title, note) = match part {
        Part::Stages => (
            "Delay over stages",
            "Medians over the runs; the beginning of each run, when buffers fill, is cut. ",
        ),
        Part::Buffer => {
            ("Delay over the size of buffers", "The knob that matters: hold it fixed in any comparison. ")
        }
        Part::Overhead => ("", ""),
    };
    let columns =
        ["", "runs", "Msps", "passages", "p5 us", "p50 us", "p95 us", "p99.9 us", "max us", "Little"];
    (!rows.is_empty()).then(|| Table {
        title: title.into(),
        note: format!(
            "{note}Little: samples in flight by delay and throughput, over those that a sampler saw, pipe by pipe."
        ),
        columns: columns.map(String::from).into(),
        rows,
    })
}

fn chart(cells: &[Cell], seen: &[Ran], part: Part) -> Option<Chart> {
    let of = |system: &System| {
        let mut points: Vec<[f64; 4]> = cells
            .iter()
            .filter(|cell| cell.part == part && cell.system == *system)
            .filter_map(|cell| {
                let [p5, p50, p95, ..] = Summary::of(cell, seen)?.delay_ns;
                let place = match part {
                    Part::Stages => f64::from(cell.stages),
                    _ => cell.buffer_kib as f64,
                };
                Some([place, p5 / 1000.0, p50 / 1000.0, p95 / 1000.0])
            })
            .collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        points.dedup();
        Series { name: system.name.into(), points }
    };
    let series: Vec<Series> = SYSTEMS.iter().map(of).filter(|of| !of.points.is_empty()).collect();
    let (title, x) = match part {
        Part::Stages => ("Delay from source to sink over stages, 5 to 95 %", "stages"),
        _ => ("Delay from source to sink over the size of buffers, 5 to 95 %", "buffer, KiB"),
    };
    (!series.is_empty()).then(|| Chart {
        title: title.into(),
        x: x.into(),
        y: "delay, us".into(),
        series,
        ..Chart::default()
    })
}

/// Differences of pairs.
struct Paired {
    /// Of the share of what a graph without tracepoints costs.
    median: f64,
    /// Of the median; `None` with too few pairs.
    interval: Option<(f64, f64)>,
    pairs: usize,
}

/// CPU times of one system, block by block: none, off, ring, LTTng.
struct Weighed {
    system: System,
    blocks: Vec<[Option<f64>; 4]>,
    /// Events of a run that recorded.
    events: u64,
    /// CPU time of one without tracepoints.
    cpu_s: f64,
}

impl Weighed {
    fn of(system: System, cells: &[Cell], seen: &[Ran]) -> Option<Self> {
        let of = |variant: Variant| {
            cells
                .iter()
                .find(|cell| cell.part == Part::Overhead && cell.system == system && cell.variant == variant)
        };
        let runs = |variant: Variant| -> Vec<&Ran> {
            of(variant).map_or_else(Vec::new, |cell| seen.iter().filter(|ran| ran.is_of(cell)).collect())
        };
        let all = VARIANTS.map(runs);
        let cpu = |index: usize, run: u32| all[index].iter().find(|ran| ran.run == run).map(|ran| ran.cpu_s);
        let blocks: Vec<_> = all[0].iter().map(|ran| [0, 1, 2, 3].map(|index| cpu(index, ran.run))).collect();
        let cpu_s = median(&all[0].iter().map(|ran| ran.cpu_s).collect::<Vec<_>>())?;
        let events = all[2].iter().map(|ran| ran.events).max().unwrap_or(0);
        Some(Self { system, blocks, events, cpu_s })
    }

    /// Median of what `a` costs more than `b`, in parts of what a graph without tracepoints costs, and its interval.
    fn between(&self, a: Variant, b: Variant) -> Option<Paired> {
        let [a, b] = [a, b].map(|wanted| VARIANTS.iter().position(|variant| *variant == wanted));
        let (a, b) = (a?, b?);
        let mut differences: Vec<f64> =
            self.blocks.iter().filter_map(|block| Some((block[a]? - block[b]?) / block[0]?)).collect();
        differences.sort_by(f64::total_cmp);
        Some(Paired {
            median: median(&differences)?,
            interval: interval(&differences),
            pairs: differences.len(),
        })
    }

    fn median(&self, variant: Variant) -> Option<Paired> {
        self.between(variant, Variant::None)
    }
}

fn overhead(weighed: &[Weighed], turns: u32, event_ns: Option<f64>) -> Option<Table> {
    let mut rows = Vec::new();
    for of in weighed {
        let row = |name: String,
                   found: Option<Paired>,
                   events: String,
                   bar: &dyn Fn(f64, f64) -> bool,
                   words: &str| {
            let Paired { median: middle, interval, pairs } = found?;
            let verdict = match interval {
                _ if words.is_empty() => String::new(),
                Some((_, high)) if pairs >= ALL_PAIRS as usize => {
                    format!("{words}: {}", if bar(middle, high) { "kept" } else { "broken" })
                }
                _ => format!("{words}: asks for {ALL_PAIRS} pairs"),
            };
            let interval = interval.map_or_else(
                || "\u{2013}".into(),
                |(low, high)| format!("[{}, {}]", percent(low), percent(high)),
            );
            Some(vec![name, pairs.to_string(), percent(middle), interval, events, verdict])
        };
        let never = |_: f64, _: f64| false;
        let named = |what: &str| format!("{}, {what}", of.system.name);
        let events = count(of.events);
        rows.extend(row(named(Variant::Off.name()), of.median(Variant::Off), "0".into(), &never, ""));
        rows.extend(row(
            named(Variant::Ring.name()),
            of.median(Variant::Ring),
            events.clone(),
            &|middle, high| middle <= MEDIAN_AT_MOST && high <= UPPER_AT_MOST,
            "median at most 0.5 %, upper end 1.5 %",
        ));
        rows.extend(row(named(Variant::Lttng.name()), of.median(Variant::Lttng), events, &never, ""));
        rows.extend(row(
            named("our ring less LTTng"),
            of.between(Variant::Ring, Variant::Lttng),
            String::new(),
            &|middle, _| middle < 0.0,
            "median below 0",
        ));
    }
    let costs: Vec<String> = weighed
        .iter()
        .filter_map(|of| {
            let event_ns = event_ns?;
            let share = event_ns * of.events as f64 / (of.cpu_s * 1e9);
            Some(format!(
                "{}: {} events x {event_ns:.1} ns are {} of {} s",
                of.system.name,
                count(of.events),
                percent(share),
                three(of.cpu_s)
            ))
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: "What tracepoints cost, in CPU time of the same graph without them".into(),
        note: format!(
            "CPU time (user and system) of the whole program while its graph runs. The programs of a block stand beside one \
             another and take {turns} turns, each time in a random order; a pair is two sums over these. The median \
             and its 95 % interval are order statistics of the pairs, whatever their distribution. {}.",
            costs.join("; ")
        ),
        columns: ["", "pairs", "median", "95 % interval", "events", "bar"].map(String::from).into(),
        rows,
    })
}

/// The interval of a median by order statistics, whatever the distribution; `None` with too few values.
fn interval(sorted: &[f64]) -> Option<(f64, f64)> {
    let n = sorted.len();
    let below = binomial_quantile(TAIL, n as u64, 0.5) as usize;
    (n >= 6 && below >= 1).then(|| (sorted[below - 1], sorted[n - below]))
}

/// Three digits that count.
fn three(value: f64) -> String {
    let decimals = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i64).clamp(0, 4) };
    format!("{value:.*}", decimals as usize)
}

fn count(value: u64) -> String {
    let digits = value.to_string();
    let head = digits.len() % 3;
    digits.as_bytes().iter().enumerate().fold(String::new(), |mut text, (at, digit)| {
        if at > 0 && at % 3 == head % 3 {
            text.push('\u{2009}');
        }
        text.push(char::from(*digit));
        text
    })
}

fn percent(share: f64) -> String {
    format!("{:+.2} %", share * 100.0).replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_median_is_of_order_statistics() {
        let values: Vec<f64> = (1..=60).map(f64::from).collect();
        // Of 60 tosses fewer than 22 are heads once in forty times: the 22nd from either end.
        assert_eq!(interval(&values), Some((22.0, 39.0)));
        assert_eq!(interval(&values[..5]), None);
        assert_eq!(median(&values), Some(30.5));
    }

    #[test]
    fn numbers_are_short_and_counts_are_grouped() {
        assert_eq!([1234.0, 12.34, 0.1234].map(three), ["1234", "12.3", "0.123"]);
        assert_eq!(
            [1, 1000, 73_242, 1_234_567].map(count),
            ["1", "1\u{2009}000", "73\u{2009}242", "1\u{2009}234\u{2009}567"]
        );
    }

    fn ran(cell: &Cell, run: u32, cpu_s: f64) -> Ran {
        Ran {
            cell: cell.key(),
            run,
            framework: "FutureSDR 0.0.40".into(),
            samples: cell.samples() * u64::from(cell.size.turns * cell.size.pipes),
            duration_s: 1.0,
            cpu_s,
            events: 1000,
            rx: cell.granules() * u64::from(cell.size.turns),
            missing: 0,
            passages: 6000,
            delay_ns: Some([330_000, 358_000, 396_000, 2_000_000]),
            p99_9_ns: Some(900_000),
            least_ns: None,
            little: vec![0.99],
        }
    }

    #[test]
    fn overheads_are_held_against_the_run_of_their_block() {
        let cells = Cell::weighed(WEIGHED[0], false, true);
        let mut seen = Vec::new();
        // The machine gets slower from block to block: pairs do not see it.
        for run in 1..=60 {
            let base = 1.0 + f64::from(run) / 10.0;
            for (cell, more) in cells.iter().zip([1.0, 1.001, 1.004, 1.010]) {
                seen.push(ran(cell, run, base * more));
            }
        }
        let study = study(&cells, &seen, Some(9.5), Vec::new());
        let table =
            study.tables.iter().find(|table| table.title.starts_with("What tracepoints cost")).unwrap();
        assert_eq!(table.rows.len(), 4);
        assert_eq!(table.rows[1][1..4], ["60", "+0.40 %", "[+0.40 %, +0.40 %]"]);
        assert!(table.rows[1][5].ends_with("kept") && table.rows[3][5].ends_with("kept"), "{table:?}");
    }

    #[test]
    fn delays_are_drawn_over_stages_system_by_system() {
        let cells = Cell::latency(false, false);
        let seen: Vec<Ran> = cells.iter().map(|cell| ran(cell, 1, 1.0)).collect();
        let study = study(&cells, &seen, None, Vec::new());
        assert_eq!(study.charts[0].series.len(), 5);
        assert_eq!(study.charts[0].series[0].points[0], [1.0, 330.0, 358.0, 396.0]);
        assert_eq!(study.tables.len(), 2);
        assert!(study.title.starts_with("At 23 stages"), "{}", study.title);
    }
}
