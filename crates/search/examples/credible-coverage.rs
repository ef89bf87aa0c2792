//! How often credible intervals hold the true value on simulated systems, how wide they are, what they cost.
//!
//! `cargo run --release -p dropline-search --example credible-coverage -- [SEEDS] [SYSTEM,…] [BUDGET_S] [LEVEL]`
//! prints a line a system and goal; `--trace` behind it a line a trial, `--each` a line a search, `--from=SEED` begins
//! at another seed than 1001, `--overhead=SECONDS` has trials cost another time beyond their duration than 0.5 s.
//! `--goals=0,0.001,0.05` asks for other loss ratios than 0 and 0.5 %, `--exceed=RATIO`, `--width=RATIO` and
//! `--trial=SECONDS` for other attributes of all of them; `--scale=0.004` makes capacities that much of what they are.
//! `--slices=4` makes four trials on end at each load that is weighed, without a wait between them, and feeds each as a
//! trial of its own; with `--alike` they have the same chance, so that a capacity that is another one in each trial is
//! theirs together: what it would come to if slices of a long trial were taken for trials.

use dropline_search::credible::Config;
use dropline_search::{Bound, Bounds, Credible, Goal, GoalOutcome, GoalResult, Limits, Preset, Search};
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_trial::{Caveat, Measurer as _, Rate, Ratio, TrafficProfile, Trial};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

const FIRST_SEED: u64 = 1001;

struct Answer {
    outcome: GoalOutcome,
    truth: Option<Rate>,
}

/// How often each load is tried on end.
#[derive(Clone, Copy)]
struct Slices {
    count: u32,
    alike: bool,
}

struct Ended {
    seconds: f64,
    trials: usize,
    answers: Vec<Answer>,
    caveats: Vec<Caveat>,
}

impl Ended {
    /// Time, caveats, and of each goal whether its interval holds the truth, its ends and median as shares of that.
    fn line(&self) -> String {
        let codes: Vec<&str> = self.caveats.iter().map(Caveat::code).collect();
        let mut line = format!("{:.1} s, {} trials, {}", self.seconds, self.trials, codes.join(" "));
        for answer in &self.answers {
            let share = |load: Option<Rate>| {
                load.zip(answer.truth).map_or(f64::NAN, |(load, truth)| load.as_pps() / truth.as_pps())
            };
            let (lower, upper) = (share(answer.outcome.lower), share(answer.outcome.upper));
            let verdict = if answer.holds() { "holds" } else { "MISSES" };
            let median = share(answer.outcome.median());
            let _ = write!(line, "; {verdict} {lower:.5} {median:.5} {upper:.5}");
        }
        line
    }
}

impl Answer {
    fn holds(&self) -> bool {
        let (lower, upper) = (self.outcome.lower, self.outcome.upper);
        match (self.truth, self.outcome.result) {
            (Some(truth), _) => {
                lower.is_none_or(|lower| lower <= truth) && upper.is_none_or(|upper| truth <= upper)
            }
            (None, result) => {
                matches!(result, GoalResult::AtMaximum { .. } | GoalResult::BelowMinimum { .. })
            }
        }
    }

    fn width(&self) -> f64 {
        let ends = self.outcome.lower.zip(self.outcome.upper);
        ends.map_or(f64::NAN, |(lower, upper)| 100.0 * (1.0 - lower.as_pps() / upper.as_pps()))
    }

    fn error(&self) -> f64 {
        let median = self.outcome.median();
        median
            .zip(self.truth)
            .map_or(f64::NAN, |(median, truth)| 100.0 * (median.as_pps() / truth.as_pps() - 1.0))
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| words.iter().any(|word| word == name);
    let value = |name: &str| words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let goals = goals(&value);
    let slices = Slices {
        count: value("--slices").map_or(1, |word| word.parse().expect("a number of slices")),
        alike: flag("--alike"),
    };
    let scale: Option<f64> = value("--scale").map(|word| word.parse().expect("a factor"));
    let (trace, each) = (flag("--trace"), flag("--each"));
    let from = value("--from").map_or(FIRST_SEED, |word| word.parse().expect("a seed"));
    let overhead = value("--overhead")
        .map_or(Settings::OVERHEAD, |word| Duration::from_secs_f64(word.parse().expect("seconds")));
    let word = |index: usize| words.iter().filter(|word| !word.starts_with("--")).nth(index);
    let seeds: u64 = word(0).map_or(40, |word| word.parse().expect("a number of seeds"));
    let names = word(1).map_or("all", String::as_str);
    let budget: f64 = word(2).map_or(36.0, |word| word.parse().expect("seconds"));
    let level: f64 = word(3).map_or(0.95, |word| word.parse().expect("a level"));
    println!(
        "system        goal  holds %  width %  median error %  half 16-84 %  time s  p95 s  trials  doubted %  held or doubted %"
    );
    for system in
        System::all().filter(|system| names == "all" || names.split(',').any(|name| name == system.name()))
    {
        let mut ended: Vec<Ended> = Vec::new();
        for seed in from..from + seeds {
            let mut settings = Settings { seed, overhead, ..Settings::default() };
            let drawn = settings.capacity_of(system).as_pps();
            settings.capacity = scale.and_then(|scale| Rate::pps(drawn * scale).ok());
            let one = search(system, settings, &goals, Duration::from_secs_f64(budget), level, slices, trace);
            if each {
                println!("{} {seed} {}", system.name(), one.line());
            }
            ended.push(one);
        }
        rows(system, &goals, &ended);
    }
}

/// CSIT's goals, or what the words say instead.
fn goals<'a>(value: &impl Fn(&str) -> Option<&'a str>) -> Vec<Goal> {
    let number = |word: &str| -> f64 { word.parse().expect("a number") };
    let ratio = |word: &str| Ratio::new(number(word)).expect("a ratio");
    let mut goals = Preset::Csit.goals();
    if let Some(words) = value("--goals") {
        goals = words.split(',').map(|word| Goal { loss_ratio: ratio(word), ..goals[0] }).collect();
    }
    for goal in &mut goals {
        goal.exceed_ratio = value("--exceed").map_or(goal.exceed_ratio, ratio);
        goal.width = value("--width").map_or(goal.width, ratio);
        let seconds = value("--trial").map(|word| Duration::from_secs_f64(number(word)));
        goal.trial_duration = seconds.unwrap_or(goal.trial_duration);
    }
    goals
}

