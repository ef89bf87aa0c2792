//! Conditions that turn a result into exit code 1: `--fail-if 'p99>200us'`, `--require regular`.

mod key;

use crate::validity;
use dropline_failure::{Failure, nearest};
use dropline_record::{AnswerLine, Purpose, Record, ResultWord, TrialLine};
use dropline_report::Denied;
use dropline_targets::reply_classes;
use dropline_trial::quantities;
use key::{KEYS, Key};
use serde::Serialize;
use std::fmt;

/// A condition on a record.
#[derive(Clone, Debug)]
pub struct FailIf {
    text: String,
    key: &'static Key,
    /// Of replies.
    class: Option<String>,
    goals: Which,
    sign: Sign,
    limit: f64,
}

/// A condition that was held against a record: an element of `fail_if` in `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedCondition {
    /// As it was typed.
    pub condition: String,
    /// What it is about, in the unit of the JSON field of that name; null where it is not known exactly, or was not
    /// measured.
    pub value: Option<f64>,
    /// Whether it holds, or cannot be ruled out: a gate that cannot be checked has not been passed.
    pub failed: bool,
    /// Whether what it was held against says something about the target; else it says more about us.
    pub valid: bool,
    /// The whole in words.
    pub text: String,
}

/// What is measured, as far as a condition has to know it beforehand.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedSearch {
    /// The loss ratios of the goals, in order.
    pub loss_ratios: Vec<f64>,
    /// Whether its answers have medians.
    pub medians: bool,
    /// Whether each goal is searched on until RFC 9971 calls it regular.
    pub certified: bool,
    /// Whether trials follow that measure delays at shares of the limits.
    pub delays: bool,
}

/// Which goals of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Which {
    Each,
    /// From 0.
    Numbered(usize),
    OfRatio(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// Where a value is; both ends are equal where it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Within {
    low: f64,
    high: f64,
}

