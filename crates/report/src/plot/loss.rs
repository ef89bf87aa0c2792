//! Loss against load: what each trial lost, and where the goals' bounds are.

use super::axes::{Frame, load_ticks, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::search_time::View;
use super::{Numbers, Plot, Reading, Room, apart, apart_words, shown_loss, trial_words};
use crate::number::{self, Loads, percent};
use crate::prose::labelled;
use crate::search_summary::SearchSummary;
use dropline_record::TrialLine;

/// Height of the lane for trials without loss.
const LANE: f64 = 28.0;

/// The graph of one search; `None` without trials. `label` tells it from others beside it.
pub(crate) fn loss(finding: &SearchSummary, loads: LoadAxis, room: Room, label: &str) -> Option<Plot> {
    finding.record.trials.first()?;
    let LoadAxis { low, high, loads } = loads;
    let (shown, outside): (Vec<&TrialLine>, Vec<&TrialLine>) =
        finding.record.trials.iter().partition(|trial| (low..=high).contains(&trial.intended_load_pps));
    // Two loads of the title that differ do not look the same.
    let loads = loads.telling(sets_in(&shown).into_iter().flatten());
    let title = labelled(label, title(&shown, &outside, loads, Lost::of(finding)));
    let mut caption = String::from(if finding.is_doubted() {
        "A disc a trial; bands: of a goal that is doubted the loads that are left open, else between its bounds."
    } else {
        "A disc a trial; bands: between the bounds of each goal."
    });
    if finding.record.result.as_ref().is_some_and(|result| result.loss_curve.len() > 1) {
        caption.push_str(if finding.is_doubted() {
            " The line is the mean loss that a target would have that is the same in all trials: this one is not."
        } else {
            " The line is the loss to be expected at each load, and its band holds that with 95 % probability."
        });
    }
    if !outside.is_empty() {
        let mut missing: Vec<String> = Vec::new();
        for load in outside.iter().map(|trial| loads.short(trial.intended_load_pps)) {
            if !missing.contains(&load) {
                missing.push(load);
            }
        }
        let more = if missing.len() > 4 { ", …" } else { "" };
        missing.truncate(4);
        caption.push_str(&format!(
            " Not shown: {} at {}{more} {}.",
            number::plural(outside.len() as u64, "trial"),
            missing.join(", "),
            loads.unit
        ));
    }
    let all = shown.len();
    let shown = apart(&shown, |trial| {
        let x = (trial.intended_load_pps - low) / (high - low).max(f64::MIN_POSITIVE) * room.width();
        (x, shown_loss(trial).max(1e-12).log10() * 60.0)
    });
    caption.push_str(&apart_words(all, shown.len()));
    Some(Plot {
        name: "loss",
        desc: format!("Loss ratio of {} over load. {title}.", number::plural(all as u64, "trial")),
        title,
        caption,
        wide: draw(finding, loads, (low, high), &shown, room),
        narrow: draw(finding, loads, (low, high), &shown, Room::Narrow),
        numbers: numbers(&shown, loads),
    })
}

/// The loads that are shown, in packets a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadAxis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) loads: Loads,
}

impl LoadAxis {
    /// The view of the search-time graphs, half as wide again where trials are; the same for all of them.
    pub(crate) fn around(view: View, findings: &[SearchSummary]) -> Self {
        let half = (view.high - view.low) / 2.0;
        let (low, high) = (view.low - half, view.high + half);
        let trials = findings.iter().flat_map(|finding| &finding.record.trials);
        let (mut least, mut most) = (view.low, view.high);
        for load in trials.map(|trial| trial.intended_load_pps).filter(|load| (low..=high).contains(load)) {
            least = least.min(load - half * 0.08);
            most = most.max(load + half * 0.08);
        }
        Self { low: least.max(0.0), high: most, loads: view.loads }
    }
}

/// What a trial is said to have lost.
#[derive(Clone, Copy)]
struct Lost {
    /// `packets`, `requests`.
    many: &'static str,
    one: &'static str,
    /// What came later than a goal allows is lost to that goal.
    or_late: bool,
}

impl Lost {
    fn of(finding: &SearchSummary) -> Self {
        let what = finding.record.header.load_unit;
        let or_late = finding.answers.iter().any(|answer| answer.goal.within_s.is_some());
        Self { many: what.many(), one: what.one(), or_late }
    }

