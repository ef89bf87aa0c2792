//! The seed's graph: pipes of source, head, stages and sink.

use crate::backlog::{Backlog, Steady};
use crate::blocks::{CopyRand, Head, Offer, ProbedSink, ProbedSource};
use crate::flight::{Flight, Sampler};
use crate::probes::{Probes, Traced, Untraced};
use crate::protocol::{Answer, Doubt, Graph, Pipe, Request};
use crate::scheduler::{Choice, Runner, runner};
use crate::settings::Settings;
use dropline_trace::Clock;
use futuresdr::prelude::*;
use futuresdr::runtime::{BlockRef, Error};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::time::Duration;

/// Performs trials on one graph, built anew for each.
pub struct Bench {
    settings: Settings,
    runner: Runner,
}

/// As Cargo.toml pins it.
const FRAMEWORK: &str = "FutureSDR 0.0.40";

/// Time between the decision to start and the first sample's being due: the blocks' threads need some.
const HEADSTART: Duration = Duration::from_millis(5);

impl Bench {
    /// Starts the threads that run blocks.
    pub fn new(settings: Settings) -> Self {
        // The control port would listen on a fixed TCP port: two programs would collide.
        futuresdr::runtime::config::set("ctrlport_enable", false);
        futuresdr::runtime::config::set("buffer_size", settings.buffer_bytes);
        let runner = runner(settings.scheduler);
        Self { settings, runner }
    }

    /// Runs the graph once.
    ///
    /// # Errors
    /// If FutureSDR cannot build or run it.
    pub fn perform(&self, request: &Request) -> Result<Answer> {
        match (self.settings.probes, self.settings.residence) {
            (false, _) => self.trial::<Untraced, Untraced>(request),
            (true, false) => self.trial::<Traced, Untraced>(request),
            (true, true) => self.trial::<Traced, Traced>(request),
        }
    }

    fn trial<Ends: Probes, Stages: Probes>(&self, request: &Request) -> Result<Answer> {
        let entered_ns = now_ns();
        let pipes = u64::from(self.settings.pipes);
        let rate = Steady((request.intended_load_pps * 1000.0 / pipes as f64).round() as u64);
        let duration_ns = (request.duration_s * 1e9) as u64;
        let flights: Vec<Arc<Flight>> = (0..pipes).map(|_| Arc::default()).collect();
        let begins_ns = entered_ns + HEADSTART.as_nanos() as u64;
        let offers: Vec<Offer> =
            (0..pipes).map(|pipe| self.offer(request, pipe, rate, begins_ns, duration_ns)).collect();
        let intended: Vec<u64> = offers.iter().map(|offer| self.intended(offer)).collect();
        let graph = self.build::<Ends, Stages>(offers, request.seed, &flights)?;
        let sampler = self.settings.in_flight_every.map(|period| Sampler::start(flights.clone(), period));
        let sampler = sampler
            .transpose()
            .map_err(|why| Error::RuntimeError(format!("a thread could not be started ({why})")))?;
        let (started_ns, cpu_before) = (now_ns(), cpu_ns());
        (self.runner)(graph)?;
        let (ended_ns, cpu_after) = (now_ns(), cpu_ns());
        drop(sampler);
        let paced = rate.0 > 0;
        let ran_ns = if paced { duration_ns } else { ended_ns - started_ns };
        let pipes = pipes_of(&flights, &intended);
        let sum = |of: fn(&Pipe) -> u64| pipes.iter().map(of).sum::<u64>();
        Ok(Answer {
            intended: sum(|pipe| pipe.offered),
            offered: sum(|pipe| pipe.offered),
            forwarded: sum(|pipe| pipe.forwarded),
            duration_s: ran_ns.max(1) as f64 / 1e9,
            elapsed_s: (ended_ns - entered_ns).max(ran_ns).max(1) as f64 / 1e9,
            caveats: if paced { self.doubts(&flights, rate) } else { Vec::new() },
            flowgraph: Graph {
                framework: FRAMEWORK,
                cpu_ns: cpu_after - cpu_before,
                threads: self.threads(),
                buffer_bytes: self.settings.buffer_bytes.next_multiple_of(rustix::param::page_size() as u64),
                granularity: self.settings.granularity,
                pipes,
            },
        })
    }

