//! Quantities as people write them.

use super::text;
use dropline_trial::{Arrival, Packet, Rate, written};
use dropline_verbs::fail_if::FailIf;
use std::time::Duration;

/// What is read is within what the quantity may be.
pub fn check(bytes: &[u8]) {
    let word = &*text(bytes);
    if let Ok(load) = written::load(word)
        && let Ok(rate) = load.with(Packet::of_payload(64).expect("64 bytes is legal"))
    {
        assert!((Rate::LOWEST..=Rate::HIGHEST).contains(&rate));
        assert!(written::load(&rate.to_string()).is_ok(), "{rate} cannot be read");
    }
    if let Ok(duration) = written::duration(word) {
        assert!(duration <= Duration::from_secs(30 * 86_400));
        assert_eq!(written::positive_duration(word).is_ok(), !duration.is_zero());
    }
    if let Ok(bytes) = written::bytes(word) {
        assert!(bytes < 1_000_000_000_000_000);
    }
    if let Ok(ratio) = written::ratio(word) {
        assert!((0.0..1.0).contains(&ratio.as_f64()));
        assert_eq!(written::ratio(&ratio.to_string()), Ok(ratio), "a ratio is read as it is printed");
    }
    if let Ok(arrival) = word.parse::<Arrival>() {
        assert_eq!(arrival.to_string().parse(), Ok(arrival), "a process is read as it is printed");
    }
    let _ = FailIf::parse(word);
}
