//! Whether the lines of a record agree with themselves and with one another.
//!
//! A number that follows from others is stored beside them. Where it does not follow any more, the file was edited or
//! damaged, and nobody knows which of them is the one that was measured.

mod answers;
mod limits;
mod words;

pub use words::VERBS;

use crate::LoadUnit;
use crate::count::seconds;
use crate::{
    AgentLine, AnswerLine, BROKEN, BackToBackLine, BoundsLine, CaveatLine, Count, DelayLine, DirectionLine,
    EndWord, Header, Purpose, Record, ResultLine, ResultWord, SearchLine, TargetKind, TrialLine,
};
use dropline_trial::number_of;
use dropline_trial::{Packet, Trial, seed};
use serde::Serialize;

/// Sums of times and quotients may differ in their last digits from machine to machine.
const DIGITS: f64 = 1e-9;

/// What a header says against itself.
pub(crate) fn of_header(header: &Header) -> Result<(), String> {
    let profile = &header.profile;
    // What others send, a watch hears, and what a service is asked is its own: it may be shorter than ours can be.
    let is_ours = header.verb != "watch" && !header.asks_in_few_bytes();
    let shortest = if is_ours { 0 } else { Packet::SHORTEST };
    Packet::of_payload(profile.packet_bytes.max(shortest))
        .map_err(|why| format!("itself: packet_bytes: {why}"))?;
    let frame_bytes = profile.packet_bytes + Packet::FRAME_OVERHEAD;
    same("itself", "frame_bytes", profile.frame_bytes, "a payload of packet_bytes", frame_bytes)?;
    if profile.packet_mean_bytes.is_some() {
        profile.packet().map_err(|why| format!("itself: packet_mean_bytes: {why}"))?;
    }
    words::of_header(header)?;
    match &header.search {
        Some(search) if search.min_load_pps > search.max_load_pps => Err(format!(
            "itself: its lowest load is {}, and its highest is {}",
            search.min_load_pps, search.max_load_pps
        )),
        Some(search) => answers::of_level(search),
        None => Ok(()),
    }
}

/// What a trial says against itself, the header, or the trials before it.
pub(crate) fn of_trial(record: &Record, line: &TrialLine) -> Result<(), String> {
    with_header(&record.header, line)?;
    let before = record.trials.last().map_or(0.0, |trial| trial.at_s + trial.elapsed_s);
    near("the trials before it", "at_s", Some(line.at_s), "the end of the one before", Some(before))?;
    counts(line)?;
    if record.header.load_unit == LoadUnit::Packets {
        packets(line)?;
        limits::of_counts(&record.header, line)?;
        limits::of_question(&record.header, line)?;
    }
    limits::of_search(record, line)?;
    for slice in &line.slices {
        slice.slice().map_err(|why| format!("itself: the histogram of a slice: {why}"))?;
    }
    for (name, delays) in [
        ("delay_ns", &line.delay_ns),
        ("service_delay_ns", &line.service_delay_ns),
        ("lateness_ns", &line.lateness_ns),
    ] {
        delays.as_ref().map_or(Ok(()), |delays| histogram(name, delays))?;
    }
    histograms_of_parts(line)?;
    line.bounds.iter().try_for_each(|bounds| {
        let BoundsLine { lower_pps, lower_valid, upper_pps, upper_valid, median_pps } = *bounds;
        in_order(lower_pps.filter(|_| lower_valid), median_pps, upper_pps.filter(|_| upper_valid))?;
        let Some(search) = &record.header.search else { return Ok(()) };
        asked_for(search, &[("lower_pps", lower_pps), ("median_pps", median_pps), ("upper_pps", upper_pps)])?;
        let trials = || record.trials.iter().chain([line]);
        made(search, trials, &[("lower_pps", lower_pps), ("upper_pps", upper_pps)])
            .map_err(|end| format!("the trials up to it: \"{end}\" is a load at which none of them was made"))
    })
}

