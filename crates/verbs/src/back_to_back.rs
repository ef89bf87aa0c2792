//! Back-to-back frames (RFC 9004): how long a burst may be, at the highest rate, of which no frame is lost.

use crate::observer::Watcher;
use crate::replayed::ReplayError;
use crate::resume::going_on;
use crate::search::{Conditions, Finished, load_is, opening};
use crate::unsound::unsound;
use dropline_archive::record_file::{Keeper, Output, read_record};
use dropline_archive::{clock, environment};
use dropline_failure::{Failure, FailureKind};
use dropline_record::{
    BROKEN, BURST, BackToBackLine, BurstsLine, CaveatLine, EndWord, Header, ProfileLine, Purpose, Record,
    ResultLine, TrialLine, schema,
};
use dropline_targets::{AnyMeasurer, Target};
use dropline_trial::{Caveat, Packet, Rate, Ratio, TrafficProfile, Trial, TrialInput};
use std::path::Path;
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

impl BackToBackPlan {
    /// Bits a second of a burst where nobody says another rate.
    pub const LINE_BPS: u64 = 10_000_000_000;

    /// The rate of such a line, full of these frames.
    ///
    /// # Errors
    /// If that is no load that can be.
    pub fn line_rate(packet: Packet) -> Result<Rate, Failure> {
        /// Bytes between two frames (preamble and gap, IEEE 802.3).
        const BETWEEN: u32 = 20;
        let frame_bits = f64::from(packet.frame_bytes() + BETWEEN) * 8.0;
        Rate::pps(Self::LINE_BPS as f64 / frame_bits).map_err(Failure::usage)
    }
}

/// The first burst, and the longest that is tried.
const FIRST: u64 = 16;
const LONGEST: u64 = 1 << 20;
/// A burst in which the sender paused is sent again, so often at most.
const TRIES: u32 = 20;
/// One of which no frame was lost is taken as it left after so many: on a busy machine the sender does not get any faster.
const TRIES_OF_WHOLE: u32 = 8;

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

/// What is known while bursts are sent, and so which one is next: the same trials lead to the same next one.
#[derive(Clone, Debug)]
struct BurstSearch {
    repetitions: u32,
    pace: Pace,
    repetition: u32,
    /// How often this burst was sent, this time included.
    attempt: u32,
    /// The answer of the repetition before.
    near: Option<u64>,
    known: Known,
    step: u64,
}

impl BurstSearch {
    fn of(plan: &BackToBackPlan) -> Self {
        Self {
            repetitions: plan.repetitions,
            pace: Pace::of(plan.rate),
            repetition: 1,
            attempt: 1,
            near: None,
            known: Known::NOTHING,
            step: 1,
        }
    }

    /// Frames of the next burst; `None` where all repetitions have ended.
    fn next(&mut self) -> Option<u64> {
        while self.repetition <= self.repetitions {
            if let Some(frames) = self.known.next(self.near, self.step) {
                return Some(frames);
            }
            self.turn();
        }
        None
    }

    fn turn(&mut self) {
        self.near = Some(self.known.held).filter(|&held| held > 0).or(self.near);
        (self.known, self.step, self.attempt) = (Known::NOTHING, 1, 1);
        self.repetition += 1;
    }

    /// Takes what became of that burst; whether it said anything.
    fn learn(&mut self, frames: u64, trial: &Trial) -> bool {
        let is_whole = self.pace.is_whole(trial, self.attempt);
        match is_whole {
            Some(is_whole) => {
                self.known.learn(frames, is_whole);
                (self.step, self.attempt) = (self.step * 2, 1);
            }
            None if self.attempt < TRIES => self.attempt += 1,
            // Of a sender that pauses in each of so many nothing is learnt: this repetition has no answer.
            None => self.turn(),
        }
        is_whole.is_some()
    }

    fn phase(&self) -> String {
        format!("{BURST}{}", self.repetition)
    }
}

