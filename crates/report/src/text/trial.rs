//! A single trial on a terminal.

use super::layout::Page;
use super::search::{head, places};
use crate::number::{self, JOIN, Loads};
use crate::style::{Ink, Style};
use crate::traffic;
use dropline_record::{DelayLine, Histogram, Record, TrialLine};

/// Cells of the small histogram.
const CELLS: usize = 16;

pub(super) fn write(page: &mut Page, record: &Record) {
    let Some(trial) = record.trials.last() else {
        page.paragraph(Ink::Plain, "No trial was finished.");
        page.caveats_of(record);
        page.gap();
        head(page, record);
        return;
    };
    if let Some(facts) = crate::back_to_back::of(record) {
        facts.iter().for_each(|(name, words)| page.fact(name, words));
        page.gap();
        page.paragraph(Ink::Faint, "What follows is of the last burst.");
        page.gap();
    } else if record.trials.len() > 1 {
        page.paragraph(Ink::Strong, &crate::answer::of_trials(record));
        page.paragraph(Ink::Faint, "What follows is of the last trial.");
        page.gap();
    }
    counts(page, record, trial);
    page.caveats_of(record);
    page.gap();
    if trial.intended.is_some() || trial.passages.is_none() {
        let words =
            if page.style.verbose { crate::arrivals::words(trial) } else { crate::arrivals::verdict(trial) };
        page.fact("arrivals", &words);
    }
    if !traffic::is_overheard(record) && (trial.intended.is_some() || trial.passages.is_none()) {
        lateness(page, trial);
    }
    if !traffic::is_overheard(record) {
        delays(page, trial);
    }
    if let Some(passages) = &trial.passages {
        super::passages::write(page, passages);
    }
    if let Some(cycles) = &trial.cycles {
        page.gap();
        super::cycles::write(page, cycles, trial);
    }
    if let Some(graph) = &trial.graph {
        page.gap();
        super::graph::write(page, graph, trial.duration_s);
    }
    if let Some(woken) = &trial.woken {
        page.gap();
        super::wakeups::write(page, woken);
    }
    page.gap();
    head(page, record);
    if page.style.verbose && trial.passages.is_none() && traffic::is_traffic(record) {
        page.fact("a load is", &record.header.load_is);
        if traffic::is_ours(record) {
            page.fact("waits", &traffic::waits_words(record));
        }
    }
}

fn counts(page: &mut Page, record: &Record, trial: &TrialLine) {
    let loads = Loads::of(record.header.load_unit, [], trial.intended_load_pps);
    let intended = trial
        .intended
        .map_or_else(String::new, |intended| format!(" of {} intended", number::count(intended.0)));
    let offered = match trial.offered.0 {
        0 if traffic::is_overheard(record) => {
            format!("0: no packet came in {}", number::seconds(trial.duration_s))
        }
        offered => format!(
            "{}{intended}, at {} {}",
            number::count(offered),
            loads.with_unit(trial.intended_load_pps),
            time_words(trial)
        ),
    };
    let lacking = crate::agents::lacking(trial);
    page.fact("offered", &format!("{offered}{lacking}"));
    page.fact("forwarded", &format!("{}{lacking}", number::count(trial.forwarded.0)));
    let ratio = trial.loss_ratio.map_or_else(String::new, |ratio| format!(" ({})", number::percent(ratio)));
    let ours = crate::denial::loss_that_may_be_ours(trial).map_or_else(String::new, |ours| {
        format!(", {} of them perhaps not the target's doing", number::count(ours))
    });
    let lost = format!("{}{ratio}{ours}{lacking}", number::count(trial.lost.0));
    let ink = if trial.lost.0 > 0 { Ink::Lost } else { Ink::Plain };
    page.fact_in(record.header.load_unit.lost(), ink, &lost);
    let lost_at = traffic::lost_at([trial]);
    if !lost_at.is_empty() {
        page.fact("lost at", &places(&lost_at));
    }
    for (name, words) in
        crate::directions::of_trial(record, trial).into_iter().chain(crate::agents::facts(trial))
    {
        page.fact(&name, &words);
    }
    if let Some(replies) = &trial.replies {
        page.fact("replies", &traffic::replies_words(replies));
    }
    if let Some(words) = traffic::reply_sizes(record, trial) {
        page.fact("their size", &words);
    }
    let more = [("duplicated", trial.duplicated), ("reordered", trial.reordered), ("late", trial.late)];
    let more: Vec<String> = more
        .into_iter()
        .chain(traffic::otherwise(record, trial))
        .filter_map(|(name, count)| Some((name, count.filter(|count| count.0 > 0)?)))
        .chain(trial.refused.iter().map(|(errno, count)| (errno.as_str(), *count)))
        .map(|(name, count)| format!("{name}{JOIN}{}", number::count(count.0)))
        .collect();
    if !more.is_empty() {
        page.fact("also", &more.join(", "));
    }
    match trial.trial_loss_ratio {
        // The same as the line of what was lost.
        Some(_) if trial.trial_loss_ratio == trial.loss_ratio && !page.style.verbose => {}
        Some(ratio) => page.fact(
            "missing",
            &format!(
                "{} of what was intended did not come {} (trial loss ratio, RFC 9971)",
                number::percent(ratio),
                if trial.passages.is_some() || traffic::is_of_frames(record) { "out" } else { "back" }
            ),
        ),
        None if trial.passages.is_some() || traffic::is_overheard(record) => {}
        None => page.fact("missing", "not defined: this load paces itself, so nothing was intended"),
    }
}

