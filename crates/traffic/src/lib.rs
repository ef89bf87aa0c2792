//! Real packets: the sender, the receiver and the embedded target. The only sockets of trial traffic.
//!
//! Owns [`UdpMeasurer`], which performs trials on a UDP target, and [`Responder`], a target to measure.
//! It never chooses a load and never judges one; what it counts is a [`dropline_trial::Trial`]. Unsafe
//! code is in `sys/` alone. Start reading at [`measurer`], then `sender` and `receiver`; the
//! target is in [`responder`] and `desk`.

pub mod client;
mod clock_join;
pub mod closed_loop;
mod content;
pub mod control;
pub mod cost;
pub mod counters;
mod counting;
pub mod datagrams;
mod desk;
pub mod error;
mod evidence;
mod exchange;
mod flight;
mod frame;
pub mod gathered;
mod lane;
pub mod leash;
pub mod limit;
mod lull;
mod manners;
pub mod means;
pub mod measurer;
pub mod overheard;
pub mod placement;
pub mod probe;
pub mod progress;
mod receiver;
pub mod responder;
pub mod round_trips;
mod sampling;
mod schedule;
pub mod seat;
mod seen;
mod sender;
mod spread;
mod stamps;
mod starved;
mod sys;
mod tally;
pub mod tap;
pub mod target;
mod ways;
pub mod whereabouts;

pub use client::{ClientPace, ClientPacket, ClientPlan, ClientReply, ClientReport};
pub use closed_loop::{ClientProgram, Crowd, RunningClients};
pub use counters::Counters;
pub use counting::{AtSocket, TargetSocket};
pub use error::{BindError, UdpError};
pub use evidence::Watching;
pub use flight::ClockStep;
pub use gathered::Gathered;
pub use leash::{Leash, NoLeash};
pub use limit::generator_limit;
pub use means::{Means, Moving, ReceiveMeans, SendMeans};
pub use measurer::{MeasurerOptions, UdpMeasurer};
pub use overheard::{Glimpse, OverhearError, Overheard, Port};
pub use placement::{Cpus, Priority};
pub use probe::{Probe, probe};
pub use progress::Progress;
pub use responder::{Responder, ResponderCounts, RunningResponder};
pub use seat::{Farewell, Seat, SeatError, Started, start_with_us};
pub use sender::Trains;
pub use target::{Reply, UdpTarget};
pub use ways::{Sources, Targets};
pub use whereabouts::Whereabouts;
