//! A search from its plan to its record: kept, resumed, replayed.

mod searches;

use dropline_archive::record_file::{Output, read_record};
use dropline_record::{ReasonWord, Record, ResultWord, TrialLine};
use dropline_search::{Limits, Preset};
use dropline_trial::{Arrival, LoadRange, Rate, Ratio};
use dropline_verbs::observer::Unwatched;
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use searches::{conditions, file, plan, resume, search, search_into};
use std::path::Path;
use std::time::Duration;

fn bounds(record: &Record) -> Vec<(Option<f64>, Option<f64>)> {
    record.result.as_ref().unwrap().goals.iter().map(|goal| (goal.lower_pps, goal.upper_pps)).collect()
}

#[test]
fn every_algorithm_brackets_a_hard_limit() {
    for algorithm in AlgorithmPlan::all().map(AlgorithmPlan::name) {
        let plan = plan("sim:hard?capacity=9Mpps", algorithm, &["0", "0.5%"]);
        let record = search_into(&plan, &Output::Nowhere).record;
        let result = record.result.as_ref().unwrap();
        let truths = [9e6, 9e6 / 0.995];
        for (goal, truth) in result.goals.iter().zip(truths) {
            let (lower, upper) = (goal.lower_pps.unwrap(), goal.upper_pps.unwrap());
            let expected = if algorithm == "credible" { ResultWord::Narrow } else { ResultWord::Regular };
            assert_eq!(goal.result, expected, "{algorithm}");
            assert!(lower <= truth && truth <= upper, "{algorithm}: [{lower}, {upper}] for {truth}");
            assert!((upper - lower) / upper <= 0.005, "{algorithm}");
        }
        let sum: f64 = record.trials.iter().map(|line| line.elapsed_s).sum();
        assert!((result.elapsed_s - sum).abs() < 1e-6, "time is what trials say it was");
    }
}

#[test]
fn a_search_cut_short_after_any_trial_ends_the_same_when_resumed() {
    for algorithm in AlgorithmPlan::all().map(AlgorithmPlan::name) {
        let plan = plan("sim:inconsistent?seed=3", algorithm, &["0", "0.5%"]);
        let (_directory, path) = file();
        let whole = search(&plan, &path).record;
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for kept in [0, 1, whole.trials.len() / 2, whole.trials.len()] {
            let (_directory, path) = file();
            // Killed while it wrote the next line.
            let torn = lines.get(kept + 1).map_or("", |line| &line[..line.len() / 2]);
            std::fs::write(&path, lines[..=kept].concat() + torn).unwrap();
            let resumed = resume(&plan, &path).unwrap().record;
            assert_eq!(bounds(&resumed), bounds(&whole), "{algorithm} after {kept} trials");
            assert!(resumed.trials == whole.trials, "{algorithm} after {kept} trials");
            assert!(read_record(&path).unwrap().trials == whole.trials);
        }
    }
}

#[test]
fn more_without_loss_than_with_some_is_never_stated_without_a_doubt() {
    let mut contradicted = 0;
    for algorithm in ["binary", "mdr", "mlr"] {
        for seed in 1..=12 {
            let target = format!("sim:noisy?seed={seed}");
            let record = search_into(&plan(&target, algorithm, &["0", "0.5%"]), &Output::Nowhere).record;
            let result = record.result.as_ref().unwrap();
            let impossible = result.goals[0].lower_pps > result.goals[1].lower_pps;
            let doubted = result.caveats.iter().any(|caveat| caveat.code == "goals_contradict");
            assert_eq!(doubted, impossible, "{algorithm}, seed {seed}: {:?}", bounds(&record));
            contradicted += usize::from(impossible);
        }
    }
    assert!(contradicted > 0, "bisections of a noisy system contradict one another now and then");
}

