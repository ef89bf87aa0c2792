//! How text is dressed for a terminal.

use dropline_printable::steers;

/// The terminal that text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns: no line is wider, and what has no room in a table stands below its row.
    pub width: usize,
    /// Colours.
    pub color: Color,
    /// Whether signs beyond ASCII may be used.
    pub unicode: bool,
    /// Whether it is said too how it was measured.
    pub verbose: bool,
}

/// Colours of a terminal, and its ground where that is known; words always say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// None: piped, or not wanted.
    None,
    /// 256 colours that can be read on any ground.
    Ansi256,
    /// 256 colours on a dark ground.
    Ansi256Dark,
    /// 256 colours on a light ground.
    Ansi256Light,
    /// 16 colours that can be read on any ground.
    Ansi16,
    /// 16 colours on a dark ground.
    Ansi16Dark,
    /// 16 colours on a light ground.
    Ansi16Light,
}

impl Color {
    /// The codes of the first goal, the second, and what is lost.
    fn codes(self) -> Option<[&'static str; 3]> {
        Some(match self {
            Self::None => return None,
            Self::Ansi256 => ["38;5;32", "38;5;130", "38;5;162"],
            Self::Ansi256Dark => ["38;5;75", "38;5;215", "38;5;204"],
            Self::Ansi256Light => ["38;5;25", "38;5;130", "38;5;89"],
            Self::Ansi16 => ["94", "35", "91"],
            Self::Ansi16Dark => ["96", "93", "95"],
            Self::Ansi16Light => ["34", "31", "35"],
        })
    }

    /// Whether what is faint can still be read: on 16 colours nobody knows.
    fn has_faint(self) -> bool {
        !matches!(self, Self::Ansi16 | Self::Ansi16Dark | Self::Ansi16Light)
    }
}

impl Default for Style {
    /// Eighty columns, no colour.
    fn default() -> Self {
        Self { width: 80, color: Color::None, unicode: true, verbose: false }
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
        let Some([first, second, lost]) = self.color.codes() else { return text };
        let code = match ink {
            Ink::Goal(0) => format!("1;{first}"),
            Ink::Goal(1) => format!("1;{second}"),
            Ink::Lost => lost.into(),
            Ink::Faint if self.color.has_faint() => "2".into(),
            Ink::Goal(_) | Ink::Strong => "1".into(),
            Ink::Faint | Ink::Plain => return text,
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

    /// The colour of a code, as the usual terminals have it: of 16 xterm's and the VGA's.
    fn shown(code: &str) -> Vec<[f64; 3]> {
        const XTERM: [[f64; 3]; 16] = [
            [0.0; 3],
            [205.0, 0.0, 0.0],
            [0.0, 205.0, 0.0],
            [205.0, 205.0, 0.0],
            [0.0, 0.0, 238.0],
            [205.0, 0.0, 205.0],
            [0.0, 205.0, 205.0],
            [229.0; 3],
            [127.0; 3],
            [255.0, 0.0, 0.0],
            [0.0, 255.0, 0.0],
            [255.0, 255.0, 0.0],
            [92.0, 92.0, 255.0],
            [255.0, 0.0, 255.0],
            [0.0, 255.0, 255.0],
            [255.0; 3],
        ];
        let vga = |number: usize| {
            let part = |bit: usize| (number >> bit & 1) as f64 * 170.0 + (number >> 3) as f64 * 85.0;
            if number == 3 { [170.0, 85.0, 0.0] } else { [part(0), part(1), part(2)] }
        };
        match code.strip_prefix("38;5;") {
            Some(number) => {
                let number = number.parse::<usize>().unwrap() - 16;
                let level = |place: usize| if place == 0 { 0.0 } else { 55.0 + 40.0 * place as f64 };
                vec![[level(number / 36), level(number / 6 % 6), level(number % 6)]]
            }
            None => {
                let code = code.parse::<usize>().unwrap();
                let number = if code >= 90 { code - 82 } else { code - 30 };
                vec![XTERM[number], vga(number)]
            }
        }
    }

    /// WCAG's contrast of a colour with black or white.
    fn contrast(color: [f64; 3], ground: f64) -> f64 {
        let linear = |part: f64| {
            let part = part / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let light = 0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2]);
        (light.max(ground) + 0.05) / (light.min(ground) + 0.05)
    }

    #[test]
    fn every_colour_can_be_read_on_its_ground_and_where_that_is_not_known_on_either() {
        let (white, black) = (1.0, 0.0);
        for (color, grounds, least) in [
            (Color::Ansi256Light, &[white][..], 4.5),
            (Color::Ansi256Dark, &[black], 4.5),
            (Color::Ansi16Light, &[white], 4.5),
            (Color::Ansi16Dark, &[black], 4.5),
            (Color::Ansi256, &[white, black], 3.8),
            (Color::Ansi16, &[white, black], 3.0),
        ] {
            let codes = color.codes().unwrap();
            for (code, ground) in
                codes.into_iter().flat_map(|code| grounds.iter().map(move |ground| (code, *ground)))
            {
                for shown in shown(code) {
                    let found = contrast(shown, ground);
                    assert!(found >= least, "{color:?} {code} on {ground}: {found:.2}");
                }
            }
            assert!(codes[0] != codes[1] && codes[1] != codes[2] && codes[0] != codes[2]);
        }
    }
}
