//! Arrivals against intent: the quantiles of the gaps between packets, asked for and as they left.

use super::axes::{Frame, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{fixed, nanoseconds};
use dropline_record::explanation::{Explanation, Quantile};

/// The graph of an explanation; `None` with too few packets, or where nobody asked for anything.
pub(crate) fn gaps(found: &Explanation, room: Room) -> Option<Plot> {
    let gaps = &found.course.gaps;
    if gaps.is_empty() || gaps.iter().all(|gap| gap.intended_ns == gap.left_ns) {
        return None;
    }
    let median = gaps.iter().min_by(|a, b| (a.p - 0.5).abs().total_cmp(&(b.p - 0.5).abs()))?;
    let [left, asked] = [median.left_ns, median.intended_ns].map(nanoseconds);
    let title = match left == asked {
        _ if median.left_ns == 0 => {
            format!("Half of the packets or more left together with another, asked for gaps of {asked}")
        }
        true => format!("Half of the gaps were {left} or less, as asked for"),
        false => format!("Half of the gaps were {left} or less, asked for {asked}"),
    };
    Some(Plot {
        name: "gaps",
        caption: "Quantiles of the time between packets: as they left, over as asked for. On the line they are equal; \
                  shorter gaps lie below it."
            .into(),
        desc: format!("Quantiles of the gaps between packets. {title}."),
        title,
        wide: draw(gaps, room),
        narrow: draw(gaps, Room::Narrow),
        numbers: numbers(gaps),
    })
}

/// Gaps below this are drawn at it: the axes are logarithmic.
const SHORTEST_NS: u64 = 100;

fn draw(gaps: &[Quantile], room: Room) -> Drawing {
    let mut canvas = Canvas::new(room.width(), if room == Room::Narrow { 300.0 } else { 330.0 });
    let all =
        || gaps.iter().flat_map(|gap| [gap.intended_ns, gap.left_ns]).map(|ns| ns.max(SHORTEST_NS) as f64);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(1.0, f64::max));
    let range = (low / 1.2, (high * 1.2).max(low * 2.0));
    let labels = |scale: &Scale| -> Vec<(f64, String)> {
        scale.ticks(6).into_iter().map(|tick| (tick, nanoseconds(tick as u64))).collect()
    };
    let left = 14.0 + widest(&labels(&Scale::logarithmic(range, (0.0, 1.0))));
    let frame = Frame { left, right: canvas.width - 16.0, top: 24.0, bottom: canvas.height - 44.0 };
    let x = Scale::logarithmic(range, (frame.left, frame.right));
    let y = Scale::logarithmic(range, (frame.bottom, frame.top));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, "gap as packets left");
    frame.rows(&mut canvas, &y, &labels(&y));
    frame.columns(&mut canvas, &x, &labels(&x), true);
    frame.name_columns(&mut canvas, "gap asked for");
    canvas.line("edge", (x.at(range.0), y.at(range.0)), (x.at(range.1), y.at(range.1)));
    let place = |gap: &Quantile| {
        let at = |ns: u64| ns.max(SHORTEST_NS) as f64;
        (x.clamped(at(gap.intended_ns)), y.clamped(at(gap.left_ns)))
    };
    let mut discs = Path::default();
    gaps.iter().map(place).for_each(|(x, y)| discs.disc(&canvas, x, y, 3.0));
    canvas.path("f0", &discs);
    canvas.finish(gaps.iter().map(place).collect())
}

fn numbers(gaps: &[Quantile]) -> Numbers {
    let heads = ["share below, %", "asked for", "as packets left"];
    let rows = gaps.iter().map(|gap| {
        let share = fixed(gap.p * 100.0, 4);
        let (intended, left) = (nanoseconds(gap.intended_ns), nanoseconds(gap.left_ns));
        Reading {
            words: format!("{share} % of the gaps: below {left}, asked for {intended}"),
            cells: vec![share, intended, left],
        }
    });
    Numbers { heads: heads.iter().map(|head| (*head).to_owned()).collect(), rows: rows.collect() }
}
