//! Where to look: the first trials, until one loses a little or the loads that lose are near those that do not.

use super::constants::locate::{
    AT_AN_END, CREEPS, DEEP, FAILURES, HEAVY, HEAVY_FAILURES, LEADS, LITTLE, MOST, NEAR, NEAR_A_STEP, STEP,
};
use dropline_trial::{LoadRange, Rate, Ratio, Trial};

/// What the first trials come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LoadGuess {
    /// Not known yet; this load next.
    Open(Rate),
    /// Near this load.
    Near(Rate),
    /// Nothing is lost at the highest load.
    AtMaximum,
    /// Much is lost at the lowest load.
    BelowMinimum,
}

/// What was seen while looking.
#[derive(Debug)]
pub(super) struct Locate {
    range: LoadRange,
    seen: Vec<Seen>,
    /// First load.
    start: Rate,
    /// The share that every goal allows to be lost: so much is none.
    allowed: f64,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    load: Rate,
    loss: f64,
}

impl Locate {
    /// Begins at `start`.
    pub(super) fn new(range: LoadRange, start: Rate, allowed: Ratio) -> Self {
        Self { range, seen: Vec::new(), start: range.clamp(start), allowed: allowed.as_f64() }
    }

    /// No load above this one can be tried any more.
    pub(super) fn cap(&mut self, range: LoadRange) {
        self.range = range;
        self.start = range.clamp(self.start);
        self.seen.retain(|seen| seen.load <= range.max());
    }

    pub(super) fn record(&mut self, trial: &Trial) {
        let loss = trial.loss_ratio().unwrap_or(1.0) - self.allowed;
        self.seen.push(Seen { load: trial.input.load, loss: loss.max(0.0) / (1.0 - self.allowed) });
    }

    /// Between which loads the knee is, when time is over.
    pub(super) fn bracket(&self) -> (Rate, Rate) {
        let good = self.seen.iter().filter(|seen| seen.loss <= DEEP).map(|seen| seen.load).max();
        let good = good.unwrap_or(self.range.min());
        (good, self.lowest_deep(|load| load > good).unwrap_or(self.range.max()))
    }

    /// What is known, and what to try.
    pub(super) fn place(&self) -> LoadGuess {
        let Some(last) = self.seen.last() else { return LoadGuess::Open(self.start) };
        if LITTLE <= last.loss && last.loss <= DEEP {
            return LoadGuess::Near(last.load);
        }
        let good = self.seen.iter().filter(|seen| seen.loss < LITTLE).map(|seen| seen.load).max();
        let bad = self.lowest_deep(|load| good.is_none_or(|good| load > good));
        match (good, bad) {
            _ if self.seen.len() >= MOST => LoadGuess::Near(last.load),
            (Some(good), None) if good == self.range.max() => self.at_maximum(),
            (Some(good), bad) => self.up_from(good, bad),
            (None, Some(_)) => self.down(),
            (None, None) => LoadGuess::Near(last.load),
        }
    }

