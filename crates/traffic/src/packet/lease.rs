//! How long packets may leave without a word from whoever coordinates several generators.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A lease that the sending threads count by their own clock: once it is over, the next packet does not leave, whatever became
/// of the network, of the one who renews it, or of this process meanwhile.
#[derive(Debug)]
pub struct Lease {
    since: Instant,
    /// In ns after `since`.
    until: AtomicU64,
    /// When it ends whoever renews it, in ns after `since`.
    last: AtomicU64,
}

impl Lease {
    /// One that is over at once.
    pub fn over() -> Self {
        Self { since: Instant::now(), until: AtomicU64::new(0), last: AtomicU64::new(u64::MAX) }
    }

    /// Packets of a new trial may leave for so long from now on; in no case for longer than `at_most`, where that is said.
    pub fn begin(&self, length: Duration, at_most: Option<Duration>) {
        let now = self.since.elapsed();
        let last = at_most.map_or(u64::MAX, |at_most| in_ns(now.saturating_add(at_most)));
        self.last.store(last, Ordering::Relaxed);
        self.until.store(in_ns(now + length).min(last), Ordering::Relaxed);
    }

    /// The same of a trial that runs: for so long from now on. One that is over stays so, whatever was waiting to be heard while
    /// this process did not run.
    pub fn renew(&self, length: Duration) {
        let now = self.since.elapsed();
        let until = in_ns(now + length).min(self.last.load(Ordering::Relaxed));
        let is_on = |old: u64| u128::from(old) > now.as_nanos();
        let _ =
            self.until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| is_on(old).then_some(until));
    }

    /// No packet may leave any more.
    pub fn end(&self) {
        self.until.store(0, Ordering::Relaxed);
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.since.elapsed().as_nanos() >= u128::from(self.until.load(Ordering::Relaxed))
    }
}

fn in_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_holds_until_its_end_and_not_before_it_was_given() {
        let lease = Lease::over();
        assert!(lease.is_over());
        lease.renew(Duration::from_secs(3600));
        assert!(lease.is_over(), "one that is over is not renewed: what came late is not obeyed");
        lease.begin(Duration::from_secs(3600), None);
        lease.renew(Duration::from_secs(3600));
        assert!(!lease.is_over());
        lease.begin(Duration::from_secs(3600), Some(Duration::ZERO));
        lease.renew(Duration::from_secs(3600));
        assert!(lease.is_over(), "nobody renews it beyond its last moment");
        lease.begin(Duration::from_secs(3600), None);
        lease.end();
        assert!(lease.is_over());
    }
}
