//! A record is what was measured, or it is refused: numbers that follow from one another are held against each other.

use dropline_record::{
    AnswerLine, Count, CurveLine, DelayAtLine, Environment, GoalLine, Header, LimitsLine, ProfileLine,
    Purpose, ReasonWord, Record, ResultLine, ResultWord, SearchLine, SliceLine, TARGET_KINDS, TrialLine,
};
use dropline_search::{Binary, Limits, Preset, Search};
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_stats::Histogram;
use dropline_trial::graph::{Graph, Residence};
use dropline_trial::passages::Pipe;
use dropline_trial::wakeups::WakeupThread;
use dropline_trial::{
    Caveat, Delay, Disturbance, Measurer as _, Passages, Slice, TrafficProfile, Trial, TrialInput, Wakeups,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// What a socket would have told of a trial beside its counts.
fn told(mut trial: Trial) -> Trial {
    let mut values = Histogram::new();
    values.record_n(34_000, 990);
    values.record_n(5_000_000, 10);
    let delay = || Delay { histogram: Some(values.clone()), negative: 3, negative_min_ns: Some(-17) };
    (trial.delay, trial.service_delay, trial.lateness) = (delay(), Delay::default(), delay());
    trial.lateness.negative = 0;
    trial.generator_lost = trial.lost() / 7;
    trial.reply_truncated = Some(trial.lost() / 5);
    trial.disturbance = Some(Disturbance { displaced: trial.lost() / 9, waited: Duration::from_millis(1) });
    let lost = trial.lost();
    trial.lost_at =
        Some([("receive_buffer".into(), lost - lost / 3), ("unexplained".into(), lost / 3)].into());
    trial.refused = [("ENOBUFS".into(), 4)].into();
    trial.caveats.push(Caveat::FewSlices { slices: 3, wanted: 40 });
    trial
}

/// A whole search, the delay after it, and another limit between.
fn searched() -> Record {
    searched_on("soft")
}

fn searched_on(system: &str) -> Record {
    let profile = TrafficProfile::default();
    let goals = Preset::Rfc2544.goals();
    let algorithm = Box::new(Binary::new(&goals, default_range()).unwrap());
    let mut search = Search::new(algorithm, goals, Limits::default());
    let system = System::named(system).unwrap();
    let mut measurer = Simulated::new(system, Settings::default(), profile.clone(), 1);
    let mut record = Record::begin(header(&profile, search.goals()));
    let mut at = Duration::ZERO;
    while let Some(input) = search.next_trial() {
        let phase = search.phase();
        let Ok(trial) = measurer.measure(input);
        let trial = told(trial);
        search.record(&trial);
        let line = TrialLine::new(&trial, "sim:soft", "constant", Purpose::Search, at);
        let line = TrialLine { void: search.last_is_void(), ..line };
        record.trials.push(line.in_search(phase, &search.bounds()));
        at += trial.elapsed;
    }
    record.limits.push(LimitsLine { after_trial: 2, budget_s: None, max_trials: Some(99) });
    let outcome = &search.outcome()[0];
    let load = outcome.lower.unwrap();
    let Ok(trial) = measurer.measure(TrialInput { load, duration: Duration::from_secs(1) });
    record.trials.push(TrialLine::new(&told(trial), "sim:soft", "constant", Purpose::DelayAt, at));
    at += Duration::from_secs(1);
    record.result = Some(ResultLine {
        ended_by: dropline_record::EndWord::Done,
        back_to_back: None,
        loss_curve: Vec::new(),
        goals: vec![AnswerLine::new(GoalLine::from(&search.goals()[0]), outcome)],
        trial_seconds: record.trials.iter().map(|line| line.duration_s).sum(),
        elapsed_s: record.trials.iter().map(|line| line.elapsed_s).sum(),
        interrupted: false,
        delay_at: vec![DelayAtLine { goal: 0, share: 1.0, trial: record.trials.len() as u64 }],
        caveats: Vec::new(),
    });
    assert!(at.as_secs_f64() > 0.0);
    record
}

fn header(profile: &TrafficProfile, goals: &[dropline_search::Goal]) -> Header {
    let range = default_range();
    let search: SearchLine = serde_json::from_value(json!({
        "algorithm": "binary",
        "preset": null,
        "goals": goals.iter().map(GoalLine::from).collect::<Vec<_>>(),
        "min_load_pps": range.min().as_pps(),
        "max_load_pps": range.max().as_pps(),
        "budget_s": null,
        "max_trials": 77,
        "effective_duration": "duration_s",
        "warm_up_s": 0.0,
        "delay_at": [1.0],
    }))
    .unwrap();
    Header {
        schema: "dropline/1".into(),
        verb: "search".into(),
        started: "2026-11-21T09:31:00Z".into(),
        target: "sim:soft".into(),
        target_note: None,
        asked_digest: None,
        load_unit: dropline_record::LoadUnit::Packets,
        load_is: "the load of one interface".into(),
        profile: ProfileLine::from(profile),
        search: Some(search),
        generator: None,
        on: None,
        bursts: None,
        generator_limit_pps: None,
        environment: Environment::default(),
    }
}

/// Pointers to every integer in a value.
fn integers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(index, one)| integers(one, &format!("{at}/{index}"), found));
        }
        Value::Object(all) => {
            all.iter().for_each(|(name, one)| integers(one, &format!("{at}/{name}"), found))
        }
        // Seeds are beyond what is written as a number.
        Value::String(text) if text.parse::<u64>().is_ok() && !at.ends_with("/name") => {
            found.push(at.into());
        }
        Value::Number(number) if number.is_u64() || number.is_i64() => found.push(at.into()),
        _ => {}
    }
}

