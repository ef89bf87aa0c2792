//! The questions of a comparison, a row each with a scale of its own, and one zero for all.

use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{apart, digits, ends, percent, percent_of, plural, three};
use crate::text::{points, unit};
use dropline_record::compared::QuestionLine;
use dropline_record::{Compared, VerdictWord};

/// An interval that reaches farther than so many times its estimate is cut.
const FAR: f64 = 6.0;
/// Factors that a scale of ratios may be marked by.
const FACTORS: [f64; 8] = [1.05, 1.1, 1.25, 1.5, 2.0, 4.0, 10.0, 100.0];

/// A row.
struct Question<'a> {
    name: String,
    about: String,
    line: &'a QuestionLine,
    /// Whether it is B ÷ A, and not B − A.
    is_ratio: bool,
    of: fn(f64, i32) -> String,
    change: fn(f64) -> String,
}

/// The rows of a comparison.
pub(crate) fn questions(compared: &Compared) -> Option<Plot> {
    let questions = asked(compared);
    let title = title(compared, &questions);
    Some(Plot {
        name: "questions",
        desc: format!(
            "{title}. {}",
            questions.iter().map(|one| format!("{}. ", one.words())).collect::<String>()
        ),
        title,
        caption: format!(
            "Dot: estimate; line: {} interval, with an arrow where it reaches farther; grey: too small to matter. Left of \
             the middle B is faster, or less often slow; right of it slower, or more often. Each row has its own scale.",
            percent(compared.level)
        ),
        wide: draw(&questions, Room::Full),
        narrow: draw(&questions, Room::Narrow),
        numbers: numbers(compared, &questions),
    })
}

fn asked(compared: &Compared) -> Vec<Question<'_>> {
    let unit = unit(compared.unit_ns);
    let tail = &compared.tail_mass;
    let high = format!("p{}", (compared.percentile * 1e6).round() / 1e4);
    let difference = |name: String, about: String, line| Question {
        name,
        about,
        line,
        is_ratio: false,
        of: digits,
        change: signed,
    };
    let mut asked = vec![
        difference("Typical delay".into(), format!("median, B \u{2212} A, {unit}"), &compared.core),
        difference("Slow end".into(), format!("{high}, B \u{2212} A, {unit}"), &compared.high_percentile),
        Question {
            name: tail
                .threshold
                .map_or_else(|| "Long events".into(), |at| format!("Above {} {unit}", three(at))),
            about: "how often, B \u{f7} A".into(),
            line: &tail.question,
            is_ratio: true,
            of: percent_of,
            change: times,
        },
    ];
    asked.extend(compared.loss.as_ref().map(|loss| Question {
        of: percent_of,
        change: points,
        ..difference("Lost".into(), "share, B \u{2212} A".into(), &loss.question)
    }));
    asked
}

/// A ratio; one that is nothing, or without bound, is not told to a digit.
fn times(ratio: f64) -> String {
    match ratio {
        _ if ratio < 0.001 => "below \u{d7}0.001".into(),
        _ if ratio > 1000.0 => "above \u{d7}1000".into(),
        _ => format!("\u{d7}{}", three(ratio)),
    }
}

fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", three(value)) } else { three(value) }
}

