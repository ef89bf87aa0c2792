//! The search-time graph: loads over elapsed search time, the bounds of every goal closing in.

use super::axes::{Frame, spread, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path, text_width};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room, shown_loss, trial_words};
use crate::finding::{Finding, Standing, labelled, relative_width, sentence_case};
use crate::number::{self, Loads, percent, seconds};
use dropline_record::{AnswerLine, BoundsLine, Purpose, TrialLine};

/// Steps of a line that are kept at most.
const STEPS: usize = 300;
/// The axis never zooms in further than to this share of its loads.
const NARROWEST: f64 = 0.03;
/// Height of the lanes at the edges, for trials outside the axis.
const LANE: f64 = 18.0;

/// The loads and times that are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct View {
    /// In packets a second.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// End of the time axis, in seconds.
    pub(crate) until: f64,
    /// The unit is shared too.
    pub(crate) loads: Loads,
}

/// What was known from some moment on.
#[derive(Clone, Copy, Debug)]
struct Step {
    from: f64,
    to: f64,
    bounds: BoundsLine,
}

/// The part of the loads in which the searches decided, for all of them together.
///
/// It holds every final bound and where the bounds were most of the time; the wide first bounds of a search are
/// cut, with marks at the edge.
pub(crate) fn common_view(findings: &[Finding], loads: Loads, until: f64) -> View {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut lowers: Vec<(f64, f64)> = Vec::new();
    let mut uppers: Vec<(f64, f64)> = Vec::new();
    for finding in findings {
        for (goal, answer) in finding.answers.iter().enumerate() {
            for load in [answer.lower_pps, answer.upper_pps, answer.headline_pps()].into_iter().flatten() {
                if load.is_finite() && load >= 0.0 {
                    (low, high) = (low.min(load), high.max(load));
                }
            }
            for step in steps(finding, goal) {
                let weight = step.to - step.from;
                lowers.extend(step.bounds.lower_pps.map(|load| (load, weight)));
                uppers.extend(step.bounds.upper_pps.map(|load| (load, weight)));
            }
        }
    }
    if low > high {
        let trials = findings.iter().flat_map(|finding| &finding.record.trials);
        for load in
            trials.map(|trial| trial.intended_load_pps).filter(|load| load.is_finite() && *load >= 0.0)
        {
            (low, high) = (low.min(load), high.max(load));
        }
    }
    if low > high {
        (low, high) = (0.0, 1.0);
    }
    let span = (high - low).max(high * NARROWEST).max(1e-3);
    let lower = weighted_quantile(&mut lowers, 0.15).unwrap_or(low).max(low - span / 2.0);
    let upper = weighted_quantile(&mut uppers, 0.85).unwrap_or(high).min(high + span / 2.0);
    (low, high) = (low.min(lower), high.max(upper));
    let pad = ((span - (high - low)) / 2.0).max((high - low) * 0.1);
    let low = if low - pad < high * 0.25 { 0.0 } else { low - pad };
    View { low, high: high + pad, until, loads }
}

/// How long a search took on its own clock.
pub(crate) fn time_span(finding: &Finding) -> f64 {
    let ends = finding.record.trials.iter().map(|trial| trial.at_s + trial.elapsed_s);
    ends.filter(|end| end.is_finite()).fold(0.0, f64::max)
}

/// The graph of one search; `label` tells it from others beside it.
pub(crate) fn search_time(finding: &Finding, view: View, room: Room, label: &str) -> Plot {
    let outside =
        finding.record.trials.iter().any(|trial| !(view.low..=view.high).contains(&trial.intended_load_pps));
    let invalid = finding.record.trials.iter().flat_map(|trial| &trial.bounds).any(|bounds| {
        (bounds.lower_pps.is_some() && !bounds.lower_valid)
            || (bounds.upper_pps.is_some() && !bounds.upper_valid)
    });
    let mut caption = String::from(
        "Bounds are steps: they change only when a trial ends. Discs grow with loss, hollow for none.",
    );
    if invalid {
        caption.push_str(" Dashed: a bound that its last trial does not bear out.");
    }
    if outside {
        caption.push_str(" Marks at the edge are trials outside the axis.");
    }
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
        wide: draw(finding, view, room),
        narrow: draw(finding, view, Room::Narrow),
        numbers: numbers(finding, view.loads),
    }
}

