//! Samples and histograms to numbers.
//!
//! Owns the delay [`Histogram`], the [`Spacing`] of events over time and the estimators of [`sample`]; every statistic names its estimator,
//! and "no data" is `None`, never zero. It never sees a clock, a file or a packet.
//! Start reading at [`histogram`].

pub mod histogram;
pub mod sample;
pub mod spacing;

pub use histogram::{Histogram, HistogramError};
pub use spacing::Spacing;
