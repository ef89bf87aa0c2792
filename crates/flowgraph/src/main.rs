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
use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match Settings::of_words(words).and_then(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Wrong(why)) => {
            eprintln!("dropline-futuresdr: {why}");
            ExitCode::from(2)
        }
    }
}

/// Answers until nobody asks any more.
fn serve(settings: Settings) -> Result<(), Wrong> {
    keep_to(&settings.cpus)?;
    // Maps the session's rings before the first trial: page faults are no part of it.
    dropline_trace::join();
    let bench = Bench::new(settings);
    let mut answers = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|why| Wrong(format!("stdin: {why}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let request: Request =
            serde_json::from_str(&line).map_err(|why| Wrong(format!("{line:?} asks for no trial: {why}")))?;
        let answer = bench.perform(&request).map_err(|why| Wrong(format!("the graph: {why}")))?;
        let mut line = serde_json::to_string(&answer).map_err(|why| Wrong(format!("the answer: {why}")))?;
        line.push('\n');
        let told = answers.write_all(line.as_bytes()).and_then(|()| answers.flush());
        told.map_err(|why| Wrong(format!("stdout: {why}")))?;
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