    /// `lost packets`.
    fn some(self) -> String {
        let Self { many, .. } = self;
        if self.or_late { format!("had {many} late or lost") } else { format!("lost {many}") }
    }

    /// That some trials have any, and some have not.
    fn mixed(self) -> &'static str {
        if self.or_late {
            "some trials lose or are late and some are not"
        } else {
            "some trials lose and some do not"
        }
    }

    fn sets_in(self) -> &'static str {
        if self.or_late { "Lateness or loss" } else { "Loss" }
    }
}

/// Whether the target lost any: what may be lost by us says nothing.
fn is_lossy(trial: &TrialLine) -> bool {
    trial.lost_by_target() > 0
}

/// Whether nothing was lost; a load that was not offered says nothing.
fn is_lossless(trial: &TrialLine) -> bool {
    let is_short = trial.intended.is_some_and(|intended| trial.offered < intended);
    trial.lost.0 == 0 && trial.offered.0 > 0 && !is_short
}

/// The highest load without loss, and the lowest with some.
fn sets_in(shown: &[&TrialLine]) -> [Option<f64>; 2] {
    let loads = |is: fn(&TrialLine) -> bool| {
        shown.iter().filter(move |trial| is(trial)).map(|trial| trial.intended_load_pps)
    };
    [loads(is_lossless).max_by(f64::total_cmp), loads(is_lossy).min_by(f64::total_cmp)]
}

/// Where loss sets in among the trials that are shown, and which of those off the axis say otherwise.
fn title(shown: &[&TrialLine], outside: &[&TrialLine], loads: Loads, lost: Lost) -> String {
    let load = |trial: &&TrialLine| trial.intended_load_pps;
    let [last, first] = sets_in(shown);
    let here = match (last, first) {
        (None, None) if shown.iter().any(|trial| trial.offered.0 > 0) => {
            return "No trial here says what the target loses: that may all be our own doing".into();
        }
        (None, None) => return format!("No trial offered {} here", lost.many),
        (Some(last), None) => {
            let here = if outside.is_empty() { "" } else { " here" };
            let Lost { one, .. } = lost;
            let any =
                if lost.or_late { format!("had a {one} late or lost") } else { format!("lost a {one}") };
            format!("No trial{here} {any}, up to {}", loads.with_unit(last))
        }
        (None, Some(first)) if shown.len() == 1 => {
            format!("The only trial here {}, at {}", lost.some(), loads.with_unit(first))
        }
        (None, Some(first)) => {
            format!("Every trial here {}, from {} on", lost.some(), loads.with_unit(first))
        }
        (Some(last), Some(first)) if last < first => {
            format!("{} sets in between {} and {}", lost.sets_in(), loads.bare(last), loads.with_unit(first))
        }
        (Some(last), Some(first)) if last == first => {
            format!("At {} {}", loads.with_unit(last), lost.mixed())
        }
        (Some(last), Some(first)) => {
            format!("Between {} and {} {}", loads.bare(first), loads.with_unit(last), lost.mixed())
        }
    };
    let lowest = shown.iter().map(load).fold(f64::INFINITY, f64::min);
    let below =
        outside.iter().filter(|trial| is_lossy(trial)).filter(|trial| load(trial) < lowest).count() as u64;
    let above =
        outside.iter().filter(|trial| is_lossless(trial)).filter(|trial| load(trial) > lowest).count() as u64;
    let below = match below {
        0 => String::new(),
        some => format!("; {} below {}", number::plural(some, "trial"), lost.some()),
    };
    let above = match above {
        0 => String::new(),
        some if lost.or_late => format!("; {} above had none", number::plural(some, "trial")),
        some => format!("; {} above lost none", number::plural(some, "trial")),
    };
    format!("{here}{below}{above}")
}

