//! Chance that is handed in: draws from a model, and how often they are as extreme as what was seen.

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution as _};

/// More events than this are drawn as so many: chance is smaller than doubles there.
const MOST_DRAWN: u64 = 1 << 53;
/// Draws that leave no doubt about what is far beyond them all.
const PLAIN: u32 = 99;

/// The chance of one estimate, the same each time.
pub(crate) fn seeded(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// `n` events thrown into cells of these probabilities, one binomial draw a cell.
pub(crate) fn multinomial(rng: &mut ChaCha8Rng, n: u64, chances: &[f64]) -> Vec<u64> {
    let mut left = n.min(MOST_DRAWN);
    let mut rest: f64 = chances.iter().sum();
    chances
        .iter()
        .map(|&chance| {
            if left == 0 || chance <= 0.0 {
                return 0;
            }
            let share = (chance / rest).clamp(0.0, 1.0);
            rest -= chance;
            let drawn = if share >= 1.0 {
                left
            } else {
                Binomial::new(left, share).map_or(0, |binomial| binomial.sample(rng))
            };
            left -= drawn;
            drawn
        })
        .collect()
}

/// `n` events drawn from cells of these probabilities; the same seed draws the same.
pub fn drawn(seed: u64, n: u64, chances: &[f64]) -> Vec<u64> {
    multinomial(&mut seeded(seed), n, chances)
}

/// How often a model gives a statistic of at least `seen`, from at most `most` draws.
///
/// Besag and Clifford's sequential rule: it ends early after `enough` such draws, when the answer is no small number.
/// It ends too when what was seen is ten times as large as any of the first hundred.
pub(crate) fn p_value(seen: f64, most: u32, enough: u32, mut draw: impl FnMut() -> f64) -> f64 {
    let (mut extreme, mut largest) = (0, 0.0f64);
    for drawn in 1..=most {
        let value = draw();
        largest = largest.max(value);
        // What was seen is itself a draw: as large counts as larger, to the last digits of a sum.
        if value >= seen - 1e-9 * seen.abs() {
            extreme += 1;
        }
        if drawn == PLAIN && seen > 10.0 * largest {
            return 1.0 / f64::from(PLAIN + 1);
        }
        if extreme == enough {
            return f64::from(extreme) / f64::from(drawn);
        }
    }
    f64::from(extreme + 1) / f64::from(most + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_falls_into_a_cell() {
        let mut rng = seeded(1);
        let counts = multinomial(&mut rng, 10_000, &[0.2, 0.0, 0.5, 0.3]);
        assert_eq!((counts.iter().sum::<u64>(), counts[1]), (10_000, 0));
        assert!(counts[0].abs_diff(2000) < 200 && counts[2].abs_diff(5000) < 250, "{counts:?}");
    }

    #[test]
    fn a_common_value_is_soon_known_to_be_common() {
        let mut draws = 0;
        let p = p_value(0.0, 499, 20, || {
            draws += 1;
            1.0
        });
        assert_eq!((p, draws), (1.0, 20));
        assert_eq!(p_value(2.0, 499, 20, || 1.0), 1.0 / 500.0);
        assert_eq!(p_value(11.0, 499, 20, || 1.0), 1.0 / 100.0, "no more draws are needed");
    }
}