impl BackToBackPlan {
    /// The plan that the record in this file was made with; `None` where that is of something else.
    ///
    /// # Errors
    /// If its header holds what no plan can.
    pub fn of_header(header: &Header, path: &Path) -> Result<Option<Self>, Failure> {
        let Some(BurstsLine { repetitions, rate_pps }) = header.bursts else { return Ok(None) };
        Ok(Some(Self {
            target: Target::of_record(&header.target, path)?,
            profile: crate::resume::profile(header, path)?,
            rate: Rate::pps(rate_pps).map_err(unsound)?,
            repetitions,
        }))
    }

    fn input(&self, frames: u64) -> TrialInput {
        let millipps = u128::from(self.rate.as_millipps().max(1));
        let duration_ns = (u128::from(frames) * 1_000_000_000_000).div_ceil(millipps);
        let duration = Duration::from_nanos(u64::try_from(duration_ns).unwrap_or(u64::MAX));
        TrialInput { load: self.rate, duration }
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
        verb: "search".into(),
        started: clock::now_utc(),
        target: plan.target.to_string(),
        target_note: opened.note,
        asked_digest: None,
        load_unit: plan.target.load_unit(),
        load_is: load_is(&plan.target, &plan.profile),
        profile: ProfileLine::from(&plan.profile),
        search: None,
        bursts: Some(BurstsLine { repetitions: plan.repetitions, rate_pps: plan.rate.as_pps() }),
        generator: opened.generator,
        on: plan.target.on().unwrap_or_default(),
        generator_limit_pps: None,
        environment: environment::capture(&conditions.command_line),
    };
    watcher.opened(&header.target, header.target_note.as_deref());
    let keeper = Keeper::begin(output, &header)?;
    let (record, measurer) = (Record::begin(header), opened.measurer);
    let run =
        Run { plan, record, keeper, measurer, search: BurstSearch::of(plan), at: Duration::ZERO, watcher };
    let finished = run.finish();
    match finished.failure {
        Some(why) if why.kind() == FailureKind::Usage && finished.record.trials.is_empty() => {
            let _ = output.path().map(std::fs::remove_file);
            Err(why)
        }
        failure => Ok(Finished { failure, ..finished }),
    }
}

/// Goes on with a record of bursts where it stood. One that has ended is its own answer, and nothing is opened.
///
/// # Errors
/// If the record cannot be read or locked, its trials are not those that would have been made, or the target cannot be opened.
pub fn resume(
    plan: &BackToBackPlan,
    path: &Path,
    conditions: &Conditions,
    watcher: &mut dyn Watcher,
) -> Result<Finished, Failure> {
    let record = read_record(path)?;
    let is_same =
        |record: &Record| record.header.target == plan.target.to_string() && record.header.bursts.is_some();
    if !is_same(&record) {
        return Err(Failure::usage(format!("{} is a search with another target", path.display())).advice(
            format!("to resume it as it was:  {}", going_on(&path.to_string_lossy(), &record.header)),
        ));
    }
    if record.is_finished() {
        return Ok(Finished { record, failure: None });
    }
    let (keeper, mut record) = Keeper::resume(path)?;
    let (mut search, mut at) = (BurstSearch::of(plan), Duration::ZERO);
    for line in &record.trials {
        let trial = line.trial().map_err(|why| ReplayError::Trial { number: line.number, why }.of(path))?;
        let frames = search.next().filter(|&frames| plan.input(frames) == trial.input);
        let is_phase = line.phase.as_deref() == Some(&search.phase());
        let said = frames.filter(|_| is_phase).map(|frames| search.learn(frames, &trial));
        if said != Some(!line.void) {
            return Err(ReplayError::Unasked(line.number).of(path));
        }
        at += trial.elapsed;
    }
    record.result = None;
    let number = record.last_number().map_or(1, |number| number + 1);
    let opened = plan.target.open(&plan.profile, opening(conditions, number, watcher))?;
    watcher.opened(&record.header.target, opened.note.as_deref());
    Ok(Run { plan, record, keeper, measurer: opened.measurer, search, at, watcher }.finish())
}

