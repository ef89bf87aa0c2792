//! A command that is run for every alarm, without a shell.

use super::event::Event;
use dropline_failure::Failure;
use std::process::{Child, Command, Stdio};

/// A command with places for what happened.
#[derive(Debug)]
pub struct AlarmCommand {
    words: Vec<String>,
    running: Vec<Child>,
    counts: CommandCounts,
}

/// What became of the commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandCounts {
    /// Started.
    pub started: u64,
    /// Ended with another code than 0.
    pub failed: u64,
    /// Not started: it is not there, or too many were running.
    pub not_started: u64,
}

/// Commands that run at a time.
const AT_A_TIME: usize = 8;

impl AlarmCommand {
    /// Splits a command into words by POSIX rules. In each word `{kind}`, `{variable}` and `{text}`
    /// will stand for what happened; no shell sees them.
    ///
    /// # Errors
    /// If a quote is open or there is no word.
    pub fn parse(command: &str) -> Result<Self, Failure> {
        let words = shlex::split(command).filter(|words| !words.is_empty()).ok_or_else(|| {
            Failure::usage(format!("{command:?} is not a command: a quote is open, or it is empty"))
        })?;
        Ok(Self { words, running: Vec::new(), counts: CommandCounts::default() })
    }

    /// Starts the command for an event and does not wait for it.
    pub fn start(&mut self, event: &Event) {
        self.reap();
        let variable = event.variable.map_or_else(String::new, |variable| variable.to_string());
        let mut words = self.words.iter().map(|word| fill(word, event.kind.name(), &variable, &event.text));
        let program = words.next().expect("a command has a word");
        if self.running.len() >= AT_A_TIME {
            self.counts.not_started += 1;
            return;
        }
        let quiet = Command::new(program).args(words).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        match quiet {
            Ok(child) => {
                self.running.push(child);
                self.counts.started += 1;
            }
            Err(_) => self.counts.not_started += 1,
        }
    }

    /// Waits for the commands that still run, and counts.
    pub fn finish(mut self) -> CommandCounts {
        for child in &mut self.running {
            let ended_well = child.wait().is_ok_and(|status| status.success());
            self.counts.failed += u64::from(!ended_well);
        }
        self.counts
    }

    fn reap(&mut self) {
        let failed = &mut self.counts.failed;
        self.running.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                *failed += u64::from(!status.success());
                false
            }
            Err(_) => false,
        });
    }
}

/// One pass, so that what is filled in is not looked at again.
fn fill(word: &str, kind: &str, variable: &str, text: &str) -> String {
    let mut filled = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        let places = [("{kind}", kind), ("{variable}", variable), ("{text}", text)];
        let place = places.iter().find(|(name, _)| rest[at..].starts_with(name));
        let (length, with) = place.map_or((1, "{"), |(name, with)| (name.len(), *with));
        filled.push_str(with);
        rest = &rest[at + length..];
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::EventKind;

    #[test]
    fn what_happened_is_filled_in_once_and_no_shell_sees_it() {
        assert_eq!(fill("v={variable} {kind}{x}", "silent", "7", ""), "v=7 silent{x}");
        assert_eq!(fill("{text}", "silent", "7", "{kind}; rm -rf $HOME"), "{kind}; rm -rf $HOME");
        for wrong in ["", "'open"] {
            assert!(AlarmCommand::parse(wrong).is_err());
        }
    }

    #[test]
    fn a_command_runs_with_what_happened_as_one_word() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a b;c");
        let mut command = AlarmCommand::parse(&format!("touch '{}-{{variable}}'", path.display())).unwrap();
        let event = |variable| Event { at_s: 1.0, kind: EventKind::Silent, variable, text: String::new() };
        command.start(&event(Some(9)));
        assert_eq!(command.finish(), CommandCounts { started: 1, failed: 0, not_started: 0 });
        assert!(directory.path().join("a b;c-9").exists());
        let mut absent = AlarmCommand::parse("/there/is/none").unwrap();
        absent.start(&event(None));
        assert_eq!(absent.finish().not_started, 1);
    }
}
