//! Columns: of values alone, or of values and how often each was seen. A first line of words names them.
//!
//! Which column is which is never guessed where there is a choice: it is an error that names the columns. A unit at the
//! end of the name of the values, as in `delay_us` or `Latency (ms)`, is theirs.

use super::values::{self, Decimal, VALUE, Values};
use super::{Hints, ImportError, Imported, unit_word};
use dropline_printable::in_one_line;
use dropline_stats::CountError;

const COUNT: &str = "a count, a whole number";
const COMMA: &str = "a comma: decimals are written with a point here, and thousands without a sign";
/// What a column of counts is called.
const COUNTS: [&str; 9] =
    ["count", "counts", "n", "freq", "frequency", "events", "hits", "occurrences", "samples"];

/// What is counted by the second where an `s` follows it, as in `total_kb_s`.
const PER_SECOND: [&str; 13] =
    ["b", "kb", "mb", "gb", "kib", "mib", "bytes", "bits", "req", "requests", "ops", "packets", "per"];

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
    // A column of units beside the values: `12 us`.
    let unit_beside = |row: &[String]| {
        let word = row.get(columns.value + 1)?.trim();
        unit(word).filter(|_| word.chars().all(char::is_alphabetic))
    };
    let beside = unit_beside(&row);
    for (number, line) in rows {
        let fields = alike(&names, number, line, fields(number, line)?)?;
        let value = &fields[columns.value];
        if let (Some(first), other) = (beside, unit_beside(&fields))
            && other != beside
        {
            let first = unit_word(first);
            let what = match other {
                Some(other) => {
                    format!("{value:?} is in {}, and the first value in {first}", unit_word(other))
                }
                None => format!("{value:?} has no unit, and the first value is in {first}"),
            };
            return Err(ImportError::Disagrees { line: number, what });
        }
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
    let own = named_unit.or(beside);
    let others = [("the column beside it", beside), ("--unit", hints.unit_ns)];
    let mut others = others.into_iter().filter_map(|(who, unit)| Some((who, unit?)));
    if let Some(own) = own
        && let Some((who, other)) = others.find(|(_, other)| *other != own)
    {
        let column = if named { format!("the column {name:?} is") } else { "values are".into() };
        let what = format!("{column} in {}, and {who} says {}", unit_word(own), unit_word(other));
        return Err(ImportError::Disagrees { line: header, what });
    }
    let unit_ns = hints.unit_ns.or(own);
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
        let what = format!("{found:?} has {COMMA}");
        return ImportError::Disagrees { line, what };
    }
    values::no_value(line, found)
}

/// Whether it is a number and then a unit of time: `1.5 ms`.
fn has_unit(text: &str) -> bool {
    let number = text.trim_end_matches(char::is_alphabetic);
    let unit = &text[number.len()..];
    !unit.is_empty() && self::unit(unit).is_some() && Decimal::parse(number.trim()).is_some()
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
            [value] => {
                let value = find(value)?;
                let is_count = |name: &&String| COUNTS.contains(&name.to_ascii_lowercase().as_str());
                let unused = names.iter().filter(|name| named && **name != names[value]).find(is_count);
                let note = unused.map(|name| {
                    format!(
                        "column {name:?} was not taken for counts, and each line is one event: a second --column takes it"
                    )
                });
                Ok(Self { value, count: None, note })
            }
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
        // Were it left out for how its numbers are written, another one would be taken in its place.
        let hidden = (0..names.len()).filter(|&at| !numeric.contains(&at));
        for (at, cell) in hidden.flat_map(|at| rows.iter().map(move |row| (at, &row[at]))) {
            let why = if has_decimal_comma(cell) {
                COMMA
            } else if has_unit(cell) {
                "a unit: take it out of the cells, and say it with --unit"
            } else {
                continue;
            };
            let which = if named { format!("{:?}", names[at]) } else { (at + 1).to_string() };
            return Err(Unclear::Said(format!(
                "{cell:?} in column {which} has {why}; if that column holds no delays, name the one that does with --column"
            )));
        }
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
                let note = (names.len() > 2).then(|| {
                    format!(
                        "columns {:?} and {:?} were taken, for the values and their counts",
                        names[value], names[count]
                    )
                });
                Ok(Self { value, count: Some(count), note })
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
        name => in_one_line(name).into_owned(),
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
            // Of several that are as many, max_by_key takes the last: a comma may be a decimal one.
            Self::Commas => [',', ';', '\t'].into_iter().max_by_key(most).unwrap_or(','),
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
    let mut words = name.rsplit(['_', ' ', '(', '[', '.']);
    match words.next()? {
        "s" if words.next().is_some_and(|word| PER_SECOND.contains(&word)) => None,
        "ns" | "nsec" | "nsecs" => Some(1),
        "us" | "µs" | "usec" | "usecs" => Some(1000),
        "ms" | "msec" | "msecs" => Some(1_000_000),
        "s" | "sec" | "secs" => Some(1_000_000_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
