//! Two searches on a terminal: the verdict first.

use super::layout::{Columns, Page, Row, Side};
use crate::compared_searches::{
    first_line, goal, interval, interval_words, limit, limit_heads, longer, note, side, told,
};
use crate::number::percent;
use crate::style::{Ink, Style};
use dropline_record::ComparedSearches;
use dropline_record::VerdictWord;

/// The answer of `compare` to two searches as text. Ends with a newline.
pub fn compared_searches_text(compared: &ComparedSearches, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Ink::Strong, &first_line(compared));
    page.gap();
    page.columns(&goals(compared));
    page.caveats(&compared.caveats);
    page.gap();
    if let Some(longer) = longer(compared) {
        page.fact("to decide", &longer);
    }
    page.fact("A", &side(&compared.a));
    page.fact("B", &side(&compared.b));
    if page.style.verbose {
        page.fact("matters", &format!("a change by {} or more", percent(compared.smallest_effect)));
        page.fact("method", &compared.estimator);
    }
    page.into_text()
}

fn goals(compared: &ComparedSearches) -> Columns {
    let left = |word: &str| (word.to_owned(), Side::Left);
    let [head_a, head_b] = limit_heads(compared);
    let row = |(index, line): (usize, &dropline_record::MovedLine)| {
        let ink = match line.verdict {
            VerdictWord::Regressed => Ink::Lost,
            VerdictWord::Improved => Ink::Strong,
            _ => Ink::Plain,
        };
        Row {
            cells: vec![
                (goal(line), Ink::Goal(index)),
                (told(line), Ink::Strong),
                (line.verdict.words(), ink),
                (interval(line), Ink::Plain),
                (limit(&line.of_a, line.open_a, compared), Ink::Plain),
                (limit(&line.of_b, line.open_b, compared), Ink::Plain),
            ],
            note: None,
            said: note(line, compared.smallest_effect),
        }
    };
    Columns {
        heads: vec![
            left("goal"),
            ("B against A".into(), Side::Right),
            left("verdict"),
            left(&interval_words(compared)),
            left(&head_a),
            left(&head_b),
        ],
        rows: compared.goals.iter().enumerate().map(row).collect(),
    }
}
