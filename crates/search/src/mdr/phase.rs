//! One phase: how long its trials are, how narrow its intervals shall be, and which trial it wants next.

use super::interval::{Interval, Point};
use super::{Version, width};
use crate::Goal;
use dropline_trial::{LoadRange, Rate};
use std::time::Duration;

/// What one phase strives for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    /// Length of its trials.
    pub(super) duration: Duration,
    /// Relative width that every interval shall not be above.
    pub(super) width: f64,
}

/// What holds in every phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) range: LoadRange,
    /// How often a step out of an interval doubles its width first.
    pub(super) doublings: u8,
    pub(super) version: Version,
}

impl Phase {
    /// The intermediate phases and the final one: durations grow geometrically from the initial to the final
    /// one, widths are halved to the final one.
    pub(super) fn all(goal: &Goal, intermediate: u8) -> Vec<Self> {
        let initial = goal.initial_trial_duration.as_nanos() as f64;
        let growth = goal.trial_duration.as_nanos() as f64 / initial;
        (0..=intermediate)
            .map(|index| {
                let share = f64::from(index) / f64::from(intermediate.max(1));
                let duration = match index {
                    _ if index == intermediate => goal.trial_duration,
                    0 => goal.initial_trial_duration,
                    _ => {
                        let ns = libm::round(initial * libm::pow(growth, share)) as u64;
                        // No longer than the last phase, however the numbers are rounded.
                        Duration::from_nanos(ns).min(goal.trial_duration)
                    }
                };
                Self { duration, width: width::doubled(goal.width.as_f64(), intermediate - index) }
            })
            .collect()
    }

    /// The load to try next, by MDR's order of priorities; `None` when the phase is over. Intervals stand in
    /// ascending order of loss ratio.
    pub(super) fn next_load(&self, intervals: &[Interval], rules: Rules) -> Option<Rate> {
        let lower = intervals.iter().find_map(|interval| self.lower_bound(interval, rules));
        // A goal that fails at the lowest load is hopeless in this phase: it wants nothing more. (Nothing above
        // a lower bound that does not hold would be learned from: it would ask for an upper one for ever.)
        let hopeful = || intervals.iter().filter(|interval| !interval.lower.bad);
        let upper = || hopeful().find_map(|interval| self.upper_bound(interval, rules));
        let half = || self.widest(hopeful(), rules.version).map(Interval::middle);
        let again = || {
            let lowers = hopeful().map(|interval| interval.lower);
            let uppers = hopeful().map(|interval| interval.upper);
            lowers.chain(uppers).find(|point| self.is_short(point)).map(|point| point.load)
        };
        lower.or_else(upper).or_else(half).or_else(again)
    }

    /// Where to look for a lower bound, if this one does not hold.
    fn lower_bound(&self, interval: &Interval, rules: Rules) -> Option<Rate> {
        let Point { load, bad, .. } = interval.lower;
        if bad && load > rules.range.min() {
            return Some(rules.range.clamp(width::below(load, self.step(interval, rules))));
        }
        (bad && self.is_short(&interval.lower)).then_some(load)
    }

    /// Where to look for an upper bound, if this one does not hold.
    fn upper_bound(&self, interval: &Interval, rules: Rules) -> Option<Rate> {
        let Point { load, bad, .. } = interval.upper;
        if !bad && load < rules.range.max() {
            return Some(rules.range.clamp(width::above(load, self.step(interval, rules))));
        }
        (!bad && self.is_short(&interval.upper)).then_some(load)
    }

