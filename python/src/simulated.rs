//! A simulated system that performs trials when it is asked.

use crate::asked::seconds;
use crate::raised::{raised, wrong};
use dropline_targets::exec::Answer;
use dropline_targets::{Opening, Target};
use dropline_trial::{Rate, TrafficProfile, TrialInput};
use pyo3::prelude::*;

/// A system of virtual time, each trial with a chance of its own.
#[pyclass(frozen, module = "dropline._dropline")]
pub(crate) struct Simulated {
    target: Target,
    profile: TrafficProfile,
}

#[pymethods]
impl Simulated {
    #[new]
    fn new(word: &str, seed: u64) -> PyResult<Self> {
        let target = Target::parse(&format!("sim:{word}")).map_err(|why| raised(&why))?;
        Ok(Self { target, profile: TrafficProfile { seed, ..TrafficProfile::default() } })
    }

    /// Performs trial `number`, for an answer as JSON.
    fn measure(&self, number: u64, load_pps: f64, duration_s: f64) -> PyResult<String> {
        let load = Rate::pps(load_pps).map_err(wrong)?;
        let duration = seconds("duration_s", duration_s).map_err(|why| raised(&why))?;
        let opening = Opening { first_trial: number, ..Opening::default() };
        let opened = self.target.open(&self.profile, opening);
        let trial = opened.and_then(|mut opened| opened.measurer.measure(TrialInput { load, duration }));
        let answer = trial.map(|trial| Answer::from(&trial)).map_err(|why| raised(&why))?;
        Ok(serde_json::to_string(&answer).expect("an answer is JSON"))
    }
}
