//! The tools that send requests: how each is started, and what its output says.

use super::attempts::{Asked, Attempt, Told};
use super::stillness::Stillness;
use crate::Opening;
use dropline_archive::reading;
use dropline_archive::temporary::Scratch;
use dropline_failure::Failure;
use dropline_printable::lines;
use dropline_traffic::{Farewell, Signal, Started, start_with_us};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A tool that sends requests when they are due, whatever became of those before.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// The command that installs it.
    get: &'static str,
    /// What it is started with, and again with what it wrote, where it needs that to say it in words.
    begin: fn(&Run<'_>, &Path) -> Vec<OsString>,
    told: Option<fn(&Path) -> Vec<OsString>>,
    /// Reads a line of its output; `None` of one that is about no request.
    read: fn(&str) -> Option<Attempt>,
    /// Whether its output leaves out what failed.
    leaves_out: bool,
}

/// The preferred one first.
const TOOLS: [&Tool; 2] = [&OHA, &VEGETA];

const VEGETA: Tool = Tool {
    name: "vegeta",
    about: "open loop, each request by a connection of its own; it says of each when it left, how long it took, and why it failed",
    get: "go install github.com/tsenart/vegeta/v12@latest",
    begin: vegeta,
    told: Some(|file| {
        ["encode", "--to", "csv"].map(OsString::from).into_iter().chain([file.into()]).collect()
    }),
    read: vegeta_line,
    leaves_out: false,
};

const OHA: Tool = Tool {
    name: "oha",
    about: "open loop, by connections that are kept; it says of each request that was answered when it left and how long it took",
    get: "cargo install --locked oha",
    begin: oha,
    told: None,
    read: oha_line,
    leaves_out: true,
};

/// Others that users have, and why they do not do.
const OTHERS: [(&str, &str); 6] = [
    ("ab", "it is a closed loop: it waits for answers before it asks again, and so hides how late they are"),
    ("h2load", "it holds requests back while its streams are busy, and does not say when they were due"),
    ("hey", "it is a closed loop: it waits for answers before it asks again, and so hides how late they are"),
    ("k6", "its arrivals are open (constant-arrival-rate), and it has no adapter here"),
    ("wrk", "it is a closed loop: it waits for answers before it asks again, and so hides how late they are"),
    ("wrk2", "it says how late requests were, and not which of them; it has no adapter here"),
];

/// What a start of a tool came to.
struct Output {
    attempts: Vec<Attempt>,
    held: Duration,
    is_stopped: bool,
}

/// One start of a tool.
pub(super) struct Run<'a> {
    pub(super) program: &'a Path,
    /// With an address for a host: the tool looks up no name.
    pub(super) url: &'a str,
    /// What the header Host says.
    pub(super) host: &'a str,
    pub(super) duration: Duration,
    pub(super) asked: Asked,
}

impl Run<'_> {
    /// Requests that can be under way before one of them is given up, with room to spare; no more than a client has ports for.
    fn pool(&self) -> u64 {
        let at_once = self.asked.load.as_pps() * self.asked.patience.as_secs_f64();
        (at_once * 1.25) as u64 + 16
    }
}

/// As many connections as one address has ports for, with some left over.
const MOST_CONNECTIONS: u64 = 20_000;
/// A tool that lags a little behind is not cut off for that.
const SLACK: Duration = Duration::from_millis(50);
/// A tool that is asked to end says what it has within this time, or says nothing.
const SAYS_WITHIN: Duration = Duration::from_secs(3);
/// From one look at it to the next.
const LOOKS_EVERY: Duration = Duration::from_millis(5);
/// Proxies would lead requests elsewhere.
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

