//! What `mlr` costs on every simulated system, and how often its bounds hold the true value.
//!
//! `cargo run --release -p dropline-search --example mlr-cost -- [csit|rfc2544] [SEEDS] [SYSTEMS]` prints a line
//! a search; with `--table` behind it, a line a system.

use dropline_search::mlr::{Config, EffectiveDuration};
use dropline_search::{Algorithm as _, Goal, GoalOutcome, GoalResult, Mlr, Preset};
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_trial::{Measurer as _, Rate, Ratio, TrafficProfile};
use std::time::Duration;

/// No search here needs nearly as many.
const MOST_TRIALS: usize = 3000;

struct Cost {
    seconds: f64,
    trials: usize,
    goals: Vec<Answer>,
}

/// What was found for a goal, and what is true.
struct Answer {
    regular: bool,
    lower: Option<Rate>,
    upper: Option<Rate>,
    truth: Option<Rate>,
}

impl Answer {
    fn holds(&self) -> bool {
        self.truth.is_some_and(|truth| {
            self.lower.is_some_and(|lower| lower <= truth) && self.upper.is_some_and(|upper| truth <= upper)
        })
    }

    /// How far the lower bound is above the truth.
    fn error(&self) -> f64 {
        self.truth.zip(self.lower).map_or(f64::NAN, |(truth, lower)| lower.as_pps() / truth.as_pps() - 1.0)
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let table = words.iter().any(|word| word == "--table");
    let word = |index: usize| words.iter().filter(|word| !word.starts_with("--")).nth(index);
    let preset = word(0).map_or("csit", String::as_str);
    let seeds = word(1).map_or(200, |word| word.parse().expect("a number of seeds"));
    let trace = words.iter().any(|word| word == "--trace");
    if !table {
        println!("system,seed,seconds,trials,lower_0,upper_0,truth_0,lower_1,upper_1,truth_1");
    }
    for system in System::all()
        .filter(|system| word(2).is_none_or(|names| names.split(',').any(|name| name == system.name())))
    {
        let costs: Vec<Cost> = (1..=seeds).map(|seed| search(preset, system, seed, trace)).collect();
        if table {
            println!("{}", row(system, &costs));
            continue;
        }
        for (seed, cost) in (1..).zip(&costs) {
            let pps = |load: Option<Rate>| load.map_or(String::new(), |load| load.as_pps().to_string());
            let goals: Vec<String> = cost
                .goals
                .iter()
                .map(|goal| [goal.lower, goal.upper, goal.truth].map(pps).join(","))
                .collect();
            println!("{},{seed},{},{},{}", system.name(), cost.seconds, cost.trials, goals.join(","));
        }
    }
}

/// No loss and 0.5 %, by trials of a second or of a minute.
fn goals(preset: &str) -> (Vec<Goal>, EffectiveDuration) {
    match preset {
        "csit" => (Preset::Csit.goals(), Preset::Csit.effective()),
        "rfc2544" => {
            let throughput = Preset::Rfc2544.goals()[0];
            let tolerant = Goal { loss_ratio: Ratio::new(0.005).expect("legal"), ..throughput };
            (vec![throughput, tolerant], Preset::Rfc2544.effective())
        }
        other => panic!("csit or rfc2544, not {other}"),
    }
}

fn search(preset: &str, system: System, seed: u64, trace: bool) -> Cost {
    let (goals, effective) = goals(preset);
    let profile = TrafficProfile { seed, ..TrafficProfile::default() };
    let settings = Settings { seed, ..Settings::default() };
    let mut measurer = Simulated::new(system, settings, profile, 1);
    let config = Config { goals: goals.clone(), range: default_range(), effective };
    let mut search = Mlr::new(config).expect("legal goals");
    let (mut spent, mut trials) = (Duration::ZERO, 0);
    while trials < MOST_TRIALS
        && let Some(input) = search.next_trial()
    {
        let phase = search.phase();
        let Ok(trial) = measurer.measure(input);
        if trace {
            let at = input.load.as_pps() / measurer.capacity().as_pps();
            println!("{:>9.5} {:>3} s  {:>10} lost  {phase}", at, input.duration.as_secs(), trial.lost());
        }
        spent += trial.elapsed;
        trials += 1;
        search.record(&trial);
    }
    let outcome = search.outcome();
    let answer = |(goal, outcome): (&Goal, &GoalOutcome)| Answer {
        regular: outcome.result == GoalResult::Regular,
        lower: outcome.lower,
        upper: outcome.upper,
        truth: measurer.truth(goal.loss_ratio, goal.trial_duration, goal.exceed_ratio),
    };
    if trace {
        println!("{outcome:?}");
    }
    Cost { seconds: spent.as_secs_f64(), trials, goals: goals.iter().zip(&outcome).map(answer).collect() }
}

fn row(system: System, costs: &[Cost]) -> String {
    let count = costs.len() as f64;
    let mean = |value: &dyn Fn(&Cost) -> f64| costs.iter().map(value).sum::<f64>() / count;
    let seconds = mean(&|cost| cost.seconds);
    let deviation = mean(&|cost| (cost.seconds - seconds).powi(2)).sqrt();
    let mut text = format!(
        "{:<13} {seconds:7.1} ± {deviation:5.1} s  {:5.1} trials",
        system.name(),
        mean(&|c| c.trials as f64)
    );
    for goal in 0..costs[0].goals.len() {
        let share =
            |pick: fn(&Answer) -> bool| 100.0 * mean(&|cost| f64::from(u8::from(pick(&cost.goals[goal]))));
        let mut errors: Vec<f64> = costs.iter().map(|cost| cost.goals[goal].error()).collect();
        errors.sort_by(f64::total_cmp);
        text += &format!(
            "  | regular {:5.1} %, holds {:5.1} %, error {:+.2} %",
            share(|goal| goal.regular),
            share(Answer::holds),
            100.0 * errors[errors.len() / 2]
        );
    }
    text
}
