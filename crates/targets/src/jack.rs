//! `jack:` targets: an audio server's cycle, and how late its client is called.

use super::{Kind, Opened, Opening, Scheme};
use crate::parameters::{Parameter, names, parameters, unknown};
use dropline_archive::temporary::Scratch;
use dropline_failure::Failure;
use dropline_jack::{JackError, JackMeasurer, JackSettings, running};
use dropline_trial::{Arrival, Measurer, Rate, TrafficProfile, Trial, TrialInput};
use std::path::Path;
use std::sync::Arc;

pub(super) static PARAMETERS: [Parameter; 5] = [
    Parameter::new("period", "1 to 8192", "32", "frames of a cycle, in a trial without `--load`"),
    Parameter::new("rate", "1 to 384000", "48000", "frames a second"),
    Parameter::new("priority", "1 to 98", "80", "the server's real-time priority, where it is allowed"),
    Parameter::new("realtime", "`yes`, `no`", "yes", "`no` leaves it without real-time priority"),
    Parameter::new(
        "server",
        "a name, as `default`",
        "",
        "joins the server of this name that runs already, with its own period, rate and priority; without it one is started",
    ),
];
/// The period of the thread of 2004.
const PERIOD: u32 = 32;
/// Periods that a search looks at, where nobody says.
const LONGEST: u64 = 1024;
const SHORTEST: u64 = 8;

/// A server, and the period of a trial that names no load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Audio {
    settings: JackSettings,
    period: u32,
}

/// Its row in the table of targets.
pub(super) const SCHEME: Scheme = Scheme {
    prefix: "jack:",
    forms: &[
        ("jack:?period=32", "an audio server's cycles (further parameters: rate, priority, realtime)"),
        ("jack:?server=default", "the same for an audio server that is already running"),
    ],
    parse: |rest| parse(rest).map(Kind::Jack),
};

/// Reads `?period=32&rate=48000&priority=80&realtime=no` or `?server=default`.
fn parse(word: &str) -> Result<Audio, Failure> {
    let (rest, parameters) = parameters(word)?;
    if !rest.is_empty() {
        return Err(Failure::usage(format!(
            "jack:{rest} names nothing; write jack: or jack:?server=default"
        )));
    }
    let mut audio = Audio { settings: JackSettings::default(), period: PERIOD };
    let settings = &mut audio.settings;
    let mut started = None;
    for (name, value) in parameters {
        let wrong = |what: &str| Failure::usage(format!("{name}={value} in the target: {what}"));
        let number = |most: u32| value.parse::<u32>().ok().filter(|number| (1..=most).contains(number));
        match name {
            "period" => audio.period = number(8192).ok_or_else(|| wrong("1 to 8192 frames"))?,
            "rate" => settings.rate = number(384_000).ok_or_else(|| wrong("1 to 384000 frames a second"))?,
            "priority" => {
                let priority = number(98).ok_or_else(|| wrong("a priority is 1 to 98"))?;
                settings.priority = Some(priority as u8);
            }
            "realtime" => match value {
                "yes" => {}
                "no" => settings.priority = None,
                _ => return Err(wrong("yes or no")),
            },
            "server" if value.is_empty() => return Err(wrong("the name of a running server, as default")),
            "server" => settings.server = Some(value.into()),
            _ => return Err(unknown(SCHEME.prefix, name, &names(&PARAMETERS))),
        }
        if name != "server" {
            started = Some(name);
        }
    }
    match (started, &audio.settings.server) {
        (Some(name), Some(server)) => Err(Failure::usage(format!(
            "{name} is for a server that is started here; {server} runs already, with its own"
        ))),
        _ => Ok(audio),
    }
}

impl Audio {
    /// Loads that a search looks at: from a period of 1024 frames to one of 8.
    pub(super) fn range(&self) -> (Rate, Rate) {
        let load = |frames: u64| Rate::from_millipps(u64::from(self.settings.rate) * 1000 / frames);
        (load(LONGEST), load(SHORTEST))
    }

