//! Which departures the kernel stamps, and what its stamps say.

use dropline_stats::{Histogram, Spacing};
use dropline_trial::SampledLateness;

/// Picks pairs of neighbours by their index, at random and the same in every run: so each pair is one gap, and
/// no period of the arrivals is met more often than another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    /// One pair in this many; a power of two. `None` picks none.
    every: Option<u64>,
}

/// A stamp of a departure costs about as much as half a send, so the sample is this small: at most one packet
/// in 32, and about a thousand pairs a second.
const LEAST: u64 = 32;
const PAIRS_A_SECOND: f64 = 1_000.0;

impl Sampling {
    /// No packet.
    pub(crate) fn none() -> Self {
        Self { every: None }
    }

    /// Fit for a load.
    pub(crate) fn of(pps: f64) -> Self {
        let wanted = (pps / 2.0 / PAIRS_A_SECOND).ceil().clamp(1.0, 1e9) as u64;
        Self { every: Some(wanted.next_power_of_two().max(LEAST)) }
    }

    /// The number by which the kernel shall call packet `index`, if it is picked.
    pub(crate) fn asks(self, index: u64) -> Option<u32> {
        let every = self.every?;
        // The low bits of a multiplicative hash know only low bits of the pair; the high ones know all.
        let mixed = (index >> 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (mixed & (every - 1) == 0).then_some(index as u32)
    }
}

/// The packets that the kernel stamped when they left.
#[derive(Debug)]
pub(crate) struct Sample {
    /// Index, due, handed over, left.
    packets: Vec<Stamped>,
}

/// A packet with the kernel's stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamped {
    pub(crate) index: u64,
    pub(crate) due_ns: u64,
    pub(crate) left_ns: u64,
}

/// More are not kept.
const MOST: usize = 1 << 16;

impl Sample {
    /// With room for all that are kept.
    pub(crate) fn new() -> Self {
        Self { packets: Vec::with_capacity(MOST) }
    }

    pub(crate) fn push(&mut self, packet: Stamped) {
        if self.packets.len() < MOST {
            self.packets.push(packet);
        }
    }

    /// Adds another receiver's.
    pub(crate) fn merge(&mut self, other: &Self) {
        other.packets.iter().for_each(|&packet| self.push(packet));
    }

    /// How late the packets left, and the gaps between neighbours, one after the other, as if there were no
    /// others.
    pub(crate) fn read(&self) -> (SampledLateness, Spacing) {
        let mut lateness = Histogram::new();
        self.packets.iter().for_each(|packet| lateness.record(packet.left_ns.saturating_sub(packet.due_ns)));
        let mut packets = self.packets.clone();
        packets.sort_unstable_by_key(|packet| packet.index);
        let mut spacing = Spacing::new();
        for pair in packets.windows(2).filter(|pair| pair[0].index ^ 1 == pair[1].index) {
            spacing.gap(pair[1].left_ns.saturating_sub(pair[0].left_ns));
        }
        let (p50_ns, p99_ns) = (lateness.quantile(0.5), lateness.quantile(0.99));
        (SampledLateness { packets: lateness.count(), p50_ns, p99_ns }, spacing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_of_a_pair_are_picked_or_none() {
        let sampling = Sampling::of(10_000.0);
        let picked: Vec<u64> = (0..64_000).filter(|&index| sampling.asks(index).is_some()).collect();
        assert!(picked.chunks(2).all(|pair| pair[0] % 2 == 0 && pair[1] == pair[0] + 1));
        assert!((1_900..2_100).contains(&picked.len()), "one in 32: {}", picked.len());
        assert!((0..1_000).all(|index| Sampling::none().asks(index).is_none()));
    }

    #[test]
    fn no_period_of_the_arrivals_is_favoured() {
        let sampling = Sampling::of(10_000.0);
        for period in [64, 100, 128] {
            let met: std::collections::BTreeSet<u64> = (0..200_000)
                .filter(|&index| sampling.asks(index).is_some())
                .map(|index| index % period)
                .collect();
            assert_eq!(met.len() as u64, period);
        }
    }

    #[test]
    fn gaps_are_between_the_two_of_a_pair() {
        let mut sample = Sample::new();
        for (index, left_ns) in [(9, 1_250), (4, 100), (8, 1_000), (6, 300), (5, 130)] {
            sample.push(Stamped { index, due_ns: left_ns - 10, left_ns });
        }
        let (lateness, spacing) = sample.read();
        assert_eq!((lateness.packets, lateness.p50_ns), (5, Some(10)));
        let cells: Vec<_> = spacing.cells().map(|(low, _, count)| (low, count)).collect();
        assert_eq!(cells, [(30, 1), (250, 1)], "packet 6 has no neighbour");
    }
}
