//! How sure an answer is: the same plain words on a terminal, on a page, in Markdown and in a chat.

mod made;

use dropline_record::{AnswerLine, CaveatLine, EndWord, Purpose, ReasonWord, Record, ResultWord, TrialLine};
use dropline_report::{Style, html, line, markdown, standing, text};
use dropline_trial::Caveat;
use made::Made;

/// A record of each way in which an answer stands or does not, and the words for it.
fn kinds() -> Vec<(Record, &'static str)> {
    let stated = |result: ResultWord, why: Option<ReasonWord>| {
        let mut record = Made::service(dropline_trial::Arrival::constant(), 7).search();
        for answer in &mut record.result.as_mut().expect("it ended").goals {
            (answer.result, answer.why) = (result, why);
        }
        record
    };
    let cut_off = Record { result: None, ..stated(ResultWord::Regular, None) };
    let mut doubted = stated(ResultWord::Narrow, None);
    let states = Caveat::TwoStates { slow_pps: 170e3, fast_pps: 200e3, slow: 0.5, by_chance: None };
    doubted.result.as_mut().expect("it ended").caveats.push(CaveatLine::from(&states));
    // Where the load of the upper bound was not offered, the generator was the limit there, and the target may not have one.
    let mut ours = stated(ResultWord::Irregular, Some(ReasonWord::GeneratorLimited));
    for trial in &mut ours.trials {
        trial.caveats.push(CaveatLine::said("generator_limited", "the generator offered less"));
    }
    vec![
        (ours, "our generator ended first"),
        (stated(ResultWord::Regular, None), "tested"),
        (stated(ResultWord::Narrow, None), "precise enough"),
        (stated(ResultWord::Wide, None), "not yet precise"),
        (stated(ResultWord::AtMaximum, None), "limit not reached"),
        (stated(ResultWord::Irregular, Some(ReasonWord::AtMaximum)), "limit not reached"),
        (stated(ResultWord::BelowMinimum, None), "drops at the lowest load"),
        (stated(ResultWord::Irregular, Some(ReasonWord::BelowMinimum)), "drops at the lowest load"),
        (stated(ResultWord::Irregular, Some(ReasonWord::GeneratorLimited)), "trials were disturbed"),
        (stated(ResultWord::Irregular, Some(ReasonWord::TargetStarved)), "target kept from its CPU"),
        (cut_off, "unfinished"),
        (doubted, "doubted"),
    ]
}