fn search(
    system: System,
    settings: Settings,
    goals: &[Goal],
    budget: Duration,
    level: f64,
    slices: Slices,
    trace: bool,
) -> Ended {
    let seed = settings.seed;
    let profile = TrafficProfile { seed, ..TrafficProfile::default() };
    let mut measurer = Simulated::new(system, settings, profile, 1);
    let config = Config { budget, level, seed, ..Config::new(goals.to_vec(), default_range()) };
    let credible = Box::new(Credible::new(config).expect("legal goals"));
    let limits = Limits { budget: Some(budget), max_trials: None };
    let mut search = Search::new(credible, goals.to_vec(), limits);
    let (mut spent, mut trials) = (Duration::ZERO, 0);
    while let Some(input) = search.next_trial() {
        let phase = search.phase();
        let before = measurer.clone();
        // Looking around is as ever: four deep losses on end would be another finding.
        let count = if phase == "weigh" { slices.count } else { 1 };
        for slice in 0..count {
            if slices.alike {
                measurer = before.clone();
            }
            let Ok(mut trial) = measurer.measure(input);
            if slice > 0 {
                trial.elapsed = input.duration;
            }
            spent += trial.elapsed;
            trials += 1;
            search.record(&trial);
            if trace {
                println!("{}", traced(&trial, &phase, &search.bounds(), measurer.capacity()));
            }
        }
    }
    let answers = goals
        .iter()
        .zip(search.outcome())
        .map(|(goal, outcome)| Answer {
            outcome,
            truth: measurer.truth(goal.loss_ratio, goal.trial_duration, goal.exceed_ratio),
        })
        .collect();
    Ended { seconds: spent.as_secs_f64(), trials, answers, caveats: search.caveats() }
}

/// A trial and the intervals after it, loads as shares of the capacity.
fn traced(trial: &Trial, phase: &str, bounds: &[Bounds], capacity: Rate) -> String {
    let share = |load: Rate| load.as_pps() / capacity.as_pps();
    let mut line = format!("{:>9.5} {:>9} lost  {phase:<7}", share(trial.input.load), trial.lost());
    for bounds in bounds {
        let end = |bound: Option<Bound>| bound.map_or(f64::NAN, |bound| share(bound.load));
        let _ = write!(line, "  [{:.5}, {:.5}]", end(bounds.lower), end(bounds.upper));
    }
    line
}

fn rows(system: System, goals: &[Goal], ended: &[Ended]) {
    let count = ended.len() as f64;
    let mean = |value: &dyn Fn(&Ended) -> f64| ended.iter().map(value).sum::<f64>() / count;
    let spread = |mut values: Vec<f64>| {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values.get(((values.len().max(1) - 1) as f64 * share) as usize).copied();
        at(0.84).zip(at(0.16)).map_or(f64::NAN, |(high, low)| 0.5 * (high - low))
    };
    let mut times: Vec<f64> = ended.iter().map(|ended| ended.seconds).collect();
    times.sort_by(f64::total_cmp);
    for (goal, asked) in goals.iter().enumerate() {
        let name = asked.loss_ratio.to_string();
        let widths: Vec<f64> =
            ended.iter().map(|ended| ended.answers[goal].width()).filter(|width| width.is_finite()).collect();
        println!(
            "{:<13} {name:<5} {:7.1}  {:7.2}  {:14.2}  {:12.2}  {:6.1}  {:5.1}  {:6.1}  {:9.1}  {:17.1}  {}",
            system.name(),
            100.0 * mean(&|ended| f64::from(u8::from(ended.answers[goal].holds()))),
            widths.iter().sum::<f64>() / widths.len() as f64,
            {
                let errors: Vec<f64> = ended
                    .iter()
                    .map(|ended| ended.answers[goal].error())
                    .filter(|error| error.is_finite())
                    .collect();
                errors.iter().sum::<f64>() / errors.len() as f64
            },
            spread(ended.iter().map(|ended| ended.answers[goal].error()).collect()),
            mean(&|ended| ended.seconds),
            times[(times.len() - 1) * 95 / 100],
            mean(&|ended| ended.trials as f64),
            100.0 * mean(&|ended| f64::from(u8::from(!ended.caveats.is_empty()))),
            100.0
                * mean(&|ended| f64::from(u8::from(
                    ended.answers[goal].holds() || !ended.caveats.is_empty()
                ))),
            codes(ended),
        );
    }
}

/// How often each caveat was stated.
fn codes(ended: &[Ended]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for caveat in ended.iter().flat_map(|ended| &ended.caveats) {
        *counts.entry(caveat.code()).or_default() += 1;
    }
    counts.iter().map(|(code, count)| format!("{code} {count}")).collect::<Vec<_>>().join(", ")
}
