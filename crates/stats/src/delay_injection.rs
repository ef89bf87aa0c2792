//! Which code path is it? A delay put into a path moves the modes that cross it, as often as they cross it.
//!
//! Events of mode m that crossed the place j times lie j delays further: f(x) = Σ π_mj · g_m(x − j·X), where g_m is what
//! the mode was without the delay, and X the delays that were really added. All parts are known but their weights, so the
//! most likely weights are one optimum, and expectation maximisation climbs to it.

use crate::Binned;

/// Name of the estimator.
pub const ESTIMATOR: &str = "expectation maximisation of the share of each mode's events that crossed the probe 0 to 3 \
     times, each mode as it was without the delay; intervals by the jackknife over rounds with Student's t";

/// More crossings are not told apart.
const MOST: usize = 3;
/// Cells of the lattice to a delay, and at most in all.
const TO_A_DELAY: f64 = 16.0;
const MOST_CELLS: usize = 4096;
const STEPS: usize = 2000;
/// No weight moves further in the last step.
const STILL: f64 = 1e-8;
/// Share of an event that any cell may have without the model's knowledge.
const ANYWHERE: f64 = 1e-9;

/// What the delay did to one mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossed {
    /// Share of all events without the delay.
    pub before: f64,
    /// With it.
    pub after: f64,
    /// How often an event of the mode crossed the place on average; `None` where no event is left to the mode.
    pub mean: Option<f64>,
}

/// What the delay did to all.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossings {
    /// One a mode.
    pub modes: Vec<Crossed>,
    /// Share of the events that would have to lie elsewhere for the model to hold.
    pub total_variation: f64,
    /// What that is in the mean where the model holds, for the chance of counts alone.
    pub noise: f64,
}

/// From events without the delay to events with it. `modes` are ranges of values from low to high; `delays` are those that
/// were really added, each with how often.
///
/// `None` of no events, modes or delays.
pub fn crossings(
    before: &Binned,
    after: &Binned,
    modes: &[(f64, f64)],
    delays: &[(f64, f64)],
) -> Option<Crossings> {
    let weight: f64 = delays.iter().map(|(_, weight)| weight).sum();
    let mean = delays.iter().map(|(delay, weight)| delay * weight).sum::<f64>() / weight;
    let usable =
        mean > 0.0 && mean.is_finite() && before.count() > 0 && after.count() > 0 && !modes.is_empty();
    if !usable {
        return None;
    }
    let lattice = Lattice::of(before, after, mean);
    let kernel = lattice.kernel(delays, weight);
    let mut parts: Vec<Vec<f64>> = Vec::with_capacity(modes.len() * (MOST + 1));
    let mut shares = Vec::with_capacity(modes.len());
    for (index, _) in modes.iter().enumerate() {
        // Between two modes the border is where the next one begins; beyond the last there is none.
        let from = if index == 0 { f64::NEG_INFINITY } else { modes[index].0 };
        let to = modes.get(index + 1).map_or(f64::INFINITY, |next| next.0);
        let mut part = lattice.counts(before, from, to);
        let mass: f64 = part.iter().sum();
        shares.push(mass / before.count() as f64);
        part.iter_mut().for_each(|cell| *cell /= mass.max(f64::MIN_POSITIVE));
        for _ in 0..=MOST {
            let next = convolved(&part, &kernel);
            parts.push(std::mem::replace(&mut part, next));
        }
    }
    let seen = lattice.counts(after, f64::NEG_INFINITY, f64::INFINITY);
    let weights = likeliest(&parts, &seen, &shares);
    let modes = weights
        .chunks(MOST + 1)
        .zip(&shares)
        .map(|(weights, &before)| {
            let after: f64 = weights.iter().sum();
            let crossed: f64 = weights.iter().enumerate().map(|(times, weight)| times as f64 * weight).sum();
            Crossed { before, after, mean: (after > 1e-6).then(|| crossed / after) }
        })
        .collect();
    let n: f64 = seen.iter().sum();
    let expected =
        |cell: usize| -> f64 { parts.iter().zip(&weights).map(|(part, weight)| weight * part[cell]).sum() };
    let total_variation =
        (0..seen.len()).map(|cell| (seen[cell] / n - expected(cell)).abs()).sum::<f64>() / 2.0;
    // The mean distance of a normal variable from its mean is √(2/π) standard deviations; both sides were counted.
    let counts = 1.0 / n + 1.0 / before.count() as f64;
    let deviation = |cell: usize| (2.0 / std::f64::consts::PI * expected(cell) * counts).sqrt();
    let noise = (0..seen.len()).map(deviation).sum::<f64>() / 2.0;
    Some(Crossings { modes, total_variation, noise })
}

