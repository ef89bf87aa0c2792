//! Goals as people write them, and what is meant where they say nothing.

use crate::algorithm::AlgorithmPlan;
use dropline_failure::{Failure, nearest};
use dropline_record::GoalLine;
use dropline_search::Goal;
use dropline_trial::{Ratio, quantities};
use std::time::Duration;

/// A goal as written: a loss ratio or a bound on a percentile of the delay, and any attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenGoal {
    loss_ratio: Option<Ratio>,
    within: Option<Duration>,
    exceed: Option<Ratio>,
    width: Option<Ratio>,
    trial: Option<Duration>,
    initial: Option<Duration>,
    sum: Option<Duration>,
}

const KEYS: [&str; 5] = ["exceed", "trial", "initial", "sum", "width"];

impl WrittenGoal {
    /// Reads `0`, `0.5%,exceed=50%,trial=1s,initial=1s,sum=21s,width=0.5%`, `p99<200us`, `late>50ms:0.1%`.
    ///
    /// # Errors
    /// If a part is not a quantity, or an attribute is unknown.
    pub fn parse(word: &str) -> Result<Self, Failure> {
        let mut parts = word.split(',').map(str::trim);
        let first = parts.next().unwrap_or_default();
        let wrong = |part: &str, why: quantities::QuantityError| {
            Failure::usage(format!("goal {word:?}, {part}: {why}"))
        };
        // A percentile without its bound is no share of loss that was written badly.
        let of_delay = |first: &str| {
            let percentile = first.strip_prefix('p').and_then(|rest| rest.chars().next());
            first.contains(['<', '>'])
                || ["max", "late"].contains(&first)
                || percentile.is_some_and(|next| next.is_ascii_digit())
        };
        let (within, loss_ratio) = match of_delay(first) {
            false => (None, quantities::ratio(first).map_err(|why| wrong("loss ratio", why))?),
            true => {
                let (bound, ratio) = bound(word, first)?;
                (Some(bound), ratio)
            }
        };
        let mut goal = Self { loss_ratio: Some(loss_ratio), within, ..Self::default() };
        for part in parts {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| Failure::usage(format!("goal {word:?}: {part:?} is not NAME=VALUE")))?;
            let ratio = || quantities::ratio(value).map_err(|why| wrong(key, why));
            let duration = || quantities::positive_duration(value).map_err(|why| wrong(key, why));
            match key {
                "exceed" => goal.exceed = Some(ratio()?),
                "width" => goal.width = Some(ratio()?),
                "trial" => goal.trial = Some(duration()?),
                "initial" => goal.initial = Some(duration()?),
                "sum" => goal.sum = Some(duration()?),
                _ => {
                    return Err(Failure::usage(format!(
                        "a goal has no attribute {key:?}{}",
                        nearest(key, &KEYS)
                    ))
                    .advice(format!("it has {}", KEYS.join(", "))));
                }
            }
        }
        Ok(goal)
    }

    /// Whether a search for this goal bounds the same losses and the same delay.
    pub fn is_asked_by(&self, line: &GoalLine) -> bool {
        self.loss_ratio.unwrap_or(Ratio::ZERO).as_f64() == line.loss_ratio
            && self.within.map(|within| within.as_secs_f64()) == line.within_s
    }

    /// The goal with the algorithm's defaults where nothing was said.
    ///
    /// # Errors
    /// If it cannot be searched for.
    pub fn resolve(&self, algorithm: AlgorithmPlan) -> Result<Goal, Failure> {
        let second = Duration::from_secs(1);
        let (trial_duration, initial) = algorithm.trial_durations(self.trial);
        let goal = Goal {
            loss_ratio: self.loss_ratio.unwrap_or(Ratio::ZERO),
            exceed_ratio: self.exceed.unwrap_or_else(|| share(500_000_000)),
            width: self.width.unwrap_or_else(|| share(5_000_000)),
            trial_duration,
            initial_trial_duration: self.initial.unwrap_or(initial),
            duration_sum: self.sum.unwrap_or_else(|| (21 * second).max(trial_duration)),
        };
        checked(goal)
    }
}

/// The longest delay that these goals allow: one for all, or none.
///
/// # Errors
/// If they allow several.
pub fn within(goals: &[WrittenGoal]) -> Result<Option<Duration>, Failure> {
    let first = goals.first().and_then(|goal| goal.within);
    match goals.iter().all(|goal| goal.within == first) {
        true => Ok(first),
        false if goals.iter().any(|goal| goal.within.is_none()) => Err(Failure::usage(
            "goals of a loss and goals of a delay cannot be asked in one search: a packet that comes back too late counts as lost, \
             and would for all of them",
        )
        .advice("search once for the loss and once for the delay, each with its own --goal")),
        false => Err(Failure::usage(
            "the goals of a search have one bound on the delay, and these have several",
        )
        .advice("a packet that comes back later counts as lost for all of them: search once for each bound")),
    }
}

