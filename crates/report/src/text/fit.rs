//! One distribution on a terminal.

use super::layout::{Columns, Page, Row, Side, unit};
use crate::number::{self, JOIN, count, decimals_of, ends, fixed, percent, plural, rounded, three};
use crate::style::{Ink, Style};
use dropline_record::Fit;
use dropline_record::LawWord;
use dropline_record::fit::StraightLine;

/// Rows of the histogram.
const ROWS: f64 = 24.0;
/// Columns of its longest bar.
const BAR: usize = 40;

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
    if let Some(words) = shape(fit) {
        page.fact("shape", &words);
    }
    if let Some(words) = &fit.verdict_text {
        page.fact("fit", &format!("{words}{}", normal(fit)));
    }
    if let Some(words) = tail(fit) {
        page.fact("tail", &words);
    }
    if let Some(words) = ppcc(fit) {
        page.fact("ppcc", &words);
    }
    if !fit.mixture.is_empty() {
        page.fact("mixture", &mixture(fit));
    }
    for (index, words) in super::drift::fit(fit).iter().enumerate() {
        page.fact(if index == 0 { "over time" } else { "" }, words);
    }
    page.gap();
    histogram(&mut page, fit);
    if !fit.families.is_empty() {
        page.gap();
        page.columns(&families(fit));
    }
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
                let [low, high] = ends(low, high, three);
                format!("{JOIN}[{low},{JOIN}{high}]")
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
            Some(format!("{}{JOIN}needs n{JOIN}\u{2265}{JOIN}{}", name(line.p), count(about(line.needed?.0))))
        })
        .collect();
    refused.join("   ")
}

/// In two digits, and never less: how many it takes is no better known.
fn about(number: u64) -> u64 {
    let step = 10u64.pow(number.max(1).ilog10().saturating_sub(1));
    number.div_ceil(step).saturating_mul(step)
}

/// Standard errors of a 95 % interval, as all others are.
const REACH: f64 = 1.96;

fn moments(fit: &Fit) -> Option<String> {
    let moments = &fit.moments;
    if let (Some(low), Some(high)) = (moments.mean_low, moments.mean_high) {
        return Some(format!(
            "between {} and {}{JOIN}{}: where in their cells the events are is not known",
            number::low(low),
            number::high(high),
            unit(fit.unit_ns)
        ));
    }
    let (mean, error) = (moments.mean?, moments.standard_error.filter(|error| *error > 0.0));
    let say_mean = |mean| error.map_or_else(|| three(mean), |error| fixed(mean, decimals_of(error, 2)));
    let mut words = say_mean(mean);
    if let Some(error) = error {
        let decimals = decimals_of(error, 2);
        let [low, high] = [(-REACH, f64::floor as fn(f64) -> f64), (REACH, f64::ceil)]
            .map(|(reach, round)| fixed(rounded(mean + reach * error, decimals, round), decimals));
        words.push_str(&format!(" [{low}, {high}]"));
    }
    words.push_str(&format!("{JOIN}{}", unit(fit.unit_ns)));
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push_str(&format!("   {name}{JOIN}{value}"));
        }
    };
    say("deviation", moments.standard_deviation.map(three));
    say("without rounding", moments.standard_deviation_sheppard.map(three));
    say("skewness", moments.skewness.map(three));
    say("middle 60 %", moments.trimmed_mean.map(say_mean));
    Some(words)
}

/// `2 modes: 6–11 us (72 %, peak 7), 12–100 us (28 %, peak 16); slow tail above 42 us: 9 events, …`.
fn shape(fit: &Fit) -> Option<String> {
    let unit = unit(fit.unit_ns);
    let modes: Vec<String> = fit
        .modes
        .iter()
        .map(|mode| {
            let share = percent(mode.mass.0 as f64 / fit.count.0 as f64);
            format!(
                "{}\u{2013}{}{JOIN}{unit} ({share}, peak{JOIN}{})",
                three(mode.low),
                three(mode.high),
                three(mode.peak)
            )
        })
        .collect();
    let mut words = Vec::new();
    if !modes.is_empty() {
        words.push(format!("{}: {}", plural(modes.len() as u64, "mode"), modes.join(", ")));
    }
    if let Some(tail) = &fit.tail {
        let [low, high] = number::ends(Some(tail.low * 100.0), Some(tail.high * 100.0), three);
        words.push(format!(
            "slow tail above{JOIN}{}{JOIN}{unit}: {}, {} [{low},{JOIN}{high}]",
            three(tail.threshold),
            plural(tail.count.0, "event"),
            percent(tail.ratio),
        ));
    }
    (!words.is_empty()).then(|| words.join("; "))
}

