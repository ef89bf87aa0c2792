//! `exec:` targets: another program performs the trials, one JSON object a line.

use super::Opening;
use crate::Failure;
use dropline_stats::Histogram;
use dropline_trial::{Caveat, Delay, Measurer, Part, Slice, TrafficProfile, Trial, TrialInput};
use serde::{Deserialize, Serialize};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Longest answer that is read; a longer line is a program gone wrong.
const LONGEST_LINE: usize = 64 << 20;

/// A running program that answers trial inputs.
pub struct Program {
    name: String,
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<std::io::Result<String>>,
    profile: TrafficProfile,
    opening: Opening,
    next_trial: u64,
}

/// One line to the program. The profile's part is repeated for programs without memory.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// Number of the trial, from 1.
    pub trial: u64,
    /// Intended load.
    pub intended_load_pps: f64,
    /// Duration asked for.
    pub duration_s: f64,
    /// Arrival process.
    #[serde(default)]
    pub arrival: Option<String>,
    /// Chance of this trial.
    #[serde(default)]
    pub seed: Option<u64>,
    /// UDP payload in bytes.
    #[serde(default)]
    pub packet_bytes: Option<u32>,
    /// What the load is divided over: name and share.
    #[serde(default)]
    pub streams: Vec<(String, u32)>,
    /// What the load is the sum of: name and share.
    #[serde(default)]
    pub directions: Vec<(String, u32)>,
}

/// One line from the program.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Packets that the load asked for.
    pub intended: u64,
    /// Packets that left.
    pub offered: u64,
    /// Packets that came back.
    pub forwarded: u64,
    /// Effective duration.
    pub duration_s: f64,
    /// What the trial cost, with overheads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_s: Option<f64>,
    /// Pairs of value and count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ns_histogram: Option<Vec<(u64, u64)>>,
    /// Parts of the trial in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<AnswerSlice>,
    /// Doubts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<AnswerCaveat>,
}

/// A part of a trial.
#[derive(Debug, Serialize, Deserialize)]
pub struct AnswerSlice {
    /// Its length.
    pub duration_s: f64,
    /// Packets that left in it.
    pub offered: u64,
    /// Of those, how many came back.
    pub forwarded: u64,
}

/// A doubt of the program's.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AnswerCaveat {
    /// With a stable name.
    Coded {
        /// Stable name.
        code: String,
        /// In words.
        text: String,
    },
    /// In words only.
    Text(String),
}

