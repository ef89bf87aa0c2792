//! One error for every verb: what happened, what to do, how the program ends.
//!
//! Owns [`Failure`], the nearest known word, words quoted for a shell, excerpts of what others wrote, and the system's
//! errors in words. It does nothing, and prints nothing.
//! Start reading at [`Failure`].

mod excerpt;
mod failure;
mod quoted;
mod suggestion;
mod system;

pub use excerpt::excerpt;
pub use failure::{Failure, FailureKind};
pub use quoted::{quoted, quoted_path};
pub use suggestion::nearest;
pub use system::without_numbers;
