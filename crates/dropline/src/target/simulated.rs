//! `sim:` targets: a simulated system with known truth, in virtual time.

use super::{Opened, Opening, parameters, quantity};
use crate::Failure;
use crate::nearest;
use dropline_search::Goal;
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_trial::{LoadRange, Measurer, Packet, Rate, TrafficProfile, Trial, TrialInput, written};
use std::time::Duration;

/// A simulated system and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulation {
    system: System,
    capacity: Option<Rate>,
    overhead: Duration,
    seed: Option<u64>,
}

impl Simulation {
    /// Reads `NAME?capacity=9Mpps&overhead=0.5s&seed=7`.
    pub(super) fn parse(word: &str) -> Result<Self, Failure> {
        let (name, parameters) = parameters(word)?;
        let system = System::named(name).map_err(|_| {
            let names = System::names();
            Failure::usage(format!("there is no simulated system {name:?}{}", nearest(name, &names)))
                .advice(format!("there are {}", names.join(", ")))
        })?;
        let mut simulation = Self { system, capacity: None, overhead: Settings::OVERHEAD, seed: None };
        for (name, value) in parameters {
            match name {
                "capacity" => {
                    let load = quantity(name, written::load(value))?;
                    let packet = Packet::of_payload(64).expect("64 bytes is legal");
                    simulation.capacity = Some(load.with(packet).map_err(Failure::usage)?);
                }
                "overhead" => simulation.overhead = quantity(name, written::duration(value))?,
                "seed" => {
                    let seed =
                        value.parse().map_err(|_| Failure::usage(format!("seed={value} is no number")))?;
                    simulation.seed = Some(seed);
                }
                _ => {
                    let names = ["capacity", "overhead", "seed"];
                    return Err(Failure::usage(format!(
                        "sim: has no parameter {name:?}{}; it has {}",
                        nearest(name, &names),
                        names.join(", ")
                    )));
                }
            }
        }
        Ok(simulation)
    }

    pub(super) fn open(&self, profile: &TrafficProfile, opening: &Opening) -> Opened {
        Opened {
            measurer: Box::new(Virtual(self.simulated(profile, opening.first_trial))),
            note: Some(format!("simulated: {}", self.system.about())),
            generator: None,
            reply_buffer_bytes: None,
        }
    }

    /// The loads a search uses when the user does not say.
    pub fn range(&self) -> LoadRange {
        default_range()
    }

    /// The load at which the system really starts to fail the goal.
    pub fn truth(&self, goal: &Goal, profile: &TrafficProfile) -> Option<Rate> {
        self.simulated(profile, 1).truth(goal.loss_ratio, goal.trial_duration, goal.exceed_ratio)
    }

    fn simulated(&self, profile: &TrafficProfile, first_trial: u64) -> Simulated {
        let seed = self.seed.unwrap_or(profile.seed);
        let settings = Settings { capacity: self.capacity, overhead: self.overhead, seed };
        Simulated::new(self.system, settings, TrafficProfile { seed, ..profile.clone() }, first_trial)
    }
}

/// A simulation cannot fail.
struct Virtual(Simulated);

impl Measurer for Virtual {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        self.0.measure(input).map_err(|never| match never {})
    }
}
