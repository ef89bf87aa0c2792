//! Back-to-back frames (RFC 9004): how long a burst may be, at the highest rate, of which no frame is lost.

use crate::observer::Watcher;
use crate::search::{Conditions, Finished, load_is, opening};
use dropline_archive::record_file::{Keeper, Output};
use dropline_archive::{clock, environment};
use dropline_failure::{Failure, FailureKind};
use dropline_record::{BURST, Header, ProfileLine, Purpose, Record, TrialLine, schema};
use dropline_targets::{AnyMeasurer, Target};
use dropline_trial::{Rate, TrafficProfile, Trial, TrialInput};
use std::time::Duration;

/// Bursts to be sent, resolved.
#[derive(Clone, Debug)]
pub struct BackToBackPlan {
    /// What is measured.
    pub target: Target,
    /// What the frames look like.
    pub profile: TrafficProfile,
    /// The rate in a burst.
    pub rate: Rate,
    /// How often the longest burst is looked for.
    pub repetitions: u32,
}

/// The first burst, and the longest that is tried.
const FIRST: u64 = 16;
const LONGEST: u64 = 1 << 20;
/// A burst in which the sender paused is sent again, so often at most.
const TRIES: u32 = 8;

/// What is known of the longest burst that no frame is lost of: it is at least so long, and shorter than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    held: u64,
    lost: Option<u64>,
}

impl Known {
    const NOTHING: Self = Self { held: 0, lost: None };

    /// The next burst; `None` where the longest is known. From `near`, steps grow until it lies between two.
    fn next(self, near: Option<u64>, step: u64) -> Option<u64> {
        match (self, near) {
            (Self { held: 0, lost: None }, near) => Some(near.unwrap_or(FIRST).clamp(1, LONGEST)),
            (Self { held, lost: None }, Some(_)) => {
                Some((held + step).min(LONGEST)).filter(|&next| next > held)
            }
            (Self { held, lost: None }, None) => Some((2 * held).min(LONGEST)).filter(|&next| next > held),
            (Self { held: 0, lost: Some(lost) }, Some(_)) if lost > 1 => {
                Some(lost.saturating_sub(step).max(1))
            }
            (Self { held, lost: Some(lost) }, _) => (lost - held > 1).then(|| held.midpoint(lost)),
        }
    }

    fn learn(&mut self, frames: u64, is_whole: bool) {
        match is_whole {
            true => self.held = self.held.max(frames),
            false => self.lost = Some(self.lost.map_or(frames, |lost| lost.min(frames))),
        }
        // What was lost below a burst that held is a device that changed: the shorter one decides.
        if let Some(lost) = self.lost {
            self.held = self.held.min(lost - 1);
        }
    }
}

/// Looks for the longest burst as often as was asked for, and keeps each burst as a trial.
///
/// # Errors
/// If it could not begin.
pub fn back_to_back(
    plan: &BackToBackPlan,
    output: &Output,
    conditions: &Conditions,
    watcher: &mut dyn Watcher,
) -> Result<Finished, Failure> {
    let opened = plan.target.open(&plan.profile, opening(conditions, 1, watcher))?;
    let header = Header {
        schema: schema::CURRENT.into(),
        verb: "trial".into(),
        started: clock::now_utc(),
        target: plan.target.to_string(),
        target_note: opened.note,
        asked_digest: None,
        load_unit: plan.target.load_unit(),
        load_is: load_is(&plan.target, &plan.profile),
        profile: ProfileLine::from(&plan.profile),
        search: None,
        generator: opened.generator,
        on: plan.target.on().unwrap_or_default(),
        generator_limit_pps: None,
        environment: environment::capture(&conditions.command_line),
    };
    watcher.opened(&header.target, header.target_note.as_deref());
    let keeper = Keeper::begin(output, &header)?;
    let measurer = opened.measurer;
    let mut run = Run {
        plan,
        record: Record::begin(header),
        keeper,
        measurer,
        at: Duration::ZERO,
        fastest_ns: f64::MAX,
        watcher,
    };
    let failure = run.run().and_then(|()| run.measurer.finish()).err();
    match failure {
        Some(why) if why.kind() == FailureKind::Usage && run.record.trials.is_empty() => {
            let _ = output.path().map(std::fs::remove_file);
            Err(why)
        }
        failure => Ok(Finished { record: run.record, failure }),
    }
}

