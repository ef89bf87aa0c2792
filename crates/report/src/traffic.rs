//! What moved in a record's trials, and how, in words that every front end shares.

use crate::number::{self, JOIN};
use dropline_record::{Count, LoadUnit, Record, TargetKind, TrialLine};
use std::collections::BTreeMap;

/// An arrival process in words; Poisson was a person.
pub(crate) fn arrival_words(name: &str) -> String {
    if name == "poisson" { "Poisson".into() } else { name.into() }
}

/// Whether it is traffic of others that was listened in on: nobody asked for it, and nothing was waited for.
pub(crate) fn is_overheard(record: &Record) -> bool {
    record.header.verb == "watch"
}

/// Whether frames go in at one interface and come out at another: nothing comes back, and no socket takes anything.
pub(crate) fn is_of_frames(record: &Record) -> bool {
    TargetKind::of(&record.header.target).is_some_and(|kind| kind.is_of_frames)
}

/// Packets of a trial that came otherwise than they were sent, and those that our own end lost, with what each kind is called.
pub(crate) fn otherwise(record: &Record, trial: &TrialLine) -> [(&'static str, Option<Count>); 4] {
    let [shorter, longer, changed, ours] = match is_of_frames(record) {
        true => ["came out shorter", "came out longer", "came out changed", "lost at our own end"],
        false => ["came back shorter", "came back longer", "came back changed", "lost by our own socket"],
    };
    [
        (shorter, trial.reply_truncated),
        (longer, trial.reply_extended),
        (changed, trial.reply_changed),
        (ours, Some(trial.generator_lost)),
    ]
}

/// Whether packets move, which have a size and may come back late; samples, timers and cycles have neither.
pub(crate) fn is_traffic(record: &Record) -> bool {
    record.header.load_unit == LoadUnit::Packets
}

/// Whether a generator of ours sent packets, and waited for them; a simulation or another program does as it does.
pub(crate) fn is_ours(record: &Record) -> bool {
    is_traffic(record) && record.header.generator.is_some()
}

/// Whether somebody saw how long packets are: a watch that hears none does not.
pub(crate) fn is_size_known(record: &Record) -> bool {
    let seen = |trial: &TrialLine| trial.stamp.is_some() && trial.offered.0 > 0;
    !is_overheard(record) || record.trials.iter().any(seen)
}

/// The traffic in words.
pub(crate) fn traffic_words(record: &Record) -> String {
    let profile = &record.header.profile;
    if is_at_own_pace(record) {
        return "at the program's own pace".into();
    }
    if !is_traffic(record) {
        return format!("{} arrivals of {}", arrival_words(&profile.arrival), record.header.load_unit);
    }
    if !is_size_known(record) {
        return format!(
            "{} arrivals, none seen: of what size they are is not known",
            arrival_words(&profile.arrival)
        );
    }
    let mut words = format!(
        "{} arrivals, {} payload ({} frames)",
        arrival_words(&profile.arrival),
        number::bytes(profile.packet_bytes.into()),
        number::bytes(profile.frame_bytes.into())
    );
    if let Some(mean) = profile.packet_mean_bytes {
        let frame = mean + f64::from(profile.frame_bytes) - f64::from(profile.packet_bytes);
        words = format!(
            "{} arrivals, payloads of several lengths: up to {}, in the mean {} ({} frames)",
            arrival_words(&profile.arrival),
            number::bytes(profile.packet_bytes.into()),
            number::bytes(mean.round() as u64),
            number::bytes(frame.round() as u64)
        );
    }
    if profile.streams.len() > 1 {
        words.push_str(&format!(", {}", number::plural(profile.streams.len() as u64, "stream")));
    }
    if profile.directions.len() > 1 {
        words.push_str(&format!(", {}", number::plural(profile.directions.len() as u64, "direction")));
    }
    words
}

/// The arrival process of a target that nothing is offered to.
const OWN_PACE: &str = "own pace";

/// Whether nothing was offered from outside.
pub(crate) fn is_at_own_pace(record: &Record) -> bool {
    record.header.profile.arrival == OWN_PACE
}

/// Between which two moments a trial's delays lie.
pub(crate) fn delay_words(trial: &TrialLine) -> &'static str {
    if trial.passages.is_some() && trial.intended.is_none() {
        "from source to sink"
    } else {
        "from when each was due"
    }
}

