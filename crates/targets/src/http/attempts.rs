//! What became of each request of a trial, counted.

use dropline_stats::Histogram;
use dropline_traffic::kept_from_running;
use dropline_trial::{
    Caveat, Delay, DelayKind, Disturbance, Rate, Slice, Stamp, Throttled, Trial, number_of, time_of,
};
use std::time::Duration;

/// What a tool is asked to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) requests: u64,
    pub(super) load: Rate,
    /// A request is given up after so long.
    pub(super) patience: Duration,
}

/// A request that a tool made.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Attempt {
    /// Which one, from 0; `None` where the tool does not say.
    pub(super) index: Option<u64>,
    /// When it left, in ns of a clock that all have in common.
    pub(super) left_ns: u64,
    /// How long its whole answer took then.
    pub(super) took_ns: u64,
    /// Status of the answer; 0 of none.
    pub(super) code: u16,
    /// Why there is none, as the tool says it.
    pub(super) error: String,
}

impl Asked {
    /// When a request is due after the first one, in ns.
    fn due_ns(&self, index: u64) -> u64 {
        (u128::from(index) * A_GAP / u128::from(self.load.as_millipps().max(1))) as u64
    }

    /// How many are due within a time.
    fn within(&self, time: Duration) -> u64 {
        (u128::from(self.load.as_millipps()) * time.as_nanos() / A_GAP) as u64
    }
}

/// Errors of the machine that the tool runs on, as its C library words them.
const OURS: [(&str, &str); 3] = [
    ("cannot assign requested address", "EADDRNOTAVAIL"),
    ("too many open files", "EMFILE"),
    ("no buffer space available", "ENOBUFS"),
];

/// What a tool says of its requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) attempts: Vec<Attempt>,
    /// Requests that it made and that failed, of which it says nothing more.
    pub(super) failed: u64,
    /// Requests that were due.
    pub(super) requests: u64,
    /// How long it stood still: it was stopped, or others had its CPUs.
    pub(super) held: Duration,
    /// How its control group stopped it meanwhile.
    pub(super) throttled: Option<Throttled>,
    /// Of one that was stopped by the user, after how long.
    pub(super) stopped: Option<Duration>,
}

impl Told {
    /// Whether it is known of any request what became of it, or that the user stopped the tool.
    pub(super) fn says_anything(&self) -> bool {
        !self.attempts.is_empty() || self.failed > 0 || self.stopped.is_some()
    }

    /// When the last answer came, after the first request left.
    pub(super) fn last_answer_ns(&self) -> u64 {
        let begun = self.attempts.iter().map(|attempt| attempt.left_ns).min().unwrap_or(0);
        let answered = self.attempts.iter().filter(|attempt| attempt.code > 0);
        answered.map(|attempt| attempt.left_ns.saturating_add(attempt.took_ns) - begun).max().unwrap_or(0)
    }

    /// Of a tool that was stopped, what became of the requests that were due so early that each of them was answered or given up
    /// before: those alone are left, and how many there were.
    pub(super) fn cut(&mut self, asked: Asked) -> u64 {
        let begun = self.attempts.iter().map(|attempt| attempt.left_ns).min().unwrap_or(0);
        let ends = self.attempts.iter().map(|attempt| attempt.left_ns.saturating_add(attempt.took_ns));
        let lasted = ends.max().unwrap_or(0) - begun;
        let whole = lasted.saturating_sub(asked.patience.as_nanos() as u64);
        let due = asked.within(Duration::from_nanos(whole));
        self.attempts.retain(|attempt| match attempt.index {
            Some(index) => index < due,
            None => attempt.left_ns - begun < whole,
        });
        self.stopped = Some(Duration::from_nanos(whole));
        due.max(self.attempts.len() as u64).min(asked.requests)
    }
}

/// A request that left within this part of its deadline left when it was due: timers of the tools are no better.
const PROMPT: u32 = 10;

