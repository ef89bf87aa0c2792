//! Two histograms on the same bins: A, before, as an area, and B, after, as a line.

use super::axes::{Frame, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{listed, percent, three};
use crate::text::unit;
use dropline_record::Compared;
use dropline_record::compared::{ComparedModeLine, SideLine};

/// Bins of the widest drawing.
const BINS: f64 = 56.0;
/// Peaks of a side that a title names.
const NAMED: usize = 3;

/// A bin and the share of each side's events in it.
#[derive(Clone, Copy, Debug)]
struct Bin {
    low: f64,
    high: f64,
    shares: [f64; 2],
}

/// Both histograms; `None` where one side has no events.
pub(crate) fn both(compared: &Compared) -> Option<Plot> {
    let bins = bins([&compared.a, &compared.b])?;
    let unit = unit(compared.unit_ns);
    let title = title(compared, unit);
    let rows = bins.iter().map(|bin| {
        let [a, b] = bin.shares.map(percent);
        Reading {
            words: format!("{} to {} {unit}: A {a}, B {b}", three(bin.low), three(bin.high)),
            cells: vec![three(bin.low), three(bin.high), a, b],
        }
    });
    Some(Plot {
        name: "both",
        desc: format!("The histograms of A and B. {title}."),
        title,
        caption: "Grey area: A, before. Line: B, after. Both axes are logarithmic, so that a rare path can be seen; on the \
                  foot there is no event."
            .into(),
        wide: draw(compared, &bins, unit, Room::Full),
        narrow: draw(compared, &bins, unit, Room::Narrow),
        numbers: Numbers {
            heads: [&format!("from, {unit}"), &format!("to, {unit}"), "A", "B"].map(|head| head.to_owned()).into(),
            rows: rows.collect(),
        },
    })
}

/// The peaks of both, or their medians.
fn title(compared: &Compared, unit: &str) -> String {
    let peaks = |modes: &[ComparedModeLine]| {
        let mut heaviest = modes.to_vec();
        heaviest.sort_by(|x, y| y.mass.total_cmp(&x.mass));
        heaviest.truncate(NAMED);
        heaviest.sort_by(|x, y| x.peak.total_cmp(&y.peak));
        listed(&heaviest.iter().map(|mode| three(mode.peak)).collect::<Vec<_>>())
    };
    match (&compared.modes, compared.core.of_a, compared.core.of_b) {
        (Some(modes), ..) if !modes.a.is_empty() && !modes.b.is_empty() => {
            format!("A peaks at {} {unit}, B at {} {unit}", peaks(&modes.a), peaks(&modes.b))
        }
        (_, Some(a), Some(b)) => {
            format!("Half of A's events take {} {unit} or less, half of B's {} {unit}", three(a), three(b))
        }
        _ => "How long the events of A and of B take".into(),
    }
}

/// Bins that both have, with the edges of their own cells, as equal as these allow on a logarithmic axis.
fn bins(sides: [&SideLine; 2]) -> Option<Vec<Bin>> {
    let mut edges: Vec<f64> = sides
        .iter()
        .flat_map(|side| &side.histogram)
        .flat_map(|cell| [cell.low, cell.high])
        .filter(|edge| *edge > 0.0 && edge.is_finite())
        .collect();
    edges.sort_by(f64::total_cmp);
    let (first, last) = (*edges.first()?, *edges.last()?);
    if sides.iter().any(|side| side.count.0 == 0) || first >= last {
        return None;
    }
    let step = (last / first).powf(1.0 / BINS);
    let mut chosen = vec![first];
    for edge in edges {
        if edge >= chosen[chosen.len() - 1] * step * 0.999 {
            chosen.push(edge);
        }
    }
    if chosen[chosen.len() - 1] < last {
        chosen.push(last);
    }
    let mut bins: Vec<Bin> =
        chosen.windows(2).map(|pair| Bin { low: pair[0], high: pair[1], shares: [0.0; 2] }).collect();
    for (index, side) in sides.into_iter().enumerate() {
        let all = side.histogram.iter().map(|cell| cell.count.0 as f64).sum::<f64>().max(1.0);
        for cell in &side.histogram {
            let middle = (cell.low + cell.high) / 2.0;
            let at = bins.partition_point(|bin| bin.high <= middle).min(bins.len() - 1);
            bins[at].shares[index] += cell.count.0 as f64 / all;
        }
    }
    Some(bins)
}

fn density(bin: &Bin, side: usize) -> f64 {
    bin.shares[side] / (bin.high - bin.low)
}

fn draw(compared: &Compared, bins: &[Bin], unit: &str, room: Room) -> Drawing {
    let narrow = room == Room::Narrow;
    let mut canvas = Canvas::new(room.width(), if narrow { 290.0 } else { 360.0 });
    let all = || bins.iter().flat_map(|bin| [density(bin, 0), density(bin, 1)]).filter(|one| *one > 0.0);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let range = (low / 1.8, high * 1.6);
    let labels = |scale: &Scale| -> Vec<(f64, String)> {
        scale.ticks(6).into_iter().map(|tick| (tick, percent(tick))).collect()
    };
    let left = widest(&labels(&Scale::logarithmic(range, (1.0, 0.0)))) + 12.0;
    let frame = Frame { left, right: canvas.width - 12.0, top: 58.0, bottom: canvas.height - 44.0 };
    let x = Scale::logarithmic((bins[0].low, bins[bins.len() - 1].high), (frame.left, frame.right));
    let y = Scale::logarithmic(range, (frame.bottom, frame.top));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, &format!("share of events per {unit}, log"));
    frame.rows(&mut canvas, &y, &labels(&y));
    let columns: Vec<_> =
        x.ticks(if narrow { 5 } else { 9 }).into_iter().map(|tick| (tick, three(tick))).collect();
    frame.columns(&mut canvas, &x, &columns, false);
    frame.name_columns(&mut canvas, &format!("{unit}, log"));
    let foot = |value: f64| if value > 0.0 { y.clamped(value) } else { frame.bottom };
    for (side, class) in [(0, "before"), (1, "after")] {
        let mut path = Path::default();
        path.start(&canvas, x.clamped(bins[0].low), frame.bottom);
        for bin in bins {
            path.line(&canvas, x.clamped(bin.low), foot(density(bin, side)));
            path.line(&canvas, x.clamped(bin.high), foot(density(bin, side)));
        }
        path.line(&canvas, frame.right, frame.bottom);
        canvas.path(class, &path);
    }
    if let Some(at) = compared.tail_mass.threshold.filter(|at| x.shows(*at)) {
        canvas.line("phase", (x.at(at), frame.top), (x.at(at), frame.bottom));
        canvas.text_if_free(
            "tick",
            Anchor::Start,
            x.at(at) + 5.0,
            frame.top + 10.0,
            &format!("{} {unit}", three(at)),
        );
    }
    brackets(&mut canvas, compared, &x, unit);
    for (side, name, class) in [(0, "A", "name tick halo"), (1, "B", "name value halo")] {
        let most = bins.iter().max_by(|p, q| density(p, side).total_cmp(&density(q, side)));
        if let Some(bin) = most {
            let up = if side == 0 { 18.0 } else { -6.0 };
            let at = x.clamped((bin.low * bin.high).sqrt());
            canvas.text_if_free(class, Anchor::Middle, at, y.clamped(density(bin, side)) + up, name);
        }
    }
    let place = |bin: &Bin| (x.clamped((bin.low * bin.high).sqrt()), foot(density(bin, 1)));
    canvas.finish(bins.iter().map(place).collect())
}

