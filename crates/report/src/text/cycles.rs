//! An audio server's cycles on a terminal: the windows of the thread of 2004, xruns an hour, the least and the mean delay.

use super::layout::Page;
use crate::number::{self, JOIN, three};
use crate::search_summary::SearchSummary;
use crate::style::Ink;
use dropline_record::{BetweenLine, CyclesLine, TrialLine};

/// Server, delay, windows, xruns: a line each.
pub(super) fn write(page: &mut Page, cycles: &CyclesLine, trial: &TrialLine) {
    for (name, words) in facts(cycles, trial) {
        page.fact(name, &words);
    }
}

/// The same for a terminal and a page.
pub(crate) fn facts(cycles: &CyclesLine, trial: &TrialLine) -> Vec<(&'static str, String)> {
    let policy = if cycles.realtime { "real-time" } else { "no real-time policy" };
    let mut facts = vec![(
        "server",
        format!(
            "{}, {policy}: {}, {}",
            cycles.server,
            period(cycles.period_frames, cycles.rate_hz),
            rate(cycles.rate_hz)
        ),
    )];
    if let (Some(mean), Some(least)) = (cycles.mean_ns, trial.delay_ns.as_ref().and_then(|delay| delay.min)) {
        let us = |ns: f64| three(ns / 1000.0);
        let BetweenLine { value, low, high } = mean;
        facts.push((
            "scheduling",
            format!(
                "least {}, mean {}{JOIN}us [{}, {}] behind the schedule; 0 is the fastest cycle seen",
                number::nanoseconds(least),
                us(value),
                us(low),
                us(high)
            ),
        ));
    }
    facts.push((
        "late by",
        format!(
            "less than half a period {}, up to a period {}, more {}",
            number::count(cycles.below_half.0),
            number::count(cycles.to_period.0),
            number::count(cycles.beyond.0)
        ),
    ));
    let an_hour = cycles.xruns_per_hour.map_or_else(String::new, |BetweenLine { value, low, high }| {
        let [low, high] = number::ends(Some(low), Some(high), three);
        format!(": {} an hour [{low}, {high}]", three(value))
    });
    let anew = match cycles.schedules.0 {
        0 | 1 => String::new(),
        schedules => {
            format!("; the server restarted its schedule {}", number::plural(schedules - 1, "time"))
        }
    };
    facts.push(("xruns", format!("{}{an_hour}{anew}", number::count(cycles.xruns.0))));
    facts
}

/// A load of cycles said as a period, one line a goal.
pub(super) fn periods(page: &mut Page, finding: &SearchSummary) {
    let Some(rate_hz) = finding.record.trials.iter().find_map(|trial| Some(trial.cycles.as_ref()?.rate_hz))
    else {
        return;
    };
    for (name, answer) in finding.names.iter().zip(&finding.answers) {
        if let Some(load) = answer.headline_pps().filter(|load| *load >= 1.0) {
            let frames = (f64::from(rate_hz) / load).ceil() as u32;
            page.hanging(&format!("  smallest period, {name}   "), Ink::Plain, &period(frames, rate_hz));
        }
    }
}

/// `32 frames, 667 us`.
fn period(frames: u32, rate_hz: u32) -> String {
    let ns = f64::from(frames) * 1e9 / f64::from(rate_hz.max(1));
    format!("{}, {}", number::plural(frames.into(), "frame"), number::nanoseconds(ns.round() as u64))
}

fn rate(rate_hz: u32) -> String {
    format!("{}{JOIN}kHz", three(f64::from(rate_hz) / 1000.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_said_in_frames_and_in_time() {
        assert_eq!(period(32, 48_000).replace(JOIN, " "), "32 frames, 667 us");
        assert_eq!(period(1, 48_000).replace(JOIN, " "), "1 frame, 20.8 us");
        assert_eq!(rate(44_100).replace(JOIN, " "), "44.1 kHz");
    }
}
