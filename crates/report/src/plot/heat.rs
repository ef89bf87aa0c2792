//! Passages over time and delay: where are they dense, and are there two kinds?

use super::axes::{Frame, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{self, count, nanoseconds, three};
use dropline_record::PassagesLine;
use std::collections::BTreeMap;

/// Shades; what they mean is in the caption.
const SHADES: usize = 5;

/// The map of a trial; `None` where nothing passed.
pub(crate) fn heat(passages: &PassagesLine, room: Room) -> Option<Plot> {
    let cells = &passages.timeline.cells;
    let densest = cells.iter().max_by_key(|cell| cell.3.0)?;
    let all: u64 = cells.iter().map(|cell| cell.3.0).sum();
    let title = format!(
        "{} of the passages lie between {} and {}",
        number::percent(share_within(cells, all)),
        nanoseconds(middle_half(cells, all).0),
        nanoseconds(middle_half(cells, all).1)
    );
    Some(Plot {
        name: "heat",
        title,
        caption: format!(
            "All pipes: passages of each slice and delay, the stronger the colour the more, in five steps by their logarithm; the \
             strongest cell has {}.",
            count(densest.3.0)
        ),
        desc: "A map of all passages over time and delay.".into(),
        wide: draw(passages, densest.3.0, room),
        narrow: draw(passages, densest.3.0, Room::Narrow),
        numbers: numbers(passages),
    })
}

type Cell = (u32, dropline_record::Count, dropline_record::Count, dropline_record::Count);

/// Ends of the cells that hold the middle half of all passages.
fn middle_half(cells: &[Cell], all: u64) -> (u64, u64) {
    let mut by_delay: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (_, low, high, count) in cells {
        *by_delay.entry((low.0, high.0)).or_default() += count.0;
    }
    let end = |share: u64| {
        let mut before = 0;
        let found = by_delay.iter().find(|(_, count)| {
            before += **count;
            4 * before >= share * all
        });
        found.map_or((0, 0), |(ends, _)| *ends)
    };
    (end(1).0, end(3).1)
}

fn share_within(cells: &[Cell], all: u64) -> f64 {
    let (low, high) = middle_half(cells, all);
    let within: u64 =
        cells.iter().filter(|cell| low <= cell.1.0 && cell.2.0 <= high).map(|cell| cell.3.0).sum();
    within as f64 / all.max(1) as f64
}

fn draw(passages: &PassagesLine, most: u64, room: Room) -> Drawing {
    let timeline = &passages.timeline;
    let mut canvas = Canvas::new(room.width(), if room == Room::Narrow { 260.0 } else { 330.0 });
    let low = timeline.cells.iter().map(|cell| cell.1.0.max(1)).min().unwrap_or(1) as f64;
    let high = timeline.cells.iter().map(|cell| cell.2.0 + 1).max().unwrap_or(2) as f64;
    let range = (low / 1.1, high * 1.1);
    let labels = |scale: &Scale| -> Vec<(f64, String)> {
        scale.ticks(6).into_iter().map(|tick| (tick, nanoseconds(tick.round() as u64))).collect()
    };
    let left = 14.0 + widest(&labels(&Scale::logarithmic(range, (0.0, 1.0))));
    let frame = Frame { left, right: canvas.width - 12.0, top: 26.0, bottom: canvas.height - 44.0 };
    let last = timeline.cells.iter().map(|cell| cell.0).max().unwrap_or(0);
    let slice_s = timeline.slice_ns.0 as f64 / 1e9;
    let time = Scale::linear((0.0, f64::from(last + 1) * slice_s), (frame.left, frame.right));
    let y = Scale::logarithmic(range, (frame.bottom, frame.top));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, "delay, log");
    frame.rows(&mut canvas, &y, &labels(&y));
    let ticks: Vec<(f64, String)> = time.ticks(8).into_iter().map(|value| (value, three(value))).collect();
    frame.columns(&mut canvas, &time, &ticks, false);
    frame.name_columns(&mut canvas, "time, s");
    let mut shades: [Path; SHADES] = Default::default();
    for (slice, from, to, passages) in &timeline.cells {
        let share = (passages.0 as f64 + 1.0).ln() / (most as f64 + 1.0).ln();
        let path = &mut shades[((share * SHADES as f64).ceil() as usize).clamp(1, SHADES) - 1];
        let x = (time.clamped(f64::from(*slice) * slice_s), time.clamped(f64::from(slice + 1) * slice_s));
        let (bottom, top) = (y.clamped(from.0.max(1) as f64), y.clamped(to.0 as f64 + 1.0));
        path.start(&canvas, x.0, bottom);
        path.line(&canvas, x.1, bottom);
        path.line(&canvas, x.1, top);
        path.line(&canvas, x.0, top);
        path.close();
    }
    for (index, shade) in shades.iter().enumerate() {
        canvas.path(&format!("f0 h{}", index + 1), shade);
    }
    let marks = by_slice(passages).into_iter().map(|(slice, (_, middle, _))| {
        (time.clamped((f64::from(slice) + 0.5) * slice_s), y.clamped(middle.max(1) as f64))
    });
    canvas.finish(marks.collect())
}

/// Of each slice: passages, the lowest delay of the cell that has most, and how many that are.
fn by_slice(passages: &PassagesLine) -> BTreeMap<u32, (u64, u64, u64)> {
    let mut slices: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
    for (slice, low, _, count) in &passages.timeline.cells {
        let (all, at, most) = slices.entry(*slice).or_default();
        *all += count.0;
        if count.0 > *most {
            (*at, *most) = (low.0, count.0);
        }
    }
    slices
}

fn numbers(passages: &PassagesLine) -> Numbers {
    let heads = ["from, s", "passages", "most at", "of them"].iter().map(|head| (*head).to_owned()).collect();
    let slice_s = passages.timeline.slice_ns.0 as f64 / 1e9;
    let rows = by_slice(passages).into_iter().map(|(slice, (all, at, most))| {
        let from = number::fixed(f64::from(slice) * slice_s, 4);
        Reading {
            words: format!(
                "from {from} s: {} passages, {} of them about {}",
                count(all),
                count(most),
                nanoseconds(at)
            ),
            cells: vec![from, count(all), nanoseconds(at), count(most)],
        }
    });
    Numbers { heads, rows: rows.collect() }
}
