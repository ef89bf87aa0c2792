//! Real packets: the sender, the receiver and the embedded target. The only sockets of trial traffic.
//!
//! Owns [`UdpMeasurer`], which performs trials on a UDP target, and [`Responder`], a target to measure.
//! It never chooses a load and never judges one; what it counts is a [`dropline_trial::Trial`]. Unsafe
//! code is in `sys/` alone. Start reading at [`measurer`], then `sender` and `receiver`; the
//! target is in [`responder`] and `desk`.

mod counting;
pub mod datagrams;
mod desk;
pub mod error;
mod flight;
pub mod limit;
pub mod measurer;
pub mod probe;
pub mod progress;
mod receiver;
pub mod responder;
mod schedule;
mod seen;
mod sender;
mod spread;
mod stamps;
mod sys;
mod tally;
pub mod target;
pub mod whereabouts;

pub use counting::{AtSocket, TargetSocket};
pub use error::{BindError, UdpError};
pub use limit::generator_limit;
pub use measurer::{MeasurerOptions, UdpMeasurer};
pub use probe::{Probe, probe};
pub use progress::Progress;
pub use responder::{Responder, ResponderCounts, RunningResponder};
pub use target::{Reply, UdpTarget};
pub use whereabouts::Whereabouts;
