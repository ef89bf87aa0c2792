//! Samples and histograms to numbers.
//!
//! Owns the delay [`Histogram`] and the estimators of [`sample`]; every statistic names its estimator,
//! and "no data" is `None`, never zero. It never sees a clock, a file or a packet.
//! Start reading at [`histogram`].

pub mod histogram;
pub mod sample;

pub use histogram::{Histogram, HistogramError};
