//! What it costs to decide on a trial, with ten thousand trials behind it.
//!
//! Each algorithm is fed with simulated trials, search after search. `mlr` is also fed with a coin's, for goals
//! that need a million trials: all ten thousand stay in one search. `credible` is timed over whole searches, and in
//! one that is not narrow after 200 trials. Beside them stands the least that any algorithm could do: a bisection
//! of one pair of numbers.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a bench reads the clock and its own size"
)]

use dropline_search::mlr::{self, EffectiveDuration};
use dropline_search::{Algorithm, Binary, Credible, Goal, Mdr, Mlr, Preset, credible, mdr};
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_trial::{LoadRange, Measurer as _, Ratio, TrafficProfile, Trial, TrialInput, seed};
use std::hint::black_box;
use std::time::{Duration, Instant};

const TRIALS: u64 = 10_000;
/// The same work again and again, each algorithm in turn: a machine's pauses meet all of them.
const REPETITIONS: usize = 5;
/// Decisions that are timed behind a coin's trials.
const COIN_DECISIONS: u64 = 200;
/// So many of a coin's trials are made of one decision, before decisions are timed.
const COIN_STRIDE: u64 = 50;

struct Contender {
    name: &'static str,
    run: fn() -> Cost,
}

/// What deciding cost: time within the algorithm, and how often it decided.
#[derive(Default)]
struct Cost {
    spent: Duration,
    decisions: u64,
}

fn main() {
    let contenders = [
        Contender { name: "one pair of numbers", run: baseline },
        Contender { name: "binary", run: || simulated(binary) },
        Contender { name: "mdr", run: || simulated(mdr) },
        Contender { name: "mlr", run: || simulated(mlr) },
        Contender { name: "mlr, a coin's trials", run: coin },
        Contender { name: "credible", run: || whole_searches(40) },
        Contender { name: "credible, 200 trials", run: behind_200 },
    ];
    let mut costs = vec![Vec::new(); contenders.len()];
    for _ in 0..REPETITIONS {
        for (contender, costs) in contenders.iter().zip(&mut costs) {
            let cost = (contender.run)();
            costs.push(cost.spent.as_secs_f64() * 1e6 / cost.decisions as f64);
        }
    }
    let medians: Vec<f64> = costs.iter_mut().map(|costs| median(costs)).collect();
    println!("median of {REPETITIONS}, in us a trial (asking and recording):");
    for (contender, median) in contenders.iter().zip(&medians) {
        println!("{:<22} {median:>10.3} us {:>10.1} times the first", contender.name, median / medians[0]);
    }
    let trial = size_of::<Trial>();
    match grown() {
        Some(bytes) => println!("credible keeps {bytes:.0} bytes a trial; a trial has {trial}"),
        None => println!("what credible keeps of a trial is not known: this system has no /proc"),
    }
}

/// Simulated searches, one after another, until there are enough trials.
fn simulated(build: fn(&[Goal], LoadRange) -> Box<dyn Algorithm>) -> Cost {
    let goals = Preset::Csit.goals();
    let mut cost = Cost::default();
    for seed in 1.. {
        let profile = TrafficProfile { seed, ..TrafficProfile::default() };
        let system = System::named("soft").expect("a simulated system");
        let settings = Settings { seed, ..Settings::default() };
        let mut measurer = Simulated::new(system, settings, profile, 1);
        let mut algorithm = build(&goals, default_range());
        cost.decide(algorithm.as_mut(), TRIALS, |input, _| {
            let Ok(trial) = measurer.measure(input);
            trial
        });
        if cost.decisions >= TRIALS {
            break;
        }
    }
    cost
}

/// Credible searches of their usual length.
fn whole_searches(trials: u64) -> Cost {
    let mut cost = Cost::default();
    for seed in 1.. {
        let mut search = credible("noisy", seed, Duration::from_secs(36));
        cost.decide(search.0.as_mut(), trials, |input, _| {
            let Ok(trial) = search.1.measure(input);
            trial
        });
        if cost.decisions >= trials {
            return cost;
        }
    }
    cost
}

/// The next 20 decisions of a credible search with 200 trials behind it.
fn behind_200() -> Cost {
    let (mut algorithm, mut measurer) = credible("noisy", 1, Duration::from_secs(3600));
    let mut answer = |input| {
        let Ok(trial) = measurer.measure(input);
        trial
    };
    for _ in 0..200 {
        let input = algorithm.next_trial().expect("an hour is longer");
        algorithm.record(&answer(input));
    }
    let mut cost = Cost::default();
    cost.decide(algorithm.as_mut(), 20, |input, _| answer(input));
    cost
}

