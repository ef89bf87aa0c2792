//! What the blocks say: both side by side, the difference with its interval, and each block.

use super::block::{Block, By};
use dropline_failure::Failure;
use dropline_record::{CaveatLine, Chart, Series, Study, Table};
use dropline_stats::compare::{Answer, Comparison, Design, Questions};
use dropline_stats::{Binned, Percentile};

/// The interval of the difference of medians must lie within so much of nothing.
const WITHIN_NS: f64 = 1000.0;
/// Later wake-ups are called late.
const LATE_NS: f64 = 50_000.0;
const PERCENTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// A block and its wake-ups.
struct Seen<'a> {
    block: &'a Block,
    binned: Binned,
}

pub(super) fn study(blocks: &[Block], caveats: Vec<CaveatLine>) -> Result<Study, Failure> {
    let mut seen: Vec<Seen> = blocks
        .iter()
        .map(|block| Ok(Seen { block, binned: block.binned()? }))
        .collect::<Result<_, Failure>>()?;
    seen.sort_by_key(|seen| (seen.block.quartet, seen.block.turn));
    let (a, b) = (of(&seen, By::Cyclictest), of(&seen, By::Dropline));
    let compared = |percentile: f64| {
        let questions = Questions { percentile, above: Some(LATE_NS), smallest_effect: None, more_loss: 0.0 };
        Comparison::of(&a, &b, Design::Interleaved, &questions)
    };
    let (found, farther) = (compared(0.99), compared(0.999));
    let first = &seen[0].block;
    let version = blocks.iter().find_map(|block| block.version.as_deref()).unwrap_or("of unknown version");
    Ok(Study {
        name: "wakeup-cyclictest".into(),
        title: title(&found),
        paragraphs: vec![format!(
            "{} blocks of {} s by cyclictest {version} and as many by wakeup:, in turns (A B B A or B A A B at random). \
             Both sleep with clock_nanosleep to absolute times of CLOCK_MONOTONIC, a period of 1 ms, on CPU {}, with \
             SCHED_FIFO 80, locked memory and CPUs kept awake; late is the time between when a wake-up was due and \
             what the clock says after it. The intervals are compare's: from how blocks differ, in pairs.",
            a.len(),
            first.length_s,
            first.cpu
        )],
        tables: vec![difference(&found, &farther), both(&seen), each(&seen)],
        charts: chart(&seen).into_iter().collect(),
        caveats,
    })
}

fn of(seen: &[Seen], by: By) -> Vec<Binned> {
    seen.iter().filter(|seen| seen.block.by == by).map(|seen| seen.binned.clone()).collect()
}

/// Whether the bar is kept; `None` where the blocks give no interval.
fn is_within(core: &Answer) -> Option<bool> {
    Some(core.low? > -WITHIN_NS && core.high? < WITHIN_NS)
}

fn title(found: &Comparison) -> String {
    let core = &found.core;
    let (Some(estimate), Some(low), Some(high)) = (core.estimate, core.low, core.high) else {
        return "Too few blocks say whether wakeup: measures what cyclictest measures".into();
    };
    let interval = format!("{} us, 95 % interval [{}, {}]", signed(estimate), signed(low), signed(high));
    match is_within(core) {
        Some(true) => {
            format!("Medians of wakeup: and of cyclictest are within 1 us of one another: {interval}")
        }
        _ => format!(
            "Medians of wakeup: and of cyclictest are not shown to be within 1 us of one another: {interval}"
        ),
    }
}

fn difference(found: &Comparison, farther: &Comparison) -> Table {
    let time = |value: Option<f64>| value.map_or("?".into(), |ns| format!("{:.2} us", ns / 1000.0));
    let interval = |answer: &Answer| match (answer.low, answer.high) {
        (Some(low), Some(high)) => format!("[{}, {}] us", signed(low), signed(high)),
        _ => "not bounded".into(),
    };
    let row = |name: &str, answer: &Answer, bar: String| {
        let change = answer.estimate.map_or("?".into(), |ns| format!("{} us", signed(ns)));
        vec![name.into(), time(answer.of_a), time(answer.of_b), change, interval(answer), bar]
    };
    let bar = match is_within(&found.core) {
        Some(true) => "within 1 us: kept",
        Some(false) => "within 1 us: not shown",
        None => "within 1 us: no interval",
    };
    let tail = &found.tail_mass;
    let share = |value: Option<f64>| value.map_or("?".into(), |share| format!("{:.3} %", 100.0 * share));
    let ratio = match (tail.low, tail.high) {
        (Some(low), Some(high)) => format!("x[{low:.2}, {high:.2}]"),
        _ => "not bounded".into(),
    };
    let shown = || "shown".to_owned();
    Table {
        title: "wakeup: less cyclictest".into(),
        note: "A tail of a few events in bursts has wide intervals, and more of the same machine does not change that."
            .into(),
        columns: ["", "cyclictest", "wakeup:", "difference", "95 % interval", "bar"].map(String::from).into(),
        rows: vec![
            row("median", &found.core, bar.into()),
            row("p99", &found.high_percentile, shown()),
            row("p99.9", &farther.high_percentile, shown()),
            vec![
                format!("later than {:.0} us", LATE_NS / 1000.0),
                share(tail.of_a),
                share(tail.of_b),
                tail.estimate.map_or("?".into(), |ratio| format!("x{ratio:.2}")),
                ratio,
                shown(),
            ],
        ],
    }
}

