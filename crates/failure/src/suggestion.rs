//! The word that was probably meant.

/// `; did you mean "x"?` when a known word begins so or is near, else nothing.
pub fn nearest(word: &str, known: &[&str]) -> String {
    let begun = known.iter().find(|known| word.len() > 2 && known.starts_with(word));
    if let Some(known) = begun {
        return format!("; did you mean {known:?}?");
    }
    known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(word, known), known))
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map_or_else(String::new, |(_, known)| format!("; did you mean {known:?}?"))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_a_near_word_is_offered() {
        assert_eq!(nearest("hrad", &["hard", "soft"]), "; did you mean \"hard\"?");
        assert_eq!(nearest("loss", &["lost", "loss_ratio"]), "; did you mean \"loss_ratio\"?");
        assert_eq!(nearest("zebra", &["hard", "soft"]), "");
    }
}
