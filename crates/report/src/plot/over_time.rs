//! A trial's delays over time: a column a slice, stronger where more of its delays are.

use super::axes::Frame;
use super::canvas::{Anchor, Canvas, Drawing};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{self, count, fixed, three};
use dropline_record::{Fit, TrialLine};

/// Rows of the map.
const ROWS: usize = 36;
/// Shades of a cell, from few delays to many.
const SHADES: usize = 5;

/// One slice.
struct Column {
    from_s: f64,
    length_s: f64,
    /// Lowest delay of the cell, highest, count.
    cells: Vec<(u64, u64, u64)>,
    p50: Option<u64>,
    longest: Option<u64>,
    count: u64,
}

/// The map of a trial; `None` where fewer than two slices have delays.
pub(crate) fn over_time(trial: &TrialLine) -> Option<Plot> {
    plot(&of_trial(trial), "delays")
}

/// The map of a distribution with time slices.
pub(crate) fn fit_over_time(fit: &Fit) -> Option<Plot> {
    plot(&of_fit(fit), "events")
}

fn plot(columns: &[Column], what: &str) -> Option<Plot> {
    let filled = columns.iter().filter(|column| column.count > 0).count();
    if filled < 2 {
        return None;
    }
    let title = title(columns);
    Some(Plot {
        name: "over-time",
        desc: format!("How many {what} of each slice fall in each range. {title}."),
        title,
        caption: format!(
            "Each column is a slice, by when its {what} were due; a stronger colour is more of them, by the logarithm of their \
             number. A slanted band is drift, a strong spot an incident."
        ),
        wide: draw(columns, Room::Full),
        narrow: draw(columns, Room::Narrow),
        numbers: numbers(columns, what),
    })
}

fn of_fit(fit: &Fit) -> Vec<Column> {
    let slices = fit.slices.iter().flat_map(|line| &line.slices);
    let begin_s = slices.clone().next().map_or(0.0, |first| first.begin_s);
    let ns = |value: f64| (value.max(0.0) * fit.unit_ns as f64).round() as u64;
    slices
        .map(|slice| Column {
            from_s: slice.begin_s - begin_s,
            length_s: slice.duration_s.max(0.0),
            cells: slice.cells.iter().map(|cell| (ns(cell.0), ns(cell.1), cell.2.0)).collect(),
            p50: slice.median.map(ns),
            longest: slice.cells.last().map(|cell| ns(cell.1)),
            count: slice.count.0,
        })
        .collect()
}

fn of_trial(trial: &TrialLine) -> Vec<Column> {
    let mut at = 0.0;
    trial
        .slices
        .iter()
        .map(|slice| {
            let from_s = at;
            let length_s = if slice.duration_s.is_finite() { slice.duration_s.max(0.0) } else { 0.0 };
            at += length_s;
            let recorded = slice.delay_ns.as_ref().and_then(|delay| delay.recorded().ok());
            let cells: Vec<_> = recorded.iter().flat_map(|recorded| recorded.ranges()).collect();
            let count: u64 = cells.iter().map(|cell| cell.2).fold(0, u64::saturating_add);
            let mut before = 0u64;
            let middle = cells.iter().find(|cell| {
                before = before.saturating_add(cell.2);
                before >= count.div_ceil(2)
            });
            Column {
                from_s,
                length_s,
                p50: middle.map(|cell| cell.1),
                longest: recorded.as_ref().and_then(|recorded| recorded.max_ns),
                count,
                cells,
            }
        })
        .collect()
}

fn title(columns: &[Column]) -> String {
    let medians = || columns.iter().filter_map(|column| column.p50);
    let (Some(low), Some(high)) = (medians().min(), medians().max()) else { return "No delays".into() };
    let worst = columns.iter().enumerate().filter_map(|(index, column)| Some((column.longest?, index)));
    let worst = worst.max().map_or_else(String::new, |(longest, index)| {
        format!("; the longest delay, {}, is in slice {}", number::nanoseconds(longest), index + 1)
    });
    format!(
        "The median of a slice is from {} to {}{worst}",
        number::nanoseconds(low),
        number::nanoseconds(high)
    )
}

