//! Two searches over each other, on the whole range of loads: what came back of what was offered, and how long it took.

use super::axes::{Frame, load_ticks, spread, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::whole_range::{across, counted, lowest_rate, reaches};
use super::{Numbers, Plot, Reading, Room, overview};
use crate::number::{Loads, nanoseconds};
use crate::search_summary::SearchSummary;
use dropline_record::TrialLine;

/// A side's curve goes through the medians of so many parts of the range, of those in which it has a trial.
const PARTS: usize = 24;
/// Class of a side's marks, of its curve and of its name: A, before, is grey, B, after, is ink.
const SIDES: [(&str, &str, &str, &str); 2] =
    [("A", "dot q0", "curve r1", "name"), ("B", "dot q2", "curve r4", "name value")];

/// What is drawn of a trial.
struct Shown {
    name: &'static str,
    axis: &'static str,
    caption: &'static str,
    of: fn(&TrialLine) -> Option<f64>,
    words: fn(f64, Loads) -> String,
    is_load: bool,
}

const FORWARDED: Shown = Shown {
    name: "forwarded-together",
    axis: "forwarded",
    caption: "On the dotted line all that is offered comes back.",
    of: |trial| Some(trial.forwarding_rate_pps).filter(|rate| rate.is_finite()),
    words: |rate, loads| loads.with_unit(rate),
    is_load: true,
};
const DELAY: Shown = Shown {
    name: "delay-together",
    axis: "p99 of the delay, log",
    caption: "99 of 100 packets that came back took so long or less.",
    of: |trial| trial.delay_ns.as_ref()?.p99.map(|value| value.max(1) as f64),
    words: |delay, _| nanoseconds(delay.round() as u64),
    is_load: false,
};

/// The trials of a side that have the value, by load.
struct Side<'a> {
    trials: Vec<(&'a TrialLine, f64)>,
    left_out: String,
}

impl<'a> Side<'a> {
    fn of(finding: &SearchSummary<'a>, shown: &Shown) -> Self {
        let (trials, left_out) = counted(finding);
        let valued = |trial: &'a TrialLine| Some((trial, (shown.of)(trial)?));
        Self { trials: trials.into_iter().filter_map(valued).collect(), left_out }
    }

    /// The trial with the most, and the one at the highest load.
    fn told(&self) -> Option<[(&'a TrialLine, f64); 2]> {
        let most = self.trials.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
        Some([*most, *self.trials.last()?])
    }
}

/// Both plots of A and B; none of what only one side has.
pub(crate) fn together(pair: [&SearchSummary; 2], loads: Loads) -> Vec<Plot> {
    let delay = plot(pair, &DELAY, loads, Room::Half);
    let room = if delay.is_some() { Room::Half } else { Room::Full };
    plot(pair, &FORWARDED, loads, room).into_iter().chain(delay).collect()
}

fn plot(pair: [&SearchSummary; 2], shown: &Shown, loads: Loads, room: Room) -> Option<Plot> {
    let sides = pair.map(|finding| Side::of(finding, shown));
    let [[most_a, last_a], [most_b, last_b]] = [sides[0].told()?, sides[1].told()?];
    let words = |value: f64| (shown.words)(value, loads);
    let title = match shown.is_load {
        true => format!("A forwards at most {}, B {}", words(most_a.1), words(most_b.1)),
        false => format!(
            "At its highest load, p99 of A is {} ({}), of B {} ({})",
            words(last_a.1),
            loads.with_unit(last_a.0.intended_load_pps),
            words(last_b.1),
            loads.with_unit(last_b.0.intended_load_pps)
        ),
    };
    let all: Vec<(&TrialLine, f64)> = sides.iter().flat_map(|side| side.trials.iter().copied()).collect();
    let range = reaches(all.iter().map(|(trial, _)| trial.intended_load_pps))?;
    let left_out: Vec<String> = sides
        .iter()
        .zip(SIDES)
        .filter(|(side, _)| !side.left_out.is_empty())
        .map(|(side, (name, ..))| format!(" {name}{}.", side.left_out.replacen(';', ":", 1)))
        .collect();
    let kept = sides.each_ref().map(|side| seen(side, shown, range));
    Some(Plot {
        name: shown.name,
        caption: format!(
            "Pale: A. Strong: B. Each mark is a trial; the lines go through the medians of neighbouring loads. {}{}",
            shown.caption,
            left_out.concat()
        ),
        desc: format!("{} over load, A and B. {title}.", shown.axis),
        wide: draw(&kept, shown, loads, range, room),
        narrow: draw(&kept, shown, loads, range, Room::Narrow),
        numbers: numbers(&kept, shown, loads),
        title,
    })
}

/// Of very many trials one for each spot that the eye can tell from others.
fn seen<'a>(side: &Side<'a>, shown: &Shown, range: (f64, f64)) -> Vec<(&'a TrialLine, f64)> {
    let trials: Vec<&TrialLine> = side.trials.iter().map(|(trial, _)| *trial).collect();
    let told: Vec<&TrialLine> = side.told().iter().flatten().map(|(trial, _)| *trial).collect();
    let value = |trial: &TrialLine| (shown.of)(trial).unwrap_or(1.0).max(1.0);
    let heights = ends(trials.iter().map(|trial| value(trial)));
    let kept = overview(&trials, &told, |trial| {
        let x = Scale::logarithmic(range, (0.0, Room::Half.width()));
        let y = Scale::logarithmic(heights, (0.0, 300.0));
        (x.clamped(trial.intended_load_pps), y.clamped(value(trial)))
    });
    kept.into_iter().filter_map(|trial| Some((trial, (shown.of)(trial)?))).collect()
}

/// A little more than the least and the most.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| *value > 0.0)
        .fold((f64::INFINITY, 1.0f64), |(low, high), value| (low.min(value), high.max(value)));
    (low.min(high) / 1.2, (high * 1.25).max(low.min(high) * 2.0))
}