impl FailIf {
    /// Reads `p99>200us`, `loss_ratio>=0.1%`, `lost>0`, `load<90kpps`, `lower[0.5%]<8Mpps` (of that goal; else of each).
    ///
    /// # Errors
    /// If the quantity is unknown, the sign missing, or the limit none of its unit.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let no_sign =
            || Failure::usage(format!("--fail-if {text:?} has none of < <= > >=; write p99>200us or lost>0"));
        let at = text.find(['<', '>']).ok_or_else(no_sign)?;
        let (name, rest) = (text[..at].trim(), &text[at + 1..]);
        let (equal, value) = rest.strip_prefix('=').map_or((false, rest), |value| (true, value));
        let sign = match (text.as_bytes()[at], equal) {
            (b'<', false) => Sign::Below,
            (b'<', true) => Sign::AtMost,
            (_, false) => Sign::Above,
            (_, true) => Sign::AtLeast,
        };
        let (name, ratio) = match name.split_once('[') {
            Some((name, rest)) => (name.trim(), Some(rest.strip_suffix(']').unwrap_or(rest))),
            None => (name, None),
        };
        let wrong = |why: &dyn fmt::Display| Failure::usage(format!("--fail-if {text:?}: {why}"));
        let (key, number) = Key::named(name).ok_or_else(|| unknown(name))?;
        let class = key.of_class.map(|_| class_of_replies(ratio)).transpose().map_err(|why| wrong(&why))?;
        let ratio = ratio.filter(|_| class.is_none());
        let goals = match (ratio, number) {
            (Some(_), _) if key.of_goal.is_none() => {
                return Err(wrong(&format!(
                    "{name} is not of a goal; leave [{}] out",
                    ratio.unwrap_or_default()
                )));
            }
            (Some(ratio), _) => Which::OfRatio(quantities::ratio(ratio).map_err(|why| wrong(&why))?.as_f64()),
            (None, Some(number)) => Which::Numbered(number),
            (None, None) => Which::Each,
        };
        let limit = key.unit.read(value).map_err(|why| wrong(&why))?;
        Ok(Self { text: text.into(), key, class, goals, sign, limit })
    }

    /// Says before anything is measured that it never could be checked. A trial was asked for no goals.
    ///
    /// # Errors
    /// If it is about what will not be measured.
    pub fn check(&self, asked: Option<&AskedSearch>) -> Result<(), Failure> {
        let wrong = |why: String| Err(Failure::usage(format!("--fail-if {self}: {why}")));
        let name = self.key.name;
        let Some(asked) = asked else {
            return match (self.key.of_goal.is_none() || self.key.of_trial.is_some(), self.goals) {
                (true, Which::Each) => Ok(()),
                _ => wrong(format!("{name} is of a search's goals, and a trial has none"))
                    .map_err(|why: Failure| why.advice(format!("of a trial there are {}", key::of_trials()))),
            };
        };
        match self.goals {
            Which::Each if self.key.of_goal.is_none() && !asked.delays => wrong(format!(
                "in a search {name} is of the trials at shares of the limits, and none are asked for"
            ))
            .map_err(|why: Failure| why.advice("ask for them:  --delay-at 90%")),
            Which::Numbered(index) if index >= asked.loss_ratios.len() => {
                wrong(format!("the search has {} goals", asked.loss_ratios.len()))
            }
            Which::OfRatio(ratio) if !asked.loss_ratios.iter().any(|own| is_same(*own, ratio)) => {
                let own: Vec<String> =
                    asked.loss_ratios.iter().map(|ratio| format!("[{} %]", round(ratio * 100.0))).collect();
                wrong(format!("the search has no such goal; it has {}", own.join(" ")))
            }
            _ if name == "median" && !asked.medians => {
                wrong("the algorithm states bounds, and no median".into()).map_err(|why: Failure| {
                    why.advice("write load, lower or upper, or search with --algorithm credible")
                })
            }
            _ => Ok(()),
        }
    }

    /// Holds it against a record.
    pub fn hold(&self, record: &Record) -> CheckedCondition {
        let found = self.worst(record);
        let unknown = Within { low: f64::NEG_INFINITY, high: f64::INFINITY };
        let within = found.as_ref().map_or(unknown, |(within, _)| *within);
        let failed = match self.sign {
            Sign::Below => within.low < self.limit,
            Sign::AtMost => within.low <= self.limit,
            Sign::Above => within.high > self.limit,
            Sign::AtLeast => within.high >= self.limit,
        };
        let valid = match self.key.of_goal.and(record.answers()) {
            Some(_) => !validity::is_generators(record),
            None => !judged(record).any(validity::is_invalid),
        };
        let load_unit = record.header.load_unit;
        let words = |value: f64| self.key.unit.measured(value, self.limit, load_unit);
        let (value, is) = match found {
            None => (None, "it was not measured".into()),
            Some((Within { low, high }, whose)) if low == high => {
                (Some(low), format!("{whose} is {}", words(low)))
            }
            Some((Within { low, high }, whose)) if high.is_infinite() => {
                (None, format!("{whose} is at least {}", words(low)))
            }
            Some((Within { low, high }, whose)) if low > 0.0 => {
                (None, format!("{whose} may be anything from {} to {}", words(low), words(high)))
            }
            Some((Within { high, .. }, whose)) => (None, format!("{whose} is at most {}", words(high))),
        };
        let text = format!("--fail-if {self}: {is}");
        CheckedCondition { condition: self.text.clone(), value, failed, valid, text }
    }

    /// The value that comes nearest to meeting the condition, and whose it is; `None` where nothing was measured.
    fn worst(&self, record: &Record) -> Option<(Within, String)> {
        let lowest = matches!(self.sign, Sign::Below | Sign::AtMost);
        let worse = |one: &(Within, String), other: &(Within, String)| match lowest {
            true => one.0.low.total_cmp(&other.0.low),
            false => other.0.high.total_cmp(&one.0.high),
        };
        match (self.key.of_goal, record.answers()) {
            (Some(of), Some(answers)) => {
                let asked = answers.iter().enumerate().filter(|(index, answer)| match self.goals {
                    Which::Each => true,
                    Which::Numbered(number) => *index == number,
                    Which::OfRatio(ratio) => is_same(answer.goal.loss_ratio, ratio),
                });
                let known: Option<Vec<(Within, String)>> = asked
                    .map(|(_, answer)| {
                        let goal = answer.goal.words();
                        match Denied::of(record, answer) {
                            Some(denied) => {
                                let whose = format!("for {goal} the answer is doubted ({}): it", denied.why);
                                Some((open(answer, denied), whose))
                            }
                            None => Some((of(answer)?, format!("for {goal} it"))),
                        }
                    })
                    .collect();
                known?.into_iter().min_by(worse)
            }
            _ => {
                let of = |line: &TrialLine| match (self.key.of_class, &self.class) {
                    (Some(of), Some(class)) => of(line, class),
                    _ => self.key.of_trial?(line),
                };
                let judged = judged(record).filter_map(|line| Some((line, of(line)?)));
                judged
                    .map(|(line, value)| (Within { low: value, high: value }, whose(record, line)))
                    .min_by(worse)
            }
        }
    }
}

/// The class that stands in brackets behind `replies`.
fn class_of_replies(word: Option<&str>) -> Result<String, String> {
    let classes = reply_classes();
    match word {
        Some(word) if classes.contains(&word) => Ok(word.into()),
        Some(word) => Err(format!("no service has replies of the class {word:?}{}", nearest(word, &classes))),
        None => Err("replies have a class each: write replies[servfail]>0.1%".into()),
    }
}

