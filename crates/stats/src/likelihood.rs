//! How likely events are whose true values are known by interval only, and how far a law is from them.

use crate::special::Tails;
use crate::{Binned, Law};

/// Lattices of more cells are not walked tick by tick: empty ticks in a row are one cell.
const MOST_TICKS: f64 = 4096.0;
/// Cells are pooled until so many events are expected in each (Pearson's X²).
const EXPECTED: f64 = 5.0;

/// Σ c·ln [F(high) − F(low)], without the multinomial constant; −∞ where the law excludes an event.
///
/// Events known only to be long count with what the law has beyond.
pub fn log_likelihood(binned: &Binned, law: &Law) -> f64 {
    let mut before: Option<(f64, Tails)> = None;
    let mut sum = 0.0;
    for cell in binned.cells() {
        let low = match before {
            Some((edge, tails)) if edge == cell.low => tails,
            _ => law.tails(cell.low),
        };
        let high = law.tails(cell.high);
        sum += cell.count as f64 * low.ln_until(high);
        before = Some((cell.high, high));
    }
    if let Some((from, count)) = binned.above() {
        sum += count as f64 * law.tails(from).above;
    }
    sum
}

/// The log likelihood that no law exceeds: each cell has the share that it was seen with.
pub fn saturated(binned: &Binned) -> f64 {
    let n = binned.count() as f64;
    let counts = binned.cells().iter().map(|cell| cell.count).chain(binned.above().map(|(_, count)| count));
    counts.map(|count| count as f64 * (count as f64 / n).ln()).sum()
}

/// How far a law is from the events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Largest difference of the distribution functions at an edge.
    pub kolmogorov: f64,
    /// Share of the events that would have to move for the law to hold.
    pub total_variation: f64,
    /// What `total_variation` is on average where the law holds and chance alone moves the events.
    pub by_chance: f64,
    /// Pearson's X², cells pooled from left to right until 5 events are expected in each.
    pub chi_square: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
    /// Discrete Anderson–Darling statistic (Choulakian, Lockhart and Stephens 1994), end cells open.
    pub anderson_darling: f64,
}

impl Distance {
    /// Of a law with so many parameters fitted to these events.
    pub fn of(binned: &Binned, law: &Law, parameters: usize) -> Self {
        let cells = Lattice::of(binned).cells(law);
        let n = binned.count() as f64;
        let mut distance = Self {
            kolmogorov: 0.0,
            total_variation: 0.0,
            by_chance: 0.0,
            chi_square: 0.0,
            freedom: 0.0,
            anderson_darling: 0.0,
        };
        let (mut seen, mut expected) = (0.0, 0.0);
        let mut pools: Vec<(f64, f64)> = Vec::new();
        let mut pool = (0.0, 0.0);
        let last = cells.len() - 1;
        for (index, cell) in cells.iter().enumerate() {
            distance.total_variation += (cell.events / n - cell.inside).max(0.0);
            distance.by_chance +=
                (cell.inside * (1.0 - cell.inside) / n / (2.0 * std::f64::consts::PI)).sqrt();
            // The first and the last cell are open.
            let open = cell.inside
                + if index == 0 { cell.before } else { 0.0 }
                + if index == last { cell.behind } else { 0.0 };
            if index == 0 {
                distance.kolmogorov = cell.before;
            }
            seen += cell.events;
            expected += open * n;
            let at_edge = if index == last { (expected / n - cell.behind).min(1.0) } else { expected / n };
            distance.kolmogorov = distance.kolmogorov.max((seen / n - at_edge).abs());
            let h = expected / n;
            if index < last && h > 0.0 && h < 1.0 {
                distance.anderson_darling += (seen - expected).powi(2) * open / (h * (1.0 - h));
            }
        }
        // What is before the first cell and behind the last are cells of their own here.
        let before = cells.first().map(|cell| (0.0, cell.before * n));
        let behind = cells.last().map(|cell| (0.0, cell.behind * n));
        let inside = cells.iter().map(|cell| (cell.events, cell.inside * n));
        for (events, expected) in before.into_iter().chain(inside).chain(behind) {
            pool = (pool.0 + events, pool.1 + expected);
            if pool.1 >= EXPECTED {
                pools.push(std::mem::take(&mut pool));
            }
        }
        if let Some(end) = pools.last_mut() {
            end.0 += pool.0;
            end.1 += pool.1;
        } else {
            pools.push(pool);
        }
        distance.anderson_darling /= n;
        distance.chi_square =
            pools.iter().map(|(o, e)| if *e > 0.0 { (o - e).powi(2) / e } else { 0.0 }).sum();
        distance.freedom = pools.len() as f64 - 1.0 - parameters as f64;
        distance
    }

