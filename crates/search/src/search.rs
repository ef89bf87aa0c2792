//! An algorithm within its limits, fed with evidence only.

use crate::contradiction::contradictions;
use crate::moments::Moments;
use crate::undisturbed::Undisturbed;
use crate::{Algorithm, Belief, Bounds, Goal, GoalOutcome, GoalResult, Irregular};
use dropline_trial::{Caveat, Rate, Trial, TrialInput};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a load is tried again when our own failings spoil the trial.
///
/// After that the trial counts as bad: a load that cannot be offered cannot be a lower bound.
const VOID_TRIES: u32 = 2;
/// So many void trials in a search are tried again in any case; further ones while half of all trials are good.
const VOIDS_BORNE: u64 = 12;

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
/// [`Trial::is_void_at`](dropline_trial::Trial::is_void_at)) are asked for again, twice at each load, while not most
/// trials are void. What an algorithm makes of one that stays void is charged to us: no answer rests on it, nor on
/// trials alone that our own side disturbed. A trial in which the target died is asked for again likewise; one that it never survives is the target's own failure.
#[derive(Debug)]
pub struct Search {
    algorithm: Box<dyn Algorithm>,
    goals: Vec<Goal>,
    limits: Limits,
    spent: Duration,
    trials: u64,
    /// The algorithm wants another trial, whatever the limits say.
    is_open: bool,
    /// Trials that say more about us than about the target.
    ours: u64,
    /// Those of them of which that is mostly so because others kept the target from its CPU.
    starved: u64,
    /// The lowest load at which the target itself failed, an entry a goal.
    failed: Vec<Option<Rate>>,
    /// The highest load at which a whole trial achieved the goal, an entry a goal.
    achieved: Vec<Option<Rate>>,
    /// What came through in the last trial, in packets a second.
    last_pps: f64,
    /// Void trials, of all loads and of each: those, and trials in which the target died.
    voids: u64,
    voids_at: BTreeMap<Rate, u32>,
    last_is_void: bool,
    /// Loads that failed a goal only through our own failings, an entry a goal.
    charged: BTreeMap<Rate, Vec<Charge>>,
    undisturbed: Undisturbed,
    moments: Moments,
}

/// What one goal owes to our own failings at a load.
#[derive(Clone, Copy, Debug, Default)]
struct Charge {
    /// A trial failed the goal only through them, and the target's own failures do not suffice.
    stands: bool,
    /// For how long the target failed the goal by itself since then.
    own: Duration,
}

impl Charge {
    /// The target failed the goal by itself: for long enough, and the bound is its own (RFC 9971, appendix A).
    fn fails(&mut self, goal: &Goal, lasted: Duration) {
        self.own += lasted;
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.stands &= !goal.exceed_ratio.is_exceeded_by(nanos(self.own), nanos(goal.duration_sum));
    }
}

