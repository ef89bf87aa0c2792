//! What a record in a history is called: by its date, its target, and some digits that no other has.

use crate::clock;
use dropline_store::sha256;
use std::sync::atomic::{AtomicU32, Ordering};

/// Of a target's name, so much is in the name of a file.
const LONGEST_TARGET: usize = 40;
/// Digits of a sum in the name of a file.
const DIGITS: usize = 12;

/// The file of a record that began then; `None` of what is not a date.
pub(super) fn of(started: &str, target: &str, sum: &str) -> Option<String> {
    let [day, second] = clock::day_and_second(started)?;
    Some(format!("{day}/{second}-{}-{}.jsonl", word(target), &sum[..DIGITS]))
}

/// The file of a record that begins now: nothing of it is known yet, so its digits are those of the moment and the process.
pub(super) fn of_now(target: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = clock::now_utc();
    let moment = format!("{} {} {count} {target}", clock::now_exact(), std::process::id());
    of(&now, target, &sha256(moment.as_bytes())).expect("now is a date")
}

/// Letters and digits of a target.
fn word(target: &str) -> String {
    let mut word = String::new();
    for sign in target.chars() {
        match sign.is_ascii_alphanumeric() {
            true => word.push(sign.to_ascii_lowercase()),
            false if !word.ends_with('-') && !word.is_empty() => word.push('-'),
            false => {}
        }
        if word.len() >= LONGEST_TARGET {
            break;
        }
    }
    let word = word.trim_end_matches('-');
    if word.is_empty() { "target".into() } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_named_by_its_date_its_target_and_a_sum() {
        let sum = sha256(b"");
        assert_eq!(sum, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let name = |target: &str| of("2026-11-21T09:31:00Z", target, &sum).unwrap();
        assert_eq!(
            name("udp://127.0.0.1:7007"),
            "2026/11/21/20261121-093100-udp-127-0-0-1-7007-e3b0c44298fc.jsonl"
        );
        assert_eq!(name("../../Ä"), "2026/11/21/20261121-093100-target-e3b0c44298fc.jsonl");
        assert!(name(&"exec:a b".repeat(100)).len() < 100);
        assert_eq!(of("yesterday", "sim:soft", &sum), None);
        assert_ne!(of_now("sim:soft"), of_now("sim:soft"));
    }
}
