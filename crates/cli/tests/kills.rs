//! Searches of a real service that are killed at any moment, each gone on with twice.
//!
//! `DROPLINE_KILLS=500 cargo test -p dropline --test kills -- --nocapture` kills that many; a few are killed by
//! default.

mod command;

use command::{Bench, Service};
use dropline_archive::record_file::read_record;
use dropline_record::{AnswerLine, GoalLine, Record};
use dropline_verbs::plan::SearchPlan;
use dropline_verbs::replay::replay;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const ALGORITHMS: [&str; 4] = ["credible", "mlr", "mdr", "binary"];

/// Moments that look random and are the same each time.
struct Moments(u64);

impl Moments {
    fn next(&mut self, most_ms: u64) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros((self.0 >> 33) % (most_ms * 1000))
    }
}

/// Kills a search after a while, unless it has ended; says whether it was killed.
fn kill_after(mut child: Child, moment: Duration) -> bool {
    let until = Instant::now() + moment;
    loop {
        let ended = child.try_wait().unwrap();
        if let Some(status) = ended {
            // Beside busy neighbours a search may end in saying that it got no clean trials.
            assert!(matches!(status.code(), Some(0 | 3)), "refused or broken: {status}");
            return false;
        }
        if Instant::now() >= until {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What the library says of the record's trials.
fn answers(record: &Record) -> Vec<AnswerLine> {
    let plan = SearchPlan::of_record(record).unwrap();
    let mut search = replay(&plan, record).expect("each trial is the one that the search makes").search;
    // A search whose time is over while it looks around makes an answer of what it saw.
    assert_eq!(search.next_trial(), None, "it had come to its end");
    let outcomes = search.outcome();
    plan.goals
        .iter()
        .zip(&outcomes)
        .map(|(goal, outcome)| AnswerLine::new(GoalLine::from(goal), outcome))
        .collect()
}

/// One search, killed, gone on with and killed, gone on with to its end. The whole lines that were there before are there
/// after.
fn case(service: &Service, number: u64, budget_ms: u64, moments: &mut Moments) -> (u64, u64) {
    let bench = Bench::new();
    let algorithm = ALGORITHMS[(number % 4) as usize];
    let budget = format!("--budget={budget_ms}ms");
    let fresh = [
        "search",
        &service.target(),
        &format!("--algorithm={algorithm}"),
        "--min-load=100pps",
        "--max-load=20kpps",
        "--goal=0.5%,trial=150ms,initial=100ms,sum=600ms",
        "--warm-up=0s",
        &budget,
        "-q",
        "-o",
        "r.jsonl",
    ];
    let quiet =
        |words: &[&str]| bench.command(words).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
    kill_after(quiet(&fresh), moments.next(budget_ms + 600));
    let path = bench.path("r.jsonl");
    let (mut kills, mut disturbed) = (1, 0);
    if std::fs::read(&path).map_or(true, |bytes| !bytes.contains(&b'\n')) {
        return (kills, disturbed);
    }
    let mut before = read_record(&path).unwrap();
    // Now and then another budget, which the next one knows.
    let longer = format!("--budget={}ms", budget_ms + 400);
    for end in [false, true] {
        let mut words = vec!["search", "--resume", "r.jsonl", "-q"];
        if number % 3 == 1 && !end {
            words.push(&longer);
        }
        let moment = if end { Duration::from_secs(600) } else { moments.next(budget_ms + 600) };
        kills += u64::from(kill_after(quiet(&words), moment));
        let after = read_record(&path).unwrap();
        assert!(after.trials.starts_with(&before.trials), "{algorithm}: a line was lost");
        before = after;
    }
    let result = before.result.as_ref().expect("it came to its end");
    let found: Vec<AnswerLine> =
        result.goals.iter().map(|answer| AnswerLine { outlook: None, ..answer.clone() }).collect();
    assert_eq!(found, answers(&before), "{algorithm}: another answer than the library's");
    disturbed += before.trials.iter().filter(|trial| !trial.caveats.is_empty()).count() as u64;
    (kills, disturbed)
}

#[test]
fn a_search_that_is_killed_at_any_moment_is_gone_on_with_and_loses_nothing() {
    let wanted: u64 = std::env::var("DROPLINE_KILLS").map_or(6, |count| count.parse().unwrap());
    let budget_ms = if wanted > 100 { 3000 } else { 1000 };
    let bench = Bench::new();
    let service = bench.serve(&["--service-time", "100us", "--sleep"]);
    let mut moments = Moments(14);
    let (mut kills, mut disturbed, mut searches) = (0, 0, 0);
    while kills < wanted {
        let (killed, doubts) = case(&service, searches, budget_ms, &mut moments);
        kills += killed;
        disturbed += doubts;
        searches += 1;
        println!("{searches} searches, {kills} kills, {disturbed} trials with caveats");
    }
}
