//! The twelve families of laws, each fitted to events by interval-censored maximum likelihood.

use crate::likelihood::{Distance, log_likelihood};
use crate::simplex::{EXACT, GLANCE, Patience, golden, minimum};
use crate::{Binned, Law};

/// Name of the estimator.
pub const ESTIMATOR: &str = "maximum likelihood of the intervals that the events are known to lie in";
/// No shape of a gamma law is larger: it is normal there.
const LARGEST_SHAPE: f64 = 1e7;
/// The whole shape of Erlang is near that of gamma.
const MOST_STEPS: usize = 20;

/// A family of laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Family {
    Normal,
    Gamma,
    GammaShifted,
    Erlang,
    ErlangShifted,
    Lognormal,
    LognormalShifted,
    Weibull,
    WeibullShifted,
    Exponential,
    ExponentialShifted,
    Gev,
}

/// The most likely law of a family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// Which family.
    pub family: Family,
    /// With which parameters.
    pub law: Law,
    /// Σ c·ln p, without the multinomial constant.
    pub log_likelihood: f64,
    /// How far off it is.
    pub distance: Distance,
    /// 2k − 2·ln L.
    pub aic: f64,
    /// k·ln n − 2·ln L.
    pub bic: f64,
}

impl Family {
    /// All twelve.
    pub const ALL: [Self; 12] = [
        Self::Normal,
        Self::Gamma,
        Self::GammaShifted,
        Self::Erlang,
        Self::ErlangShifted,
        Self::Lognormal,
        Self::LognormalShifted,
        Self::Weibull,
        Self::WeibullShifted,
        Self::Exponential,
        Self::ExponentialShifted,
        Self::Gev,
    ];

    /// As in JSON: `gamma_shifted`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Gamma => "gamma",
            Self::GammaShifted => "gamma_shifted",
            Self::Erlang => "erlang",
            Self::ErlangShifted => "erlang_shifted",
            Self::Lognormal => "lognormal",
            Self::LognormalShifted => "lognormal_shifted",
            Self::Weibull => "weibull",
            Self::WeibullShifted => "weibull_shifted",
            Self::Exponential => "exponential",
            Self::ExponentialShifted => "exponential_shifted",
            Self::Gev => "gev",
        }
    }

    /// Whether its start is a parameter.
    pub fn is_shifted(self) -> bool {
        matches!(
            self,
            Self::GammaShifted
                | Self::ErlangShifted
                | Self::LognormalShifted
                | Self::WeibullShifted
                | Self::ExponentialShifted
        )
    }

    /// Free parameters; the whole shape of Erlang is one.
    pub fn parameters(self) -> usize {
        match self {
            Self::Exponential => 1,
            Self::Gev
            | Self::GammaShifted
            | Self::ErlangShifted
            | Self::LognormalShifted
            | Self::WeibullShifted => 3,
            _ => 2,
        }
    }

    /// The most likely law of this family; `None` where the events are outside of it, or fill so few cells that the
    /// parameters are not determined.
    pub fn fit(self, binned: &Binned) -> Option<Fitted> {
        let cells = binned.cells();
        if cells.len() <= self.parameters() {
            return None;
        }
        let positive = cells[0].high > 0.0;
        let law = match self {
            Self::Normal => normal(binned),
            Self::Gev => gev(binned),
            _ if self.is_shifted() => shifted(self, binned),
            _ if !positive => return None,
            Self::Erlang => erlang(binned, false),
            Self::Exponential => exponential(binned, 0.0),
            _ => Search { family: self, binned }.at(0.0, EXACT).law,
        };
        Some(Fitted::new(self, law, binned)).filter(|fitted| fitted.log_likelihood.is_finite())
    }

    /// The most likely law near one that was found for almost the same events.
    pub fn refit(self, binned: &Binned, near: &Law) -> Option<Fitted> {
        let coordinates = coordinates(near, binned)?;
        let family = self;
        let mut loss = |at: &[f64]| loss(binned, law(family, near, at, binned));
        let steps = vec![0.05; coordinates.len()];
        let found = minimum(&mut loss, &coordinates, &steps, Patience { evaluations: 150, tolerance: 1e-3 });
        let law = law(family, near, &found.at, binned)?;
        Some(Fitted::new(self, law, binned))
    }
}

impl Fitted {
    fn new(family: Family, law: Law, binned: &Binned) -> Self {
        let log_likelihood = log_likelihood(binned, &law);
        let k = family.parameters() as f64;
        Self {
            family,
            law,
            log_likelihood,
            distance: Distance::of(binned, &law, family.parameters()),
            aic: 2.0 * k - 2.0 * log_likelihood,
            bic: k * (binned.count() as f64).ln() - 2.0 * log_likelihood,
        }
    }

