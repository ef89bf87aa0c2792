//! Where packets were lost at which load: a bar of shares for each range of loads.

use super::axes::{Frame, spread, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::loss::LoadAxis;
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{self, count, percent};
use crate::prose::labelled;
use crate::search_summary::SearchSummary;
use crate::traffic::lost_at;
use dropline_record::TrialLine;

/// Ranges of load, at most.
const BARS: usize = 8;
/// Places with a shade of their own; the others share one.
const SHADES: usize = 3;
/// Between the axis and a bar of what is off it, in bars.
const APART: f64 = 0.25;
/// A place that is none: what came back too late for a goal.
const LATE: &str = "late";
const UNEXPLAINED: &str = "unexplained";

/// A range of loads with loss.
struct Bar {
    /// Where it is drawn, in packets a second.
    low: f64,
    high: f64,
    /// The loads in words; where they are off the axis, the words below the bar too.
    loads: String,
    off_axis: bool,
    trials: u64,
    lost: u64,
    /// By place, the order of [`order`].
    at: Vec<u64>,
}

/// The graph of one search; `None` where no trial lost packets, or nobody looked where. `label` tells it from others.
/// Every trial is in it: those off the axis stand in a bar of their own at its end.
pub(crate) fn places(finding: &SearchSummary, loads: LoadAxis, room: Room, label: &str) -> Option<Plot> {
    let (seen, unseen): (Vec<&TrialLine>, Vec<&TrialLine>) = finding
        .record
        .trials
        .iter()
        .filter(|trial| trial.lost.0 > 0)
        .partition(|trial| trial.lost_at.is_some());
    let order: Vec<String> = lost_at(seen.iter().copied())
        .into_iter()
        .filter(|(place, packets)| *packets > 0 || place == UNEXPLAINED)
        .map(|(place, _)| place)
        .collect();
    let bars = bars(&seen, &order, loads);
    if bars.is_empty() {
        return None;
    }
    let title = labelled(label, title(&bars, &order));
    let mut caption = String::from(
        "Shares of what was lost, by place, in trials of similar load; above each bar, how many were lost. \
         Unexplained is hatched.",
    );
    if !unseen.is_empty() {
        let lost = unseen.iter().fold(0u64, |sum, trial| sum.saturating_add(trial.lost.0));
        let trials = number::plural(unseen.len() as u64, "trial");
        caption.push_str(&format!(" Not counted: {} lost in {trials} that did not look where.", count(lost)));
    }
    Some(Plot {
        name: "places",
        desc: format!("Shares of what was lost by place, over load. {title}."),
        title,
        caption,
        wide: draw(&bars, &order, loads, room),
        narrow: draw(&bars, &order, loads, Room::Narrow),
        numbers: numbers(&bars, &order),
    })
}

fn bars(trials: &[&TrialLine], order: &[String], axis: LoadAxis) -> Vec<Bar> {
    let LoadAxis { low, high, loads } = axis;
    let width = (high - low) / BARS as f64;
    let edge = |index: usize| low + index as f64 * width;
    // Each trial is in one of them: below the axis, in one of its parts, above it.
    let place = |trial: &TrialLine| match trial.intended_load_pps {
        load if load < low => 0,
        load if load > high => BARS + 1,
        load => 1 + (((load - low) / width) as usize).min(BARS - 1),
    };
    let bar = |index: usize| {
        let ((low, high), words) = match index {
            0 => (
                (low - (1.0 + APART) * width, low - APART * width),
                format!("below {}", loads.with_unit(low)),
            ),
            _ if index > BARS => (
                (high + APART * width, high + (1.0 + APART) * width),
                format!("above {}", loads.with_unit(high)),
            ),
            _ => {
                let (from, to) = (edge(index - 1), edge(index));
                ((from, to), format!("{} to {}", loads.bare(from), loads.with_unit(to)))
            }
        };
        let trials: Vec<&TrialLine> = trials.iter().filter(|trial| place(trial) == index).copied().collect();
        let found = lost_at(trials.iter().copied());
        let of = |place: &String| {
            found.iter().find(|(known, _)| known == place).map_or(0, |(_, packets)| *packets)
        };
        let at: Vec<u64> = order.iter().map(of).collect();
        Bar {
            low,
            high,
            loads: words,
            off_axis: !(1..=BARS).contains(&index),
            trials: trials.len() as u64,
            lost: at.iter().fold(0, |sum, packets| sum.saturating_add(*packets)),
            at,
        }
    };
    (0..BARS + 2).map(bar).filter(|bar| bar.lost > 0).collect()
}

/// What most of them were lost at, and whether all are explained.
fn title(bars: &[Bar], order: &[String]) -> String {
    let sum = |of: &dyn Fn(&Bar) -> u64| bars.iter().map(of).fold(0u64, u64::saturating_add);
    let all = sum(&|bar| bar.lost);
    let at = |index: usize| sum(&|bar| bar.at[index]);
    let unexplained = order.iter().position(|place| place == UNEXPLAINED).map_or(0, at);
    let rest = match unexplained {
        0 => "unexplained 0".to_string(),
        some => format!("{} unexplained", percent(some as f64 / all as f64)),
    };
    let lost = |place: &str| match place {
        LATE => "came back later than the goal allows".to_owned(),
        place => format!("were lost at the {place}"),
    };
    match order.first() {
        Some(first) if first != UNEXPLAINED && at(0) == all => format!("All {}, {rest}", lost(first)),
        Some(first) if first != UNEXPLAINED => {
            format!("{} {}, {rest}", percent(at(0) as f64 / all as f64), lost(first))
        }
        _ => "Nothing says where packets were lost".into(),
    }
}

fn shade(index: usize, place: &str) -> &'static str {
    match index {
        _ if place == UNEXPLAINED => "hatch",
        0 => "fill1",
        1 => "fill2",
        2 => "sent",
        _ => "fill4",
    }
}

