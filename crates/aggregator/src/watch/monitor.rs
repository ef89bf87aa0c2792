//! What a monitor knows from the reports it saw. It is handed reports and time, and asks for neither.

use super::event::{Event, EventKind};
use crate::age::Age;
use crate::client::Answer;
use crate::wire::{Checksum, Entry, ReportError, UNSET, VARIABLES};
use std::collections::VecDeque;
use std::time::Duration;

/// What is watched for.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// A variable without a heartbeat for this long has fallen silent.
    pub silent_after: Duration,
    /// Variables that must be alive; `None`: all that were ever seen set.
    pub expected: Option<Vec<u8>>,
    /// Whether the aggregator stamps with this machine's clock.
    pub clock_shared: bool,
}

/// Watches one aggregator.
#[derive(Clone, Debug)]
pub struct Monitor {
    watch: Watch,
    begun: Option<Duration>,
    last_answer: Option<Duration>,
    variables: Vec<Known>,
    events: VecDeque<Event>,
    /// Reports that arrived and were used.
    pub reports: u64,
    /// Requests without a report.
    pub unanswered: u64,
    /// Reports older than one seen before; they were not used.
    pub outdated: u64,
    /// Times that variables which were set were found unset.
    pub restarts: u64,
    /// Alarms raised.
    pub alarms: u64,
    /// Datagrams that came and were no reports: damaged ones, or somebody else's.
    pub junk: u64,
    /// Of these, those since the last report, and why the last of them is none.
    junk_since: (u64, Option<ReportError>),
    outdated_in_a_row: u32,
    aggregator_silent: bool,
    stamps_contradict: bool,
    checksum: Checksum,
    round_trip: Option<Duration>,
}

/// What is known of one variable.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) entry: Entry,
    /// When the report arrived that showed this entry first.
    seen: Option<Duration>,
    /// When the report arrived that did not show it yet.
    not_seen: Option<Duration>,
    /// Entries it had, and when they were first seen.
    pub(super) changes: VecDeque<(Duration, Entry)>,
    pub(super) silent: bool,
}

impl Known {
    /// Of a variable that was never seen set.
    const NEVER: Self =
        Self { entry: UNSET, seen: None, not_seen: None, changes: VecDeque::new(), silent: false };
}

/// So many older reports in a row are no replay: the clock of the aggregator was set back.
const REPEATED: u32 = 3;
/// Changes of a variable that are remembered.
const REMEMBERED_CHANGES: usize = 40;
/// Events that are remembered.
const REMEMBERED_EVENTS: usize = 100;

impl Monitor {
    /// Knows nothing yet.
    pub fn new(watch: Watch) -> Self {
        Self {
            watch,
            begun: None,
            last_answer: None,
            variables: vec![Known::NEVER; VARIABLES],
            events: VecDeque::new(),
            reports: 0,
            unanswered: 0,
            outdated: 0,
            restarts: 0,
            alarms: 0,
            junk: 0,
            junk_since: (0, None),
            outdated_in_a_row: 0,
            aggregator_silent: false,
            stamps_contradict: false,
            checksum: Checksum::Right,
            round_trip: None,
        }
    }

    /// Datagrams arrived that are no reports; `why` not, if no report came after them.
    pub fn pass_over(&mut self, junk: u64, why: Option<ReportError>) {
        self.junk += junk;
        self.junk_since.0 += junk;
        self.junk_since.1 = why.or(self.junk_since.1);
    }

