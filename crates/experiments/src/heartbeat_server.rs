//! What does `dropline heartbeat serve` cost beside a server written as the original was, and what does it lose?
//!
//! Both run as processes on loopback, in turn, run after run: CPU for each heartbeat of a queue that was filled
//! while the server stood still, loss in a flood, the round trip of a report, and whether every packet that was
//! sent is in our server's counts. The rival is `experiments/heartbeat-server/original_like.c`.

mod contestant;
mod drain;
mod flood;
mod trip;

use super::{Effort, Experiment, FoundStudy};
use contestant::Workshop;
use dropline_failure::Failure;
use dropline_record::{CaveatLine, Study, Table};
use dropline_stats::sample::quantile;
use flood::Flood;
use std::sync::atomic::Ordering;
use trip::{Trip, median_with_interval};

/// Runs when the user does not say how many.
const RUNS: u32 = 5;
/// Heartbeats that do not count, before each flood: our server must reject and count them.
const REJECTED: u64 = 1000;

/// CPU of our server over that of the original's habits, for each drained heartbeat, at most.
const CPU_AT_MOST: f64 = 0.75;
/// The same with one packet a call.
const CPU_ALONE_AT_MOST: f64 = 1.0;
/// Packets lost in the flood over those that the other lost, at most.
const LOSS_AT_MOST: f64 = 0.1;
/// Median of the paired ratios of round trips, at most.
const TRIP_AT_MOST: f64 = 1.05;

/// How much a run does.
#[derive(Clone, Copy)]
struct Extent {
    /// Full queues that each server drains.
    rounds: u64,
    /// Heartbeats of a flood.
    flood: u64,
    /// Requests to each.
    pairs: usize,
}

impl Extent {
    const WHOLE: Self = Self { rounds: 150, flood: 400_000, pairs: 2000 };
    const SMALL: Self = Self { rounds: 5, flood: 20_000, pairs: 50 };
}

/// What one run saw.
struct Run {
    /// CPU in ns for each drained heartbeat: the original's habits, ours, ours with `--batch 1`.
    cpu_ns: [f64; 3],
    /// Original's habits, ours.
    floods: [Flood; 2],
    trips: Vec<Trip>,
    account: Account,
}

/// Whether all that was sent to our server is in its counts.
#[derive(Clone, Copy)]
struct Account {
    sent: u64,
    stored: u64,
    rejected: u64,
    requests: u64,
    dropped: u64,
    buffer_bytes: u64,
}

impl Account {
    fn is_exact(&self) -> bool {
        self.sent == self.stored + self.rejected + self.requests + self.dropped
    }
}

/// Its row in the table of experiments.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "heartbeat-server",
    about: "CPU, loss and round trip of heartbeat serve beside a server written as Dumpulse, the original, was",
    runs: Some(RUNS),
    flags: &["small"],
    run,
    distributions: Vec::new,
    of_kept: None,
};

/// Runs it.
///
/// # Errors
/// If a server cannot be built or started, or the user wants to stop.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
    let workshop = Workshop::open()?;
    let extent = if effort.small { Extent::SMALL } else { Extent::WHOLE };
    let count = effort.runs.unwrap_or(RUNS).max(1);
    let mut runs = Vec::new();
    for number in 1..=count {
        progress(&format!("run {number} of {count}"));
        runs.push(once(&workshop, number, extent, effort)?);
    }
    Ok(FoundStudy { study: study(&runs, extent), graphs: Vec::new(), calibrations: Vec::new() })
}

fn once(workshop: &Workshop, number: u32, extent: Extent, effort: &Effort) -> Result<Run, Failure> {
    let go_on = || if effort.stop.load(Ordering::Relaxed) { Err(Failure::interrupted()) } else { Ok(()) };
    let mut all = [workshop.original()?, workshop.ours(&[])?, workshop.ours(&["--batch", "1"])?];
    go_on()?;
    let cpu_ns = drain::rounds(&mut all, extent.rounds, &effort.stop)?;
    go_on()?;
    let [original, ours, alone] = &mut all;
    let trips = trip::pairs(original, ours, extent.pairs)?;
    go_on()?;
    for at in 0..REJECTED {
        ours.send(if at % 2 == 0 {
            b"\x05\x6b\x01\xcf\xf1\x3e\x4b\x53"
        } else {
            b"\x05\x6b\x01\xce\xf1\x3e\x4b"
        })?;
    }
    // Whoever is first finds another machine than whoever is second.
    let floods = if number.is_multiple_of(2) {
        let first = flood::flood(original, extent.flood, &effort.stop)?;
        [first, flood::flood(ours, extent.flood, &effort.stop)?]
    } else {
        let first = flood::flood(ours, extent.flood, &effort.stop)?;
        [flood::flood(original, extent.flood, &effort.stop)?, first]
    };
    let account = ours.end()?;
    alone.end()?;
    Ok(Run { cpu_ns, floods, trips, account })
}

