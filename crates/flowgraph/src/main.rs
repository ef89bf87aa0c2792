//! A FutureSDR graph as a program that performs trials: asked on stdin, answered on stdout, traced by
//! `dropline-trace` where `DROPLINE_TRACE` names a session.
//!
//! Owns the graph, its blocks and its schedulers. It knows nothing of delays, searches or records.
//! Start reading at [`graph::Bench`].

mod backlog;
mod blocks;
mod chance;
mod flight;
mod graph;
mod probes;
mod protocol;
mod scheduler;
mod settings;

use graph::Bench;
use protocol::Request;
use settings::{Settings, USAGE, Wrong};
use std::io::{self, BufRead, ErrorKind, Read as _, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return ended(tell(USAGE));
    }
    ended(Settings::of_words(words).and_then(serve))
}

fn ended(done: Result<(), Wrong>) -> ExitCode {
    let Err(Wrong(why)) = done else { return ExitCode::SUCCESS };
    // Nobody may be there to hear it.
    let _ = writeln!(io::stderr(), "dropline-futuresdr: {why}");
    ExitCode::from(2)
}

/// Writes a line to stdout. A reader that went away (`| head`) is no error.
fn tell(line: &str) -> Result<(), Wrong> {
    let mut out = io::stdout();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => Err(Wrong(format!("stdout: {why}"))),
        _ => Ok(()),
    }
}

/// The longest request that is read.
const MOST_LINE: u64 = 1 << 20;

/// The next line; `None` where nobody asks any more.
fn line(from: &mut impl BufRead) -> Result<Option<String>, Wrong> {
    let mut line = Vec::new();
    from.take(MOST_LINE + 1).read_until(b'\n', &mut line).map_err(|why| Wrong(format!("stdin: {why}")))?;
    if line.len() as u64 > MOST_LINE {
        return Err(Wrong(format!(
            "a request has more than {} MiB, and so much is not read",
            MOST_LINE >> 20
        )));
    }
    let text = String::from_utf8(line).map_err(|_| Wrong("a request is not text".into()))?;
    Ok((!text.is_empty()).then_some(text))
}

/// Answers until nobody asks any more.
fn serve(settings: Settings) -> Result<(), Wrong> {
    keep_to(&settings.cpus)?;
    // Maps the session's rings before the first trial: page faults are no part of it.
    dropline_trace::join();
    let bench = Bench::new(settings);
    let mut requests = io::stdin().lock();
    while let Some(line) = line(&mut requests)? {
        if line.trim().is_empty() {
            continue;
        }
        let request: Request =
            serde_json::from_str(&line).map_err(|why| Wrong(format!("{line:?} asks for no trial: {why}")))?;
        let answer = bench.perform(&request).map_err(|why| Wrong(format!("the graph: {why}")))?;
        tell(&serde_json::to_string(&answer).map_err(|why| Wrong(format!("the answer: {why}")))?)?;
    }
    Ok(())
}

/// Keeps the process, and so every thread that it will start, to these CPUs; none named: all that it has.
fn keep_to(cpus: &[usize]) -> Result<(), Wrong> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = rustix::thread::CpuSet::new();
    for &cpu in cpus {
        if cpu >= rustix::thread::CpuSet::MAX_CPU {
            return Err(Wrong(format!("--cpus {cpu}: there is no such CPU")));
        }
        set.set(cpu);
    }
    rustix::thread::sched_setaffinity(None, &set).map_err(|why| Wrong(format!("--cpus: {why}")))
}
