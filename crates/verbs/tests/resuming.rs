//! A search can always be resumed from its record: what is decided from it is what was decided when it was made.

mod searches;

use dropline_archive::record_file::{Keeper, read_record};
use dropline_record::record::trial_line;
use dropline_record::{LimitsLine, ProfileLine, Purpose, Record, ResultLine, TrialLine};
use dropline_search::{Bounds, GoalOutcome, Limits, Search};
use dropline_sim::System;
use dropline_targets::{AnyMeasurer, Opening};
use dropline_trial::{Caveat, Delay, Measurer as _, TrafficProfile, Trial, TrialInput};
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use dropline_verbs::replayed::replay;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use searches::{file, plan, recorded, resumed, seconds};
use std::path::Path;
use std::time::Duration;

fn seeded(target: &str, algorithm: &str, goals: &[&str], seed: u64) -> SearchPlan {
    let profile = TrafficProfile { seed, ..TrafficProfile::default() };
    SearchPlan { profile, ..plan(target, algorithm, goals) }
}

fn measurer(plan: &SearchPlan) -> AnyMeasurer {
    let opening = Opening { patience: Duration::from_secs(1), ..Opening::default() };
    plan.target.open(&plan.profile, opening).unwrap().measurer
}

/// What a search would decide and say now.
#[derive(Debug, PartialEq)]
struct Standing {
    next: Option<TrialInput>,
    wanted: Option<TrialInput>,
    phase: String,
    bounds: Vec<Bounds>,
    outcome: Vec<GoalOutcome>,
    caveats: Vec<Caveat>,
    spent: Duration,
}

impl Standing {
    fn of(search: &mut Search) -> Self {
        Self {
            next: search.next_trial(),
            wanted: search.wanted(),
            phase: search.phase(),
            bounds: search.bounds(),
            outcome: search.outcome(),
            caveats: search.caveats(),
            spent: search.spent(),
        }
    }
}

/// What goes wrong on a busy machine: doubts, losses beside them, packets that were not sent.
fn disturb(trial: &mut Trial, chance: &mut ChaCha8Rng) {
    if chance.random_bool(0.6) {
        return;
    }
    let wait = chance.random::<u64>() >> chance.random_range(0..64);
    let any = [
        Caveat::GeneratorStarved { waited_ns: wait },
        Caveat::ArrivalsNotKept { lateness_p99_ns: wait, intended_idt_ns: 1 },
        Caveat::ClockStepped { steps: 1, largest_ns: wait },
        Caveat::GeneratorLost { dropped: 3 },
        Caveat::TargetUnreachable { error: "ECONNREFUSED µ".into(), at_ns: wait, refused: 1, reports: 2 },
        Caveat::Interrupted,
        Caveat::Reported { code: "generator_starved".into(), text: "says another program".into() },
        Caveat::Reported { code: "interrupted".into(), text: Caveat::Interrupted.to_string() },
    ];
    trial.caveats.extend(any.into_iter().filter(|_| chance.random_bool(0.3)));
    let part = |whole: u64, chance: &mut ChaCha8Rng| (whole as f64 * chance.random_range(0.0..0.7)) as u64;
    match chance.random_range(0..4) {
        0 => trial.forwarded -= part(trial.forwarded, chance),
        1 => {
            trial.offered -= part(trial.offered, chance);
            trial.forwarded = trial.forwarded.min(trial.offered);
        }
        2 => trial.generator_lost = part(trial.offered - trial.forwarded, chance),
        _ => {}
    }
    // No more packets have a delay than came back.
    if trial.delay.histogram.as_ref().is_some_and(|delays| delays.count() > trial.forwarded) {
        trial.delay = Delay::default();
    }
    trial.elapsed += Duration::from_nanos(chance.random_range(0..2_000_000_000));
}

fn other_limits(limits: Limits, chance: &mut ChaCha8Rng) -> Limits {
    let budget = match chance.random_range(0..3) {
        0 => None,
        1 => limits.budget.map(|budget| budget / 2),
        _ => Some(limits.budget.unwrap_or(Duration::from_secs(9)) + Duration::from_millis(3141)),
    };
    let max_trials = chance.random_bool(0.2).then(|| chance.random_range(1..60));
    Limits { budget, max_trials }
}

/// A search that was not stopped: its record, and what it would have decided after each line.
struct Undisturbed {
    record: Record,
    standings: Vec<Standing>,
}

/// Trials that one search makes at most.
const MOST: usize = 60;

