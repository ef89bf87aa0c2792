//! A graph as a target: its program started once a trial, asked, followed and ended.

pub mod answer;
mod program;
mod running;
mod traced;

pub use running::{RunningProgram, Turn};

use crate::flowgraph::graph::{GRANULARITY, Graph, Topology};
use crate::flowgraph::program::Recorders;
use crate::flowgraph::summary::Ending;
use crate::flowgraph::{Recording, Settings, summary};
use crate::{Opening, exec};
use answer::{GraphAnswer, GraphRequest, Ran};
use dropline_failure::Failure;
use dropline_trial::{Extra, LostAt, Measurer, Trial, TrialInput, graph, seed};
use program::Running;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use traced::Traced;

/// Between two looks at rings that were empty.
const PAUSE: Duration = Duration::from_millis(1);

/// Performs trials on one graph.
pub struct Bench {
    graph: Graph,
    settings: Settings,
    opening: Opening,
    drain: Duration,
    seed: u64,
    number: u64,
    topology: Topology,
}

/// How a program's trial went.
enum Course {
    Answered(String),
    Interrupted,
    /// Neither an answer nor an event for as long as anybody has patience.
    Silent,
}

impl Bench {
    /// `drain` is how long samples that wait may still go in after the last was due; `seed` is that of the profile.
    ///
    /// # Errors
    /// If its program is not here.
    pub fn new(
        graph: Graph,
        settings: Settings,
        opening: Opening,
        drain: Duration,
        seed: u64,
    ) -> Result<Self, Failure> {
        graph.framework.find(&opening.program)?;
        let number = opening.first_trial;
        Ok(Self { graph, settings, opening, drain, seed, number, topology: Topology::read() })
    }

    /// In words, which graph it is.
    pub fn note(&self) -> String {
        let Graph { pipes, stages, scheduler, buffer_bytes, .. } = &self.graph;
        let cpus: Vec<String> =
            self.topology.chosen(&self.graph.cpus).iter().map(ToString::to_string).collect();
        format!(
            "{pipes} pipes of {stages} stages, scheduler {scheduler}, buffers of {} KiB, on CPU {}",
            buffer_bytes / 1024,
            cpus.join(", ")
        )
    }

    fn follow(
        &self,
        running: &mut Running,
        recorders: &mut Recorders,
        traced: &mut Traced,
        input: TrialInput,
    ) -> Result<Course, Failure> {
        let expected = if self.is_heard() { Duration::ZERO } else { input.duration + self.drain };
        // Time in which we did not run is no silence of the program's: it may not have run either.
        let (mut silent, mut looked) = (Duration::ZERO, Instant::now());
        loop {
            let drained = recorders.drain_with(&mut |event, at_ns| traced.see(event, at_ns));
            if let Some(answer) = running.answer()? {
                return Ok(Course::Answered(answer));
            }
            if self.opening.stop.load(Ordering::Relaxed) {
                return Ok(Course::Interrupted);
            }
            if drained > 0 {
                (silent, looked) = (Duration::ZERO, Instant::now());
            } else if silent > expected + self.opening.patience {
                return Ok(Course::Silent);
            } else {
                thread::sleep(PAUSE);
                silent += looked.elapsed().min(10 * PAUSE);
                looked = Instant::now();
            }
        }
    }

    /// Whether a graph that moves is heard of: then silence is a stall, however long the trial.
    fn is_heard(&self) -> bool {
        let counted = !self.graph.paced && self.graph.samples.is_some();
        counted && self.graph.recording && !self.graph.bare && self.settings.recording != Recording::Lttng
    }

