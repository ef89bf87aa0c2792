//! What one screen says does not contradict itself: numbers, verdicts and advice.

mod made;

use dropline_record::explanation::{Explanation, Lack, ServiceFrom};
use dropline_record::{
    CaveatLine, OpenLine, PointLine, Record, ResultWord, SegmentLine, SeriesLine, Trends, VerdictWord,
};
use dropline_report::{
    Style, compared_searches_text, denied, explain_text, html, line, markdown, text, text_many, trends_text,
};
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

/// A search whose answers are these ends and medians.
fn ending(ends: [(Option<f64>, Option<f64>); 2]) -> Record {
    let mut record = Made::service(Arrival::constant(), 7).search();
    let goals = &mut record.result.as_mut().unwrap().goals;
    for (answer, (lower, upper)) in goals.iter_mut().zip(ends) {
        (answer.lower_pps, answer.upper_pps, answer.level) = (lower, upper, Some(0.95));
        answer.median_pps = lower.zip(upper).map(|(lower, upper)| (lower + upper) / 2.0);
        (answer.result, answer.why, answer.outlook) = (ResultWord::Wide, None, None);
    }
    record
}

/// A number as it stands, in packets a second by the unit of its row.
fn loads_in(words: &str) -> Vec<f64> {
    let unit =
        [("Mpps", 1e6), ("kpps", 1e3), ("pps", 1.0)].into_iter().find(|(unit, _)| words.contains(unit));
    let scale = unit.map_or(1.0, |(_, scale)| scale);
    let numbers = words.split(|sign: char| !sign.is_ascii_digit() && sign != '.');
    numbers
        .filter(|word| !word.is_empty())
        .filter_map(|word| word.parse::<f64>().ok())
        .map(|value| value * scale)
        .collect()
}

#[test]
fn an_end_is_rounded_outwards_and_is_one_string_wherever_it_stands() {
    let wide = (Some(563_547.4), Some(1_010_906.0));
    let kinds = [
        [(Some(630_167.0), None), wide],
        [(None, Some(1_227.234)), wide],
        [(Some(997_386.0), Some(1_000_043.0)), wide],
        [(None, Some(1_628_496.0)), (Some(5.99), Some(8.17))],
        [(Some(7_999_960.0), None), (None, Some(8_381_842.0))],
    ];
    for ends in kinds {
        let record = ending(ends);
        let style = Style { width: 400, ..Style::default() };
        let shown = text(&record, style).replace(['\u{a0}', '\u{202f}'], " ");
        let page = plain(&html(std::slice::from_ref(&record)));
        for ((lower, upper), goal) in ends.into_iter().zip(["  no loss", "  0.5 % loss"]) {
            let row = shown.lines().find(|line| line.starts_with(goal)).expect(goal).replacen("0.5 %", "", 1);
            let bracket = &row[row.find('[').expect("its ends")..];
            let bracket = &bracket[..bracket.find("pps").expect("their unit") + 3];
            let told = loads_in(bracket);
            let told: Vec<f64> = told.into_iter().collect();
            let at = |place: usize| told[place];
            match (lower, upper) {
                (Some(lower), Some(upper)) => {
                    assert!(at(0) <= lower * (1.0 + 1e-9) && at(1) >= upper * (1.0 - 1e-9), "{row}");
                }
                (Some(lower), None) => assert!(at(0) <= lower * (1.0 + 1e-9) && row.contains('≥'), "{row}"),
                (None, Some(upper)) => {
                    assert!(at(0) >= upper * (1.0 - 1e-9) && at(0) < upper * 1.2, "{row}: {upper}");
                }
                (None, None) => unreachable!(),
            }
            // The one end that is known stands twice in its row, and everywhere else.
            if lower.is_none() || upper.is_none() {
                let number = bracket
                    .trim_matches(['[', ']', ' '])
                    .split([',', ']', ' '])
                    .find(|word| loads_in(word).len() == 1);
                let number = number.expect("a number");
                assert_eq!(row.matches(number).count(), 2, "{number} in {row}");
                for (place, said) in [
                    ("the line", &line(&record)),
                    ("Markdown", &markdown(std::slice::from_ref(&record))),
                    ("the page", &page),
                ] {
                    assert!(said.contains(number), "{number} is not in {place}: {said}");
                }
            }
        }
    }
}

