//! Whether an answer is one, and if not, what it is.

use crate::denial::{Denied, failed_and_passed};
use crate::number;
use dropline_record::{
    AnswerLine, BROKEN, CaveatLine, EndWord, Purpose, Record, ResultWord, TrialLine, word_of,
};
use std::borrow::Cow;

/// In a few plain words, how sure an answer of a record is: `precise enough`, `doubted`, `unfinished`.
pub fn standing(record: &Record, answer: &AnswerLine) -> String {
    Standing::of(record, answer).short().into_owned()
}

/// Why an answer of a record does not stand as it is stated, and the loads that are open; `None` where it stands, or is
/// none anyway.
pub fn denied(record: &Record, answer: &AnswerLine) -> Option<Denied> {
    Standing::of(record, answer).denied()
}

/// What ended a search whose ends are not close enough.
pub(crate) fn unfinished_words(record: &Record) -> &'static str {
    let Some(result) = &record.result else {
        return "the record has no end: its search still runs, was killed, or could not write on; the bounds are what was known then";
    };
    match result.ended_by {
        EndWord::Budget => "the budget was spent before the bounds were close enough",
        EndWord::MaxTrials => {
            "as many trials were made as are allowed (--max-trials) before the bounds were close enough"
        }
        EndWord::Interrupted => "the search was stopped before the bounds were close enough",
        _ => "the search ended before the bounds were close enough",
    }
}

/// What the record itself says of an answer, in the words of RFC 9971 and of JSON: `irregular: at maximum`.
pub(crate) fn recorded_words(answer: &AnswerLine) -> String {
    let result = word_of(&answer.result).replace('_', " ");
    let why = answer.why.as_ref().filter(|_| answer.result == ResultWord::Irregular);
    why.map_or_else(|| result.clone(), |why| format!("{result}: {}", why.replace('_', " ")))
}

/// Of the trials at the lowest load, how many failed the goal, and how many there were.
pub(crate) fn tried_at_lowest(record: &Record, answer: &AnswerLine) -> Option<(u64, u64)> {
    let least = record.header.search.as_ref()?.min_load_pps;
    let [failed, passed] = failed_and_passed(&record.trials, &answer.goal)
        .map(|loads| loads.iter().filter(|load| **load <= least).count() as u64);
    Some((failed, failed + passed))
}

/// The upper bound, if a trial there failed the goal though its load was offered: then the target has a limit below it, whatever
/// disturbed the trials between.
pub(crate) fn failed_by_itself(record: &Record, answer: &AnswerLine) -> Option<f64> {
    let upper = answer.upper_pps?;
    let failed = |trial: &TrialLine| trial.loss_ratio.is_some_and(|loss| loss > answer.goal.loss_ratio);
    let at = |trial: &&TrialLine| trial.intended_load_pps == upper && !trial.void;
    let mut trials = record.trials.iter().filter(at);
    trials.any(|trial| failed(trial) && !is_not_as_asked(trial)).then_some(upper)
}

/// Doubts of a trial whose load was not the one that was asked for, or whose replies our own side did not take.
const NOT_AS_ASKED: [&str; 8] = [
    "generator_limited",
    "generator_lost",
    "generator_starved",
    "generator_throttled",
    "arrivals_not_kept",
    "not_caught_up",
    "agents_lost",
    "start_skew",
];

fn is_not_as_asked(trial: &TrialLine) -> bool {
    let is_such =
        |caveat: &CaveatLine| NOT_AS_ASKED.contains(&caveat.code.as_str()) && caveat.is_disturbing();
    trial.caveats.iter().any(is_such)
}

/// Whether our generator is what trials of a search failed by, be it that they were made again for it. Otherwise all was offered, and
/// what was lost may be the doing of something else that is not the target.
fn is_of_our_generator(record: &Record) -> bool {
    record.trials.iter().any(|trial| trial.purpose == Purpose::Search && is_not_as_asked(trial))
}

/// What failed stands in a table up to so many characters; it is a caveat in any case.
const CELL: usize = 60;

/// Whether an answer is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    /// Two loads as close as asked, of which trials bear one and not the other.
    Regular,
    /// An interval as narrow as asked.
    Narrow,
    /// An interval wider than asked.
    Wide,
    AtMaximum,
    BelowMinimum,
    GeneratorLimited,
    /// Trials were disturbed: between what the target bears and what it failed by itself, or all that would tell, though their loads
    /// were offered as asked.
    Disturbed,
    /// Others kept the target from its CPU.
    TargetStarved,
    Unfinished,
    /// Something ended the search before it had an answer: what, and more of it.
    BrokenOff {
        what: String,
        more: String,
    },
    /// The search has an answer, and its trials deny it.
    Doubted(Denied),
    /// A word that this version does not know.
    Other(String),
}

