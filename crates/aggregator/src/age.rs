//! How old a heartbeat is, as far as a monitor can know.
//!
//! A report says the low 16 bits of the second in which each heartbeat arrived, and not what time it is.
//! The age follows from the stamp only for a monitor whose clock is the aggregator's, and there only up to
//! multiples of 18 h 12 min 16 s; and it follows from when the monitor itself saw the entry change.

use super::wire::WRAP_S;
use std::time::Duration;

/// What is known of an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age {
    /// It is not less.
    pub at_least: Duration,
    /// It is not more; `None` when there is no bound.
    pub at_most: Option<Duration>,
    /// The age the stamp says, in seconds: modulo 65 536, and only if the clocks are one.
    pub stamp_s: Option<u64>,
}

impl Age {
    /// Of an entry in the first report that a monitor sees: only the stamp says something.
    pub fn by_stamp(seconds: u16, arrived_unix_s: u64, clocks_shared: bool) -> Self {
        let stamp_s = clocks_shared.then(|| stamp_age_s(seconds, arrived_unix_s));
        Self { at_least: Duration::from_secs(stamp_s.unwrap_or(0)), at_most: None, stamp_s }
    }

    /// Of an entry that a monitor saw appear: it was there `seen_ago`, and not yet `not_seen_ago`.
    pub fn by_change(seen_ago: Duration, not_seen_ago: Option<Duration>) -> Self {
        Self { at_least: seen_ago, at_most: not_seen_ago, stamp_s: None }
    }

    /// The same with what the stamp says. The second value is whether the two can both be right: the
    /// stamp is whole seconds, so it may be one off, and one more for a report under way.
    #[must_use]
    pub fn with_stamp(self, seconds: u16, arrived_unix_s: u64) -> (Self, bool) {
        const SLACK: Duration = Duration::from_secs(2);
        let stamp = stamp_age_s(seconds, arrived_unix_s);
        let lowest = self.at_least.saturating_sub(SLACK).as_secs();
        // The smallest age that the stamp allows and that is not below what was seen.
        let laps = lowest.saturating_sub(stamp).div_ceil(WRAP_S);
        let candidate = Duration::from_secs(stamp + laps * WRAP_S);
        let agrees = self.at_most.is_none_or(|at_most| candidate <= at_most + SLACK);
        if !agrees {
            return (self, false);
        }
        let at_least = self.at_least.max(candidate.saturating_sub(Duration::from_secs(1)));
        (Self { at_least, stamp_s: Some(candidate.as_secs()), ..self }, true)
    }

    /// In words, with everything that limits them.
    pub fn words(&self) -> String {
        match (self.stamp_s, self.at_most) {
            (Some(stamp), None) => {
                format!(
                    "{}{LAPS}the stamp repeats every {}, and may be from a lap before)",
                    span(stamp),
                    span(WRAP_S)
                )
            }
            (Some(stamp), Some(_)) => span(stamp),
            (None, Some(at_most)) if self.at_least.as_secs() == at_most.as_secs() => {
                span(self.at_least.as_secs())
            }
            (None, Some(at_most)) => {
                format!("{} to {}", span(self.at_least.as_secs()), span(ceiling_s(at_most)))
            }
            (None, None) if self.at_least.as_secs() == 0 => "not known: one report tells no age".into(),
            (None, None) => format!("at least {}", span(self.at_least.as_secs())),
        }
    }
}

/// What follows an age that a stamp alone says.
const LAPS: &str = " (";

/// An age in words without what limits them.
pub fn short(words: &str) -> &str {
    words.split(LAPS).next().unwrap_or_default()
}

/// The age that a stamp says, modulo 65 536 s. A stamp from the next second, which a report may carry that
/// was read when the second ended, is no age of 18 hours.
fn stamp_age_s(seconds: u16, now_unix_s: u64) -> u64 {
    let age = (now_unix_s as u16).wrapping_sub(seconds);
    if age == u16::MAX { 0 } else { u64::from(age) }
}

fn ceiling_s(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// `3 s`, `2 min 5 s`, `18 h 12 min 16 s`.
pub fn span(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, rest) {
        (0, 0, rest) => format!("{rest} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, rest) => format!("{minutes} min {rest} s"),
        (hours, 0, 0) => format!("{hours} h"),
        (hours, minutes, 0) => format!("{hours} h {minutes} min"),
        (hours, minutes, rest) => format!("{hours} h {minutes} min {rest} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_stamp_alone_says_an_age_modulo_18_hours_and_only_with_one_clock() {
        let age = Age::by_stamp(100, 65_536 * 3 + 135, true);
        assert_eq!((age.stamp_s, age.at_most), (Some(35), None));
        assert_eq!(
            age.words(),
            "35 s (the stamp repeats every 18 h 12 min 16 s, and may be from a lap before)"
        );
        assert_eq!((short(&age.words()), short("1 s to 2 s")), ("35 s", "1 s to 2 s"));
        let unknown = Age::by_stamp(100, 65_536 * 3 + 135, false);
        assert_eq!(unknown.words(), "not known: one report tells no age");
    }

    #[test]
    fn a_stamp_from_the_second_after_is_no_age_of_18_hours() {
        assert_eq!(Age::by_stamp(101, 100, true).stamp_s, Some(0));
        assert_eq!(Age::by_stamp(0, 65_535, true).stamp_s, Some(0), "also where stamps wrap around");
    }

    #[test]
    fn a_change_between_two_reports_bounds_the_age_without_any_clock() {
        let age = Age::by_change(s(3), Some(s(5)));
        assert_eq!(age.words(), "3 s to 5 s");
        assert_eq!(Age::by_change(s(40), None).words(), "at least 40 s");
    }

    #[test]
    fn what_was_seen_tells_which_lap_of_the_stamp_it_is() {
        // Silent for 18 h 15 min by what was seen: the stamp alone would say 2 min 44 s.
        let (age, agrees) = Age::by_change(s(65_700), Some(s(65_701))).with_stamp(1000, 1000 + 65_700);
        assert_eq!((age.stamp_s, agrees), (Some(65_700), true));
        assert_eq!(age.words(), "18 h 15 min");
    }

    #[test]
    fn a_stamp_that_contradicts_what_was_seen_is_not_used() {
        let (age, agrees) = Age::by_change(s(3), Some(s(5))).with_stamp(1000, 1500);
        assert!(!agrees);
        assert_eq!((age.stamp_s, age.words()), (None, "3 s to 5 s".into()));
    }

    #[test]
    fn spans_leave_out_what_is_zero() {
        let spans = [0, 59, 60, 61, 3600, 3660, 65_536].map(span);
        assert_eq!(spans, ["0 s", "59 s", "1 min", "1 min 1 s", "1 h", "1 h 1 min", "18 h 12 min 16 s"]);
    }
}
