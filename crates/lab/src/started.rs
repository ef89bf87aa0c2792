//! Programs started in a namespace, with a CPU and a scheduling class of their own.

use crate::{LabError, Namespace, program};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What to start, and how it is to run.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The program and its words; no shell reads them.
    pub words: Vec<String>,
    /// CPUs it may use, from 0; none: all.
    pub cpus: Vec<u32>,
    /// How it is scheduled.
    pub scheduling: Scheduling,
    /// More of its environment.
    pub environment: Vec<(String, String)>,
}

/// How a program is scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// As the program that starts it.
    #[default]
    Inherited,
    /// As most programs, with this niceness: 0 is neutral, 19 yields most, -20 least.
    Nice(i8),
    /// Before all ordinary programs, at this priority from 1 to 99 (SCHED_FIFO).
    Fifo(u8),
}

/// A program that runs; dropping it ends it.
#[derive(Debug)]
pub struct StartedTarget {
    child: Child,
    program: String,
    lines: Receiver<String>,
}

impl Start {
    /// A program with these words, scheduled as this one is.
    pub fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Starts it in `namespace`, or where this program runs. Its standard input stays open until it is to end.
    ///
    /// # Errors
    /// If a part is missing, or the system refuses.
    pub fn start(&self, namespace: Option<&Namespace>) -> Result<StartedTarget, LabError> {
        let mut words: Vec<String> = Vec::new();
        if let Some(namespace) = namespace {
            words.extend(["ip", "netns", "exec", namespace.name()].map(String::from));
        }
        match self.scheduling {
            Scheduling::Inherited => {}
            Scheduling::Nice(nice) => words.extend(["nice".into(), "-n".into(), nice.to_string()]),
            Scheduling::Fifo(priority) => {
                words.extend(["chrt".into(), "-f".into(), priority.to_string()]);
            }
        }
        if !self.cpus.is_empty() {
            let cpus: Vec<String> = self.cpus.iter().map(u32::to_string).collect();
            words.extend(["taskset".into(), "-c".into(), cpus.join(",")]);
        }
        words.extend(self.words.iter().cloned());
        let (first, rest) = words.split_first().ok_or_else(|| LabError::NotReady {
            program: "nothing".into(),
            why: "no program was named".into(),
        })?;
        // Each of these replaces itself by the next: the id of the child is the program's own.
        let mut child = program::command(first)
            .args(rest)
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| program::not_started(first, why))?;
        let printed = BufReader::new(child.stdout.take().expect("is piped"));
        let (send, lines) = channel();
        let listening = std::thread::Builder::new().name("listener".into()).spawn(move || {
            // Reads on when nobody asks any more: a full pipe would stop the program.
            printed.lines().map_while(Result::ok).for_each(|line| drop(send.send(line)));
        });
        let started = StartedTarget { child, program: self.words[0].clone(), lines };
        listening.map_err(LabError::system("starting a thread"))?;
        Ok(started)
    }
}

impl StartedTarget {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it reads.
    pub fn input(&mut self) -> Option<&mut ChildStdin> {
        self.child.stdin.as_mut()
    }

    /// Waits for a line that it prints of which `wanted` makes something.
    ///
    /// # Errors
    /// If it ends, or does not print one within `patience`.
    pub fn wait_for<T>(
        &self,
        patience: Duration,
        mut wanted: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, LabError> {
        let until = Instant::now() + patience;
        let not_ready = |why: String| LabError::NotReady { program: self.program.clone(), why };
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(found) = wanted(&line) {
                        return Ok(found);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(not_ready(format!("silent for {} s", patience.as_secs_f64())));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(not_ready("it ended".into())),
            }
        }
    }

    /// Closes its input and waits until it has ended by itself, at most for `patience`.
    pub fn end(mut self, patience: Duration) {
        drop(self.child.stdin.take());
        let until = Instant::now() + patience;
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for StartedTarget {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