impl Standing {
    /// By the words of the record, so that later ones are shown too; a doubt goes before an answer.
    pub(crate) fn of(record: &Record, answer: &AnswerLine) -> Self {
        let standing = match Self::stated(answer) {
            Self::GeneratorLimited
                if answer.lower_pps.is_some() && failed_by_itself(record, answer).is_some()
                    || !is_of_our_generator(record) =>
            {
                Self::Disturbed
            }
            stated => stated,
        };
        if let Some(ended) = Self::broken_off(record).filter(|_| standing.has_no_answer()) {
            return ended;
        }
        let is_of_others = standing.is_of_our_side();
        let deniable = standing.settled()
            || matches!(standing, Self::AtMaximum)
            || is_of_others && crate::denial::is_limited(record);
        match Denied::of(record, answer) {
            Some(denied) if deniable => Self::Doubted(denied),
            _ => standing,
        }
    }

    /// What ended a search before its time: its target, its program, or the user.
    fn broken_off(record: &Record) -> Option<Self> {
        if let Some(broken) = record.caveats().into_iter().find(|doubt| doubt.code == BROKEN) {
            return Some(match broken.text.split_once(": ") {
                Some((what, more)) if what.starts_with("the target") => {
                    Self::BrokenOff { what: what.into(), more: more.into() }
                }
                _ if broken.text.chars().count() <= CELL => {
                    Self::Other(format!("unfinished, {}", broken.text))
                }
                _ => Self::BrokenOff {
                    what: "unfinished, broken off".into(),
                    more: "its caveats say what failed".into(),
                },
            });
        }
        record.result.as_ref().filter(|result| result.interrupted)?;
        let trials = number::plural(record.trials.len() as u64, "trial");
        let what = format!("interrupted after {trials}");
        Some(Self::BrokenOff { what, more: unfinished_words(record).into() })
    }

    /// Whether there is none yet, or one that is not of the target.
    fn has_no_answer(&self) -> bool {
        matches!(self, Self::Unfinished) || self.is_of_our_side()
    }

    /// What the search says of itself.
    fn stated(answer: &AnswerLine) -> Self {
        let result = word_of(&answer.result);
        let irregular = answer.result == ResultWord::Irregular;
        match if irregular { answer.why.as_deref().unwrap_or("unfinished") } else { result.as_str() } {
            "regular" => Self::Regular,
            "narrow" => Self::Narrow,
            "wide" => Self::Wide,
            "at_maximum" => Self::AtMaximum,
            "below_minimum" => Self::BelowMinimum,
            "generator_limited" => Self::GeneratorLimited,
            "target_starved" => Self::TargetStarved,
            "unfinished" => Self::Unfinished,
            other => Self::Other(other.replace('_', " ")),
        }
    }

    /// Whether what ended the answer is our own side, or this machine's, and not the target.
    pub(crate) fn is_of_our_side(&self) -> bool {
        matches!(self, Self::GeneratorLimited | Self::Disturbed | Self::TargetStarved)
    }

    /// Whether the search ended before it had an answer, by itself or by something else.
    pub(crate) fn is_cut_off(&self) -> bool {
        matches!(self, Self::Unfinished | Self::BrokenOff { .. } | Self::Other(_))
    }

    /// Whether both ends stand.
    pub(crate) fn settled(&self) -> bool {
        matches!(self, Self::Regular | Self::Narrow | Self::Wide)
    }

    /// Why it is doubted, and between which loads; `None` where it is not.
    pub(crate) fn denied(&self) -> Option<Denied> {
        match self {
            Self::Doubted(denied) => Some(*denied),
            _ => None,
        }
    }

    /// That the target died, and when, where that ended the search.
    pub(crate) fn died(&self) -> Option<&str> {
        match self {
            Self::BrokenOff { what, .. } => Some(what.as_str()).filter(|what| what.starts_with("the target")),
            _ => None,
        }
    }

    /// How sure the answer is, in a few words. Every front end takes them from here: terminal, page, Markdown, chat.
    pub(crate) fn short(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Regular => "tested",
            Self::Narrow => "precise enough",
            Self::Wide => "not yet precise",
            Self::AtMaximum => "limit not reached",
            Self::BelowMinimum => "drops at the lowest load",
            Self::GeneratorLimited => "our generator ended first",
            Self::Disturbed => "trials were disturbed",
            Self::TargetStarved => "target kept from its CPU",
            Self::Unfinished => "unfinished",
            Self::Doubted(_) => "doubted",
            Self::BrokenOff { what: why, .. } | Self::Other(why) => return Cow::Owned(why.clone()),
        })
    }
}
