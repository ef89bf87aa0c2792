//! Words in commands that are printed to be copied.

use std::path::Path;

/// The word as a shell reads it back: quoted where it must be.
pub fn quoted(word: &str) -> String {
    // A NUL is in no word of a command line.
    let word = word.replace('\0', "\u{fffd}");
    shlex::try_quote(&word).map(|word| word.into_owned()).unwrap_or(word)
}

/// The same of a file's name.
pub fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_quoted_word_is_one_word_of_a_shell() {
        for word in
            ["plain.jsonl", "two words", "a'b\"c", "$(touch x)", "`x`; rm -rf *", "", "udp://h:1?reply=none"]
        {
            assert_eq!(shlex::split(&quoted(word)).unwrap(), [word]);
        }
        assert_eq!(quoted("plain.jsonl"), "plain.jsonl");
    }
}
