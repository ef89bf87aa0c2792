//! cyclictest's text: the table of `-h`, a column a thread, or the values of `-v`.
//!
//! Its latency is a whole number of microseconds with the fraction cut off, or of nanoseconds with `-N`. The table
//! ends at `-h`'s limit: what was longer stands in `# Histogram Overflows`, and `# Total` leaves it out.

use super::order::OrderTaker;
use super::{ImportError, Imported, guessed, last_if_cut};
use dropline_stats::{Above, Counted, Event, Meaning, Rounding};
use std::collections::BTreeMap;

const ROW: &str = "a latency and a count for each thread";
const NUMBERS: &str = "a number for each thread";

/// Whether a file of this beginning is one.
pub(super) fn looks(head: &str) -> bool {
    let is_thread = |line: &str| line.starts_with("T:") && line.contains("Act:");
    let says = |line: &str| is_thread(line) || verbose(line).is_some();
    head.contains("# Histogram") || head.lines().map(str::trim).any(says)
}

/// Reads all threads.
///
/// # Errors
/// If a row has another number of columns, or the table does not add up to its own total.
pub fn parse(text: &str, unit_ns: Option<u64>) -> Result<Vec<Imported>, ImportError> {
    let mut table = Table::default();
    let mut values: BTreeMap<u64, (BTreeMap<i64, u64>, OrderTaker)> = BTreeMap::new();
    let cut = last_if_cut(text);
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if cut == Some(number) && line.ends_with(|sign: char| sign.is_ascii_digit()) {
            return Err(ImportError::Cut { line: number });
        }
        if let Some((thread, latency)) = verbose(line) {
            let (ticks, course) = values.entry(thread).or_default();
            *ticks.entry(latency).or_default() += 1;
            course.add(latency);
        } else if let Some(comment) = line.strip_prefix('#') {
            table.comment(number, comment.trim())?;
        } else if line.starts_with(|sign: char| sign.is_ascii_digit()) {
            table.row(number, line)?;
        } else if !line.is_empty()
            && !line.starts_with("T:")
            && !line.starts_with("policy:")
            && !is_setup(line)
        {
            return Err(ImportError::line(number, line, ROW));
        }
    }
    let meaning = meaning(unit_ns);
    let notes = if unit_ns.is_none() { vec![guessed("microseconds")] } else { Vec::new() };
    if !values.is_empty() && table.rows.is_empty() {
        return values
            .into_iter()
            .map(|(thread, (ticks, course))| {
                let counted = Counted::ticks(meaning, ticks, None)?;
                let order = course.finish(meaning)?;
                Ok(Imported { order, ..Imported::whole(counted, format!("thread {thread}"), notes.clone()) })
            })
            .collect();
    }
    table.threads(meaning, &notes)
}

/// Ticks of whole units, fractions cut off.
pub(super) fn meaning(unit_ns: Option<u64>) -> Meaning {
    let unit_ns = unit_ns.unwrap_or(1000);
    Meaning { unit_ns, quantum_ns: unit_ns as f64, rounding: Rounding::Floor, event: Event::Each }
}

/// `defaulting realtime priority to 95`, `WARN: …` and such: said before the table.
fn is_setup(line: &str) -> bool {
    line.starts_with(|sign: char| sign.is_ascii_alphabetic()) || line.starts_with('/')
}

fn verbose(line: &str) -> Option<(u64, i64)> {
    let mut parts = line.split(':').map(str::trim);
    let (thread, cycle, latency) = (parts.next()?, parts.next()?, parts.next()?);
    let _cycle: u64 = cycle.parse().ok()?;
    parts.next().is_none().then_some((thread.parse().ok()?, latency.parse().ok()?))
}

/// The table of `-h`.
#[derive(Default)]
struct Table {
    /// Line, latency and counts of each row.
    rows: Vec<(usize, i64, Vec<u64>)>,
    /// Line and numbers of `# Total`.
    total: Option<(usize, Vec<u64>)>,
    overflows: Option<(usize, Vec<u64>)>,
    minima: Option<(usize, Vec<u64>)>,
}

