//! What a record or anybody else says, safe to be shown: no character of it steers a terminal.
//!
//! Owns which characters steer, and how they are replaced or escaped. It knows nothing of ours.
//! Start reading at [`steers`], then [`printable`]; [`lines`] is for what a program says while it runs.

mod lines;

pub use lines::lines;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a terminal acts on the character, or shows others elsewhere or nothing for it: controls, and those that
/// change the direction of text, join, or take no room.
pub fn steers(sign: char) -> bool {
    sign.is_control()
        || matches!(sign,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text for people: what would steer is replaced, but line ends and tabs.
pub fn printable(text: &str) -> Cow<'_, str> {
    let bad = |sign: char| steers(sign) && !matches!(sign, '\n' | '\t');
    if !text.contains(bad) {
        return text.into();
    }
    text.chars().map(|sign| if bad(sign) { '\u{fffd}' } else { sign }).collect::<String>().into()
}

/// The same JSON: what would steer is written as escapes, but the line ends between values.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    escaped_but(json, &['\n'])
}

/// The text for programs that show what they read: what would steer is written as JSON writes it, but line ends and
/// tabs.
pub fn escaped(text: &str) -> Cow<'_, str> {
    escaped_but(text, &['\n', '\t'])
}

/// The text as a part of one line, for an error that quotes what a file says: what would steer is written as JSON writes
/// it, and so are line ends and tabs, which would make lines that look like ours.
pub fn in_one_line(text: &str) -> Cow<'_, str> {
    escaped_but(text, &[])
}

fn escaped_but<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let bad = |sign: char| steers(sign) && !kept.contains(&sign);
    if !text.contains(bad) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        if bad(sign) {
            for unit in sign.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(sign);
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_and_turned_text_do_not_reach_a_terminal() {
        assert_eq!(
            printable("a\x1b[2Jb\u{9b}c\u{202e}d\r\ne\t\u{7f}"),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}\ne\t\u{fffd}"
        );
        assert_eq!(escaped("a\x1b[2Jb\u{202e}\r\ne\t"), "a\\u001b[2Jb\\u202e\\u000d\ne\t");
        assert_eq!(in_one_line("a\n  go on\t\x1b"), "a\\u000a  go on\\u0009\\u001b");
        assert_eq!(printable("1\u{a0}µs ≥ ½ ∅ 中"), "1\u{a0}µs ≥ ½ ∅ 中");
    }

    proptest! {
        #[test]
        fn json_that_is_made_printable_says_the_same(text: String, more in "[\u{202e}\u{7f}\u{9b}\u{e0041}\u{61}]{0,9}") {
            let value = serde_json::json!({ text.clone(): [more, text] });
            let json = serde_json::to_string_pretty(&value).unwrap();
            let shown = printable_json(&json);
            prop_assert!(!shown.contains(|sign| steers(sign) && sign != '\n'));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
