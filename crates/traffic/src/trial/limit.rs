//! How fast this machine's generator is.

use super::exchange::grace;
use super::measurer::UdpMeasurer;
use super::options::MeasurerOptions;
use crate::error::{BindError, UdpError};
use crate::responder::settings::Responder;
use crate::target::{Reply, UdpTarget};
use dropline_trial::{Arrival, Drain, Measurer as _, Packet, Part, Rate, TrafficProfile, TrialInput};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What this machine's generator can offer of such packets: a second without pauses against our own
/// responder on loopback, through the same paths as a trial, replies included.
///
/// # Errors
/// If that trial cannot be performed, or the user wants to stop.
pub fn generator_limit(packet: Packet, streams: u32, stop: &Arc<AtomicBool>) -> Result<Rate, UdpError> {
    let responder = Responder::default().start().map_err(|error| match error {
        BindError::Thread(why) => UdpError::Thread(why),
        error => {
            UdpError::System { doing: "starting a responder on loopback", source: io::Error::other(error) }
        }
    })?;
    let target = UdpTarget { address: responder.address(), reply: Reply::Echo };
    let profile = TrafficProfile {
        arrival: Arrival::constant(),
        packet,
        streams: Part::equal(streams),
        drain: Drain { longest: Duration::from_millis(200), ..Drain::default() },
        ..TrafficProfile::default()
    };
    let mut measurer =
        UdpMeasurer::new(target, profile, MeasurerOptions::default(), 1, Arc::clone(stop), None)?;
    let trial = measurer.measure(TrialInput { load: BEYOND_ANY, duration: SECOND })?;
    if trial.is_interrupted() {
        return Err(UdpError::Interrupted);
    }
    let sending = SECOND + grace(SECOND);
    let millipps = u128::from(trial.offered) * 1_000_000_000_000 / sending.as_nanos();
    Ok(Rate::from_millipps(u64::try_from(millipps).unwrap_or(u64::MAX)))
}

const SECOND: Duration = Duration::from_secs(1);
/// More than any socket can take: the sender never waits.
const BEYOND_ANY: Rate = Rate::from_millipps(1_000_000_000_000);
