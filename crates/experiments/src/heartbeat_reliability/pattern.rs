//! Changed payload bits under an unchanged checksum: exact chances for every pattern and for bursts.

use super::payload::{FREE_BITS, STORABLE};

/// For each pattern of changed bits, how likely it is that the checksum of a random storable payload still
/// fits.
///
/// Adler-32 holds two sums of three fields: 1·v + 1·f + 1·x and 3·v + 2·f + 1·x. Both stay only for changes
/// (k, −2k, k). A field whose bits `m` flip changes by a sum of ±2^i over `m`, each way of signs equally
/// likely and each sum by one way only.
#[derive(Clone, Debug)]
pub struct Patterns {
    chances: Vec<f64>,
}

impl Patterns {
    /// All patterns of the storable bits.
    pub fn enumerate() -> Self {
        let reach: Vec<Vec<i32>> = (0..=255).map(changes).collect();
        let reaches: Vec<[bool; 511]> = reach
            .iter()
            .map(|changes| {
                let mut reaches = [false; 511];
                changes.iter().for_each(|change| reaches[(change + 255) as usize] = true);
                reaches
            })
            .collect();
        let mut chances = vec![0.0; STORABLE as usize];
        for (variable, of_variable) in reach.iter().enumerate().take(64) {
            for (value, of_value) in reaches.iter().enumerate() {
                let both = of_variable.iter().filter(|k| k.abs() <= 127 && of_value[(**k + 255) as usize]);
                let both: Vec<i32> = both.copied().collect();
                for (from, of_from) in reaches.iter().enumerate() {
                    let ways = both.iter().filter(|k| of_from[(255 - 2 * **k) as usize]).count();
                    let pattern = variable << 16 | from << 8 | value;
                    chances[pattern] = ways as f64 / 2_f64.powi(pattern.count_ones() as i32);
                }
            }
        }
        // Nothing changed: no error to pass.
        chances[0] = 0.0;
        Self { chances }
    }

    /// Chance that this pattern passes, over payloads.
    pub fn passes(&self, pattern: u32) -> f64 {
        self.chances[pattern as usize]
    }

    /// Chance that a payload drawn at random fits the checksum of another.
    pub fn replaced(&self) -> f64 {
        self.chances.iter().sum::<f64>() / f64::from(STORABLE)
    }

    /// Bursts within the 22 storable bits, most significant bit first: their first and last bit flip, those
    /// between by chance, and every place is equally likely. One line for each length.
    pub fn bursts(&self) -> Vec<Burst> {
        let mut sums = vec![0.0; FREE_BITS as usize + 1];
        for pattern in 1..STORABLE {
            sums[(pattern.ilog2() - pattern.trailing_zeros() + 1) as usize] += self.passes(pattern);
        }
        (1..=FREE_BITS)
            .zip(&sums[1..])
            .map(|(bits, sum)| {
                let patterns = 2_f64.powi(bits.saturating_sub(2) as i32);
                Burst { bits, passes: sum / patterns / f64::from(FREE_BITS + 1 - bits) }
            })
            .collect()
    }

    /// Length of the shortest burst that can pass.
    pub fn shortest_burst(&self) -> Option<u32> {
        self.bursts().iter().find(|burst| burst.passes > 0.0).map(|burst| burst.bits)
    }
}

/// Bursts of one length.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Burst {
    /// From its first to its last flipped bit.
    pub bits: u32,
    /// Chance that one passes.
    pub passes: f64,
}

/// Changes of a byte whose bits `mask` flip, one for each value that these bits can have had.
fn changes(mask: i32) -> Vec<i32> {
    // Bits that were set fall away, the others come.
    (0..=mask).filter(|set| set & !mask == 0).map(|set| mask - 2 * set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heartbeat_reliability::check::Check;
    use crate::heartbeat_reliability::payload::{Sharing, checks};

    #[test]
    fn the_shortest_burst_that_passes_has_17_bits() {
        let patterns = Patterns::enumerate();
        assert_eq!(patterns.shortest_burst(), Some(17));
        let passes = |bits: usize| format!("{:.1e}", patterns.bursts()[bits - 1].passes);
        assert_eq!([17, 18].map(passes), ["2.7e-5", "1.3e-5"]);
        assert_eq!([20, 21, 22].map(passes), ["1.2e-5", "1.1e-5", "1.0e-5"]);
    }

    #[test]
    fn patterns_agree_with_the_checksums_of_every_payload() {
        let patterns = Patterns::enumerate();
        let table = checks(Check::Adler32, STORABLE);
        let counted = Sharing::of(&table).kept_checksum_fits;
        assert!((patterns.replaced() / counted - 1.0).abs() < 1e-12, "{} {counted}", patterns.replaced());
        for pattern in [0x01_0201, 0x03_0201, 0x05_0e05, 0x3f_ffff, 0x20_4020] {
            let fits = (0..STORABLE).filter(|i| table[*i as usize] == table[(i ^ pattern) as usize]).count();
            assert_eq!(patterns.passes(pattern), fits as f64 / f64::from(STORABLE), "{pattern:06x}");
        }
    }
}
