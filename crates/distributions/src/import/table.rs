//! Columns: of values alone, or of values and how often each was seen. A first line of words names them.
//!
//! Which column is which is never guessed where there is a choice: it is an error that names the columns. A unit at the
//! end of the name of the values, as in `delay_us` or `Latency (ms)`, is theirs.

use super::values::{Decimal, VALUE, Values};
use super::{Hints, ImportError, Imported, unit_word};
use dropline_stats::CountError;

const COUNT: &str = "a count, a whole number";
/// What a column of counts is called.
const COUNTS: [&str; 9] =
    ["count", "counts", "n", "freq", "frequency", "events", "hits", "occurrences", "samples"];

/// So many lines say which columns hold numbers: the first one may be damaged.
const SEEN: usize = 100;

/// What stands between two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// Commas, semicolons or tabs, whichever the first line has most of; fields may be quoted (RFC 4180).
    Commas,
    /// A tab, or blanks.
    Blanks,
}

/// Whether a file of this beginning is a table, and of which kind; a single column of numbers is none.
pub(super) fn looks(head: &str) -> Option<Apart> {
    let mut lines = head.lines().filter(|line| says_something(line));
    let first = lines.next().filter(|line| !line.trim_start().starts_with('{'))?;
    let others = lines.clone();
    let second = lines.next();
    if first.contains([',', ';']) {
        return Some(Apart::Commas);
    }
    let fields = |line: &str| Apart::Blanks.fields(line, ' ').map_or(0, |fields| fields.len());
    if fields(second.unwrap_or(first)) >= 2 {
        return Some(Apart::Blanks);
    }
    // One value that is none does not make its column's name a value.
    let named = is_word(first) && others.into_iter().any(|line| Decimal::parse(line.trim()).is_some());
    named.then_some(Apart::Commas)
}

/// Reads such a table. Empty lines, lines of dashes and lines that begin with `#` say nothing.
///
/// # Errors
/// If it is not clear which column holds the values, or a line has none of their kind.
pub fn parse(text: &str, apart: Apart, hints: &Hints) -> Result<Imported, ImportError> {
    let mut lines = apart.rows(text).filter(|(_, line)| says_something(line));
    let (header, first) = lines.next().ok_or(ImportError::Ends { expected: VALUE })?;
    let sign = apart.sign(first);
    let fields = |number: usize, line: &str| {
        apart.fields(line, sign).ok_or_else(|| ImportError::line(number, line, "a quote that ends"))
    };
    let next = lines.clone().next();
    let mut names = fields(header, first)?;
    if apart == Apart::Blanks
        && first.starts_with('\t')
        && next.is_some_and(|(_, row)| !row.starts_with('\t'))
    {
        // The tab stands behind a name that is empty, and is no margin.
        names.insert(0, String::new());
    }
    let row_below = next.and_then(|(_, row)| apart.fields(row, sign)).unwrap_or_default();
    let named = are_names(&names, &row_below);
    let mut rows = (!named).then_some((header, first)).into_iter().chain(lines).peekable();
    let &(number, first) = rows.peek().ok_or(ImportError::Ends { expected: VALUE })?;
    let row = alike(&names, number, first, fields(number, first)?)?;
    let columns = match hints.columns.as_slice() {
        [] => {
            let seen = rows.clone().take(SEEN).filter_map(|(number, line)| fields(number, line).ok());
            let seen: Vec<_> = seen.filter(|row| row.len() == names.len()).collect();
            Columns::seen(apart, &names, named, &seen).map_err(|why| why.at(number, &row))?
        }
        wanted => Columns::wanted(&names, named, wanted).map_err(|why| why.at(number, &row))?,
    };
    let mut values = Values::default();
    for (number, line) in rows {
        let fields = alike(&names, number, line, fields(number, line)?)?;
        let value = &fields[columns.value];
        let value = Decimal::parse(value).ok_or_else(|| no_value(number, value))?;
        let count = match columns.count.map(|count| &fields[count]) {
            Some(count) => count.parse().map_err(|_| ImportError::line(number, count, COUNT))?,
            None => 1,
        };
        let beyond = |why: CountError| ImportError::Disagrees { line: number, what: why.to_string() };
        values.add(value, count).map_err(beyond)?;
    }
    let name = &names[columns.value];
    let named_unit = unit(name).filter(|_| named);
    if let (Some(asked), Some(says)) = (hints.unit_ns, named_unit)
        && asked != says
    {
        let what =
            format!("the column {name:?} is in {}, and --unit says {}", unit_word(says), unit_word(asked));
        return Err(ImportError::Disagrees { line: header, what });
    }
    let unit_ns = hints.unit_ns.or(named_unit);
    let mut imported = values.imported(unit_ns)?;
    imported.notes.extend(columns.note);
    Ok(imported)
}

