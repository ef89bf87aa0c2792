//! An algorithm within its limits, fed with evidence only.

use crate::contradiction::contradictions;
use crate::{Algorithm, Belief, Bounds, Goal, GoalOutcome, GoalResult, Irregular};
use dropline_trial::{Caveat, Rate, Trial, TrialInput};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a load is tried again when our own failings spoil the trial.
///
/// After that the trial counts as bad: a load that cannot be offered cannot be a lower bound.
const VOID_TRIES: u32 = 2;

/// When a search gives up, whatever it knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bound on the sum of the trials' elapsed times, looked at before each trial.
    pub budget: Option<Duration>,
    /// Bound on the number of trials.
    pub max_trials: Option<u64>,
}

/// A search: asks for trials, learns from them, knows what it would answer.
///
/// Trials that say more about us than about the target (see
/// [`Trial::is_void_at`](dropline_trial::Trial::is_void_at)) are asked for again, twice at each load.
#[derive(Debug)]
pub struct Search {
    algorithm: Box<dyn Algorithm>,
    goals: Vec<Goal>,
    limits: Limits,
    spent: Duration,
    trials: u64,
    /// Void trials at each load.
    voids: BTreeMap<Rate, u32>,
    /// Loads that failed a goal only through our own failings, a set of goals each.
    charged: BTreeMap<Rate, Vec<bool>>,
}

impl Search {
    /// A search for `goals` by `algorithm`, which was built for the same goals in the same order.
    pub fn new(algorithm: Box<dyn Algorithm>, goals: Vec<Goal>, limits: Limits) -> Self {
        Self {
            algorithm,
            goals,
            limits,
            spent: Duration::ZERO,
            trials: 0,
            voids: BTreeMap::new(),
            charged: BTreeMap::new(),
        }
    }

    /// The goals, in the order of the answers.
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// The next trial to perform; `None` when the search is done or a limit is reached.
    pub fn next_trial(&mut self) -> Option<TrialInput> {
        let out_of_time = self.limits.budget.is_some_and(|budget| self.spent >= budget);
        let out_of_trials = self.limits.max_trials.is_some_and(|most| self.trials >= most);
        if out_of_time || out_of_trials { None } else { self.algorithm.next_trial() }
    }

    /// The next trial whatever the limits; `None` when the search is done.
    pub fn wanted(&mut self) -> Option<TrialInput> {
        self.algorithm.next_trial()
    }

