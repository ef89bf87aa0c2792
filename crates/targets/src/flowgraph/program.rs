//! A user's program with its tracepoints, as a target: started, collected, ended.

use super::summary::{self, Ending};
use super::{Collected, Collector, LttngSession, Names, Recording, Settings, recorded};
use crate::child_output::Said;
use crate::{Opening, ProgramFile};
use dropline_archive::temporary::Scratch;
use dropline_failure::Failure;
use dropline_passage::CorrelatorSettings as Meaning;
use dropline_trace::TraceEvent;
use dropline_traffic::{Farewell, Signal, Started, start_with_us};
use dropline_trial::passages::{KeptEvents, Recorder};
use dropline_trial::{Measurer, Trial, TrialInput, seed};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at rings that were empty.
const PAUSE: Duration = Duration::from_millis(1);
/// From being asked to end to being killed.
const GRACE: Duration = Duration::from_secs(2);

/// Starts the program once a trial, and collects what it records until it ends or its time is over.
pub struct TracedProgram {
    command: Vec<String>,
    settings: Settings,
    opening: Opening,
    seed: u64,
    number: u64,
}

impl TracedProgram {
    /// `seed` is that of the profile.
    pub fn new(command: Vec<String>, settings: Settings, opening: Opening, seed: u64) -> Self {
        let number = opening.first_trial;
        Self { command, settings, opening, seed, number }
    }

    fn start(&self, recorders: &Recorders) -> Result<Running, Failure> {
        let name = &self.command[0];
        // Its words must not be taken for our result, nor steer a terminal.
        let (words, output) = std::io::pipe().map_err(Failure::environment)?;
        let errors = output.try_clone().map_err(Failure::environment)?;
        let mut command = Command::new(name);
        command.args(&self.command[1..]).envs(recorders.environment()).stdin(Stdio::null());
        command.stdout(output).stderr(errors);
        let mut child = start_with_us(&mut command, Farewell::Killed).map_err(|why| {
            Failure::environment(format!("cannot start {name:?}: {why}")).advice(
                "a flowgraph:exec: command is a program with its arguments; it is run without a shell",
            )
        })?;
        let said = Said::shown(words).inspect_err(|_| child.end())?;
        Ok(Running { child, ended: None, said })
    }

    fn recorded_nothing(&self, recorder: &Recorder, status: Option<ExitStatus>) -> Failure {
        let name = &self.command[0];
        let how = status.map_or_else(String::new, |status| format!(", and ended ({status})"));
        let (what, advice) = if recorder.name == LTTNG {
            (
                "an LTTng session that records dropline:* got no event",
                "is it built with crate dropline-trace or c/trace/dropline_trace.h, and does it load the provider?",
            )
        } else if recorder.programs == 0 {
            (
                "no tracepoint of it was reached",
                "build it with crate dropline-trace or c/trace/dropline_trace.h",
            )
        } else {
            (
                "it joined the session and recorded no tx and no rx",
                "call tx where granules leave, rx where they arrive",
            )
        };
        Failure::environment(format!("{name:?} recorded nothing: {what}{how}")).advice(advice)
    }
}

impl Measurer for TracedProgram {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        let begun = Instant::now();
        let mut recorders = Recorders::begin(&self.settings, &self.opening)?;
        let mut running = self.start(&recorders)?;
        let until = Instant::now() + input.duration;
        let ending = loop {
            let drained = recorders.drain();
            if running.has_ended()? {
                break Ending::ByItself;
            }
            if self.opening.stop.load(Ordering::Relaxed) {
                break Ending::Interrupted;
            }
            if Instant::now() >= until {
                break Ending::TimeOver;
            }
            if drained == 0 {
                thread::sleep(PAUSE);
            }
        };
        // First our numbers, then the end: what its end records is not of the trial.
        let collected = recorders.finish(ending, || running.end(), self.settings.meaning)?;
        let status = running.ended;
        if collected.passages.pipes.is_empty() {
            return Err(match ending {
                Ending::Interrupted => Failure::interrupted(),
                _ => self.recorded_nothing(&collected.passages.recorder, status),
            });
        }
        let failed = status.filter(|status| ending == Ending::ByItself && !status.success());
        let number = self.number;
        self.number += 1;
        let trial = Trial::new(number, input, seed::of_trial(self.seed, number));
        let failed = failed.map(|status| status.to_string());
        Ok(summary::trial(trial, collected, ending, failed, begun.elapsed()))
    }
}

/// A recorder's name.
const LTTNG: &str = "lttng";

/// Who records a trial.
pub(super) struct Recorders {
    ring: Option<Collector>,
    lttng: Option<Lttng>,
}

/// A session of LTTng and its trace.
struct Lttng {
    session: LttngSession,
    trace: PathBuf,
    /// Of the trace, where it is not kept.
    gone_afterwards: Option<Scratch>,
}

