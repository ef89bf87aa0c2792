//! Delay percentiles: a curve a load, both axes logarithmic.

use super::axes::{Frame, spread};
use super::canvas::{Anchor, Canvas, Drawing, Path, text_width};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::denial::{are_delays_ours, that_count};
use crate::number::{Loads, nanoseconds, percent};
use crate::prose::labelled;
use crate::search_summary::SearchSummary;
use dropline_record::LoadUnit;
use dropline_record::{DelayLine, Histogram, TrialLine};

/// Points of a curve.
const POINTS: usize = 72;
/// Curves of a plot.
const CURVES: usize = 10;
/// A curve ends where fewer packets lie beyond.
const BEYOND: f64 = 5.0;
/// Percentiles in the table and under the cursor.
const STATED: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

/// All delays at one load, or of one kind.
#[derive(Clone, Debug)]
struct Curve {
    name: String,
    below: String,
    /// Where it was measured, for a title: `At 90 % of the load for no loss`; empty where that is said elsewhere.
    at: String,
    packets: u64,
    /// What they are called.
    what: LoadUnit,
    /// (1 ÷ (1 − p), nanoseconds), ascending.
    points: Vec<(f64, f64)>,
    /// (p, nanoseconds).
    stated: Vec<(f64, u64)>,
    /// From light to heavy load, 0 to 4.
    shade: usize,
    /// Drawn dashed: not a delay of the target.
    late: bool,
    /// Our own lateness is most of it.
    ours: bool,
    /// Fewer than half of the packets came back.
    few: bool,
    /// At the load that the search answers with, or the heaviest one below it.
    is_near: bool,
}

/// What a plot is about, beside its curves.
#[derive(Clone, Debug)]
struct Story {
    curves: Vec<Curve>,
    title: String,
    caption: String,
}

/// The ends of both axes.
#[derive(Clone, Copy, Debug)]
struct Axes {
    /// Largest 1 ÷ (1 − p).
    far: f64,
    /// In nanoseconds.
    low: f64,
    high: f64,
}

/// The graph of a single trial's delays; `None` when none was measured.
pub(crate) fn trial_delay(trial: &TrialLine, room: Room, what: LoadUnit) -> Option<Plot> {
    let curves = of_trial(trial, what);
    let title = curves.first()?.title();
    let story = Story { curves, title, caption: String::new() };
    let axes = Axes::of([&story])?;
    Some(story.plot(axes, room))
}

/// The graphs of searches on common axes, of those that measured delays; labels tell them apart.
pub(crate) fn delays<'a>(
    searches: impl IntoIterator<Item = (&'a SearchSummary<'a>, String)>,
    loads: Loads,
    room: Room,
) -> Vec<Plot> {
    let stories: Vec<Story> =
        searches.into_iter().filter_map(|(finding, label)| of_search(finding, loads, &label)).collect();
    let Some(axes) = Axes::of(&stories) else { return Vec::new() };
    stories.into_iter().map(|story| story.plot(axes, room)).collect()
}

fn of_search(finding: &SearchSummary, loads: Loads, label: &str) -> Option<Story> {
    let what = finding.record.header.load_unit;
    let (curves, all, each) = if finding.delays().is_empty() {
        let (curves, all) = by_load(finding, loads, what);
        (curves, all, "loads")
    } else {
        let (curves, all) = asked(finding, loads, what);
        (curves, all, "delays that were asked for")
    };
    // Of the answer, and of a load at which most packets came back: the delays of a few say little of it, and nobody asks for what
    // packets take far above the limit.
    let told = || curves.iter().rev().filter(|curve| !curve.few);
    let told = told().find(|curve| curve.is_near).or(told().next()).or(curves.last())?;
    let title = match told {
        heaviest if heaviest.ours => format!("{}, our own lateness included", heaviest.title()),
        heaviest => heaviest.title(),
    };
    let caption =
        if all > curves.len() { format!(" {} of {all} {each}.", curves.len()) } else { String::new() };
    Some(Story { curves, title: labelled(label, title), caption })
}

impl Axes {
    /// `None` without curves.
    fn of<'a>(stories: impl IntoIterator<Item = &'a Story>) -> Option<Self> {
        let points = stories.into_iter().flat_map(|story| &story.curves).flat_map(|curve| &curve.points);
        points.fold(None, |axes: Option<Self>, &(x, y)| {
            let axes = axes.unwrap_or(Self { far: 10.0, low: y, high: y });
            Some(Self { far: axes.far.max(x), low: axes.low.min(y), high: axes.high.max(y) })
        })
    }
}

