//! The search-time graph: loads over elapsed search time, the bounds of every goal closing in.

mod ends;
mod marks;
mod stairs;
mod steps;
mod view;

pub(crate) use steps::time_span;
pub(crate) use view::{View, common_view};

use super::axes::{Frame, load_ticks, widest};
use super::canvas::{Anchor, Canvas, Drawing};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room, apart, apart_words, trial_words};
use crate::number::{self, Loads, percent, percent_of, seconds};
use crate::prose::{labelled, sentence_case};
use crate::search_summary::{SearchSummary, relative_width};
use crate::verdict_word::Standing;
use dropline_record::TrialLine;
use steps::{Step, steps};

/// An interval that is wider than this has no width that says anything.
const HARDLY: f64 = 0.5;

/// Height of the lanes at the edges, for trials outside the axis.
const LANE: f64 = 18.0;

/// The graph of one search; `label` tells it from others beside it.
pub(crate) fn search_time(finding: &SearchSummary, view: View, room: Room, label: &str) -> Plot {
    let outside =
        finding.record.trials.iter().any(|trial| !(view.low..=view.high).contains(&trial.intended_load_pps));
    let invalid = finding.record.trials.iter().flat_map(|trial| &trial.bounds).any(|bounds| {
        (bounds.lower_pps.is_some() && !bounds.lower_valid)
            || (bounds.upper_pps.is_some() && !bounds.upper_valid)
    });
    let mut caption = String::from(
        "Bounds are steps: they change only when a trial ends. Discs grow with loss, hollow for none.",
    );
    if has_medians(finding) {
        caption.push_str(" Dotted: the median of an interval.");
    }
    if finding.record.trials.iter().any(|trial| trial.phase.as_deref() == Some("weigh")) {
        caption.push_str(
            " Phases: locate finds the region, weigh asks for more in it, probe looks at lower loads.",
        );
    }
    if invalid {
        caption.push_str(" Dashed: a bound that its last trial does not confirm.");
    }
    if outside {
        caption.push_str(" Marks at the edge are trials outside the axis.");
    }
    let all: Vec<&TrialLine> = finding.record.trials.iter().collect();
    let height = (view.high - view.low).max(f64::MIN_POSITIVE);
    let shown = apart(&all, |trial| {
        let x = (trial.at_s + trial.duration_s / 2.0) / view.until.max(1e-9) * Room::Full.width();
        (x, ((trial.intended_load_pps - view.low) / height * 360.0).clamp(-9.0, 369.0))
    });
    caption.push_str(&apart_words(finding.record.trials.len(), shown.len()));
    let title = labelled(label, title(finding));
    Plot {
        name: "search-time",
        desc: format!(
            "Load over elapsed search time. {} {}.",
            finding.sentence().iter().map(|piece| piece.text.as_str()).collect::<String>(),
            finding.cost()
        ),
        title,
        caption,
        wide: draw(finding, &shown, view, room),
        narrow: draw(finding, &shown, view, Room::Narrow),
        numbers: numbers(finding, &shown, view.loads),
    }
}

/// Whether the algorithm believes in a middle between its ends.
fn has_medians(finding: &SearchSummary) -> bool {
    finding.record.trials.iter().flat_map(|trial| &trial.bounds).any(|bounds| bounds.median_pps.is_some())
}

/// How well each goal was known in the end, and since when; or why not.
fn title(finding: &SearchSummary) -> String {
    let knowns: Vec<Option<(f64, f64)>> =
        (0..finding.answers.len()).map(|goal| known(finding, goal)).collect();
    if let ([None, None, ..], Some(why)) = (knowns.as_slice(), same_standing(finding))
        && knowns.iter().all(Option::is_none)
    {
        return match missing(&why) {
            "is not settled" => "No limit is settled".into(),
            "was not reached" => "No limit was reached".into(),
            words => format!("Every limit {words}"),
        };
    }
    let (mut words, mut times): (Vec<String>, Vec<f64>) = Default::default();
    // Bounds are loads that were tried, and no interval that holds the limit.
    let is_interval = finding.answers.iter().any(|answer| answer.level.is_some());
    for (goal, name) in finding.names.iter().enumerate() {
        let limit = match (is_interval, goal) {
            (true, 0) => format!("the limit for {name}"),
            (true, _) => format!("that for {name}"),
            (false, 0) => format!("the bounds for {name}"),
            (false, _) => format!("those for {name}"),
        };
        words.push(match knowns[goal] {
            None => format!("the limit for {name} {}", missing(&finding.standings[goal])),
            Some((width, after)) => {
                let known = match (is_interval, times.is_empty()) {
                    (true, true) => " was known to within",
                    (true, false) => " to within",
                    (false, true) => " were within",
                    (false, false) => " within",
                };
                let hardly = if times.is_empty() { " was hardly known" } else { " hardly" };
                times.push(after);
                match is_interval && width > HARDLY {
                    true => format!("{limit}{hardly}"),
                    false => format!("{limit}{known} {}", percent_of(width, 2)),
                }
            }
        });
    }
    if words.is_empty() {
        return "Loads over the time of the search".into();
    }
    let (said, all) = (words.join(", "), times.len() == words.len());
    match times.into_iter().reduce(f64::max).map(seconds) {
        Some(latest) if all => format!("After {latest} {said}"),
        Some(latest) => sentence_case(&format!("{said} (after {latest})")),
        None => sentence_case(&said),
    }
}

/// The standing of all goals, where they have the same.
fn same_standing(finding: &SearchSummary) -> Option<Standing> {
    let first = finding.standings.first()?;
    let as_first = |other: &Standing| match (first, other) {
        (Standing::Doubted(_), Standing::Doubted(_)) => true,
        _ => first == other,
    };
    finding.standings.iter().all(as_first).then(|| first.clone())
}