/// `for 3 s`; of traffic that is not ours, as long as packets came.
pub(crate) fn time_words(trial: &TrialLine) -> String {
    let all = number::seconds(trial.duration_s);
    let came_s = trial.offered.0 as f64 / trial.intended_load_pps;
    if trial.arrival == "overheard" && came_s < 0.95 * trial.duration_s {
        return format!("in the {} in which packets came, of {all}", number::seconds(came_s));
    }
    format!("for {all}")
}

fn lateness(page: &mut Page, trial: &TrialLine) {
    match &trial.lateness_ns {
        Some(lateness) => page.fact("lateness", &traffic::delays(lateness)),
        // A graph's sources are part of it: what they are late by is in the delay from due.
        None if trial.passages.is_some() => {}
        None => page.fact("lateness", "not measured"),
    }
}

fn delays(page: &mut Page, trial: &TrialLine) {
    if crate::denial::are_delays_ours(trial) {
        let from_sent =
            trial.service_delay_ns.as_ref().map_or_else(|| "not measured".into(), traffic::delays);
        page.fact("delay", &format!("doubted; {from_sent}\u{a0}\u{a0} (from when sent)"));
        if let Some(delay) = &trial.delay_ns {
            page.fact(
                "with ours",
                &format!("{}\u{a0}\u{a0} (from when due, our lateness in it)", traffic::delays(delay)),
            );
        }
        return;
    }
    match &trial.delay_ns {
        Some(delay) => {
            page.fact(
                "delay",
                &format!(
                    "{}\u{a0}\u{a0} (n{JOIN}{}, {})",
                    traffic::delays(delay),
                    number::count(delay.count.0),
                    traffic::delay_words(trial)
                ),
            );
            if let Some(shape) = shape(delay, page.style) {
                page.fact("", &shape);
            }
        }
        None => page.fact("delay", "not measured"),
    }
    if let Some(service) = &trial.service_delay_ns {
        page.fact("from sent", &traffic::delays(service));
    }
    for (index, words) in super::trial_course(trial).iter().enumerate() {
        page.fact(if index == 0 { "over time" } else { "" }, words);
    }
    if trial.negative.count.0 > 0 {
        page.fact(
            "negative",
            &format!("{} delays below zero: the clocks disagree", number::count(trial.negative.count.0)),
        );
    }
}

/// The delays as bars, log in both directions.
fn shape(delay: &DelayLine, style: Style) -> Option<String> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if !style.unicode {
        return None;
    }
    let histogram = Histogram::from_v2_deflate(&delay.histogram).ok()?;
    let (low, high) = (histogram.min()?.max(1) as f64, histogram.max()?.max(1) as f64);
    if high <= low {
        return None;
    }
    let mut cells = [0u64; CELLS];
    for (value, count) in histogram.cells() {
        let place = (value.max(1) as f64 / low).ln() / (high / low).ln() * CELLS as f64;
        cells[(place.max(0.0) as usize).min(CELLS - 1)] += count;
    }
    let most = (*cells.iter().max()? as f64 + 1.0).ln();
    let bars: String = cells
        .iter()
        .map(|&count| match count {
            0 => ' ',
            _ => BARS[(((count as f64 + 1.0).ln() / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
        })
        .collect();
    // Blanks of the picture must not be taken for gaps between words.
    let bars = bars.replace(' ', "\u{a0}");
    Some(format!(
        "{bars}\u{a0}\u{a0} {} … {}, log",
        number::nanoseconds(low as u64),
        number::nanoseconds(high as u64)
    ))
}
