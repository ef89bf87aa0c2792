//! Whether an answer is one, and if not, what it is.

use crate::denial::Denied;
use crate::json_word::word;
use dropline_record::{AnswerLine, BROKEN, EndWord, Record, ResultWord};

/// In a word or two, whether an answer of a record stands, and as what: `narrow`, `doubted`, `irregular: unfinished`.
pub fn standing(record: &Record, answer: &AnswerLine) -> String {
    Standing::of(record, answer).short()
}

/// Why an answer of a record does not stand as it is stated, and the loads that are open; `None` where it stands, or is
/// none anyway.
pub fn denied(record: &Record, answer: &AnswerLine) -> Option<Denied> {
    Standing::of(record, answer).denied()
}

/// What ended a search whose bounds are not close enough.
pub(crate) fn unfinished_words(record: &Record) -> &'static str {
    let Some(result) = &record.result else {
        return "irregular, unfinished: the record has no end: its search still runs, was killed, or could not write on; the bounds are \
                what was known then";
    };
    match result.ended_by {
        Some(EndWord::Budget) => {
            "irregular, unfinished: the budget was spent before the bounds were close enough"
        }
        Some(EndWord::MaxTrials) => {
            "irregular, unfinished: as many trials were made as are allowed (--max-trials) before the bounds were close enough"
        }
        _ if result.interrupted => {
            "irregular, unfinished: the search was stopped before the bounds were close enough"
        }
        _ => "irregular, unfinished: the search ended before the bounds were close enough",
    }
}

/// Whether an answer is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    Regular,
    /// An interval as narrow as asked.
    Narrow,
    /// An interval wider than asked.
    Wide,
    /// Irregular where the algorithm states bounds.
    AtMaximum {
        irregular: bool,
    },
    /// Irregular where the algorithm states bounds.
    BelowMinimum {
        irregular: bool,
    },
    GeneratorLimited,
    /// Others kept the target from its CPU.
    TargetStarved,
    Unfinished,
    /// The search has an answer, and its trials deny it.
    Doubted(Denied),
    /// A word that this version does not know.
    Other(String),
}

impl Standing {
    /// By the words of the record, so that later ones are shown too; a doubt goes before an answer.
    pub(crate) fn of(record: &Record, answer: &AnswerLine) -> Self {
        let standing = Self::stated(answer);
        if let (Self::Unfinished, Some(broken)) =
            (&standing, record.caveats().iter().find(|doubt| doubt.code == BROKEN))
        {
            return Self::Other(format!("unfinished, {}", broken.text));
        }
        let deniable = standing.settled() || matches!(standing, Self::AtMaximum { .. });
        match Denied::of(record, answer) {
            Some(denied) if deniable => Self::Doubted(denied),
            _ => standing,
        }
    }

    /// What the search says of itself.
    fn stated(answer: &AnswerLine) -> Self {
        let result = word(serde_json::to_value(answer.result));
        let irregular = answer.result == ResultWord::Irregular;
        match if irregular { answer.why.as_deref().unwrap_or("unfinished") } else { result.as_str() } {
            "regular" => Self::Regular,
            "narrow" => Self::Narrow,
            "wide" => Self::Wide,
            "at_maximum" => Self::AtMaximum { irregular },
            "below_minimum" => Self::BelowMinimum { irregular },
            "generator_limited" => Self::GeneratorLimited,
            "target_starved" => Self::TargetStarved,
            "unfinished" => Self::Unfinished,
            other => Self::Other(other.replace('_', " ")),
        }
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

    /// In a word or two, for a table.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::Regular => "regular".into(),
            Self::Narrow => "narrow".into(),
            Self::Wide => "wide".into(),
            Self::AtMaximum { irregular } => format!("{}at maximum", prefix(*irregular, ": ")),
            Self::BelowMinimum { irregular } => format!("{}below minimum", prefix(*irregular, ": ")),
            Self::GeneratorLimited => "irregular: generator limited".into(),
            Self::TargetStarved => "irregular: target starved".into(),
            Self::Unfinished => "irregular: unfinished".into(),
            Self::Doubted(_) => "doubted".into(),
            Self::Other(why) => format!("irregular: {why}"),
        }
    }
}

pub(crate) fn prefix(irregular: bool, join: &str) -> String {
    if irregular { format!("irregular{join}") } else { String::new() }
}
