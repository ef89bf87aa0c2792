//! What somebody else wrote, as far as an error quotes it.

use std::borrow::Cow;

/// Characters of a line that are shown, at most: what happened stands at its beginning, and why at its end.
const MOST: usize = 1_000;
const END: usize = 300;

/// The text, with the middle of lines left out that are longer than anybody reads, and how much that is.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    let is_long = |line: &str| line.len() > MOST && line.chars().count() > MOST;
    if !text.lines().any(is_long) {
        return text.into();
    }
    let cut = |line: &str| {
        if !is_long(line) {
            return line.to_owned();
        }
        let all = line.chars().count();
        let begins: String = line.chars().take(MOST - END).collect();
        let ends: String = line.chars().skip(all - END).collect();
        format!("{begins} […{} characters are left out…] {ends}", all - MOST)
    };
    text.lines().map(cut).collect::<Vec<_>>().join("\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    #[test]
    fn an_error_quotes_no_more_of_a_line_than_anybody_reads() {
        let line = "é".repeat(100_000);
        let said =
            Failure::usage(format!("file.toml:1: {line} is not a load\nsecond")).advice(&line).to_string();
        assert!(said.chars().count() < 3 * MOST, "{} characters", said.chars().count());
        assert!(
            said.starts_with("file.toml:1: é") && said.contains("é is not a load\nsecond\n  é"),
            "{said}"
        );
        assert!(said.contains("99027 characters are left out"), "{said}");
        let short = "x".repeat(MOST);
        assert_eq!(excerpt(&short), short);
    }
}
