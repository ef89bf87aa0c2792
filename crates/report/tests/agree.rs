//! What one screen says does not contradict itself: numbers, verdicts and advice.

mod made;

use dropline_record::explanation::{Explanation, Lack, ServiceFrom};
use dropline_record::{CaveatLine, PointLine, ResultWord, SegmentLine, SeriesLine, Trends, VerdictWord};
use dropline_report::{Style, compared_searches_text, denied, explain_text, text, trends_text};
use dropline_trial::{Arrival, Caveat};
use made::Made;

fn plain(text: &str) -> String {
    text.replace(['\u{a0}', '\u{202f}'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn explained(change: impl Fn(&mut Explanation)) -> String {
    let (record, mut found) = made::explained();
    change(&mut found);
    plain(&explain_text(&record, &made::explained_line(&found), Style::default()))
}

#[test]
fn a_doubt_of_an_explained_loss_is_of_all_that_was_lost_and_not_of_the_place_named_before_it() {
    let lost_at = [("service_queue".to_owned(), 1000u64), ("receive_buffer".to_owned(), 280)];
    let some = explained(|found| {
        found.lost_at = Some(lost_at.clone().into());
        found.doubted = 1100;
    });
    assert!(some.contains("Of all 1 280, up to 1 100 may not be the target's doing."), "{some}");
    assert!(!some.contains("Of these"), "{some}");
    let all = explained(|found| found.doubted = found.lost);
    assert!(all.contains("may have caused any of these losses, up to all"), "{all}");
}

#[test]
fn a_queue_whose_size_a_model_that_does_not_fit_would_have_to_confirm_is_not_stated() {
    let change = |fits: bool| {
        explained(move |found| {
            let mut buffer = found.buffer.expect("it has one");
            (buffer.own_queue, buffer.packets) = (true, 35);
            found.buffer = Some(buffer);
            if !fits {
                found.lacks.push(Lack::NotReplayed);
            }
        })
    };
    assert!(change(true).contains("the target's own queue holds 35 packets"), "{}", change(true));
    let unknown = change(false);
    assert!(
        unknown.contains("own queue holds is not known") && !unknown.contains("queue holds 35"),
        "{unknown}"
    );
}

#[test]
fn cpu_time_is_not_told_as_the_most_that_a_server_serves() {
    let from = |service_from: ServiceFrom| {
        explained(move |found| {
            found.load = Some(0.01);
            found.server.as_mut().expect("it was seen").service_from = service_from;
        })
    };
    assert!(from(ServiceFrom::Replies).contains("served at most"));
    assert!(!from(ServiceFrom::Cpu).contains("served at most"), "{}", from(ServiceFrom::Cpu));
}

#[test]
fn an_answer_of_a_target_that_changes_by_degrees_is_doubted_whatever_its_last_trials_showed() {
    let mut record = Made::mdr("hard", 3, 30).search();
    let result = record.result.as_mut().expect("it ended");
    for goal in &mut result.goals {
        (goal.median_pps, goal.level, goal.result) = (goal.lower_pps, Some(0.95), ResultWord::Wide);
    }
    let doubted = |by_degrees: bool| {
        let mut record = record.clone();
        let caveat = Caveat::Drift {
            correlation: -0.5,
            by_chance: 0.002,
            since_trial: Some(1),
            since_s: Some(0.0),
            by_degrees,
        };
        record.result.as_mut().expect("it ended").caveats.push(CaveatLine::from(&caveat));
        let answers = record.answers().expect("a search");
        answers.iter().map(|answer| denied(&record, answer).is_some()).collect::<Vec<_>>()
    };
    assert!(doubted(true).iter().all(|doubted| *doubted), "one goal is not surer than the other");
    assert!(doubted(false).iter().any(|doubted| !*doubted), "a step may be known since it was made");
}

#[test]
fn more_time_is_not_advised_where_an_answer_is_denied_by_its_own_search() {
    let mut compared = made::moved();
    for line in &mut compared.goals {
        (line.verdict, line.needed) = (VerdictWord::NoEvidence, Some(10.0));
        (line.low, line.high) = (Some(0.95), Some(0.995));
    }
    compared.verdict = VerdictWord::NoEvidence;
    let style = Style { width: 400, ..Style::default() };
    assert!(compared_searches_text(&compared, style).contains("to decide"));
    compared.goals[1].doubted = Some("B's answer does not stand".into());
    let said = compared_searches_text(&compared, style);
    assert!(!said.contains("to decide"), "{said}");
    assert!(
        said.contains("moved, but perhaps by less than"),
        "an interval without zero is not left unexplained: {said}"
    );
}

#[test]
fn a_headline_tells_a_goal_that_is_equivalent_from_one_that_is_not_decided() {
    let mut compared = made::moved();
    compared.verdict = VerdictWord::NoEvidence;
    (compared.goals[0].verdict, compared.goals[0].low, compared.goals[0].high) =
        (VerdictWord::NoEvidence, Some(0.979), Some(1.0118));
    (compared.goals[1].verdict, compared.goals[1].low, compared.goals[1].high) =
        (VerdictWord::Equivalent, Some(0.99), Some(1.01));
    (compared.goals[0].ratio, compared.goals[1].ratio) = (Some(0.998_64), Some(1.000_654));
    let said = plain(&compared_searches_text(&compared, Style { width: 400, ..Style::default() }));
    assert!(
        said.contains(
            "that the limit for no loss moved, and do not rule it out; that for 0.5 % loss did not move"
        ),
        "{said}"
    );
    assert!(said.contains("\u{2212}0.1 %") && said.contains("0.1 %") && !said.contains("0.0654"), "{said}");
}

fn series(nights: usize, told: bool) -> SeriesLine {
    let at = |night: usize| format!("2026-11-27T07:{night:02}:00Z");
    let point = |night: usize| PointLine {
        at: at(night),
        source: format!("{night}.jsonl"),
        low: None,
        value: 8.23e6 + night as f64 * 1e5,
        high: None,
        reference: None,
        labels: Default::default(),
    };
    let last = nights.saturating_sub(1);
    let segment = SegmentLine { from: at(0), to: at(last), level: 8.77e6 };
    SeriesLine {
        id: "x".into(),
        target: "sim:noisy".into(),
        quantity: dropline_record::Quantity::Limit,
        loss_ratio: Some(0.0),
        goal: "no loss".into(),
        reference: None,
        load_unit: dropline_record::LoadUnit::Packets,
        machine: "m".into(),
        dropline: "0.1.0".into(),
        points: (0..nights).map(point).collect(),
        changes: Vec::new(),
        drifts: Vec::new(),
        spikes: Vec::new(),
        marks: Vec::new(),
        segments: if told { vec![segment] } else { Vec::new() },
        widths: "used".into(),
        silent: 0,
        scatter: told.then_some(0.01),
        likeness: told.then_some(0.0),
    }
}

#[test]
fn a_headline_of_histories_counts_those_that_cannot_tell_and_a_level_has_its_nights() {
    let trends = Trends {
        series: vec![series(10, true), series(1, false), series(2, false)],
        smallest_effect: 0.02,
        estimator: "steps".into(),
        left_out: Vec::new(),
    };
    let said = plain(&trends_text(&trends, Style { width: 400, ..Style::default() }));
    assert!(said.contains("in 1 history; 2 others have too few nights to tell"), "{said}");
    assert!(said.contains("8.77 Mpps, its nights from 8.23 to 9.13"), "{said}");
    assert!(
        said.contains("nights 10 measurements, ")
            && said.contains("nights 1 night, 27 Nov 2026 07:00 UTC machine"),
        "{said}"
    );
}

#[test]
fn a_width_and_the_one_that_was_asked_for_look_different_where_they_are() {
    let mut record = Made::service(Arrival::constant(), 7).search();
    let result = record.result.as_mut().expect("it ended");
    for goal in &mut result.goals {
        (goal.lower_pps, goal.upper_pps) = (Some(99_499.0), Some(100_000.0));
        (goal.median_pps, goal.level, goal.result) = (Some(99_700.0), Some(0.95), ResultWord::Wide);
    }
    let said = plain(&text(&record, Style { width: 400, ..Style::default() }));
    assert!(said.contains("0.501 %, asked 0.5 %"), "{said}");
    record
        .result
        .as_mut()
        .expect("it ended")
        .goals
        .iter_mut()
        .for_each(|goal| goal.lower_pps = Some(90_790.0));
    let said = plain(&text(&record, Style { width: 400, ..Style::default() }));
    assert!(said.contains("9.2 %, asked 0.5 %"), "{said}");
}

#[test]
fn a_watch_that_heard_nothing_says_so_and_leaves_no_fact_without_words() {
    let mut record = made::trial(139_000.0, 10);
    record.header.verb = "watch".into();
    let trial = &mut record.trials[0];
    (trial.offered, trial.forwarded, trial.lost) =
        (Default::default(), Default::default(), Default::default());
    (trial.intended, trial.arrival, trial.arrivals) = (None, "overheard".into(), None);
    (trial.intended_load_pps, trial.offered_load_pps) = (0.0, 0.0);
    record.header.profile.arrival = "overheard".into();
    let said = text(&record, Style::default());
    assert!(plain(&said).contains("no packet came in 10 s"), "{said}");
    assert!(said.lines().all(|line| !line.trim_end().ends_with(':')), "{said}");
    let none = explained(|found| (found.offered, found.lost) = (0, 0));
    assert!(none.starts_with("No packet came"), "{none}");
}