fn draw(
    finding: &SearchSummary,
    loads: Loads,
    (low, high): (f64, f64),
    trials: &[&TrialLine],
    room: Room,
) -> Drawing {
    let narrow = room == Room::Narrow;
    let mut canvas = Canvas::new(room.width(), if narrow { 306.0 } else { 330.0 });
    let (floor, ceiling) = decades(finding, trials);
    let rows = |y: &Scale| -> Vec<(f64, String)> {
        y.ticks(7).into_iter().map(|value| (value, percent(value))).collect()
    };
    let left = widest(&rows(&Scale::logarithmic((floor, ceiling), (1.0, 0.0)))) + 10.0;
    let frame = Frame { left, right: canvas.width - 12.0, top: 52.0, bottom: canvas.height - 44.0 };
    let x = Scale::linear((low, high), (frame.left, frame.right));
    let floor_y = frame.bottom - LANE;
    let y = Scale::logarithmic((floor, ceiling), (floor_y, frame.top));

    canvas.text("tick", Anchor::Start, 0.0, 12.0, "loss ratio, log");
    canvas.rect("panel", (frame.left, frame.right), (floor_y, frame.bottom));
    frame.rows(&mut canvas, &y, &rows(&y));
    canvas.line("axis", (frame.left, floor_y), (frame.right, floor_y));
    canvas.text("tick", Anchor::End, frame.left - 7.0, floor_y + LANE / 2.0 + 4.0, "none");
    let ticks = load_ticks(&x, loads, if narrow { 5 } else { 7 });
    frame.columns(&mut canvas, &x, &ticks, false);
    let cut = if low > 0.0 { format!(", axis from {}", loads.short(low)) } else { String::new() };
    frame.name_columns(&mut canvas, &format!("load, {}{cut}", loads.unit));
    if low > 0.0 {
        break_mark(&mut canvas, frame);
    }
    believed(&mut canvas, frame, &x, &y, finding);
    goals(&mut canvas, frame, &x, &y, finding, loads);
    let marks = discs(&mut canvas, &x, &y, trials, floor_y + LANE / 2.0);
    canvas.finish(marks)
}

/// Whole decades that hold every loss and every goal.
fn decades(finding: &SearchSummary, trials: &[&TrialLine]) -> (f64, f64) {
    let losses = trials.iter().map(|trial| shown_loss(trial)).filter(|loss| *loss > 0.0);
    let goals = finding.answers.iter().map(|answer| answer.goal.loss_ratio).filter(|ratio| *ratio > 0.0);
    let (least, most) = losses
        .chain(goals.filter(|ratio| *ratio <= 1.0))
        .fold((1e-3f64, 1e-2f64), |(least, most), loss| (least.min(loss), most.max(loss)));
    let power = |exponent: f64| 10f64.powf(exponent.clamp(-12.0, 0.0));
    (power((least.log10() - 1e-9).floor()), power((most.log10() + 1e-9).ceil()))
}

/// The loss that was believed at each load, with the band that holds it with 95 % probability.
fn believed(canvas: &mut Canvas, frame: Frame, x: &Scale, y: &Scale, finding: &SearchSummary) {
    let curve = finding.record.result.as_ref().map(|result| result.loss_curve.as_slice()).unwrap_or_default();
    let shown: Vec<_> = curve.iter().filter(|point| x.shows(point.load_pps)).collect();
    if shown.len() < 2 {
        return;
    }
    // What is below the lowest decade runs along it.
    let height = |loss: f64| if loss > 0.0 { y.clamped(loss) } else { y.clamped(y.low) };
    let (mut band, mut line) = (Path::default(), Path::default());
    let ends = shown.iter().map(|point| (point.load_pps, point.high));
    let back = shown.iter().rev().map(|point| (point.load_pps, point.low));
    for (index, (load, loss)) in ends.chain(back).enumerate() {
        let (across, up) = (x.at(load), height(loss));
        if index == 0 { band.start(canvas, across, up) } else { band.line(canvas, across, up) }
    }
    band.close();
    for (index, point) in shown.iter().enumerate() {
        let (across, up) = (x.at(point.load_pps), height(point.median));
        if index == 0 { line.start(canvas, across, up) } else { line.line(canvas, across, up) }
    }
    canvas.path("band believed", &band);
    canvas.path("axis bold", &line);
    let words = if finding.is_doubted() { "if it did not change" } else { "believed, 95 %" };
    canvas.text_if_free("tick", Anchor::End, frame.right - 4.0, frame.bottom - 34.0, words);
}

fn break_mark(canvas: &mut Canvas, frame: Frame) {
    for shift in [0.0, 4.0] {
        canvas.line(
            "axis bold",
            (frame.left + 5.0 + shift, frame.bottom + 4.0),
            (frame.left + 9.0 + shift, frame.bottom - 4.0),
        );
    }
}

