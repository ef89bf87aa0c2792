//! Many minutes at the highest clean rate: sequence numbers, counters and histograms agree to the packet, and the
//! memory stays what it was.
//!
//! `cargo run --release --package dropline-traffic --example long_run -- 600`: seconds; then, if it is known, the
//! load in packets a second. Ends with an error where anything disagrees.

#![allow(clippy::disallowed_methods)]

use dropline_traffic::{MeasurerOptions, Reply, Responder, UdpMeasurer, UdpTarget, generator_limit};
use dropline_trial::{Measurer as _, Rate, TrafficProfile, Trial, TrialInput};
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rounding of the allocator and of the kernel's counting, and pages of histograms that are touched by their first
/// delay.
const MEMORY_SLACK_KIB: u64 = 8 << 10;
/// A load is clean that loses nothing for so long.
const CLEAN: Duration = Duration::from_secs(3);

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
    let (trial, memory) =
        Memory::while_doing(|| measurer.measure(input(seconds)?).map_err(Box::<dyn Error>::from));
    let trial = trial?;
    let after = responder.counts();
    report(&trial);
    let received = after.received - before.received;
    let dropped = after.dropped_socket.unwrap_or(0) - before.dropped_socket.unwrap_or(0);
    let offered = trial.offered + warm.offered;
    println!("target     received {received}, dropped at its socket {dropped}; sent to it {offered}");
    println!("memory     {memory}");
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
    let places: u64 = trial.lost_at.as_ref().ok_or("places were accounted for")?.values().sum();
    agree("lost and where", trial.lost(), places);
    assert!(memory.grew_kib() <= MEMORY_SLACK_KIB, "memory grew while packets moved");
    println!("all agree to the packet");
    Ok(())
}

/// The highest load, in steps of a twentieth, that is offered in full and comes back in full for [`CLEAN`].
fn highest_clean(measurer: &mut UdpMeasurer, limit_pps: f64) -> Result<f64, Box<dyn Error>> {
    let mut pps = limit_pps.round();
    loop {
        let trial = measurer.measure(TrialInput { load: Rate::pps(pps)?, duration: CLEAN })?;
        let clean = trial.intended == Some(trial.forwarded);
        println!("{pps:>10.0} pps  {}", if clean { "clean" } else { "not kept, or lost" });
        if clean {
            return Ok(pps);
        }
        pps = (pps * 0.95).round();
    }
}

/// Memory in use while packets move.
struct Memory {
    /// In KiB, a look a second from the first second on.
    looks: Vec<u64>,
}

impl Memory {
    fn while_doing<T>(work: impl FnOnce() -> T) -> (T, Self) {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let mut looks = Vec::new();
                while !done.load(Ordering::Relaxed) {
                    std::thread::park_timeout(Duration::from_secs(1));
                    looks.push(resident_kib());
                }
                // The last one is of when the trial is over.
                looks.pop();
                Self { looks }
            });
            let result = work();
            done.store(true, Ordering::Relaxed);
            looking.thread().unpark();
            (result, looking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    /// From the first look to the largest.
    fn grew_kib(&self) -> u64 {
        let first = self.looks.first().copied().unwrap_or(0);
        self.looks.iter().copied().max().unwrap_or(0).saturating_sub(first)
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.looks.first().unwrap_or(&0), self.looks.last().unwrap_or(&0));
        write!(
            f,
            "{first} KiB in the first second, {last} KiB in the last, grew by {} KiB at most",
            self.grew_kib()
        )
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