/// What is to be said of a limit that is not known between two loads.
fn missing(why: &Standing) -> &'static str {
    match why {
        Standing::AtMaximum => "was not reached",
        Standing::BelowMinimum => "is below all loads that were allowed",
        Standing::Doubted(_) => "is doubted",
        _ => "is not settled",
    }
}

/// The width that the goal ended with (as asked, or wider), and since when it was that narrow; of a doubted one nothing
/// is known.
fn known(finding: &SearchSummary, goal: usize) -> Option<(f64, f64)> {
    let answer = &finding.answers[goal];
    if finding.standings[goal].denied().is_some() {
        return None;
    }
    let last = relative_width(answer.lower_pps, answer.upper_pps)?;
    let width = if last <= answer.goal.width { answer.goal.width } else { last };
    let steps = steps(finding, goal);
    let narrow = |step: &Step| {
        let bounds = step.bounds;
        bounds.lower_valid
            && bounds.upper_valid
            && relative_width(bounds.lower_pps, bounds.upper_pps).is_some_and(|now| now <= width * 1.000_001)
    };
    let first = steps.iter().rposition(|step| !narrow(step)).map_or(0, |index| index + 1);
    Some((width, steps.get(first)?.from))
}

/// A graph under way.
struct Drawn<'a> {
    finding: &'a SearchSummary<'a>,
    /// The trials that have marks.
    trials: &'a [&'a TrialLine],
    view: View,
    frame: Frame,
    rate: Scale,
    time: Scale,
}

fn draw(finding: &SearchSummary, trials: &[&TrialLine], view: View, room: Room) -> Drawing {
    let narrow = room == Room::Narrow;
    let mut canvas = Canvas::new(room.width(), if room == Room::Full { 424.0 } else { 348.0 });
    let tick_room = Scale::linear((view.low, view.high), (0.0, 1.0));
    let ticks = load_ticks(&tick_room, view.loads, if room == Room::Full { 10 } else { 6 });
    let labels_width = widest(&ticks) + 10.0;
    let right_room = ends::label_room(finding, narrow);
    let frame = Frame {
        left: labels_width,
        right: canvas.width - right_room,
        top: 46.0,
        bottom: canvas.height - 44.0,
    };
    let cut = view.low > 0.0;
    let low_edge = if cut { frame.bottom - LANE - 4.0 } else { frame.bottom };
    let rate = Scale::linear((view.low, view.high), (low_edge, frame.top + LANE));
    let time = Scale::linear((0.0, view.until.max(1e-9)), (frame.left, frame.right));

    canvas.text("tick", Anchor::Start, 0.0, 12.0, &format!("load, {}", view.loads.unit));
    if room == Room::Full {
        marks::legend(&mut canvas, frame.right);
    }
    frame.rows(&mut canvas, &rate, &ticks);
    let wide_ticks = match room {
        Room::Full => 8,
        Room::Half => 6,
        Room::Narrow => 4,
    };
    let ticks: Vec<(f64, String)> =
        time.ticks(wide_ticks).into_iter().map(|value| (value, number::three(value))).collect();
    frame.columns(&mut canvas, &time, &ticks, false);
    frame.name_columns(&mut canvas, if narrow { "search time, s" } else { "elapsed search time, s" });
    let words = format!("axis from {}", view.loads.short(view.low));
    frame.left_axis(&mut canvas, cut.then_some(words.as_str()));
    let drawn = Drawn { finding, trials, view, frame, rate, time };
    marks::phases(&mut canvas, &drawn);
    stairs::bounds(&mut canvas, &drawn);
    let marks = marks::trials(&mut canvas, &drawn);
    ends::right_labels(&mut canvas, &drawn, narrow);
    canvas.finish(marks)
}

fn numbers(finding: &SearchSummary, trials: &[&TrialLine], loads: Loads) -> Numbers {
    let mut heads: Vec<String> = ["trial", "ends at, s", "lost", "of offered", "loss ratio"]
        .iter()
        .map(|head| (*head).into())
        .collect();
    heads.insert(2, format!("load, {}", loads.unit));
    let medians = has_medians(finding);
    for name in &finding.names {
        heads.push(format!("{name}: lower, {}", loads.unit));
        if medians {
            heads.push(format!("median, {}", loads.unit));
        }
        heads.push(format!("upper, {}", loads.unit));
    }
    let rows = trials
        .iter()
        .map(|trial| {
            let mut cells = vec![
                trial.number.to_string(),
                number::fixed(trial.at_s + trial.elapsed_s, 2),
                loads.bare(trial.intended_load_pps),
                number::count(trial.lost.0),
                number::count(trial.offered.0),
                trial.loss_ratio.map_or_else(String::new, percent),
            ];
            for goal in 0..finding.answers.len() {
                let bounds = trial.bounds.get(goal).copied().unwrap_or_default();
                let lower = bounds.lower_pps.map(|load| loads.floor(load));
                cells.push(bound_words(loads, lower, bounds.lower_valid));
                if medians {
                    cells.push(bound_words(loads, bounds.median_pps, true));
                }
                let upper = bounds.upper_pps.map(|load| loads.ceil(load));
                cells.push(bound_words(loads, upper, bounds.upper_valid));
            }
            Reading { words: trial_words(trial, loads), cells }
        })
        .collect();
    Numbers { heads, rows }
}

fn bound_words(loads: Loads, load: Option<f64>, valid: bool) -> String {
    match load {
        Some(load) if valid => loads.bare(load),
        Some(load) => format!("{} (invalid)", loads.bare(load)),
        None => String::new(),
    }
}
