//! Targets: what a person names, a word like a URL, becomes what is measured.
//!
//! Owns each kind of target, and flowgraphs with their tracepoints. It decides no load.
//! Start reading at [`Target`].

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod asked_file;
pub mod background;
mod child_output;
mod command;
pub mod exec;
pub mod flowgraph;
mod given;
mod heartbeat;
mod http;
mod jack;
mod link;
mod listener;
mod opening;
mod own_protocol;
mod parameters;
pub mod replay;
mod scheme;
mod service;
mod simulated;
pub mod udp;
mod wakeup;

use dropline_archive::reading;
use dropline_failure::Failure;
use dropline_record::LoadUnit;
use dropline_traffic::Targets;
use dropline_trial::quantities::WrittenLoad;
use dropline_trial::{LoadRange, MOST_STREAMS, Packet, Part, Rate, TrafficProfile, Trial};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use http::DEADLINE;
pub use link::reflect;
pub use listener::{Listener, Spoken};
pub use opening::{AnyMeasurer, Elsewhere, Opened, Opening, ProgramFile};
pub use own_protocol::{captured_times, check_payload, is_words, with_payload};
pub use parameters::Parameter;
pub use scheme::{IN_TABLES, KINDS, PARAMETERS};
pub use service::reply_classes;
pub use simulated::Simulation;
pub use udp::generator_limit;

pub use dropline_fastpath::KernelReflector;
/// How far the trial is that runs.
pub use dropline_traffic::Progress as Live;

/// A target: the system under test as the user names it.
#[derive(Clone, Debug)]
pub struct Target {
    word: String,
    kind: Kind,
    /// The record that names it, where no person does.
    stored: Option<PathBuf>,
    /// Who performs its trials, where it is not this process.
    elsewhere: Option<Performers>,
}

/// Who performs trials elsewhere.
#[derive(Clone)]
struct Performers(Arc<dyn Elsewhere>);

impl fmt::Debug for Performers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Performers")
    }
}

impl PartialEq for Target {
    /// Whoever names it.
    fn eq(&self, other: &Self) -> bool {
        (&self.word, &self.kind) == (&other.word, &other.kind)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Exec { command: Vec<String> },
    Flowgraph(crate::flowgraph::Settings),
    Given(given::Given),
    Heartbeat { host: String, port: u16 },
    Http(http::Site),
    Jack(jack::Audio),
    Link(link::Link),
    Replay { path: PathBuf },
    Service(service::Named),
    Sim(Simulation),
    Udp { host: String, port: u16, reply: dropline_traffic::Reply },
    Wakeup(dropline_wakeup::WakeupSettings),
}

/// The host that a target is at.
struct Host<'a> {
    scheme: &'static str,
    name: &'a str,
    port: u16,
    sent: Sent,
}

/// What can be chosen of the traffic of a target's trials: each includes the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choices {
    /// Nothing: no packets are sent.
    Nothing,
    /// How long is waited for what is under way.
    Wait,
    /// How long packets are, and in which streams: whoever performs the trials is told.
    Packets,
    /// Also how they are moved: they are ours.
    Moved,
}

/// Why a flag of packets means nothing.
const SENT_NONE: &str = "it is sent no packets of ours";

/// What is sent to a host.
#[derive(Clone, Copy)]
enum Sent {
    /// Packets of this machine's generator.
    Packets {
        /// Whether the generator waits for the start of a trial by itself.
        together: bool,
        /// Whether all that are sent to it are counted there, whoever sent them.
        counted_there: bool,
    },
    /// Requests, by a tool that is started.
    Requests,
}

/// A kind of target that can be named.
#[derive(Debug)]
pub struct Scheme {
    /// What its word begins with.
    pub(crate) prefix: &'static str,
    /// Each way to write it, the plainest first, and what is measured then.
    pub forms: &'static [(&'static str, &'static str)],
    /// Reads what follows the prefix.
    pub(crate) parse: fn(&str) -> Result<Kind, Failure>,
}

