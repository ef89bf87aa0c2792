//! The programs that build a laboratory, started without a shell.

use crate::LabError;
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

/// Runs a program to its end and returns what it printed.
///
/// # Errors
/// If it is missing, not permitted, or refuses.
pub(crate) fn run(program: &str, words: &[&str]) -> Result<String, LabError> {
    let output = command(program).args(words).stdin(Stdio::null()).output();
    finished(program, words, output)
}

/// The same with something to read.
pub(crate) fn run_with_input(program: &str, words: &[&str], input: &str) -> Result<String, LabError> {
    let output = (|| {
        let mut child = command(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let written = child.stdin.take().expect("is piped").write_all(input.as_bytes());
        let output = child.wait_with_output()?;
        // A program that ends without reading all says more about it in its own words.
        if output.status.success() { written.map(|()| output) } else { Ok(output) }
    })();
    finished(program, words, output)
}

/// A program that may be outside an ordinary user's path.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin:/usr/bin:/bin"));
    command
}

/// What a failed start means.
pub(crate) fn not_started(program: &str, why: io::Error) -> LabError {
    match why.kind() {
        io::ErrorKind::NotFound => {
            let package = match program {
                "ip" | "tc" => "iproute2",
                "nft" => "nftables",
                "chrt" | "setpriv" | "taskset" => "util-linux",
                _ => "that it comes from",
            };
            LabError::Missing { program: program.into(), package }
        }
        _ => LabError::System { doing: format!("starting {program}"), source: why },
    }
}

fn finished(program: &str, words: &[&str], output: io::Result<Output>) -> Result<String, LabError> {
    let output = output.map_err(|why| not_started(program, why))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if said.contains("not permitted") || said.contains("Permission denied") {
        return Err(LabError::Permission(said));
    }
    Err(LabError::Refused { command: format!("{program} {}", words.join(" ")), said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let missing = |program| not_started(program, io::ErrorKind::NotFound.into()).to_string();
        assert_eq!(missing("nft"), "nft is not installed; it is in the package nftables");
        assert!(run("no-such-program-at-all", &[]).unwrap_err().to_string().contains("not installed"));
    }

    #[test]
    fn a_refusal_is_told_in_the_programs_own_words() {
        let why = run("ls", &["/no/such/file"]).unwrap_err().to_string();
        assert!(why.starts_with("ls /no/such/file failed: ") && why.contains("No such file"), "{why}");
    }
}
