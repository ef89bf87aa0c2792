//! The plots of a comparison: both distributions on the same axes, what moved by how much, both over time.

use super::axes::{Frame, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{self, count, percent, plural, three};
use crate::text::unit;
use dropline_record::compared::{ShiftLine, SideLine};
use dropline_record::{Compared, Count};

/// Rows of the heat map.
const ROWS: usize = 36;
/// Shades of a cell, from few events to many.
const SHADES: usize = 5;
/// Values of a curve that are read out.
const READ: usize = 60;
/// An interval is drawn up to so many times the largest estimate.
const FAR: f64 = 3.0;

/// All plots that the comparison bears.
pub(crate) fn compared(compared: &Compared) -> Vec<Plot> {
    let plots = [super::two_histograms::both(compared), shift(compared), tails(compared), heat(compared)];
    plots.into_iter().flatten().collect()
}

/// (value, share of events that are longer), at the upper edge of each cell.
///
/// An event that was lost never came, and is longer than any value.
fn beyond(side: &SideLine, lost: u64) -> Vec<(f64, f64)> {
    let all = side.count.0 as f64 + lost as f64;
    let mut left = all;
    side.histogram
        .iter()
        .map(|cell| {
            left -= cell.count.0 as f64;
            (cell.high, left / all)
        })
        .filter(|(value, share)| *value > 0.0 && *share > 0.0)
        .collect()
}

fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let ends = values.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
    (ends.0 < ends.1).then_some(ends)
}

fn tails(compared: &Compared) -> Option<Plot> {
    let lost = compared.loss.as_ref().map_or([0, 0], |loss| [loss.lost_a.0, loss.lost_b.0]);
    let curves = [beyond(&compared.a, lost[0]), beyond(&compared.b, lost[1])];
    let (low, high) = ends(curves.iter().flatten().map(|(value, _)| *value))?;
    let (least, _) = ends(curves.iter().flatten().map(|(_, share)| *share).chain([1.0]))?;
    let unit = unit(compared.unit_ns);
    // Of very many cells some are read out.
    let told = [0, 1].map(|side: usize| {
        let step = curves[side].len().div_ceil(READ).max(1);
        (0..curves[side].len()).step_by(step).collect::<Vec<_>>()
    });
    let draw = |room: Room| {
        let mut canvas = Canvas::new(room.width(), if room == Room::Narrow { 260.0 } else { 340.0 });
        let frame = Frame { left: 64.0, right: canvas.width - 12.0, top: 30.0, bottom: canvas.height - 44.0 };
        let x = Scale::logarithmic((low, high), (frame.left, frame.right));
        let y = Scale::logarithmic((least, 1.0), (frame.bottom, frame.top));
        canvas.text("tick", Anchor::Start, 0.0, 12.0, "share of events that are longer");
        let rows: Vec<_> = y.ticks(7).into_iter().map(|tick| (tick, percent(tick))).collect();
        frame.rows(&mut canvas, &y, &rows);
        let columns: Vec<_> = x.ticks(8).into_iter().map(|tick| (tick, three(tick))).collect();
        frame.columns(&mut canvas, &x, &columns, true);
        frame.name_columns(&mut canvas, &format!("{unit}, log"));
        if let Some(at) = compared.tail_mass.threshold.filter(|at| x.shows(*at)) {
            canvas.line("phase", (x.at(at), frame.top), (x.at(at), frame.bottom));
        }
        for (index, curve) in curves.iter().enumerate() {
            let mut path = Path::default();
            for (position, (value, share)) in curve.iter().enumerate() {
                if position == 0 {
                    path.start(&canvas, x.at(*value), y.at(*share))
                } else {
                    path.line(&canvas, x.at(*value), y.at(*share))
                }
            }
            canvas.path(["curve s4", "curve r4"][index], &path);
            let (class, name) = [("name tick halo", "A"), ("name value halo", "B")][index];
            // Named where it has come down half of the way.
            let half = (least.ln() / 2.0).exp();
            if let Some((value, share)) = curve.iter().find(|(_, share)| *share <= half) {
                let (anchor, aside) = [(Anchor::End, -6.0), (Anchor::Start, 6.0)][index];
                canvas.text_if_free(class, anchor, x.at(*value) + aside, y.at(*share), name);
            }
        }
        let marks = curves.iter().zip(&told).flat_map(|(curve, told)| {
            told.iter().map(|index| (x.at(curve[*index].0), y.at(curve[*index].1))).collect::<Vec<_>>()
        });
        canvas.finish(marks.collect())
    };
    let tail = &compared.tail_mass;
    let title = match (tail.threshold, tail.question.of_a, tail.question.of_b) {
        (Some(at), Some(a), Some(b)) => {
            format!("{} of A and {} of B are longer than {} {unit}", percent(a), percent(b), three(at))
        }
        _ => "How many events are longer".into(),
    };
    Some(Plot {
        name: "tails",
        desc: format!("Share of events longer than each value. {title}."),
        title,
        caption: format!(
            "Both axes are logarithmic.{}",
            if lost == [0, 0] {
                ""
            } else {
                " What was lost counts as longer than any value: there a curve ends."
            }
        ),
        wide: draw(Room::Half),
        narrow: draw(Room::Narrow),
        numbers: Numbers {
            heads: ["side".to_owned(), format!("longer than, {unit}"), "share".into()].into(),
            rows: ["A", "B"]
                .iter()
                .zip(curves.iter().zip(&told))
                .flat_map(|(side, (curve, told))| {
                    told.iter().map(move |index| {
                        let (value, share) = (three(curve[*index].0), percent(curve[*index].1));
                        Reading {
                            words: format!("{share} of {side} is longer than {value} {unit}"),
                            cells: vec![(*side).to_owned(), value, share],
                        }
                    })
                })
                .collect(),
        },
    })
}