/// Where the limit may be of which a caveat denies what was stated: each bound is no better known than that.
fn open(answer: &AnswerLine, denied: Denied) -> Within {
    Within {
        low: answer.lower_pps.and(denied.low_pps).unwrap_or(0.0),
        high: key::upper(answer).and(denied.high_pps).unwrap_or(f64::INFINITY),
    }
}

/// The trials a condition looks at: of a search those that measured the delay at shares of its limits.
fn judged(record: &Record) -> impl Iterator<Item = &TrialLine> {
    let search = record.header.search.is_some();
    record.trials.iter().filter(move |line| !search || line.purpose == Purpose::DelayAt)
}

fn whose(record: &Record, line: &TrialLine) -> String {
    if record.trials.len() > 1 { format!("in trial {} it", line.number) } else { "it".into() }
}

/// Loss ratios are whole billionths.
fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() < 0.5e-9
}

fn round(percent: f64) -> f64 {
    (percent * 1e7).round() / 1e7
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    Failure::usage(format!("--fail-if knows no {name:?}{}", nearest(name, &names))).advice(format!(
        "it knows, of a trial, {}; of each goal of a search, {}, or of one goal, as lower[0.5%]",
        key::of_trials(),
        key::of_goals()
    ))
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Says before anything is measured that no result of such a search can be the required one.
///
/// # Errors
/// If `narrow` is required of bounds, or `regular` of an interval.
pub fn check_required(required: ResultWord, asked: &AskedSearch) -> Result<(), Failure> {
    let advice = match (required, asked.medians) {
        (ResultWord::Narrow, true) | (ResultWord::Regular, false) => return Ok(()),
        (ResultWord::Regular, true) if asked.certified => return Ok(()),
        (_, true) => {
            "this search states intervals:  --require narrow  (or add --certify, for bounds that are regular by RFC 9971 too)"
        }
        (_, false) => "this algorithm states bounds, which are regular or irregular:  --require regular",
    };
    let word = required.words();
    Err(Failure::usage(format!("--require {word}: no result of this search can be {word}")).advice(advice))
}

/// Why `--require regular` or `--require narrow` fails, if it does.
pub fn unmet(required: ResultWord, record: &Record) -> Option<String> {
    let word = |word: ResultWord| word.words();
    let goals = record.result.as_ref().map(|result| result.goals.as_slice()).unwrap_or_default();
    let is_met = |answer: &AnswerLine| {
        answer.result == required
            || answer.certified.as_ref().is_some_and(|certified| certified.result == required)
    };
    match goals.iter().find(|answer| !is_met(answer)) {
        Some(answer) => {
            let (required, goal) = (word(required), answer.goal.words());
            let sure = dropline_report::standing(record, answer);
            Some(format!("--require {required}: the answer for {goal} is not so: {sure}"))
        }
        None if goals.is_empty() => Some(format!("--require {}: there is no result", word(required))),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_with_their_units() {
        let read = |text: &str| {
            let FailIf { key, goals, sign, limit, .. } = FailIf::parse(text).unwrap();
            (key.name, goals, sign, limit)
        };
        assert_eq!(read("p99 > 200us"), ("p99", Which::Each, Sign::Above, 2e5));
        assert_eq!(read("p99_9>=1ms"), ("p99.9", Which::Each, Sign::AtLeast, 1e6));
        assert_eq!(read("lost>0"), ("lost", Which::Each, Sign::Above, 0.0));
        assert_eq!(read("loss_ratio>=0.1%"), ("loss_ratio", Which::Each, Sign::AtLeast, 0.001));
        assert_eq!(read("replies[servfail]>0.1%"), ("replies", Which::Each, Sign::Above, 0.001));
        assert_eq!(FailIf::parse("replies[servfail]>0.1%").unwrap().class.as_deref(), Some("servfail"));
        assert_eq!(read("load2<90kpps"), ("load", Which::Numbered(1), Sign::Below, 9e4));
        assert_eq!(read("lower[0.5%] <= 8Mpps"), ("lower", Which::OfRatio(0.005), Sign::AtMost, 8e6));
        for (bad, why) in [
            ("p99", "none of < <= > >="),
            ("p99=1us", "none of < <= > >="),
            ("p98>1us", "did you mean \"p90\"?"),
            ("loss>0", "did you mean \"loss_ratio\"?"),
            ("p99>200", "needs a unit"),
            ("lost>0.5", "whole number"),
            ("loss_ratio>2", "below 1"),
            ("replies>1%", "replies[servfail]"),
            ("replies[servfial]>1%", "did you mean \"servfail\"?"),
            ("load0<1pps", "knows no"),
            ("load<1Mbit/s", "kpps"),
            ("p99[0]>1us", "not of a goal"),
            ("lower[half]<1kpps", "does not start with a number"),
        ] {
            let error = FailIf::parse(bad).unwrap_err();
            assert!(error.exit_code() == 2 && error.to_string().contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn an_unknown_key_is_answered_with_all_that_there_are() {
        let error = FailIf::parse("zebra>1").unwrap_err().to_string();
        for key in KEYS {
            assert!(error.contains(key.name), "{}: {error}", key.name);
        }
    }

    #[test]
    fn what_will_not_be_measured_is_said_before_anything_is() {
        let asked =
            AskedSearch { loss_ratios: vec![0.0, 0.005], medians: false, certified: false, delays: false };
        let check = |text: &str, asked: Option<&AskedSearch>| FailIf::parse(text).unwrap().check(asked);
        for (text, asked, why) in [
            ("lower<1kpps", None, "a trial has none"),
            ("load2<1kpps", None, "a trial has none"),
            ("lower[1%]<1kpps", Some(&asked), "[0 %] [0.5 %]"),
            ("upper3<1kpps", Some(&asked), "2 goals"),
            ("median<1kpps", Some(&asked), "no median"),
            ("lost>0", Some(&asked), "--delay-at"),
        ] {
            let error = check(text, asked).unwrap_err();
            assert!(error.exit_code() == 2 && error.to_string().contains(why), "{text}: {error}");
        }
        assert!(check("load<1kpps", None).is_ok() && check("load<1kpps", Some(&asked)).is_ok());
        let delays = AskedSearch { delays: true, medians: true, ..asked };
        assert!(check("lost>0", Some(&delays)).is_ok() && check("median[0]<1kpps", Some(&delays)).is_ok());
    }

    #[test]
    fn a_required_result_that_cannot_be_is_refused_with_the_word_that_can() {
        let check = |required, medians, certified| {
            let asked = AskedSearch { loss_ratios: vec![0.0], medians, certified, delays: false };
            check_required(required, &asked).map_err(|why| (why.exit_code(), why.to_string()))
        };
        let (narrow, regular) = (ResultWord::Narrow, ResultWord::Regular);
        assert!(check(narrow, true, false).is_ok() && check(regular, false, false).is_ok());
        assert!(check(regular, true, true).is_ok(), "a certificate is regular");
        for (required, medians, word) in [(regular, true, "narrow"), (narrow, false, "regular")] {
            let (code, why) = check(required, medians, false).unwrap_err();
            assert!(code == 2 && why.contains(&format!(":  --require {word}")), "{why}");
        }
    }

    #[test]
    fn a_limit_beyond_the_range_meets_only_what_it_may_be() {
        use dropline_record::{AnswerLine, GoalLine, ReasonWord};
        let goal = GoalLine {
            loss_ratio: 0.0,
            within_s: None,
            exceed_ratio: 0.5,
            trial_duration_s: 1.0,
            initial_trial_duration_s: 1.0,
            duration_sum_s: 21.0,
            width: 0.005,
        };
        let answer = |lower_pps: Option<f64>, upper_pps: Option<f64>| AnswerLine {
            goal: goal.clone(),
            lower_pps,
            upper_pps,
            median_pps: None,
            level: Some(0.95),
            conditional_throughput_pps: None,
            result: ResultWord::Wide,
            why: None,
            outlook: None,
            certified: None,
        };
        let at_maximum = answer(Some(1e6), None);
        let of = |name: &str, answer: &AnswerLine| {
            Key::named(name).unwrap().0.of_goal.unwrap()(answer).map(|within| (within.low, within.high))
        };
        assert_eq!(of("upper", &at_maximum), Some((1e6, f64::INFINITY)));
        assert_eq!(of("median", &at_maximum), Some((1e6, f64::INFINITY)));
        assert_eq!(of("load", &at_maximum), Some((1e6, f64::INFINITY)));
        assert_eq!(of("lower", &at_maximum), Some((1e6, 1e6)));
        let below_minimum = answer(None, Some(1e4));
        assert_eq!(of("lower", &below_minimum), Some((0.0, 1e4)));
        assert_eq!(of("upper", &below_minimum), Some((1e4, 1e4)));
        assert_eq!(of("lower", &answer(None, None)), None);
        let ours = AnswerLine { why: Some(ReasonWord::GeneratorLimited), ..answer(Some(1e6), Some(2e6)) };
        assert_eq!(of("upper", &ours), Some((1e6, f64::INFINITY)), "that bound is the generator's");
    }
}
