//! One error for every verb: what happened, what to do, how the program ends.
//!
//! Owns [`Failure`], the nearest known word, and words quoted for a shell. It does nothing, and prints nothing.
//! Start reading at [`Failure`].

mod failure;
mod quoted;
mod suggestion;

pub use failure::{Failure, FailureKind};
pub use quoted::{quoted, quoted_path};
pub use suggestion::nearest;
