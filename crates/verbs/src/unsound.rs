//! Headers of records that hold what no plan can.

use dropline_failure::Failure;
use dropline_trial::Ratio;
use std::fmt;

pub(crate) fn unsound(why: impl fmt::Display) -> Failure {
    Failure::environment(format!("the record's header cannot be resumed: {why}"))
}

pub(crate) fn ratio(fraction: f64) -> Result<Ratio, Failure> {
    Ratio::new(fraction).map_err(unsound)
}
