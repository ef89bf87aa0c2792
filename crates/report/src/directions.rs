//! What became of each direction of frames that go both ways at once.

use crate::number::{self, JOIN, Loads};
use crate::traffic::delays;
use dropline_record::{DirectionLine, Record, TrialLine};

/// Each direction of a trial: its name, and its counts in words.
pub(crate) fn of_trial(record: &Record, trial: &TrialLine) -> Vec<(String, String)> {
    let loads = Loads::of(record.header.load_unit, [], trial.intended_load_pps);
    let words = |direction: &DirectionLine| {
        let ratio =
            direction.loss_ratio.map_or_else(String::new, |ratio| format!(" ({})", number::percent(ratio)));
        let mut words = format!(
            "offered{JOIN}{} of {} at {}, forwarded{JOIN}{}, lost{JOIN}{}{ratio}",
            number::count(direction.offered.0),
            number::count(direction.intended.0),
            loads.with_unit(direction.intended_load_pps),
            number::count(direction.forwarded.0),
            number::count(direction.lost.0),
        );
        let lost_at = direction.lost_at.iter().filter(|(_, packets)| packets.0 > 0);
        let lost_at: Vec<String> = lost_at
            .map(|(place, packets)| format!("{}{JOIN}{}", place.replace('_', " "), number::count(packets.0)))
            .collect();
        if !lost_at.is_empty() {
            words.push_str(&format!(" at {}", lost_at.join(", ")));
        }
        if let Some(delay) = &direction.delay_ns {
            words.push_str(&format!(", delay {}", delays(delay)));
        }
        (direction.name.clone(), words)
    };
    trial.directions.iter().map(words).collect()
}

/// Each direction of a search: its name, and between which loads of its own each goal failed, as its trials say.
pub(crate) fn of_search(record: &Record) -> Vec<(String, String)> {
    let names = record.trials.first().map_or(&[][..], |trial| &trial.directions);
    let goals = record.header.search.as_ref().map_or(&[][..], |search| &search.goals);
    let mut found = Vec::new();
    for (at, direction) in names.iter().enumerate() {
        let words: Vec<String> = goals
            .iter()
            .map(|goal| {
                let trials = record.trials.iter().filter(|trial| !trial.void);
                let parts = trials.filter_map(|trial| trial.directions.get(at));
                let tried: Vec<(f64, bool)> = parts
                    .map(|part| {
                        let held = part.loss_ratio.is_some_and(|loss| loss <= goal.loss_ratio);
                        (part.intended_load_pps, held)
                    })
                    .collect();
                let failed = tried.iter().filter(|(_, held)| !held).map(|(load, _)| *load).reduce(f64::min);
                let below = |load: &f64| failed.is_none_or(|failed| *load < failed);
                let held = tried.iter().filter(|(_, held)| *held).map(|(load, _)| *load).filter(below);
                let held = held.reduce(f64::max);
                let loads = Loads::of(record.header.load_unit, [], failed.or(held).unwrap_or(1.0));
                let at = |load| loads.with_unit(load);
                let limit = match (held, failed) {
                    (Some(held), Some(failed)) => format!("held at {}, failed at {}", at(held), at(failed)),
                    (Some(held), None) => {
                        format!("held at {}, the highest load of its own that was tried", at(held))
                    }
                    (None, Some(failed)) => {
                        format!("failed at {}, the lowest load of its own that was tried", at(failed))
                    }
                    (None, None) => "was not tried".into(),
                };
                format!("{limit} (loss up to {})", number::percent(goal.loss_ratio))
            })
            .collect();
        found.push((direction.name.clone(), words.join("; ")));
    }
    found
}
