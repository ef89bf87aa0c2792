//! The program that runs a graph: where it is, started, asked, ended.

use crate::ProgramFile;
use crate::flowgraph::graph::{Framework, Graph};
use crate::flowgraph::program::Recorders;
use dropline_archive::reading;
use dropline_failure::Failure;
use dropline_printable::lines;
use dropline_traffic::{Farewell, Started, start_with_us};
use std::collections::VecDeque;
use std::io::{BufReader, Write as _};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Where the programs are, if not where `cargo xtask setup flowgraph` leaves them.
const PLACE: &str = "DROPLINE_FLOWGRAPHS";
/// Lines of a program's own words that are kept for an error.
const WORDS: usize = 8;
/// From its answer to being killed.
const GRACE: Duration = Duration::from_secs(5);

/// A program that runs one trial, ended with it.
pub(super) struct Running {
    child: Started,
    stdin: Option<ChildStdin>,
    answers: Receiver<String>,
    words: Arc<Mutex<VecDeque<String>>>,
    listening: JoinHandle<()>,
    name: &'static str,
    answered: bool,
}

impl Framework {
    fn program(self) -> &'static str {
        match self {
            Self::FutureSdr => "dropline-futuresdr",
            Self::GnuRadio => "dropline-gnuradio",
        }
    }

    /// The program's file, looked for around that of `dropline`.
    ///
    /// # Errors
    /// If it is nowhere, with the command that builds it.
    pub fn find(self, dropline: &ProgramFile) -> Result<PathBuf, Failure> {
        self.find_in(places(dropline))
    }

    fn find_in(self, places: Vec<PathBuf>) -> Result<PathBuf, Failure> {
        let name = self.program();
        places.into_iter().map(|place| place.join(name)).find(|path| path.is_file()).ok_or_else(|| {
            Failure::environment(format!("flowgraph:{}: the program {name} is not here", self.word())).advice(
                format!(
                    "build it in Dropline's sources:  cargo xtask setup flowgraph\n  or say where it is:  {PLACE}=DIRECTORY"
                ),
            )
        })
    }
}

/// Named, beside `dropline`, where the build leaves it in a directory around, on PATH.
fn places(dropline: &ProgramFile) -> Vec<PathBuf> {
    let around = dropline.around();
    let built: Vec<PathBuf> = around.iter().map(|directory| directory.join("flowgraph/bin")).collect();
    let named = std::env::var_os(PLACE).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    named
        .into_iter()
        .chain(around.into_iter().next())
        .chain(built)
        .chain(std::env::split_paths(&path))
        .collect()
}

impl Running {
    /// Starts the program with its graph; it records for `recorders`.
    pub(super) fn start(
        dropline: &ProgramFile,
        graph: &Graph,
        granularity: u64,
        cpus: &[u32],
        drain_us: u128,
        recorders: Option<&Recorders>,
    ) -> Result<Self, Failure> {
        let path = graph.framework.find(dropline)?;
        let mut command = Command::new(&path);
        let mut flag = |name: &str, value: String| {
            command.args([name, &value]);
        };
        let on = |is: bool| if is { "on" } else { "off" }.to_owned();
        flag("--pipes", graph.pipes.to_string());
        flag("--stages", graph.stages.to_string());
        flag("--scheduler", graph.scheduler.clone());
        flag("--buffer-bytes", graph.buffer_bytes.to_string());
        flag("--max-copy", graph.max_copy.to_string());
        flag("--granularity", granularity.to_string());
        flag("--backlog-us", graph.backlog.as_micros().max(1).to_string());
        flag("--drain-us", drain_us.to_string());
        flag("--probes", on(!graph.bare));
        flag("--residence", on(graph.residence));
        if let Some(samples) = graph.samples {
            flag("--samples", samples.to_string());
        }
        // A paced source hands on in bursts: a sampler that wakes up between them would see too little.
        if let Some(period) = graph.in_flight_every.filter(|_| !graph.paced) {
            flag("--in-flight-us", period.as_micros().max(1).to_string());
        }
        let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        if !cpus.is_empty() {
            flag("--cpus", cpus.join(","));
        }
        let environment = recorders.map(Recorders::environment).unwrap_or_default();
        command
            // What our own environment names is not who records this graph.
            .env_remove("DROPLINE_TRACE")
            .env_remove("DROPLINE_LTTNG")
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = start_with_us(&mut command, Farewell::Killed)
            .map_err(|why| Failure::environment(format!("cannot start {}: {why}", path.display())))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (send, answers) = channel();
        let hand_on = move || {
            let mut stdout = BufReader::new(stdout.expect("stdout is a pipe"));
            let mut lines = std::iter::from_fn(move || reading::line(&mut stdout).ok().flatten());
            // Nobody listens any more once the trial is over.
            let _ = lines.try_for_each(|line| send.send(line));
        };
        let words: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let kept = Arc::clone(&words);
        let keep = move || {
            for line in lines(BufReader::new(stderr.expect("stderr is a pipe"))) {
                let mut kept = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                kept.push_back(line);
                if kept.len() > WORDS {
                    kept.pop_front();
                }
            }
        };
        let answering = thread::Builder::new().spawn(hand_on);
        let listening = answering.and_then(|_| thread::Builder::new().spawn(keep));
        let listening = listening.map_err(|why| {
            child.end();
            Failure::thread(&why)
        })?;
        Ok(Self { child, stdin, answers, words, listening, name: graph.framework.program(), answered: false })
    }

    /// Asks for the trial.
    pub(super) fn ask(&mut self, request: &str) -> Result<(), Failure> {
        let sent = match &mut self.stdin {
            Some(stdin) => stdin.write_all(request.as_bytes()).and_then(|()| stdin.flush()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        self.answered = false;
        sent.map_err(|_| self.died())
    }

    /// The answer, if it is there.
    pub(super) fn answer(&mut self) -> Result<Option<String>, Failure> {
        match self.answers.try_recv() {
            Ok(line) => {
                self.answered = true;
                Ok(Some(line))
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(self.died()),
        }
    }

    /// Answered, it ends by itself, and LTTng gets what it has; else it is of no use any more.
    pub(super) fn end(&mut self) {
        self.stdin = None;
        let until = Instant::now() + if self.answered { GRACE } else { Duration::ZERO };
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= until {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn died(&mut self) -> Failure {
        let how = self.child.wait().map_or_else(|why| why.to_string(), |status| status.to_string());
        // Its last words may still be on their way; what it started may keep them open.
        let until = Instant::now() + GRACE;
        while !self.listening.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        let words = self.words.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let said: Vec<&str> = words.iter().map(String::as_str).collect();
        Failure::environment(format!("{} ended without an answer ({how})", self.name)).advice(
            if said.is_empty() {
                "it said nothing; run it by hand: its --help says how".into()
            } else {
                said.join("\n  ")
            },
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_is_named_with_the_command_that_builds_it() {
        let directory = tempfile::tempdir().unwrap();
        let places = || vec![directory.path().to_owned()];
        let why = Framework::GnuRadio.find_in(places()).unwrap_err();
        assert_eq!(why.exit_code(), 4);
        let words = why.to_string();
        assert!(
            words.contains("dropline-gnuradio") && words.contains("cargo xtask setup flowgraph"),
            "{words}"
        );
        let program = directory.path().join("dropline-gnuradio");
        std::fs::write(&program, "").unwrap();
        assert_eq!(Framework::GnuRadio.find_in(places()).unwrap(), program);
    }
}