impl Question<'_> {
    fn value(&self) -> String {
        match self.line.estimate {
            Some(estimate) => (self.change)(estimate),
            None if self.line.lost_of_b => "lost".into(),
            None => "\u{2013}".into(),
        }
    }

    fn interval(&self) -> String {
        if self.line.low.is_none() && self.line.high.is_none() {
            return String::new();
        }
        let [low, high] = ends(self.line.low, self.line.high, self.change);
        format!("[{low}, {high}]")
    }

    /// Of A and of B themselves.
    fn sides(&self) -> [String; 2] {
        let told = match (self.line.of_a, self.line.of_b) {
            (Some(a), Some(b)) => apart([a, b], self.of),
            (a, b) => [a, b].map(|side| side.map_or_else(|| "\u{2013}".into(), |side| (self.of)(side, 3))),
        };
        let [a, b] = told;
        [
            if self.line.lost_of_a { "lost".into() } else { a },
            if self.line.lost_of_b { "lost".into() } else { b },
        ]
    }

    fn words(&self) -> String {
        let [a, b] = self.sides();
        let interval = self.interval();
        format!(
            "{}, {}: {} {interval}, {}; A {a}, B {b}",
            self.name,
            self.about,
            self.value(),
            self.line.verdict.words()
        )
    }

    /// Sign and class of the verdict.
    fn verdict(&self) -> (&'static str, &'static str) {
        match self.line.verdict {
            VerdictWord::Improved => ("\u{25bc}", "better"),
            VerdictWord::Regressed => ("\u{25b2}", "worse"),
            VerdictWord::Equivalent => ("\u{2248}", "open"),
            _ => ("?", "open"),
        }
    }

    /// A value on the row's scale: a ratio by its logarithm.
    fn place(&self, value: f64) -> f64 {
        if self.is_ratio { value.max(1e-300).ln() } else { value }
    }

    /// The grey middle: what is too small to matter.
    fn little(&self) -> f64 {
        let effect = self.line.smallest_effect.max(0.0);
        if self.is_ratio { effect.ln_1p() } else { effect }
    }

    /// How far the row reaches to either side.
    fn reach(&self) -> f64 {
        let ends = [self.line.low, self.line.high].into_iter().flatten().map(|end| self.place(end).abs());
        let estimate = self.line.estimate.map_or(0.0, |estimate| self.place(estimate).abs());
        let most = (estimate.max(self.little() * 1.4)) * FAR;
        let farthest = ends.fold(estimate.max(self.little() * 1.4), f64::max);
        let reach = if most > 0.0 { farthest.min(most) } else { farthest };
        if reach > 0.0 && reach.is_finite() { reach * 1.12 } else { 1.0 }
    }

    fn ticks(&self, reach: f64) -> Vec<(f64, String)> {
        if !self.is_ratio {
            let label = |value: f64| if value == 0.0 { "0".into() } else { (self.change)(value) };
            let scale = Scale::linear((-reach, reach), (0.0, 1.0));
            return scale.ticks(4).into_iter().map(|value| (value, label(value))).collect();
        }
        let fits: Vec<f64> = FACTORS.into_iter().filter(|factor| factor.ln() <= reach).collect();
        let factor = fits.last().copied().unwrap_or(1.0);
        let mut ticks = vec![(0.0, "same".to_owned())];
        if factor > 1.0 {
            ticks.push((factor.ln(), format!("\u{d7}{}", three(factor))));
            ticks.push((-factor.ln(), format!("\u{f7}{}", three(factor))));
        }
        ticks
    }
}

/// How many of the questions have which answer.
fn title(compared: &Compared, questions: &[Question]) -> String {
    if compared.not_valid.is_some() {
        return "What the events show; it is not valid for the targets".into();
    }
    let with = |verdict: VerdictWord| questions.iter().filter(|one| one.line.verdict == verdict).count();
    let (better, worse, same) =
        (with(VerdictWord::Improved), with(VerdictWord::Regressed), with(VerdictWord::Equivalent));
    let open = questions.len() - better - worse - same;
    let words = [(worse, "worse"), (better, "better"), (same, "as before"), (open, "open")];
    let said: Vec<String> = words
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    format!("Of {}: {}", plural(questions.len() as u64, "question"), said.join(", "))
}

fn draw(questions: &[Question], room: Room) -> Drawing {
    let narrow = room == Room::Narrow;
    let row = if narrow { 112.0 } else { 68.0 };
    let head = if narrow { 4.0 } else { 24.0 };
    let mut canvas = Canvas::new(room.width(), head + row * questions.len() as f64 + 4.0);
    let (left, right) = if narrow { (10.0, canvas.width - 10.0) } else { (316.0, canvas.width - 250.0) };
    if !narrow {
        let middle = (left + right) / 2.0;
        canvas.text("tick", Anchor::End, middle - 12.0, 12.0, "\u{25c2} B faster, less often");
        canvas.text("tick", Anchor::Start, middle + 12.0, 12.0, "B slower, more often \u{25b8}");
    }
    let mut marks = Vec::new();
    for (index, question) in questions.iter().enumerate() {
        let top = head + row * index as f64;
        let (width, numbers) = (canvas.width, if narrow { canvas.width } else { left - 24.0 });
        canvas.line("grid", (0.0, top), (width, top));
        canvas.text("name value", Anchor::Start, 0.0, top + 20.0, &question.name);
        canvas.text("tick", Anchor::Start, 0.0, top + 37.0, &question.about);
        canvas.text("name value", Anchor::End, numbers, top + 20.0, &question.value());
        canvas.text("tick", Anchor::End, numbers, top + 37.0, &question.interval());
        let (sign, class) = question.verdict();
        let verdict = format!("{sign} {}", question.line.verdict.words());
        let [a, b] = question.sides();
        let sides = format!("A {a}, B {b}");
        if narrow {
            canvas.text(&format!("name t{class}"), Anchor::Start, 0.0, top + 54.0, &verdict);
            canvas.text("tick", Anchor::End, width, top + 54.0, &sides);
        } else {
            canvas.text(&format!("name t{class}"), Anchor::Start, right + 24.0, top + 20.0, &verdict);
            canvas.text("tick", Anchor::Start, right + 24.0, top + 37.0, &sides);
        }
        let (above, below) = if narrow { (top + 62.0, top + 90.0) } else { (top + 8.0, top + 44.0) };
        marks.push(scale(&mut canvas, question, (left, right), (above, below)));
    }
    canvas.finish(marks)
}

