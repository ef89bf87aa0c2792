//! The order in which tokens are given away: each once, and none near the one before it.
//!
//! Were they consecutive, a reply that has its identifier wrong by a bit would carry that of another request under way.

/// An order of all numbers of some bits, by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permutation {
    key: u64,
    /// Of each half of the bits.
    half: u32,
}

/// So many rounds make every bit hang on every other.
const ROUNDS: u64 = 4;

impl Permutation {
    /// Of the low `bits` of numbers, which are an even number up to 64.
    pub fn new(key: u64, bits: u32) -> Self {
        debug_assert!(bits.is_multiple_of(2) && (2..=u64::BITS).contains(&bits), "{bits} bits");
        Self { key, half: bits / 2 }
    }

    /// Another order of the same numbers, for one of several who ask at once.
    #[must_use]
    pub fn of_stream(self, stream: u64) -> Self {
        Self { key: mixed(self.key, stream), ..self }
    }

    /// The number with its low bits in their place of the order; the others stay as they are.
    pub fn of(self, number: u64) -> u64 {
        self.swap(number, 0..ROUNDS)
    }

    /// The number whose place this is.
    pub fn inverse(self, placed: u64) -> u64 {
        // A network of Feistel's runs backwards with its halves exchanged.
        self.exchanged(self.swap(self.exchanged(placed), (0..ROUNDS).rev()))
    }

    fn swap(self, number: u64, rounds: impl Iterator<Item = u64>) -> u64 {
        let (mut left, mut right) = self.halves(number);
        for round in rounds {
            let mixed = mixed(self.key.wrapping_add(round), right) & self.mask();
            (left, right) = (right, left ^ mixed);
        }
        self.joined(number, left, right)
    }

    fn exchanged(self, number: u64) -> u64 {
        let (left, right) = self.halves(number);
        self.joined(number, right, left)
    }

    fn mask(self) -> u64 {
        (1 << self.half) - 1
    }

    fn halves(self, number: u64) -> (u64, u64) {
        (number >> self.half & self.mask(), number & self.mask())
    }

    fn joined(self, number: u64, left: u64, right: u64) -> u64 {
        let low = self.mask() << self.half | self.mask();
        number & !low | left << self.half | right
    }
}

/// Bits of which each hangs on all of both numbers (the finaliser of SplitMix64).
fn mixed(key: u64, number: u64) -> u64 {
    let mut bits = (key ^ number.rotate_left(32)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_place_says_its_number_again(key: u64, half in 1u32..=32, number: u64) {
            let order = Permutation::new(key, 2 * half);
            prop_assert_eq!(order.inverse(order.of(number)), number);
            prop_assert_eq!(order.of(order.inverse(number)), number);
            let above = number.checked_shr(2 * half).unwrap_or(0);
            prop_assert_eq!(order.of(number).checked_shr(2 * half).unwrap_or(0), above, "other bits stay");
        }
    }

    #[test]
    fn every_token_has_its_turn_once() {
        let order = Permutation::new(7, 16);
        let mut seen = vec![false; 1 << 16];
        (0..1 << 16).for_each(|number| seen[order.of(number) as usize] = true);
        assert!(seen.into_iter().all(|seen| seen));
    }

    #[test]
    fn what_differs_from_a_token_by_a_bit_is_seldom_the_token_of_a_request_nearby() {
        for key in 0..20 {
            let order = Permutation::new(key, 16);
            let near = |number: u64| {
                let token = order.of(number);
                let of_bits = (0..16).map(move |bit| order.inverse(token ^ 1 << bit));
                of_bits.filter(|other| other.abs_diff(number) <= 64).count()
            };
            // Of 16 000 by chance 31, of consecutive tokens 6 of 16.
            let found: usize = (0..1000).map(near).sum();
            assert!(found < 150, "{found} with key {key}");
        }
    }
}
