//! Many minutes at the highest clean rate: sequence numbers, counters and histograms agree to the packet, and the
//! memory stays what it was.
//!
//! `cargo run --release --package dropline-traffic --example long_run -- 600`: seconds; then, if it is known, the
//! load in packets a second.

use dropline_traffic::{MeasurerOptions, Reply, Responder, UdpMeasurer, UdpTarget, generator_limit};
use dropline_trial::{Measurer as _, Rate, TrafficProfile, Trial, TrialInput};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Rounding of the allocator and of the kernel's counting.
const MEMORY_SLACK_KIB: u64 = 8 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let seconds: u64 = words.next().map_or(Ok(600), |word| word.parse())?;
    let told: Option<f64> = words.next().map(|word| word.parse()).transpose()?;
    let responder = Responder::default().start()?;
    let target = UdpTarget { address: responder.address(), reply: Reply::Echo };
    let profile = TrafficProfile::default();
    let mut measurer =
        UdpMeasurer::new(target, profile.clone(), MeasurerOptions::default(), 1, Arc::default(), None)?;
    println!("{}", measurer.means()?);
    let pps = match told {
        Some(pps) => pps,
        None => highest_clean(&mut measurer, generator_limit(profile.packet, 1, &Arc::default())?.as_pps())?,
    };
    println!("{pps:.0} pps for {seconds} s");
    let input = |seconds| -> Result<TrialInput, Box<dyn Error>> {
        Ok(TrialInput { load: Rate::pps(pps)?, duration: Duration::from_secs(seconds) })
    };
    let before = responder.counts();
    // A first trial takes the memory that a trial needs beside what its length needs: a bit a packet.
    let warm = measurer.measure(input(2)?)?;
    let memory_before = resident_kib();
    let trial = measurer.measure(input(seconds)?)?;
    let memory_after = resident_kib();
    let after = responder.counts();
    report(&trial);
    let received = after.received - before.received;
    let dropped = after.dropped_socket.unwrap_or(0) - before.dropped_socket.unwrap_or(0);
    let offered = trial.offered + warm.offered;
    println!("target     received {received}, dropped at its socket {dropped}; sent to it {offered}");
    println!("memory     {memory_before} KiB before, {memory_after} KiB after");
    agree("offered and what the target received or dropped", offered, received + dropped);
    agree("lateness and offered", count(&trial.lateness), trial.offered);
    agree("delays and forwarded", count(&trial.delay), trial.forwarded);
    agree(
        "offered and forwarded, lost, dropped here",
        trial.offered,
        trial.forwarded + trial.lost() + trial.generator_lost,
    );
    let kept = trial.kept.as_ref().ok_or("arrivals were looked at")?;
    agree("gaps and departures", kept.left.as_ref().map_or(0, |left| left.packets), trial.offered);
    agree("gaps and arrivals", kept.arrived.as_ref().map_or(0, |back| back.packets), trial.forwarded);
    let seen_kib = trial.intended.unwrap_or(0) / 8 / 1024;
    assert!(memory_after <= memory_before + seen_kib + MEMORY_SLACK_KIB, "memory grew beyond a bit a packet");
    println!("all agree to the packet");
    Ok(())
}

/// The highest load, in steps of a tenth, at which a second loses nothing.
fn highest_clean(measurer: &mut UdpMeasurer, limit_pps: f64) -> Result<f64, Box<dyn Error>> {
    let mut pps = limit_pps;
    loop {
        let trial =
            measurer.measure(TrialInput { load: Rate::pps(pps)?, duration: Duration::from_secs(1) })?;
        if trial.intended == Some(trial.forwarded) {
            // A second is not ten minutes: some room for what is rarer.
            return Ok((pps * 0.8).round());
        }
        pps *= 0.9;
    }
}

fn report(trial: &Trial) {
    println!(
        "trial      intended {}, offered {}, forwarded {}, lost {}, duplicated {:?}, dropped here {}",
        trial.intended.unwrap_or(0),
        trial.offered,
        trial.forwarded,
        trial.lost(),
        trial.duplicated,
        trial.generator_lost
    );
    trial.caveats.iter().for_each(|caveat| println!("caveat     {caveat}"));
}

fn agree(what: &str, one: u64, other: u64) {
    println!("{what:<50} {one} = {other}");
    assert_eq!(one, other, "{what}");
}

fn count(delay: &dropline_trial::Delay) -> u64 {
    delay.histogram.as_ref().map_or(0, dropline_stats::Histogram::count)
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
