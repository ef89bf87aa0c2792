//! Probability plot correlation: how straight the sorted events lie on a law's quantiles (Filliben 1975; NIST
//! handbook 1.3.3.23).
//!
//! It looks at quantiles alone, so a few far events can decide it: beside it stands what the same correlation is for
//! events drawn from that law and rounded alike.

use crate::chance::{multinomial, seeded};
use crate::simplex::golden;
use crate::{Binned, Law};

/// Name of the estimator.
pub const ESTIMATOR: &str =
    "correlation of the sorted events with the quantiles of Filliben's order statistic medians";
/// Ranks at either end that are taken one by one; further in, a few nodes stand for many ranks.
const ONE_BY_ONE: u64 = 16;
const DRAWS: u32 = 99;
/// Steps of a table of quantiles, in the logarithm of p ÷ (1 − p).
const TABLE_STEP: f64 = 0.125;
/// The lattice of the draws has at most about so many cells.
const MOST_CELLS: f64 = 2000.0;

/// A family of shapes, or a single shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shape {
    Tukey,
    Gamma,
    Weibull,
    Gev,
    Lognormal,
    Normal,
    Exponential,
    Logistic,
    Gumbel,
    Uniform,
    Cauchy,
}

/// The straightest plot of a family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Straightest {
    /// The family.
    pub shape: Shape,
    /// Its shape parameter; `None` of a single shape.
    pub parameter: Option<f64>,
    /// The correlation.
    pub r: f64,
    /// Where the line meets 0.
    pub loc: f64,
    /// Its slope.
    pub scale: f64,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Tukey,
        Self::Gamma,
        Self::Weibull,
        Self::Gev,
        Self::Lognormal,
        Self::Normal,
        Self::Exponential,
        Self::Logistic,
        Self::Gumbel,
        Self::Uniform,
        Self::Cauchy,
    ];

    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tukey => "tukey_lambda",
            Self::Gamma => "gamma",
            Self::Weibull => "weibull",
            Self::Gev => "gev",
            Self::Lognormal => "lognormal",
            Self::Normal => "normal",
            Self::Exponential => "exponential",
            Self::Logistic => "logistic",
            Self::Gumbel => "gumbel",
            Self::Uniform => "uniform",
            Self::Cauchy => "cauchy",
        }
    }

    /// The standard law with this shape parameter.
    fn law(self, parameter: f64) -> Law {
        match self {
            Self::Tukey => Law::Tukey { lambda: parameter },
            Self::Gamma => Law::Gamma { shape: parameter.exp(), scale: 1.0, loc: 0.0 },
            Self::Weibull => Law::Weibull { shape: parameter.exp(), scale: 1.0, loc: 0.0 },
            Self::Gev => Law::Gev { mu: 0.0, sigma: 1.0, xi: parameter },
            Self::Lognormal => Law::Lognormal { mu_log: 0.0, sigma_log: parameter.exp(), loc: 0.0 },
            Self::Normal => Law::Normal { mu: 0.0, sigma: 1.0 },
            Self::Exponential => Law::Exponential { scale: 1.0, loc: 0.0 },
            Self::Logistic => Law::Logistic,
            Self::Gumbel => Law::Gumbel,
            Self::Uniform => Law::Uniform,
            Self::Cauchy => Law::Cauchy,
        }
    }

    /// Where the shape parameter is looked for, in the coordinate of [`law`](Self::law), and the step of that.
    fn range(self) -> Option<(f64, f64, f64)> {
        match self {
            Self::Tukey => Some((-2.0, 2.0, 0.1)),
            Self::Gamma | Self::Weibull => Some((0.03f64.ln(), 60f64.ln(), 0.4)),
            Self::Gev => Some((-1.0, 2.0, 0.2)),
            Self::Lognormal => Some((0.02f64.ln(), 4f64.ln(), 0.4)),
            _ => None,
        }
    }

    /// The shape parameter as it is stated.
    fn stated(self, parameter: f64) -> f64 {
        if matches!(self, Self::Gamma | Self::Weibull | Self::Lognormal) {
            parameter.exp()
        } else {
            parameter
        }
    }
}

/// The sorted events, as few nodes as their correlations need.
#[derive(Clone, Debug)]
pub struct Plot {
    nodes: Vec<Node>,
    n: f64,
    mean: f64,
    spread: f64,
}

/// So many events of one value, at one probability.
#[derive(Clone, Copy, Debug)]
struct Node {
    value: f64,
    p: f64,
    weight: f64,
}

