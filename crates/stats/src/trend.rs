//! Did a level move, and when? A row of nights, each with a value and perhaps its standard error, to changes of the level.
//!
//! Values are taken as logarithms: the size of a change is a ratio less 1. Nights count by what their own errors are
//! worth ([`Widths`]), single nights far off are told apart, and what neighbouring nights have in common is
//! part of the noise: a white part and an autoregression over the time between nights, so that a missing
//! night is a gap. Places are proposed by weighted cusums over seeded intervals (Kovács, Li, Bühlmann and Munk 2023);
//! how many of them there are is chosen by the likelihood of what is left, noise and levels together; each is kept only
//! where Student's t with that noise is beyond what so many places give by chance. Several steps one way that a line
//! explains better are a drift.

mod confirmed;
mod levels;
mod noise;
mod places;
mod ramps;
mod tested;
#[cfg(test)]
mod tests;
mod weighted;

use crate::compare::Verdict;
pub use confirmed::{Against, Confirmed};
use levels::Levels;
use noise::Noise;
use weighted::Weighted;
pub use weighted::Widths;

/// Name of the estimator.
pub const ESTIMATOR: &str = "weighted levels at places from seeded cusums, chosen by likelihood with a white and an autoregressive \
     part of the noise, each kept by Student's t against all places; the night by the profile of the cost";
/// A level of fewer nights is not believed at all.
pub const FEWEST: usize = 3;
/// A change whose level has fewer nights that are nearer to it than to the one before is only suspected.
pub const YOUNG: usize = 5;
/// Fewer nights tell nothing about a change.
pub const FEWEST_NIGHTS: usize = 8;

/// What was measured in one night.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Night {
    /// When, in days from any moment; not before the night before it.
    pub day: f64,
    /// What was found; above zero.
    pub value: f64,
    /// Its standard error, where it is known.
    pub error: Option<f64>,
    /// Whether something was changed on purpose before it: the level from here on is another one, and that is no news.
    pub is_marked: bool,
}

/// Which changes matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WantedEffect {
    /// The least ratio less 1 that matters.
    pub smallest_effect: f64,
    /// Whether a larger value is better.
    pub more_is_better: bool,
}

/// The level changed from one night to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The first night of the new level.
    pub at: usize,
    /// The first night that may have been it; of 95 %.
    pub at_low: usize,
    /// The last.
    pub at_high: usize,
    /// New level ÷ old level − 1.
    pub size: f64,
    /// Lower end of its 95 % interval.
    pub size_low: f64,
    /// Upper end.
    pub size_high: f64,
    /// What that says.
    pub verdict: Verdict,
    /// Whether the new level has so few nights that it should be measured again before anybody is told.
    pub is_suspected: bool,
    /// The probability of as clear a change somewhere in the row where nothing changes.
    pub by_chance: f64,
}

/// The level went one way over many nights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drifting {
    /// The last night of the old level.
    pub from: usize,
    /// The first night of the new one.
    pub to: usize,
    /// New level ÷ old level − 1.
    pub size: f64,
    /// Lower end of its 95 % interval.
    pub size_low: f64,
    /// Upper end.
    pub size_high: f64,
    /// What that says.
    pub verdict: Verdict,
}

/// The level got worse and rose again, or the other way round, and is worse than it was before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behind {
    /// The nights before it got worse, the last one exclusive.
    pub before: (usize, usize),
    /// The nights since it came back as far as it did.
    pub after: (usize, usize),
    /// Level after ÷ level before − 1.
    pub size: f64,
    /// Lower end of its 95 % interval.
    pub size_low: f64,
    /// Upper end.
    pub size_high: f64,
    /// What that says.
    pub verdict: Verdict,
}

/// Nights of one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Its first night.
    pub start: usize,
    /// The night behind its last.
    pub end: usize,
    /// Its level.
    pub level: f64,
}

