//! How long a server would take for a packet on a CPU that nobody else uses.
//!
//! Its pace is the time from one departure to the next while packets wait, stalls left out. Of that, its busiest thread ran
//! some, waited for a CPU for some, and slept for the rest: what it waited may go, and nothing else.

use dropline_trial::TargetActivity;
use schemars::JsonSchema;
use serde::Serialize;

/// Bounds of a server's own service time: what it would take for a packet if it never waited for a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OwnTime {
    /// What its busiest thread ran for each packet that was served; more, where that thread hardly waited for a CPU: the rest of
    /// its pace is then its own sleep.
    pub least_ns: f64,
    /// The pace at which it served, what is uncertain about it, and what its busiest thread waited for a CPU beside: a server that
    /// makes up what it waited for is faster between its waits than it is.
    pub most_ns: f64,
    /// What its busiest thread waited for a CPU for each packet, beside its stalls: never more than the bounds are apart.
    pub waited_ns: f64,
}

/// A pace and its standard error, both a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    pub(super) ns: f64,
    pub(super) error_ns: f64,
}

/// Others leave cold caches behind, and the kernel's switching to and fro is in what it ran: alone it may need less.
const ALONE: f64 = 0.95;
/// Looks attribute a wait to another moment, and the kernel counts it when it ends: it may have been so many times as long.
const WAITED_AT_MOST: f64 = 2.0;
/// A server that waited for less than this part of its pace hardly waited.
const HARDLY: f64 = 0.05;
/// Running and waiting that come to more than so many times the pace are not the parts of it.
const PARTS_AT_MOST: f64 = 1.25;

impl OwnTime {
    /// Of a server that served so many packets at this pace, and waited for a CPU for `starved_ns` of its stalls. `None` where
    /// it was not seen what its busiest thread ran and waited; and where that comes to more than the pace, so that it is not
    /// known how much of it was of the time in which it served.
    pub(super) fn of(watched: &TargetActivity, served: u64, pace: Pace, starved_ns: u64) -> Option<Self> {
        let (ran_ns, waited_ns) = watched.busiest_cpu_ns.zip(watched.waited_ns).filter(|_| served > 0)?;
        let each = |ns: u64| ns as f64 / served as f64;
        let (ran_ns, waited_ns) = (each(ran_ns), each(waited_ns.saturating_sub(starved_ns)));
        let (fastest_ns, slowest_ns) = (pace.ns - 2.0 * pace.error_ns, pace.ns + 2.0 * pace.error_ns);
        if waited_ns > HARDLY * pace.ns && ran_ns + waited_ns > PARTS_AT_MOST * slowest_ns {
            return None;
        }
        let least_ns = (ALONE * ran_ns).max(fastest_ns - WAITED_AT_MOST * waited_ns).min(fastest_ns).max(0.0);
        Some(Self { least_ns, most_ns: slowest_ns + waited_ns, waited_ns })
    }
}

/// What a target's busiest thread ran for each packet that was served, alone on its CPU.
pub(super) fn ran_ns(watched: &TargetActivity, served: u64) -> Option<f64> {
    let (ran_ns, _) = watched.busiest_cpu_ns.zip(watched.waited_ns).filter(|_| served > 0)?;
    Some(ALONE * ran_ns as f64 / served as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(cpu_ns: Option<u64>, waited_ns: u64) -> Option<OwnTime> {
        let watched = TargetActivity {
            busiest_cpu_ns: cpu_ns,
            waited_ns: Some(waited_ns),
            ..TargetActivity::default()
        };
        OwnTime::of(&watched, 100, Pace { ns: 200_000.0, error_ns: 0.0 }, 1_000_000)
    }

    #[test]
    fn what_a_server_waited_for_a_cpu_may_go_on_one_of_its_own_and_what_it_slept_stays() {
        let least = |cpu_us: u64, waited_us: u64| {
            own(Some(cpu_us * 100_000), waited_us * 100_000 + 1_000_000).unwrap().least_ns / 1_000.0
        };
        assert!((least(90, 110) - 85.5).abs() < 1e-9, "it waited: nothing but its running time is its own");
        assert!((least(90, 0) - 200.0).abs() < 1e-9, "it slept");
        assert!((least(90, 30) - 140.0).abs() < 1e-9, "it slept, and waited for a while");
        assert!((least(300, 0) - 200.0).abs() < 1e-9, "it polls: it is no slower than its pace");
    }

    #[test]
    fn a_server_that_makes_up_what_it_waited_for_is_no_faster_than_its_pace_and_its_waits() {
        // Each packet takes it 240 us, of which it waited 40 us and made them up: packets left 200 us apart.
        let own = own(Some(16_000_000), 40 * 100_000 + 1_000_000).unwrap();
        assert!(own.least_ns <= 240_000.0 && (own.most_ns - 240_000.0).abs() < 1e-6, "{own:?}");
    }

    #[test]
    fn no_part_of_a_pace_is_larger_than_the_pace_or_nothing_is_stated() {
        // All that a thread may have run and waited for each packet of 200 us.
        for (ran_us, waited_us) in (0..40).flat_map(|ran| (0..40).map(move |waited| (20 * ran, 20 * waited)))
        {
            let found = own(Some(ran_us * 100_000), waited_us * 100_000 + 1_000_000);
            let told = format!("ran {ran_us}, waited {waited_us}: {found:?}");
            match found {
                Some(own) => {
                    assert!(own.least_ns <= own.most_ns && own.least_ns >= 0.0, "{told}");
                    assert!(own.least_ns + own.waited_ns <= own.most_ns, "{told}");
                }
                None => assert!(ran_us + waited_us > 200 && waited_us > 10, "{told}"),
            }
        }
    }

    #[test]
    fn nothing_is_stated_where_a_server_waited_and_its_parts_come_to_more_than_a_quarter_above_its_pace() {
        let is_stated = |ran_us: u64, waited_us: u64| {
            own(Some(ran_us * 100_000), waited_us * 100_000 + 1_000_000).is_some()
        };
        assert_eq!([is_stated(230, 20), is_stated(231, 20)], [true, false]);
        assert_eq!([is_stated(300, 10), is_stated(300, 11)], [true, false], "it hardly waited");
    }

    #[test]
    fn what_is_uncertain_of_a_pace_is_in_the_bounds() {
        let watched = TargetActivity {
            busiest_cpu_ns: Some(18_800 * 100),
            waited_ns: Some(0),
            ..TargetActivity::default()
        };
        let own = OwnTime::of(&watched, 100, Pace { ns: 18_800.0, error_ns: 600.0 }, 0).unwrap();
        assert_eq!((own.least_ns, own.most_ns), (17_860.0f64.min(17_600.0), 20_000.0));
    }

    #[test]
    fn nothing_is_known_of_it_where_nobody_saw_its_threads() {
        assert_eq!(own(None, 5_000_000), None);
    }
}
