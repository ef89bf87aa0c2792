//! Searches of programs that answer otherwise than they were asked, fail, or end.

mod searches;

use dropline_archive::record_file::{Output, read_record};
use dropline_verbs::observer::Unwatched;
use dropline_verbs::plan::SearchPlan;
use dropline_verbs::search::Conditions;
use searches::{conditions, file, plan, search_into};
use std::time::Duration;

/// A program in Python that answers trials as asked; `said` is what it prints of `answer`, from trial 4 on
/// what `then` prints.
fn program(said: &str, then: &str) -> String {
    let script = format!(
        r#"exec:python3 -c "
import json, os, sys, time
for line in sys.stdin:
    trial = json.loads(line)
    sent = int(trial['intended_load_pps'] * trial['duration_s'])
    answer = dict(intended=sent, offered=sent, forwarded=sent * 9 // 10, duration_s=trial['duration_s'])
    text = json.dumps(answer)
    if trial['trial'] < 4:
        {said}
    else:
        {then}
    sys.stdout.flush()
""#
    );
    script
}

/// What a search against it ends with, and how many trials were kept.
fn failure_of(program: &str) -> (String, usize) {
    let (_directory, path) = file();
    let plan = plan(program, "mlr", &["0"]);
    let conditions = Conditions { patience: Duration::from_secs(3), ..conditions() };
    let finished =
        dropline_verbs::search::search(&plan, &Output::File(path.clone()), &conditions, &mut Unwatched)
            .unwrap();
    let failure = finished.failure.expect(program);
    assert_eq!(failure.exit_code(), 4, "{program}: {failure}");
    (failure.to_string(), read_record(&path).unwrap().trials.len())
}

#[test]
fn a_warm_up_warms_the_program_that_the_search_asks() {
    let (directory, path) = file();
    let log = directory.path().join("log");
    let target = program("print(text)", "print(text)").replacen(
        "    text = ",
        &format!(
            "    open('{}', 'a').write(str(os.getpid()) + ' ' + str(trial['trial']) + chr(10))\n    text = ",
            log.display()
        ),
        1,
    );
    let plan = SearchPlan { warm_up: Duration::from_secs(2), ..plan(&target, "binary", &["0"]) };
    let finished = search_into(&plan, &Output::File(path));
    assert!(finished.failure.is_none(), "{:?}", finished.failure);
    let log = std::fs::read_to_string(log).unwrap();
    let asked: Vec<(&str, &str)> = log.lines().filter_map(|line| line.split_once(' ')).collect();
    assert_eq!((asked[0].1, asked[1].1), ("0", "1"), "the warm-up, then the first trial: {log}");
    assert!(asked.iter().all(|(pid, _)| *pid == asked[0].0), "one program: {log}");
    assert_eq!(asked.len(), finished.record.trials.len() + 1, "and the warm-up is dropped");
}

#[test]
fn a_program_that_fails_in_mid_search_costs_no_finished_trial() {
    for (ending, what) in [
        ("sys.exit(3)", "ended (exit status: 3)"),
        ("print('nonsense')", "it is not one JSON object"),
        ("print('{}')", "it has no"),
        ("os.close(1); time.sleep(60)", "closed its output"),
        ("time.sleep(60)", "did not answer trial 4"),
        // Lines that say nothing, without end.
        ("[print() for _ in iter(int, 1)]", "it is not one JSON object"),
        ("print(chr(32) * (17 << 20))", "it is longer than 16 MiB, and so much is not read"),
        (
            "os.write(1, bytes([123, 255, 10]))",
            "byte 1 is not text\n  an answer is one line of JSON in UTF-8",
        ),
        ("print(text[:-1] + ', ' + chr(34) + 'x' + chr(34) + ': 1e400}')", "is beyond 1.8e308"),
        (
            "print(json.dumps(dict(answer, caveats=['x' * (10 << 20)])))",
            "the text of \"caveats[0]\" has 10485760 characters, and at most 1000 are taken",
        ),
    ] {
        let (failure, trials) = failure_of(&program("print(text)", ending));
        assert!(failure.contains(what) && failure.contains("trial 4"), "{ending}: {failure}");
        assert_eq!(trials, 3, "{ending}");
    }
}

#[test]
fn an_answer_to_another_question_is_an_error_that_names_both() {
    for (wrong, what) in [
        (
            "print(json.dumps(dict(intended=5, offered=5, forwarded=5, duration_s=1)))",
            "this answer is not for the load that was asked",
        ),
        ("print(json.dumps(dict(answer, forwarded=sent * 2)))", "more came back than was sent"),
        ("print(text[:-1] + ', ' + json.dumps(dict(forwarded=1))[1:])", r#"it has "forwarded" twice"#),
        ("print(json.dumps(dict(answer, trial=3)))", r#""trial" is 3, and trial 4 was asked for"#),
        ("print(json.dumps(dict(answer, duration_s=100)))", r#""duration_s" is 100, and 1 s were asked"#),
        // As many packets in twice the time are half the load.
        ("print(json.dumps(dict(answer, duration_s=2)))", r#""duration_s" is 2, and 1 s were asked"#),
        ("print(json.dumps(dict(answer, duration_s=0.5)))", r#""duration_s" is 0.5, and 1 s were asked"#),
    ] {
        let (failure, trials) = failure_of(&program("print(text)", wrong));
        assert!(failure.contains(what) && failure.contains("to trial 4"), "{wrong}: {failure}");
        assert_eq!(trials, 3, "{wrong}");
    }
}

#[test]
fn a_surplus_line_is_an_error_and_not_the_next_answer() {
    // In one piece with the answer, and before the first question.
    let (failure, trials) =
        failure_of(&program("print(text)", "sys.stdout.write(text + chr(10) + text + chr(10))"));
    assert!(failure.contains("said something before it was asked for trial 5"), "{failure}");
    assert_eq!(trials, 3);
    let endless = "exec:yes '{\"intended\":5}'";
    let (failure, trials) = failure_of(endless);
    assert!(failure.contains("trial 1") && trials == 0, "{failure}");
}

#[test]
fn an_answer_too_many_is_found_at_the_end_of_the_search_too() {
    // After two trials its stdin closes, and it says once more what it said.
    let late = "print(text, flush=True); trial['trial'] == 2 and (sys.stdin.read(), print(text))";
    let target = program(late, "print(text)");
    let mut plan = plan(&target, "mlr", &["0"]);
    plan.limits.max_trials = Some(2);
    let finished = search_into(&plan, &Output::Nowhere);
    let failure = finished.failure.expect("a line too many").to_string();
    assert!(failure.contains("before it was asked for trial 3"), "{failure}");
}

#[test]
fn a_program_that_does_not_end_as_it_should_is_an_error_that_says_how() {
    for (ending, says) in [
        ("os._exit(3)", "ended with a complaint (exit status: 3)"),
        ("time.sleep(100)", "was still running 3 s later"),
        ("print('all done', flush=True)", "said something before it was asked for trial 3"),
    ] {
        // After two trials its stdin closes.
        let last = format!("print(text, flush=True); trial['trial'] == 2 and (sys.stdin.read(), {ending})");
        let mut plan = plan(&program(&last, "print(text)"), "mlr", &["0"]);
        plan.limits.max_trials = Some(2);
        let conditions = Conditions { patience: Duration::from_secs(3), ..conditions() };
        let finished =
            dropline_verbs::search::search(&plan, &Output::Nowhere, &conditions, &mut Unwatched).unwrap();
        let failure = finished.failure.expect(ending).to_string();
        assert!(failure.contains(says), "{failure}");
        let bound = says.contains("trial 3") || failure.contains("within 3 s (--patience)");
        assert!(bound && !failure.contains("5 s"), "the bound that was given is named: {failure}");
        assert_eq!(finished.record.trials.len(), 2);
    }
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let plan = plan("exec:/nonexistent/tester --fast", "mlr", &["0"]);
    let error =
        dropline_verbs::search::search(&plan, &Output::Nowhere, &conditions(), &mut Unwatched).unwrap_err();
    assert!(error.exit_code() == 4 && error.to_string().contains("/nonexistent/tester"), "{error}");
}

#[test]
fn a_search_whose_program_ended_says_with_which_status_or_signal_where_its_answer_would_stand() {
    for (ends, says) in [("exit 3", "exit status: 3"), ("kill -9 $$", "signal: 9")] {
        let plan = plan(&format!("exec:sh -c 'read line; {ends}'"), "mlr", &["0"]);
        let finished = search_into(&plan, &Output::Nowhere);
        assert_eq!(finished.failure.unwrap().exit_code(), 4);
        let answers = finished.record.answers().unwrap();
        let row = dropline_report::standing(&finished.record, &answers[0]);
        assert!(row.starts_with("unfinished, ") && row.contains(says), "{row}");
        assert!(dropline_report::text(&finished.record, dropline_report::Style::default()).contains(says));
    }
}