#[test]
fn a_table_of_several_records_has_the_words_of_each_of_them_alone() {
    let mut doubted = ending([(Some(3_948_171.0), Some(8_453_244.0)); 2]);
    let states = Caveat::TwoStates { slow_pps: 170e3, fast_pps: 200e3, slow: 0.5, by_chance: None };
    doubted.result.as_mut().unwrap().caveats.push(CaveatLine::from(&states));
    doubted.header.target = "udp://127.0.0.1:7099".into();
    let mut small = ending([(Some(5.99), Some(8.17)); 2]);
    small.header.target = "udp://127.0.0.1:7098".into();
    let open = ending([(Some(780_320.0), None), (Some(563_547.4), Some(1_010_906.0))]);
    let style = Style { width: 400, ..Style::default() };
    let records = [open, doubted, small];
    let together = text_many(&records, style);
    let page = plain(&html(&records));
    for record in &records {
        let alone = text(record, style);
        for goal in ["no loss", "0.5 % loss"] {
            let row = |shown: &str, target: &str| {
                let is_row =
                    |line: &&str| line.replace('\u{a0}', " ").contains(goal) && line.contains(target);
                let row = shown.lines().find(is_row).expect(goal).replace('\u{a0}', " ");
                row.split(goal).nth(1).unwrap().to_owned()
            };
            let (own, beside) = (row(&alone, ""), row(&together, &record.header.target));
            let columns: Vec<&str> =
                own.split("   ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
            let (finds, bounds) = (columns[0], columns[2]);
            assert!(beside.contains(finds) && beside.contains(bounds), "{finds}, {bounds}: {beside}");
            assert!(page.contains(finds.trim_end_matches("Mpps").trim()), "{finds}: {page}");
        }
    }
    assert!(!together.contains("\u{2212}100"), "7 packets a second are not nothing: {together}");
}

#[test]
fn the_range_and_the_words_of_a_doubted_row_do_not_deny_each_other() {
    let mut compared = made::moved();
    compared.verdict = VerdictWord::NoEvidence;
    let line = &mut compared.goals[0];
    (line.verdict, line.ratio, line.low, line.high) = (VerdictWord::NoEvidence, None, Some(1.0297), None);
    line.doubted = Some("A's answer does not stand as it is stated: it changed".into());
    line.open_a = Some(OpenLine { low_pps: None, high_pps: Some(8.04e6) });
    let style = Style { width: 400, ..Style::default() };
    let said = plain(&compared_searches_text(&compared, style));
    assert!(said.contains("+2.96 % or more") || said.contains("+2.97 % or more"), "{said}");
    assert!(!said.contains("less than 2 %") && said.contains("no trial met the goal since"), "{said}");
    compared.goals[0].open_a = Some(OpenLine { low_pps: Some(7.9e6), high_pps: Some(8.04e6) });
    let said = plain(&compared_searches_text(&compared, style));
    assert!(!said.contains("less than 2 %") && said.contains("by itself"), "{said}");
    compared.goals[0].low = Some(1.01);
    let said = plain(&compared_searches_text(&compared, style));
    assert!(said.contains("perhaps by less than 2 %"), "{said}");
}

#[test]
fn a_limit_that_is_many_times_the_other_is_told_so_and_not_in_millions_of_per_cent() {
    let mut compared = made::moved();
    compared.verdict = VerdictWord::Improved;
    let line = &mut compared.goals[0];
    (line.verdict, line.ratio, line.low, line.high) =
        (VerdictWord::Improved, Some(138_514.49), Some(122_415.7), Some(166_860.2));
    let said = plain(&compared_searches_text(&compared, Style { width: 400, ..Style::default() }));
    assert!(said.contains("B takes 139 000 times as much as A for no loss"), "{said}");
    assert!(said.contains("×139 000") && said.contains("[×122 000, ×167 000]"), "{said}");
}

#[test]
fn one_interval_of_two_limits_is_said_to_be_of_both() {
    let mut record = ending([(Some(5_340_000.0), Some(5_700_000.0)); 2]);
    record.result.as_mut().unwrap().goals[1].median_pps = Some(5_630_000.0);
    let said = plain(&line(&record));
    assert!(said.contains("5.63 Mpps with at most 0.5 % loss, both in [5.34, 5.70]"), "{said}");
    let own = plain(&line(&ending([
        (Some(5_340_000.0), Some(5_700_000.0)),
        (Some(5_340_000.0), Some(5_800_000.0)),
    ])));
    assert!(!own.contains("both in"), "{own}");
}

#[test]
fn markdown_names_every_goal_of_which_the_same_is_said_and_groups_thousands() {
    let mut record = ending([(Some(800_000.0), None); 2]);
    for answer in &mut record.result.as_mut().unwrap().goals {
        (answer.result, answer.level) = (ResultWord::AtMaximum, None);
    }
    let caveat = CaveatLine::said("x", "the generator offered 800000 of 10000000 packets");
    record.result.as_mut().unwrap().caveats = vec![caveat];
    let said = markdown(std::slice::from_ref(&record));
    assert!(said.contains("- **!** no loss and 0.5 % loss: limit not reached: "), "{said}");
    assert!(!said.contains("both goals") && said.contains("800 000 of 10 000 000 packets"), "{said}");
}