/// What the result says against itself, the header, or the trials before it.
pub(crate) fn of_result(record: &Record, result: &ResultLine) -> Result<(), String> {
    if record.header.bursts.is_some() {
        return of_bursts(record, result);
    }
    let Some(search) = &record.header.search else {
        return Err("its header: that is of no search, and this is a search's result".into());
    };
    let asked = &search.goals;
    same("its header", "the number of goals", result.goals.len(), "the header", asked.len())?;
    for (number, (answer, goal)) in (1..).zip(result.goals.iter().zip(asked)) {
        same("its header", &format!("goal {number}"), &answer.goal, "the header", goal)?;
        in_order(answer.lower_pps, answer.median_pps, answer.upper_pps)?;
        let AnswerLine { lower_pps, median_pps, upper_pps, level, .. } = *answer;
        let loads = [("lower_pps", lower_pps), ("median_pps", median_pps), ("upper_pps", upper_pps)];
        asked_for(search, &loads)?;
        if level.is_some() {
            same("its header", &format!("level of goal {number}"), level, "the header", search.level)?;
        }
        let is_irregular = answer.result == ResultWord::Irregular;
        if is_irregular != answer.why.is_some() {
            return Err(format!(
                "itself: goal {number} is {}, and why is {:?}",
                answer.result.words(),
                answer.why.as_deref().unwrap_or_default()
            ));
        }
        let certified = answer.certified.as_ref();
        certified.map_or(Ok(()), |one| in_order(one.lower_pps, None, one.upper_pps))?;
        let has_ends = answer.lower_pps.is_some() && answer.upper_pps.is_some();
        if matches!(answer.result, ResultWord::Regular | ResultWord::Narrow) && !has_ends {
            return Err(format!("itself: goal {number} is {}, and an end is missing", answer.result.words()));
        }
        answers::of_width(number, answer)?;
    }
    let trials = "the trials before it";
    of_times(record, result)?;
    for at in &result.delay_at {
        let is_it = |trial: &&TrialLine| trial.number == at.trial && trial.purpose == Purpose::DelayAt;
        if at.goal as usize >= asked.len() || !record.trials.iter().any(|trial| is_it(&trial)) {
            return Err(format!(
                "{trials}: it takes the delay of goal {} from trial {}, which is none of that kind",
                u64::from(at.goal) + 1,
                at.trial
            ));
        }
    }
    answers::of_curve(search, result)?;
    interrupted(record, result)?;
    match record.header.verb == words::IMPORT {
        true => Ok(()),
        false => follows(record, search, result),
    }
}

/// The result of a search for the longest burst has no goals, and follows from the trials.
fn of_bursts(record: &Record, result: &ResultLine) -> Result<(), String> {
    same("its header", "the number of goals", result.goals.len(), "a search for bursts", 0)?;
    of_times(record, result)?;
    interrupted(record, result)?;
    let is_going_on = result.ended_by != EndWord::Done;
    let again = BackToBackLine::of(&record.header, &record.trials, is_going_on);
    let is_same = match (&result.back_to_back, &again) {
        (Some(kept), Some(again)) => {
            let ends =
                |line: &BackToBackLine| [line.mean_frames, line.low_frames, line.high_frames, line.rate_pps];
            kept.longest_frames == again.longest_frames
                && (kept.sent_again, kept.unanswered) == (again.sent_again, again.unanswered)
                && ends(kept).into_iter().zip(ends(again)).all(|(kept, again)| match (kept, again) {
                    (Some(kept), Some(again)) => is_near(kept, again),
                    (kept, again) => kept == again,
                })
        }
        (kept, again) => kept == again,
    };
    match is_same {
        true => Ok(()),
        false => Err("the trials before it: its back_to_back is not what follows from them".into()),
    }
}

fn of_times(record: &Record, result: &ResultLine) -> Result<(), String> {
    let sum = |time: fn(&TrialLine) -> f64| Some(record.trials.iter().map(time).sum::<f64>());
    let trials = "the trials before it";
    near(trials, "trial_seconds", Some(result.trial_seconds), "their duration_s", sum(|one| one.duration_s))?;
    near(trials, "elapsed_s", Some(result.elapsed_s), "their elapsed_s", sum(|one| one.elapsed_s))
}