impl Table {
    fn comment(&mut self, number: usize, comment: &str) -> Result<(), ImportError> {
        let Some((name, rest)) = comment.split_once(':') else { return Ok(()) };
        let place = match name {
            "Total" => &mut self.total,
            "Histogram Overflows" => &mut self.overflows,
            "Min Latencies" => &mut self.minima,
            _ => return Ok(()),
        };
        let numbers: Option<Vec<u64>> = rest.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| !numbers.is_empty());
        *place = Some((number, numbers.ok_or_else(|| ImportError::line(number, comment, NUMBERS))?));
        Ok(())
    }

    fn row(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let wrong = || ImportError::line(number, line, ROW);
        let mut words = line.split_ascii_whitespace();
        let latency = words.next().and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
        let counts: Vec<u64> =
            words.map(|word| word.parse().ok()).collect::<Option<_>>().ok_or_else(wrong)?;
        let columns = self.rows.first().map_or(counts.len(), |(_, _, counts)| counts.len());
        if counts.is_empty()
            || counts.len() != columns
            || self.rows.last().is_some_and(|row| row.1 >= latency)
        {
            return Err(wrong());
        }
        self.rows.push((number, latency, counts));
        Ok(())
    }

    fn threads(&self, meaning: Meaning, notes: &[String]) -> Result<Vec<Imported>, ImportError> {
        let Some((_, last, counts)) = self.rows.last() else {
            return Err(ImportError::Ends { expected: ROW });
        };
        let columns = counts.len();
        // `-H` adds a column with the sum of all threads: the threads' own minima tell how many there are.
        let threads = match &self.minima {
            Some((_, minima)) if minima.len() == columns || minima.len() + 1 == columns => minima.len(),
            Some((line, _)) => return Err(ImportError::line(*line, "Min Latencies", NUMBERS)),
            None => columns,
        };
        (0..threads)
            .map(|thread| {
                let ticks: Vec<(i64, u64)> = self.rows.iter().map(|row| (row.1, row.2[thread])).collect();
                let counted: u128 = ticks.iter().map(|(_, count)| u128::from(*count)).sum();
                if let Some((line, totals)) = &self.total
                    && totals.get(thread).is_some_and(|total| u128::from(*total) != counted)
                {
                    let what = format!(
                        "thread {thread} has {counted} in its rows and {} in its total",
                        totals[thread]
                    );
                    return Err(ImportError::Disagrees { line: *line, what });
                }
                let over = match &self.overflows {
                    Some((line, numbers)) => *numbers
                        .get(thread)
                        .ok_or_else(|| ImportError::line(*line, "Histogram Overflows", NUMBERS))?,
                    None => 0,
                };
                let above = Some(Above { from: last + 1, count: over });
                let mut notes = notes.to_vec();
                if self.overflows.is_none() {
                    notes.push("the file does not say how many events were longer than its table".into());
                }
                if self.total.is_none() {
                    notes.push("the file has no total behind its table: it may have been cut off".into());
                }
                let counted = Counted::ticks(meaning, ticks, above)?;
                Ok(Imported::whole(counted, format!("thread {thread}"), notes))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# /dev/cpu_dma_latency set to 0us
# Histogram
000006 000000\t000003
000007 000010\t000020
000008 000004\t000000
# Total: 000000014 000000023
# Min Latencies: 00007 00006
# Avg Latencies: 00023 00020
# Max Latencies: 01668 02692
# Histogram Overflows: 00034 00013
# Histogram Overflow at cycle number:
# Thread 0: 05326 05334
";

    #[test]
    fn overflows_are_events_of_unknown_length_not_missing_ones() {
        let threads = parse(TEXT, None).unwrap();
        assert_eq!(threads.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["thread 0", "thread 1"]);
        assert_eq!(threads[0].counted.count(), 14 + 34);
        assert_eq!(threads[0].counted.above(), Some(Above { from: 9, count: 34 }));
        assert_eq!(threads[1].counted.cells().collect::<Vec<_>>(), [(6, 6, 3), (7, 7, 20)]);
        assert_eq!(threads[0].counted.meaning().rounding, Rounding::Floor);
    }

    #[test]
    fn a_column_of_sums_is_no_thread() {
        let with_sums: String = TEXT
            .lines()
            .map(|line| match line.split_once(' ') {
                Some((first, _)) if first.parse::<u64>().is_ok() => format!("{line}\t000099\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        assert_eq!(parse(&with_sums, None).unwrap(), parse(TEXT, None).unwrap());
    }

    #[test]
    fn values_of_each_cycle_are_counted_by_thread() {
        let threads = parse(
            "       0:       0:      12\n       1:       0:       9\n       0:       1:      12\n",
            Some(1000),
        )
        .unwrap();
        assert_eq!(threads[0].counted.cells().collect::<Vec<_>>(), [(12, 12, 2)]);
        assert_eq!((threads[1].name.as_str(), threads[0].notes.len()), ("thread 1", 0));
    }

    #[test]
    fn a_table_that_was_cut_is_refused_within_a_line_and_doubted_behind_one() {
        for cut in TEXT.find("# Histogram").unwrap()..TEXT.len() {
            let whole = parse(TEXT, None).unwrap();
            let is_doubted =
                |read: &Vec<Imported>| read.iter().all(|one| one.notes.len() > whole[0].notes.len());
            let read = parse(&TEXT[..cut], None);
            assert!(read.is_err() || read == Ok(whole.clone()) || is_doubted(&read.unwrap()), "cut at {cut}");
        }
        let after_a_row = TEXT.find("000008").unwrap();
        let notes = parse(&TEXT[..after_a_row], Some(1000)).unwrap().remove(0).notes;
        assert!(notes.iter().any(|note| note.contains("may have been cut off")), "{notes:?}");
        let why = parse("0:  0:  12\n0:  1:  1", None).unwrap_err().to_string();
        assert!(why.starts_with("line 2: the file ends within this line"), "{why}");
    }

    #[test]
    fn what_does_not_add_up_is_not_imported() {
        let broken = |from: &str, to: &str| parse(&TEXT.replace(from, to), None).unwrap_err().to_string();
        assert_eq!(
            broken("000000014", "000000015"),
            "line 6: thread 0 has 14 in its rows and 15 in its total"
        );
        assert!(broken("000010\t000020", "000010").starts_with("line 4"), "a column is missing");
        assert!(broken("000008 ", "000007 ").starts_with("line 5"), "a latency comes again");
        assert!(broken("00034 00013", "00034").contains("Histogram Overflows"));
        assert!(broken("Latencies: 00007 00006", "Latencies:").starts_with("line 7"), "a table of no thread");
        assert!(broken("000010\t", "NaN\t").starts_with("line 4"));
        assert!(parse("# Histogram\n", None).unwrap_err().to_string().starts_with("the file ends"));
    }
}
