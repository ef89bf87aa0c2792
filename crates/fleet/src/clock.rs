//! Clocks that differ: what another machine's clock says, to within a bound.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// What `CLOCK_MONOTONIC` says, in ns. It is not set by anybody, and means nothing on another machine.
pub(crate) fn monotonic_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The moment at which it says so.
pub(crate) fn instant_of(monotonic: i64) -> Instant {
    let (now, at) = (Instant::now(), monotonic_ns());
    let ahead = monotonic.saturating_sub(at);
    let apart = Duration::from_nanos(ahead.unsigned_abs());
    if ahead >= 0 { now + apart } else { now.checked_sub(apart).unwrap_or(now) }
}

/// What tells clocks apart that are one: the boot, and the time namespace, whose `CLOCK_MONOTONIC` it is. `None` where that is not
/// to be seen.
pub(crate) fn whose() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = std::fs::read_link("/proc/self/ns/time")
        .map_or_else(|_| String::new(), |link| link.display().to_string());
    Some(format!("{} {space}", boot.trim()))
}

/// The stamps of one exchange (RFC 5905 §8): asked and answered by our clock, heard and said by the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamps {
    pub(crate) asked_ns: i64,
    pub(crate) heard_ns: i64,
    pub(crate) said_ns: i64,
    pub(crate) answered_ns: i64,
}

/// How far another clock is ahead of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offset {
    /// What to add to our clock to have theirs.
    pub(crate) ahead_ns: i64,
    /// By how much that may be wrong: half the time that the exchange took.
    pub(crate) bound_ns: u64,
}

impl Offset {
    /// By the exchange that took least. `None` of no exchange.
    pub(crate) fn of(exchanges: &[Stamps]) -> Option<Self> {
        let round_trip = |one: &&Stamps| (one.answered_ns - one.asked_ns) - (one.said_ns - one.heard_ns);
        let best = exchanges.iter().min_by_key(round_trip)?;
        let ahead_ns = ((best.heard_ns - best.asked_ns) + (best.said_ns - best.answered_ns)) / 2;
        Some(Self { ahead_ns, bound_ns: u64::try_from(round_trip(&best)).unwrap_or(0).div_ceil(2) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message takes so long there and back; the other clock is so far ahead.
    fn exchange(at: i64, there: i64, back: i64, ahead: i64) -> Stamps {
        Stamps {
            asked_ns: at,
            heard_ns: at + there + ahead,
            said_ns: at + there + 50 + ahead,
            answered_ns: at + there + 50 + back,
        }
    }

    #[test]
    fn the_exchange_that_took_least_says_how_far_ahead_a_clock_is_and_how_wrong_that_may_be() {
        for ahead in [0, 5_000_000_000, -5_000_000_000] {
            let exchanges = [
                exchange(0, 9000, 100, ahead),
                exchange(20_000, 300, 200, ahead),
                exchange(30_000, 400, 4000, ahead),
            ];
            let offset = Offset::of(&exchanges).unwrap();
            assert_eq!(offset, Offset { ahead_ns: ahead + 50, bound_ns: 250 });
            for one in exchanges {
                let alone = Offset::of(&[one]).unwrap();
                assert!(
                    alone.ahead_ns.abs_diff(ahead) <= alone.bound_ns,
                    "never wrong by more than it says: {alone:?}"
                );
            }
        }
        assert_eq!(Offset::of(&[]), None);
    }

    #[test]
    fn a_moment_of_the_clock_is_found_again() {
        let in_a_second = instant_of(monotonic_ns() + 1_000_000_000);
        let left = in_a_second.saturating_duration_since(Instant::now());
        assert!(left > Duration::from_millis(500) && left <= Duration::from_secs(1), "{left:?}");
    }
}