/// When each goal was known as well as asked, or why not.
fn title(finding: &Finding) -> String {
    let knowns: Vec<Option<(f64, f64)>> =
        finding.answers.iter().enumerate().map(|(goal, answer)| known(finding, goal, answer)).collect();
    if let [Some(first), Some(_), ..] = knowns.as_slice() {
        if knowns.iter().all(|known| *known == Some(*first)) {
            let all = if knowns.len() == 2 { "Both" } else { "All" };
            return format!("{all} goals were known to {} after {}", percent(first.0), seconds(first.1));
        }
    }
    let mut before = None;
    let words: Vec<String> = finding
        .answers
        .iter()
        .enumerate()
        .map(|(goal, answer)| {
            let name = goal_phrase(finding, goal);
            let Some((width, after)) = knowns[goal] else {
                before = None;
                return match Standing::of(answer) {
                    Standing::AtMaximum => format!("the {name} has no upper bound"),
                    Standing::BelowMinimum => format!("the {name} has no lower bound"),
                    _ => format!("the {name} was not settled"),
                };
            };
            let after = seconds(after);
            match before.replace(width) {
                Some(same) if same == width => format!("the {name} after {after}"),
                Some(_) => format!("the {name} to {} after {after}", percent(width)),
                None => format!("the {name} was known to {} after {after}", percent(width)),
            }
        })
        .collect();
    if words.is_empty() {
        return "Loads over the time of the search".into();
    }
    sentence_case(&words.join(", "))
}

fn goal_phrase(finding: &Finding, goal: usize) -> String {
    let ratio = finding.answers[goal].goal.loss_ratio;
    let shared = finding.answers.iter().filter(|other| other.goal.loss_ratio == ratio).count() > 1;
    match ratio {
        _ if shared => format!("goal {}", finding.names[goal]),
        0.0 => "no-loss goal".into(),
        ratio => format!("{} goal", percent(ratio)),
    }
}