fn shift(compared: &Compared) -> Option<Plot> {
    let shifts = &compared.shift;
    shifts.first()?;
    let unit = unit(compared.unit_ns);
    let little = compared.core.smallest_effect.max(0.0);
    // An interval that is many times as long as all estimates would press them flat: it ends in an arrow.
    let estimates = shifts.iter().map(|line| line.estimate.abs()).fold(little, f64::max);
    let most = if estimates > 0.0 { estimates * FAR } else { f64::INFINITY };
    let reach = |line: &ShiftLine| {
        [
            line.low.unwrap_or(line.estimate),
            line.high.unwrap_or(line.estimate),
            line.estimate,
            0.0,
            little,
            -little,
        ]
        .map(|end| end.clamp(-most, most))
    };
    let low = shifts.iter().flat_map(reach).fold(f64::INFINITY, f64::min);
    let high = shifts.iter().flat_map(reach).fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = if low < high { (low, high) } else { (low - 1.0, high + 1.0) };
    let is_slower = |line: &ShiftLine| line.low.is_some_and(|low| low > matters(compared, line.p));
    let is_faster = |line: &ShiftLine| line.high.is_some_and(|high| high < -matters(compared, line.p));
    let draw = |room: Room| {
        let mut canvas = Canvas::new(room.width(), if room == Room::Narrow { 260.0 } else { 340.0 });
        let y_of = |frame: &Frame| Scale::linear((low, high), (frame.bottom, frame.top));
        let mut frame =
            Frame { left: 58.0, right: canvas.width - 14.0, top: 30.0, bottom: canvas.height - 44.0 };
        let rows: Vec<_> = y_of(&frame).ticks(7).into_iter().map(|tick| (tick, three(tick))).collect();
        frame.left = widest(&rows) + 14.0;
        let y = y_of(&frame);
        let x = Scale::linear((-0.5, shifts.len() as f64 - 0.5), (frame.left, frame.right));
        for (index, line) in shifts.iter().enumerate() {
            let (at, little) = (index as f64, matters(compared, line.p));
            if little > 0.0 {
                let across = (x.at(at - 0.5), x.at(at + 0.5));
                canvas.rect("little", across, (y.clamped(-little), y.clamped(little)));
            }
        }
        canvas.text("tick", Anchor::Start, 0.0, 12.0, &format!("B \u{2212} A, {unit}"));
        frame.rows(&mut canvas, &y, &rows);
        let columns: Vec<_> =
            shifts.iter().enumerate().map(|(index, line)| (index as f64, name(line.p))).collect();
        frame.columns(&mut canvas, &x, &columns, false);
        frame.name_columns(&mut canvas, "percentile");
        canvas.line("axis bold", (frame.left, y.at(0.0)), (frame.right, y.at(0.0)));
        let mut marks = Vec::new();
        for (index, line) in shifts.iter().enumerate() {
            let at = x.at(index as f64);
            let class = if is_slower(line) {
                "worse"
            } else if is_faster(line) {
                "better"
            } else {
                "open"
            };
            let (from, to) = (line.low.unwrap_or(f64::NEG_INFINITY), line.high.unwrap_or(f64::INFINITY));
            let (bottom, top) = (y.at(from.max(low)), y.at(to.min(high)));
            canvas.line(&format!("whisker {class}"), (at, bottom), (at, top));
            for (end, is_cut, way) in [(top, to > high, 1.0), (bottom, from < low, -1.0)] {
                let mut tip = Path::default();
                let back = if is_cut { end + way * 6.0 } else { end };
                tip.start(&canvas, at - 5.0, back);
                tip.line(&canvas, at, end);
                tip.line(&canvas, at + 5.0, back);
                canvas.path(&format!("cap {class}"), &tip);
            }
            let mut disc = Path::default();
            disc.disc(&canvas, at, y.at(line.estimate), 4.0);
            canvas.path(&format!("f{class}"), &disc);
            marks.push((at, y.at(line.estimate)));
        }
        canvas.finish(marks)
    };
    let rows = shifts.iter().map(|line| {
        let [low, high] = number::ends(line.low, line.high, three);
        let interval = format!("[{low}, {high}]");
        Reading {
            words: format!("{}: {} {unit} {interval}", name(line.p), three(line.estimate)),
            cells: vec![name(line.p), three(line.estimate), low, high],
        }
    });
    let slower = shifts.iter().filter(|line| is_slower(line)).count();
    let faster = shifts.iter().filter(|line| is_faster(line)).count();
    let title = format!(
        "Taken one by one, B is faster at {faster} and slower at {slower} of {} percentiles by more than matters",
        shifts.len()
    );
    Some(Plot {
        name: "shift",
        desc: format!("The shift function. {title}."),
        title,
        caption: format!(
            "Each percentile with its own {} interval, an arrow where that reaches farther; below the line B is faster. Grey: \
             too small to matter.",
            percent(compared.level)
        ),
        wide: draw(Room::Half),
        narrow: draw(Room::Narrow),
        numbers: Numbers {
            heads: ["percentile", "B \u{2212} A", "lower", "upper"].map(String::from).into(),
            rows: rows.collect(),
        },
    })
}