/// The waits of a trial, and how they differ from RFC 2544 §23.
pub(crate) fn waits_words(record: &Record) -> String {
    let profile = &record.header.profile;
    let drain = match profile.drain_quiet_s {
        Some(quiet) => format!(
            "until {} without a packet, at most {}",
            number::seconds(quiet),
            number::seconds(profile.drain_s)
        ),
        None => format!("{} in full", number::seconds(profile.drain_s)),
    };
    let rest = if profile.rest_s == 0.0 { "none".into() } else { number::seconds(profile.rest_s) };
    let learning = match is_of_frames(record) {
        true => "learning frames before each trial and once a second in it",
        false => "no learning frames",
    };
    format!(
        "after the last departure {drain}; before the next trial {rest}; {learning} (RFC 2544 §23: \
         2{JOIN}s and 5{JOIN}s, learning frames first)"
    )
}

/// Packets lost by place, of these trials together; the highest number first.
pub(crate) fn lost_at<'a>(trials: impl IntoIterator<Item = &'a TrialLine>) -> Vec<(String, u64)> {
    let mut places: BTreeMap<&str, u64> = BTreeMap::new();
    for (place, count) in trials.into_iter().filter_map(|trial| trial.lost_at.as_ref()).flatten() {
        let sum = places.entry(place).or_default();
        *sum = sum.saturating_add(count.0);
    }
    if places.values().all(|&count| count == 0) {
        return Vec::new();
    }
    let mut places: Vec<(String, u64)> =
        places.into_iter().map(|(place, count)| (dropline_record::place_words(place), count)).collect();
    places.sort_by_key(|(place, count)| (place == "unexplained", std::cmp::Reverse(*count)));
    places
}

/// Highest intended load of any trial; 0 without trials.
pub(crate) fn highest_load(record: &Record) -> f64 {
    record
        .trials
        .iter()
        .map(|trial| trial.intended_load_pps)
        .filter(|load| load.is_finite())
        .fold(0.0, f64::max)
}
/// When a search was to end, and from which trial on another limit held: it was gone on with.
pub(crate) fn limits_words(record: &Record) -> String {
    let limits = |budget_s: Option<f64>, max_trials: Option<u64>| {
        let budget = budget_s
            .map_or_else(|| "no budget".into(), |budget| format!("budget {}", number::seconds(budget)));
        let most = max_trials.map_or_else(
            || "any number of trials".into(),
            |most| format!("at most {}", number::plural(most, "trial")),
        );
        format!("{budget}, {most}")
    };
    let first = record.header.search.as_ref().map(|search| limits(search.budget_s, search.max_trials));
    let later = record.limits.iter().map(|line| {
        format!(
            "; from trial {} on {}",
            line.after_trial.saturating_add(1),
            limits(line.budget_s, line.max_trials)
        )
    });
    first.into_iter().chain(later).collect()
}

/// `noerror 9 900, truncated 100`: the most frequent class first.
pub(crate) fn replies_words(replies: &BTreeMap<String, Count>) -> String {
    let mut by_count: Vec<(&String, &Count)> = replies.iter().collect();
    by_count.sort_by_key(|(_, count)| std::cmp::Reverse(count.0));
    let words = by_count.iter().map(|(class, count)| format!("{class}{JOIN}{}", number::count(count.0)));
    match by_count.is_empty() {
        true => "none".into(),
        false => words.collect::<Vec<_>>().join(", "),
    }
}

/// How long a reply is in the mean, and how many bytes come back for one that was sent.
pub(crate) fn reply_sizes(record: &Record, trial: &TrialLine) -> Option<String> {
    let bytes = trial.reply_bytes.filter(|_| trial.forwarded.0 > 0)?.0;
    let mean = bytes as f64 / trial.forwarded.0 as f64;
    let profile = &record.header.profile;
    let asked = profile.packet_mean_bytes.unwrap_or(profile.packet_bytes.into());
    let times = if asked > 0.0 {
        format!(", {:.2} times that of a request (amplification)", mean / asked)
    } else {
        String::new()
    };
    Some(format!("{mean:.1} B in the mean{times}"))
}

/// The percentiles of delays that are known.
pub(crate) fn delays(delay: &dropline_record::DelayLine) -> String {
    let named = [
        ("p50", delay.p50),
        ("p90", delay.p90),
        ("p99", delay.p99),
        ("p99.9", delay.p99_9),
        ("max", delay.max),
    ];
    let words: Vec<String> = named
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}\u{a0}{}", number::nanoseconds(value?))))
        .collect();
    if words.is_empty() { "no delay is known".into() } else { words.join("\u{a0} ") }
}
