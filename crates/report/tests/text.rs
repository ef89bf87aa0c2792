//! What a person sees on a terminal, whole.

mod made;

use dropline_record::{CaveatLine, Count, LimitsLine, Record};
use dropline_report::{Color, Style, csv, html, markdown, study_text, text, text_many};
use dropline_search::Limits;
use dropline_trial::{Arrival, Caveat};
use made::Made;

/// With how it was measured.
const VERBOSE: Style = Style { width: 80, color: Color::None, unicode: true, verbose: true };

fn mdr() -> Record {
    Made::mdr("inconsistent", 3, 30).search()
}

#[test]
fn a_search_shows_its_answer_and_what_rfc_9971_wants_said() {
    let shown = text(&mdr(), VERBOSE);
    insta::assert_snapshot!(shown);
    // Whatever the wording: every goal's bounds, units and attributes are there.
    for said in
        ["[1.946, 1.957] Mpps", "[1.956, 1.967] Mpps", "exceed ratio", "duration sum", "initial trial"]
    {
        assert!(shown.contains(said), "{said}");
    }
    for said in ["a load is", "time is", "width"] {
        assert!(shown.contains(said), "{said}");
    }
}

#[test]
fn waits_are_told_where_we_wait_and_not_of_a_simulation() {
    let service = Made::service(dropline_trial::Arrival::constant(), 7).search();
    assert!(text(&service, VERBOSE).contains("after the last departure"));
    assert!(!text(&mdr(), VERBOSE).contains("after the last departure"));
}

#[test]
fn an_answer_that_is_not_settled_is_marked_in_words_however_narrow_the_terminal() {
    let record = Made::mdr("lossless", 3, 30).search();
    insta::assert_snapshot!(text(&record, Style { width: 60, ..Style::default() }));
    for width in [1, 20, 40, 200] {
        let shown = text(&record, Style { width, ..Style::default() });
        let words: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("limit not reached: the target does at least 14.88 Mpps"), "{shown}");
    }
}

#[test]
fn a_target_that_loses_everything_is_below_the_minimum() {
    let record = Made::mdr("dead", 3, 30).search();
    let shown = text(&record, Style::default());
    assert!(shown.contains("drops at the lowest load: the goal fails even at"), "{shown}");
}

#[test]
fn a_search_that_was_cut_off_says_what_it_knew() {
    let whole = mdr();
    let cut = Record { trials: whole.trials[..12].to_vec(), result: None, ..whole };
    let shown = text(&cut, Style::default());
    insta::assert_snapshot!(shown);
    assert!(shown.contains("unfinished: the record has no end"));
}

#[test]
fn a_search_without_a_trial_knows_nothing() {
    let record =
        Made { limits: Limits { max_trials: Some(0), budget: None }, ..Made::mdr("hard", 1, 30) }.search();
    let shown = text(&record, Style::default());
    assert!(shown.contains("unknown") && !shown.contains(" 0 pps"), "{shown}");
}

#[test]
fn a_trial_shows_counts_first_then_how_its_arrivals_were() {
    insta::assert_snapshot!(text(&made::trial(139_000.0, 10), Style::default()));
}

#[test]
fn repeated_searches_show_their_spread() {
    let records: Vec<Record> = (1..=5).map(|seed| Made::mdr("noisy", seed, 10).search()).collect();
    insta::assert_snapshot!(text_many(&records, Style { width: 120, ..Style::default() }));
}

#[test]
fn searches_that_differ_stand_beside_one_another_with_what_differs() {
    let records = [Made::mdr("hard", 1, 10).search(), Made::mdr("soft", 1, 10).search()];
    insta::assert_snapshot!(text_many(&records, Style { width: 120, ..Style::default() }));
}

#[test]
fn searches_for_different_goals_are_compared_goal_by_goal() {
    let records =
        [Made::mdr("hard", 1, 10), Made::binary("hard", 1, 10, 0.0), Made::binary("hard", 1, 10, 0.005)]
            .map(Made::search);
    let shown = text_many(&records, Style { width: 120, ..Style::default() });
    let lines = |goal: &str| shown.lines().filter(|line| line.contains(goal)).count();
    assert_eq!((lines("no loss"), lines("0.5 % loss")), (2, 2), "{shown}");
}

