//! A JSON array of numbers, as any language writes one. Digits are read as they stand, not as doubles.

use super::values::{Decimal, VALUE, Values, no_value};
use super::{ImportError, Imported};

/// Reads such an array.
///
/// # Errors
/// If something in it is no number, or there is none.
pub(super) fn parse(text: &str, unit_ns: Option<u64>) -> Result<Imported, ImportError> {
    let begin = text.len() - text.trim_start().len();
    let last = text.lines().count();
    let inside = text
        .trim()
        .strip_prefix('[')
        .ok_or_else(|| ImportError::line(1, text.lines().next().unwrap_or_default(), "["))?
        .strip_suffix(']')
        .ok_or_else(|| ImportError::line(last, text.lines().last().unwrap_or_default(), "] at its end"))?;
    if inside.trim().is_empty() {
        return Err(ImportError::Ends { expected: VALUE });
    }
    let mut values = Values::default();
    let mut line = 1 + text[..begin].matches('\n').count();
    for part in inside.split(',') {
        let ahead = part.len() - part.trim_start().len();
        let at = line + part[..ahead].matches('\n').count();
        let value = Decimal::parse(part.trim()).ok_or_else(|| no_value(at, part.trim()))?;
        values.add(value, 1)?;
        line += part.matches('\n').count();
    }
    values.imported(unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_read_as_its_digits_stand() {
        let read = parse("\n[12.5, 1.25e1,\n 3]\n", Some(1_000_000)).unwrap();
        assert_eq!(read.counted.cells().collect::<Vec<_>>(), [(30, 30, 1), (125, 125, 2)]);
        assert_eq!((read.counted.meaning().quantum_ns, read.notes.len()), (1e5, 0));
    }

    #[test]
    fn what_is_no_number_is_named_with_its_line() {
        for (text, line) in [
            ("[1,\nNaN]", 2),
            ("[1,\n\n null]", 3),
            ("\n[[1], 2]", 2),
            ("[{\"a\": 1}]", 1),
            ("[1, 2", 1),
            ("[1,]", 1),
            ("[\"1\"]", 1),
        ] {
            let why = parse(text, None).unwrap_err().to_string();
            assert!(why.starts_with(&format!("line {line}: ")), "{text:?}: {why}");
        }
        let why = parse("[1e+30, 2]", None).unwrap_err().to_string();
        assert!(why.starts_with("line 1: 1e+30 is too large"), "{why}");
        assert!(parse("[ ]", None).unwrap_err().to_string().starts_with("the file ends"));
    }
}
