//! What one run came to, as it is kept.

use super::cell::{Cell, Part, Variant};
use dropline_failure::Failure;
use dropline_passage::LittleCheck;
use dropline_targets::flowgraph::Collected;
use dropline_targets::flowgraph::bench::Turn;
use dropline_targets::{Opening, Target};
use dropline_trace::{Session, Shape, WhenFull};
use dropline_trial::{Rate, TrafficProfile, Trial, TrialInput};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// One run of a cell: a line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ran {
    /// The cell's key.
    pub(super) cell: String,
    /// From 1; of overheads the block whose runs were made together.
    pub(super) run: u32,
    /// The framework and its version.
    pub(super) framework: String,
    /// Samples that reached the sinks.
    pub(super) samples: u64,
    /// From the graph's start to its last sample.
    pub(super) duration_s: f64,
    /// CPU time of the program meanwhile.
    pub(super) cpu_s: f64,
    /// Events recorded.
    pub(super) events: u64,
    /// Events at the sinks.
    pub(super) rx: u64,
    /// Events that were not recorded.
    pub(super) missing: u64,
    /// Passages that count: without the beginning.
    pub(super) passages: u64,
    /// Delay at 5, 50 and 95 %, and the longest.
    pub(super) delay_ns: Option<[u64; 4]>,
    /// At 99.9 %, where the passages can bear it.
    pub(super) p99_9_ns: Option<u64>,
    /// Most negative delay.
    pub(super) least_ns: Option<i64>,
    /// Little's law, pipe by pipe: samples in flight by delay and throughput, over those that a sampler saw.
    pub(super) little: Vec<f64>,
}

impl Ran {
    /// Runs a cell.
    pub(super) fn perform(cell: &Cell, run: u32, stop: &Arc<AtomicBool>) -> Result<Self, Failure> {
        let profile = TrafficProfile { seed: u64::from(run), ..TrafficProfile::default() };
        let opening = Opening { stop: Arc::clone(stop), patience: PATIENCE, ..Opening::default() };
        let target = Target::parse(&cell.target())?.at_own_pace();
        let mut opened = target.open(&profile, opening)?;
        let trial = opened.measurer.measure(TrialInput { load: Rate::LOWEST, duration: EXPECTED })?;
        let trial = dropline_targets::whole(trial)?;
        Ok(Self::of(cell, run, &trial))
    }

    fn of(cell: &Cell, run: u32, trial: &Trial) -> Self {
        let passages = trial.passages();
        let recorder = passages.map(|passages| &passages.recorder);
        let pipes = passages.map_or(&[][..], |passages| &passages.pipes);
        let histogram = trial.delay.histogram.as_ref();
        let quantile = |q: f64| histogram?.quantile(q);
        let delay_ns = (|| Some([quantile(0.05)?, quantile(0.5)?, quantile(0.95)?, histogram?.max()?]))();
        let granularity = passages.and_then(|passages| passages.granularity).unwrap_or(1);
        let little = pipes.iter().filter_map(|pipe| LittleCheck::of(pipe, granularity)?.ratio()).collect();
        let graph = trial.graph();
        Self {
            cell: cell.key(),
            run,
            framework: graph.map(|graph| graph.framework.clone()).unwrap_or_default(),
            samples: trial.forwarded,
            duration_s: trial.duration.as_secs_f64(),
            cpu_s: graph.map_or(0.0, |graph| graph.cpu.as_secs_f64()),
            events: recorder.map_or(0, |recorder| recorder.recorded),
            rx: pipes.iter().map(|pipe| pipe.counts.rx).sum(),
            missing: recorder.map_or(0, |recorder| recorder.missing()),
            passages: histogram.map_or(0, |histogram| histogram.count()) + trial.delay.negative,
            delay_ns,
            p99_9_ns: quantile(0.999),
            least_ns: trial.delay.negative_min_ns,
            little,
        }
    }

    /// Of a program's turns together: what they cost. How long its granules took is another part's question.
    pub(super) fn of_turns(cell: &Cell, run: u32, sum: &Turn, collected: &Collected) -> Self {
        let passages = &collected.passages;
        Self {
            cell: cell.key(),
            run,
            framework: sum.framework.clone(),
            samples: sum.samples,
            duration_s: sum.duration.as_secs_f64(),
            cpu_s: sum.cpu.as_secs_f64(),
            events: passages.recorder.recorded,
            rx: passages.pipes.iter().map(|pipe| pipe.counts.rx).sum(),
            missing: passages.recorder.missing(),
            passages: 0,
            delay_ns: None,
            p99_9_ns: None,
            least_ns: None,
            little: Vec::new(),
        }
    }

    /// What a run that is consistent cannot be; `None` if it is.
    pub(super) fn fault(&self, cell: &Cell) -> Option<String> {
        let turns = u64::from(cell.size.turns);
        let samples = u64::from(cell.size.pipes) * cell.samples() * turns;
        if self.samples != samples {
            return Some(format!("{} of {samples} samples arrived", self.samples));
        }
        let records = matches!(cell.variant, Variant::Ring | Variant::Lttng);
        if !records {
            return None;
        }
        let granules = cell.granules() * turns;
        if self.rx > granules || self.rx + self.missing < granules {
            let Self { rx, missing, .. } = self;
            return Some(format!(
                "{rx} events at the sinks and {missing} missing, where there are {granules} granules"
            ));
        }
        let least = self.least_ns.filter(|least| *least < -50)?;
        Some(format!("a delay of {least} ns"))
    }

    /// Samples a second.
    pub(super) fn rate(&self) -> f64 {
        self.samples as f64 / self.duration_s
    }

    /// Whether its delays are of any use.
    pub(super) fn is_of(&self, cell: &Cell) -> bool {
        self.cell == cell.key() && (cell.part == Part::Overhead || self.delay_ns.is_some())
    }
}

/// How long a graph may stand still before it is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How long a run is expected to take at most; only a graph without tracepoints is held to it.
const EXPECTED: Duration = Duration::from_secs(600);

/// What one event of ours costs here, in ns: the least of 21 rounds. `None` where there is no room for a session.
pub(super) fn event_ns() -> Option<f64> {
    const EVENTS: u64 = 20_000;
    let shape = Shape { rings: 2, capacity: 1 << 15, when_full: WhenFull::OverwriteOldest };
    let session = Session::in_memory(shape).ok()?;
    session.attach();
    session.start();
    let round = || {
        let begun = Instant::now();
        (0..EVENTS).for_each(|n| dropline_trace::tx(0, n));
        begun.elapsed()
    };
    let least = (0..21).map(|_| round()).min()?;
    (session.counts().recorded > EVENTS).then(|| least.as_secs_f64() * 1e9 / EVENTS as f64)
}