    fn deep(&self) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(|seen| seen.loss > DEEP)
    }

    fn lowest_deep(&self, counts: impl Fn(Rate) -> bool) -> Option<Rate> {
        self.deep().map(|seen| seen.load).filter(|&load| counts(load)).min()
    }

    fn at_maximum(&self) -> LoadGuess {
        let tried: Vec<&Seen> = self.seen.iter().filter(|seen| seen.load == self.range.max()).collect();
        let clean = tried.iter().filter(|seen| seen.loss == 0.0).count();
        match clean {
            _ if clean >= AT_AN_END => LoadGuess::AtMaximum,
            // Something is lost here: a matter for the model.
            _ if tried.len() >= AT_AN_END => LoadGuess::Near(self.range.max()),
            _ => LoadGuess::Open(self.range.max()),
        }
    }

    fn down(&self) -> LoadGuess {
        let min = self.range.min();
        if self.seen.iter().filter(|seen| seen.load == min).count() >= AT_AN_END {
            return LoadGuess::BelowMinimum;
        }
        let heavy = self.deep().filter(|seen| seen.loss > HEAVY).count();
        if heavy >= HEAVY_FAILURES || self.seen.len() >= FAILURES {
            return LoadGuess::Open(min);
        }
        // What came through is no step down for what fails otherwise than by overload.
        match (self.deep().count() >= CREEPS, self.deep().map(|seen| seen.load.as_pps()).reduce(f64::min)) {
            (true, Some(lowest)) => LoadGuess::Open(self.load(0.5 * lowest)),
            _ => LoadGuess::Open(self.load(self.slowest())),
        }
    }

    /// The least that came through in overload, in packets a second.
    fn slowest(&self) -> f64 {
        self.deep().map(|seen| seen.load.as_pps() * (1.0 - seen.loss)).fold(f64::INFINITY, f64::min)
    }

    fn up_from(&self, good: Rate, bad: Option<Rate>) -> LoadGuess {
        let steps = self.seen.iter().filter(|seen| seen.loss < LITTLE).count() as i32 - 1;
        let next = good.as_pps() * (1.0 + STEP * libm::pow(3.0, f64::from(steps.min(6))));
        let Some(bad) = bad else { return LoadGuess::Open(self.load(next)) };
        let slowest = self.slowest();
        if LEADS * good.as_pps() < slowest && LEADS * slowest < bad.as_pps() {
            return LoadGuess::Open(self.load(slowest));
        }
        let tries: Vec<&Seen> = self.deep().filter(|seen| seen.load == bad).collect();
        let breaks = tries.iter().any(|seen| seen.loss > HEAVY);
        let near = if breaks { NEAR_A_STEP } else { NEAR };
        if bad.as_pps() < good.as_pps() * near {
            // One that lost a little more than it should may have met a slow moment.
            return if breaks || tries.len() >= 2 { LoadGuess::Near(bad) } else { LoadGuess::Open(bad) };
        }
        let middle = libm::sqrt(good.as_pps() * bad.as_pps());
        // Small steps are for a knee that what came through has shown to be near.
        let is_lost = LEADS * slowest < good.as_pps();
        LoadGuess::Open(self.load(if is_lost { middle } else { next.min(middle) }))
    }

    fn load(&self, pps: f64) -> Rate {
        Rate::pps(pps).map_or(self.range.min(), |load| self.range.clamp(load))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::TrialInput;
    use std::time::Duration;

    fn pps(value: u64) -> Rate {
        Rate::from_millipps(value * 1000)
    }

    /// Records trials of a load in kpps and a loss in per cent; gives the next load in kpps.
    fn next_behind(trials: &[(u64, u64)]) -> u64 {
        let range = LoadRange::new(pps(1000), pps(1_500_000)).unwrap();
        let mut locate = Locate::new(range, range.max(), Ratio::ZERO);
        for (&(kpps, lost), number) in trials.iter().zip(1..) {
            let input = TrialInput { load: pps(kpps * 1000), duration: Duration::from_secs(1) };
            let offered = kpps * 1000;
            let forwarded = offered * (100 - lost) / 100;
            locate.record(&Trial { offered, forwarded, ..Trial::new(number, input, 1) });
        }
        match locate.place() {
            LoadGuess::Open(load) => load.as_millipps() / 1_000_000,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn from_the_lowest_load_it_goes_to_what_came_through_and_not_by_small_steps() {
        let heavy = [(1500, 90), (150, 33), (100, 40)];
        assert_eq!(next_behind(&heavy), 1, "a system that is broken, and not slow?");
        assert_eq!(next_behind(&[heavy.as_slice(), &[(1, 0)]].concat()), 60);
        assert_eq!(
            next_behind(&[heavy.as_slice(), &[(1, 0), (60, 0)]].concat()),
            61,
            "3 % more, the second step"
        );
    }

    #[test]
    fn where_almost_nothing_came_through_in_overload_it_bisects() {
        let broken = [(1500, 90), (150, 99), (2, 70), (1, 0)];
        assert_eq!(next_behind(&[broken.as_slice(), &[(10, 0)]].concat()), 38, "the root of 10 by 150");
    }

    #[test]
    fn where_three_loads_failed_though_most_came_through_it_goes_down_by_halves() {
        assert_eq!(next_behind(&[(1000, 10), (900, 10)]), 810);
        assert_eq!(next_behind(&[(1000, 10), (900, 10), (810, 10)]), 405);
        assert_eq!(next_behind(&[(1000, 10), (900, 10), (810, 10), (405, 8)]), 202);
    }

    #[test]
    fn above_what_came_through_it_goes_up_by_growing_steps() {
        assert_eq!(next_behind(&[(1500, 50)]), 750);
        assert_eq!(next_behind(&[(1500, 50), (750, 0)]), 757);
        assert_eq!(next_behind(&[(1500, 50), (750, 0), (765, 0)]), 787);
    }
}