impl Plot {
    /// Of these events; `None` of fewer than three values, or where the length of some is not known.
    pub fn of(binned: &Binned) -> Option<Self> {
        if binned.cells().len() < 3 || binned.above().is_some() {
            return None;
        }
        Some(Self::of_cells(binned.cells().iter().map(|cell| (cell.value, cell.count)), binned.count()))
    }

    fn of_cells(cells: impl Iterator<Item = (f64, u64)>, n: u64) -> Self {
        let mut nodes = Vec::new();
        let mut from = 1;
        for (value, count) in cells.filter(|(_, count)| *count > 0) {
            ranks(&mut nodes, value, from, from + count - 1, n);
            from += count;
        }
        let n = n as f64;
        let mean = nodes.iter().map(|node| node.weight * node.value).sum::<f64>() / n;
        let spread = nodes.iter().map(|node| node.weight * (node.value - mean).powi(2)).sum();
        Self { nodes, n, mean, spread }
    }

    /// The straightest plot of a family of shapes.
    pub fn straightest(&self, shape: Shape) -> Straightest {
        let parameter = shape.range().map(|(low, high, step)| {
            let steps = ((high - low) / step).round() as usize;
            let grid = (0..=steps).map(|k| low + (high - low) * k as f64 / steps as f64);
            let best = grid.map(|x| (x, self.r(&shape.law(x)))).max_by(|a, b| a.1.total_cmp(&b.1));
            let at = best.map_or(low, |(at, _)| at);
            golden(&mut |x| -self.r(&shape.law(x)), (at - step).max(low), (at + step).min(high), 1e-6).0
        });
        let law = shape.law(parameter.unwrap_or(0.0));
        let (r, loc, scale) = self.line(&law);
        Straightest { shape, parameter: parameter.map(|x| shape.stated(x)), r, loc, scale }
    }

    /// The correlation over Tukey's λ from −2 to 2: (λ, r).
    pub fn over_lambda(&self) -> Vec<(f64, f64)> {
        (-20..=20)
            .map(|k| f64::from(k) / 10.0)
            .map(|lambda| (lambda, self.r(&Law::Tukey { lambda })))
            .collect()
    }

    fn r(&self, law: &Law) -> f64 {
        self.line(law).0
    }

    /// Correlation, intercept and slope of the line through the plot.
    fn line(&self, law: &Law) -> (f64, f64, f64) {
        let quantiles = self.quantiles(law);
        let weighted = |value: &dyn Fn(usize) -> f64| {
            self.nodes.iter().enumerate().map(|(index, node)| node.weight * value(index)).sum::<f64>()
        };
        let mean = weighted(&|index| quantiles[index]) / self.n;
        let square = weighted(&|index| (quantiles[index] - mean).powi(2));
        let both = weighted(&|index| (quantiles[index] - mean) * (self.nodes[index].value - self.mean));
        let scale = both / square;
        (both / (square * self.spread).sqrt(), self.mean - scale * mean, scale)
    }
}