/// `p99<200us`, `max<1ms` or `late>50ms:0.1%`: the bound, and the share of packets that may be lost or later.
fn bound(word: &str, text: &str) -> Result<(Duration, Ratio), Failure> {
    let wrong =
        |what: &str, why: quantities::QuantityError| Failure::usage(format!("goal {word:?}, {what}: {why}"));
    let duration = |text: &str| quantities::positive_duration(text.trim()).map_err(|why| wrong("delay", why));
    if let Some((name, time)) = text.split_once('<') {
        let percent = match name.trim() {
            "max" => return Ok((duration(time)?, Ratio::ZERO)),
            name => name.strip_prefix('p'),
        };
        if let Some(percent) = percent {
            let in_time =
                quantities::ratio(&format!("{percent}%")).map_err(|why| wrong("percentile", why))?;
            // Those of 0 and 100 % have no share on one side.
            let share = Ratio::from_billionths(1_000_000_000 - in_time.as_billionths());
            let share = share.map_err(|why| Failure::usage(format!("goal {word:?}, percentile: {why}")))?;
            return Ok((duration(time)?, share));
        }
    }
    if let Some((time, share)) = text.strip_prefix("late>").and_then(|rest| rest.split_once(':')) {
        return Ok((duration(time)?, quantities::ratio(share.trim()).map_err(|why| wrong("share", why))?));
    }
    Err(Failure::usage(format!("goal {word:?}: {text:?} is not a bound on the delay"))
        .advice("write  p99<200us,  max<1ms  or  late>50ms:0.1%"))
}

/// The goal itself, or a usage error that says why it cannot be searched for.
pub(crate) fn checked(goal: Goal) -> Result<Goal, Failure> {
    goal.checked().map_err(Failure::usage)
}

fn share(billionths: u64) -> Ratio {
    Ratio::from_billionths(billionths).expect("defaults are below one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_has_the_defaults_of_its_algorithm() {
        let mdr = AlgorithmPlan::parse("mdr").unwrap();
        let goal = WrittenGoal::parse("0.5%").unwrap().resolve(mdr).unwrap();
        assert_eq!(goal.trial_duration, Duration::from_secs(30));
        assert_eq!(goal.initial_trial_duration, Duration::from_secs(1));
        assert_eq!((goal.loss_ratio, goal.width), (share(5_000_000), share(5_000_000)));
        let mlr = AlgorithmPlan::parse("mlr").unwrap();
        let goal = WrittenGoal::parse("0,trial=60s").unwrap().resolve(mlr).unwrap();
        assert_eq!(goal.duration_sum, Duration::from_secs(60), "a sum below one trial decides nothing");
    }

    #[test]
    fn a_bound_on_a_percentile_is_a_share_that_may_be_lost_or_later() {
        for (word, within_us, billionths) in [
            ("p99<200us", 200, 10_000_000),
            ("p99.9 < 1ms", 1000, 1_000_000),
            ("max<50us", 50, 0),
            ("late>50ms:0.1%", 50_000, 1_000_000),
            ("late>1ms: 2 %,width=1%", 1000, 20_000_000),
        ] {
            let goal = WrittenGoal::parse(word).unwrap_or_else(|why| panic!("{word}: {why}"));
            let ratio = goal.loss_ratio.map(Ratio::as_billionths);
            assert_eq!(
                (goal.within, ratio),
                (Some(Duration::from_micros(within_us)), Some(billionths)),
                "{word}"
            );
            assert_eq!(within(&[goal]).unwrap(), goal.within);
        }
        for (several, why) in [
            (["p99<200us", "p99<1ms"], "one bound on the delay"),
            (["p99<200us", "0"], "goals of a loss and goals of a delay"),
        ] {
            let several = several.map(|word| WrittenGoal::parse(word).unwrap());
            assert!(within(&several).unwrap_err().to_string().contains(why), "{several:?}");
        }
        assert_eq!(within(&[]).unwrap(), None);
    }

    #[test]
    fn a_goal_that_cannot_be_is_a_usage_error_that_says_why() {
        let mlr = AlgorithmPlan::parse("mlr").unwrap();
        for (bad, why) in [
            ("1", "below 1"),
            ("-0.1", "at least 0"),
            ("0,exceed=100%", "below 1"),
            ("0,widht=1%", "did you mean \"width\"?"),
            ("0,trial=1", "needs a unit"),
            ("0,trial=0s", "above 0"),
            ("0,width=0", "width must be above 0"),
            ("0,trial=1s,initial=2s", "initial"),
            ("", "number"),
            ("p99<200", "needs a unit"),
            ("p99<0s", "above 0"),
            ("p0<1ms", "below 1"),
            ("p100<1ms", "below 1"),
            ("p99>200us", "is not a bound on the delay"),
            ("p99", "write  p99<200us"),
            ("max,width=1%", "write  p99<200us"),
            ("p<200us", "number"),
            ("q99<200us", "write  p99<200us"),
            ("late>50ms", "is not a bound on the delay"),
            ("late>50ms:100%", "below 1"),
        ] {
            let error = WrittenGoal::parse(bad).and_then(|goal| goal.resolve(mlr)).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(why), "{bad}: {error}");
        }
    }
}
