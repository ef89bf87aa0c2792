//! Back-to-back frames (RFC 9004): what is asked for, and what was found.

use crate::{BURST, CaveatLine, Count, Header, TrialLine, VerdictWord};
use dropline_stats::{sample, special};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often the mean's interval holds the true value.
const LEVEL: f64 = 0.95;

/// What a search for the longest burst found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackToBackLine {
    /// The longest burst of which no frame was lost, of each repetition that knows it, in order.
    pub longest_frames: Vec<Count>,
    /// Mean of these; null where none is known.
    pub mean_frames: Option<f64>,
    /// Lower end of the mean's interval; null of fewer than two.
    pub low_frames: Option<f64>,
    /// Upper end.
    pub high_frames: Option<f64>,
    /// How often such an interval holds the true value; null where there is none.
    pub level: Option<f64>,
    /// How fast frames of a burst left, in the median of all that say something; null where nobody knows.
    pub rate_pps: Option<f64>,
    /// Bursts that said nothing, as the sender paused in them.
    pub sent_again: u64,
    /// Repetitions that ended before the longest burst was known.
    pub unanswered: u64,
}

/// The answer of `dropline compare` to two searches for the longest burst: B against A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedBursts {
    /// What it comes to: one of `improved`, `regressed`, `equivalent` and `no_evidence`.
    pub verdict: VerdictWord,
    /// Mean of B's longest bursts as a multiple of A's; null where one is not known.
    pub ratio: Option<f64>,
    /// Lower end of its interval; null where nothing bounds it.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// How often such an interval holds the true value, at least; null where a side has no interval.
    pub level: Option<f64>,
    /// A change by a smaller share of A does not matter.
    pub smallest_effect: f64,
    /// What was compared with.
    pub a: BurstsSideLine,
    /// What was compared.
    pub b: BurstsSideLine,
    /// How the interval is made.
    pub estimator: String,
    /// Doubts.
    pub caveats: Vec<CaveatLine>,
}

/// One search for the longest burst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BurstsSideLine {
    /// The file.
    pub source: String,
    /// The target as the user wrote it.
    pub target: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// Ethernet frame with FCS, in bytes.
    pub frame_bytes: u32,
    /// The rate in a burst that was asked for.
    pub asked_pps: f64,
    /// What it found.
    pub back_to_back: BackToBackLine,
}

impl ComparedBursts {
    /// Whether the longest burst became shorter.
    pub fn is_worse(&self) -> bool {
        self.verdict.is_worse()
    }
}

impl BackToBackLine {
    /// From the trials of a record; `None` where they are no bursts. `is_going_on` says that the last repetition has not ended.
    pub fn of(header: &Header, trials: &[TrialLine], is_going_on: bool) -> Option<Self> {
        let is_burst =
            |trial: &TrialLine| trial.phase.as_deref().is_some_and(|phase| phase.starts_with(BURST));
        // Records from before had no word of it in their header.
        if header.bursts.is_none() && (trials.is_empty() || !trials.iter().all(is_burst)) {
            return None;
        }
        let repetitions: Vec<&[TrialLine]> = trials.chunk_by(|a, b| a.phase == b.phase).collect();
        let answers: Vec<Option<u64>> = repetitions.iter().map(|trials| longest(trials)).collect();
        let known: Vec<u64> = answers.iter().copied().flatten().collect();
        let under_way = u64::from(is_going_on && answers.last().is_some_and(Option::is_none));
        let frames: Vec<f64> = known.iter().map(|&frames| frames as f64).collect();
        let mean = sample::mean(&frames);
        let half = sample::standard_error(&frames).map(|error| {
            special::student_quantile(frames.len() as f64 - 1.0, f64::midpoint(1.0, LEVEL)) * error
        });
        let end = |sign: f64| mean.zip(half).map(|(mean, half)| mean + sign * half);
        let rates: Vec<f64> = trials.iter().filter(|trial| !trial.void).filter_map(rate_pps).collect();
        Some(Self {
            unanswered: (answers.len() - known.len()) as u64 - under_way,
            longest_frames: known.into_iter().map(Count).collect(),
            mean_frames: mean,
            low_frames: end(-1.0),
            high_frames: end(1.0),
            level: half.map(|_| LEVEL),
            rate_pps: sample::median(&rates),
            sent_again: trials.iter().filter(|trial| trial.void).count() as u64,
        })
    }
}

/// The longest burst of a repetition; `None` where it ended before one frame more was seen to be too many.
fn longest(trials: &[TrialLine]) -> Option<u64> {
    let told = || trials.iter().filter(|trial| !trial.void);
    let is_whole = |trial: &&TrialLine| trial.lost.0 == 0 && trial.generator_lost.0 == 0;
    let failed = told().filter(|trial| !is_whole(trial)).map(|trial| trial.offered.0).min()?;
    let held = told().filter(is_whole).map(|trial| trial.offered.0).filter(|&frames| frames < failed);
    let held = held.max().unwrap_or(0);
    (failed == held + 1).then_some(held)
}

/// How fast the frames of a burst left.
fn rate_pps(trial: &TrialLine) -> Option<f64> {
    let late_s = trial.lateness_ns.as_ref()?.max? as f64 * 1e-9;
    (trial.offered.0 > 1).then(|| trial.offered.0 as f64 / (trial.duration_s + late_s))
}
