//! The test suites. A test that moves real packets on a busy machine may fail for the machine's sake: it is performed once
//! more, by itself, and named in the end. One that fails again, and any test of what is pure, fails the run.

use crate::{Done, root};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
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
/// Packages whose tests start programs, or wait for the clock: they pass on any machine, but not where they hardly ever run.
const WAIT_FOR_THE_CLOCK: [&str; 5] =
    ["dropline-consent", "dropline-experiments", "dropline-fleet", "dropline-http", "dropline-verbs"];
/// Runs a program when nobody else wants the processors.
const IN_IDLE_TIME: [&str; 3] = ["chrt", "--idle", "0"];
/// More failures than this are a defect and not the machine's.
const MOST: usize = 5;

/// Tests in one program, as cargo built it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Suite {
    package: String,
    /// The words with which cargo finds it: `-p dropline --test consent`.
    words: String,
    directory: PathBuf,
    program: PathBuf,
}

/// A test that failed, and the suite that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failed {
    suite: Suite,
    name: String,
}

/// Runs the tests that `cargo test` with these words has; those that failed once and passed by themselves are added to `unsteady`.
///
/// What meets the machine or waits for the clock runs one suite after another. All else runs beside it, in the time that nobody else
/// wants; at its end `also`, whose words are those of this program.
pub(crate) fn run(words: &[&str], also: &[&str], unsteady: &mut Vec<String>) -> Done {
    let begun = Instant::now();
    let (meet, pure): (Vec<Suite>, Vec<Suite>) = built(words)?.into_iter().partition(Suite::has_its_turn);
    let mut commands = vec![[&["cargo", "test", "--locked", "--doc"], words].concat()];
    // Building the tests may have built this program anew.
    commands.extend(also.iter().map(|word| vec!["cargo", "xtask", word]));
    let (failures, also_failed) = thread::scope(|scope| {
        let beside = || {
            let mut failures = Failures::default();
            for suite in &pure {
                failures.perform(suite, &IN_IDLE_TIME);
            }
            let failed = commands.iter().find_map(|words| in_one_piece(words).err());
            (failures, failed)
        };
        let beside = thread::Builder::new().spawn_scoped(scope, beside).map_err(|why| why.to_string())?;
        let mut failures = Failures::default();
        for suite in &meet {
            failures.perform(suite, &[]);
        }
        let (others, failed) =
            beside.join().map_err(|_| "the suites that run beside the others ended in a panic")?;
        failures.add(others);
        Ok::<_, String>((failures, failed))
    })?;
    crate::took(&["cargo", "test", &words.join(" ")].join(" "), begun);
    let also = also_failed.map_or(Ok(()), Err);
    if failures.are_none() {
        return also;
    }
    let said = failures.said();
    let Some(failed) = failures.of_the_machine() else { return Err(said) };
    for Failed { suite, name } in failed {
        eprintln!(
            "{name} ({}) failed. It depends on the machine and is performed once more, by itself.",
            suite.words
        );
        if !heard(&mut suite.command(&[], &["--exact", &name]), &mut shown)?.success() {
            return Err(format!("{name} ({}) failed twice", suite.words));
        }
        unsteady.push(name);
    }
    also
}

/// Runs a command in the time that nobody else wants, and shows what it printed at its end.
fn in_one_piece(words: &[&str]) -> Done {
    let (begun, said) = (Instant::now(), words.join(" "));
    let mut command = Command::new(IN_IDLE_TIME[0]);
    command.args(&IN_IDLE_TIME[1..]).args(words).current_dir(root());
    let mut kept = format!("+ {said}\n");
    let status = heard(&mut command, &mut |line| kept.push_str(line));
    eprint!("{kept}");
    crate::took(&said, begun);
    match status? {
        status if status.success() => Ok(()),
        status => Err(format!("{said} failed: {status}")),
    }
}

/// The suites that `cargo test` with these words has, built.
fn built(words: &[&str]) -> Result<Vec<Suite>, String> {
    let words =
        [&["test", "--locked", "--no-run", "--message-format=json-render-diagnostics"], words].concat();
    eprintln!("+ cargo {}", words.join(" "));
    let begun = Instant::now();
    let mut command = Command::new("cargo");
    command.args(&words).current_dir(root()).stderr(Stdio::inherit());
    let output = command.output().map_err(|why| format!("cargo cannot be started: {why}"))?;
    crate::took("building the tests", begun);
    if !output.status.success() {
        return Err(format!("cargo {} failed: {}", words.join(" "), output.status));
    }
    let suites: Vec<Suite> = String::from_utf8_lossy(&output.stdout).lines().filter_map(Suite::of).collect();
    match suites.is_empty() {
        true => Err(format!("cargo {} made no tests, or says so otherwise than it did", words.join(" "))),
        false => Ok(suites),
    }
}