fn draw(bars: &[Bar], order: &[String], axis: LoadAxis, room: Room) -> Drawing {
    let LoadAxis { low, high, loads } = axis;
    let narrow = room == Room::Narrow;
    let mut canvas = Canvas::new(room.width(), if narrow { 280.0 } else { 300.0 });
    let rows: Vec<(f64, String)> = [0.0, 0.5, 1.0].map(|share| (share, percent(share))).to_vec();
    let named: Vec<(usize, String)> = order
        .iter()
        .enumerate()
        .filter(|(index, place)| *index < SHADES || *place == UNEXPLAINED)
        .filter(|(index, _)| bars.iter().any(|bar| bar.at[*index] > 0))
        .map(|(index, place)| (index, place.clone()))
        .collect();
    let labels: Vec<(f64, String)> = named.iter().map(|(_, place)| (0.0, place.clone())).collect();
    let frame = Frame {
        left: widest(&rows) + 10.0,
        right: canvas.width - 14.0 - widest(&labels),
        top: 44.0,
        bottom: canvas.height - 44.0,
    };
    let first = bars.iter().map(|bar| bar.low).fold(low, f64::min);
    let last = bars.iter().map(|bar| bar.high).fold(high, f64::max);
    let x = Scale::linear((first, last), (frame.left, frame.right));
    let y = Scale::linear((0.0, 1.0), (frame.bottom, frame.top));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, "share of what was lost");
    frame.rows(&mut canvas, &y, &rows);
    let on_axis = Scale::linear((low, high), (x.at(low), x.at(high)));
    let ticks = super::axes::load_ticks(&on_axis, loads, if narrow { 4 } else { 7 });
    let cut = if low > 0.0 { format!(", axis from {}", loads.short(low)) } else { String::new() };
    let mut marks = Vec::new();
    let mut ends = vec![0.0; order.len()];
    for bar in bars {
        let (from, to) = (x.at(bar.low) + 2.0, x.at(bar.high) - 2.0);
        let mut below = 0u64;
        for (index, packets) in bar.at.iter().enumerate().filter(|(_, packets)| **packets > 0) {
            let share = |packets: u64| packets as f64 / bar.lost as f64;
            let (bottom, top) = (y.at(share(below)), y.at(share(below.saturating_add(*packets))));
            let class = shade(index, &order[index]);
            canvas.rect(class, (from, to), (top, bottom));
            if class == "hatch" {
                hatch(&mut canvas, (from, to), (top, bottom));
            }
            below = below.saturating_add(*packets);
            ends[index] = (top + bottom) / 2.0;
        }
        let middle = (from + to) / 2.0;
        canvas.text_if_free("value", Anchor::Middle, middle, frame.top - 6.0, &count(bar.lost));
        if bar.off_axis {
            canvas.text_if_free("tick", Anchor::Middle, middle, frame.bottom + 16.0, &bar.loads);
        }
        marks.push((middle, frame.top));
    }
    // Beside the last bar that has it, each name at the height of its part.
    let wanted: Vec<f64> = named.iter().map(|(index, _)| ends[*index] + 4.0).collect();
    let placed = spread(&wanted, 15.0, frame.top + 8.0, frame.bottom);
    for ((_, place), at) in named.iter().zip(placed) {
        canvas.text("tick", Anchor::Start, frame.right + 6.0, at, place);
    }
    frame.columns(&mut canvas, &x, &ticks, false);
    frame.name_columns(&mut canvas, &format!("load, {}{cut}", loads.unit));
    canvas.finish(marks)
}

fn hatch(canvas: &mut Canvas, (from, to): (f64, f64), (top, bottom): (f64, f64)) {
    let mut lines = Path::default();
    let mut at = from - (bottom - top);
    while at < to {
        // A rising line, cut off at the sides.
        let (start, end) = (at.max(from), (at + bottom - top).min(to));
        if end > start {
            lines.start(canvas, start, bottom - (start - at));
            lines.line(canvas, end, bottom - (end - at));
        }
        at += 6.0;
    }
    canvas.path("axis", &lines);
}

fn numbers(bars: &[Bar], order: &[String]) -> Numbers {
    let heads =
        ["load", "trials", "lost"].into_iter().map(String::from).chain(order.iter().cloned()).collect();
    let rows = bars.iter().map(|bar| {
        let load = bar.loads.clone();
        let parts: Vec<String> = order
            .iter()
            .zip(&bar.at)
            .filter(|(place, packets)| **packets > 0 || *place == UNEXPLAINED)
            .map(|(place, packets)| format!("{place} {}", count(*packets)))
            .collect();
        let (trials, lost) = (number::plural(bar.trials, "trial"), count(bar.lost));
        let cells = [load.clone(), count(bar.trials), lost.clone()].into_iter();
        Reading {
            words: format!("{load}, {trials}: lost {lost}: {}", parts.join(", ")),
            cells: cells.chain(bar.at.iter().map(|packets| count(*packets))).collect(),
        }
    });
    Numbers { heads, rows: rows.collect() }
}
