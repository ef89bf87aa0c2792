//! A stage: copies 1 to so many samples at a time.

use crate::chance::Chance;
use crate::probes::{self, Probes};
use dropline_trace::Granules;
use futuresdr::prelude::*;
use futuresdr::runtime::dev::prelude::*;
use std::marker::PhantomData;

/// Copies a random number of samples a call, so that no two calls are alike and no schedule is fixed.
#[derive(Block)]
pub struct CopyRand<
    P: Probes,
    I: CpuBufferReader<Item = f32> = DefaultCpuReader<f32>,
    O: CpuBufferWriter<Item = f32> = DefaultCpuWriter<f32>,
> {
    #[input]
    input: I,
    #[output]
    output: O,
    most: u64,
    chance: Chance,
    pipe: u32,
    stage: u32,
    granules: Granules,
    probes: PhantomData<P>,
}

impl<P: Probes> CopyRand<P> {
    /// Stage `stage`, from 1, of `pipe`: at most `most` samples a call.
    pub fn new(pipe: u32, stage: u32, most: u64, seed: u64, granularity: u64) -> Self {
        Self {
            input: DefaultCpuReader::default(),
            output: DefaultCpuWriter::default(),
            most: most.max(1),
            chance: Chance::new(seed),
            pipe,
            stage,
            granules: Granules::of(granularity),
            probes: PhantomData,
        }
    }
}

impl<P, I, O> Kernel for CopyRand<P, I, O>
where
    P: Probes,
    I: CpuBufferReader<Item = f32>,
    O: CpuBufferWriter<Item = f32>,
{
    async fn work(&mut self, io: &mut WorkIo, _: &mut MessageOutputs, _: &mut BlockMeta) -> Result<()> {
        let from = self.input.slice();
        let to = self.output.slice();
        let there = from.len();
        let possible = there.min(to.len());
        let mut copied = 0;
        if possible > 0 {
            copied = possible.min(1 + self.chance.below(self.most) as usize);
            to[..copied].copy_from_slice(&from[..copied]);
            if P::ON {
                for granule in self.granules.pass(copied as u64) {
                    probes::stage(self.pipe, self.stage, granule);
                }
            }
            self.input.consume(copied);
            self.output.produce(copied);
        }
        if copied < possible {
            io.call_again = true;
        } else if copied == there && self.input.finished() {
            io.finished = true;
        }
        Ok(())
    }
}
