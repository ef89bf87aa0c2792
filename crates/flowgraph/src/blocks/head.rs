//! What ends a pipe after so many samples.

use futuresdr::prelude::*;
use futuresdr::runtime::dev::prelude::*;

/// Copies so many samples and ends, or ends when its source does. FutureSDR's own waits for the rest for ever.
#[derive(Block)]
pub struct Head<
    I: CpuBufferReader<Item = f32> = DefaultCpuReader<f32>,
    O: CpuBufferWriter<Item = f32> = DefaultCpuWriter<f32>,
> {
    #[input]
    input: I,
    #[output]
    output: O,
    left: u64,
}

impl Head {
    /// Lets `samples` through; `None`: all.
    pub fn new(samples: Option<u64>) -> Self {
        let (input, output) = (DefaultCpuReader::default(), DefaultCpuWriter::default());
        Self { input, output, left: samples.unwrap_or(u64::MAX) }
    }
}

impl<I: CpuBufferReader<Item = f32>, O: CpuBufferWriter<Item = f32>> Kernel for Head<I, O> {
    async fn work(&mut self, io: &mut WorkIo, _: &mut MessageOutputs, _: &mut BlockMeta) -> Result<()> {
        let from = self.input.slice();
        let to = self.output.slice();
        let there = from.len();
        let copied = there.min(to.len()).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if copied > 0 {
            to[..copied].copy_from_slice(&from[..copied]);
            self.input.consume(copied);
            self.output.produce(copied);
            self.left -= copied as u64;
        }
        if self.left == 0 || (copied == there && self.input.finished()) {
            io.finished = true;
        }
        Ok(())
    }
}
