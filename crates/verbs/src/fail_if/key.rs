//! What a condition can be about: the one table of its keys.

use super::Within;
use crate::search::load_in;
use dropline_record::LoadUnit;
use dropline_record::{AnswerLine, Count, DelayLine, TrialLine};
use dropline_trial::{Rate, quantities};

/// A quantity with a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) of_trial: Option<OfTrial>,
    pub(super) of_goal: Option<OfGoal>,
    pub(super) of_class: Option<OfClass>,
}

/// `None` where it was not measured.
type OfTrial = fn(&TrialLine) -> Option<f64>;
/// The same of a class of replies.
type OfClass = fn(&TrialLine, &str) -> Option<f64>;
/// What a search's answer says of it; `None` where it says nothing.
type OfGoal = fn(&AnswerLine) -> Option<Within>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Load,
    Packets,
    Ratio,
    /// Nanoseconds.
    Time,
}

/// The share of a class of a service's replies, which stands in brackets.
pub(super) const REPLIES: &str = "replies";

/// All there are.
pub(super) static KEYS: [Key; 20] = [
    Key::of_trial("p50", Unit::Time, |line| delay(line, |delay| delay.p50)),
    Key::of_trial("p90", Unit::Time, |line| delay(line, |delay| delay.p90)),
    Key::of_trial("p99", Unit::Time, |line| delay(line, |delay| delay.p99)),
    Key::of_trial("p99.9", Unit::Time, |line| delay(line, |delay| delay.p99_9)),
    Key::of_trial("max", Unit::Time, |line| delay(line, |delay| delay.max)),
    Key::of_trial("loss_ratio", Unit::Ratio, |line| line.loss_ratio),
    Key::of_trial("trial_loss_ratio", Unit::Ratio, |line| line.trial_loss_ratio),
    Key::of_trial("intended", Unit::Packets, |line| number(line.intended)),
    Key::of_trial("offered", Unit::Packets, |line| number(Some(line.offered))),
    Key::of_trial("forwarded", Unit::Packets, |line| number(Some(line.forwarded))),
    Key::of_trial("lost", Unit::Packets, |line| number(Some(line.lost))),
    Key::of_trial("late", Unit::Packets, |line| number(line.late)),
    Key::of_trial("duplicated", Unit::Packets, |line| number(line.duplicated)),
    Key::of_trial("reordered", Unit::Packets, |line| number(line.reordered)),
    Key::of_trial("generator_lost", Unit::Packets, |line| number(Some(line.generator_lost))),
    Key { name: REPLIES, unit: Unit::Ratio, of_trial: None, of_goal: None, of_class: Some(share_of_replies) },
    Key { of_goal: Some(headline), ..Key::of_trial("load", Unit::Load, load) },
    Key::of_goal("lower", |answer| within(answer.lower_pps, None, upper(answer))),
    Key::of_goal("median", |answer| within(answer.median_pps, answer.lower_pps, upper(answer))),
    Key::of_goal("upper", |answer| within(upper(answer), answer.lower_pps, None)),
];

impl Key {
    const fn of_trial(name: &'static str, unit: Unit, of: OfTrial) -> Self {
        Self { name, unit, of_trial: Some(of), of_goal: None, of_class: None }
    }

    const fn of_goal(name: &'static str, of: OfGoal) -> Self {
        Self { name, unit: Unit::Load, of_trial: None, of_goal: Some(of), of_class: None }
    }

    /// The key, and from 0 the goal behind it: `load2` is the second goal's.
    pub(super) fn named(name: &str) -> Option<(&'static Self, Option<usize>)> {
        let name = if name == "p99_9" { "p99.9" } else { name };
        if let Some(key) = KEYS.iter().find(|key| key.name == name) {
            return Some((key, None));
        }
        KEYS.iter().filter(|key| key.of_goal.is_some()).find_map(|key| {
            let number: usize = name.strip_prefix(key.name)?.parse().ok()?;
            Some((key, Some(number.checked_sub(1)?)))
        })
    }
}

/// The names of those of a trial.
pub(super) fn of_trials() -> String {
    names(|key| key.of_trial.is_some()) + ", and of a service's replies, as replies[servfail]"
}

/// The names of those of a goal.
pub(super) fn of_goals() -> String {
    names(|key| key.of_goal.is_some())
}

fn names(is_wanted: impl Fn(&Key) -> bool) -> String {
    let names: Vec<&str> = KEYS.iter().filter(|key| is_wanted(key)).map(|key| key.name).collect();
    names.join(" ")
}

