//! The blocks of the graph: a source of zeros, copies of a random size, a sink.

mod copy;
mod head;
mod sink;
mod source;

pub use copy::CopyRand;
pub use head::Head;
pub use sink::ProbedSink;
pub use source::{Offer, ProbedSource};
