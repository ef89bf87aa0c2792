//! Names that are made in turns: `host{0..9999}.example.org`.

use std::str::FromStr;

/// Text with a number in it, or without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    before: String,
    number: Option<Numbers>,
    after: String,
}

/// Which numbers stand there in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    first: u64,
    /// How many, before the first has its turn again; `None`: that of the request, of [`DIGITS`] digits, never twice.
    count: Option<u64>,
    /// Filled up to so many digits with zeroes.
    width: usize,
}

/// Why text is not a pattern.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum PatternError {
    /// A brace is alone, or there are two pairs.
    #[error("{0:?} has braces that are not one pair: a number in turns is {{}} or {{0..9999}}")]
    Braces(String),
    /// What stands between the braces.
    #[error(
        "{{{0}}} is not a range of numbers: write {{0..9999}}, or {{}} for a number that is never used twice"
    )]
    Range(String),
}

/// Digits of a number that is never used twice.
pub const DIGITS: usize = 13;
/// Such numbers are below this: ten million million.
pub const NEVER_TWICE: u64 = 10_u64.pow(DIGITS as u32);

/// Digits of the longest number.
const LONGEST_NUMBER: usize = 20;

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let braces = || PatternError::Braces(text.into());
        let Some((before, rest)) = text.split_once('{') else {
            let plain = Self { before: text.into(), number: None, after: String::new() };
            return if text.contains('}') { Err(braces()) } else { Ok(plain) };
        };
        let (range, after) = rest.split_once('}').ok_or_else(braces)?;
        if before.contains('}') || after.contains(['{', '}']) || range.contains('{') {
            return Err(braces());
        }
        let number = if range.is_empty() {
            Numbers { first: 0, count: None, width: DIGITS }
        } else {
            numbers(range).ok_or_else(|| PatternError::Range(range.into()))?
        };
        Ok(Self { before: before.into(), number: Some(number), after: after.into() })
    }
}

fn numbers(range: &str) -> Option<Numbers> {
    let (first, last) = range.split_once("..")?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !(is_number(first) && is_number(last)) {
        return None;
    }
    let width = if first.starts_with('0') && first.len() > 1 { first.len() } else { 0 };
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    Some(Numbers { first, count: Some(last.checked_sub(first)?.checked_add(1)?), width })
}

impl Pattern {
    /// Bytes of the longest text that it makes.
    pub fn longest(&self) -> usize {
        let number = self.number.map_or(0, |numbers| match numbers.count {
            Some(count) => (numbers.first + (count - 1)).to_string().len().max(numbers.width),
            None => numbers.width,
        });
        self.before.len() + number + self.after.len()
    }

    /// How many texts there are before the first has its turn again; `None` where none has.
    pub fn turns(&self) -> Option<u64> {
        self.number.map_or(Some(1), |numbers| numbers.count)
    }

    /// Whether all that it makes are of one length.
    pub fn is_of_one_length(&self) -> bool {
        self.number.is_none_or(|numbers| match numbers.count {
            Some(count) => {
                let digits = |number: u64| number.to_string().len().max(numbers.width);
                digits(numbers.first) == digits(numbers.first + (count - 1))
            }
            None => true,
        })
    }

    /// Appends the text of request `number`.
    pub fn write(&self, number: u64, bytes: &mut Vec<u8>) {
        bytes.extend(self.before.bytes());
        if let Some(Numbers { first, count, width }) = self.number {
            let turn = first + number % count.unwrap_or(NEVER_TWICE);
            let mut digits = [b'0'; LONGEST_NUMBER];
            let (mut left, mut at) = (turn, LONGEST_NUMBER);
            while left > 0 || at == LONGEST_NUMBER {
                at -= 1;
                digits[at] = b'0' + (left % 10) as u8;
                left /= 10;
            }
            let from = at.min(LONGEST_NUMBER - width.min(LONGEST_NUMBER));
            bytes.extend(&digits[from..]);
        }
        bytes.extend(self.after.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(pattern: &str, number: u64) -> String {
        let pattern: Pattern = pattern.parse().unwrap();
        let mut bytes = Vec::new();
        pattern.write(number, &mut bytes);
        assert!(bytes.len() <= pattern.longest());
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn numbers_have_their_turns_and_keep_their_zeroes() {
        assert_eq!((text("h{8..11}.org", 0), text("h{8..11}.org", 6)), ("h8.org".into(), "h10.org".into()));
        assert_eq!((text("{000..999}", 5), text("{000..12345}", 12_345)), ("005".into(), "12345".into()));
        assert_eq!(text("n{}", 2_000_000_000_012), "n2000000000012");
        assert_eq!(
            (text("n{}", 7), text("n{}", NEVER_TWICE + 8)),
            (format!("n{:013}", 7), format!("n{:013}", 8))
        );
        assert_eq!(text("plain", 3), "plain");
    }

    #[test]
    fn what_is_not_a_range_is_told() {
        let error = |text: &str| text.parse::<Pattern>().unwrap_err();
        for wrong in ["{", "}", "a}b{", "{}{}", "{{}}", "x{1..2}y{3..4}"] {
            assert_eq!(error(wrong), PatternError::Braces(wrong.into()));
        }
        for wrong in
            ["1", "9..1", "a..b", "-1..4", "1..", "0..99999999999999999999", "0..18446744073709551615"]
        {
            assert_eq!(error(&format!("{{{wrong}}}")), PatternError::Range(wrong.into()));
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: String, number: u64) {
            if let Ok(pattern) = text.parse::<Pattern>() {
                let mut bytes = Vec::new();
                pattern.write(number, &mut bytes);
                prop_assert!(bytes.len() <= pattern.longest());
            }
        }
    }
}
