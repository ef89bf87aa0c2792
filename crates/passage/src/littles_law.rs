//! Little's law: what is in a pipe is what enters it a second, times how long it stays.

use dropline_trial::passages::Pipe;

/// Samples in flight as delays and throughput say: granules a second × mean delay × samples of a granule.
///
/// `None` with fewer than two passages, or where none has a length.
pub fn in_flight(pipe: &Pipe, granularity: u64) -> Option<f64> {
    let (first, last) = pipe.span_ns?;
    let granules = pipe.delay.histogram.as_ref()?.count().checked_sub(1)?;
    let span = last.checked_sub(first).filter(|&span| span > 0)?;
    Some(granules as f64 / span as f64 * pipe.mean_ns? * granularity as f64)
}

/// Both sides of Little's law for one pipe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LittleCheck {
    /// The pipe.
    pub pipe: u32,
    /// From delays and throughput.
    pub by_delay: f64,
    /// As a sampler saw it, over the same time.
    pub sampled: f64,
}

impl LittleCheck {
    /// `None` where one of the sides is not known.
    pub fn of(pipe: &Pipe, granularity: u64) -> Option<Self> {
        let by_delay = in_flight(pipe, granularity)?;
        Some(Self { pipe: pipe.number, by_delay, sampled: pipe.sampled_in_flight? })
    }

    /// Near 1 where the delays are those of what is in the pipe.
    pub fn ratio(&self) -> Option<f64> {
        (self.sampled > 0.0).then(|| self.by_delay / self.sampled)
    }
}

/// What a sampler saw, thinned to a bounded number.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    kept: Vec<(u64, u64)>,
    /// One of so many is kept.
    every: u64,
    seen: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self { kept: Vec::new(), every: 1, seen: 0 }
    }
}

/// Samples that are kept of a pipe, at most.
const MOST: usize = 8192;

impl Samples {
    pub(crate) fn see(&mut self, at_ns: u64, samples: u64) {
        if self.seen.is_multiple_of(self.every) {
            if self.kept.len() == MOST {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.every *= 2;
            }
            self.kept.push((at_ns, samples));
        }
        self.seen += 1;
    }

    /// Their mean between two moments; `None` without one.
    pub(crate) fn mean(&self, span: (u64, u64)) -> Option<f64> {
        let within = self.kept.iter().filter(|(at_ns, _)| (span.0..=span.1).contains(at_ns));
        let (count, sum) =
            within.fold((0u64, 0.0), |(count, sum), (_, samples)| (count + 1, sum + *samples as f64));
        (count > 0).then(|| sum / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Correlator, CorrelatorSettings};

    #[test]
    fn a_pipe_that_always_holds_the_same_obeys_the_law() {
        let mut correlator = Correlator::new(CorrelatorSettings::default());
        // A granule of 100 samples each us, 5 us on its way: 500 samples in flight.
        for n in 1..=1000 {
            correlator.tx(3, n, 1000 * n);
            correlator.rx(3, n, 1000 * n + 5000);
            correlator.in_flight(3, 500, 1000 * n);
        }
        // Before the first arrival and behind the last one, what is in flight is another story.
        correlator.in_flight(3, 9_999_999, 10);
        correlator.in_flight(3, 9_999_999, 10_000_000);
        let found = correlator.finish(None);
        let law = LittleCheck::of(&found.pipes[0], 100).unwrap();
        assert_eq!((law.pipe, law.by_delay, law.sampled, law.ratio()), (3, 500.0, 500.0, Some(1.0)));
    }

    #[test]
    fn a_sampler_that_never_ends_is_thinned_evenly() {
        let mut samples = Samples::default();
        (0..1_000_000).for_each(|at| samples.see(at, at));
        assert!(samples.kept.len() <= MOST);
        let mean = samples.mean((0, 1_000_000)).unwrap();
        assert!((mean / 500_000.0 - 1.0).abs() < 0.001, "{mean}");
        assert_eq!(samples.mean((2_000_000, 3_000_000)), None);
    }
}