/// The width that the goal ended with (as asked, or wider), and since when it was that narrow.
fn known(finding: &Finding, goal: usize, answer: &AnswerLine) -> Option<(f64, f64)> {
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

fn steps(finding: &Finding, goal: usize) -> Vec<Step> {
    let end = time_span(finding);
    let mut steps: Vec<Step> = Vec::new();
    for trial in &finding.record.trials {
        let Some(&bounds) = trial.bounds.get(goal) else { continue };
        let from = trial.at_s + trial.elapsed_s;
        if !from.is_finite() {
            continue;
        }
        if let Some(before) = steps.last_mut() {
            before.to = from;
        }
        steps.push(Step { from, to: end.max(from), bounds });
    }
    steps
}

/// The value that this share of the weight does not exceed.
fn weighted_quantile(values: &mut Vec<(f64, f64)>, q: f64) -> Option<f64> {
    values.retain(|(value, weight)| value.is_finite() && *value >= 0.0 && *weight > 0.0);
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    values.iter().find_map(|&(value, weight)| {
        sum += weight;
        (sum >= q * all).then_some(value)
    })
}

fn draw(finding: &Finding, view: View, room: Room) -> Drawing {
    let narrow = room == Room::Narrow;
    let mut canvas = Canvas::new(room.width(), if room == Room::Full { 424.0 } else { 348.0 });
    let tick_room = Scale::linear((view.low, view.high), (0.0, 1.0));
    let ticks = load_ticks(&tick_room, view.loads, if room == Room::Full { 10 } else { 6 });
    let labels_width = widest(ticks.iter().map(|(_, label)| label.as_str())).max(20.0) + 10.0;
    let right_room = label_room(finding, view.loads, narrow);
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
        legend(&mut canvas, frame.right);
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
    frame.name_columns(&mut canvas, "elapsed search time, s");
    let words = format!("axis from {}", view.loads.short(view.low));
    frame.left_axis(&mut canvas, cut.then_some(words.as_str()));
    phases(&mut canvas, frame, &time, &finding.record.trials);
    bounds(&mut canvas, frame, &rate, &time, finding);
    let marks = trials(&mut canvas, frame, &rate, &time, finding, view);
    right_labels(&mut canvas, frame, &rate, finding, view.loads, narrow);
    canvas.finish(marks)
}

/// Round loads with the labels of their unit.
pub(super) fn load_ticks(scale: &Scale, loads: Loads, most: usize) -> Vec<(f64, String)> {
    let unit = loads.scaled(1.0);
    let in_unit = Scale::linear((scale.low * unit, scale.high * unit), (0.0, 1.0));
    let ticks = in_unit.ticks(most);
    let step =
        if ticks.len() > 1 { ticks[1] - ticks[0] } else { ticks.first().copied().unwrap_or(1.0).max(1.0) };
    let decimals = (-step.abs().log10()).ceil().clamp(0.0, 6.0) as usize;
    ticks.into_iter().map(|tick| (tick / unit, number::fixed(tick, decimals))).collect()
}

fn legend(canvas: &mut Canvas, right: f64) {
    let mut x = right - 330.0;
    canvas.text("tick", Anchor::Start, x, 12.0, "a trial, lost:");
    x += 88.0;
    let mut ring = Path::default();
    ring.disc(canvas, x, 8.0, 3.2);
    canvas.path("hollow", &ring);
    canvas.text("tick", Anchor::Start, x + 9.0, 12.0, "none");
    x += 62.0;
    for (ratio, step) in [(1e-5, 74.0), (1e-3, 66.0), (3e-2, 60.0)] {
        let mut disc = Path::default();
        disc.disc(canvas, x, 8.0, radius(ratio));
        canvas.path("disc", &disc);
        canvas.text("tick", Anchor::Start, x + 11.0, 12.0, &percent(ratio));
        x += step;
    }
}

/// Grows with the logarithm of the loss ratio.
fn radius(ratio: f64) -> f64 {
    (2.0 + (ratio.max(1e-9).log10() + 5.0) * 1.25).clamp(2.0, 7.0)
}

fn phases(canvas: &mut Canvas, frame: Frame, time: &Scale, trials: &[TrialLine]) {
    let mut before: Option<&str> = None;
    let mut lines = Path::default();
    for trial in trials {
        let name = match (&trial.phase, trial.purpose) {
            (Some(phase), _) => phase.as_str(),
            (None, Purpose::DelayAt) => "delay",
            (None, _) => continue,
        };
        if before == Some(name) {
            continue;
        }
        let x = time.clamped(trial.at_s);
        if before.is_some() {
            lines.start(canvas, x, frame.top - 14.0);
            lines.line(canvas, x, frame.bottom);
        }
        canvas.text_if_free("tick", Anchor::Start, x + 4.0, frame.top - 4.0, name);
        before = Some(name);
    }
    canvas.path("phase", &lines);
}

fn bounds(canvas: &mut Canvas, frame: Frame, rate: &Scale, time: &Scale, finding: &Finding) {
    for goal in 0..finding.answers.len() {
        let steps = thinned(steps(finding, goal), time);
        let band = band(canvas, rate, time, &steps);
        canvas.path(&format!("band f{}", finding.inks[goal]), &band);
    }
    for goal in 0..finding.answers.len() {
        let steps = thinned(steps(finding, goal), time);
        for side in [Side::Lower, Side::Upper] {
            let (valid, invalid) = stairs(canvas, frame, rate, time, finding, goal, &steps, side);
            canvas.path(&format!("bound s{}", finding.inks[goal]), &valid);
            canvas.path(&format!("bound invalid s{}", finding.inks[goal]), &invalid);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
}

impl Side {
    fn of(self, bounds: &BoundsLine) -> (Option<f64>, bool) {
        match self {
            Self::Lower => (bounds.lower_pps.filter(|load| load.is_finite()), bounds.lower_valid),
            Self::Upper => (bounds.upper_pps.filter(|load| load.is_finite()), bounds.upper_valid),
        }
    }
}

/// Steps that change something, no more than a line may have.
fn thinned(steps: Vec<Step>, time: &Scale) -> Vec<Step> {
    let least = if steps.len() > STEPS { (time.high - time.low) / STEPS as f64 } else { 0.0 };
    let mut kept: Vec<Step> = Vec::new();
    for step in steps {
        match kept.last_mut() {
            Some(last) if last.bounds == step.bounds => last.to = step.to,
            Some(last) if last.to - last.from < least => {
                *last = Step { from: last.from, ..step };
            }
            _ => kept.push(step),
        }
    }
    kept
}

/// The area between the bounds, where both are known.
fn band(canvas: &Canvas, rate: &Scale, time: &Scale, steps: &[Step]) -> Path {
    let mut path = Path::default();
    let both = |step: &Step| {
        let (lower, upper) = (step.bounds.lower_pps?, step.bounds.upper_pps?);
        (upper >= lower).then(|| (rate.clamped(lower), rate.clamped(upper)))
    };
    for run in steps.chunk_by(|a, b| both(a).is_some() == both(b).is_some()) {
        if both(&run[0]).is_none() {
            continue;
        }
        let corners: Vec<(f64, f64, f64, f64)> = run
            .iter()
            .filter_map(|step| {
                let (lower, upper) = both(step)?;
                Some((time.clamped(step.from), time.clamped(step.to), lower, upper))
            })
            .collect();
        path.start(canvas, corners[0].0, corners[0].3);
        for (from, to, _, upper) in &corners {
            path.line(canvas, *from, *upper);
            path.line(canvas, *to, *upper);
        }
        for (from, to, lower, _) in corners.iter().rev() {
            path.line(canvas, *to, *lower);
            path.line(canvas, *from, *lower);
        }
        path.close();
    }
    path
}

/// One bound over time: what its trials bear out, and what they do not.
#[expect(clippy::too_many_arguments, reason = "all of them are the frame of one drawing")]
fn stairs(
    canvas: &Canvas,
    frame: Frame,
    rate: &Scale,
    time: &Scale,
    finding: &Finding,
    goal: usize,
    steps: &[Step],
    side: Side,
) -> (Path, Path) {
    let mut paths = (Path::default(), Path::default());
    let mut before: Option<f64> = None;
    for step in steps {
        let (load, valid) = side.of(&step.bounds);
        let Some(load) = load else {
            before = None;
            continue;
        };
        let path = if valid { &mut paths.0 } else { &mut paths.1 };
        let (from, to) = (time.clamped(step.from), time.clamped(step.to));
        // Lines of two goals at one load stand beside one another.
        let beside = if shares(finding, goal, step, side) { 2.0 } else { 0.0 };
        let y = (rate.at(load) + beside).clamp(frame.top, frame.bottom);
        let shown = rate.shows(load);
        if let Some(before) = before {
            if before != y {
                path.start(canvas, from, before);
                path.line(canvas, from, y);
            }
        }
        if shown {
            path.start(canvas, from, y);
            path.line(canvas, to, y);
        }
        before = Some(y);
    }
    paths
}

/// Whether an earlier goal has the same bound at that time.
fn shares(finding: &Finding, goal: usize, step: &Step, side: Side) -> bool {
    let at = |trial: &TrialLine| trial.at_s + trial.elapsed_s == step.from;
    let Some(trial) = finding.record.trials.iter().find(|trial| at(trial)) else { return false };
    trial.bounds.iter().take(goal).any(|other| side.of(other).0 == side.of(&step.bounds).0)
}

/// Dashes and discs, triangles at the edges; where each trial's mark stands.
fn trials(
    canvas: &mut Canvas,
    frame: Frame,
    rate: &Scale,
    time: &Scale,
    finding: &Finding,
    view: View,
) -> Vec<(f64, f64)> {
    let trials = &finding.record.trials;
    let shrink = match (frame.right - frame.left) / trials.len().max(1) as f64 {
        room if room < 2.0 => 0.55,
        room if room < 5.0 => 0.75,
        _ => 1.0,
    };
    let (mut dashes, mut discs, mut hollow) = (Path::default(), Path::default(), Path::default());
    let (mut lossy, mut lossless) = (Path::default(), Path::default());
    let mut edges: [Vec<(f64, f64)>; 2] = [Vec::new(), Vec::new()];
    let mut marks = Vec::with_capacity(trials.len());
    for trial in trials {
        let (from, to) = (time.clamped(trial.at_s), time.clamped(trial.at_s + trial.duration_s));
        let x = (from + to) / 2.0;
        let load = trial.intended_load_pps;
        if rate.shows(load) {
            let y = rate.at(load);
            dashes.start(canvas, from, y);
            dashes.line(canvas, to, y);
            if trial.lost.0 == 0 {
                hollow.disc(canvas, x, y, 3.2 * shrink);
            } else {
                discs.disc(canvas, x, y, radius(shown_loss(trial)) * shrink);
            }
            marks.push((x, y));
        } else {
            let up = load > view.high;
            let y = if up { frame.top + 7.0 } else { frame.bottom - 8.0 };
            let path = if trial.lost.0 == 0 { &mut lossless } else { &mut lossy };
            path.triangle(canvas, x, y, up);
            edges[usize::from(up)].push((x, load));
            marks.push((x, y));
        }
    }
    canvas.path("dash", &dashes);
    canvas.path("hollow", &hollow);
    canvas.path("disc", &discs);
    canvas.path("hollow", &lossless);
    canvas.path("tri", &lossy);
    for (up, edge) in edges.iter().enumerate() {
        let y = if up == 1 { frame.top + 11.0 } else { frame.bottom - 4.0 };
        edge_labels(canvas, frame, y, edge, view.loads);
    }
    marks
}

/// The loads of the trials at an edge, in words beside each group of triangles.
///
/// Groups that leave no room for their words become one.
fn edge_labels(canvas: &mut Canvas, frame: Frame, y: f64, edge: &[(f64, f64)], loads: Loads) {
    for &(x, _) in edge {
        canvas.keep_free((x - 5.0, x + 5.0), (y - 9.0, y + 2.0));
    }
    for apart in [42.0, 90.0, 180.0, 360.0, f64::INFINITY] {
        let mut attempt = canvas.clone();
        let mut groups = edge.chunk_by(|a, b| b.0 - a.0 < apart);
        if groups.all(|group| edge_label(&mut attempt, frame, y, group, loads)) {
            *canvas = attempt;
            return;
        }
    }
}

/// The words of one group at its right or its left; says whether there was room.
fn edge_label(canvas: &mut Canvas, frame: Frame, y: f64, group: &[(f64, f64)], loads: Loads) -> bool {
    let mut words: Vec<String> = group.iter().take(3).map(|(_, load)| loads.short(*load)).collect();
    if group.len() > 3 {
        words.push(format!("… {} trials", group.len()));
    }
    let words = words.join(", ");
    let (first, last) = (group[0].0, group[group.len() - 1].0);
    (last + 9.0 + text_width(&words) < frame.right
        && canvas.text_if_free("halo", Anchor::Start, last + 9.0, y, &words))
        || (first - 9.0 - text_width(&words) > frame.left
            && canvas.text_if_free("halo", Anchor::End, first - 9.0, y, &words))
}

/// Whisker, name, value and interval of each goal: no legend.
fn right_labels(
    canvas: &mut Canvas,
    frame: Frame,
    rate: &Scale,
    finding: &Finding,
    loads: Loads,
    narrow: bool,
) {
    let lines = if narrow { 2.0 } else { 3.0 };
    let height = lines * 15.0 + 4.0;
    let middle = |answer: &AnswerLine| {
        let ends: Vec<f64> = [answer.lower_pps, answer.upper_pps].into_iter().flatten().collect();
        let load = answer.headline_pps().or_else(|| ends.first().copied())?;
        let both = ends.iter().sum::<f64>() / ends.len().max(1) as f64;
        Some(rate.clamped(if ends.len() == 2 { both } else { load }))
    };
    let wanted: Vec<f64> =
        finding.answers.iter().map(|answer| middle(answer).unwrap_or(frame.bottom) - height / 2.0).collect();
    let tops = spread(&wanted, height, frame.top - 8.0, frame.bottom - height);
    let x = frame.right + 9.0;
    for (goal, answer) in finding.answers.iter().enumerate() {
        let class = finding.inks[goal];
        if let (Some(lower), Some(upper)) = (answer.lower_pps, answer.upper_pps) {
            let (lower, upper) = (rate.clamped(lower), rate.clamped(upper));
            let mut caps = Path::default();
            for y in [lower, upper] {
                caps.start(canvas, x - 4.0, y);
                caps.line(canvas, x + 4.0, y);
            }
            canvas.path(&format!("bound s{class}"), &caps);
            canvas.line(&format!("whisker s{class}"), (x, lower), (x, upper));
        }
        if let Some(headline) = answer.headline_pps() {
            let mut dot = Path::default();
            dot.disc(canvas, x, rate.clamped(headline), 3.6);
            canvas.path(&format!("f{class}"), &dot);
        }
        let text = x + 10.0;
        let top = tops[goal];
        canvas.text(&format!("name t{class}"), Anchor::Start, text, top + 12.0, &finding.names[goal]);
        let [value, below] = label_words(answer, loads, narrow);
        canvas.text("value", Anchor::Start, text, top + 27.0, &value);
        if !narrow {
            canvas.text("", Anchor::Start, text, top + 42.0, &below);
        }
    }
}

/// The value of a goal, and its interval or that it has none.
fn label_words(answer: &AnswerLine, loads: Loads, narrow: bool) -> [String; 2] {
    let regular = Standing::of(answer) == Standing::Regular;
    let value = match answer.headline_pps() {
        Some(headline) if narrow => loads.bare(headline),
        Some(headline) => loads.with_unit(headline),
        None => "unknown".into(),
    };
    let below = if regular { loads.interval(answer.lower_pps, answer.upper_pps) } else { "irregular".into() };
    [if regular || !narrow { value } else { "irregular".into() }, below]
}

/// Width that the labels at the right need.
fn label_room(finding: &Finding, loads: Loads, narrow: bool) -> f64 {
    let mut room = 60.0f64;
    for (name, answer) in finding.names.iter().zip(&finding.answers) {
        let [value, below] = label_words(answer, loads, narrow);
        // Names are bold.
        room = room.max(text_width(name) * 1.1).max(text_width(&value));
        if !narrow {
            room = room.max(text_width(&below));
        }
    }
    room + 22.0
}

fn numbers(finding: &Finding, loads: Loads) -> Numbers {
    let mut heads: Vec<String> = ["trial", "ends at, s", "lost", "of offered", "loss ratio"]
        .iter()
        .map(|head| (*head).into())
        .collect();
    heads.insert(2, format!("load, {}", loads.unit));
    for name in &finding.names {
        heads.push(format!("{name}: lower, {}", loads.unit));
        heads.push(format!("upper, {}", loads.unit));
    }
    let rows = finding
        .record
        .trials
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
                cells.push(bound_words(loads, bounds.lower_pps, bounds.lower_valid));
                cells.push(bound_words(loads, bounds.upper_pps, bounds.upper_valid));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weighted_quantile_counts_time_not_values() {
        let mut values = vec![(1.0, 1.0), (2.0, 98.0), (3.0, 1.0)];
        assert_eq!(weighted_quantile(&mut values, 0.15), Some(2.0));
        assert_eq!(weighted_quantile(&mut Vec::new(), 0.5), None);
    }

    #[test]
    fn discs_grow_with_the_logarithm_of_loss() {
        assert_eq!((radius(1e-5), radius(1e-3), radius(1.0)), (2.0, 4.5, 7.0));
    }
}
