//! One error for every verb: what happened, what to do, how the program ends.
//!
//! Owns [`Failure`], the nearest known word, words quoted for a shell, and excerpts of what others wrote. It does nothing, and prints nothing.
//! Start reading at [`Failure`].

mod excerpt;
mod failure;
mod quoted;
mod suggestion;

pub use excerpt::excerpt;
pub use failure::{Failure, FailureKind};
pub use quoted::{quoted, quoted_path};
pub use suggestion::nearest;
