//! Lines, facts and tables within the width of a terminal.

use crate::style::{Ink, Style};

/// Columns kept for the name of a fact.
const NAME: usize = 11;
/// Between the columns of a table.
const GUTTER: usize = 3;
/// Narrower than this, text wraps as if it had this many columns.
const NARROWEST: usize = 24;

/// Text under construction.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) style: Style,
    text: String,
}

/// A table: columns that have no room stand below their row.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) heads: Vec<(String, Side)>,
    /// Cells with their ink; what is said of a row and a doubt about it stand below it, whatever the width.
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<(String, Ink)>,
    pub(crate) note: Option<String>,
    pub(crate) said: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A fact's name in its column; one that is longer keeps apart from what is said.
fn named(name: &str) -> String {
    format!("{name:width$}", width = NAME.max(name.chars().count() + 2))
}

impl Page {
    pub(super) fn new(style: Style) -> Self {
        Self { style, text: String::new() }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// An empty line.
    pub(super) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A name in its column, and what is to say about it.
    pub(super) fn fact(&mut self, name: &str, text: &str) {
        self.hanging(&named(name), Ink::Faint, text);
    }

    /// A fact in an ink.
    pub(super) fn fact_in(&mut self, name: &str, ink: Ink, text: &str) {
        self.beneath(&named(name), Ink::Faint, ink, text);
    }

    /// Text that wraps beneath itself.
    pub(super) fn hanging(&mut self, before: &str, ink: Ink, text: &str) {
        self.beneath(before, ink, Ink::Plain, text);
    }

    /// The same with an ink for what stands before it and one for itself. Where little room is left beside the former, it
    /// stands below it.
    fn beneath(&mut self, before: &str, first: Ink, ink: Ink, text: &str) {
        let mut indent = before.chars().count();
        let mut starts = true;
        if indent + NARROWEST / 2 > self.style.width.max(NARROWEST) {
            self.paragraph(first, before);
            (indent, starts) = (4, false);
        }
        for line in self.wrapped(text, indent) {
            if starts {
                self.text.push_str(&self.style.paint(first, before));
                starts = false;
            } else {
                self.text.push_str(&" ".repeat(indent));
            }
            self.text.push_str(&self.style.paint(ink, &line));
            self.end_line();
        }
    }

    /// Text that wraps at the edge.
    pub(super) fn paragraph(&mut self, ink: Ink, text: &str) {
        for line in self.wrapped(text, 0) {
            let line = self.style.paint(ink, &line);
            self.text.push_str(&line);
            self.end_line();
        }
    }

    /// A table, indented by two.
    pub(super) fn columns(&mut self, columns: &Columns) {
        let plain = |text: &str| self.style.plain(text);
        let widths: Vec<usize> = columns
            .heads
            .iter()
            .enumerate()
            .map(|(index, (head, _))| {
                let cells = columns.rows.iter().filter_map(|row| row.cells.get(index));
                let widest = cells.map(|(cell, _)| plain(cell).chars().count()).max().unwrap_or(0);
                widest.max(plain(head).chars().count())
            })
            .collect();
        let mut shown = widths.len();
        let room = self.style.width.max(NARROWEST) + GUTTER;
        let total = |shown: usize| 2 + widths[..shown].iter().map(|width| width + GUTTER).sum::<usize>();
        while shown > 0 && total(shown) > room {
            shown -= 1;
        }
        let heads: Vec<(String, Ink)> =
            columns.heads.iter().map(|(head, _)| (head.clone(), Ink::Faint)).collect();
        let sides: Vec<Side> = columns.heads.iter().map(|(_, side)| *side).collect();
        if heads[..shown].iter().any(|(head, _)| !head.is_empty()) {
            self.row(&heads[..shown], &sides, &widths);
        }
        for row in &columns.rows {
            let (cells, below) = row.cells.split_at(shown.min(row.cells.len()));
            if !cells.is_empty() {
                self.row(cells, &sides, &widths);
            }
            for ((cell, ink), (head, _)) in below.iter().zip(&columns.heads[shown..]) {
                if cells.is_empty() && head == &columns.heads[0].0 {
                    self.beneath("  ", Ink::Plain, *ink, cell);
                } else if !cell.is_empty() {
                    let head = if head.is_empty() { "    ".into() } else { format!("    {head}  ") };
                    self.beneath(&head, Ink::Faint, *ink, cell);
                }
            }
            if let Some(said) = &row.said {
                self.hanging("    ", Ink::Plain, said);
            }
            if let Some(note) = &row.note {
                self.hanging("    ! ", Ink::Strong, note);
            }
        }
    }

    fn row(&mut self, cells: &[(String, Ink)], sides: &[Side], widths: &[usize]) {
        let mut line = String::from("  ");
        for (index, (cell, ink)) in cells.iter().enumerate() {
            let cell = self.style.plain(cell);
            let pad = " ".repeat(widths[index].saturating_sub(cell.chars().count()));
            let painted = self.style.paint(*ink, &cell);
            match sides[index] {
                Side::Left => line.push_str(&format!("{painted}{pad}")),
                Side::Right => line.push_str(&format!("{pad}{painted}")),
            }
            line.push_str(&" ".repeat(GUTTER));
        }
        self.text.push_str(&line);
        self.end_line();
    }

    fn end_line(&mut self) {
        let kept = self.text.trim_end_matches(' ').len();
        self.text.truncate(kept);
        self.text.push('\n');
    }

    /// Lines of `text` that fit behind an indent. A no-break space keeps its words together.
    fn wrapped(&self, text: &str, indent: usize) -> Vec<String> {
        let room = self.style.width.max(NARROWEST).saturating_sub(indent).max(NARROWEST / 2);
        let mut lines: Vec<String> = vec![String::new()];
        let mut used = 0;
        let words = text.split([' ', '\n', '\t']).filter(|word| !word.is_empty());
        for word in words.flat_map(|word| self.pieces(word, room)) {
            let length = word.chars().count();
            let line = lines.last_mut().expect("there is a line");
            if used > 0 && used + 1 + length > room {
                lines.push(word);
                used = length;
            } else {
                if used > 0 {
                    line.push(' ');
                    used += 1;
                }
                line.push_str(&word);
                used += length;
            }
        }
        lines
    }

    /// A word that is longer than a line gives way: at its no-break spaces first, then anywhere.
    fn pieces(&self, word: &str, room: usize) -> Vec<String> {
        let word = self.style.plain(word);
        if word.chars().count() <= room {
            return vec![word];
        }
        let parts = word.split(' ').filter(|part| !part.is_empty());
        let signs = parts.map(|part| part.chars().collect::<Vec<char>>());
        signs.flat_map(|signs| signs.chunks(room).map(String::from_iter).collect::<Vec<_>>()).collect()
    }
}

/// Name of a unit given in nanoseconds.
pub(crate) fn unit(unit_ns: u64) -> &'static str {
    match unit_ns {
        1 => "ns",
        1000 => "us",
        1_000_000 => "ms",
        1_000_000_000 => "s",
        _ => "units",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(width: usize) -> Page {
        Page::new(Style { width, ..Style::default() })
    }

    #[test]
    fn columns_that_have_no_room_stand_below_their_row() {
        let columns = Columns {
            heads: vec![
                ("goal".into(), Side::Left),
                ("load".into(), Side::Right),
                ("how".into(), Side::Left),
            ],
            rows: vec![Row {
                cells: vec![
                    ("no loss".into(), Ink::Goal(0)),
                    ("186.5".into(), Ink::Strong),
                    ("tested".into(), Ink::Plain),
                ],
                note: Some("unfinished".into()),
                said: None,
            }],
        };
        let mut wide = page(80);
        wide.columns(&columns);
        assert_eq!(
            wide.into_text(),
            "  goal       load   how\n  no loss   186.5   tested\n    ! unfinished\n"
        );
        let mut narrow = page(24);
        narrow.columns(&columns);
        assert_eq!(
            narrow.into_text(),
            "  goal       load\n  no loss   186.5\n    how  tested\n    ! unfinished\n"
        );
    }

    #[test]
    fn a_number_is_not_torn_from_its_unit() {
        let mut page = page(24);
        page.paragraph(Ink::Plain, "the target answers in 34\u{a0}us on average");
        assert_eq!(page.into_text(), "the target answers in\n34 us on average\n");
    }
}