/// Cells of equal width; the last holds all that is longer.
struct Lattice {
    low: f64,
    width: f64,
    cells: usize,
}

impl Lattice {
    fn of(before: &Binned, after: &Binned, delay: f64) -> Self {
        let low =
            before.cells().iter().chain(after.cells()).map(|cell| cell.low).fold(f64::INFINITY, f64::min);
        // The longest thousandth is not told apart.
        let high = |binned: &Binned| {
            let rank = (binned.count() as f64 * 0.999).ceil() as u64;
            binned.ranked(rank.max(1)).unwrap_or(low)
        };
        let high = high(before).max(high(after)) + (MOST as f64 + 1.0) * delay;
        let quantum = before.quantum().max(after.quantum());
        let width = (delay / TO_A_DELAY).max(quantum).max((high - low) / MOST_CELLS as f64);
        Self { low, width, cells: ((high - low) / width).ceil().max(1.0) as usize + 1 }
    }

    /// Events with a value from here to there, spread evenly over their cells.
    fn counts(&self, binned: &Binned, from: f64, to: f64) -> Vec<f64> {
        let mut counts = vec![0.0; self.cells];
        for cell in binned.cells().iter().filter(|cell| cell.value >= from && cell.value < to) {
            let place = |value: f64| ((value - self.low) / self.width).clamp(0.0, self.cells as f64 - 1e-9);
            let (first, last) = (place(cell.low), place(cell.high));
            let length = last - first;
            if length <= 0.0 {
                counts[first as usize] += cell.count as f64;
                continue;
            }
            for (index, count) in counts.iter_mut().enumerate().take(last as usize + 1).skip(first as usize) {
                let inside = last.min(index as f64 + 1.0) - first.max(index as f64);
                *count += cell.count as f64 * inside / length;
            }
        }
        if let Some((_, long)) = binned.above().filter(|(at, _)| *at >= from && *at < to) {
            counts[self.cells - 1] += long as f64;
        }
        counts
    }

    /// How likely a shift by so many cells is; a delay between two shifts is shared out to both.
    fn kernel(&self, delays: &[(f64, f64)], weight: f64) -> Vec<(usize, f64)> {
        let mut kernel = std::collections::BTreeMap::<usize, f64>::new();
        for (delay, times) in delays {
            let cells = (delay / self.width).clamp(0.0, self.cells as f64);
            let beyond = cells.fract();
            *kernel.entry(cells as usize).or_default() += (1.0 - beyond) * times / weight;
            *kernel.entry(cells as usize + 1).or_default() += beyond * times / weight;
        }
        kernel.into_iter().filter(|(_, share)| *share > 0.0).collect()
    }
}

fn convolved(part: &[f64], kernel: &[(usize, f64)]) -> Vec<f64> {
    let mut moved = vec![0.0; part.len()];
    for (cell, mass) in part.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
        for (shift, share) in kernel {
            moved[(cell + shift).min(part.len() - 1)] += mass * share;
        }
    }
    moved
}

/// Weights of the parts, which sum to 1.
fn likeliest(parts: &[Vec<f64>], seen: &[f64], shares: &[f64]) -> Vec<f64> {
    let n: f64 = seen.iter().sum();
    let occupied: Vec<usize> = (0..seen.len()).filter(|&cell| seen[cell] > 0.0).collect();
    let mut weights: Vec<f64> =
        shares.iter().flat_map(|share| [share / (MOST + 1) as f64; MOST + 1]).collect();
    for _ in 0..STEPS {
        let mut gained = vec![0.0; weights.len()];
        for &cell in &occupied {
            let density: f64 = parts.iter().zip(&weights).map(|(part, weight)| weight * part[cell]).sum();
            let each = seen[cell] / (density + ANYWHERE);
            for (gained, part) in gained.iter_mut().zip(parts) {
                *gained += each * part[cell];
            }
        }
        let mut moved = 0.0f64;
        for (weight, gained) in weights.iter_mut().zip(&gained) {
            let next = *weight * gained / n;
            moved = moved.max((next - *weight).abs());
            *weight = next;
        }
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum.max(f64::MIN_POSITIVE));
        if moved < STILL {
            break;
        }
    }
    weights
}

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// Of all rounds.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Between {
    /// From the estimate of all rounds and of all but each (Quenouille 1956, Tukey 1958); `None` of fewer than three.
    pub fn jackknife(value: f64, without: &[f64]) -> Option<Self> {
        let rounds = without.len() as f64;
        if rounds < 3.0 {
            return None;
        }
        let mean = without.iter().sum::<f64>() / rounds;
        let squares: f64 = without.iter().map(|one| (one - mean).powi(2)).sum();
        let error = (squares * (rounds - 1.0) / rounds).sqrt();
        let reach = error * crate::special::student_quantile(rounds - 1.0, 0.975);
        Some(Self { value, low: value - reach, high: value + reach })
    }
}

