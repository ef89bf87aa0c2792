//! What the flags of `compare` and `inject` mean.

use super::{allowed, profiles, rate, read, with_streams};
use crate::args::{CompareArgs, FleetArgs, InjectArgs};
use dropline_failure::Failure;
use dropline_stats::compare::Questions;
use dropline_trial::quantities;
use dropline_verbs::compare::turns::Turns;
use dropline_verbs::inject::Injection;
use std::time::Duration;

/// Two targets in turns.
pub(crate) fn turns(args: &CompareArgs) -> Result<Turns, Failure> {
    let a = &args.a;
    let b = args.b.as_ref().ok_or_else(|| Failure::usage("--abba needs two targets"))?;
    let who = &args.fleet;
    let targets = [allowed(Some(a), &args.traffic, who)?, allowed(Some(b), &args.traffic, who)?];
    if targets[0].load_unit() != targets[1].load_unit() {
        return Err(Failure::usage(format!("{a} and {b} count their loads in different units")));
    }
    let mut profiles = profiles(&args.traffic, &targets[0], None)?;
    if profiles.len() > 1 {
        return Err(Failure::usage("--frame: a comparison has one frame size"));
    }
    let profile = profiles.remove(0);
    let load = match &args.load {
        Some(text) => rate("--load", text, &targets[0], profile.packet)?,
        None => targets[0].default_load().ok_or_else(|| {
            Failure::usage("--abba needs --load, such as --load 10kpps, which both targets are offered")
        })?,
    };
    let duration = read("--duration", quantities::positive_duration(&args.duration))?;
    let profile = with_streams(profile, &args.traffic, &targets[0], load);
    let turns = Turns { targets, profile, load, duration };
    turns.check().map(|()| turns)
}

/// The delay of `inject`.
pub(crate) fn delay(args: &InjectArgs) -> Result<Duration, Failure> {
    let text = args.delay.as_deref().unwrap_or("1us");
    read("--delay", quantities::positive_duration(text))
}

/// A delay at a probe, in turns.
pub(crate) fn injection(args: &InjectArgs) -> Result<Injection, Failure> {
    let target = allowed(args.target.as_deref(), &args.traffic, &FleetArgs::default())?;
    let mut profiles = profiles(&args.traffic, &target, None)?;
    if profiles.len() > 1 {
        return Err(Failure::usage("--frame: inject measures with one frame size"));
    }
    let profile = profiles.remove(0);
    let load = rate("--load", &args.load, &target, profile.packet)?;
    let duration = read("--duration", quantities::positive_duration(&args.duration))?;
    let profile = with_streams(profile, &args.traffic, &target, load);
    let (start, probe) = (args.start.clone(), args.probe.clone());
    Ok(Injection { target, profile, load, duration, start, probe, delay: delay(args)? })
}

/// What a comparison asks. Times are in units of `unit_ns`.
pub(crate) fn questions(args: &CompareArgs, unit_ns: u64) -> Result<Questions, Failure> {
    let percentile = read("--percentile", quantities::ratio(&args.percentile))?.as_f64();
    if !(percentile > 0.5 && percentile < 1.0) {
        return Err(Failure::usage("--percentile must be above 50% and below 100%, such as 99.9%"));
    }
    let above = args.above.as_deref().map(|text| read("--above", quantities::duration(text))).transpose()?;
    Ok(Questions {
        percentile,
        above: above.map(|time| time.as_nanos() as f64 / unit_ns as f64),
        smallest_effect: smallest_effect(args.smallest_effect.as_deref())?,
        more_loss: read("--more-loss", quantities::ratio(&args.more_loss))?.as_f64(),
    })
}

/// A share below which a change does not matter.
pub(crate) fn smallest_effect(text: Option<&str>) -> Result<Option<f64>, Failure> {
    let share = text.map(|text| read("--smallest-effect", quantities::ratio(text))).transpose()?;
    Ok(share.map(|share| share.as_f64()))
}
