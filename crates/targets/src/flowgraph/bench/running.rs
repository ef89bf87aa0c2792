//! A graph's program that stays and is asked again and again, for experiments in which programs take turns.

use super::answer::{GraphAnswer, GraphRequest};
use super::program::Running;
use crate::Opening;
use crate::flowgraph::graph::{GRANULARITY, Topology};
use crate::flowgraph::program::Recorders;
use crate::flowgraph::summary::Ending;
use crate::flowgraph::{Collected, Settings, Source};
use dropline_failure::Failure;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at rings that were empty.
const PAUSE: Duration = Duration::from_millis(1);

/// A started program, and who records it.
pub struct RunningProgram {
    running: Running,
    recorders: Recorders,
    settings: Settings,
}

/// What one of its turns came to.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// The framework and its version.
    pub framework: String,
    /// Samples that reached the sinks.
    pub samples: u64,
    /// From the graph's start to its last sample.
    pub duration: Duration,
    /// CPU time of the program meanwhile.
    pub cpu: Duration,
}

impl RunningProgram {
    /// Starts the program of a graph that takes what it can.
    ///
    /// # Errors
    /// If it is no graph, is not here, or nobody can record it.
    pub fn start(mut settings: Settings) -> Result<Self, Failure> {
        settings.free();
        let Source::Graph(graph) = &settings.source else {
            return Err(Failure::usage(
                "only flowgraph:futuresdr and flowgraph:gnuradio can be measured in turns",
            ));
        };
        let opening = Opening::default();
        let recorders = Recorders::begin(&settings, &opening)?;
        let granularity = settings.meaning.granularity.unwrap_or(GRANULARITY);
        let cpus = Topology::read().chosen(&graph.cpus);
        let told = graph.recording.then_some(&recorders);
        let running = Running::start(&opening.program, graph, granularity, &cpus, 0, told)?;
        Ok(Self { running, recorders, settings })
    }

    /// Runs the graph once; the copies are drawn from `seed`.
    ///
    /// # Errors
    /// If the program dies, answers nonsense or stands still for `patience`, or if the user wants to stop.
    pub fn perform(&mut self, seed: u64, patience: Duration, stop: &AtomicBool) -> Result<Turn, Failure> {
        let request = GraphRequest { intended_load_pps: 0.0, duration_s: patience.as_secs_f64(), seed };
        let request = serde_json::to_string(&request).map_err(Failure::environment)?;
        self.running.ask(&(request + "\n"))?;
        let begun = Instant::now();
        let answer = loop {
            let drained = self.recorders.drain_with(&mut |_, _| {});
            if let Some(answer) = self.running.answer()? {
                break answer;
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Failure::interrupted());
            }
            if begun.elapsed() > patience {
                return Err(Failure::environment("the graph stopped moving samples"));
            }
            if drained == 0 {
                thread::sleep(PAUSE);
            }
        };
        while self.recorders.drain_with(&mut |_, _| {}) > 0 {}
        let answer = GraphAnswer::read(&answer).map_err(|why| {
            Failure::environment(format!("the graph answered something that is not a trial: {why}"))
        })?;
        let forwarded = answer.counted.forwarded;
        Ok(Turn {
            framework: answer.flowgraph.framework,
            samples: forwarded,
            duration: answer.counted.duration,
            cpu: Duration::from_nanos(answer.flowgraph.cpu_ns),
        })
    }

    /// Ends the program and says what was recorded of all its turns.
    ///
    /// # Errors
    /// If LTTng's trace cannot be read.
    pub fn finish(self) -> Result<Collected, Failure> {
        let Self { mut running, recorders, settings } = self;
        recorders.stop();
        recorders.finish(Ending::ByItself, || running.end(), settings.meaning)
    }
}
