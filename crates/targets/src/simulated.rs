//! `sim:` targets: a simulated system with known truth, in virtual time.

use super::{Kind, Opened, Opening, Scheme};
use crate::parameters::{parameters, quantity, unknown};
use dropline_failure::{Failure, nearest};
use dropline_search::Goal;
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_trial::{LoadRange, Measurer, Packet, Rate, TrafficProfile, Trial, TrialInput, quantities};
use std::time::Duration;

/// Its row in the table of targets.
pub(super) const SCHEME: Scheme = Scheme {
    prefix: "sim:",
    forms: &[(
        "sim:NAME?capacity=9Mpps",
        "a simulated system with a known true limit, in virtual time (further parameters: overhead, seed)",
    )],
    parse: |rest| Simulation::parse(rest).map(Kind::Sim),
};

/// A simulated system and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulation {
    system: System,
    capacity: Option<Rate>,
    overhead: Duration,
    seed: Option<u64>,
}

impl Simulation {
    /// The names of all systems.
    pub fn systems() -> Vec<&'static str> {
        System::names()
    }

    /// Reads `NAME?capacity=9Mpps&overhead=0.5s&seed=7`.
    fn parse(word: &str) -> Result<Self, Failure> {
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
                    let load = quantity(name, quantities::load(value))?;
                    let packet = Packet::of_payload(64).expect("64 bytes is legal");
                    simulation.capacity = Some(load.with(packet).map_err(Failure::usage)?);
                }
                "overhead" => simulation.overhead = quantity(name, quantities::duration(value))?,
                "seed" => {
                    let seed =
                        value.parse().map_err(|_| Failure::usage(format!("seed={value} is not a number")))?;
                    simulation.seed = Some(seed);
                }
                _ => return Err(unknown(SCHEME.prefix, name, &["capacity", "overhead", "seed"])),
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

    /// The same system for several searches, and the seed of the first of them: its capacity is drawn once. `seed` is
    /// the chance of a search when the target has none of its own.
    pub(super) fn repeated(&self, seed: u64) -> (Self, u64) {
        let seed = self.seed.unwrap_or(seed);
        let capacity = self.settings(seed).capacity_of(self.system);
        (Self { capacity: Some(capacity), seed: None, ..*self }, seed)
    }

    /// As [`parse`](Self::parse) reads it.
    pub(super) fn word(&self) -> String {
        let mut parameters = Vec::new();
        if let Some(capacity) = self.capacity {
            let millipps = capacity.as_millipps();
            parameters.push(format!("capacity={}.{:03}pps", millipps / 1000, millipps % 1000));
        }
        if self.overhead != Settings::OVERHEAD {
            parameters.push(format!("overhead={}ns", self.overhead.as_nanos()));
        }
        parameters.extend(self.seed.map(|seed| format!("seed={seed}")));
        let mark = if parameters.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", self.system, parameters.join("&"))
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
        Simulated::new(
            self.system,
            self.settings(seed),
            TrafficProfile { seed, ..profile.clone() },
            first_trial,
        )
    }

    fn settings(&self, seed: u64) -> Settings {
        Settings { capacity: self.capacity, overhead: self.overhead, seed }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_repeated_system_is_read_back_as_the_same_system() {
        for word in ["random", "noisy?seed=3", "hard?capacity=9Mpps&overhead=20ms"] {
            let (repeated, _) = Simulation::parse(word).unwrap().repeated(7);
            assert_eq!(Simulation::parse(&repeated.word()).unwrap(), repeated, "{word}");
        }
    }
}
