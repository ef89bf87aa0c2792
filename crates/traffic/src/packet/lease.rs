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
    /// Until when somebody else agrees, in ns after `since`; where nobody has to, for ever.
    agreed: AtomicU64,
    /// Datagrams that left, of all trials.
    sent: AtomicU64,
    /// How many packets may leave at once, where that is bound.
    peak: Mutex<Option<Bounded>>,
}

/// The most that may leave within any [`PEAK_WITHIN`], and what each datagram is of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Packets that may leave on the wire; a datagram that is longer than the way carries is several.
    pub packets: Option<u64>,
    /// Bits of frames that may.
    pub bits: Option<u64>,
    /// Packets of a datagram.
    pub datagram_packets: u64,
    /// Bits of its frames.
    pub datagram_bits: u64,
}

/// What left within the last [`PEAK_WITHIN`], over all senders and trials.
#[derive(Debug)]
struct Bounded {
    peak: Peak,
    /// When calls that sent ended, in ns, and how many packets and bits each took.
    left: VecDeque<(u64, [u64; 2])>,
    /// By sender, datagrams that it is about to send.
    leaving: BTreeMap<usize, u64>,
}

impl Peak {
    fn of(&self, datagrams: u64) -> [u64; 2] {
        [self.datagram_packets, self.datagram_bits].map(|each| datagrams.saturating_mul(each))
    }