fn vegeta(run: &Run<'_>, file: &Path) -> Vec<OsString> {
    let pool = run.pool().min(MOST_CONNECTIONS);
    let mut arguments: Vec<OsString> = [
        "attack".into(),
        format!("-rate={}/1000s", run.asked.load.as_millipps()),
        // What it sends after the last request that was asked for is not looked at.
        format!("-duration={}ns", (run.duration + SLACK).as_nanos()),
        format!("-timeout={}ns", run.asked.patience.as_nanos()),
        format!("-max-workers={pool}"),
        format!("-header=Host: {}", run.host),
        // Its client repeats a request whose kept connection ends without an answer, and says nothing of it.
        "-keepalive=false".into(),
        "-redirects=-1".into(),
        "-max-body=0".into(),
    ]
    .map(OsString::from)
    .into();
    let mut output = OsString::from("-output=");
    output.push(file);
    arguments.push(output);
    arguments
}

fn oha(run: &Run<'_>, _: &Path) -> Vec<OsString> {
    let pool = run.pool().min(MOST_CONNECTIONS);
    [
        "-n".into(),
        run.asked.requests.to_string(),
        "-q".into(),
        run.asked.load.as_pps().to_string(),
        "-c".into(),
        pool.min(run.asked.requests).to_string(),
        "-t".into(),
        format!("{}ns", run.asked.patience.as_nanos()),
        "--redirect=0".into(),
        format!("--host={}", run.host),
        "--no-tui".into(),
        "--output-format=csv".into(),
        run.url.into(),
    ]
    .map(OsString::from)
    .into()
}

/// `1795784309574392025,200,1074733,0,0,,,,0,GET,…`: when it left, status, ns; sixth why it failed, ninth its number.
fn vegeta_line(line: &str) -> Option<Attempt> {
    let cells = cells(line);
    let number = |at: usize| cells.get(at)?.parse::<u64>().ok();
    Some(Attempt {
        index: Some(number(8)?),
        left_ns: number(0)?,
        took_ns: number(2)?,
        code: u16::try_from(number(1)?).ok()?,
        error: cells[5].clone(),
    })
}

/// `0.001,0,0,0.0002,0.0003,5,200`: first when it left, fifth how long it took, in seconds; seventh the status.
fn oha_line(line: &str) -> Option<Attempt> {
    let cells = cells(line);
    let ns = |at: usize| {
        let seconds = cells.get(at)?.parse::<f64>().ok().filter(|seconds| (0.0..1e9).contains(seconds))?;
        Some((seconds * 1e9).round() as u64)
    };
    Some(Attempt {
        left_ns: ns(0)?,
        took_ns: ns(4)?,
        code: cells.get(6)?.parse().ok()?,
        ..Attempt::default()
    })
}

/// Cells of a line of CSV: in quotes a comma means nothing, and two quotes are one.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    let mut signs = line.trim_end().chars().peekable();
    while let Some(sign) = signs.next() {
        let last = cells.last_mut().expect("there is one");
        match sign {
            '"' if is_quoted && signs.next_if_eq(&'"').is_some() => last.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            other => last.push(other),
        }
    }
    cells
}

