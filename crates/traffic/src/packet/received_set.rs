//! Which packets came back.

use std::ops::Range;

/// A set of packet indices: a bit each, grown by 65 536 packets at a time.
#[derive(Debug, Default)]
pub(crate) struct ReceivedSet {
    chunks: Vec<Box<[u64; CHUNK_WORDS]>>,
}

const CHUNK_WORDS: usize = 1024;
const CHUNK_BITS: u64 = 64 * CHUNK_WORDS as u64;

/// Room is made beforehand for at most this many packets: 64 MiB.
const MOST_EXPECTED: u64 = 1 << 29;

impl ReceivedSet {
    /// An empty set with room for indices below `expected`; it grows beyond where it must.
    pub(crate) fn with_room(expected: u64) -> Self {
        let chunks = expected.min(MOST_EXPECTED).div_ceil(CHUNK_BITS) as usize;
        // Written, so that no page is touched for the first time while packets move.
        Self { chunks: (0..chunks).map(|_| Box::new([0; CHUNK_WORDS])).collect() }
    }

    /// Adds all of another set.
    pub(crate) fn merge(&mut self, other: Self) {
        for (at, chunk) in other.chunks.into_iter().enumerate() {
            match self.chunks.get_mut(at) {
                Some(own) => own.iter_mut().zip(chunk.iter()).for_each(|(own, other)| *own |= other),
                None => self.chunks.push(chunk),
            }
        }
    }

    /// Whether `index` is new.
    pub(crate) fn insert(&mut self, index: u64) -> bool {
        let chunk = (index / CHUNK_BITS) as usize;
        while self.chunks.len() <= chunk {
            self.chunks.push(Box::new([0; CHUNK_WORDS]));
        }
        let word = &mut self.chunks[chunk][(index % CHUNK_BITS / 64) as usize];
        let bit = 1 << (index % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// How many indices are in this set and not in the other.
    pub(crate) fn count_without(&self, other: &Self) -> u64 {
        let word = |at: usize, word: usize| other.chunks.get(at).map_or(0, |chunk| chunk[word]);
        let chunks = self.chunks.iter().enumerate();
        let words = chunks
            .flat_map(|(at, chunk)| chunk.iter().enumerate().map(move |(nth, own)| own & !word(at, nth)));
        words.map(|left| u64::from(left.count_ones())).sum()
    }

    /// How many of these are in the set.
    pub(crate) fn count(&self, indices: Range<u64>) -> u64 {
        let Range { start, end } = indices;
        let mut count = 0;
        let mut at = start;
        while at < end {
            let upto = end.min((at / 64 + 1) * 64);
            let word = self
                .chunks
                .get((at / CHUNK_BITS) as usize)
                .map_or(0, |chunk| chunk[(at % CHUNK_BITS / 64) as usize]);
            let width = upto - at;
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            count += u64::from((word >> (at % 64) & mask).count_ones());
            at = upto;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set_of_indices(
            indices in prop::collection::vec(prop_oneof![0u64..200, 65_400u64..65_700], 0..300),
            start in 0u64..70_000, length in 0u64..70_000,
        ) {
            let (mut seen, mut twin) = (ReceivedSet::default(), BTreeSet::new());
            for index in indices {
                prop_assert_eq!(seen.insert(index), twin.insert(index));
            }
            let mut others = ReceivedSet::default();
            let first: BTreeSet<u64> = twin.iter().copied().take(twin.len() / 2).collect();
            first.iter().for_each(|index| { others.insert(*index); });
            prop_assert_eq!(seen.count_without(&others), (twin.len() - first.len()) as u64);
            prop_assert_eq!(others.count_without(&seen), 0);
            let mut merged = ReceivedSet::with_room(start);
            merged.merge(seen);
            let seen = merged;
            for range in [start..start + length, 0..64, 0..100_000] {
                prop_assert_eq!(seen.count(range.clone()), twin.range(range).count() as u64);
            }
        }
    }
}
