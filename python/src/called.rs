//! A function of Python's as a measurer.

use dropline_failure::Failure;
use dropline_targets::exec::{Answer, Question};
use dropline_trial::{Measurer, TrafficProfile, Trial, TrialInput};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Whoever performs trials may take as long as he likes: he says what it cost.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30 * 86_400);

/// What a function raised, until it is raised again where the search was begun.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, why: PyErr) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }
}

/// Calls a function with load in packets a second and duration in seconds, for an answer as JSON.
pub(crate) struct Called {
    pub(crate) measure: Py<PyAny>,
    pub(crate) profile: TrafficProfile,
    pub(crate) raised: Raised,
}

impl Measurer for Called {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        let (load, duration) = (input.load.as_pps(), input.duration.as_secs_f64());
        let answered = Python::attach(|py| {
            py.check_signals()?;
            self.measure.call1(py, (load, duration))?.extract::<String>(py)
        });
        let answer = match answered {
            Ok(answer) => answer,
            Err(why) => {
                let is_stop = Python::attach(|py| why.is_instance_of::<PyKeyboardInterrupt>(py));
                let failure = match is_stop {
                    true => Failure::interrupted(),
                    false => Failure::environment(format!("the measurer raised {why}"))
                        .advice("finished trials are kept; mend the measurer"),
                };
                self.raised.keep(why);
                return Err(failure);
            }
        };
        trial(&answer, &Question::new(0, input, &self.profile, PATIENCE))
    }
}

/// The trial that an answer describes.
pub(crate) fn trial(answer: &str, question: &Question) -> Result<Trial, Failure> {
    let wrong = |why: &dyn std::fmt::Display| {
        let load = question.input.load;
        Failure::usage(format!("the answer of the measurer to a trial at {load} is wrong: {why}")).advice(
            "an answer is a mapping with offered and forwarded; intended, duration_s, elapsed_s and delay_ns_histogram \
             where they are known",
        )
    };
    let asked = question.input.load.packets_in(question.input.duration);
    let answer = Answer::read_of(answer, Some(asked)).map_err(|why| wrong(&why))?;
    answer.trial(question).map_err(|why| wrong(&why))
}
