//! The whole range of loads, from idle to overload: what every trial forwarded, and how long its packets took.

use super::axes::{Frame, load_ticks, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room, apart_words, overview};
use crate::number::{self, Loads, listed, nanoseconds, percent};
use crate::prose::labelled;
use crate::search_summary::SearchSummary;
use dropline_record::{CaveatLine, DelayLine, TrialLine};

/// From this ratio of the highest to the lowest load on, the axis is logarithmic.
const WIDE: f64 = 8.0;
/// Trials at neighbouring loads whose least and most is a band.
const BESIDE: usize = 5;
/// A highest load that brings this share of the most at most is a collapse.
const FALLEN: f64 = 0.9;

/// Percentiles that are drawn over the load: name, class, where they stand.
type Percentile = (&'static str, &'static str, fn(&DelayLine) -> Option<u64>);
const PERCENTILES: [Percentile; 3] = [
    ("p50", "q0", |delay| delay.p50),
    ("p99", "q1", |delay| delay.p99),
    ("p99.9", "q2", |delay| delay.p99_9),
];

/// What was forwarded over what was offered, in every trial of one search that counts; `None` below two loads.
pub(crate) fn forwarded(finding: &SearchSummary, loads: Loads, room: Room, label: &str) -> Option<Plot> {
    let (trials, left_out) = counted(finding);
    let range = range(&trials)?;
    let (_, disturbed) = sound(&trials, "see the caveats");
    let shown = overview(&trials, &told(&trials), |trial| {
        let x = Scale::logarithmic(range, (0.0, room.width()));
        let y = Scale::logarithmic(range, (0.0, 300.0));
        (x.clamped(trial.intended_load_pps), y.clamped(trial.forwarding_rate_pps))
    });
    // An answer that comes later than a goal allows is not counted.
    let is_bound = finding.answers.iter().any(|answer| answer.goal.within_s.is_some());
    let in_time = if is_bound { " in time" } else { "" };
    let highest = if left_out.is_empty() { "the highest load" } else { "the highest load that counts" };
    let title = labelled(label, forwarded_title(&trials, loads, in_time, highest));
    let band = if trials.len() >= BESIDE {
        format!(
            " The band: the least and the most of {} at neighbouring loads.",
            number::plural(BESIDE as u64, "trial")
        )
    } else {
        String::new()
    };
    Some(Plot {
        name: "forwarded",
        caption: format!(
            "Each mark is a trial, hollow if it lost nothing; on the dotted line all that is offered comes back.{band} The \
             whole range of loads is shown: {}{left_out}.{disturbed}{}",
            number::plural(trials.len() as u64, "trial"),
            apart_words(trials.len(), shown.len())
        ),
        desc: format!("Forwarding rate over intended load. {title}."),
        wide: draw_forwarded(finding, &trials, &shown, loads, range, room),
        narrow: draw_forwarded(finding, &trials, &shown, loads, range, Room::Narrow),
        numbers: forwarded_numbers(&shown, loads),
        title,
    })
}

/// Delay percentiles over the load, of every trial that has them; `None` where fewer than two loads do.
pub(crate) fn delay_by_load(finding: &SearchSummary, loads: Loads, room: Room, label: &str) -> Option<Plot> {
    let (trials, left_out) = counted(finding);
    let trials: Vec<&TrialLine> = trials.into_iter().filter(|trial| lowest(trial).is_some()).collect();
    let range = range(&trials)?;
    let values = || {
        let each = |trial: &&TrialLine| {
            PERCENTILES.map(|(_, _, of)| trial.delay_ns.as_ref().and_then(of)).into_iter().flatten()
        };
        trials.iter().flat_map(each).map(|value| value.max(1) as f64)
    };
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(1.0, f64::max));
    let heights = (low / 1.2, (high * 1.25).max(low * 2.0));
    let (sound, disturbed) = sound(&trials, "the title is of the others");
    let ends = ends(&sound);
    let kept = [told(&trials), ends.concat()].concat();
    let shown = overview(&trials, &kept, |trial| {
        let x = Scale::logarithmic(range, (0.0, room.width()));
        let y = Scale::logarithmic(heights, (0.0, 300.0));
        (x.clamped(trial.intended_load_pps), y.clamped(lowest(trial).unwrap_or(1) as f64))
    });
    let title = labelled(label, delay_title(&ends, loads));
    Some(Plot {
        name: "delay-by-load",
        caption: format!(
            "Delays of every trial over its load, of the packets that came back: half of these took p50 or less, 99 of 100 \
             p99, 999 of 1000 p99.9. {}{left_out}.{disturbed}{}",
            number::plural(trials.len() as u64, "trial"),
            apart_words(trials.len(), shown.len())
        ),
        desc: format!("Delay percentiles over intended load. {title}."),
        wide: draw_delays(finding, &shown, loads, range, heights, room),
        narrow: draw_delays(finding, &shown, loads, range, heights, Room::Narrow),
        numbers: delay_numbers(&shown, loads),
        title,
    })
}