#[test]
fn repeated_searches_are_of_one_system_and_each_has_a_chance_of_its_own() {
    for target in ["sim:noisy", "sim:random", "sim:noisy?seed=3", "sim:noisy?capacity=9Mpps"] {
        let mut once = plan(target, "mlr", &["0"]);
        once.limits.max_trials = Some(6);
        let plans: Vec<SearchPlan> = (1..=4).map(|number| once.repetition(number, 4)).collect();
        let truth =
            |plan: &SearchPlan| plan.target.simulation().unwrap().truth(&plan.goals[0], &plan.profile);
        assert!(plans.iter().all(|plan| truth(plan) == truth(&once)), "{target}: {plans:?}");
        let trials = |plan: &SearchPlan| {
            let record = search_into(plan, &Output::Nowhere).record;
            record
                .trials
                .iter()
                .map(|line| (line.intended_load_pps.to_bits(), line.lost.0))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            trials(&plans[0]),
            trials(&once),
            "{target}: the first is the search that is not repeated"
        );
        assert_ne!(trials(&plans[0]), trials(&plans[1]), "{target}: chance is another one");
    }
    let (_directory, path) = file();
    let third = plan("sim:noisy", "mlr", &["0"]).repetition(3, 4);
    let whole = search(&third, &path).record;
    let resumed = resume(&SearchPlan::of_record(&whole, &path).unwrap(), &path).unwrap().record;
    assert_eq!(bounds(&resumed), bounds(&whole), "a repetition can be gone on with");
}

#[test]
fn a_finished_search_resumed_with_more_time_goes_on() {
    let (_directory, path) = file();
    let mut plan = plan("sim:soft?seed=1", "mlr", &["0"]);
    plan.limits.max_trials = Some(5);
    let short = search(&plan, &path).record;
    assert_eq!(short.result.unwrap().goals[0].why.as_deref(), Some("unfinished"));
    plan.limits.max_trials = None;
    let long = resume(&plan, &path).unwrap().record;
    assert_eq!(long.result.unwrap().goals[0].result, ResultWord::Regular);
    let kept = read_record(&path).unwrap();
    assert!(kept.trials == long.trials, "the early result was taken off and the trials were kept");
}

#[test]
fn resuming_with_other_settings_is_refused_and_changes_nothing() {
    let (_directory, path) = file();
    let original = plan("sim:hard", "mdr", &["0"]);
    search(&original, &path);
    let before = std::fs::read(&path).unwrap();
    let mut others = vec![
        (plan("sim:hard", "mlr", &["0"]), "algorithm"),
        (plan("sim:hard", "mdr", &["0.1%"]), "goals"),
        (plan("sim:soft", "mdr", &["0"]), "target"),
    ];
    let mut profile = original.clone();
    profile.profile.seed = 8;
    others.push((profile, "traffic profile"));
    for (other, what) in others {
        let error = resume(&other, &path).unwrap_err();
        assert!(error.exit_code() == 2 && error.to_string().contains(what), "{what}: {error}");
    }
    let mut same = original;
    same.limits.max_trials = Some(1000);
    assert!(resume(&same, &path).is_ok());
    let after = std::fs::read_to_string(&path).unwrap();
    assert!(after.as_bytes().starts_with(&before[..before.len() / 2]));
}

#[test]
fn a_record_makes_the_plan_that_made_it() {
    for algorithm in AlgorithmPlan::all().map(AlgorithmPlan::name) {
        let mut plan = plan("sim:noisy", algorithm, &["0.1%,width=1%", "0,width=1%"]);
        plan.limits = Limits { budget: Some(Duration::from_secs(100)), max_trials: Some(3) };
        plan.delay_at = vec!["0.5"]
            .into_iter()
            .map(|share| share.parse::<f64>().unwrap())
            .map(|share| dropline_trial::Ratio::new(share).unwrap())
            .collect();
        let record = search_into(&plan, &Output::Nowhere).record;
        assert_eq!(SearchPlan::of_record(&record, Path::new("r.jsonl")).unwrap(), plan);
    }
}

#[test]
fn replaying_a_record_finds_the_same_again() {
    let (_directory, path) = file();
    let original = plan("sim:noisy?seed=5", "mlr", &["0", "0.5%"]);
    let found = search(&original, &path).record;
    let replay = plan(&format!("replay:{}", path.display()), "mlr", &["0", "0.5%"]);
    assert_eq!(bounds(&search_into(&replay, &Output::Nowhere).record), bounds(&found));
    let other = plan(&format!("replay:{}", path.display()), "mdr", &["0", "0.5%"]);
    let finished = search_into(&other, &Output::Nowhere);
    assert!(finished.failure.unwrap().to_string().contains("no further trial"));
}

#[test]
fn a_budget_ends_a_search_with_what_it_knows() {
    let mut plan = plan("sim:consistent", "mdr", &["0", "0.5%"]);
    plan.limits.budget = Some(Duration::from_secs(10));
    let record = search_into(&plan, &Output::Nowhere).record;
    let result = record.result.unwrap();
    assert!(result.elapsed_s >= 10.0 && result.elapsed_s - record.trials.last().unwrap().elapsed_s < 10.0);
    assert!(result.goals.iter().all(|goal| goal.result == ResultWord::Irregular && goal.lower_pps.is_some()));
}

