//! Quantities as people write them.

use super::text;
use dropline_trial::{Arrival, Packet, Rate, quantities};
use dropline_verbs::fail_if::FailIf;
use std::time::Duration;

/// What is read is within what the quantity may be.
pub fn check(bytes: &[u8]) {
    let word = &*text(bytes);
    if let Ok(load) = quantities::load(word)
        && let Ok(rate) = load.with(Packet::of_payload(64).expect("64 bytes is legal"))
    {
        assert!((Rate::LOWEST..=Rate::HIGHEST).contains(&rate));
        assert!(quantities::load(&rate.to_string()).is_ok(), "{rate} cannot be read");
    }
    if let Ok(duration) = quantities::duration(word) {
        assert!(duration <= Duration::from_secs(30 * 86_400));
        assert_eq!(quantities::positive_duration(word).is_ok(), !duration.is_zero());
    }
    if let Ok(bytes) = quantities::bytes(word) {
        assert!(bytes < 1_000_000_000_000_000);
    }
    if let Ok(ratio) = quantities::ratio(word) {
        assert!((0.0..1.0).contains(&ratio.as_f64()));
        assert_eq!(quantities::ratio(&ratio.to_string()), Ok(ratio), "a ratio is read as it is printed");
    }
    if let Ok(arrival) = word.parse::<Arrival>() {
        assert_eq!(arrival.to_string().parse(), Ok(arrival), "a process is read as it is printed");
    }
    let _ = FailIf::parse(word);
}