/// What ended a search is what its caveats say too.
fn interrupted(record: &Record, result: &ResultLine) -> Result<(), String> {
    let is_broken = result.caveats.iter().any(|caveat| caveat.code == BROKEN);
    let is_stopped = |by: EndWord| by == EndWord::Interrupted;
    for (is_so, is_said, says) in [
        (EndWord::is_failure as fn(EndWord) -> bool, is_broken, "its caveats say"),
        (is_stopped, result.interrupted, "interrupted says"),
    ] {
        if is_so(result.ended_by) != is_said {
            let by = serde_json::to_string(&result.ended_by).unwrap_or_default();
            return Err(format!("itself: ended_by is {by}, and {says} otherwise"));
        }
    }
    let says = |caveats: &[CaveatLine]| caveats.iter().any(|caveat| caveat.code == "interrupted");
    let of_trials = record.trials.iter().any(|trial| says(&trial.caveats));
    if result.interrupted == says(&result.caveats) || of_trials {
        return Ok(());
    }
    Err(format!("itself: interrupted is {}, and its caveats say otherwise", result.interrupted))
}

/// A search answers with loads that it may use.
fn asked_for(search: &SearchLine, loads: &[(&str, Option<f64>)]) -> Result<(), String> {
    let beyond = loads.iter().find(|(_, load)| load.is_some_and(|load| !limits::in_range(search, load)));
    beyond.map_or(Ok(()), |(name, load)| {
        Err(format!(
            "its header: \"{name}\" is {}, and loads from {} to {} were asked for",
            load.unwrap_or_default(),
            search.min_load_pps,
            search.max_load_pps
        ))
    })
}

/// Whether bounds are loads at which trials were made. More does not follow for a reader: what an algorithm concludes
/// at its end may be other than what it knew after the last trial, and only a replay can tell.
fn follows(record: &Record, search: &SearchLine, result: &ResultLine) -> Result<(), String> {
    for (number, answer) in (1..).zip(&result.goals) {
        let ends = [("lower_pps", answer.lower_pps), ("upper_pps", answer.upper_pps)];
        made(search, || record.trials.iter(), &ends).map_err(|end| {
            format!("the trials before it: {end} of goal {number} is a load at which none of them was made")
        })?;
        answers::of_trials(&record.trials, search, number, answer)?;
        // Where a doubt of the whole search denies an answer, it is stored as wide, however narrow it is.
        if result.caveats.is_empty() {
            answers::of_wide(&record.trials, search, number, answer)?;
        }
    }
    Ok(())
}