/// The scale of a row with its interval; where its estimate stands.
fn scale(
    canvas: &mut Canvas,
    question: &Question,
    across: (f64, f64),
    (top, bottom): (f64, f64),
) -> (f64, f64) {
    let reach = question.reach();
    let x = Scale::linear((-reach, reach), across);
    let little = question.little();
    if little > 0.0 {
        canvas.rect("little", (x.clamped(-little), x.clamped(little)), (top, bottom));
    }
    canvas.line("axis", (across.0, bottom), (across.1, bottom));
    canvas.line("axis bold", (x.at(0.0), top), (x.at(0.0), bottom));
    for (value, label) in question.ticks(reach) {
        if canvas.text_if_free("tick", Anchor::Middle, x.at(value), bottom + 15.0, &label) {
            canvas.line("axis", (x.at(value), bottom), (x.at(value), bottom + 4.0));
        }
    }
    let middle = (top + bottom) / 2.0;
    let Some(estimate) = question.line.estimate else { return (x.at(0.0), middle) };
    let (_, class) = question.verdict();
    let at = x.clamped(question.place(estimate));
    let ends = [(question.line.low, -1.0), (question.line.high, 1.0)].map(|(end, way)| {
        let place = end.map(|end| question.place(end)).filter(|place| place.abs() <= reach);
        (place.map_or(if way < 0.0 { across.0 } else { across.1 }, |place| x.at(place)), place.is_some(), way)
    });
    canvas.line(&format!("whisker {class}"), (ends[0].0, middle), (ends[1].0, middle));
    for (end, is_known, way) in ends {
        let mut tip = Path::default();
        let back = end - way * 6.0;
        match is_known {
            true => {
                tip.start(canvas, end, middle - 6.0);
                tip.line(canvas, end, middle + 6.0);
            }
            false => {
                tip.start(canvas, back, middle - 5.0);
                tip.line(canvas, end, middle);
                tip.line(canvas, back, middle + 5.0);
            }
        }
        canvas.path(&format!("cap {class}"), &tip);
    }
    let mut dot = Path::default();
    dot.disc(canvas, at, middle, 5.0);
    canvas.path(&format!("f{class}"), &dot);
    (at, middle)
}

fn numbers(compared: &Compared, questions: &[Question]) -> Numbers {
    let heads = ["question", "A", "B", "change", "lower", "upper", "matters from", "verdict"];
    let unit = unit(compared.unit_ns);
    let rows = questions.iter().map(|one| {
        let end = |end: Option<f64>| end.map_or_else(|| "\u{2013}".into(), one.change);
        let [a, b] = one.sides();
        let effect = one.line.smallest_effect;
        let matters = match (one.is_ratio, one.name.as_str()) {
            (true, _) => format!("\u{d7}{}", three(1.0 + effect)),
            (false, "Lost") => percent(effect),
            (false, _) => format!("{} {unit}", three(effect)),
        };
        Reading {
            words: one.words(),
            cells: vec![
                format!("{}, {}", one.name, one.about),
                a,
                b,
                one.value(),
                end(one.line.low),
                end(one.line.high),
                matters,
                one.line.verdict.words(),
            ],
        }
    });
    Numbers { heads: heads.map(String::from).into(), rows: rows.collect() }
}
