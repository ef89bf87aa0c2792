//! Bad moments: a few trials that failed a goal far below what others achieved it at. A target that pauses once, or
//! restarts, looks like that, and no answer is of it. Where they lost what a way loses of all packets alike, it is random
//! loss, and no moment was worse than another.

use crate::change::ln_choose;
use crate::{Goal, GoalOutcome};
use dropline_trial::{Caveat, Rate, Trial};
use std::time::Duration;

/// So many trials achieve the goal at a load, or above it, before a failure there is a bad moment.
const BORNE_OUT: usize = 3;
/// What failed is that much below what was borne.
pub(crate) const FAR: f64 = 1.1;
/// Loads that differ by less are about the same.
const ABOUT: f64 = 0.03;
/// What came through is that much below it.
const DEEP: f64 = 1.25;
/// Bad moments are few: so many trials to each are good.
const GOOD_EACH: usize = 3;

/// So many of them, and none that achieved the goal since, may be a target that became slower.
const LAST: usize = 2;

/// So many are a moment or two, wherever they are.
const RARE: usize = 2;
/// And more of them lie together in time where chance has as few spells less often than that.
const TOGETHER: f64 = 0.05;

/// Losses that differ from those of one probability for all packets by so many deviations are not of that.
const UNLIKE: f64 = 3.0;

/// Whether two loads are about the same.
pub(crate) fn are_about(one: Rate, other: Rate) -> bool {
    (one.as_pps() / other.as_pps() - 1.0).abs() < ABOUT
}

/// What became of each trial that counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments(Vec<Moment>);

#[derive(Clone, Debug)]
struct Moment {
    load: Rate,
    /// How long it was to be.
    asked: Duration,
    /// What came through, in packets a second.
    through_pps: f64,
    offered: u64,
    lost: u64,
    /// Of each goal, whether it was failed; `None` where that may be our own doing alone.
    failed: Vec<Option<bool>>,
}

impl Moment {
    fn lost_share(&self) -> f64 {
        if self.offered == 0 { 0.0 } else { self.lost as f64 / self.offered as f64 }
    }
}

impl Moments {
    pub(crate) fn note(&mut self, trial: &Trial, goals: &[Goal]) {
        let seconds = trial.duration.as_secs_f64();
        let failed = |goal: &Goal| trial.fails(goal.loss_ratio);
        self.0.push(Moment {
            load: trial.input.load,
            asked: trial.input.duration,
            through_pps: if seconds > 0.0 { trial.forwarded as f64 / seconds } else { 0.0 },
            offered: trial.offered,
            lost: trial.lost(),
            failed: goals.iter().map(failed).collect(),
        });
    }

    /// A doubt for each goal that was failed in a few bad moments.
    pub(crate) fn caveats(&self, goals: &[Goal], outcomes: &[GoalOutcome]) -> Vec<Caveat> {
        let of = |(index, (goal, outcome)): (usize, (&Goal, &GoalOutcome))| self.caveat(index, goal, outcome);
        goals.iter().zip(outcomes).enumerate().filter_map(of).collect()
    }

    fn caveat(&self, index: usize, goal: &Goal, outcome: &GoalOutcome) -> Option<Caveat> {
        if let Some(late) = self.late(index, goal) {
            return Some(late);
        }
        let mut borne: Vec<Rate> =
            self.0.iter().filter(|one| one.failed[index] == Some(false)).map(|one| one.load).collect();
        borne.sort_unstable_by(|one, other| other.cmp(one));
        let borne_pps = borne.get(BORNE_OUT - 1)?.as_pps();
        let is_bad = |one: &&Moment| {
            let is_deep =
                one.load.as_pps() <= borne_pps && one.through_pps * DEEP < borne_pps.min(one.load.as_pps());
            one.failed[index] == Some(true) && (one.load.as_pps() * FAR < borne_pps || is_deep)
        };
        let bad: Vec<&Moment> = self.0.iter().filter(is_bad).collect();
        let lowest = bad.iter().map(|one| one.load).min()?;
        let good = borne.iter().filter(|load| **load >= lowest).count();
        if bad.len() * GOOD_EACH > good {
            return None;
        }
        if let Some(random) = self.random_loss(index, goal, lowest, borne[BORNE_OUT - 1]) {
            return Some(random);
        }
        // A load that failed again and was never met is a bad one, and no moment was.
        let is_band = |one: &&Moment| {
            !borne.iter().any(|load| are_about(*load, one.load))
                && bad.iter().filter(|other| are_about(other.load, one.load)).count() > 1
        };
        let is_achieved = |one: &Moment| one.failed[index] == Some(false) && one.load >= lowest;
        let since = self.0.iter().rposition(is_achieved).map_or(0, |place| place + 1);
        let last = bad.len() >= LAST && self.0[since..].iter().filter(is_bad).count() == bad.len();
        let is_by_these = outcome.upper.is_some_and(|upper| upper.as_pps() * FAR < borne_pps);
        let decide = last || is_by_these || bad.iter().any(is_band);
        // An interval that holds their loads is of them too.
        let is_of_others = outcome.lower.is_some_and(|lower| lowest < lower);
        let such = self.0.iter().filter(|one| (lowest..=borne[BORNE_OUT - 1]).contains(&one.load));
        let order: Vec<bool> = such.map(|one| is_bad(&one)).collect();
        (decide || is_of_others).then(|| Caveat::BadMoments {
            loss_ratio: goal.loss_ratio.as_f64(),
            trials: bad.len() as u64,
            good: good as u64,
            lowest_pps: lowest.as_pps(),
            borne_pps,
            decide,
            last,
            scattered: !last && are_scattered(&order),
        })
    }

