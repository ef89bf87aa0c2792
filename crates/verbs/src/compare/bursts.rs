//! Two searches for the longest burst of back-to-back frames: did it change?

use super::side::name;
use dropline_archive::record_file;
use dropline_failure::Failure;
use dropline_record::{BackToBackLine, BurstsSideLine, CaveatLine, ComparedBursts, Record};
use dropline_stats::compare::{SMALLEST_EFFECT, Verdict};
use dropline_stats::limits::{Limit, MovedLimit, moved};
use dropline_trial::number_of;
use std::path::Path;

const ESTIMATOR: &str = "mean of B's longest bursts as a multiple of A's; on logarithms the facing halves of both intervals are added in \
     quadrature (variance estimates recovery, Zou and Donner 2008); no interval of a mean is taken for narrower than a frame";

/// Such a search to compare.
#[derive(Clone, Debug)]
pub struct Bursts {
    name: String,
    record: Record,
    found: BackToBackLine,
}

impl Bursts {
    /// What was recorded of it.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Reads a record.
    ///
    /// # Errors
    /// If it cannot be read, or is of something else.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let (name, record) = (name(path), record_file::read_record(path)?);
        match record.back_to_back() {
            Some(found) => Ok(Self { name, record, found }),
            None => Err(Failure::usage(format!("{name} is not a search for the longest burst"))),
        }
    }

    /// Its interval, which is never narrower than a frame.
    fn limit(&self) -> Limit<'static> {
        let BackToBackLine { mean_frames, low_frames, high_frames, level, .. } = self.found;
        let above_zero = |frames: Option<f64>| frames.filter(|frames| *frames > 0.0);
        let end = |end: Option<f64>, half: f64| {
            let (end, mean) = end.zip(mean_frames)?;
            Some(if half < 0.0 { end.min(mean + half) } else { end.max(mean + half) })
        };
        Limit {
            lower: above_zero(end(low_frames, -0.5)),
            middle: above_zero(mean_frames),
            upper: above_zero(end(high_frames, 0.5)),
            level,
            trials: &[],
        }
    }

    fn line(&self) -> BurstsSideLine {
        let header = &self.record.header;
        BurstsSideLine {
            source: self.name.clone(),
            target: header.target.clone(),
            started: header.started.clone(),
            frame_bytes: header.profile.frame_bytes,
            asked_pps: self.asked_pps(),
            back_to_back: self.found.clone(),
        }
    }

    fn asked_pps(&self) -> f64 {
        let of_trials = self.record.trials.first().map_or(0.0, |trial| trial.intended_load_pps);
        self.record.header.bursts.map_or(of_trials, |bursts| bursts.rate_pps)
    }
}

/// Compares B with A. A change by a smaller share than `smallest_effect` does not matter; 2 % where nobody says.
///
/// # Errors
/// If frames have other sizes.
pub fn compare(a: &Bursts, b: &Bursts, smallest_effect: Option<f64>) -> Result<ComparedBursts, Failure> {
    let sizes = [a, b].map(|side| side.record.header.profile.frame_bytes);
    if sizes[0] != sizes[1] {
        return Err(Failure::usage(format!(
            "frames of {} have {} B, those of {} {} B: how many fit is not the same question",
            a.name, sizes[0], b.name, sizes[1]
        ))
        .advice("compare two searches with the same --frame"));
    }
    let smallest_effect = smallest_effect.unwrap_or(SMALLEST_EFFECT);
    let mut found = moved(&[(a.limit(), b.limit())], smallest_effect)[0];
    let mut caveats = Vec::new();
    if a.record.trials == b.record.trials {
        // Nothing was measured twice.
        let verdict = Verdict::NoEvidence;
        found = MovedLimit { ratio: None, low: None, high: None, verdict, ..found };
        caveats.push(CaveatLine::said(
            "same_data",
            format!("{} and {} hold the same bursts: a file and its copy; measure again", a.name, b.name),
        ));
    }
    for side in [a, b] {
        if side.found.unanswered > 0 {
            let text = format!(
                "{}: {} ended before the longest burst was known, as the sender paused again and again",
                side.name,
                number_of(side.found.unanswered, "repetition")
            );
            caveats.push(CaveatLine::said("bursts_unanswered", text));
        }
    }
    let rates = [a, b].map(Bursts::asked_pps);
    if (rates[0] - rates[1]).abs() > 1e-9 * rates[0].abs() {
        let text = format!(
            "frames of a burst of A were to leave at {:.0} a second, of B at {:.0}: the longest burst may differ by that alone",
            rates[0], rates[1]
        );
        caveats.push(CaveatLine::said("rates_differ", text));
    }
    Ok(ComparedBursts {
        verdict: found.verdict.into(),
        ratio: found.ratio,
        low: found.low,
        high: found.high,
        level: found.level,
        smallest_effect,
        a: a.line(),
        b: b.line(),
        estimator: ESTIMATOR.into(),
        caveats,
    })
}