impl Unit {
    /// A limit as it is typed.
    pub(super) fn read(self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        match self {
            Self::Load => match quantities::load(text).map_err(|why| why.to_string())? {
                quantities::WrittenLoad::Packets(rate) => Ok(rate.as_pps()),
                quantities::WrittenLoad::Bits(_) => Err("write the load in packets, as 90kpps".into()),
            },
            Self::Packets => match text.parse::<u64>() {
                Ok(count) => Ok(count as f64),
                Err(_) => Err(format!("{text:?} is not a whole number of packets; write 0 or 1000")),
            },
            Self::Ratio => quantities::ratio(text).map(|ratio| ratio.as_f64()).map_err(|why| why.to_string()),
            Self::Time => {
                quantities::duration(text).map(|time| time.as_nanos() as f64).map_err(|why| why.to_string())
            }
        }
    }

    /// What was measured, in three digits (a load in four, as answers have), or as many more as tell it from the limit that it is held against.
    pub(super) fn measured(self, value: f64, limit: f64, load_unit: LoadUnit) -> String {
        let rounded = |digits: i32| match value == 0.0 || !value.is_finite() || matches!(self, Self::Packets)
        {
            true => value,
            false => {
                let scale = 10f64.powi(digits - 1 - value.abs().log10().floor() as i32);
                (value * scale).round() / scale
            }
        };
        let apart = |digits: &i32| rounded(*digits).partial_cmp(&limit) == value.partial_cmp(&limit);
        let least = if self == Self::Load { 4 } else { 3 };
        self.words((least..=15).find(apart).map_or(value, rounded), load_unit)
    }

    /// A value as it is read.
    pub(super) fn words(self, value: f64, load_unit: LoadUnit) -> String {
        match self {
            Self::Load => match Rate::pps(value) {
                Ok(rate) => load_in(rate, load_unit),
                Err(_) => load_in(format!("{value} pps"), load_unit),
            },
            Self::Packets => value.to_string(),
            Self::Ratio => format!("{} %", super::round(value * 100.0)),
            Self::Time if value < 1e3 => format!("{value} ns"),
            Self::Time if value < 1e6 => format!("{} us", value / 1e3),
            Self::Time => format!("{} ms", value / 1e6),
        }
    }
}

fn delay(line: &TrialLine, of: impl Fn(&DelayLine) -> Option<u64>) -> Option<f64> {
    of(line.delay_ns.as_ref()?).map(|ns| ns as f64)
}

/// Where there were replies.
fn share_of_replies(line: &TrialLine, class: &str) -> Option<f64> {
    let replies = line.replies.as_ref()?;
    let all: u64 = replies.values().map(|count| count.0).sum();
    (all > 0).then(|| replies.get(class).map_or(0, |count| count.0) as f64 / all as f64)
}

fn number(count: Option<Count>) -> Option<f64> {
    count.map(|count| count.0 as f64)
}

/// What was asked for; where nothing was, what it came to.
fn load(line: &TrialLine) -> Option<f64> {
    Some(if line.intended.is_some() { line.intended_load_pps } else { line.offered_load_pps })
}

/// The number to compare; of a limit beyond the highest load that is no more than its lower bound.
fn headline(answer: &AnswerLine) -> Option<Within> {
    let known = answer.headline_pps();
    let (exact, above) = (known.filter(|_| upper(answer).is_some()), known.or(answer.lower_pps));
    within(exact, above, upper(answer).filter(|_| known.is_none()))
}

/// A bound that is the generator's is none of the target's.
pub(super) fn upper(answer: &AnswerLine) -> Option<f64> {
    answer.upper_pps.filter(|_| !answer.is_generators())
}

/// Where a number is that is known, or has one bound; both say nothing of what is between them.
fn within(known: Option<f64>, above: Option<f64>, below: Option<f64>) -> Option<Within> {
    match (known, above, below) {
        (Some(value), _, _) => Some(Within { low: value, high: value }),
        (None, Some(low), None) => Some(Within { low, high: f64::INFINITY }),
        (None, None, Some(high)) => Some(Within { low: 0.0, high }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_has_three_digits_or_as_many_as_tell_it_from_its_limit() {
        let share = |value, limit| Unit::Ratio.measured(value, limit, LoadUnit::Packets);
        assert_eq!(share(0.066_151_333, 0.05), "6.62 %");
        assert_eq!(share(0.050_000_4, 0.05), "5.00004 %");
        assert_eq!(share(0.05, 0.05), "5 %");
        let load = |value| Unit::Load.measured(value, 9.02e6, LoadUnit::Packets);
        assert_eq!(load(8_997_800.0), "8.998 Mpps");
        assert_eq!(Unit::Packets.measured(12_345.0, 0.0, LoadUnit::Packets), "12345");
    }
}