/// Over each mode of the side that has more of them: its range, and the share of A and of B in it, the one as the text has it and
/// the other counted in the same range.
fn brackets(canvas: &mut Canvas, compared: &Compared, x: &Scale, unit: &str) {
    let Some(modes) = &compared.modes else { return };
    let (own, modes) = if modes.b.len() > modes.a.len() { (1, &modes.b) } else { (0, &modes.a) };
    let sides = [&compared.a, &compared.b];
    for mode in modes {
        let (left, right) = (x.clamped(mode.low), x.clamped(mode.high));
        let inside = |side: usize| {
            percent(if side == own { mode.mass } else { within(sides[side], (mode.low, mode.high)) })
        };
        let words =
            format!("{} to {} {unit}: A {}, B {}", three(mode.low), three(mode.high), inside(0), inside(1));
        if canvas.text_if_free("tick", Anchor::Middle, (left + right) / 2.0, 34.0, &words) {
            let mut bracket = Path::default();
            bracket.start(canvas, left, 46.0);
            bracket.line(canvas, left, 41.0);
            bracket.line(canvas, right, 41.0);
            bracket.line(canvas, right, 46.0);
            canvas.path("axis", &bracket);
        }
    }
}

/// The share of a side's events in the cells of a range.
fn within(side: &SideLine, range: (f64, f64)) -> f64 {
    let all: u64 = side.histogram.iter().map(|cell| cell.count.0).sum();
    let is_inside = |low: f64, high: f64| (range.0..=range.1).contains(&((low + high) / 2.0));
    let inside = side.histogram.iter().filter(|cell| is_inside(cell.low, cell.high));
    inside.map(|cell| cell.count.0).sum::<u64>() as f64 / all.max(1) as f64
}
