//! The nouns of one trial: load, arrival process, traffic profile, counts, delay, caveats.
//!
//! Owns [`TrialInput`] and [`Trial`], the waist of the project: a [`Measurer`] turns one into the other.
//! It never moves a packet, chooses a load or reads a clock; ratios are derived from counts.
//! Start reading at [`trial`], then [`measurer`].

pub mod agent;
pub mod arrival;
pub mod arrival_fidelity;
pub mod asked_turns;
pub mod caveat;
pub mod cycles;
pub mod delay;
pub mod direction;
pub mod extra;
pub mod gap_law;
pub mod graph;
pub mod measurer;
pub mod number_of;
pub mod outage;
pub mod packet;
pub mod packets;
pub mod passages;
pub mod profile;
pub mod quantities;
pub mod rate;
pub mod ratio;
pub mod replied;
pub mod seed;
pub mod target_activity;
pub mod trial;
pub mod trial_input;
mod waiting;
pub mod wakeups;

pub use agent::{Agent, AgentCounts, AgentState, CommonStart};
pub use arrival::{Arrival, ArrivalError, ClosedLoop, Departures, OwnPlaces, Pace, Share, Think, divisor};
pub use arrival_fidelity::{ArrivalFidelity, Departed, Fidelity, Observed, SampledLateness, Spaced, Thought};
pub use asked_turns::AskedTurns;
pub use caveat::Caveat;
pub use cycles::Cycles;
pub use delay::{Delay, DelayKind, Stamp};
pub use direction::{Direction, LostAt};
pub use extra::Extra;
pub use gap_law::GapLaw;
pub use measurer::{Measurer, Measuring, measuring};
pub use number_of::{number_of, time_of};
pub use packet::{Packet, PacketError};
pub use packets::{DepartureTimes, PacketTime, PacketTimes, ReturnTimes};
pub use passages::Passages;
pub use profile::{Drain, MOST_STREAMS, Part, TrafficProfile};
pub use rate::{LoadRange, Rate};
pub use ratio::Ratio;
pub use replied::Replied;
pub use target_activity::{Look, TargetActivity, Throttled};
pub use trial::disturbance::Disturbance;
pub use trial::{Slice, Trial};
pub use trial_input::TrialInput;
pub use wakeups::Wakeups;
