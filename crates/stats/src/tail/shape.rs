//! Which of three laws the ticks of a tail have.

use crate::chance::seeded;
use crate::simplex::{EXACT, minimum};
use crate::special::{Tails, normal_tails};
use crate::{Binned, Cell};
use rand::Rng as _;
use std::ops::RangeInclusive;

const DRAWS: u32 = 999;

/// Three laws for the ticks of a tail: flat, falling, or a bump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailShape {
    /// AIC of equal chances from the first tick to the last that was seen.
    pub uniform: f64,
    /// AIC of chances that fall by the same factor from tick to tick.
    pub geometric: f64,
    /// AIC of a normal law whose centre is in the tail, cut off below the first tick.
    pub bump: f64,
    /// Mean and deviation of that normal law.
    pub bump_at: (f64, f64),
    /// Whether that centre lies beyond the first values of the tail: without that the law only falls.
    pub bump_rises: bool,
    /// Largest distance of the events but the last from equal chances.
    pub uniform_distance: f64,
    /// How often equal chances give as large a distance.
    pub uniform_p: f64,
}

impl TailShape {
    /// Of the events recorded at `from` or above; `None` of fewer than three, or where the length of some is not
    /// known.
    pub fn of(binned: &Binned, from: f64, seed: u64) -> Option<Self> {
        let tick = binned.quantum();
        let cells: Vec<&Cell> =
            binned.cells().iter().filter(|cell| cell.value >= from - tick * 1e-6).collect();
        let k: u64 = cells.iter().map(|cell| cell.count).sum();
        let last = cells.last().filter(|_| k >= 3 && binned.above().is_none())?;
        let ticks = ((last.value - from) / tick).round() + 1.0;
        let n = k as f64;
        let steps = |cell: &Cell| ((cell.value - from) / tick).round();
        let mean = cells.iter().map(|cell| cell.count as f64 * steps(cell)).sum::<f64>() / n;
        let stop = 1.0 / (1.0 + mean);
        let geometric = n * (stop.ln() + mean * (-stop).ln_1p());
        let start = from - tick / 2.0;
        let (bump, at) = bump(&cells, start, start..=last.high);
        let seen = cells.iter().map(|cell| (steps(cell), cell.count));
        let uniform_distance = flat_distance(seen, k, ticks);
        let mut rng = seeded(seed);
        // Chance needs no more draws of a long tail than it needs to be known.
        let drawn_events = k.min(20_000) - 1;
        let uniform_p = if k > 20_000 {
            // Kolmogorov's limit.
            let z = uniform_distance * (n - 1.0).sqrt();
            (2.0 * (-2.0 * z * z).exp()).min(1.0)
        } else {
            crate::chance::p_value(uniform_distance, DRAWS, 100, || {
                let mut draws: Vec<u64> =
                    (0..drawn_events).map(|_| rng.random_range(0..ticks as u64)).collect();
                draws.sort_unstable();
                flat_distance(draws.iter().map(|&at| (at as f64, 1)), drawn_events + 1, ticks)
            })
        };
        Some(Self {
            uniform: 2.0 + 2.0 * n * ticks.ln(),
            geometric: 2.0 - 2.0 * geometric,
            bump: 4.0 - 2.0 * bump,
            bump_at: at,
            bump_rises: at.0 > cells[0].high,
            uniform_distance,
            uniform_p,
        })
    }

    /// `uniform`, `geometric` or `bump`: the least AIC. A bump that does not rise within the tail is none.
    pub fn best(&self) -> &'static str {
        let without_bump = self.uniform.min(self.geometric);
        if self.bump_rises && self.bump < without_bump {
            "bump"
        } else if self.uniform <= self.geometric {
            "uniform"
        } else {
            "geometric"
        }
    }
}

/// Largest distance of the first `count − 1` events from equal chances of so many ticks.
fn flat_distance(events: impl Iterator<Item = (f64, u64)>, count: u64, ticks: f64) -> f64 {
    let without_last = (count - 1) as f64;
    let mut below = 0;
    let mut distance = 0.0f64;
    for (at, events) in events {
        // Just below this tick, and at it.
        distance = distance.max((below as f64 / without_last - at / ticks).abs());
        below = (below + events).min(count - 1);
        distance = distance.max((below as f64 / without_last - (at + 1.0) / ticks).abs());
        if below == count - 1 {
            break;
        }
    }
    distance
}

