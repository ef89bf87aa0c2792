//! Why there is no session.

use crate::layout::Shape;
use std::{fmt, io};

/// Why there is no session.
#[derive(Debug)]
pub enum SessionError {
    /// No rings, or a capacity that is no power of two, or more than can be addressed.
    Shape(Shape),
    /// The file cannot be made, opened or mapped.
    System(io::Error),
    /// The file is no session, one of another version, or cut short.
    Foreign,
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(shape) => write!(
                f,
                "no session has {} rings of {} events: it takes 1 to 4096 rings and a power of two of events \
                 that fit memory",
                shape.rings, shape.capacity
            ),
            Self::System(error) => write!(f, "the session's file: {error}"),
            Self::Foreign => f.write_str("the file is not a trace session of this version, or was cut short"),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<io::Error> for SessionError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
