//! What ended a search is kept with it, and said truly by whoever shows it or goes on with it.

mod searches;

use dropline_archive::record_file::{Output, read_record};
use dropline_record::{BROKEN, EndWord, Record, TrialLine};
use dropline_search::{Limits, Search};
use dropline_verbs::observer::{Unwatched, Watcher};
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use dropline_verbs::search::Conditions;
use searches::{file, plan, resume, search};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A program that forwards a million packets a second, and does as it is told at a trial, until it is mended.
fn program(directory: &Path, at: u64, does: &str) -> String {
    let mended = directory.join("mended");
    format!(
        r#"exec:python3 -c "
import json, os, sys
broken = not os.path.exists('{}')
for line in sys.stdin:
    trial = json.loads(line)
    sent = int(trial['intended_load_pps'] * trial['duration_s'])
    back = min(sent, int(1e6 * trial['duration_s']))
    answer = dict(intended=sent, offered=sent, forwarded=back, duration_s=trial['duration_s'])
    if broken and trial['trial'] >= {at}:
        {does}
    print(json.dumps(answer), flush=True)
sys.exit(0)
""#,
        mended.display()
    )
}

fn text(record: &Record) -> String {
    let text = dropline_report::text(record, dropline_report::Style::default());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn codes(record: &Record) -> Vec<String> {
    record.caveats().into_iter().map(|caveat| caveat.code).collect()
}

#[test]
fn a_search_whose_target_failed_says_so_wherever_it_is_read_and_is_gone_on_with() {
    for algorithm in AlgorithmPlan::all().map(AlgorithmPlan::name) {
        let (directory, path) = file();
        let plan = plan(&program(directory.path(), 3, "sys.exit(7)"), algorithm, &["0"]);
        let broken = search(&plan, &path);
        assert_eq!(broken.failure.unwrap().exit_code(), 4, "{algorithm}");
        let kept = read_record(&path).unwrap();
        assert_eq!(kept, broken.record, "{algorithm}: what is shown is what is kept");
        let result = kept.result.as_ref().unwrap();
        assert_eq!((result.ended_by, result.interrupted), (EndWord::TargetFailed, false));
        assert!(!kept.is_finished() && codes(&kept).contains(&BROKEN.into()), "{algorithm}");
        assert!(result.goals.iter().all(|goal| goal.is_unfinished() && goal.median_pps.is_none()));
        let shown = text(&kept);
        assert!(shown.contains("exit status: 7"), "{algorithm}: {shown}");
        assert!(!shown.contains("close enough"), "{algorithm}: that is not why: {shown}");
        // Still broken, and then mended.
        let before = std::fs::read(&path).unwrap();
        let again = resume(&plan, &path).unwrap();
        assert!(again.failure.is_some(), "{algorithm}: it fails at the same trial");
        assert_eq!(read_record(&path).unwrap().trials, kept.trials);
        assert!(!before.is_empty());
        std::fs::write(directory.path().join("mended"), "").unwrap();
        let went_on = resume(&plan, &path).unwrap();
        assert!(went_on.failure.is_none(), "{algorithm}: {:?}", went_on.failure);
        let whole = read_record(&path).unwrap();
        assert!(whole.is_finished() && whole.trials.len() > 2 && whole == went_on.record);
        let said = codes(&whole);
        assert!(said.contains(&"went_on".into()) && !said.contains(&BROKEN.into()), "{algorithm}: {said:?}");
        let (_other, undisturbed) = file();
        assert_eq!(search(&plan, &undisturbed).record.trials, whole.trials, "{algorithm}: as if it had not");
    }
}

#[test]
fn a_program_that_complains_at_its_end_leaves_no_answer_and_nothing_to_go_on_with() {
    for algorithm in AlgorithmPlan::all().map(AlgorithmPlan::name) {
        let (directory, path) = file();
        let target =
            program(directory.path(), 1, "pass").replace("sys.exit(0)", "sys.exit(7 if broken else 0)");
        let plan = plan(&target, algorithm, &["0"]);
        let complained = search(&plan, &path).failure.unwrap().to_string();
        assert!(complained.contains("exit status: 7"), "{complained}");
        let kept = std::fs::read(&path).unwrap();
        let record = read_record(&path).unwrap();
        assert_eq!(record.ended_by(), Some(EndWord::EndingFailed));
        assert!(text(&record).contains("exit status: 7") && !record.is_finished());
        for _ in 0..2 {
            let refused = resume(&plan, &path).unwrap_err();
            let why = refused.to_string();
            assert_eq!(refused.exit_code(), 4, "{why}");
            assert!(why.contains("exit status: 7") && why.contains("search again"), "{why}");
            assert!(why.contains("has every trial"), "{why}");
            assert_eq!(std::fs::read(&path).unwrap(), kept, "it stays as it is");
            std::fs::write(directory.path().join("mended"), "").unwrap();
        }
    }
}

#[test]
fn each_way_to_end_has_its_own_word_and_no_other_reason_is_given() {
    let limits =
        |budget: Option<u64>, max_trials| Limits { budget: budget.map(Duration::from_secs), max_trials };
    let reasons = ["was killed", "budget was spent", "--max-trials", "was stopped"];
    for algorithm in AlgorithmPlan::all().map(AlgorithmPlan::name) {
        for (limits, stop, word, reason) in [
            (limits(None, None), false, EndWord::Done, None),
            (limits(Some(100_000), Some(100_000)), false, EndWord::Done, None),
            (limits(Some(1), None), false, EndWord::Budget, Some("budget was spent")),
            (limits(None, Some(2)), false, EndWord::MaxTrials, Some("--max-trials")),
            (limits(None, None), true, EndWord::Interrupted, Some("was stopped")),
        ] {
            let (directory, path) = file();
            // A simulation is over before anybody could stop it.
            let target = if stop { &program(directory.path(), 1, "pass") } else { "sim:hard?capacity=9Mpps" };
            let plan = SearchPlan { limits, ..plan(target, algorithm, &["0"]) };
            let stop = Arc::new(AtomicBool::new(stop));
            let conditions = Conditions { stop, ..Conditions::default() };
            let output = Output::File(path.clone());
            dropline_verbs::search::search(&plan, &output, &conditions, &mut Unwatched).unwrap();
            let kept = read_record(&path).unwrap();
            let result = kept.result.as_ref().unwrap();
            let context = format!("{algorithm}, {limits:?}: {}", text(&kept));
            assert_eq!(result.ended_by, word, "{context}");
            for other in reasons.into_iter().filter(|_| result.goals[0].is_unfinished()) {
                assert_eq!(text(&kept).contains(other), reason == Some(other), "{other}: {context}");
            }
            // Killed before that was written.
            let cut = Record { result: None, ..kept };
            assert!(text(&cut).contains("was killed"), "{}", text(&cut));
        }
    }
}

/// Stops a search after so many trials.
struct Stopping {
    after: u64,
    stop: Arc<AtomicBool>,
}

impl Watcher for Stopping {
    fn ended(&mut self, trial: &TrialLine, _search: Option<&Search>) {
        self.stop.store(trial.number >= self.after, Ordering::Relaxed);
    }
}

#[test]
fn a_search_that_is_stopped_tells_no_less_than_was_known_after_its_last_trial() {
    let mut unborne = 0;
    for after in [4, 7, 10, 13, 16] {
        let (directory, path) = file();
        // A simulation is over before anybody could stop it.
        let plan = plan(&program(directory.path(), 1, "pass"), "credible", &["0", "0.5%"]);
        let stop = Arc::new(AtomicBool::new(false));
        let conditions = Conditions { stop: Arc::clone(&stop), ..Conditions::default() };
        let mut watcher = Stopping { after, stop };
        dropline_verbs::search::search(&plan, &Output::File(path.clone()), &conditions, &mut watcher)
            .unwrap();
        let kept = read_record(&path).unwrap();
        assert!(kept.result.as_ref().unwrap().interrupted, "{after}");
        let last = kept.trials.last().unwrap();
        for (answer, bounds) in kept.answers().unwrap().iter().zip(&last.bounds) {
            let (Some(lower), Some(upper)) = (bounds.lower_pps, bounds.upper_pps) else { continue };
            assert!(answer.span() <= upper - lower, "{after}: {answer:?}, {bounds:?}");
            unborne += u32::from(answer.is_unfinished());
        }
        assert!(resume(&plan, &path).unwrap().failure.is_none(), "{after}");
    }
    assert!(unborne > 0, "some rest on short trials alone: {unborne}");
}

#[test]
fn a_search_that_had_no_valid_trials_says_why_more_time_adds_none() {
    for algorithm in AlgorithmPlan::all().map(AlgorithmPlan::name) {
        let (directory, path) = file();
        let says = "answer['caveats'] = [dict(code='generator_limited', text='the card was reset')]";
        let plan = plan(&program(directory.path(), 1, says), algorithm, &["0"]);
        let ended = search(&plan, &path);
        assert!(ended.failure.is_none());
        let answer = &ended.record.answers().unwrap()[0];
        assert_eq!(answer.why.as_deref(), Some("generator_limited"), "{algorithm}");
        let shown = text(&ended.record);
        assert!(
            shown.contains("the card was reset") && !shown.contains("free a CPU"),
            "{algorithm}: {shown}"
        );
        let kept = std::fs::read(&path).unwrap();
        let longer = Limits { budget: Some(Duration::from_secs(100_000)), max_trials: None };
        for limits in [plan.limits, longer] {
            let again = resume(&SearchPlan { limits, ..plan.clone() }, &path).unwrap();
            let more = again.record.trials.len() > ended.record.trials.len();
            let said = codes(&again.record).contains(&"nothing_added".into());
            assert!(more != said, "{algorithm}, {limits:?}: it goes on, or says why not");
            assert_eq!(more, std::fs::read(&path).unwrap() != kept);
        }
    }
}
