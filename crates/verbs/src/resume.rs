//! A plan read back from the record that it made, for a search that goes on.

use crate::goals;
use crate::plan::{AlgorithmPlan, SearchPlan};
use crate::unsound::{ratio, unsound};
use dropline_failure::{Failure, quoted};
use dropline_record::{GoalLine, Header, Record};
use dropline_search::{Goal, Limits};
use dropline_targets::Target;
use dropline_trial::{Drain, LoadRange, Part, Rate, TrafficProfile};
use std::path::Path;
use std::time::Duration;

/// Where agents are, as it stands in a command to be copied: no record has the address of their server.
pub const JOIN: &str = "--join nats://HOST";

/// The command that goes on with a record, to be copied: a target that no record may have opened is typed again, and agents that measured
/// have to be asked again.
pub fn going_on(path: &str, header: &Header) -> String {
    let target = &header.target;
    let again = match Target::of_record(target, Path::new(path)) {
        Ok(stored) if stored.refused().is_some() => format!(" {}", quoted(target)),
        _ => String::new(),
    };
    let on = match header.on.as_deref() {
        Some(on) if on.starts_with("local:") => format!(" --on {}", quoted(on)),
        Some(on) => format!(" --on {} {JOIN}", quoted(on)),
        None => String::new(),
    };
    format!("dropline search --resume {}{again}{on}", quoted(path))
}

impl SearchPlan {
    /// The plan that the record in this file was made with, under the limits that hold at its end. What it names is opened only if no
    /// program is started for it, no name asked for, and no file opened of another directory than the record's.
    ///
    /// # Errors
    /// If the record is of another verb, or its header holds what no plan can.
    pub fn of_record(record: &Record, path: &Path) -> Result<Self, Failure> {
        let stored = record.header.search.as_ref().ok_or_else(|| {
            Failure::usage("that record is of one trial, not of a search: there is nothing to resume")
        })?;
        let algorithm = AlgorithmPlan::of_line(stored)?;
        let preset = stored.preset.as_ref().map(|word| word.parse().map_err(unsound)).transpose()?;
        Ok(Self {
            target: Target::of_record(&record.header.target, path)?,
            profile: profile(&record.header, path)?,
            algorithm,
            preset,
            goals: stored.goals.iter().map(goal).collect::<Result<_, _>>()?,
            within: within(&stored.goals)?,
            range: LoadRange::new(rate(stored.min_load_pps)?, rate(stored.max_load_pps)?).map_err(unsound)?,
            limits: match record.limits.last() {
                Some(line) => limits(line.budget_s, line.max_trials)?,
                None => limits(stored.budget_s, stored.max_trials)?,
            },
            warm_up: seconds(stored.warm_up_s)?,
            delay_at: stored.delay_at.iter().map(|&share| ratio(share)).collect::<Result<_, _>>()?,
            repetition: stored.repetition,
        })
    }
}

/// Limits as they are kept.
pub(crate) fn limits(budget_s: Option<f64>, max_trials: Option<u64>) -> Result<Limits, Failure> {
    Ok(Limits { budget: budget_s.map(seconds).transpose()?, max_trials })
}

/// The profile of the trials that a target answers again.
///
/// # Errors
/// If its record states none.
pub fn replayed_profile(target: &Target) -> Result<Option<TrafficProfile>, Failure> {
    let (Some(record), Some(path)) = (target.replayed(), target.file()) else { return Ok(None) };
    profile(&record.header, path).map(Some)
}

pub(crate) fn profile(header: &Header, path: &Path) -> Result<TrafficProfile, Failure> {
    let stored = &header.profile;
    let port = Target::of_record(&header.target, path).ok().and_then(|target| target.port());
    let parts = |parts: &[Part]| -> Result<Vec<Part>, Failure> {
        let whole = !parts.is_empty() && parts.iter().all(|part| part.share > 0);
        whole.then(|| parts.to_vec()).ok_or_else(|| unsound("a stream or direction without a share"))
    };
    Ok(TrafficProfile {
        arrival: crate::arrival_argument::arrival_of_record(&stored.arrival, port, path)?,
        packet: stored.packet().map_err(unsound)?,
        streams: parts(&stored.streams)?,
        directions: parts(&stored.directions)?,
        drain: Drain {
            longest: seconds(stored.drain_s)?,
            quiet: stored.drain_quiet_s.map(seconds).transpose()?,
            rest: seconds(stored.rest_s)?,
        },
        seed: stored.seed,
    })
}

fn goal(stored: &GoalLine) -> Result<Goal, Failure> {
    let goal = Goal {
        loss_ratio: ratio(stored.loss_ratio)?,
        exceed_ratio: ratio(stored.exceed_ratio)?,
        width: ratio(stored.width)?,
        trial_duration: seconds(stored.trial_duration_s)?,
        initial_trial_duration: seconds(stored.initial_trial_duration_s)?,
        duration_sum: seconds(stored.duration_sum_s)?,
    };
    goals::checked(goal)
}

/// The bound on the delay, one for all.
fn within(stored: &[GoalLine]) -> Result<Option<Duration>, Failure> {
    let first = stored.first().and_then(|goal| goal.within_s);
    let is_one = stored.iter().all(|goal| goal.within_s == first);
    let bound = first.map(seconds).transpose()?;
    (is_one && bound.is_none_or(|bound| !bound.is_zero()))
        .then_some(bound)
        .ok_or_else(|| unsound("its goals have several bounds on the delay, or one of 0"))
}

fn rate(pps: f64) -> Result<Rate, Failure> {
    Rate::pps(pps).map_err(unsound)
}

fn seconds(value: f64) -> Result<Duration, Failure> {
    // No sum of a few of these is too long for a Duration.
    const LONGEST: Duration = Duration::from_nanos(u64::MAX);
    let time = Duration::try_from_secs_f64(value).map_err(unsound)?;
    (time <= LONGEST).then_some(time).ok_or_else(|| unsound(format!("{value} s is beyond any search")))
}
