//! Chance that a seed repeats.

/// A generator of the xorshift family: each copy block has its own, so that a graph does the same again.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// From any seed; neighbouring seeds give unlike sequences.
    pub fn new(seed: u64) -> Self {
        // The finalizer of SplitMix64 spreads the seed over all bits; zero would be a fixed point of what follows.
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((mixed ^ (mixed >> 31)).max(1))
    }

    /// A number below `end`, which is above 0.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_every_number_below_the_end_comes() {
        let (mut one, mut two) = (Chance::new(3), Chance::new(3));
        let mut seen = [0u32; 512];
        for _ in 0..100_000 {
            let number = one.below(512);
            assert_eq!(number, two.below(512));
            seen[number as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (100..300).contains(&count)), "{seen:?}");
        assert_ne!(Chance::new(3).below(1 << 40), Chance::new(4).below(1 << 40));
    }
}
