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

/// The seconds since 1970 of what [`now_utc`] wrote; `None` of anything that is no date.
pub fn unix_s(date: &str) -> Option<i64> {
    date.parse::<Timestamp>().ok().map(Timestamp::as_second)
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
        assert_eq!(unix_s("2026-11-21T09:31:00Z"), Some(1_795_253_460));
        assert_eq!(unix_s("yesterday"), None);
    }
}
