//! Whether trials were made within the limits that held then, and what they were asked for can have been sent.

use super::is_near;
use crate::count::seconds;
use crate::{CaveatLine, Header, LimitsLine, Purpose, Record, SearchLine, TargetKind, TrialLine};
use dropline_trial::number_of;
use dropline_trial::trial::within::LATE;
use dropline_trial::{Arrival, Rate};
use std::ops::RangeInclusive;

/// Beyond its budget a certificate may take so long.
const CERTIFICATE_S: f64 = 1200.0;
/// A program says how long it really sent.
const OF_PROGRAMS: RangeInclusive<f64> = 0.5..=2.0;
const OF_OURS: RangeInclusive<f64> = 0.9..=1.1;
/// Slices are of the time that was asked for; what a trial lasted is measured.
const SLICED: f64 = 0.1;
/// Of our own trials' packets one in so many may be in none of its slices.
const UNSLICED: u64 = 100;

/// A search looks at its limits before each trial.
pub(super) fn of_search(record: &Record, line: &TrialLine) -> Result<(), String> {
    let (Some(search), Purpose::Search) = (&record.header.search, line.purpose) else { return Ok(()) };
    let load = line.intended_load_pps;
    if !in_range(search, load) {
        return Err(format!(
            "its header: it was made at {load}, and loads from {} to {} were asked for",
            search.min_load_pps, search.max_load_pps
        ));
    }
    let of_header = LimitsLine { after_trial: 0, budget_s: search.budget_s, max_trials: search.max_trials };
    let LimitsLine { budget_s, max_trials, .. } = record.limits.last().copied().unwrap_or(of_header);
    let before = || record.trials.iter().filter(|trial| trial.purpose == Purpose::Search);
    let made = before().count() as u64;
    if let Some(most) = max_trials.filter(|most| made >= *most) {
        return Err(format!(
            "the limits: before it came {}, and {most} were allowed",
            number_of(made, "trial")
        ));
    }
    let more = if search.certify { CERTIFICATE_S } else { 0.0 };
    let spent = before().map(|trial| trial.elapsed_s).sum::<f64>();
    match budget_s.map(|budget| budget + more) {
        Some(budget) if spent > budget && !is_near(spent, budget) => {
            Err(format!("the limits: {spent} s were spent before it, and {budget} s were allowed"))
        }
        _ => Ok(()),
    }
}

/// Whether a search may use the load.
pub(super) fn in_range(search: &SearchLine, load: f64) -> bool {
    let [min, max] = [search.min_load_pps, search.max_load_pps];
    (min..=max).contains(&load) || is_near(load, min) || is_near(load, max)
}

/// What it intended and how long it took are those of the load and the duration that it was asked for.
pub(super) fn of_question(header: &Header, line: &TrialLine) -> Result<(), String> {
    let is_cut_off = |caveat: &CaveatLine| ["interrupted", "agents_lost"].contains(&caveat.code.as_str());
    let kind = TargetKind::of(&line.target).filter(|kind| kind.intends_its_load);
    let Some(kind) = kind.filter(|_| !line.caveats.iter().any(is_cut_off)) else { return Ok(()) };
    let (lasted, asked) = (line.duration_s, line.intended_duration_s);
    let lasts = if kind.is_of_a_program { OF_PROGRAMS } else { OF_OURS };
    if !lasts.contains(&(lasted / asked)) {
        return Err(format!("itself: duration_s is {lasted}, and intended_duration_s is {asked}"));
    }
    // The departures of a recording are in another file.
    let Ok(arrival) = Arrival::parse(&line.arrival, &mut |_| Err(String::new())) else { return Ok(()) };
    let profile = &header.profile;
    let parts = [profile.directions.len(), profile.streams.len(), line.agents.len()];
    let parts: usize = parts.iter().map(|count| (*count).max(1)).product();
    match (line.intended.map(|count| count.0), arrival.intends(line.input(), parts as u64)) {
        (Some(intended), Some(allowed)) if !allowed.contains(&intended) => Err(format!(
            "itself: intended is {intended}, and its load for {} s is {} to {} packets",
            line.intended_duration_s,
            allowed.start(),
            allowed.end()
        )),
        _ => Ok(()),
    }
}

/// No part of what was counted is more than the whole, and no machine counts faster than the highest load.
pub(super) fn of_counts(header: &Header, line: &TrialLine) -> Result<(), String> {
    let most = Rate::HIGHEST.as_pps() * (line.elapsed_s + line.duration_s);
    let others = [("duplicated", line.duplicated), ("reordered", line.reordered), ("late", line.late)];
    for (name, count) in others {
        if let Some(count) = count.filter(|count| count.0 as f64 > most.max(1.0)) {
            return Err(format!("itself: {name} is {}, and no service is that fast", count.0));
        }
    }
    let elapsed = seconds(line.elapsed_s);
    if seconds(line.duration_s) > elapsed.saturating_add(elapsed / 1000) {
        return Err(format!(
            "itself: duration_s is {}, and elapsed_s is {}, which is less",
            line.duration_s, line.elapsed_s
        ));
    }
    let all = |line: &Option<crate::DelayLine>| line.as_ref().map_or(0, |line| line.count.0);
    let (offered, forwarded) = (line.offered.0, line.forwarded.0);
    // What came back later than the goals allow has a delay, and is not forwarded; of some the delay is not known.
    let late = line.lost_at.as_ref().and_then(|places| places.get(LATE)).map_or(0, |late| late.0);
    let came_back = forwarded.saturating_add(late).saturating_add(line.generator_lost.0);
    let is_bound = header.search.iter().flat_map(|search| &search.goals).any(|goal| goal.within_s.is_some());
    let (forwarded, what) = if is_bound { (came_back, "what came back") } else { (forwarded, "forwarded") };
    let slices =
        |count: fn(&crate::SliceLine) -> u64| line.slices.iter().map(count).fold(0, u64::saturating_add);
    for (part, count, whole, of) in [
        ("the count of delay_ns", all(&line.delay_ns), what, forwarded),
        ("the count of service_delay_ns", all(&line.service_delay_ns), what, forwarded),
        ("the count of negative delays", line.negative.count.0, what, forwarded),
        ("the slices' offered", slices(|slice| slice.offered.0), "offered", offered),
        ("the slices' forwarded", slices(|slice| slice.forwarded.0), what, forwarded),
    ] {
        if count > of {
            return Err(format!("itself: {part} is {count}, and {whole} is {of}, which is less"));
        }
    }
    let slices_all = TargetKind::of(&line.target).is_some_and(|kind| kind.slices_all);
    if slices_all && line.intended.is_some() && !line.slices.is_empty() {
        for (part, count, whole, of) in [
            ("the slices' offered", slices(|slice| slice.offered.0), "offered", offered),
            ("the slices' forwarded", slices(|slice| slice.forwarded.0), what, forwarded),
        ] {
            if count + of / UNSLICED < of {
                return Err(format!("itself: {part} is {count}, and {whole} is {of}, which is more"));
            }
        }
    }
    let sliced: f64 = line.slices.iter().map(|slice| slice.duration_s).sum();
    if sliced > line.duration_s * (1.0 + SLICED) {
        let lasted = line.duration_s;
        return Err(format!("itself: its slices last {sliced} s, and duration_s is {lasted}, which is less"));
    }
    Ok(())
}
