//! A headline gives way to the caveats that deny it; numbers for scripts stay.

mod made;

use dropline_record::{CaveatLine, Record, ResultWord};
use dropline_report::{Style, html, object, standing, text, text_many};
use dropline_trial::{Arrival, Caveat};
use made::Made;

fn doubted(caveat: &Caveat) -> Record {
    let mut record = Made::service(Arrival::constant(), 7).search();
    let result = record.result.as_mut().expect("it ended");
    result.caveats.push(CaveatLine::from(caveat));
    for goal in &mut result.goals {
        goal.median_pps = goal.lower_pps;
        goal.level = Some(0.95);
        goal.result = ResultWord::Narrow;
    }
    record
}

fn headline(record: &Record) -> String {
    let page = html(std::slice::from_ref(record));
    let inner =
        page.split_once("<h1>").expect("a headline").1.split_once("</h1>").expect("it ends").0.to_owned();
    let mut words = String::new();
    for part in inner.split('<') {
        words.push_str(part.split_once('>').map_or(part, |(_, text)| text));
    }
    words.replace(['\u{a0}', '\u{202f}'], " ")
}

/// Every doubt that a search has of its answer, and what the headline says for it.
fn doubts() -> Vec<(Caveat, &'static str)> {
    let strange = (0.5, 0.002);
    vec![
        (
            Caveat::Drift {
                correlation: -strange.0,
                by_chance: strange.1,
                since_trial: None,
                since_s: None,
                by_degrees: false,
            },
            "changed during the search",
        ),
        (
            Caveat::WarmUp {
                by_chance: strange.1,
                since_trial: None,
                since_s: None,
                until_s: None,
                warmed_s: 0.0,
            },
            "slower at first",
        ),
        (
            Caveat::CarriesOver {
                by_chance: strange.1,
                slow: 9,
                after_loss: 9,
                after_loss_pps: 180e3,
                rested_pps: 200e3,
            },
            "what one trial leaves comes into the next",
        ),
        (
            Caveat::Unsteady {
                by_chance: strange.1,
                low_pps: 150e3,
                high_pps: 200e3,
                is_slow: true,
                from_s: None,
                to_s: None,
            },
            "did not stay the same",
        ),
        (Caveat::Slowed { before_pps: 190e3, then_pps: 150e3 }, "became slower during the search"),
        (
            Caveat::TwoStates { slow_pps: 170e3, fast_pps: 200e3, slow: 0.5, by_chance: None },
            "has two states",
        ),
        (
            Caveat::LossBelow { intended_load_pps: 20e3, offered: 20_000, lost: 3 },
            "packets were lost far below too",
        ),
        (
            Caveat::GoalsContradict {
                strict_loss_ratio: 0.0,
                loose_loss_ratio: 0.005,
                achieved_pps: 190e3,
                limit_pps: 180e3,
                low_pps: 180e3,
                high_pps: 191e3,
            },
            "contradict one another",
        ),
    ]
}

#[test]
fn a_headline_gives_way_to_every_doubt_of_the_search() {
    for (caveat, words) in doubts() {
        let record = doubted(&caveat);
        let said = headline(&record);
        assert!(said.starts_with("It takes between ") && said.contains(words), "{said}");
        let first = said.split(" without loss").next().expect("the first goal");
        assert!(!first.contains('['), "no interval where it is denied: {said}");
        let shown = text(&record, Style { width: 200, ..Style::default() });
        let row = shown.lines().find(|line| line.trim_start().starts_with("no loss")).expect("a row");
        assert!(row.contains("doubted") && !row.contains('['), "{row}");
        assert!(
            shown.contains(&format!("doubted: {}", said.rsplit(": ").next().unwrap().trim_end_matches('.')))
        );
        // Scripts have the numbers that the search found.
        let goal = &record.result.as_ref().expect("it ended").goals[0];
        let object = object(&record);
        assert_eq!(object["goals"][0]["doubt"]["why"], dropline_report::doubted(&record).unwrap());
        assert_eq!(object["goals"][0]["lower_pps"].as_f64(), goal.lower_pps, "{object}");
        let page = html(std::slice::from_ref(&record));
        assert!(page.contains(&format!("data-lower-pps=\"{}\"", goal.lower_pps.unwrap())));
        assert!(!page.contains("With more time"));
        // What a script requires of the answer it does not get.
        assert!(dropline_report::doubted(&record).is_some_and(|why| why.contains(words)), "{words}");
    }
}

