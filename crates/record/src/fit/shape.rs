//! Which law, how many peaks, what tail.

use crate::{Count, LawWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most likely law of a family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FamilyLine {
    /// `normal gamma gamma_shifted erlang erlang_shifted lognormal lognormal_shifted weibull weibull_shifted
    /// exponential exponential_shifted gev`.
    pub name: String,
    /// `mu`, `sigma`, `scale` and `loc` in units; `mu_log` and `sigma_log` of the logarithm of units.
    pub parameters: BTreeMap<String, f64>,
    /// Of the intervals, without the multinomial constant.
    pub log_likelihood: f64,
    /// Akaike's criterion.
    pub aic: f64,
    /// Schwarz's criterion.
    pub bic: f64,
    /// Share of the events that would have to move for the law to hold.
    pub total_variation: f64,
    /// The same on average where the law holds, by chance alone.
    pub total_variation_by_chance: f64,
    /// Largest difference of the distribution functions at an edge.
    pub kolmogorov: f64,
    /// Pearson's X².
    pub chi_square: f64,
    /// Its degrees of freedom; below 1 there are too few cells for a p-value.
    pub degrees_of_freedom: f64,
    /// Discrete Anderson–Darling statistic.
    pub anderson_darling: f64,
}

/// Whether a law holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldsLine {
    /// Chance of as large a distance where it does.
    pub p: f64,
    /// What that comes to.
    pub verdict: LawWord,
}

/// Is it normal?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NormalityLine {
    /// What that comes to.
    pub verdict: LawWord,
    /// Chance of as large a distance from a normal law, rounded alike.
    pub p: f64,
    /// Share of the events that would have to move.
    pub total_variation: f64,
    /// D'Agostino's test of the skewness.
    pub skewness_z: Option<f64>,
    /// Anscombe and Glynn's test of the kurtosis.
    pub kurtosis_z: Option<f64>,
    /// Their sum of squares.
    pub k_squared: Option<f64>,
    /// Its p-value.
    pub k_squared_p: Option<f64>,
    /// Jarque and Bera's statistic.
    pub jarque_bera: Option<f64>,
    /// Its p-value.
    pub jarque_bera_p: Option<f64>,
}

/// Probability plot correlation coefficients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PpccLine {
    /// Each family at its straightest, the straightest first.
    pub families: Vec<StraightLine>,
    /// (λ, r) of Tukey's family.
    pub over_lambda: Vec<(f64, f64)>,
    /// λ of the events up to the tail's threshold: a core that disagrees with the whole is a mixture's sign.
    pub core_lambda: Option<f64>,
}

/// The straightest probability plot of a family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StraightLine {
    /// `tukey_lambda gamma weibull gev lognormal normal exponential logistic gumbel uniform cauchy`.
    pub name: String,
    /// Its shape, where it has one.
    pub parameter: Option<f64>,
    /// The correlation.
    pub r: f64,
    /// Where the line meets 0, in units.
    pub loc: f64,
    /// Its slope.
    pub scale: f64,
    /// 5 % point of r for events drawn from that law and rounded alike.
    pub critical: Option<f64>,
}

/// A peak and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModeLine {
    /// Smallest recorded value.
    pub low: f64,
    /// Largest recorded value.
    pub high: f64,
    /// Most frequent value.
    pub peak: f64,
    /// Events in it.
    pub mass: Count,
}

/// At most so many modes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModesTriedLine {
    /// How many.
    pub modes: u64,
    /// Largest log likelihood.
    pub log_likelihood: f64,
    /// Twice what one mode more gains.
    pub gain: f64,
    /// p-value of that gain: the probability that so many modes gain as much by chance.
    pub p: f64,
}

/// A component of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComponentLine {
    /// `lognormal` or `normal`.
    pub kind: String,
    /// Share of the events.
    pub weight: f64,
    /// In units.
    pub median: f64,
    /// Of the logarithm for `lognormal`, in units for `normal`.
    pub sigma: f64,
}

/// A number of components.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MixtureTriedLine {
    /// `lognormal` or `normal`.
    pub kind: String,
    /// How many.
    pub components: u64,
    /// ln L.
    pub log_likelihood: f64,
    /// Schwarz's criterion.
    pub bic: f64,
}

/// What lies beyond a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailLine {
    /// Recorded values above this.
    pub threshold: f64,
    /// How many.
    pub count: Count,
    /// Share of all.
    pub ratio: f64,
    /// Lower end of its exact interval.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// The law of the excess; null where fewer than 30 events bear it.
    pub gpd: Option<GpdLine>,
    /// That law at higher and higher thresholds.
    pub stability: Vec<StabilityLine>,
    /// Flat, falling, or a bump.
    pub shape: Option<TailShapeLine>,
}

/// A generalised Pareto law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpdLine {
    /// Scale, in units.
    pub sigma: f64,
    /// Shape: 0 exponential, −1 uniform, above 0 heavy.
    pub xi: f64,
    /// Lower end of its 95 % profile interval.
    pub xi_low: f64,
    /// Upper end of it.
    pub xi_high: f64,
    /// ln L.
    pub log_likelihood: f64,
    /// ln L of the exponential law.
    pub log_likelihood_exponential: f64,
    /// Chance of as much more than the exponential law explains.
    pub p_exponential: f64,
    /// The value that the law does not exceed; null where it has no end.
    pub end: Option<f64>,
    /// Lower end of the 95 % interval of that value; null where it was not looked for.
    #[serde(default)]
    pub end_low: Option<f64>,
    /// Upper end of it; null where the events do not bound it.
    #[serde(default)]
    pub end_high: Option<f64>,
    /// Mean excess, in units.
    pub mean_excess: f64,
    /// Hill's estimate; positive for bounded tails too.
    pub hill: f64,
}

/// The tail's shape at one threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct StabilityLine {
    pub threshold: f64,
    pub count: Count,
    pub xi: f64,
    pub xi_low: f64,
    pub xi_high: f64,
}

/// Three laws of the tail's ticks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailShapeLine {
    /// From this recorded value on.
    pub from: f64,
    /// `uniform`, `geometric` or `bump`: the least AIC.
    pub best: String,
    /// AIC of equal chances.
    pub uniform: f64,
    /// AIC of chances that fall by a factor.
    pub geometric: f64,
    /// AIC of a normal law cut off below.
    pub bump: f64,
    /// Its mean.
    pub bump_mean: f64,
    /// Its deviation.
    pub bump_deviation: f64,
    /// Largest distance from equal chances.
    pub uniform_distance: f64,
    /// How often equal chances give as large a one.
    pub uniform_p: f64,
}
