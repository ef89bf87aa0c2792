//! Why a verb could not do what was asked, and the exit code that says so.

use crate::{excerpt, without_numbers};
use std::{fmt, io};

/// A verb's error: what happened, what to do, how the program ends.
#[derive(Debug)]
pub struct Failure {
    kind: FailureKind,
    what: String,
    advice: Option<String>,
}

/// What kind of failure, by who has to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The user: something was typed wrong. Exit code 2.
    Usage,
    /// Refused, or broken by the environment: consent, privilege, missing part, a program that died.
    /// Exit code 4.
    Environment,
    /// What was measured is not valid, and nothing that is would follow: it was our own side, or the way. Exit code 3.
    NotValid,
    /// The user stopped it; what was measured is kept. Exit code 130.
    Interrupted,
}

impl Failure {
    /// Something was typed wrong.
    pub fn usage(what: impl fmt::Display) -> Self {
        Self::new(FailureKind::Usage, what)
    }

    /// The environment refused or broke.
    pub fn environment(what: impl fmt::Display) -> Self {
        Self::new(FailureKind::Environment, what)
    }

    /// What was measured is not valid, and no other measurement is made.
    pub fn not_valid(what: impl fmt::Display) -> Self {
        Self::new(FailureKind::NotValid, what)
    }

    /// The system did not start a thread.
    pub fn thread(why: &io::Error) -> Self {
        let what = format!("a thread could not be started ({why})");
        if why.kind() != io::ErrorKind::WouldBlock {
            return Self::environment(what);
        }
        Self::environment(format!("{what}: the limit of processes is reached"))
            .advice("raise it with  ulimit -u  or the container's pids limit")
    }

    /// The user stopped it.
    pub fn interrupted() -> Self {
        Self::new(FailureKind::Interrupted, "interrupted")
    }

    /// The same failure with a line that says what to do.
    #[must_use]
    pub fn advice(mut self, advice: impl fmt::Display) -> Self {
        self.advice = Some(said(&advice));
        self
    }

    /// In one line, as it stands behind the name of what it is about: that is not said again.
    pub fn behind(&self, name: &str) -> String {
        let all = self.to_string();
        let line = all.lines().map(str::trim).collect::<Vec<_>>().join("; ");
        line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).map(str::to_owned).unwrap_or(line)
    }

    /// What happened, and what to do where that is known, each as a text of its own.
    pub fn parts(&self) -> (&str, Option<&str>) {
        (&self.what, self.advice.as_deref())
    }

    /// What kind it is.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            FailureKind::Usage => 2,
            FailureKind::Environment => 4,
            FailureKind::NotValid => 3,
            FailureKind::Interrupted => 130,
        }
    }

    fn new(kind: FailureKind, what: impl fmt::Display) -> Self {
        Self { kind, what: said(&what), advice: None }
    }
}

/// As a person reads it.
fn said(words: &impl fmt::Display) -> String {
    excerpt(&without_numbers(&words.to_string())).into_owned()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.advice {
            Some(advice) => write!(f, "\n  {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::Failure;

    #[test]
    fn a_failure_behind_a_name_does_not_say_it_again_and_its_advice_is_apart() {
        let failure = Failure::usage("a.jsonl: the record is empty").advice("write another");
        assert_eq!(failure.behind("a.jsonl"), "the record is empty; write another");
        assert_eq!(failure.behind("b"), "a.jsonl: the record is empty; write another");
    }
}