impl Suite {
    /// Reads a line of what cargo says that it made; `None` of all else.
    fn of(line: &str) -> Option<Self> {
        let made: Value = serde_json::from_str(line).ok()?;
        let is_test = made["profile"]["test"].as_bool()?;
        let program = made["executable"].as_str().filter(|_| is_test)?;
        // `path+file:///…/crates/cli#dropline@0.1.0`, or `…/crates/sim#0.1.0` of one that is named as its directory is.
        let (path, named) = made["package_id"].as_str()?.rsplit_once('#')?;
        let package = match named.split_once('@') {
            Some((name, _)) => name,
            None => path.rsplit('/').next()?,
        };
        let (kind, name) = (made["target"]["kind"][0].as_str()?, made["target"]["name"].as_str()?);
        let which = match kind {
            "test" | "bin" | "example" | "bench" => format!("--{kind} {name}"),
            _ => "--lib".into(),
        };
        Some(Self {
            package: package.to_owned(),
            words: format!("-p {package} {which}"),
            directory: Path::new(made["manifest_path"].as_str()?).parent()?.to_owned(),
            program: program.into(),
        })
    }

    /// Whether it does not run beside others, at idle priority.
    fn has_its_turn(&self) -> bool {
        MEET_THE_MACHINE.iter().chain(&WAIT_FOR_THE_CLOCK).any(|package| *package == self.package)
    }

    fn command(&self, before: &[&str], words: &[&str]) -> Command {
        let mut all = before.iter().map(OsStr::new).chain([self.program.as_os_str()]);
        let mut command = Command::new(all.next().expect("there is a program"));
        command.args(all).args(words).current_dir(&self.directory).env("CARGO_MANIFEST_DIR", &self.directory);
        command
    }
}

/// What failed, read from what the suites print.
#[derive(Default)]
struct Failures {
    all: Vec<Failed>,
    /// Suites that failed and named no test: they were killed, or could not be started.
    unnamed: Vec<Suite>,
}

impl Failures {
    /// Runs a suite by way of another program, or by itself; what it prints is shown at once, or in one piece at its end.
    fn perform(&mut self, suite: &Suite, before: &[&str]) {
        let title = format!("     Running {}\n", suite.words);
        let (begun, mut names, mut kept) = (Instant::now(), Vec::new(), String::new());
        if before.is_empty() {
            eprint!("{title}");
        }
        let mut hear = |line: &str| {
            names.extend(failed_in(line).map(str::to_owned));
            if before.is_empty() {
                shown(line);
            } else {
                kept.push_str(line);
            }
        };
        let status = heard(&mut suite.command(before, &[]), &mut hear);
        if !before.is_empty() {
            eprint!("{title}{kept}");
        }
        crate::took(&suite.words, begun);
        self.ended(suite, names, status.is_ok_and(|status| status.success()));
    }

    fn ended(&mut self, suite: &Suite, names: Vec<String>, is_success: bool) {
        self.unnamed.extend((!is_success && names.is_empty()).then(|| suite.clone()));
        self.all.extend(names.into_iter().map(|name| Failed { suite: suite.clone(), name }));
    }

    fn add(&mut self, other: Self) {
        self.unnamed.extend(other.unnamed);
        self.all.extend(other.all);
    }

    fn are_none(&self) -> bool {
        self.all.is_empty() && self.unnamed.is_empty()
    }

    fn said(&self) -> String {
        let named = self.all.iter().map(|Failed { suite, name }| format!("{name} ({})", suite.words));
        let unnamed = self.unnamed.iter().map(|suite| {
            format!(
                "{}, which was killed or could not be started (chrt, of util-linux, has to be there)",
                suite.words
            )
        });
        format!("tests failed: {}", named.chain(unnamed).collect::<Vec<_>>().join(", "))
    }

    /// The failures, if each may be the machine's.
    fn of_the_machine(self) -> Option<Vec<Failed>> {
        let meets = |failed: &Failed| MEET_THE_MACHINE.contains(&failed.suite.package.as_str());
        let are_few = self.unnamed.is_empty() && (1..=MOST).contains(&self.all.len());
        (are_few && self.all.iter().all(meets)).then_some(self.all)
    }
}