#[test]
fn a_search_that_was_cut_off_is_left_out_of_the_median_and_that_is_said() {
    let whole = [1, 2, 3].map(|seed| Made::mdr("inconsistent", seed, 30).search());
    let style = Style { width: 400, ..Style::default() };
    let row = |records: &[Record]| {
        let shown = text_many(records, style);
        let row = shown.lines().find(|line| line.contains("no loss")).unwrap().to_owned();
        (row, shown)
    };
    let (of_two, _) = row(&whole[..2]);
    let mut interrupted = whole[2].clone();
    interrupted.result.as_mut().unwrap().interrupted = true;
    let killed = Record { result: None, ..whole[2].clone() };
    for cut_off in [interrupted, killed] {
        let (with_it, shown) = row(&[whole[0].clone(), whole[1].clone(), cut_off.clone()]);
        assert_eq!(with_it, of_two);
        assert!(shown.contains("1 of 3 searches was cut off before its end and is left out"), "{shown}");
        assert!(shown.contains("dropline search --resume RECORD"), "{shown}");
        assert!(html(&[whole[0].clone(), cut_off.clone()]).contains("1 of 2 searches was cut off"));
        let (nothing, shown) = row(&[cut_off.clone(), cut_off]);
        assert!(nothing.contains('\u{2013}'), "{nothing}");
        assert!(shown.contains("2 of 2 searches were cut off"), "{shown}");
    }
}

#[test]
fn a_trial_beside_a_search_is_shown_with_its_counts() {
    let (trial, search) = (made::trial(139_000.0, 10), Made::mdr("hard", 1, 10).search());
    let style = Style { width: 400, ..Style::default() };
    for records in [&[trial.clone(), search.clone()][..], &[search, trial.clone()], &[trial.clone(), trial]] {
        let shown = text_many(records, style);
        let trials = records.iter().filter(|record| record.header.search.is_none());
        for line in trials.map(|record| &record.trials[0]) {
            let bare = shown.replace(['\u{202f}', '\u{a0}', '\u{2009}', ' '], "");
            let counts = [line.offered, line.forwarded, line.lost].map(|count| count.0.to_string());
            assert!(counts.iter().all(|count| bare.contains(count)), "{counts:?} in {shown}");
        }
        assert!(!shown.contains(" 0 s trials"), "{shown}");
    }
}

#[test]
fn of_what_nobody_sent_no_size_is_known() {
    let mut record = made::trial(139_000.0, 10);
    record.header.verb = "watch".into();
    assert!(text(&record, VERBOSE).contains("payload"));
    record.trials[0].offered = Count(0);
    let shown = text(&record, VERBOSE);
    assert!(!shown.contains("payload") && shown.contains("none seen"), "{shown}");
}

#[test]
fn an_experiment_shows_its_tables() {
    insta::assert_snapshot!(study_text(&made::study(), Style { width: 100, ..Style::default() }));
}

#[test]
fn colours_add_nothing_but_colour_and_ascii_is_ascii() {
    let record = made::trial(139_000.0, 10);
    let style = Style { width: 80, color: Color::None, unicode: true, verbose: false };
    let plain = text(&record, style);
    for color in [
        Color::Ansi256,
        Color::Ansi256Dark,
        Color::Ansi256Light,
        Color::Ansi16,
        Color::Ansi16Dark,
        Color::Ansi16Light,
    ] {
        let painted = text(&record, Style { color, ..style });
        assert!(painted.contains("\x1b["));
        assert_eq!(without_colour(&painted), plain);
    }
    let ascii = text(&record, Style { unicode: false, ..style });
    assert!(ascii.is_ascii(), "{ascii}");
}

#[test]
fn csv_has_a_row_a_trial_and_exact_numbers() {
    let record = mdr();
    let table = csv(&record);
    let rows: Vec<&str> = table.split("\r\n").filter(|row| !row.is_empty()).collect();
    assert_eq!(rows.len(), record.trials.len() + 1);
    let heads: Vec<&str> = rows[0].split(',').collect();
    let column = |name: &str| heads.iter().position(|head| *head == name).expect("the column is there");
    for (row, trial) in rows[1..].iter().zip(&record.trials) {
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(cells.len(), heads.len());
        assert_eq!(cells[column("intended_load_pps")].parse(), Ok(trial.intended_load_pps));
        assert_eq!(cells[column("lost")].parse(), Ok(trial.lost.0));
        assert_eq!(cells[column("goal_2_upper_pps")].parse().ok(), trial.bounds[1].upper_pps);
        assert_eq!(cells[column("delay_ns_p99")], "", "what was not measured is empty");
    }
}