/// By how much this process grows with each trial of searches that all have a hundred behind them, in bytes.
fn grown() -> Option<f64> {
    const SEARCHES: u64 = 4;
    const TRIALS: u64 = 150;
    let mut searches: Vec<_> =
        (1..=SEARCHES).map(|seed| credible("noisy", seed, Duration::from_secs(3600))).collect();
    let mut feed = |trials: u64| {
        for (algorithm, measurer) in &mut searches {
            for _ in 0..trials {
                let input = algorithm.next_trial().expect("an hour is longer");
                let Ok(trial) = measurer.measure(input);
                algorithm.record(&trial);
            }
        }
        resident()
    };
    let before = feed(100)?;
    let after = feed(TRIALS)?;
    Some((after - before).max(0.0) / (SEARCHES * TRIALS) as f64)
}

/// Bytes of this process in memory (proc(5), `VmRSS`).
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(1024.0 * kibibytes)
}

/// A credible search for widths that noise does not allow, and what it searches.
fn credible(system: &str, seed: u64, budget: Duration) -> (Box<dyn Algorithm>, Simulated) {
    let finest = Ratio::from_billionths(1).expect("a ratio");
    let goals = Preset::Csit.goals().into_iter().map(|goal| Goal { width: finest, ..goal }).collect();
    let profile = TrafficProfile { seed, ..TrafficProfile::default() };
    let settings = Settings { seed, ..Settings::default() };
    let measurer = Simulated::new(System::named(system).expect("a simulated system"), settings, profile, 1);
    let config = credible::Config { budget, seed, ..credible::Config::new(goals, default_range()) };
    (Box::new(Credible::new(config).expect("legal goals")), measurer)
}

/// One search that a coin answers: half of all trials lose one packet in a hundred.
fn coin() -> Cost {
    let goals: Vec<Goal> = Preset::Csit
        .goals()
        .iter()
        .map(|goal| Goal { duration_sum: Duration::from_secs(1_000_000), ..*goal })
        .collect();
    let mut algorithm = mlr(&goals, default_range());
    let answer = |input: TrialInput, number| {
        let intended = input.load.packets_in(input.duration);
        let lost = if seed::of_trial(7, number) & 1 == 0 { 0 } else { intended / 100 };
        let forwarded = intended - lost;
        Trial { intended: Some(intended), offered: intended, forwarded, ..Trial::new(number, input, 7) }
    };
    for round in 0..TRIALS / COIN_STRIDE {
        let input = algorithm.next_trial().expect("a coin decides no load");
        for number in round * COIN_STRIDE..(round + 1) * COIN_STRIDE {
            algorithm.record(&answer(input, number + 1));
        }
    }
    let mut cost = Cost::default();
    cost.decide(algorithm.as_mut(), COIN_DECISIONS, |input, number| answer(input, TRIALS + number));
    assert_eq!(cost.decisions, COIN_DECISIONS, "the search ended");
    cost
}

/// Halves a range of two numbers until they meet, again and again.
fn baseline() -> Cost {
    let begun = Instant::now();
    let mut decisions = 0;
    while decisions < 100 * TRIALS {
        let (mut lower, mut upper) = (black_box(10_000_000u64), black_box(14_880_952_000u64));
        while upper - lower > upper / 200 {
            let load = lower.midpoint(upper);
            if black_box(load) > 9_000_000_000 {
                upper = load;
            } else {
                lower = load;
            }
            decisions += 1;
        }
    }
    Cost { spent: begun.elapsed(), decisions }
}

impl Cost {
    /// Goes on with a search until it ends or `most` decisions were made in all.
    fn decide(
        &mut self,
        algorithm: &mut dyn Algorithm,
        most: u64,
        mut answer: impl FnMut(TrialInput, u64) -> Trial,
    ) {
        while self.decisions < most {
            let begun = Instant::now();
            let wanted = algorithm.next_trial();
            self.spent += begun.elapsed();
            let Some(input) = wanted else { return };
            self.decisions += 1;
            let trial = answer(input, self.decisions);
            let begun = Instant::now();
            algorithm.record(&trial);
            self.spent += begun.elapsed();
        }
    }
}

fn binary(goals: &[Goal], range: LoadRange) -> Box<dyn Algorithm> {
    Box::new(Binary::new(goals, range).expect("legal goals"))
}

fn mdr(goals: &[Goal], range: LoadRange) -> Box<dyn Algorithm> {
    Box::new(Mdr::new(mdr::Config::new(goals.to_vec(), range)).expect("legal goals"))
}

fn mlr(goals: &[Goal], range: LoadRange) -> Box<dyn Algorithm> {
    let config = mlr::Config { goals: goals.to_vec(), range, effective: EffectiveDuration::Trial };
    Box::new(Mlr::new(config).expect("legal goals"))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
