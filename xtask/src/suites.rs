//! The test suites. A test that moves real packets on a busy machine may fail for the machine's sake: it is performed once
//! more, by itself, and named in the end. One that fails again, and any test of what is pure, fails the run.

use crate::{Done, root};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Packages whose tests meet the machine: its CPUs, sockets, network namespaces and programs.
const MEET_THE_MACHINE: [&str; 8] = [
    "dropline",
    "dropline-aggregator",
    "dropline-fastpath",
    "dropline-lab",
    "dropline-targets",
    "dropline-trace",
    "dropline-traffic",
    "dropline-wakeup",
];
/// More failures than this are a defect and not the machine's.
const MOST: usize = 5;

/// A test by the words with which cargo finds it: `-p dropline --test consent`, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failed {
    suite: String,
    name: String,
}

/// Runs `cargo test` with these words; the tests that failed once and passed by themselves are added to `unsteady`.
pub(crate) fn run(words: &[&str], unsteady: &mut Vec<String>) -> Done {
    let words = [&["test", "--locked", "--no-fail-fast"], words].concat();
    let mut failures = Failures::default();
    let begun = Instant::now();
    let status = heard(&words, &mut |line| failures.read(line))?;
    crate::took(&["cargo", &words.join(" ")].join(" "), begun);
    if status.success() {
        return Ok(());
    }
    let error = || Err(format!("cargo {} failed: {status}", words.join(" ")));
    let Some(failed) = failures.of_the_machine() else { return error() };
    let features: Vec<&str> = words.iter().skip_while(|word| **word != "--features").copied().collect();
    for Failed { suite, name } in failed {
        eprintln!(
            "{name} ({suite}) failed. It depends on the machine and is performed once more, by itself."
        );
        let suite: Vec<&str> = suite.split_whitespace().collect();
        crate::run(
            "cargo",
            &[&["test", "--locked"], &suite[..], &features, &["--", "--exact", &name]].concat(),
        )?;
        unsteady.push(name);
    }
    Ok(())
}

/// What failed, read from what cargo prints.
#[derive(Default)]
struct Failures {
    /// Of the suite that runs.
    names: Vec<String>,
    all: Vec<Failed>,
    /// A suite failed and named no test: it was killed, or could not be built.
    is_unnamed: bool,
}

impl Failures {
    fn read(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.names.push(name.to_owned());
        } else if let Some(suite) = line.strip_prefix("error: test failed, to rerun pass `") {
            let suite = suite.trim_end().trim_end_matches('`');
            self.is_unnamed |= self.names.is_empty();
            self.all.extend(self.names.drain(..).map(|name| Failed { suite: suite.to_owned(), name }));
        } else if line.starts_with("error: could not compile") {
            self.is_unnamed = true;
        }
    }

    /// The failures, if each may be the machine's.
    fn of_the_machine(self) -> Option<Vec<Failed>> {
        let meets = |failed: &Failed| {
            let package = failed.suite.strip_prefix("-p ").and_then(|rest| rest.split_whitespace().next());
            package.is_some_and(|package| MEET_THE_MACHINE.contains(&package))
                && !failed.suite.contains("--doc")
        };
        let are_few = !self.is_unnamed && self.names.is_empty() && (1..=MOST).contains(&self.all.len());
        (are_few && self.all.iter().all(meets)).then_some(self.all)
    }
}

/// Runs cargo; what it prints is shown, and handed to `hear` line by line.
fn heard(words: &[&str], hear: &mut dyn FnMut(&str)) -> Result<ExitStatus, String> {
    eprintln!("+ cargo {}", words.join(" "));
    let cannot = |why: std::io::Error| format!("cargo cannot be started: {why}");
    let (reader, writer) = std::io::pipe().map_err(cannot)?;
    let mut command = Command::new("cargo");
    command.args(words).current_dir(root()).stderr(writer.try_clone().map_err(cannot)?).stdout(writer);
    let mut child = command.spawn().map_err(cannot)?;
    // Its ends of the pipe; the program keeps its own until it ends.
    drop(command);
    let (lines, heard) = mpsc::channel();
    let read = move || {
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if lines.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().spawn(read).map_err(|why| why.to_string())?;
    // A program that a test left running may hold the pipe; cargo's own end is what counts.
    let mut ended = None;
    loop {
        match heard.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => {
                let text = String::from_utf8_lossy(&line);
                eprint!("{text}");
                hear(text.trim_end());
            }
            Err(RecvTimeoutError::Disconnected) => return child.wait().map_err(|why| why.to_string()),
            Err(RecvTimeoutError::Timeout) => match ended {
                Some(status) => return Ok(status),
                None => ended = child.try_wait().map_err(|why| why.to_string())?,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Failures;

    fn failed(text: &str) -> Option<usize> {
        let mut failures = Failures::default();
        text.lines().for_each(|line| failures.read(line));
        failures.of_the_machine().map(|failed| failed.len())
    }

    const A_PLACE: &str = "test a_place ... FAILED\n";

    fn of(package: &str) -> String {
        format!("{A_PLACE}error: test failed, to rerun pass `-p {package} --test places`\n")
    }

    #[test]
    fn only_few_failures_of_what_meets_the_machine_are_tried_again() {
        assert_eq!(failed(&of("dropline-traffic")), Some(1));
        assert_eq!(failed(&of("dropline-traffic").repeat(5)), Some(5));
        assert_eq!(failed(&of("dropline-traffic").repeat(6)), None, "too many");
        assert_eq!(failed(&of("dropline-search")), None, "nothing of it depends on the machine");
        assert_eq!(failed(&(of("dropline-traffic") + &of("dropline-stats"))), None, "one of them does not");
    }

    #[test]
    fn what_names_no_test_is_not_tried_again() {
        assert_eq!(failed("error: could not compile `dropline` (lib) due to 1 previous error"), None);
        assert_eq!(failed("error: test failed, to rerun pass `-p dropline --test places`"), None, "killed");
        assert_eq!(failed(A_PLACE), None, "cargo was killed");
        assert_eq!(failed(""), None);
    }
}