#[test]
fn csv_has_a_column_a_place_of_loss_and_one_a_kind_of_spoilt_reply() {
    let mut record = mdr();
    record.trials.truncate(2);
    let places = [("receive_buffer", 3), ("return_qdisc", 2), ("of_a_later_version", 1)];
    let first = &mut record.trials[0];
    first.lost_at = Some(places.map(|(place, lost)| (place.to_owned(), Count(lost))).into());
    (first.reply_truncated, first.reply_changed) = (Some(Count(4)), Some(Count(5)));
    first.reply_extended = Some(Count(6));
    record.trials[1].lost_at = None;
    let table = csv(&record);
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    let of = |name: &str| {
        let column = rows[0].iter().position(|head| *head == name).expect(name);
        [rows[1][column], rows[2][column]]
    };
    assert_eq!([of("reply_truncated"), of("reply_changed")], [["4", ""], ["5", ""]]);
    assert_eq!(of("reply_extended"), ["6", ""]);
    for (place, lost) in
        [("receive_buffer", "3"), ("return_qdisc", "2"), ("of_a_later_version", "1"), ("late", "0")]
    {
        assert_eq!(of(&format!("lost_at_{place}")), [lost, ""], "{place}");
    }
}

fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("\x1b[") {
        plain.push_str(&rest[..start]);
        let end = rest[start..].find('m').expect("a colour ends");
        rest = &rest[start + end + 1..];
    }
    plain + rest
}

#[test]
fn a_limit_that_was_changed_is_shown_with_the_trial_from_which_it_held() {
    let mut record = mdr();
    assert!(!text(&record, VERBOSE).contains("from trial 13 on"));
    record.limits.push(LimitsLine { after_trial: 12, budget_s: Some(90.0), max_trials: None });
    let shown = text(&record, VERBOSE).replace('\u{a0}', " ");
    assert!(shown.contains("from trial 13 on budget 90 s"), "{shown}");
}

#[test]
fn delays_that_are_our_own_lateness_are_not_what_a_trial_shows_first() {
    let mut record = made::trial(139_000.0, 10);
    let service = text(&record, Style::default());
    let line = |text: &str| text.lines().find(|line| line.starts_with("delay")).unwrap().to_owned();
    assert!(!line(&service).contains("doubted"), "{service}");
    let ours = Caveat::DelaysDoubted { delay_p90_ns: 9_040_000, lateness_p90_ns: 9_000_000 };
    record.trials[0].caveats.push(CaveatLine::from(&ours));
    let shown = text(&record, Style::default());
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line(&shown).contains("doubted") && words.contains("(from when sent)"), "{shown}");
    assert!(words.contains("not valid as a delay of the target"), "{shown}");
}

#[test]
fn a_loss_that_may_be_our_own_doing_says_so_beside_its_number() {
    let mut record = made::trial(139_000.0, 10);
    record.trials[0].lost = Count(100);
    record.trials[0].caveats.push(CaveatLine::from(&Caveat::LossDoubted { lost: 100, ours: 60 }));
    let shown = text(&record, Style::default());
    let line = shown.lines().find(|line| line.starts_with("lost")).unwrap();
    assert!(line.contains("60 of them perhaps not the target's doing"), "{line}");
    let page = html(std::slice::from_ref(&record));
    assert!(page.contains("60 of them perhaps not by the target"));
}

#[test]
fn each_turn_of_two_targets_is_named_in_markdown_by_its_number_its_side_and_its_target() {
    let mut record = Made::service(Arrival::constant(), 7).search();
    record.header.search = None;
    record.result = None;
    record.trials.truncate(4);
    for (index, trial) in record.trials.iter_mut().enumerate() {
        let side = if index % 2 == 0 { ("A", "sim:a") } else { ("B", "sim:b") };
        (trial.phase, trial.target) = (Some(side.0.into()), side.1.into());
    }
    let text = markdown(std::slice::from_ref(&record));
    for trial in &record.trials {
        let name =
            format!("| trial {}, {}, {} |", trial.number, trial.phase.as_deref().unwrap(), trial.target);
        assert!(text.contains(&name), "{name} in {text}");
    }
}
