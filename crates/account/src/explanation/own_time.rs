//! How long a server would take for a packet on a CPU that nobody else uses.

use dropline_trial::TargetActivity;
use schemars::JsonSchema;
use serde::Serialize;

/// Bounds of a server's own service time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OwnTime {
    /// What its busiest thread ran for each packet that was served; more, where that thread hardly waited for a CPU: the rest of
    /// its pace is then its own sleep.
    pub least_ns: f64,
    /// The pace at which it served, and what its busiest thread waited for a CPU beside: a server that makes up what it waited
    /// for is faster between its waits than it is.
    pub most_ns: f64,
    /// What its busiest thread waited for a CPU for each packet, beside its stalls.
    pub waited_ns: f64,
}

/// Others leave cold caches behind, and the kernel's switching to and fro is in what it ran: alone it may need less.
const ALONE: f64 = 0.95;
/// Looks attribute a wait to another moment, and the kernel counts it when it ends: it may have been so many times as long.
const WAITED_AT_MOST: f64 = 2.0;

impl OwnTime {
    /// Of a server that served so many packets at this pace, and waited for a CPU for `starved_ns` of its stalls. `None` where
    /// it was not seen what its busiest thread ran and waited.
    pub(super) fn of(watched: &TargetActivity, served: u64, pace_ns: f64, starved_ns: u64) -> Option<Self> {
        let (ran_ns, waited_ns) = watched.busiest_cpu_ns.zip(watched.waited_ns).filter(|_| served > 0)?;
        let each = |ns: u64| ns as f64 / served as f64;
        let waited_ns = each(waited_ns.saturating_sub(starved_ns));
        let least_ns = (ALONE * each(ran_ns)).max(pace_ns - WAITED_AT_MOST * waited_ns).min(pace_ns);
        Some(Self { least_ns, most_ns: pace_ns + waited_ns, waited_ns })
    }
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
        OwnTime::of(&watched, 100, 200_000.0, 1_000_000)
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
    fn nothing_is_known_of_it_where_nobody_saw_its_threads() {
        assert_eq!(own(None, 5_000_000), None);
    }
}
