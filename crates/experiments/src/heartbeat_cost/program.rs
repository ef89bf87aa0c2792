//! Other programs, started without a shell, with a bound on their time.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest that a compiler, a simulator or a harness may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a program printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// On stdout.
    pub out: String,
    /// On stderr.
    pub errors: String,
}

/// Why a program did not do its work.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProgramError {
    /// It is not there.
    #[error("{0} is not there; cargo xtask setup embedded installs it")]
    Missing(String),
    /// It ended with an error.
    #[error("{program}: {why}")]
    Failed {
        /// Its name.
        program: String,
        /// The first line that says why.
        why: String,
    },
    /// It is there, and a header is not.
    #[error("{program}: {why}; if it is the C library's, cargo xtask setup embedded installs it")]
    Header {
        /// Its name.
        program: String,
        /// The header, as it says.
        why: String,
    },
    /// It did not end in time, and was ended.
    #[error("{0} did not end within 2 minutes")]
    Endless(String),
}

/// Where a program is on PATH; `./name` is in `directory`.
fn find(directory: &Path, program: &str) -> Option<PathBuf> {
    if let Some(name) = program.strip_prefix("./") {
        return Some(directory.join(name)).filter(|path| path.is_file());
    }
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}

/// Runs a program in `directory` to its end.
///
/// # Errors
/// If it is not there, fails, or does not end.
pub fn run<S: AsRef<OsStr>>(directory: &Path, program: &str, words: &[S]) -> Result<Printed, ProgramError> {
    let path = find(directory, program).ok_or_else(|| ProgramError::Missing(program.into()))?;
    let failed =
        |why: &dyn std::fmt::Display| ProgramError::Failed { program: program.into(), why: why.to_string() };
    let capture = |name: &str| std::fs::File::create(directory.join(name)).map_err(|why| failed(&why));
    let mut child = Command::new(path)
        .args(words)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(capture("stdout")?)
        .stderr(capture("stderr")?)
        .spawn()
        .map_err(|why| failed(&why))?;
    let began = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|why| failed(&why))? {
            Some(status) => break status,
            None if began.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(ProgramError::Endless(program.into()));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let read = |name: &str| {
        std::fs::read(directory.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let printed = Printed {
        out: read("stdout").map_err(|why| failed(&why))?,
        errors: read("stderr").map_err(|why| failed(&why))?,
    };
    if status.success() {
        return Ok(printed);
    }
    Err(refusal(program, &printed.errors).unwrap_or_else(|| failed(&status)))
}

/// The line of a program's own words that says why it failed; `None` if it said nothing.
fn refusal(program: &str, errors: &str) -> Option<ProgramError> {
    let says = |word: &str| errors.lines().find(|line| line.contains(word));
    let missing = errors
        .lines()
        .find_map(|line| line.split_once("fatal error: ")?.1.strip_suffix(": No such file or directory"));
    let program = program.to_owned();
    if let Some(header) = missing {
        return Some(ProgramError::Header { program, why: format!("there is no {header}") });
    }
    let why = says("error").or_else(|| says("undefined")).or_else(|| errors.lines().next())?.to_owned();
    Some(ProgramError::Failed { program, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_the_command_that_installs_it() {
        let why = run(Path::new("/"), "no-such-gcc", &["-v"]).unwrap_err();
        assert_eq!(why, ProgramError::Missing("no-such-gcc".into()));
        assert!(why.to_string().contains("cargo xtask setup embedded"), "{why}");
    }

    #[test]
    fn a_missing_header_is_no_fault_of_the_source() {
        let errors = "a.c: In function\na.c:5:10: fatal error: string.h: No such file or directory\n";
        let why = refusal("avr-gcc", errors).unwrap().to_string();
        assert_eq!(
            why,
            "avr-gcc: there is no string.h; if it is the C library's, cargo xtask setup embedded installs it"
        );
        let why = refusal("gcc", "a.c: In function\na.c:1:1: error: expected ';'\n").unwrap();
        assert_eq!(why.to_string(), "gcc: a.c:1:1: error: expected ';'");
        assert_eq!(refusal("gcc", ""), None);
    }

    #[test]
    fn a_failing_program_says_why_in_its_own_words() {
        let bench = tempfile::tempdir().unwrap();
        assert_eq!(run(bench.path(), "echo", &["a b", "$HOME"]).unwrap().out, "a b $HOME\n");
        let why = run(bench.path(), "cat", &["no-such-file"]).unwrap_err();
        assert!(why.to_string().contains("no-such-file"), "{why}");
    }
}
