//! Words of the metadata language (TSDL, CTF 1.8 §C): identifiers, numbers, texts and signs.

use crate::CtfError;

/// One word, and the line it stands in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    pub(super) line: usize,
    pub(super) is: Is,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Is {
    /// An identifier or keyword.
    Name(String),
    /// A number; negative ones have their sign.
    Number(i128),
    /// What stood between quotes.
    Text(String),
    /// One of `{ } [ ] < > ( ) ; : , . = *`, or `:=`, `...`.
    Sign(&'static str),
}

const SIGNS: [&str; 17] =
    ["...", ":=", "->", "{", "}", "[", "]", "<", ">", "(", ")", ";", ":", ",", ".", "=", "*"];

pub(super) fn words(text: &str) -> Result<Vec<Word>, CtfError> {
    let (mut rest, mut line, mut words) = (text, 1, Vec::new());
    while let Some(first) = rest.chars().next() {
        if first == '\n' {
            line += 1;
        }
        let (is, length) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").ok_or_else(|| syntax(line, "a comment that does not end"))?;
            line += rest[..end + 4].matches('\n').count();
            (None, end + 4)
        } else if rest.starts_with("//") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if first == '"' {
            let (text, length) =
                quoted(&rest[1..]).ok_or_else(|| syntax(line, "a text that does not end"))?;
            (Some(Is::Text(text)), length + 1)
        } else if first.is_ascii_digit() || negative(rest) {
            let length = 1 + end_of(&rest[1..], |letter| letter.is_ascii_alphanumeric());
            let number = number(&rest[..length]).ok_or_else(|| syntax(line, &rest[..length]))?;
            (Some(Is::Number(number)), length)
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = end_of(rest, |letter| letter.is_ascii_alphanumeric() || letter == '_');
            (Some(Is::Name(rest[..length].into())), length)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| syntax(line, &first.to_string()))?;
            (Some(Is::Sign(sign)), sign.len())
        };
        words.extend(is.map(|is| Word { line, is }));
        rest = &rest[length..];
    }
    Ok(words)
}

fn syntax(line: usize, found: &str) -> CtfError {
    CtfError::Syntax { line, found: found.chars().take(40).collect() }
}

fn negative(rest: &str) -> bool {
    rest.starts_with('-') && rest[1..].starts_with(|letter: char| letter.is_ascii_digit())
}

fn end_of(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !belongs(letter)).unwrap_or(text.len())
}

/// What stands before the closing quote, and how long it was with it.
fn quoted(text: &str) -> Option<(String, usize)> {
    let (mut found, mut escaped) = (String::new(), false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => {
                escaped = false;
                found.push(match letter {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                });
            }
            '\\' => escaped = true,
            '"' => return Some((found, at + 1)),
            other => found.push(other),
        }
    }
    None
}

fn number(word: &str) -> Option<i128> {
    let (sign, digits) = word.strip_prefix('-').map_or((1, word), |digits| (-1, digits));
    let digits = digits.trim_end_matches(['u', 'U', 'l', 'L']);
    let lower = digits.to_ascii_lowercase();
    let value = if let Some(hex) = lower.strip_prefix("0x") {
        i128::from_str_radix(hex, 16)
    } else if lower.len() > 1 && lower.starts_with('0') {
        i128::from_str_radix(&lower[1..], 8)
    } else {
        lower.parse()
    };
    value.ok().map(|value| sign * value)
}
