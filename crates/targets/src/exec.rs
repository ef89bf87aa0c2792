//! `exec:` targets: another program performs the trials, one JSON object a line.

mod answer;
mod fields;
mod question;
mod twice;
mod wrong;

pub use answer::{Answer, AnswerCaveat, AnswerSlice};
pub use fields::FieldError;
pub use question::Question;
pub use wrong::WrongAnswer;

use super::child_output::Said;
use super::command::command;
use super::{Kind, Opening, Scheme};
use dropline_archive::reading::{self, Unread};
use dropline_failure::Failure;
use dropline_traffic::{Farewell, Started, start_with_us};
use dropline_trial::{Caveat, Measurer, Part, TrafficProfile, Trial, TrialInput};
use fields::Fields;
use serde::Serialize;
use std::io::{BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Its row in the table of targets.
pub(super) const SCHEME: Scheme = Scheme {
    prefix: "exec:",
    forms: &[("exec:COMMAND", "another program performs the trials, one JSON object on each line")],
    parse: |rest| command(rest).map(|command| Kind::Exec { command }),
};

/// Lines that are read before somebody wants them; a program that says more waits.
const LINES_AHEAD: usize = 2;
/// How long a program has to end once its stdin is closed, if nobody is less patient; and to answer the trial that is
/// under way then.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// A running program that answers trial inputs.
pub struct Program {
    name: String,
    child: Started,
    requests: Option<ChildStdin>,
    answers: Receiver<Result<Line, Unread>>,
    said: Said,
    profile: TrafficProfile,
    opening: Opening,
    next_trial: u64,
}

/// What a program said.
struct Line {
    text: String,
    /// Whether it had said more by then.
    more: bool,
}

/// One line to the program. The profile's part is repeated for programs without memory.
#[derive(Debug, Serialize)]
pub struct Request {
    /// Number of the trial, from 1.
    pub trial: u64,
    /// Intended load.
    pub intended_load_pps: f64,
    /// Duration asked for.
    pub duration_s: f64,
    /// Arrival process.
    pub arrival: Option<String>,
    /// Chance of this trial.
    pub seed: Option<u64>,
    /// UDP payload in bytes.
    pub packet_bytes: Option<u32>,
    /// What the load is divided over: name and share.
    pub streams: Vec<(String, u32)>,
    /// What the load is the sum of: name and share.
    pub directions: Vec<(String, u32)>,
}

impl Program {
    /// Starts the program, without a shell.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(command: &[String], profile: &TrafficProfile, opening: Opening) -> Result<Self, Failure> {
        let name = command[0].clone();
        let mut program = Command::new(&name);
        program.args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = start_with_us(&mut program, Farewell::Asked).map_err(|why| {
            Failure::environment(format!("cannot start {name:?}: {why}"))
                .advice("an exec: command is a program with its arguments; it is run without a shell")
        })?;
        let requests = child.stdin.take();
        let output = child.stdout.take().expect("stdout is a pipe");
        let errors = child.stderr.take().expect("stderr is a pipe");
        let (send, answers) = sync_channel(LINES_AHEAD);
        let listening = thread::Builder::new().spawn(move || read_lines(output, &send));
        let said = listening.map_err(|why| Failure::thread(&why)).and_then(|_| Said::shown(errors));
        let said = said.inspect_err(|_| child.end())?;
        let next_trial = opening.first_trial;
        Ok(Self { name, child, requests, answers, said, profile: profile.clone(), opening, next_trial })
    }

    fn ask(&mut self, request: &Request) -> Result<(), Failure> {
        // What is there now answers nothing that was asked.
        while let Ok(line) = self.answers.try_recv() {
            self.nothing(request.trial, line)?;
        }
        let mut line = serde_json::to_string(request).expect("a request is JSON");
        line.push('\n');
        let sent = match &mut self.requests {
            Some(stdin) => stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        sent.map_err(|_| self.died(request.trial))
    }

    fn listen(&mut self, trial: u64, duration: Duration) -> Result<Line, Failure> {
        let mut until = Instant::now() + duration + self.opening.patience;
        loop {
            // It learns of it by the end of its stdin, and has a moment to say what it counted so far.
            if self.is_stopped() && self.requests.take().is_some() {
                until = until.min(Instant::now() + ENDS_WITHIN);
            }
            match self.answers.recv_timeout(Duration::from_millis(50)) {
                Ok(Ok(line)) if line.text.trim().is_empty() && Instant::now() < until => {}
                // An answer; or a line that says nothing when the time is over.
                Ok(Ok(line)) => return Ok(line),
                Ok(Err(why)) => return Err(self.unread(trial, &why)),
                Err(RecvTimeoutError::Disconnected) if self.is_stopped() => {
                    return Err(Failure::interrupted());
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.died(trial)),
                Err(RecvTimeoutError::Timeout) if self.is_stopped() && Instant::now() >= until => {
                    return Err(Failure::interrupted());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                    return Err(Failure::environment(format!(
                        "{:?} did not answer trial {trial} within {} s beyond its duration",
                        self.name,
                        self.opening.patience.as_secs_f64()
                    ))
                    .advice(
                        "let it print one line a trial and flush it, or give it longer: --patience 5min",
                    ));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.opening.stop.load(Ordering::Relaxed)
    }

    fn died(&mut self, trial: u64) -> Failure {
        // It closed its output; a moment to learn how it ended.
        let mut status = None;
        for _ in 0..20 {
            status = self.child.try_wait().ok().flatten();
            if status.is_some() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.said.wait();
        let how = status.map_or("closed its output".into(), |status| format!("ended ({status})"));
        Failure::environment(format!("{:?} {how} before it answered trial {trial}", self.name))
            .advice("finished trials are kept; mend the program")
    }

    fn wrong(&self, trial: u64, line: &str, why: impl std::fmt::Display) -> Failure {
        Failure::environment(format!(
            "the answer of {:?} to trial {trial} is wrong: {why}\n  it said: {}",
            self.name,
            shown(line)
        ))
        .advice(r#"an answer is one line: {"intended":N,"offered":N,"forwarded":N,"duration_s":S}"#)
    }

    /// A line that says nothing; any other one was said before it was asked for.
    fn nothing(&self, trial: u64, line: Result<Line, Unread>) -> Result<(), Failure> {
        let line = line.map_err(|why| self.unread(trial, &why))?;
        if line.text.trim().is_empty() { Ok(()) } else { Err(self.surplus(trial, &line.text)) }
    }

    fn unread(&self, trial: u64, why: &Unread) -> Failure {
        let (why, advice) = match why {
            Unread::Endless(most) => (
                format!("it is longer than {} MiB, and so much is not read", most >> 20),
                "an answer is one line of JSON: fewer cells in its histogram make it shorter",
            ),
            Unread::NotText(_) => (
                why.to_string(),
                "an answer is one line of JSON in UTF-8: let the program print nothing else to stdout",
            ),
            Unread::Io(_) | Unread::Again | Unread::NoFile => {
                (why.to_string(), "finished trials are kept; mend the program")
            }
        };
        Failure::environment(format!("the answer of {:?} to trial {trial} cannot be read: {why}", self.name))
            .advice(advice)
    }

    fn ended_badly(&self, how: &str, within: Duration) -> Failure {
        let asked = match self.next_trial > self.opening.first_trial {
            true => "answered every trial",
            false => "was asked for no trial",
        };
        Failure::environment(format!(
            "{:?} {asked}, but when its stdin was closed it {how}: what it answers may be wrong too",
            self.name
        ))
        .advice(format!(
            "all trials are kept; let the program end with exit code 0 once its stdin closes, within {} s{}",
            within.as_secs_f64(),
            if within < ENDS_WITHIN { " (--patience)" } else { "" }
        ))
    }

    /// A line that answers nothing: from then on nobody knows which answer is to which trial.
    fn surplus(&self, trial: u64, line: &str) -> Failure {
        Failure::environment(format!(
            "{:?} said something before it was asked for trial {trial}\n  it said: {}",
            self.name,
            shown(line)
        ))
        .advice(
            "answers can then be taken for those of other trials: print one line for each line that is read, and \
             everything else to stderr",
        )
    }
}

impl Measurer for Program {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        if self.is_stopped() {
            return Err(Failure::interrupted());
        }
        let number = self.next_trial;
        let seed = self.profile.trial_seed(number);
        let parts = |parts: &[Part]| parts.iter().map(|part| (part.name.clone(), part.share)).collect();
        self.ask(&Request {
            trial: number,
            intended_load_pps: input.load.as_pps(),
            duration_s: input.duration.as_secs_f64(),
            arrival: Some(self.profile.arrival.to_string()),
            seed: Some(seed),
            packet_bytes: Some(self.profile.packet.payload_bytes()),
            streams: parts(&self.profile.streams),
            directions: parts(&self.profile.directions),
        })?;
        let line = self.listen(number, input.duration)?;
        let question = Question::new(number, input, &self.profile, self.opening.patience);
        let answer = Answer::read(&line.text).map_err(|why| self.wrong(number, &line.text, why))?;
        let wrong = |why| self.wrong(number, &line.text, why);
        let trial = match self.is_stopped() && !answer.is_whole(&question) {
            false => answer.trial(&question).map_err(wrong)?,
            true if answer.offered == 0 => return Err(Failure::interrupted()),
            true => {
                let mut trial = answer.trial(&Question { stopped: true, ..question }).map_err(wrong)?;
                trial.caveats.push(Caveat::Interrupted);
                trial
            }
        };
        if line.more {
            let next = self.answers.recv_timeout(ENDS_WITHIN).ok().and_then(Result::ok);
            return Err(self.surplus(number + 1, next.as_ref().map_or("", |next| next.text.as_str())));
        }
        self.next_trial += 1;
        Ok(trial)
    }

    /// As many answers as questions, and an end without complaint: else nobody knows what the answers are worth.
    fn finish(&mut self) -> Result<(), Failure> {
        self.requests = None;
        let within = ENDS_WITHIN.min(self.opening.patience);
        let until = Instant::now() + within;
        while let Ok(line) = self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.nothing(self.next_trial, line)?;
        }
        // Who was stopped may end as he likes.
        while !self.is_stopped() {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => break,
                Ok(Some(status)) => {
                    return Err(self.ended_badly(&format!("ended with a complaint ({status})"), within));
                }
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                Ok(None) => {
                    let still = format!("was still running {} s later", within.as_secs_f64());
                    return Err(self.ended_badly(&still, within));
                }
                Err(why) => return Err(Failure::environment(why)),
            }
        }
        Ok(())
    }
}

impl Request {
    /// Load and duration that a line asks for.
    ///
    /// # Errors
    /// If it is no object, or one of the two is no such thing.
    pub fn input(line: &str) -> Result<TrialInput, FieldError> {
        let fields = Fields::read(line)?;
        let load = fields.load("intended_load_pps")?;
        Ok(TrialInput { load, duration: fields.seconds("duration_s")? })
    }
}

/// Reads lines until there are no more, or nobody wants them.
fn read_lines(output: ChildStdout, send: &SyncSender<Result<Line, Unread>>) {
    let mut lines = BufReader::new(output);
    while let Some(line) = reading::line(&mut lines).transpose() {
        let more = !lines.buffer().trim_ascii().is_empty();
        let broken = line.is_err();
        if send.send(line.map(|text| Line { text, more })).is_err() || broken {
            break;
        }
    }
}

/// The beginning of a line that is wrong.
fn shown(line: &str) -> String {
    line.trim().chars().take(200).collect()
}

impl Drop for Program {
    fn drop(&mut self) {
        // Closing its stdin tells it to end; a program that does not is killed, and what it started with it.
        self.requests = None;
        for _ in 0..50 {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return self.said.wait();
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.child.end();
        self.said.wait();
    }
}