    /// Parameters by name; the start of a law that is not shifted is none.
    pub fn parameters(&self) -> Vec<(&'static str, f64)> {
        let all = self.law.parameters();
        all.into_iter().filter(|(name, _)| *name != "loc" || self.family.is_shifted()).collect()
    }
}

/// Every family that can hold the events, the best by BIC first.
pub fn fit_all(binned: &Binned) -> Vec<Fitted> {
    let mut fitted: Vec<Fitted> = Family::ALL.iter().filter_map(|family| family.fit(binned)).collect();
    fitted.sort_by(|a, b| a.bic.total_cmp(&b.bic));
    fitted
}

fn loss(binned: &Binned, law: Option<Law>) -> f64 {
    law.map_or(f64::INFINITY, |law| -log_likelihood(binned, &law))
}

/// Coordinates in which a simplex may step freely: logarithms of what is positive, starts as the logarithm of how
/// far they are below the first event's upper edge.
fn coordinates(law: &Law, binned: &Binned) -> Option<Vec<f64>> {
    let edge = binned.cells().first()?.high;
    let (mean, spread) = rough(binned, 0.0);
    let start = |loc: f64, coordinates: [f64; 2]| {
        let mut all = coordinates.to_vec();
        all.push((edge - loc).max(1e-12).ln());
        all
    };
    Some(match *law {
        Law::Normal { mu, sigma } => vec![(mu - mean) / spread, sigma.ln()],
        Law::Gamma { shape, scale, loc } | Law::Weibull { shape, scale, loc } => {
            start(loc, [shape.ln(), scale.ln()])
        }
        Law::Lognormal { mu_log, sigma_log, loc } => start(loc, [mu_log, sigma_log.ln()]),
        Law::Exponential { scale, loc } => vec![scale.ln(), (edge - loc).max(1e-12).ln()],
        Law::Gev { mu, sigma, xi } => vec![(mu - mean) / spread, sigma.ln(), xi],
        _ => return None,
    })
}

/// The law of a family at such coordinates; what is fixed is taken from `like`.
fn law(family: Family, like: &Law, at: &[f64], binned: &Binned) -> Option<Law> {
    let edge = binned.cells().first()?.high;
    let (mean, spread) = rough(binned, 0.0);
    let start = |index: usize| if family.is_shifted() { edge - at[index].exp() } else { 0.0 };
    Some(match *like {
        Law::Normal { .. } => Law::Normal { mu: mean + spread * at[0], sigma: at[1].exp() },
        Law::Gamma { shape, .. } => {
            let whole = matches!(family, Family::Erlang | Family::ErlangShifted);
            let shape = if whole { shape } else { at[0].exp() };
            Law::Gamma { shape: (shape < LARGEST_SHAPE).then_some(shape)?, scale: at[1].exp(), loc: start(2) }
        }
        Law::Weibull { .. } => Law::Weibull { shape: at[0].exp(), scale: at[1].exp(), loc: start(2) },
        Law::Lognormal { .. } => Law::Lognormal { mu_log: at[0], sigma_log: at[1].exp(), loc: start(2) },
        Law::Exponential { .. } => Law::Exponential { scale: at[0].exp(), loc: start(1) },
        Law::Gev { .. } => Law::Gev { mu: mean + spread * at[0], sigma: at[1].exp(), xi: at[2] },
        _ => return None,
    })
}

/// Mean and deviation of the cells' middles from a start, never 0.
fn rough(binned: &Binned, loc: f64) -> (f64, f64) {
    let known: u64 = binned.cells().iter().map(|cell| cell.count).sum();
    let n = known as f64;
    let floor = binned.quantum() * 0.25;
    let middle = |cell: &crate::Cell| (cell.low.max(loc) + cell.high) / 2.0 - loc;
    let mean = binned.cells().iter().map(|cell| cell.count as f64 * middle(cell)).sum::<f64>() / n;
    let square = |cell: &crate::Cell| cell.count as f64 * (middle(cell) - mean).powi(2);
    let spread = (binned.cells().iter().map(square).sum::<f64>() / n).sqrt();
    (mean, spread.max(floor))
}

fn rough_log(binned: &Binned, loc: f64) -> (f64, f64) {
    let known: u64 = binned.cells().iter().map(|cell| cell.count).sum();
    let n = known as f64;
    let middle = |cell: &crate::Cell| ((cell.low.max(loc) + cell.high) / 2.0 - loc).max(1e-12).ln();
    let mean = binned.cells().iter().map(|cell| cell.count as f64 * middle(cell)).sum::<f64>() / n;
    let square = |cell: &crate::Cell| cell.count as f64 * (middle(cell) - mean).powi(2);
    (mean, (binned.cells().iter().map(square).sum::<f64>() / n).sqrt().max(0.01))
}

