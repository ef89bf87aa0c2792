//! The longest bursts that no frame was lost of, in words that every front end shares.

use crate::number::{self, Loads};
use dropline_record::{BackToBackLine, Record};

/// The mean of the longest bursts, with its interval: `350.00 frames, 349.12 to 350.88 with 95 % confidence`.
pub(crate) fn mean_words(found: &BackToBackLine) -> Option<String> {
    let interval = found
        .low_frames
        .zip(found.high_frames)
        .map(|(low, high)| format!(", {low:.2} to {high:.2} with 95 % confidence"));
    Some(format!("{:.2} frames on the mean{}", found.mean_frames?, interval.unwrap_or_default()))
}

/// Why no longest burst is known.
fn unknown(record: &Record) -> String {
    let lost = record.trials.iter().any(|trial| !trial.void && trial.lost.0 > 0);
    let why = match (record.is_finished(), lost) {
        (_, true) if !record.trials.is_empty() => "the sender paused again and again in one",
        (false, _) => "the search was cut off",
        _ => "no burst lost a frame",
    };
    format!("{why}: the longest is not known")
}

/// The answer as a sentence.
pub(crate) fn sentence(record: &Record) -> Option<String> {
    let found = record.back_to_back()?;
    Some(match mean_words(&found) {
        Some(mean) => format!(
            "The longest burst of back-to-back frames of which none is lost has {mean} ({}).",
            number::plural(found.longest_frames.len() as u64, "repetition")
        ),
        None => format!("Of back-to-back frames {}.", unknown(record)),
    })
}

/// What a record of bursts says, in rows: the mean of the longest bursts with its interval, and how they were sent; `None` of any other.
pub(crate) fn of(record: &Record) -> Option<Vec<(&'static str, String)>> {
    let found = record.back_to_back()?;
    let longest = found.longest_frames.iter().map(|frames| frames.0);
    let (Some(mean), Some(least), Some(most)) = (mean_words(&found), longest.clone().min(), longest.max())
    else {
        return Some(vec![("back to back", unknown(record))]);
    };
    let mut facts = vec![(
        "back to back",
        format!(
            "{mean}; each of {} between {} and {} (RFC 9004)",
            number::plural(found.longest_frames.len() as u64, "repetition"),
            number::count(least),
            number::count(most)
        ),
    )];
    if let Some(rate) = found.rate_pps {
        let loads = Loads::of(record.header.load_unit, [], rate);
        let asked = record.trials.first().map_or(0.0, |trial| trial.intended_load_pps);
        let asked = Loads::of(record.header.load_unit, [], asked).with_unit(asked);
        facts.push((
            "in a burst",
            format!("frames left at {}, {asked} was asked for (median of all bursts)", loads.with_unit(rate)),
        ));
    }
    if found.sent_again > 0 {
        let words = format!("{}, as the sender paused in them", number::plural(found.sent_again, "burst"));
        facts.push(("sent again", words));
    }
    if found.unanswered > 0 {
        facts.push((
            "no answer",
            format!(
                "{} ended before the longest burst was known, as the sender paused again and again: free a CPU for it, or name a lower \
                 --max-load",
                number::plural(found.unanswered, "repetition")
            ),
        ));
    }
    Some(facts)
}
