//! `flowgraph:` targets: real-time pipelines, and how late a sample comes out.

use crate::flowgraph::bench::Bench;
use crate::flowgraph::{Names, Settings, Source, TracedProgram, recorded, summary};
use crate::{Kind, Opened, Opening, Scheme};
use dropline_failure::Failure;
use dropline_trial::number_of;
use dropline_trial::{Arrival, Measurer, TrafficProfile, Trial, TrialInput};
use std::path::PathBuf;
use std::time::Instant;

/// Its row in the table of targets.
pub(crate) const SCHEME: Scheme = Scheme {
    prefix: "flowgraph:",
    forms: &[
        (
            "flowgraph:futuresdr?stages=6",
            "a graph of an SDR framework, also flowgraph:gnuradio (also pipes, scheduler, buffer, max-copy, samples, \
             backlog, cpus, probes, recording, residence, in-flight, and the settings of flowgraph:exec)",
        ),
        ("flowgraph:exec:COMMAND", "a program with tracepoints: how long samples take through it"),
        (
            "flowgraph:exec?granularity=32768:COMMAND",
            "the same with settings (ratio, warm-up, rings, events, keep, recorder=ring|lttng|both)",
        ),
        ("flowgraph:ctf:DIRECTORY", "a trace of such a program, recorded before"),
        (
            "flowgraph:ctf?granularity=32768:DIRECTORY",
            "the same with settings (ratio, warm-up, provider, pipe, n)",
        ),
    ],
    parse: |rest| Settings::parse(rest).map(Kind::Flowgraph),
};

pub(crate) fn open(
    settings: &Settings,
    profile: &TrafficProfile,
    opening: Opening,
) -> Result<Opened, Failure> {
    let mut generator = None;
    let (measurer, note): (Box<dyn Measurer<Error = Failure>>, String) = match &settings.source {
        Source::Graph(graph) => {
            if profile.arrival != Arrival::constant() {
                return Err(Failure::usage("--arrival: samples of a graph are due at constant intervals"));
            }
            generator = graph
                .paced
                .then(|| "sources within the graph, that hand on samples as they come due".to_owned());
            let drain = profile.drain.longest;
            let bench = Bench::new(graph.clone(), settings.clone(), opening, drain, profile.seed)?;
            let note = bench.note();
            (Box::new(bench), note)
        }
        Source::Program(command) => (
            Box::new(TracedProgram::new(command.clone(), settings.clone(), opening, profile.seed)),
            "a program with tracepoints, at its own pace".into(),
        ),
        Source::Trace(path, names) => {
            let (path, names, meaning) = (path.clone(), names.clone(), settings.meaning);
            let reading = Reading { path, names, meaning, number: opening.first_trial, seed: profile.seed };
            (Box::new(reading), "a trace that was recorded before".into())
        }
    };
    Ok(Opened { measurer, note: Some(note), generator, reply_buffer_bytes: None })
}

/// Reads a trace: what it holds was measured when it was recorded.
struct Reading {
    path: PathBuf,
    names: Names,
    meaning: dropline_passage::CorrelatorSettings,
    number: u64,
    seed: u64,
}

impl Measurer for Reading {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        let begun = Instant::now();
        let found = recorded::read(&self.path, &self.names, self.meaning, "trace")?;
        if found.collected.passages.pipes.is_empty() {
            let Names { provider, pipe, n } = &self.names;
            return Err(Failure::environment(format!(
                "{}: {}, none of them {provider}:tx or {provider}:rx with fields {pipe} and {n}",
                self.path.display(),
                number_of(found.counts.others, "event")
            ))
            .advice("say how the trace calls them: flowgraph:ctf?provider=NAME&pipe=FIELD&n=FIELD:DIR"));
        }
        let trial = Trial::new(self.number, input, dropline_trial::seed::of_trial(self.seed, self.number));
        self.number += 1;
        Ok(summary::trial(trial, found.collected, summary::Ending::ByItself, None, begun.elapsed()))
    }
}
