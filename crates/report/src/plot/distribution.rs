//! Plots of one distribution: its histogram with modes, its percentiles, the straightness of Tukey's λ, its tail.

use super::axes::{Frame, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{count, fixed, percent, plural, three};
use dropline_record::fit::CellLine;
use dropline_record::{Count, Fit};

/// A histogram of more cells is drawn in so many.
const MOST_DRAWN: usize = 200;
const DRAWN: usize = 80;

/// Every plot that the events bear.
pub(crate) fn distribution(fit: &Fit, unit: &str) -> Vec<Plot> {
    [histogram(fit, unit), percentiles(fit, unit), straightness(fit), tail(fit, unit)]
        .into_iter()
        .flatten()
        .collect()
}

/// Points that are joined, by name; the second of each pair of names is its class.
struct Lines<'a> {
    below: &'a str,
    left: &'a str,
    x: (f64, f64),
    y: (f64, f64),
    logarithmic: (bool, bool),
    /// Class, and points.
    lines: Vec<(&'static str, Vec<(f64, f64)>)>,
    /// Vertical lines.
    posts: Vec<f64>,
    marks: Vec<(f64, f64)>,
}

impl Lines<'_> {
    fn draw(&self, room: Room) -> Drawing {
        let mut canvas = Canvas::new(room.width(), 300.0);
        let scale = |logarithmic: bool, ends: (f64, f64), pixels: (f64, f64)| {
            if logarithmic { Scale::logarithmic(ends, pixels) } else { Scale::linear(ends, pixels) }
        };
        let label = |value: &f64| (*value, three(*value));
        let (top, bottom) = (28.0, canvas.height - 44.0);
        let y = scale(self.logarithmic.1, self.y, (bottom, top));
        let rows: Vec<(f64, String)> = y.ticks(7).iter().map(label).collect();
        let frame = Frame { left: widest(&rows) + 14.0, right: canvas.width - 14.0, top, bottom };
        let x = scale(self.logarithmic.0, self.x, (frame.left, frame.right));
        let columns: Vec<(f64, String)> = x.ticks(9).iter().map(label).collect();
        canvas.text("tick", Anchor::Start, 0.0, 12.0, self.left);
        frame.rows(&mut canvas, &y, &rows);
        frame.left_axis(&mut canvas, None);
        frame.columns(&mut canvas, &x, &columns, false);
        frame.name_columns(&mut canvas, self.below);
        for &post in &self.posts {
            canvas.line("phase", (x.clamped(post), top), (x.clamped(post), bottom));
        }
        for (class, points) in &self.lines {
            let mut path = Path::default();
            for (index, &(at, value)) in points.iter().enumerate() {
                let (at, value) = (x.clamped(at), y.clamped(value));
                if index == 0 { path.start(&canvas, at, value) } else { path.line(&canvas, at, value) }
            }
            canvas.path(class, &path);
        }
        let marks = self.marks.iter().map(|&(at, value)| (x.clamped(at), y.clamped(value))).collect();
        canvas.finish(marks)
    }

    fn plot(self, name: &'static str, title: String, caption: &str, numbers: Numbers) -> Plot {
        Plot {
            name,
            desc: format!("{title}. {caption}"),
            caption: caption.into(),
            wide: self.draw(Room::Half),
            narrow: self.draw(Room::Narrow),
            numbers,
            title,
        }
    }
}

fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Steps of the cells' density, in events a tick, on log axes; dotted where one mode ends and the next begins.
fn histogram(fit: &Fit, unit: &str) -> Option<Plot> {
    let cells = drawn(&fit.histogram);
    let (first, last) = (cells.first()?, cells.last()?);
    let tick = fit.quantum_ns / fit.unit_ns as f64;
    let density = |cell: &CellLine| cell.count.0 as f64 * tick / (cell.high - cell.low);
    let most = cells.iter().map(density).fold(0.0, f64::max);
    let least = cells.iter().map(density).fold(f64::INFINITY, f64::min) * 0.6;
    let mut steps = Vec::new();
    let mut end = first.low;
    for cell in &cells {
        if cell.low > end + tick * 0.01 {
            steps.extend([(end, least), (cell.low, least)]);
        }
        steps.extend([(cell.low, density(cell)), (cell.high, density(cell))]);
        end = cell.high;
    }
    let middle = |cell: &CellLine| (cell.low + cell.high) / 2.0;
    let lines = Lines {
        below: &format!("{unit}{}", if first.low > 0.0 { ", log" } else { "" }),
        left: "events a tick, log",
        x: (first.low, last.high),
        y: (least, most * 1.3),
        logarithmic: (first.low > 0.0, true),
        lines: vec![("curve r4", steps)],
        posts: fit.modes.windows(2).map(|pair| (pair[0].high + pair[1].low) / 2.0).collect(),
        marks: cells.iter().map(|cell| (middle(cell), density(cell))).collect(),
    };
    let rows = cells.iter().map(|cell| Reading {
        words: format!(
            "{} to {} {unit}: {}",
            three(cell.low),
            three(cell.high),
            plural(cell.count.0, "event")
        ),
        cells: vec![three(cell.low), three(cell.high), count(cell.count.0)],
    });
    let numbers = Numbers { heads: heads(&["from", "to", "events"]), rows: rows.collect() };
    let title = match fit.modes.len() {
        0 => "The histogram".to_owned(),
        1 => format!("One peak, at {} {unit}", three(fit.modes[0].peak)),
        modes => format!("{modes} peaks"),
    };
    Some(lines.plot(
        "histogram",
        title,
        "Dotted lines part the modes that the k-mode test confirms.",
        numbers,
    ))
}

/// The cells that are drawn: a clock so fine that events share no tick would make a comb of them.
fn drawn(histogram: &[CellLine]) -> Vec<CellLine> {
    let (Some(first), Some(last)) = (histogram.first(), histogram.last()) else { return Vec::new() };
    if histogram.len() <= MOST_DRAWN {
        return histogram.to_vec();
    }
    let ends = (first.low, last.high);
    let bins = (0.0, DRAWN as f64);
    let scale = if first.low > 0.0 { Scale::logarithmic(ends, bins) } else { Scale::linear(ends, bins) };
    let edge = |bin: usize| match first.low > 0.0 {
        true => ends.0 * (ends.1 / ends.0).powf(bin as f64 / bins.1),
        false => ends.0 + (ends.1 - ends.0) * bin as f64 / bins.1,
    };
    let mut drawn: Vec<(usize, u64)> = Vec::new();
    for cell in histogram {
        let bin = (scale.clamped((cell.low + cell.high) / 2.0) as usize).min(DRAWN - 1);
        match drawn.last_mut() {
            Some((last, count)) if *last == bin => *count = count.saturating_add(cell.count.0),
            _ => drawn.push((bin, cell.count.0)),
        }
    }
    let line = |(bin, count)| CellLine { low: edge(bin), high: edge(bin + 1), count: Count(count) };
    drawn.into_iter().map(line).collect()
}

/// Value by 1 ÷ (1 − p).
fn percentiles(fit: &Fit, unit: &str) -> Option<Plot> {
    let n = fit.count.0 as f64;
    let mut below = 0.0;
    let mut points = Vec::new();
    for cell in &fit.histogram {
        if (n - below) >= 5.0 {
            points.push((n / (n - below), (cell.low + cell.high) / 2.0));
        }
        below += cell.count.0 as f64;
    }
    let (low, high) = (points.first()?.1, points.last()?.1);
    let stated: Vec<_> = fit.percentiles.iter().filter_map(|line| Some((line, line.value?))).collect();
    let lines = Lines {
        below: "1/(1 \u{2212} p), log",
        left: unit,
        x: (1.0, points.last()?.0 * 1.1),
        y: (low, high),
        logarithmic: (true, low > 0.0),
        lines: vec![("curve r4", points)],
        posts: Vec::new(),
        marks: stated.iter().map(|(line, value)| (1.0 / (1.0 - line.p), *value)).collect(),
    };
    let end = |end: Option<f64>| end.map_or_else(|| "\u{2013}".into(), three);
    let rows = stated.iter().map(|(line, value)| Reading {
        words: format!("p{} is {} {unit}", three(line.p * 100.0), three(*value)),
        cells: vec![format!("p{}", three(line.p * 100.0)), three(*value), end(line.low), end(line.high)],
    });
    let numbers = Numbers { heads: heads(&["percentile", "value", "low", "high"]), rows: rows.collect() };
    let (far, value) = stated.last()?;
    let title = format!("p{} is {} {unit}", three(far.p * 100.0), three(*value));
    Some(lines.plot("percentiles", title, "The curve ends where fewer than five events lie beyond.", numbers))
}

