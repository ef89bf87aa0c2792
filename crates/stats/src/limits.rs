//! Did a limit move? Two numbers that two searches found, each with an interval, to the interval of their ratio.
//!
//! Ratios are differences of logarithms. Where both intervals state how often they hold the true value, their half-widths
//! are added in quadrature, each end with the halves that face it (the method of variance estimates recovery, Zou and
//! Donner 2008): the interval of the ratio holds the truth as often as they do. Bounds without a level are not added
//! but set against one another, end to end, and reach as far as it takes for the trials of both to rule out the rest.

use crate::compare::Verdict;
use crate::special::{beta_ratio, normal_quantile};

/// A ratio is ruled out by bounds without a level only where trials like these, of either side, have no more chance than
/// this if it held: eight that agree, say.
const RULED_OUT: f64 = 1.0 / 256.0;
/// The level of ends without trials.
const CERTAIN: f64 = 0.95;
/// What each side's trials may have by themselves: one trial is no evidence.
const MOST_OF_A_SIDE: f64 = 0.25;

/// What a trial said of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriedLoad {
    /// Its load; above zero.
    pub load: f64,
    /// Whether that was too much.
    pub failed: bool,
}

/// What is known of a limit; an end that is missing is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limit<'a> {
    /// Lower end; above zero.
    pub lower: Option<f64>,
    /// The best single number.
    pub middle: Option<f64>,
    /// Upper end.
    pub upper: Option<f64>,
    /// How often such ends hold the true value; `None` of bounds that do not say.
    pub level: Option<f64>,
    /// The trials behind bounds that do not say, in any order; none where the ends are beyond doubt.
    pub trials: &'a [TriedLoad],
}

/// A load, as a logarithm, and how probable such trials are if more, or less, than half of all at it were too much.
type Shown = (f64, f64);

impl Limit<'_> {
    /// Up to which loads the limit is shown to reach, or from which on it is shown to be exceeded, strongest last.
    fn shown(&self, failed: bool) -> Vec<Shown> {
        if self.trials.is_empty() {
            let end = if failed { self.upper } else { self.lower };
            return end.map(|end| (libm::log(end), (1.0 - CERTAIN) / 2.0)).into_iter().collect();
        }
        let mut trials = self.trials.to_vec();
        trials.sort_by(|a, b| if failed { a.load.total_cmp(&b.load) } else { b.load.total_cmp(&a.load) });
        let loads: Vec<&[TriedLoad]> = trials.chunk_by(|a, b| a.load == b.load).collect();
        let mut least = 1.0f64;
        let mut shown = Vec::new();
        for (index, at) in loads.iter().enumerate() {
            // Trials at a load that is easier on the claim bear it too.
            let (mut all, mut agreeing) = (0.0, 0.0);
            for trial in loads[..=index].iter().rev() {
                all += trial.len() as f64;
                agreeing += trial.iter().filter(|trial| trial.failed == failed).count() as f64;
                if agreeing > 0.0 {
                    least = least.min(beta_ratio(agreeing, all - agreeing + 1.0, 0.5));
                }
            }
            shown.push((libm::log(at[0].load), least));
        }
        shown
    }
}

/// The largest ratio of a load that `passed` shows to one that `failed` shows, as a logarithm, for which both together are
/// evidence.
fn ruled_out(passed: &[Shown], failed: &[Shown]) -> Option<f64> {
    let is_evidence = |of: f64, other: f64| of.max(other) <= MOST_OF_A_SIDE && of * other <= RULED_OUT;
    let pairs = passed.iter().flat_map(|one| failed.iter().map(move |other| (one, other)));
    pairs
        .filter(|(one, other)| is_evidence(one.1, other.1))
        .map(|(one, other)| one.0 - other.0)
        .max_by(f64::total_cmp)
}

/// The limit of B as a multiple of that of A: above 1 is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MovedLimit {
    /// B ÷ A; `None` where one of the two is not known.
    pub ratio: Option<f64>,
    /// Lower end of its interval; `None` where nothing bounds it.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// How often such an interval holds the truth, at least; `None` where a side does not say.
    pub level: Option<f64>,
    /// What that says.
    pub verdict: Verdict,
    /// How many times as long both searches would take to decide; of an interval that does not.
    pub needed: Option<f64>,
}

