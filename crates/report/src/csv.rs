//! Trials as comma-separated values: a row a trial, units in the names.

use dropline_printable::escaped;
use dropline_record::{Count, DelayLine, Record, Site, TrialLine, word_of};
use std::collections::{BTreeMap, BTreeSet};

/// The trials of a record as CSV (RFC 4180), with the fields of a trial's JSON; histograms and slices are left
/// out, a value that does not exist is empty. Numbers are exact.
pub fn csv(record: &Record) -> String {
    let goals = record.trials.iter().map(|trial| trial.bounds.len()).max().unwrap_or(0);
    let mut heads: Vec<String> = [
        "number",
        "purpose",
        "phase",
        "at_s",
        "target",
        "intended_load_pps",
        "offered_load_pps",
        "forwarding_rate_pps",
        "intended_duration_s",
        "duration_s",
        "elapsed_s",
        "arrival",
        "seed",
        "intended",
        "offered",
        "forwarded",
        "lost",
        "duplicated",
        "reordered",
        "late",
        "reply_truncated",
        "reply_extended",
        "reply_changed",
        "generator_lost",
        "loss_ratio",
        "trial_loss_ratio",
    ]
    .iter()
    .map(|head| (*head).to_owned())
    .collect();
    for kind in ["delay_ns", "service_delay_ns", "lateness_ns"] {
        heads.extend(
            ["count", "min", "p50", "p90", "p99", "p99_9", "max"].map(|name| format!("{kind}_{name}")),
        );
    }
    let places = places(record);
    let replies: BTreeSet<&str> = record
        .trials
        .iter()
        .filter_map(|trial| trial.replies.as_ref())
        .flat_map(BTreeMap::keys)
        .map(String::as_str)
        .collect();
    heads.extend(places.iter().map(|place| format!("lost_at_{place}")));
    heads.extend(replies.iter().map(|class| format!("replies_{class}")));
    if !replies.is_empty() {
        heads.push("reply_bytes".into());
    }
    for goal in 1..=goals {
        let names = ["lower_pps", "lower_valid", "upper_pps", "upper_valid", "median_pps"];
        heads.extend(names.map(|name| format!("goal_{goal}_{name}")));
    }
    heads.push("caveats".into());
    let mut text = String::new();
    push_row(&mut text, &heads);
    for trial in &record.trials {
        push_row(&mut text, &cells(trial, &places, &replies, goals));
    }
    text
}

/// Rows of cells as CSV (RFC 4180).
pub fn csv_table(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = String::new();
    rows.into_iter().for_each(|row| push_row(&mut text, &row));
    text
}

/// Every place where a packet can be lost, and behind these what a record of a later version has.
fn places(record: &Record) -> Vec<String> {
    let mut places: Vec<String> = Site::all().map(Site::key).collect();
    for place in record.trials.iter().filter_map(|trial| trial.lost_at.as_ref()).flat_map(BTreeMap::keys) {
        if !places.contains(place) {
            places.push(place.clone());
        }
    }
    places
}

fn cells(trial: &TrialLine, places: &[String], replies: &BTreeSet<&str>, goals: usize) -> Vec<String> {
    let count = |count: Option<Count>| count.map_or_else(String::new, |count| count.0.to_string());
    let number = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
    let mut cells = vec![
        trial.number.to_string(),
        word_of(&trial.purpose),
        trial.phase.clone().unwrap_or_default(),
        trial.at_s.to_string(),
        trial.target.clone(),
        trial.intended_load_pps.to_string(),
        trial.offered_load_pps.to_string(),
        trial.forwarding_rate_pps.to_string(),
        trial.intended_duration_s.to_string(),
        trial.duration_s.to_string(),
        trial.elapsed_s.to_string(),
        trial.arrival.clone(),
        trial.seed.to_string(),
        count(trial.intended),
        count(Some(trial.offered)),
        count(Some(trial.forwarded)),
        count(Some(trial.lost)),
        count(trial.duplicated),
        count(trial.reordered),
        count(trial.late),
        count(trial.reply_truncated),
        count(trial.reply_extended),
        count(trial.reply_changed),
        count(Some(trial.generator_lost)),
        number(trial.loss_ratio),
        number(trial.trial_loss_ratio),
    ];
    for delay in [&trial.delay_ns, &trial.service_delay_ns, &trial.lateness_ns] {
        cells.extend(delays(delay.as_ref()));
    }
    let lost_at = |place| Some(trial.lost_at.as_ref()?.get(place).copied().unwrap_or_default());
    cells.extend(places.iter().map(|place| count(lost_at(place))));
    let said = |class: &&str| Some(trial.replies.as_ref()?.get(*class).copied().unwrap_or_default());
    cells.extend(replies.iter().map(|class| count(said(class))));
    if !replies.is_empty() {
        cells.push(count(trial.reply_bytes));
    }
    for goal in 0..goals {
        let bounds = trial.bounds.get(goal).copied().unwrap_or_default();
        let valid = |bound: Option<f64>, valid: bool| bound.map_or_else(String::new, |_| valid.to_string());
        cells.push(number(bounds.lower_pps));
        cells.push(valid(bounds.lower_pps, bounds.lower_valid));
        cells.push(number(bounds.upper_pps));
        cells.push(valid(bounds.upper_pps, bounds.upper_valid));
        cells.push(number(bounds.median_pps));
    }
    let codes: Vec<&str> = trial.caveats.iter().map(|caveat| caveat.code.as_str()).collect();
    cells.push(codes.join(" "));
    cells
}

fn delays(delay: Option<&DelayLine>) -> [String; 7] {
    let Some(delay) = delay else { return Default::default() };
    let value = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    [
        delay.count.0.to_string(),
        value(delay.min),
        value(delay.p50),
        value(delay.p90),
        value(delay.p99),
        value(delay.p99_9),
        value(delay.max),
    ]
}

fn push_row(text: &mut String, cells: &[String]) {
    let quoted: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
    text.push_str(&quoted.join(","));
    text.push_str("\r\n");
}

fn quoted(cell: &str) -> String {
    let cell = &*escaped(cell);
    // A spreadsheet runs what begins like a formula; numbers stay numbers.
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_break_its_row_nor_run_in_a_spreadsheet() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=cmd()"), "'=cmd()");
        assert_eq!(quoted("-1.5"), "-1.5");
        assert_eq!(quoted("\u{202e}\x1b[2J\r"), "\\u202e\\u001b[2J\\u000d");
    }
}
