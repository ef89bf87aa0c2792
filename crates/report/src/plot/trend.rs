//! A history: the nights' intervals as a band, levels, changes, marks.

use super::axes::{Frame, load_ticks};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::plural;
use crate::prose::date;
use crate::trends::{axis, change, level_now, loads, span};
use dropline_record::{PointLine, Quantity, SeriesLine, VerdictWord};

/// The plot of a history; `None` of fewer than two nights.
pub(crate) fn trend(series: &SeriesLine) -> Option<Plot> {
    if series.points.len() < 2 {
        return None;
    }
    let title = match level_now(series) {
        Some(level) => format!(
            "{} at {}, {} in {}",
            match (series.quantity, series.changes.is_empty()) {
                (Quantity::Limit, true) => "The limit stayed".to_owned(),
                (Quantity::Limit, false) => "The limit is now".to_owned(),
                (_, true) => format!("The {} stayed", series.goal),
                (_, false) => format!("The {} is now", series.goal),
            },
            level,
            plural(series.changes.len() as u64, "change"),
            plural(series.points.len() as u64, "night")
        ),
        None => format!("No level is known of {}", plural(series.points.len() as u64, "night")),
    };
    Some(Plot {
        name: "trend",
        desc: format!("{}, {}, {}. {title}.", series.target, series.goal, span(series)),
        title,
        caption: "Each column is a night: the band is its interval, the line its median. Straight lines are levels; a vertical line \
                  is a change, a dotted one a mark."
            .into(),
        wide: draw(series, Room::Full),
        narrow: draw(series, Room::Narrow),
        numbers: numbers(series),
    })
}

fn draw(series: &SeriesLine, room: Room) -> Drawing {
    let mut canvas = Canvas::new(room.width(), if room == Room::Narrow { 260.0 } else { 340.0 });
    let frame = Frame { left: 58.0, right: canvas.width - 12.0, top: 30.0, bottom: canvas.height - 44.0 };
    let loads = loads(series);
    let ends = || {
        series.points.iter().flat_map(|point| {
            [point.low.unwrap_or(point.value), point.value, point.high.unwrap_or(point.value)]
        })
    };
    let (low, high) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
    let pad = ((high - low) * 0.06).max(high * 1e-6);
    let y = Scale::linear(((low - pad).max(0.0), high + pad), (frame.bottom, frame.top));
    let x = Scale::linear((-0.5, series.points.len() as f64 - 0.5), (frame.left, frame.right));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, &axis(series));
    frame.rows(&mut canvas, &y, &load_ticks(&y, loads, 6));
    let step = series.points.len().div_ceil(if room == Room::Narrow { 3 } else { 8 });
    let named: Vec<usize> = (0..series.points.len()).step_by(step).collect();
    let ticks = named.iter().enumerate().map(|(place, &index)| {
        let before = place.checked_sub(1).map(|before| series.points[named[before]].at.as_str());
        (index as f64, moment(&series.points[index].at, before))
    });
    frame.columns(&mut canvas, &x, &ticks.collect::<Vec<_>>(), false);
    frame.name_columns(&mut canvas, "night, UTC");
    let night = |at: &str| series.points.iter().position(|point| point.at == at);
    let places = |of: fn(&PointLine) -> Option<f64>| -> Vec<(f64, f64)> {
        let place = |(index, point): (usize, &PointLine)| {
            (x.at(index as f64), y.clamped(of(point).unwrap_or(point.value)))
        };
        series.points.iter().enumerate().map(place).collect()
    };
    let median = places(|_| None);
    // A night is a column: nothing is known between two.
    let half = (x.at(1.0) - x.at(0.0)) / 2.0;
    let steps = |of: &[(f64, f64)]| -> Vec<(f64, f64)> {
        of.iter().flat_map(|(at, height)| [(at - half, *height), (at + half, *height)]).collect()
    };
    let (highs, lows) = (steps(&places(|point| point.high)), steps(&places(|point| point.low)));
    let mut band = through(&canvas, highs.iter().chain(lows.iter().rev()));
    band.close();
    canvas.path("f0 band", &band);
    canvas.path("s0 span", &through(&canvas, &steps(&median)));
    for segment in &series.segments {
        if let (Some(from), Some(to)) = (night(&segment.from), night(&segment.to)) {
            let height = y.clamped(segment.level);
            canvas.line("s2 curve", (x.at(from as f64) - half, height), (x.at(to as f64) + half, height));
        }
    }
    for line in &series.changes {
        if let Some(at) = night(&line.at) {
            let place = x.at(at as f64 - 0.5);
            let class = if line.verdict == VerdictWord::Regressed { "lostmark" } else { "s1 span" };
            canvas.line(class, (place, frame.top), (place, frame.bottom));
            canvas.text_if_free("value", Anchor::Middle, place, frame.top - 6.0, &change(line.size));
        }
    }
    for mark in &series.marks {
        if let Some(at) = night(&mark.at) {
            let place = x.at(at as f64 - 0.5);
            canvas.line("phase", (place, frame.top), (place, frame.bottom));
        }
    }
    canvas.finish(median)
}

/// `26 Nov`, or `18:54` on the day of the tick before it.
fn moment(at: &str, before: Option<&str>) -> String {
    let words = date(at);
    let mut parts = words.split(' ');
    let (Some(day), Some(month), Some(_), Some(time)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return words;
    };
    match before.is_some_and(|before| before.get(..10) == at.get(..10)) {
        true => time.to_owned(),
        false => format!("{day} {month}"),
    }
}

fn through<'a>(canvas: &Canvas, places: impl IntoIterator<Item = &'a (f64, f64)>) -> Path {
    let mut path = Path::default();
    for (index, (x, y)) in places.into_iter().enumerate() {
        match index {
            0 => path.start(canvas, *x, *y),
            _ => path.line(canvas, *x, *y),
        }
    }
    path
}

fn numbers(series: &SeriesLine) -> Numbers {
    let loads = loads(series);
    let rows = series.points.iter().map(|point| {
        let loads = loads.apart(point.low, point.high);
        let interval = loads.interval(point.low, point.high);
        let commit = point.labels.get("commit").cloned().unwrap_or_default();
        Reading {
            words: format!("{}: {} {interval} {commit}", point.at, loads.with_unit(point.value)),
            cells: vec![point.at.clone(), loads.bare(point.value), interval, commit],
        }
    });
    let heads = ["night".into(), axis(series), "interval".into(), "commit".into()];
    Numbers { heads: heads.into(), rows: rows.collect() }
}
