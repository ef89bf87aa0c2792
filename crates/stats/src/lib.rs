//! Samples and histograms to numbers.
//!
//! Owns the delay [`Histogram`], the [`Spacing`] of events over time, events counted by value ([`Counted`]) and every
//! estimator about them; each statistic names its estimator, and "no data" is `None`, never zero. It never sees a
//! clock, a file or a packet.
//! Start reading at [`counted`], then [`percentiles`].

pub mod binned;
pub mod counted;
pub mod histogram;
pub mod moments;
pub mod percentiles;
#[cfg(test)]
mod references;
pub mod sample;
pub mod spacing;
pub mod special;

pub use binned::{Binned, Cell};
pub use counted::{Above, CountError, Counted, Event, Meaning, Rounding};
pub use histogram::{Histogram, HistogramError};
pub use moments::Moments;
pub use percentiles::Percentile;
pub use spacing::Spacing;