fn normal(binned: &Binned) -> Law {
    let (mean, spread) = rough(binned, 0.0);
    let like = Law::Normal { mu: mean, sigma: spread };
    let mut function = |at: &[f64]| loss(binned, law(Family::Normal, &like, at, binned));
    let found = minimum(&mut function, &[0.0, spread.ln()], &[0.1, 0.1], EXACT);
    law(Family::Normal, &like, &found.at, binned).unwrap_or(like)
}

fn gev(binned: &Binned) -> Law {
    let (mean, spread) = rough(binned, 0.0);
    let ranked = |p: f64| binned.ranked((p * binned.count() as f64).ceil() as u64).unwrap_or(mean);
    let (low, middle, high) = (ranked(0.25), ranked(0.5), ranked(0.75));
    let body = ((high - low) / 1.6).max(binned.quantum() * 0.5);
    let mut starts = Vec::new();
    for xi in [-0.1, 0.1, 0.4, 0.8] {
        starts.push(Law::Gev { mu: middle - 0.37 * body, sigma: body, xi });
    }
    starts.push(Law::Gev { mu: mean - 0.45 * spread, sigma: 0.78 * spread, xi: 0.01 });
    best_of(Family::Gev, binned, &starts, &[0.1, 0.2, 0.1])
}

/// The most likely law that the best of several starts leads to.
fn best_of(family: Family, binned: &Binned, starts: &[Law], steps: &[f64]) -> Law {
    let mut best: Option<(f64, Vec<f64>)> = None;
    let like = starts[0];
    let mut function = |at: &[f64]| loss(binned, law(family, &like, at, binned));
    for start in starts {
        let Some(at) = coordinates(start, binned) else { continue };
        let found = minimum(&mut function, &at, steps, GLANCE);
        if best.as_ref().is_none_or(|(value, _)| found.value < *value) {
            best = Some((found.value, found.at));
        }
    }
    let at = best.map_or_else(|| coordinates(&like, binned).unwrap_or_default(), |(_, at)| at);
    let found = minimum(&mut function, &at, steps, EXACT);
    law(family, &like, &found.at, binned).unwrap_or(like)
}

/// Laws of a family with a given start.
struct Search<'a> {
    family: Family,
    binned: &'a Binned,
}

/// The most likely of them.
struct Found {
    law: Law,
    loss: f64,
}

impl Search<'_> {
    /// The most likely law that starts at `loc`.
    fn at(&self, loc: f64, patience: Patience) -> Found {
        let (mean, spread) = rough(self.binned, loc);
        let like = match self.family {
            Family::Lognormal | Family::LognormalShifted => {
                let (mu_log, sigma_log) = rough_log(self.binned, loc);
                Law::Lognormal { mu_log, sigma_log, loc }
            }
            Family::Weibull | Family::WeibullShifted => {
                let shape = (mean / spread).powf(1.086).clamp(0.1, 1e3);
                Law::Weibull { shape, scale: mean, loc }
            }
            Family::Exponential | Family::ExponentialShifted => Law::Exponential { scale: mean, loc },
            _ => {
                let shape = (mean / spread).powi(2).clamp(0.05, LARGEST_SHAPE / 10.0);
                Law::Gamma { shape, scale: mean / shape, loc }
            }
        };
        let at = |at: &[f64]| match like {
            Law::Lognormal { .. } => Some(Law::Lognormal { mu_log: at[0], sigma_log: at[1].exp(), loc }),
            Law::Weibull { .. } => Some(Law::Weibull { shape: at[0].exp(), scale: at[1].exp(), loc }),
            Law::Exponential { .. } => Some(Law::Exponential { scale: at[0].exp(), loc }),
            // The mean and the shape are nearly independent; scale and shape are not.
            _ => Some(at[0].exp()).filter(|shape| *shape < LARGEST_SHAPE).map(|shape| Law::Gamma {
                shape,
                scale: at[1].exp() / shape,
                loc,
            }),
        };
        let (start, steps) = match like {
            Law::Lognormal { mu_log, sigma_log, .. } => (vec![mu_log, sigma_log.ln()], vec![sigma_log, 0.3]),
            Law::Weibull { shape, scale, .. } => (vec![shape.ln(), scale.ln()], vec![0.2, 0.2]),
            Law::Exponential { scale, .. } => (vec![scale.ln()], vec![0.2]),
            Law::Gamma { shape, scale, .. } => (vec![shape.ln(), (scale * shape).ln()], vec![0.3, 0.1]),
            _ => unreachable!("the families with a start are these"),
        };
        let mut function = |x: &[f64]| loss(self.binned, at(x));
        let found = minimum(&mut function, &start, &steps, patience);
        Found { law: at(&found.at).unwrap_or(like), loss: found.value }
    }
}

