//! Which trial next? Goals, bounds and the algorithms that close them in.
//!
//! Owns the [`Search`]: a state machine that asks with [`Search::next_trial`] and learns with
//! [`Search::record`] (RFC 9971: the Controller). It never performs a trial, reads a clock or draws
//! chance of its own; time is what trials say it was, so a search replayed from its trials ends the same.
//! Start reading at [`search`], then [`goal`]; each algorithm is a file or a directory.

pub mod algorithm;
mod bad_moments;
pub mod binary;
mod carry_over;
pub mod certified;
mod change;
mod contradiction;
pub mod credible;
mod crossed;
pub mod goal;
pub mod mdr;
pub mod mlr;
pub mod outcome;
pub mod preset;
pub mod progress;
pub mod search;
mod second_look;
mod steadiness;
mod undisturbed;

pub use algorithm::Algorithm;
pub use binary::{Binary, BinaryError};
pub use certified::Certified;
pub use credible::{Credible, CredibleError};
pub use goal::{Goal, GoalError};
pub use mdr::{Mdr, MdrError};
pub use mlr::Mlr;
pub use outcome::{Bound, Bounds, GoalOutcome, GoalResult, Irregular};
pub use preset::{Preset, PresetError};
pub use progress::{Belief, CurvePoint, Outlook};
pub use search::{Limits, Search};

/// The names of the algorithms, as users type them and records keep them.
pub const ALGORITHMS: [&str; 4] = ["credible", "mlr", "mdr", "binary"];
