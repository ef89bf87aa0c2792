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
}

impl Lease {
    /// One that is over at once.
    pub fn over() -> Self {
        Self { since: Instant::now(), until: AtomicU64::new(0) }
    }

    /// Packets of a new trial may leave for so long from now on.
    pub fn begin(&self, length: Duration) {
        let until = (self.since.elapsed() + length).as_nanos();
        self.until.store(u64::try_from(until).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The same of a trial that runs: for so long from now on. One that is over stays so, whatever was waiting to be heard while
    /// this process did not run.
    pub fn renew(&self, length: Duration) {
        let now = self.since.elapsed();
        let until = u64::try_from((now + length).as_nanos()).unwrap_or(u64::MAX);
        let is_on = |old: u64| u128::from(old) > now.as_nanos();
        let _ = self.until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| is_on(old).then_some(until));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_holds_until_its_end_and_not_before_it_was_given() {
        let lease = Lease::over();
        assert!(lease.is_over());
        lease.renew(Duration::from_secs(3600));
        assert!(lease.is_over(), "one that is over is not renewed: what came late is not obeyed");
        lease.begin(Duration::from_secs(3600));
        lease.renew(Duration::from_secs(3600));
        assert!(!lease.is_over());
        lease.end();
        assert!(lease.is_over());
    }
}