/// The lines with one of them replaced.
fn with(lines: &[Value], index: usize, line: &Value) -> String {
    let lines = lines.iter().enumerate().map(|(at, old)| if at == index { line } else { old });
    lines.map(|line| format!("{line}\n")).collect()
}

/// Integers that follow from nothing else in the record: another one would have been another measurement, or is only
/// shown as what it is.
const OWN: [&str; 14] = [
    "header/profile/directions/0/share",
    "header/profile/streams/0/share",
    "header/search/max_trials",
    "limits/max_trials",
    "trial/caveats/0/slices",
    "trial/caveats/0/wanted",
    "trial/disturbance/displaced",
    "trial/disturbance/doubted",
    "trial/disturbance/waited_ns",
    "trial/generator_lost",
    "trial/negative/count",
    "trial/negative/min",
    "trial/refused/ENOBUFS",
    "trial/reply_truncated",
];

#[test]
fn an_integer_that_is_changed_is_refused_or_is_one_that_nothing_else_follows_from() {
    // What is simulated here says no more of itself than a socket, an interface or a program of somebody's does.
    let whole = TARGET_KINDS.iter().filter(|kind| kind.seeds_trials && kind.intends_its_load);
    let whole: Vec<&str> = whole.map(|kind| kind.prefix).collect();
    for prefix in ["udp://", "dns://", "stamp://", "link:", "sim:", "exec:"] {
        assert!(whole.contains(&prefix), "{prefix}");
    }
    whole.into_iter().for_each(every_integer_is_held);
}