/// What a row of nights says.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// Changes, in order.
    pub changes: Vec<Change>,
    /// Drifts, in order.
    pub drifts: Vec<Drifting>,
    /// Levels behind a change for the worse and one back, held against the level before both: whoever knows of the first does not
    /// know of what came after it.
    pub behind: Vec<Behind>,
    /// Single nights that are far from their level, and are not a change.
    pub excursions: Vec<usize>,
    /// Nights of one level, in order; a drift stands between two of them.
    pub segments: Vec<Segment>,
    /// What was made of the nights' own errors.
    pub widths: Widths,
    /// What a night of median weight scatters about its level, as a ratio.
    pub scatter: f64,
    /// The correlation of a night with the next, one day later.
    pub likeness: f64,
}

impl Trend {
    /// Of nights in order of time; `None` of fewer than [`FEWEST_NIGHTS`].
    ///
    /// # Panics
    /// If a value is not above zero, or a night is before the one before it.
    pub fn of(nights: &[Night], wanted: WantedEffect) -> Option<Self> {
        assert!(nights.iter().all(|night| night.value > 0.0), "values are above zero");
        assert!(nights.windows(2).all(|pair| pair[0].day <= pair[1].day), "nights are in order of time");
        if nights.len() < FEWEST_NIGHTS {
            return None;
        }
        let mut row = Weighted::of(nights);
        // Where each night has its own machine, no level has a second night.
        let ends = row.stretches.iter().skip(1).copied().chain([nights.len()]);
        if row.stretches.iter().zip(ends).all(|(start, end)| end - start < FEWEST_NIGHTS) {
            return None;
        }
        let (levels, _) = tested::kept(&row, &places::proposed(&row));
        let (levels, noise, ramps) = if let Some((ramp, noise)) = ramps::whole(&row, &levels) {
            (levels, noise, vec![ramp])
        } else {
            let starts: Vec<(usize, usize)> = levels.segments().map(|(start, end, _)| (start, end)).collect();
            row.draw_to(&starts);
            let levels = Levels::of(&row, &levels.changes().collect::<Vec<_>>());
            let (noise, _) = Noise::about(&row, &levels);
            let ramps = ramps::found(&row, &levels, &noise);
            (levels, noise, ramps)
        };
        let judged = |size: f64, error: f64| SizedChange::of(size, error * noise.reach(), wanted);
        let changes: Vec<Change> = levels
            .changes()
            .filter(|change| !ramps.iter().any(|ramp| ramp.holds(*change)))
            .map(|place| (place, tested::nights(&row, &levels, place, &noise)))
            // What may have come with a mark is no news.
            .filter(|(_, (low, high))| !row.passed.iter().any(|mark| (low..=high).contains(&mark)))
            .map(|(place, (at_low, at_high))| {
                let step = tested::Step::of(&row, &levels, place, &noise);
                let SizedChange { size, low, high, verdict } = judged(step.size, step.error);
                let holding = levels.holding(&row, place);
                Change {
                    at: place,
                    at_low,
                    at_high,
                    size,
                    size_low: low,
                    size_high: high,
                    verdict,
                    is_suspected: holding < YOUNG,
                    by_chance: step.by_chance(&row, &noise),
                }
            })
            .collect();
        let drifts = ramps
            .iter()
            .map(|ramp| {
                let SizedChange { size, low, high, verdict } = judged(ramp.size, ramp.error);
                Drifting { from: ramp.from, to: ramp.to, size, size_low: low, size_high: high, verdict }
            })
            .collect();
        let behind = behind(&levels, &changes, wanted)
            .into_iter()
            .map(|(before, after)| {
                let step = tested::Step::between(&row, before, after, &noise);
                let SizedChange { size, low, high, verdict } = judged(step.size, step.error);
                Behind { before, after, size, size_low: low, size_high: high, verdict }
            })
            .collect();
        Some(Self {
            changes,
            drifts,
            behind,
            excursions: excursions(&row, &levels, &ramps, &noise),
            segments: segments(&row, &levels, &ramps),
            widths: row.widths,
            scatter: noise.variance.sqrt(),
            likeness: noise.likeness(),
        })
    }
}

