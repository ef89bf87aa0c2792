//! How many wrong frames lie at each distance from a right one.

use super::check::{Check, Structure};
use super::payload::{FREE_BITS, STORABLE, checks};

/// Ordered pairs of storable heartbeats by the number of bits in which they differ.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Weights {
    /// `pairs[d]` pairs differ in exactly `d` bits of the frame, for each `d` counted.
    pub pairs: Vec<u64>,
    /// Width of the frame.
    pub frame_bits: u32,
    /// Whether every distance was counted; if not, those beyond the last one are bounded only.
    pub complete: bool,
}

impl Weights {
    /// Counts them for one check, for additive checks up to distance `up_to`.
    pub fn of(check: Check, up_to: u32) -> Self {
        match check.structure() {
            Structure::Linear => linear(check),
            Structure::Additive { modulus, half_bits } => {
                let table = checks(check, STORABLE);
                let halves = Halves { modulus, half_bits };
                let pairs = additive(&table, FREE_BITS, halves, up_to);
                Self { pairs, frame_bits: check.frame_bits(), complete: false }
            }
        }
    }

    /// Smallest distance at which there is a wrong frame; `None` if none was found as far as was counted.
    pub fn minimum_distance(&self) -> Option<usize> {
        self.pairs.iter().position(|pairs| *pairs > 0)
    }

    /// Wrong frames at distance `d`, on average over right frames; `None` where it was not counted.
    pub fn mean(&self, d: usize) -> Option<f64> {
        let pairs = self.pairs.get(d).copied().or(self.complete.then_some(0))?;
        Some(pairs as f64 / f64::from(STORABLE))
    }

    /// Chance that a storable heartbeat becomes another one unnoticed when each bit flips with chance `p`
    /// by itself: from the distances counted, and at most.
    pub fn undetected(&self, p: f64) -> Undetected {
        let at = |d: usize| p.powi(d as i32) * (1.0 - p).powi(self.frame_bits as i32 - d as i32);
        let counted = (1..self.pairs.len()).filter_map(|d| Some(self.mean(d)? * at(d))).sum();
        // Each change of the payload has one change of the check that hides it, so at most one frame.
        let beyond: f64 = if self.complete {
            0.0
        } else {
            let mut patterns = 1.0;
            (1..=FREE_BITS as usize)
                .map(|w| {
                    patterns *= (FREE_BITS as usize + 1 - w) as f64 / w as f64;
                    patterns * at(w.max(self.pairs.len()))
                })
                .sum()
        };
        Undetected { counted, at_most: counted + beyond }
    }
}

/// A chance with what was not counted bounded.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Undetected {
    /// From the distances counted.
    pub counted: f64,
    /// With all others at their bound.
    pub at_most: f64,
}

/// Chance that a 32-bit tag drawn at random for each payload hides a bit error: the storable bits change,
/// the fixed ones do not, and the new payload's tag is what arrived.
pub fn random_tag_undetected(p: f64) -> f64 {
    let changed = -f64::exp_m1(f64::from(FREE_BITS) * f64::ln_1p(-p));
    changed * (1.0 - p).powi(32 - FREE_BITS as i32) * 2_f64.powi(-32)
}

/// Mean number of wrong frames at distance `d` with such a tag.
pub fn random_tag_mean(d: u32) -> f64 {
    (1..=d.min(FREE_BITS)).map(|w| choose(FREE_BITS, w) * choose(32, d - w)).sum::<f64>() * 2_f64.powi(-32)
}

/// Ways to choose `k` of `n`.
pub fn choose(n: u32, k: u32) -> f64 {
    if k > n { 0.0 } else { (1..=k).fold(1.0, |ways, i| ways * f64::from(n - k + i) / f64::from(i)) }
}

fn linear(check: Check) -> Weights {
    let table = checks(check, STORABLE);
    let mut pairs = vec![0; check.frame_bits() as usize + 1];
    for (index, sum) in (0_u32..).zip(&table).skip(1) {
        pairs[(index.count_ones() + (sum ^ table[0]).count_ones()) as usize] += u64::from(STORABLE);
    }
    Weights { pairs, frame_bits: check.frame_bits(), complete: true }
}

/// The two sums that an additive check consists of.
#[derive(Clone, Copy, Debug)]
struct Halves {
    modulus: u32,
    half_bits: u32,
}

impl Halves {
    /// Fewest bits in which two checks can differ whose halves differ as those of `from` and `to`.
    ///
    /// A sum that changes by δ modulo M changes by δ or δ − M; the bits in which two numbers differ write
    /// their difference in signed binary digits, and no such writing is shorter than the non-adjacent form.
    fn fewest(self, from: u32, to: u32) -> u32 {
        let mask = u32::MAX >> (32 - self.half_bits);
        [0, self.half_bits]
            .map(|shift| {
                let change = (to >> shift & mask) + self.modulus - (from >> shift & mask);
                let change = change % self.modulus;
                non_adjacent_digits(change).min(non_adjacent_digits(self.modulus - change))
            })
            .iter()
            .sum()
    }
}

/// Nonzero digits of the non-adjacent form of `n`.
fn non_adjacent_digits(n: u32) -> u32 {
    let n = u64::from(n);
    (n ^ (3 * n)).count_ones()
}