fn every_integer_is_held(prefix: &str) {
    let text = searched().to_lines().replace("sim:", prefix);
    Record::read(&text).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (mut own, mut refused) = (BTreeSet::new(), 0);
    for (index, line) in lines.iter().enumerate() {
        let kind = line["line"].as_str().unwrap();
        let mut places = Vec::new();
        integers(line, "", &mut places);
        for place in places {
            let old = line.pointer(&place).unwrap();
            let old = old
                .as_i64()
                .or_else(|| old.as_str()?.parse::<u64>().ok().map(|seed| (seed >> 1) as i64))
                .unwrap();
            for other in [old + 1, old - 1, 0, 1, 1000].into_iter().filter(|other| *other != old) {
                let mut edited = line.clone();
                *edited.pointer_mut(&place).unwrap() = other.into();
                match Record::read(&with(&lines, index, &edited)) {
                    Ok(_) => drop(own.insert(format!("{kind}{place}"))),
                    Err(why) => {
                        refused += 1;
                        let named = format!("line {} of the record", index + 1);
                        let next = format!("line {} of the record", index + 2);
                        let why = why.to_string();
                        assert!(why.contains(&named) || why.contains(&next) || index == 0, "{place}: {why}");
                    }
                }
            }
        }
    }
    assert_eq!(own.iter().map(String::as_str).collect::<Vec<_>>(), OWN, "{prefix}");
    assert!(refused > 1000, "{refused}");
}

#[test]
fn what_is_edited_in_words_limits_or_times_is_refused() {
    let text = searched().to_lines();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (trial, limits, result) = (1, 3, lines.len() - 1);
    assert_eq!((&lines[limits]["line"], &lines[result]["line"]), (&json!("limits"), &json!("result")));
    for (index, place, other, says) in [
        (0, "/verb", json!("trial"), "it has the goals of a search"),
        (0, "/verb", json!("explode"), "there are search, trial, watch, compare"),
        (0, "/load_unit", json!("samples"), "its target makes it \"packets\""),
        (
            0,
            "/load_unit",
            json!("parrots"),
            "unknown variant `parrots`, expected one of `packets`, `samples`",
        ),
        (0, "/search/algorithm", json!("guess"), "there are credible, mlr"),
        (0, "/search/preset", json!("mine"), "there are csit, rfc2544, tst009"),
        (0, "/search/effective_duration", json!("elapsed_s"), "its preset makes it \"duration_s\""),
        (0, "/search/level", json!(0.99), "its level is"),
        (0, "/search/max_load_pps", json!(20_000.0), "loads from 10000 to 20000 were asked for"),
        (0, "/search/max_trials", json!(1), "before it came 1 trial, and 1 were allowed"),
        (0, "/search/budget_s", json!(1.5), "s were spent before it, and 1.5 s were allowed"),
        (0, "/search/goals/0/width", json!(7.0), "which is not a share"),
        (limits, "/max_trials", json!(3), "before it came 3 trials, and 3 were allowed"),
        (limits, "/budget_s", json!(0.5), "s were spent before it, and 0.5 s were allowed"),
        (trial, "/intended_duration_s", json!(30.0), "and intended_duration_s is 30"),
        (
            trial,
            "/duplicated",
            json!(u64::MAX),
            "duplicated is 18446744073709551615, and no service is that fast",
        ),
        (trial, "/late", json!(u64::MAX), "no service is that fast"),
        (trial, "/reordered", json!(u64::MAX), "no service is that fast"),
        (trial, "/bounds/0/upper_pps", json!(1e12), "were asked for"),
        (trial, "/bounds/0/upper_pps", json!(1_234_567.5), "none of them was made"),
        (result, "/goals/0/level", json!(0.95), "level of goal 1 is 0.95"),
        (result, "/goals/0/why", json!("bored"), "unknown variant `bored`"),
        (result, "/goals/0/result", json!("regular"), "goal 1 is regular"),
        (result, "/goals/0/lower_pps", json!(0.001), "were asked for"),
        (result, "/interrupted", json!(true), "interrupted says otherwise"),
    ] {
        let mut edited = lines[index].clone();
        let place_of = edited.pointer_mut(place).unwrap_or_else(|| panic!("{place} is there"));
        assert_ne!(*place_of, other, "{place}");
        *place_of = other;
        let why = Record::read(&with(&lines, index, &edited)).map(|_| ()).unwrap_err().to_string();
        assert!(why.contains(says), "{place}: {why}");
    }
}