    /// Goes on with other limits from here on. What was decided before stays: an algorithm that shares out its
    /// budget shares out the new one.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
        self.algorithm.budget(limits.budget);
    }

    /// Learns from the trial that [`next_trial`](Self::next_trial) asked for.
    pub fn record(&mut self, trial: &Trial) {
        self.spent += trial.elapsed;
        self.trials += 1;
        let void: Vec<bool> = self.goals.iter().map(|goal| trial.is_void_at(goal.loss_ratio)).collect();
        if void.contains(&true) {
            let tries = self.voids.entry(trial.input.load).or_default();
            if *tries < VOID_TRIES {
                *tries += 1;
                return;
            }
            self.charged.insert(trial.input.load, void);
        } else if let Some(charged) = self.charged.get_mut(&trial.input.load) {
            // The target fails here too: then the bound is its own.
            for (charged, goal) in charged.iter_mut().zip(&self.goals) {
                *charged &= !trial.target_exceeds(goal.loss_ratio);
            }
        }
        self.algorithm.record(trial);
    }

    /// Name of the phase that the next trial belongs to.
    pub fn phase(&self) -> String {
        self.algorithm.phase()
    }

    /// Sum of the trials' elapsed times.
    pub fn spent(&self) -> Duration {
        self.spent
    }

    /// What is known now, a pair of bounds a goal.
    pub fn bounds(&self) -> Vec<Bounds> {
        self.algorithm.bounds()
    }

    /// A second statement by RFC 9971, one a goal, where the algorithm makes one.
    pub fn certified(&self) -> Option<Vec<GoalOutcome>> {
        self.algorithm.certified()
    }

    /// What is believed beyond the answer, where the algorithm has a model.
    pub fn belief(&self) -> Option<Belief> {
        self.algorithm.belief()
    }

    /// Doubts about what the search answers now.
    pub fn caveats(&self) -> Vec<Caveat> {
        let mut caveats = self.algorithm.caveats();
        caveats.extend(contradictions(&self.goals, &self.outcome()));
        caveats
    }

    /// What the search answers now, one a goal; irregular until it is done.
    pub fn outcome(&self) -> Vec<GoalOutcome> {
        let mut outcomes = self.algorithm.outcome();
        for (index, outcome) in outcomes.iter_mut().enumerate() {
            let ours = outcome.upper.and_then(|upper| self.charged.get(&upper));
            if ours.is_some_and(|charged| charged[index]) {
                outcome.result = GoalResult::Irregular(Irregular::GeneratorLimited);
            }
        }
        outcomes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::Ratio;

    /// Asks for one load until it has an answer, and reports it as an upper bound when bad.
    #[derive(Debug, Default)]
    struct OneLoad {
        answered: Option<Trial>,
    }

    const LOAD: Rate = Rate::from_millipps(1_000_000);

    impl Algorithm for OneLoad {
        fn next_trial(&mut self) -> Option<TrialInput> {
            let input = TrialInput { load: LOAD, duration: Duration::from_secs(1) };
            self.answered.is_none().then_some(input)
        }

        fn record(&mut self, trial: &Trial) {
            self.answered = Some(trial.clone());
        }

        fn phase(&self) -> String {
            "only".into()
        }

        fn bounds(&self) -> Vec<Bounds> {
            vec![Bounds::default()]
        }

        fn outcome(&self) -> Vec<GoalOutcome> {
            let bad = self.answered.as_ref().is_some_and(|trial| trial.exceeds(Ratio::ZERO));
            vec![GoalOutcome {
                lower: None,
                upper: bad.then_some(LOAD),
                conditional_throughput_pps: None,
                result: GoalResult::Irregular(Irregular::Unfinished),
            }]
        }
    }

    fn search(limits: Limits) -> Search {
        let second = Duration::from_secs(1);
        let goal = Goal {
            loss_ratio: Ratio::ZERO,
            exceed_ratio: Ratio::ZERO,
            width: Ratio::new(0.005).unwrap(),
            trial_duration: second,
            initial_trial_duration: second,
            duration_sum: second,
        };
        Search::new(Box::<OneLoad>::default(), vec![goal], limits)
    }

    fn trial(offered: u64) -> Trial {
        let input = TrialInput { load: LOAD, duration: Duration::from_secs(1) };
        Trial { intended: Some(1000), offered, forwarded: offered, ..Trial::new(1, input, 7) }
    }

    #[test]
    fn a_load_we_could_not_offer_is_tried_again_and_then_bounds_us_not_the_target() {
        let mut search = search(Limits::default());
        for _ in 0..=VOID_TRIES {
            assert!(search.next_trial().is_some());
            search.record(&trial(900));
        }
        assert_eq!(search.next_trial(), None);
        assert_eq!(search.outcome()[0].result, GoalResult::Irregular(Irregular::GeneratorLimited));
    }

    #[test]
    fn a_load_that_the_target_fails_too_bounds_the_target() {
        let mut search = search(Limits::default());
        for _ in 0..=VOID_TRIES {
            search.record(&trial(900));
        }
        search.record(&Trial { forwarded: 900, ..trial(1000) });
        assert_ne!(search.outcome()[0].result, GoalResult::Irregular(Irregular::GeneratorLimited));
    }

    #[test]
    fn a_good_trial_after_a_void_one_is_evidence() {
        let mut search = search(Limits::default());
        search.record(&trial(900));
        search.record(&trial(1000));
        assert_eq!((search.next_trial(), search.outcome()[0].upper), (None, None));
    }

    #[test]
    fn limits_end_a_search_before_a_trial_not_within() {
        let mut by_time = search(Limits { budget: Some(Duration::from_millis(1500)), max_trials: None });
        by_time.record(&trial(900));
        assert!(by_time.next_trial().is_some(), "1.0 of 1.5 s are spent");
        by_time.record(&trial(900));
        assert_eq!(by_time.next_trial(), None);
        let mut by_number = search(Limits { budget: None, max_trials: Some(1) });
        by_number.record(&trial(900));
        assert_eq!(by_number.next_trial(), None);
    }
}