struct Run<'a> {
    plan: &'a BackToBackPlan,
    record: Record,
    keeper: Keeper,
    measurer: AnyMeasurer,
    search: BurstSearch,
    at: Duration,
    watcher: &'a mut dyn Watcher,
}

impl Run<'_> {
    fn finish(mut self) -> Finished {
        let failure = self.run().and_then(|()| self.measurer.finish()).err();
        let ended_by = match failure.as_ref().map(Failure::kind) {
            None => EndWord::Done,
            Some(FailureKind::Interrupted) => EndWord::Interrupted,
            Some(_) => EndWord::TargetFailed,
        };
        let is_going_on = ended_by != EndWord::Done;
        let mut caveats = Vec::new();
        if ended_by.is_failure() {
            let why = failure.as_ref().map(ToString::to_string).unwrap_or_default();
            caveats.push(CaveatLine::said(BROKEN, why.lines().next().unwrap_or_default()));
        }
        if ended_by == EndWord::Interrupted {
            caveats.push(CaveatLine::said(
                "interrupted",
                "the search was stopped early: the longest bursts are those of the repetitions that had ended",
            ));
        }
        let result = ResultLine {
            goals: Vec::new(),
            trial_seconds: self.record.trials.iter().map(|line| line.duration_s).sum(),
            elapsed_s: self.at.as_secs_f64(),
            interrupted: ended_by == EndWord::Interrupted,
            ended_by,
            delay_at: Vec::new(),
            loss_curve: Vec::new(),
            back_to_back: BackToBackLine::of(&self.record.header, &self.record.trials, is_going_on),
            caveats,
        };
        let kept = self.keeper.result(&result);
        self.record.result = Some(result);
        Finished { record: self.record, failure: failure.or(kept.err()) }
    }

    fn run(&mut self) -> Result<(), Failure> {
        while let Some(frames) = self.search.next() {
            let input = self.plan.input(frames);
            let number = self.record.last_number().map_or(1, |number| number + 1);
            let phase = self.search.phase();
            self.watcher.begins(number, input, &phase);
            let trial = self.measurer.measure(input).and_then(dropline_targets::whole)?;
            let header = &self.record.header;
            let line = TrialLine {
                phase: Some(phase),
                void: !self.search.learn(frames, &trial),
                ..TrialLine::new(&trial, &header.target, &header.profile.arrival, Purpose::Trial, self.at)
            };
            self.at += trial.elapsed;
            self.keeper.trial(&line)?;
            self.watcher.ended(&line, None);
            self.record.trials.push(line);
        }
        Ok(())
    }
}

/// How fast frames leave in a burst, by which a pause is known.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// From frame to frame, as was asked for.
    asked_ns: f64,
    /// The least time that a frame of a burst took so far.
    fastest_ns: f64,
}

impl Pace {
    fn of(rate: Rate) -> Self {
        Self { asked_ns: 1e9 / rate.as_pps(), fastest_ns: f64::MAX }
    }

    /// Whether no frame of a burst was lost; `None` where a pause of the sender is why that says nothing: a queue gets empty in it, so that
    /// none may be lost; and where frames leave faster after it than they were asked to, they may be lost by that.
    fn is_whole(&mut self, trial: &Trial, attempt: u32) -> Option<bool> {
        /// A sender that could leave faster keeps the asked pace to this in its fastest burst.
        const KEPT: f64 = 1.1;
        if trial.caveats.iter().any(|caveat| matches!(caveat, Caveat::RuleAppeared { .. })) {
            return None;
        }
        let is_back_to_back = self.is_back_to_back(trial);
        let catches_up = self.fastest_ns <= KEPT * self.asked_ns;
        let says = match trial.lost() == 0 && trial.generator_lost == 0 {
            true => is_back_to_back || attempt >= TRIES_OF_WHOLE && trial.intended == Some(trial.offered),
            // As everywhere, a moment is forgiven.
            false => trial.intended == Some(trial.offered) && !(catches_up && trial.is_void_at(Ratio::ZERO)),
        };
        says.then_some(trial.lost() == 0 && trial.generator_lost == 0)
    }

