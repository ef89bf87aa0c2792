//! Conditions that turn a result into exit code 1: `--fail-if 'p99>200us'`, `--require regular`.

use crate::{Failure, nearest};
use dropline_record::{AnswerLine, DelayLine, Record, ResultWord, TrialLine};
use dropline_trial::written;
use std::fmt;

/// A condition on a record.
#[derive(Clone, Debug, PartialEq)]
pub struct FailIf {
    text: String,
    quantity: Quantity,
    above: bool,
    limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    /// Nanoseconds of a delay percentile, the worst over the trials.
    Delay(Percentile),
    /// Loss ratio, the worst over the trials.
    LossRatio,
    /// Packets a second of a goal's headline number; goals count from 0.
    Load(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Percentile {
    P50,
    P90,
    P99,
    P999,
    Max,
}

const NAMES: [&str; 9] = ["p50", "p90", "p99", "p99.9", "max", "loss_ratio", "load", "load1", "load2"];

impl FailIf {
    /// Reads `p99>200us`, `loss_ratio>0.1%`, `load<90kpps` (of the first goal), `load2<100kpps`.
    ///
    /// # Errors
    /// If the quantity is unknown, the sign missing, or the limit none of its unit.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let at = text
            .find(['<', '>'])
            .ok_or_else(|| Failure::usage(format!("--fail-if {text:?} has no < or >; write p99>200us")))?;
        let (name, value) = (text[..at].trim(), text[at + 1..].trim());
        let wrong = |why: written::WrittenError| Failure::usage(format!("--fail-if {text:?}: {why}"));
        let delay = |percentile| -> Result<(Quantity, f64), Failure> {
            Ok((Quantity::Delay(percentile), written::duration(value).map_err(wrong)?.as_nanos() as f64))
        };
        let (quantity, limit) = match name {
            "p50" => delay(Percentile::P50)?,
            "p90" => delay(Percentile::P90)?,
            "p99" => delay(Percentile::P99)?,
            "p99.9" | "p99_9" => delay(Percentile::P999)?,
            "max" => delay(Percentile::Max)?,
            "loss_ratio" => (Quantity::LossRatio, written::ratio(value).map_err(wrong)?.as_f64()),
            _ if name == "load"
                || name.strip_prefix("load").is_some_and(|n| n.parse::<usize>().is_ok_and(|n| n > 0)) =>
            {
                let index = name[4..].parse::<usize>().map_or(0, |number| number - 1);
                match written::load(value).map_err(wrong)? {
                    written::WrittenLoad::Packets(rate) => (Quantity::Load(index), rate.as_pps()),
                    written::WrittenLoad::Bits(_) => {
                        return Err(Failure::usage(format!(
                            "--fail-if {text:?}: write the load in packets, as kpps"
                        )));
                    }
                }
            }
            _ => {
                return Err(Failure::usage(format!("--fail-if knows no {name:?}{}", nearest(name, &NAMES)))
                    .advice(format!("it knows {}", NAMES.join(", "))));
            }
        };
        Ok(Self { text: text.into(), quantity, above: text.as_bytes()[at] == b'>', limit })
    }

    /// Whether the record meets the condition; what was not measured meets it too, for a gate that
    /// cannot be checked has not been passed.
    pub fn is_met(&self, record: &Record) -> Option<String> {
        let value = self.value(record);
        let met = value.is_none_or(|value| if self.above { value > self.limit } else { value < self.limit });
        let unit = match self.quantity {
            Quantity::Delay(_) => " ns",
            Quantity::LossRatio => "",
            Quantity::Load(_) => " pps",
        };
        let found = value.map_or("was not measured".into(), |value| format!("is {value}{unit}"));
        met.then(|| format!("--fail-if {self}: it {found}"))
    }

    fn value(&self, record: &Record) -> Option<f64> {
        let worst = |values: &mut dyn Iterator<Item = Option<f64>>| values.flatten().reduce(f64::max);
        match self.quantity {
            Quantity::Delay(percentile) => {
                let delay = |line: &TrialLine| percentile.of(line.delay_ns.as_ref()?).map(|ns| ns as f64);
                worst(&mut judged(record).map(delay))
            }
            Quantity::LossRatio => worst(&mut judged(record).map(|line| line.loss_ratio)),
            Quantity::Load(index) => record.result.as_ref()?.goals.get(index)?.headline_pps(),
        }
    }
}

/// The trials a condition looks at: those that measured the delay after a search, else all.
fn judged(record: &Record) -> impl Iterator<Item = &TrialLine> {
    let delay_at = |line: &&TrialLine| line.purpose == dropline_record::Purpose::DelayAt;
    let only = record.trials.iter().any(|line| delay_at(&line));
    record.trials.iter().filter(move |line| !only || delay_at(line))
}

impl Percentile {
    fn of(self, delay: &DelayLine) -> Option<u64> {
        match self {
            Self::P50 => delay.p50,
            Self::P90 => delay.p90,
            Self::P99 => delay.p99,
            Self::P999 => delay.p99_9,
            Self::Max => delay.max,
        }
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why `--require regular` or `--require narrow` fails, if it does.
pub fn unmet(required: ResultWord, record: &Record) -> Option<String> {
    let word = |word: ResultWord| format!("{word:?}").to_lowercase();
    let goals = record.result.as_ref().map(|result| result.goals.as_slice()).unwrap_or_default();
    let is_met = |answer: &AnswerLine| {
        answer.result == required
            || answer.certified.as_ref().is_some_and(|certified| certified.result == required)
    };
    match goals.iter().find(|answer| !is_met(answer)) {
        Some(answer) => {
            let why =
                answer.why.as_ref().map_or(String::new(), |why| format!(" ({})", why.replace('_', " ")));
            let (required, result, goal) = (word(required), word(answer.result), answer.goal.words());
            Some(format!("--require {required}: the result for {goal} is {result}{why}"))
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
        let fail_if = FailIf::parse("p99 > 200us").unwrap();
        assert_eq!(
            (fail_if.quantity, fail_if.above, fail_if.limit),
            (Quantity::Delay(Percentile::P99), true, 2e5)
        );
        let fail_if = FailIf::parse("load2<90kpps").unwrap();
        assert_eq!((fail_if.quantity, fail_if.above, fail_if.limit), (Quantity::Load(1), false, 9e4));
        for (bad, why) in [
            ("p99", "no < or >"),
            ("p98>1us", "did you mean \"p90\"?"),
            ("p99>200", "needs a unit"),
            ("loss_ratio>2", "below 1"),
            ("load0<1pps", "knows no"),
            ("load<1Mbit/s", "kpps"),
        ] {
            let error = FailIf::parse(bad).unwrap_err();
            assert!(error.exit_code() == 2 && error.to_string().contains(why), "{bad}: {error}");
        }
    }
}
