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

/// The seconds since 1970.
pub fn now_s() -> i64 {
    Timestamp::now().as_second()
}

/// Now, in nanoseconds since 1970.
pub fn now_exact() -> i128 {
    Timestamp::now().as_nanosecond()
}

/// The day of a date as directories, and its second as the beginning of a file name: `2026/11/21` and `20261121-093100`.
pub fn day_and_second(date: &str) -> Option<[String; 2]> {
    let date = date.parse::<Timestamp>().ok()?;
    Some(["%Y/%m/%d", "%Y%m%d-%H%M%S"].map(|form| date.strftime(form).to_string()))
}

/// The first and the last second since 1970 that is meant by a day in UTC, as `2026-11-21`, or by a time; `None` of others.
pub fn seconds_of(date: &str) -> Option<[i64; 2]> {
    if let Ok(day) = date.parse::<jiff::civil::Date>()
        && date.len() == "2026-11-21".len()
    {
        let begins = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second();
        return Some([begins, begins + 86_399]);
    }
    unix_s(date).map(|second| [second, second])
}

/// The seconds since 1970 of what [`now_utc`] wrote; `None` of anything that is no date.
pub fn unix_s(date: &str) -> Option<i64> {
    date.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

/// The microseconds since 1970 of the same.
pub fn unix_us(date: &str) -> Option<i64> {
    date.parse::<Timestamp>().ok().map(Timestamp::as_microsecond)
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
        assert_eq!(unix_us("2026-11-21T09:31:00.25Z"), Some(1_795_253_460_250_000));
        assert_eq!((unix_s("yesterday"), unix_us("yesterday")), (None, None));
        assert_eq!(seconds_of("2026-11-21"), Some([1_795_219_200, 1_795_305_599]));
        assert_eq!(seconds_of("2026-11-21T09:31:00Z"), Some([1_795_253_460; 2]));
        assert_eq!((seconds_of("2026-11"), seconds_of("2026-11-31")), (None, None));
    }
}