fn draw(columns: &[Column], room: Room) -> Drawing {
    let mut canvas = Canvas::new(room.width(), if room == Room::Narrow { 260.0 } else { 340.0 });
    let frame = Frame { left: 58.0, right: canvas.width - 12.0, top: 30.0, bottom: canvas.height - 44.0 };
    let cells = || columns.iter().flat_map(|column| &column.cells);
    // Delays of 0 are in the lowest row: a logarithm has no place for them.
    let low = cells().map(|cell| cell.0).filter(|low| *low > 0).min().unwrap_or(1).max(1) as f64 / 1000.0;
    let high = cells().map(|cell| cell.1).max().unwrap_or(1) as f64 / 1000.0;
    let (low, high) = (low, high.max(low * 2.0));
    let y = Scale::logarithmic((low, high), (frame.bottom, frame.top));
    let until = columns.last().map_or(1.0, |last| last.from_s + last.length_s).max(1e-9);
    let time = Scale::linear((0.0, until), (frame.left, frame.right));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, "delay, us, log");
    let ticks: Vec<_> = y.ticks(6).into_iter().map(|tick| (tick, three(tick))).collect();
    frame.rows(&mut canvas, &y, &ticks);
    let ticks: Vec<_> = time.ticks(8).into_iter().map(|value| (value, three(value))).collect();
    frame.columns(&mut canvas, &time, &ticks, false);
    frame.name_columns(&mut canvas, "time, s");
    let place = Scale::logarithmic((low, high), (0.0, ROWS as f64));
    let rows: Vec<Vec<u64>> = columns
        .iter()
        .map(|column| {
            let mut rows = vec![0u64; ROWS];
            for &(from, to, events) in &column.cells {
                let middle = ((from as f64 + to as f64) / 2000.0).max(low);
                let row = (place.clamped(middle) as usize).min(ROWS - 1);
                rows[row] = rows[row].saturating_add(events);
            }
            rows
        })
        .collect();
    let most = rows.iter().flatten().copied().max().unwrap_or(1).max(2) as f64;
    let height = (frame.bottom - frame.top) / ROWS as f64;
    let mut marks = Vec::with_capacity(columns.len());
    for (column, rows) in columns.iter().zip(&rows) {
        let (left, right) = (time.clamped(column.from_s), time.clamped(column.from_s + column.length_s));
        for (row, events) in rows.iter().enumerate().filter(|(_, events)| **events > 0) {
            let share = (*events as f64).ln_1p() / most.ln_1p();
            let shade = ((share * SHADES as f64).ceil() as usize).clamp(1, SHADES);
            let bottom = frame.bottom - height * row as f64;
            canvas.rect(&format!("f0 h{shade}"), (left, right), (bottom, bottom - height));
        }
        let middle = column.p50.map_or(frame.bottom, |p50| y.clamped((p50 as f64 / 1000.0).max(low)));
        marks.push(((left + right) / 2.0, middle));
    }
    canvas.finish(marks)
}

fn numbers(columns: &[Column], what: &str) -> Numbers {
    let time = |time: Option<u64>| time.map_or_else(|| "\u{2013}".into(), number::nanoseconds);
    let rows = columns.iter().enumerate().map(|(index, column)| Reading {
        words: format!(
            "slice {} from {} s: {} {what}, p50 {}, longest {}",
            index + 1,
            fixed(column.from_s, 2),
            count(column.count),
            time(column.p50),
            time(column.longest)
        ),
        cells: vec![
            (index + 1).to_string(),
            fixed(column.from_s, 2),
            count(column.count),
            time(column.p50),
            time(column.longest),
        ],
    });
    let heads = ["slice", "from, s", what, "p50", "longest"].map(String::from);
    Numbers { heads: heads.into(), rows: rows.collect() }
}
