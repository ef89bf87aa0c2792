//! Records as Markdown, for a pull request: the answer, its table, the caveats, the command that repeats it.

use crate::answer;
use crate::denial::decisive_first;
use crate::number::listed;
use crate::prose;
use crate::search_summary::SearchSummary;
use crate::text::{Columns, Side, compared_line, goals, questions_table, several, singles};
use crate::traffic::traffic_words;
use dropline_record::{CaveatLine, Compared, Record};

/// A record of turns as Markdown: the verdict, its questions, then the trials. Ends with a newline.
pub fn markdown_of_turns(record: &Record, compared: &Compared) -> String {
    let records = std::slice::from_ref(record);
    let verdict = format!("**{}.**", text(&compared_line(compared)));
    let parts = vec![verdict, table(&questions_table(compared)), table(&singles(records))];
    let mut caveats = compared.caveats.clone();
    caveats.extend(decisive_first(record, record.caveats()));
    ended(parts, caveats, records)
}

/// Records as Markdown. Ends with a newline.
pub fn markdown(records: &[Record]) -> String {
    let mut parts = vec![format!("**{}**", text(&answer::words(records)))];
    match records {
        [only] => match SearchSummary::of(only) {
            Some(finding) => {
                parts.push(table(&without_notes(goals(&finding))) + &unsettled(&finding));
                parts.extend(finding.certificates().iter().map(|certificate| text(certificate)));
                parts.push(format!("{}.", text(&prose::sentence_case(&finding.cost_and_end()))));
            }
            None => parts.push(table(&singles(records))),
        },
        many => {
            parts.extend([several(many), singles(many)].iter().filter(|it| !it.rows.is_empty()).map(table))
        }
    }
    let all = records.iter().flat_map(|record| decisive_first(record, record.caveats()));
    ended(parts, all.collect(), records)
}

/// The same with its caveats, each once, and how to repeat it.
fn ended(mut parts: Vec<String>, all: Vec<CaveatLine>, records: &[Record]) -> String {
    let mut caveats: Vec<CaveatLine> = Vec::new();
    for caveat in all {
        if !caveats.iter().any(|known| known.text == caveat.text) {
            caveats.push(caveat);
        }
    }
    if !caveats.is_empty() {
        let lines = caveats
            .iter()
            .map(|caveat| format!("- **!** {}\n", text(&prose::sentence_case(&prose::counts(&caveat.text)))));
        parts.push(lines.collect::<String>().trim_end().to_owned());
    }
    parts.extend(records.iter().map(measured));
    parts.join("\n\n") + "\n"
}

fn without_notes(mut columns: Columns) -> Columns {
    columns.rows.iter_mut().for_each(|row| row.note = None);
    columns
}

/// What each answer that does not stand still says, once for goals of which the same is said.
fn unsettled(finding: &SearchSummary) -> String {
    let told = finding.unsettled().into_iter().filter(|(goals, _)| finding.has_why(goals[0]));
    let lines = told.map(|(goals, words)| {
        let names: Vec<String> = goals.iter().map(|&goal| finding.names[goal].clone()).collect();
        format!("\n- **!** {}: {}", text(&listed(&names)), text(&words))
    });
    lines.collect()
}

/// Of what, when, and by which command.
fn measured(record: &Record) -> String {
    let header = &record.header;
    let of = format!("{}, {}, {}", header.target, traffic_words(record), prose::date(&header.started));
    let words = &header.environment.command_line;
    if words.is_empty() {
        return text(&of);
    }
    let command = prose::command(words);
    let fence = fence(&command);
    format!("{}. To repeat it:\n\n{fence}sh\n{command}\n{fence}", text(&of))
}

/// More backticks in a row than the text has.
fn fence(text: &str) -> String {
    let longest = text.split(|sign| sign != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(3.max(longest + 1))
}

fn table(columns: &Columns) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heads = columns.heads.iter().map(|(head, _)| text(head)).collect();
    let sides = columns.heads.iter().map(|(_, side)| if *side == Side::Right { "---:" } else { "---" });
    let mut lines = row(heads) + &row(sides.map(str::to_owned).collect());
    for line in &columns.rows {
        lines.push_str(&row(line.cells.iter().map(|(cell, _)| text(cell)).collect()));
    }
    let notes = columns.rows.iter().filter_map(|line| {
        let name = &line.cells.first()?.0;
        Some(format!("\n- **!** {}: {}", text(name), text(line.note.as_ref()?)))
    });
    lines + notes.collect::<String>().as_str()
}

/// Words as they are read: what Markdown would act on is escaped, and a line stays one.
fn text(words: &str) -> String {
    let line = words.split(['\n', '\r', '\t']).collect::<Vec<_>>().join(" ");
    let mut out = String::with_capacity(line.len());
    for sign in dropline_printable::printable(&line).chars() {
        match sign {
            '\\' | '`' | '*' | '_' | '<' | '>' | '&' | '|' | '~' | '#' | '(' if is_special(sign, &out) => {
                out.push('\\');
                out.push(sign);
            }
            '\u{a0}' | '\u{202f}' => out.push(' '),
            _ => out.push(sign),
        }
    }
    out.trim_end().to_owned()
}

/// A round bracket makes a link only behind a square one.
fn is_special(sign: char, before: &str) -> bool {
    sign != '(' || before.ends_with(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_says_is_read_and_not_acted_upon() {
        assert_eq!(text("a|b\n[x](http://e) <img> *c*\u{a0}d"), "a\\|b [x]\\(http://e) \\<img\\> \\*c\\* d");
        assert_eq!((fence("a"), fence("a ```` b")), ("```".into(), "`````".into()));
    }
}