#[test]
fn what_is_stated_instead_holds_the_loads_of_the_doubt_and_those_that_both_passed_and_failed() {
    let mut record =
        doubted(&Caveat::TwoStates { slow_pps: 170e3, fast_pps: 200e3, slow: 0.5, by_chance: None });
    let said = headline(&record);
    assert!(said.starts_with("It takes between 170.0 and 200.0 kpps without loss"), "{said}");
    // A trial far below lost packets: loads from there on did both.
    let low = record.trials.iter().position(|trial| trial.lost.0 == 0).expect("one passed");
    record.trials[low].intended_load_pps = 60e3;
    (record.trials[low].lost, record.trials[low].loss_ratio) = (dropline_record::Count(9), Some(0.01));
    let said = headline(&record);
    assert!(said.starts_with("It takes between 60.0 and 200.0 kpps without loss"), "{said}");
    // Unless the loss may be the generator's.
    let starved = Caveat::GeneratorStarved { waited_ns: 9_000_000 };
    record.trials[low].caveats = vec![CaveatLine::from(&starved)];
    let said = headline(&record);
    assert!(said.starts_with("It takes between 170.0 and 200.0 kpps without loss"), "{said}");
}

#[test]
fn a_doubt_about_one_goal_leaves_the_other_its_interval() {
    let record = doubted(&Caveat::LossBelow { intended_load_pps: 20e3, offered: 20_000, lost: 3 });
    let said = headline(&record);
    assert!(said.contains("between 20.0 and") && said.contains("with at most 0.5 % loss, ["), "{said}");
    assert!(
        html(&[record])
            .contains("Brackets hold the true value with 95\u{a0}% probability, if the target is the same")
    );
}

#[test]
fn no_title_or_caption_claims_what_a_doubt_denies() {
    let record = doubted(&Caveat::TwoStates { slow_pps: 170e3, fast_pps: 200e3, slow: 0.5, by_chance: None });
    let page = html(std::slice::from_ref(&record));
    assert!(
        !page.contains("Brackets hold") && !page.contains(" known to ") && !page.contains("believed, 95")
    );
    assert!(page.contains("<h2>Every limit is doubted</h2>"));
    let both = text_many(&[record.clone(), record], Style { width: 200, ..Style::default() });
    assert!(both.contains("2 of 2 searches: doubted"), "{both}");
}

#[test]
fn a_caveat_that_denies_nothing_leaves_the_headline() {
    let record = doubted(&Caveat::FewSlices { slices: 3, wanted: 40 });
    assert!(headline(&record).contains(" without loss, ["));
    assert_eq!(dropline_report::doubted(&record), None);
}

#[test]
fn what_stands_is_the_same_in_text_json_and_on_the_page() {
    let gone = Caveat::TargetUnreachable { error: "ECONNREFUSED".into(), at_ns: 7, refused: 9, reports: 0 };
    let mut record = doubted(&gone);
    let stands = |record: &Record, stands: bool| {
        let doubt = &object(record)["goals"][0]["doubt"];
        let answer = &record.answers().unwrap()[0];
        let shown = text(record, Style { width: 200, ..Style::default() });
        let said = headline(record);
        assert_eq!(doubt.is_null(), stands, "{doubt}");
        assert_eq!(standing(record, answer) != "doubted", stands);
        assert_eq!(!shown.contains("doubted"), stands, "{shown}");
        assert_eq!(!said.contains("went away"), stands, "{said}");
        assert_eq!(dropline_report::doubted(record).is_none(), stands);
        if let (false, Some(low), Some(high)) =
            (stands, doubt["low_pps"].as_f64(), doubt["high_pps"].as_f64())
        {
            assert!(low <= high && low > 0.0);
        }
    };
    stands(&record, true);
    let failed = record.trials.iter().position(|trial| trial.lost.0 > 0).unwrap();
    record.trials[failed].caveats.push(CaveatLine::from(&gone));
    stands(&record, false);
    // The search made nothing of it, and asked for it again.
    record.trials[failed].void = true;
    stands(&record, true);
}

#[test]
fn a_search_that_was_cut_off_says_in_json_what_it_says_in_text() {
    let record = Record { result: None, ..Made::service(Arrival::constant(), 7).search() };
    let answers = record.answers().unwrap();
    for (goal, answer) in object(&record)["goals"].as_array().unwrap().iter().zip(&answers) {
        assert_eq!(goal["lower_pps"].as_f64(), answer.lower_pps);
        assert_eq!((&goal["result"], &goal["why"]), (&"irregular".into(), &"unfinished".into()));
        assert!(goal["lower_pps"].is_number() && goal["doubt"].is_null());
    }
}

#[test]
fn a_table_of_results_says_doubted_where_a_caveat_denies_the_answer() {
    let record = doubted(&Caveat::TwoStates { slow_pps: 170e3, fast_pps: 200e3, slow: 0.5, by_chance: None });
    let answer = &record.result.as_ref().expect("it ended").goals[0];
    assert_eq!(standing(&record, answer), "doubted");
    let page = html(std::slice::from_ref(&record));
    assert!(page.contains("the loads that are left open"), "and the plot of loss says what its bands are");
}

