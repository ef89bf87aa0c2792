//! The words that a record may have where there is a closed set of them.

use dropline_search::Irregular;
use dropline_stats::compare::{Design, Overall, Verdict};
use dropline_stats::drift::Course;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The word by which a value stands in a record's JSON; empty where it stands there by none.
pub fn word_of(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// An enum whose variants are the words of the wire: written, read and listed in the schema by one table.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum $name { $($(#[$of])* #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// As on the wire.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// As a person reads it.
            pub fn words(self) -> String {
                self.word().replace('_', " ")
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

words! {
    /// What a comparison, or one of its questions, came to.
    VerdictWord {
        /// B is better by more than the smallest effect that matters.
        Improved = "improved",
        /// B is worse by more than that.
        Regressed = "regressed",
        /// Something is better and something worse.
        Mixed = "mixed",
        /// What came back is faster, and less came back.
        Traded = "traded",
        /// What difference there may be is smaller than what matters.
        Equivalent = "equivalent",
        /// The events do not say.
        #[default]
        NoEvidence = "no_evidence",
    }
}

words! {
    /// Why a goal has no answer.
    ReasonWord {
        /// It is achieved at the highest load.
        AtMaximum = "at_maximum",
        /// It fails at the lowest load.
        BelowMinimum = "below_minimum",
        /// Loads that would tell were not offered as asked, or what was lost of them may not be the target's doing.
        GeneratorLimited = "generator_limited",
        /// Other programs kept the target from its CPU.
        TargetStarved = "target_starved",
        /// The search ended before.
        #[default]
        Unfinished = "unfinished",
    }
}

/// As on the wire, for whoever only shows it.
impl std::ops::Deref for ReasonWord {
    type Target = str;

    fn deref(&self) -> &str {
        self.word()
    }
}

impl From<Irregular> for ReasonWord {
    fn from(why: Irregular) -> Self {
        match why {
            Irregular::AtMaximum => Self::AtMaximum,
            Irregular::BelowMinimum => Self::BelowMinimum,
            Irregular::GeneratorLimited => Self::GeneratorLimited,
            Irregular::TargetStarved => Self::TargetStarved,
            Irregular::Unfinished => Self::Unfinished,
        }
    }
}

impl VerdictWord {
    /// Whether something became plainly better or plainly worse.
    pub fn is_change(self) -> bool {
        matches!(self, Self::Improved | Self::Regressed)
    }

    /// Whether something became worse, whatever became better.
    pub fn is_worse(self) -> bool {
        matches!(self, Self::Regressed | Self::Mixed | Self::Traded)
    }
}

words! {
    /// What the intervals of a comparison rest on.
    DesignWord {
        /// Events that are taken as independent.
        #[default]
        Independent = "independent",
        /// Blocks that were measured at different times.
        Apart = "apart",
        /// Blocks of A and B in turns.
        Interleaved = "interleaved",
    }
}

words! {
    /// What one number of each slice did over time.
    CourseWord {
        /// No change that chance does not explain.
        Steady = "steady",
        /// It goes one way.
        Trend = "trend",
        /// It jumps.
        Step = "step",
        /// Neighbours are so alike that a change is not told from how it wanders.
        #[default]
        Undecided = "undecided",
    }
}

words! {
    /// Whether a law holds.
    LawWord {
        /// Its distance from the events is no more than chance.
        Fits = "fits",
        /// It is more than chance, and small.
        Close = "close",
        /// It is large.
        DoesNotFit = "does_not_fit",
        /// The events are too few to say.
        #[default]
        Undecided = "undecided",
    }
}

words! {
    /// What kind of distribution delays have.
    ShapeWord {
        /// One law holds.
        OneFamily = "one_family",
        /// One law nearly holds.
        Close = "close",
        /// None does.
        NotOnePath = "not_one_path",
        /// The events are too few to say.
        #[default]
        Undecided = "undecided",
    }
}

words! {
    /// Whether a mode crosses the place of a delay.
    PathWord {
        /// All of it does.
        OnPath = "on_path",
        /// A part of it does.
        Partly = "partly",
        /// It does not.
        Not = "not",
        /// The rounds do not say.
        #[default]
        Undecided = "undecided",
    }
}

words! {
    /// What one of a load is; the keys with `_pps` count these.
    LoadUnit {
        /// Packets, or whatever another program sends.
        #[default]
        Packets = "packets",
        /// Samples of a pipeline.
        Samples = "samples",
        /// Granules, where nobody says how many samples they have.
        Granules = "granules",
        /// Wake-ups of a timer.
        Wakeups = "wakeups",
        /// Cycles of an audio server.
        Cycles = "cycles",
        /// Requests to a server, each with a deadline.
        Requests = "requests",
    }
}

impl LoadUnit {
    /// As a person says one of them.
    pub fn one(self) -> &'static str {
        match self {
            Self::Packets => "packet",
            Self::Samples => "sample",
            Self::Granules => "granule",
            Self::Wakeups => "wake-up",
            Self::Cycles => "cycle",
            Self::Requests => "request",
        }
    }

    /// What is said of those that did not come: `lost`, of wake-ups `missed`.
    pub fn lost(self) -> &'static str {
        if self == Self::Wakeups { "missed" } else { "lost" }
    }

    /// As a person says several.
    pub fn many(self) -> &'static str {
        match self {
            Self::Wakeups => "wake-ups",
            _ => self.word(),
        }
    }

    /// What a rate of these is counted in: in ones, thousands, millions and thousand millions a second.
    pub fn rates(self) -> [&'static str; 4] {
        match self {
            Self::Packets => ["pps", "kpps", "Mpps", "Gpps"],
            Self::Samples => ["sps", "ksps", "Msps", "Gsps"],
            Self::Cycles => ["Hz", "kHz", "MHz", "GHz"],
            Self::Requests => ["rps", "krps", "Mrps", "Grps"],
            Self::Granules | Self::Wakeups => ["/s", "k/s", "M/s", "G/s"],
        }
    }
}

impl From<Verdict> for VerdictWord {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Improved => Self::Improved,
            Verdict::Regressed => Self::Regressed,
            Verdict::Equivalent => Self::Equivalent,
            Verdict::NoEvidence => Self::NoEvidence,
        }
    }
}

impl From<Overall> for VerdictWord {
    fn from(verdict: Overall) -> Self {
        match verdict {
            Overall::Improved => Self::Improved,
            Overall::Regressed => Self::Regressed,
            Overall::Mixed => Self::Mixed,
            Overall::Traded => Self::Traded,
            Overall::Equivalent => Self::Equivalent,
            Overall::NoEvidence => Self::NoEvidence,
        }
    }
}

impl From<Design> for DesignWord {
    fn from(design: Design) -> Self {
        match design {
            Design::Whole => Self::Independent,
            Design::Apart => Self::Apart,
            Design::Interleaved => Self::Interleaved,
        }
    }
}

impl From<Course> for CourseWord {
    fn from(course: Course) -> Self {
        match course {
            Course::Steady => Self::Steady,
            Course::Trend => Self::Trend,
            Course::Step => Self::Step,
            Course::Undecided => Self::Undecided,
        }
    }
}

impl From<dropline_stats::LawVerdict> for LawWord {
    fn from(verdict: dropline_stats::LawVerdict) -> Self {
        match verdict {
            dropline_stats::LawVerdict::Fits => Self::Fits,
            dropline_stats::LawVerdict::Close => Self::Close,
            dropline_stats::LawVerdict::DoesNotFit => Self::DoesNotFit,
            dropline_stats::LawVerdict::Undecided => Self::Undecided,
        }
    }
}