#[test]
fn a_number_of_trials_ends_a_search_with_what_a_budget_that_ends_there_would_answer() {
    for goals in [&["0"][..], &["0", "0.5%"]] {
        for spent in 1..7 {
            let mut plan = plan("sim:soft", "credible", goals);
            plan.limits.budget = Some(Duration::from_secs(spent));
            let by_time = search_into(&plan, &Output::Nowhere).record;
            // What a longer budget would have been shared out for makes no difference while it looks around.
            plan.limits = Limits {
                budget: Some(Duration::from_secs(36)),
                max_trials: Some(by_time.trials.len() as u64),
            };
            let by_number = search_into(&plan, &Output::Nowhere).record;
            let loads = |record: &Record| -> Vec<f64> {
                record.trials.iter().map(|trial| trial.intended_load_pps).collect()
            };
            if loads(&by_number) != loads(&by_time) {
                continue;
            }
            assert_eq!(bounds(&by_number), bounds(&by_time), "{goals:?} {spent} s");
        }
    }
    let mut plan = plan("sim:soft", "credible", &["0"]);
    plan.limits.max_trials = Some(1);
    let record = search_into(&plan, &Output::Nowhere).record;
    assert_eq!(record.trials[0].phase.as_deref(), Some("locate"));
    let answer = &record.result.unwrap().goals[0];
    assert!(answer.result == ResultWord::Wide && answer.why.is_none(), "{answer:?}");
}

#[test]
fn a_good_record_is_never_refused() {
    let mut read = 0;
    for system in dropline_sim::System::names() {
        for algorithm in AlgorithmPlan::all().map(AlgorithmPlan::name) {
            for (budget, more) in [(0.3, 1.5), (2.0, 1.0)] {
                let (_directory, path) = file();
                let mut plan =
                    plan(&format!("sim:{system}"), algorithm, &["0,trial=100ms", "1%,trial=100ms"]);
                plan.limits.budget = Some(Duration::from_secs_f64(budget));
                plan.profile.arrival = Arrival::parse("poisson", &mut |_| unreachable!()).unwrap();
                plan.delay_at = vec![Ratio::new(0.9).unwrap()];
                let made = search(&plan, &path).record;
                assert_eq!(read_record(&path).unwrap(), made, "{algorithm} of {system}");
                plan.limits = Limits { budget: Some(Duration::from_secs_f64(more)), max_trials: Some(40) };
                resume(&plan, &path).unwrap();
                read_record(&path).unwrap();
                read += 1;
            }
        }
    }
    assert!(read >= 32, "{read}");
}

#[test]
fn two_searches_on_one_file_are_refused() {
    let (_directory, path) = file();
    let plan = plan("sim:hard", "mlr", &["0"]);
    search(&plan, &path);
    let again =
        dropline_verbs::search::search(&plan, &Output::File(path.clone()), &conditions(), &mut Unwatched);
    assert!(again.unwrap_err().to_string().contains("exists already"));
    // Not finished: a finished one is shown, whoever holds it.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.trim_end().rfind('\n').unwrap() + 1]).unwrap();
    let held = std::fs::File::open(&path).unwrap();
    held.try_lock().unwrap();
    let error = resume(&plan, &path).unwrap_err();
    assert!(error.exit_code() == 4 && error.to_string().contains("another search"), "{error}");
}

#[test]
fn a_full_disk_says_so_and_keeps_what_fitted() {
    let plan = plan("sim:hard", "mlr", &["0"]);
    let full = Output::File("/dev/full".into());
    let error = dropline_verbs::search::search(&plan, &full, &conditions(), &mut Unwatched).unwrap_err();
    assert_eq!(error.exit_code(), 2, "an existing file is not written over: {error}");
    let nowhere = Output::File("/nonexistent/record.jsonl".into());
    let error = dropline_verbs::search::search(&plan, &nowhere, &conditions(), &mut Unwatched).unwrap_err();
    assert!(error.exit_code() == 4 && error.to_string().contains("cannot write"), "{error}");
}

