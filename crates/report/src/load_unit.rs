//! What a load counts, as a person says it.

use dropline_record::TrialLine;

/// A word for one of them, and for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadUnit {
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
}

impl LoadUnit {
    /// `packets`, where a record says nothing else.
    pub(crate) const PACKETS: Self = Self { one: "packet", many: "packets" };

    /// Of a record's `load_unit`.
    pub(crate) fn of(load_unit: &str) -> Self {
        match load_unit {
            "wakeups" => Self { one: "wake-up", many: "wake-ups" },
            "cycles" => Self { one: "cycle", many: "cycles" },
            "samples" => Self { one: "sample", many: "samples" },
            _ => Self::PACKETS,
        }
    }

    /// Of what took the delays of a trial: passages are of granules, whatever unit the load has.
    pub(crate) fn delayed(load_unit: &str, trial: &TrialLine) -> Self {
        match trial.passages {
            Some(_) => Self { one: "granule", many: "granules" },
            None => Self::of(load_unit),
        }
    }
}