/// What is said against a record that was changed like this.
fn refused(record: &Record, change: impl FnOnce(&mut Record)) -> String {
    let mut record = record.clone();
    change(&mut record);
    Record::read(&record.to_lines()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn an_answer_that_its_trials_contradict_is_refused() {
    let good = searched_on("hard");
    Record::read(&good.to_lines()).unwrap();
    let answer = &good.result.as_ref().unwrap().goals[0];
    let (lower, upper) = (answer.lower_pps.unwrap(), answer.upper_pps.unwrap());
    let most = good.header.search.as_ref().unwrap().max_load_pps;
    let answered = |result: ResultWord, lower: Option<f64>, upper: Option<f64>| {
        refused(&good, |record| {
            let answer = &mut record.result.as_mut().unwrap().goals[0];
            (answer.result, answer.lower_pps, answer.upper_pps) = (result, lower, upper);
            answer.why = (result == ResultWord::Irregular).then_some(ReasonWord::Unfinished);
        })
    };
    for (why, says) in [
        (answered(ResultWord::Regular, Some(lower), Some(most)), "goal 1 is regular, its width is"),
        (answered(ResultWord::Irregular, Some(upper), Some(most)), "and none there met it"),
        (answered(ResultWord::Irregular, None, Some(lower)), "and none there failed it"),
    ] {
        assert!(why.contains(says), "{says}: {why}");
    }

    let credible = |lower: f64, upper: f64| {
        let mut record = good.clone();
        let search = record.header.search.as_mut().unwrap();
        (search.algorithm, search.level) = ("credible".into(), Some(0.95));
        let answer = &mut record.result.as_mut().unwrap().goals[0];
        (answer.result, answer.why, answer.level) = (ResultWord::Wide, None, Some(0.95));
        (answer.lower_pps, answer.upper_pps) = (Some(lower), Some(upper));
        Record::read(&record.to_lines()).map(|_| ())
    };
    credible(lower, upper).unwrap();
    for factor in [0.7, 1.5] {
        let why = credible(lower * factor, upper * factor).unwrap_err().to_string();
        assert!(why.contains("every trial up to"), "{why}");
    }
    // As narrow as was asked for, at a load that no trial was made at.
    let why = credible((lower + upper) / 2.0, upper).unwrap_err().to_string();
    assert!(why.contains("goal 1 is wide, its width is"), "{why}");
    let why = refused(&good, |record| {
        record.header.search.as_mut().unwrap().level = Some(0.95);
    });
    assert!(why.contains("its level is 0.95, and its algorithm is binary, which has none"), "{why}");
    let why = refused(&good, |record| {
        let search = record.header.search.as_mut().unwrap();
        (search.algorithm, search.level) = ("credible".into(), Some(0.9999));
    });
    assert!(why.contains("its level is 0.9999"), "{why}");
    for (load_pps, low, high, says) in [
        (lower, 0.9, 0.1, "shares of loss do not fall so"),
        (lower, -0.1, 0.9, "shares of loss do not fall so"),
        (most * 1000.0, 0.1, 0.9, "were asked for"),
    ] {
        let line = CurveLine { load_pps, low, median: 0.5, high };
        let why = refused(&good, |record| record.result.as_mut().unwrap().loss_curve.push(line));
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn slices_and_counts_that_contradict_their_trial_are_refused() {
    let good = searched();
    let slice = |duration_s: f64, forwarded: u64| SliceLine {
        duration_s,
        offered: Count(forwarded),
        forwarded: Count(forwarded),
        delay_ns: None,
    };
    let trial = |change: &dyn Fn(&mut TrialLine)| refused(&good, |record| change(&mut record.trials[0]));
    let why = trial(&|line| line.slices.push(slice(50_000.0, 1)));
    assert!(why.contains("its slices last 50000 s"), "{why}");
    let why = trial(&|line| line.negative.count = Count(u64::MAX));
    assert!(why.contains("the count of negative delays"), "{why}");
    let why = trial(&|line| {
        let mut recorder = dropline_stats::Recorder::new();
        recorder.record(17);
        let whole = Slice {
            duration: Duration::from_millis(1),
            offered: 1,
            forwarded: 1,
            delay: Some(recorder.recorded()),
        };
        let mut broken = SliceLine::from(&whole);
        broken.delay_ns.as_mut().unwrap().histogram = "AAAA".into();
        line.slices.push(broken);
    });
    assert!(why.contains("the histogram of a slice"), "{why}");
}

#[test]
fn the_delays_of_a_part_are_those_of_the_histogram_beside_them() {
    let mut values = Histogram::new();
    values.record_n(34_000, 990);
    let delay = Delay { histogram: Some(values), ..Delay::default() };
    let woken = Wakeups {
        threads: vec![WakeupThread { delay: delay.clone(), ..WakeupThread::default() }],
        ..Wakeups::default()
    };
    let pipe = Pipe { delay: delay.clone(), ..Pipe::default() };
    let passages = Passages { pipes: vec![pipe], ..Passages::default() };
    let graph = Graph { residence: vec![Residence { block: 1, delay }], ..Graph::default() };
    let mut record = searched();
    let line = &mut record.trials[0];
    (line.woken, line.passages) = (Some((&woken).into()), Some((&passages).into()));
    line.graph = Some((&graph).into());
    let text = record.to_lines();
    Record::read(&text).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (part, name) in [
        ("woken/threads", "thread 0"),
        ("passages/pipes", "pipe 0"),
        ("graph/residence", "block 0 of the graph"),
    ] {
        for number in ["count", "min", "p50", "p90", "p99", "max"] {
            let mut edited = lines[1].clone();
            *edited.pointer_mut(&format!("/{part}/0/delay_ns/{number}")).unwrap() = json!(7);
            let why = Record::read(&with(&lines, 1, &edited)).map(|_| ()).unwrap_err().to_string();
            assert!(why.contains(&format!("{number} of delay_ns of {name} is 7")), "{part} {number}: {why}");
        }
    }
}

#[test]
fn a_stopped_search_says_so_in_both_places() {
    let mut record = searched();
    let result = record.result.as_mut().unwrap();
    (result.interrupted, result.ended_by) = (true, dropline_record::EndWord::Interrupted);
    assert!(Record::read(&record.to_lines()).is_err());
    let result = record.result.as_mut().unwrap();
    result.caveats.push(dropline_record::CaveatLine::said("interrupted", "the search was stopped early"));
    assert!(Record::read(&record.to_lines()).is_ok());
    record.result.as_mut().unwrap().interrupted = false;
    assert!(Record::read(&record.to_lines()).is_err());
}

#[test]
fn what_ended_a_search_is_what_its_caveats_say() {
    use dropline_record::{BROKEN, CaveatLine, EndWord};
    let good = searched();
    let ended = |by: EndWord, caveats: &[&str], interrupted: bool| {
        let mut record = good.clone();
        let result = record.result.as_mut().unwrap();
        result.ended_by = by;
        result.interrupted = interrupted;
        result.caveats.extend(caveats.iter().map(|code| CaveatLine::said(code, "so")));
        Record::read(&record.to_lines()).map(|record| record.is_finished()).map_err(|why| why.to_string())
    };
    for by in [EndWord::Done, EndWord::Budget, EndWord::MaxTrials] {
        assert_eq!(ended(by, &[], false), Ok(true), "{by:?}");
        assert!(ended(by, &[BROKEN], false).unwrap_err().contains("its caveats say otherwise"));
        assert!(ended(by, &["interrupted"], true).unwrap_err().contains("interrupted says otherwise"));
    }
    for by in [EndWord::TargetFailed, EndWord::EndingFailed] {
        assert_eq!(
            ended(by, &[BROKEN], false),
            Ok(false),
            "it can be gone on with, or has no answer: {by:?}"
        );
        assert!(ended(by, &[], false).unwrap_err().contains("ended_by is"));
    }
    assert_eq!(ended(EndWord::Interrupted, &["interrupted"], true), Ok(false));
    assert!(ended(EndWord::Interrupted, &[], false).is_err());
}