/// A size on the scale of ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizedChange {
    /// A ratio less 1.
    pub size: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What that says.
    pub verdict: Verdict,
}

impl SizedChange {
    /// Of a difference of logarithms that may be farther by `half`.
    pub fn of(size: f64, half: f64, wanted: WantedEffect) -> Self {
        let [size, low, high] = [size, size - half, size + half].map(f64::exp_m1);
        Self { size, low, high, verdict: wanted.verdict(low, high) }
    }
}

impl WantedEffect {
    /// What a ratio less 1 says that lies between these.
    pub fn verdict(&self, low: f64, high: f64) -> Verdict {
        let above = self.smallest_effect.max(0.0);
        let below = -above / (1.0 + above);
        match (low > above, high < below) {
            (true, _) if self.more_is_better => Verdict::Improved,
            (true, _) => Verdict::Regressed,
            (_, true) if self.more_is_better => Verdict::Regressed,
            (_, true) => Verdict::Improved,
            _ if low > below && high < above => Verdict::Equivalent,
            _ => Verdict::NoEvidence,
        }
    }
}

/// Nights before changes for the worse that follow one another, and nights behind those for the better that follow these. A level
/// that is young is not held against another one, and what lies across a mark or a drift is not either.
fn behind(
    levels: &Levels,
    changes: &[Change],
    wanted: WantedEffect,
) -> Vec<((usize, usize), (usize, usize))> {
    let is_worse = |change: &Change| (change.size < 0.0) == wanted.more_is_better;
    let mut found = Vec::new();
    for row in changes.chunk_by(|one, other| levels.end_of(one.at) == other.at) {
        let runs: Vec<&[Change]> = row.chunk_by(|one, other| is_worse(one) == is_worse(other)).collect();
        for pair in runs.windows(2).filter(|pair| is_worse(&pair[0][0])) {
            let at = pair[0][0].at;
            let last = pair[1].iter().rfind(|change| !change.is_suspected);
            found.extend(last.map(|last| ((levels.start_before(at), at), (last.at, levels.end_of(last.at)))));
        }
    }
    found
}

/// A night that is so many standard deviations from its level stands apart.
const APART: f64 = 5.0;

fn excursions(row: &Weighted, levels: &Levels, ramps: &[ramps::Ramp], noise: &Noise) -> Vec<usize> {
    let is_far = |night: &usize| {
        let level = ramps.iter().find_map(|ramp| ramp.level(row, *night));
        let level = level.unwrap_or_else(|| levels.level_of(*night));
        (row.seen[*night] - level).abs() > APART * (noise.variance * row.variances[*night]).sqrt()
    };
    (0..row.seen.len()).filter(is_far).collect()
}

fn segments(row: &Weighted, levels: &Levels, ramps: &[ramps::Ramp]) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut all: Vec<(usize, usize, f64)> = levels.segments().collect();
    if let ([(start, end, level)], [ramp]) = (&all[..], ramps) {
        // A line through a whole row stands between two parts of one level.
        all = vec![(*start, ramp.to, *level), (ramp.to, *end, *level)];
    }
    for (start, end, level) in all {
        let (mut start, mut end, mut level) = (start, end, level);
        for ramp in ramps {
            if ramp.first <= start && end <= ramp.end {
                // Of the levels that a drift takes the place of, the parts outside of it stay.
                let (before, after) = (start <= ramp.from, end > ramp.to);
                match (before, after) {
                    (true, _) if start == ramp.first => {
                        end = end.min(ramp.from + 1);
                        level = ramp.before;
                    }
                    (_, true) if end == ramp.end => {
                        start = start.max(ramp.to);
                        level = ramp.before + ramp.size;
                    }
                    _ => end = start,
                }
            }
        }
        if start < end {
            segments.push(Segment { start, end, level: (level + row.origin).exp() });
        }
    }
    segments
}
