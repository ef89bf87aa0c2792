//! Two columns, value and count, apart by tabs or blanks: the seed's histograms.
//!
//! A first line of words names the columns; `_ns`, `_us`, `_usecs`, `_ms` or `_s` at the first one's end is the unit.

use super::{ImportError, Imported, guessed};
use dropline_stats::{Counted, Meaning};

const PAIR: &str = "a value and a count, both whole numbers";

/// Reads such a table. Empty lines, lines of dashes and lines that begin with `#` say nothing.
///
/// # Errors
/// If a line is not a value and a count, or there is none.
pub fn parse(text: &str, unit_ns: Option<u64>) -> Result<Imported, ImportError> {
    let of_unit = |unit_ns: u64| Meaning { unit_ns, quantum_ns: unit_ns as f64, ..Meaning::default() };
    let mut meaning = of_unit(unit_ns.unwrap_or(1000));
    let mut notes = Vec::new();
    let mut ticks = Vec::new();
    let mut named = false;
    for (index, line) in text.lines().enumerate() {
        let line_text = line.trim();
        if line_text.is_empty()
            || line_text.starts_with('#')
            || line_text.bytes().all(|b| b" \t-".contains(&b))
        {
            continue;
        }
        let words: Vec<&str> = line_text.split_ascii_whitespace().collect();
        match words.as_slice() {
            [value, count] => match (value.parse::<i64>(), count.parse::<u64>()) {
                (Ok(value), Ok(count)) => ticks.push((value, count)),
                _ if ticks.is_empty() && !named && starts_with_letter(value) => {
                    named = true;
                    match (unit_ns, unit(value)) {
                        (Some(_), _) => {}
                        (None, Some(unit_ns)) => meaning = of_unit(unit_ns),
                        (None, None) => notes.push(guessed("microseconds")),
                    }
                }
                _ => return Err(ImportError::line(index + 1, line_text, PAIR)),
            },
            _ => return Err(ImportError::line(index + 1, line_text, PAIR)),
        }
    }
    if ticks.is_empty() {
        return Err(ImportError::Ends { expected: PAIR });
    }
    if !named && unit_ns.is_none() {
        notes.push(guessed("microseconds"));
    }
    Ok(Imported::whole(Counted::ticks(meaning, ticks, None)?, String::new(), notes))
}

fn starts_with_letter(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_alphabetic)
}

/// The unit at the end of a column's name, in nanoseconds.
fn unit(column: &str) -> Option<u64> {
    match column.to_ascii_lowercase().rsplit('_').next()? {
        "ns" | "nsec" | "nsecs" => Some(1),
        "us" | "usec" | "usecs" => Some(1000),
        "ms" | "msec" | "msecs" => Some(1_000_000),
        "s" | "sec" | "secs" => Some(1_000_000_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_histograms_of_2004_are_read_whole() {
        let idle = parse(include_str!("../../../../experiments/audio-2004/idle.tsv"), None).unwrap();
        assert_eq!((idle.counted.count(), idle.counted.sums()), (10_400, Some((104_669, 1_345_273))));
        assert_eq!((idle.counted.meaning().unit_ns, idle.notes.len()), (1000, 0));
    }

    #[test]
    fn a_mail_is_read_as_it_was_written() {
        let mail = parse("Delay   Count\n-----   -----\n6       2257\n7       3210\n", None).unwrap();
        assert_eq!(mail.counted.count(), 5467);
        assert_eq!(mail.notes.len(), 1, "the unit was guessed");
    }

    #[test]
    fn a_broken_line_is_named_and_nothing_is_imported() {
        let broken = |text: &str| parse(text, None).unwrap_err().to_string();
        assert_eq!(
            broken("delay_us\tcount\n6\t1\n7\tNaN\n"),
            "line 3: \"7\\tNaN\" where a value and a count, both whole numbers was expected"
        );
        assert!(broken("6 1\n7 1 1\n").starts_with("line 2"));
        assert!(broken("6 1\n7 -1\n").starts_with("line 2"));
        assert!(broken("6 1\ndelay count\n").starts_with("line 2"), "names stand first");
        assert!(broken("99999999999999999999 1\n").starts_with("line 1"));
        assert!(broken("").starts_with("the file ends"));
    }
}