/// A promise, what was measured for it, and whether it was kept.
struct Bar {
    what: &'static str,
    measured: String,
    at_most: String,
    met: bool,
}

fn bars(runs: &[Run]) -> Vec<Bar> {
    let ratio =
        |place: usize| -> Vec<f64> { runs.iter().map(|run| run.cpu_ns[place] / run.cpu_ns[0]).collect() };
    let spread = |ratios: &[f64]| {
        let (least, most) = (quantile(ratios, 0.0), quantile(ratios, 1.0));
        match (quantile(ratios, 0.5), least, most) {
            (Some(median), Some(least), Some(most)) => format!("{median:.3} ({least:.3} to {most:.3})"),
            _ => "–".to_owned(),
        }
    };
    let below = |ratios: &[f64], bar: f64| quantile(ratios, 0.5).is_some_and(|median| median <= bar);
    let (cpu, alone) = (ratio(1), ratio(2));
    let lost = |place: usize| -> u64 { runs.iter().map(|run| run.floods[place].lost).sum() };
    let trips: Vec<f64> = runs.iter().flat_map(|run| &run.trips).map(Trip::ratio).collect();
    let trip = median_with_interval(&trips);
    let exact = runs.iter().filter(|run| run.account.is_exact()).count();
    vec![
        Bar {
            what: "runs accounted for exactly",
            measured: format!("{exact} of {}", runs.len()),
            at_most: "all".into(),
            met: exact == runs.len(),
        },
        Bar {
            what: "CPU ÷ original's, drained",
            measured: spread(&cpu),
            at_most: CPU_AT_MOST.to_string(),
            met: below(&cpu, CPU_AT_MOST),
        },
        Bar {
            what: "the same, --batch 1",
            measured: spread(&alone),
            at_most: CPU_ALONE_AT_MOST.to_string(),
            met: below(&alone, CPU_ALONE_AT_MOST),
        },
        Bar {
            what: "lost ÷ original's, floods",
            measured: format!("{} of {}", lost(1), lost(0)),
            at_most: LOSS_AT_MOST.to_string(),
            met: lost(0) > 0 && lost(1) as f64 <= LOSS_AT_MOST * lost(0) as f64,
        },
        Bar {
            what: "round trip ÷ original's",
            measured: trip
                .map_or("–".into(), |(median, low, high)| format!("{median:.3} ({low:.3} to {high:.3})")),
            at_most: TRIP_AT_MOST.to_string(),
            met: trip.is_some_and(|(median, ..)| median <= TRIP_AT_MOST),
        },
    ]
}

fn study(runs: &[Run], extent: Extent) -> Study {
    let bars = bars(runs);
    let met = bars.iter().filter(|bar| bar.met).count();
    Study {
        charts: Vec::new(),
        name: "heartbeat-server".into(),
        title: format!("{met} of {} promises of the heartbeat server are kept in {} runs", bars.len(), runs.len()),
        paragraphs: vec![
            format!(
                "Beside dropline heartbeat serve runs a server in C with the original's habits: a datagram a call, \
                 the system's receive buffer, no counts, no limits. Drained: both stand still while {} heartbeats \
                 fill the queue, then go on; CPU is the scheduler's account of all threads until the queue is empty \
                 and the process sleeps, {} rounds in turn. Flood: {} heartbeats at {} a second. Round trip: a \
                 request and its report, {} pairs a run.",
                drain::FILL,
                extent.rounds,
                extent.flood,
                flood::RATE_PPS,
                extent.pairs
            ),
            "The interval of the median ratio is that of order statistics; pairs of one run share its moment, so it \
             is narrower than the spread between runs."
                .into(),
        ],
        tables: vec![bar_table(&bars), run_table(runs), account_table(runs)],
        caveats: caveats(runs),
    }
}

/// What makes the verdicts weaker than they look.
fn caveats(runs: &[Run]) -> Vec<CaveatLine> {
    let late = runs.iter().flat_map(|run| &run.floods).filter(|flood| flood.is_late()).count();
    let asked = 2 * contestant::BUFFER_BYTES;
    let small = runs.iter().map(|run| run.account.buffer_bytes).find(|&bytes| bytes < asked);
    let late = (late > 0).then(|| {
        let text = "floods took more than a tenth longer than they should: the sender fell behind";
        CaveatLine::said("generator_limited", format!("{late} {text}"))
    });
    let small = small.map(|bytes| {
        let text = format!(
            "the system gave a receive buffer of {bytes} B, not of {asked}: the flood is judged \
                            where it may be that"
        );
        CaveatLine::said("small_buffer", text)
    });
    late.into_iter().chain(small).collect()
}

