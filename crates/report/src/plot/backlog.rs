//! What waited at the target over the time of a trial: measured, replayed, and how much fits.

use super::axes::{Frame, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::explained::cause_title;
use crate::number::{self, count, fixed, three};
use dropline_record::explanation::{Explanation, Part};

/// The graph of an explanation; `None` where no packet was looked at.
pub(crate) fn backlog(found: &Explanation, room: Room) -> Option<Plot> {
    let parts = &found.course.overview;
    if !parts.iter().any(|part| part.backlog.is_some() || part.replayed.is_some()) {
        return None;
    }
    let most =
        |of: fn(&Part) -> Option<u32>| parts.iter().filter_map(of).max().map(|most| count(u64::from(most)));
    let (seen, replayed) = (most(|part| part.backlog), most(|part| part.replayed));
    let waited = match (seen, replayed) {
        (Some(seen), Some(replayed)) if seen != replayed => {
            format!("at most {seen}, {replayed} in the replay")
        }
        (seen, replayed) => format!("at most {}", seen.or(replayed).unwrap_or_default()),
    };
    Some(Plot {
        name: "backlog",
        title: cause_title(found),
        caption:
            "Most packets at the target in each part of the trial: as they were (line), and in the replay \
                  (grey, dashed). Marks at the top: packets were lost. The level: what fits."
                .into(),
        desc: format!("Packets that waited over time, {waited}. {}.", cause_title(found)),
        wide: draw(found, room),
        narrow: draw(found, Room::Narrow),
        numbers: numbers(parts),
    })
}

fn draw(found: &Explanation, room: Room) -> Drawing {
    let parts = &found.course.overview;
    let mut canvas = Canvas::new(room.width(), if room == Room::Narrow { 260.0 } else { 330.0 });
    let fits = found.buffer.map(|buffer| buffer.packets as f64);
    let seen = parts.iter().filter_map(|part| part.backlog.max(part.replayed)).max().unwrap_or(0);
    let high = f64::from(seen).max(fits.unwrap_or(0.0)).max(1.0) * 1.12;
    let labels = |scale: &Scale| -> Vec<(f64, String)> {
        scale
            .ticks(5)
            .into_iter()
            .filter(|tick| tick.fract() == 0.0)
            .map(|tick| (tick, fixed(tick, 0)))
            .collect()
    };
    let left = 14.0 + widest(&labels(&Scale::linear((0.0, high), (0.0, 1.0))));
    let frame = Frame { left, right: canvas.width - 12.0, top: 34.0, bottom: canvas.height - 44.0 };
    let width = parts.get(1).map_or(1, |part| part.at_ns).max(1);
    let until = (width * parts.len() as u64) as f64 / 1e9;
    let time = Scale::linear((0.0, until), (frame.left, frame.right));
    let y = Scale::linear((0.0, high), (frame.bottom, frame.top));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, "packets at the target");
    let ticks = labels(&y);
    frame.rows(&mut canvas, &y, &ticks);
    let ticks: Vec<(f64, String)> = time.ticks(8).into_iter().map(|value| (value, three(value))).collect();
    frame.columns(&mut canvas, &time, &ticks, false);
    frame.name_columns(&mut canvas, "time, s");
    if let Some(fits) = fits {
        let at = y.clamped(fits);
        canvas.line("s2 goal", (frame.left, at), (frame.right, at));
        let words = format!("{} fit", count(fits as u64));
        canvas.text("value halo", Anchor::End, frame.right, at - 5.0, &words);
    }
    let middle = |part: &Part| time.clamped((part.at_ns + width / 2) as f64 / 1e9);
    for (class, value) in [
        ("curve late r2", (|part: &Part| part.replayed) as fn(&Part) -> Option<u32>),
        ("curve r4", |part: &Part| part.backlog),
    ] {
        let mut path = Path::default();
        let mut drawing = false;
        for part in parts {
            let Some(value) = value(part) else { continue };
            let (x, y) = (middle(part), y.clamped(f64::from(value)));
            if drawing {
                path.line(&canvas, x, y)
            } else {
                path.start(&canvas, x, y)
            }
            drawing = true;
        }
        canvas.path(class, &path);
    }
    let mut lost = Path::default();
    for part in parts.iter().filter(|part| part.lost.is_some_and(|lost| lost > 0)) {
        let x = middle(part);
        lost.start(&canvas, x - 0.8, frame.top - 12.0);
        lost.line(&canvas, x + 0.8, frame.top - 12.0);
        lost.line(&canvas, x + 0.8, frame.top - 4.0);
        lost.line(&canvas, x - 0.8, frame.top - 4.0);
        lost.close();
    }
    canvas.path("tri", &lost);
    let marks = parts
        .iter()
        .map(|part| (middle(part), y.clamped(f64::from(part.backlog.or(part.replayed).unwrap_or(0)))));
    canvas.finish(marks.collect())
}

fn numbers(parts: &[Part]) -> Numbers {
    let heads = ["from, s", "arrived", "lost", "at the target", "in the replay"];
    let shown = |value: Option<u64>| value.map_or_else(|| "\u{2013}".into(), count);
    let rows = parts.iter().map(|part| {
        let from = fixed(part.at_ns as f64 / 1e9, 3);
        let (backlog, replayed) = (part.backlog.map(u64::from), part.replayed.map(u64::from));
        Reading {
            words: format!(
                "from {from}{}s: {} arrived, lost {}, {} at the target, {} in the replay",
                number::JOIN,
                count(part.arrived),
                shown(part.lost),
                shown(backlog),
                shown(replayed)
            ),
            cells: vec![from, count(part.arrived), shown(part.lost), shown(backlog), shown(replayed)],
        }
    });
    Numbers { heads: heads.iter().map(|head| (*head).to_owned()).collect(), rows: rows.collect() }
}
