//! What a search's answer is called where it has no lower end, ended early, or lacks more time than anybody has.

mod made;

use dropline_record::{BROKEN, CaveatLine, Count, EndWord, OutlookLine, ReasonWord, Record, ResultWord};
use dropline_report::{Style, line, standing, text};
use dropline_trial::Arrival;
use made::Made;

/// A search whose answer to its first goal is an interval without a lower end, and of whose trials at the lowest load so many failed
/// that goal, and so many met it.
fn without_lower_end(failed: usize, met: usize) -> Record {
    let mut record = Made::service(Arrival::constant(), 7).search();
    let least = record.header.search.as_ref().unwrap().min_load_pps;
    let one = record.trials[0].clone();
    for lost in std::iter::repeat_n(1, failed).chain(std::iter::repeat_n(0, met)) {
        let mut trial = one.clone();
        (trial.intended_load_pps, trial.void, trial.caveats) = (least, false, Vec::new());
        (trial.lost, trial.loss_ratio) = (Count(lost), Some(lost as f64 / 1000.0));
        record.trials.push(trial);
    }
    let answer = &mut record.result.as_mut().unwrap().goals[0];
    (answer.lower_pps, answer.median_pps, answer.level) = (None, None, Some(0.95));
    (answer.result, answer.why) = (ResultWord::Wide, None);
    record
}

fn shown(record: &Record) -> String {
    text(record, Style { width: 400, ..Style::default() }).replace(['\u{a0}', '\u{202f}'], " ")
}

/// Only the search knows whether trials there are enough: where it says `wide`, trials far above may have met the goal.
#[test]
fn a_goal_drops_at_the_lowest_load_only_where_the_record_says_so_and_else_has_no_lower_end() {
    let mut record = without_lower_end(17, 2);
    let answer = record.answers().unwrap()[0].clone();
    assert_eq!(standing(&record, &answer), "not yet precise");
    let said = shown(&record);
    assert!(
        !said.contains("drops at the lowest load") && said.contains("no lower end, 17 of 19 trials at"),
        "{said}"
    );
    let upper = dropline_report::html(std::slice::from_ref(&record));
    assert!(!upper.contains("drops at the lowest load") && !upper.contains("not even"));
    let row = said.lines().find(|line| line.trim_start().starts_with("no loss")).unwrap();
    let behind = |mark: &str| row.split_once(mark).unwrap().1.split([' ', ']']).next().unwrap();
    assert_eq!(behind("< "), behind("[–, "), "{row}");
    let told = line(&record);
    assert!(told.contains(" less than ") && !told.contains("not even"), "{told}");

    record.result.as_mut().unwrap().goals[0].result = ResultWord::BelowMinimum;
    assert!(line(&record).contains("not even 1"), "{}", line(&record));
    let said = shown(&record);
    assert!(said.contains("17 of 19 trials there failed it"), "{said}");
    let row = said.lines().find(|line| line.trim_start().starts_with("no loss")).unwrap();
    assert!(row.contains("< 1") && row.contains("drops at the lowest load"), "{row}");
}

#[test]
fn trials_at_the_lowest_load_are_those_at_it_and_none_a_little_above() {
    let mut record = without_lower_end(17, 2);
    for trial in record.trials.iter_mut().rev().skip(2).take(8) {
        trial.intended_load_pps *= 1.01;
    }
    assert!(shown(&record).contains("no lower end, 9 of 11 trials at"), "{}", shown(&record));
}

