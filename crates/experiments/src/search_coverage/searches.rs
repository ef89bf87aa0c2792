//! The searches that are made, one by one.

use dropline_search::mlr::EffectiveDuration;
use dropline_search::{Goal, GoalOutcome, GoalResult, Irregular, Limits, Preset};
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_targets::Target;
use dropline_trial::{Measurer as _, Rate, Ratio, TrafficProfile};
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Warm-up of each binary search, in seconds.
pub(super) const BINARY_WARM_UP_S: f64 = 5.0;

/// Who searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Contender {
    /// At a stated level, in billionths.
    Credible { level: u64 },
    /// With the goals of CSIT.
    Mlr,
    /// In trials of 30 s.
    Mdr,
    /// A search for each goal.
    Binary,
    /// FD.io CSIT's library, where it is installed.
    Rival,
}

/// One search, or with `Binary` one for each goal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) system: System,
    pub(super) contender: Contender,
    pub(super) seed: u64,
}

/// How a search ended: a line of the file that is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) system: String,
    pub(super) contender: Contender,
    pub(super) seed: u64,
    pub(super) seconds: f64,
    pub(super) caveats: Vec<String>,
    /// One for each goal.
    #[serde(deserialize_with = "of_both_goals")]
    pub(super) answers: Vec<Answer>,
}

fn of_both_goals<'de, D: serde::Deserializer<'de>>(answers: D) -> Result<Vec<Answer>, D::Error> {
    <[Answer; 2]>::deserialize(answers).map(Vec::from)
}

/// The answer to one goal, as shares of the truth.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    /// Whether the truth is within the stated ends.
    pub(super) holds: bool,
    /// (upper − lower) ÷ upper.
    pub(super) width: Option<f64>,
    /// Headline number ÷ truth − 1.
    pub(super) error: Option<f64>,
}

impl Job {
    pub(super) fn key(&self) -> (String, Contender, u64) {
        (self.system.name().into(), self.contender, self.seed)
    }

    pub(super) fn perform(self) -> Ended {
        let Self { system, contender, seed } = self;
        let goals = contender.goals();
        let searches: Vec<Vec<Goal>> = match contender {
            Contender::Binary => goals.into_iter().map(|goal| vec![goal]).collect(),
            _ => vec![goals],
        };
        let mut ended = Ended {
            system: system.name().into(),
            contender,
            seed,
            seconds: 0.0,
            caveats: Vec::new(),
            answers: Vec::new(),
        };
        for goals in searches {
            let mut target = simulated(system, seed);
            let plan = contender.plan(goals.clone(), seed);
            let mut search = plan.search().expect("the experiment's goals are legal");
            while let Some(input) = search.next_trial() {
                let Ok(trial) = target.measure(input);
                search.record(&trial);
            }
            ended.seconds += search.spent().as_secs_f64();
            if contender == Contender::Binary {
                ended.seconds += BINARY_WARM_UP_S;
            }
            ended.caveats.extend(search.caveats().iter().map(|caveat| caveat.code().to_owned()));
            for (goal, outcome) in goals.iter().zip(search.outcome()) {
                let truth = target.truth(goal.loss_ratio, goal.trial_duration, goal.exceed_ratio);
                ended.answers.push(Answer::of(&outcome, truth));
            }
        }
        ended
    }
}

impl Ended {
    /// Which job it was.
    pub(super) fn key(&self) -> (String, Contender, u64) {
        (self.system.clone(), self.contender, self.seed)
    }
}

impl Contender {
    pub(super) fn goals(self) -> Vec<Goal> {
        let long = |goal: Goal| Goal {
            trial_duration: Duration::from_secs(30),
            initial_trial_duration: Duration::from_secs(if self == Self::Binary { 30 } else { 1 }),
            duration_sum: Duration::from_secs(30),
            ..goal
        };
        let goals = Preset::Csit.goals();
        match self {
            Self::Mdr | Self::Binary => goals.into_iter().map(long).collect(),
            _ => goals,
        }
    }

    fn plan(self, goals: Vec<Goal>, seed: u64) -> SearchPlan {
        let named = |name| AlgorithmPlan::parse(name).expect("a name of ours");
        let algorithm = match self {
            Self::Credible { level } => {
                let level = Ratio::from_billionths(level).expect("a level is below 1");
                AlgorithmPlan::Credible { level, certify: false }
            }
            Self::Mlr | Self::Rival => AlgorithmPlan::Mlr { effective: EffectiveDuration::Elapsed },
            Self::Mdr => named("mdr"),
            Self::Binary => named("binary"),
        };
        let budget = match self {
            Self::Credible { .. } => algorithm.default_budget(),
            _ => None,
        };
        let target = Target::parse("sim:hard").expect("a simulated system");
        SearchPlan {
            profile: TrafficProfile { seed, ..TrafficProfile::default() },
            // An adversary could make MDR go on for ever; these systems never need as many.
            limits: Limits { budget, max_trials: Some(2000) },
            ..SearchPlan::of(target, algorithm, goals, default_range())
        }
    }
}

impl Answer {
    pub(super) fn of(outcome: &GoalOutcome, truth: Option<Rate>) -> Self {
        let GoalOutcome { lower, upper, .. } = *outcome;
        let holds = match truth {
            Some(truth) => {
                (lower.is_some() || upper.is_some())
                    && lower.is_none_or(|lower| lower <= truth)
                    && upper.is_none_or(|upper| truth <= upper)
            }
            None => is_at_an_end(outcome),
        };
        let headline = outcome
            .median()
            .map(Rate::as_pps)
            .or(outcome.conditional_throughput_pps)
            .or(lower.map(Rate::as_pps));
        Self {
            holds,
            width: lower.zip(upper).map(|(lower, upper)| 1.0 - lower.as_pps() / upper.as_pps()),
            error: headline.zip(truth).map(|(headline, truth)| headline / truth.as_pps() - 1.0),
        }
    }
}

fn is_at_an_end(outcome: &GoalOutcome) -> bool {
    matches!(
        outcome.result,
        GoalResult::AtMaximum { .. }
            | GoalResult::BelowMinimum { .. }
            | GoalResult::Irregular(Irregular::AtMaximum | Irregular::BelowMinimum)
    )
}

pub(super) fn simulated(system: System, seed: u64) -> Simulated {
    let profile = TrafficProfile { seed, ..TrafficProfile::default() };
    Simulated::new(system, Settings { seed, ..Settings::default() }, profile, 1)
}

#[cfg(test)]
mod tests {
    use super::super::LEVEL;
    use super::*;

    #[test]
    fn every_algorithm_ends_on_every_system_and_an_answer_is_held_against_its_truth() {
        for system in System::all() {
            for contender in [Contender::Mlr, Contender::Mdr, Contender::Binary] {
                let ended = Job { system, contender, seed: 3 }.perform();
                assert_eq!(ended.answers.len(), 2, "{} {contender:?}", system.name());
            }
        }
        let system = System::named("hard").unwrap();
        let ended = Job { system, contender: Contender::Credible { level: LEVEL }, seed: 3 }.perform();
        assert!(ended.answers.iter().all(|answer| answer.holds && answer.width < Some(0.005)), "{ended:?}");
        assert!(ended.answers.iter().all(|answer| answer.error.unwrap().abs() < 0.002));
    }
}
