//! HdrHistogram's percentiles as text or CSV, and wrk2's output, which has one or two of them.
//!
//! A line holds how many events are no longer than its value. So the events between two lines are counted exactly,
//! and known to be longer than the first value and no longer than the second. The last line is that of all events:
//! of a table without it, and of one whose footer says otherwise, a part is missing.

use super::values::{Decimal, VALUE};
use super::{ImportError, Imported, guessed, last_if_cut, unit_word};
use dropline_stats::{Counted, Event, Meaning, Rounding};

const ROW: &str = "a value, a percentile and a count, none of them falling";
/// wrk2 and HdrHistogram's own programs print milliseconds.
const MILLISECOND: u64 = 1_000_000;

/// Whether a file of this beginning is one.
pub(super) fn looks(head: &str) -> bool {
    is_wrk(head) || head.lines().any(is_title)
}

fn is_wrk(text: &str) -> bool {
    text.contains("Thread Stats") || text.contains("Detailed Percentile spectrum")
}

/// `Value   Percentile   TotalCount 1/(1-Percentile)`.
fn is_title(line: &str) -> bool {
    line.trim_start().trim_start_matches('"').starts_with("Value") && line.contains("TotalCount")
}

/// Reads every such table of a text.
///
/// # Errors
/// If a line is none of a table, a table disagrees with the count below it, or there is none.
pub(super) fn parse(text: &str, unit_ns: Option<u64>) -> Result<Vec<Imported>, ImportError> {
    let mut name = String::new();
    let mut tables: Vec<Spectrum> = Vec::new();
    let mut inside = false;
    let cut = last_if_cut(text);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some((_, after)) = line.split_once("HdrHistogram - ") {
            name = after.split([')', '(']).next().unwrap_or_default().trim().to_owned();
        } else if is_title(line) {
            tables.push(Spectrum { name: std::mem::take(&mut name), ..Spectrum::default() });
            inside = true;
        } else if let Some(table) = tables.last_mut().filter(|_| inside) {
            if line.starts_with('#') {
                table.check(index + 1, line)?;
            } else if line.starts_with("---") {
                inside = false;
            } else if !line.is_empty() {
                table.push(line).ok_or_else(|| ImportError::line(index + 1, line, ROW))?;
                table.last = index + 1;
                table.is_whole = is_of_all(line, cut == Some(index + 1));
            }
        }
    }
    if tables.is_empty() {
        return Err(ImportError::Lacks {
            what: "detailed percentile spectrum: wrk2 prints it with --latency",
        });
    }
    if let Some(other) = unit_ns.filter(|unit_ns| is_wrk(text) && *unit_ns != MILLISECOND) {
        let what = format!("wrk2's percentiles are in ms, and --unit says {}", unit_word(other));
        return Err(ImportError::Disagrees { line: 1, what });
    }
    let meaning_known = unit_ns.is_some() || is_wrk(text);
    let event = if is_wrk(text) { Event::Each } else { Event::Unknown };
    let mut read = tables
        .into_iter()
        .map(|table| table.imported(unit_ns.unwrap_or(MILLISECOND), meaning_known, event))
        .collect::<Result<Vec<_>, _>>()?;
    if text.contains("Thread Stats") && !text.contains("Requests/sec:") {
        let short =
            "wrk2's last lines are missing: the file was cut off, and a second spectrum may be missing too";
        read.iter_mut().for_each(|one| one.notes.push(short.into()));
    }
    Ok(read)
}

/// Whether a row is that of the longest event: at percentile 1, and not merely printed as 1.
fn is_of_all(row: &str, is_cut: bool) -> bool {
    let numbers: Vec<f64> = fields(row).filter_map(|field| field.parse().ok()).collect();
    numbers.get(1) == Some(&1.0) && numbers.get(3).map_or(!is_cut, |inverse| inverse.is_infinite())
}

fn fields(row: &str) -> impl Iterator<Item = &str> {
    row.split(|sign: char| sign == ',' || sign.is_whitespace()).filter(|field| !field.is_empty())
}

#[derive(Default)]
struct Spectrum {
    name: String,
    /// Values and how many events are no longer.
    lines: Vec<(Decimal, u64)>,
    /// Number of its last row in the file.
    last: usize,
    /// Whether that row is the one of all events.
    is_whole: bool,
}