#[test]
fn only_the_highest_load_that_was_allowed_is_called_so_where_no_limit_was_found() {
    let mut record = without_lower_end(0, 0);
    let most = record.header.search.as_ref().unwrap().max_load_pps;
    let mut said = |lower: f64| {
        let answer = &mut record.result.as_mut().unwrap().goals[0];
        (answer.lower_pps, answer.upper_pps, answer.median_pps) = (Some(lower), None, Some(lower));
        (answer.result, answer.why) = (ResultWord::AtMaximum, None);
        (shown(&record), line(&record))
    };
    let words = "and its limit may be above 412.0 kpps, the highest load allowed";
    let (page, chat) = said(0.996 * most);
    assert!(page.contains("at least 410.3 kpps, and its limit may be above 412.0 kpps"), "{page}");
    assert!(chat.contains(&format!("at least 410.3 kpps without loss, {words}")), "{chat}");
    let (page, chat) = said(most);
    assert!(page.contains("at least 412.0 kpps, the highest load allowed; raise"), "{page}");
    assert!(chat.contains("at least 412.0 kpps without loss, the highest load allowed"), "{chat}");
}

#[test]
fn an_unfinished_answer_with_one_end_says_on_which_side_of_it_the_limit_is() {
    let mut record = without_lower_end(0, 0);
    let mut row = |lower: Option<f64>, upper: Option<f64>| {
        let answer = &mut record.result.as_mut().unwrap().goals[0];
        (answer.lower_pps, answer.upper_pps) = (lower, upper);
        answer.leave_unfinished();
        let said = shown(&record);
        said.lines().find(|line| line.trim_start().starts_with("no loss")).unwrap().to_owned()
    };
    assert!(row(Some(3e4), None).contains("≥ 30.0 kpps"));
    assert!(row(None, Some(3e4)).contains("< 30.0 kpps"));
}

#[test]
fn what_rfc_9971_says_of_a_goal_is_said_by_every_front_end() {
    let mut record = without_lower_end(0, 0);
    let answer = &mut record.result.as_mut().unwrap().goals[0];
    answer.certified = Some(dropline_record::CertifiedLine {
        lower_pps: Some(180e3),
        upper_pps: Some(181e3),
        conditional_throughput_pps: Some(180e3),
        result: ResultWord::Regular,
        why: None,
    });
    let words = "By RFC 9971, no loss: regular, [180.0, 181.0] kpps, conditional throughput 180.0 kpps.";
    assert!(line(&record).contains(words), "{}", line(&record));
    let pull = dropline_report::markdown(std::slice::from_ref(&record));
    assert!(pull.contains(words), "{pull}");
}

#[test]
fn a_search_whose_target_died_says_in_which_trial_and_when_in_its_answer() {
    let mut record = without_lower_end(0, 0);
    let died = "the target died in trial 1, 0.60 s after its start";
    let result = record.result.as_mut().unwrap();
    result.ended_by = EndWord::TargetFailed;
    result.caveats = vec![CaveatLine::said(BROKEN, format!("{died}: nothing listens there"))];
    for answer in &mut result.goals {
        (answer.lower_pps, answer.upper_pps) = (None, None);
        answer.leave_unfinished();
    }
    let answer = record.answers().unwrap()[0].clone();
    assert_eq!(standing(&record, &answer), died);
    assert!(
        line(&record).contains(&format!("an unknown load without loss or with at most 0.5 % loss: {died}.")),
        "{}",
        line(&record)
    );
}

#[test]
fn an_error_that_is_too_long_for_a_table_is_said_once_and_not_in_each_cell() {
    let mut record = without_lower_end(0, 0);
    let why = "the program of exec:python3 service.py answered trial 2 with something that is not an answer: expected a number";
    let result = record.result.as_mut().unwrap();
    result.ended_by = EndWord::TargetFailed;
    result.caveats = vec![CaveatLine::said(BROKEN, why)];
    result.goals.iter_mut().for_each(dropline_record::AnswerLine::leave_unfinished);
    assert_eq!(shown(&record).matches(why).count(), 1, "{}", shown(&record));
    let short = "the program ended with exit status: 3";
    record.result.as_mut().unwrap().caveats = vec![CaveatLine::said(BROKEN, short)];
    let answer = record.answers().unwrap()[0].clone();
    assert_eq!(standing(&record, &answer), format!("unfinished, {short}"));
    assert_eq!(
        shown(&record).matches(short).count(),
        1 + record.answers().unwrap().len(),
        "{}",
        shown(&record)
    );
}