    /// Cycles a second of the period asked for, or of the server that runs.
    pub(super) fn load(&self) -> Option<Rate> {
        let (rate, period) = match &self.settings.server {
            None => (self.settings.rate, self.period),
            Some(server) => running(server).map(|running| (running.rate, running.period)).ok()?,
        };
        // Down: a load a thousandth of a cycle higher would be a shorter period.
        Some(Rate::from_millipps((u64::from(rate) * 1000 / u64::from(period.max(1))).max(1)))
    }
}

pub(super) fn open(audio: &Audio, profile: &TrafficProfile, opening: &Opening) -> Result<Opened, Failure> {
    if profile.arrival != Arrival::constant() {
        return Err(Failure::usage("--arrival: an audio server's cycles come at constant intervals"));
    }
    let settings = &audio.settings;
    let note = match &settings.server {
        None => format!(
            "jackd with the dummy driver, {} frames a second, {}, started for each trial",
            settings.rate,
            settings
                .priority
                .map_or_else(|| "no real-time policy".into(), |priority| format!("priority {priority}"))
        ),
        Some(server) => {
            let found = running(server).map_err(failure)?;
            let policy = if found.realtime { "real-time" } else { "no real-time policy" };
            format!("server {server}: {} frames at {} a second, {policy}", found.period, found.rate)
        }
    };
    let stop = Arc::clone(&opening.stop);
    let (mut settings, mut held) = (settings.clone(), None);
    if settings.server.is_none() {
        let own = Scratch::among(Path::new(SHARED), OURS, forget).map_err(Failure::environment)?;
        settings.own = own.name();
        held = Some(own);
    }
    let measurer = JackMeasurer::new(settings, opening.slices, profile.seed, opening.first_trial, stop);
    Ok(Opened {
        note: Some(note),
        generator: Some("a JACK client without ports; 0 is the fastest cycle seen".into()),
        reply_buffer_bytes: None,
        measurer: Box::new(Server(measurer, held)),
    })
}

fn failure(why: JackError) -> Failure {
    match why {
        JackError::Interrupted => Failure::interrupted(),
        JackError::Thread(why) => Failure::thread(&why),
        JackError::Period { .. } | JackError::Length(_) => Failure::usage(why),
        JackError::OtherPeriod { .. } => {
            Failure::usage(why).advice("leave --load out; a search needs a server that it may start: jack:")
        }
        JackError::NoServer { .. } | JackError::NotStarted(_) => Failure::environment(why)
            .advice("Debian's package jackd2 has jackd and libjack:  cargo xtask setup audio"),
        JackError::Ended { .. } | JackError::Stopped { .. } => Failure::environment(why),
    }
}

/// Where jackd keeps what its clients share.
const SHARED: &str = "/dev/shm";
/// How the servers that we start are named.
const OURS: &str = "dropline-jack-";

/// Removes what a killed run's servers and their clients left: jackd does so where it is asked to end, and only for clients
/// that left before.
fn forget(own: &Path) {
    let own = own.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for entry in Path::new(SHARED).read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Semaphores of clients and a socket of the server, each with its name.
        if name.starts_with("jack_") && name.contains(&own) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A server whose errors say what to do, and what says that it is ours as long as it is there.
struct Server(JackMeasurer, #[expect(dead_code, reason = "it is held")] Option<Scratch>);

impl Measurer for Server {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        self.0.measure(input).map_err(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_from_the_target_word() {
        let audio = parse("?period=64&rate=44100&realtime=no").unwrap();
        assert_eq!((audio.period, audio.settings.rate, audio.settings.priority), (64, 44_100, None));
        assert_eq!(audio.load().unwrap().as_millipps(), 689_062);
        assert_eq!(
            parse("").unwrap().load().unwrap().as_millipps(),
            1_500_000,
            "the 32 frames of the thread of 2004"
        );
        assert_eq!(parse("?server=default").unwrap().settings.server.as_deref(), Some("default"));
        assert_eq!(parse("?server=dropline-no-such-server").unwrap().load(), None);
        for bad in ["x", "?period=0", "?rate=a", "?realtime=1", "?server=", "?server=a&period=3", "?priod=3"]
        {
            assert_eq!(parse(bad).unwrap_err().exit_code(), 2, "{bad}");
        }
    }
}