impl Target {
    /// Reads a target.
    ///
    /// # Errors
    /// If the word names no kind of target, or a part of it is wrong.
    pub fn parse(word: &str) -> Result<Self, Failure> {
        let kind = scheme::parse(word)?;
        let word = match &kind {
            Kind::Http(site) => site.word(),
            _ => word.into(),
        };
        Ok(Self { word, kind, stored: None, elsewhere: None })
    }

    /// Reads a target that the record in this file names: data, which may come from elsewhere. It starts no program, and opens no file
    /// but those of the record's own directory.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn of_record(word: &str, record: &Path) -> Result<Self, Failure> {
        Ok(Self { stored: Some(record.to_owned()), ..Self::parse(word)? })
    }

    /// The same target, whose trials are performed by these.
    #[must_use]
    pub fn performed_by(self, performers: Arc<dyn Elsewhere>) -> Self {
        Self { elsewhere: Some(Performers(performers)), ..self }
    }

    /// Who performs its trials, in the words by which they are asked for; `None` where this process does.
    ///
    /// # Errors
    /// If they are not there.
    pub fn on(&self) -> Result<Option<String>, Failure> {
        self.elsewhere.as_ref().map(|Performers(elsewhere)| elsewhere.on()).transpose()
    }

    /// The host that it is at. Consent, and what a grant allows an agent, are asked for this host: a new kind has to say it here.
    #[deny(clippy::wildcard_enum_match_arm)]
    fn host(&self) -> Option<Host<'_>> {
        let packets = |together, counted_there| Sent::Packets { together, counted_there };
        let (scheme, name, port, sent) = match &self.kind {
            Kind::Heartbeat { host, port } => (heartbeat::SCHEME.prefix, host, *port, packets(false, true)),
            Kind::Http(site) => (http::SCHEME.prefix, &site.host, site.port, Sent::Requests),
            Kind::Service(named) => {
                (named.scheme, &named.host, named.port, packets(true, !named.is_answered()))
            }
            Kind::Udp { host, port, reply } => {
                let is_counted = *reply == dropline_traffic::Reply::None;
                (udp::SCHEME.prefix, host, *port, packets(true, is_counted))
            }
            Kind::Exec { .. }
            | Kind::Flowgraph(_)
            | Kind::Given(_)
            | Kind::Jack(_)
            | Kind::Link(_)
            | Kind::Replay { .. }
            | Kind::Sim(_)
            | Kind::Wakeup(_) => return None,
        };
        Some(Host { scheme, name, port, sent })
    }

    /// The host that packets of this machine's generator are sent to.
    fn host_of_packets(&self) -> Option<Host<'_>> {
        self.host().filter(|host| !matches!(host.sent, Sent::Requests))
    }

    /// Whether its generator waits for the start of a trial by itself, its sockets open and its schedule drawn
    /// ([`Opening::together`]).
    pub fn starts_together(&self) -> bool {
        self.host().is_some_and(|host| matches!(host.sent, Sent::Packets { together: true, .. }))
    }

    /// Whether all that are sent to it are counted at the target, whoever sent them: several generators cannot tell theirs apart.
    pub fn is_counted_there(&self) -> bool {
        self.host().is_some_and(|host| matches!(host.sent, Sent::Packets { counted_there: true, .. }))
    }

    /// The turn of the first request of a measurement by so many generators, where what is asked follows from turns.
    pub fn first_turn(&self, generators: u64, asked_below: u64) -> u64 {
        match &self.kind {
            Kind::Service(named) => named
                .service()
                .map_or(0, |service| dropline_traffic::first_turn(&service, generators, asked_below)),
            _ => 0,
        }
    }

    /// The address that its packets go to, where packets of ours are sent to one.
    ///
    /// # Errors
    /// If its name is not known.
    pub fn address(&self) -> Result<Option<SocketAddr>, Failure> {
        self.host_of_packets().map(|host| host.resolved()).transpose()
    }

    /// The port that its packets go to, as it is written.
    pub fn port(&self) -> Option<u16> {
        self.host_of_packets().map(|host| host.port)
    }

    /// A load as it is written, in what this target counts; `flag` says where.
    ///
    /// # Errors
    /// If it is of bits, and what is counted has none, or it is none that can be.
    pub fn load(&self, flag: &str, load: WrittenLoad, packet: Packet) -> Result<Rate, Failure> {
        let unit = self.load_unit();
        if matches!(load, WrittenLoad::Bits(_)) && unit != LoadUnit::Packets {
            let why = format!(
                "{flag}: a load of {self} is in {unit}, of which nobody knows how many bits they have"
            );
            let written = if unit == LoadUnit::Requests { "2krps" } else { "2kHz" };
            return Err(Failure::usage(why).advice(format!("write how many a second, as {written}")));
        }
        load.with(packet).map_err(|why| Failure::usage(format!("{flag}: {why}")))
    }

    /// What of its traffic can be chosen.
    #[deny(clippy::wildcard_enum_match_arm)]
    pub fn choices(&self) -> Choices {
        match &self.kind {
            Kind::Link(_) | Kind::Service(_) | Kind::Udp { .. } => Choices::Moved,
            Kind::Exec { .. } | Kind::Given(_) | Kind::Sim(_) => Choices::Packets,
            Kind::Flowgraph(_) | Kind::Heartbeat { .. } => Choices::Wait,
            Kind::Http(_) | Kind::Jack(_) | Kind::Replay { .. } | Kind::Wakeup(_) => Choices::Nothing,
        }
    }

    /// What it is sent that is no payload of its user's.
    fn is_sent(&self) -> &'static str {
        match &self.kind {
            Kind::Heartbeat { .. } => "is sent heartbeats",
            Kind::Http(_) | Kind::Service(_) => "has requests of its own",
            Kind::Link(_) => "is sent frames of ours",
            Kind::Udp { .. }
            | Kind::Exec { .. }
            | Kind::Flowgraph(_)
            | Kind::Given(_)
            | Kind::Jack(_)
            | Kind::Replay { .. }
            | Kind::Sim(_)
            | Kind::Wakeup(_) => "is sent no packets of ours",
        }
    }

    /// That a flag of packets means nothing to it, why, and what says the same of this target, where something does.
    pub fn no_choice(&self, flag: &str) -> Failure {
        let (why, instead) = match (&self.kind, flag) {
            (Kind::Http(_), _) => ("a tool sends its requests, by connections of its own", None),
            (Kind::Replay { .. }, _) => {
                ("its trials were performed before, and its record says of what packets", None)
            }
            (Kind::Heartbeat { .. }, _) => ("it is sent heartbeats, of one length and by one thread", None),
            (Kind::Wakeup(_), "--cpus") => {
                (SENT_NONE, Some("cpus= in the target says where its threads run, as wakeup:?cpus=0,1"))
            }
            (Kind::Wakeup(_), "--ordinary-priority") => {
                (SENT_NONE, Some("policy= in the target says it of its threads, as wakeup:?policy=other"))
            }
            (Kind::Jack(_), "--ordinary-priority") => {
                (SENT_NONE, Some("realtime= in the target says it of the server, as jack:?realtime=no"))
            }
            (Kind::Flowgraph(settings), "--cpus") if !settings.paces_itself() => (
                SENT_NONE,
                Some("cpus= in the target says where its graph runs, as flowgraph:futuresdr?cpus=0,1"),
            ),
            _ => (SENT_NONE, None),
        };
        let failure = Failure::usage(format!("{flag} means nothing to {self}: {why}"));
        failure.advice(instead.map_or_else(|| format!("leave {flag} out"), str::to_owned))
    }

    /// Whether a program is started for it.
    pub fn starts_a_program(&self) -> bool {
        match &self.kind {
            Kind::Exec { .. } | Kind::Http(_) | Kind::Jack(_) => true,
            Kind::Flowgraph(settings) => settings.starts_a_program(),
            Kind::Given(_)
            | Kind::Heartbeat { .. }
            | Kind::Link(_)
            | Kind::Replay { .. }
            | Kind::Service(_)
            | Kind::Sim(_)
            | Kind::Udp { .. }
            | Kind::Wakeup(_) => false,
        }
    }

    /// The file or directory that is read for it, where one is.
    pub fn file(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Replay { path } => Some(path),
            Kind::Flowgraph(settings) => settings.trace(),
            Kind::Service(named) => named.file(),
            Kind::Exec { .. }
            | Kind::Given(_)
            | Kind::Heartbeat { .. }
            | Kind::Http(_)
            | Kind::Jack(_)
            | Kind::Link(_)
            | Kind::Sim(_)
            | Kind::Udp { .. }
            | Kind::Wakeup(_) => None,
        }
    }

    /// The name of a host that would have to be asked for, of whoever knows names; an address and `localhost` need nobody.
    pub fn name_to_ask_for(&self) -> Option<&str> {
        let name = self.host()?.name;
        let is_known = name.parse::<IpAddr>().is_ok() || name == "localhost";
        (!is_known).then_some(name)
    }

    /// What it would do that no record may have done, where it may be opened only if it is typed again, in words that its own word
    /// follows.
    pub fn refused(&self) -> Option<&'static str> {
        let record = self.stored.as_deref()?;
        // A question tells the name's owner.
        if self.name_to_ask_for().is_some() {
            return Some("ask the network for the host of");
        }
        if self.starts_a_program() {
            return Some("start a program,");
        }
        let is_elsewhere = self.file().is_some_and(|file| !reading::lies_beside(record, file));
        is_elsewhere.then_some("open a file outside of its own directory,")
    }

    /// Whether it may be opened.
    fn allowed(&self) -> Result<(), Failure> {
        let Some(would) = self.refused() else { return Ok(()) };
        Err(Failure::environment(format!("what a record names would {would} {self}"))
            .advice("a record is data, and may come from elsewhere: write the target itself if it is meant"))
    }

    /// Makes it ready: checks that we may, that it answers, and builds what performs the trials.
    ///
    /// # Errors
    /// If it may not be measured, does not answer, or cannot be started.
    pub fn open(&self, profile: &TrafficProfile, opening: Opening) -> Result<Opened, Failure> {
        if let Some(Performers(elsewhere)) = &self.elsewhere {
            self.allowed()?;
            return elsewhere.open(self, profile, &opening);
        }
        self.allowed()?;
        match &self.kind {
            Kind::Exec { command } => Ok(Opened {
                measurer: Box::new(exec::Program::start(command, profile, opening)?),
                note: Some("another program performs the trials".into()),
                generator: None,
                reply_buffer_bytes: None,
            }),
            Kind::Flowgraph(settings) => flowgraph::kind::open(settings, profile, opening),
            Kind::Given(given) => given.open(&self.word, profile, &opening),
            Kind::Heartbeat { host, port } => heartbeat::open(host, *port, profile, opening),
            Kind::Http(site) => http::open(site, profile, opening),
            Kind::Replay { path } => Ok(Opened {
                measurer: Box::new(replay::Replay::open(path, opening.first_trial)?),
                note: Some("stored trials answered again".into()),
                generator: None,
                reply_buffer_bytes: None,
            }),
            Kind::Sim(simulation) => Ok(simulation.open(profile, &opening)),
            Kind::Service(named) => udp::open_service(named, profile, opening),
            Kind::Udp { host, port, reply } => udp::open(host, *port, *reply, profile, opening),
            Kind::Jack(audio) => jack::open(audio, profile, &opening),
            Kind::Link(link) => link::open(link, profile, &opening),
            Kind::Wakeup(settings) => wakeup::open(settings, profile, &opening),
        }
    }

    /// Whether it may be measured at all: asked before anything is sent or measured for it. Whatever is sent
    /// later is asked again, of the address that the name then has.
    ///
    /// # Errors
    /// If its packets would leave this machine, or nobody can tell.
    pub fn consent(&self, further: &Targets) -> Result<(), Failure> {
        self.allowed()?;
        if let Kind::Given(given) = &self.kind {
            given.present(&self.word)?;
        }
        self.host().map_or(Ok(()), |host| udp::consent_of_all(host.resolved()?, further))
    }

    /// The loads a search uses when the user does not say; `None` for an end that only the user knows.
    pub fn default_range(&self) -> (Rate, Option<Rate>) {
        match &self.kind {
            Kind::Sim(simulation) => {
                let range: LoadRange = simulation.range();
                (range.min(), Some(range.max()))
            }
            Kind::Jack(audio) => {
                let (min, max) = audio.range();
                (min, Some(max))
            }
            Kind::Replay { path } => match replay::Replay::range(path) {
                Some(range) => (range.min(), Some(range.max())),
                None => (Rate::from_millipps(1_000_000), None),
            },
            // No graph is known that takes more.
            Kind::Flowgraph(_) => {
                (Rate::from_millipps(1_000_000_000), Some(Rate::from_millipps(2_000_000_000_000)))
            }
            Kind::Http(_) => http::Site::range(),
            Kind::Wakeup(_) => (Rate::from_millipps(1_000_000), Some(Rate::from_millipps(100_000_000))),
            _ => (Rate::from_millipps(1_000_000), None),
        }
    }

    /// The record whose trials are answered again.
    pub fn replayed(&self) -> Option<dropline_record::Record> {
        match &self.kind {
            Kind::Replay { path } => replay::Replay::record(path),
            _ => None,
        }
    }

    /// Why the record whose trials would be answered again cannot be read.
    pub fn unreadable(&self) -> Option<Failure> {
        match &self.kind {
            Kind::Replay { path } => replay::Replay::unreadable(path),
            _ => None,
        }
    }

    /// What one of a load is.
    pub fn load_unit(&self) -> LoadUnit {
        match &self.kind {
            Kind::Flowgraph(settings) if settings.meaning.granularity.is_some() => LoadUnit::Samples,
            Kind::Flowgraph(_) => LoadUnit::Granules,
            Kind::Http(_) => LoadUnit::Requests,
            Kind::Jack(_) => LoadUnit::Cycles,
            Kind::Wakeup(_) => LoadUnit::Wakeups,
            _ => LoadUnit::Packets,
        }
    }

    /// The load that is offered when nobody says, where there is a usual one.
    pub fn default_load(&self) -> Option<Rate> {
        match &self.kind {
            Kind::Jack(audio) => audio.load(),
            Kind::Wakeup(_) => Some(Rate::from_millipps(1_000_000)),
            _ => None,
        }
    }

    /// The same target, measured until something is later than this.
    ///
    /// # Errors
    /// If it is one that cannot be stopped so.
    pub fn stopping_above(mut self, limit: Duration) -> Result<Self, Failure> {
        match &mut self.kind {
            Kind::Wakeup(settings) => settings.stop_above = Some(limit),
            _ => {
                return Err(Failure::usage(format!(
                    "--stop-above is for wakeup: targets, not {}",
                    self.word
                )));
            }
        }
        Ok(self)
    }

    /// Whether it decides itself how much it does: there is no load to offer, and none to search for.
    pub fn paces_itself(&self) -> bool {
        matches!(&self.kind, Kind::Flowgraph(settings) if settings.paces_itself())
    }

    /// The same target at its own pace, where it can be run without a load too; else itself.
    #[must_use]
    pub fn at_own_pace(mut self) -> Self {
        if let Kind::Flowgraph(settings) = &mut self.kind {
            settings.free();
        }
        self
    }

    /// The same target; a program that performs its trials has this in its environment.
    #[must_use]
    pub fn with_environment(mut self, name: &str, value: &str) -> Self {
        if let Kind::Exec { command } = &mut self.kind {
            command.splice(0..0, ["env".to_owned(), format!("{name}={value}")]);
        }
        self
    }

    /// The same target for several searches, each with a chance of its own, and the seed of the first of them: a system
    /// that would be drawn by the seed is drawn once.
    pub fn repeated(&self, seed: u64) -> (Self, u64) {
        match &self.kind {
            Kind::Sim(simulation) => {
                let (simulation, seed) = simulation.repeated(seed);
                (
                    Self {
                        word: format!("sim:{}", simulation.word()),
                        kind: Kind::Sim(simulation),
                        ..self.clone()
                    },
                    seed,
                )
            }
            _ => (self.clone(), seed),
        }
    }

    /// Whether a program that is started performs its trials (`exec:`).
    pub fn is_exec(&self) -> bool {
        matches!(self.kind, Kind::Exec { .. })
    }

    /// Whether the times of the single packets of a trial can be kept.
    pub fn keeps_times(&self) -> bool {
        self.is_udp() || self.is_of_frames()
    }

    /// Whether packets of this machine's generator are sent.
    pub fn is_udp(&self) -> bool {
        self.host_of_packets().is_some()
    }

    /// The size of its packets, where it has requests of its own: that of the longest.
    ///
    /// # Errors
    /// If what it is asked cannot be read.
    pub fn own_packet(&self) -> Result<Option<Packet>, Failure> {
        match &self.kind {
            Kind::Service(named) => named.packet().map(Some),
            _ => Ok(None),
        }
    }

    /// Streams where nobody says how many, at most this load, where a reply may take so long.
    fn default_streams(&self, load: Rate, longest: Duration) -> u32 {
        match &self.kind {
            Kind::Service(named) => u32::try_from(named.streams(load, longest))
                .map_or(MOST_STREAMS, |needed| needed.min(MOST_STREAMS)),
            _ => 1,
        }
    }

    /// The profile with the streams that are needed at most this load, where nobody says how many.
    #[must_use]
    pub fn spread(&self, profile: TrafficProfile, load: Rate) -> TrafficProfile {
        if matches!(self.kind, Kind::Replay { .. }) {
            return profile;
        }
        let streams = Part::equal(self.default_streams(load, profile.drain.longest));
        TrafficProfile { streams, ..profile }
    }

    /// Whether clients that pace themselves can be sent to it.
    pub fn takes_clients(&self) -> bool {
        matches!(self.kind, Kind::Udp { .. })
    }

    /// Whether it is sent frames of ours, by interfaces of this machine: by one, and out at another.
    pub fn is_of_frames(&self) -> bool {
        matches!(self.kind, Kind::Link(_))
    }

    /// Whether what performs its trials can send the load over several directions.
    pub fn takes_directions(&self) -> bool {
        match self.kind {
            Kind::Exec { .. } | Kind::Given(_) | Kind::Link(_) | Kind::Sim(_) => true,
            Kind::Flowgraph(_)
            | Kind::Heartbeat { .. }
            | Kind::Http(_)
            | Kind::Jack(_)
            | Kind::Replay { .. }
            | Kind::Service(_)
            | Kind::Udp { .. }
            | Kind::Wakeup(_) => false,
        }
    }

    /// The simulated system, where it is one.
    pub fn simulation(&self) -> Option<&Simulation> {
        match &self.kind {
            Kind::Sim(simulation) => Some(simulation),
            _ => None,
        }
    }
}

