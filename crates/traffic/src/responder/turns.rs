//! When a worker's services begin and end: while packets wait, one begins where the one before ends.

use crate::sys::monotonic_ns;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How far a worker may be behind and still make it up: a wake-up, an interrupt, the sending of a reply. What goes beyond
/// is lost, as it is to any server that has no CPU.
const MADE_UP: Duration = Duration::from_millis(1);

/// A worker's services, one after another. What it takes to read, send and wake up is part of the service time.
#[derive(Debug)]
pub(crate) struct Turns {
    service: Duration,
    sleep: bool,
    /// Where the last one ended, on the machine's monotonic clock.
    ended_ns: u64,
}

/// What was lost by all workers of a responder, in ns.
#[derive(Debug, Default)]
pub(crate) struct StoodStill(AtomicU64);

impl StoodStill {
    /// So far.
    pub(crate) fn ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Turns {
    pub(crate) fn new(service: Duration, sleep: bool) -> Self {
        Self { service, sleep, ended_ns: 0 }
    }

    /// Is busy with a packet that came then, until its service ends.
    pub(crate) fn take(&mut self, came_ns: u64, stood_still: &StoodStill) {
        let lost = self.begin(came_ns, monotonic_ns());
        stood_still.0.fetch_add(lost, Ordering::Relaxed);
        loop {
            let left = self.ended_ns.saturating_sub(monotonic_ns());
            match (left, self.sleep) {
                (0, _) => return,
                (_, true) => std::thread::sleep(Duration::from_nanos(left)),
                (_, false) => std::hint::spin_loop(),
            }
        }
    }

    /// Begins a service and sets its end; the time that is lost to the worker, in ns.
    fn begin(&mut self, came_ns: u64, now_ns: u64) -> u64 {
        let due = came_ns.max(self.ended_ns);
        let lost = now_ns.saturating_sub(due).saturating_sub(MADE_UP.as_nanos() as u64);
        self.ended_ns = due + lost + self.service.as_nanos() as u64;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: u64 = 100_000;

    fn turns() -> Turns {
        Turns::new(Duration::from_nanos(SERVICE), false)
    }

    #[test]
    fn while_packets_wait_services_begin_a_service_time_apart_whatever_a_packet_costs() {
        let mut turns = turns();
        for service in 0..1000 {
            // All came at once; each is taken up 30 us late.
            let begins = 5_000 + service * SERVICE;
            assert_eq!(turns.begin(5_000, begins + 30_000), 0);
            assert_eq!(turns.ended_ns, begins + SERVICE);
        }
    }

    #[test]
    fn a_packet_that_finds_the_worker_idle_is_served_from_when_it_came() {
        let mut turns = turns();
        turns.begin(0, 0);
        assert_eq!(turns.begin(5 * SERVICE, 5 * SERVICE + 60_000), 0, "60 us to wake up");
        assert_eq!(turns.ended_ns, 6 * SERVICE);
    }

    #[test]
    fn a_worker_that_stood_still_makes_up_a_millisecond_and_loses_the_rest() {
        let mut turns = turns();
        turns.begin(0, 0);
        assert_eq!(turns.begin(0, 20_000_000 + SERVICE), 19_000_000);
        assert_eq!(turns.ended_ns, 19_000_000 + 2 * SERVICE);
        let lost: u64 = (0..20).map(|_| turns.begin(0, 20_000_000 + SERVICE)).sum();
        assert_eq!(lost, 0, "what waits meanwhile is served at once, until it is made up");
    }
}
