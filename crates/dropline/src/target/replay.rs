//! `replay:` targets: stored trials answered again.

use crate::Failure;
use crate::keeper::read_record;
use dropline_trial::{Measurer, Trial, TrialInput};
use std::collections::VecDeque;
use std::path::Path;

/// A record whose trials are answered again, in their order, each once.
pub struct Replay {
    trials: VecDeque<Trial>,
}

impl Replay {
    /// Reads the record.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let record = read_record(path)?;
        let trials = record.trials.iter().map(|line| line.trial()).collect::<Result<_, _>>();
        let trials = trials.map_err(|why| Failure::environment(format!("{}: {why}", path.display())))?;
        Ok(Self { trials })
    }
}

impl Measurer for Replay {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        let found = self.trials.iter().position(|trial| trial.input == input);
        found.and_then(|index| self.trials.remove(index)).ok_or_else(|| {
            let seconds = input.duration.as_secs_f64();
            Failure::environment(format!("the record has no further trial of {seconds} s at {}", input.load))
                .advice("replay with the goals, algorithm and load range that the record was made with")
        })
    }
}
