//! A target that loses almost as much at every load as a goal allows: nothing is said to lie below the lowest load, or far
//! below the knee, where half of few trials met the goal.

use dropline_search::credible::Config;
use dropline_search::{Algorithm as _, Credible, Preset};
use dropline_trial::{LoadRange, Rate, Trial, TrialInput, seed};
use std::time::Duration;

/// How many of so many expected happen: Poisson's law, counted by its gaps.
fn happen(expected: f64, chance: &mut impl rand::Rng) -> u64 {
    let mut count = 0;
    let mut left = expected;
    loop {
        left += chance.random::<f64>().ln();
        if left < 0.0 {
            return count;
        }
        count += 1;
    }
}

/// Loses each packet with a probability, at any load, and what is above a limit.
fn measure(number: u64, input: TrialInput, loss: f64, limit: f64, seed: u64) -> Trial {
    let mut chance = seed::generator(seed::of_trial(seed, number));
    let offered = input.load.packets_in(input.duration);
    let through = (offered as f64).min(limit * input.duration.as_secs_f64());
    let lost = (offered as f64 - through) as u64 + happen(through * loss, &mut chance);
    let forwarded = offered.saturating_sub(lost);
    Trial {
        intended: Some(offered),
        offered,
        forwarded,
        elapsed: input.duration,
        ..Trial::new(number, input, 7)
    }
}

/// The goal without loss draws trials to the lowest load; what they say of the other goal there must not outweigh what
/// is known of it near the limit.
#[test]
fn almost_as_much_loss_as_a_goal_allows_does_not_put_its_load_below_the_limit() {
    let range = LoadRange::new(Rate::pps(1e4).unwrap(), Rate::pps(1e6).unwrap()).unwrap();
    for (loss, limit) in [(0.0049, 2e5), (0.0045, 2e5), (0.003, 7e4)] {
        for seed in 0..4 {
            let budget = Duration::from_secs(36);
            let config = Config { goals: Preset::Csit.goals(), range, budget, level: 0.95, seed };
            let mut search = Credible::new(config).unwrap();
            for number in 1.. {
                let Some(input) = search.next_trial() else { break };
                search.record(&measure(number, input, loss, limit, seed));
            }
            let outcome = &search.outcome()[1];
            let holds = outcome.lower.is_none_or(|lower| lower.as_pps() <= 1.006 * limit)
                && outcome.upper.is_none_or(|upper| upper.as_pps() >= 0.999 * limit);
            assert!(holds, "{loss} of all and what is above {limit}, seed {seed}: {outcome:?}");
        }
    }
}