/// Ordered pairs at each distance up to `up_to`, over payloads of `bits` free bits with these checks.
///
/// Every pattern of changed payload bits, every way in which they change (their values before), every value
/// of the other bits; a way is left out only if its change of the sums alone needs too many bits.
fn additive(table: &[u32], bits: u32, halves: Halves, up_to: u32) -> Vec<u64> {
    let size = 1_u32 << bits;
    let mut pairs = vec![0_u64; up_to as usize + 1];
    for pattern in (1..size).filter(|pattern| pattern.count_ones() <= up_to) {
        let weight = pattern.count_ones();
        // Each pair is met once from either end: its end without the highest changed bit is enough.
        let lower = pattern ^ (1 << pattern.ilog2());
        let mut before = 0;
        loop {
            let check = |index: u32| table[index as usize];
            if weight + halves.fewest(check(before), check(before ^ pattern)) <= up_to {
                let mut rest = 0;
                while rest < size {
                    let index = rest | before;
                    let distance = weight + (check(index) ^ check(index ^ pattern)).count_ones();
                    if distance <= up_to {
                        pairs[distance as usize] += 2;
                    }
                    rest = (rest | pattern).wrapping_add(1) & !pattern;
                }
            }
            before = (before | !lower).wrapping_add(1) & lower;
            if before == 0 {
                break;
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heartbeat_reliability::payload::payload;

    fn close(value: f64, facts: f64, relative: f64) {
        assert!((value / facts - 1.0).abs() < relative, "{value:e} is not {facts:e}");
    }

    #[test]
    fn adler_has_51219144_pairs_at_distance_three_and_105026082_at_four() {
        let weights = Weights::of(Check::Adler32, 4);
        assert_eq!(weights.pairs, [0, 0, 0, 51_219_144, 105_026_082]);
        assert_eq!(
            format!("{:.4} {:.4}", weights.mean(3).unwrap(), weights.mean(4).unwrap()),
            "12.2116 25.0402"
        );
        assert_eq!((weights.minimum_distance(), weights.mean(5)), (Some(3), None));
    }

    #[test]
    fn both_fletchers_have_pairs_at_distance_three() {
        assert_eq!(Weights::of(Check::Fletcher16, 3).pairs, [0, 0, 0, 52_206_830]);
        assert_eq!(Weights::of(Check::Fletcher32, 3).pairs, [0, 0, 0, 38_857_408]);
    }

    #[test]
    fn crcs_have_their_whole_distribution_and_minimum_distances_four_and_ten() {
        let short = Weights::of(Check::Crc16, 0);
        let mean = |weights: &Weights, d| weights.mean(d).unwrap();
        assert_eq!([4, 5, 6, 7, 8].map(|d| mean(&short, d)), [28.0, 0.0, 136.0, 0.0, 1408.0]);
        let long = Weights::of(Check::Crc32, 0);
        assert_eq!(long.minimum_distance(), Some(10));
        assert_eq!([10, 11, 12, 13, 14].map(|d| mean(&long, d)), [3.0, 20.0, 108.0, 226.0, 696.0]);
        for weights in [short, long] {
            let all: u64 = weights.pairs.iter().sum();
            assert_eq!(all, u64::from(STORABLE) * u64::from(STORABLE - 1));
        }
    }

    #[test]
    fn leaving_hopeless_changes_out_leaves_no_pair_out() {
        // Few enough payloads to look at every pair: the lowest bits of the three fields.
        let spread = |index: u32| (index & 7) | (index >> 3 & 15) << 8 | (index >> 7 & 7) << 16;
        for (check, halves) in [
            (Check::Adler32, Halves { modulus: 65_521, half_bits: 16 }),
            (Check::Fletcher16, Halves { modulus: 255, half_bits: 8 }),
            (Check::Fletcher32, Halves { modulus: 65_535, half_bits: 16 }),
        ] {
            let table: Vec<u32> = (0..1 << 10).map(|index| check.of(payload(spread(index)))).collect();
            let mut every = [0_u64; 7];
            for (i, a) in (0_u32..).zip(&table) {
                for (j, b) in (0_u32..).zip(&table) {
                    let distance = (i ^ j).count_ones() + (a ^ b).count_ones();
                    if i != j && distance <= 6 {
                        every[distance as usize] += 1;
                    }
                }
            }
            assert_eq!(additive(&table, 10, halves, 6), every, "{}", check.name());
        }
    }

    #[test]
    fn undetected_errors_are_as_rare_as_the_facts_say() {
        let adler = Weights::of(Check::Adler32, 4);
        for (p, facts) in [(1e-3, 1.15e-8), (1e-4, 1.21e-11), (1e-5, 1.22e-14), (1e-6, 1.22e-17)] {
            close(adler.undetected(p).counted, facts, 0.01);
            assert!(adler.undetected(p).at_most < 1.004 * adler.undetected(p).counted);
        }
        let crc16 = Weights::of(Check::Crc16, 0);
        close(crc16.undetected(1e-3).counted, 2.7e-11, 0.01);
        close(crc16.undetected(1e-6).counted, 2.8e-23, 0.01);
        let crc32 = Weights::of(Check::Crc32, 0).undetected(1e-3);
        close(crc32.counted, 2.9e-30, 0.02);
        assert_eq!(crc32.counted, crc32.at_most);
        close(random_tag_undetected(1e-3), 5.0e-12, 0.02);
        close(random_tag_undetected(1e-6), 5.1e-15, 0.01);
        close(random_tag_mean(1), 5.1e-9, 0.01);
    }
}