impl Plot {
    /// The law's quantile at each node. Where nodes lie closer than a table's steps, it is read off one: what the
    /// plot of a billion events costs is what the table costs.
    fn quantiles(&self, law: &Law) -> Vec<f64> {
        let logit = |p: f64| (p / (1.0 - p)).ln();
        let (Some(first), Some(last)) = (self.nodes.first(), self.nodes.last()) else { return Vec::new() };
        let from = logit(first.p);
        let span = logit(last.p) - from;
        let steps = (span / TABLE_STEP).ceil().max(3.0) as usize;
        // Of more than 10^15 events the last is at 1, as far as doubles know.
        if !span.is_finite() || self.nodes.len() < 2 * steps {
            return self.nodes.iter().map(|node| law.quantile(node.p)).collect();
        }
        let at = |step: usize| law.quantile(1.0 / (1.0 + (-from - step as f64 * TABLE_STEP).exp()));
        let table: Vec<f64> = (0..=steps).map(at).collect();
        let read = |node: &Node| {
            let place = (logit(node.p) - from) / TABLE_STEP;
            let before = (place as usize).clamp(1, steps - 2);
            let t = place - before as f64;
            // Lagrange's cubic through four neighbours.
            let weights = [
                -t * (t - 1.0) * (t - 2.0) / 6.0,
                (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0,
                -(t + 1.0) * t * (t - 2.0) / 2.0,
                (t + 1.0) * t * (t - 1.0) / 6.0,
            ];
            weights.iter().zip(&table[before - 1..]).map(|(weight, value)| weight * value).sum()
        };
        self.nodes.iter().map(read).collect()
    }
}

/// The 5 % point of the correlation for events drawn from the line's law and rounded to ticks of this width:
/// a smaller one is rare where the law holds.
pub fn critical(found: &Straightest, n: u64, tick: f64, seed: u64) -> f64 {
    let coordinate = match found.shape {
        Shape::Gamma | Shape::Weibull | Shape::Lognormal => found.parameter.map(f64::ln),
        _ => found.parameter,
    };
    let law = found.shape.law(coordinate.unwrap_or(0.0));
    // Beyond these ends less than one event in a thousand samples falls.
    let rare = (1e-3 / n as f64).max(1e-15);
    let (low, high) =
        (found.loc + found.scale * law.quantile(rare), found.loc + found.scale * law.quantile(1.0 - rare));
    let width = tick * ((high - low) / tick / MOST_CELLS).ceil().max(1.0);
    let first = (low / width).round();
    let cells = ((high - low) / width).ceil().max(1.0) as usize + 1;
    let edges: Vec<f64> =
        (0..=cells).map(|k| ((first + k as f64 - 0.5) * width - found.loc) / found.scale).collect();
    let below: Vec<f64> = match law {
        Law::Tukey { .. } => edges.iter().map(|&edge| inverse(&law, edge)).collect(),
        _ => edges.iter().map(|&edge| law.tails(edge).probability()).collect(),
    };
    let chances: Vec<f64> = below.windows(2).map(|pair| (pair[1] - pair[0]).max(0.0)).collect();
    let mut rng = seeded(seed);
    let mut drawn: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let counts = multinomial(&mut rng, n, &chances);
            let total = counts.iter().sum();
            let values = counts.iter().enumerate().map(|(k, &count)| ((first + k as f64) * width, count));
            Plot::of_cells(values, total).r(&law)
        })
        .filter(|r| r.is_finite())
        .collect();
    drawn.sort_by(f64::total_cmp);
    drawn.get(drawn.len() / 20).copied().unwrap_or(1.0)
}

/// The distribution function of a law that is known by its quantiles, by bisection.
fn inverse(law: &Law, value: f64) -> f64 {
    let (mut low, mut high) = (-40.0f64, 40.0f64);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if law.quantile(1.0 / (1.0 + (-middle).exp())) < value { low = middle } else { high = middle }
    }
    1.0 / (1.0 + (-(low + high) / 2.0).exp())
}