    /// A trial whose program answered: its counts of samples are exact.
    fn answered(
        &self,
        line: &str,
        mut trial: Trial,
        residence: Vec<graph::Residence>,
    ) -> Result<Trial, Failure> {
        let name = self.graph.framework.word();
        let GraphAnswer { counted, flowgraph } = GraphAnswer::read(line).map_err(|why| {
            Failure::environment(format!("flowgraph:{name} answered something that is not a trial: {why}"))
                .advice("the program is of another version: cargo xtask setup flowgraph")
        })?;
        let input = trial.input;
        // A graph without a load runs for as long as its samples take.
        let (number, seed) = (trial.number, trial.seed);
        let question = exec::Question {
            trial: number,
            input,
            seed,
            intends: None,
            drain: std::time::Duration::MAX,
            costs_at_most: std::time::Duration::MAX,
            stopped: false,
        };
        let counted = counted.trial(&question).map_err(|why| {
            Failure::environment(format!("the answer of flowgraph:{name} contradicts itself: {why}"))
        })?;
        let lost = flowgraph.lost();
        trial.intended = counted.intended.filter(|_| self.graph.paced);
        trial.offered = counted.offered;
        trial.forwarded = counted.forwarded;
        trial.generator_lost = 0;
        trial.duration = counted.duration;
        if !self.graph.paced {
            let rate = counted.forwarded as f64 / counted.duration.as_secs_f64();
            trial.input.load = dropline_trial::Rate::pps(rate).unwrap_or(input.load);
        }
        trial.lost_at = Some(match trial.lost() {
            0 => LostAt::default(),
            all => BTreeMap::from([
                ("service_queue".to_owned(), lost.min(all)),
                ("unexplained".to_owned(), all - lost.min(all)),
            ]),
        });
        trial.caveats.extend(counted.caveats);
        let passages = match trial.extra {
            Some(Extra::Passages(passages)) => Some(passages),
            _ => None,
        };
        trial.extra = Some(Extra::Graph(Box::new(self.ran(&flowgraph, input, residence)), passages));
        Ok(trial)
    }

    fn ran(&self, ran: &Ran, input: TrialInput, residence: Vec<graph::Residence>) -> graph::Graph {
        let of_a_pipe = input.load.as_pps() / f64::from(self.graph.pipes);
        let longest_wait = ran.longest_wait(of_a_pipe);
        graph::Graph {
            framework: ran.framework.clone(),
            scheduler: self.graph.scheduler.clone(),
            pipes: self.graph.pipes,
            stages: self.graph.stages,
            buffer_bytes: ran.buffer_bytes,
            max_copy: self.graph.max_copy,
            threads: ran.threads,
            cpus: self.topology.chosen(&self.graph.cpus),
            cores: self.topology.cores.clone(),
            cpu: Duration::from_nanos(ran.cpu_ns),
            backlog: self.graph.paced.then_some(self.graph.backlog),
            longest_wait: longest_wait.filter(|_| self.graph.paced),
            lost: ran.pipes.iter().map(|pipe| pipe.lost).collect(),
            residence,
        }
    }
}

impl Measurer for Bench {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        let begun = Instant::now();
        let number = self.number;
        let seed = seed::of_trial(self.seed, number);
        let mut recorders = Recorders::begin(&self.settings, &self.opening)?;
        let mut traced = Traced::new(&self.graph, self.settings.meaning.cut);
        let granularity = self.settings.meaning.granularity.unwrap_or(GRANULARITY);
        let cpus = self.topology.chosen(&self.graph.cpus);
        let told = self.graph.recording.then_some(&recorders);
        let (dropline, drain_us) = (&self.opening.program, self.drain.as_micros());
        let mut running = Running::start(dropline, &self.graph, granularity, &cpus, drain_us, told)?;
        let request = GraphRequest {
            intended_load_pps: if self.graph.paced { input.load.as_pps() } else { 0.0 },
            duration_s: input.duration.as_secs_f64(),
            seed,
        };
        let mut request = serde_json::to_string(&request).map_err(Failure::environment)?;
        request.push('\n');
        running.ask(&request)?;
        let course = self.follow(&mut running, &mut recorders, &mut traced, input)?;
        recorders.stop();
        while recorders.drain_with(&mut |event, at_ns| traced.see(event, at_ns)) > 0 {}
        let (due, residence) = traced.finish();
        let ending = match &course {
            Course::Answered(_) => Ending::ByItself,
            Course::Interrupted => Ending::Interrupted,
            Course::Silent => Ending::TimeOver,
        };
        let collected = recorders.finish(ending, || running.end(), self.settings.meaning)?;
        let nothing = collected.passages.pipes.is_empty();
        if nothing && matches!(course, Course::Interrupted) {
            return Err(Failure::interrupted());
        }
        if nothing && matches!(course, Course::Silent) {
            let (name, patience) = (self.graph.framework.word(), self.opening.patience.as_secs_f64());
            return Err(Failure::environment(format!(
                "flowgraph:{name} neither moved a sample nor answered for {patience} s"
            )));
        }
        self.number += 1;
        let elapsed = begun.elapsed();
        let trial = Trial::new(number, input, seed);
        let mut trial = summary::trial(trial, collected, ending, None, elapsed);
        trial.input = input;
        if let Course::Answered(line) = &course {
            trial = self.answered(line, trial, residence)?;
            trial.elapsed = elapsed.max(trial.duration);
        }
        if let Some(due) = due {
            trial.service_delay = std::mem::replace(&mut trial.delay, due);
        }
        Ok(trial)
    }
}
