//! Load beside a measurement: commands that run while it runs.

use dropline_failure::Failure;
use dropline_traffic::{Farewell, Started, start_with_us};
use std::process::{Command, Stdio};

/// Programs that are ended with the measurement.
#[derive(Debug, Default)]
pub struct Background {
    children: Vec<Started>,
}

impl Background {
    /// Starts each command, split by POSIX rules, without a shell; what they print is thrown away.
    ///
    /// # Errors
    /// If a command is none, or cannot be started; those that were started are ended.
    pub fn start(commands: &[String]) -> Result<Self, Failure> {
        Self::start_for("--background", commands, &[])
    }

    /// The same for the commands of another flag, with variables of the environment.
    pub fn start_for(flag: &str, commands: &[String], environment: &[(&str, &str)]) -> Result<Self, Failure> {
        let mut started = Self::default();
        for text in commands {
            let words = shlex::split(text).filter(|words| !words.is_empty()).ok_or_else(|| {
                Failure::usage(format!("{flag} {text:?} is not a command: a quote is open, or it is empty"))
            })?;
            let mut command = Command::new(&words[0]);
            command
                .args(&words[1..])
                .envs(environment.iter().copied())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let child = start_with_us(&mut command, Farewell::Killed).map_err(|why| {
                Failure::environment(format!("{flag}: {} cannot be started: {why}", words[0]))
            })?;
            started.children.push(child);
        }
        Ok(started)
    }

    /// Commands that ended by themselves before the measurement did.
    pub fn ended(&mut self) -> usize {
        self.children.iter_mut().filter_map(|child| child.try_wait().ok().flatten()).count()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.children.iter_mut().for_each(Started::end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn background_load_is_gone_when_the_measurement_is() {
        let background =
            Background::start(&["sleep 1000".into(), "sh -c 'sleep 1000 & wait'".into()]).unwrap();
        let groups: Vec<u32> = background.children.iter().map(|child| child.id()).collect();
        drop(background);
        for group in groups {
            let running = std::fs::read_to_string(format!("/proc/{group}/stat"));
            assert!(running.is_err(), "{group}");
        }
        assert_eq!(Background::start(&["'open".into()]).unwrap_err().exit_code(), 2);
        assert_eq!(Background::start(&["/nowhere/at/all".into()]).unwrap_err().exit_code(), 4);
    }
}