/// The most likely normal law cut off below `start` with its centre where there are events: log likelihood, mean and
/// deviation.
fn bump(cells: &[&Cell], start: f64, seen: RangeInclusive<f64>) -> (f64, (f64, f64)) {
    let n: f64 = cells.iter().map(|cell| cell.count as f64).sum();
    let mean = cells.iter().map(|cell| cell.count as f64 * cell.middle()).sum::<f64>() / n;
    let spread = (cells.iter().map(|cell| cell.count as f64 * (cell.middle() - mean).powi(2)).sum::<f64>()
        / n)
        .sqrt()
        .max(cells[0].high - cells[0].low);
    // A slope that never ends is geometric: no peak is where nothing was seen.
    let law = |at: &[f64]| ((mean + spread * at[0]).clamp(*seen.start(), *seen.end()), at[1].exp());
    let mut loss = |at: &[f64]| {
        let (mu, sigma) = law(at);
        let tails = |x: f64| -> Tails { normal_tails((x - mu) / sigma) };
        let beyond = tails(start).above;
        cells
            .iter()
            .map(|cell| -(cell.count as f64) * (tails(cell.low).ln_until(tails(cell.high)) - beyond))
            .sum()
    };
    let found = minimum(&mut loss, &[0.0, spread.ln()], &[0.3, 0.3], EXACT);
    (-found.value, law(&found.at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::{IDLE, IOZONE64, binned};

    #[test]
    fn no_bump_is_where_nothing_was_seen() {
        // As delays fall: the most likely centre of a normal law would be far below zero.
        let falling: Vec<(i64, u64)> =
            (0..60).map(|at| (100 + at, (4000.0 * (-0.1 * at as f64).exp()) as u64)).collect();
        let rising: Vec<(i64, u64)> = falling.iter().map(|(at, count)| (300 - at, *count)).collect();
        for events in [falling, rising] {
            let counted = crate::Counted::ticks(crate::Meaning::default(), events, None).unwrap();
            let binned = counted.binned();
            let cells = binned.cells();
            let (lowest, highest) = (cells[0].low, cells[cells.len() - 1].high);
            let found = TailShape::of(&binned, lowest.ceil(), 7).unwrap();
            assert!((lowest..=highest).contains(&found.bump_at.0), "{found:?}");
            for kind in [crate::mixture::Kind::Normal, crate::mixture::Kind::Lognormal] {
                for component in
                    crate::mixture::mixtures(&binned, kind, 7).iter().flat_map(|found| &found.components)
                {
                    assert!((lowest..=highest).contains(&component.median(kind)), "{component:?}");
                }
            }
        }
    }

    #[test]
    fn a_bump_lies_within_the_tail_or_is_not_named() {
        // A few beyond 28 of wake-ups about 12: the most likely centre lies below them, and wide enough it beats both others.
        let body = (6..28).map(|at| (at, 300));
        let heavy = [(28, 12), (29, 9), (31, 7), (35, 6), (40, 4), (52, 3), (67, 2), (111, 1), (400, 1)];
        for farther in [238, 900, 2300, 9000] {
            let tail = heavy.into_iter().chain([(farther, 2)]);
            let binned = counted(body.clone().chain(tail));
            let found = TailShape::of(&binned, 28.0, 7).unwrap();
            assert!(found.bump_at.0 >= 27.5 && found.best() != "bump", "{farther}: {found:?}");
        }
        let peak = (0..41i32)
            .map(|at| (80 + i64::from(at), (400.0 * (-0.01 * f64::from(at - 20).powi(2)).exp()) as u64));
        let found = TailShape::of(&counted(body.chain(peak)), 28.0, 7).unwrap();
        assert!(found.best() == "bump" && (found.bump_at.0 - 100.0).abs() < 1.0, "{found:?}");
    }

    fn counted(events: impl Iterator<Item = (i64, u64)>) -> Binned {
        crate::Counted::ticks(crate::Meaning::default(), events, None).unwrap().binned()
    }

    #[test]
    fn a_tail_is_flat_or_falls_or_has_a_bump() {
        let idle = TailShape::of(&binned(IDLE), 47.0, 7).unwrap();
        let busy = TailShape::of(&binned(IOZONE64), 47.0, 7).unwrap();
        for (found, reference) in [
            (idle.uniform, 57.85),
            (idle.geometric, 55.12),
            (busy.uniform, 267.72),
            (busy.geometric, 274.91),
            (busy.bump, 273.57),
        ] {
            assert!((found - reference).abs() < 0.03, "{found} {reference}");
        }
        assert!(
            (idle.uniform_distance - 0.555556).abs() < 1e-6 && (0.015..0.05).contains(&idle.uniform_p),
            "{idle:?}"
        );
        assert!(
            (busy.uniform_distance - 0.198712).abs() < 1e-6 && (0.15..0.25).contains(&busy.uniform_p),
            "{busy:?}"
        );
        assert_eq!(busy.best(), "uniform");
        assert!((busy.bump_at.0 - 56.4).abs() < 0.3 && (busy.bump_at.1 - 55.5).abs() < 0.3, "{busy:?}");
    }
}