fn draw(
    sides: &[Vec<(&TrialLine, f64)>; 2],
    shown: &Shown,
    loads: Loads,
    range: (f64, f64),
    room: Room,
) -> Drawing {
    let narrow = room == Room::Narrow;
    let mut canvas = Canvas::new(room.width(), if narrow { 306.0 } else { 330.0 });
    let values = || sides.iter().flatten().map(|(_, value)| *value);
    let (_, below, logarithmic) = across(range, (0.0, 1.0), loads);
    let up = |pixels| match (shown.is_load, logarithmic) {
        (true, false) => Scale::linear((0.0, values().fold(range.0, f64::max) * 1.12), pixels),
        (true, true) => Scale::logarithmic(lowest_rate(values(), range.0), pixels),
        (false, _) => Scale::logarithmic(ends(values()), pixels),
    };
    let labels = |scale: &Scale| -> Vec<(f64, String)> {
        match (shown.is_load, logarithmic) {
            (true, false) => load_ticks(scale, loads, 6),
            (true, true) => scale.ticks(6).into_iter().map(|at| (at, loads.short(at))).collect(),
            (false, _) => scale.ticks(6).into_iter().map(|at| (at, nanoseconds(at.round() as u64))).collect(),
        }
    };
    let left = widest(&labels(&up((1.0, 0.0)))) + 12.0;
    let frame = Frame { left, right: canvas.width - 22.0, top: 30.0, bottom: canvas.height - 44.0 };
    let (x, ..) = across(range, (frame.left, frame.right), loads);
    let y = up((frame.bottom, frame.top));
    let axis = if shown.is_load { format!("{}, {}", shown.axis, loads.unit) } else { shown.axis.into() };
    canvas.text("tick", Anchor::Start, 0.0, 12.0, &axis);
    frame.rows(&mut canvas, &y, &labels(&y));
    let most = if narrow { 4 } else { 7 };
    let columns = match logarithmic {
        true => x.ticks(most).into_iter().map(|load| (load, loads.short(load))).collect(),
        false => load_ticks(&x, loads, most),
    };
    frame.columns(&mut canvas, &x, &columns, false);
    frame.name_columns(&mut canvas, &below);
    let (from, to) = (x.low.max(y.low), x.high.min(y.high));
    if shown.is_load && from < to {
        canvas.line("phase", (x.at(from), y.at(from)), (x.at(to), y.at(to)));
    }
    let mut marks = Vec::new();
    let mut named = Vec::new();
    for (side, (name, dots, curve, text)) in sides.iter().zip(SIDES) {
        let mut path = Path::default();
        for (index, (load, value)) in medians(side, range).into_iter().enumerate() {
            let at = (x.clamped(load), y.clamped(value));
            if index == 0 { path.start(&canvas, at.0, at.1) } else { path.line(&canvas, at.0, at.1) }
        }
        canvas.path(curve, &path);
        let mut path = Path::default();
        for (trial, value) in side {
            let at = (x.clamped(trial.intended_load_pps), y.clamped(*value));
            path.dot(&canvas, at.0, at.1);
            marks.push(at);
        }
        canvas.path(dots, &path);
        named.extend(side.last().map(|(_, value)| (y.clamped(*value) + 4.0, name, text)));
    }
    let wanted: Vec<f64> = named.iter().map(|(height, ..)| *height).collect();
    let placed = spread(&wanted, 15.0, frame.top + 4.0, frame.bottom);
    for (height, (_, name, text)) in placed.into_iter().zip(named) {
        canvas.text(text, Anchor::Start, frame.right + 7.0, height, name);
    }
    canvas.finish(marks)
}

/// Load and value of the median trial of each part of the range.
fn medians(side: &[(&TrialLine, f64)], range: (f64, f64)) -> Vec<(f64, f64)> {
    let part = Scale::logarithmic(range, (0.0, PARTS as f64));
    let mut parts: Vec<Vec<(f64, f64)>> = vec![Vec::new(); PARTS + 1];
    for (trial, value) in side {
        parts[part.clamped(trial.intended_load_pps) as usize].push((trial.intended_load_pps, *value));
    }
    parts.retain(|part| !part.is_empty());
    let middle = |mut part: Vec<(f64, f64)>| {
        part.sort_by(|one, other| one.1.total_cmp(&other.1));
        part[part.len() / 2]
    };
    parts.into_iter().map(middle).collect()
}

fn numbers(sides: &[Vec<(&TrialLine, f64)>; 2], shown: &Shown, loads: Loads) -> Numbers {
    let value_head = if shown.is_load { format!("forwarded, {}", loads.unit) } else { "p99".into() };
    let heads = ["search".into(), "trial".into(), format!("load, {}", loads.unit), value_head];
    let rows = sides.iter().zip(SIDES).flat_map(|(side, (name, ..))| {
        side.iter().map(move |(trial, value)| {
            let words = (shown.words)(*value, loads);
            Reading {
                words: format!(
                    "{name}, trial {}: {}, {words}",
                    trial.number,
                    loads.with_unit(trial.intended_load_pps)
                ),
                cells: vec![
                    name.to_owned(),
                    trial.number.to_string(),
                    loads.bare(trial.intended_load_pps),
                    if shown.is_load { loads.bare(*value) } else { words },
                ],
            }
        })
    });
    Numbers { heads: heads.into(), rows: rows.collect() }
}