    /// That the last trials, several of them, failed a goal and let far less through than others did at loads as high, whether these
    /// met it or not, and that no other one did: it is no matter of the load.
    fn late(&self, index: usize, goal: &Goal) -> Option<Caveat> {
        let more = |one: &Moment, other: &Moment| {
            // A buffer lets more through of a shorter one.
            other.load >= one.load && other.asked >= one.asked && other.through_pps > FAR * one.through_pps
        };
        // Where far higher loads lose the same share, it is lost of whatever is offered, and less came through because less was.
        let as_much = |one: &Moment, other: &Moment| {
            let (lost, of_other) = (one.lost_share(), other.lost_share());
            other.load.as_pps() > FAR * one.load.as_pps() && lost < FAR * of_other && of_other < FAR * lost
        };
        let is_far = |one: &&Moment| {
            let is_deep = one.failed[index] == Some(true) && FAR * one.through_pps < one.load.as_pps();
            is_deep
                && self.0.iter().filter(|other| more(one, other)).count() >= BORNE_OUT
                && self.0.iter().filter(|other| as_much(one, other)).count() < BORNE_OUT
        };
        let far: Vec<&Moment> = self.0.iter().filter(is_far).collect();
        let lowest = far.iter().map(|one| one.load).min()?;
        // What was tried at lower loads since says nothing.
        let such = self.0.iter().rev().filter(|one| one.load >= lowest);
        let last = such.take_while(|one| is_far(one)).count();
        let mut others: Vec<f64> = self
            .0
            .iter()
            .filter(|one| far.iter().any(|slow| more(slow, one)))
            .map(|one| one.through_pps)
            .collect();
        others.sort_unstable_by(|one, other| other.total_cmp(one));
        (last >= LAST && last == far.len()).then(|| Caveat::BadMoments {
            loss_ratio: goal.loss_ratio.as_f64(),
            trials: last as u64,
            good: others.len() as u64,
            lowest_pps: lowest.as_pps(),
            borne_pps: others[BORNE_OUT - 1],
            decide: true,
            last: true,
            scattered: false,
        })
    }

    /// The doubt in place of that where trials at such loads lost as many packets as if each were lost with one probability.
    fn random_loss(&self, index: usize, goal: &Goal, lowest: Rate, borne: Rate) -> Option<Caveat> {
        let such = || self.0.iter().filter(|one| (lowest..=borne).contains(&one.load) && one.offered > 0);
        let sum = |of: fn(&Moment) -> u64| such().map(of).sum::<u64>();
        let (lost, offered) = (sum(|one| one.lost), sum(|one| one.offered));
        let mean = |one: &Moment| one.offered as f64 * lost as f64 / offered as f64;
        let off = |one: &Moment| (one.lost as f64 - mean(one)) * (one.lost as f64 - mean(one)) / mean(one);
        let unlike: f64 = such().map(off).sum();
        // Pearson's statistic, and its deviation where each mean is small (Haldane 1937).
        let free = such().count() as f64 - 1.0;
        let deviation = libm::sqrt(2.0 * free + such().map(|one| 1.0 / mean(one)).sum::<f64>());
        let trials = such().filter(|one| one.failed[index] == Some(true)).count() as u64;
        (trials >= 2 && lost > 0 && unlike <= free + UNLIKE * deviation).then(|| Caveat::RandomLoss {
            loss_ratio: goal.loss_ratio.as_f64(),
            trials,
            of: such().count() as u64,
            lowest_pps: lowest.as_pps(),
            highest_pps: borne.as_pps(),
            lost,
            offered,
        })
    }
}