/// The trials that say something of the target, by load, and how many are left out, in words.
pub(super) fn counted<'a>(finding: &SearchSummary<'a>) -> (Vec<&'a TrialLine>, String) {
    let is_load = |load: f64| load.is_finite() && load > 0.0;
    let (mut trials, others): (Vec<&TrialLine>, Vec<&TrialLine>) =
        finding.record.trials.iter().partition(|trial| {
            !trial.void && is_load(trial.intended_load_pps) && trial.forwarding_rate_pps.is_finite()
        });
    trials.sort_by(|a, b| a.intended_load_pps.total_cmp(&b.intended_load_pps));
    let left_out = match others.len() {
        0 => String::new(),
        some => format!("; {} left out, for they do not count", number::plural(some as u64, "trial")),
    };
    (trials, left_out)
}

/// Those that our own side did not disturb: titles of delays are of these alone; and how many are not, in words, with what that
/// means.
fn sound<'a>(trials: &[&'a TrialLine], means: &str) -> (Vec<&'a TrialLine>, String) {
    let (disturbed, sound): (Vec<&TrialLine>, Vec<&TrialLine>) =
        trials.iter().copied().partition(|trial| trial.caveats.iter().any(CaveatLine::is_disturbing));
    let words = match disturbed.len() as u64 {
        0 => String::new(),
        all if sound.is_empty() => {
            format!(" This machine disturbed {}: see the caveats.", number::plural(all, "trial"))
        }
        some => format!(" This machine disturbed {}: {means}.", number::plural(some, "trial")),
    };
    (sound, words)
}

/// The least percentile that is known of a trial.
fn lowest(trial: &TrialLine) -> Option<u64> {
    let delay = trial.delay_ns.as_ref()?;
    PERCENTILES.iter().find_map(|(_, _, of)| of(delay))
}

fn range(trials: &[&TrialLine]) -> Option<(f64, f64)> {
    reaches(trials.iter().map(|trial| trial.intended_load_pps))
}

/// The ends of these loads, with room beyond; `None` of one load.
pub(super) fn reaches(loads: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (first, last) =
        loads.fold((f64::INFINITY, 0.0f64), |(first, last), load| (first.min(load), last.max(load)));
    (first < last).then(|| (first / 1.06, last * 1.06))
}

/// The axis of loads: straight from zero, or logarithmic where they are far apart; what it is called; and whether it is
/// logarithmic.
pub(super) fn across(range: (f64, f64), pixels: (f64, f64), loads: Loads) -> (Scale, String, bool) {
    if range.1 > range.0 * WIDE {
        (Scale::logarithmic(range, pixels), format!("load, {}, log", loads.unit), true)
    } else {
        (Scale::linear((0.0, range.1), pixels), format!("load, {}", loads.unit), false)
    }
}

/// The ends of a logarithmic axis of rates at loads from this one on.
pub(super) fn lowest_rate(rates: impl Iterator<Item = f64>, from: f64) -> (f64, f64) {
    let (least, most) = rates
        .filter(|rate| *rate > 0.0)
        .fold((from, from), |(least, most), rate| (least.min(rate), most.max(rate)));
    (least / 1.2, (most * 1.12).max(least / 1.2 * 2.0))
}

fn ticks(scale: &Scale, loads: Loads, most: usize, logarithmic: bool) -> Vec<(f64, String)> {
    match logarithmic {
        true => scale.ticks(most).into_iter().map(|load| (load, loads.short(load))).collect(),
        false => load_ticks(scale, loads, most),
    }
}