impl Spectrum {
    fn push(&mut self, line: &str) -> Option<()> {
        let fields: Vec<&str> = fields(line).collect();
        let [value, percentile, count] = fields.get(..3)? else { return None };
        let percentile: f64 = percentile.parse().ok()?;
        let (value, count) = (Decimal::parse(value)?, count.parse().ok()?);
        let falls = self.lines.last().is_some_and(|(_, before)| *before > count);
        let legal = fields.len() <= 4 && (0.0..=1.0).contains(&percentile) && value.digits >= 0 && !falls;
        legal.then(|| self.lines.push((value, count)))
    }

    /// `#[Max = 11.960, Total count = 395]` against the last line, which holds the longest event.
    fn check(&self, number: usize, line: &str) -> Result<(), ImportError> {
        let said = |what: &str| {
            let (_, after) = line.split_once(what)?;
            Some(after.trim_start_matches([' ', '=']).split([',', ']', ' ']).next().unwrap_or_default())
        };
        let disagrees = |what: String| Err(ImportError::Disagrees { line: number, what });
        let counted = self.lines.last().map_or(0, |(_, count)| *count);
        if let Some(total) = said("Total count") {
            let total: u64 = total.parse().map_err(|_| ImportError::line(number, line, "a total count"))?;
            if total != counted {
                return disagrees(format!(
                    "the last line has a count of {counted} and the total count is {total}"
                ));
            }
        }
        if let (Some(max), Some((longest, _))) = (said("[Max"), self.lines.last()) {
            let max = Decimal::parse(max).ok_or_else(|| ImportError::line(number, line, "a maximum"))?;
            // Some print the lower end of its cell, which is above what the rows of fewer events hold.
            let fewer = self.lines.iter().rev().find(|(_, count)| *count < counted);
            if max.value() > longest.value() || fewer.is_some_and(|(value, _)| max.value() < value.value()) {
                return disagrees(format!(
                    "the last line has a value of {} and the maximum is {}",
                    longest.value(),
                    max.value()
                ));
            }
        }
        Ok(())
    }

