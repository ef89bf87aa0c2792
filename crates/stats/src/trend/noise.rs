//! What nights scatter about their level: a white part, larger where a night's own error is, and a part that neighbours
//! share and forget from day to day (an autoregression in continuous time); by the likelihood of a Kalman filter.

use super::levels::Levels;
use super::weighted::Weighted;

/// The noise about levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noise {
    /// Variance of a night whose own is 1.
    pub(super) variance: f64,
    /// Share of it that neighbours have in common.
    shared: f64,
    /// How much of that is left a day later.
    memory: f64,
    /// Nights that would say as much if none had anything in common, less the levels.
    pub(super) freedom: f64,
}

/// Memories and shares that are tried, beside no memory at all.
const MEMORIES: [f64; 7] = [0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98];
const SHARES: [f64; 5] = [0.15, 0.3, 0.5, 0.75, 0.98];
/// Before any night is seen, a night is taken to be so much like the next,
const USUAL: f64 = 0.2;
/// and that is worth so many nights
const WORTH: f64 = 40.0;
/// of a row of so many; fewer of a shorter one, which cannot tell likeness from a change: then likeness is the safer guess.
const LONG: f64 = 300.0;
/// How much of what levels take of the likelihood counts (all of it is the restricted likelihood): nothing in a row of so many nights,
/// in which a level that doubles must be told though the nights before it rose,
const FIRST: f64 = 18.0;
/// more by one in so many nights, until a month,
const RISES: f64 = 9.2;
/// and from there less by one in so many
const FALLS: f64 = 77.0;
/// until nothing of it: false alarms of rows of 30 to 120 nights that are alike were the measure.
const UNTIL: f64 = 130.0;
/// Of longer rows the latest nights tell how alike neighbours are.
const ENOUGH: usize = 1200;
/// What a change costs, in logarithms of the number of nights: its place and its size.
const COST: f64 = 2.0;

impl Noise {
    /// About these levels, with what they cost together: twice the negative logarithm of the likelihood, and the price
    /// of each change.
    pub(super) fn about(row: &Weighted, levels: &Levels) -> (Self, f64) {
        Self::of(row, levels, &levels.residuals(row), levels.changes().count() as f64)
    }

    /// The same of what is left when so many changes are taken out, which levels like these take of the likelihood.
    pub(super) fn of(row: &Weighted, levels: &Levels, residuals: &[f64], changes: f64) -> (Self, f64) {
        let from = row.len().saturating_sub(ENOUGH);
        let white = (Self { variance: 1.0, shared: 0.0, memory: 0.0, freedom: 0.0 }, f64::INFINITY);
        let mut best = white;
        let tried = MEMORIES.iter().flat_map(|&memory| SHARES.map(|shared| (memory, shared)));
        for (memory, shared) in std::iter::once((0.0, 0.0)).chain(tried) {
            let noise = Self { memory, shared, ..white.0 };
            let prior = noise.prior(row.len());
            let cost = noise.filtered(row, residuals, from).1 + prior + noise.taken(levels, row.len());
            if cost < best.1 {
                best = (noise, cost);
            }
        }
        let noise = best.0;
        let (variance, cost) = noise.filtered(row, residuals, 0);
        let prior = noise.prior(row.len());
        let count = row.len() as f64;
        let alike = noise.likeness();
        let freedom = (count * (1.0 - alike) / (1.0 + alike) - 1.0 - 2.0 * changes).max(3.0);
        // Levels took part of the scatter with them.
        let variance = variance * count / (count - 1.0 - changes).max(1.0);
        (Self { variance, freedom, ..noise }, cost + prior + COST * count.ln() * changes)
    }

    /// What levels took of the likelihood with them: the less, the more alike their nights are. Counted in rows that are too short to
    /// tell likeness from a change, most in those of a month.
    fn taken(&self, levels: &Levels, nights: usize) -> f64 {
        let nights = nights as f64;
        let share = ((nights - FIRST) / RISES).min((UNTIL - nights) / FALLS).max(0.0);
        let of = |(start, end, _): (usize, usize, f64)| {
            let count = end - start;
            (count as f64 / self.inflation(count)).ln()
        };
        if share > 0.0 { share * levels.segments().map(of).sum::<f64>() } else { 0.0 }
    }

    /// What its likeness costs in a row of so many nights.
    fn prior(&self, nights: usize) -> f64 {
        WORTH * (nights as f64 / LONG).min(1.0) * (self.likeness() - USUAL).powi(2)
    }

    /// The correlation of a night with that of the day after.
    pub(super) fn likeness(&self) -> f64 {
        self.shared * self.memory
    }

    /// Variance that fits best, and twice the negative logarithm of the likelihood with it.
    fn filtered(&self, row: &Weighted, residuals: &[f64], from: usize) -> (f64, f64) {
        let (mut state, mut uncertain) = (0.0, self.shared);
        let (mut squares, mut product, mut logarithms) = (0.0, 1.0f64, 0.0);
        for (night, residual) in residuals.iter().enumerate().skip(from) {
            if night > from {
                let kept = self.kept(row.days[night] - row.days[night - 1]);
                state *= kept;
                uncertain = kept * kept * uncertain + (1.0 - kept * kept) * self.shared;
            }
            let own = (1.0 - self.shared) * row.variances[night];
            let total = uncertain + own;
            let surprise = residual - state;
            let certain = 1.0 / total;
            squares += surprise * surprise * certain;
            product *= total;
            if !(1e-100..1e100).contains(&product) {
                logarithms += product.ln();
                product = 1.0;
            }
            state += uncertain * certain * surprise;
            uncertain *= own * certain;
        }
        let count = (residuals.len() - from) as f64;
        let variance = (squares / count).max(f64::MIN_POSITIVE);
        (variance, count * variance.ln() + logarithms + product.ln())
    }

    fn kept(&self, days: f64) -> f64 {
        // Most nights are a day apart, give or take minutes.
        if (days - 1.0).abs() < 0.02 { self.memory } else { self.memory.powf(days) }
    }

    /// Variance of the sum of coefficients (from this night on) times nights; `wider` is how much more each scatters.
    pub(super) fn variance_of(
        &self,
        row: &Weighted,
        start: usize,
        coefficients: impl Iterator<Item = (f64, f64)>,
    ) -> f64 {
        let (mut own, mut common, mut before, mut last) = (0.0, 0.0, 0.0, 0.0);
        for (index, (coefficient, wider)) in coefficients.enumerate() {
            let night = start + index;
            if index > 0 {
                before = self.kept(row.days[night] - row.days[night - 1]) * (before + last);
            }
            last = coefficient * wider.sqrt();
            own += last * last * row.variances[night];
            common += last * last + 2.0 * last * before;
        }
        self.variance * ((1.0 - self.shared) * own + self.shared * common)
    }

    /// How many times as much the mean of so many nights varies as if they had nothing in common.
    pub(super) fn inflation(&self, nights: usize) -> f64 {
        let count = nights.max(1) as f64;
        let (mut sum, mut kept) = (0.0, 1.0);
        for distance in 1..nights {
            kept *= self.memory;
            sum += (1.0 - distance as f64 / count) * kept;
            if kept < 1e-6 {
                break;
            }
        }
        1.0 + 2.0 * self.shared * sum
    }
}