/// What titles are about: the lowest load, the one that brought most, the highest.
fn told<'a>(trials: &[&'a TrialLine]) -> Vec<&'a TrialLine> {
    let by_rate = |a: &&&TrialLine, b: &&&TrialLine| a.forwarding_rate_pps.total_cmp(&b.forwarding_rate_pps);
    [trials.first(), trials.iter().max_by(by_rate), trials.last()].into_iter().flatten().copied().collect()
}

/// The most that came back, and what the highest load of those drawn brought.
fn forwarded_title(trials: &[&TrialLine], loads: Loads, in_time: &str, highest_load: &str) -> String {
    let [_, most, highest] = told(trials)[..] else { return "What was forwarded".into() };
    let [rate, last] = [most, highest].map(|trial| trial.forwarding_rate_pps);
    let at_most = format!(
        "At most {} came back{in_time}, of {}",
        loads.with_unit(rate),
        loads.with_unit(most.intended_load_pps)
    );
    if most.number == highest.number {
        return format!("{at_most}, {highest_load}");
    }
    let fell = if last < rate * FALLEN { "only " } else { "" };
    format!(
        "{at_most}; {fell}{} of {}, {highest_load}",
        loads.with_unit(last),
        loads.with_unit(highest.intended_load_pps)
    )
}

/// All trials at the lowest load, and all at the highest one, at which most packets came back: the delays of a few say little of
/// a load.
fn ends<'a>(trials: &[&'a TrialLine]) -> [Vec<&'a TrialLine>; 2] {
    let is_told = |trial: &&TrialLine| trial.forwarded.0 >= trial.offered.0 / 2;
    let told: Vec<&TrialLine> = trials.iter().copied().filter(is_told).collect();
    [told.first(), told.last()].map(|end| {
        let is_there =
            |trial: &&TrialLine| end.is_some_and(|end| end.intended_load_pps == trial.intended_load_pps);
        told.iter().copied().filter(is_there).collect()
    })
}

/// The highest percentile that all trials at both ends of the range have.
fn delay_title(ends: &[Vec<&TrialLine>; 2], loads: Loads) -> String {
    let at = |there: &[&TrialLine], of: fn(&DelayLine) -> Option<u64>| {
        let values = there.iter().map(|trial| trial.delay_ns.as_ref().and_then(of));
        let values = values.collect::<Option<Vec<u64>>>()?;
        let [least, most] = [*values.iter().min()?, *values.iter().max()?].map(nanoseconds);
        let range = if least == most { most } else { format!("{least} to {most}") };
        Some(format!("{range} at {}", loads.with_unit(there.first()?.intended_load_pps)))
    };
    let [first, last] = ends;
    let both = |of: fn(&DelayLine) -> Option<u64>| at(first, of).zip(at(last, of));
    let found = PERCENTILES.iter().rev().find_map(|(name, _, of)| Some((*name, both(*of)?)));
    match found.filter(|(_, (light, heavy))| light != heavy) {
        Some((name, (light, heavy))) => format!("{name} is {light} and {heavy}"),
        None => "Delays over the load".into(),
    }
}