/// The fields of a line, as many as the first line has.
fn alike(names: &[String], number: usize, line: &str, row: Vec<String>) -> Result<Vec<String>, ImportError> {
    match row.as_slice() {
        row_of if row_of.len() == names.len() => Ok(row),
        [_, _] if names.len() == 1 && has_decimal_comma(line.trim()) => Err(no_value(number, line.trim())),
        _ => Err(ImportError::line(number, line.trim(), "as many columns as the first line has")),
    }
}

/// What is no value, and why.
fn no_value(line: usize, found: &str) -> ImportError {
    if has_decimal_comma(found) {
        let what = format!(
            "{found:?} has a comma: decimals are written with a point here, and thousands without a sign"
        );
        return ImportError::Disagrees { line, what };
    }
    ImportError::line(line, found, VALUE)
}

fn has_decimal_comma(text: &str) -> bool {
    text.contains(',') && Decimal::parse(&text.replacen(',', ".", 1)).is_some()
}

/// Which columns are read, from 0.
struct Columns {
    value: usize,
    count: Option<usize>,
    /// What was chosen, where something was.
    note: Option<String>,
}

/// Why there are none.
enum Unclear {
    NoNumber,
    Said(String),
}

impl Unclear {
    fn at(self, line: usize, row: &[String]) -> ImportError {
        match self {
            Self::NoNumber => ImportError::line(line, &row.join(" "), VALUE),
            Self::Said(what) => ImportError::Disagrees { line, what },
        }
    }
}

impl Columns {
    /// Those that the user named.
    fn wanted(names: &[String], named: bool, wanted: &[String]) -> Result<Self, Unclear> {
        let find = |wanted: &String| {
            let is_it = |name: &&String| named && name.eq_ignore_ascii_case(wanted);
            let alike = names.iter().filter(is_it).count();
            if alike > 1 {
                return Err(Unclear::Said(format!(
                    "{alike} columns are called {wanted:?}: name it by its number, from 1, of {}",
                    all(names, named)
                )));
            }
            let by_name = names.iter().position(|name| is_it(&name));
            let by_number = || wanted.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < names.len());
            by_name.or_else(by_number).ok_or_else(|| {
                Unclear::Said(format!("there is no column {wanted:?}; there are {}", all(names, named)))
            })
        };
        match wanted {
            [value] => Ok(Self { value: find(value)?, count: None, note: None }),
            [value, count] => Ok(Self { value: find(value)?, count: Some(find(count)?), note: None }),
            _ => Err(Unclear::Said("one column holds the values and another one their counts".into())),
        }
    }

    /// Those that cannot be others.
    fn seen(apart: Apart, names: &[String], named: bool, rows: &[Vec<String>]) -> Result<Self, Unclear> {
        // NaN, or nothing, stands where a number was to be.
        let is_numeric = |at: usize| {
            let mut said = rows.iter().map(|row| &row[at]).filter(|text| !text.is_empty()).peekable();
            said.peek().is_none() || said.any(|text| text.parse::<f64>().is_ok())
        };
        let is_empty = |at: usize| names[at].is_empty() && rows.iter().all(|row| row[at].is_empty());
        let numeric: Vec<usize> =
            (0..names.len()).filter(|&at| is_numeric(at) && !(named && is_empty(at))).collect();
        let counts = |at: usize| named && COUNTS.contains(&names[at].to_ascii_lowercase().as_str());
        match numeric.as_slice() {
            [] => Err(Unclear::NoNumber),
            &[count] if counts(count) => Err(Unclear::NoNumber),
            // It numbers the rows, or the first line is none of names.
            &[value] if named && names[value].is_empty() => Err(Unclear::Said(format!(
                "the column of numbers has no name: say --column {} if it holds the values",
                value + 1
            ))),
            &[value] => {
                let name = if named { format!("{:?}", names[value]) } else { (value + 1).to_string() };
                let note = (names.len() > 1).then(|| format!("column {name} was taken"));
                Ok(Self { value, count: None, note })
            }
            &[value, count] | &[count, value] if counts(count) && !counts(value) => {
                Ok(Self { value, count: Some(count), note: None })
            }
            // A comma may be a decimal one.
            &[value, count] if apart == Apart::Blanks && !named && names.len() == 2 => {
                let note =
                    "the columns have no names: values and their counts were taken (--column says others)";
                Ok(Self { value, count: Some(count), note: Some(note.into()) })
            }
            _ => Err(Unclear::Said(format!(
                "several columns hold numbers, of {}: name that of the values with --column, and again that of \
                 their counts",
                all(names, named)
            ))),
        }
    }
}

