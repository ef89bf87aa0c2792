//! Targets that the model does not know: a buffer that only whole trials fill, and a slow start of some seconds.

use dropline_search::credible::Config;
use dropline_search::{Algorithm as _, Credible, GoalOutcome, GoalResult, Preset};
use dropline_trial::{Caveat, LoadRange, Rate, Trial, seed};
use std::time::Duration;

/// Packets a second of each target, once it has nothing to wait for.
const LIMIT: f64 = 1e6;
const SEEDS: u64 = 4;

/// A search of a target that loses so many packets of a load for so long from a moment on. A trial costs some time beside
/// its own, of which the target knows nothing.
fn search(overhead: f64, seed: u64, lost: impl Fn(f64, f64, f64) -> f64) -> (Vec<GoalOutcome>, Vec<Caveat>) {
    let range = LoadRange::new(Rate::pps(1e3).unwrap(), Rate::pps(1e7).unwrap()).unwrap();
    let budget = Duration::from_secs(36);
    let config =
        Config { goals: Preset::Csit.goals(), range, budget, level: 0.95, seed: seed::of_trial(77, seed) };
    let mut search = Credible::new(config).unwrap();
    let mut now = 0.0;
    for number in 1.. {
        let Some(input) = search.next_trial() else { break };
        let seconds = input.duration.as_secs_f64();
        let offered = input.load.packets_in(input.duration);
        let lost = lost(input.load.as_pps(), seconds, now).max(0.0).round() as u64;
        now += seconds + overhead;
        let (forwarded, elapsed) =
            (offered.saturating_sub(lost), Duration::from_secs_f64(seconds + overhead));
        let trial = Trial::new(number, input, 7);
        search.record(&Trial { intended: Some(offered), offered, forwarded, elapsed, ..trial });
    }
    (search.outcome(), search.caveats())
}

/// Whether an interval leaves out the true value of the goal without loss, or of the one with half a per cent.
fn is_wrong(outcome: &[GoalOutcome], limit: f64) -> bool {
    let wrong = |(found, truth): (&GoalOutcome, f64)| {
        found.lower.is_some_and(|lower| lower.as_pps() > 1.001 * truth)
            || found.upper.is_some_and(|upper| upper.as_pps() < 0.999 * truth)
    };
    outcome.iter().zip([limit, limit / 0.995]).any(wrong)
}

/// A short trial ends before the buffer is full. What it met is forgotten once whole ones lose far more, and the load is
/// looked for where these point.
#[test]
fn a_buffer_that_whole_trials_alone_fill_is_found_by_whole_trials() {
    for buffer in [0.3, 1.0] {
        for overhead in [0.0, 0.1] {
            let mut narrow = 0;
            for seed in 0..SEEDS {
                let lost = |pps: f64, seconds: f64, _| (pps - LIMIT) * seconds - buffer * LIMIT;
                let (outcome, caveats) = search(overhead, seed, lost);
                assert!(
                    !is_wrong(&outcome, (1.0 + buffer) * LIMIT),
                    "{buffer} s, {overhead}, {seed}: {outcome:?}"
                );
                let is_narrow = |one: &GoalOutcome| matches!(one.result, GoalResult::Narrow { .. });
                narrow += usize::from(caveats.is_empty() && outcome.iter().all(is_narrow));
            }
            assert!(narrow as u64 >= SEEDS / 2, "{buffer} s, {overhead}: {narrow} of {SEEDS} are narrow");
        }
    }
}

/// The upper end is tried once more before the end of a search: nothing else would tell that the target became faster.
#[test]
fn a_target_that_is_slow_for_its_first_seconds_is_not_said_to_stay_so() {
    for slow in [2.5, 4.0, 5.0] {
        for overhead in [0.0, 0.1] {
            for seed in 0..SEEDS {
                let limit = |now: f64| if now < slow { 0.7 * LIMIT } else { LIMIT };
                let (outcome, caveats) =
                    search(overhead, seed, |pps, seconds, now| (pps - limit(now)) * seconds);
                let is_said = caveats.iter().any(|caveat| {
                    matches!(
                        caveat,
                        Caveat::Drift { .. }
                            | Caveat::WarmUp { .. }
                            | Caveat::TwoStates { .. }
                            | Caveat::DependentTrials { .. }
                    )
                });
                assert!(
                    is_said || !is_wrong(&outcome, LIMIT),
                    "{slow} s, {overhead}, {seed}: {outcome:?} {caveats:?}"
                );
            }
        }
    }
}
