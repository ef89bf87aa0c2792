//! The algorithms that the properties are about.

use crate::case::Case;
use dropline_search::mdr::{self, Version};
use dropline_search::{Algorithm, Binary, Goal, Mdr};
use dropline_trial::{Rate, Ratio, Trial, TrialInput};

/// MDR follows a limit that drifts by more than the width between two trials at a bound, until the drift ends at
/// the range's end: at the narrowest width of a case, that is after some thousand trials.
const DRIFTED: usize = 20_000;

pub(crate) const ALGORITHMS: [Contender; 3] = [
    Contender {
        name: "mdr",
        build: mdr_current,
        bears_out: by_the_last_trial,
        most_trials: DRIFTED,
        one_in: 1,
    },
    Contender {
        name: "mdr first",
        build: mdr_first,
        bears_out: by_the_last_trial,
        most_trials: DRIFTED,
        one_in: 1,
    },
    Contender { name: "binary", build: binary, bears_out: by_a_full_trial, most_trials: 1000, one_in: 1 },
];

/// An algorithm, and the goals it was built for.
pub(crate) type Built = (Box<dyn Algorithm>, Vec<Goal>);

/// An algorithm under test.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// The algorithm for goals like a case's.
    pub(crate) build: fn(&Case) -> Built,
    /// Whether the trials it learned from make a load what is claimed, by its own rules.
    pub(crate) bears_out: fn(&Case, &Claim) -> bool,
    /// No search on a random system comes near it.
    pub(crate) most_trials: usize,
    /// It sees one in so many cases: for algorithms that weigh their choices longer.
    pub(crate) one_in: u64,
}

/// That a load is a bound of a goal.
pub(crate) struct Claim<'a> {
    pub(crate) goals: &'a [Goal],
    /// Index of the goal.
    pub(crate) goal: usize,
    pub(crate) trials: &'a [Trial],
    pub(crate) load: Rate,
    pub(crate) side: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Lower,
    Upper,
}

impl Claim<'_> {
    /// Whether a trial in full length shows it.
    fn is_shown_by(&self, trial: &Trial) -> bool {
        let Goal { loss_ratio, trial_duration, .. } = self.goals[self.goal];
        trial.input == TrialInput { load: self.load, duration: trial_duration }
            && trial.exceeds(loss_ratio) == (self.side == Side::Upper)
    }
}

fn mdr_current(case: &Case) -> Built {
    new_mdr(case, Version::Current)
}

fn mdr_first(case: &Case) -> Built {
    new_mdr(case, Version::First)
}

/// MDR has one width and one pair of durations.
fn new_mdr(case: &Case, version: Version) -> Built {
    let alike = |goal: &Goal| Goal { loss_ratio: goal.loss_ratio, ..case.goals[0] };
    let goals: Vec<Goal> = case.goals.iter().map(alike).collect();
    let config = mdr::Config {
        goals: goals.clone(),
        range: case.range,
        intermediate_phases: case.phases,
        doublings: case.doublings,
        version,
    };
    (Box::new(Mdr::new(config).unwrap()), goals)
}

fn binary(case: &Case) -> Built {
    (Box::new(Binary::new(&case.goals, case.range).unwrap()), case.goals.clone())
}

fn by_the_last_trial(_: &Case, claim: &Claim) -> bool {
    let last = claim.trials.iter().rfind(|trial| trial.input.load == claim.load);
    last.is_some_and(|trial| claim.is_shown_by(trial))
}

/// By a trial in full length; that the highest load is borne also by a longer one that another goal asked for, if it lost nothing.
fn by_a_full_trial(case: &Case, claim: &Claim) -> bool {
    let is_longer = |trial: &Trial| {
        let is_at_highest = claim.load == case.range.max() && trial.input.load == claim.load;
        let is_longer = trial.input.duration > claim.goals[claim.goal].trial_duration;
        claim.side == Side::Lower && is_at_highest && is_longer && !trial.exceeds(Ratio::ZERO)
    };
    claim.trials.iter().any(|trial| claim.is_shown_by(trial) || is_longer(trial))
}
