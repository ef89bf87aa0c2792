//! What a target did during a trial, as it is kept: a column for each thing that was looked at.

use crate::Count;
use dropline_trial::{Look, TargetActivity, Throttled};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A target's process and socket over time. A column is null when it was not to be seen, and has a value for
/// each of `at_ns` otherwise; only differences within the columns of counters mean something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedLine {
    /// The process that owns the socket.
    pub pid: Option<u32>,
    /// Its name.
    pub name: Option<String>,
    /// Memory that its socket may hold: the kernel's doubled SO_RCVBUF.
    pub buffer_bytes: Option<u64>,
    /// Intended time between two looks.
    pub every_ns: u64,
    /// Median time that a look took.
    pub look_cost_ns: u64,
    /// Looks taken; those that said nothing new are not kept.
    pub looks: u64,
    /// Largest memory in use that a look saw at the socket.
    pub largest_queued_bytes: Option<u64>,
    /// CPU time of the process from the first look to the last.
    pub cpu_ns_total: Option<u64>,
    /// Of that, what its busiest thread ran; absent where that was not to be seen: the times that it waited are then of all its
    /// threads, added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_cpu_ns_total: Option<u64>,
    /// Time that its busiest thread could have run and had no CPU, from the first look to the last; absent where that was not
    /// to be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns_total: Option<u64>,
    /// CPU time that programs used meanwhile which are neither it nor the generator; absent where that is not to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_ns_total: Option<u64>,
    /// Packets that its program took meanwhile, by its own count, or those forwarded.
    pub packets: Count,
    /// What its CPU quota stopped meanwhile; absent if nothing was stopped, or that was not to be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Throttled>,
    /// When the looks were taken, from the trial's epoch.
    pub at_ns: Vec<i64>,
    /// Memory that waiting packets are charged for.
    pub queued_bytes: Option<Vec<Option<u64>>>,
    /// Packets that the socket did not take, so far.
    pub drops: Option<Vec<Option<u64>>>,
    /// CPU time so far, all threads.
    pub cpu_ns: Option<Vec<Option<u64>>>,
    /// Time that its busiest thread could have run and had no CPU, so far.
    pub waited_ns: Option<Vec<Option<u64>>>,
    /// Context switches so far.
    pub switches: Option<Vec<Option<u64>>>,
}

impl WatchedLine {
    /// What was watched again.
    pub fn watched(&self) -> TargetActivity {
        let value = |column: &Option<Vec<Option<u64>>>, at: usize| {
            column.as_ref().and_then(|column| column.get(at).copied().flatten())
        };
        TargetActivity {
            pid: self.pid,
            name: self.name.clone(),
            buffer_bytes: self.buffer_bytes,
            every: Duration::from_nanos(self.every_ns),
            look_cost: Duration::from_nanos(self.look_cost_ns),
            looks: self.looks,
            largest_queued_bytes: self.largest_queued_bytes,
            cpu_ns: self.cpu_ns_total,
            busiest_cpu_ns: self.busiest_cpu_ns_total,
            waited_ns: self.waited_ns_total,
            others_ns: self.others_ns_total,
            packets: self.packets.0,
            throttled: self.throttled,
            samples: self
                .at_ns
                .iter()
                .enumerate()
                .map(|(at, &at_ns)| Look {
                    at_ns,
                    queued_bytes: value(&self.queued_bytes, at),
                    drops: value(&self.drops, at),
                    cpu_ns: value(&self.cpu_ns, at),
                    waited_ns: value(&self.waited_ns, at),
                    switches: value(&self.switches, at),
                })
                .collect(),
        }
    }
}

impl From<&TargetActivity> for WatchedLine {
    fn from(watched: &TargetActivity) -> Self {
        let column = |value: fn(&Look) -> Option<u64>| {
            let column: Vec<Option<u64>> = watched.samples.iter().map(value).collect();
            column.iter().any(Option::is_some).then_some(column)
        };
        Self {
            pid: watched.pid,
            name: watched.name.clone(),
            buffer_bytes: watched.buffer_bytes,
            every_ns: watched.every.as_nanos() as u64,
            look_cost_ns: watched.look_cost.as_nanos() as u64,
            looks: watched.looks,
            largest_queued_bytes: watched.largest_queued_bytes,
            cpu_ns_total: watched.cpu_ns,
            busiest_cpu_ns_total: watched.busiest_cpu_ns,
            waited_ns_total: watched.waited_ns,
            others_ns_total: watched.others_ns,
            packets: Count(watched.packets),
            throttled: watched.throttled,
            at_ns: watched.samples.iter().map(|look| look.at_ns).collect(),
            queued_bytes: column(|look| look.queued_bytes),
            drops: column(|look| look.drops),
            cpu_ns: column(|look| look.cpu_ns),
            waited_ns: column(|look| look.waited_ns),
            switches: column(|look| look.switches),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn look() -> impl Strategy<Value = Look> {
        let counter = || proptest::option::of(any::<u32>().prop_map(u64::from));
        (any::<i32>(), counter(), counter(), counter(), counter(), counter()).prop_map(
            |(at, queued_bytes, drops, cpu_ns, waited_ns, switches)| Look {
                at_ns: at.into(),
                queued_bytes,
                drops,
                cpu_ns,
                waited_ns,
                switches,
            },
        )
    }

    proptest! {
        #[test]
        fn what_was_watched_survives_its_line(samples in prop::collection::vec(look(), 0..40)) {
            let throttled = Some(Throttled { runtime_us: 1, period_us: 2, times: 3, stopped_ns: 4 });
            let (waited_ns, others_ns) = (Some(5), samples.first().and_then(|look: &Look| look.waited_ns));
            let watched =
                TargetActivity { pid: Some(7), looks: 90, busiest_cpu_ns: waited_ns, waited_ns, others_ns, throttled, samples, ..TargetActivity::default() };
            let text = serde_json::to_string(&WatchedLine::from(&watched)).unwrap();
            let line: WatchedLine = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(line.watched(), watched);
        }
    }

    #[test]
    fn what_was_never_seen_has_no_column() {
        let samples = vec![Look { at_ns: -5, drops: Some(3), ..Look::default() }; 2];
        let line = WatchedLine::from(&TargetActivity { samples, ..TargetActivity::default() });
        assert_eq!((line.drops, line.cpu_ns), (Some(vec![Some(3); 2]), None));
    }
}