    /// Learns from a report that arrived at `now`, or that none did; says what happened. `now` counts
    /// from any fixed moment and never goes back; `now_unix_s` is the clock that stamps may share.
    pub fn learn(&mut self, answer: Option<&Answer>, now: Duration, now_unix_s: u64) -> Vec<Event> {
        let begun = *self.begun.get_or_insert(now);
        let mut events = Vec::new();
        let mut tell = |kind, variable, text: String| {
            events.push(Event { at_s: (now - begun).as_secs_f64(), kind, variable, text });
        };
        match answer {
            None => {
                self.unanswered += 1;
                let since = now - self.last_answer.unwrap_or(begun);
                if since >= self.watch.silent_after && !self.aggregator_silent {
                    self.aggregator_silent = true;
                    let silence = format!("the aggregator has sent no report for {} s", since.as_secs());
                    let text = match self.junk_since {
                        (junk @ 1.., Some(why)) => {
                            format!(
                                "{silence}; what came instead (datagrams: {junk}) is none: of the last, {why}"
                            )
                        }
                        _ => silence,
                    };
                    tell(EventKind::NoReport, None, text);
                }
            }
            Some(answer) if self.outdated_in_a_row < REPEATED && self.is_outdated(answer) => {
                self.outdated += 1;
                self.outdated_in_a_row += 1;
                let text = "a report older than one before it arrived: it was not used".into();
                tell(EventKind::Outdated, None, text);
            }
            Some(answer) => {
                self.outdated_in_a_row = 0;
                if self.aggregator_silent {
                    tell(EventKind::Back, None, "the aggregator answers again".into());
                }
                let lost = self.take(answer, now);
                if lost > 0 {
                    self.restarts += 1;
                    let text = format!(
                        "variables that the aggregator no longer knows: {lost}; it restarted, or lost its table"
                    );
                    tell(EventKind::Restarted, None, text);
                }
            }
        }
        for variable in 0..VARIABLES as u8 {
            let Some(silent) = self.falls_silent(variable, now, now_unix_s) else { continue };
            let known = &mut self.variables[usize::from(variable)];
            let was = std::mem::replace(&mut known.silent, silent.is_some());
            match silent {
                Some(words) if !was => {
                    tell(
                        EventKind::Silent,
                        Some(variable),
                        format!("variable {variable} is silent: {words}"),
                    );
                }
                None if was => tell(EventKind::Back, Some(variable), format!("variable {variable} is back")),
                _ => {}
            }
        }
        self.alarms += events.iter().filter(|event| event.kind.is_alarm()).count() as u64;
        for event in &events {
            self.events.push_back(event.clone());
            if self.events.len() > REMEMBERED_EVENTS {
                self.events.pop_front();
            }
        }
        events
    }

    /// Whether an entry that is still set went back in time: stamps are compared modulo 18 hours, so it
    /// takes a report at least every 9 hours.
    fn is_outdated(&self, answer: &Answer) -> bool {
        self.variables.iter().zip(&answer.report.entries).any(|(known, new)| {
            let back = new.seconds.wrapping_sub(known.entry.seconds).cast_signed() < 0;
            known.entry != UNSET && *new != UNSET && back
        })
    }

    /// Takes a report over; how many variables that were set are not any more.
    fn take(&mut self, answer: &Answer, now: Duration) -> usize {
        let before = self.last_answer.replace(now);
        self.reports += 1;
        self.aggregator_silent = false;
        self.junk_since = (0, None);
        self.checksum = answer.report.checksum;
        self.round_trip = Some(answer.round_trip);
        let mut lost = 0;
        for (known, &entry) in self.variables.iter_mut().zip(&answer.report.entries) {
            if known.entry == entry {
                continue;
            }
            lost += usize::from(entry == UNSET);
            known.entry = entry;
            known.seen = Some(now);
            known.not_seen = before;
            known.changes.push_back((now, entry));
            if known.changes.len() > REMEMBERED_CHANGES {
                known.changes.pop_front();
            }
        }
        lost
    }

    /// Whether a variable that matters is silent, and in words since when; `None` if it does not matter.
    fn falls_silent(&mut self, variable: u8, now: Duration, now_unix_s: u64) -> Option<Option<String>> {
        let known = &self.variables[usize::from(variable)];
        let expected = match &self.watch.expected {
            Some(expected) => expected.contains(&variable),
            None => !known.changes.is_empty(),
        };
        if !expected {
            return None;
        }
        let Some((age, agrees)) = self.age_of(variable, now, now_unix_s) else {
            let watched = now - self.begun.unwrap_or(now);
            let silent = watched >= self.watch.silent_after;
            return Some(silent.then(|| format!("not set in {} s of watching", watched.as_secs())));
        };
        self.stamps_contradict |= !agrees;
        // Stamps are whole seconds: one that is a second too old is not taken at its word.
        let certain = age.at_least.saturating_sub(Duration::from_secs(u64::from(age.at_most.is_none())));
        Some((certain >= self.watch.silent_after).then(|| format!("last heartbeat {} ago", age.words())))
    }