    /// Chance of as large an X² where the law holds; `None` without a degree of freedom.
    pub fn chi_square_p(&self) -> Option<f64> {
        (self.freedom >= 1.0).then(|| crate::special::chi_square_above(self.chi_square, self.freedom))
    }
}

/// The cells from the smallest event to the largest, empty ones too.
pub(crate) struct Lattice {
    /// (low, high, events).
    pub(crate) cells: Vec<(f64, f64, f64)>,
    /// Whether each cell is a tick, empty ones too.
    pub(crate) dense: bool,
}

/// One of them under a law.
struct Under {
    events: f64,
    inside: f64,
    /// Probability of less than the first cell.
    before: f64,
    /// Probability of more than the last.
    behind: f64,
}

impl Lattice {
    pub(crate) fn of(binned: &Binned) -> Self {
        let tick = binned.quantum();
        let all = binned.cells();
        let span = all.last().map_or(0.0, |cell| cell.high) - all.first().map_or(0.0, |cell| cell.low);
        let dense = span / tick <= MOST_TICKS && all.iter().all(|cell| cell.high - cell.low < tick * 1.5);
        let mut cells: Vec<(f64, f64, f64)> = Vec::new();
        for cell in all {
            if let Some(&(_, end, _)) = cells.last()
                && cell.low - end > tick * 0.5
            {
                let empty = if dense { ((cell.low - end) / tick).round() as usize } else { 1 };
                let step = (cell.low - end) / empty as f64;
                cells.extend((0..empty).map(|k| (end + k as f64 * step, end + (k + 1) as f64 * step, 0.0)));
            }
            cells.push((cell.low, cell.high, cell.count as f64));
        }
        if let Some((from, count)) = binned.above() {
            let end = cells.last().map_or(from, |cell| cell.1);
            if from > end {
                cells.push((end, from, 0.0));
            }
            cells.push((from, f64::INFINITY, count as f64));
        }
        Self { cells, dense }
    }

    /// Probability of each cell under a law, the first and the last open.
    pub(crate) fn chances(&self, law: &Law) -> Vec<f64> {
        let cells = self.cells(law);
        let last = cells.len().saturating_sub(1);
        let open = |(index, cell): (usize, &Under)| {
            let before = if index == 0 { cell.before } else { 0.0 };
            let behind = if index == last { cell.behind } else { 0.0 };
            cell.inside + before + behind
        };
        cells.iter().enumerate().map(open).collect()
    }

    /// Other events in the same cells.
    pub(crate) fn recounted(&self, counts: &[u64], quantum: f64) -> Binned {
        let cells = self.cells.iter().zip(counts).filter(|(_, count)| **count > 0);
        let cells = cells.map(|(&(low, high, _), &count)| crate::Cell {
            value: (low + high) / 2.0,
            low,
            high,
            count,
        });
        Binned::new(cells.collect(), None, quantum)
    }

    fn cells(&self, law: &Law) -> Vec<Under> {
        let tails = |x: f64| if x == f64::INFINITY { Tails::END } else { law.tails(x) };
        let mut low = self.cells.first().map_or(Tails::START, |cell| tails(cell.0));
        self.cells
            .iter()
            .map(|&(_, high, events)| {
                let high = tails(high);
                let under = Under {
                    events,
                    inside: low.ln_until(high).exp(),
                    before: low.probability(),
                    behind: high.above.exp(),
                };
                low = high;
                under
            })
            .collect()
    }
}
