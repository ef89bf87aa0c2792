//! The main job on embedded parts: where does a service drop packets, with constant and with Poisson arrivals?

use crate::{Done, build_dropline, root};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A queue small enough that arrivals matter: 500 us a packet are 2000 packets a second, and 16 may wait.
const SERVE: [&str; 8] =
    ["serve", "--listen", "127.0.0.1:0", "--service-time", "500us", "--queue", "16", "--workers=1"];

/// Loads around the 2000 packets a second, goals that the demo's time allows.
const SEARCH: [&str; 13] = [
    "--min-load",
    "100pps",
    "--max-load",
    "4kpps",
    "--goal",
    "0,width=2%",
    "--goal",
    "0.5%,width=2%",
    "--budget",
    "40s",
    "--delay-at",
    "90%,50%",
    "--quiet",
];

/// How a search ends whose trials say more of the generator than of the target.
const NOT_VALID: i32 = 3;

pub(crate) fn run() -> Done {
    let dropline = build_dropline()?;
    std::fs::create_dir_all(root().join("demo")).map_err(|why| format!("cannot create demo/: {why}"))?;
    println!("A service that takes 500 us a packet and lets 16 wait: at which load does it drop packets?\n");
    let service = Service::start(&dropline)?;
    let mut records = Vec::new();
    for arrival in ["constant", "poisson"] {
        let record = format!("demo/{arrival}.jsonl");
        let _ = std::fs::remove_file(root().join(&record));
        println!("searching with {arrival} arrivals, 40 s at most …");
        let status = Command::new(&dropline)
            .args(["search", &service.target, "--arrival", arrival, "--output", &record])
            .args(SEARCH)
            .current_dir(root())
            .stdout(Stdio::null())
            .status()
            .map_err(|why| format!("dropline cannot be started: {why}"))?;
        // On a busy machine the answer may be about the generator: the report says so.
        if !status.success() && status.code() != Some(NOT_VALID) {
            return Err(format!("the search with {arrival} arrivals ended with {status}"));
        }
        records.push(record);
    }
    drop(service);
    println!();
    let _ = std::fs::remove_file(root().join("demo/report.html"));
    report(&dropline, &records, &[])?;
    report(&dropline, &records, &["--html", "demo/report.html"])
}

fn report(dropline: &Path, records: &[String], words: &[&str]) -> Done {
    let status = Command::new(dropline).arg("report").args(records).args(words).current_dir(root()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("the report failed: {other:?}")),
    }
}

/// The embedded target, stopped when it goes.
struct Service {
    child: Child,
    target: String,
}

impl Service {
    fn start(dropline: &Path) -> Result<Self, String> {
        let mut child = Command::new(dropline)
            .args(SERVE)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| format!("dropline serve cannot be started: {why}"))?;
        let mut line = String::new();
        let output = child.stdout.take().expect("stdout is a pipe");
        let read = BufReader::new(output).read_line(&mut line);
        match (read, line.trim().strip_prefix("listening udp ")) {
            (Ok(_), Some(address)) => Ok(Self { target: format!("udp://{address}"), child }),
            _ => Err(format!("dropline serve said {line:?}")),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