#[test]
fn a_time_of_hours_is_told_roughly_and_one_of_days_is_not_offered_as_what_a_search_would_take() {
    let mut record = without_lower_end(0, 0);
    record.result.as_mut().unwrap().ended_by = EndWord::Budget;
    let elapsed = record.result.as_ref().unwrap().elapsed_s;
    let mut said_of = |times: f64| {
        let outlook = OutlookLine { budget_s: 2.0 * elapsed, width: 0.5, narrow_budget_s: times * elapsed };
        record.result.as_mut().unwrap().goals[1].outlook = Some(outlook);
        shown(&record)
    };
    assert!(said_of(9.0).contains(" takes about "));
    let said = said_of(40.0);
    assert!(said.contains(" would take some ") && said.contains(" (--budget "), "{said}");
    let said = said_of(4000.0);
    assert!(said.contains("is out of reach; ask for less: width=2% behind the goal"), "{said}");
    assert!(!said.contains(" takes about ") && !said.contains("longer trials"), "{said}");
}

/// An answer that its own side ended, with a lower end that three digits round upwards.
#[test]
fn what_all_goals_share_is_said_once_and_at_least_is_never_more_than_is_known() {
    let mut record = without_lower_end(0, 0);
    let result = record.result.as_mut().unwrap();
    for answer in &mut result.goals {
        (answer.result, answer.why, answer.level) =
            (ResultWord::Irregular, Some(ReasonWord::TargetStarved), None);
        (answer.lower_pps, answer.upper_pps) = (Some(9152.146), Some(11_800.0));
        (answer.median_pps, answer.conditional_throughput_pps) = (None, None);
    }
    let said = line(&record);
    assert_eq!(said.matches("kept the target from its CPU").count(), 1, "{said}");
    assert!(said.contains("at least 9.1 kpps") && !said.contains("9.2"), "{said}");
    assert_eq!(shown(&record).matches("other programs ran there").count(), 1, "{}", shown(&record));
    assert!(shown(&record).contains("(both goals)"), "{}", shown(&record));
}

#[test]
fn a_search_that_ended_before_its_budget_without_an_answer_says_why_it_made_no_more_trials() {
    let mut record = without_lower_end(0, 0);
    let result = record.result.as_mut().unwrap();
    result.ended_by = EndWord::Done;
    for answer in &mut result.goals {
        (answer.result, answer.why, answer.level) =
            (ResultWord::Irregular, Some(ReasonWord::TargetStarved), None);
    }
    assert!(shown(&record).contains("its algorithm asked for no more trials"), "{}", shown(&record));
}

#[test]
fn a_line_for_a_chat_says_no_caveat_only_where_the_report_has_no_mark() {
    for system in ["dead", "lossless"] {
        let record = Made::mdr(system, 3, 30).search();
        let said = shown(&record);
        let in_chat = line(&record);
        assert!(said.contains("    ! ") && !in_chat.contains("no caveat"), "{in_chat}\n{said}");
        assert!(said.contains("with waits, simulated"), "{said}");
    }
    let settled = Made::mdr("inconsistent", 3, 30).search();
    assert!(line(&settled).contains("no caveat") || shown(&settled).contains("! "), "{}", line(&settled));
}

#[test]
fn a_loss_that_is_alike_at_any_load_is_told_with_its_loads_and_of_a_simulation_nothing_is_to_be_explained() {
    let said = shown(&Made::mdr("dead", 3, 30).search());
    assert!(said.contains("about as much is lost far above (30 % at 10.0 kpps, "), "{said}");
    assert!(
        said.contains("look for a cause that is not the load") && !said.contains("dropline explain"),
        "{said}"
    );
}