fn straightness(fit: &Fit) -> Option<Plot> {
    let ppcc = fit.ppcc.as_ref()?;
    let points: Vec<(f64, f64)> = ppcc.over_lambda.iter().copied().filter(|(_, r)| r.is_finite()).collect();
    let tukey = ppcc.families.iter().find(|line| line.name == "tukey_lambda")?;
    let lines = Lines {
        below: "Tukey's \u{3bb}",
        left: "correlation r",
        x: (-2.0, 2.0),
        y: (points.iter().map(|point| point.1).fold(1.0, f64::min), 1.0),
        logarithmic: (false, false),
        lines: std::iter::once(("curve r4", points.clone()))
            .chain(tukey.critical.map(|r| ("dash", vec![(-2.0, r), (2.0, r)])))
            .collect(),
        posts: Vec::new(),
        marks: points.clone(),
    };
    let rows = points.iter().map(|(lambda, r)| Reading {
        words: format!("\u{3bb} {}: r {}", fixed(*lambda, 1), fixed(*r, 4)),
        cells: vec![fixed(*lambda, 1), fixed(*r, 4)],
    });
    let numbers = Numbers { heads: heads(&["\u{3bb}", "r"]), rows: rows.collect() };
    let title = format!(
        "Straightest at \u{3bb} {}, where r is {}",
        fixed(tukey.parameter.unwrap_or(0.0), 2),
        fixed(tukey.r, 3)
    );
    let caption = "The line across is what 95 % of the draws from that law, rounded alike, are above. \u{3bb} 0.14 is nearly \
                   normal, 0 logistic, \u{2212}1 nearly Cauchy.";
    Some(lines.plot("ppcc", title, caption, numbers))
}

/// Share of events beyond each value, on log axes, with the law of the excess.
fn tail(fit: &Fit, unit: &str) -> Option<Plot> {
    let n = fit.count.0 as f64;
    let tail = fit.tail.as_ref()?;
    let mut beyond = n;
    let mut points = Vec::new();
    for cell in &fit.histogram {
        points.push((cell.low, beyond / n));
        beyond -= cell.count.0 as f64;
    }
    points.retain(|point| point.0 > 0.0);
    let (first, last) = (points.first()?.0, points.last()?.0);
    let law = tail.gpd.map(|gpd| {
        let to = gpd.end.unwrap_or(last).min(last);
        let at = |k: u32| tail.threshold + (to - tail.threshold) * f64::from(k) / 60.0;
        let above = |x: f64| {
            let z = (x - tail.threshold) / gpd.sigma;
            let share = if gpd.xi.abs() < 1e-9 {
                (-z).exp()
            } else {
                (1.0 + gpd.xi * z).max(0.0).powf(-1.0 / gpd.xi)
            };
            tail.ratio * share
        };
        (0..=60).map(|k| (at(k), above(at(k)))).filter(|point| point.1 > 0.2 / n).collect::<Vec<_>>()
    });
    let lines = Lines {
        below: &format!("{unit}, log"),
        left: "share beyond, log",
        x: (first, last * 1.05),
        y: (0.7 / n, 1.0),
        logarithmic: (true, true),
        lines: std::iter::once(("curve r4", points.clone())).chain(law.map(|law| ("goal s1", law))).collect(),
        posts: vec![tail.threshold],
        marks: points.clone(),
    };
    let rows = points.iter().map(|(at, share)| Reading {
        words: format!("beyond {} {unit}: {}", three(*at), percent(*share)),
        cells: vec![three(*at), percent(*share)],
    });
    let numbers = Numbers { heads: heads(&["beyond", "share"]), rows: rows.collect() };
    let title = format!("{} of the events are above {} {unit}", percent(tail.ratio), three(tail.threshold));
    let caption = "The dotted line is the threshold; the dashed curve the generalised Pareto law, where 30 events support one.";
    Some(lines.plot("tail", title, caption, numbers))
}
