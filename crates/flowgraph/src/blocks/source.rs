//! The beginning of a pipe.

use crate::backlog::Backlog;
use crate::flight::Flight;
use crate::probes::{self, Probes};
use dropline_trace::{Clock, Granules};
use futuresdr::prelude::*;
use futuresdr::runtime::Timer;
use futuresdr::runtime::dev::prelude::*;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// What a source has to hand on.
#[derive(Clone, Debug)]
pub enum Offer {
    /// As much as the graph takes, until this moment of CLOCK_MONOTONIC, if any; a head behind the source
    /// counts samples.
    All {
        /// Nothing is handed on from then on.
        until_ns: Option<u64>,
    },
    /// What is due, at a steady rate.
    Due {
        /// What is due and waits.
        backlog: Backlog,
        /// When the first sample is due, by CLOCK_MONOTONIC.
        begins_ns: u64,
        /// When what waits is given up.
        gives_up_ns: u64,
    },
}

/// A source that has handed on all that was due rests so long: less would hand on crumbs and cost the graph its
/// CPU, more would show in every delay.
const REST_NS: u64 = 200_000;

/// Hands on zeros and says when a granule leaves.
#[derive(Block)]
pub struct ProbedSource<P: Probes, O: CpuBufferWriter<Item = f32> = DefaultCpuWriter<f32>> {
    #[output]
    output: O,
    pipe: u32,
    offer: Offer,
    granularity: u64,
    granules: Granules,
    handed_on: u64,
    rests_until_ns: u64,
    flight: Arc<Flight>,
    probes: PhantomData<P>,
}

impl<P: Probes> ProbedSource<P> {
    /// The source of `pipe`.
    pub fn new(pipe: u32, offer: Offer, granularity: u64, flight: Arc<Flight>) -> Self {
        Self {
            output: DefaultCpuWriter::default(),
            pipe,
            offer,
            granularity,
            granules: Granules::of(granularity),
            handed_on: 0,
            rests_until_ns: 0,
            flight,
            probes: PhantomData,
        }
    }
}

impl<P: Probes, O: CpuBufferWriter<Item = f32>> ProbedSource<P, O> {
    /// Hands on as many zeros as there is room for. The tracepoint comes first: no sink can be earlier, and
    /// filling is part of the way.
    fn hand_on_all(&mut self) {
        let samples = self.output.slice().len();
        if P::ON {
            self.granules.tx(self.pipe, samples as u64);
        }
        self.hand_on(samples);
    }

    /// Hands on what is due, as far as there is room.
    fn hand_on_due(&mut self, io: &mut WorkIo) {
        let room = self.output.slice().len() as u64;
        let Offer::Due { backlog, begins_ns, gives_up_ns } = &mut self.offer else { return };
        let now_ns = Clock::Monotonic.ticks();
        // Who takes samples wakes the source too.
        if now_ns < self.rests_until_ns {
            return io.block_on(Timer::after(Duration::from_nanos(self.rests_until_ns - now_ns)));
        }
        let at_ns = now_ns.saturating_sub(*begins_ns);
        if now_ns >= *begins_ns {
            let last_came = backlog.next_due_ns().is_none();
            backlog.advance(at_ns);
            if !last_came && backlog.next_due_ns().is_none() {
                self.flight.waited_at_end(backlog.len());
            }
        }
        if now_ns >= *gives_up_ns {
            backlog.abandon();
        }
        let (steady, mut taken) = (backlog.steady(), self.handed_on);
        let samples = backlog.take(room, |numbers| {
            if P::ON {
                for granule in self.granules.pass(numbers.end - numbers.start) {
                    let number = numbers.start + (granule * self.granularity - 1 - taken);
                    probes::due(self.pipe, granule, *begins_ns + steady.due_ns(number));
                    dropline_trace::tx(self.pipe, granule);
                }
            }
            taken += numbers.end - numbers.start;
        });
        self.flight.backlog(backlog.lost(), backlog.longest());
        io.finished = backlog.is_over();
        if backlog.len() == 0 && !io.finished {
            self.rests_until_ns = now_ns + REST_NS;
            io.block_on(Timer::after(Duration::from_nanos(REST_NS)));
        }
        self.hand_on(samples as usize);
    }

    fn hand_on(&mut self, samples: usize) {
        self.output.slice()[..samples].fill(0.0);
        self.output.produce(samples);
        self.handed_on += samples as u64;
        self.flight.produced(self.handed_on);
    }
}

impl<P: Probes, O: CpuBufferWriter<Item = f32>> Kernel for ProbedSource<P, O> {
    async fn work(&mut self, io: &mut WorkIo, _: &mut MessageOutputs, _: &mut BlockMeta) -> Result<()> {
        match &self.offer {
            Offer::All { until_ns } => {
                if until_ns.is_some_and(|until| Clock::Monotonic.ticks() >= until) {
                    io.finished = true;
                    return Ok(());
                }
                self.hand_on_all();
            }
            Offer::Due { .. } => self.hand_on_due(io),
        }
        Ok(())
    }
}