impl Program {
    /// Starts the program, without a shell.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(command: &[String], profile: &TrafficProfile, opening: Opening) -> Result<Self, Failure> {
        let name = command[0].clone();
        let mut child = Command::new(&name)
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| {
                Failure::environment(format!("cannot start {name:?}: {why}"))
                    .advice("an exec: command is a program with its arguments; it is run without a shell")
            })?;
        let (requests, output) = (child.stdin.take(), child.stdout.take());
        let (send, answers) = channel();
        thread::spawn(move || {
            let mut lines = BufReader::new(output.expect("stdout is a pipe"));
            loop {
                let mut line = Vec::new();
                let mut limited = std::io::Read::take(&mut lines, LONGEST_LINE as u64);
                let answer = match limited.read_until(b'\n', &mut line) {
                    Ok(0) => break,
                    Ok(_) => Ok(String::from_utf8_lossy(&line).into_owned()),
                    Err(why) => Err(why),
                };
                let broken = answer.is_err();
                if send.send(answer).is_err() || broken {
                    break;
                }
            }
        });
        let next_trial = opening.first_trial;
        Ok(Self { name, child, requests, answers, profile: profile.clone(), opening, next_trial })
    }

    fn ask(&mut self, request: &Request) -> Result<(), Failure> {
        let mut line = serde_json::to_string(request).expect("a request is JSON");
        line.push('\n');
        let sent = match &mut self.requests {
            Some(stdin) => stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        sent.map_err(|_| self.died(request.trial))
    }

    fn listen(&mut self, trial: u64, duration: Duration) -> Result<String, Failure> {
        let until = Instant::now() + duration + self.opening.patience;
        loop {
            if self.opening.stop.load(Ordering::Relaxed) {
                return Err(Failure::interrupted());
            }
            match self.answers.recv_timeout(Duration::from_millis(50)) {
                Ok(Ok(line)) if line.trim().is_empty() => {}
                Ok(Ok(line)) => return Ok(line),
                Ok(Err(why)) => {
                    return Err(Failure::environment(format!("reading from {:?} failed: {why}", self.name)));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.died(trial)),
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
        let how = status.map_or("closed its output".into(), |status| format!("ended ({status})"));
        Failure::environment(format!("{:?} {how} before it answered trial {trial}", self.name))
            .advice("finished trials are kept; mend the program and go on with --resume")
    }

    fn wrong(&self, trial: u64, line: &str, why: impl std::fmt::Display) -> Failure {
        let shown: String = line.trim().chars().take(200).collect();
        Failure::environment(format!(
            "the answer of {:?} to trial {trial} is wrong: {why}\n  it said: {shown}",
            self.name
        ))
        .advice(r#"an answer is one line: {"intended":N,"offered":N,"forwarded":N,"duration_s":S}"#)
    }
}

impl Measurer for Program {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
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
        let answer: Answer = serde_json::from_str(&line).map_err(|why| self.wrong(number, &line, why))?;
        let trial = answer.trial(number, input, seed).map_err(|why| self.wrong(number, &line, why))?;
        self.next_trial += 1;
        Ok(trial)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Closing its stdin tells it to end; a program that does not is killed.
        self.requests = None;
        for _ in 0..50 {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Why an answer cannot be.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ImpossibleAnswer {
    /// A program sends what it intends or less.
    #[error("it offered {offered} packets of {intended} intended; `intended` is what it was going to send")]
    MoreThanIntended {
        /// As answered.
        intended: u64,
        /// As answered.
        offered: u64,
    },
    /// Packets out of nothing.
    #[error("{0} packets came back of none offered")]
    OutOfNothing(u64),
    /// Times are above zero and finite.
    #[error("{name} is {value}: it must be above 0")]
    Time {
        /// Which field.
        name: &'static str,
        /// As answered.
        value: f64,
    },
    /// A trial costs at least its traffic.
    #[error("elapsed_s {elapsed} is below duration_s {duration}")]
    ElapsedBelowDuration {
        /// As answered.
        elapsed: f64,
        /// As answered.
        duration: f64,
    },
    /// One delay a packet that came back.
    #[error("the histogram holds {delays} delays, and {forwarded} packets came back")]
    MoreDelaysThanPackets {
        /// Sum of the histogram's counts.
        delays: u64,
        /// As answered.
        forwarded: u64,
    },
}

impl Answer {
    /// The trial that the answer describes.
    ///
    /// # Errors
    /// If the counts or times cannot be.
    pub fn trial(self, number: u64, input: TrialInput, seed: u64) -> Result<Trial, ImpossibleAnswer> {
        let duration = time("duration_s", self.duration_s)?;
        let elapsed = self.elapsed_s.map_or(Ok(duration), |elapsed| time("elapsed_s", elapsed))?;
        if elapsed < duration {
            let elapsed = elapsed.as_secs_f64();
            return Err(ImpossibleAnswer::ElapsedBelowDuration { elapsed, duration: self.duration_s });
        }
        if self.offered > self.intended {
            return Err(ImpossibleAnswer::MoreThanIntended {
                intended: self.intended,
                offered: self.offered,
            });
        }
        if self.offered == 0 && self.forwarded > 0 {
            return Err(ImpossibleAnswer::OutOfNothing(self.forwarded));
        }
        let mut trial = Trial {
            intended: Some(self.intended),
            offered: self.offered,
            forwarded: self.forwarded,
            duration,
            elapsed,
            ..Trial::new(number, input, seed)
        };
        if let Some(pairs) = self.delay_ns_histogram {
            let delays = pairs.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
            if delays > self.forwarded {
                return Err(ImpossibleAnswer::MoreDelaysThanPackets { delays, forwarded: self.forwarded });
            }
            let mut histogram = Histogram::new();
            pairs.iter().for_each(|&(value, count)| histogram.record_n(value, count));
            trial.delay = Delay { histogram: Some(histogram), ..Delay::default() };
        }
        for slice in self.slices {
            let duration = time("a slice's duration_s", slice.duration_s)?;
            trial.slices.push(Slice {
                duration,
                offered: slice.offered,
                forwarded: slice.forwarded,
                delay: None,
            });
        }
        trial.caveats = self.caveats.into_iter().map(Caveat::from).collect();
        if self.forwarded > self.offered {
            let (offered, forwarded) = (self.offered, self.forwarded);
            trial.caveats.push(Caveat::MoreThanOffered { offered, forwarded });
        }
        if self.offered < self.intended {
            let (intended, offered) = (self.intended, self.offered);
            trial.caveats.push(Caveat::GeneratorLimited { intended, offered });
        }
        Ok(trial)
    }
}

impl From<AnswerCaveat> for Caveat {
    fn from(caveat: AnswerCaveat) -> Self {
        match caveat {
            AnswerCaveat::Coded { code, text } => Self::Reported { code, text },
            AnswerCaveat::Text(text) => Self::Reported { code: "program".into(), text },
        }
    }
}

impl From<&Trial> for Answer {
    fn from(trial: &Trial) -> Self {
        Self {
            intended: trial.intended.unwrap_or(trial.offered),
            offered: trial.offered,
            forwarded: trial.forwarded,
            duration_s: trial.duration.as_secs_f64(),
            elapsed_s: Some(trial.elapsed.as_secs_f64()),
            delay_ns_histogram: trial.delay.histogram.as_ref().map(|histogram| histogram.cells().collect()),
            slices: Vec::new(),
            caveats: trial
                .caveats
                .iter()
                .map(|caveat| AnswerCaveat::Coded { code: caveat.code().into(), text: caveat.to_string() })
                .collect(),
        }
    }
}

fn time(name: &'static str, value: f64) -> Result<Duration, ImpossibleAnswer> {
    match Duration::try_from_secs_f64(value) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(ImpossibleAnswer::Time { name, value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::Rate;

    fn trial(line: &str) -> Result<Trial, String> {
        let input = TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) };
        let answer: Answer = serde_json::from_str(line).map_err(|why| why.to_string())?;
        answer.trial(1, input, 7).map_err(|why| why.to_string())
    }

    #[test]
    fn the_promised_answer_is_a_trial() {
        let line = r#"{"intended":1000000,"offered":1000000,"forwarded":999990,"duration_s":1.0}"#;
        let trial = trial(line).unwrap();
        assert_eq!((trial.lost(), trial.elapsed), (10, Duration::from_secs(1)));
    }

    #[test]
    fn optional_fields_enter_the_trial() {
        let line = r#"{"intended":10,"offered":9,"forwarded":8,"duration_s":1.0,"elapsed_s":1.5,
            "delay_ns_histogram":[[100,3],[200,5]],"slices":[{"duration_s":0.5,"offered":4,"forwarded":4}],
            "caveats":["warm",{"code":"x","text":"y"}],"vendor":1}"#;
        let trial = trial(line).unwrap();
        assert_eq!(trial.delay.histogram.unwrap().count(), 8);
        assert_eq!((trial.slices.len(), trial.caveats.len()), (1, 3));
        assert!(trial.caveats.contains(&Caveat::GeneratorLimited { intended: 10, offered: 9 }));
    }

    #[test]
    fn more_back_than_sent_is_a_caveat() {
        let line = r#"{"intended":10,"offered":10,"forwarded":11,"duration_s":1.0}"#;
        let trial = trial(line).unwrap();
        assert_eq!(trial.lost(), 0);
        assert_eq!(trial.caveats, [Caveat::MoreThanOffered { offered: 10, forwarded: 11 }]);
    }

    #[test]
    fn impossible_answers_are_refused() {
        for (line, why) in [
            (r#"{"intended":10,"offered":11,"forwarded":11,"duration_s":1.0}"#, "intended"),
            (r#"{"intended":10,"offered":0,"forwarded":1,"duration_s":1.0}"#, "none offered"),
            (r#"{"intended":10,"offered":10,"forwarded":10,"duration_s":0}"#, "above 0"),
            (r#"{"intended":10,"offered":10,"forwarded":10,"duration_s":-1}"#, "above 0"),
            (r#"{"intended":10,"offered":10,"forwarded":10,"duration_s":1e300}"#, "above 0"),
            (r#"{"intended":10,"offered":10,"forwarded":10,"duration_s":2,"elapsed_s":1}"#, "below"),
            (r#"{"intended":-1,"offered":10,"forwarded":10,"duration_s":1}"#, "invalid value"),
            (r#"{"intended":10.5,"offered":10,"forwarded":10,"duration_s":1}"#, "floating point"),
            (r#"{"intended":10,"offered":10,"duration_s":1}"#, "forwarded"),
            (
                r#"{"intended":10,"offered":10,"forwarded":1,"duration_s":1,"delay_ns_histogram":[[5,2]]}"#,
                "came back",
            ),
            ("OK", "expected value"),
        ] {
            let error = trial(line).unwrap_err();
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