impl Story {
    fn plot(self, axes: Axes, room: Room) -> Plot {
        let words: Vec<String> = self.curves.iter().map(Curve::words).collect();
        Plot {
            name: "delay",
            desc: format!("Delay percentiles. {}.", words.join("; ")),
            caption: format!(
                "A curve ends in a ring where fewer than five {} lie beyond.{}",
                self.curves.first().map_or(LoadUnit::Packets, |curve| curve.what).many(),
                self.caption
            ),
            wide: draw(&self.curves, axes, room),
            narrow: draw(&self.curves, axes, Room::Narrow),
            numbers: numbers(&self.curves),
            title: self.title,
        }
    }
}

impl Curve {
    /// `None` when too few packets came back to say anything.
    fn new(name: String, below: String, histogram: &Histogram) -> Option<Self> {
        let packets = histogram.count();
        let end = packets as f64 / BEYOND;
        let first = histogram.min()?;
        let mut points = vec![(1.0, first.max(1) as f64)];
        if end > 1.0 {
            for index in 1..=POINTS {
                let x = end.powf(index as f64 / POINTS as f64);
                if let Some(value) = histogram.quantile((1.0 - 1.0 / x).clamp(0.0, 1.0)) {
                    points.push((x, value.max(1) as f64));
                }
            }
        }
        let bears = |p: &&f64| (1.0 - **p) * packets as f64 >= BEYOND - 1e-9;
        let stated = STATED.iter().filter(bears).filter_map(|&p| Some((p, histogram.quantile(p)?))).collect();
        let (at, what) = (String::new(), LoadUnit::Packets);
        Some(Self {
            name,
            below,
            at,
            packets,
            what,
            points,
            stated,
            shade: 4,
            late: false,
            ours: false,
            few: false,
            is_near: false,
        })
    }

    /// What this curve says, and where: a title speaks of one curve alone.
    fn title(&self) -> String {
        match self.tail() {
            Some((who, value)) => {
                let said = format!("{} {who} {} or more", self.at, nanoseconds(value));
                crate::prose::sentence_case(said.trim_start())
            }
            None => format!("Too few {} came back for percentiles", self.what.many()),
        }
    }

    fn words(&self) -> String {
        let values: Vec<String> = self
            .stated
            .iter()
            .map(|(p, value)| format!("p{} {}", per_cent(*p), nanoseconds(*value)))
            .collect();
        format!("{} {}: {}", self.name, self.below, values.join(", "))
    }

    /// The value that a share of the packets reaches, as far out as the count bears.
    fn tail(&self) -> Option<(String, u64)> {
        let (one, many) = (self.what.one(), self.what.many());
        let at = |p: f64| self.stated.iter().find(|(stated, _)| *stated == p).map(|(_, value)| *value);
        let (takes, take) = if self.late { ("leaves late by", "leave late by") } else { ("takes", "take") };
        at(0.999)
            .map(|value| (format!("one {one} in 1000 {takes}"), value))
            .or_else(|| at(0.99).map(|value| (format!("one {one} in 100 {takes}"), value)))
            .or_else(|| at(0.5).map(|value| (format!("half the {many} {take}"), value)))
    }
}

/// The delays that were asked for, at shares of the goals' loads, light to heavy; the heaviest of them where there are
/// many, and how many there are.
fn asked(finding: &SearchSummary, loads: Loads, what: LoadUnit) -> (Vec<Curve>, usize) {
    let mut delays = finding.delays();
    let several = delays.iter().any(|delay| delay.0 != delays[0].0);
    delays.sort_by(|a, b| a.2.intended_load_pps.total_cmp(&b.2.intended_load_pps).then(a.0.cmp(&b.0)));
    delays.dedup_by_key(|(_, _, trial)| trial.number);
    let curves = delays.iter().filter_map(|(goal, share, trial)| {
        let histogram = histogram(trial.delay_ns.as_ref()?)?;
        let (share, goal) = (percent(*share), finding.names.get(*goal).map_or("a goal", String::as_str));
        let name = if several { format!("{share} of {goal}") } else { share.clone() };
        let curve = Curve::new(name, loads.with_unit(trial.intended_load_pps), &histogram)?;
        Some(Curve {
            at: format!("At {share} of the load for {goal}"),
            what,
            ours: are_delays_ours(trial),
            ..curve
        })
    });
    let mut curves: Vec<Curve> = curves.collect();
    let all = curves.len();
    curves.drain(..all.saturating_sub(CURVES));
    (shaded(curves), all)
}