/// `; normal 45 %`.
fn normal(fit: &Fit) -> String {
    match &fit.normality {
        Some(normal) if fit.best.as_deref() != Some("normal") => {
            let verdict = match normal.verdict {
                LawWord::Fits => "; a normal law fits too",
                LawWord::Close => "; a normal law is close",
                LawWord::Undecided => "; so few events could be normal",
                _ => return format!("; not normal, by{JOIN}{}", percent(normal.total_variation)),
            };
            verdict.into()
        }
        _ => String::new(),
    }
}

fn tail(fit: &Fit) -> Option<String> {
    let tail = fit.tail.as_ref()?;
    let Some(gpd) = tail.gpd else {
        return (tail.count.0 > 0).then(|| {
            format!(
                "{} beyond {} are too few for an extreme-value law: that takes 30",
                plural(tail.count.0, "event"),
                three(tail.threshold)
            )
        });
    };
    let end = match (gpd.end, gpd.end_low, gpd.end_high) {
        (Some(end), Some(low), Some(high)) => {
            let [low, high] = number::ends(Some(low), Some(high), three);
            format!(", it ends at{JOIN}{} [{low},{JOIN}{high}]", three(end))
        }
        (Some(_), Some(low), None) => {
            format!(", where it ends is not known, but not before{JOIN}{}", number::low(low))
        }
        _ => String::new(),
    };
    let mut words = format!(
        "generalised Pareto \u{3be}{JOIN}{} [{},{JOIN}{}]{end}",
        fixed(gpd.xi, 2),
        fixed(number::rounded(gpd.xi_low, 2, f64::floor), 2),
        fixed(number::rounded(gpd.xi_high, 2, f64::ceil), 2)
    );
    if let Some(shape) = &tail.shape {
        let best = match shape.best.as_str() {
            "uniform" => "flat".to_owned(),
            "geometric" => "falling by the same factor from tick to tick".to_owned(),
            _ => format!(
                "a bump at{JOIN}{}{JOIN}\u{b1}{JOIN}{}",
                three(shape.bump_mean),
                three(shape.bump_deviation)
            ),
        };
        words.push_str(&format!("; its ticks are most likely {best} (of flat, falling and a bump)"));
    }
    let ends = tail.stability.first().zip(tail.stability.last()).filter(|_| tail.stability.len() > 1);
    if let Some((first, last)) = ends {
        words.push_str(&format!(
            "; \u{3be} goes from {} above{JOIN}{} to {} above{JOIN}{}",
            fixed(first.xi, 2),
            three(first.threshold),
            fixed(last.xi, 2),
            three(last.threshold)
        ));
    }
    Some(words)
}

fn ppcc(fit: &Fit) -> Option<String> {
    let ppcc = fit.ppcc.as_ref()?;
    let best = ppcc.families.first()?;
    let named = |name: &str| ppcc.families.iter().find(|line| line.name == name);
    let said = |line: &StraightLine| {
        let critical = line.critical.map_or_else(String::new, |critical| {
            format!(" (5{JOIN}% of such laws are below{JOIN}{})", fixed(critical, 4))
        });
        let parameter = line.parameter.map_or_else(String::new, |value| format!("{JOIN}{}", fixed(value, 2)));
        format!("{}{parameter} r{JOIN}{}{critical}", line.name.replace('_', " "), fixed(line.r, 4))
    };
    let mut words = vec![format!("straightest: {}", said(best))];
    words.extend(
        ["tukey_lambda", "normal"]
            .iter()
            .filter(|name| **name != best.name)
            .filter_map(|name| Some(said(named(name)?))),
    );
    if let Some(lambda) = ppcc.core_lambda {
        words.push(format!("without the tail Tukey's \u{3bb}{JOIN}{}", fixed(lambda, 2)));
    }
    Some(words.join("; "))
}

fn mixture(fit: &Fit) -> String {
    let components: Vec<String> = fit
        .mixture
        .iter()
        .map(|part| {
            let sigma = if part.kind == "normal" { three(part.sigma) } else { percent(part.sigma) };
            format!("{} at{JOIN}{}{JOIN}\u{b1}{JOIN}{sigma}", percent(part.weight), three(part.median))
        })
        .collect();
    let kind = fit.mixture.first().map_or("", |part| part.kind.as_str());
    format!(
        "{} by BIC: {}",
        plural(fit.mixture.len() as u64, &format!("{kind} component")),
        components.join(", ")
    )
}

/// The columns of the table of families.
pub(crate) const FAMILY_HEADS: [&str; 5] = ["family", "elsewhere", "BIC", "ln L", "parameters"];

