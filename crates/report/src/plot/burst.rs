//! One burst of loss: the backlog at each arrival, what fits, when the target did nothing, which were lost.

use super::axes::{Frame, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{self, count, fixed, three};
use dropline_record::explanation::{Explanation, Moment};

/// Where the backlog begins, below the lanes of arrivals and of the target.
const BELOW_LANES: f64 = 146.0;
/// Width of a part of the time in which arrivals are counted.
const PART: f64 = 8.0;

/// The graph of an explanation's worst burst; `None` where nobody knows which packets were lost.
pub(crate) fn burst(found: &Explanation, room: Room) -> Option<Plot> {
    let moments = &found.course.burst;
    let (first, last) = (moments.first()?, moments.last()?);
    if last.at_ns <= first.at_ns || !moments.iter().any(|moment| moment.lost) {
        return None;
    }
    let longest = &found.when.as_ref()?.longest;
    let lasted = match longest.to_ns - longest.from_ns {
        0 => String::new(),
        ns => format!(" in {}{}ms", three(ns as f64 / 1e6), number::JOIN),
    };
    let stalled = if found.course.burst_stalls.is_empty() { "" } else { ", the target stood still in it" };
    let title = match longest.packets {
        1 => format!("No two packets were lost together{stalled}"),
        several => {
            format!("The burst that lost most: {}{lasted}{stalled}", number::plural(several, "packet"))
        }
    };
    Some(Plot {
        name: "burst",
        desc: format!("Packets at the target at each arrival of one burst. {title}."),
        title,
        caption: "On one axis of time: what came, whether the target worked, and how many packets were at it. Marks at the \
                  top: packets that were lost. The level: what fits."
            .into(),
        wide: draw(found, room),
        narrow: draw(found, Room::Narrow),
        numbers: numbers(moments),
    })
}

fn draw(found: &Explanation, room: Room) -> Drawing {
    let moments = &found.course.burst;
    let mut canvas = Canvas::new(room.width(), if room == Room::Narrow { 360.0 } else { 400.0 });
    let fits = found.buffer.map(|buffer| buffer.packets as f64);
    let most = moments.iter().map(|moment| moment.backlog).max().unwrap_or(0);
    let high = f64::from(most).max(fits.unwrap_or(0.0)).max(1.0) * 1.12;
    let labels = |scale: &Scale| -> Vec<(f64, String)> {
        let whole = scale.ticks(5).into_iter().filter(|tick| tick.fract() == 0.0);
        whole.map(|tick| (tick, fixed(tick, 0))).collect()
    };
    let left = 14.0 + widest(&labels(&Scale::linear((0.0, high), (0.0, 1.0))));
    let frame = Frame { left, right: canvas.width - 12.0, top: BELOW_LANES, bottom: canvas.height - 44.0 };
    let ms = |at_ns: u64| at_ns as f64 / 1e6;
    let (from, to) = (ms(moments[0].at_ns), ms(moments[moments.len() - 1].at_ns));
    let time = Scale::linear((from, to), (frame.left, frame.right));
    let y = Scale::linear((0.0, high), (frame.bottom, frame.top));
    for &(begin, end) in &found.course.burst_stalls {
        let (begin, end) = (time.clamped(ms(begin)), time.clamped(ms(end)));
        canvas.rect("panel", (begin, end.max(begin + 1.0)), (frame.top, frame.bottom));
    }
    lanes(&mut canvas, found, frame, &time);
    canvas.text("tick", Anchor::Start, 0.0, frame.top - 22.0, "packets at the target");
    let ticks = labels(&y);
    frame.rows(&mut canvas, &y, &ticks);
    let few = if room == Room::Narrow { 4 } else { 8 };
    let ticks: Vec<(f64, String)> =
        time.ticks(few).into_iter().map(|value| (value, label(value, to - from))).collect();
    frame.columns(&mut canvas, &time, &ticks, false);
    frame.name_columns(&mut canvas, "time in the trial, ms");
    if let Some(fits) = fits {
        let at = y.clamped(fits);
        canvas.line("s2 goal", (frame.left, at), (frame.right, at));
        canvas.text("value halo", Anchor::End, frame.right, at - 5.0, &format!("{} fit", count(fits as u64)));
    }
    let (mut waits, mut arrivals, mut lost) = (Path::default(), Path::default(), Path::default());
    for (index, moment) in moments.iter().enumerate() {
        let (x, up) = (time.clamped(ms(moment.at_ns)), y.clamped(f64::from(moment.backlog)));
        if index == 0 {
            waits.start(&canvas, x, up)
        } else {
            waits.line(&canvas, x, up)
        }
        let mark = if moment.lost { &mut lost } else { &mut arrivals };
        let (low, top) = if moment.lost {
            (frame.top - 4.0, frame.top - 14.0)
        } else {
            (frame.bottom, frame.bottom - 6.0)
        };
        mark.start(&canvas, x, low);
        mark.line(&canvas, x, top);
    }
    canvas.path("axis", &arrivals);
    canvas.path("curve r4", &waits);
    canvas.path("lostmark", &lost);
    let at = |moment: &Moment| (time.clamped(ms(moment.at_ns)), y.clamped(f64::from(moment.backlog)));
    canvas.finish(moments.iter().map(at).collect())
}

/// What came in each part of the burst, and when the target worked and when it did nothing though it had work.
fn lanes(canvas: &mut Canvas, found: &Explanation, frame: Frame, time: &Scale) {
    let ms = |at_ns: u64| at_ns as f64 / 1e6;
    let came = came(found, (frame.right - frame.left) / PART);
    let most = came.iter().map(|part| part.2).max().unwrap_or(0).max(1);
    let width = came.first().map_or(0.0, |(from, to, _)| (to - from) as f64 / 1e6);
    let named = format!("arrivals in each {}{}ms, {} at most", three(width), number::JOIN, count(most));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, &named);
    let (top, bottom) = (22.0, 66.0);
    let mut bars = Path::default();
    for &(from, to, packets) in came.iter().filter(|part| part.2 > 0) {
        let (left, right) = (time.clamped(ms(from)), time.clamped(ms(to)));
        let height = bottom - (bottom - top) * packets as f64 / most as f64;
        let right = (right - 1.0).max(left + 0.5);
        bars.start(canvas, left, bottom);
        bars.line(canvas, left, height);
        bars.line(canvas, right, height);
        bars.line(canvas, right, bottom);
        bars.close();
    }
    canvas.path("seen", &bars);
    canvas.line("axis", (frame.left, bottom), (frame.right, bottom));
    let stalls = &found.course.burst_stalls;
    let words = if stalls.is_empty() {
        "the target: it was not seen to do nothing"
    } else {
        "the target: it worked (bar), and did nothing though it had work (gaps)"
    };
    let words = if frame.right < 500.0 && !stalls.is_empty() {
        "the target: it worked, or did nothing (gaps)"
    } else {
        words
    };
    canvas.text("tick", Anchor::Start, 0.0, 86.0, words);
    let (top, bottom) = (93.0, 105.0);
    canvas.rect("runs", (frame.left, frame.right), (top, bottom));
    for &(begin, end) in stalls {
        let (begin, end) = (time.clamped(ms(begin)), time.clamped(ms(end)));
        canvas.rect("stands", (begin, end.max(begin + 1.5)), (top, bottom));
    }
}

