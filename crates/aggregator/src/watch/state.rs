//! What a watch shows: on the page, on the terminal, as JSON and as OpenMetrics text.

use super::event::Event;
use super::monitor::Monitor;
use crate::report::{Doubt, checksum_doubt, junk_doubt};
use crate::wire::UNSET;
use dropline_openmetrics::Exposition;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// Everything that is known now.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WatchState {
    /// The aggregator.
    pub target: String,
    /// Now, in seconds since 1970.
    pub now_unix_s: u64,
    /// Since the watch began.
    pub watched_s: f64,
    /// Reports used.
    pub reports: u64,
    /// Requests without a report.
    pub unanswered: u64,
    /// Reports older than one before them, not used.
    pub outdated: u64,
    /// Datagrams that came and were no reports.
    pub junk: u64,
    /// Times the aggregator lost its table.
    pub restarts: u64,
    /// Alarms so far.
    pub alarms: u64,
    /// Whether something is wrong now.
    pub alarmed: bool,
    /// Whether the aggregator does not answer.
    pub aggregator_silent: bool,
    /// Since the last report; null before the first.
    pub answered_ago_s: Option<f64>,
    /// Of the last report; null before the first.
    pub round_trip_ns: Option<u64>,
    /// All 64.
    pub variables: Vec<VariableState>,
    /// What happened, newest last.
    pub events: Vec<Event>,
    /// What may mislead.
    pub caveats: Vec<Doubt>,
}

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VariableState {
    /// Which.
    pub variable: u8,
    /// `alive`, `silent` or `unset`.
    pub state: &'static str,
    /// Who sent it; null if it is unset.
    pub from: Option<u8>,
    /// What it said; null if it is unset.
    pub value: Option<u8>,
    /// Its age is not less; null if it is unset.
    pub age_at_least_s: Option<f64>,
    /// Its age is not more; null if nothing bounds it.
    pub age_at_most_s: Option<f64>,
    /// Its age by the stamp; null without a shared clock.
    pub age_s: Option<u64>,
    /// Its age in words.
    pub age: String,
    /// What was seen, newest last: how many seconds ago, and the value.
    pub history: Vec<(f64, u8)>,
}

impl WatchState {
    /// What `monitor` knows at `now`.
    pub fn new(target: &str, monitor: &Monitor, now: Duration, now_unix_s: u64) -> Self {
        let variables = (0u8..).zip(monitor.known()).map(|(variable, known)| {
            let set = known.entry != UNSET;
            let age = monitor.age_of(variable, now, now_unix_s).map(|(age, _)| age);
            VariableState {
                variable,
                state: match (known.silent, set) {
                    (true, _) => "silent",
                    (false, true) => "alive",
                    (false, false) => "unset",
                },
                from: set.then_some(known.entry.from),
                value: set.then_some(known.entry.value),
                age_at_least_s: age.map(|age| age.at_least.as_secs_f64()),
                age_at_most_s: age.and_then(|age| age.at_most).map(|most| most.as_secs_f64()),
                age_s: age.and_then(|age| age.stamp_s),
                age: age.map_or_else(|| "never set".into(), |age| age.words()),
                history: known
                    .changes
                    .iter()
                    .map(|(at, entry)| (((now - *at).as_secs_f64() * 1000.0).round() / 1000.0, entry.value))
                    .collect(),
            }
        });
        let mut caveats: Vec<Doubt> = checksum_doubt(monitor.checksum()).into_iter().collect();
        if monitor.stamps_contradict() {
            caveats.push(Doubt {
                code: "clock_apart",
                text:
                    "stamps contradict what was seen: the aggregator's clock is not this machine's, so ages \
                       follow from changes alone"
                        .into(),
            });
        }
        caveats.extend(junk_doubt(monitor.junk));
        Self {
            target: target.to_owned(),
            now_unix_s,
            watched_s: monitor.watched(now).as_secs_f64(),
            reports: monitor.reports,
            unanswered: monitor.unanswered,
            outdated: monitor.outdated,
            junk: monitor.junk,
            restarts: monitor.restarts,
            alarms: monitor.alarms,
            alarmed: monitor.is_alarmed(),
            aggregator_silent: monitor.aggregator_is_silent(),
            answered_ago_s: monitor.answered_ago(now).map(|ago| ago.as_secs_f64()),
            round_trip_ns: monitor
                .round_trip()
                .map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
            variables: variables.collect(),
            events: monitor.events().cloned().collect(),
            caveats,
        }
    }

    /// As OpenMetrics text.
    pub fn metrics(&self) -> String {
        let mut text = Exposition::default();
        for (name, help, count) in [
            ("dropline_heartbeat_watch_reports", "Reports used.", self.reports),
            ("dropline_heartbeat_watch_unanswered", "Requests without a report.", self.unanswered),
            ("dropline_heartbeat_watch_outdated", "Reports older than one before them.", self.outdated),
            ("dropline_heartbeat_watch_junk", "Datagrams that are not reports.", self.junk),
            ("dropline_heartbeat_watch_restarts", "Times the aggregator lost its table.", self.restarts),
            ("dropline_heartbeat_watch_alarms", "Alarms raised.", self.alarms),
        ] {
            text.family(name, "counter", help);
            text.sample(&format!("{name}_total"), &[], count);
        }
        text.family("dropline_heartbeat_watch_alarmed", "gauge", "1 while something is wrong.");
        text.sample("dropline_heartbeat_watch_alarmed", &[], u8::from(self.alarmed));
        let set = || self.variables.iter().filter(|variable| variable.state != "unset");
        text.family("dropline_heartbeat_watch_silent", "gauge", "1 for a variable that is silent.");
        for variable in set() {
            let silent = u8::from(variable.state == "silent");
            text.sample("dropline_heartbeat_watch_silent", &[("variable", &variable.variable)], silent);
        }
        text.unit_family("dropline_heartbeat_watch_age_seconds", "seconds", "Age that is certain.");
        for variable in set() {
            if let Some(age) = variable.age_at_least_s {
                let labels: [(&str, &dyn std::fmt::Display); 1] = [("variable", &variable.variable)];
                text.sample("dropline_heartbeat_watch_age_seconds", &labels, age);
            }
        }
        text.finish()
    }
}