#[test]
fn delays_are_measured_at_shares_of_each_goals_load() {
    let mut plan = plan("sim:hard?capacity=9Mpps", "mlr", &["0", "0.5%"]);
    plan.delay_at = [0.9, 0.5].iter().map(|&share| dropline_trial::Ratio::new(share).unwrap()).collect();
    let record = search_into(&plan, &Output::Nowhere).record;
    let result = record.result.as_ref().unwrap();
    assert_eq!(result.delay_at.len(), 4);
    for delay_at in &result.delay_at {
        let line = record.trials.iter().find(|line| line.number == delay_at.trial).unwrap();
        let headline = result.goals[delay_at.goal as usize].headline_pps().unwrap();
        assert!((line.intended_load_pps - headline * delay_at.share).abs() < 0.001);
    }
}

#[test]
fn a_preset_sets_goals_and_waits() {
    assert_eq!(Preset::Csit.goals().len(), 2);
    assert_eq!(Preset::Rfc2544.drain().rest, Duration::from_secs(5));
}

/// `sim:queue?capacity=100kpps` at constant load: see its page for the formula.
fn truth_within(share: f64, bound_s: f64) -> f64 {
    let capacity = 100e3;
    let sigma = 1.0 + share.ln() / (capacity * bound_s);
    capacity * (1.0 - sigma) / -sigma.ln()
}

#[test]
fn a_bound_on_a_percentile_of_the_delay_is_searched_as_a_loss_is() {
    for (algorithm, slack) in [("credible", 0.01), ("mlr", 0.03), ("mdr", 0.03), ("binary", 0.03)] {
        for (goal, share, bound_s) in [("p99<100us", 0.01, 100e-6), ("late>60us:5%,width=1%", 0.05, 60e-6)] {
            let mut plan = plan("sim:queue?capacity=100kpps", algorithm, &[goal]);
            plan.range = LoadRange::new(Rate::pps(10e3).unwrap(), Rate::pps(200e3).unwrap()).unwrap();
            let (_directory, path) = file();
            let record = search(&plan, &path).record;
            let answer = &record.result.as_ref().unwrap().goals[0];
            let truth = truth_within(share, bound_s);
            let (Some(lower), Some(upper)) = (answer.lower_pps, answer.upper_pps) else {
                panic!("{algorithm}, {goal}: {answer:?}");
            };
            assert!(
                lower <= truth * (1.0 + slack) && truth * (1.0 - slack) <= upper && upper / lower < 1.1,
                "{algorithm}, {goal}: [{lower}, {upper}] for {truth}"
            );
            let late = |line: &TrialLine| line.lost_at.as_ref().map_or(0, |places| places["late"].0);
            assert!(record.trials.iter().all(|line| late(line) == line.lost.0 && line.delay_ns.is_some()));
            assert!(read_record(&path).unwrap().trials == record.trials);
            assert_eq!(SearchPlan::of_record(&record, &path).unwrap().within, plan.within);
            let again = resume(&plan, &path).unwrap().record;
            assert_eq!(bounds(&again), bounds(&record));
        }
    }
}

#[test]
fn a_target_without_delays_is_not_searched_for_one() {
    let plan = plan("sim:hard", "mlr", &["p99<1ms"]);
    let found = dropline_verbs::search::search(&plan, &Output::Nowhere, &conditions(), &mut Unwatched);
    let Err(failure) = found else { panic!("it is refused") };
    assert!(failure.exit_code() == 2 && failure.to_string().contains("have none"), "{failure}");
}

#[test]
fn a_search_that_was_interrupted_is_headed_by_that_and_not_by_our_generator() {
    let plan = plan("exec:sh -c 'read line; exit 3'", "mlr", &["0"]);
    let mut record = dropline_verbs::search::search(&plan, &Output::Nowhere, &conditions(), &mut Unwatched)
        .unwrap()
        .record;
    let result = record.result.as_mut().unwrap();
    result.goals[0].why = Some(ReasonWord::GeneratorLimited);
    let headed = |record: &Record| dropline_report::standing(record, &record.answers().unwrap()[0]);
    assert!(headed(&record).starts_with("unfinished, "), "its program ended: {}", headed(&record));
    let died = "the target died after trial 6: 160 packets were sent, and none came back";
    let result = record.result.as_mut().unwrap();
    result.caveats = vec![dropline_record::CaveatLine::said(dropline_record::BROKEN, died)];
    assert_eq!(headed(&record), "the target died after trial 6");
    let said = dropline_report::text(&record, dropline_report::Style::default());
    assert!(said.contains("the target died after trial 6: 160 packets were sent"), "{said}");
    let result = record.result.as_mut().unwrap();
    (result.caveats, result.interrupted) = (Vec::new(), true);
    assert_eq!(headed(&record), "interrupted after 0\u{a0}trials");
}
