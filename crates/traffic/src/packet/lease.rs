//! How long packets may leave without a word from whoever coordinates several generators, and how many at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
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
    /// How many packets may leave at once, where that is bound.
    peak: Mutex<Option<Peak>>,
}

/// The most packets that may leave within any [`PEAK_WITHIN`], over all senders.
#[derive(Debug)]
struct Peak {
    most: u64,
    /// When calls that sent ended, in ns, and how many packets each took.
    left: VecDeque<(u64, u64)>,
    /// By sender, packets that it is about to send.
    leaving: BTreeMap<usize, u64>,
}

/// Within so long a peak is counted.
pub(crate) const PEAK_WITHIN: Duration = Duration::from_millis(100);

impl Lease {
    /// One that is over at once.
    pub fn over() -> Self {
        Self {
            since: Instant::now(),
            until: AtomicU64::new(0),
            last: AtomicU64::new(u64::MAX),
            peak: Mutex::new(None),
        }
    }

    /// Packets of a new trial may leave for so long from now on; in no case for longer than `at_most`, and no more than `peak` of
    /// them within any 100 ms, where that is said: not after a pause of the sender either.
    pub fn begin(&self, length: Duration, at_most: Option<Duration>, peak: Option<u64>) {
        let peak = peak.map(|most| Peak { most, left: VecDeque::new(), leaving: BTreeMap::new() });
        *self.peak.lock().unwrap_or_else(PoisonError::into_inner) = peak;
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

    /// How many of `wanted` packets this sender may send now; it says when they are [`gone`](Self::gone).
    pub(crate) fn take(&self, sender: usize, wanted: usize) -> usize {
        let mut peak = self.peak.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(peak) = peak.as_mut() else { return wanted };
        let now = in_ns(self.since.elapsed());
        let is_past = |(at, _): &(u64, u64)| now.saturating_sub(*at) >= in_ns(PEAK_WITHIN);
        while peak.left.front().is_some_and(is_past) {
            peak.left.pop_front();
        }
        let others = peak.leaving.iter().filter(|(other, _)| **other != sender).map(|(_, packets)| packets);
        let within = others.chain(peak.left.iter().map(|(_, packets)| packets)).sum::<u64>();
        let room = usize::try_from(peak.most.saturating_sub(within)).unwrap_or(usize::MAX).min(wanted);
        peak.leaving.insert(sender, room as u64);
        room
    }

    /// So many of those have left by now: when each did is not known, and the last moment counts.
    pub(crate) fn gone(&self, sender: usize, packets: u64) {
        let mut peak = self.peak.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(peak) = peak.as_mut() else { return };
        peak.leaving.remove(&sender);
        if packets > 0 {
            peak.left.push_back((in_ns(self.since.elapsed()), packets));
        }
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
    fn no_more_than_the_peak_leaves_within_100_ms_whatever_is_due() {
        let lease = Lease::over();
        lease.begin(Duration::from_secs(3600), None, Some(100));
        assert_eq!(lease.take(0, 64), 64);
        assert_eq!(lease.take(1, 64), 36, "what another sender is about to send counts");
        lease.gone(0, 64);
        lease.gone(1, 30);
        assert_eq!(lease.take(0, 64), 6, "what was not sent may be yet");
        lease.gone(0, 6);
        assert_eq!(lease.take(0, 64), 0);
        std::thread::sleep(PEAK_WITHIN + Duration::from_millis(1));
        assert_eq!(lease.take(0, 64), 64, "and later more");
        lease.begin(Duration::from_secs(3600), None, None);
        assert_eq!(lease.take(0, 1000), 1000, "where nothing bounds it");
    }

    #[test]
    fn a_lease_holds_until_its_end_and_not_before_it_was_given() {
        let lease = Lease::over();
        assert!(lease.is_over());
        lease.renew(Duration::from_secs(3600));
        assert!(lease.is_over(), "one that is over is not renewed: what came late is not obeyed");
        lease.begin(Duration::from_secs(3600), None, None);
        lease.renew(Duration::from_secs(3600));
        assert!(!lease.is_over());
        lease.begin(Duration::from_secs(3600), Some(Duration::ZERO), None);
        lease.renew(Duration::from_secs(3600));
        assert!(lease.is_over(), "nobody renews it beyond its last moment");
        lease.begin(Duration::from_secs(3600), None, None);
        lease.end();
        assert!(lease.is_over());
    }
}