    fn offer(&self, request: &Request, pipe: u64, rate: Steady, begins_ns: u64, duration_ns: u64) -> Offer {
        if rate.0 == 0 {
            let counted = self.settings.samples.is_some();
            return Offer::All { until_ns: (!counted).then_some(begins_ns + duration_ns) };
        }
        // What the load asks for in all, dealt out so that no sample is missing.
        let all = (request.intended_load_pps * request.duration_s).floor() as u64;
        let pipes = u64::from(self.settings.pipes);
        let total = all / pipes + u64::from(pipe < all % pipes);
        let room = u128::from(rate.0) * self.settings.backlog.as_nanos() / 1_000_000_000_000;
        Offer::Due {
            backlog: Backlog::new(rate, total, u64::try_from(room).unwrap_or(u64::MAX)),
            begins_ns,
            gives_up_ns: begins_ns + duration_ns + self.settings.drain.as_nanos() as u64,
        }
    }

    /// Samples that a pipe is meant to have; 0 where nobody knows before.
    fn intended(&self, offer: &Offer) -> u64 {
        match offer {
            Offer::All { .. } => self.settings.samples.unwrap_or(0),
            Offer::Due { backlog, .. } => backlog.total(),
        }
    }

    fn build<Ends: Probes, Stages: Probes>(
        &self,
        offers: Vec<Offer>,
        seed: u64,
        flights: &[Arc<Flight>],
    ) -> Result<Flowgraph> {
        let settings = &self.settings;
        let mut graph = Flowgraph::new();
        // Pipe after pipe: the flow scheduler deals blocks out in this order.
        for ((pipe, offer), flight) in (0..).zip(offers).zip(flights) {
            let counted = matches!(offer, Offer::All { .. });
            let source =
                graph.add(ProbedSource::<Ends>::new(pipe, offer, settings.granularity, Arc::clone(flight)));
            let head = graph.add(Head::new(settings.samples.filter(|_| counted)));
            let sink = ProbedSink::<Ends>::new(pipe, settings.granularity, Arc::clone(flight));
            graph.stream(&source, |block| block.output(), &head, |block| block.input())?;
            // Their connections differ in the type of what they begin at: the head, or a copy.
            let mut last: Option<BlockRef<CopyRand<Stages>>> = None;
            for stage in 1..=settings.stages {
                let seed = seed.wrapping_add(u64::from(pipe) << 32 | u64::from(stage));
                let copy =
                    CopyRand::<Stages>::new(pipe, stage, settings.max_copy, seed, settings.granularity);
                let copy = graph.add(copy);
                match &last {
                    None => graph.stream(&head, |block| block.output(), &copy, |block| block.input())?,
                    Some(last) => graph.stream(last, |block| block.output(), &copy, |block| block.input())?,
                }
                last = Some(copy);
            }
            let sink = graph.add(sink);
            match &last {
                None => graph.stream(&head, |block| block.output(), &sink, |block| block.input())?,
                Some(last) => graph.stream(last, |block| block.output(), &sink, |block| block.input())?,
            }
        }
        Ok(graph)
    }

    /// A graph that falls behind so slowly that its backlog does not overflow loses nothing in a short trial.
    fn doubts(&self, flights: &[Arc<Flight>], rate: Steady) -> Vec<Doubt> {
        let ms = |samples: u64| samples as f64 * 1e6 / rate.0 as f64;
        let at_end = flights.iter().map(|flight| flight.counted().2).max().unwrap_or(0);
        let lost = flights.iter().any(|flight| flight.counted().0 > 0);
        let allowed_ms = self.settings.backlog.as_secs_f64() * 1e3;
        if lost || ms(at_end) < 0.2 * allowed_ms {
            return Vec::new();
        }
        vec![Doubt {
            code: "falls_behind",
            text: format!(
                "nothing was lost, but {:.1} ms of samples waited when the last came due: the graph falls behind, and \
                 a longer trial or a shorter backlog would show it as loss",
                ms(at_end)
            ),
        }]
    }

    fn threads(&self) -> u32 {
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
        match self.settings.scheduler {
            Choice::Flow | Choice::Smol(None) => cpus,
            Choice::Smol(Some(threads)) => threads as u32,
            Choice::ThreadPerBlock => self.settings.pipes * (self.settings.stages + 3),
        }
    }
}

/// What became of each pipe's samples; `intended` is 0 where nobody knew before.
fn pipes_of(flights: &[Arc<Flight>], intended: &[u64]) -> Vec<Pipe> {
    let of = |(flight, &intended): (&Arc<Flight>, &u64)| {
        let (lost, longest_backlog, _) = flight.counted();
        let forwarded = flight.arrived();
        let offered = if intended > 0 { intended } else { forwarded };
        Pipe { offered, forwarded, lost, longest_backlog }
    };
    flights.iter().zip(intended).map(of).collect()
}

fn now_ns() -> u64 {
    Clock::Monotonic.ticks()
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
