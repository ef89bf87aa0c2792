//! Spans of several series over one axis: where the middle is and how far each goes, named at their ends.

use super::axes::{Frame, spread, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path, text_width};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{self, three};
use dropline_record::{Chart, Series};

/// Pixels between the whiskers of two series at one place.
const APART: f64 = 5.0;

/// The plot of a chart with series; `None` where none has a positive number.
pub(super) fn spans(chart: &Chart, room: Room) -> Option<Plot> {
    let series: Vec<Series> = chart.series.iter().map(drawable).filter(|of| !of.points.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    Some(Plot {
        name: "spans",
        title: chart.title.clone(),
        caption: format!(
            "{} over {}: a disc is the middle, a line goes from the low end to the high one.",
            chart.y, chart.x
        ),
        desc: format!("{}: {} over {}, {} series.", chart.title, chart.y, chart.x, series.len()),
        wide: draw(chart, &series, room),
        narrow: draw(chart, &series, Room::Narrow),
        numbers: numbers(chart, &series),
    })
}

/// What has a logarithm.
fn drawable(series: &Series) -> Series {
    let fits = |point: &&[f64; 4]| point.iter().all(|value| value.is_finite()) && point[1] > 0.0;
    Series { name: series.name.clone(), points: series.points.iter().filter(fits).copied().collect() }
}

fn draw(chart: &Chart, series: &[Series], room: Room) -> Drawing {
    let narrow = room == Room::Narrow;
    let mut canvas = Canvas::new(room.width(), if narrow { 360.0 } else { 440.0 });
    let points = || series.iter().flat_map(|of| of.points.iter());
    let ends = |low: usize, high: usize| {
        points()
            .fold((f64::INFINITY, 0.0f64), |ends, point| (ends.0.min(point[low]), ends.1.max(point[high])))
    };
    let (low, high) = ends(1, 3);
    let labels = |scale: &Scale, most| -> Vec<(f64, String)> {
        scale.ticks(most).into_iter().map(|value| (value, three(value))).collect()
    };
    let names = series.iter().map(|of| text_width(&of.name)).fold(0.0, f64::max);
    let left = widest(&labels(&Scale::logarithmic((low, high), (1.0, 0.0)), 9)) + 10.0;
    let frame = Frame { left, right: canvas.width - names - 14.0, top: 26.0, bottom: canvas.height - 44.0 };
    // Whiskers at the first and the last place stay inside.
    let inset = APART * series.len() as f64;
    let x = Scale::linear(ends(0, 0), (frame.left + inset, frame.right - inset));
    let y = Scale::logarithmic((low, high), (frame.bottom - 4.0, frame.top));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, &chart.y);
    frame.rows(&mut canvas, &y, &labels(&y, 9));
    let mut places: Vec<f64> = points().map(|point| point[0]).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let ticks: Vec<(f64, String)> = places.into_iter().map(|place| (place, three(place))).collect();
    frame.columns(&mut canvas, &x, &ticks, false);
    frame.name_columns(&mut canvas, &chart.x);
    let mut marks = Vec::new();
    let mut last = Vec::new();
    for (index, of) in series.iter().enumerate() {
        let shift = (index as f64 - (series.len() - 1) as f64 / 2.0) * APART;
        let (mut whiskers, mut discs, mut line) = (Path::default(), Path::default(), Path::default());
        for (at, &[place, low, middle, high]) in of.points.iter().enumerate() {
            let (px, py) = (x.at(place) + shift, y.at(middle));
            whiskers.start(&canvas, px, y.at(low));
            whiskers.line(&canvas, px, y.at(high));
            discs.disc(&canvas, px, py, 3.0);
            if at == 0 {
                line.start(&canvas, px, py)
            } else {
                line.line(&canvas, px, py)
            }
            marks.push((px, py));
        }
        canvas.path(&format!("curve {}", line_class(index)), &line);
        canvas.path(&format!("span {}", line_class(index)), &whiskers);
        canvas.path(&format!("f{}", class(index)), &discs);
        last.push(y.at(of.points[of.points.len() - 1][2]) + 4.0);
    }
    for (index, (of, at)) in series.iter().zip(spread(&last, 14.0, frame.top + 4.0, frame.bottom)).enumerate()
    {
        canvas.text(&format!("t{}", class(index)), Anchor::Start, frame.right + 8.0, at, &of.name);
    }
    canvas.finish(marks)
}

/// Two colours, then ink, dashed ink and grey: further series are greys too.
fn class(index: usize) -> usize {
    index.min(4)
}

fn line_class(index: usize) -> String {
    format!("s{}", class(index))
}

fn numbers(chart: &Chart, series: &[Series]) -> Numbers {
    let row = |name: &str, &[place, low, middle, high]: &[f64; 4]| {
        let [low, high] = number::ends(Some(low), Some(high), three);
        let cells = [name.to_owned(), three(place), low, three(middle), high];
        let [name, place, low, middle, high] = &cells;
        let words = format!("{name}, {} {place}: {middle}, from {low} to {high} ({})", chart.x, chart.y);
        Reading { words, cells: cells.into() }
    };
    let rows = series.iter().flat_map(|of| of.points.iter().map(move |point| row(&of.name, point)));
    Numbers {
        heads: ["of", chart.x.as_str(), "low end", "middle", "high end"].map(String::from).into(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Chart {
        let series = |name: &str, points: &[[f64; 4]]| Series { name: name.into(), points: points.to_vec() };
        Chart {
            title: "Delay grows with the square of the stages".into(),
            x: "stages".into(),
            y: "delay, us".into(),
            series: vec![
                series("flow", &[[1.0, 10.0, 11.0, 12.0], [6.0, 300.0, 360.0, 400.0]]),
                series("tpb", &[[6.0, 800.0, 2000.0, 9000.0], [12.0, 0.0, 1.0, 2.0]]),
            ],
            ..Chart::default()
        }
    }

    #[test]
    fn every_span_is_drawn_named_and_told_in_numbers() {
        let plot = spans(&two(), Room::Full).unwrap();
        for drawing in [&plot.wide, &plot.narrow] {
            assert!(drawing.body.contains(">flow</text>") && drawing.body.contains(">tpb</text>"));
            assert_eq!(drawing.marks.len(), plot.numbers.rows.len());
            assert!(!drawing.body.contains("NaN"));
        }
        // What has no logarithm has no place on the axis.
        assert_eq!(plot.numbers.rows.len(), 3);
        assert_eq!(plot.numbers.rows[1].cells, ["flow", "6", "300", "360", "400"]);
    }

    #[test]
    fn a_chart_without_spans_is_none() {
        assert!(spans(&Chart::default(), Room::Full).is_none());
    }

    #[test]
    fn the_ends_of_a_span_are_rounded_outwards_in_its_table() {
        let series = Series { name: "flow".into(), points: vec![[1.0, 10.06, 11.04, 12.01]] };
        let rows = numbers(&two(), &[series]).rows;
        assert_eq!(rows[0].cells, ["flow", "1", "10", "11", "12.1"]);
    }
}
