//! The date of a record.

use jiff::Timestamp;

/// Now, as RFC 3339 in UTC, to the second.
pub fn now_utc() -> String {
    to_the_second(Timestamp::now())
}

/// Now, as the middle of a file name: `20261121-093100`.
pub fn now_compact() -> String {
    Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string()
}

fn to_the_second(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_utc_to_the_second() {
        let instant = Timestamp::from_second(1_795_253_460).unwrap();
        assert_eq!(to_the_second(instant), "2026-11-21T09:31:00Z");
    }
}