/// Delays of a search's trials, those at one load together; some of the loads when there are many.
fn by_load(finding: &SearchSummary, loads: Loads, what: LoadUnit) -> (Vec<Curve>, usize) {
    let record = finding.record;
    let has_delays = |trial: &&TrialLine| trial.delay_ns.is_some();
    let mut measured: Vec<&TrialLine> = that_count(&record.trials).filter(has_delays).collect();
    if measured.is_empty() {
        measured = record.trials.iter().filter(has_delays).collect();
    }
    measured.sort_by(|a, b| a.intended_load_pps.total_cmp(&b.intended_load_pps));
    let groups: Vec<&[&TrialLine]> =
        measured.chunk_by(|a, b| a.intended_load_pps == b.intended_load_pps).collect();
    let all = groups.len();
    let answer = finding.answers.iter().filter_map(|answer| answer.upper_pps.or(answer.lower_pps));
    let answer = answer.fold(0.0, f64::max);
    let near = groups.iter().rposition(|group| group[0].intended_load_pps <= answer);
    let mut chosen: Vec<usize> = if all <= CURVES {
        (0..all).collect()
    } else {
        (0..CURVES).map(|index| index * (all - 1) / (CURVES - 1)).collect()
    };
    if let Some(near) = near {
        // The load of the answer takes the place of its neighbour.
        let place = chosen.partition_point(|index| *index < near).min(chosen.len() - 1);
        chosen[place] = near;
    }
    let curves = chosen
        .into_iter()
        .filter_map(|index| {
            let group = groups[index];
            let mut sum = Histogram::new();
            for trial in group {
                sum.merge(&histogram(trial.delay_ns.as_ref()?)?);
            }
            let load = loads.with_unit(group[0].intended_load_pps);
            let at = format!("At {}", loads.with_unit(group[0].intended_load_pps));
            let offered: u64 = group.iter().map(|trial| trial.offered.0).fold(0, u64::saturating_add);
            let few = sum.count() < offered / 2;
            let ours = group.iter().any(|trial| are_delays_ours(trial));
            let is_near = near == Some(index);
            Some(Curve { at, what, ours, few, is_near, ..Curve::new(String::new(), load, &sum)? })
        })
        .collect();
    (shaded(curves), all)
}

/// A trial's delay, and how late its packets left.
fn of_trial(trial: &TrialLine, what: LoadUnit) -> Vec<Curve> {
    let free = trial.passages.is_some() && trial.intended.is_none();
    let due = if free { "from source to sink" } else { "from when due" };
    let kinds = [
        ("delay", due, &trial.delay_ns, 4, false),
        ("delay", "from when sent", &trial.service_delay_ns, 2, false),
        ("lateness", "of sending", &trial.lateness_ns, 1, true),
    ];
    kinds
        .into_iter()
        .filter_map(|(name, below, line, shade, late)| {
            let curve = Curve::new(name.into(), below.into(), &histogram(line.as_ref()?)?)?;
            Some(Curve { shade, late, what, ..curve })
        })
        .collect()
}

fn histogram(line: &DelayLine) -> Option<Histogram> {
    Histogram::from_v2_deflate(&line.histogram).ok()
}

/// Light loads pale, the heaviest in ink.
fn shaded(mut curves: Vec<Curve>) -> Vec<Curve> {
    let last = curves.len().saturating_sub(1).max(1);
    let few = curves.len() == 1;
    for (index, curve) in curves.iter_mut().enumerate() {
        curve.shade = if few { 4 } else { index * 4 / last };
    }
    curves
}

fn draw(curves: &[Curve], axes: Axes, room: Room) -> Drawing {
    let narrow = room == Room::Narrow;
    let mut canvas = Canvas::new(room.width(), if narrow { 306.0 } else { 330.0 });
    let labels = curves.iter().flat_map(|curve| [curve.name.as_str(), curve.below.as_str()]);
    let label_room = labels.map(|label| text_width(label) * 1.08).fold(40.0, f64::max) + 14.0;
    let frame =
        Frame { left: 58.0, right: canvas.width - label_room, top: 30.0, bottom: canvas.height - 44.0 };
    let Axes { far, low, high } = axes;
    let x = Scale::logarithmic((1.0, far * 1.15), (frame.left, frame.right));
    let y = Scale::logarithmic((low / 1.15, high * 1.25), (frame.bottom, frame.top));

    canvas.text("tick", Anchor::Start, 0.0, 12.0, "delay, log");
    let ticks: Vec<(f64, String)> =
        y.ticks(10).into_iter().map(|value| (value, nanoseconds(value.round() as u64))).collect();
    frame.rows(&mut canvas, &y, &ticks);
    frame.left_axis(&mut canvas, None);
    let percentiles: Vec<(f64, String)> = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999]
        .into_iter()
        .map(|p| (1.0 / (1.0 - p), per_cent(p)))
        .filter(|(value, _)| x.shows(*value))
        .collect();
    frame.columns(&mut canvas, &x, &percentiles, true);
    frame.name_columns(&mut canvas, "percentile: each step to the right is ten times rarer");
    for curve in curves {
        let mut path = Path::default();
        for (index, (at, value)) in curve.points.iter().enumerate() {
            if index == 0 {
                path.start(&canvas, x.clamped(*at), y.clamped(*value));
            } else {
                path.line(&canvas, x.clamped(*at), y.clamped(*value));
            }
        }
        let late = if curve.late { " late" } else { "" };
        canvas.path(&format!("curve r{}{late}", curve.shade), &path);
    }
    let ends: Vec<(f64, f64)> = curves
        .iter()
        .map(|curve| curve.points.last().map_or((1.0, low), |end| *end))
        .map(|(at, value)| (x.clamped(at), y.clamped(value)))
        .collect();
    for (curve, (at, value)) in curves.iter().zip(&ends) {
        let mut ring = Path::default();
        ring.disc(&canvas, *at, *value, 3.2);
        canvas.path(&format!("ring r{}", curve.shade), &ring);
    }
    label(&mut canvas, frame, curves, &ends);
    let marks = curves
        .iter()
        .flat_map(|curve| &curve.stated)
        .map(|(p, value)| (x.clamped(1.0 / (1.0 - p)), y.clamped((*value).max(1) as f64)))
        .collect();
    canvas.finish(marks)
}