    /// Whether all frames of a burst left, with no pause between: in no more than half as long again as the fastest took.
    fn is_back_to_back(&mut self, trial: &Trial) -> bool {
        /// A pause that is none: a frame or two less or more in a bucket of 1 Gbit/s.
        const SHORT_NS: f64 = 2_000.0;
        let late = trial.lateness.histogram.as_ref().and_then(|late| late.max()).unwrap_or(0);
        let lasted_ns = late as f64 + trial.duration.as_nanos() as f64;
        let frames = trial.offered.max(1) as f64;
        if trial.intended != Some(trial.offered) {
            return false;
        }
        self.fastest_ns = self.fastest_ns.min(lasted_ns / frames);
        lasted_ns <= 1.5 * self.fastest_ns * frames + SHORT_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_stats::Histogram;
    use dropline_trial::{Delay, Disturbance};

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

    /// A burst of 256 frames at 6 kpps whose last frame left so late, and of which so many were late and so many lost.
    fn burst(late: Duration, displaced: u64, lost: u64) -> Trial {
        let load = Rate::pps(6_000.0).unwrap();
        let mut trial = Trial::new(1, TrialInput { load, duration: Duration::from_micros(42_667) }, 1);
        (trial.intended, trial.offered, trial.forwarded) = (Some(256), 256, 256 - lost);
        let mut lateness = Histogram::default();
        lateness.record(late.as_nanos() as u64);
        trial.lateness = Delay::of(lateness);
        trial.disturbance = Some(Disturbance { displaced, waited: Duration::ZERO });
        trial.lost_at = Some([("netfilter".to_owned(), lost)].into());
        trial
    }

    #[test]
    fn a_burst_in_which_the_sender_paused_says_nothing_whether_it_lost_frames_or_not() {
        let mut pace = Pace::of(Rate::pps(6_000.0).unwrap());
        let ms = Duration::from_millis;
        assert_eq!(pace.is_whole(&burst(Duration::from_micros(30), 0, 0), 1), Some(true));
        assert_eq!(pace.is_whole(&burst(ms(50), 200, 0), 1), None);
        assert_eq!(pace.is_whole(&burst(ms(50), 200, 104), 1), None);
        // A pause in the middle that was caught up until the end: the lump after it may be what was lost.
        assert_eq!(pace.is_whole(&burst(ms(15), 90, 80), 1), None);
        assert_eq!(pace.is_whole(&burst(Duration::from_micros(200), 0, 1), 1), Some(false));
        // Not all of it left.
        let broken_off = Trial { offered: 100, forwarded: 90, ..burst(ms(0), 0, 0) };
        assert_eq!(pace.is_whole(&broken_off, 1), None);
        // After many a burst of which none was lost is taken as it left, and none that lost frames.
        assert_eq!(pace.is_whole(&burst(ms(50), 200, 0), TRIES_OF_WHOLE), Some(true));
        assert_eq!(pace.is_whole(&burst(ms(50), 200, 104), TRIES), None);
        assert_eq!(pace.is_whole(&broken_off, TRIES), None);
        // As fast as the sender can, all are late, and none leaves faster after a pause than before it.
        let mut fast = Pace::of(Rate::pps(1e7).unwrap());
        assert_eq!(fast.is_whole(&burst(ms(10), 256, 0), 1), Some(true));
        assert_eq!(fast.is_whole(&burst(ms(100), 256, 104), 1), Some(false));
        assert_eq!(fast.is_whole(&burst(ms(100), 256, 0), 1), None);
    }

    #[test]
    fn the_next_time_it_takes_two_bursts_where_nothing_changed() {
        assert_eq!(found(170, Some(170)), (vec![170, 172, 171], 170));
    }
}
