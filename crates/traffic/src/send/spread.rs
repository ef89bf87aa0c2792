//! Which packet goes to which stream.

use dropline_trial::Part;

/// Weighted turns computed from the packet's index alone: in every run of as many packets as the shares
/// add up to, each stream gets its share exactly, spread out evenly.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    /// Where the share of each stream ends, on a line as long as all shares.
    ends: Vec<u64>,
    /// How far along that line each packet steps; has no factor in common with its length.
    step: u64,
    /// So many steps are one place further.
    inverse: u64,
}

impl Spread {
    /// `None` if there is no stream, or one without a share.
    pub(crate) fn new(streams: &[Part]) -> Option<Self> {
        if streams.is_empty() || streams.iter().any(|stream| stream.share == 0) {
            return None;
        }
        let common =
            streams.iter().fold(0, |common, stream| dropline_trial::divisor(common, stream.share.into()));
        let mut length = 0;
        let ends: Vec<u64> = streams
            .iter()
            .map(|stream| {
                length += u64::from(stream.share) / common;
                length
            })
            .collect();
        // The golden section leaves the gaps between visits as even as can be.
        let golden = (length as f64 * 0.618_033_988_749_895) as u64;
        let step = (golden.max(1)..).find(|&step| dropline_trial::divisor(step, length) == 1)? % length;
        let inverse = (0..length).find(|&inverse| inverse * step % length == 1).unwrap_or(0);
        Some(Self { ends, step, inverse })
    }

    /// How many streams there are.
    pub(crate) fn streams(&self) -> usize {
        self.ends.len()
    }

    /// The stream of a packet.
    pub(crate) fn stream_of(&self, index: u64) -> usize {
        let length = u128::from(self.ends.last().copied().unwrap_or(1));
        self.stream_at((u128::from(index) * u128::from(self.step) % length) as u64)
    }

    /// Whether all have the same share: then each stream has one packet of each round of as many as there are streams.
    pub(crate) fn is_even(&self) -> bool {
        self.ends.len() as u64 == self.ends.last().copied().unwrap_or(0)
    }

    /// Which packet of a round is a stream's, where all have the same share.
    pub(crate) fn place_in_round(&self, stream: usize) -> u64 {
        stream as u64 * self.inverse % self.ends.len() as u64
    }

    /// The stream whose share a place on the line is in.
    fn stream_at(&self, place: u64) -> usize {
        match self.ends.len() {
            1 => 0,
            _ => self.ends.partition_point(|&end| end <= place),
        }
    }

    /// The streams of all packets in order, from packet 0 on; without a division.
    pub(crate) fn turns(&self) -> StreamTurns<'_> {
        StreamTurns { spread: self, place: 0 }
    }
}

/// Whose turn it is.
#[derive(Clone, Debug)]
pub(crate) struct StreamTurns<'a> {
    spread: &'a Spread,
    place: u64,
}

impl StreamTurns<'_> {
    /// The stream of the next packet, again and again until [`take`](Self::take).
    pub(crate) fn stream(&self) -> usize {
        self.spread.stream_at(self.place)
    }

    /// The next packet has its stream.
    pub(crate) fn take(&mut self) {
        let length = self.spread.ends.last().copied().unwrap_or(1);
        self.place += self.spread.step;
        while self.place >= length {
            self.place -= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spread(shares: &[u32]) -> Option<Spread> {
        let parts: Vec<Part> = shares.iter().map(|&share| Part { name: String::new(), share }).collect();
        Spread::new(&parts)
    }

    fn first(spread: &Spread, packets: usize) -> Vec<usize> {
        let mut turns = spread.turns();
        let next = |_| {
            let stream = turns.stream();
            turns.take();
            stream
        };
        (0..packets).map(next).collect()
    }

    #[test]
    fn streams_without_a_share_are_refused() {
        assert!(spread(&[]).is_none());
        assert!(spread(&[1, 0]).is_none());
    }

    #[test]
    fn one_to_three_takes_turns() {
        let spread = spread(&[100, 300]).unwrap();
        assert_eq!(first(&spread, 8), [0, 1, 1, 1, 0, 1, 1, 1]);
    }

    proptest! {
        #[test]
        fn of_even_streams_each_has_its_place_in_every_round(streams in 1usize..200, round in 0u64..5) {
            let spread = spread(&vec![7; streams]).unwrap();
            prop_assert!(spread.is_even());
            for stream in 0..streams {
                let index = round * streams as u64 + spread.place_in_round(stream);
                prop_assert_eq!(spread.stream_of(index), stream);
            }
        }

        #[test]
        fn a_packets_stream_is_the_one_that_had_the_turn(shares in prop::collection::vec(1u32..20, 1..8)) {
            let spread = spread(&shares).unwrap();
            let turns = first(&spread, 500);
            prop_assert!((0..).zip(turns).all(|(index, stream)| spread.stream_of(index) == stream));
        }

        #[test]
        fn every_round_gives_each_stream_its_share(
            shares in prop::collection::vec(1u32..20, 1..8), round in 0usize..5,
        ) {
            let spread = spread(&shares).unwrap();
            let length: usize = shares.iter().map(|&share| share as usize).sum();
            let mut counts = vec![0; shares.len()];
            first(&spread, (round + 1) * length)[round * length..].iter().for_each(|&stream| counts[stream] += 1);
            prop_assert_eq!(counts, shares);
        }
    }
}