/// Whether each of these is a load at which one of the trials was made, where bounds are such loads; else which is not.
fn made<'a, Trials: Iterator<Item = &'a TrialLine>>(
    search: &SearchLine,
    trials: impl Fn() -> Trials,
    ends: &[(&'static str, Option<f64>)],
) -> Result<(), &'static str> {
    if search.has_level() {
        return Ok(());
    }
    let is_made = |load: f64| {
        let mut of_search = trials().filter(|trial| trial.purpose == Purpose::Search);
        of_search.any(|trial| is_near(trial.intended_load_pps, load))
    };
    let missing = ends.iter().find(|(_, stated)| stated.is_some_and(|load| !is_made(load)));
    missing.map_or(Ok(()), |(end, _)| Err(*end))
}

fn with_header(header: &Header, line: &TrialLine) -> Result<(), String> {
    const SAYS: &str = "the header";
    let against = "its header";
    let is_named = match (header.verb.as_str(), line.phase.as_deref()) {
        // Two targets in turns.
        ("compare", Some("A")) => header.target.starts_with(&format!("{} ", line.target)),
        ("compare", _) => header.target.ends_with(&format!(" {}", line.target)),
        _ => header.target == line.target,
    };
    if !is_named {
        same(against, "target", &line.target, SAYS, &header.target)?;
    }
    // Turns were numbered before, and a word may name a seed of its own.
    let derives = TargetKind::of(&header.target).is_some_and(|kind| kind.seeds_trials)
        && !header.target.contains("seed=");
    if derives && matches!(header.verb.as_str(), "search" | "trial") {
        let derived = seed::of_trial(header.profile.seed, line.number);
        same(against, "seed", line.seed, "the header's seed", derived)?;
    }
    same(against, "arrival", &line.arrival, SAYS, &header.profile.arrival)?;
    match &header.search {
        Some(search) if !line.bounds.is_empty() => {
            same(against, "the number of bounds", line.bounds.len(), "its goals", search.goals.len())
        }
        _ => Ok(()),
    }
}

/// What follows from the counts.
fn counts(line: &TrialLine) -> Result<(), String> {
    let plain = Trial {
        intended: line.intended.map(|count| count.0),
        offered: line.offered.0,
        forwarded: line.forwarded.0,
        generator_lost: line.generator_lost.0,
        duration: seconds(line.duration_s),
        ..Trial::new(line.number, line.input(), line.seed)
    };
    let itself = "itself";
    let source = "offered − forwarded − generator_lost";
    same(itself, "lost", line.lost.0, source, plain.lost())?;
    near(itself, "loss_ratio", line.loss_ratio, "lost ÷ offered", plain.loss_ratio())?;
    let delivered = "1 − forwarded ÷ intended";
    near(itself, "trial_loss_ratio", line.trial_loss_ratio, delivered, plain.trial_loss_ratio())?;
    let offered = plain.offered as f64 / plain.duration.as_secs_f64();
    near(itself, "offered_load_pps", Some(line.offered_load_pps), "offered ÷ duration_s", Some(offered))?;
    let rate = Some(plain.forwarding_rate_pps());
    near(itself, "forwarding_rate_pps", Some(line.forwarding_rate_pps), "its counts", rate)?;
    if let Some(places) = &line.lost_at {
        let all = places.values().fold(0, |sum: u64, packets| sum.saturating_add(packets.0));
        same(itself, "the sum of lost_at", all, "lost", line.lost.0)?;
    }
    directions(line)?;
    if !line.agents.is_empty() {
        let sum = |of: fn(&AgentLine) -> Option<Count>| {
            line.agents.iter().filter_map(of).fold(0u64, |sum, packets| sum.saturating_add(packets.0))
        };
        same(itself, "the sum of what agents offered", sum(|one| one.offered), "offered", line.offered.0)?;
        same(
            itself,
            "the sum of what agents forwarded",
            sum(|one| one.forwarded),
            "forwarded",
            line.forwarded.0,
        )?;
    }
    if let Some(turns) = line.turns {
        let had = turns.last.0.checked_sub(turns.first.0).map_or(0, |more| more.saturating_add(1));
        if had < line.offered.0 {
            return Err(format!(
                "itself: its requests had the turns {} to {}, and \"offered\" is {}",
                turns.first.0, turns.last.0, line.offered.0
            ));
        }
    }
    if let Some(classes) = &line.replies {
        let all = classes.values().fold(0, |sum: u64, replies| sum.saturating_add(replies.0));
        same(itself, "the sum of replies", all, "forwarded", line.forwarded.0)?;
    }
    let replies = [line.reply_truncated, line.reply_extended, line.reply_changed].into_iter().flatten();
    let replies = replies.fold(0u64, |sum, packets| sum.saturating_add(packets.0));
    if replies > line.lost.0 {
        return Err(format!(
            "itself: {} came shortened, lengthened or changed, which is part of lost, and \"lost\" is {}",
            number_of(replies, "reply"),
            line.lost.0
        ));
    }
    Ok(())
}

/// What follows from the counts of each direction, and what all of them sum to.
fn directions(line: &TrialLine) -> Result<(), String> {
    let itself = "itself";
    if line.directions.is_empty() {
        return Ok(());
    }
    for direction in &line.directions {
        let again =
            direction.direction().map_err(|why| format!("itself: the histogram of a direction: {why}"))?;
        let of = |what: &str| format!("{what} of direction {}", direction.name);
        let source = "offered − forwarded − generator_lost";
        same(itself, &of("lost"), direction.lost.0, source, again.lost())?;
        near(itself, &of("loss_ratio"), direction.loss_ratio, "lost ÷ offered", again.loss_ratio())?;
        let all = direction.lost_at.values().fold(0, |sum: u64, packets| sum.saturating_add(packets.0));
        same(itself, &of("the sum of lost_at"), all, "lost", direction.lost.0)?;
    }
    let sum = |count: fn(&DirectionLine) -> u64| {
        line.directions.iter().map(count).fold(0, |sum: u64, one| sum.saturating_add(one))
    };
    let all = "the sum of its directions";
    same(itself, "intended", line.intended.map(|count| count.0), all, Some(sum(|one| one.intended.0)))?;
    for (name, count, of) in [
        ("offered", line.offered, (|one| one.offered.0) as fn(&DirectionLine) -> u64),
        ("forwarded", line.forwarded, |one| one.forwarded.0),
        ("generator_lost", line.generator_lost, |one| one.generator_lost.0),
    ] {
        same(itself, name, count.0, all, sum(of))?;
    }
    Ok(())
}

/// Nobody sends more packets than were intended, and none comes back that was not sent, unless a caveat says so.
fn packets(line: &TrialLine) -> Result<(), String> {
    let is_said = line.caveats.iter().any(|caveat| caveat.code == "more_than_offered");
    let (offered, forwarded) = (line.offered.0, line.forwarded.0);
    match line.intended.map(|count| count.0) {
        Some(intended) if offered > intended => {
            Err(format!("itself: offered is {offered}, and intended is {intended}, which is less"))
        }
        _ if forwarded > offered && !is_said => {
            Err(format!("itself: forwarded is {forwarded}, and offered is {offered}, which is less"))
        }
        _ => Ok(()),
    }
}

/// What follows from all delays.
fn histogram(name: &str, line: &DelayLine) -> Result<(), String> {
    let values = line.values().map_err(|why| format!("itself: the histogram of {name}: {why}"))?;
    let again = DelayLine::numbers(&values);
    for (what, stored, again) in [
        ("count", Some(line.count.0), Some(again.count.0)),
        ("min", line.min, again.min),
        ("p50", line.p50, again.p50),
        ("p90", line.p90, again.p90),
        ("p99", line.p99, again.p99),
        ("p99_9", line.p99_9, again.p99_9),
        ("max", line.max, again.max),
    ] {
        same("itself", &format!("{what} of {name}"), stored, "its histogram", again)?;
    }
    Ok(())
}

/// What follows from the delays of a part of the target: a thread, a pipe, a block, a direction.
fn histograms_of_parts(line: &TrialLine) -> Result<(), String> {
    let threads = line.woken.iter().flat_map(|woken| &woken.threads).map(|thread| &thread.delay_ns);
    let pipes = line.passages.iter().flat_map(|passages| &passages.pipes).map(|pipe| &pipe.delay_ns);
    let blocks = line.graph.iter().flat_map(|graph| &graph.residence).map(|block| &block.delay_ns);
    let directions = line.directions.iter().map(|one| (format!("direction {}", one.name), &one.delay_ns));
    let threads = (0..).zip(threads).map(|(number, delays)| (format!("thread {number}"), delays));
    let pipes = (0..).zip(pipes).map(|(number, delays)| (format!("pipe {number}"), delays));
    let blocks = (0..).zip(blocks).map(|(number, delays)| (format!("block {number} of the graph"), delays));
    let mut parts = threads.chain(pipes).chain(blocks).chain(directions);
    parts.try_for_each(|(part, delays)| {
        delays.as_ref().map_or(Ok(()), |delays| histogram(&format!("delay_ns of {part}"), delays))
    })
}

/// A lower bound is below an upper one, and what lies between them does.
fn in_order(lower: Option<f64>, median: Option<f64>, upper: Option<f64>) -> Result<(), String> {
    for ((low, small), (high, large)) in [
        (("lower_pps", lower), ("upper_pps", upper)),
        (("lower_pps", lower), ("median_pps", median)),
        (("median_pps", median), ("upper_pps", upper)),
    ] {
        if let (Some(small), Some(large)) = (small, large)
            && small > large
        {
            return Err(format!(
                "itself: \"{low}\" is {small}, and \"{high}\" is {large}, which is below it"
            ));
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "a number, or a reference")]
fn same<T: PartialEq + Serialize>(
    against: &str,
    what: &str,
    stored: T,
    source: &str,
    found: T,
) -> Result<(), String> {
    if stored == found {
        return Ok(());
    }
    let shown = |value: &T| serde_json::to_string(value).unwrap_or_default();
    Err(format!("{against}: {what} is {}, and {source} makes it {}", shown(&stored), shown(&found)))
}

fn near(
    against: &str,
    what: &str,
    stored: Option<f64>,
    source: &str,
    found: Option<f64>,
) -> Result<(), String> {
    match (stored, found) {
        (None, None) => Ok(()),
        (Some(stored), Some(found)) if is_near(stored, found) => Ok(()),
        _ => same(against, what, stored, source, found),
    }
}

fn is_near(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= DIGITS * one.abs().max(other.abs()).max(1e-3)
}
