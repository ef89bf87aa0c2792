//! Searches of real services that are killed at random moments, each resumed twice.
//!
//! `DROPLINE_KILLS=500 cargo test -p dropline --test kills -- --nocapture` kills that many and prints what became of
//! them; a few are killed by default. A record that was refused, lost a line or came to another answer is kept in
//! `target/tmp`.

#![allow(clippy::disallowed_methods)]

mod command;

use command::{Bench, Service};
use dropline_archive::record_file::read_record;
use dropline_record::{AnswerLine, GoalLine, Record, TrialLine};
use dropline_search::ALGORITHMS;
use dropline_trial::seed;
use dropline_verbs::plan::SearchPlan;
use dropline_verbs::replayed::replay;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What became of searches.
#[derive(Clone, Copy, Default)]
struct Tally {
    /// With a record by then, and before its end.
    killed: u64,
    /// In the first of its resumes.
    killed_again: u64,
    /// Found finished by the second.
    shown_again: u64,
    trials: u64,
    /// Of these, with a loss that may be its neighbours' doing.
    doubted: u64,
    refused: u64,
    lost: u64,
    other_answers: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.killed += other.killed;
        self.killed_again += other.killed_again;
        self.shown_again += other.shown_again;
        self.trials += other.trials;
        self.doubted += other.doubted;
        self.refused += other.refused;
        self.lost += other.lost;
        self.other_answers += other.other_answers;
    }

    fn row(&self, name: &str) -> String {
        let Self { killed, killed_again, shown_again, trials, doubted, refused, lost, other_answers } = self;
        format!(
            "| {name} | {killed} | {killed_again} | {shown_again} | {trials} | {doubted} | {refused} | {lost} | {other_answers} |"
        )
    }

    fn failures(&self) -> u64 {
        self.refused + self.lost + self.other_answers
    }
}

