//! An SVG drawing: classes carry the colours, coordinates stay inside.

use maud::{Escaper, PreEscaped};
use std::fmt::Write as _;

/// Height of all text, in pixels: text is measured before it is placed, without a font.
const SIZE: f64 = 12.0;

/// A drawing under construction, in pixels.
#[derive(Clone, Debug)]
pub(crate) struct Canvas {
    pub(crate) width: f64,
    pub(crate) height: f64,
    body: String,
    taken: Vec<Box2>,
}

/// A finished drawing.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// SVG elements, escaped.
    pub(crate) body: String,
    /// Where each mark stands, in the order of the numbers' rows.
    pub(crate) marks: Vec<(f64, f64)>,
}

/// The data of a `path`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    data: String,
}

/// Which part of a text stands at its x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Copy, Debug)]
struct Box2 {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Canvas {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new(), taken: Vec::new() }
    }

    pub(crate) fn finish(self, marks: Vec<(f64, f64)>) -> Drawing {
        let marks = marks.into_iter().map(|(x, y)| (inside(x, self.width), inside(y, self.height))).collect();
        Drawing { width: self.width, height: self.height, body: self.body, marks }
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let mut path = Path::default();
        path.start(self, from.0, from.1);
        path.line(self, to.0, to.1);
        self.path(class, &path);
    }

    pub(crate) fn path(&mut self, class: &str, path: &Path) {
        if !path.data.is_empty() {
            let _ = write!(self.body, "<path class=\"{class}\" d=\"{}\"/>", path.data);
        }
    }

    pub(crate) fn rect(&mut self, class: &str, x: (f64, f64), y: (f64, f64)) {
        let (left, right) = (inside(x.0.min(x.1), self.width), inside(x.0.max(x.1), self.width));
        let (top, bottom) = (inside(y.0.min(y.1), self.height), inside(y.0.max(y.1), self.height));
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            short(left),
            short(top),
            short(right - left),
            short(bottom - top)
        );
    }

    /// Text whose baseline is at `y`; pushed inward where it would leave the drawing.
    pub(crate) fn text(&mut self, class: &str, anchor: Anchor, x: f64, y: f64, text: &str) {
        let area = self.area(anchor, x, y, text);
        self.taken.push(area);
        let x = match anchor {
            Anchor::Start => area.left,
            Anchor::Middle => (area.left + area.right) / 2.0,
            Anchor::End => area.right,
        };
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        // A tick looks as all text does.
        let class =
            if class.is_empty() || class == "tick" { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(
            self.body,
            "<text{class}{anchor} x=\"{}\" y=\"{}\">",
            short(inside(x, self.width)),
            short(inside(y, self.height))
        );
        let _ = Escaper::new(&mut self.body).write_str(text);
        self.body.push_str("</text>");
    }

    /// Draws the text only where no other text stands yet; says whether it did.
    pub(crate) fn text_if_free(&mut self, class: &str, anchor: Anchor, x: f64, y: f64, text: &str) -> bool {
        let area = self.area(anchor, x, y, text);
        let moved = match anchor {
            Anchor::Start => (area.left - x).abs(),
            Anchor::Middle => ((area.left + area.right) / 2.0 - x).abs(),
            Anchor::End => (area.right - x).abs(),
        };
        let free = moved < 1.0 && !self.taken.iter().any(|other| area.meets(other));
        if free {
            self.text(class, anchor, x, y, text);
        }
        free
    }

    /// Keeps a place free of text that is drawn only where it is free.
    pub(crate) fn keep_free(&mut self, x: (f64, f64), y: (f64, f64)) {
        self.taken.push(Box2 { left: x.0, right: x.1, top: y.0, bottom: y.1 });
    }

    fn area(&self, anchor: Anchor, x: f64, y: f64, text: &str) -> Box2 {
        let width = text_width(text);
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        let left = left.min(self.width - width).max(0.0);
        Box2 { left, right: left + width, top: y - 11.0, bottom: y + 3.0 }
    }
}

