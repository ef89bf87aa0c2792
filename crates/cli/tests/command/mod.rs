//! The program as a user starts it, in a directory of its own.

// Each test file is a crate of its own and uses its part of this.
#![allow(dead_code)]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The verbs that a help lists below the one that it is of.
pub(crate) fn below(verb: &str, help: &str) -> Vec<String> {
    let list = help.split("Verbs:\n").nth(1).unwrap_or_default();
    let names = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(|name| format!("{verb} {name}").trim().to_owned()).collect()
}

/// A directory in which `dropline` is started.
pub(crate) struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dropline"));
        command.args(words).current_dir(self.directory.path()).stdin(Stdio::null()).env_remove("NO_COLOR");
        command.env_remove("DROPLINE_HISTORY");
        command
    }

    /// Runs to the end.
    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        Ended::from(self.command(words).output().unwrap())
    }

    /// Runs to the end and must be done.
    pub(crate) fn done(&self, words: &[&str]) -> Ended {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.errors);
        ended
    }

    /// Compares `a.jsonl` with `b.jsonl`.
    pub(crate) fn compare(&self, more: &[&str]) -> Ended {
        self.run(&[&["compare", "a.jsonl", "b.jsonl"], more].concat())
    }

    /// A trial of a program that says how many packets came back, and after which time.
    pub(crate) fn trial_of(&self, name: &str, forwarded: u64, delays: &str) -> Ended {
        let answer = format!(
            r#"{{\"intended\":100000,\"offered\":100000,\"forwarded\":{forwarded},\"duration_s\":1.0,\"delay_ns_histogram\":[{delays}]}}"#
        );
        let target = format!(r#"exec:sh -c 'read line; echo "{answer}"'"#);
        self.run(&["trial", &target, "--load=100kpps", "--duration=1s", "-q", "-o", name])
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// An embedded target on a free port, stopped when it goes.
    pub(crate) fn serve(&self, words: &[&str]) -> Service {
        let all = [&["serve", "--listen", "127.0.0.1:0"], words].concat();
        let mut child = self.command(&all).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening udp ").unwrap().to_owned();
        Service { child, output, address }
    }
}

/// What a command left.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
    pub(crate) errors: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            text: String::from_utf8(output.stdout).unwrap(),
            errors: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text).unwrap_or_else(|why| panic!("{why}: {}", self.text))
    }
}

/// A running `dropline serve`.
pub(crate) struct Service {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    pub(crate) address: String,
}

impl Service {
    pub(crate) fn target(&self) -> String {
        format!("udp://{}", self.address)
    }

    /// Ends it as Ctrl-C does, and returns what it printed.
    pub(crate) fn interrupt(mut self) -> String {
        interrupt(&self.child);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut text).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        text
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends SIGINT.
pub(crate) fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits until a file has at least `lines` lines.
pub(crate) fn wait_for_lines(path: &Path, lines: usize) {
    for _ in 0..600 {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.matches('\n').count() >= lines {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{} never had {lines} lines", path.display());
}

/// Codes of the caveats of a trial, a record or a comparison.
pub(crate) fn codes(json: &serde_json::Value) -> Vec<&str> {
    json["caveats"].as_array().unwrap().iter().map(|caveat| caveat["code"].as_str().unwrap()).collect()
}