/// Compares B with A, a pair of limits a question. A change by less than the share `smallest_effect` of A does not matter;
/// of several questions a change counts after Holm's correction (1979).
pub fn moved(pairs: &[(Limit<'_>, Limit<'_>)], smallest_effect: f64) -> Vec<MovedLimit> {
    let zone = Zone::of(smallest_effect.max(0.0));
    let logs: Vec<Logs> = pairs.iter().map(|(a, b)| Logs::of(a, b)).collect();
    let found = found(&logs, zone);
    logs.iter().zip(found).map(|(logs, found)| logs.judged(zone, found)).collect()
}

/// Whether each is a change, all together being asked at their level.
fn found(logs: &[Logs], zone: Zone) -> Vec<bool> {
    let rooms: Vec<f64> = logs.iter().map(|logs| logs.room(zone)).collect();
    let mut order: Vec<usize> = (0..logs.len()).filter(|&index| logs[index].is_bounded()).collect();
    order.sort_by(|&i, &j| rooms[j].total_cmp(&rooms[i]));
    let mut found = vec![false; logs.len()];
    for (rank, &index) in order.iter().enumerate() {
        let questions = (order.len() - rank) as f64;
        let stretch = logs[index].level.map_or(1.0, |level| {
            let reach = |beyond: f64| normal_quantile(1.0 - beyond / 2.0);
            reach((1.0 - level) / questions) / reach(1.0 - level)
        });
        if rooms[index] <= stretch {
            break;
        }
        found[index] = true;
    }
    found
}

/// How far the logarithm of a ratio may be below and above that of no change, and does not matter.
#[derive(Clone, Copy, Debug)]
struct Zone {
    below: f64,
    above: f64,
}

impl Zone {
    /// A share of A either way: a fall by half and a rise by half are not one another's reverse.
    fn of(share: f64) -> Self {
        // No fall is by more than all of it.
        Self { below: -libm::log1p(-share.min(1.0)), above: libm::log1p(share) }
    }
}

/// The logarithm of a ratio.
#[derive(Clone, Copy, Debug)]
struct Logs {
    middle: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    level: Option<f64>,
    /// Whether the ends are so many standard errors away; else they are where something was seen.
    stretches: bool,
}

impl Logs {
    fn of(a: &Limit<'_>, b: &Limit<'_>) -> Self {
        let log = |load: Option<f64>| load.filter(|load| *load > 0.0).map(libm::log);
        let middles = log(a.middle).zip(log(b.middle));
        let level = a.level.zip(b.level).map(|(a, b)| a.min(b));
        let quadrature = middles.filter(|_| level.is_some());
        // Of each side the end that faces the other.
        let end = |a: Option<f64>, b: Option<f64>, sign: f64| {
            let (a, b) = log(a).zip(log(b))?;
            Some(
                quadrature.map_or(b - a, |(of_a, of_b)| of_b - of_a + sign * libm::hypot(b - of_b, a - of_a)),
            )
        };
        let (mut low, mut high) = (end(a.upper, b.lower, -1.0), end(a.lower, b.upper, 1.0));
        if !(a.trials.is_empty() && b.trials.is_empty()) {
            let most = |low: f64| Some(low.min(ruled_out(&b.shown(false), &a.shown(true))?));
            low = low.and_then(most);
            let least = |high: f64| Some(high.max(-ruled_out(&a.shown(false), &b.shown(true))?));
            high = high.and_then(least);
        }
        Self { middle: middles.map(|(a, b)| b - a), low, high, level, stretches: quadrature.is_some() }
    }

    fn is_bounded(&self) -> bool {
        self.low.is_some() || self.high.is_some()
    }

    /// The same of A ÷ B.
    fn mirrored(&self) -> Self {
        let minus = |end: Option<f64>| end.map(|end| -end);
        Self { middle: minus(self.middle), low: minus(self.high), high: minus(self.low), ..*self }
    }