/// The smallest effect that matters at a percentile: the share that the questions have, of what A has there.
fn matters(compared: &Compared, p: f64) -> f64 {
    let core = &compared.core;
    let least = core.smallest_effect.max(0.0);
    let all = compared.a.count.0 as f64;
    let mut below = 0.0;
    let cell = compared.a.histogram.iter().find(|cell| {
        below += cell.count.0 as f64;
        below >= p * all
    });
    let share = core.of_a.filter(|of_a| *of_a > 0.0).map_or(0.0, |of_a| least / of_a);
    let value = cell.map_or(0.0, |cell| (cell.low + cell.high) / 2.0);
    if p > 0.5 { least.max(share * value) } else { least }
}

fn name(p: f64) -> String {
    format!("p{}", (p * 1e6).round() / 1e4)
}

/// Blocks of A, then of B, each a column of the same cells.
fn heat(compared: &Compared) -> Option<Plot> {
    let sides = [&compared.a, &compared.b];
    let columns: Vec<(usize, Vec<u64>)> = sides
        .iter()
        .enumerate()
        .flat_map(|(index, side)| side.over_time.iter().map(move |block| (index, block)))
        .map(|(index, block)| (index, row_counts(sides, index, &block.cells)))
        .collect();
    let (low, high) = edges(sides)?;
    if columns.is_empty() {
        return None;
    }
    let most = columns.iter().flat_map(|(_, counts)| counts).copied().max().unwrap_or(1).max(2) as f64;
    let unit = unit(compared.unit_ns);
    let draw = |room: Room| -> Drawing {
        let mut canvas = Canvas::new(room.width(), if room == Room::Narrow { 260.0 } else { 340.0 });
        let frame = Frame { left: 58.0, right: canvas.width - 12.0, top: 30.0, bottom: canvas.height - 44.0 };
        let y = Scale::logarithmic((low, high), (frame.bottom, frame.top));
        canvas.text("tick", Anchor::Start, 0.0, 12.0, &format!("{unit}, log"));
        let ticks: Vec<_> = y.ticks(6).into_iter().map(|tick| (tick, three(tick))).collect();
        frame.rows(&mut canvas, &y, &ticks);
        let gap = 10.0;
        let width = (frame.right - frame.left - gap) / columns.len() as f64;
        let height = (frame.bottom - frame.top) / ROWS as f64;
        for (column, (side, counts)) in columns.iter().enumerate() {
            let left = frame.left + width * column as f64 + if *side == 1 { gap } else { 0.0 };
            for (row, events) in counts.iter().enumerate().filter(|(_, events)| **events > 0) {
                let share = (*events as f64).ln_1p() / most.ln_1p();
                let shade = ((share * SHADES as f64).ceil() as usize).clamp(1, SHADES);
                let bottom = frame.bottom - height * row as f64;
                canvas.rect(
                    &format!("{} h{shade}", ["f4", "f2"][*side]),
                    (left, left + width),
                    (bottom, bottom - height),
                );
            }
        }
        let of_a = columns.iter().filter(|(side, _)| *side == 0).count() as f64;
        canvas.text("name tick", Anchor::Start, frame.left, frame.bottom + 16.0, "A, over time");
        canvas.text("name value", Anchor::Start, frame.left + width * of_a + gap, frame.bottom + 16.0, "B");
        let mut frames = Path::default();
        for (from, to) in
            [(frame.left, frame.left + width * of_a), (frame.left + width * of_a + gap, frame.right)]
        {
            frames.start(&canvas, from, frame.bottom);
            frames.line(&canvas, to, frame.bottom);
        }
        canvas.path("axis", &frames);
        let marks = columns.iter().enumerate().map(|(column, (side, counts))| {
            let left = frame.left + width * column as f64 + if *side == 1 { gap } else { 0.0 };
            let row = counts.iter().enumerate().max_by_key(|(_, events)| **events).map_or(0, |(row, _)| row);
            (left + width / 2.0, frame.bottom - height * (row as f64 + 0.5))
        });
        canvas.finish(marks.collect())
    };
    let rows = ["A", "B"].into_iter().zip(sides).flat_map(|(name, side)| {
        side.over_time.iter().enumerate().map(move |(index, block)| Reading {
            words: format!("block {} of {name}: {}", index + 1, plural(block.count.0, "event")),
            cells: vec![name.to_owned(), (index + 1).to_string(), count(block.count.0)],
        })
    });
    Some(Plot {
        name: "heat",
        title: "Both over time, block by block".into(),
        desc: "How many events of each block fall in each range of values.".into(),
        caption: "A stronger colour is more events, by the logarithm of their number; a slanted band is drift, a strong spot an incident.".into(),
        wide: draw(Room::Full),
        narrow: draw(Room::Narrow),
        numbers: Numbers { heads: ["side", "block", "events"].map(String::from).into(), rows: rows.collect() },
    })
}

fn edges(sides: [&SideLine; 2]) -> Option<(f64, f64)> {
    let cells = sides.iter().flat_map(|side| &side.histogram).filter(|cell| cell.low > 0.0);
    ends(cells.flat_map(|cell| [cell.low, cell.high]))
}

fn row_counts(sides: [&SideLine; 2], side: usize, cells: &[(u64, Count)]) -> Vec<u64> {
    let mut rows = vec![0; ROWS];
    let Some((low, high)) = edges(sides) else { return rows };
    let scale = Scale::logarithmic((low, high), (0.0, ROWS as f64));
    for (index, events) in cells {
        let Some(cell) = sides[side].histogram.get(*index as usize) else { continue };
        let row = scale.clamped((cell.low + cell.high) / 2.0) as usize;
        rows[row.min(ROWS - 1)] += events.0;
    }
    rows
}
