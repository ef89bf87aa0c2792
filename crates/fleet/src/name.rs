//! Names of agents and labels.

/// Whether a name can be part of a subject.
pub(crate) fn is_name(name: &str) -> bool {
    let is_legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    (1..=32).contains(&name.len()) && name.chars().all(is_legal)
}