/// Fills in a trial. A request is forwarded where it was answered with a status below 400 until its deadline, which runs from when
/// it was due, or, where it left promptly, from when it left. Of the others, one that the server did answer within that time from when it left was late by the tool's doing, and
/// not offered: the tool had no CPU, or no place in its pool. What the tool's machine refused, and what it never began, was
/// not offered either. Where the tool leaves out so many that failed that nobody knows which of the others were due when, no lateness
/// is known: an answer then has the deadline from when its request left, and of what was lost as much may be the tool's doing as
/// was due while it stood still. How many had no answer at all is returned.
pub(super) fn count(
    trial: &mut Trial,
    told: &Told,
    asked: Asked,
    deadline: Duration,
    slices: Option<u32>,
) -> u64 {
    let attempts = &told.attempts;
    let deadline_ns = deadline.as_nanos() as u64;
    trial.intended = Some(asked.requests);
    trial.stamp = Some(Stamp::App);
    trial.delay_kind = Some(DelayKind::RoundTrip);
    let dues = dues(attempts, asked);
    let dues_are_known = told.failed <= asked.within(deadline / PROMPT);
    let [mut delays, mut service, mut lateness] = [(); 3].map(|()| Histogram::new());
    let (mut late, mut refused, mut silent, mut excused) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut parts = parts(trial, slices.filter(|_| dues_are_known));
    for (attempt, &(index, due)) in attempts.iter().zip(&dues) {
        if let Some((_, name)) = OURS.iter().find(|(words, _)| attempt.error.contains(words)) {
            *trial.refused.entry((*name).into()).or_default() += 1;
            continue;
        }
        let late_ns = if dues_are_known { attempt.left_ns.saturating_sub(due) } else { 0 };
        let since_due = late_ns.saturating_add(attempt.took_ns);
        let is_served = (200..400).contains(&attempt.code);
        let is_prompt = late_ns <= deadline_ns / u64::from(PROMPT);
        let is_in_time = is_served && if is_prompt { attempt.took_ns } else { since_due } <= deadline_ns;
        if is_served && !is_in_time && attempt.took_ns <= deadline_ns {
            continue;
        }
        // A tool that stands still reads no answer, and sends none of what is due: without its pauses this one was in time.
        let beyond_ns = if is_prompt { attempt.took_ns } else { since_due }.saturating_sub(deadline_ns);
        excused +=
            u64::from(attempt.code < 400 && !is_in_time && u128::from(beyond_ns) <= told.held.as_nanos());
        trial.offered += 1;
        trial.forwarded += u64::from(is_in_time);
        match attempt.code {
            0 => silent += 1,
            400.. => refused += 1,
            _ => late += u64::from(!is_in_time),
        }
        lateness.record(late_ns);
        if is_in_time {
            service.record(attempt.took_ns);
            delays.record(since_due);
        }
        let part = (u128::from(index) * parts.len() as u128 / u128::from(asked.requests.max(1))) as usize;
        if let Some(slice) = parts.get_mut(part) {
            slice.offered += 1;
            slice.forwarded += u64::from(is_in_time);
        }
    }
    trial.offered += told.failed;
    silent += told.failed;
    trial.slices = parts;
    trial.service_delay = Delay::of(service);
    if dues_are_known {
        trial.delay = Delay::of(delays);
        trial.lateness = Delay::of(lateness);
    }
    // Of those that failed untold, nobody knows how late they were.
    let waited = if dues_are_known { Duration::ZERO } else { told.held };
    let is_behind = excused > 0 || !waited.is_zero();
    // Where it is told when each request left, their departures were measured.
    trial.disturbance = (dues_are_known || is_behind).then_some(Disturbance { displaced: excused, waited });
    if is_behind {
        trial.caveats.extend(kept_from_running(trial.input, Some(told.held), told.throttled));
    }
    if trial.offered < asked.requests {
        let (intended, offered) = (asked.requests, trial.offered);
        let error = trial.refused.iter().max_by_key(|(_, count)| **count).map(|(name, _)| name.clone());
        trial.caveats.push(Caveat::GeneratorLimited { intended, offered, error, interface: None });
    }
    let kinds = [
        (late, format!("were answered later than {}", time_of(deadline_ns))),
        (refused, "were answered with a status of 400 or more".into()),
        (silent, format!("failed, or were given up after {}", time_of(asked.patience.as_nanos() as u64))),
    ];
    let said: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if told.failed > 0 {
        let text = format!(
            "{} failed, and the tool does not say which, nor why: they count as lost, though its own machine may have refused them{}; \
             --tool vegeta says it of each",
            number_of(told.failed, "request"),
            if dues_are_known { "" } else { ", and there are no delays from when requests were due" }
        );
        trial.caveats.push(Caveat::Reported { code: "failures_untold".into(), text });
    }
    if !said.is_empty() {
        let all = number_of(late + refused + silent, "request");
        let text = format!("{all} of {} count as lost: {}", trial.offered, said.join(", "));
        trial.caveats.push(Caveat::Reported { code: "requests_lost".into(), text });
    }
    trial.caveats.extend(trial.doubted_loss());
    silent
}

