//! What each goal ended with, at the right end of its bounds.

use super::Drawn;
use crate::plot::axes::spread;
use crate::plot::canvas::{Anchor, Canvas, Path, text_width};
use crate::search_summary::SearchSummary;
use crate::verdict_word::Standing;

/// Whisker, name, value and interval of each goal: no legend.
pub(super) fn right_labels(canvas: &mut Canvas, drawn: &Drawn, narrow: bool) {
    let Drawn { finding, frame, ref rate, .. } = *drawn;
    let lines = if narrow { 2.0 } else { 3.0 };
    let height = lines * 15.0 + 4.0;
    let goals = 0..finding.answers.len();
    let middle = |goal: usize| {
        let (lower, upper) = finding.ends(goal);
        let ends: Vec<f64> = [lower, upper].into_iter().flatten().collect();
        let load = finding.point(goal).or_else(|| ends.first().copied())?;
        let both = ends.iter().sum::<f64>() / ends.len().max(1) as f64;
        Some(rate.clamped(if ends.len() == 2 { both } else { load }))
    };
    let wanted: Vec<f64> =
        goals.clone().map(|goal| middle(goal).unwrap_or(frame.bottom) - height / 2.0).collect();
    let tops = spread(&wanted, height, frame.top - 8.0, frame.bottom - height);
    let x = frame.right + 9.0;
    for goal in goals {
        let class = finding.inks[goal];
        if let (Some(lower), Some(upper)) = finding.ends(goal) {
            let (lower, upper) = (rate.clamped(lower), rate.clamped(upper));
            let mut caps = Path::default();
            for y in [lower, upper] {
                caps.start(canvas, x - 4.0, y);
                caps.line(canvas, x + 4.0, y);
            }
            canvas.path(&format!("cap s{class}"), &caps);
            canvas.line(&format!("whisker s{class}"), (x, lower), (x, upper));
        }
        if let Some(headline) = finding.point(goal) {
            let mut dot = Path::default();
            dot.disc(canvas, x, rate.clamped(headline), 3.6);
            canvas.path(&format!("f{class}"), &dot);
        }
        let text = x + 10.0;
        let top = tops[goal];
        canvas.text(&format!("name t{class}"), Anchor::Start, text, top + 12.0, &finding.names[goal]);
        let [value, below] = label_words(finding, goal, narrow);
        canvas.text("value", Anchor::Start, text, top + 27.0, &value);
        if !narrow {
            canvas.text("", Anchor::Start, text, top + 42.0, &below);
        }
    }
}

/// The value of a goal, and its interval or why it has none.
fn label_words(finding: &SearchSummary, goal: usize, narrow: bool) -> [String; 2] {
    let (standing, answer) = (&finding.standings[goal], &finding.answers[goal]);
    let value = finding.headline(goal, !narrow).unwrap_or_else(|| "unknown".into());
    if standing.settled() && (answer.lower_pps.is_some() || answer.upper_pps.is_some()) {
        return [value, finding.loads_of(goal).interval(answer.lower_pps, answer.upper_pps)];
    }
    let none = match standing {
        // As long as a sentence.
        Standing::Other(_) => "unfinished".into(),
        standing => standing.short().into_owned(),
    };
    [if narrow { none.clone() } else { value }, none]
}

/// Width that the labels at the right need.
pub(super) fn label_room(finding: &SearchSummary, narrow: bool) -> f64 {
    let mut room = 60.0f64;
    for (goal, name) in finding.names.iter().enumerate() {
        let [value, below] = label_words(finding, goal, narrow);
        // Names are bold.
        room = room.max(text_width(name) * 1.1).max(text_width(&value));
        if !narrow {
            room = room.max(text_width(&below));
        }
    }
    room + 22.0
}
