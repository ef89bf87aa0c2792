//! One distribution on a terminal.

use super::layout::Page;
use crate::number::{JOIN, count, three};
use crate::style::{Ink, Style};
use dropline_record::Fit;

/// Rows of the histogram.
const ROWS: f64 = 24.0;
/// Columns of its longest bar.
const BAR: f64 = 40.0;

/// The answer of `fit` as text. Ends with a newline.
pub fn fit_text(fit: &Fit, style: Style) -> String {
    let mut page = Page::new(style);
    page.fact("n", &summary(fit));
    let refused = refused(fit);
    if !refused.is_empty() {
        page.fact("", &refused);
    }
    if let Some(words) = moments(fit) {
        page.fact("mean", &words);
    }
    page.gap();
    histogram(&mut page, fit);
    page.caveats(&fit.caveats);
    page.into_text()
}

/// `10 400   p50 7  p90 18  p99 24 [23, 24]  max 100 us`.
fn summary(fit: &Fit) -> String {
    let mut words = vec![count(fit.count.0)];
    for line in fit.percentiles.iter().filter(|line| line.p >= 0.5 && ![0.75, 0.95].contains(&line.p)) {
        let Some(value) = line.value else { continue };
        let interval = match (line.low, line.high) {
            (Some(low), Some(high)) if low == value && high == value => String::new(),
            (low, high) => {
                let end = |end: Option<f64>| end.map_or_else(|| "\u{2013}".into(), three);
                format!("{JOIN}[{},{JOIN}{}]", end(low), end(high))
            }
        };
        words.push(format!("{}{JOIN}{}{interval}", name(line.p), three(value)));
    }
    let unit = unit(fit.unit_ns);
    words.push(match (fit.max, &fit.censored) {
        (Some(max), _) => format!("max{JOIN}{}{JOIN}{unit}", three(max)),
        (None, Some(above)) => {
            format!("{}{JOIN}events of {}{JOIN}{unit} or more", count(above.count.0), three(above.from))
        }
        (None, None) => "no events".into(),
    });
    words.join("  ")
}

fn refused(fit: &Fit) -> String {
    let refused: Vec<String> = fit
        .percentiles
        .iter()
        .filter_map(|line| {
            Some(format!("{}{JOIN}needs n{JOIN}\u{2265}{JOIN}{}", name(line.p), count(line.needed?.0)))
        })
        .collect();
    refused.join("   ")
}

fn moments(fit: &Fit) -> Option<String> {
    let moments = &fit.moments;
    let mut words = three(moments.mean?);
    if let Some(error) = moments.standard_error {
        words.push_str(&format!(" \u{b1}{JOIN}{}", three(error)));
    }
    words.push_str(&format!("{JOIN}{}", unit(fit.unit_ns)));
    let mut say = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            words.push_str(&format!("   {name}{JOIN}{}", three(value)));
        }
    };
    say("deviation", moments.standard_deviation);
    say("without rounding", moments.standard_deviation_sheppard);
    say("skewness", moments.skewness);
    say("middle 60 %", moments.trimmed_mean);
    Some(words)
}

/// Rows of about equal ratio, each of whole ticks; bars of the logarithm of their counts.
fn histogram(page: &mut Page, fit: &Fit) {
    let rows = rows(fit);
    let most = rows.iter().map(|row| row.events).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let tick = fit.quantum_ns / fit.unit_ns as f64;
    let before = if fit.rounding == "floor" { 0.0 } else { tick / 2.0 };
    let spans: Vec<String> = rows
        .iter()
        .map(|row| {
            let (low, high) = (row.low + before, row.high - tick + before);
            if high - low < tick / 2.0 {
                three(low)
            } else {
                format!("{}\u{2013}{}", three(low), three(high))
            }
        })
        .collect();
    let width = spans.iter().map(|span| span.chars().count()).max().unwrap_or(0).max(4);
    let head = format!("{:>width$}  {:>9}  bars: logarithm of the count", unit(fit.unit_ns), "count");
    page.painted_fact("histogram", &page.style.paint(Ink::Faint, &head));
    for (row, span) in rows.iter().zip(spans) {
        let share = (row.events as f64).ln_1p() / (most as f64).ln_1p();
        let bar = "\u{2588}".repeat((share * BAR).ceil() as usize);
        page.painted_fact("", &format!("{span:>width$}  {:>9}  {bar}", count(row.events)));
    }
}

/// A row of the histogram.
struct Row {
    low: f64,
    high: f64,
    events: u64,
}

fn rows(fit: &Fit) -> Vec<Row> {
    let (Some(first), Some(last)) = (fit.histogram.first(), fit.histogram.last()) else { return Vec::new() };
    let tick = fit.quantum_ns / fit.unit_ns as f64;
    let ratio = if first.low > 0.0 { (last.high / first.low).powf(1.0 / ROWS) } else { 1.0 };
    let step = if first.low > 0.0 { 0.0 } else { (last.high - first.low) / ROWS };
    let mut rows = Vec::new();
    let mut low = first.low;
    let mut cells = fit.histogram.iter().peekable();
    while cells.peek().is_some() {
        let width = (low * (ratio - 1.0)).max(step);
        let high = low + ((width / tick).round().max(1.0)) * tick;
        let mut events = 0;
        while let Some(cell) = cells.next_if(|cell| cell.low < high - tick * 1e-6) {
            events += cell.count.0;
        }
        rows.push(Row { low, high, events });
        low = high;
    }
    rows
}

fn name(p: f64) -> String {
    format!("p{}", (p * 1e6).round() / 1e4)
}

/// Name of a unit given in nanoseconds.
pub(crate) fn unit(unit_ns: u64) -> &'static str {
    match unit_ns {
        1 => "ns",
        1000 => "us",
        1_000_000 => "ms",
        1_000_000_000 => "s",
        _ => "units",
    }
}
