//! Why packets were lost, on a terminal.

use super::layout::{Columns, Page, Row, Side};
use super::search::head;
use crate::denial::decisive_first;
use crate::explained::{change_words, facts, interval, lack_words, sentence, verdict_words};
use crate::number::count;
use crate::style::{Ink, Style};
use dropline_record::remedy::Verdict;
use dropline_record::{Explanation, Record};

/// An explanation as text: the answer first, then when, where and why, then what would help and what not.
/// Ends with a newline.
pub fn explain_text(record: &Record, found: &Explanation, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Ink::Strong, &sentence(found));
    let lacks: Vec<&str> = found.lacks.iter().map(|lack| lack_words(found, *lack)).collect();
    let caveats = decisive_first(record, record.caveats()).into_iter().map(|caveat| caveat.text);
    let doubts: Vec<String> = lacks.into_iter().map(str::to_owned).chain(caveats).collect();
    if !doubts.is_empty() {
        page.gap();
    }
    for text in &doubts {
        page.hanging("! ", Ink::Strong, text);
    }
    page.gap();
    for (name, words) in facts(found) {
        page.fact(name, &words);
    }
    for verdict in [Verdict::Helps, Verdict::MayHelp, Verdict::DoesNot] {
        changes(&mut page, found, verdict);
    }
    page.gap();
    head(&mut page, record);
    page.into_text()
}

/// The changes of a verdict, and what would be lost then.
fn changes(page: &mut Page, found: &Explanation, verdict: Verdict) {
    let rows: Vec<Row> = found
        .remedies
        .iter()
        .filter(|remedy| found.verdict(remedy) == verdict)
        .map(|remedy| {
            let (words, condition) = change_words(found, remedy.change);
            let ink = if verdict == Verdict::Helps { Ink::Strong } else { Ink::Lost };
            Row {
                cells: vec![
                    (words, Ink::Plain),
                    (count(remedy.lost.lost), ink),
                    (interval(remedy.lost), Ink::Plain),
                    (condition.into(), Ink::Faint),
                ],
                note: None,
                said: None,
            }
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    page.gap();
    let head = |word: &str, side: Side| (word.to_owned(), side);
    page.columns(&Columns {
        heads: vec![
            head(verdict_words(verdict).0, Side::Left),
            head("lost", Side::Right),
            head("95 % of replays", Side::Left),
            head("", Side::Left),
        ],
        rows,
    });
}