fn both(seen: &[Seen]) -> Table {
    let rows = [By::Cyclictest, By::Dropline].map(|by| {
        let blocks = || seen.iter().filter(|seen| seen.block.by == by).map(|seen| seen.block);
        let whole = Binned::together(&of(seen, by));
        let missed: Option<u64> = blocks().map(|block| block.missed).sum();
        let mut row = vec![by.name().into(), whole.count().to_string()];
        row.push(missed.map_or("not counted".into(), |missed| missed.to_string()));
        row.extend(percentiles(&whole));
        row.push(micros(blocks().map(|block| block.longest_ns).max().unwrap_or(0) as f64));
        row
    });
    Table {
        title: "All blocks together".into(),
        note: "In microseconds; missed: periods that passed while a thread was late. cyclictest skips them without counting."
            .into(),
        columns: ["", "wake-ups", "missed", "p50", "p90", "p99", "p99.9", "longest"].map(String::from).into(),
        rows: rows.into(),
    }
}

fn each(seen: &[Seen]) -> Table {
    let rows = seen.iter().zip(1..).map(|(seen, number): (&Seen, u32)| {
        let mut row = vec![number.to_string(), seen.block.by.name().into()];
        row.extend(percentiles(&seen.binned));
        row.push(micros(seen.block.longest_ns as f64));
        row
    });
    Table {
        title: "Each block, in the order of measurement".into(),
        note: "In microseconds; ?: too few wake-ups to say it with a bound on either side.".into(),
        columns: ["block", "by", "p50", "p90", "p99", "p99.9", "longest"].map(String::from).into(),
        rows: rows.collect(),
    }
}

fn chart(seen: &[Seen]) -> Option<Chart> {
    let series = [By::Cyclictest, By::Dropline].map(|by| {
        let points = seen.iter().zip(1..).filter(|(seen, _)| seen.block.by == by).filter_map(
            |(seen, number): (&Seen, u32)| {
                let at = |p: f64| Some(Percentile::of(&seen.binned, p, 0.95).value? / 1000.0);
                Some([f64::from(number), at(0.1)?, at(0.5)?, at(0.9)?])
            },
        );
        Series { name: by.name().into(), points: points.collect() }
    });
    series.iter().all(|series| !series.points.is_empty()).then(|| Chart {
        title: "Wake-ups of each block, from the 10th over the 50th to the 90th percentile".into(),
        x: "block".into(),
        y: "late, us".into(),
        series: series.into(),
        ..Chart::default()
    })
}

fn percentiles(binned: &Binned) -> impl Iterator<Item = String> + '_ {
    PERCENTILES.iter().map(|&p| Percentile::of(binned, p, 0.95).value.map_or("?".into(), micros))
}

fn micros(ns: f64) -> String {
    if ns < 100_000.0 { format!("{:.2}", ns / 1000.0) } else { format!("{:.0}", ns / 1000.0) }
}

/// In microseconds, with a true minus.
fn signed(ns: f64) -> String {
    format!("{:+.2}", ns / 1000.0).replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_stats::Histogram;

    fn blocks(shift_ns: u64) -> Vec<Block> {
        let by = [By::Cyclictest, By::Dropline, By::Dropline, By::Cyclictest];
        let block = |number: u64| {
            let by = by[(number % 4) as usize];
            let mut delays = Histogram::new();
            // Blocks wander together by 300 ns; wake-ups spread over 4 us.
            let middle = 14_000 + (number / 4 % 3) * 300 + if by == By::Dropline { shift_ns } else { 0 };
            (0..2000).for_each(|event| delays.record(middle + 2 * event));
            Block {
                quartet: (number / 4) as u32,
                turn: (number % 4 + 1) as u32,
                by,
                version: None,
                cpu: 1,
                length_s: 2.0,
                missed: (by == By::Dropline).then_some(0),
                longest_ns: 1_500_000,
                beyond_ns: 1_000_000,
                beyond: u64::from(by == By::Cyclictest),
                delays: delays.to_v2_deflate(),
            }
        };
        (0..24).map(block).collect()
    }

    #[test]
    fn equal_programs_are_within_the_bar_and_a_slower_one_is_not() {
        let same = study(&blocks(0), Vec::new()).unwrap();
        assert!(
            same.title.starts_with("Medians of wakeup: and of cyclictest are within 1 us"),
            "{}",
            same.title
        );
        assert_eq!(same.tables[0].rows[0][5], "within 1 us: kept");
        assert_eq!(
            (same.tables[1].rows[0][1].as_str(), same.tables[1].rows[0][2].as_str()),
            ("24012", "not counted")
        );
        assert_eq!((same.tables[1].rows[1][2].as_str(), same.tables[2].rows.len()), ("0", 24));
        let slower = study(&blocks(1500), Vec::new()).unwrap();
        assert!(slower.title.contains("are not shown to be within 1 us"), "{}", slower.title);
        assert_eq!(slower.tables[0].rows[0][3], "+1.50 us");
    }

    #[test]
    fn two_blocks_have_no_interval_and_say_so() {
        let few = study(&blocks(0)[..2], Vec::new()).unwrap();
        assert_eq!(few.tables[1].rows.len(), 2);
        assert!(few.tables.iter().flat_map(|table| &table.rows).flatten().all(|cell| !cell.contains("NaN")));
    }
}