    /// How many times as wide the interval may be before it meets what does not matter; below 1 it meets it.
    fn room(&self, Zone { below, above }: Zone) -> f64 {
        let beyond = |logs: &Self, zone: f64| match (logs.low, logs.middle.filter(|_| logs.stretches)) {
            (Some(low), Some(middle)) if middle > zone => (middle - zone) / (middle - low),
            (Some(low), None) if low > zone => f64::INFINITY,
            _ => 0.0,
        };
        beyond(self, above).max(beyond(&self.mirrored(), below))
    }

    fn judged(&self, zone: Zone, found: bool) -> MovedLimit {
        let verdict = match (self.low, self.high) {
            (Some(low), _) if found && low > zone.above => Verdict::Improved,
            (_, Some(high)) if found && high < -zone.below => Verdict::Regressed,
            (Some(low), Some(high)) if low > -zone.below && high < zone.above => Verdict::Equivalent,
            _ => Verdict::NoEvidence,
        };
        let ratio = |log: Option<f64>| log.map(libm::exp);
        MovedLimit {
            ratio: ratio(self.middle),
            low: ratio(self.low),
            high: ratio(self.high),
            level: self.level,
            verdict,
            needed: self.needed(zone).filter(|_| verdict == Verdict::NoEvidence && self.stretches),
        }
    }

    /// Widths fall with the square root of the time.
    fn needed(&self, Zone { below, above }: Zone) -> Option<f64> {
        let zone = if self.middle? < 0.0 { below } else { above };
        let half = (self.high? - self.low?) / 2.0;
        let aim = (self.middle?.abs() - zone).abs().max(zone / 2.0);
        Some((half / aim).powi(2)).filter(|times| *times > 1.0 && times.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interval(lower: f64, middle: f64, upper: f64) -> Limit<'static> {
        Limit { lower: Some(lower), middle: Some(middle), upper: Some(upper), level: Some(0.95), trials: &[] }
    }

    fn one(a: Limit<'_>, b: Limit<'_>, smallest_effect: f64) -> MovedLimit {
        moved(&[(a, b)], smallest_effect)[0]
    }

    #[track_caller]
    fn near(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?} {expected}");
    }

    #[test]
    fn intervals_of_equal_width_give_one_that_is_wider_by_the_root_of_two() {
        let limit = |scale: f64| interval(scale / 1.01, scale, scale * 1.01);
        let found = one(limit(9e6), limit(4.5e6), 0.02);
        near(found.ratio, 0.5);
        near(found.high, 0.5 * 1.01f64.powf(2f64.sqrt()));
        near(found.low, 0.5 / 1.01f64.powf(2f64.sqrt()));
        assert_eq!((found.verdict, found.level, found.needed), (Verdict::Regressed, Some(0.95), None));
    }

    #[test]
    fn each_end_rests_on_the_halves_that_face_it() {
        let (skewed, sharp) = (interval(0.5, 1.0, 1.001), interval(0.999, 1.0, 1.001));
        let found = one(skewed, sharp, 0.02);
        assert!(found.low.unwrap() > 0.998, "A's upper and B's lower half are short: {found:?}");
        assert!(found.high.unwrap() > 1.9, "A's lower half is long: {found:?}");
    }

    #[test]
    fn a_verdict_needs_the_whole_interval_beyond_or_within_what_matters() {
        let base = interval(0.995, 1.0, 1.005);
        let of = |scale: f64, effect: f64| {
            one(base, interval(0.995 * scale, scale, 1.005 * scale), effect).verdict
        };
        assert_eq!(of(0.95, 0.02), Verdict::Regressed);
        assert_eq!(of(1.06, 0.02), Verdict::Improved);
        assert_eq!(of(1.001, 0.02), Verdict::Equivalent);
        assert_eq!(of(0.98, 0.02), Verdict::NoEvidence);
        assert_eq!(of(0.98, 0.0), Verdict::Regressed);
        assert_eq!(of(0.98, 0.05), Verdict::Equivalent);
        assert!(one(base, interval(0.97, 0.98, 0.99), 0.02).needed.unwrap() > 1.0);
        // A share of A, downwards too.
        assert_eq!(of(0.76, 0.3), Verdict::Equivalent);
        assert_eq!(
            (of(0.68, 0.3), of(1.29, 0.3), of(1.32, 0.3)),
            (Verdict::Regressed, Verdict::Equivalent, Verdict::Improved)
        );
        assert_eq!((of(0.01, 1.0), of(1.9, 1.0)), (Verdict::Equivalent, Verdict::Equivalent));
    }