fn draw_forwarded(
    finding: &SearchSummary,
    trials: &[&TrialLine],
    shown: &[&TrialLine],
    loads: Loads,
    range: (f64, f64),
    room: Room,
) -> Drawing {
    let narrow = room == Room::Narrow;
    let mut canvas = Canvas::new(room.width(), if narrow { 306.0 } else { 330.0 });
    let (_, below, logarithmic) = across(range, (0.0, 1.0), loads);
    let rates = || trials.iter().map(|trial| trial.forwarding_rate_pps);
    let up = |pixels| match logarithmic {
        true => Scale::logarithmic(lowest_rate(rates(), range.0), pixels),
        false => Scale::linear((0.0, rates().fold(range.0, f64::max) * 1.12), pixels),
    };
    let left = widest(&ticks(&up((1.0, 0.0)), loads, 6, logarithmic)) + 12.0;
    let frame = Frame { left, right: canvas.width - 14.0, top: 52.0, bottom: canvas.height - 44.0 };
    let (x, ..) = across(range, (frame.left, frame.right), loads);
    let y = up((frame.bottom, frame.top));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, &format!("forwarded, {}", loads.unit));
    goals(&mut canvas, frame, &x, finding);
    frame.rows(&mut canvas, &y, &ticks(&y, loads, 6, logarithmic));
    frame.columns(&mut canvas, &x, &ticks(&x, loads, if narrow { 4 } else { 7 }, logarithmic), false);
    frame.name_columns(&mut canvas, &below);
    // All comes back: a curve of one point a pixel or so, which a straight axis has straight.
    let (from, to) = (x.low.max(y.low), x.high.min(y.high));
    if from < to {
        canvas.line("phase", (x.at(from), y.at(from)), (x.at(to), y.at(to)));
    }
    let mut band = Path::default();
    let beside: Vec<(f64, f64, f64)> = trials
        .windows(BESIDE)
        .map(|some| {
            let shares = some.iter().map(|trial| trial.forwarding_rate_pps / trial.intended_load_pps);
            let (low, high) =
                shares.fold((f64::INFINITY, 0.0f64), |ends, share| (ends.0.min(share), ends.1.max(share)));
            let load = some[BESIDE / 2].intended_load_pps;
            (load, low * load, high * load)
        })
        .collect();
    let back = beside.iter().rev().map(|one| (one.0, one.1));
    for (index, (load, rate)) in beside.iter().map(|one| (one.0, one.2)).chain(back).enumerate() {
        let (across, height) = (x.clamped(load), y.clamped(rate));
        if index == 0 { band.start(&canvas, across, height) } else { band.line(&canvas, across, height) }
    }
    if beside.len() > 1 {
        band.close();
        canvas.path("single", &band);
    }
    let (mut lossless, mut lossy) = (Path::default(), Path::default());
    let marks = shown
        .iter()
        .map(|trial| {
            let at = (x.clamped(trial.intended_load_pps), y.clamped(trial.forwarding_rate_pps));
            let path = if trial.lost.0 == 0 { &mut lossless } else { &mut lossy };
            path.dot(&canvas, at.0, at.1);
            at
        })
        .collect();
    canvas.path("dot lossy", &lossy);
    canvas.path("dot", &lossless);
    canvas.path("dot hole", &lossless);
    canvas.finish(marks)
}

/// The goals' intervals as bands, named above.
fn goals(canvas: &mut Canvas, frame: Frame, x: &Scale, finding: &SearchSummary) {
    for goal in 0..finding.answers.len() {
        let class = finding.inks[goal];
        let (Some(lower), Some(upper)) = finding.ends(goal) else { continue };
        let (left, right) = (x.clamped(lower), x.clamped(upper));
        canvas.rect(&format!("band f{class}"), (left, right.max(left + 1.0)), (frame.top, frame.bottom));
        canvas.line(&format!("s{class}"), (right, frame.top), (right, frame.bottom));
        let row = frame.top - 6.0 - 15.0 * (goal % 2) as f64;
        canvas.text_if_free(&format!("t{class}"), Anchor::End, right, row, &finding.names[goal]);
    }
}

