//! CPU for each heartbeat of a full queue: stand still, fill, go on.

use super::contestant::Contestant;
use dropline_aggregator::wire::{Heartbeat, VARIABLES};
use dropline_failure::Failure;
use dropline_traffic::datagrams::Outbox;
use std::sync::atomic::{AtomicBool, Ordering};

/// Heartbeats in the queue: what the system's own receive buffer holds, and some room.
pub(super) const FILL: u64 = 240;
/// Before the rounds that count: caches, tables and the scheduler's ideas.
const WARM_UP: u64 = 5;

/// CPU in ns for each heartbeat, of every server, in rounds of all of them.
pub(super) fn rounds<const N: usize>(
    all: &mut [Contestant; N],
    rounds: u64,
    stop: &AtomicBool,
) -> Result<[f64; N], Failure> {
    let mut sums = [0; N];
    for round in 0..WARM_UP + rounds {
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::interrupted());
        }
        for place in 0..N {
            // Each is first as often as any other.
            let at = (place + round as usize) % N;
            let cpu_ns = once(&mut all[at], round)?;
            if round >= WARM_UP {
                sums[at] += cpu_ns;
            }
        }
    }
    Ok(sums.map(|sum| sum as f64 / (rounds * FILL) as f64))
}

/// CPU that one full queue takes.
fn once(server: &mut Contestant, round: u64) -> Result<u64, Failure> {
    server.stand_still()?;
    let dropped = server.drops()?;
    let mut outbox = Outbox::new();
    for index in 0..FILL {
        let variable = (index % VARIABLES as u64) as u8;
        outbox.push(Heartbeat { variable, from: index as u8, value: round as u8 }.encode());
        if outbox.len() == 60 {
            server.send_all(&mut outbox)?;
        }
    }
    server.send_all(&mut outbox)?;
    if server.drops()? > dropped {
        return Err(Failure::environment("the system's receive buffer is too small for 240 heartbeats"));
    }
    let before = server.cpu_ns()?;
    server.go_on()?;
    server.drained()?;
    Ok(server.cpu_ns()?.saturating_sub(before))
}