    /// How old a variable's entry is; `None` if it is not set. The second value is whether stamp and
    /// what was seen agree.
    pub(super) fn age_of(&self, variable: u8, now: Duration, now_unix_s: u64) -> Option<(Age, bool)> {
        let known = &self.variables[usize::from(variable)];
        let seen = known.seen.filter(|_| known.entry != UNSET)?;
        let age = Age::by_change(now - seen, known.not_seen.map(|not_seen| now - not_seen));
        Some(if self.watch.clock_shared && !self.stamps_contradict {
            age.with_stamp(known.entry.seconds, now_unix_s)
        } else {
            (age, true)
        })
    }

    pub(super) fn known(&self) -> &[Known] {
        &self.variables
    }

    /// What happened, the last hundred.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.events.iter()
    }

    /// Variables that are silent now.
    pub fn silent(&self) -> impl Iterator<Item = u8> {
        (0u8..).zip(&self.variables).filter(|(_, known)| known.silent).map(|(variable, _)| variable)
    }

    /// Whether something is wrong now.
    pub fn is_alarmed(&self) -> bool {
        self.aggregator_silent || self.silent().next().is_some()
    }

    /// Whether the aggregator does not answer.
    pub fn aggregator_is_silent(&self) -> bool {
        self.aggregator_silent
    }

    /// Whether stamps contradicted what was seen, so the clocks are not one.
    pub fn stamps_contradict(&self) -> bool {
        self.stamps_contradict
    }

    /// Of the last report.
    pub fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// Of the last report.
    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trip
    }

    /// Since the watch began.
    pub fn watched(&self, now: Duration) -> Duration {
        self.begun.map_or(Duration::ZERO, |begun| now - begun)
    }

    /// Since the last report.
    pub fn answered_ago(&self, now: Duration) -> Option<Duration> {
        self.last_answer.map(|last| now - last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Report;

    const NOW: u64 = 65_536 * 5 + 1000;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn answer(set: &[(usize, u16, u8)]) -> Answer {
        let mut entries = [UNSET; VARIABLES];
        for &(variable, seconds, value) in set {
            entries[variable] = Entry { seconds, from: 1, value };
        }
        let report = Report { entries, checksum: Checksum::Right };
        Answer { report, arrived_unix_s: NOW, round_trip: Duration::from_micros(30), junk: 0 }
    }

    fn monitor(clock_shared: bool, expected: Option<Vec<u8>>) -> Monitor {
        Monitor::new(Watch { silent_after: s(10), expected, clock_shared })
    }

    /// Kinds of what happens at second `at`.
    fn learn(monitor: &mut Monitor, at: u64, set: &[(usize, u16, u8)]) -> Vec<(EventKind, Option<u8>)> {
        let events = monitor.learn(Some(&answer(set)), s(at), NOW + at);
        events.iter().map(|event| (event.kind, event.variable)).collect()
    }

    #[test]
    fn a_variable_that_does_not_change_falls_silent_and_is_back_when_it_does() {
        for clock_shared in [false, true] {
            let mut monitor = monitor(clock_shared, None);
            assert_eq!(learn(&mut monitor, 0, &[(3, 1000, 1), (4, 1000, 1)]), []);
            assert_eq!(learn(&mut monitor, 9, &[(3, 1009, 1), (4, 1000, 1)]), [], "nine seconds are no ten");
            assert_eq!(
                learn(&mut monitor, 12, &[(3, 1012, 1), (4, 1000, 1)]),
                [(EventKind::Silent, Some(4))]
            );
            assert_eq!(learn(&mut monitor, 13, &[(3, 1013, 1), (4, 1000, 1)]), [], "it is told once");
            assert!(monitor.is_alarmed());
            assert_eq!(learn(&mut monitor, 14, &[(3, 1013, 1), (4, 1014, 1)]), [(EventKind::Back, Some(4))]);
            assert_eq!((monitor.alarms, monitor.is_alarmed()), (1, false));
        }
    }

    #[test]
    fn with_one_clock_the_first_report_shows_who_is_silent_already() {
        assert_eq!(learn(&mut monitor(true, None), 0, &[(7, 900, 1)]), [(EventKind::Silent, Some(7))]);
        assert_eq!(learn(&mut monitor(false, None), 0, &[(7, 900, 1)]), [], "without it nobody knows");
    }

    #[test]
    fn a_sender_dead_for_18_hours_does_not_come_alive_when_stamps_wrap_around() {
        let mut monitor = monitor(true, None);
        learn(&mut monitor, 0, &[(7, 1000, 1)]);
        let mut raised = 0;
        for at in (0..70_000).step_by(1000) {
            raised += learn(&mut monitor, at, &[(7, 1000, 1)]).len();
        }
        assert_eq!((raised, monitor.is_alarmed()), (1, true));
        let (age, _) = monitor.age_of(7, s(69_000), NOW + 69_000).unwrap();
        assert_eq!(age.stamp_s, Some(69_000));
    }

    #[test]
    fn an_expected_variable_that_is_never_set_is_silent_too() {
        let mut monitor = monitor(true, Some(vec![5]));
        assert_eq!(learn(&mut monitor, 0, &[(3, 1000, 1)]), []);
        assert_eq!(
            learn(&mut monitor, 10, &[(3, 1000, 1)]),
            [(EventKind::Silent, Some(5))],
            "and 3 is not expected"
        );
    }

    #[test]
    fn a_restarted_aggregator_is_told_from_one_that_was_never_set() {
        let mut monitor = monitor(true, None);
        assert_eq!(learn(&mut monitor, 0, &[]), []);
        assert_eq!(learn(&mut monitor, 1, &[(3, 1001, 1)]), []);
        assert_eq!(learn(&mut monitor, 2, &[]), [(EventKind::Restarted, None)]);
        assert_eq!(monitor.restarts, 1);
    }

    #[test]
    fn a_report_older_than_the_last_is_not_used() {
        let mut monitor = monitor(true, None);
        learn(&mut monitor, 0, &[(3, 1000, 1)]);
        learn(&mut monitor, 1, &[(3, 1001, 2)]);
        assert_eq!(learn(&mut monitor, 2, &[(3, 1000, 1)]), [(EventKind::Outdated, None)]);
        assert_eq!((monitor.outdated, monitor.known()[3].entry.value), (1, 2));
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_blind_the_monitor() {
        let mut monitor = monitor(false, None);
        learn(&mut monitor, 0, &[(3, 1000, 1)]);
        for at in 1..=3 {
            assert_eq!(learn(&mut monitor, at, &[(3, 500, 2)]), [(EventKind::Outdated, None)]);
        }
        assert_eq!(learn(&mut monitor, 4, &[(3, 501, 3)]), []);
        assert_eq!(monitor.known()[3].entry.value, 3);
    }

    #[test]
    fn an_aggregator_that_does_not_answer_is_an_alarm() {
        let mut monitor = monitor(true, None);
        learn(&mut monitor, 0, &[(3, 1000, 1)]);
        assert_eq!(monitor.learn(None, s(9), NOW + 9), []);
        let kinds: Vec<EventKind> =
            monitor.learn(None, s(12), NOW + 12).iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [EventKind::NoReport, EventKind::Silent]);
        assert_eq!(
            learn(&mut monitor, 13, &[(3, 1013, 1)]),
            [(EventKind::Back, None), (EventKind::Back, Some(3))]
        );
    }

    #[test]
    fn damaged_reports_are_no_silence() {
        let mut monitor = monitor(true, None);
        learn(&mut monitor, 0, &[(3, 1000, 1)]);
        monitor.pass_over(3, Some(ReportError::Length(261)));
        let events = monitor.learn(None, s(12), NOW + 12);
        assert_eq!(events[0].kind, EventKind::NoReport);
        assert!(
            events[0]
                .text
                .contains("what came instead (datagrams: 3) is none: of the last, it has 261 bytes"),
            "{events:?}"
        );
        assert_eq!(monitor.junk_since.0, 3);
        learn(&mut monitor, 13, &[(3, 1013, 1)]);
        assert_eq!((monitor.junk_since.0, monitor.junk), (0, 3));
    }

    #[test]
    fn stamps_of_another_clock_are_found_out() {
        let mut monitor = monitor(true, None);
        learn(&mut monitor, 0, &[(3, 5000, 1)]);
        learn(&mut monitor, 1, &[(3, 5001, 2)]);
        assert!(monitor.stamps_contradict());
        let (age, _) = monitor.age_of(3, s(2), NOW + 2).unwrap();
        assert_eq!((age.stamp_s, age.words().as_str()), (None, "1 s to 2 s"));
    }
}
