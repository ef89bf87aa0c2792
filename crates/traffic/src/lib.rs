//! Real packets: the sender, the receiver and the embedded target. The only sockets of trial traffic.
//!
//! Owns [`UdpMeasurer`], which performs trials on a UDP target, and [`Responder`], a target to measure.
//! It never chooses a load and never judges one; what it counts is a [`dropline_trial::Trial`]. Unsafe
//! code is in `sys/` alone. Start reading at `trial/measurer.rs`, then `send/sender.rs` and `receive/receiver.rs`;
//! the target is in `responder/workers.rs`.
//!
//! Its folders are in ARCHITECTURE.md, from the top down: each uses only those below it.

mod closed_loop;
mod error;
pub mod kernel;
mod losses;
mod means;
mod packet;
mod placement;
mod progress;
mod receive;
mod responder;
mod send;
mod sockets;
mod sys;
mod target;
mod trial;
mod watch;

pub use closed_loop::client_processes::{ClientProcesses, ClientProgram, RunningClients};
pub use closed_loop::outcome::ClosedLoopOutcome;
pub use closed_loop::plan::{ClientError, ClientPace, ClientPlan, ClientReply};
pub use closed_loop::report::{ClientPacket, ClientReport};
pub use dropline_payload::service::stamp::Reflector;
pub use error::{BindError, Detour, NoLeash, UdpError};
pub use kernel::frame_path::{FramePath, FramePathNews};
pub use kernel::quota::{Quota, Quotas};
pub use kernel::socket_table::AtSocket;
pub use kernel::usage::Usage;
pub use losses::counters::{Counters, Hop};
pub use losses::evidence::Watching;
pub use losses::target_socket::TargetSocket;
pub use means::{MeansError, ReceiveMeans, SendMeans};
pub use packet::control;
pub use packet::lease::{Lease, Peak};
pub use packet::together::{Starter, Together};
pub use packet::trial_state::ClockStep;
pub use placement::affinity::{self, AffinityError, Farewell, Seat, Signal, Started, start_with_us};
pub use placement::cpus::{Cpus, CpusError, Priority};
pub use progress::Progress;
pub use responder::running::RunningResponder;
pub use responder::settings::{Responder, ResponderCounts};
pub use send::requests::first_turn;
pub use send::sent::Trains;
pub use sockets::connection::{Sources, Targets, read_addresses};
pub use sockets::consented::Consented;
pub use sockets::datagrams;
pub use sockets::flows::Flows;
pub use sockets::guard::Guard;
pub use sockets::leash::Leash;
pub use sockets::whereabouts::Whereabouts;
pub use target::{Reply, UdpTarget};
pub use trial::doubts::kept_from_running;
pub use trial::limit::generator_limit;
pub use trial::means::{Means, Moving};
pub use trial::measurer::UdpMeasurer;
pub use trial::options::MeasurerOptions;
pub use trial::probe::{Probed, probe};
pub use trial::{cost, round_trips};
pub use watch::overheard::{Glimpse, OverhearError, Overheard, Port};
pub use watch::tap;
