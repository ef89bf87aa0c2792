//! Why packets were lost, on a terminal.

use super::layout::{Columns, Page, Row, Side};
use super::search::head;
use crate::doubt_words::{Weight, lack_words};
use crate::explained::{change_words, facts, interval, sentence, verdict_words};
use crate::number::count;
use crate::prose::counts;
use crate::style::{Ink, Style};
use dropline_record::remedy::Verdict;
use dropline_record::{ExplainedLine, Explanation, Record};

/// An explanation as text: the answer first and the doubts that decide what it is worth, then when, where and why, then what would
/// help and what not. Further doubts stand at its end, or where they are not to be told in full, how many they are.
/// Ends with a newline.
pub fn explain_text(record: &Record, line: &ExplainedLine, style: Style) -> String {
    let found = &line.explanation;
    let mut page = Page::new(style);
    page.paragraph(Ink::Strong, &sentence(found));
    let lacks = found.lacks.iter().map(|lack| (Weight::of_lack(*lack), lack_words(record, found, *lack)));
    let caveats = line.caveats.iter().map(|caveat| (Weight::of_caveat(caveat), caveat.text.as_str()));
    let doubts: Vec<(Weight, &str)> = lacks.chain(caveats).collect();
    let of = |weight: Weight| doubts.iter().filter(move |(one, _)| *one == weight).map(|(_, text)| *text);
    of(Weight::Decides).for_each(|text| page.hanging("! ", Ink::Strong, &counts(text)));
    page.gap();
    if let Some(chosen) = &line.chosen {
        page.fact("explained", chosen);
    }
    for (name, words) in facts(found) {
        page.fact(name, &words);
    }
    for verdict in [Verdict::Helps, Verdict::MayHelp, Verdict::Postpones, Verdict::DoesNot] {
        changes(&mut page, found, verdict);
    }
    page.gap();
    head(&mut page, record);
    let others = of(Weight::Beside).count();
    if others > 0 {
        page.gap();
    }
    match others {
        0 => {}
        _ if style.verbose => {
            of(Weight::Beside).for_each(|text| page.hanging("! ", Ink::Strong, &counts(text)))
        }
        1 => page.hanging("! ", Ink::Faint, "one more caveat, which changes no answer: -v shows it"),
        _ => page.hanging(
            "! ",
            Ink::Faint,
            &format!("{others} more caveats, which change no answer: -v shows them"),
        ),
    }
    page.into_text()
}

/// The changes of a verdict, and what would be lost then.
fn changes(page: &mut Page, found: &Explanation, verdict: Verdict) {
    let rows: Vec<Row> = found
        .remedies
        .iter()
        .filter(|remedy| found.verdict(remedy) == verdict)
        .map(|remedy| {
            let (words, condition) = change_words(found, remedy);
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
