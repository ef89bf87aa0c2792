//! Goals that one bad trial decides: how long must a trial be, and where, to prove a bound cheaply?
//!
//! Loss by chance shows the sooner the longer a trial is, so the longest trials are kept for loads that are
//! likely to pass them, and loads that are likely to fail are tried with as short ones as show it.

/// Half the width of the window that is looked at, in grid steps.
const REACH: i32 = 64;
/// How the chance of a bad trial may rise around the crossing, and how much that is believed beforehand.
const SHAPES: [(Shape, f64); 11] = [
    (Shape::Tail(0.1), 0.25),
    (Shape::Tail(0.4), 0.20),
    (Shape::Tail(1.0), 0.15),
    (Shape::Tail(2.0), 0.10),
    (Shape::Tail(4.0), 0.08),
    (Shape::Tail(8.0), 0.05),
    (Shape::Tail(16.0), 0.03),
    (Shape::Knee(1.0), 0.05),
    (Shape::Knee(3.0), 0.04),
    (Shape::Knee(6.0), 0.04),
    (Shape::Knee(12.0), 0.04),
];

#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Losses come at random times, e times as often so many steps higher.
    Tail(f64),
    /// A trial is good or bad as a whole, whatever its length.
    Knee(f64),
}

impl Shape {
    /// Chance that a trial of `share` of the full duration is good, `above` steps above the crossing: there a
    /// full trial is good every other time.
    fn good(self, above: f64, share: f64) -> f64 {
        match self {
            Self::Tail(rise) => {
                libm::exp(-core::f64::consts::LN_2 * share * libm::exp((above / rise).min(40.0)))
            }
            Self::Knee(rise) => 1.0 / (1.0 + libm::exp((above / rise).min(40.0))),
        }
    }
}

/// What was seen at one load, in shares of the full duration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glance {
    pub(super) at: f64,
    pub(super) good: u32,
    pub(super) good_share: f64,
    /// Length of its shortest bad trial.
    pub(super) bad: Option<f64>,
}

/// What the trials near a load say of where full trials stop to be good.
#[derive(Debug)]
pub(super) struct Strict {
    /// Shape, position of the crossing, probability; the improbable left out.
    weights: Vec<(Shape, f64, f64)>,
}

impl Strict {
    pub(super) fn new(centre: f64, glances: &[Glance], hint: f64, doubt: f64) -> Self {
        let near: Vec<&Glance> =
            glances.iter().filter(|glance| (glance.at - centre).abs() <= f64::from(REACH)).collect();
        let mut weights = Vec::with_capacity(SHAPES.len() * 2 * REACH as usize);
        for (shape, before) in SHAPES {
            for step in -REACH..=REACH {
                let crossing = centre + f64::from(step);
                let off = (crossing - hint) / doubt;
                let mut log = libm::log(before) - 1.5 * libm::log1p(off * off / 2.0);
                for glance in &near {
                    let above = glance.at - crossing;
                    if glance.good > 0 {
                        log += match shape {
                            Shape::Tail(_) => libm::log(shape.good(above, glance.good_share).max(1e-30)),
                            Shape::Knee(_) => {
                                f64::from(glance.good) * libm::log(shape.good(above, 1.0).max(1e-30))
                            }
                        };
                    }
                    if let Some(share) = glance.bad {
                        log += libm::log((1.0 - shape.good(above, share)).max(1e-30));
                    }
                }
                weights.push((shape, crossing, log));
            }
        }
        let most = weights.iter().fold(f64::NEG_INFINITY, |most, &(_, _, log)| most.max(log));
        weights.retain(|&(_, _, log)| log > most - 6.0);
        let sum: f64 = weights.iter().map(|&(_, _, log)| libm::exp(log - most)).sum();
        for weight in &mut weights {
            weight.2 = libm::exp(weight.2 - most) / sum;
        }
        Self { weights }
    }

    /// Mean of the crossing.
    pub(super) fn crossing(&self) -> f64 {
        self.weights.iter().map(|&(_, crossing, weight)| crossing * weight).sum()
    }

    /// Chance that a trial of `share` of the full duration at a load is bad.
    pub(super) fn bad(&self, at: f64, share: f64) -> f64 {
        self.weights
            .iter()
            .map(|&(shape, crossing, weight)| weight * (1.0 - shape.good(at - crossing, share)))
            .sum()
    }

    /// Chance that a full trial at one load is good and one at a higher load is bad.
    pub(super) fn both(&self, lower: f64, upper: f64) -> f64 {
        let both = |&(shape, crossing, weight): &(Shape, f64, f64)| {
            weight * shape.good(lower - crossing, 1.0) * (1.0 - shape.good(upper - crossing, 1.0))
        };
        self.weights.iter().map(both).sum()
    }
}
