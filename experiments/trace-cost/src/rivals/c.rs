//! The C header's tracepoints, in rounds that a C program makes.

use crate::rounds::Report;
use dropline_trace::{Clock, Session};
use std::path::Path;
use std::process::{Command, Stdio};

/// Compiles the program, runs it with a session or without, and reads what it found.
pub fn measured(session: Option<&Session>) -> Result<Report, String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = std::env::temp_dir().join(format!("dropline-trace-cost-c-{}", std::process::id()));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-pthread", "-I"])
        .arg(sources.join("../../c/trace"))
        .arg("-o")
        .args([&program, &sources.join("c/cost.c")])
        .status()
        .map_err(|why| format!("cc is missing: {why}"))?;
    if !compiled.success() {
        return Err("c/cost.c does not compile".into());
    }
    let mut command = Command::new(&program);
    command.arg(if Clock::best() == Clock::Monotonic { "0" } else { "1" });
    command.envs(session.map(Session::variable)).stderr(Stdio::piped());
    let ended = command.output().map_err(|why| why.to_string());
    let _ = std::fs::remove_file(program);
    let said = String::from_utf8_lossy(&ended?.stderr).into_owned();
    Report::parse(&said).ok_or(said)
}
