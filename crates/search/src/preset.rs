//! Sets of goals with a name.

use crate::Goal;
use crate::mlr::EffectiveDuration;
use dropline_trial::{Drain, Ratio};
use std::time::Duration;

/// A method of measuring throughput that others use, as goals of RFC 9971.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// FD.io CSIT: many trials of a second, half of which may be bad; no loss, and 0.5 %.
    Csit,
    /// RFC 2544 §26.1 throughput: one trial of a minute without loss (RFC 9971 §4.10.2).
    Rfc2544,
    /// ETSI GS NFV-TST 009 §12.3.3, binary search with loss verification: of up to three trials of a minute, two
    /// decide (RFC 9971 §4.10.3).
    Tst009,
}

impl Preset {
    /// All of them, for help texts and errors.
    pub const ALL: [Self; 3] = [Self::Csit, Self::Rfc2544, Self::Tst009];

    /// The word a user types.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csit => "csit",
            Self::Rfc2544 => "rfc2544",
            Self::Tst009 => "tst009",
        }
    }

    /// What it is, for help texts.
    pub fn about(self) -> &'static str {
        match self {
            Self::Csit => {
                "FD.io CSIT: trials of one second, of which half may be bad; goals of no loss and 0.5 %"
            }
            Self::Rfc2544 => "RFC 2544 throughput: one trial of one minute without loss",
            Self::Tst009 => "ETSI NFV-TST 009: two of three trials of one minute without loss",
        }
    }

    /// Its goals, in the order of the answers.
    pub fn goals(self) -> Vec<Goal> {
        match self {
            Self::Csit => vec![Self::csit(0), Self::csit(5_000_000)],
            Self::Rfc2544 => vec![Self::minutes(60, 0)],
            Self::Tst009 => vec![Self::minutes(120, 500_000_000)],
        }
    }

    /// How long a trial counts.
    pub fn effective(self) -> EffectiveDuration {
        match self {
            Self::Csit => EffectiveDuration::Elapsed,
            Self::Rfc2544 | Self::Tst009 => EffectiveDuration::Trial,
        }
    }

    /// The waits of each trial.
    pub fn drain(self) -> Drain {
        match self {
            Self::Rfc2544 => Drain::rfc2544(),
            Self::Csit | Self::Tst009 => Drain::default(),
        }
    }

    fn csit(loss_billionths: u64) -> Goal {
        let second = Duration::from_secs(1);
        Goal {
            loss_ratio: share(loss_billionths),
            exceed_ratio: share(500_000_000),
            width: share(5_000_000),
            trial_duration: second,
            initial_trial_duration: second,
            duration_sum: 21 * second,
        }
    }

    /// A goal of zero loss in trials of a minute.
    fn minutes(duration_sum_s: u64, exceed_billionths: u64) -> Goal {
        Goal {
            loss_ratio: Ratio::ZERO,
            exceed_ratio: share(exceed_billionths),
            width: share(5_000_000),
            trial_duration: Duration::from_secs(60),
            initial_trial_duration: Duration::from_secs(1),
            duration_sum: Duration::from_secs(duration_sum_s),
        }
    }
}

impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Preset {
    type Err = PresetError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|preset| preset.name() == word).ok_or_else(|| PresetError(word.to_owned()))
    }
}

/// A word that names no preset.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no preset {0:?}; there are {names}", names = Preset::ALL.map(Preset::name).join(", "))]
pub struct PresetError(String);

fn share(billionths: u64) -> Ratio {
    Ratio::from_billionths(billionths).expect("a preset's ratios are below one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_goal_of_a_preset_can_be_searched_for() {
        for preset in Preset::ALL {
            assert!(preset.goals().into_iter().all(|goal| goal.checked().is_ok()), "{preset}");
            assert_eq!(preset.name().parse(), Ok(preset));
        }
        assert!("ndr".parse::<Preset>().unwrap_err().to_string().contains("tst009"));
    }

    #[test]
    fn only_rfc_2544_waits_in_full() {
        let drain = Preset::ALL.map(Preset::drain);
        assert_eq!(drain, [Drain::default(), Drain::rfc2544(), Drain::default()]);
    }
}