/// Nodes for the ranks `from` to `to` of `n`: one each near the ends, and pieces that double further in.
fn ranks(nodes: &mut Vec<Node>, value: f64, from: u64, to: u64, n: u64) {
    let mut rank = from;
    while rank <= to {
        let end = end_of_piece(rank, n).min(to);
        if end - rank < 5 {
            nodes.extend((rank..=end).map(|rank| Node { value, p: median(rank as f64, n), weight: 1.0 }));
        } else {
            // Gauss and Legendre's five points: exact for polynomials of degree nine.
            const POINTS: [(f64, f64); 5] = [
                (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
                (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
                (0.0, 0.568_888_888_888_888_9),
                (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
                (0.906_179_845_938_664, 0.236_926_885_056_189_1),
            ];
            let half = (end - rank + 1) as f64 / 2.0;
            let middle = (rank as f64 + end as f64) / 2.0;
            nodes.extend(POINTS.map(|(at, weight)| Node {
                value,
                p: median(middle + half * at, n),
                weight: weight * half,
            }));
        }
        rank = end + 1;
    }
}

/// Last rank of the piece that begins here.
fn end_of_piece(rank: u64, n: u64) -> u64 {
    let from_end = n + 1 - rank;
    if rank <= ONE_BY_ONE || from_end <= ONE_BY_ONE {
        return rank;
    }
    if rank <= n / 2 {
        (rank.next_power_of_two() * 2 - 1).min(n / 2).max(rank)
    } else {
        // The same pieces, counted from the other end.
        let nearer = (from_end / 2 + 1).max(ONE_BY_ONE + 1);
        (n + 1 - nearer).max(rank)
    }
}

/// Filliben's median of the rank-th of n uniform order statistics.
fn median(rank: f64, n: u64) -> f64 {
    let n = n as f64;
    if rank <= 1.0 {
        -(0.5f64.ln() / n).exp_m1()
    } else if rank >= n {
        (0.5f64.ln() / n).exp()
    } else {
        (rank - 0.3175) / (n + 0.365)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::{IDLE, IOZONE64, binned};
    use crate::{Counted, Meaning};

    #[test]
    fn the_straightest_plots_are_those_of_the_reference() {
        let tables = [
            (
                IDLE,
                [
                    (Shape::Tukey, 0.021693, 0.857736),
                    (Shape::Gamma, 0.843252, 0.972046),
                    (Shape::Weibull, 0.956829, 0.971686),
                    (Shape::Gev, 0.156488, 0.962202),
                    (Shape::Lognormal, 0.636486, 0.966141),
                ],
                [0.856449, 0.971382, 0.857649, 0.942073, 0.831126, 0.276530],
            ),
            (
                IOZONE64,
                [
                    (Shape::Tukey, -0.308025, 0.822917),
                    (Shape::Gamma, 0.568270, 0.876381),
                    (Shape::Weibull, 0.565368, 0.895096),
                    (Shape::Gev, 0.352209, 0.947437),
                    (Shape::Lognormal, 1.080847, 0.928137),
                ],
                [0.765097, 0.871451, 0.782817, 0.848755, 0.717029, 0.412664],
            ),
        ];
        for (data, families, single) in tables {
            let plot = Plot::of(&binned(data)).unwrap();
            for (shape, parameter, r) in families {
                let found = plot.straightest(shape);
                assert!((found.r - r).abs() < 2e-5, "{shape:?} r {} reference {r}", found.r);
                let near = (found.parameter.unwrap() - parameter).abs();
                assert!(
                    near < 2e-3 * f64::abs(parameter).max(0.5),
                    "{shape:?} {found:?} reference {parameter}"
                );
            }
            let shapes = [
                Shape::Normal,
                Shape::Exponential,
                Shape::Logistic,
                Shape::Gumbel,
                Shape::Uniform,
                Shape::Cauchy,
            ];
            for (shape, r) in shapes.into_iter().zip(single) {
                let found = plot.straightest(shape).r;
                assert!((found - r).abs() < 2e-5, "{shape:?} {found} reference {r}");
            }
        }
        let gamma = Plot::of(&binned(IDLE)).unwrap().straightest(Shape::Gamma);
        assert!((gamma.loc - 5.330514).abs() < 1e-2 && (gamma.scale - 5.614997).abs() < 1e-2, "{gamma:?}");
    }

    #[test]
    fn without_its_tail_the_core_looks_normal() {
        for (data, lambda, r, normal) in
            [(IDLE, 0.141388, 0.872440, 0.872610), (IOZONE64, 0.191269, 0.941889, 0.941943)]
        {
            let plot = Plot::of(&binned(data).up_to(42.0)).unwrap();
            let tukey = plot.straightest(Shape::Tukey);
            assert!(
                (tukey.parameter.unwrap() - lambda).abs() < 2e-3 && (tukey.r - r).abs() < 2e-5,
                "{tukey:?}"
            );
            assert!((plot.straightest(Shape::Normal).r - normal).abs() < 2e-5);
        }
    }

    #[test]
    fn rounding_lowers_what_a_true_normal_reaches() {
        for (scale, reference) in [(2.0, 0.98937), (5.0, 0.99817), (20.0, 0.99975)] {
            let normal = Straightest { shape: Shape::Normal, parameter: None, r: 1.0, loc: 200.3, scale };
            let found = critical(&normal, 10_400, 1.0, 7);
            assert!((found - reference).abs() < 4e-4, "{scale}: {found} reference {reference}");
        }
        let gamma = Straightest { shape: Shape::Gamma, parameter: Some(0.85), r: 1.0, loc: 5.3, scale: 5.6 };
        let found = critical(&gamma, 10_400, 1.0, 7);
        assert!((found - 0.99757).abs() < 1e-3, "{found}");
    }

    #[test]
    fn few_nodes_stand_for_all_ranks() {
        let of = |times: u64| {
            let ticks = (0..50i64).map(|k| (k, (1 + k.unsigned_abs() % 7) * times));
            Plot::of(&Counted::ticks(Meaning::default(), ticks, None).unwrap().binned()).unwrap()
        };
        let (few, many) = (of(100), of(1_000_000_000));
        assert!(many.nodes.len() < 800, "{}", many.nodes.len());
        assert!((many.nodes.iter().map(|node| node.weight).sum::<f64>() / many.n - 1.0).abs() < 1e-12);
        assert!((few.straightest(Shape::Normal).r - many.straightest(Shape::Normal).r).abs() < 1e-3);
    }

    #[test]
    fn equal_events_have_no_plot() {
        let of = |ticks: &[(i64, u64)]| {
            Plot::of(&Counted::ticks(Meaning::default(), ticks.iter().copied(), None).unwrap().binned())
                .is_none()
        };
        assert!(of(&[]) && of(&[(7, 1)]) && of(&[(7, 100)]));
    }
}
