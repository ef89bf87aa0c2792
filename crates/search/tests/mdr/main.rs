//! MDR against its own published rules, and bisection, the baseline: exact traces, and search times on
//! simulated systems.

mod bisection;
mod times;
mod traces;

use dropline_search::mdr::Config;
use dropline_search::{Algorithm, Goal, Limits, Mdr, Search};
use dropline_sim::{Settings, Simulated, System};
use dropline_trial::{Measurer as _, Ratio, TrafficProfile, Trial};
use std::time::Duration;

fn ratio(fraction: f64) -> Ratio {
    Ratio::new(fraction).unwrap()
}

/// Zero loss and 0.5 %.
fn goals(width: f64, seconds: u64) -> Vec<Goal> {
    let goal = |loss_ratio| Goal {
        loss_ratio,
        exceed_ratio: Ratio::ZERO,
        width: ratio(width),
        trial_duration: Duration::from_secs(seconds),
        initial_trial_duration: Duration::from_secs(1),
        duration_sum: Duration::from_secs(seconds),
    };
    vec![goal(Ratio::ZERO), goal(ratio(0.005))]
}

fn mdr(config: Config) -> Search {
    let goals = config.goals.clone();
    unlimited(Mdr::new(config).unwrap(), goals)
}

fn unlimited(algorithm: impl Algorithm + 'static, goals: Vec<Goal>) -> Search {
    Search::new(Box::new(algorithm), goals, Limits::default())
}

/// A system whose capacity and chance come from a seed.
fn seeded(name: &str, overhead: Duration, seed: u64) -> Simulated {
    let settings = Settings { capacity: None, overhead, seed };
    let profile = TrafficProfile { seed, ..TrafficProfile::default() };
    Simulated::new(System::named(name).unwrap(), settings, profile, 1)
}

/// Performs the trials a search asks for, and returns them.
fn perform(search: &mut Search, target: &mut Simulated) -> Vec<Trial> {
    let mut trials = Vec::new();
    while let Some(input) = search.next_trial() {
        let Ok(trial) = target.measure(input);
        search.record(&trial);
        trials.push(trial);
    }
    trials
}
