//! A target made ready: what is said to it before, and what is had then.

use crate::{Live, Target};
use dropline_failure::Failure;
use dropline_traffic::{Moving, Together};
use dropline_trial::{Measurer, Rate, TrafficProfile};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A target that is ready to be measured.
pub struct Opened {
    /// Performs the trials.
    pub measurer: AnyMeasurer,
    /// In words, what it is and how fast it answers.
    pub note: Option<String>,
    /// In words, how packets are sent.
    pub generator: Option<String>,
    /// Receive buffer that our reply sockets got, in bytes.
    pub reply_buffer_bytes: Option<u64>,
}

/// Any way to perform a trial.
pub type AnyMeasurer = Box<dyn Measurer<Error = Failure>>;

/// Whoever performs a target's trials elsewhere than in this process.
pub trait Elsewhere: Send + Sync {
    /// Makes the target ready there.
    ///
    /// # Errors
    /// If it cannot be made ready.
    fn open(&self, target: &Target, profile: &TrafficProfile, opening: &Opening) -> Result<Opened, Failure>;

    /// Who performs them, in the words by which they are asked for.
    ///
    /// # Errors
    /// If they are not there.
    fn on(&self) -> Result<String, Failure>;

    /// What all that perform them can send together, in packets a second.
    ///
    /// # Errors
    /// If they could not measure that.
    fn limit(&self, profile: &TrafficProfile) -> Result<Rate, Failure>;
}

/// What a measurer is told beside the profile.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Number of the first trial it will perform.
    pub first_trial: u64,
    /// Turns below this were had by requests of the measurement, where it is resumed.
    pub asked_below: u64,
    /// Set when the user wants to stop.
    pub stop: Arc<AtomicBool>,
    /// How long a program may stay silent beyond a trial's duration.
    pub patience: Duration,
    /// Time slices of each trial, where the measurer can give them.
    pub slices: Option<u32>,
    /// Packets whose times are kept one by one, where the measurer can give them; 0 keeps none.
    pub keep_packets: usize,
    /// Where events of a pipeline are kept as a trace, where they are.
    pub keep_events: Option<PathBuf>,
    /// How packets of ours are moved.
    pub moving: Moving,
    /// Told how far the trial is, where the measurer can tell.
    pub live: Option<Arc<Live>>,
    /// Who says when trials start, where several generators perform them together.
    pub together: Option<Together>,
    /// The program `dropline`: its helpers are started from it, or lie beside it.
    pub program: ProgramFile,
}

/// Where the program `dropline` is. A process that searches may be another one, such as an interpreter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProgramFile {
    /// It is the program that runs.
    #[default]
    Own,
    /// It is this file.
    File(PathBuf),
    /// It is not here: what only it can do is refused in words.
    Missing,
}

impl ProgramFile {
    /// Its file.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(&self) -> Result<PathBuf, Failure> {
        match self {
            Self::Own => std::env::current_exe().map_err(|why| {
                Failure::environment(format!("the file of this program cannot be found: {why}"))
            }),
            Self::File(path) => Ok(path.clone()),
            Self::Missing => {
                Err(Failure::environment("the program dropline is not here, and it is needed for this")
                    .advice("install it, and say where it is:  DROPLINE_PROGRAM=/path/to/dropline"))
            }
        }
    }

    /// The directories around it, the nearest first.
    pub(crate) fn around(&self) -> Vec<PathBuf> {
        let found = self.find().unwrap_or_default();
        found.ancestors().skip(1).take(4).map(Path::to_owned).collect()
    }
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            first_trial: 1,
            asked_below: 0,
            stop: Arc::default(),
            patience: Duration::from_secs(60),
            slices: None,
            keep_packets: 0,
            keep_events: None,
            moving: Moving::default(),
            live: None,
            together: None,
            program: ProgramFile::Own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::client_program;

    #[test]
    fn helpers_are_those_of_the_program_that_is_given_and_refused_in_words_where_none_is() {
        let given = ProgramFile::File("/opt/dropline/bin/dropline".into());
        assert_eq!(client_program(&given).unwrap().path, Path::new("/opt/dropline/bin/dropline"));
        assert_eq!(given.around()[..2], ["/opt/dropline/bin", "/opt/dropline"].map(PathBuf::from));
        let refused = client_program(&ProgramFile::Missing).unwrap_err();
        assert_eq!(refused.exit_code(), 4);
        assert!(refused.to_string().contains("DROPLINE_PROGRAM"), "{refused}");
        assert!(ProgramFile::Missing.around().is_empty());
    }
}