/// What is known of a mode and a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Mean crossings by the delay X.
    pub once: Between,
    /// By 2X, where that was measured.
    pub twice: Option<Between>,
    /// What no delay at all looks like.
    pub floor: f64,
    /// By how much the share of the mode's events changed with the delay, and without one.
    pub moved: f64,
    /// The same between two measurements without a delay.
    pub moved_by_itself: f64,
    /// The mode's standard deviation.
    pub width: f64,
    /// The delay.
    pub delay: f64,
}

/// Whether a mode's events cross a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Each of them, so many times.
    OnPath(u32),
    /// Some of them.
    Partly,
    /// None.
    Not,
    /// The events do not say.
    Undecided(Why),
}

/// Why it is undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The delay is less than the mode is wide: nothing can be seen to move.
    TooShort,
    /// X and 2X were crossed a different number of times: the delay changed how the program works.
    DoseDiffers,
    /// The delay changed how often the mode occurs: queueing, or feedback on the load.
    MassMoved,
    /// The interval holds several answers.
    TooFew,
}

/// A mean this near a whole number is that number.
const NEAR: f64 = 0.1;
/// The share of events that may change modes unnoticed.
const UNNOTICED: f64 = 0.02;

impl Evidence {
    /// What it says.
    pub fn path(&self) -> Path {
        if self.delay < self.width {
            return Path::Undecided(Why::TooShort);
        }
        if self.moved.abs() > UNNOTICED.max(3.0 * self.moved_by_itself.abs()) {
            return Path::Undecided(Why::MassMoved);
        }
        let floor = NEAR.max(2.0 * self.floor.abs());
        let Between { value, low, high } = self.once;
        if let Some(twice) = self.twice {
            let apart = twice.low > high || low > twice.high;
            if apart && (twice.value - value).abs() > NEAR.max(self.floor.abs()) {
                return Path::Undecided(Why::DoseDiffers);
            }
        }
        let whole = value.round();
        if high < floor {
            Path::Not
        } else if whole >= 1.0 && low >= whole - NEAR && high <= whole + NEAR {
            Path::OnPath(whole as u32)
        } else if low > floor && (high < 1.0 - NEAR || low > 1.0 + NEAR) {
            Path::Partly
        } else {
            Path::Undecided(Why::TooFew)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counted, Meaning};
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution as _, Normal};

    /// A service with three paths, at 5, 11 and 18.5 us; the delay is added to each path as often as it says.
    fn service(crossings: [f64; 3], delay_us: f64, seed: u64) -> Binned {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let paths = [(0.80, 5.0, 0.5), (0.17, 11.0, 0.7), (0.03, 18.5, 0.8)];
        let ticks = paths.into_iter().zip(crossings).flat_map(|((share, at, sd), times)| {
            let count = (share * 60_000.0) as u64;
            let law = Normal::new(at, sd).unwrap();
            (0..count)
                .map(|number| {
                    // A part of a crossing is a crossing of that part of the events.
                    let whole =
                        times.floor() + f64::from((number as f64 + 0.5) / count as f64 <= times.fract());
                    let value: f64 = law.sample(&mut chance) + whole * delay_us;
                    ((value * 1000.0 / 50.0).round() as i64, 1)
                })
                .collect::<Vec<_>>()
        });
        let meaning = Meaning { unit_ns: 1000, quantum_ns: 50.0, ..Meaning::default() };
        Counted::ticks(meaning, ticks, None).unwrap().binned()
    }

