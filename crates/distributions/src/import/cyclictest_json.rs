//! `cyclictest --json`. Two of its keys end in a colon (`cmdline:`, `rt_test_version:`); they are read as they are.
//!
//! What was longer than the table is not in it: a thread's cycles less its histogram are events at or beyond the
//! limit of `-h`, which stands in the command line alone.

use super::cyclictest::meaning;
use super::{ImportError, Imported};
use dropline_stats::{Above, Counted};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "cmdline:", alias = "cmdline", default)]
    command: String,
    thread: BTreeMap<String, Thread>,
}

#[derive(Deserialize)]
struct Thread {
    histogram: BTreeMap<String, u64>,
    cycles: u64,
}

/// Reads all threads.
///
/// # Errors
/// If it is no such JSON, or a histogram has more events than its thread had cycles.
pub fn parse(text: &str, unit_ns: Option<u64>) -> Result<Vec<Imported>, ImportError> {
    let expected = "cyclictest's JSON, with a histogram and cycles for each thread";
    let file: File = serde_json::from_str(text).map_err(|why| ImportError::json(text, &why, expected))?;
    let words: Vec<&str> = file.command.split_ascii_whitespace().collect();
    let nanoseconds = words.iter().any(|word| *word == "-N" || *word == "--nsecs");
    let unit = unit_ns.or(nanoseconds.then_some(1));
    let mut threads: Vec<(u64, Imported)> = file
        .thread
        .iter()
        .map(|(name, thread)| {
            let number = name.parse().map_err(|_| ImportError::line(1, name, "the number of a thread"))?;
            Ok((number, imported(number, thread, unit, limit(&words))?))
        })
        .collect::<Result<_, ImportError>>()?;
    threads.sort_by_key(|(number, _)| *number);
    if threads.is_empty() {
        return Err(ImportError::Ends { expected: "a thread" });
    }
    Ok(threads.into_iter().map(|(_, imported)| imported).collect())
}

fn imported(
    number: u64,
    thread: &Thread,
    unit: Option<u64>,
    limit: Option<i64>,
) -> Result<Imported, ImportError> {
    let ticks: Vec<(i64, u64)> = thread
        .histogram
        .iter()
        .map(|(latency, &count)| {
            let tick = latency.parse().map_err(|_| ImportError::line(1, latency, "a latency"))?;
            Ok((tick, count))
        })
        .collect::<Result<_, ImportError>>()?;
    let counted: u128 = ticks.iter().map(|(_, count)| u128::from(*count)).sum();
    let over = u128::from(thread.cycles).checked_sub(counted).ok_or_else(|| ImportError::Disagrees {
        line: 1,
        what: format!("thread {number} has {counted} in its histogram and {} cycles", thread.cycles),
    })?;
    let last = ticks.iter().map(|(tick, _)| *tick).max().unwrap_or(-1);
    let from = limit.filter(|limit| *limit > last).unwrap_or(last.saturating_add(1));
    let above = Above { from, count: u64::try_from(over).unwrap_or(u64::MAX) };
    let mut notes = Vec::new();
    if over > 0 && limit.is_none_or(|limit| limit <= last) {
        notes.push(format!("the limit of the table is not known; longer ones are taken to begin at {from}"));
    }
    let counted = Counted::ticks(meaning(unit), ticks, Some(above))?;
    Ok(Imported::whole(counted, format!("thread {number}"), notes))
}

/// The limit of the table: `-h 200`, `-h200`, `--histogram=200`, `-H …`.
fn limit(words: &[&str]) -> Option<i64> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let attached =
            ["--histogram=", "--histofall=", "-h", "-H"].iter().find_map(|flag| word.strip_prefix(flag));
        match attached {
            Some("") => return words.next()?.parse().ok(),
            Some(number) => {
                if let Ok(number) = number.parse() {
                    return Some(number);
                }
            }
            None if ["--histogram", "--histofall"].contains(word) => return words.next()?.parse().ok(),
            None => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"file_version": 1, "cmdline:": "cyclictest -m -p 95 -t 2 -h 200 -q --json=ct.json",
 "rt_test_version:": "2.40", "num_threads": 2, "resolution_in_ns": 0, "thread": {
 "0": {"histogram": {"7": 1, "8": 10}, "cycles": 14, "min": 7, "max": 1668, "avg": 23.02, "cpu": 0, "node": 0},
 "10": {"histogram": {"9": 5}, "cycles": 5, "min": 9, "max": 9, "avg": 9.0, "cpu": 1, "node": 0}}}"#;

    #[test]
    fn what_the_histogram_leaves_out_is_longer_than_its_limit() {
        let threads = parse(JSON, None).unwrap();
        assert_eq!(threads[0].counted.above(), Some(Above { from: 200, count: 3 }));
        assert_eq!((threads[0].counted.count(), threads[0].notes.len()), (14, 0));
        assert_eq!((threads[1].name.as_str(), threads[1].counted.above()), ("thread 10", None));
    }

    #[test]
    fn nanoseconds_and_an_unknown_limit_are_seen() {
        let threads = parse(&JSON.replace("-h 200", "-N"), None).unwrap();
        assert_eq!(threads[0].counted.meaning().unit_ns, 1);
        assert_eq!((threads[0].counted.above().unwrap().from, threads[0].notes.len()), (9, 1));
        assert_eq!(limit(&["-h60"]), Some(60));
        assert_eq!(limit(&["--histogram=400"]), Some(400));
    }

    #[test]
    fn broken_json_names_its_line() {
        let broken = |from: &str, to: &str| parse(&JSON.replace(from, to), None).unwrap_err().to_string();
        assert!(broken("\"cycles\": 14", "\"cycles\": -14").starts_with("line 3"));
        assert!(broken("\"cycles\": 14", "\"cycles\": 3").contains("11 in its histogram and 3 cycles"));
        assert!(broken("\"7\"", "\"x\"").contains("a latency"));
        assert!(parse("{", None).unwrap_err().to_string().contains("line 1"));
    }
}