    /// Datagrams for which there is room beside what left already.
    fn room(&self, left: [u64; 2]) -> u64 {
        let room = |most: Option<u64>, left: u64, each: u64| {
            most.map_or(u64::MAX, |most| most.saturating_sub(left) / each.max(1))
        };
        room(self.packets, left[0], self.datagram_packets).min(room(self.bits, left[1], self.datagram_bits))
    }
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
            agreed: AtomicU64::new(u64::MAX),
            sent: AtomicU64::new(0),
            peak: Mutex::new(None),
        }
    }

    /// Packets of a new trial may leave for so long from now on; in no case for longer than `at_most`.
    pub fn begin(&self, length: Duration, at_most: Option<Duration>) {
        let now = self.since.elapsed();
        let last = at_most.map_or(u64::MAX, |at_most| in_ns(now.saturating_add(at_most)));
        self.last.store(last, Ordering::Relaxed);
        self.until.store(in_ns(now + length).min(last), Ordering::Relaxed);
    }

    /// No more than `peak` leaves within any 100 ms from now on, where that is said: not after a pause of the sender either, and
    /// with what left before, whoever asked for it.
    pub fn bound(&self, peak: Option<Peak>) {
        let mut bounded = self.peak.lock().unwrap_or_else(PoisonError::into_inner);
        let left = bounded.take().map(|before| before.left).unwrap_or_default();
        *bounded = peak.map(|peak| Bounded { peak, left, leaving: BTreeMap::new() });
    }

    /// The same of a trial that runs: for so long from now on. One that is over stays so, whatever was waiting to be heard while
    /// this process did not run.
    pub fn renew(&self, length: Duration) {
        let until = in_ns(self.since.elapsed() + length).min(self.last.load(Ordering::Relaxed));
        self.extend(&self.until, |_| until);
    }

    /// Somebody else agrees until then, who has to from now on; `None`: nobody has to.
    pub fn agree(&self, until: Option<Instant>) {
        self.agreed.store(until.map_or(u64::MAX, |until| self.at(until)), Ordering::Relaxed);
    }

    /// That they agree for longer. Where they did not in time, nothing leaves until it is asked for anew.
    pub fn still_agree(&self, until: Instant) {
        self.extend(&self.agreed, |old| old.max(self.at(until)));
    }

    fn at(&self, then: Instant) -> u64 {
        in_ns(then.saturating_duration_since(self.since))
    }

    fn extend(&self, end: &AtomicU64, until: impl Fn(u64) -> u64) {
        let now = in_ns(self.since.elapsed());
        let _ = end.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| (old > now).then(|| until(old)));
    }

    /// No packet may leave any more.
    pub fn end(&self) {
        self.until.store(0, Ordering::Relaxed);
    }

    /// How many of `wanted` datagrams this sender may send now; it says when they are [`gone`](Self::gone).
    pub fn take(&self, sender: usize, wanted: usize) -> usize {
        let mut bounded = self.peak.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Bounded { peak, left, leaving }) = bounded.as_mut() else { return wanted };
        let now = in_ns(self.since.elapsed());
        let is_past = |(at, _): &(u64, [u64; 2])| now.saturating_sub(*at) >= in_ns(PEAK_WITHIN);
        while left.front().is_some_and(is_past) {
            left.pop_front();
        }
        let others =
            leaving.iter().filter(|(other, _)| **other != sender).map(|(_, &leaving)| peak.of(leaving));
        let within = others.chain(left.iter().map(|(_, took)| *took));
        let within =
            within.fold([0, 0], |all: [u64; 2], one| [0, 1].map(|at| all[at].saturating_add(one[at])));
        let room = usize::try_from(peak.room(within)).unwrap_or(usize::MAX).min(wanted);
        leaving.insert(sender, room as u64);
        room
    }

    /// So many of those have left by now: when each did is not known, and the last moment counts.
    pub fn gone(&self, sender: usize, datagrams: u64) {
        self.sent.fetch_add(datagrams, Ordering::Relaxed);
        let mut bounded = self.peak.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Bounded { peak, left, leaving }) = bounded.as_mut() else { return };
        leaving.remove(&sender);
        if datagrams > 0 {
            left.push_back((in_ns(self.since.elapsed()), peak.of(datagrams)));
        }
    }

    /// Datagrams that left, of all trials.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Whether whoever has to agree does not any more.
    pub fn is_disagreed(&self) -> bool {
        self.since.elapsed().as_nanos() >= u128::from(self.agreed.load(Ordering::Relaxed))
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.since.elapsed().as_nanos() >= u128::from(self.until.load(Ordering::Relaxed))
            || self.is_disagreed()
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
        let few = Peak { packets: Some(100), datagram_packets: 1, ..Peak::default() };
        lease.begin(Duration::from_secs(3600), None);
        lease.bound(Some(few));
        assert_eq!(lease.take(0, 64), 64);
        assert_eq!(lease.take(1, 64), 36, "what another sender is about to send counts");
        lease.gone(0, 64);
        lease.gone(1, 30);
        assert_eq!(lease.take(0, 64), 6, "what was not sent may be yet");
        lease.gone(0, 6);
        assert_eq!(lease.take(0, 64), 0);
        std::thread::sleep(PEAK_WITHIN + Duration::from_millis(1));
        assert_eq!(lease.take(0, 64), 64, "and later more");
        lease.gone(0, 64);
        lease.bound(Some(few));
        assert_eq!(lease.take(0, 64), 36, "what left before it was bound anew counts too");
        let in_parts = Peak { datagram_packets: 5, datagram_bits: 1000, ..few };
        lease.bound(Some(in_parts));
        assert_eq!(lease.take(0, 64), 7, "of datagrams that leave in five parts each, fewer");
        lease.bound(Some(Peak { bits: Some(3000), ..in_parts }));
        assert_eq!(lease.take(0, 64), 3, "and no more bits than may");
        lease.bound(None);
        assert_eq!(lease.take(0, 1000), 1000, "where nothing bounds it");
    }

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
        let (gone, later) = (Instant::now(), Instant::now() + Duration::from_secs(3600));
        lease.begin(Duration::from_secs(3600), None);
        lease.still_agree(later);
        lease.agree(Some(later));
        assert!(!lease.is_over());
        lease.agree(Some(gone));
        lease.renew(Duration::from_secs(3600));
        lease.still_agree(later);
        assert!(lease.is_over() && lease.is_disagreed(), "who coordinates does not agree for somebody else");
        lease.agree(None);
        lease.still_agree(gone);
        assert!(!lease.is_over(), "where nobody has to");
    }
}
