//! What a recorded event costs, side by side: least of 41 rounds of 20 000 events, less an empty loop of the same process.
//!
//! `make bench-trace` builds the provider for LTTng and runs this. Every way to record has a process of its own, for
//! several can be joined once in a process; each also reads the clock, so that ratios are of one run.

mod reading;
mod rivals;
mod rounds;

use rounds::{Report, least};
use std::process::{Command, Stdio};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["way", way] => rivals::run(way),
        ["clock"] | ["--bench"] | [] => all(),
        _ => eprintln!("usage: dropline-trace-cost"),
    }
}

/// A process for each way, then what follows the events.
fn all() {
    println!("ns an event, least of {} rounds of {}, less an empty loop", rounds::ROUNDS, rounds::EVENTS);
    let mut found = Vec::new();
    for way in rivals::WAYS {
        match measured(way) {
            Ok(report) => {
                println!(
                    "  {:44} {:9.2}   ({:5.1} clock reads)",
                    way.what,
                    report.event,
                    report.event / report.clock
                );
                found.push((way.name, report));
            }
            Err(why) => println!("  {:44} {:>9}   {why}", way.what, "\u{2013}"),
        }
    }
    let of = |name: &str| found.iter().find(|(way, _)| *way == name).map(|(_, report)| report);
    println!("bars");
    if let Some(ring) = of("ring") {
        bar("recorded event / clock read", ring.event / ring.clock, "at most", 1.3);
    }
    if let Some(off) = of("off") {
        bar("switched off, ns", off.event, "under", 1.0);
    }
    if let Some(off) = of("c-off") {
        bar("switched off in C, ns", off.event, "under", 1.0);
    }
    if let Some(ring) = of("c-ring") {
        bar("recorded event in C / clock read", ring.event / ring.clock, "at most", 1.3);
    }
    if let (Some(ring), Some(lttng)) = (of("ring"), of("lttng")) {
        let counter = ring.clock * 1.5 < ring.monotonic;
        bar("LTTng-UST event / ours", lttng.event / ring.event, "at least", if counter { 6.0 } else { 3.0 });
    }
    bar("events from the rings to delays, M/s", reading::correlated_a_second() / 1e6, "at least", 20.0);
    match reading::trace_against_babeltrace2() {
        Ok((ours, theirs)) => {
            println!(
                "  CTF trace read: ours {:.1} M/s, babeltrace2's text {:.2} M/s",
                ours / 1e6,
                theirs / 1e6
            );
            bar("CTF: ours / babeltrace2's text", ours / theirs, "at least", 10.0);
        }
        Err(why) => println!("  CTF beside babeltrace2: {why}"),
    }
}

fn bar(what: &str, value: f64, how: &str, limit: f64) {
    let met = if how == "at least" { value >= limit } else { value <= limit };
    println!("  {what:44} {value:9.2}   {how} {limit}: {}", if met { "met" } else { "NOT met" });
}

/// Runs one way in a process of its own.
fn measured(way: &rivals::Way) -> Result<Report, String> {
    let session = (way.name == "lttng").then(rivals::lttng::Session::begin).transpose()?;
    let program = std::env::current_exe().map_err(|why| why.to_string())?;
    let mut command = Command::new(program);
    command.args(["way", way.name]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("DROPLINE_TRACE").env_remove("DROPLINE_LTTNG");
    if let Some(session) = &session {
        command.envs(session.environment());
    }
    let mut child = command.spawn().map_err(|why| why.to_string())?;
    // What it prints is read away, as a terminal or a log daemon would.
    let mut output = child.stdout.take().ok_or("no output")?;
    let drained = std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    let ended = child.wait_with_output().map_err(|why| why.to_string())?;
    let _ = drained.join();
    let said = String::from_utf8_lossy(&ended.stderr);
    Report::parse(&said).ok_or_else(|| said.lines().last().unwrap_or("it said nothing").to_owned())
}
