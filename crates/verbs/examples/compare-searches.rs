//! How often `compare` of two searches says that a limit moved, where it did not, and where it did.
//!
//! `cargo run --release -p dropline-verbs --example compare-searches -- [PAIRS] [SYSTEM,…] [ALGORITHM] [SMALLEST_EFFECT]`
//! searches simulated systems of 9 Mpps and systems whose capacity is another one, each search with a seed of its own,
//! for no loss and 0.5 % loss, and prints a line a system and change: how often the verdict on both goals together was
//! which, how often the intervals of the ratio hold the true one, and their half-width. `--changes=0,-0.05` says how
//! much less or more B has.

use dropline_archive::record_file::Output;
use dropline_record::VerdictWord;
use dropline_record::{ComparedSearches, GoalLine};
use dropline_search::{Limits, Preset};
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_targets::Target;
use dropline_trial::{Rate, TrafficProfile};
use dropline_verbs::compare::searches::{Searched, compare};
use dropline_verbs::observer::Unwatched;
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use dropline_verbs::search::Conditions;
use std::time::Duration;

const CAPACITY: f64 = 9e6;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word =
        |index: usize| words.iter().filter(|word| !word.starts_with("--")).nth(index).map(String::as_str);
    let pairs: u64 = word(0).map_or(20, |word| word.parse().expect("a number of pairs"));
    let names = word(1).unwrap_or("noisy");
    let algorithm = AlgorithmPlan::parse(word(2).unwrap_or("credible")).expect("an algorithm");
    let effects: Vec<f64> =
        word(3).unwrap_or("0,0.02").split(',').map(|word| word.parse().expect("a smallest effect")).collect();
    let changes: Vec<f64> = words
        .iter()
        .find_map(|word| word.strip_prefix("--changes="))
        .unwrap_or("0,-0.01,-0.02,-0.05,-0.1")
        .split(',')
        .map(|word| word.parse().expect("a change"))
        .collect();
    println!(
        "system        change %  effect %  regressed %  improved %  mixed %  equivalent %  no evidence %  holds %  half-width %  wrong sign %"
    );
    for name in names.split(',') {
        let system = System::named(name).expect("a simulated system");
        let search = |change: f64, seed: u64| searched(system, CAPACITY * (1.0 + change), seed, algorithm);
        let base: Vec<Searched> = (1..=pairs).map(|seed| search(0.0, seed)).collect();
        for (number, &change) in (1..).zip(&changes) {
            let other: Vec<Searched> =
                (1..=pairs).map(|seed| search(change, number * 100_000 + seed)).collect();
            for &effect in &effects {
                let compared: Vec<ComparedSearches> = base
                    .iter()
                    .zip(&other)
                    .map(|(a, b)| compare(a, b, Some(effect)).expect("the same goals"))
                    .collect();
                row(system, change, effect, &compared);
            }
        }
    }
}

fn searched(system: System, capacity: f64, seed: u64, algorithm: AlgorithmPlan) -> Searched {
    let target = Target::parse(&format!("sim:{}?capacity={capacity}pps&seed={seed}", system.name()));
    let plan = SearchPlan {
        profile: TrafficProfile { seed, ..TrafficProfile::default() },
        limits: Limits { budget: algorithm.default_budget(), max_trials: Some(2000) },
        ..SearchPlan::of(target.expect("a target"), algorithm, goals(algorithm), default_range())
    };
    let conditions = Conditions::default();
    let finished = dropline_verbs::search::search(&plan, &Output::Nowhere, &conditions, &mut Unwatched)
        .expect("a search");
    Searched::of("simulated", finished.record).expect("a search")
}

fn goals(algorithm: AlgorithmPlan) -> Vec<dropline_search::Goal> {
    let long = matches!(algorithm, AlgorithmPlan::Mdr { .. } | AlgorithmPlan::Binary);
    let seconds = Duration::from_secs(30);
    let goals = Preset::Csit.goals().into_iter();
    goals
        .map(|goal| match long {
            true => dropline_search::Goal { trial_duration: seconds, duration_sum: seconds, ..goal },
            false => goal,
        })
        .collect()
}

fn truth(system: System, capacity: f64, goal: &dropline_search::Goal) -> Option<f64> {
    let settings = Settings { capacity: Rate::pps(capacity).ok(), ..Settings::default() };
    let simulated = Simulated::new(system, settings, TrafficProfile::default(), 1);
    simulated.truth(goal.loss_ratio, goal.trial_duration, goal.exceed_ratio).map(Rate::as_pps)
}

fn row(system: System, change: f64, effect: f64, compared: &[ComparedSearches]) {
    let goals = goals(AlgorithmPlan::parse("credible").expect("an algorithm"));
    let share = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
    let verdict =
        |word: VerdictWord| share(compared.iter().filter(|one| one.verdict == word).count(), compared.len());
    let (mut holds, mut wrong, mut of, mut widths) = (0, 0, 0, Vec::new());
    for one in compared {
        for line in &one.goals {
            let goal = goals.iter().find(|goal| GoalLine::from(*goal).loss_ratio == line.loss_ratio);
            let truths = goal.and_then(|goal| {
                let of_b = truth(system, CAPACITY * (1.0 + change), goal)?;
                Some(of_b / truth(system, CAPACITY, goal)?)
            });
            let Some(truth) = truths else { continue };
            of += 1;
            holds += usize::from(
                line.low.is_none_or(|low| low <= truth) && line.high.is_none_or(|high| truth <= high),
            );
            wrong += usize::from(
                (line.verdict == VerdictWord::Regressed && truth > 1.0)
                    || (line.verdict == VerdictWord::Improved && truth < 1.0),
            );
            widths.extend(line.low.zip(line.high).map(|(low, high)| 50.0 * (high / low).ln()));
        }
    }
    widths.sort_by(f64::total_cmp);
    println!(
        "{:<13} {:8.1}  {:8.1}  {:11.1}  {:10.1}  {:7.1}  {:12.1}  {:13.1}  {:7.1}  {:12.2}  {:12.1}",
        system.name(),
        100.0 * change,
        100.0 * effect,
        verdict(VerdictWord::Regressed),
        verdict(VerdictWord::Improved),
        verdict(VerdictWord::Mixed),
        verdict(VerdictWord::Equivalent),
        verdict(VerdictWord::NoEvidence),
        share(holds, of),
        widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN),
        share(wrong, of),
    );
}