/// The start is searched too: at several distances below the first event, and at its lower edge, where the
/// likelihood may have a kink.
fn shifted(family: Family, binned: &Binned) -> Law {
    if family == Family::ErlangShifted {
        return erlang(binned, true);
    }
    let first = binned.cells()[0];
    let (_, spread) = rough(binned, 0.0);
    let width = first.high - first.low;
    let mut starts = vec![first.high - 0.1 * width, first.high - 0.4 * width, first.low];
    starts.extend([0.1, 0.3, 1.0, 3.0, 10.0].map(|share| first.low - share * spread));
    let search = Search { family, binned };
    let mut found: Vec<Found> = starts.iter().map(|&loc| search.at(loc, GLANCE)).collect();
    found.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    let steps: &[f64] = if family == Family::ExponentialShifted { &[0.1, 0.3] } else { &[0.1, 0.1, 0.3] };
    let like = found[0].law;
    let mut function = |at: &[f64]| loss(binned, law(family, &like, at, binned));
    let mut best = search.at(first.low, EXACT);
    for candidate in found.iter().take(2) {
        let Some(at) = coordinates(&candidate.law, binned) else { continue };
        let end = minimum(&mut function, &at, steps, EXACT);
        if end.value < best.loss - 1e-7
            && let Some(law) = law(family, &like, &end.at, binned)
        {
            best = Found { law, loss: end.value };
        }
    }
    best.law
}

/// The whole shape is climbed to from that of the gamma law.
fn erlang(binned: &Binned, with_start: bool) -> Law {
    let family = if with_start { Family::GammaShifted } else { Family::Gamma };
    let gamma =
        if with_start { shifted(family, binned) } else { Search { family, binned }.at(0.0, EXACT).law };
    let Law::Gamma { shape, .. } = gamma else { unreachable!("a gamma law was asked for") };
    let fit = |shape: f64| {
        if with_start { erlang_shifted(binned, shape, &gamma) } else { erlang_at(binned, shape, 0.0) }
    };
    let mut best = fit(shape.round().max(1.0));
    for step in [-1.0, 1.0] {
        for _ in 0..MOST_STEPS {
            let Law::Gamma { shape, .. } = best.law else { unreachable!("erlang laws are gamma laws") };
            if shape + step < 1.0 {
                break;
            }
            let next = fit(shape + step);
            if next.loss >= best.loss {
                break;
            }
            best = next;
        }
    }
    best.law
}

/// The most likely scale of a gamma law with this shape and start.
fn erlang_at(binned: &Binned, shape: f64, loc: f64) -> Found {
    let (mean, _) = rough(binned, loc);
    let centre = (mean / shape).ln();
    let mut function = |scale: f64| loss(binned, Some(Law::Gamma { shape, scale: scale.exp(), loc }));
    let (scale, loss) = golden(&mut function, centre - 1.5, centre + 1.5, 1e-7);
    Found { law: Law::Gamma { shape, scale: scale.exp(), loc }, loss }
}

fn erlang_shifted(binned: &Binned, shape: f64, near: &Law) -> Found {
    let first = binned.cells()[0];
    let Law::Gamma { loc, .. } = *near else { unreachable!("a gamma law was asked for") };
    let mut best = erlang_at(binned, shape, first.low);
    for start in [loc, first.low - 0.5 * (first.high - first.low)] {
        let from = erlang_at(binned, shape, start.min(first.high - 1e-6 * (first.high - first.low)));
        let Law::Gamma { scale, loc, .. } = from.law else { unreachable!("erlang laws are gamma laws") };
        let mut function = |at: &[f64]| {
            loss(binned, Some(Law::Gamma { shape, scale: at[0].exp(), loc: first.high - at[1].exp() }))
        };
        let end = minimum(&mut function, &[scale.ln(), (first.high - loc).ln()], &[0.1, 0.2], EXACT);
        if end.value < best.loss - 1e-7 {
            let law = Law::Gamma { shape, scale: end.at[0].exp(), loc: first.high - end.at[1].exp() };
            best = Found { law, loss: end.value };
        }
    }
    best
}

fn exponential(binned: &Binned, loc: f64) -> Law {
    Search { family: Family::Exponential, binned }.at(loc, EXACT).law
}

#[cfg(test)]
mod tests;
