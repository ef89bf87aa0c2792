//! The longest bursts that no frame was lost of, from the trials of a record.

use crate::number::{self, Loads};
use dropline_record::{BURST, Record, TrialLine, sample, special};

/// What a record of bursts says, in words: the mean of the longest bursts with its interval, and how they were sent; `None` of any other.
pub(crate) fn of(record: &Record) -> Option<Vec<(&'static str, String)>> {
    let mut repetitions: Vec<(&str, Vec<&TrialLine>)> = Vec::new();
    for trial in record.trials.iter().filter(|trial| !trial.void) {
        let phase = trial.phase.as_deref().filter(|phase| phase.starts_with(BURST))?;
        match repetitions.last_mut().filter(|(of, _)| *of == phase) {
            Some((_, trials)) => trials.push(trial),
            None => repetitions.push((phase, vec![trial])),
        }
    }
    let longest = |trials: &Vec<&TrialLine>| {
        let lost = |trial: &&&TrialLine| trial.lost.0 > 0 || trial.generator_lost.0 > 0;
        let failed = trials.iter().filter(lost).map(|trial| trial.offered.0).min();
        let held = trials.iter().filter(|trial| !lost(trial)).map(|trial| trial.offered.0);
        let held = held.filter(|frames| failed.is_none_or(|failed| *frames < failed)).max().unwrap_or(0);
        // One that was not ended knows no burst of one frame more that failed.
        failed.filter(|&failed| failed == held + 1).map(|_| held as f64)
    };
    let bursts: Vec<f64> = repetitions.iter().filter_map(|(_, trials)| longest(trials)).collect();
    let unanswered = (repetitions.len() - bursts.len()) as u64;
    let frames = |value: f64| number::count(value.round() as u64);
    let Some(mean) = sample::mean(&bursts) else {
        let lost = repetitions.iter().flat_map(|(_, trials)| trials).any(|trial| trial.lost.0 > 0);
        let why = if lost { "the sender paused again and again in one" } else { "no burst lost a frame" };
        return Some(vec![("back to back", format!("{why}: the longest is not known"))]);
    };
    let (least, most) =
        (bursts.iter().copied().fold(f64::MAX, f64::min), bursts.iter().copied().fold(0.0, f64::max));
    let interval = sample::standard_error(&bursts).map(|error| {
        let half = special::student_quantile(bursts.len() as f64 - 1.0, 0.975) * error;
        format!(", {:.2} to {:.2} with 95 % confidence", mean - half, mean + half)
    });
    let mut facts = vec![(
        "back to back",
        format!(
            "{mean:.2} frames on the mean{}; each of {} between {} and {} (RFC 9004)",
            interval.unwrap_or_default(),
            number::plural(bursts.len() as u64, "repetition"),
            frames(least),
            frames(most)
        ),
    )];
    let all: Vec<f64> = record.trials.iter().filter(|trial| !trial.void).filter_map(rate_pps).collect();
    if let Some(rate) = sample::median(&all) {
        let loads = Loads::of(record.header.load_unit, [], rate);
        let asked = record.trials.first().map_or(0.0, |trial| trial.intended_load_pps);
        let asked = Loads::of(record.header.load_unit, [], asked).with_unit(asked);
        facts.push((
            "in a burst",
            format!("frames left at {}, {asked} was asked for (median of all bursts)", loads.with_unit(rate)),
        ));
    }
    let void = record.trials.iter().filter(|trial| trial.void).count();
    if void > 0 {
        facts.push((
            "sent again",
            format!("{}, as the sender paused in them", number::plural(void as u64, "burst")),
        ));
    }
    if unanswered > 0 {
        facts.push((
            "no answer",
            format!(
                "{} ended before the longest burst was known, as the sender paused again and again: free a CPU for it, or name a lower \
                 --max-load",
                number::plural(unanswered, "repetition")
            ),
        ));
    }
    Some(facts)
}

/// How fast the frames of a burst left.
fn rate_pps(trial: &TrialLine) -> Option<f64> {
    let late_s = trial.lateness_ns.as_ref()?.max? as f64 * 1e-9;
    (trial.offered.0 > 1).then(|| trial.offered.0 as f64 / (trial.duration_s + late_s))
}