/// The test that a line says to have failed.
fn failed_in(line: &str) -> Option<&str> {
    line.trim_end().strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

fn shown(line: &str) {
    eprint!("{line}");
}

/// Runs a program; what it prints is handed to `hear` line by line.
fn heard(command: &mut Command, hear: &mut dyn FnMut(&str)) -> Result<ExitStatus, String> {
    let cannot = |why: std::io::Error| format!("a program cannot be started: {why}");
    let (reader, writer) = std::io::pipe().map_err(cannot)?;
    let mut child = command
        .stdin(Stdio::null())
        .stderr(writer.try_clone().map_err(cannot)?)
        .stdout(writer)
        .spawn()
        .map_err(cannot)?;
    // Its ends of the pipe; the program keeps its own until it ends.
    command.stdout(Stdio::null()).stderr(Stdio::null());
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
    thread::Builder::new().spawn(read).map_err(|why| why.to_string())?;
    // A program that a test left running may hold the pipe; the suite's own end is what counts.
    let mut ended = None;
    loop {
        match heard.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => hear(&String::from_utf8_lossy(&line)),
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
    use super::{Failures, Suite, failed_in};

    fn suite(package: &str) -> Suite {
        let made = format!(
            r#"{{"reason":"compiler-artifact","package_id":"path+file:///d/crates/{package}#{package}@0.1.0",
                "manifest_path":"/d/crates/{package}/Cargo.toml","target":{{"kind":["test"],"name":"places"}},
                "profile":{{"test":true}},"executable":"/d/target/debug/deps/places-1"}}"#
        );
        Suite::of(&made).unwrap()
    }

    /// How many are tried again, where so many tests of each of these failed.
    fn again(failed: &[(&str, usize)]) -> Option<usize> {
        let mut failures = Failures::default();
        for (package, count) in failed {
            failures.ended(&suite(package), vec!["a_place".into(); *count], false);
        }
        failures.of_the_machine().map(|failed| failed.len())
    }

    #[test]
    fn only_few_failures_of_what_meets_the_machine_are_tried_again() {
        assert_eq!(again(&[("dropline-traffic", 1)]), Some(1));
        assert_eq!(again(&[("dropline-traffic", 5)]), Some(5));
        assert_eq!(again(&[("dropline-traffic", 4), ("dropline", 2)]), None, "too many");
        assert_eq!(again(&[("dropline-search", 1)]), None, "nothing of it depends on the machine");
        assert_eq!(again(&[("dropline-verbs", 1)]), None, "it waits for the clock, on any machine");
        assert_eq!(again(&[("dropline-traffic", 1), ("dropline-stats", 1)]), None, "one of them does not");
    }

    #[test]
    fn what_names_no_test_is_not_tried_again() {
        assert_eq!(again(&[("dropline-traffic", 0)]), None, "killed");
        assert_eq!(
            again(&[("dropline-traffic", 0), ("dropline-traffic", 1)]),
            None,
            "one of them was killed"
        );
        assert_eq!(again(&[]), None);
        let mut failures = Failures::default();
        failures.ended(&suite("dropline-stats"), Vec::new(), false);
        assert!(!failures.are_none() && failures.said().contains("-p dropline-stats --test places"));
    }

    #[test]
    fn a_suite_is_named_as_cargo_finds_it_and_its_failures_as_it_prints_them() {
        let traffic = suite("dropline-traffic");
        assert_eq!(traffic.words, "-p dropline-traffic --test places");
        assert_eq!(traffic.directory.to_str(), Some("/d/crates/dropline-traffic"));
        let beside =
            ["dropline-search", "dropline-verbs", "dropline"].map(|name| !suite(name).has_its_turn());
        assert_eq!(beside, [true, false, false]);
        let plain = r#"{"package_id":"path+file:///d/xtask#0.1.0","manifest_path":"/d/xtask/Cargo.toml","executable":"/d/x",
            "target":{"kind":["lib"],"name":"xtask"},"profile":{"test":true}}"#;
        assert_eq!(Suite::of(plain).unwrap().words, "-p xtask --lib");
        assert_eq!(Suite::of(&plain.replace("true", "false")), None, "it is no test");
        assert_eq!(failed_in("test a::place ... FAILED\n"), Some("a::place"));
        assert_eq!(failed_in("test a::place ... ok\n"), None);
    }
}