    fn imported(self, unit_ns: u64, unit_known: bool, event: Event) -> Result<Imported, ImportError> {
        let decimals = self.lines.iter().map(|(value, _)| value.decimals).max();
        let decimals = decimals.ok_or(ImportError::Ends { expected: ROW })?;
        if !self.is_whole {
            let what = "the table of percentiles ends here, before percentile 1: it was cut off".into();
            return Err(ImportError::Disagrees { line: self.last, what });
        }
        let mut cells = Vec::new();
        let mut before: Option<(i64, u64)> = None;
        for (value, count) in self.lines {
            let tick = 10i64
                .checked_pow(decimals - value.decimals)
                .and_then(|finer| value.digits.checked_mul(finer));
            let tick = tick.ok_or(ImportError::Ends { expected: VALUE })?;
            let (low, more) = match before {
                Some((last, _)) if tick < last => {
                    return Err(ImportError::Disagrees {
                        line: 1,
                        what: "values of its percentiles fall".into(),
                    });
                }
                Some((last, below)) => ((last + 1).min(tick), count - below),
                None => (tick, count),
            };
            cells.push((low, tick, more));
            before = Some((tick, count));
        }
        let quantum_ns = unit_ns as f64 / 10f64.powi(decimals as i32);
        let meaning = Meaning { unit_ns, quantum_ns, rounding: Rounding::Round, event };
        let mut notes =
            vec!["counts are exact; a length is known to lie between two printed percentiles".to_owned()];
        if !unit_known {
            notes.push(guessed("milliseconds"));
        }
        Ok(Imported::whole(Counted::ranges(meaning, cells, None)?, self.name, notes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of wrk2 4.0.0: 12 s of 200 requests a second, `--latency --u_latency`, against a server that stutters.
    const WRK2: &str = include_str!("../../tests/formats/wrk2.txt");

    #[test]
    fn both_spectra_of_wrk2_are_read_with_every_event() {
        let read = parse(WRK2, None).unwrap();
        let found: Vec<_> = read.iter().map(|part| (part.name.as_str(), part.counted.count())).collect();
        assert_eq!(found, [("Recorded Latency", 395), ("Uncorrected Latency", 395)]);
        let cells: Vec<_> = read[0].counted.cells().collect();
        assert_eq!(cells[..3], [(87, 87, 1), (88, 515, 39), (516, 695, 39)]);
        assert_eq!(cells.last(), Some(&(11_856, 11_967, 1)));
        assert_eq!((read[0].counted.meaning().quantum_ns, read[0].notes.len()), (1000.0, 1));
    }

    #[test]
    fn percentiles_of_other_programs_are_read_and_their_unit_is_guessed() {
        let text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n  1.5 0.0 1 1.00\n  2.0 0.5 3 2.00\n  2.0 1.0 3\n\
                    #[Max = 2.0, Total count = 3]\n";
        let csv = "\"Value\",\"Percentile\",\"TotalCount\",\"1/(1-Percentile)\"\n1.5,0.0,1,1.00\n2.0,1.0,3,Infinity\n";
        for text in [text, csv] {
            let read = parse(text, None).unwrap();
            assert_eq!(read[0].counted.cells().collect::<Vec<_>>(), [(15, 15, 1), (16, 20, 2)]);
            assert_eq!(read[0].notes.len(), 2);
        }
    }

    #[test]
    fn a_broken_table_is_named() {
        let broken = |from: &str, to: &str| parse(&WRK2.replacen(from, to, 1), None).unwrap_err().to_string();
        assert!(
            broken("0.515     0.100000           40", "0.515     0.100000           NaN")
                .starts_with("line 21")
        );
        assert!(
            broken("0.515     0.100000           40", "0.515     0.100000           0")
                .starts_with("line 21")
        );
        assert!(broken("0.515     0.100000", "-0.515     0.100000").starts_with("line 21"));
        assert!(broken("Total count    =          395", "Total count    =          396").contains("396"));
        let why = broken("#[Max     =       11.960", "#[Max     =       13.960");
        assert_eq!(why, "line 67: the last line has a value of 11.967 and the maximum is 13.96");
        assert!(broken("#[Max     =       11.960", "#[Max     =       11.060").starts_with("line 67: "));
        assert!(parse("  Thread Stats   Avg\n", None).unwrap_err().to_string().contains("--latency"));
        assert!(parse(WRK2, Some(1000)).unwrap_err().to_string().contains("in ms, and --unit says us"));
        assert_eq!(parse(WRK2, Some(MILLISECOND)), parse(WRK2, None));
    }

    #[test]
    fn a_table_that_was_cut_anywhere_is_refused() {
        let first = WRK2.split_inclusive("----\n").next().unwrap();
        let rows = first.find("1/(1-Percentile)\n").unwrap() + "1/(1-Percentile)\n".len();
        let last = first.find("          inf").unwrap() + "          inf".len();
        for cut in rows..last {
            let read = parse(&first[..cut], None);
            assert!(read.is_err(), "cut at {cut}: {read:?}");
        }
        for cut in last..=first.len() {
            let read = parse(&first[..cut], None);
            assert!(
                read.is_err() || read.as_ref().unwrap()[0].counted.count() == 395,
                "cut at {cut}: {read:?}"
            );
        }
        let half = first.lines().take(40).collect::<Vec<_>>().join("\n") + "\n";
        let why = parse(&half, None).unwrap_err().to_string();
        assert_eq!(why, "line 40: the table of percentiles ends here, before percentile 1: it was cut off");
        // Whole, but of two one is missing.
        let one = parse(first, None).unwrap();
        assert!(
            one.len() == 1 && one[0].notes.iter().any(|note| note.contains("second spectrum")),
            "{one:?}"
        );
        // Of more than a million events, six decimals round up before the last row.
        let rounded =
            "Value,Percentile,TotalCount,1/(1-Percentile)\n1.5,0.5,1,2.0\n2.0,1.000000,5000000,4194304.00\n";
        assert!(parse(rounded, None).is_err());
        let whole = "Value,Percentile,TotalCount,1/(1-Percentile)\n1.5,0.5,1,2.0\n2.0,1.000000,39\n";
        assert!(parse(whole, None).is_ok());
        assert!(parse(whole.trim_end(), None).is_err(), "whether 39 are all, nobody knows");
    }
}
