//! A search around anybody's measurer has what every search has: a record, delays, caveats, resume, a page.

mod searches;

use dropline_archive::record_file::{Output, read_record};
use dropline_failure::Failure;
use dropline_record::{Purpose, Record};
use dropline_stats::Histogram;
use dropline_targets::Target;
use dropline_trial::{Caveat, Delay, LoadRange, Rate, Ratio, Trial, TrialInput, measuring};
use dropline_verbs::goals::WrittenGoal;
use dropline_verbs::observer::Unwatched;
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use dropline_verbs::search::{resume, search};
use searches::conditions;

/// Forwards five million packets a second, each within 30 us, and drops the rest.
fn bench(input: TrialInput) -> Trial {
    let packets = |pps: f64| (pps * input.duration.as_secs_f64()) as u64;
    let offered = input.load.packets_in(input.duration);
    let forwarded = offered.min(packets(5e6));
    let mut histogram = Histogram::new();
    histogram.record_n(30_000, forwarded);
    let delay = Delay { histogram: Some(histogram), ..Delay::default() };
    let caveats = vec![Caveat::Reported { code: "warm".into(), text: "the room was warm".into() }];
    Trial { intended: Some(offered), offered, forwarded, delay, caveats, ..Trial::new(1, input, 0) }
}

/// A plan around a function that fails before trial `fails_at`, counted from 1.
fn plan(fails_at: u64) -> SearchPlan {
    let mut trials = 0;
    let measurer = measuring(move |input| {
        trials += 1;
        if trials == fails_at { Err(Failure::environment("the bench is on fire")) } else { Ok(bench(input)) }
    });
    let algorithm = AlgorithmPlan::parse("mlr").unwrap();
    let goal = WrittenGoal::parse("0.5%").unwrap().resolve(algorithm).unwrap();
    let range = LoadRange::new(Rate::pps(1e4).unwrap(), Rate::pps(14.88e6).unwrap()).unwrap();
    let target = Target::given("my bench", measurer).unwrap();
    let delay_at = vec![Ratio::new(0.5).unwrap()];
    SearchPlan { delay_at, ..SearchPlan::of(target, algorithm, vec![goal], range) }
}

fn answered(record: &Record) -> (f64, f64) {
    let goal = &record.result.as_ref().unwrap().goals[0];
    (goal.lower_pps.unwrap(), goal.upper_pps.unwrap())
}

#[test]
fn a_search_around_a_function_has_a_record_delays_caveats_and_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.jsonl");
    let done = search(&plan(0), &Output::File(path.clone()), &conditions(), &mut Unwatched).unwrap();
    assert!(done.failure.is_none());
    let record = read_record(&path).unwrap();
    assert_eq!(record, done.record);
    assert_eq!(record.header.target, "measurer:my bench");
    let (lower, upper) = answered(&record);
    assert!((4.95e6..=5.03e6).contains(&lower) && lower < upper && upper < 5.1e6, "{lower} {upper}");
    let delays =
        record.trials.iter().find(|trial| trial.purpose == Purpose::DelayAt).expect("a trial at 50 %");
    assert_eq!(delays.delay_ns.as_ref().unwrap().count, delays.forwarded);
    assert!(record.caveats().iter().any(|caveat| caveat.code == "warm"), "{:?}", record.caveats());
    let numbers: Vec<u64> = record.trials.iter().map(|trial| trial.number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let page = dropline_report::html(std::slice::from_ref(&record));
    assert!(page.contains("measurer:my bench"));
}

#[test]
fn a_search_around_a_function_that_failed_is_resumed_to_the_same_answer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.jsonl");
    let whole = search(&plan(0), &Output::Nowhere, &conditions(), &mut Unwatched).unwrap().record;
    let broken = search(&plan(6), &Output::File(path.clone()), &conditions(), &mut Unwatched).unwrap();
    assert!(broken.failure.unwrap().to_string().contains("the bench is on fire"));
    assert_eq!(read_record(&path).unwrap().trials.len(), 5);
    let resumed = resume(&plan(0), &path, &conditions(), &mut Unwatched).unwrap();
    assert!(resumed.failure.is_none());
    assert_eq!(answered(&resumed.record), answered(&whole));
    assert_eq!(resumed.record.trials.len(), whole.trials.len());
    assert_eq!(read_record(&path).unwrap().result, resumed.record.result);
}

#[test]
fn a_search_of_a_measurer_that_is_not_here_is_not_resumed_and_says_from_where_it_can_be() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.jsonl");
    search(&plan(6), &Output::File(path.clone()), &conditions(), &mut Unwatched).unwrap();
    let before = std::fs::read(&path).unwrap();
    let elsewhere = SearchPlan::of_record(&read_record(&path).unwrap(), &path).unwrap();
    let why = resume(&elsewhere, &path, &conditions(), &mut Unwatched).unwrap_err();
    assert_eq!(why.exit_code(), 4);
    assert!(why.to_string().contains("from the program that made the record"), "{why}");
    assert_eq!(std::fs::read(&path).unwrap(), before, "the record is as it was");
}
