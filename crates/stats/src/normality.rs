//! Is it normal? A test that ticks do not fool, and how far off a normal distribution is.

use crate::chance::{multinomial, p_value, seeded};
use crate::families::{Family, Fitted};
use crate::likelihood::Lattice;
use crate::special::chi_square_above;
use crate::{Binned, Moments};

/// Name of the estimator.
pub const ESTIMATOR: &str = "discrete Anderson–Darling statistic of the interval-fitted law against draws from it, rounded \
     and refitted; chi-square alone where that leaves no doubt";
const DRAWS: u32 = 199;
const ENOUGH: u32 = 20;
/// Below this chance of its X², a law needs no bootstrap to be rejected.
const NO_DOUBT: f64 = 1e-6;
/// Draws of many cells are tested in fewer.
const MOST_CELLS: usize = 400;

/// What can be said about a fitted law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LawVerdict {
    /// Under 2 % of the events are elsewhere, and chance explains them.
    Fits,
    /// Chance does not explain the difference, but it is under 5 % of the events.
    Close,
    /// More than 5 % of the events are elsewhere, and not by chance.
    DoesNotFit,
    /// Chance explains the difference, but so few events could not tell.
    Undecided,
}

impl LawVerdict {
    /// From the share of events elsewhere and the chance of that.
    pub fn of(total_variation: f64, p: f64) -> Self {
        match (p > 0.05, total_variation) {
            (true, share) if share < 0.02 => Self::Fits,
            (true, _) => Self::Undecided,
            (false, share) if share < 0.05 => Self::Close,
            (false, _) => Self::DoesNotFit,
        }
    }
}

/// The answer for the normal family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normality {
    /// The most likely normal law.
    pub fitted: Fitted,
    /// Chance of as large a distance, were it that law.
    pub p: f64,
    /// What that says.
    pub verdict: LawVerdict,
    /// D'Agostino's test of the skewness.
    pub skewness_z: Option<f64>,
    /// Anscombe and Glynn's test of the kurtosis.
    pub kurtosis_z: Option<f64>,
    /// Sum of both squared, and its chance.
    pub k_squared: Option<(f64, f64)>,
    /// Jarque and Bera's statistic, and its chance.
    pub jarque_bera: Option<(f64, f64)>,
}

impl Normality {
    /// `None` where no normal law can be fitted.
    pub fn of(binned: &Binned, seed: u64) -> Option<Self> {
        let fitted = Family::Normal.fit(binned)?;
        let p = goodness(binned, &fitted, seed);
        let n = binned.count() as f64;
        let moments = Moments::of(binned);
        let skewness_z = moments.skewness.filter(|_| n >= 8.0).map(|g1| skewness_z(g1, n));
        let kurtosis_z = moments.excess_kurtosis.filter(|_| n >= 20.0).map(|g2| kurtosis_z(g2, n));
        let k_squared = skewness_z.zip(kurtosis_z).map(|(a, b)| a * a + b * b);
        let jarque_bera =
            moments.skewness.zip(moments.excess_kurtosis).map(|(g1, g2)| n / 6.0 * (g1 * g1 + g2 * g2 / 4.0));
        let with_chance = |value: f64| (value, chi_square_above(value, 2.0));
        Some(Self {
            fitted,
            p,
            verdict: LawVerdict::of(fitted.distance.total_variation, p),
            skewness_z,
            kurtosis_z,
            k_squared: k_squared.map(with_chance),
            jarque_bera: jarque_bera.map(with_chance),
        })
    }
}

/// Chance that the law which was fitted is as far from events drawn from it, rounded alike and fitted again.
pub fn goodness(binned: &Binned, fitted: &Fitted, seed: u64) -> f64 {
    if let Some(p) = fitted.distance.chi_square_p()
        && p < NO_DOUBT
    {
        return p;
    }
    if binned.above().is_some() {
        return fitted.distance.chi_square_p().unwrap_or(1.0);
    }
    let coarse = binned.coarse(MOST_CELLS);
    let lattice = Lattice::of(&coarse);
    let chances = lattice.chances(&fitted.law);
    let seen = if coarse.cells().len() == binned.cells().len() {
        fitted.distance.anderson_darling
    } else {
        crate::Distance::of(&coarse, &fitted.law, fitted.family.parameters()).anderson_darling
    };
    let mut rng = seeded(seed);
    p_value(seen, DRAWS, ENOUGH, || {
        let drawn = lattice.recounted(&multinomial(&mut rng, binned.count(), &chances), binned.quantum());
        let refitted = fitted.family.refit(&drawn, &fitted.law);
        refitted.map_or(0.0, |refitted| refitted.distance.anderson_darling)
    })
}

