//! The algorithms by name, each with its settings, defaults and what a record keeps of it: the one table of them.

use crate::unsound::{ratio, unsound};
use dropline_failure::{Failure, nearest};
use dropline_record::{MdrLine, SearchLine};
use dropline_search::mlr::EffectiveDuration;
use dropline_search::{Algorithm, Binary, Certified, Credible, Goal, Limits, Mdr, Mlr, credible, mdr, mlr};
use dropline_trial::{LoadRange, Ratio};
use std::time::Duration;

/// Time beyond its budget for bounds that are regular by RFC 9971.
pub const CERTIFY_BUDGET: Duration = Duration::from_secs(1200);

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

    /// By what share a bound without a level may be off: a standard deviation and a half to two of what `search-coverage`
    /// saw bounds scatter by from search to search, on the worst simulated system whose trials are alike. Where single trials decide, the trials themselves widen them further.
    pub fn scatter(self) -> f64 {
        match self {
            Self::Binary => 0.07,
            // Its interval has a level.
            Self::Credible { .. } => 0.0,
            Self::Mdr { .. } => 0.035,
            Self::Mlr { .. } => 0.006,
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

    /// Durations of a goal's full and its first trials where nobody says, when one of them may be said already.
    pub(crate) fn trial_durations(self, said: Option<Duration>) -> (Duration, Duration) {
        let second = Duration::from_secs(1);
        let full = said.unwrap_or(match self {
            Self::Credible { .. } | Self::Mlr { .. } => second,
            Self::Mdr { .. } | Self::Binary => 30 * second,
        });
        (full, if self == Self::Binary { full } else { second.min(full) })
    }

    /// Ready to search for these goals.
    ///
    /// # Errors
    /// If it cannot search for them.
    pub(crate) fn search(
        self,
        goals: Vec<Goal>,
        range: LoadRange,
        budget: Option<Duration>,
        seed: u64,
    ) -> Result<Box<dyn Algorithm>, Failure> {
        let mlr =
            |goals, effective| Mlr::new(mlr::Config { goals, range, effective }).map_err(Failure::usage);
        Ok(match self {
            Self::Binary => Box::new(Binary::new(&goals, range).map_err(Failure::usage)?),
            Self::Credible { level, certify } => {
                let budget = budget.unwrap_or(credible::BUDGET);
                let config =
                    credible::Config { goals: goals.clone(), range, budget, level: level.as_f64(), seed };
                let interval = Credible::new(config).map_err(Failure::usage)?;
                if certify {
                    let proof = mlr(goals, EffectiveDuration::Trial)?;
                    Box::new(Certified::new(interval, proof, CERTIFY_BUDGET))
                } else {
                    Box::new(interval)
                }
            }
            Self::Mdr { version, intermediate_phases, doublings } => {
                let config = mdr::Config { goals, range, intermediate_phases, doublings, version };
                Box::new(Mdr::new(config).map_err(Failure::usage)?)
            }
            Self::Mlr { effective } => Box::new(mlr(goals, effective)?),
        })
    }

    /// Limits with the time that a certificate may cost.
    pub(crate) fn in_all(self, limits: Limits) -> Limits {
        match self {
            Self::Credible { certify: true, .. } => {
                Limits { budget: limits.budget.map(|budget| budget.saturating_add(CERTIFY_BUDGET)), ..limits }
            }
            _ => limits,
        }
    }

    /// Writes its settings into the line of a record that names it.
    pub(crate) fn keep(self, line: &mut SearchLine) {
        match self {
            Self::Binary | Self::Mlr { effective: EffectiveDuration::Trial } => {}
            Self::Mlr { effective: EffectiveDuration::Elapsed } => {
                line.effective_duration = "elapsed_s".into()
            }
            Self::Credible { level, certify } => {
                line.level = Some(level.as_f64());
                line.certify = certify;
            }
            Self::Mdr { version, intermediate_phases, doublings } => {
                line.mdr = Some(MdrLine {
                    version: version.name().into(),
                    intermediate_phases: u32::from(intermediate_phases),
                    doublings: u32::from(doublings),
                });
            }
        }
    }

    /// The algorithm that a record keeps so.
    ///
    /// # Errors
    /// If there is none with this name and these settings.
    pub(crate) fn of_line(stored: &SearchLine) -> Result<Self, Failure> {
        let mut algorithm = Self::parse(&stored.algorithm)?;
        match (&mut algorithm, &stored.mdr) {
            (Self::Credible { level, certify }, _) => {
                *certify = stored.certify;
                *level = ratio(stored.level.ok_or_else(|| unsound("no level"))?)?;
            }
            (Self::Mlr { effective }, _) if stored.effective_duration == "elapsed_s" => {
                *effective = EffectiveDuration::Elapsed;
            }
            (Self::Mdr { version, intermediate_phases, doublings }, Some(line)) => {
                *version =
                    mdr::Version::named(&line.version).ok_or_else(|| unsound("an unknown version of mdr"))?;
                *intermediate_phases = u8::try_from(line.intermediate_phases).map_err(unsound)?;
                *doublings = u8::try_from(line.doublings).map_err(unsound)?;
            }
            _ => {}
        }
        Ok(algorithm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_search::ALGORITHMS;

    #[test]
    fn what_users_type_is_what_a_record_may_name() {
        assert_eq!(AlgorithmPlan::all().map(AlgorithmPlan::name), ALGORITHMS);
    }

    #[test]
    fn every_bound_without_a_level_scatters() {
        for algorithm in AlgorithmPlan::all() {
            let has_a_level = matches!(algorithm, AlgorithmPlan::Credible { .. });
            assert_eq!(algorithm.scatter() > 0.0, !has_a_level, "{}", algorithm.name());
        }
    }
}
