//! Errors of the system, in words: here and nowhere else.

/// The same without the numbers that the standard library writes behind them: `No such file or directory (os error 2)`. They
/// say nothing that the words do not, and stand in the middle of a sentence.
pub fn without_numbers(words: &str) -> String {
    let mut parts = words.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |said, part| said + part.split_once(')').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use crate::Failure;
    use std::io::Error;

    #[test]
    fn an_error_of_the_system_has_its_words_and_not_its_number() {
        let (absent, full) = (Error::from_raw_os_error(2), Error::from_raw_os_error(28));
        let said = Failure::environment(format!("a: {absent}; b: {full}, so")).advice(&full).to_string();
        assert!(!said.contains("os error") && !said.contains("(("), "{said}");
        assert!(said.starts_with("a: ") && said.contains("; b: ") && said.contains(", so\n  "), "{said}");
    }
}