#[test]
fn an_open_end_of_a_doubted_answer_is_not_its_other_end() {
    let mut record = doubted(&Caveat::Drift {
        correlation: -0.5,
        by_chance: 0.002,
        since_trial: None,
        since_s: None,
        by_degrees: false,
    });
    let goal = record.result.as_ref().expect("it ended").goals[0].clone();
    let stated = goal.lower_pps.expect("a lower end");
    for answer in &mut record.result.as_mut().expect("it ended").goals {
        (answer.upper_pps, answer.median_pps, answer.result) = (None, None, ResultWord::Wide);
    }
    let answer = record.result.as_ref().expect("it ended").goals[0].clone();
    let denied = dropline_report::denied(&record, &answer).expect("it is doubted");
    assert!(
        denied.low_pps.unwrap() <= stated && denied.high_pps.is_none_or(|high| high > stated),
        "{denied:?}"
    );
}

/// The first trials bore 100 kpps; those since the sixth bear half of it.
fn slower_since_the_sixth(since: &[(f64, u64)]) -> Record {
    let mut record = doubted(&Caveat::Drift {
        correlation: -1.0,
        by_chance: 0.001,
        since_trial: Some(6),
        since_s: Some(5.0),
        by_degrees: false,
    });
    let made = record.trials[0].clone();
    let before = [(100e3, 0), (101e3, 900), (99e3, 0), (100e3, 0), (101e3, 900)];
    let trials =
        before.iter().chain(since).zip(1..).map(|(&(load, lost), number)| dropline_record::TrialLine {
            number,
            intended_load_pps: load,
            lost: dropline_record::Count(lost),
            loss_ratio: Some(lost as f64 / load),
            caveats: Vec::new(),
            ..made.clone()
        });
    record.trials = trials.collect();
    for goal in &mut record.result.as_mut().expect("it ended").goals {
        (goal.lower_pps, goal.median_pps, goal.upper_pps) = (Some(99.9e3), Some(100e3), Some(100.1e3));
    }
    record
}

#[test]
fn of_a_target_that_changed_it_is_stated_what_trials_since_then_show_for_each_goal() {
    let said = headline(&slower_since_the_sixth(&[(100e3, 50_000), (70e3, 20_000), (50e3, 0)]));
    // One answer to both goals is said once.
    let both = "It takes between 50.00 and 70.00 kpps without loss or with at most 0.5 % loss:";
    assert!(said.replace('\u{a0}', " ").starts_with(both), "{said}");
    // An interval that holds all that trials since then show may still have its middle before the change: it is doubted, and
    // what is stated then is no narrower.
    let mut wide = slower_since_the_sixth(&[(100e3, 50_000), (70e3, 20_000), (50e3, 0)]);
    for goal in &mut wide.result.as_mut().expect("it ended").goals {
        (goal.lower_pps, goal.upper_pps, goal.result) = (Some(40e3), Some(110e3), ResultWord::Wide);
    }
    let said = headline(&wide);
    assert!(said.starts_with("It takes between 40 and 110 kpps without loss"), "{said}");
    for goal in &mut wide.result.as_mut().expect("it ended").goals {
        goal.median_pps = Some(60e3);
    }
    let said = headline(&wide);
    assert!(said.starts_with("It takes 60"), "the answer is that of now: {said}");
    // Nothing closes it: a load that was only tried is no limit.
    let open = headline(&slower_since_the_sixth(&[(100e3, 50_000), (70e3, 20_000)]));
    assert!(open.starts_with("It takes less than 70.00 kpps without loss"), "{open}");
    let open = headline(&slower_since_the_sixth(&[(100e3, 0), (104e3, 0)]));
    assert!(open.starts_with("It takes at least 104.00 kpps without loss"), "{open}");
}

#[test]
fn an_answer_that_trials_since_a_change_bear_stands() {
    let record = slower_since_the_sixth(&[(99.95e3, 0), (100.05e3, 900)]);
    assert_eq!(standing(&record, &record.result.as_ref().unwrap().goals[0]), "precise enough");
}

#[test]
fn what_a_limit_of_answers_lost_bounds_nothing_from_above() {
    let record = doubted(&Caveat::AnswersLimited { refused: 90, replies: 100, silent: 900, offered: 1000 });
    let answer = &record.result.as_ref().unwrap().goals[0];
    assert!(answer.upper_pps.is_some(), "trials failed above it");
    let denied = dropline_report::denied(&record, answer).unwrap();
    assert_eq!(denied.high_pps, None, "a service without that limit may bear any load");
    assert!(denied.low_pps.is_some(), "what it answered it can");
}