fn bar_table(bars: &[Bar]) -> Table {
    let row = |bar: &Bar| {
        let verdict = if bar.met { "kept" } else { "MISSED" };
        vec![bar.what.into(), bar.measured.clone(), bar.at_most.clone(), verdict.into()]
    };
    Table {
        title: "Promises".into(),
        note: "Accounted for: sent = stored + rejected + requests + dropped by the kernel. Ratios of CPU: median over \
               the runs, least and most. Round trip: median of the paired ratios and its 95 % interval."
            .into(),
        columns: heads(&["what", "measured", "at most", "verdict"]),
        rows: bars.iter().map(row).collect(),
    }
}

fn run_table(runs: &[Run]) -> Table {
    let row = |(number, run): (usize, &Run)| {
        let trip = |of: fn(&Trip) -> u64| {
            let all: Vec<f64> = run.trips.iter().map(|trip| of(trip) as f64 / 1000.0).collect();
            quantile(&all, 0.5).map_or("–".into(), |median| format!("{median:.1}"))
        };
        let [original, ours] = &run.floods;
        vec![
            (number + 1).to_string(),
            format!("{:.0}", run.cpu_ns[0]),
            format!("{:.0}", run.cpu_ns[1]),
            format!("{:.0}", run.cpu_ns[2]),
            format!("{} of {}", original.lost, original.offered),
            format!("{} of {}", ours.lost, ours.offered),
            trip(|trip| trip.original_ns),
            trip(|trip| trip.ours_ns),
        ]
    };
    Table {
        title: "Runs".into(),
        note: "CPU in ns for each drained heartbeat; heartbeats lost in the flood; median round trip in us."
            .into(),
        columns: heads(&[
            "run",
            "CPU, original",
            "ours",
            "--batch 1",
            "lost, original",
            "ours",
            "trip, original",
            "ours",
        ]),
        rows: runs.iter().enumerate().map(row).collect(),
    }
}

fn account_table(runs: &[Run]) -> Table {
    let row = |(number, run): (usize, &Run)| {
        let of = &run.account;
        let numbers = [of.sent, of.stored, of.rejected, of.requests, of.dropped, of.buffer_bytes];
        std::iter::once((number + 1).to_string()).chain(numbers.map(|count| count.to_string())).collect()
    };
    Table {
        title: "Our server's account".into(),
        note: format!(
            "All that was sent to it in a run, {REJECTED} wrong packets among it; its buffer in bytes."
        ),
        columns: heads(&["run", "sent", "stored", "rejected", "requests", "dropped", "buffer"]),
        rows: runs.iter().enumerate().map(row).collect(),
    }
}

fn heads(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(cpu_ns: [f64; 3], lost: [u64; 2], trip: (u64, u64), dropped: u64) -> Run {
        let flood = |lost| Flood { offered: 1000, lost, took_s: 1.0, due_s: 1.0 };
        let account =
            Account { sent: 100, stored: 60, rejected: 20, requests: 10, dropped, buffer_bytes: 8 << 20 };
        let trips = vec![Trip { original_ns: trip.0, ours_ns: trip.1 }; 20];
        Run { cpu_ns, floods: lost.map(flood), trips, account }
    }

    fn verdicts(run: Run) -> Vec<bool> {
        bars(&[run]).iter().map(|bar| bar.met).collect()
    }

    #[test]
    fn a_promise_is_kept_up_to_its_bar_and_missed_beyond() {
        assert_eq!(verdicts(seen([100.0, 75.0, 100.0], [1000, 100], (100, 105), 10)), [true; 5]);
        assert_eq!(verdicts(seen([100.0, 75.1, 100.1], [1000, 101], (100, 106), 11)), [false; 5]);
    }

    #[test]
    fn a_flood_that_nobody_lost_anything_of_proves_nothing() {
        assert!(!verdicts(seen([100.0, 50.0, 90.0], [0, 0], (100, 100), 10))[3]);
    }

    #[test]
    fn every_row_is_as_wide_as_its_heads() {
        for table in study(&[seen([1.0; 3], [1, 0], (1, 1), 10)], Extent::SMALL).tables {
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.title);
        }
    }
}
