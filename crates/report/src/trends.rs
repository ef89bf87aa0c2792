//! What is said of histories, the same in text and on a page.

use crate::compared_searches;
use crate::number::{Loads, percent, plural};
use dropline_record::{ChangeLine, DriftingLine, SeriesLine, Trends, VerdictWord};

/// The answer in a sentence.
pub(crate) fn first_line(trends: &Trends) -> String {
    let sure = |verdict| trends.news().filter(move |news| news.verdict == verdict && !news.suspected);
    if let Some(worst) = sure(VerdictWord::Regressed).min_by(|one, other| one.size.total_cmp(&other.size)) {
        return format!("REGRESSED: a limit fell by {} at {}", percent(worst.size.abs()), worst.at);
    }
    if let Some(news) = trends.news().find(|news| news.suspected) {
        let size = change(news.size);
        return format!("SUSPECTED: a limit seems to have moved by {size} at {}: measure again now", news.at);
    }
    if let Some(best) = sure(VerdictWord::Improved).max_by(|one, other| one.size.total_cmp(&other.size)) {
        return format!("IMPROVED: a limit rose by {} at {}", percent(best.size), best.at);
    }
    let told = trends.series.iter().filter(|series| series.scatter.is_some()).count();
    match told {
        0 => "TOO FEW NIGHTS: no history has the 8 that tell whether a limit moved".into(),
        _ if trends.series.iter().any(|series| series.has_changed()) => {
            format!(
                "NOTHING NEW: no limit moved that matters and is not known, in {}",
                plural_histories(told)
            )
        }
        _ => format!("STEADY: no limit moved, in {}", plural_histories(told)),
    }
}

fn plural_histories(count: usize) -> String {
    if count == 1 { "1 history".into() } else { format!("{count} histories") }
}

/// `−9.1 %`.
pub(crate) fn change(size: f64) -> String {
    compared_searches::change(Some(1.0 + size))
}

/// What a change came to.
pub(crate) fn verdict(line: &ChangeLine) -> String {
    let words = line.verdict.words();
    match (line.suspected, line.acknowledged) {
        (_, true) => format!("{words}, acknowledged"),
        (true, _) => format!("{words}, suspected: measure again now"),
        _ => words,
    }
}

/// The nights between which it lies, and the commits.
pub(crate) fn nights(line: &ChangeLine) -> String {
    let nights = match line.at_low == line.at_high {
        true => line.at_low.clone(),
        false => format!("{} to {}", line.at_low, line.at_high),
    };
    let short = |commit: &str| commit.chars().take(12).collect::<String>();
    match &line.commits {
        [Some(before), Some(after)] => format!("{nights}, commits {}..{}", short(before), short(after)),
        [None, Some(after)] => format!("{nights}, up to commit {}", short(after)),
        _ => nights,
    }
}

pub(crate) fn drift(line: &DriftingLine) -> String {
    format!(
        "from {} to {}: {} [{}, {}], {}{}, id {}",
        line.from,
        line.to,
        change(line.size),
        change(line.size_low),
        change(line.size_high),
        line.verdict.words(),
        if line.acknowledged { ", acknowledged" } else { "" },
        line.id
    )
}

/// How many nights, between when.
pub(crate) fn span(series: &SeriesLine) -> String {
    let nights = plural(series.points.len() as u64, "night");
    match (series.points.first(), series.points.last()) {
        (Some(first), Some(last)) => format!("{nights}, {} to {}", first.at, last.at),
        _ => nights,
    }
}

/// What was made of the nights' intervals; `None` where nothing is to be said.
pub(crate) fn widths(series: &SeriesLine) -> Option<&'static str> {
    match series.widths.as_str() {
        "not_fitting" => {
            Some("the nights' intervals do not say which nights scatter more: all nights count alike")
        }
        _ if series.scatter.is_none() => {
            Some("these are too few nights to tell a change: at least 8 are needed")
        }
        _ => None,
    }
}

/// How the loads of a history are written.
pub(crate) fn loads(series: &SeriesLine) -> Loads {
    let highest = series.points.iter().map(|point| point.value).fold(0.0, f64::max);
    Loads::of(series.load_unit, [], highest)
}