fn families(fit: &Fit) -> Columns {
    let heads = FAMILY_HEADS;
    let rows = fit.families.iter().map(|line| {
        let parameters: Vec<String> =
            line.parameters.iter().map(|(name, value)| format!("{name}{JOIN}{}", three(*value))).collect();
        Row {
            cells: vec![
                (line.name.clone(), Ink::Strong),
                (percent(line.total_variation), Ink::Plain),
                (fixed(line.bic, 0), Ink::Plain),
                (fixed(line.log_likelihood, 0), Ink::Plain),
                (parameters.join("  "), Ink::Faint),
            ],
            note: None,
            said: None,
        }
    });
    let sides = [Side::Left, Side::Right, Side::Right, Side::Right, Side::Left];
    Columns { heads: heads.map(String::from).into_iter().zip(sides).collect(), rows: rows.collect() }
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
    page.fact_in("histogram", Ink::Faint, &head.replace(' ', "\u{a0}"));
    // What stands before a bar: the name of a fact, its span, its count.
    let room = page.style.width.saturating_sub(11 + width + 2 + 9 + 2).clamp(4, BAR) as f64;
    for (row, span) in rows.iter().zip(spans) {
        let share = (row.events as f64).ln_1p() / (most as f64).ln_1p();
        let bar = "\u{2588}".repeat((share * room).ceil() as usize);
        let line = format!("{span:>width$}  {:>9}  {bar}", count(row.events));
        page.fact("", &line.replace(' ', "\u{a0}"));
    }
}

/// A row of the histogram.
struct Span {
    low: f64,
    high: f64,
    events: u64,
}

fn rows(fit: &Fit) -> Vec<Span> {
    let (Some(first), Some(last)) = (fit.histogram.first(), fit.histogram.last()) else { return Vec::new() };
    let tick = fit.quantum_ns / fit.unit_ns as f64;
    let ratio = if first.low > 0.0 { (last.high / first.low).powf(1.0 / ROWS) } else { 1.0 };
    let step = if first.low > 0.0 { 0.0 } else { (last.high - first.low) / ROWS };
    let mut rows = Vec::new();
    let mut low = first.low;
    let mut cells = fit.histogram.iter().peekable();
    while cells.peek().is_some() {
        let width = (low * (ratio - 1.0)).max(step);
        let mut high = low + ((width / tick).round().max(1.0)) * tick;
        let mut events = 0;
        // Where in a wide cell its events lie is not known: the row is as wide as it.
        while let Some(cell) = cells.next_if(|cell| cell.low < high - tick * 1e-6) {
            events += cell.count.0;
            high = high.max(cell.high);
        }
        rows.push(Span { low, high, events });
        low = high;
    }
    rows
}

fn name(p: f64) -> String {
    format!("p{}", (p * 1e6).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_record::Count;
    use dropline_record::fit::{CellLine, MomentsLine};

    #[test]
    fn a_mean_has_as_many_digits_as_its_error_deserves() {
        let of = |mean: f64, error: f64| {
            let moments = MomentsLine {
                mean: Some(mean),
                standard_error: Some(error),
                trimmed_mean: Some(mean),
                ..MomentsLine::default()
            };
            let words = super::moments(&Fit { moments, unit_ns: 1000, ..Fit::default() }).unwrap();
            words.replace(JOIN, " ").replace('\u{202f}', "")
        };
        assert_eq!(of(50.0407, 0.00715), "50.0407 [50.0266, 50.0548] us   middle 60 % 50.0407");
        assert_eq!(of(1073.66, 0.512), "1073.66 [1072.65, 1074.67] us   middle 60 % 1073.66");
        assert_eq!(of(50_024.19, 23.4), "50024 [49978, 50071] us   middle 60 % 50024");
        assert_eq!(of(7.0, 0.0), "7 us   middle 60 % 7");
    }

    #[test]
    fn a_wide_cell_is_drawn_as_wide_as_it_is() {
        let cell = |low: f64, high: f64, count: u64| CellLine { low, high, count: Count(count) };
        let histogram = vec![cell(29.0, 30.0, 1), cell(30.0, 1041.0, 4986), cell(1041.0, 4031.0, 5001)];
        let fit = Fit { histogram, quantum_ns: 1000.0, unit_ns: 1000, ..Fit::default() };
        let found: Vec<(f64, f64, u64)> =
            rows(&fit).iter().map(|row| (row.low, row.high, row.events)).collect();
        assert!(found.iter().all(|row| row.2 > 0), "{found:?}");
        assert_eq!(found.last().map(|row| (row.1, row.2)), Some((4031.0, 5001)), "{found:?}");
        assert_eq!(found.iter().map(|row| row.2).sum::<u64>(), 9988);
    }
}