/// Whether bad trials are several, and in no fewer spells than chance has it.
fn are_scattered(bad: &[bool]) -> bool {
    let number = bad.iter().filter(|bad| **bad).count();
    let spells = bad.chunk_by(|one, next| one == next).filter(|run| run[0]).count();
    let others = bad.len() - number;
    // Ways to put so many into so many spells, between the others (Wald and Wolfowitz 1940).
    let ways = |spells: usize| ln_choose(number - 1, spells - 1) + ln_choose(others + 1, spells);
    let all = ln_choose(bad.len(), number);
    let as_few = || (1..=spells).map(|spells| libm::exp(ways(spells) - all)).sum::<f64>();
    number > RARE && as_few() > TOGETHER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GoalResult, Irregular};
    use dropline_trial::{Disturbance, Ratio, TrialInput};

    const SECOND: Duration = Duration::from_secs(1);

    /// Loads in packets a second with what came through in a second, and the upper bound.
    fn said(trials: &[(u64, u64)], upper: u64) -> Option<Caveat> {
        let whole: Vec<_> = trials.iter().map(|&(load, forwarded)| (load, load, forwarded)).collect();
        said_of(&whole, upper)
    }

    /// The same, with what was offered between the two.
    fn said_of(trials: &[(u64, u64, u64)], upper: u64) -> Option<Caveat> {
        let goal = Goal {
            loss_ratio: Ratio::ZERO,
            exceed_ratio: Ratio::ZERO,
            width: Ratio::new(0.005).unwrap(),
            trial_duration: SECOND,
            initial_trial_duration: SECOND,
            duration_sum: SECOND,
        };
        let rate = |pps: u64| Rate::from_millipps(pps * 1000);
        let mut moments = Moments::default();
        for (number, &(load, offered, forwarded)) in (1..).zip(trials) {
            let input = TrialInput { load: rate(load), duration: SECOND };
            let counted = Trial::new(number, input, 7);
            let disturbance = Some(Disturbance::default());
            let counts = Trial { intended: Some(load), offered, forwarded, disturbance, ..counted };
            moments.note(&counts, &[goal]);
        }
        let outcome = GoalOutcome {
            lower: Some(rate(upper - 10)),
            upper: Some(rate(upper)),
            conditional_throughput_pps: None,
            result: GoalResult::Irregular(Irregular::Unfinished),
        };
        moments.caveats(&[goal], &[outcome]).pop()
    }

    #[test]
    fn a_trial_that_may_be_our_own_doing_alone_is_no_bad_moment() {
        let borne = [(1000, 1000, 1000), (1001, 1001, 1001), (1002, 1002, 1002)];
        let with = |one: (u64, u64, u64)| said_of(&[&borne[..], &[one]].concat(), 1010);
        assert_eq!(with((500, 300, 300)), None, "the rest was never offered");
        assert!(
            matches!(with((500, 450, 300)), Some(Caveat::BadMoments { trials: 1, .. })),
            "it lost a third too"
        );
        let late = [(500, 300, 300), (501, 300, 300)];
        assert_eq!(said_of(&[&borne[..], &late].concat(), 1010), None);
    }

    #[test]
    fn a_failure_far_below_what_others_bore_is_a_bad_moment_and_decides_where_the_bound_is_its_own() {
        let trials = [(1000, 1000), (1001, 1001), (1002, 1002), (500, 450), (2000, 1010)];
        let expected = |decide| Caveat::BadMoments {
            loss_ratio: 0.0,
            trials: 1,
            good: 3,
            lowest_pps: 500.0,
            borne_pps: 1000.0,
            decide,
            last: false,
            scattered: false,
        };
        assert_eq!(said(&trials, 1010), Some(expected(false)));
        assert_eq!(said(&trials, 500), Some(expected(true)), "the bound contradicts three trials above it");
        let again = |came: u64| {
            let more = (0..8).map(|_| (1003, 1003)).chain([(500, 450), (505, came)]);
            match said(&trials.into_iter().chain(more).collect::<Vec<_>>(), 1010) {
                Some(Caveat::BadMoments { decide, .. }) => decide,
                other => panic!("{other:?}"),
            }
        };
        assert!(
            again(455),
            "the same loads failed each time that they were tried: a band, for all that is known"
        );
        assert!(!again(505), "they were met too");
    }

    #[test]
    fn of_failures_that_were_the_last_trials_nobody_knows_whether_the_target_became_slower() {
        let good = [(1000, 1000); 6];
        let last = |after: &[(u64, u64)]| match said(&[&good[..], after].concat(), 1010) {
            Some(Caveat::BadMoments { last, decide, .. }) => (last, decide),
            other => panic!("{other:?}"),
        };
        assert_eq!(last(&[(700, 500), (800, 500)]), (true, true));
        assert_eq!(
            last(&[(700, 500), (800, 500), (600, 600), (2000, 1000)]),
            (true, true),
            "below them, and above"
        );
        assert_eq!(
            last(&[(700, 500), (800, 500), (900, 900)]),
            (false, false),
            "a higher load was borne since"
        );
        assert!(!last(&[(700, 500)]).0, "one is a moment");
    }

    #[test]
    fn what_is_lost_of_whatever_is_offered_is_no_change_where_less_was_offered_last() {
        let first = [(10_000, 7000), (8000, 5600), (9000, 6300)];
        let last = |after: &[(u64, u64)]| said(&[&first[..], after].concat(), 1010);
        assert_eq!(last(&[(1000, 700), (1000, 701), (1000, 699)]), None, "30 % of any load");
        assert!(last(&[(1000, 500), (1000, 501), (1000, 499)]).is_some(), "half of it, in the end");
    }

    /// They are no lower than what was borne, and far above it no limit explains what they lost.
    #[test]
    fn that_the_last_ones_let_far_less_through_than_others_at_such_loads_is_told_of_the_limit_itself() {
        let near = [(1000, 1000), (1010, 1003), (1005, 1002), (1012, 1003), (1001, 1001), (1008, 1002)];
        let last = |after: &[(u64, u64)]| match said(&[&near[..], after].concat(), 1010) {
            Some(Caveat::BadMoments { trials, last, decide, .. }) => Some((trials, last, decide)),
            None => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(last(&[(1006, 700), (1005, 705), (1006, 702)]), Some((3, true, true)));
        assert_eq!(
            last(&[(1006, 700), (1005, 705), (900, 900)]),
            Some((2, true, true)),
            "below them, as probes"
        );
        assert_eq!(last(&[(1006, 700), (1005, 705), (1006, 1002)]), None, "it was a moment");
        assert_eq!(last(&[(1500, 700), (1600, 705)]), None, "nothing else was tried there");
    }

    #[test]
    fn a_moment_was_worse_where_failures_lie_together_and_else_trials_differ_by_chance() {
        let scattered = |places: &[usize]| {
            let trial = |place| {
                if places.contains(&place) { (500, 450) } else { (1000 + place as u64, 1000 + place as u64) }
            };
            match said(&(0..24).map(trial).collect::<Vec<_>>(), 1030) {
                Some(Caveat::BadMoments { scattered, .. }) => scattered,
                other => panic!("{other:?}"),
            }
        };
        assert!(scattered(&[2, 7, 11, 16, 20]));
        assert!(!scattered(&[6, 7, 8, 9, 10]), "together");
        assert!(!scattered(&[2, 16]), "two are a moment or two");
    }

    #[test]
    fn failures_that_one_probability_of_every_packet_explains_are_random_loss_and_no_moment() {
        let good = [(30_000, 30_000); 9];
        let lost = |first: u64, second: u64| {
            said(&[good.as_slice(), &[(10_000, 10_000 - first), (12_000, 12_000 - second)]].concat(), 40_000)
        };
        let expected = Caveat::RandomLoss {
            loss_ratio: 0.0,
            trials: 2,
            of: 11,
            lowest_pps: 10_000.0,
            highest_pps: 30_000.0,
            lost: 2,
            offered: 292_000,
        };
        assert_eq!(lost(1, 1), Some(expected));
        assert!(matches!(lost(40, 1), Some(Caveat::BadMoments { trials: 2, .. })), "one lost far more");
        assert!(matches!(lost(1, 0), Some(Caveat::BadMoments { trials: 1, .. })), "once tells nothing of it");
    }

    #[test]
    fn a_deep_loss_where_others_lost_nothing_is_one_too_and_a_slight_one_is_the_knee() {
        let with = |last| said(&[(1000, 1000), (1001, 1001), (1002, 1002), last], 1010);
        assert!(with((999, 0)).is_some());
        assert_eq!(with((999, 990)), None);
        assert_eq!(with((1500, 100)), None, "above what was borne it is overload");
    }

    #[test]
    fn a_target_that_fails_as_often_as_not_has_no_bad_moments() {
        assert_eq!(said(&[(1000, 1000), (1001, 1001), (1002, 1002), (500, 450), (600, 599)], 1010), None);
        assert_eq!(
            said(&[(1000, 1000), (1001, 1001), (500, 450)], 1010),
            None,
            "two trials bear nothing out"
        );
    }
}