/// Names at the ends of the curves; of many curves, those that have room.
fn label(canvas: &mut Canvas, frame: Frame, curves: &[Curve], ends: &[(f64, f64)]) {
    let lines = if curves.iter().any(|curve| !curve.name.is_empty()) { 2.0 } else { 1.0 };
    let height = lines * 15.0 + 2.0;
    let room = ((frame.bottom - frame.top) / height) as usize;
    let mut order: Vec<usize> = (0..curves.len()).collect();
    // The heaviest and the lightest first, so that they keep their names.
    order.sort_by_key(|&index| (index != curves.len() - 1, index != 0, index));
    let mut named: Vec<usize> = Vec::new();
    for index in order {
        let near = |other: &usize| (ends[*other].1 - ends[index].1).abs() < height * 0.55;
        if named.len() < room && (curves.len() <= 4 || !named.iter().any(near)) {
            named.push(index);
        }
    }
    named.sort_unstable();
    let wanted: Vec<f64> = named.iter().map(|&index| ends[index].1 - height / 2.0).collect();
    let tops = spread(&wanted, height, frame.top - 8.0, frame.bottom - height);
    for (&index, top) in named.iter().zip(tops) {
        let (curve, x) = (&curves[index], ends[index].0 + 8.0);
        if lines > 1.0 {
            canvas.text("name value", Anchor::Start, x, top + 12.0, &curve.name);
        }
        canvas.text("", Anchor::Start, x, top + 12.0 + (lines - 1.0) * 14.0, &curve.below);
    }
}

fn numbers(curves: &[Curve]) -> Numbers {
    let what = curves.first().map_or(LoadUnit::Packets, |curve| curve.what).many();
    let heads = ["at", "time", what, "percentile", "delay"].iter().map(|head| (*head).to_owned()).collect();
    let rows = curves
        .iter()
        .flat_map(|curve| {
            curve.stated.iter().map(|(p, value)| Reading {
                words: format!(
                    "{} {}: p{} is {}, of {} {what}",
                    curve.name,
                    curve.below,
                    per_cent(*p),
                    nanoseconds(*value),
                    crate::number::count(curve.packets)
                )
                .trim_start()
                .to_owned(),
                cells: vec![
                    curve.below.clone(),
                    curve.name.clone(),
                    crate::number::count(curve.packets),
                    per_cent(*p),
                    nanoseconds(*value),
                ],
            })
        })
        .collect();
    Numbers { heads, rows }
}

/// 0.999 as `99.9`.
fn per_cent(p: f64) -> String {
    let text = format!("{:.4}", p * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_fewer_than_five_packets_lie_beyond() {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|value| histogram.record(value * 1000));
        let curve = Curve::new(String::new(), String::new(), &histogram).unwrap();
        assert!((curve.points.last().unwrap().0 - 200.0).abs() < 1e-6);
        assert_eq!(curve.stated.iter().map(|(p, _)| *p).collect::<Vec<_>>(), [0.5, 0.9, 0.99]);
        assert_eq!(curve.tail().unwrap().0, "one packet in 100 takes");
    }

    #[test]
    fn one_packet_has_no_percentiles_and_no_panic() {
        let mut histogram = Histogram::new();
        histogram.record(0);
        let curve = Curve::new("a".into(), String::new(), &histogram).unwrap();
        let story = Story { curves: vec![curve], title: String::new(), caption: String::new() };
        let axes = Axes::of([&story]).unwrap();
        assert!(story.plot(axes, Room::Half).numbers.rows.is_empty());
    }
}
