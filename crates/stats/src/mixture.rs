//! Mixtures: several code paths, each with its own lognormal or normal law.
//!
//! Expectation and maximisation with the intervals of the events, never with a density at ticks: the density of a
//! spike on tied values has no bound, and such a fit finds as many components as it is allowed.

use crate::chance::seeded;
use crate::special::normal_tails;
use crate::{Binned, Cell};
use rand::Rng as _;
use std::f64::consts::PI;

/// Name of the estimator.
pub const ESTIMATOR: &str = "interval-censored EM from many starts, number of components by BIC";
/// Narrower components cannot be told apart from a tick.
const NARROWEST_LOG: f64 = 0.02;
/// In ticks: about 1 / √12.
const NARROWEST_TICKS: f64 = 0.3;
/// Starts of each number of components, and how many of them are followed to their end.
const STARTS: usize = 40;
const POLISHED: usize = 5;
/// Steps before the starts are compared.
const GLANCE: usize = 45;
const MOST_COMPONENTS: usize = 9;
/// Finer cells are put together.
const MOST_CELLS: usize = 250;

/// What components are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Normal on ln x.
    Lognormal,
    /// Normal on x.
    Normal,
}

/// A mixture with its components from low to high.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// What the components are.
    pub kind: Kind,
    /// From the lowest median to the highest.
    pub components: Vec<Component>,
    /// ln L.
    pub log_likelihood: f64,
    /// (3k − 1)·ln n − 2·ln L.
    pub bic: f64,
}

/// A code path, perhaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Component {
    /// Share of the events.
    pub weight: f64,
    /// μ of x or of ln x.
    pub mu: f64,
    /// σ of x or of ln x.
    pub sigma: f64,
}

impl Component {
    /// Its median, in units.
    pub fn median(&self, kind: Kind) -> f64 {
        if kind == Kind::Lognormal { self.mu.exp() } else { self.mu }
    }
}

/// The best mixture of each number of components, from 1 until two more do not lower the BIC. None where the events
/// are outside of the kind's range, or the length of some is not known.
pub fn mixtures(binned: &Binned, kind: Kind, seed: u64) -> Vec<Mixture> {
    if binned.above().is_some() || binned.cells().len() < 3 {
        return Vec::new();
    }
    let Some(events) = Events::of(&binned.coarse(MOST_CELLS), kind) else { return Vec::new() };
    let mut rng = seeded(seed);
    let mut found: Vec<Mixture> = Vec::new();
    for k in 1..=MOST_COMPONENTS.min(events.cells.len() / 3 + 1) {
        let mut starts: Vec<(f64, Vec<Component>)> = Vec::new();
        if let Some(last) = found.last() {
            // Split each component of the one before: the surest way to a better one.
            for index in 0..last.components.len() {
                let mut components = last.components.clone();
                let whole = components[index];
                components[index] =
                    Component { weight: whole.weight / 2.0, mu: whole.mu - whole.sigma * 0.7, ..whole };
                components.push(Component {
                    weight: whole.weight / 2.0,
                    mu: whole.mu + whole.sigma * 0.7,
                    ..whole
                });
                starts.push(events.climb(components, GLANCE));
            }
        }
        let random = if k == 1 { 1 } else { STARTS };
        for _ in 0..random {
            starts.push(events.climb(events.random(k, &mut rng), GLANCE));
        }
        starts.sort_by(|a, b| b.0.total_cmp(&a.0));
        // Starts that went the same way are one.
        starts.dedup_by(|a, b| (a.0 - b.0).abs() < 0.02);
        let polished =
            starts.into_iter().take(POLISHED).map(|(_, components)| events.climb(components, 1500));
        let Some((log_likelihood, mut components)) = polished.max_by(|a, b| a.0.total_cmp(&b.0)) else {
            break;
        };
        components.sort_by(|a, b| a.mu.total_cmp(&b.mu));
        let bic = (3 * k - 1) as f64 * (binned.count() as f64).ln() - 2.0 * log_likelihood;
        found.push(Mixture { kind, components, log_likelihood, bic });
        let risen = found.windows(2).rev().take_while(|pair| pair[1].bic > pair[0].bic).count();
        if risen >= 2 {
            break;
        }
    }
    found
}

/// Cells in the coordinate of the components.
struct Events {
    /// (low, high, events).
    cells: Vec<(f64, f64, f64)>,
    narrowest: f64,
    n: f64,
}

impl Events {
    fn of(binned: &Binned, kind: Kind) -> Option<Self> {
        let coordinate = |cell: &Cell| match kind {
            Kind::Normal => Some((cell.low, cell.high, cell.count as f64)),
            Kind::Lognormal => (cell.high > 0.0).then(|| {
                let low = if cell.low > 0.0 { cell.low.ln() } else { f64::NEG_INFINITY };
                (low, cell.high.ln(), cell.count as f64)
            }),
        };
        Some(Self {
            cells: binned.cells().iter().map(coordinate).collect::<Option<_>>()?,
            narrowest: if kind == Kind::Normal { NARROWEST_TICKS * binned.quantum() } else { NARROWEST_LOG },
            n: binned.count() as f64,
        })
    }