/// Kills a search after a while; how it ended, if it was before that.
fn kill_after(mut child: Child, moment: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + moment;
    loop {
        let ended = child.try_wait().unwrap();
        if ended.is_some() {
            return ended;
        }
        if Instant::now() >= until {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Beside busy neighbours a search may end in saying that it got no clean trials.
fn is_refusal(status: ExitStatus) -> bool {
    !matches!(status.code(), Some(0 | 3))
}

/// What the library says of the record's trials; why not, if a trial is not the one that it would make or its bounds
/// are others.
fn answers(record: &Record) -> Result<Vec<AnswerLine>, String> {
    let plan = SearchPlan::of_record(record, Path::new("r.jsonl")).map_err(|why| why.to_string())?;
    let mut search = replay(&plan, record, &mut |_| {}).map_err(|why| why.to_string())?.search;
    // A search whose time is over while it looks around makes an answer of what it saw.
    if record.result.is_some() && search.next_trial().is_some() {
        return Err("the library would make another trial".into());
    }
    let outcomes = search.outcome();
    Ok(plan
        .goals
        .iter()
        .zip(&outcomes)
        .map(|(goal, outcome)| AnswerLine::new(GoalLine::from(goal), outcome))
        .collect())
}

/// Whether the library decides from the record's trials as the search did: each trial, the bounds after it, the answer.
fn is_as_the_library_says(record: &Record) -> bool {
    let Ok(answers) = answers(record).inspect_err(|why| eprintln!("{why}")) else { return false };
    record.result.as_ref().is_none_or(|result| {
        let found = result.goals.iter().map(|answer| AnswerLine { outlook: None, ..answer.clone() });
        found.eq(answers)
    })
}

/// The record of a file; `None` where its reader refuses it.
fn whole(path: &Path) -> Option<Record> {
    read_record(path).inspect_err(|why| eprintln!("{why}")).ok()
}

/// The lines that a resumed search may not touch: all but its answer and a line that is torn.
fn whole_lines(bytes: &[u8], record: &Record) -> Vec<u8> {
    let lines = 1 + record.trials.len() + record.limits.len();
    bytes.split_inclusive(|&byte| byte == b'\n').take(lines).flatten().copied().collect()
}

/// One search, killed, and resumed twice: half of them are killed again in the first resume, and the others are found
/// finished by the second. The moments are of the number and the algorithm, the same each time.
fn case(service: &Service, algorithm: &str, number: u64, budget_ms: u64) -> Tally {
    let bench = Bench::new();
    let place = ALGORITHMS.iter().position(|one| *one == algorithm).unwrap() as u64;
    let mut chance = seed::uniforms(seed::of_trial(place, number));
    let mut moment = |most_ms| Duration::from_millis(most_ms).mul_f64(chance.next().unwrap());
    let fresh = [
        "search",
        &service.target(),
        &format!("--algorithm={algorithm}"),
        "--min-load=100pps",
        "--max-load=10kpps",
        "--goal=0.5%,trial=100ms,initial=50ms,sum=300ms",
        "--warm-up=0s",
        &format!("--budget={budget_ms}ms"),
        "-q",
        "-o",
        "r.jsonl",
    ];
    let quiet =
        |words: &[&str]| bench.command(words).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut tally = Tally::default();
    if let Some(status) = kill_after(quiet(&fresh), moment(budget_ms + 600)) {
        return Tally { refused: u64::from(is_refusal(status)), ..tally };
    }
    let path = bench.path("r.jsonl");
    if std::fs::read(&path).map_or(true, |bytes| !bytes.contains(&b'\n')) {
        return tally;
    }
    tally.killed = 1;
    // Now and then another budget, which the next one knows.
    let longer = format!("--budget={}ms", budget_ms + 400);
    for (first, again) in [(true, number.is_multiple_of(2)), (false, false)] {
        let Some(record) = whole(&path) else { break };
        let bytes = std::fs::read(&path).unwrap();
        tally.other_answers += u64::from(!is_as_the_library_says(&record));
        let mut words = vec!["search", "--resume", "r.jsonl", "-q"];
        words.extend((first && number % 3 == 1).then_some(longer.as_str()));
        let end = if again { moment(budget_ms / 2) } else { Duration::from_secs(600) };
        match kill_after(quiet(&words), end) {
            Some(status) => tally.refused += u64::from(is_refusal(status)),
            None => tally.killed_again += 1,
        }
        let after = std::fs::read(&path).unwrap();
        let finished = !first && record.result.is_some();
        tally.shown_again += u64::from(finished);
        let kept = if finished { after == bytes } else { after.starts_with(&whole_lines(&bytes, &record)) };
        tally.lost += u64::from(!kept);
    }
    let is_doubted = |trial: &&TrialLine| trial.caveats.iter().any(|caveat| caveat.code == "loss_doubted");
    match whole(&path) {
        None => tally.refused += 1,
        Some(record) => {
            tally.other_answers += u64::from(record.result.is_none() || !is_as_the_library_says(&record));
            tally.trials = record.trials.len() as u64;
            tally.doubted = record.trials.iter().filter(is_doubted).count() as u64;
        }
    }
    if tally.failures() > 0 {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("killed-{algorithm}-{number}.jsonl"));
        std::fs::copy(&path, kept).unwrap();
    }
    tally
}

/// So many searches of one algorithm, killed while they ran.
fn killed(algorithm: &str, wanted: u64, budget_ms: u64) -> Tally {
    let bench = Bench::new();
    let service = bench.serve(&["--service-time", "200us", "--sleep"]);
    let mut tally = Tally::default();
    for number in 0.. {
        if tally.killed >= wanted || tally.failures() > 0 {
            break;
        }
        tally.add(case(&service, algorithm, number, budget_ms));
    }
    tally
}

#[test]
fn a_search_that_is_killed_at_any_moment_is_gone_on_with_and_loses_nothing() {
    let wanted: u64 = std::env::var("DROPLINE_KILLS").map_or(12, |count| count.parse().unwrap());
    let budget_ms = if wanted > 100 { 3000 } else { 1000 };
    let (mut all, mut rows) = (Tally::default(), String::new());
    // Two at a time: each is the other's busy neighbour.
    for two in ALGORITHMS.chunks(2) {
        std::thread::scope(|scope| {
            let threads: Vec<_> = two
                .iter()
                .map(|name| scope.spawn(move || killed(name, wanted.div_ceil(4), budget_ms)))
                .collect();
            for (name, thread) in two.iter().zip(threads) {
                let tally = thread.join().unwrap();
                rows += &(tally.row(name) + "\n");
                all.add(tally);
            }
        });
    }
    println!(
        "| algorithm | killed | killed again | finished, shown again | trials | loss doubted | refused | lost a line | \
         another answer |\n|---|---|---|---|---|---|---|---|---|\n{rows}{}",
        all.row("all")
    );
    assert_eq!(all.failures(), 0);
    assert!(all.killed >= wanted && all.killed_again > 0 && all.shown_again > 0);
}