struct Run<'a> {
    plan: &'a BackToBackPlan,
    record: Record,
    keeper: Keeper,
    measurer: AnyMeasurer,
    at: Duration,
    /// The least time that a frame of a burst took so far.
    fastest_ns: f64,
    watcher: &'a mut dyn Watcher,
}

impl Run<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        let mut near = None;
        for repetition in 1..=self.plan.repetitions {
            let (mut known, mut step) = (Known::NOTHING, 1);
            while let Some(frames) = known.next(near, step) {
                let is_whole = self.burst(frames, repetition)?;
                known.learn(frames, is_whole);
                step *= 2;
            }
            near = Some(known.held);
        }
        Ok(())
    }

    /// Whether no frame of a burst was lost. One that was not sent back to back says nothing where none was lost, and is sent again.
    fn burst(&mut self, frames: u64, repetition: u32) -> Result<bool, Failure> {
        let millipps = u128::from(self.plan.rate.as_millipps().max(1));
        let duration_ns = (u128::from(frames) * 1_000_000_000_000).div_ceil(millipps);
        let duration = Duration::from_nanos(u64::try_from(duration_ns).unwrap_or(u64::MAX));
        let input = TrialInput { load: self.plan.rate, duration };
        for attempt in 1..=TRIES {
            let number = self.record.last_number().map_or(1, |number| number + 1);
            let phase = format!("{BURST}{repetition}");
            self.watcher.begins(number, input, &phase);
            let trial = self.measurer.measure(input).and_then(dropline_targets::whole)?;
            let is_whole = trial.lost() == 0 && trial.generator_lost == 0;
            let void = is_whole && !self.is_back_to_back(&trial) && attempt < TRIES;
            let header = &self.record.header;
            let line = TrialLine {
                phase: Some(phase),
                void,
                ..TrialLine::new(&trial, &header.target, &header.profile.arrival, Purpose::Trial, self.at)
            };
            self.at += trial.elapsed;
            let kept = self.keeper.trial(&line);
            self.watcher.ended(&line, None);
            self.record.trials.push(line);
            kept?;
            if !void {
                return Ok(is_whole);
            }
        }
        Ok(false)
    }

    /// Whether all frames of a burst left, with no pause between: in no more than half as long again as the fastest took.
    fn is_back_to_back(&mut self, trial: &Trial) -> bool {
        /// A pause that is none: a frame or two less or more in a bucket of 1 Gbit/s.
        const SHORT_NS: f64 = 2_000.0;
        let late = trial.lateness.histogram.as_ref().and_then(|late| late.max()).unwrap_or(0);
        let lasted_ns = late as f64 + trial.duration.as_nanos() as f64;
        let frames = trial.offered.max(1) as f64;
        self.fastest_ns = self.fastest_ns.min(lasted_ns / frames);
        trial.intended == Some(trial.offered) && lasted_ns <= 1.5 * self.fastest_ns * frames + SHORT_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bursts that are sent until the longest is known, and that.
    fn found(limit: u64, near: Option<u64>) -> (Vec<u64>, u64) {
        let (mut known, mut step, mut sent) = (Known::NOTHING, 1, Vec::new());
        while let Some(frames) = known.next(near, step) {
            sent.push(frames);
            known.learn(frames, frames <= limit);
            step *= 2;
        }
        (sent, known.held)
    }

    #[test]
    fn the_longest_burst_is_found_to_the_frame_wherever_it_is() {
        for limit in [0, 1, 2, 15, 16, 17, 170, 4_095, LONGEST, LONGEST + 5] {
            for near in [None, Some(1), Some(16), Some(170), Some(171), Some(limit)] {
                let (sent, longest) = found(limit, near);
                assert_eq!(longest, limit.min(LONGEST), "{near:?}: {sent:?}");
                assert!(sent.len() <= 45, "{near:?}: {sent:?}");
            }
        }
    }

    #[test]
    fn the_next_time_it_takes_two_bursts_where_nothing_changed() {
        assert_eq!(found(170, Some(170)), (vec![170, 172, 171], 170));
    }
}
