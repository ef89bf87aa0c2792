//! Trials on loopback: every packet is accounted for, whatever the target does with it.

mod odd_target;

mod counts;
mod errors;
mod one_way;
mod responder;

use dropline_traffic::{MeasurerOptions, Reply, UdpError, UdpMeasurer, UdpTarget};
use dropline_trial::{Drain, Rate, TrafficProfile, TrialInput};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

fn echo(address: SocketAddr) -> UdpTarget {
    UdpTarget { address, reply: Reply::Echo }
}

fn sink(address: SocketAddr) -> UdpTarget {
    UdpTarget { address, reply: Reply::None }
}

fn input(pps: f64, milliseconds: u64) -> TrialInput {
    TrialInput { load: Rate::pps(pps).unwrap(), duration: Duration::from_millis(milliseconds) }
}

/// Waits long enough for a machine that is busy with other tests.
fn profile() -> TrafficProfile {
    let drain = Drain { quiet: Some(Duration::from_millis(300)), ..Drain::default() };
    TrafficProfile { drain, ..TrafficProfile::default() }
}

fn measurer(target: UdpTarget, profile: TrafficProfile) -> Result<UdpMeasurer, UdpError> {
    UdpMeasurer::new(target, profile, MeasurerOptions::default(), 1, Arc::default(), None)
}