    #[test]
    fn an_interval_that_does_not_decide_needs_the_square_of_what_it_is_too_wide_by() {
        let limit = |middle: f64| interval(middle / 1.1, middle, middle * 1.1);
        let needed = |ratio: f64, effect: f64| one(limit(1.0), limit(ratio), effect).needed;
        let half = 1.1f64.ln() * 2f64.sqrt();
        let (above, below) = (1.02f64.ln(), -0.98f64.ln());
        for (ratio, aim) in [
            (1.05, 1.05f64.ln() - above),
            (0.95, -0.95f64.ln() - below),
            (1.0, above),
            // So near to what matters nobody waits until it is told: half of that is enough.
            (1.015, above / 2.0),
            (0.985, below / 2.0),
        ] {
            let times = needed(ratio, 0.02).unwrap() / (half / aim).powi(2);
            assert!((times - 1.0).abs() < 1e-9, "{ratio}: {times}");
        }
        assert_eq!(needed(1.0, 0.0), None, "what is no change at all is never found to be one");
    }

    #[test]
    fn what_reaches_beyond_the_range_leaves_that_end_open() {
        let known = interval(0.99, 1.0, 1.01);
        let at_least = |lower: f64| Limit { lower: Some(lower), level: Some(0.95), ..Limit::default() };
        let at_most = |upper: f64| Limit { upper: Some(upper), level: Some(0.95), ..Limit::default() };
        let found = one(known, at_least(2.0), 0.02);
        assert_eq!((found.ratio, found.high, found.verdict), (None, None, Verdict::Improved));
        near(found.low, 2.0 / 1.01);
        assert_eq!(one(at_least(2.0), known, 0.02).verdict, Verdict::Regressed);
        assert_eq!(one(known, at_most(0.5), 0.02).verdict, Verdict::Regressed);
        assert_eq!(one(known, at_least(1.0), 0.02).verdict, Verdict::NoEvidence);
        let neither = one(at_least(2.0), at_least(1.0), 0.02);
        assert_eq!((neither.low, neither.high, neither.verdict), (None, None, Verdict::NoEvidence));
        assert_eq!(one(at_least(2.0), at_most(1.0), 0.02).verdict, Verdict::Regressed);
        assert_eq!(one(known, at_least(0.0), 0.02).low, None, "no load at all is no end");
    }

    #[test]
    fn bounds_without_a_level_are_set_end_to_end() {
        let bounds =
            |lower: f64, upper: f64| Limit { lower: Some(lower), upper: Some(upper), ..Limit::default() };
        let found = one(bounds(1.0, 1.1), bounds(0.8, 0.9), 0.02);
        near(found.low, 0.8 / 1.1);
        near(found.high, 0.9);
        assert_eq!((found.level, found.verdict), (None, Verdict::Regressed));
        let beside = one(interval(1.0, 1.05, 1.1), bounds(0.8, 0.9), 0.02);
        assert_eq!((beside.level, beside.low), (None, found.low));
    }

