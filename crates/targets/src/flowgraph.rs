//! Real-time pipelines: programs that record where their samples are, collected while they run.
//!
//! [`Collector`] owns a session in shared memory and follows its events; [`TracedProgram`] is a user's program with its
//! tracepoints; [`summary`] makes a trial of what was found. Programs of other kinds that have the tracepoints too are
//! collected in the same way: make a [`Collector`], start the program with its [`environment`](Collector::environment),
//! call [`drain`](Collector::drain) until it ends, then [`finish`](Collector::finish).

pub mod bench;
mod collector;
mod exported;
pub mod graph;
pub(crate) mod kind;
mod lttng;
mod program;
pub mod recorded;
pub(crate) mod settings;
pub mod summary;

pub use collector::{Collected, Collector};
pub use exported::Events;
pub use lttng::{LttngSession, discarded, lttng_is_here};
pub use program::TracedProgram;
pub use settings::{Names, Recording, Settings, Source};