/// Of each attempt, which request it is and when that was due, on the clock of the attempts. The schedule lies where none of them
/// left before it was due, and one just then. Where a tool leaves some out, they are taken for the last ones: what is late then is
/// never called prompt.
fn dues(attempts: &[Attempt], asked: Asked) -> Vec<(u64, u64)> {
    let numbered =
        || attempts.iter().zip(0..).map(|(attempt, place)| (attempt, attempt.index.unwrap_or(place)));
    let leads =
        numbered().map(|(attempt, index)| i128::from(attempt.left_ns) - i128::from(asked.due_ns(index)));
    let start = leads.min().unwrap_or(0);
    numbered().map(|(_, index)| (index, (start + i128::from(asked.due_ns(index))).max(0) as u64)).collect()
}

/// From one request to the next, in ns times the load in thousandths a second.
const A_GAP: u128 = 1_000_000_000_000;

fn parts(trial: &Trial, slices: Option<u32>) -> Vec<Slice> {
    let count = slices.unwrap_or(0);
    let slice = || Slice { duration: trial.duration / count.max(1), offered: 0, forwarded: 0, delay: None };
    (0..count).map(|_| slice()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::TrialInput;

    const MS: u64 = 1_000_000;

    fn counted(attempts: &[Attempt], failed: u64, requests: u64) -> Trial {
        counted_of(&Told { attempts: attempts.to_vec(), failed, ..Told::default() }, requests)
    }

    fn counted_of(told: &Told, requests: u64) -> Trial {
        let load = Rate::pps(1000.0).unwrap();
        let asked = Asked { requests, load, patience: Duration::from_millis(100) };
        let input = TrialInput { load, duration: Duration::from_millis(requests) };
        let mut trial = Trial::new(1, input, 7);
        count(&mut trial, told, asked, Duration::from_millis(50), Some(2));
        trial
    }

    fn attempt(index: u64, left_ms: u64, took_ms: u64) -> Attempt {
        Attempt {
            index: Some(index),
            left_ns: 5 * MS + left_ms * MS,
            took_ns: took_ms * MS,
            code: 200,
            ..Attempt::default()
        }
    }

    #[test]
    fn delay_runs_from_when_a_request_was_due_and_later_than_the_deadline_is_lost() {
        let trial =
            counted(&[attempt(0, 0, 1), attempt(1, 1, 51), attempt(2, 12, 30), attempt(3, 4, 50)], 0, 4);
        assert_eq!((trial.offered, trial.forwarded, trial.lost()), (4, 3, 1));
        assert_eq!(trial.delay.histogram.as_ref().unwrap().max().unwrap() / MS, 51);
        assert_eq!(trial.lateness.histogram.unwrap().max().unwrap() / MS, 10);
        assert_eq!(trial.slices.iter().map(|slice| slice.forwarded).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn what_waited_in_the_tool_alone_is_not_offered_and_never_the_servers_loss() {
        // It left 60 ms late, and was served within a millisecond.
        let trial = counted(&[attempt(0, 0, 1), attempt(1, 61, 1), attempt(2, 62, 60)], 0, 4);
        assert_eq!(
            (trial.intended, trial.offered, trial.forwarded),
            (Some(4), 2, 1),
            "one of four never began"
        );
        let codes: Vec<&str> = trial.caveats.iter().map(Caveat::code).collect();
        assert_eq!(codes, ["generator_limited", "requests_lost"]);
    }

    #[test]
    fn an_error_of_our_own_machine_is_not_offered_and_any_other_is_lost() {
        let failed =
            |index, error: &str| Attempt { code: 0, error: error.into(), ..attempt(index, index, 1) };
        let full = failed(0, "dial tcp: connect: cannot assign requested address");
        let answers =
            [full, failed(1, "connect: connection refused"), Attempt { code: 503, ..attempt(2, 2, 1) }];
        let trial = counted(&answers, 0, 3);
        assert_eq!((trial.offered, trial.forwarded, trial.refused["EADDRNOTAVAIL"]), (2, 0, 1));
    }

    fn untold(left_ms: u64) -> Attempt {
        Attempt { index: None, ..attempt(0, left_ms, 1) }
    }

    #[test]
    fn a_tool_that_leaves_out_few_that_failed_is_late_by_no_more_than_their_gaps() {
        // The second and third failed, within a tenth of the deadline.
        let trial = counted(&[untold(0), untold(3), untold(4)], 2, 5);
        assert_eq!((trial.offered, trial.forwarded), (5, 3));
        assert_eq!(trial.lateness.histogram.unwrap().max().unwrap() / MS, 2);
        // With none missing, the third request left 8 ms late.
        let trial = counted(&[untold(0), untold(1), untold(10)], 0, 3);
        assert_eq!(trial.lateness.histogram.unwrap().max().unwrap() / MS, 8);
    }

    #[test]
    fn where_many_failed_untold_no_lateness_is_stated_and_what_was_due_in_the_tools_pause_is_not_the_servers_loss()
     {
        // Nine of ten fail, untold; the tool stands still from 20 to 320 ms, and then sends what was due meanwhile.
        let left = |index: u64| if (20..320).contains(&index) { 320 } else { index };
        let attempts: Vec<Attempt> = (0..500).step_by(10).map(|index| untold(left(index))).collect();
        let failed = 500 - attempts.len() as u64;
        let told = |held| Told { attempts: attempts.clone(), failed, held, ..Told::default() };
        let trial = counted_of(&told(Duration::from_millis(300)), 500);
        assert_eq!((trial.offered, trial.forwarded), (500, 50));
        let is_known = [&trial.delay, &trial.lateness].iter().any(|one| one.histogram.is_some());
        assert!(!is_known && trial.slices.is_empty(), "nobody knows which were due when");
        assert!(trial.service_delay.histogram.is_some());
        assert_eq!((trial.lost_by_us(), trial.lost_by_target()), (300, 150));
        let codes: Vec<&str> = trial.caveats.iter().map(Caveat::code).collect();
        assert_eq!(codes, ["generator_starved", "failures_untold", "requests_lost", "loss_doubted"]);
        let trial = counted_of(&told(Duration::ZERO), 500);
        assert_eq!((trial.lost_by_us(), trial.doubted_loss()), (0, None));
    }

    #[test]
    fn an_answer_that_was_late_for_the_tools_pauses_is_not_the_servers_loss() {
        // Nine came in time, one 40 ms after the deadline of 50 ms, another 200 ms after it.
        let took = |index| match index {
            3 => 90,
            7 => 250,
            _ => 1,
        };
        let attempts: Vec<Attempt> = (0..11).map(|index| attempt(index, index, took(index))).collect();
        let told = |held_ms, throttled| Told {
            attempts: attempts.clone(),
            held: Duration::from_millis(held_ms),
            throttled,
            ..Told::default()
        };
        let codes = |trial: &Trial| trial.caveats.iter().map(|one| one.code().to_owned()).collect::<Vec<_>>();
        let still = counted_of(&told(0, None), 11);
        assert_eq!(
            (still.lost_by_us(), still.lost_by_target(), codes(&still)),
            (0, 2, vec!["requests_lost".into()])
        );
        let held = counted_of(&told(60, None), 11);
        assert_eq!((held.lost_by_us(), held.lost_by_target()), (1, 1), "the other was later than that");
        assert_eq!(codes(&held), ["generator_starved", "requests_lost", "loss_doubted"]);
        let stopped = Throttled { runtime_us: 5000, period_us: 100_000, times: 3, stopped_ns: 250_000_000 };
        let throttled = counted_of(&told(260, Some(stopped)), 11);
        assert_eq!(throttled.lost_by_us(), 2);
        assert_eq!(codes(&throttled), ["generator_throttled", "requests_lost", "loss_doubted"]);
    }

    #[test]
    fn of_a_tool_that_was_stopped_what_was_decided_by_then_counts() {
        let asked =
            Asked { requests: 1000, load: Rate::pps(1000.0).unwrap(), patience: Duration::from_millis(100) };
        let attempts: Vec<Attempt> = (0..300).map(|index| attempt(index, index, 1)).collect();
        let mut told = Told { attempts, ..Told::default() };
        assert_eq!((told.cut(asked), told.attempts.len()), (200, 200));
        assert_eq!(told.stopped, Some(Duration::from_millis(200)));
        let mut untold =
            Told { attempts: (0..30).map(|tenth| untold(10 * tenth)).collect(), ..Told::default() };
        assert_eq!((untold.cut(asked), untold.attempts.len()), (191, 20));
        assert_eq!(Told::default().cut(asked), 0);
    }
}
