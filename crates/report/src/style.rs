//! How text is dressed for a terminal.

use dropline_printable::steers;

/// The terminal that text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns; what does not fit falls away from the right.
    pub width: usize,
    /// Colours.
    pub color: Color,
    /// Whether signs beyond ASCII may be used.
    pub unicode: bool,
}

/// Colours of a terminal; words always say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// None: piped, or not wanted.
    None,
    /// 256 colours on a dark ground.
    Ansi256Dark,
    /// 256 colours on a light ground.
    Ansi256Light,
}

impl Default for Style {
    /// Eighty columns, no colour.
    fn default() -> Self {
        Self { width: 80, color: Color::None, unicode: true }
    }
}

/// One colour, one meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Strong,
    /// Names of facts, heads of columns.
    Faint,
    /// The goal with this index; from the third on plain.
    Goal(usize),
    /// Lost packets, and what is worse.
    Lost,
}

impl Style {
    /// `text` in the ink, ASCII where the terminal knows no more.
    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        let text = self.plain(text);
        let dark = match self.color {
            Color::None => return text,
            Color::Ansi256Dark => true,
            Color::Ansi256Light => false,
        };
        let code = match ink {
            Ink::Goal(0) => if dark { "1;38;5;75" } else { "1;38;5;32" }.to_owned(),
            Ink::Goal(1) => if dark { "1;38;5;215" } else { "1;38;5;130" }.to_owned(),
            Ink::Lost => if dark { "38;5;204" } else { "38;5;89" }.to_owned(),
            Ink::Faint => "2".into(),
            Ink::Goal(_) | Ink::Strong => "1".into(),
            Ink::Plain => return text,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// `text` with spaces that can be copied, no control characters, and signs that the terminal knows.
    pub(crate) fn plain(self, text: &str) -> String {
        let mut plain = String::with_capacity(text.len());
        for sign in text.chars() {
            match sign {
                '\u{a0}' | '\u{202f}' => plain.push(' '),
                _ if steers(sign) => plain.push('\u{fffd}'),
                '\u{2212}' | '\u{2013}' | '\u{2014}' if !self.unicode => plain.push('-'),
                '\u{d7}' if !self.unicode => plain.push('x'),
                '\u{2265}' if !self.unicode => plain.push_str(">="),
                '\u{2026}' if !self.unicode => plain.push_str("..."),
                _ if self.unicode || sign.is_ascii() => plain.push(sign),
                _ => plain.push('?'),
            }
        }
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_steered_by_a_record() {
        let style = Style { color: Color::Ansi256Dark, ..Style::default() };
        assert_eq!(style.paint(Ink::Plain, "a\x1b[2Jb"), "a\u{fffd}[2Jb");
    }

    #[test]
    fn ascii_is_enough() {
        let style = Style { unicode: false, ..Style::default() };
        assert_eq!(style.paint(Ink::Strong, "\u{2212}1\u{202f}000 × 2 ▁"), "-1 000 x 2 ?");
    }
}