fn goals(canvas: &mut Canvas, frame: Frame, x: &Scale, y: &Scale, finding: &SearchSummary, loads: Loads) {
    for (goal, answer) in finding.answers.iter().enumerate() {
        let class = finding.inks[goal];
        let ends = finding.ends(goal);
        if let (Some(lower), Some(upper)) = ends {
            let (left, right) = (x.clamped(lower), x.clamped(upper));
            canvas.rect(&format!("band f{class}"), (left, right), (frame.top, frame.bottom));
        }
        for bound in [ends.0, ends.1].into_iter().flatten() {
            if x.shows(bound) {
                let at = x.at(bound);
                canvas.line(&format!("s{class}"), (at, frame.top), (at, frame.bottom));
            }
        }
        if answer.goal.loss_ratio > 0.0 && y.shows(answer.goal.loss_ratio) {
            let at = y.at(answer.goal.loss_ratio);
            canvas.line(&format!("goal s{class}"), (frame.left, at), (frame.right, at));
            let words = format!("goal {}", percent(answer.goal.loss_ratio));
            canvas.text_if_free(&format!("halo t{class}"), Anchor::Start, frame.left + 4.0, at - 5.0, &words);
        }
        let Some(at) = ends.0.or(ends.1) else { continue };
        let words = match finding.point(goal) {
            Some(_) => {
                let has_other_unit = finding.loads.unit != loads.unit;
                let headline = finding.headline(goal, has_other_unit).unwrap_or_default();
                format!("{} {headline}", finding.names[goal])
            }
            None => finding.names[goal].clone(),
        };
        // The second row serves bands that stand close.
        let middle = (x.clamped(at) + x.clamped(ends.1.unwrap_or(at))) / 2.0;
        for row in [frame.top - 6.0, frame.top - 21.0] {
            let free = [Anchor::Middle, Anchor::End, Anchor::Start]
                .into_iter()
                .any(|anchor| canvas.text_if_free(&format!("t{class}"), anchor, middle, row, &words));
            if free {
                break;
            }
        }
    }
}

/// The marks of all trials; where each stands.
fn discs(canvas: &mut Canvas, x: &Scale, y: &Scale, trials: &[&TrialLine], lane: f64) -> Vec<(f64, f64)> {
    // Of very many a spot each: a circle takes twice the room in the file.
    let are_spots = trials.len() > 150;
    let mark = |path: &mut Path, canvas: &Canvas, (x, y): (f64, f64), radius: f64| match are_spots {
        true => path.dot(canvas, x, y),
        false => path.disc(canvas, x, y, radius),
    };
    let (mut lossy, mut lossless) = (Path::default(), Path::default());
    let marks: Vec<(f64, f64)> = trials
        .iter()
        .map(|trial| {
            let at = x.clamped(trial.intended_load_pps);
            if trial.lost.0 == 0 {
                mark(&mut lossless, canvas, (at, lane), 3.2);
                (at, lane)
            } else {
                let height = y.clamped(shown_loss(trial));
                mark(&mut lossy, canvas, (at, height), 3.6);
                (at, height)
            }
        })
        .collect();
    if are_spots {
        canvas.path("dot", &lossless);
        canvas.path("dot hole", &lossless);
        canvas.path("dot lossy", &lossy);
    } else {
        canvas.path("hollow", &lossless);
        canvas.path("disc", &lossy);
    }
    marks
}

fn numbers(trials: &[&TrialLine], loads: Loads) -> Numbers {
    let load = format!("load, {}", loads.unit);
    // What was offered and forwarded stands in the table of trials.
    let are_same = trials.iter().all(|trial| trial.loss_ratio == trial.trial_loss_ratio);
    let kept = if are_same { 4 } else { 5 };
    let heads = ["trial", &load, "lost", "loss ratio", "trial loss ratio"];
    let rows = trials
        .iter()
        .map(|trial| Reading {
            words: trial_words(trial, loads),
            cells: [
                trial.number.to_string(),
                loads.bare(trial.intended_load_pps),
                number::count(trial.lost.0),
                trial.loss_ratio.map_or_else(String::new, percent),
                trial.trial_loss_ratio.map_or_else(String::new, percent),
            ][..kept]
                .to_vec(),
        })
        .collect();
    Numbers { heads: heads[..kept].iter().map(|head| (*head).to_owned()).collect(), rows }
}
