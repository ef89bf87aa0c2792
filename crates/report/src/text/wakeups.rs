//! Threads of a trial of wake-ups on a terminal.

use super::layout::{Columns, Page, Row, Side};
use crate::number::{self, JOIN};
use crate::style::Ink;
use dropline_record::WakeupsLine;
use dropline_record::wakeups_line::WakeupSliceLine;

/// Conditions, what took time, the slice with the latest wake-up, a row a thread.
pub(super) fn write(page: &mut Page, woken: &WakeupsLine) {
    let kernel = match woken.preempt_rt {
        Some(true) => ", PREEMPT_RT kernel",
        Some(false) => ", kernel without PREEMPT_RT",
        None => "",
    };
    let when = |is: bool, what: &'static str| if is { what } else { "" };
    page.fact(
        "scheduler",
        &format!(
            "{}{}{}{kernel}",
            woken.policy,
            when(woken.memory_locked, ", memory locked"),
            when(woken.cpus_kept_awake, ", CPUs kept awake")
        ),
    );
    let all = woken.slices.iter().fold([Some(0.0); 3], |sum, slice| {
        let [irq, softirq, steal] = sum;
        let add = |sum: Option<f64>, time: Option<f64>| Some(sum? + time?);
        [add(irq, slice.irq_s), add(softirq, slice.softirq_s), add(steal, slice.steal_s)]
    });
    let taken = times(all);
    if !taken.is_empty() {
        page.fact("taken", &format!("{taken} from the threads' CPUs during the trial"));
    }
    let latest =
        woken.slices.iter().enumerate().filter_map(|(index, slice)| Some((index, slice, late(slice)?)));
    if let Some((index, slice, late)) = latest.max_by_key(|(_, _, late)| *late) {
        let beside =
            [slice.irq_s, slice.softirq_s, slice.steal_s].map(|time| time.filter(|time| *time > 0.0));
        let beside = times(beside);
        let beside = if beside.is_empty() { beside } else { format!(", with {beside}") };
        let of = woken.slices.len();
        page.fact("latest", &format!("{} in slice {} of {of}{beside}", number::nanoseconds(late), index + 1));
    }
    page.gap();
    page.columns(&table(woken));
}

fn late(slice: &WakeupSliceLine) -> Option<u64> {
    u64::try_from(slice.latest_ns?).ok()
}

/// `irq 0.01 s, steal 0.3 s`.
fn times(of: [Option<f64>; 3]) -> String {
    let named = ["irq", "softirq", "steal"].into_iter().zip(of);
    let words = named.filter_map(|(name, time)| Some(format!("{name}{JOIN}{}", number::seconds(time?))));
    words.collect::<Vec<_>>().join(", ")
}

fn table(woken: &WakeupsLine) -> Columns {
    let heads = ["CPU", "woken", "missed", "min", "p50", "p99", "p99.9", "max"];
    let rows = woken.threads.iter().map(|thread| {
        let delay = thread.delay_ns.as_ref();
        let time = |time: Option<u64>| time.map_or_else(|| "\u{2013}".into(), number::nanoseconds);
        let cells = [
            thread.cpu.map_or_else(|| "any".into(), |cpu| cpu.to_string()),
            number::count(delay.map_or(0, |delay| delay.count.0)),
            number::count(thread.missed.0),
            time(delay.and_then(|delay| delay.min)),
            time(delay.and_then(|delay| delay.p50)),
            time(delay.and_then(|delay| delay.p99)),
            time(delay.and_then(|delay| delay.p99_9)),
            time(delay.and_then(|delay| delay.max)),
        ];
        Row { cells: cells.into_iter().map(|cell| (cell, Ink::Plain)).collect(), note: None, said: None }
    });
    Columns {
        heads: heads.iter().map(|head| ((*head).to_owned(), Side::Right)).collect(),
        rows: rows.collect(),
    }
}