fn all(names: &[String], named: bool) -> String {
    if !named {
        return format!("1 to {}", names.len());
    }
    let told = names.iter().enumerate().map(|(at, name)| match name.as_str() {
        "" => format!("number {} (it has no name)", at + 1),
        name => name.to_owned(),
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Whether a first line names the columns of the row below it. The column that numbers the rows may have no name, and one
/// that is empty; where no column was named, pandas numbers the others from 0.
fn are_names(names: &[String], below: &[String]) -> bool {
    let may_lack = |at: usize| at == 0 || below.get(at).is_none_or(String::is_empty);
    let is_name = |(at, name): (usize, &String)| is_word(name) || (name.is_empty() && may_lack(at));
    let some_word = names.iter().any(|name| is_word(name));
    (some_word && names.iter().enumerate().all(is_name)) || are_numbered(names, below)
}

fn are_numbered(names: &[String], below: &[String]) -> bool {
    let [first, others @ ..] = names else { return false };
    let in_order = others.iter().enumerate().all(|(at, name)| *name == at.to_string());
    first.is_empty() && !others.is_empty() && in_order && below.first().is_some_and(|cell| cell == "0")
}

impl Apart {
    /// What stands between the columns of a file with this first line.
    fn sign(self, first: &str) -> char {
        let most = |sign: &char| first.matches(*sign).count();
        match self {
            // Of several that are as many, max_by_key takes the last.
            Self::Commas => ['\t', ';', ','].into_iter().max_by_key(most).unwrap_or(','),
            Self::Blanks => ' ',
        }
    }

    /// The rows of a text, each with the number of its first line: within quotes a row goes on in the next line.
    fn rows(self, text: &str) -> impl Iterator<Item = (usize, &str)> + Clone {
        let (mut left, mut line) = (text, 1);
        std::iter::from_fn(move || {
            let mut inside = false;
            let ends = |(at, sign): &(usize, char)| match sign {
                '"' if self == Self::Commas => {
                    // A comment, or what stands between its lines, quotes nothing.
                    inside ^= !left[..*at].trim_start().starts_with('#');
                    false
                }
                '\n' => !inside,
                _ => false,
            };
            if left.is_empty() {
                return None;
            }
            let found = left.char_indices().find(ends).map(|(at, _)| at);
            // Of a quote that has no end, its own line is shown.
            let end = found.or_else(|| left.find('\n')).unwrap_or(left.len());
            let (row, number) = (&left[..end], line);
            line += row.matches('\n').count() + 1;
            left = left.get(end + 1..).unwrap_or_default();
            Some((number, row.strip_suffix('\r').unwrap_or(row)))
        })
    }

    /// The fields of a line, trimmed; `None` if a quote has no end.
    fn fields(self, line: &str, sign: char) -> Option<Vec<String>> {
        match self {
            Self::Blanks if line.contains('\t') => {
                Some(line.trim().split('\t').map(|field| field.trim().to_owned()).collect())
            }
            Self::Blanks => Some(line.split_ascii_whitespace().map(str::to_owned).collect()),
            Self::Commas => quoted_fields(line, sign),
        }
    }
}

fn quoted_fields(line: &str, sign: char) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut inside = false;
    let mut signs = line.chars().peekable();
    while let Some(next) = signs.next() {
        match next {
            '"' if inside && signs.next_if_eq(&'"').is_some() => fields.last_mut()?.push('"'),
            '"' => inside = !inside,
            next if next == sign && !inside => fields.push(String::new()),
            next => fields.last_mut()?.push(next),
        }
    }
    (!inside).then(|| fields.iter().map(|field| field.trim().to_owned()).collect())
}

fn says_something(line: &str) -> bool {
    let line = line.trim();
    !line.starts_with('#') && !line.bytes().all(|byte| b" \t-".contains(&byte))
}

/// Whether it can be a column's name: no number, and none that is not finite either.
fn is_word(text: &str) -> bool {
    let text = text.trim_matches(['"', ' ', '\t']);
    text.starts_with(char::is_alphabetic) && text.parse::<f64>().is_err()
}

/// The unit at the end of a column's name, in nanoseconds; `requests/s` is no time.
fn unit(column: &str) -> Option<u64> {
    let name = column.trim_end_matches([')', ']', ' ']).to_lowercase();
    match name.rsplit(['_', ' ', '(', '[', '.']).next()? {
        "ns" | "nsec" | "nsecs" => Some(1),
        "us" | "µs" | "usec" | "usecs" => Some(1000),
        "ms" | "msec" | "msecs" => Some(1_000_000),
        "s" | "sec" | "secs" => Some(1_000_000_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tsv(text: &str) -> Result<Imported, ImportError> {
        parse(text, Apart::Blanks, &Hints::default())
    }

    fn csv(text: &str, columns: &[&str]) -> Result<Imported, ImportError> {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        parse(text, Apart::Commas, &Hints { columns, ..Hints::default() })
    }

    fn cells(imported: &Imported) -> Vec<(i64, u64)> {
        imported.counted.cells().map(|(low, _, count)| (low, count)).collect()
    }

    #[test]
    fn the_histograms_of_2004_are_read_whole() {
        let idle = tsv(include_str!("../../../../experiments/audio-2004/idle.tsv")).unwrap();
        assert_eq!((idle.counted.count(), idle.counted.sums()), (10_400, Some((104_669, 1_345_273))));
        assert_eq!((idle.counted.meaning().unit_ns, idle.notes.len()), (1000, 0));
    }

    #[test]
    fn a_mail_is_read_as_it_was_written() {
        let mail = tsv("Delay   Count\n-----   -----\n6       2257\n7       3210\n").unwrap();
        assert_eq!(mail.counted.count(), 5467);
        assert_eq!(mail.notes.len(), 1, "the unit was guessed");
        let unnamed = tsv("6 2257\n7 3210\n").unwrap();
        assert_eq!((unnamed.counted.count(), unnamed.notes.len()), (5467, 2), "the columns were guessed too");
    }

    #[test]
    fn a_broken_line_is_named_and_nothing_is_imported() {
        let broken = |text: &str| tsv(text).unwrap_err().to_string();
        assert_eq!(
            broken("delay_us\tcount\n6\t1\n7\tNaN\n"),
            "line 3: \"NaN\" where a count, a whole number was expected"
        );
        assert!(broken("6 1\n7 1 1\n").starts_with("line 2"));
        assert!(broken("6 1\n7 -1\n").starts_with("line 2"));
        assert!(broken("6 1\ninf 1\n").starts_with("line 2"));
        assert!(broken("6 1\ndelay count\n").starts_with("line 2"), "names stand first");
        assert!(broken("delay count\n99999999999999999999 1\n").starts_with("line 2"));
        assert!(broken("").starts_with("the file ends"));
        assert!(broken("delay_us\tcount\n").starts_with("the file ends"));
    }

    #[test]
    fn one_column_of_numbers_is_the_one_of_values() {
        let read = csv("path,\"latency, (ms)\",verb\r\n/a,12.5,GET\r\n\"/b,c\",3e0,PUT\r\n", &[]).unwrap();
        assert_eq!(cells(&read), [(30, 1), (125, 1)]);
        assert_eq!(read.counted.meaning().unit_ns, 1_000_000);
        assert_eq!(read.notes, ["column \"latency, (ms)\" was taken"]);
        assert_eq!(cells(&csv("latency_us\n5\n5\n", &[]).unwrap()), [(5, 2)]);
    }

    #[test]
    fn counts_are_known_by_their_name() {
        for text in ["delay_us,count\n6,3\n7,1\n", "n;delay_us\n3;6\n1;7\n"] {
            let read = csv(text, &[]).unwrap();
            assert_eq!((cells(&read), read.notes.len()), (vec![(6, 3), (7, 1)], 0));
        }
    }

    #[test]
    fn where_several_columns_hold_numbers_none_is_guessed() {
        for text in ["at,latency_ms\n1,12\n2,13\n", "1,12,3\n2,13,3\n", "12,5\n13,5\n"] {
            let why = csv(text, &[]).unwrap_err().to_string();
            assert!(
                why.contains("--column")
                    && why.contains(if text.starts_with('a') { "at, latency_ms" } else { "1 to " }),
                "{why}"
            );
        }
        assert_eq!(cells(&csv("at,latency_ms\n1,12\n2,13\n", &["Latency_ms"]).unwrap()), [(12, 1), (13, 1)]);
        assert_eq!(cells(&csv("1,12,3\n2,13,4\n", &["2", "3"]).unwrap()), [(12, 3), (13, 4)]);
        let why = csv("at,latency_ms\n1,12\n", &["p99"]).unwrap_err().to_string();
        assert_eq!(why, "line 2: there is no column \"p99\"; there are at, latency_ms");
        let why = csv("latency_ms,code\nNaN,200\n12,200\n", &[]).unwrap_err().to_string();
        assert!(why.contains("--column"), "no column is taken because another one begins with NaN: {why}");
        assert!(tsv("at latency\n1 12\n2 13\n").unwrap_err().to_string().contains("--column"));
    }

    #[test]
    fn a_first_line_names_the_columns_though_the_one_of_row_numbers_has_no_name() {
        for (text, apart) in [
            (",ts,latency_ms\n0,0.0,12\n1,0.1,13\n", Apart::Commas),
            ("\"\",\"ts\",\"latency_ms\"\n\"1\",0.0,12\n\"2\",0.1,13\n", Apart::Commas),
            (";ts;latency_ms\n0;0.0;12\n1;0.1;13\n", Apart::Commas),
            ("\tts\tlatency_ms\n0\t0.0\t12\n1\t0.1\t13\n", Apart::Blanks),
        ] {
            assert_eq!(looks(text), Some(apart), "{text}");
            let read = |column: &[&str]| {
                let columns = column.iter().map(|column| (*column).to_owned()).collect();
                parse(text, apart, &Hints { columns, ..Hints::default() })
            };
            for column in ["latency_ms", "3"] {
                let read = read(&[column]).unwrap();
                assert_eq!(cells(&read), [(12, 1), (13, 1)], "{text}");
                assert_eq!(read.counted.meaning().unit_ns, 1_000_000, "{text}");
            }
            let why = read(&[]).err().unwrap().to_string();
            assert!(why.contains("number 1 (it has no name), ts, latency_ms"), "{why}");
        }
        // Of a series without a name, and of a table that ends each line with a comma.
        assert_eq!(cells(&csv(",0\n0,12\n1,13\n", &["2"]).unwrap()), [(12, 1), (13, 1)]);
        assert_eq!(cells(&csv("path,latency_ms,\n/a,12,\n/b,13,\n", &[]).unwrap()), [(12, 1), (13, 1)]);
    }

    #[test]
    fn a_first_row_that_lacks_its_value_is_not_taken_for_names_in_silence() {
        for text in
            ["GET,\nPUT,12\n", ",GET\n12,PUT\n13,PUT\n", ",7\n12,3\n", "path,latency_ms\n/a,\n/b,12\n"]
        {
            assert!(csv(text, &[]).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_missing_or_infinite_is_named_with_its_line() {
        let broken =
            |value: &str| csv(&format!("a,latency_ms\nx,1\ny,{value}\n"), &[]).unwrap_err().to_string();
        for value in ["", "NaN", "inf", "-inf", "1e400", "12 ms", "\"3"] {
            assert!(broken(value).starts_with("line 3: "), "{value}");
        }
        assert!(csv("a,b\n", &[]).unwrap_err().to_string().starts_with("the file ends"));
    }

    #[test]
    fn a_first_value_that_is_none_is_named_with_its_own_line_and_gives_its_column_to_no_other() {
        assert_eq!(looks("latency_ms\nNaN\n12\n"), Some(Apart::Commas));
        for text in ["latency_ms\nabc\n12\n", "path,latency_ms\n/a,abc\n/b,12\n"] {
            let why = csv(text, &[]).unwrap_err().to_string();
            assert!(why.starts_with("line 2: \"abc\" where a number"), "{why}");
        }
        let why = csv("at,latency_ms\n1,abc\n2,12\n", &[]).unwrap_err().to_string();
        assert!(why.contains("--column"), "{why}");
    }

    #[test]
    fn a_decimal_comma_is_called_that() {
        for (text, at) in [
            ("latency_ms\n12\n12,5\n", "line 3: \"12,5\" has a comma"),
            ("at;latency_ms\na;12.5\nb;1,5\n", "line 3: \"1,5\" has a comma"),
            ("at\tlatency_ms\na\t1\nb\t1,5\n", "line 3: \"1,5\" has a comma"),
        ] {
            let why = parse(text, looks(text).unwrap(), &Hints::default()).unwrap_err().to_string();
            assert!(why.starts_with(at) && why.contains("with a point"), "{why}");
        }
    }

    #[test]
    fn a_row_goes_on_in_the_next_line_within_quotes_and_lines_are_still_counted() {
        let read = csv("path,latency_ms\n\"/a\nb\",12\n# it\"s\n/c,13\r\n", &[]).unwrap();
        assert_eq!(cells(&read), [(12, 1), (13, 1)]);
        let why = csv("path,latency_ms\n\"/a\n\nb\",12\n/c,x\n", &[]).unwrap_err().to_string();
        assert!(why.starts_with("line 5: \"x\" where a number"), "{why}");
        let why = csv("path,latency_ms\n/a,12\n\"/b,13\n/c,14\n", &[]).unwrap_err().to_string();
        assert!(why.starts_with("line 3: ") && why.contains("a quote that ends"), "{why}");
    }

    #[test]
    fn a_name_that_two_columns_have_names_none() {
        let why = csv("ms,ms\n1,2\n", &["ms"]).unwrap_err().to_string();
        assert!(why.contains("2 columns are called \"ms\": name it by its number"), "{why}");
        assert_eq!(cells(&csv("ms,ms\n1,2\n", &["2"]).unwrap()), [(2, 1)]);
    }

    #[test]
    fn what_is_wrong_is_blamed_on_its_own_line() {
        let why = csv("path,latency_ms\n/a,1,2\n/b,3,4\n", &[]).unwrap_err().to_string();
        assert!(why.starts_with("line 2: ") && why.contains("as many columns"), "{why}");
        let why = csv("latency_ns\n5\n4503599627370497\n6\n", &[]).unwrap_err().to_string();
        assert!(why.starts_with("line 3: "), "{why}");
    }

    #[test]
    fn a_unit_that_the_header_names_gives_way_to_no_other() {
        let read = |unit_ns| {
            let hints = Hints { unit_ns: Some(unit_ns), ..Hints::default() };
            parse("# of today\nlatency_ms\n12\n", Apart::Commas, &hints)
        };
        let why = read(1000).unwrap_err().to_string();
        assert_eq!(why, "line 2: the column \"latency_ms\" is in ms, and --unit says us");
        assert_eq!(read(1_000_000).unwrap().counted.meaning().unit_ns, 1_000_000);
    }

    #[test]
    fn a_rate_names_no_unit_of_time() {
        assert_eq!(
            (unit("delay_us"), unit("Latency [µs]"), unit("time.ns")),
            (Some(1000), Some(1000), Some(1))
        );
        assert_eq!((unit("requests/s"), unit("bytes"), unit("us")), (None, None, Some(1000)));
    }
}
