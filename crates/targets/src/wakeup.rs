//! `wakeup:` targets: a timer, and how late its thread wakes up.

use super::{Kind, Opened, Opening, Scheme};
use crate::parameters::{Parameter, names, parameters, quantity, unknown};
use dropline_failure::Failure;
use dropline_trial::{Arrival, Measurer, TrafficProfile, Trial, TrialInput, quantities};
use dropline_wakeup::{Policy, WakeupError, WakeupMeasurer, WakeupSettings};
use std::sync::Arc;

pub(super) static PARAMETERS: [Parameter; 6] = [
    Parameter::new("threads", "1 to 1024", "1", "threads that wake up; the load is divided over them"),
    Parameter::new("priority", "1 to 99", "80", "their real-time priority (SCHED_FIFO), where it is allowed"),
    Parameter::new("policy", "`fifo`, `other`", "fifo", "`other` leaves them without real-time priority"),
    Parameter::new(
        "cpus",
        "numbers, as `0,1`",
        "",
        "CPUs that they are pinned to, one after the other; without it all that this program may use, in order",
    ),
    Parameter::new(
        "slack",
        "a time, as `50us`",
        "1ns",
        "how much later the kernel may make a timer of a thread without real-time priority",
    ),
    Parameter::new(
        "stop",
        "a time, as `200us`",
        "",
        "ends a trial at the first wake-up that is later than this, as `--stop-above` does; without it none is",
    ),
];
/// Most threads: beyond, they wait for one another.
const MOST_THREADS: u32 = 1024;

/// Its row in the table of targets.
pub(super) const SCHEME: Scheme = Scheme {
    prefix: "wakeup:",
    forms: &[(
        "wakeup:?threads=2",
        "a timer: how late its threads wake up (further parameters: priority, cpus, policy, slack, stop)",
    )],
    parse: |rest| parse(rest).map(Kind::Wakeup),
};

/// Reads `?threads=2&priority=80&cpus=0,1&policy=fifo&slack=1ns&stop=200us`.
fn parse(word: &str) -> Result<WakeupSettings, Failure> {
    let (rest, parameters) = parameters(word)?;
    if !rest.is_empty() {
        return Err(Failure::usage(format!(
            "wakeup:{rest} names nothing; write wakeup: or wakeup:?threads=2"
        )));
    }
    let mut settings = WakeupSettings::default();
    for (name, value) in parameters {
        let wrong = |what: &str| Failure::usage(format!("{name}={value} in the target: {what}"));
        match name {
            "threads" => {
                let threads = value.parse().ok().filter(|threads| (1..=MOST_THREADS).contains(threads));
                settings.threads = threads.ok_or_else(|| wrong("1 to 1024 threads"))?;
            }
            "priority" => {
                let priority = value.parse().ok().filter(|priority| (1..=99).contains(priority));
                settings.policy = Policy::Fifo(priority.ok_or_else(|| wrong("a priority is 1 to 99"))?);
            }
            "policy" => {
                settings.policy = match (value, settings.policy) {
                    ("fifo", Policy::Fifo(priority)) => Policy::Fifo(priority),
                    ("other", _) => Policy::Other,
                    _ => return Err(wrong("there are fifo and other, and other has no priority")),
                }
            }
            "cpus" => {
                let cpus: Result<Vec<usize>, _> = value.split(',').map(str::parse).collect();
                settings.cpus = Some(cpus.map_err(|_| wrong("numbers of CPUs, as 0,1"))?);
            }
            "slack" => settings.timer_slack = quantity(name, quantities::positive_duration(value))?,
            "stop" => settings.stop_above = Some(quantity(name, quantities::positive_duration(value))?),
            _ => return Err(unknown(SCHEME.prefix, name, &names(&PARAMETERS))),
        }
    }
    Ok(settings)
}

pub(super) fn open(
    settings: &WakeupSettings,
    profile: &TrafficProfile,
    opening: &Opening,
) -> Result<Opened, Failure> {
    if profile.arrival != Arrival::constant() {
        return Err(Failure::usage("--arrival: a timer is due at constant intervals"));
    }
    let stop = Arc::clone(&opening.stop);
    let measurer =
        WakeupMeasurer::new(settings.clone(), opening.slices, profile.seed, opening.first_trial, stop);
    let cpus = measurer.cpus().map_err(failure)?;
    let used: Vec<String> =
        cpus.iter().cycle().take(settings.threads as usize).map(ToString::to_string).collect();
    let threads =
        if settings.threads == 1 { "a thread".into() } else { format!("{} threads", settings.threads) };
    Ok(Opened {
        note: Some(format!("{threads} on CPU {}, the load divided over them", used.join(", "))),
        generator: Some("clock_nanosleep to absolute times of CLOCK_MONOTONIC".into()),
        reply_buffer_bytes: None,
        measurer: Box::new(Timer(measurer)),
    })
}

fn failure(why: WakeupError) -> Failure {
    match why {
        WakeupError::Interrupted => Failure::interrupted(),
        WakeupError::NoCpu { .. } | WakeupError::NoWakeup(_) => Failure::usage(why),
        WakeupError::Thread(why) => Failure::thread(&why),
        WakeupError::System(_) => Failure::environment(why),
    }
}

/// A timer whose errors say what to do.
struct Timer(WakeupMeasurer);

impl Measurer for Timer {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        self.0.measure(input).map_err(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn options_are_read_from_the_target_word() {
        let settings = parse("?threads=2&priority=95&cpus=0,1&slack=50us&stop=200us").unwrap();
        assert_eq!((settings.threads, settings.policy), (2, Policy::Fifo(95)));
        assert_eq!(settings.cpus, Some(vec![0, 1]));
        assert_eq!(settings.timer_slack, Duration::from_micros(50));
        assert_eq!(settings.stop_above, Some(Duration::from_micros(200)));
        assert_eq!(parse("").unwrap(), WakeupSettings::default());
        assert_eq!(parse("?policy=other").unwrap().policy, Policy::Other);
        for bad in ["x", "?threads=0", "?priority=100", "?policy=idle", "?cpus=a", "?slack=1", "?treads=2"] {
            assert_eq!(parse(bad).unwrap_err().exit_code(), 2, "{bad}");
        }
    }
}
