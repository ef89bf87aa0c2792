//! How far apart departures are.

/// Distribution of the gaps between departures.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum GapLaw {
    /// No closed form: the gaps of the schedule are what was asked.
    Drawn,
    /// All equal.
    Equal {
        /// In ns.
        gap_ns: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean in ns.
        mean_ns: f64,
    },
}

impl GapLaw {
    /// Share of gaps shorter than `gap_ns`; `None` where there is no closed form.
    pub fn below(self, gap_ns: f64) -> Option<f64> {
        match self {
            Self::Drawn => None,
            Self::Equal { gap_ns: equal } => Some(if equal < gap_ns { 1.0 } else { 0.0 }),
            Self::Exponential { mean_ns } => Some(-libm::expm1(-gap_ns / mean_ns)),
        }
    }
}