    /// No path is where no event was.
    fn seen(&self, mu: f64) -> f64 {
        mu.clamp(self.cells[0].0, self.cells[self.cells.len() - 1].1)
    }

    /// Centres drawn from the events, half of them evenly over the range so that rare paths are found.
    fn random(&self, k: usize, rng: &mut rand_chacha::ChaCha8Rng) -> Vec<Component> {
        let middle =
            |cell: &(f64, f64, f64)| if cell.0.is_finite() { (cell.0 + cell.1) / 2.0 } else { cell.1 - 1.0 };
        let span = middle(&self.cells[self.cells.len() - 1]) - middle(&self.cells[0]);
        (0..k)
            .map(|_| {
                let mu = if rng.random_bool(0.5) {
                    let mut rank = rng.random_range(0.0..self.n);
                    let cell = self.cells.iter().find(|cell| {
                        rank -= cell.2;
                        rank < 0.0
                    });
                    middle(cell.unwrap_or(&self.cells[0]))
                } else {
                    middle(&self.cells[rng.random_range(0..self.cells.len())])
                };
                let sigma = span * 10f64.powf(rng.random_range(-2.0..-0.5));
                Component { weight: 1.0 / k as f64, mu, sigma: sigma.max(self.narrowest) }
            })
            .collect()
    }

    /// So many steps of EM, every third one stretched as far as it helps; ends when a step gains nothing.
    fn climb(&self, start: Vec<Component>, steps: usize) -> (f64, Vec<Component>) {
        let (mut value, mut next) = self.step(&start);
        let mut here = start;
        for step in 0..steps {
            let (next_value, after) = self.step(&next);
            if next_value - value < 1e-9 * value.abs().max(1.0) * 1e-3 {
                return (next_value.max(value), next);
            }
            let stretched = (step % 3 == 2).then(|| self.stretched(&here, &next, &after)).flatten();
            (here, value, next) = match stretched {
                Some((stretched, stretched_value, beyond)) if stretched_value > next_value => {
                    (stretched, stretched_value, beyond)
                }
                _ => (next, next_value, after),
            };
        }
        (value, here)
    }

    /// Two steps of EM tell where they lead to (Varadhan and Roland's squared extrapolation).
    fn stretched(
        &self,
        first: &[Component],
        second: &[Component],
        third: &[Component],
    ) -> Option<(Vec<Component>, f64, Vec<Component>)> {
        let pack = |components: &[Component]| -> Vec<f64> {
            components.iter().flat_map(|c| [c.weight.max(1e-12).ln(), c.mu, c.sigma.ln()]).collect()
        };
        let (a, b, c) = (pack(first), pack(second), pack(third));
        let r: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
        let v: Vec<f64> = r.iter().zip(b.iter().zip(&c)).map(|(r, (b, c))| c - b - r).collect();
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let alpha = (-norm(&r) / norm(&v)).clamp(-60.0, -1.0);
        if !alpha.is_finite() {
            return None;
        }
        let packed: Vec<f64> = a
            .iter()
            .zip(r.iter().zip(&v))
            .map(|(a, (r, v))| a - 2.0 * alpha * r + alpha * alpha * v)
            .collect();
        let total: f64 = packed.chunks(3).map(|c| c[0].exp()).sum();
        let components: Vec<Component> = packed
            .chunks(3)
            .map(|c| Component {
                weight: c[0].exp() / total,
                mu: self.seen(c[1]),
                sigma: c[2].exp().max(self.narrowest),
            })
            .collect();
        let (value, beyond) = self.step(&components);
        value.is_finite().then_some((components, value, beyond))
    }

    /// The log likelihood of these components, and the components of the next step.
    fn step(&self, components: &[Component]) -> (f64, Vec<Component>) {
        let mut sums = vec![(0.0, 0.0, 0.0); components.len()];
        let mut parts = vec![Part::default(); components.len()];
        let mut value = 0.0;
        for &(low, high, events) in &self.cells {
            let mut total = 0.0;
            for (component, part) in components.iter().zip(&mut parts) {
                *part = Part::of(component, low, high);
                total += part.chance;
            }
            if total <= 0.0 {
                return (f64::NEG_INFINITY, components.to_vec());
            }
            value += events * total.ln();
            for (part, sum) in parts.iter().zip(&mut sums) {
                let share = events * part.chance / total;
                sum.0 += share;
                sum.1 += share * part.mean;
                sum.2 += share * part.square;
            }
        }
        let next = components
            .iter()
            .zip(&sums)
            .map(|(component, &(weight, mean, square))| {
                if weight < 1e-9 {
                    return Component { weight: 1e-12, ..*component };
                }
                // In deviations from the old centre: what is subtracted is small.
                let shift = mean / weight;
                let mu = self.seen(component.mu + component.sigma * shift);
                let moved = (mu - component.mu) / component.sigma;
                let variance = (square / weight - 2.0 * moved * shift + moved * moved).max(0.0);
                Component {
                    weight: weight / self.n,
                    mu,
                    sigma: (component.sigma * variance.sqrt()).max(self.narrowest),
                }
            })
            .collect();
        (value, next)
    }
}