/// What stands between two tags, without the tags in it.
fn inside(page: &str, from: &str, to: &str) -> String {
    let part = page.split_once(from).expect(from).1.split_once(to).expect(to).0;
    part.split('<')
        .map(|piece| piece.split_once('>').map_or("", |(_, words)| words))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn how_sure_an_answer_is_has_the_same_plain_words_everywhere() {
    for (record, words) in kinds() {
        let answers: Vec<AnswerLine> = record.answers().expect("a search");
        assert!(answers.iter().all(|answer| standing(&record, answer) == words), "{words}");
        let shown = text(&record, Style { width: 200, ..Style::default() });
        let page = html(std::slice::from_ref(&record));
        let places = [
            ("the table on a terminal", shown.split("\n\n").next().expect("a table").to_owned()),
            ("the table of the page", inside(&page, "<table class=\"goals\">", "</table>")),
            ("Markdown", markdown(std::slice::from_ref(&record)).split("```").next().unwrap().to_owned()),
            ("a chat", line(&record)),
        ];
        for (place, said) in places {
            assert!(said.to_lowercase().contains(&words.to_lowercase()), "{words} is not in {place}: {said}");
            for term in ["narrow", "irregular", "regular", "exceed", "wide:"] {
                let has = said.split([' ', ',', '.', '|']).any(|word| word == term);
                assert!(!has, "{place} needs no {term:?}: {said}");
            }
        }
        let unsettled = !["tested", "precise enough", "not yet precise"].contains(&words);
        assert_eq!(shown.contains(&format!("! {words}: ")), unsettled, "{shown}");
        assert_eq!(page.contains("data-code=\"unsettled\""), unsettled);
    }
}

#[test]
fn a_line_for_a_chat_has_the_answer_how_sure_it_is_the_target_and_the_date() {
    for (record, words) in kinds() {
        let said = line(&record);
        assert!(!said.contains('\n') && said.starts_with("It "), "{said}");
        for part in [words, &record.header.target, "21 Nov 2026"] {
            assert!(said.to_lowercase().contains(&part.to_lowercase()), "{part}: {said}");
        }
    }
    let mut trial = made::trial(139_000.0, 10);
    assert!(
        line(&trial).starts_with("24 of 1 390 000 packets were lost, 0.00173 %. No caveat. udp://"),
        "{}",
        line(&trial)
    );
    let starved = Caveat::GeneratorStarved { waited_ns: 9_000_000_000 };
    trial.trials[0].caveats.push(CaveatLine::from(&starved));
    trial.header.target = "udp://a\nb\u{1b}[2J".into();
    let said = line(&trial);
    assert!(!said.contains(['\n', '\u{1b}']) && said.contains("1 caveat"), "{said}");
}

#[test]
fn markdown_has_the_answer_a_row_a_goal_the_caveats_and_the_command() {
    let (record, _) = kinds().pop().expect("a doubted one");
    let mut record = record;
    record.header.environment.command_line = ["dropline", "search", "exec:a b"].map(String::from).to_vec();
    let said = markdown(std::slice::from_ref(&record));
    assert!(said.starts_with("**It "), "{said}");
    for goal in ["| no loss |", "| 0.5 % loss |"] {
        assert_eq!(said.lines().filter(|line| line.starts_with(goal)).count(), 1, "{said}");
    }
    assert!(said.contains("\n- **!** ") && said.contains("```sh\ndropline search 'exec:a b'\n```"), "{said}");
    assert!(!said.contains('\u{a0}'));
    let both = markdown(&[record.clone(), made::trial(139_000.0, 10)]);
    assert!(both.contains("| no loss |") && both.contains("1 390 000"), "{both}");
}

#[test]
fn searches_that_were_all_cut_off_are_counted_as_those_that_are_shown() {
    let cut_off =
        |seed| Record { result: None, ..Made::service(dropline_trial::Arrival::constant(), seed).search() };
    for records in [vec![cut_off(7), cut_off(8)], vec![cut_off(7)]] {
        let said = markdown(&records);
        assert!(!said.contains("of 0 searches"), "{said}");
        assert_eq!(said.contains("2 of 2 searches: unfinished"), records.len() == 2, "{said}");
    }
}

#[test]
fn a_record_of_several_trials_speaks_of_all_of_them_and_one_that_was_stopped_says_after_how_long() {
    let mut turns = made::trial(139_000.0, 10);
    turns.header.verb = "compare".into();
    let mut lossless = turns.trials[0].clone();
    lossless.target = "udp://127.0.0.1:7008".into();
    (lossless.number, lossless.lost) = (2, dropline_record::Count(0));
    turns.trials.push(lossless);
    let page = html(std::slice::from_ref(&turns));
    let shown = text(&turns, Style { width: 200, ..Style::default() });
    for (place, said) in [
        ("a chat", line(&turns)),
        ("Markdown", markdown(std::slice::from_ref(&turns)).replace('\u{202f}', " ")),
        ("the page", inside(&page, "<main>", "</h1>").replace('\u{202f}', " ")),
        ("the terminal", shown),
    ] {
        let said = said.replace('\u{a0}', " ");
        for words in ["2 trials", "24 of 1 390 000", "0 of 1 390 000", ":7007", ":7008", "dropline compare"] {
            assert!(said.contains(words), "{place}: {words} is not in {said}");
        }
    }
    let mut stopped = made::trial(139_000.0, 20);
    stopped.trials[0].duration_s = 2.9;
    let said = line(&stopped);
    assert!(said.contains("the trial was stopped after 2.9 s of 20 s"), "{said}");
}

#[test]
fn a_load_that_does_not_stand_is_told_among_others_as_on_its_own_page() {
    let records = [
        Made::mdr("lossless", 3, 30).search(),
        Made::mdr("dead", 3, 30).search(),
        Made::mdr("hard", 1, 10).search(),
    ];
    let page = html(&records);
    let said = inside(&page, "<h1>", "</h1>").replace(['\u{a0}', '\u{202f}'], " ");
    assert!(said.contains("≥ 14.8") && said.contains("&lt; 10.00 kpps"), "{said}");
    assert!(!said.contains('%') || !said.contains("(+"), "no change without an interval: {said}");
}

#[test]
fn a_sentence_leaves_the_name_that_it_begins_with_as_it_is() {
    let mut record = kinds().remove(0).0;
    let caveat = CaveatLine::said("apart", "sim:soft is another target");
    record.result.as_mut().expect("it ended").caveats.push(caveat);
    let page = html(std::slice::from_ref(&record));
    assert!(page.contains("sim:soft is another") && !page.contains("Sim:soft"));
}

#[test]
fn a_budget_that_was_spent_on_answers_that_were_precise_enough_is_said_to_have_made_sure_of_them() {
    let mut record = Made::mdr("hard", 3, 30).search();
    let result = record.result.as_mut().expect("it ended");
    result.ended_by = EndWord::Budget;
    for answer in &mut result.goals {
        (answer.result, answer.why, answer.level) = (ResultWord::Narrow, None, Some(0.95));
        answer.median_pps = answer.lower_pps;
    }
    let shown = |record: &Record| text(record, Style { width: 400, ..Style::default() });
    let said = shown(&record);
    assert!(said.contains("made sure of these answers until its budget ended it"), "{said}");
    assert!(!said.contains("other trials met"), "{said}");
    // A trial failed far below what others bore.
    let low = record.trials.iter().position(|trial| trial.lost.0 == 0).expect("one passed");
    let crossed = TrialLine {
        intended_load_pps: 1e3,
        lost: dropline_record::Count(9),
        loss_ratio: Some(0.01),
        ..record.trials[low].clone()
    };
    record.trials.push(crossed);
    let said = shown(&record);
    assert!(said.contains("loads failed that other trials met"), "{said}");
}

#[test]
fn loss_at_any_load_is_told_from_a_limit_below_the_lowest_one_and_what_ended_a_search_is_said() {
    let mut record = Made::mdr("dead", 3, 30).search();
    let shown = |record: &Record| text(record, Style { width: 400, ..Style::default() });
    let said = shown(&record);
    assert!(
        said.contains("look for a cause that is not the load") && !said.contains("lower --min-load"),
        "{said}"
    );
    for (end, words) in
        [(EndWord::MaxTrials, "--max-trials ended it"), (EndWord::Budget, "its budget ended it")]
    {
        record.result.as_mut().expect("it ended").ended_by = end;
        assert!(shown(&record).contains(words), "{words}");
    }
    for (low, above, why) in [
        (0.01, 0.3, "little is lost at low loads"),
        (0.95, 0.9999, "so many come through at any load: it is a limit below the lowest"),
    ] {
        for trial in &mut record.trials {
            trial.loss_ratio = Some(if trial.intended_load_pps < 2e4 { low } else { above });
        }
        assert!(shown(&record).contains("lower --min-load"), "{why}");
    }
}

#[test]
fn an_answer_that_our_own_side_ended_says_what_was_borne() {
    let mut record = Made::service(dropline_trial::Arrival::constant(), 7).search();
    for answer in &mut record.result.as_mut().expect("it ended").goals {
        (answer.result, answer.why) = (ResultWord::Irregular, Some(ReasonWord::GeneratorLimited));
        (answer.lower_pps, answer.upper_pps) = (None, None);
        answer.conditional_throughput_pps = None;
    }
    record.trials.retain(|trial| trial.purpose == Purpose::Search);
    record.result.as_mut().expect("it ended").goals.truncate(1);
    record.header.search.as_mut().expect("a search").goals.truncate(1);
    let is_short = |trial: &mut TrialLine| {
        trial.caveats.push(CaveatLine::said("generator_limited", "the generator offered less"));
    };
    let all = record.trials.len();
    record.trials.iter_mut().filter(|trial| trial.lost.0 > 0).for_each(is_short);
    let counts =
        |trial: &&TrialLine| trial.lost.0 == 0 && !trial.caveats.iter().any(CaveatLine::is_disturbing);
    let met = record.trials.iter().filter(counts).count();
    let wide = Style { width: 400, ..Style::default() };
    let says = text(&record, wide);
    assert!(
        0 < met && met < all && says.contains(&format!("{met} of {all} trials met the goal, up to")),
        "{says}"
    );
    let said = line(&record);
    assert!(said.contains(&format!("though {met} of {all} trials met it, up to")), "{said}");
    record.trials.iter_mut().filter(|trial| trial.lost.0 == 0).for_each(is_short);
    let says = text(&record, wide);
    assert!(says.contains("no trial that was as asked met the goal"), "{says}");
}
