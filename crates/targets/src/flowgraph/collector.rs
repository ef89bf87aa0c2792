//! Collects a program's events while it runs: a session in shared memory, drained, correlated and kept.

use super::Settings;
use dropline_ctf::{TraceEntry, TraceWriter};
use dropline_failure::Failure;
use dropline_passage::Correlator;
use dropline_trace::{Clock, ClockCalibration, ClockPair, Kind, Session, TraceEvent};
use dropline_trial::passages::{KeptEvents, Passages, Recorder};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// Apart, so that two readings of both clocks tell the rate of a tick to 0.6 ppm.
const CALIBRATION: Duration = Duration::from_millis(100);
/// Events that are kept beside a record, at most: some 90 MB.
const KEPT: u64 = 4_000_000;

/// A session that is drained, and what was found in it so far.
pub struct Collector {
    session: Session,
    calibration: ClockCalibration,
    correlator: Correlator,
    keeping: Option<Keeping>,
    /// The first and the last stamp.
    span_ns: Option<(u64, u64)>,
}

/// Events on their way to a file.
struct Keeping {
    writer: TraceWriter,
    directory: PathBuf,
    events: u64,
    left_out: u64,
    broken: Option<std::io::Error>,
}

/// What a session came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Collected {
    /// By pipe, over time.
    pub passages: Passages,
    /// From the first event to the last one.
    pub span: Duration,
    /// How much the clock of the stamps changed its rate, in parts in a million.
    pub drift_ppm: f64,
}

impl Collected {
    /// A recorder that got no event.
    pub(super) fn nothing(recorder: &str) -> Self {
        let recorder = Recorder { name: recorder.into(), ..Recorder::default() };
        let passages = Passages { ratio: (1, 1), recorder, ..Passages::default() };
        Self { passages, span: Duration::ZERO, drift_ppm: 0.0 }
    }
}

impl Collector {
    /// Makes a session in memory; its events are also kept as a trace in `directory`, where one is named.
    ///
    /// # Errors
    /// If there is no room for it, or the directory exists or cannot be made.
    pub fn begin(settings: &Settings, directory: Option<&Path>) -> Result<Self, Failure> {
        let session = Session::in_memory(settings.shape).map_err(|why| {
            Failure::environment(format!("no room for the program's events: {why}"))
                .advice("fewer or smaller rings need less memory: rings=4&events=16384 in the target")
        })?;
        let calibration = calibration(session.clock())
            .ok_or_else(|| Failure::environment("the clock that stamps events stands still"))?;
        let keeping = directory.map(Keeping::begin).transpose()?;
        let correlator = Correlator::new(settings.meaning);
        Ok(Self { session, calibration, correlator, keeping, span_ns: None })
    }

    /// What the environment of a program must hold so that it records here.
    pub fn environment(&self) -> (&'static str, OsString) {
        let (name, path) = self.session.variable();
        (name, path.as_os_str().to_owned())
    }

    /// Tracepoints record from now on.
    pub fn start(&self) {
        self.session.start();
    }

    /// They record no more.
    pub fn stop(&self) {
        self.session.stop();
    }

    /// Takes what is there; how many events it was. Call it often: what does not fit meanwhile is counted and gone.
    pub fn drain(&mut self) -> u64 {
        self.drain_with(&mut |_, _| {})
    }

    /// As [`drain`](Self::drain); each event, and when it happened, is shown to `each` too.
    pub fn drain_with(&mut self, each: &mut dyn FnMut(TraceEvent, u64)) -> u64 {
        let Self { session, calibration, correlator, keeping, span_ns } = self;
        let mut span = *span_ns;
        let drained = session.drain(|ring, event| {
            let at_ns = calibration.ns(event.ticks);
            let (first, last) = span.unwrap_or((at_ns, at_ns));
            span = Some((first.min(at_ns), last.max(at_ns)));
            each(event, at_ns);
            match event.kind {
                Kind::Tx => drop(correlator.tx(event.pipe, event.n, at_ns)),
                Kind::Rx => drop(correlator.rx(event.pipe, event.n, at_ns)),
                Kind::InFlight => correlator.in_flight(event.pipe, event.n, at_ns),
                Kind::Crossing | Kind::Own(_) => {}
            }
            if let Some(keeping) = keeping {
                keeping.write(ring, at_ns, event);
            }
        });
        *span_ns = span;
        drained
    }

