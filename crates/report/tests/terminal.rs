//! A terminal of any width: no line is wider than it, nothing is left out, the answer comes first.

mod made;

use dropline_record::compared::{LossLine, QuestionLine, SideLine};
use dropline_record::{CaveatLine, Compared, DesignWord, Fit, Record, ResultWord, VerdictWord};
use dropline_report::{
    Style, compared_searches_text, compared_text, explain_text, fit_text, study_text, text, text_many,
};
use dropline_trial::{Arrival, Caveat};
use made::Made;

/// A search with a caveat that denies its answer and one that does not, in the wrong order.
fn doubted() -> Record {
    let mut record = Made::service(Arrival::constant(), 7).search();
    let result = record.result.as_mut().expect("it ended");
    let few = Caveat::FewSlices { slices: 3, wanted: 40 };
    let states = Caveat::TwoStates { slow_pps: 170e3, fast_pps: 200e3, slow: 0.5, by_chance: None };
    result.caveats = vec![CaveatLine::from(&few), CaveatLine::from(&states)];
    record
}

fn compared() -> Compared {
    let line = QuestionLine {
        estimate: Some(0.5),
        low: Some(-1.5),
        high: Some(7.6),
        of_a: Some(41.2),
        of_b: Some(41.7),
        relative: Some(0.012),
        smallest_effect: 0.977,
        verdict: VerdictWord::NoEvidence,
        ..QuestionLine::default()
    };
    let side = |source: &str| SideLine { source: source.into(), ..SideLine::default() };
    Compared {
        core: line.clone(),
        high_percentile: QuestionLine { verdict: VerdictWord::Regressed, ..line },
        percentile: 0.99,
        design: DesignWord::Interleaved,
        level: 0.95,
        unit_ns: 1000,
        a: side("before.jsonl"),
        b: side("after.jsonl"),
        estimator: "medians of time slices".into(),
        caveats: vec![CaveatLine::said(
            "apart",
            "the two were recorded apart: what differs is not in these intervals",
        )],
        ..Compared::default()
    }
}

#[test]
fn a_loss_of_many_comes_before_what_is_said_of_delays() {
    let of = |estimate: f64| {
        let question = QuestionLine {
            estimate: Some(estimate),
            verdict: VerdictWord::Regressed,
            ..QuestionLine::default()
        };
        let loss = Some(LossLine { question, ..LossLine::default() });
        let compared = Compared { verdict: VerdictWord::Regressed, loss, ..compared() };
        let text = compared_text(&compared, Style::default());
        let first = text.lines().next().unwrap_or_default().to_owned();
        let [loss, delay] =
            ["more is lost", "p99 higher"].map(|words| first.find(words).expect("both are said"));
        loss < delay
    };
    assert_eq!([0.904, 0.1, 0.099, 0.001].map(of), [true, true, false, false]);
}

/// What each verb prints at a width.
fn verbs(style: Style) -> Vec<(&'static str, String)> {
    let (explained, found) = made::explained();
    let long = Record { ..doubted() };
    let mut long = long;
    long.header.target = format!("exec:/opt/{}/program", "a-directory-without-end".repeat(8));
    vec![
        ("search", text(&doubted(), style)),
        ("search of a long name", text(&long, style)),
        ("search that is not settled", text(&Made::mdr("lossless", 3, 30).search(), style)),
        (
            "search, several",
            text_many(&[Made::mdr("hard", 1, 10).search(), Made::mdr("soft", 1, 10).search()], style),
        ),
        ("trial", text(&made::trial(139_000.0, 10), style)),
        (
            "trial and search",
            text_many(&[made::trial(139_000.0, 10), Made::mdr("hard", 1, 10).search()], style),
        ),
        ("explain", explain_text(&explained, &made::explained_line(&found), style)),
        ("compare", compared_text(&compared(), style)),
        ("compare searches", compared_searches_text(&made::moved(), style)),
        ("fit", fit_text(&Fit { unit_ns: 1000, quantum_ns: 1000.0, ..Fit::default() }, style)),
        ("experiment", study_text(&made::study(), style)),
    ]
}

#[test]
fn no_line_of_any_verb_is_wider_than_the_terminal() {
    for width in [40, 60, 80, 200] {
        for verbose in [false, true] {
            for (verb, shown) in verbs(Style { width, verbose, ..Style::default() }) {
                for line in shown.lines() {
                    assert!(line.chars().count() <= width, "{verb} at {width}: {line:?}\n{shown}");
                }
            }
        }
    }
}

#[test]
fn a_narrow_terminal_shows_every_number_that_a_wide_one_does() {
    let numbers = |shown: &str| {
        let is_part = |sign: char| sign.is_ascii_digit() || sign == '.';
        let words = shown.split(|sign: char| !is_part(sign)).filter(|word| !word.is_empty() && *word != ".");
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        words.sort();
        words
    };
    let wide = verbs(Style { width: 200, ..Style::default() });
    for width in [40, 60, 80] {
        for ((verb, wide), (_, narrow)) in wide.iter().zip(verbs(Style { width, ..Style::default() })) {
            // A head stands again beside each cell that moved, and a name without end is cut into lines.
            let narrow = numbers(&narrow);
            for number in numbers(wide) {
                assert!(
                    narrow.contains(&number) || *verb == "search of a long name",
                    "{verb} at {width}: {number}"
                );
            }
        }
    }
}

#[test]
fn the_answer_comes_first_then_the_caveats_those_that_decide_it_before_the_others() {
    let shown = text(&doubted(), Style::default());
    let at = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words} is not in\n{shown}"));
    assert!(at("no loss") < at("one of two targets"), "{shown}");
    assert!(at("one of two targets") < at("time slices") && at("time slices") < at("\ntarget"), "{shown}");
    let trial = {
        let mut record = made::trial(139_000.0, 10);
        record.trials[0].caveats.push(CaveatLine::from(&Caveat::FewSlices { slices: 3, wanted: 40 }));
        text(&record, Style::default())
    };
    let at = |words: &str| trial.find(words).unwrap_or_else(|| panic!("{words} is not in\n{trial}"));
    assert!(at("\nlost") < at("\n! ") && at("\n! ") < at("\narrivals"), "{trial}");
    let (record, found) = made::explained();
    let explained = explain_text(&record, &made::explained_line(&found), Style::default());
    assert!(
        explained.find("\n! ").is_none_or(|caveat| caveat < explained.find("\nwhen").unwrap()),
        "{explained}"
    );
}

#[test]
fn how_it_was_measured_is_told_who_asks_and_no_other() {
    let trial = made::trial(139_000.0, 10);
    let search = Made::service(Arrival::constant(), 7).search();
    for record in [trial, search] {
        let shown = text(&record, Style::default());
        let whole = text(&record, Style { verbose: true, ..Style::default() });
        for words in ["after the last departure", "payload", "sendmmsg", "a load is"] {
            assert!(!shown.contains(words) && whole.contains(words), "{words}\n{shown}\n{whole}");
        }
        assert!(shown.contains(&record.header.target));
    }
    let mut record = Made::mdr("lossless", 3, 30).search();
    let whole = |record: &Record| text(record, Style { verbose: true, ..Style::default() });
    assert!(whole(&record).contains("irregular: at maximum"));
    record
        .result
        .as_mut()
        .expect("it ended")
        .goals
        .iter_mut()
        .for_each(|goal| goal.result = ResultWord::AtMaximum);
    assert!(whole(&record).contains("at maximum") && !whole(&record).contains("irregular"));
}
