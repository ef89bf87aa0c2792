//! Delay over time, a lane a pipe: the middle of each slice as a line, from shortest to longest as a band.

use super::axes::{Frame, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{self, nanoseconds, three};
use dropline_record::PassagesLine;
use dropline_record::passages_line::LaneLine;

/// Lanes that are drawn; the table has all.
const LANES: usize = 12;
/// Height of a lane at least, and of all together where there are few.
const LANE: f64 = 64.0;
const ALL: f64 = 220.0;
const GAP: f64 = 14.0;

/// The graph of a trial; `None` where nothing passed.
pub(crate) fn lanes(passages: &PassagesLine, room: Room) -> Option<Plot> {
    let timeline = &passages.timeline;
    let last = timeline.lanes.iter().flat_map(|lane| &lane.slices).map(|slice| slice.0).max()?;
    let title = title(&timeline.lanes);
    let more = timeline.lanes.len().saturating_sub(LANES);
    let more = if more > 0 { format!(" {more} further pipes are in the numbers.") } else { String::new() };
    Some(Plot {
        name: "lanes",
        caption: format!(
            "Each pipe over the time of the trial, by when granules arrived: the middle delay of each slice, and a band \
             from the shortest to the longest. One scale for all.{more}"
        ),
        desc: format!("Delay from source to sink over time, a lane a pipe. {title}."),
        wide: draw(passages, last, room),
        narrow: draw(passages, last, Room::Narrow),
        numbers: numbers(passages),
        title,
    })
}

fn title(lanes: &[LaneLine]) -> String {
    let slices = lanes.iter().flat_map(|lane| lane.slices.iter().map(move |slice| (lane.pipe, slice)));
    let Some((pipe, worst)) = slices.clone().max_by_key(|(_, slice)| slice.4) else {
        return "Nothing passed".into();
    };
    let mut middles: Vec<i64> = slices.map(|(_, slice)| slice.3).collect();
    middles.sort_unstable();
    let middle = middles[middles.len() / 2];
    format!(
        "Half of the time a granule takes {} or less; the longest took {}, in pipe {pipe}",
        nanoseconds(middle.max(0) as u64),
        nanoseconds(worst.4.max(0) as u64)
    )
}

fn draw(passages: &PassagesLine, last: u32, room: Room) -> Drawing {
    let timeline = &passages.timeline;
    let shown = &timeline.lanes[..timeline.lanes.len().min(LANES)];
    let lane_height = (ALL / shown.len() as f64).max(LANE);
    let height = 26.0 + shown.len() as f64 * (lane_height + GAP) + 44.0;
    let mut canvas = Canvas::new(room.width(), height);
    let slices = || shown.iter().flat_map(|lane| &lane.slices);
    let low = slices().map(|slice| slice.2.max(1)).min().unwrap_or(1) as f64;
    let high = slices().map(|slice| slice.4.max(1)).max().unwrap_or(1) as f64;
    let range = (low / 1.2, (high * 1.2).max(low * 4.0));
    let labels = |scale: &Scale, most| -> Vec<(f64, String)> {
        scale.ticks(most).into_iter().map(|tick| (tick, nanoseconds(tick.round() as u64))).collect()
    };
    let left = 14.0 + widest(&labels(&Scale::logarithmic(range, (0.0, 1.0)), 4));
    let slice_s = timeline.slice_ns.0 as f64 / 1e9;
    let until = f64::from(last + 1) * slice_s;
    let time = Scale::linear((0.0, until), (left, canvas.width - 12.0));
    let mut marks = Vec::new();
    for (index, lane) in shown.iter().enumerate() {
        let top = 26.0 + index as f64 * (lane_height + GAP);
        let frame = Frame { left, right: canvas.width - 12.0, top, bottom: top + lane_height };
        let y = Scale::logarithmic(range, (frame.bottom, frame.top));
        frame.rows(&mut canvas, &y, &labels(&y, 3));
        let at = |slice: u32| time.clamped((f64::from(slice) + 0.5) * slice_s);
        // A slice without a passage is a hole, not a line across it.
        for run in lane.slices.chunk_by(|a, b| a.0 + 1 == b.0) {
            let (mut band, mut middle) = (Path::default(), Path::default());
            let half = (time.at(slice_s) - time.at(0.0)) / 2.0;
            let (first, end) = (at(run[0].0) - half, at(run[run.len() - 1].0) + half);
            band.start(&canvas, first, y.clamped(run[0].4.max(1) as f64));
            run.iter().for_each(|slice| band.line(&canvas, at(slice.0), y.clamped(slice.4.max(1) as f64)));
            band.line(&canvas, end, y.clamped(run[run.len() - 1].4.max(1) as f64));
            band.line(&canvas, end, y.clamped(run[run.len() - 1].2.max(1) as f64));
            run.iter()
                .rev()
                .for_each(|slice| band.line(&canvas, at(slice.0), y.clamped(slice.2.max(1) as f64)));
            band.line(&canvas, first, y.clamped(run[0].2.max(1) as f64));
            band.close();
            canvas.path("band f0", &band);
            middle.start(&canvas, first, y.clamped(run[0].3.max(1) as f64));
            run.iter().for_each(|slice| middle.line(&canvas, at(slice.0), y.clamped(slice.3.max(1) as f64)));
            middle.line(&canvas, end, y.clamped(run[run.len() - 1].3.max(1) as f64));
            canvas.path("curve s0", &middle);
        }
        marks.extend(lane.slices.iter().map(|slice| (at(slice.0), y.clamped(slice.3.max(1) as f64))));
        canvas.text(
            "name value halo",
            Anchor::End,
            frame.right,
            frame.top + 4.0,
            &format!("pipe {}", lane.pipe),
        );
        if index + 1 == shown.len() {
            let ticks: Vec<(f64, String)> =
                time.ticks(8).into_iter().map(|value| (value, three(value))).collect();
            frame.columns(&mut canvas, &time, &ticks, false);
            frame.name_columns(&mut canvas, "time, s");
        }
    }
    canvas.text("tick", Anchor::Start, 0.0, 12.0, "delay, log");
    canvas.finish(marks)
}

fn numbers(passages: &PassagesLine) -> Numbers {
    let heads = ["pipe", "from, s", "passages", "shortest", "middle", "longest"];
    let slice_s = passages.timeline.slice_ns.0 as f64 / 1e9;
    let time = |ns: i64| if ns < 0 { format!("{ns} ns") } else { nanoseconds(ns as u64) };
    let row =
        |lane: &LaneLine,
         &(slice, count, min, middle, max): &(u32, dropline_record::Count, i64, i64, i64)| {
            let from = number::fixed(f64::from(slice) * slice_s, 4);
            Reading {
                words: format!(
                    "pipe {} from {from} s: {} passages, {} to {}, the middle one {}",
                    lane.pipe,
                    number::count(count.0),
                    time(min),
                    time(max),
                    time(middle)
                ),
                cells: vec![
                    lane.pipe.to_string(),
                    from,
                    number::count(count.0),
                    time(min),
                    time(middle),
                    time(max),
                ],
            }
        };
    let shown = passages.timeline.lanes.iter();
    Numbers {
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows: shown.flat_map(|lane| lane.slices.iter().map(move |slice| row(lane, slice))).collect(),
    }
}