impl Tool {
    /// The one of that name.
    pub(super) fn named(name: &str) -> Result<&'static Self, Failure> {
        let known = TOOLS.map(|tool| tool.name).join(" and ");
        TOOLS.into_iter().find(|tool| tool.name == name).ok_or_else(|| {
            let why = OTHERS.iter().find(|(other, _)| *other == name).map(|(_, why)| format!(": {why}"));
            let why = why.unwrap_or_default();
            Failure::usage(format!("no requests are sent by {name:?}{why}"))
                .advice(format!("there are {known}; any other program can be put behind exec:COMMAND"))
        })
    }

    /// The one that is wanted, or the first that is installed, and where it is.
    pub(super) fn found(wanted: Option<&'static Self>) -> Result<(&'static Self, PathBuf), Failure> {
        let looked_for = wanted.map_or(&TOOLS[..], |_| &[]).iter().copied().chain(wanted);
        if let Some(found) = looked_for.clone().find_map(|tool| Some((tool, in_path(tool.name)?))) {
            return Ok(found);
        }
        let tools: Vec<&Self> = looked_for.collect();
        let names = tools.iter().map(|tool| tool.name).collect::<Vec<_>>().join(" nor ");
        let neither = if tools.len() > 1 { "neither " } else { "" };
        let is = if tools.len() > 1 { "is" } else { "is not" };
        let get = tools.iter().map(|tool| tool.get).collect::<Vec<_>>().join("   or   ");
        Err(Failure::environment(format!(
            "requests are sent by a tool of yours, and {neither}{names} {is} in a directory of PATH"
        ))
        .advice(format!("install it:  {get}")))
    }

    /// Has it make requests, and reads what became of each.
    pub(super) fn attempts(&self, run: &Run<'_>, opening: &Opening) -> Result<Told, Failure> {
        let scratch = Scratch::new().map_err(Failure::environment)?;
        let file = scratch.path().join("requests");
        let until = Instant::now() + run.duration + SLACK + run.asked.patience + opening.patience;
        let target = format!("GET {}\n", run.url);
        let Output { attempts, held, is_stopped } = self.run(
            run.program,
            (self.begin)(run, &file),
            &target,
            Some(&opening.stop),
            until,
            opening.patience,
        )?;
        let attempts = match self.told {
            None => attempts,
            // It was ended before it had written of any.
            Some(_) if std::fs::metadata(&file).is_ok_and(|file| file.len() == 0) => Vec::new(),
            Some(told) => {
                self.run(run.program, told(&file), "", None, until + opening.patience, opening.patience)?
                    .attempts
            }
        };
        let mut told = Told { attempts, held, ..Told::default() };
        told.attempts.retain(|attempt| attempt.index.is_none_or(|index| index < run.asked.requests));
        if self.leaves_out {
            told.attempts.sort_by_key(|attempt| attempt.left_ns);
        }
        let made = told.attempts.len() as u64;
        if made > run.asked.requests {
            let why = format!(
                "{} was asked for {} requests, and says that it made {made}",
                self.name, run.asked.requests
            );
            return Err(Failure::environment(why));
        }
        let requests = if is_stopped { told.cut(run.asked) } else { run.asked.requests };
        told.requests = requests;
        told.failed = if self.leaves_out { requests - told.attempts.len() as u64 } else { 0 };
        Ok(told)
    }

    /// Starts it, and waits for its end.
    fn run(
        &self,
        program: &Path,
        arguments: Vec<OsString>,
        input: &str,
        stop: Option<&AtomicBool>,
        until: Instant,
        patience: Duration,
    ) -> Result<Output, Failure> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in PROXIES {
            command.env_remove(name);
        }
        let mut child = start_with_us(&mut command, Farewell::Asked)
            .map_err(|why| Failure::environment(format!("cannot start {}: {why}", program.display())))?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that ended at once says why by itself.
            let _ = stdin.write_all(input.as_bytes());
        }
        let read = self.read;
        let output = child.stdout.take().expect("stdout is a pipe");
        let errors = child.stderr.take().expect("stderr is a pipe");
        let output = reader(move || attempts(BufReader::new(output), read)).inspect_err(|_| child.end())?;
        let errors = reader(move || last_words(errors)).inspect_err(|_| child.end())?;
        let mut stillness = Stillness::of(child.id());
        let ended = self.wait(&mut child, stop, until, patience, &mut stillness);
        child.end();
        let (output, errors) = (output.join(), errors.join().unwrap_or_default());
        let (status, is_stopped) = ended?;
        let said = if errors.is_empty() { String::new() } else { format!(": {errors}") };
        if !status.success() && !is_stopped {
            return Err(Failure::environment(format!("{} failed ({status}){said}", self.name)));
        }
        match output {
            Ok(Ok(attempts)) => Ok(Output { attempts, held: stillness.total(), is_stopped }),
            // It ended in the middle of a line, say.
            Ok(Err(_)) if is_stopped => Err(Failure::interrupted()),
            Ok(Err(why)) => {
                Err(Failure::environment(format!("the output of {} cannot be read: {why}", self.name)))
            }
            Err(_) => Err(Failure::environment(format!("the output of {} was not read", self.name))),
        }
    }

    /// Its status, and whether the user stopped it: it is then asked to say what it has.
    fn wait(
        &self,
        child: &mut Started,
        stop: Option<&AtomicBool>,
        until: Instant,
        patience: Duration,
        stillness: &mut Stillness,
    ) -> Result<(std::process::ExitStatus, bool), Failure> {
        let mut asked_to_end: Option<Instant> = None;
        loop {
            if let Some(status) = child.try_wait().map_err(Failure::environment)? {
                return Ok((status, asked_to_end.is_some()));
            }
            stillness.look();
            match asked_to_end {
                None if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) => {
                    let _ = child.signal(Signal::INT);
                    asked_to_end = Some(Instant::now());
                }
                Some(asked) if asked.elapsed() > SAYS_WITHIN => return Err(Failure::interrupted()),
                _ => {}
            }
            if Instant::now() >= until {
                let patience = patience.as_secs_f64();
                return Err(Failure::environment(format!("{} did not end within {patience} s", self.name))
                    .advice("give it longer: --patience 5min"));
            }
            thread::sleep(LOOKS_EVERY);
        }
    }
}

