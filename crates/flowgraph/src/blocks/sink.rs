//! The end of a pipe.

use crate::flight::Flight;
use crate::probes::Probes;
use dropline_trace::Granules;
use futuresdr::prelude::*;
use futuresdr::runtime::dev::prelude::*;
use std::marker::PhantomData;
use std::sync::Arc;

/// Takes what comes and says when a granule is complete.
#[derive(Block)]
pub struct ProbedSink<P: Probes, I: CpuBufferReader<Item = f32> = DefaultCpuReader<f32>> {
    #[input]
    input: I,
    pipe: u32,
    granules: Granules,
    had: u64,
    flight: Arc<Flight>,
    probes: PhantomData<P>,
}

impl<P: Probes> ProbedSink<P> {
    /// The sink of `pipe`.
    pub fn new(pipe: u32, granularity: u64, flight: Arc<Flight>) -> Self {
        Self {
            input: DefaultCpuReader::default(),
            pipe,
            granules: Granules::of(granularity),
            had: 0,
            flight,
            probes: PhantomData,
        }
    }
}

impl<P: Probes, I: CpuBufferReader<Item = f32>> Kernel for ProbedSink<P, I> {
    async fn work(&mut self, io: &mut WorkIo, _: &mut MessageOutputs, _: &mut BlockMeta) -> Result<()> {
        let samples = self.input.slice().len();
        if samples > 0 {
            if P::ON {
                // One event for each boundary: a call that crosses several completes several granules.
                self.granules.rx(self.pipe, samples as u64);
            }
            self.input.consume(samples);
            self.had += samples as u64;
            self.flight.consumed(self.had);
        }
        if self.input.finished() {
            io.finished = true;
        }
        Ok(())
    }
}
