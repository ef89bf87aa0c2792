//! Chance, derived: no two trials share it, and a resumed search gets the same again.

use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

/// The seed of trial `number` (from 1) of a search with `seed`: two rounds of SplitMix64's finaliser.
pub fn of_trial(seed: u64, number: u64) -> u64 {
    mix(mix(seed).wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// The generator of a seed. ChaCha8: its values are fixed across versions and platforms.
pub fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Numbers in [0, 1), each equally likely, without end.
pub fn uniforms(seed: u64) -> impl Iterator<Item = f64> {
    let mut chance = generator(seed);
    std::iter::repeat_with(move || chance.random())
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_trials_share_their_chance() {
        let seeds: BTreeSet<u64> =
            (0..100).flat_map(|seed| (1..100).map(move |number| of_trial(seed, number))).collect();
        assert_eq!(seeds.len(), 100 * 99);
    }
}