fn reader<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, Failure> {
    thread::Builder::new().spawn(read).map_err(|why| Failure::thread(&why))
}

/// Reads lines until there are no more. Two of three lines that say nothing are another program's.
fn attempts(mut output: impl BufRead, read: fn(&str) -> Option<Attempt>) -> Result<Vec<Attempt>, String> {
    let (mut attempts, mut others) = (Vec::new(), 0);
    while let Some(line) = reading::line(&mut output).map_err(|why| why.to_string())? {
        match read(&line) {
            Some(attempt) => attempts.push(attempt),
            // Its heading.
            None if others == 0 && attempts.is_empty() => others += 1,
            None => {
                return Err(format!("this is not a request: {}", line.chars().take(200).collect::<String>()));
            }
        }
    }
    Ok(attempts)
}

fn last_words(errors: impl Read) -> String {
    let last = lines(BufReader::new(errors)).filter(|line| !line.trim().is_empty()).last();
    last.unwrap_or_default()
}

/// A program of that name in a directory of `PATH`.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let about: io::Result<std::fs::Metadata> = file.metadata();
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_tools_are_read_as_they_are_printed() {
        let line =
            "1795784310612331810,0,647816,0,0,\"Get \"\"http://h/\"\": dial, refused\",,,7,GET,http://h/,";
        let read = vegeta_line(line).unwrap();
        assert_eq!(
            (read.index, read.left_ns, read.took_ns, read.code),
            (Some(7), 1_795_784_310_612_331_810, 647_816, 0)
        );
        assert_eq!(read.error, "Get \"http://h/\": dial, refused");
        let read = oha_line("0.5,0.0001,0.0002,0.0003,0.0125,5,200").unwrap();
        assert_eq!((read.index, read.left_ns, read.took_ns, read.code), (None, 500_000_000, 12_500_000, 200));
        let heading = "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status";
        assert_eq!(attempts(heading.as_bytes(), oha_line).unwrap(), []);
        assert!(attempts("Usage:\n none\n".as_bytes(), vegeta_line).unwrap_err().contains("none"));
    }

    #[test]
    fn a_tool_that_hides_how_late_answers_are_is_refused_with_the_reason() {
        assert!(Tool::named("wrk").unwrap_err().to_string().contains("closed loop"));
        assert!(Tool::named("curl").unwrap_err().to_string().contains("oha and vegeta"));
        assert_eq!(Tool::named("oha").unwrap().name, "oha");
    }
}
