//! The algorithms by name, each with its settings and defaults: the one table of them.

use dropline_failure::{Failure, nearest};
use dropline_search::mlr::EffectiveDuration;
use dropline_search::{credible, mdr};
use dropline_trial::Ratio;
use std::time::Duration;

/// Which algorithm, with its own settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlgorithmPlan {
    /// RFC 2544 bisection.
    Binary,
    /// Intervals that contain the true limit as often as they say.
    Credible {
        /// How often.
        level: Ratio,
        /// Whether it goes on until RFC 9971 calls the same goals regular.
        certify: bool,
    },
    /// Multiple drop rate search.
    Mdr {
        /// Which of its rules.
        version: mdr::Version,
        /// Phases between the initial and the final one.
        intermediate_phases: u8,
        /// How often an external step doubles the width.
        doublings: u8,
    },
    /// RFC 9971.
    Mlr {
        /// What a trial's time counts as.
        effective: EffectiveDuration,
    },
}

impl AlgorithmPlan {
    /// Each algorithm with its defaults, the usual one first.
    pub fn all() -> [Self; 4] {
        [
            Self::Credible { level: Ratio::from_billionths(950_000_000).expect("95 %"), certify: false },
            Self::Mlr { effective: EffectiveDuration::Trial },
            Self::Mdr { version: mdr::Version::Current, intermediate_phases: 2, doublings: 1 },
            Self::Binary,
        ]
    }

    /// The algorithm of this name with its defaults.
    ///
    /// # Errors
    /// If there is none.
    pub fn parse(word: &str) -> Result<Self, Failure> {
        let names = Self::all().map(Self::name);
        Self::all().into_iter().find(|algorithm| algorithm.name() == word).ok_or_else(|| {
            Failure::usage(format!("there is no algorithm {word:?}{}", nearest(word, &names)))
                .advice(format!("there are {}", names.join(", ")))
        })
    }

    /// The word a user types.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Credible { .. } => "credible",
            Self::Mdr { .. } => "mdr",
            Self::Mlr { .. } => "mlr",
        }
    }

    /// What it is, for help texts.
    pub fn about(self) -> &'static str {
        match self {
            Self::Binary => "RFC 2544 bisection",
            Self::Credible { .. } => "intervals that contain the true limit at a stated confidence level",
            Self::Mdr { .. } => "multiple drop rate search",
            Self::Mlr { .. } => "RFC 9971 (MLRsearch)",
        }
    }

    /// Bound on the search's time when the user gives none.
    pub fn default_budget(self) -> Option<Duration> {
        match self {
            Self::Binary => None,
            Self::Credible { .. } => Some(credible::BUDGET),
            Self::Mdr { .. } => Some(Duration::from_secs(600)),
            Self::Mlr { .. } => Some(Duration::from_secs(1200)),
        }
    }

    /// Warm-up when the user asks for none.
    pub fn default_warm_up(self) -> Duration {
        match self {
            Self::Binary => Duration::from_secs(5),
            Self::Credible { .. } | Self::Mdr { .. } | Self::Mlr { .. } => Duration::ZERO,
        }
    }

    pub(crate) fn effective_duration(self) -> &'static str {
        match self {
            Self::Mlr { effective: EffectiveDuration::Elapsed } => "elapsed_s",
            _ => "duration_s",
        }
    }
}
