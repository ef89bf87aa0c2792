//! A report as a monitor may read it: what is certain, and what is not.

use super::age::Age;
use super::client::Answer;
use super::wire::{Checksum, UNSET};
use schemars::JsonSchema;
use serde::Serialize;
use std::net::SocketAddr;

/// One report, read.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reading {
    /// Who was asked.
    pub target: String,
    /// When the report arrived, in seconds since 1970 on this machine's clock.
    pub arrived_unix_s: u64,
    /// From the request to the report, in ns.
    pub round_trip_ns: u64,
    /// `right`, or `dumpulse`: the wrong one that Dumpulse, the original aggregator, sends.
    pub checksum: &'static str,
    /// How many times the original missed the modulus; null for a right checksum.
    pub checksum_missed: Option<u8>,
    /// Whether ages were taken from the stamps, as the clock is the aggregator's.
    pub clock_shared: bool,
    /// Variables that were set.
    pub variables: Vec<VariableReading>,
    /// Variables that were never set, or cannot be told from those.
    pub unset: Vec<u8>,
    /// What the report cannot say.
    pub caveats: Vec<Doubt>,
}

/// A variable that was set.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VariableReading {
    /// Which.
    pub variable: u8,
    /// Who sent it.
    pub from: u8,
    /// What it said.
    pub value: u8,
    /// Low 16 bits of the aggregator's seconds when it arrived.
    pub seconds: u16,
    /// Its age by the stamp; null without a shared clock.
    pub age_s: Option<u64>,
    /// Its age in words.
    pub age: String,
}

/// Why something in a report may mislead.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Doubt {
    /// Stable name.
    pub code: &'static str,
    /// In words.
    pub text: String,
}

impl Reading {
    /// Reads an answer of `target`, whose clock is this machine's if `clock_shared`.
    pub fn new(target: SocketAddr, answer: &Answer, clock_shared: bool) -> Self {
        let mut variables = Vec::new();
        let mut unset = Vec::new();
        for (variable, entry) in (0u8..).zip(&answer.report.entries) {
            if *entry == UNSET {
                unset.push(variable);
                continue;
            }
            let age = Age::by_stamp(entry.seconds, answer.arrived_unix_s, clock_shared);
            variables.push(VariableReading {
                variable,
                from: entry.from,
                value: entry.value,
                seconds: entry.seconds,
                age_s: age.stamp_s,
                age: age.words(),
            });
        }
        Self {
            target: target.to_string(),
            arrived_unix_s: answer.arrived_unix_s,
            round_trip_ns: u64::try_from(answer.round_trip.as_nanos()).unwrap_or(u64::MAX),
            checksum: match answer.report.checksum {
                Checksum::Right => "right",
                Checksum::Dumpulse { .. } => "dumpulse",
            },
            checksum_missed: match answer.report.checksum {
                Checksum::Right => None,
                Checksum::Dumpulse { missed } => Some(missed),
            },
            clock_shared,
            caveats: {
                let any = (!variables.is_empty(), !unset.is_empty());
                let mut caveats = doubts(answer.report.checksum, clock_shared, any.0, any.1);
                caveats.extend(junk_doubt(answer.junk));
                caveats
            },
            variables,
            unset,
        }
    }
}

/// What this report cannot say.
fn doubts(checksum: Checksum, clock_shared: bool, any_set: bool, any_unset: bool) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Some(doubt) = checksum_doubt(checksum) {
        doubts.push(doubt);
    }
    if any_set && clock_shared {
        doubts.push(Doubt {
            code: "age_wraps",
            text: "stamps wrap around every 18 h 12 min 16 s: a variable silent for longer looks younger; \
                   dropline heartbeat watch remembers"
                .into(),
        });
    }
    if any_set && !clock_shared {
        doubts.push(Doubt {
            code: "age_unknown",
            text: "a report does not say the aggregator's time: ages need its clock (--clock shared) or \
                   two reports (dropline heartbeat watch)"
                .into(),
        });
    }
    if any_unset {
        doubts.push(Doubt {
            code: "unset_or_restarted",
            text: "a variable never set, an aggregator that restarted, and value 0 from 0 at second 0 look \
                   alike"
                .into(),
        });
    }
    doubts
}

/// Of datagrams that were no reports, where there were any.
pub(crate) fn junk_doubt(junk: u64) -> Option<Doubt> {
    (junk > 0).then(|| Doubt {
        code: "junk",
        text: format!(
            "datagrams from the aggregator's address that are not reports, or are damaged: {junk}; they were passed over"
        ),
    })
}

/// The doubt about a checksum that is not right.
pub(crate) fn checksum_doubt(checksum: Checksum) -> Option<Doubt> {
    let Checksum::Dumpulse { missed } = checksum else { return None };
    Some(Doubt {
        code: "dumpulse_checksum",
        text: format!(
            "the checksum is wrong as that of the original Dumpulse, which missed the modulus {missed} \
             times: accepted, 1 of 580 wrong upper halves would be too"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Entry, Report, VARIABLES};
    use std::time::Duration;

    fn answer(checksum: Checksum, set: &[(usize, Entry)]) -> Answer {
        let mut entries = [UNSET; VARIABLES];
        set.iter().for_each(|(variable, entry)| entries[*variable] = *entry);
        let report = Report { entries, checksum };
        Answer { report, arrived_unix_s: 65_536 + 40, round_trip: Duration::from_micros(30), junk: 0 }
    }

    fn codes(reading: &Reading) -> Vec<&str> {
        reading.caveats.iter().map(|doubt| doubt.code).collect()
    }

    #[test]
    fn ages_are_given_only_where_the_clock_is_the_aggregators() {
        let set = [(7, Entry { seconds: 5, from: 1, value: 2 })];
        let target = "127.0.0.1:9060".parse().unwrap();
        let shared = Reading::new(target, &answer(Checksum::Right, &set), true);
        assert_eq!((shared.variables[0].age_s, shared.unset.len()), (Some(35), 63));
        assert_eq!(codes(&shared), ["age_wraps", "unset_or_restarted"]);
        let apart = Reading::new(target, &answer(Checksum::Right, &set), false);
        assert_eq!(apart.variables[0].age_s, None);
        assert_eq!(codes(&apart), ["age_unknown", "unset_or_restarted"]);
    }

    #[test]
    fn a_checksum_of_the_original_is_named() {
        let full: Vec<(usize, Entry)> =
            (0..VARIABLES).map(|variable| (variable, Entry { seconds: 1, from: 2, value: 3 })).collect();
        let checksum = Checksum::Dumpulse { missed: 4 };
        let reading = Reading::new("127.0.0.1:9060".parse().unwrap(), &answer(checksum, &full), true);
        assert_eq!((reading.checksum, reading.checksum_missed), ("dumpulse", Some(4)));
        assert_eq!(codes(&reading), ["dumpulse_checksum", "age_wraps"]);
    }
}