impl Undisturbed {
    fn search(plan: &SearchPlan, blank: &Record, seed: u64) -> Self {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let mut measurer = measurer(plan);
        let mut search = plan.search().unwrap();
        let mut record = Record { trials: Vec::new(), result: None, ..blank.clone() };
        record.header.search = Some(plan.line());
        record.header.target = plan.target.to_string();
        record.header.profile = ProfileLine::from(&plan.profile);
        let (mut standings, mut limits, mut at) = (Vec::new(), plan.limits, Duration::ZERO);
        for _ in 0..MOST {
            let Some(input) = search.next_trial() else {
                if record.limits.len() > 3 {
                    break;
                }
                // It came to its end, and is given another one.
                limits = other_limits(limits, &mut chance);
                plan.limit(&mut search, limits);
                record.limits.push(limits_line(plan, limits, &record));
                standings.push(Standing::of(&mut search));
                continue;
            };
            let phase = search.phase();
            let mut trial = measurer.measure(input).unwrap();
            disturb(&mut trial, &mut chance);
            search.record(&trial);
            let line = TrialLine::new(&trial, &record.header.target, "constant", Purpose::Search, at);
            record.trials.push(line.in_search(phase, &search.bounds()));
            at += trial.elapsed;
            standings.push(Standing::of(&mut search));
            if chance.random_bool(0.05) {
                limits = other_limits(limits, &mut chance);
                plan.limit(&mut search, limits);
                record.limits.push(limits_line(plan, limits, &record));
                standings.push(Standing::of(&mut search));
            }
        }
        Self { record, standings }
    }
}

fn limits_line(plan: &SearchPlan, limits: Limits, record: &Record) -> LimitsLine {
    SearchPlan { limits, ..plan.clone() }.limits_line(record.last_number().unwrap_or(0))
}

/// A record's file may end after each byte of this one: its reader and its keeper.
fn cut_at_each_byte(record: &Record, plan: &SearchPlan, whole: &str) -> usize {
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let number = lines.len().min(3) - 1;
    let before: String = lines[..number].concat();
    let (_directory, path) = file();
    for cut in 0..=lines[number].len() {
        let mut bytes = before.clone().into_bytes();
        bytes.extend_from_slice(&lines[number].as_bytes()[..cut]);
        std::fs::write(&path, &bytes).unwrap();
        let read = read_record(&path).unwrap();
        let complete = cut + 1 >= lines[number].len();
        let kept = number - 1 + usize::from(complete);
        assert_eq!(read.trials.len() + read.limits.len(), kept, "{cut} bytes of line {number}");
        assert!(read.trials[..] == record.trials[..read.trials.len()]);
        // Writing waits for the disk.
        if cut % 499 == 0 || complete {
            let (mut keeper, _) = Keeper::resume(&path).unwrap();
            assert_eq!(
                std::fs::read(&path).unwrap(),
                bytes,
                "nothing is cut before there is a line to write"
            );
            let next = TrialLine { number: 1000, ..record.trials[0].clone() };
            keeper.trial(&next).unwrap();
            let expected = lines[..=kept].concat() + &trial_line(&next);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), expected, "{plan:?}");
        }
    }
    lines[number].len() + 1
}

#[test]
fn a_record_cut_anywhere_is_gone_on_with_as_if_it_had_not_been_cut() {
    let blank = {
        let (_directory, path) = file();
        recorded(
            &SearchPlan {
                limits: Limits { max_trials: Some(1), budget: None },
                ..plan("sim:hard", "binary", &["0"])
            },
            &path,
        )
    };
    let (mut after_lines, mut after_bytes) = (0, 0);
    for (index, system) in (0..).zip(System::names()) {
        for algorithm in ["binary", "mdr", "mlr", "mlr", "credible"] {
            // A decision of credible weighs thousands of particles.
            let (searches, goals) = match algorithm {
                "credible" => (1, &["0.5%"][..]),
                "mlr" => (2, &["0", "0.5%"][..]),
                _ => (3, &["0,trial=2s,initial=1s", "0.5%,trial=2s,initial=1s"][..]),
            };
            for number in 0..searches {
                let seed = index * 100 + number + u64::from(after_lines % 7 == 0);
                let mut plan = seeded(&format!("sim:{system}"), algorithm, goals, seed);
                plan.limits = seconds(if algorithm == "credible" { 6 } else { 60 });
                if algorithm == "credible" && index % 3 == 0 {
                    plan.algorithm = match plan.algorithm {
                        AlgorithmPlan::Credible { level, .. } => {
                            AlgorithmPlan::Credible { level, certify: true }
                        }
                        other => other,
                    };
                }
                let whole = Undisturbed::search(&plan, &blank, seed);
                let text = whole.record.to_lines();
                let read = Record::read(&text).unwrap();
                let stored = SearchPlan::of_record(&read, Path::new("r.jsonl")).unwrap();
                let mut expected = whole.standings.iter();
                replay(&stored, &read, &mut |search| {
                    let line = whole.standings.len() - expected.len();
                    assert_eq!(
                        Some(&Standing::of(search)),
                        expected.next(),
                        "sim:{system} {algorithm} {seed}, line {line}"
                    );
                    after_lines += 1;
                })
                .unwrap_or_else(|why| panic!("sim:{system} {algorithm} {seed}: {why}"));
                assert_eq!(expected.len(), 0);
                if number == 0 && index % 3 == 0 && algorithm != "mlr" {
                    after_bytes += cut_at_each_byte(&whole.record, &plan, &text);
                }
            }
        }
    }
    assert!(after_lines + after_bytes >= 10_000, "{after_lines} lines, {after_bytes} bytes");
    assert!(after_lines >= 5_000, "{after_lines} lines");
}

