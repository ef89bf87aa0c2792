//! Trials on loopback: every packet is accounted for, whatever the target does with it.

#![allow(clippy::disallowed_methods)]

mod odd_target;

mod counts;
mod errors;
mod means;
mod misbehaving;
mod one_way;
mod replies;
mod responder;
mod services;

use dropline_traffic::{MeasurerOptions, Reply, UdpError, UdpMeasurer, UdpTarget};
use dropline_trial::{Drain, Measurer as _, Rate, TrafficProfile, Trial, TrialInput};
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
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

/// Waits long enough for a machine that is busy with other tests: their senders have real-time priority, and
/// what has none gets its share of a second at its end.
fn profile() -> TrafficProfile {
    let quiet = Duration::from_millis(2_500);
    let drain = Drain { quiet: Some(quiet), longest: 2 * quiet, ..Drain::default() };
    TrafficProfile { drain, ..TrafficProfile::default() }
}

fn measurer(target: UdpTarget, profile: TrafficProfile) -> Result<UdpMeasurer, UdpError> {
    UdpMeasurer::new(target, profile, MeasurerOptions::default(), 1, Arc::default(), None)
}

/// One trial on a new target.
fn trial_on(target: UdpTarget, profile: TrafficProfile, input: TrialInput) -> Result<Trial, UdpError> {
    measurer(target, profile)?.measure(input)
}

/// Performs a scenario, one at a time, again and again until the generator was not held up: then counts
/// are exact.
///
/// Other programs can keep the sender from the CPU until it gives up; that says nothing about the counts. How often it was
/// performed again is printed: a sender that became worse needs more of them.
fn undisturbed<T>(mut scenario: impl FnMut() -> Result<(Vec<Trial>, T), UdpError>) -> (Vec<Trial>, T) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for again in 0..50 {
        match scenario() {
            Ok((trials, more)) if trials.iter().all(|trial| Some(trial.offered) == trial.intended) => {
                if again > 0 {
                    // Past the capture of what tests print.
                    let _ = writeln!(std::io::stderr(), "undisturbed after {again} repeats");
                }
                return (trials, more);
            }
            Ok(_) | Err(UdpError::NoAnswer { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("this machine never let a whole trial be offered");
}

/// [`undisturbed`] for a single trial.
fn undisturbed_trial(mut scenario: impl FnMut() -> Result<Trial, UdpError>) -> Trial {
    let (mut trials, ()) = undisturbed(|| scenario().map(|trial| (vec![trial], ())));
    trials.remove(0)
}
