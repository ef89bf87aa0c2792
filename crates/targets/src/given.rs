//! `measurer:` targets: who searches performs the trials himself, and the target is only a name.

use super::{AnyMeasurer, Kind, Opened, Opening, Scheme, Target};
use dropline_failure::{Failure, quoted};
use dropline_trial::{Measurer, PacketTimes, TrafficProfile, Trial, TrialInput};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Its row in the table of targets. Nobody can type one: no help lists it, and a record may name it.
pub(super) const SCHEME: Scheme = Scheme {
    prefix: "measurer:",
    forms: &[],
    parse: |name| match name.is_empty() || name.chars().any(char::is_control) {
        true => Err(Failure::usage(format!("{name:?} does not name a measurer"))
            .advice("a name is a line of text, such as measurer:my-bench")),
        false => Ok(Kind::Given(Given(None))),
    },
};

impl Target {
    /// A target that is only a name: `measurer` performs its trials, whoever wrote it. Every verb takes it as any other target;
    /// its trials are numbered by the record. Nobody but its own program can resume a search of it.
    ///
    /// ```
    /// use dropline_targets::{Opening, Target};
    /// use dropline_trial::{Measurer as _, Rate, TrafficProfile, Trial, TrialInput, measuring};
    /// use std::time::Duration;
    ///
    /// let echo = measuring(|input: TrialInput| {
    ///     let sent = (input.load.as_pps() * input.duration.as_secs_f64()) as u64;
    ///     Ok(Trial { intended: Some(sent), offered: sent, forwarded: sent, ..Trial::new(1, input, 0) })
    /// });
    /// let target = Target::given("my echo", echo)?;
    /// assert_eq!(target.to_string(), "measurer:my echo");
    /// let mut opened = target.open(&TrafficProfile::default(), Opening::default())?;
    /// let input = TrialInput { load: Rate::pps(1e3)?, duration: Duration::from_secs(2) };
    /// assert_eq!(opened.measurer.measure(input)?.forwarded, 2000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If nobody can read the name.
    pub fn given<M>(name: &str, measurer: M) -> Result<Self, Failure>
    where
        M: Measurer<Error = Failure> + Send + 'static,
    {
        let word = format!("{}{name}", SCHEME.prefix);
        Self::parse(&word)?;
        Ok(Self { word, kind: Kind::Given(Given::new(measurer)), stored: None, elsewhere: None })
    }
}

/// What performs the trials, where it is in this program.
#[derive(Clone)]
pub(super) struct Given(Option<Shared>);

/// A target is cloned and opened again at will; the measurer is one.
type Shared = Arc<Mutex<dyn Measurer<Error = Failure> + Send>>;

impl Given {
    pub(super) fn new(measurer: impl Measurer<Error = Failure> + Send + 'static) -> Self {
        Self(Some(Arc::new(Mutex::new(measurer))))
    }

    /// What performs the trials, or why it cannot be asked.
    fn measurer(&self, word: &str) -> Result<&Shared, Failure> {
        self.0.as_ref().ok_or_else(|| elsewhere(word))
    }

    /// Whether what performs its trials is here.
    pub(super) fn present(&self, word: &str) -> Result<(), Failure> {
        self.measurer(word).map(drop)
    }

    pub(super) fn open(
        &self,
        word: &str,
        profile: &TrafficProfile,
        opening: &Opening,
    ) -> Result<Opened, Failure> {
        let measurer = Arc::clone(self.measurer(word)?);
        let stop = Arc::clone(&opening.stop);
        let numbered = Numbered { measurer, stop, next: opening.first_trial, profile: profile.clone() };
        let measurer: AnyMeasurer = Box::new(numbered);
        let note = Some("a measurer that was given performs the trials".into());
        Ok(Opened { measurer, note, generator: None, reply_buffer_bytes: None })
    }
}

impl PartialEq for Given {
    /// A target is what its name says, whoever performs its trials.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Given")
    }
}

/// The measurer is not in this program.
fn elsewhere(word: &str) -> Failure {
    Failure::environment(format!(
        "the trials of {} are performed by a program of its own, and not by this one",
        quoted(word)
    ))
    .advice("measure it, or resume its search, from the program that made the record; docs/how-to/search-from-python.md says how")
}

/// Numbers trials and draws their chance as the record wants it, whatever the measurer makes of them.
struct Numbered {
    measurer: Shared,
    stop: Arc<AtomicBool>,
    next: u64,
    profile: TrafficProfile,
}

impl Numbered {
    /// A measurer that panicked in another search is asked all the same: it says itself what it can still do.
    fn lock(&self) -> MutexGuard<'_, dyn Measurer<Error = Failure> + Send + 'static> {
        self.measurer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Measurer for Numbered {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::interrupted());
        }
        let trial = self.lock().measure(input)?;
        let number = self.next;
        self.next += 1;
        Ok(Trial { number, input, seed: self.profile.trial_seed(number), ..trial })
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.lock().finish()
    }

    fn take_packets(&mut self) -> Option<PacketTimes> {
        self.lock().take_packets()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Opening, Target};
    use dropline_trial::{Measurer as _, Rate, TrafficProfile, Trial, TrialInput, measuring};
    use std::time::Duration;

    fn all_of_it(input: TrialInput) -> Result<Trial, dropline_failure::Failure> {
        let sent = (input.load.as_pps() * input.duration.as_secs_f64()) as u64;
        Ok(Trial { intended: Some(sent), offered: sent, forwarded: sent, ..Trial::new(77, input, 77) })
    }

    #[test]
    fn a_measurer_of_anybodys_is_numbered_and_drawn_as_the_record_wants_it() {
        let target = Target::given("my bench", measuring(all_of_it)).unwrap();
        assert_eq!(target.to_string(), "measurer:my bench");
        let profile = TrafficProfile { seed: 5, ..TrafficProfile::default() };
        let mut opened = target.open(&profile, Opening { first_trial: 3, ..Opening::default() }).unwrap();
        let input = TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(2) };
        let trials = [(); 2].map(|()| opened.measurer.measure(input).unwrap());
        let numbers = trials.each_ref().map(|trial| (trial.number, trial.seed, trial.forwarded));
        assert_eq!(numbers, [(3, profile.trial_seed(3), 2000), (4, profile.trial_seed(4), 2000)]);
    }

    #[test]
    fn a_measurer_that_only_a_record_names_is_read_and_refused_in_words() {
        let named = Target::of_record("measurer:my bench", std::path::Path::new("r.jsonl")).unwrap();
        assert_eq!(named, Target::given("my bench", measuring(all_of_it)).unwrap());
        let refused = named.open(&TrafficProfile::default(), Opening::default()).err().unwrap();
        assert_eq!(refused.exit_code(), 4);
        assert!(refused.to_string().contains("from the program that made the record"), "{refused}");
        assert!(named.consent(&dropline_traffic::Targets::default()).is_err(), "nothing else is done before");
        for wrong in ["", "two\nlines"] {
            assert_eq!(Target::given(wrong, measuring(all_of_it)).unwrap_err().exit_code(), 2);
        }
    }
}