    /// The interval to halve first.
    fn widest<'a>(
        &self,
        intervals: impl Iterator<Item = &'a Interval>,
        version: Version,
    ) -> Option<&'a Interval> {
        let mut wide = intervals.filter(|interval| interval.is_wider_than(self.width));
        match version {
            Version::Current => wide.next(),
            Version::First => wide.reduce(|one, other| if other.width() > one.width() { other } else { one }),
        }
    }

    /// Width of a step out of an interval: never below the phase's, so that narrow intervals grow.
    fn step(&self, interval: &Interval, rules: Rules) -> f64 {
        width::doubled(self.width.max(interval.width()), rules.doublings)
    }

    fn is_short(&self, point: &Point) -> bool {
        point.duration < self.duration
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::Ratio;

    const GOOD: bool = false;
    const BAD: bool = true;
    const PHASE: Phase = Phase { duration: Duration::from_secs(10), width: 0.01 };

    fn rules() -> Rules {
        let range = LoadRange::new(Rate::from_millipps(1000), Rate::from_millipps(1_000_000)).unwrap();
        Rules { range, doublings: 1, version: Version::Current }
    }

    /// A bound measured in full.
    fn full(load: u64, bad: bool) -> Point {
        Point { load: Rate::from_millipps(load), duration: PHASE.duration, bad }
    }

    /// A bound measured in an earlier phase.
    fn short(load: u64, bad: bool) -> Point {
        Point { duration: Duration::from_secs(1), ..full(load, bad) }
    }

    fn next(rules: Rules, intervals: &[(Point, Point)]) -> Option<u64> {
        let intervals: Vec<Interval> =
            intervals.iter().map(|&(lower, upper)| Interval { lower, upper }).collect();
        PHASE.next_load(&intervals, rules).map(Rate::as_millipps)
    }

    fn wants(intervals: &[(Point, Point)]) -> Option<u64> {
        next(rules(), intervals)
    }

    #[test]
    fn durations_grow_geometrically_and_widths_are_halved_to_the_final_ones() {
        let phases = Phase::all(&goal(), 2);
        let millis: Vec<u128> = phases.iter().map(|phase| phase.duration.as_millis()).collect();
        assert_eq!(millis, [1000, 5477, 30_000]);
        let widths: Vec<f64> = phases.iter().map(|phase| phase.width).collect();
        let double = 1.999 * 0.005 - 0.000_025;
        assert_eq!(widths, [1.999 * double - double * double, double, 0.005]);
    }

    #[test]
    fn without_intermediate_phases_the_final_one_follows_the_initial_one() {
        let phases = Phase::all(&goal(), 0);
        assert_eq!(phases.len(), 1);
        assert_eq!((phases[0].duration, phases[0].width), (Duration::from_secs(30), 0.005));
    }

    fn goal() -> Goal {
        let (second, half_a_minute) = (Duration::from_secs(1), Duration::from_secs(30));
        Goal {
            loss_ratio: Ratio::ZERO,
            exceed_ratio: Ratio::ZERO,
            width: Ratio::new(0.005).unwrap(),
            trial_duration: half_a_minute,
            initial_trial_duration: second,
            duration_sum: half_a_minute,
        }
    }

    #[test]
    fn lower_bounds_come_before_upper_bounds_and_the_lower_loss_ratio_before_the_higher() {
        let down = (full(200_000, BAD), full(201_000, BAD));
        let lower_down = (full(300_000, BAD), full(301_000, BAD));
        let up = (full(100_000, GOOD), full(101_000, GOOD));
        let double = 0.019_89;
        let below = |load: f64| Some(((1.0 - double) * load).round() as u64);
        let above = |load: f64| Some((load / (1.0 - double)).round() as u64);
        assert_eq!(wants(&[up, down]), below(200_000.0));
        assert_eq!(wants(&[lower_down, down]), below(300_000.0));
        assert_eq!(wants(&[up, up]), above(101_000.0));
    }

    #[test]
    fn a_step_out_of_a_wide_interval_is_as_wide_as_the_interval_doubled() {
        let double: f64 = 1.999 * 0.1 - 0.01;
        let expected = ((1.0 - double) * 180_000.0).round() as u64;
        assert_eq!(wants(&[(full(180_000, BAD), full(200_000, BAD))]), Some(expected));
        let twice = Rules { doublings: 2, ..rules() };
        let expected = ((1.0 - (1.999 * double - double * double)) * 180_000.0).round() as u64;
        assert_eq!(next(twice, &[(full(180_000, BAD), full(200_000, BAD))]), Some(expected));
    }

    #[test]
    fn no_step_leaves_the_range() {
        assert_eq!(wants(&[(full(1010, BAD), full(1020, BAD))]), Some(1000));
        assert_eq!(wants(&[(full(980_000, GOOD), full(990_000, GOOD))]), Some(1_000_000));
    }

    #[test]
    fn a_bound_that_does_not_hold_at_a_limit_is_measured_in_full_before_it_is_believed() {
        assert_eq!(wants(&[(short(1000, BAD), full(1500, BAD))]), Some(1000));
        assert_eq!(wants(&[(full(1000, BAD), full(1500, BAD))]), None, "hopeless, however wide");
        assert_eq!(wants(&[(full(1000, BAD), short(1500, BAD))]), None, "hopeless, however short");
        assert_eq!(wants(&[(full(1000, BAD), full(1500, GOOD))]), None, "hopeless, whatever is above");
        assert_eq!(wants(&[(full(995_000, GOOD), short(1_000_000, GOOD))]), Some(1_000_000));
        assert_eq!(wants(&[(full(995_000, GOOD), full(1_000_000, GOOD))]), None);
    }

    #[test]
    fn an_upper_bound_that_does_not_hold_at_the_maximum_does_not_stop_the_halving() {
        assert_eq!(wants(&[(full(250_000, GOOD), full(1_000_000, GOOD))]), Some(500_000));
    }

    #[test]
    fn today_the_lowest_loss_ratio_is_halved_first_and_at_first_the_widest_interval() {
        let intervals =
            [(full(810_000, GOOD), full(1_000_000, BAD)), (full(360_000, GOOD), full(1_000_000, BAD))];
        assert_eq!(wants(&intervals), Some(900_000));
        assert_eq!(next(Rules { version: Version::First, ..rules() }, &intervals), Some(600_000));
    }

    #[test]
    fn halving_comes_before_measuring_again_and_lower_bounds_before_upper_ones() {
        let wide = (short(360_000, GOOD), short(1_000_000, BAD));
        let ndr = |lower: Point, upper: Point| (lower, upper);
        assert_eq!(wants(&[ndr(short(400_000, GOOD), short(401_000, BAD)), wide]), Some(600_000));
        let pdr = (short(500_000, GOOD), short(501_000, BAD));
        assert_eq!(wants(&[ndr(short(400_000, GOOD), short(401_000, BAD)), pdr]), Some(400_000));
        assert_eq!(wants(&[ndr(full(400_000, GOOD), short(401_000, BAD)), pdr]), Some(500_000));
        let pdr = (full(500_000, GOOD), short(501_000, BAD));
        assert_eq!(wants(&[ndr(full(400_000, GOOD), short(401_000, BAD)), pdr]), Some(401_000));
        assert_eq!(wants(&[ndr(full(400_000, GOOD), full(401_000, BAD)), pdr]), Some(501_000));
        let pdr = (full(500_000, GOOD), full(501_000, BAD));
        assert_eq!(wants(&[ndr(full(400_000, GOOD), full(401_000, BAD)), pdr]), None);
    }
}