/// From when to when, and how many packets came: of the arrivals that are kept one by one, in so many parts; where some of them
/// were left out, of the parts of the whole trial.
fn came(found: &Explanation, parts: f64) -> Vec<(u64, u64, u64)> {
    let moments = &found.course.burst;
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else { return Vec::new() };
    let whole = &found.course.overview;
    let width = whole.get(1).map_or(0, |second| second.at_ns);
    let within = whole.iter().filter(|part| part.at_ns + width > first.at_ns && part.at_ns < last.at_ns);
    let within: Vec<(u64, u64, u64)> =
        within.map(|part| (part.at_ns, part.at_ns + width, part.arrived)).collect();
    // The parts at both ends reach beyond.
    let inner = within.iter().filter(|part| part.0 >= first.at_ns && part.1 <= last.at_ns);
    if inner.map(|part| part.2).sum::<u64>() > moments.len() as u64 {
        return within;
    }
    let parts = parts.floor().max(1.0) as u64;
    let step = (last.at_ns - first.at_ns).div_ceil(parts).max(1);
    let mut came: Vec<(u64, u64, u64)> =
        (0..parts).map(|part| (first.at_ns + part * step, first.at_ns + (part + 1) * step, 0)).collect();
    for moment in moments {
        came[((moment.at_ns - first.at_ns) / step).min(parts - 1) as usize].2 += 1;
    }
    came
}

/// A time with as many decimals as tell ticks apart.
fn label(ms: f64, span: f64) -> String {
    fixed(
        ms,
        if span > 20.0 {
            0
        } else if span > 2.0 {
            1
        } else {
            2
        },
    )
}

fn numbers(moments: &[Moment]) -> Numbers {
    let rows = moments.iter().map(|moment| {
        let at = fixed(moment.at_ns as f64 / 1e6, 3);
        let (backlog, fate) = (count(u64::from(moment.backlog)), if moment.lost { "lost" } else { "taken" });
        Reading {
            words: format!("at {at}{}ms: {backlog} at the target, {fate}", number::JOIN),
            cells: vec![at, backlog, fate.into()],
        }
    });
    let heads = ["time, ms", "at the target", "what became of it"].map(String::from).to_vec();
    Numbers { heads, rows: rows.collect() }
}