    const MODES: [(f64, f64); 3] = [(3.0, 8.0), (8.0, 15.0), (15.0, 24.0)];

    #[track_caller]
    fn crossed(crossings_were: [f64; 3], tolerance: f64) {
        let before = service([0.0; 3], 0.0, 1);
        let found = crossings(&before, &service(crossings_were, 3.0, 2), &MODES, &[(3.0, 1.0)]).unwrap();
        for (found, truth) in found.modes.iter().zip(crossings_were) {
            assert!((found.mean.unwrap() - truth).abs() < tolerance, "{found:?} {truth}");
            assert!((found.before - found.after).abs() < 0.01, "{found:?}");
        }
        assert!(found.total_variation < 0.05, "{}", found.total_variation);
    }

    #[test]
    fn the_path_that_crosses_the_probe_is_found() {
        crossed([1.0, 0.0, 0.0], 0.08);
        crossed([0.0, 1.0, 2.0], 0.08);
        crossed([0.0, 0.0, 0.0], 0.08);
    }

    #[test]
    fn half_the_events_of_a_path_are_half_a_crossing() {
        crossed([0.5, 0.0, 1.0], 0.08);
    }

    #[test]
    fn the_delays_that_were_really_added_are_what_counts() {
        let before = service([0.0; 3], 0.0, 1);
        let after = service([1.0, 0.0, 0.0], 3.4, 2);
        let as_asked = crossings(&before, &after, &MODES, &[(3.0, 1.0)]).unwrap();
        let as_realised = crossings(&before, &after, &MODES, &[(3.3, 1.0), (3.5, 1.0)]).unwrap();
        assert!(as_realised.total_variation < as_asked.total_variation);
        assert!((as_realised.modes[0].mean.unwrap() - 1.0).abs() < 0.03);
    }

    #[test]
    fn nothing_to_compare_is_no_answer() {
        let some = service([0.0; 3], 0.0, 1);
        let none = Counted::ticks(Meaning::default(), [], None).unwrap().binned();
        for (before, after, modes, delay) in [
            (&none, &some, &MODES[..], 3.0),
            (&some, &none, &MODES[..], 3.0),
            (&some, &some, &[], 3.0),
            (&some, &some, &MODES[..], 0.0),
        ] {
            assert_eq!(crossings(before, after, modes, &[(delay, 1.0)]), None);
        }
    }

    fn evidence(value: f64, half: f64) -> Evidence {
        Evidence {
            once: Between { value, low: value - half, high: value + half },
            twice: None,
            floor: 0.02,
            moved: 0.0,
            moved_by_itself: 0.0,
            width: 1.0,
            delay: 3.0,
        }
    }

    #[test]
    fn a_verdict_is_what_the_interval_leaves() {
        for (value, half, path) in [
            (1.0, 0.05, Path::OnPath(1)),
            (2.03, 0.05, Path::OnPath(2)),
            (0.5, 0.1, Path::Partly),
            (0.02, 0.05, Path::Not),
            (0.9, 0.4, Path::Undecided(Why::TooFew)),
        ] {
            assert_eq!(evidence(value, half).path(), path, "{value} ± {half}");
        }
    }

    #[test]
    fn guards_withhold_a_verdict() {
        let sure = evidence(1.0, 0.05);
        assert_eq!(Evidence { width: 4.0, ..sure }.path(), Path::Undecided(Why::TooShort));
        assert_eq!(Evidence { moved: 0.2, ..sure }.path(), Path::Undecided(Why::MassMoved));
        let twice = Some(Between { value: 0.5, low: 0.4, high: 0.6 });
        assert_eq!(Evidence { twice, ..sure }.path(), Path::Undecided(Why::DoseDiffers));
        let noisy = Evidence { floor: 0.3, ..evidence(0.4, 0.1) };
        assert_eq!(noisy.path(), Path::Not, "no delay at all looks like that");
    }

    #[test]
    fn rounds_that_agree_have_a_narrow_interval_and_two_have_none() {
        let narrow = Between::jackknife(1.0, &[1.0, 1.01, 0.99, 1.0]).unwrap();
        assert!(narrow.low < 1.0 && narrow.high > 1.0 && narrow.high - narrow.low < 0.2);
        assert_eq!(Between::jackknife(1.0, &[1.0, 1.0]), None);
    }
}