fn draw_delays(
    finding: &SearchSummary,
    trials: &[&TrialLine],
    loads: Loads,
    range: (f64, f64),
    heights: (f64, f64),
    room: Room,
) -> Drawing {
    let narrow = room == Room::Narrow;
    let mut canvas = Canvas::new(room.width(), if narrow { 306.0 } else { 330.0 });
    let labels = |scale: &Scale| -> Vec<(f64, String)> {
        scale.ticks(6).into_iter().map(|tick| (tick, nanoseconds(tick.round() as u64))).collect()
    };
    let left = widest(&labels(&Scale::logarithmic(heights, (1.0, 0.0)))) + 12.0;
    let frame = Frame { left, right: canvas.width - 48.0, top: 52.0, bottom: canvas.height - 44.0 };
    let (x, below, logarithmic) = across(range, (frame.left, frame.right), loads);
    let y = Scale::logarithmic(heights, (frame.bottom, frame.top));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, "delay, log");
    goals(&mut canvas, frame, &x, finding);
    frame.rows(&mut canvas, &y, &labels(&y));
    frame.columns(&mut canvas, &x, &ticks(&x, loads, if narrow { 4 } else { 7 }, logarithmic), false);
    frame.name_columns(&mut canvas, &below);
    let mut named: Vec<(f64, &str)> = Vec::new();
    let mut beside: Vec<(f64, f64, &str)> = Vec::new();
    let heaviest = trials.iter().map(|trial| trial.intended_load_pps).fold(0.0, f64::max);
    for (name, class, of) in PERCENTILES {
        let mut path = Path::default();
        let known = |trial: &&&TrialLine| trial.delay_ns.as_ref().and_then(of).is_some();
        for trial in trials.iter().filter(known) {
            let value = trial.delay_ns.as_ref().and_then(of).unwrap_or(1);
            path.dot(&canvas, x.clamped(trial.intended_load_pps), y.clamped(value.max(1) as f64));
        }
        canvas.path(&format!("dot {class}"), &path);
        if let Some(last) = trials.iter().rev().find(known) {
            let value = last.delay_ns.as_ref().and_then(of).unwrap_or(1);
            let height = y.clamped(value.max(1) as f64);
            // A percentile that fewer trials have is named at its own last one.
            match last.intended_load_pps < heaviest {
                true => beside.push((x.clamped(last.intended_load_pps), height, name)),
                false => named.push((height, name)),
            }
        }
    }
    named.sort_by(|one, other| one.0.total_cmp(&other.0));
    let wanted: Vec<f64> = named.iter().map(|(height, _)| height + 4.0).collect();
    let placed = super::axes::spread(&wanted, 15.0, frame.top + 8.0, frame.bottom);
    for (height, (_, name)) in placed.into_iter().zip(named) {
        canvas.text("name value", Anchor::Start, frame.right + 8.0, height, name);
    }
    for (across, height, name) in beside {
        canvas.text_if_free("name value", Anchor::Start, across + 7.0, height + 4.0, name);
    }
    let height = |trial: &TrialLine| {
        let delay = trial.delay_ns.as_ref();
        let highest = PERCENTILES.iter().rev().find_map(|(_, _, of)| delay.and_then(of));
        y.clamped(highest.unwrap_or(1).max(1) as f64)
    };
    canvas.finish(trials.iter().map(|trial| (x.clamped(trial.intended_load_pps), height(trial))).collect())
}

fn forwarded_numbers(trials: &[&TrialLine], loads: Loads) -> Numbers {
    let unit = loads.unit;
    let heads =
        ["trial".into(), format!("load, {unit}"), format!("forwarded, {unit}"), "trial loss ratio".into()];
    let rows = trials.iter().map(|trial| Reading {
        words: format!(
            "trial {}: {}, forwarded {}",
            trial.number,
            loads.with_unit(trial.intended_load_pps),
            loads.with_unit(trial.forwarding_rate_pps)
        ),
        cells: vec![
            trial.number.to_string(),
            loads.bare(trial.intended_load_pps),
            loads.bare(trial.forwarding_rate_pps),
            trial.trial_loss_ratio.map_or_else(String::new, percent),
        ],
    });
    Numbers { heads: heads.into(), rows: rows.collect() }
}

fn delay_numbers(trials: &[&TrialLine], loads: Loads) -> Numbers {
    let heads = ["trial".to_owned(), format!("load, {}", loads.unit)]
        .into_iter()
        .chain(PERCENTILES.map(|(name, ..)| name.to_owned()));
    let rows = trials.iter().map(|trial| {
        let value = |of: fn(&DelayLine) -> Option<u64>| trial.delay_ns.as_ref().and_then(of).map(nanoseconds);
        let known: Vec<String> =
            PERCENTILES.iter().filter_map(|(name, _, of)| Some(format!("{name} {}", value(*of)?))).collect();
        let load = loads.with_unit(trial.intended_load_pps);
        Reading {
            words: format!("trial {}: {load}, {}", trial.number, listed(&known)),
            cells: [trial.number.to_string(), loads.bare(trial.intended_load_pps)]
                .into_iter()
                .chain(PERCENTILES.map(|(_, _, of)| value(of).unwrap_or_default()))
                .collect(),
        }
    });
    Numbers { heads: heads.collect(), rows: rows.collect() }
}
