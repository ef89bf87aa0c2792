//! Goals as people write them, and what is meant where they say nothing.

use crate::algorithm::AlgorithmPlan;
use dropline_failure::{Failure, nearest};
use dropline_search::Goal;
use dropline_trial::{Ratio, quantities};
use std::time::Duration;

/// A goal as written: a loss ratio, and any attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenGoal {
    loss_ratio: Option<Ratio>,
    exceed: Option<Ratio>,
    width: Option<Ratio>,
    trial: Option<Duration>,
    initial: Option<Duration>,
    sum: Option<Duration>,
}

const KEYS: [&str; 5] = ["exceed", "trial", "initial", "sum", "width"];

impl WrittenGoal {
    /// Reads `0`, `0.5%,exceed=50%,trial=1s,initial=1s,sum=21s,width=0.5%`.
    ///
    /// # Errors
    /// If a part is not a quantity, or an attribute is unknown.
    pub fn parse(word: &str) -> Result<Self, Failure> {
        let mut parts = word.split(',').map(str::trim);
        let first = parts.next().unwrap_or_default();
        let wrong = |part: &str, why: quantities::QuantityError| {
            Failure::usage(format!("goal {word:?}, {part}: {why}"))
        };
        let mut goal = Self {
            loss_ratio: Some(quantities::ratio(first).map_err(|why| wrong("loss ratio", why))?),
            ..Self::default()
        };
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
        ] {
            let error = WrittenGoal::parse(bad).and_then(|goal| goal.resolve(mlr)).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(why), "{bad}: {error}");
        }
    }
}