    /// Programs that have attached so far.
    pub fn programs(&self) -> u32 {
        self.session.counts().programs
    }

    /// Takes the last events and says what was found. `runs_on`: the program has not ended, so a pipe that is silent
    /// up to now is a pipe that stands still.
    ///
    /// # Errors
    /// If the events could not be kept: disk full, say.
    pub fn finish(mut self, runs_on: bool) -> Result<Collected, Failure> {
        while self.drain() > 0 {}
        let counts = self.session.counts();
        let ended = self.session.calibration();
        let clock = match self.session.clock() {
            Clock::Counter => "tsc",
            Clock::Monotonic => "monotonic",
        };
        let last_ns = self.span_ns.map(|(_, last)| last);
        let now_ns = self.calibration.ns(self.session.clock().ticks());
        let mut passages = self.correlator.finish(if runs_on { Some(now_ns) } else { last_ns });
        passages.recorder = Recorder {
            name: "ring".into(),
            clock: clock.into(),
            recorded: counts.recorded,
            discarded: counts.discarded,
            homeless: counts.homeless,
            lapped: counts.lapped,
            lost_packets: 0,
            unreadable: counts.unreadable,
            programs: counts.programs,
            ..passages.recorder
        };
        passages.kept = self.keeping.map(Keeping::finish).transpose()?;
        let (first, last) = self.span_ns.unwrap_or_default();
        let drift_ppm =
            ended.map_or(0.0, |ended| (ended.ns_per_tick() / self.calibration.ns_per_tick() - 1.0) * 1e6);
        Ok(Collected { passages, span: Duration::from_nanos(last - first), drift_ppm })
    }
}

/// Ticks in nanoseconds, from two readings far enough apart; the first one of this process serves all its sessions.
fn calibration(clock: Clock) -> Option<ClockCalibration> {
    static FIRST: OnceLock<ClockPair> = OnceLock::new();
    let first = *FIRST.get_or_init(|| ClockPair::read(clock));
    let since = Duration::from_nanos(ClockPair::read(clock).ns.saturating_sub(first.ns));
    thread::sleep(CALIBRATION.saturating_sub(since));
    ClockCalibration::between(first, ClockPair::read(clock))
}

/// An event as a trace has it.
fn entry(TraceEvent { kind, pipe, n, extra, .. }: TraceEvent) -> TraceEntry {
    match kind {
        Kind::Tx => TraceEntry::Tx { pipe, n },
        Kind::Rx => TraceEntry::Rx { pipe, n },
        Kind::Crossing => TraceEntry::Crossing { probe: pipe, delay_ticks: n },
        Kind::Own(number) => TraceEntry::Own { number, which: pipe, first: n, second: extra },
        Kind::InFlight => TraceEntry::InFlight { pipe, samples: n },
    }
}

impl Keeping {
    fn begin(directory: &Path) -> Result<Self, Failure> {
        let writer = TraceWriter::create(directory).map_err(|why| match why.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Failure::environment(format!("{} exists already", directory.display()))
                    .advice("it is of another record: move it away, or name another record: -o FILE")
            }
            _ => cannot_keep(directory, &why),
        })?;
        Ok(Self { writer, directory: directory.into(), events: 0, left_out: 0, broken: None })
    }

    fn write(&mut self, ring: u32, at_ns: u64, event: TraceEvent) {
        if self.events == KEPT || self.broken.is_some() {
            self.left_out += 1;
            return;
        }
        match self.writer.write(ring, at_ns, entry(event)) {
            Ok(()) => self.events += 1,
            Err(why) => self.broken = Some(why),
        }
    }

    fn finish(self) -> Result<KeptEvents, Failure> {
        let written = match self.broken {
            Some(why) => Err(why),
            None => self.writer.finish(|_| 0),
        };
        written.map_err(|why| cannot_keep(&self.directory, &why))?;
        let name = self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(KeptEvents { directory: name, events: self.events, left_out: self.left_out })
    }
}

fn cannot_keep(directory: &Path, why: &std::io::Error) -> Failure {
    Failure::environment(format!("the events cannot be kept in {}: {why}", directory.display()))
        .advice("measure without them: --no-packets")
}
