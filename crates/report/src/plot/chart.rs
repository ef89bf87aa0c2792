//! Bars of an experiment, and a limit across them.

use super::axes::Frame;
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::three;
use dropline_record::Chart;

/// The drawing of a chart; `None` without bars or spans of finite numbers.
pub(crate) fn chart(chart: &Chart, room: Room) -> Option<Plot> {
    if !chart.series.is_empty() {
        return super::spans::spans(chart, room);
    }
    let bars: Vec<[f64; 3]> =
        chart.bars.iter().filter(|bar| bar.iter().all(|number| number.is_finite())).copied().collect();
    if bars.is_empty() {
        return None;
    }
    let most = bars.iter().map(|bar| bar[2]).fold(0.0, f64::max);
    let limit =
        chart.line.map_or_else(String::new, |line| format!(" The line across is at {}.", three(line)));
    Some(Plot {
        name: "chart",
        title: chart.title.clone(),
        caption: format!("{} over {}.{limit}", chart.y, chart.x),
        desc: format!("{}: at most {} {}.", chart.title, three(most), chart.y),
        wide: draw(chart, &bars, room),
        narrow: draw(chart, &bars, Room::Narrow),
        numbers: Numbers {
            heads: vec![chart.x.clone(), chart.y.clone()],
            rows: bars
                .iter()
                .map(|bar| Reading {
                    words: format!("{} to {}: {} {}", three(bar[0]), three(bar[1]), three(bar[2]), chart.y),
                    cells: vec![format!("{} – {}", three(bar[0]), three(bar[1])), three(bar[2])],
                })
                .collect(),
        },
    })
}

fn draw(chart: &Chart, bars: &[[f64; 3]], room: Room) -> Drawing {
    let mut canvas = Canvas::new(room.width(), 240.0);
    let frame = Frame { left: 58.0, right: canvas.width - 12.0, top: 30.0, bottom: canvas.height - 44.0 };
    let ends = bars
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, bar| (ends.0.min(bar[0]), ends.1.max(bar[1])));
    let x = Scale::linear((ends.0, ends.1.max(ends.0 + 1e-9)), (frame.left, frame.right));
    let most = bars.iter().map(|bar| bar[2]).chain(chart.line).fold(0.0, f64::max).max(1e-9);
    let y = Scale::linear((0.0, most * 1.08), (frame.bottom, frame.top));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, &chart.y);
    let ticks = |scale: &Scale, count| -> Vec<(f64, String)> {
        scale.ticks(count).into_iter().map(|value| (value, three(value))).collect()
    };
    frame.rows(&mut canvas, &y, &ticks(&y, 5));
    frame.columns(&mut canvas, &x, &ticks(&x, 8), false);
    frame.name_columns(&mut canvas, &chart.x);
    let mut path = Path::default();
    let mut marks = Vec::with_capacity(bars.len());
    for &[from, to, height] in bars {
        let (left, right, top) = (x.clamped(from), x.clamped(to), y.clamped(height));
        if height > 0.0 {
            path.start(&canvas, left, frame.bottom);
            path.line(&canvas, left, top);
            path.line(&canvas, right, top);
            path.line(&canvas, right, frame.bottom);
            path.close();
        }
        marks.push(((left + right) / 2.0, top));
    }
    // What was lost has a colour of its own on all pages.
    canvas.path(if chart.y.contains("lost") { "bar" } else { "seen" }, &path);
    if let Some(line) = chart.line {
        let mut limit = Path::default();
        limit.start(&canvas, frame.left, y.clamped(line));
        limit.line(&canvas, frame.right, y.clamped(line));
        canvas.path("s1 bound", &limit);
    }
    canvas.finish(marks)
}
