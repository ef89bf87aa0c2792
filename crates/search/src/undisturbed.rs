//! Which loads were tried without a disturbance of our own.

use crate::{Goal, GoalOutcome, GoalResult, Irregular};
use dropline_trial::{Rate, Trial};

/// A trial speaks for an answer when its load is within a twentieth of what is stated.
const NEAR: f64 = 0.05;

/// The loads that count as evidence, by whether our own side left their trials alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undisturbed {
    clean: Vec<Rate>,
    disturbed: Vec<Disturbed>,
    /// Of the disturbed ones, those in which others kept the target from its CPU, and nothing else was amiss.
    starved: u64,
}

/// A trial that our own side did not leave alone.
#[derive(Clone, Debug)]
struct Disturbed {
    load: Rate,
    is_invalid: bool,
    /// Whether it is void, an entry a goal.
    void: Vec<bool>,
}

impl Undisturbed {
    pub(crate) fn note(&mut self, trial: &Trial, goals: &[Goal]) {
        let load = trial.input.load;
        let is_starved = trial.caveats.iter().any(|caveat| caveat.code() == "target_starved");
        if !trial.is_disturbed() && (!is_starved || is_evident(trial)) {
            self.clean.push(load);
            return;
        }
        self.starved += u64::from(!trial.is_disturbed());
        let void = goals.iter().map(|goal| trial.fails(goal.loss_ratio).is_none()).collect();
        self.disturbed.push(Disturbed { load, is_invalid: trial.is_invalid(), void });
    }

    /// Whether most of the disturbed ones are merely trials of a target that others kept from its CPU.
    pub(crate) fn is_mostly_starved(&self) -> bool {
        2 * self.starved > self.disturbed.len() as u64
    }

    /// Whether an answer to a goal is shown by trials that were not disturbed; not by disturbed ones alone, nor by trials of which
    /// most are not valid. That the highest load was borne rests on no trial that is void.
    pub(crate) fn show(&self, goal: usize, outcome: &GoalOutcome) -> bool {
        let low = outcome.lower.map_or(0.0, |lower| lower.as_pps() * (1.0 - NEAR));
        let high = outcome.upper.map_or(f64::INFINITY, |upper| upper.as_pps() * (1.0 + NEAR));
        let is_near = |load: &Rate| (low..=high).contains(&load.as_pps());
        let is_borne = matches!(
            outcome.result,
            GoalResult::AtMaximum { .. } | GoalResult::Irregular(Irregular::AtMaximum)
        );
        let near = || {
            let rests_on = |one: &&Disturbed| !(is_borne && one.void.get(goal) == Some(&true));
            self.disturbed.iter().filter(|one| is_near(&one.load)).filter(rests_on)
        };
        let clean = self.clean.iter().filter(|load| is_near(load)).count();
        let (disturbed, invalid) = (near().count(), near().filter(|one| one.is_invalid).count());
        let rests_on_disturbed = disturbed > 0 && clean == 0;
        let rests_on_invalid = 2 * invalid > clean + disturbed;
        !(rests_on_disturbed || rests_on_invalid) && (self.disturbed.is_empty() || !self.clean.is_empty())
    }
}

/// Whether three quarters of a loss are the target's, whatever came of others who kept it from its CPU.
fn is_evident(trial: &Trial) -> bool {
    let (lost, ours) = (trial.lost(), trial.lost_by_us());
    lost > 0 && 4 * ours <= lost && !trial.is_disturbed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::{Caveat, TrialInput};
    use std::time::Duration;

    fn noted(trials: &[(u64, bool)]) -> Undisturbed {
        let mut undisturbed = Undisturbed::default();
        for &(pps, disturbed) in trials {
            let load = Rate::from_millipps(pps * 1000);
            let late = Caveat::ArrivalsNotKept { lateness_p99_ns: 4_000_000, intended_idt_ns: 50_000 };
            undisturbed.note(
                &Trial {
                    caveats: if disturbed { vec![late] } else { Vec::new() },
                    ..Trial::new(1, TrialInput { load, duration: Duration::from_secs(1) }, 7)
                },
                &[],
            );
        }
        undisturbed
    }

    fn between(lower: Option<u64>, upper: Option<u64>) -> GoalOutcome {
        let rate = |pps: u64| Rate::from_millipps(pps * 1000);
        GoalOutcome {
            lower: lower.map(rate),
            upper: upper.map(rate),
            conditional_throughput_pps: None,
            result: GoalResult::Irregular(Irregular::Unfinished),
        }
    }

    #[test]
    fn an_answer_is_shown_by_a_clean_trial_near_it_and_not_by_one_far_off() {
        let near = noted(&[(1000, true), (980, false), (400, true)]);
        assert!(near.show(0, &between(Some(990), Some(1010))));
        let far = noted(&[(1000, true), (400, false)]);
        assert!(!far.show(0, &between(Some(990), Some(1010))), "the clean one is far below");
        assert!(!far.show(0, &between(Some(1000), None)), "at maximum");
        assert!(far.show(0, &between(None, Some(400))), "below minimum");
    }

    #[test]
    fn a_loss_that_is_the_targets_whatever_others_did_is_no_doubt_of_a_starved_target() {
        let trial = |lost: u64, ours: u64, caveat: Caveat| Trial {
            offered: 1000,
            forwarded: 1000 - lost,
            disturbance: Some(dropline_trial::Disturbance { displaced: ours, waited: Duration::ZERO }),
            caveats: vec![caveat],
            ..Trial::new(
                1,
                TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) },
                7,
            )
        };
        let starved = || Caveat::TargetStarved { kept_ns: 30_000_000, lost: Some(32) };
        let late = || Caveat::ArrivalsNotKept { lateness_p99_ns: 4_000_000, intended_idt_ns: 50_000 };
        let shows = |trials: [Trial; 3]| {
            let mut undisturbed = Undisturbed::default();
            trials.iter().for_each(|trial| undisturbed.note(trial, &[]));
            undisturbed.show(0, &between(None, Some(1000)))
        };
        assert!(shows([trial(461, 36, starved()), trial(381, 29, starved()), trial(387, 18, starved())]));
        assert!(!shows([trial(46, 36, starved()), trial(38, 29, starved()), trial(38, 18, starved())]));
        assert!(
            !shows([trial(774, 30, late()), trial(770, 58, late()), trial(769, 10, late())]),
            "not as asked for"
        );
    }

    #[test]
    fn where_no_trial_is_clean_nothing_is_shown_and_where_all_are_everything_is() {
        assert!(!noted(&[(1000, true), (900, true)]).show(0, &between(Some(400), Some(500))));
        assert!(
            noted(&[(1000, false)]).show(0, &between(Some(400), Some(500))),
            "what is far is a matter of the model"
        );
        assert!(noted(&[]).show(0, &between(None, None)));
    }
}
