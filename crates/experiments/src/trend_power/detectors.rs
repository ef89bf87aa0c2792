//! Who looks for changes, and what each found in a history.

use super::histories::{BEFORE, EVENTFUL, History, Kind, LATER, QUIET, UNSEEN};
use dropline_stats::trend::{Trend, WantedEffect};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A change within so many nights of where it is counts as found.
const NEAR: usize = 5;
/// After so many nights a detector is asked whether it sees the step.
pub(super) const ASKED: [usize; 7] = [2, 3, 5, 8, 13, 20, 30];
/// Sizes of steps, in thousandths.
pub(super) const SIZES: [u32; 4] = [5, 10, 20, 30];
/// A change of any size is one here.
const WANTED: WantedEffect = WantedEffect { smallest_effect: 0.01, more_is_better: true };

/// Who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Detector {
    Dropline,
    Otava,
    Jumpavg,
    Asv,
}

/// What a detector is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) kind: Kind,
    /// A whole history, or a step of so many thousandths down that is to be seen soon.
    pub(super) step: Option<u32>,
}

/// What it found: a line of the file that is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) detector: Detector,
    #[serde(flatten)]
    pub(super) question: Question,
    pub(super) seed: u64,
    /// Changes that it told.
    pub(super) changes: u64,
    /// Lines from a level to another that it told.
    pub(super) drifts: u64,
    /// Steps that it found.
    pub(super) found: u64,
    /// Nights after a step until it was told.
    pub(super) after: Option<u64>,
}

/// Changes, and lines, that a detector tells.
pub(super) struct Told {
    pub(super) changes: Vec<usize>,
    pub(super) drifts: usize,
}

impl Detector {
    pub(super) const ALL: [Self; 4] = [Self::Dropline, Self::Otava, Self::Jumpavg, Self::Asv];

    /// As the tables name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dropline => "dropline trend",
            Self::Otava => "Apache Otava",
            Self::Jumpavg => "jumpavg",
            Self::Asv => "asv",
        }
    }

    /// As the script of the rivals names it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Dropline => "dropline",
            Self::Otava => "otava",
            Self::Jumpavg => "jumpavg",
            Self::Asv => "asv",
        }
    }

    /// It is asked with one seed in so many: the slower, the fewer.
    pub(super) fn one_in(self) -> u64 {
        match self {
            Self::Dropline => 1,
            Self::Otava | Self::Asv => 4,
            Self::Jumpavg => 20,
        }
    }

    /// All that it is asked with one seed. The others do not see widths: without them, or with wrong ones, mixed nights are mixed
    /// nights to them.
    pub(super) fn questions(self) -> Vec<Question> {
        let sees = |kind: &Kind| self == Self::Dropline || !matches!(kind, Kind::Shuffled | Kind::Unsaid);
        let kinds: BTreeSet<Kind> =
            QUIET.into_iter().chain(EVENTFUL).chain(UNSEEN).chain(LATER).filter(sees).collect();
        let wholes = kinds.into_iter().map(|kind| Question { kind, step: None });
        let steps = QUIET.into_iter().filter(sees);
        let steps = steps.flat_map(|kind| SIZES.map(|step| Question { kind, step: Some(step) }));
        wholes.chain(steps).collect()
    }
}

impl Question {
    /// The history, or one for each number of nights after the step.
    pub(super) fn histories(self, seed: u64) -> Vec<History> {
        match self.step {
            None => vec![self.kind.history(seed)],
            Some(step) => {
                let size = -f64::from(step) / 1000.0;
                ASKED.iter().map(|&after| self.kind.stepped(seed, size, after)).collect()
            }
        }
    }
}

impl Ended {
    /// What a detector told of the histories of a question.
    pub(super) fn of(detector: Detector, question: Question, seed: u64, told: &[(History, Told)]) -> Self {
        let is_found = |step: usize, told: &Told| told.changes.iter().any(|at| at.abs_diff(step) <= NEAR);
        let count = |all: usize| all as u64;
        let one = Self { detector, question, seed, changes: 0, drifts: 0, found: 0, after: None };
        match (question.step, told) {
            (None, [(history, told)]) => Self {
                changes: count(told.changes.len()),
                drifts: count(told.drifts),
                found: count(history.steps.iter().filter(|step| is_found(**step, told)).count()),
                ..one
            },
            _ => {
                let soonest = ASKED.iter().zip(told).find(|(_, (_, told))| is_found(BEFORE, told));
                let after = soonest.map(|(after, _)| count(*after));
                Self { found: u64::from(after.is_some()), after, ..one }
            }
        }
    }

    pub(super) fn key(&self) -> (Detector, u64, Question) {
        (self.detector, self.seed, self.question)
    }
}

/// What Dropline finds with these seeds.
pub(super) fn own(seeds: &[u64]) -> Vec<Ended> {
    let questions = Detector::Dropline.questions();
    let all = seeds.iter().flat_map(|&seed| questions.iter().map(move |&question| (seed, question)));
    all.map(|(seed, question)| {
        let histories = question.histories(seed).into_iter();
        let told: Vec<(History, Told)> = histories.map(|one| (one.clone(), told(&one))).collect();
        Ended::of(Detector::Dropline, question, seed, &told)
    })
    .collect()
}

/// What Dropline tells of a history.
pub(super) fn told(history: &History) -> Told {
    // Where each night has a mark of its own, nothing is told.
    let Some(found) = Trend::of(&history.nights, WANTED) else {
        return Told { changes: Vec::new(), drifts: 0 };
    };
    let changes = found.changes.iter().map(|change| change.at).collect();
    Told { changes, drifts: found.drifts.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_by_the_first_question_that_sees_it_near_its_night() {
        let question = Question { kind: Kind::White, step: Some(30) };
        let told = |changes: &[usize]| Told { changes: changes.to_vec(), drifts: 0 };
        let answers = [vec![], vec![40], vec![95, 20], vec![100], vec![], vec![], vec![]];
        let answers = question.histories(1).into_iter().zip(answers.iter().map(|found| told(found)));
        let ended = Ended::of(Detector::Asv, question, 1, &answers.collect::<Vec<_>>());
        assert_eq!((ended.found, ended.after), (1, Some(5)));
        let nothing: Vec<(History, Told)> =
            question.histories(1).into_iter().map(|history| (history, told(&[94]))).collect();
        assert_eq!(Ended::of(Detector::Asv, question, 1, &nothing).after, None);
    }

    #[test]
    fn every_step_of_a_whole_history_is_found_or_not() {
        let question = Question { kind: Kind::Three, step: None };
        let told = Told { changes: vec![70, 141, 199, 240], drifts: 1 };
        let ended = Ended::of(Detector::Otava, question, 1, &[(Kind::Three.history(1), told)]);
        assert_eq!((ended.changes, ended.drifts, ended.found, ended.after), (4, 1, 2, None));
    }

    #[test]
    fn others_are_not_asked_what_they_cannot_see() {
        let kinds =
            |detector: Detector| detector.questions().iter().map(|one| one.kind).collect::<BTreeSet<_>>();
        assert!(kinds(Detector::Dropline).contains(&Kind::Shuffled));
        assert!(!kinds(Detector::Otava).contains(&Kind::Shuffled));
        let wholes =
            |detector: Detector| detector.questions().iter().filter(|one| one.step.is_none()).count();
        assert_eq!((wholes(Detector::Dropline), wholes(Detector::Asv)), (24, 22));
    }
}