/// What a component has in a cell: probability, and mean and mean square there in its own deviations.
#[derive(Clone, Copy, Default)]
struct Part {
    chance: f64,
    mean: f64,
    square: f64,
}

impl Part {
    fn of(component: &Component, low: f64, high: f64) -> Self {
        let (a, b) = ((low - component.mu) / component.sigma, (high - component.mu) / component.sigma);
        if a > 38.0 || b < -38.0 {
            return Self::default();
        }
        // In the smaller tail.
        let inside = if a > 0.0 { tail(a) - tail(b) } else { tail(-b) - tail(-a) };
        if inside <= 0.0 {
            return Self::default();
        }
        let density = |z: f64| if z.is_finite() { (-0.5 * z * z).exp() / (2.0 * PI).sqrt() } else { 0.0 };
        let (at_a, at_b) = (density(a), density(b));
        let edge = |z: f64, density: f64| if z.is_finite() { z * density } else { 0.0 };
        let mean = (at_a - at_b) / inside;
        let square = 1.0 + (edge(a, at_a) - edge(b, at_b)) / inside;
        Self {
            chance: component.weight * inside,
            mean: mean.clamp(a.max(-40.0), b.min(40.0)),
            square: square.max(mean * mean),
        }
    }
}

/// 1 − Φ(z).
fn tail(z: f64) -> f64 {
    if z > 30.0 { normal_tails(z).above.exp() } else { 0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::{IDLE, IOZONE64, binned};
    use crate::{Counted, Meaning};

    /// Likelihoods by number of components, and the reference's best BIC.
    fn hold(data: &str, table: &[f64], bic: f64) -> Vec<Mixture> {
        let found = mixtures(&binned(data), Kind::Lognormal, 7);
        for (mixture, reference) in found.iter().zip(table) {
            let wrong = mixture.log_likelihood - reference;
            assert!(wrong > -1.0, "{} components: {wrong}", mixture.components.len());
            assert!(mixture.components.len() > 2 || wrong.abs() < 0.01, "{wrong}");
        }
        let best = found.iter().map(|mixture| mixture.bic).fold(f64::INFINITY, f64::min);
        assert!(best < bic + 2.0, "{best}, reference {bic}");
        found
    }

    #[test]
    fn the_idle_machine_has_the_five_paths_of_the_reference() {
        let table =
            [-28867.5458, -25002.6748, -24572.6016, -24465.8471, -24416.8121, -24404.3902, -24395.7225];
        let found = hold(IDLE, &table, 48963.118);
        let reference =
            [(0.504334, 6.538), (0.179560, 8.425), (0.183181, 13.862), (0.127089, 18.799), (0.005836, 36.74)];
        assert!(found[4].bic < found[3].bic && found[4].bic < found[5].bic);
        for (component, (weight, median)) in found[4].components.iter().zip(reference) {
            let at = component.median(Kind::Lognormal);
            assert!(
                (component.weight - weight).abs() < 0.01 && (at / median - 1.0).abs() < 0.02,
                "{component:?}"
            );
        }
    }

    #[test]
    fn likelihoods_under_disk_load_reach_the_reference() {
        let table =
            [-29966.6537, -28893.2381, -28504.8978, -28429.6467, -28380.9393, -28368.1128, -28359.8878];
        hold(IOZONE64, &table, 56891.372);
    }

    #[test]
    fn tied_values_do_not_make_components() {
        // Two spikes on one tick each: a density would go on to gain without end.
        let ticks = [(6, 3000), (7, 40), (8, 20), (20, 2000), (21, 10)];
        let found =
            mixtures(&Counted::ticks(Meaning::default(), ticks, None).unwrap().binned(), Kind::Normal, 7);
        let best = found.iter().map(|mixture| mixture.log_likelihood).fold(f64::NEG_INFINITY, f64::max);
        let saturated =
            crate::likelihood::saturated(&Counted::ticks(Meaning::default(), ticks, None).unwrap().binned());
        assert!(best <= saturated + 1e-6, "{best} {saturated}");
    }

    #[test]
    fn what_is_below_zero_has_no_logarithm() {
        let counted = Counted::ticks(Meaning::default(), [(-5, 10), (0, 3), (4, 9), (5, 7)], None).unwrap();
        assert!(mixtures(&counted.binned(), Kind::Lognormal, 7).is_empty());
        assert!(!mixtures(&counted.binned(), Kind::Normal, 7).is_empty());
    }
}