    fn by(trials: &[TriedLoad]) -> Limit<'_> {
        let of = |failed| trials.iter().filter(move |trial| trial.failed == failed).map(|trial| trial.load);
        Limit {
            lower: of(false).max_by(f64::total_cmp),
            upper: of(true).min_by(f64::total_cmp),
            trials,
            ..Limit::default()
        }
    }

    fn tried(passed: &[f64], failed: &[f64]) -> Vec<TriedLoad> {
        let of =
            |loads: &[f64], failed| loads.iter().map(|&load| TriedLoad { load, failed }).collect::<Vec<_>>();
        [of(passed, false), of(failed, true)].concat()
    }

    #[test]
    fn bounds_that_single_trials_decided_reach_as_far_as_the_trials_of_both_leave_open() {
        // Bisections of one target: each of its trials fails by chance.
        let unlucky = tried(&[1.0, 1.9], &[15.0, 8.0, 4.0, 2.0]);
        let lucky = tried(&[7.0, 9.0, 9.5], &[15.0, 12.0, 10.0]);
        let found = one(by(&lucky), by(&unlucky), 0.02);
        assert_eq!(
            (found.verdict, found.high),
            (Verdict::NoEvidence, None),
            "two and three trials are too few"
        );
        // Five that passed from 7 on and three that failed up to 4 have the chance of one in 256.
        let borne = tried(&[7.0, 7.2, 7.5, 9.0, 9.5], &[15.0, 12.0, 10.0]);
        let found = one(by(&borne), by(&tried(&[1.0, 1.9], &[15.0, 2.5, 4.0, 2.0])), 0.02);
        near(found.high, 4.0 / 7.0);
        assert_eq!((found.low, found.verdict), (None, Verdict::Regressed));
        // However many agree on one side, one trial of the other is no evidence.
        assert_eq!(one(by(&tried(&[7.0; 20], &[8.0])), by(&tried(&[1.0], &[2.0])), 0.02).high, None);
        // A load at which as many pass as fail is not the lower end of one that bears more.
        let level = interval(0.9, 1.0, 1.1);
        let half = tried(&[[3.0; 10], [0.5; 10]].concat(), &[3.0; 11]);
        near(one(level, by(&half), 0.02).low, 0.5 / 1.1);
        // Beside an end of a 95 % interval, which is beyond the truth one time in forty, three that agree are enough.
        let passed = |count: usize| one(level, by(&tried(&[0.5; 3][..count], &[])), 0.02).low;
        near(passed(3), 0.5 / 1.1);
        assert_eq!(passed(2), None);
    }

    #[test]
    fn one_of_many_questions_is_no_finding_where_it_would_be_one_alone() {
        let base = interval(0.99, 1.0, 1.01);
        let barely = interval(0.976, 0.9855, 0.9951);
        assert_eq!(one(base, barely, 0.0).verdict, Verdict::Regressed);
        let many: Vec<(Limit<'_>, Limit<'_>)> =
            std::iter::once((base, barely)).chain([(base, base); 4]).collect();
        let found = moved(&many, 0.0);
        assert_eq!((found[0].verdict, found[0].needed), (Verdict::NoEvidence, None), "alone it would decide");
        assert_eq!(found[0].low, one(base, barely, 0.0).low, "intervals are each question's own");
        // Of two, the clearer one is held against 98.75 % each side: 2.241 standard errors and not 1.960.
        let beyond = |times: f64| {
            let middle = 1.01f64.powf(times * 2f64.sqrt());
            moved(&[(base, interval(middle / 1.01, middle, middle * 1.01)), (base, base)], 0.0)[0].verdict
        };
        assert_eq!((beyond(1.15), beyond(1.13)), (Verdict::Improved, Verdict::NoEvidence));
        let clear = (base, interval(0.49, 0.5, 0.51));
        // Beside one that is found, the other of two is asked alone.
        let middle = 1.01f64.powf(1.05 * 2f64.sqrt());
        let second = (base, interval(middle / 1.01, middle, middle * 1.01));
        let verdicts = |pairs: &[(Limit<'_>, Limit<'_>)]| -> Vec<Verdict> {
            moved(pairs, 0.0).into_iter().map(|moved| moved.verdict).collect()
        };
        assert_eq!(verdicts(&[second, clear]), [Verdict::Improved, Verdict::Regressed]);
        assert_eq!(verdicts(&[second, (base, base)]), [Verdict::NoEvidence; 2]);
        // The same of what is beyond a share that matters: alone it is found, and one of two it is not.
        let beyond = 1.05 * middle;
        let share = (base, interval(beyond / 1.01, beyond, beyond * 1.01));
        let first = |pairs: &[(Limit<'_>, Limit<'_>)]| moved(pairs, 0.05)[0].verdict;
        assert_eq!(
            (first(&[share]), first(&[share, (base, base)])),
            (Verdict::Improved, Verdict::NoEvidence)
        );
        assert_eq!(moved(&[clear, (base, base)], 0.0)[0].verdict, Verdict::Regressed);
    }

    #[test]
    fn what_is_no_change_leaves_the_others_asked_of_as_many() {
        let base = interval(0.99, 1.0, 1.01);
        let middle = 1.01f64.powf(1.05 * 2f64.sqrt());
        let barely = (base, interval(middle / 1.01, middle, middle * 1.01));
        let bounds =
            |lower: f64, upper: f64| Limit { lower: Some(lower), upper: Some(upper), ..Limit::default() };
        assert_eq!(one(barely.0, barely.1, 0.0).verdict, Verdict::Improved);
        // Limits that are known to be the same, and bounds that meet.
        for none in [(interval(1.0, 1.0, 1.0), interval(1.0, 1.0, 1.0)), (bounds(0.5, 1.0), bounds(1.0, 2.0))]
        {
            let found = moved(&[barely, none], 0.0);
            assert_eq!((found[0].verdict, found[1].verdict), (Verdict::NoEvidence, Verdict::NoEvidence));
        }
    }

    #[test]
    fn a_change_by_the_share_that_matters_matters() {
        let bounds =
            |lower: f64, upper: f64| Limit { lower: Some(lower), upper: Some(upper), ..Limit::default() };
        let of =
            |lower: f64, upper: f64, effect: f64| one(bounds(1.0, 1.0), bounds(lower, upper), effect).verdict;
        assert_eq!((of(1.0, 2.0, 1.0), of(1.0, 1.999, 1.0)), (Verdict::NoEvidence, Verdict::Equivalent));
        assert_eq!((of(0.5, 1.0, 0.5), of(0.501, 1.0, 0.5)), (Verdict::NoEvidence, Verdict::Equivalent));
        assert_eq!((of(2.0, 3.0, 1.0), of(2.001, 3.0, 1.0)), (Verdict::NoEvidence, Verdict::Improved));
        assert_eq!((of(0.4, 0.5, 0.5), of(0.4, 0.499, 0.5)), (Verdict::NoEvidence, Verdict::Regressed));
    }

    fn limit() -> impl Strategy<Value = Limit<'static>> {
        let level = prop_oneof![Just(Some(0.95)), Just(Some(0.8)), Just(None)];
        (prop::option::weighted(0.8, 1u32..1000), 0u32..1000, 0u32..1000, any::<bool>(), any::<bool>(), level)
            .prop_map(|(known, below, above, lower, upper, level)| {
                let middle = f64::from(known.unwrap_or(500)) + 1000.0;
                Limit {
                    lower: lower.then(|| middle - f64::from(below)),
                    middle: known.map(|_| middle),
                    upper: upper.then(|| middle + f64::from(above)),
                    level,
                    trials: &[],
                }
            })
    }

    proptest! {
        #[test]
        fn swapping_the_sides_turns_the_ratio_over_and_the_verdict_with_it(
            pairs in prop::collection::vec((limit(), limit()), 1..5),
            effect in prop_oneof![Just(0.0), 0.0..0.2f64],
        ) {
            let swapped: Vec<(Limit<'_>, Limit<'_>)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            for (there, back) in moved(&pairs, effect).into_iter().zip(moved(&swapped, effect)) {
                let over = |ratio: Option<f64>| ratio.map(|ratio| 1.0 / ratio);
                for (one, other) in [(there.low, over(back.high)), (there.high, over(back.low)), (there.ratio, over(back.ratio))] {
                    prop_assert_eq!(one.is_some(), other.is_some());
                    prop_assert!(one.zip(other).is_none_or(|(one, other)| (one / other - 1.0).abs() < 1e-9));
                }
                let turned = match back.verdict {
                    Verdict::Improved => Verdict::Regressed,
                    Verdict::Regressed => Verdict::Improved,
                    same => same,
                };
                // What does not matter is a share of A, and that of B is another.
                prop_assert!(effect > 0.0 || there.verdict == turned);
                let ordered = [there.low, there.ratio, there.high];
                let known: Vec<f64> = ordered.into_iter().flatten().collect();
                prop_assert!(known.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 1e-12)), "{:?}", there);
                prop_assert!(known.iter().all(|ratio| ratio.is_finite() && *ratio > 0.0));
            }
        }
    }
}
