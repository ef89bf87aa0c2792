//! `c/heartbeat` on the machines it is for: size, stack, instructions and cycles against their budgets, the rules
//! everywhere they can run, and changes that must break a rule.

mod examples;
mod fuzzed;
mod machines;
mod mutations;
mod targets;

use crate::{Done, root};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

pub(crate) fn run() -> Done {
    let begun = Instant::now();
    let mut bench = Bench::new()?;
    targets::sizes(&mut bench)?;
    machines::instructions(&mut bench)?;
    machines::cycles(&mut bench)?;
    machines::rules(&mut bench)?;
    fuzzed::replayed(&mut bench)?;
    mutations::all_are_noticed(&mut bench)?;
    examples::compile_and_answer(&mut bench)?;
    println!("took {} s", begun.elapsed().as_secs());
    bench.verdict()
}

/// Feeds the library so many made-up inputs under the sanitizers.
pub(crate) fn fuzz(inputs: &str) -> Done {
    let inputs = inputs.parse().map_err(|_| format!("{inputs:?} is no number of inputs"))?;
    fuzzed::fuzz(inputs)
}

/// The sources, a place for what is built, and what was found wrong.
struct Bench {
    /// `c/heartbeat`.
    source: PathBuf,
    /// What is built goes here and is gone afterwards.
    build: PathBuf,
    faults: Vec<String>,
    skipped: Vec<String>,
}

impl Bench {
    fn new() -> Result<Self, String> {
        let build = std::env::temp_dir().join(format!("heartbeat-{}", std::process::id()));
        std::fs::create_dir_all(&build).map_err(|why| format!("cannot create {}: {why}", build.display()))?;
        Ok(Self { source: root().join("c/heartbeat"), build, faults: Vec::new(), skipped: Vec::new() })
    }

    fn source(&self, name: &str) -> String {
        self.source.join(name).to_string_lossy().into_owned()
    }

    fn built(&self, name: &str) -> String {
        self.build.join(name).to_string_lossy().into_owned()
    }

    /// A measured value against its budget, in words; above the budget is a fault where `gates`.
    fn judge(&mut self, what: &str, value: u64, budget: u64, gates: bool) -> String {
        match (value <= budget, gates) {
            (_, false) => format!("{value:>5} of {budget:<5} no verdict"),
            (true, true) => format!("{value:>5} of {budget:<5} ok"),
            (false, true) => {
                self.faults.push(format!("{what}: {value} is above the budget of {budget}"));
                format!("{value:>5} of {budget:<5} ABOVE")
            }
        }
    }

    /// Is this program here? What needs it is left out, and said so.
    fn has(&mut self, program: &str, what: &str) -> bool {
        let found = Command::new(program).arg("--version").output().is_ok();
        if !found {
            self.skipped.push(format!("{what}: {program} is missing"));
        }
        found
    }

    fn verdict(&self) -> Done {
        for skipped in &self.skipped {
            println!("left out: {skipped}");
        }
        if !self.faults.is_empty() {
            return Err(format!("{} faults:\n  {}", self.faults.len(), self.faults.join("\n  ")));
        }
        if !self.skipped.is_empty() && std::env::var("CI").is_ok_and(|ci| ci == "true") {
            return Err("in CI nothing may be left out: cargo xtask setup embedded".into());
        }
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.build);
    }
}

/// Runs a program and keeps what it says; a failure is an error with its words.
fn output(program: &str, words: &[&str]) -> Result<Output, String> {
    let output = Command::new(program)
        .args(words)
        .env("LC_ALL", "C")
        .output()
        .map_err(|why| format!("{program} cannot be started: {why}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    Err(format!("{program} {} failed ({}): {}", words.join(" "), output.status, said.trim()))
}

/// What a program prints.
fn printed(program: &str, words: &[&str]) -> Result<String, String> {
    Ok(String::from_utf8_lossy(&output(program, words)?.stdout).into_owned())
}

/// Says whether rules were kept; what broke them is a fault.
fn tell(bench: &mut Bench, place: &str, kept: Result<String, String>) {
    match kept {
        Ok(_) => println!("  kept   {place}"),
        Err(why) => {
            println!("  BROKEN {place}");
            bench.faults.push(why);
        }
    }
}

/// A file's text.
fn text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|why| format!("cannot read {}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> Bench {
        Bench { source: PathBuf::new(), build: PathBuf::new(), faults: Vec::new(), skipped: Vec::new() }
    }

    #[test]
    fn a_value_above_its_budget_fails_the_gate() {
        let mut bench = bench();
        assert!(bench.judge("flash", 195, 195, true).ends_with("ok"));
        assert!(bench.verdict().is_ok());
        assert!(bench.judge("flash", 196, 195, true).ends_with("ABOVE"));
        assert!(bench.verdict().unwrap_err().contains("flash: 196 is above the budget of 195"));
    }

    #[test]
    fn a_value_of_another_compiler_version_has_no_verdict() {
        let mut bench = bench();
        assert!(bench.judge("flash", 500, 195, false).ends_with("no verdict"));
        assert!(bench.verdict().is_ok());
    }

    #[test]
    fn a_program_that_is_missing_is_said_to_be() {
        let mut bench = bench();
        assert!(!bench.has("no-such-compiler", "a target"));
        assert_eq!(bench.skipped, ["a target: no-such-compiler is missing"]);
    }
}