impl Search {
    /// A search for `goals` by `algorithm`, which was built for the same goals in the same order.
    pub fn new(algorithm: Box<dyn Algorithm>, goals: Vec<Goal>, limits: Limits) -> Self {
        Self {
            algorithm,
            failed: vec![None; goals.len()],
            achieved: vec![None; goals.len()],
            last_pps: 0.0,
            goals,
            limits,
            spent: Duration::ZERO,
            trials: 0,
            is_open: true,
            ours: 0,
            starved: 0,
            voids: 0,
            voids_at: BTreeMap::new(),
            last_is_void: false,
            charged: BTreeMap::new(),
            undisturbed: Undisturbed::default(),
            moments: Moments::default(),
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
        if out_of_time || out_of_trials {
            self.settle();
            return None;
        }
        self.algorithm.next_trial()
    }

    /// No trial follows, whatever the reason: what was seen so far is made an answer.
    pub fn settle(&mut self) {
        self.algorithm.settle();
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
        let void = |goal: &Goal| trial.is_void_at(goal.loss_ratio);
        let died = |goal: &Goal| trial.target_went_away() && trial.exceeds(goal.loss_ratio);
        let is_ours = self.goals.iter().any(void);
        if is_ours || self.goals.iter().any(died) {
            self.ours += u64::from(is_ours);
            self.starved += u64::from(is_ours && trial.is_mostly_starved());
            self.voids += 1;
            let tries = self.voids_at.entry(trial.input.load).or_default();
            *tries += 1;
            let is_borne = self.voids <= VOIDS_BORNE || !is_most(self.voids, self.trials);
            self.last_is_void = *tries <= VOID_TRIES && is_borne;
        } else {
            self.last_is_void = false;
        }
        if self.last_is_void {
            return;
        }
        if is_ours {
            let charged = self.charged.entry(trial.input.load).or_default();
            charged.resize(self.goals.len(), Charge::default());
            for (charge, _) in charged.iter_mut().zip(&self.goals).filter(|(_, goal)| void(goal)) {
                *charge = Charge { stands: true, own: Duration::ZERO };
            }
        }
        let load = trial.input.load;
        for (lowest, _) in self.failed.iter_mut().zip(&self.goals).filter(|(_, goal)| is_failed(trial, goal))
        {
            *lowest = Some(lowest.map_or(load, |lowest| lowest.min(load)));
        }
        for (highest, goal) in self.achieved.iter_mut().zip(&self.goals) {
            if trial.input.duration >= goal.trial_duration && !trial.exceeds(goal.loss_ratio) {
                *highest = (*highest).max(Some(load));
            }
        }
        self.last_pps = trial.forwarding_rate_pps();
        for (charge, goal) in self.charged.get_mut(&trial.input.load).into_iter().flatten().zip(&self.goals) {
            if trial.target_exceeds(goal.loss_ratio) {
                charge.fails(goal, trial.input.duration);
            }
        }
        self.undisturbed.note(trial);
        self.moments.note(trial, &self.goals);
        self.algorithm.record(trial);
        self.is_open = self.algorithm.next_trial().is_some();
    }

    /// Whether the last trial was void: it changed nothing, and is asked for again.
    pub fn last_is_void(&self) -> bool {
        self.last_is_void
    }

    /// Name of the phase that the next trial belongs to.
    pub fn phase(&self) -> String {
        self.algorithm.phase()
    }

    /// Sum of the trials' elapsed times.
    pub fn spent(&self) -> Duration {
        self.spent
    }

    /// Number of trials.
    pub fn trials(&self) -> u64 {
        self.trials
    }

    /// What is known now, a pair of bounds a goal.
    pub fn bounds(&self) -> Vec<Bounds> {
        self.algorithm.bounds()
    }

    /// A second statement by RFC 9971, one a goal, where the algorithm makes one.
    pub fn certified(&self) -> Option<Vec<GoalOutcome>> {
        self.algorithm.certified().map(|outcomes| self.charged_to_us(outcomes))
    }

    /// What is believed beyond the answer, where the algorithm has a model.
    pub fn belief(&self) -> Option<Belief> {
        self.algorithm.belief()
    }

    /// Doubts about what the search answers now.
    pub fn caveats(&self) -> Vec<Caveat> {
        let mut caveats = self.algorithm.caveats();
        let outcome = self.outcome();
        caveats.extend(contradictions(&self.goals, &outcome));
        caveats.extend(self.moments.caveats(&self.goals, &outcome));
        if !caveats.iter().any(|caveat| matches!(caveat, Caveat::Slowed { .. })) {
            caveats.extend(self.fell_silent(&outcome));
        }
        caveats
    }

    /// The doubt about a target that is said to fail at the lowest load, and achieved the goal before.
    fn fell_silent(&self, outcome: &[GoalOutcome]) -> Option<Caveat> {
        let fails = |outcome: &GoalOutcome| {
            matches!(
                outcome.result,
                GoalResult::BelowMinimum { .. } | GoalResult::Irregular(Irregular::BelowMinimum)
            )
        };
        let mut goals = outcome.iter().zip(&self.achieved);
        let load = goals.find_map(|(outcome, achieved)| achieved.filter(|_| fails(outcome)))?;
        Some(Caveat::Slowed { before_pps: load.as_pps(), then_pps: self.last_pps })
    }

    /// What the search answers now, one a goal; irregular until it is done.
    pub fn outcome(&self) -> Vec<GoalOutcome> {
        self.charged_to_us(self.algorithm.outcome())
    }

    /// The outcomes, irregular where they rest on trials that say more about us than about the target.
    fn charged_to_us(&self, mut outcomes: Vec<GoalOutcome>) -> Vec<GoalOutcome> {
        // One that ends between two tries of a load has that load's void trials to thank for it.
        let pending = u64::from(self.last_is_void && self.ours > 0);
        let mostly_void = is_most(self.ours + pending, self.trials);
        for (index, outcome) in outcomes.iter_mut().enumerate() {
            let charged = outcome.upper.and_then(|upper| self.charged.get(&upper));
            let is_vague = match outcome.result {
                GoalResult::Wide { .. } => true,
                GoalResult::Irregular(Irregular::Unfinished) => self.is_open,
                _ => false,
            };
            let is_shown = self.undisturbed.show(outcome);
            if charged.is_some_and(|charged| charged[index].stands) || mostly_void && is_vague || !is_shown {
                outcome.result = GoalResult::Irregular(Irregular::GeneratorLimited);
            }
            if outcome.result == GoalResult::Irregular(Irregular::GeneratorLimited) {
                let is_above = |failed: &Rate| outcome.lower.is_none_or(|lower| lower < *failed);
                outcome.upper = self.failed[index].filter(is_above);
                if is_most(self.starved, self.ours)
                    || !is_shown && self.ours == 0 && self.undisturbed.is_mostly_starved()
                {
                    outcome.result = GoalResult::Irregular(Irregular::TargetStarved);
                }
            }
        }
        outcomes
    }
}

/// Whether the target itself failed a goal in a whole trial of it.
fn is_failed(trial: &Trial, goal: &Goal) -> bool {
    trial.target_exceeds(goal.loss_ratio) && trial.input.duration >= goal.trial_duration
}

/// Whether more than half are void.
fn is_most(voids: u64, trials: u64) -> bool {
    2 * voids > trials
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::{Disturbance, Ratio, TargetActivity};

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

    /// Says that its only goal fails at the lowest load, whatever it is told.
    #[derive(Debug)]
    struct Fails;

    impl Algorithm for Fails {
        fn next_trial(&mut self) -> Option<TrialInput> {
            None
        }

        fn record(&mut self, _: &Trial) {}

        fn phase(&self) -> String {
            "only".into()
        }

        fn bounds(&self) -> Vec<Bounds> {
            vec![Bounds::default()]
        }

        fn outcome(&self) -> Vec<GoalOutcome> {
            let result = GoalResult::Irregular(Irregular::BelowMinimum);
            vec![GoalOutcome { lower: None, upper: Some(LOAD), conditional_throughput_pps: None, result }]
        }
    }

    #[test]
    fn a_target_that_fails_at_the_lowest_load_and_achieved_the_goal_before_became_slower() {
        let mut fails = search(Limits::default());
        fails.algorithm = Box::new(Fails);
        let silent = Trial { forwarded: 0, ..trial(1000) };
        fails.record(&silent);
        assert_eq!(fails.caveats(), [], "it never did");
        fails.record(&trial(1000));
        fails.record(&silent);
        assert_eq!(fails.caveats(), [Caveat::Slowed { before_pps: LOAD.as_pps(), then_pps: 0.0 }]);
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

    /// Others kept the target from its CPU for so long, and it lost so many of a thousand.
    fn starved(kept_ms: u64, lost: u64) -> Trial {
        let ns = kept_ms * 1_000_000;
        let watched =
            TargetActivity { waited_ns: Some(ns), others_ns: Some(ns), ..TargetActivity::default() };
        Trial { forwarded: 1000 - lost, watched: Some(watched), ..trial(1000) }
    }

    #[test]
    fn a_target_that_others_kept_from_its_cpu_is_no_limit_of_the_generator() {
        let mut search = search(Limits::default());
        (0..=VOID_TRIES).for_each(|_| search.record(&starved(400, 300)));
        assert_eq!(search.outcome()[0].result, GoalResult::Irregular(Irregular::TargetStarved));
        assert_eq!(search.outcome()[0].upper, None, "it may do more");
    }

    #[test]
    fn an_answer_that_rests_on_nothing_but_a_target_without_its_cpu_is_not_one_of_the_target() {
        // It lost more than that explains, so each trial counts.
        let mut search = search(Limits::default());
        let trial = starved(400, 900);
        let doubt = trial.starved_target().unwrap();
        search.record(&Trial { caveats: vec![doubt], ..trial });
        assert_eq!(search.outcome()[0].result, GoalResult::Irregular(Irregular::TargetStarved));
        let mut throttled = self::search(Limits::default());
        let doubt = Caveat::GeneratorThrottled { stopped_ns: 1, times: 1, runtime_us: 1, period_us: 2 };
        throttled.record(&Trial { forwarded: 10, caveats: vec![doubt], ..self::trial(1000) });
        assert_eq!(throttled.outcome()[0].result, GoalResult::Irregular(Irregular::GeneratorLimited));
    }

    #[test]
    fn where_the_generator_was_as_much_in_the_way_it_is_its_limit() {
        let mut search = search(Limits::default());
        search.record(&starved(400, 300));
        search.record(&trial(900));
        let lumps = Disturbance { displaced: 250, ..Disturbance::default() };
        search.record(&Trial { disturbance: Some(lumps), ..starved(400, 300) });
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

    /// A trial of which the target saw the first part alone.
    fn died(offered: u64) -> Trial {
        let gone =
            Caveat::TargetUnreachable { error: "ECONNREFUSED".into(), at_ns: 7, refused: 1, reports: 0 };
        Trial { forwarded: offered / 2, caveats: vec![gone], ..trial(offered) }
    }

    #[test]
    fn a_trial_in_which_the_target_died_decides_nothing_and_is_asked_for_again() {
        for offered in [1000, 900, 1, 0] {
            let mut search = search(Limits::default());
            for _ in 0..VOID_TRIES {
                search.record(&died(offered));
                assert!(search.last_is_void() && search.next_trial().is_some());
                assert_eq!((search.outcome()[0].upper, search.bounds()[0].upper), (None, None));
            }
            search.record(&trial(1000));
            assert!(!search.last_is_void(), "it lived, and lost nothing");
            assert_eq!((search.next_trial(), search.outcome()[0].upper), (None, None));
        }
    }

    #[test]
    fn a_load_that_the_target_never_survives_is_the_targets_limit_and_not_ours() {
        for offered in [1000, 900, 1, 0] {
            let mut search = search(Limits::default());
            (0..=VOID_TRIES).for_each(|_| search.record(&died(offered)));
            assert!(!search.last_is_void());
            assert_eq!(search.outcome()[0].upper, Some(LOAD));
            assert_ne!(search.outcome()[0].result, GoalResult::Irregular(Irregular::GeneratorLimited));
        }
    }

    /// A goal that half of the trials may fail, of three seconds in all.
    fn tolerant() -> Search {
        let mut search = search(Limits::default());
        let exceed_ratio = Ratio::new(0.5).unwrap();
        search.goals[0] = Goal { exceed_ratio, duration_sum: Duration::from_secs(3), ..search.goals[0] };
        search
    }

    #[test]
    fn one_failure_of_the_targets_own_does_not_pay_for_what_is_charged_to_us() {
        let limited = GoalResult::Irregular(Irregular::GeneratorLimited);
        let mut search = tolerant();
        (0..=VOID_TRIES).for_each(|_| search.record(&trial(900)));
        let fails = Trial { forwarded: 900, ..trial(1000) };
        search.record(&fails);
        assert_eq!(search.outcome()[0].result, limited, "1 s of 3 s is within the goal");
        search.record(&fails);
        assert_ne!(search.outcome()[0].result, limited, "2 s are beyond it");
    }

    #[test]
    fn where_most_trials_are_void_they_are_not_tried_again_for_ever() {
        let at = |number: u64, offered| {
            let load = Rate::from_millipps(1_000_000 + number);
            Trial { input: TrialInput { load, duration: Duration::from_secs(1) }, ..trial(offered) }
        };
        let mut search = search(Limits::default());
        for number in 0..VOIDS_BORNE {
            search.record(&at(number, 900));
            assert!(search.next_trial().is_some(), "void number {number} is tried again");
        }
        search.record(&at(VOIDS_BORNE, 900));
        assert_eq!(search.next_trial(), None, "the algorithm has its answer");
        let mut mostly_good = self::search(Limits { budget: None, max_trials: None });
        (0..=VOIDS_BORNE).for_each(|number| mostly_good.record(&at(number, 1000)));
        mostly_good.algorithm = Box::<OneLoad>::default();
        (0..=VOIDS_BORNE).for_each(|number| mostly_good.record(&at(number, 900)));
        assert!(mostly_good.next_trial().is_some(), "half of all are good");
    }

    #[test]
    fn a_search_that_ends_without_clean_trials_says_that_it_was_the_generator() {
        let mut search = search(Limits { budget: None, max_trials: Some(2) });
        (0..2).for_each(|_| search.record(&trial(900)));
        assert_eq!(search.next_trial(), None);
        assert_eq!(search.outcome()[0].result, GoalResult::Irregular(Irregular::GeneratorLimited));
        let mut half = self::search(Limits { budget: None, max_trials: Some(2) });
        half.record(&trial(900));
        half.record(&trial(1000));
        assert_eq!(half.outcome()[0].result, GoalResult::Irregular(Irregular::Unfinished));
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