impl Recorders {
    pub(super) fn begin(settings: &Settings, opening: &Opening) -> Result<Self, Failure> {
        let keep = opening.keep_events.as_deref();
        let recording = settings.recording;
        let ring = match recording {
            Recording::Lttng => None,
            Recording::Ring => Some(Collector::begin(settings, keep)?),
            Recording::Both => Some(Collector::begin(settings, None)?),
        };
        if let Some(ring) = &ring {
            ring.start();
        }
        let lttng =
            (recording != Recording::Ring).then(|| Lttng::begin(keep, &opening.program)).transpose()?;
        Ok(Self { ring, lttng })
    }

    pub(super) fn environment(&self) -> Vec<(&'static str, OsString)> {
        let ring = self.ring.iter().map(Collector::environment);
        ring.chain(self.lttng.iter().flat_map(|lttng| lttng.session.environment())).collect()
    }

    fn drain(&mut self) -> u64 {
        self.drain_with(&mut |_, _| {})
    }

    /// Takes what our rings hold; each event, and when it happened, is shown to `each` too.
    pub(super) fn drain_with(&mut self, each: &mut dyn FnMut(TraceEvent, u64)) -> u64 {
        self.ring.as_mut().map_or(0, |ring| ring.drain_with(each))
    }

    /// Our tracepoints record no more.
    pub(super) fn stop(&self) {
        if let Some(ring) = &self.ring {
            ring.stop();
        }
    }

    /// Ends the recording and the program, and says what was found.
    pub(super) fn finish(
        self,
        ending: Ending,
        end: impl FnOnce(),
        meaning: Meaning,
    ) -> Result<Collected, Failure> {
        let ring = self.ring.map(|ring| {
            ring.stop();
            ring.finish(ending != Ending::ByItself)
        });
        // LTTng's buffers are the program's too: what it has not handed over is handed over at its end.
        end();
        let lttng = self.lttng.map(|lttng| lttng.finish(meaning));
        match (ring.transpose()?, lttng.transpose()?) {
            (Some(mut ring), Some(lttng)) => {
                ring.passages.kept = lttng.passages.kept;
                Ok(ring)
            }
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) => unreachable!("somebody records"),
        }
    }
}

impl Lttng {
    fn begin(keep: Option<&Path>, dropline: &ProgramFile) -> Result<Self, Failure> {
        let (trace, gone) = match keep {
            Some(directory) => (directory.to_owned(), None),
            None => {
                let directory = Scratch::new().map_err(Failure::environment)?;
                (directory.path().join("trace"), Some(directory))
            }
        };
        let session = LttngSession::begin(&trace, dropline)?;
        Ok(Self { session, trace, gone_afterwards: gone })
    }

    fn finish(self, meaning: Meaning) -> Result<Collected, Failure> {
        let counted = self.session.end()?;
        let names = Names::default();
        let mut found = match recorded::read(&self.trace, &names, meaning, LTTNG) {
            Ok(found) => found.collected,
            // No program registered: there is not even a stream.
            Err(_) if !has_trace(&self.trace) => Collected::nothing(LTTNG),
            Err(why) => return Err(why),
        };
        // Packets say what was discarded before them; the session knows of what came after the last one too.
        let recorder = &mut found.passages.recorder;
        recorder.discarded = recorder.discarded.max(counted);
        if self.gone_afterwards.is_none() {
            found.passages.kept = Some(KeptEvents {
                directory: self.trace.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                events: recorder.recorded,
                left_out: 0,
            });
        }
        Ok(found)
    }
}

/// Whether LTTng wrote a trace; it makes its directories before the first program registers.
fn has_trace(directory: &Path) -> bool {
    let entries = directory.read_dir().into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .any(|path| path.ends_with("metadata") || (path.is_dir() && has_trace(&path)))
}

/// A program that is ended with its trial, whatever happens.
struct Running {
    child: Started,
    ended: Option<ExitStatus>,
    said: Said,
}

impl Running {
    fn has_ended(&mut self) -> Result<bool, Failure> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().map_err(Failure::environment)?;
        }
        Ok(self.ended.is_some())
    }

    /// Asks it to end, then sees to it: it, and what it started.
    fn end(&mut self) {
        if self.ended.is_some() {
            return;
        }
        // One that has ended needs no signal.
        let _ = self.child.signal_group(Signal::TERM);
        let until = Instant::now() + GRACE;
        while Instant::now() < until {
            if !matches!(self.has_ended(), Ok(false)) {
                return;
            }
            thread::sleep(PAUSE);
        }
        let _ = self.child.signal_group(Signal::KILL);
        self.ended = self.child.wait().ok();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
        self.said.wait();
    }
}