/// D'Agostino 1970.
fn skewness_z(g1: f64, n: f64) -> f64 {
    let y = g1 * ((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0))).sqrt();
    let beta = 3.0 * (n * n + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0)
        / ((n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0));
    let w2 = (2.0 * (beta - 1.0)).sqrt() - 1.0;
    let delta = 1.0 / (0.5 * w2.ln()).sqrt();
    let alpha = (2.0 / (w2 - 1.0)).sqrt();
    delta * (y / alpha).asinh()
}

/// Anscombe and Glynn 1983.
fn kurtosis_z(g2: f64, n: f64) -> f64 {
    let expected = 3.0 * (n - 1.0) / (n + 1.0);
    let variance = 24.0 * n * (n - 2.0) * (n - 3.0) / ((n + 1.0).powi(2) * (n + 3.0) * (n + 5.0));
    let x = (g2 + 3.0 - expected) / variance.sqrt();
    let skew = 6.0 * (n * n - 5.0 * n + 2.0) / ((n + 7.0) * (n + 9.0))
        * (6.0 * (n + 3.0) * (n + 5.0) / (n * (n - 2.0) * (n - 3.0))).sqrt();
    let a = 6.0 + 8.0 / skew * (2.0 / skew + (1.0 + 4.0 / (skew * skew)).sqrt());
    let term = (1.0 - 2.0 / a) / (1.0 + x * (2.0 / (a - 4.0)).sqrt());
    (1.0 - 2.0 / (9.0 * a) - term.cbrt()) / (2.0 / (9.0 * a)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::{IDLE, IOZONE64, binned};
    use crate::{Counted, Law, Meaning};

    #[test]
    fn the_histograms_of_2004_are_not_normal_by_a_wide_margin() {
        let tables = [
            (IDLE, [61.255212, 47.516857, 6010.052682, 111103.078700, 0.451609]),
            (IOZONE64, [103.462202, 66.051988, 15067.292380, 9018866.2, 0.283614]),
        ];
        for (data, table) in tables {
            let found = Normality::of(&binned(data), 7).unwrap();
            assert_eq!((found.verdict, found.p), (LawVerdict::DoesNotFit, 0.0));
            let numbers = [
                found.skewness_z.unwrap(),
                found.kurtosis_z.unwrap(),
                found.k_squared.unwrap().0,
                found.jarque_bera.unwrap().0,
                found.fitted.distance.total_variation,
            ];
            for (found, reference) in numbers.iter().zip(table) {
                assert!((found / reference - 1.0).abs() < 2e-6, "{found} {reference}");
            }
        }
    }

    #[test]
    fn a_rounded_normal_is_called_normal_whatever_its_ticks() {
        let mut rng = seeded(3);
        let mut rejected = 0;
        for (sigma, runs) in [(1.0, 20), (5.0, 20)] {
            let law = Law::Normal { mu: 50.2, sigma };
            for run in 0..runs {
                let chance =
                    |tick: i64| law.tails(tick as f64 - 0.5).ln_until(law.tails(tick as f64 + 0.5)).exp();
                let ticks: Vec<i64> = (0..100).collect();
                let chances: Vec<f64> = ticks.iter().map(|&tick| chance(tick)).collect();
                let counts = multinomial(&mut rng, 10_400, &chances);
                let counted =
                    Counted::ticks(Meaning::default(), ticks.into_iter().zip(counts), None).unwrap();
                let found = Normality::of(&counted.binned(), run).unwrap();
                rejected += u32::from(found.p <= 0.05);
            }
        }
        // 5 % of 40 are 2; more than 7 are one in a thousand.
        assert!(rejected <= 7, "{rejected} of 40 rejected at 5 %");
    }

    #[test]
    fn few_events_decide_nothing() {
        let ticks = [(4, 1), (5, 3), (6, 4), (7, 2), (9, 1)];
        let counted = Counted::ticks(Meaning::default(), ticks, None).unwrap();
        assert_eq!(Normality::of(&counted.binned(), 7).unwrap().verdict, LawVerdict::Undecided);
    }
}