impl Host<'_> {
    fn resolved(&self) -> Result<SocketAddr, Failure> {
        udp::resolve(self.name, self.port, self.scheme)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word)
    }
}

/// A trial that nobody stopped: any other is no evidence.
///
/// # Errors
/// If it was interrupted.
pub fn whole(trial: Trial) -> Result<Trial, Failure> {
    if trial.is_interrupted() { Err(Failure::interrupted()) } else { Ok(trial) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_word_that_names_no_target_says_what_targets_there_are() {
        let error = Target::parse("127.0.0.1:7007").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("udp://HOST:PORT"), "{error}");
        for bad in [
            "udp://localhost",
            "udp://:1",
            "udp://h:0",
            "heartbeat://h",
            "sim:harder",
            "exec:",
            "exec:'open",
            "sim:hard?x",
            "sim:hard?seed=1&seed=2",
            "udp://h:1?reply=none&reply=echo",
        ] {
            assert_eq!(Target::parse(bad).unwrap_err().exit_code(), 2, "{bad}");
        }
    }

    #[test]
    fn a_target_that_a_record_names_starts_no_program() {
        let opening = Opening { patience: Duration::from_secs(1), ..Opening::default() };
        for word in ["exec:touch made", "flowgraph:exec:touch made", "jack:"] {
            let stored = Target::of_record(word, Path::new("r.jsonl")).unwrap();
            assert_eq!(stored, Target::parse(word).unwrap(), "it is the same target");
            let Err(error) = stored.open(&TrafficProfile::default(), opening.clone()) else {
                panic!("{word} was opened")
            };
            assert!(
                error.exit_code() == 4 && error.to_string().contains("a record names"),
                "{word}: {error}"
            );
        }
        assert!(!Path::new("made").exists());
        let stored = Target::of_record("sim:hard", Path::new("r.jsonl")).unwrap();
        assert!(stored.open(&TrafficProfile::default(), opening).is_ok());
    }

    #[test]
    fn a_target_that_a_record_names_opens_no_file_but_those_of_the_records_own_directory() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(at("own/below")).unwrap();
        let files = ["secret", "own/asked", "own/.hidden", "own/below/asked"];
        files.iter().for_each(|name| std::fs::write(at(name), "example.org A\n").unwrap());
        std::os::unix::fs::symlink(at("secret"), at("own/link")).unwrap();
        let record = at("own/r.jsonl");
        for form in ["replay:F", "dns://127.0.0.1:53?queries=F", "udp://127.0.0.1:7?payload=F&reply=any"] {
            for (name, is_opened) in [
                ("own/asked", true),
                ("own/below/asked", true),
                ("secret", false),
                ("own/link", false),
                ("own/.hidden", false),
                ("own/../secret", false),
                ("own/none", true),
                ("none", false),
            ] {
                let word = form.replace('F', &at(name).to_string_lossy());
                let stored = Target::of_record(&word, &record).unwrap();
                assert_eq!(stored.refused().is_none(), is_opened, "{word}");
                assert_eq!(Target::parse(&word).unwrap().refused(), None, "who types it means it: {word}");
            }
        }
    }

    #[test]
    fn what_nothing_comes_back_of_is_counted_at_the_target_whoever_sent_it() {
        for (word, is_counted) in [
            ("udp://127.0.0.1:7?reply=none", true),
            ("udp://127.0.0.1:7?payload=text:x{counter:8}&reply=none", true),
            ("udp://127.0.0.1:7?payload=a-file&reply=none", true),
            ("heartbeat://127.0.0.1:7", true),
            ("udp://127.0.0.1:7", false),
            ("udp://127.0.0.1:7?payload=text:x{counter:8}&reply=any", false),
            ("dns://127.0.0.1:7?names=a.test", false),
            ("sim:consistent", false),
        ] {
            assert_eq!(Target::parse(word).unwrap().is_counted_there(), is_counted, "{word}");
        }
    }

    #[test]
    fn commands_are_split_by_posix_rules_without_a_shell() {
        let target = Target::parse("exec:prog 'two words' $HOME; rm").unwrap();
        let command = ["prog", "two words", "$HOME;", "rm"].map(String::from).to_vec();
        assert_eq!(target.kind, Kind::Exec { command });
    }
}
