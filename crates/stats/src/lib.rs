//! Samples and histograms to numbers.
//!
//! Owns the delay [`Histogram`], the [`Spacing`] of events over time, events counted by value ([`Counted`]) and every
//! estimator about them; each statistic names its estimator, and "no data" is `None`, never zero. It never sees a
//! clock, a file or a packet.
//! Start reading at [`counted`], then [`percentiles`].

pub mod binned;
mod cells;
pub mod chance;
pub mod compare;
pub mod counted;
pub mod delay_injection;
pub mod drift;
pub mod families;
pub mod histogram;
pub mod law;
pub mod likelihood;
pub mod limits;
pub mod mixture;
pub mod modes;
pub mod moments;
pub mod normality;
pub mod order;
pub mod percentiles;
pub mod ppcc;
pub mod recorded;
pub mod recorder;
#[cfg(test)]
mod references;
pub mod replicates;
pub mod sample;
mod simplex;
pub mod slices;
pub mod spacing;
pub mod special;
pub mod tail;
pub mod trend;

pub use binned::{Binned, Cell};
pub use counted::{Above, CountError, Counted, Event, Meaning, Rounding};
pub use delay_injection::{Between, Crossings, crossings};
pub use drift::{Course, Drift};
pub use families::{Family, Fitted};
pub use histogram::{Histogram, HistogramError};
pub use law::Law;
pub use likelihood::Distance;
pub use modes::{Mode, Modes};
pub use moments::Moments;
pub use normality::{LawVerdict, Normality};
pub use percentiles::Percentile;
pub use recorded::Recorded;
pub use recorder::Recorder;
pub use replicates::Replicates;
pub use slices::{Cut, SLICES, Slices};
pub use spacing::Spacing;