#[test]
fn another_budget_is_a_line_of_its_own_and_the_next_resume_knows_it() {
    for algorithm in AlgorithmPlan::all().map(AlgorithmPlan::name) {
        let (_directory, path) = file();
        let mut plan = plan("sim:noisy?seed=3", algorithm, &["0.5%,trial=1s"]);
        plan.limits = seconds(4);
        let first = recorded(&plan, &path);
        let longer = resumed(&path, Some(seconds(9)));
        let (before, now) = (first.trials.len(), longer.trials.len());
        assert!(now > before, "{algorithm}: {before} {now} {:?}", longer.result);
        assert!(longer.trials[..before] == first.trials[..], "{algorithm}");
        let after_trial = first.last_number().unwrap();
        assert_eq!(
            longer.limits,
            [LimitsLine { after_trial, budget_s: Some(9.0), max_trials: None }],
            "{algorithm}"
        );
        let kept = std::fs::read(&path).unwrap();
        assert_eq!(resumed(&path, None), longer, "{algorithm}: nothing is left to do");
        assert_eq!(std::fs::read(&path).unwrap(), kept, "{algorithm}");
        // Killed after any of its lines, it comes to the same.
        let lines: Vec<&str> = std::str::from_utf8(&kept).unwrap().split_inclusive('\n').collect();
        for whole in first.trials.len()..lines.len() - 1 {
            let (_directory, path) = file();
            std::fs::write(&path, lines[..=whole].concat()).unwrap();
            let again = resumed(&path, Some(seconds(9)));
            assert!(
                again.trials == longer.trials && again.result == longer.result,
                "{algorithm}: {whole} lines"
            );
        }
        let fewer = resumed(&path, Some(Limits { max_trials: Some(2), budget: None }));
        assert_eq!(
            (fewer.trials.len(), fewer.result),
            (longer.trials.len(), longer.result),
            "less than was spent"
        );
        let more =
            resumed(&path, Some(Limits { max_trials: Some(longer.trials.len() as u64 + 2), budget: None }));
        assert!(more.trials.len() <= longer.trials.len() + 2);
        assert_eq!(resumed(&path, None), more);
    }
}

/// A search whose target dies in trial `died`, as its record stands when it ended for that.
fn died_in(died: u64, plan: &SearchPlan, path: &Path) {
    let limits = Limits { max_trials: Some(1), budget: None };
    let mut record = recorded(&SearchPlan { limits, ..plan.clone() }, path);
    record.header.search = Some(plan.line());
    (record.trials, record.result) = (Vec::new(), None);
    let (mut measurer, mut search) = (measurer(plan), plan.search().unwrap());
    let mut at = Duration::ZERO;
    for number in 1..=died {
        let mut trial = measurer.measure(search.next_trial().unwrap()).unwrap();
        if number == died {
            trial.forwarded = trial.offered / 3;
            let error = "ECONNREFUSED".into();
            trial.caveats.push(Caveat::TargetUnreachable { error, at_ns: 9, refused: 0, reports: 4 });
        }
        search.record(&trial);
        let target = &record.header.target;
        let line = TrialLine::new(&trial, target, "constant", Purpose::Search, at);
        let line = TrialLine { void: search.last_is_void(), ..line };
        record.trials.push(line.in_search(String::new(), &search.bounds()));
        at += trial.elapsed;
    }
    std::fs::write(path, record.to_lines()).unwrap();
}

#[test]
fn a_trial_in_which_the_target_died_is_made_again_and_the_answer_is_as_if_it_had_not() {
    for algorithm in AlgorithmPlan::all().map(AlgorithmPlan::name) {
        let plan = plan("sim:hard", algorithm, &["0,trial=1s"]);
        for died in [1, 2, 4] {
            let (_directory, path) = file();
            died_in(died, &plan, &path);
            let found = resumed(&path, None);
            let again = &found.trials[died as usize];
            let before = &found.trials[died as usize - 1];
            assert!(before.void && !again.void, "{algorithm}");
            assert_eq!(again.intended_load_pps, before.intended_load_pps, "{algorithm}");
            let result = found.result.as_ref().unwrap();
            let said = result.caveats.iter().find(|caveat| caveat.code == "target_unreachable").unwrap();
            assert!(said.text.contains("no answer rests on it"), "{}", said.text);
            assert_eq!(dropline_report::object(&found)["goals"][0]["doubt"], serde_json::Value::Null);
            let (_directory, other) = file();
            let undisturbed = recorded(&plan, &other).result.unwrap();
            let truth = |result: &ResultLine| {
                let answer = &result.goals[0];
                (answer.result, answer.why, answer.lower_pps.is_some(), answer.upper_pps.is_some())
            };
            assert_eq!(truth(result), truth(&undisturbed), "{algorithm} {died}");
        }
    }
}