impl Box2 {
    fn meets(&self, other: &Self) -> bool {
        self.left < other.right + 4.0
            && other.left < self.right + 4.0
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

impl Path {
    /// Moves the pen.
    pub(crate) fn start(&mut self, canvas: &Canvas, x: f64, y: f64) {
        let (x, y) = (inside(x, canvas.width), inside(y, canvas.height));
        let _ = write!(self.data, "M{} {}", short(x), short(y));
    }

    pub(crate) fn line(&mut self, canvas: &Canvas, x: f64, y: f64) {
        let (x, y) = (inside(x, canvas.width), inside(y, canvas.height));
        let _ = write!(self.data, "L{} {}", short(x), short(y));
    }

    pub(crate) fn close(&mut self) {
        self.data.push('Z');
    }

    pub(crate) fn disc(&mut self, canvas: &Canvas, x: f64, y: f64, radius: f64) {
        let (x, y) = (fit(x, radius, canvas.width), fit(y, radius, canvas.height));
        let (r, d) = (short(radius), short(radius * 2.0));
        let _ =
            write!(self.data, "M{} {}a{r} {r} 0 1 1 {d} 0a{r} {r} 0 1 1 -{d} 0", short(x - radius), short(y));
    }

    /// A spot that is as large as the line's round end is thick.
    pub(crate) fn dot(&mut self, canvas: &Canvas, x: f64, y: f64) {
        self.start(canvas, x, y);
        self.line(canvas, x, y);
    }

    /// A triangle that points up, or down.
    pub(crate) fn triangle(&mut self, canvas: &Canvas, x: f64, y: f64, up: bool) {
        let (half, height) = (4.0, if up { -4.0 } else { 4.0 });
        let (x, y) = (fit(x, half, canvas.width), fit(y, half, canvas.height));
        let _ = write!(
            self.data,
            "M{} {}L{} {}L{} {}Z",
            short(x - half),
            short(y - height),
            short(x),
            short(y + height),
            short(x + half),
            short(y - height)
        );
    }
}

impl Drawing {
    /// The whole element, with what it says in words; `style` makes it stand alone.
    pub(crate) fn svg(
        &self,
        class: &str,
        title: &str,
        desc: &str,
        style: Option<&str>,
    ) -> PreEscaped<String> {
        let mut svg = String::with_capacity(self.body.len() + 400);
        let (width, height) = (short(self.width), short(self.height));
        if style.is_some() {
            svg.push_str(crate::MARK);
        }
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" role=\"img\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\""
        );
        if style.is_none() && !self.marks.is_empty() {
            let _ = write!(svg, " tabindex=\"0\" data-marks=\"");
            for (index, (x, y)) in self.marks.iter().enumerate() {
                let gap = if index > 0 { " " } else { "" };
                let _ = write!(svg, "{gap}{},{}", short(*x), short(*y));
            }
            svg.push('"');
        }
        svg.push_str("><title>");
        let _ = Escaper::new(&mut svg).write_str(title);
        svg.push_str("</title><desc>");
        let _ = Escaper::new(&mut svg).write_str(desc);
        svg.push_str("</desc>");
        if let Some(style) = style {
            let _ = write!(
                svg,
                "<style>{style}</style><rect class=\"page\" width=\"{width}\" height=\"{height}\"/>"
            );
        }
        svg.push_str(&self.body);
        svg.push_str("</svg>");
        PreEscaped(svg)
    }
}

/// How wide a text of 12 px is in a wide font (that of DejaVu Sans, in hundredths of an em): a narrower one
/// leaves room.
pub(crate) fn text_width(text: &str) -> f64 {
    let letters = text.chars().map(|letter| match letter {
        'i' | 'j' | 'l' | '\'' | '|' => 28.0,
        ' ' | '\u{a0}' | '\u{202f}' | '.' | ',' | ':' | '/' | 'I' => 34.0,
        '[' | ']' | '(' | ')' | 'f' | 't' | 'r' | '-' => 41.0,
        'c' | 's' | 'z' | '\u{2013}' => 55.0,
        'm' | '%' | '\u{2026}' | 'W' => 100.0,
        'w' | '\u{2212}' | '+' | '=' | '\u{2265}' | 'M' => 85.0,
        'A'..='Z' => 72.0,
        _ if letter.is_ascii() => 64.0,
        _ => 100.0,
    });
    letters.sum::<f64>() * SIZE / 100.0
}

/// A coordinate as it is written: a tenth of a pixel.
fn short(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded == 0.0 { "0".into() } else { format!("{rounded}") }
}

fn inside(value: f64, most: f64) -> f64 {
    if value.is_finite() { value.clamp(0.0, most) } else { 0.0 }
}

fn fit(value: f64, margin: f64, most: f64) -> f64 {
    inside(value, most).clamp(margin, (most - margin).max(margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_the_drawing() {
        let mut canvas = Canvas::new(100.0, 50.0);
        canvas.line("l", (f64::NAN, -5.0), (1e300, f64::INFINITY));
        assert_eq!(canvas.finish(vec![(-1.0, 60.0)]).marks, [(0.0, 50.0)]);
    }

    #[test]
    fn text_cannot_break_out() {
        let mut canvas = Canvas::new(100.0, 50.0);
        canvas.text("", Anchor::Start, 0.0, 10.0, "</text><script>&\"");
        let svg = canvas.finish(Vec::new()).svg("s", "<b>", "&", None).0;
        assert!(!svg.contains("<script") && !svg.contains("<b>"), "{svg}");
    }

    #[test]
    fn text_that_would_cover_text_is_left_out() {
        let mut canvas = Canvas::new(200.0, 50.0);
        assert!(canvas.text_if_free("", Anchor::Start, 10.0, 20.0, "first"));
        assert!(!canvas.text_if_free("", Anchor::Start, 20.0, 24.0, "second"));
        assert!(canvas.text_if_free("", Anchor::Start, 20.0, 40.0, "second"));
    }
}
