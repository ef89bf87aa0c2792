use super::*;
use dropline_trial::{Rate, TrialInput};

/// Ten packets in a second were asked for.
fn trial(line: &str) -> Result<Trial, String> {
    let input = TrialInput { load: Rate::from_millipps(10_000), duration: Duration::from_secs(1) };
    let drain = Duration::from_secs(2);
    let costs_at_most = Duration::from_secs(63);
    let question =
        Question { trial: 3, input, seed: 7, intends: Some(9..=11), drain, costs_at_most, stopped: false };
    let answer = Answer::read(line).map_err(|why| why.to_string())?;
    answer.trial(&question).map_err(|why| why.to_string())
}

#[test]
fn the_promised_answer_is_a_trial() {
    let trial = trial(r#"{"intended":10,"offered":10,"forwarded":8,"duration_s":1.0}"#).unwrap();
    assert_eq!((trial.lost(), trial.elapsed), (2, Duration::from_secs(1)));
}

#[test]
fn a_program_does_not_say_that_the_user_stopped_us() {
    let line = r#"{"intended":10,"offered":10,"forwarded":8,"duration_s":1.0,
        "caveats":[{"code":"interrupted","text":"by me"}]}"#;
    let trial = trial(line).unwrap();
    let said: Vec<_> = trial.caveats.iter().map(|caveat| (caveat.code(), caveat.to_string())).collect();
    assert!(!trial.is_interrupted() && said == [("program", "by me".into())], "{said:?}");
}

#[test]
fn a_program_does_not_say_what_ended_a_search() {
    let line = r#"{"intended":10,"offered":10,"forwarded":8,"duration_s":1.0,
        "caveats":[{"code":"search_broken","text":"by me"}]}"#;
    assert_eq!(trial(line).unwrap().caveats[0].code(), "program");
}

#[test]
fn a_code_without_words_says_what_it_says_with_them() {
    for said in [
        r#""generator_limited""#,
        r#"" generator_limited ""#,
        r#"{"code":"generator_limited"}"#,
        r#"{"code":"generator_limited","text":null}"#,
    ] {
        let line =
            format!(r#"{{"intended":10,"offered":10,"forwarded":8,"duration_s":1.0,"caveats":[{said}]}}"#);
        let trial = trial(&line).unwrap();
        assert_eq!(trial.caveats[0].code(), "generator_limited", "{said}");
        assert!(trial.tells_nothing() && trial.caveats[0].to_string().contains("not valid"), "{said}");
    }
    // Other words are words.
    let line = r#"{"intended":10,"offered":10,"forwarded":8,"duration_s":1.0,"caveats":["it was warm_up"]}"#;
    assert_eq!(trial(line).unwrap().caveats[0].code(), "program");
}

#[test]
fn optional_fields_enter_the_trial() {
    let line = r#"{"trial":3,"intended":10,"offered":9,"forwarded":8,"duration_s":1.0,"elapsed_s":1.5,
        "delay_ns_histogram":[[100,3],[200,5]],"slices":[{"duration_s":0.5,"offered":4,"forwarded":4}],
        "caveats":["warm",{"code":"x","text":"y"}],"vendor":1}"#;
    let trial = trial(line).unwrap();
    assert_eq!(trial.delay.histogram.unwrap().count(), 8);
    assert_eq!((trial.slices.len(), trial.caveats.len()), (1, 3), "{:?}", trial.caveats);
    let limited = Caveat::GeneratorLimited { intended: 10, offered: 9, error: None, interface: None };
    assert!(trial.caveats.contains(&limited));
}

#[test]
fn what_was_not_offered_is_judged_by_its_number_however_often_it_is_passed_on() {
    let line = r#"{"intended":10,"offered":9,"forwarded":9,"duration_s":1.0}"#;
    let first = trial(line).unwrap();
    let again = trial(&serde_json::to_string(&Answer::from(&first)).unwrap()).unwrap();
    assert!(first.is_invalid() && !again.tells_nothing());
    assert_eq!(again.caveats, first.caveats);
}

#[test]
fn replies_whose_delay_was_not_told_came_all_the_same_however_often_it_is_passed_on() {
    let line =
        r#"{"intended":10,"offered":10,"forwarded":8,"duration_s":1.0,"delay_ns_histogram":[[100,2]]}"#;
    let first = trial(line).unwrap();
    assert_eq!(first.caveats, [Caveat::DelaysOfPart { known: 2, replies: 8 }]);
    let again = trial(&serde_json::to_string(&Answer::from(&first)).unwrap()).unwrap();
    assert_eq!(again.caveats, first.caveats);
    let mut bounded = first;
    bounded.forward_within(Duration::from_micros(1));
    assert_eq!((bounded.forwarded, bounded.generator_lost), (8, 0));
    // None at all is none.
    let none = line.replace("[[100,2]]", "[]");
    assert_eq!(trial(&none).unwrap().caveats.len(), 1);
}

#[test]
fn more_back_than_sent_is_an_error_that_names_both_numbers() {
    for (offered, forwarded) in [(10, 11), (9, 10)] {
        let line = format!(
            r#"{{"intended":{offered},"offered":{offered},"forwarded":{forwarded},"duration_s":1.0}}"#
        );
        let said = trial(&line).unwrap_err();
        assert!(
            said.contains(&format!("\"forwarded\" is {forwarded}, and \"offered\" is {offered}")),
            "{said}"
        );
    }
}

/// `10,10,8,1.0` and what follows.
fn after(counts: [&str; 4], more: &str) -> String {
    let [intended, offered, forwarded, duration] = counts;
    let all = format!(
        r#"{{"intended":{intended},"offered":{offered},"forwarded":{forwarded},"duration_s":{duration}{more}}}"#
    );
    trial(&all).expect_err(&all)
}

#[test]
fn an_answer_for_another_question_names_both() {
    for (wrong, says) in [
        (
            after(["5", "5", "5", "1"], ""),
            r#""intended" is 5, and 10 pps for 1 s is 9 to 11 packets: this answer is not for the load that was asked"#,
        ),
        (after(["12", "12", "5", "1"], ""), r#""intended" is 12, and 10 pps"#),
        (after(["10", "10", "5", "1"], r#","trial":2"#), r#""trial" is 2, and trial 3 was asked for"#),
        (after(["10", "10", "5", "0.4"], ""), r#""duration_s" is 0.4, and 1 s were asked for"#),
        (after(["10", "10", "5", "2.1"], ""), r#""duration_s" is 2.1, and 1 s"#),
        (after(["10", "10", "5", "0.98"], ""), r#""duration_s" is 0.98, and 1 s"#),
        (after(["10", "10", "5", "1.02"], ""), r#""duration_s" is 1.02, and 1 s"#),
    ] {
        assert!(wrong.contains(says), "{wrong}");
    }
}

#[test]
fn a_trial_that_was_a_little_shorter_or_longer_than_asked_says_by_how_much_its_load_was_off() {
    let codes = |duration: f64| {
        let line = format!(r#"{{"intended":10,"offered":10,"forwarded":10,"duration_s":{duration}}}"#);
        let trial = trial(&line).unwrap();
        trial.caveats.iter().map(|caveat| (caveat.code().to_owned(), caveat.to_string())).collect::<Vec<_>>()
    };
    assert_eq!(codes(1.0), []);
    assert_eq!(codes(1.0005), []);
    let said = codes(0.995);
    assert_eq!(said[0].0, "duration_differs");
    assert!(said[0].1.contains("0.50 % off"), "{}", said[0].1);
}

#[test]
fn numbers_that_contradict_one_another_are_named_both() {
    let slices =
        |counts: &str| format!(r#","slices":[{{"duration_s":0.6,{counts}}},{{"duration_s":0.4,{counts}}}]"#);
    for (wrong, says) in [
        (after(["10", "11", "11", "1"], ""), r#""offered" (11) is more than "intended" (10)"#),
        (after(["10", "0", "1", "1"], ""), r#""forwarded" is 1, and "offered" is 0"#),
        (
            after(["10", "10", "9", "1"], r#","elapsed_s":0.9"#),
            r#""duration_s" (1 s) is more than "elapsed_s" (0.9 s)"#,
        ),
        (
            after(["10", "10", "9", "1"], r#","elapsed_s":1e18"#),
            r#""elapsed_s" (1000000000000000000 s) is more than the trial's duration, its drain and --patience together (63 s)"#,
        ),
        (
            after(["10", "10", "1", "1"], r#","delay_ns_histogram":[[5,1],[7,1]]"#),
            r#"the number of delays (2) is more than "forwarded" (1)"#,
        ),
        (
            after(["10", "10", "9", "1"], &slices(r#""offered":6,"forwarded":1"#)),
            r#"the sum of the slices' "offered" (12) is more than "offered" (10)"#,
        ),
        (
            after(["10", "10", "9", "1"], &slices(r#""offered":5,"forwarded":5"#)),
            r#"the sum of the slices' "forwarded" (10) is more than "forwarded" (9)"#,
        ),
        (
            after(["10", "10", "9", "1"], &slices(r#""offered":5,"forwarded":3"#)),
            r#"what the slices lost (their "offered" less their "forwarded") (4) is more than what the trial lost ("offered" less "forwarded") (1)"#,
        ),
        (
            after(["10", "10", "2", "1"], &slices(r#""offered":5,"forwarded":1"#).replace("0.6", "0.7")),
            r#"the sum of the slices' "duration_s" (1.1 s) is more than "duration_s" and a hundredth (1.01 s)"#,
        ),
    ] {
        assert!(wrong.contains(says), "{wrong}\n{says}");
    }
}

#[test]
fn what_cannot_have_happened_is_named_with_both_numbers() {
    let second = r#","slices":[{"duration_s":0.5,"offered":5,"forwarded":6},{"duration_s":0.5,"offered":5,"forwarded":3}]"#;
    for (wrong, says) in [
        (
            after(["10", "10", "12", "1"], ""),
            r#""forwarded" is 12, and "offered" is 10: more came back than"#,
        ),
        (
            after(["10", "10", "9", "1"], second),
            r#"by the end of slices[0], "forwarded" is 6 and "offered" 5"#,
        ),
        (
            after(["10", "10", "9", "1"], r#","delay_ns_histogram":[[100,3],[4000000000,1]]"#),
            r#"a delay of 4 s is in "delay_ns_histogram", and the trial took 3 s with its drain"#,
        ),
        (
            after(["10", "10", "9", "1"], r#","delay_ns_histogram":[[18446744073709551615,1]]"#),
            "a delay of 18446744073.709553 s",
        ),
        (after(["10", "10", "5", "1"], r#","forwarded":10"#), r#"it has "forwarded" twice"#),
        (
            after(
                ["10", "10", "5", "1"],
                r#","slices":[{"offered":1,"duration_s":1,"offered":2,"forwarded":0}]"#,
            ),
            r#"it has "offered" twice"#,
        ),
    ] {
        assert!(wrong.contains(says), "{wrong}\n{says}");
    }
    // What cost longer may have been on its way for longer.
    let waited = r#"{"intended":10,"offered":10,"forwarded":9,"duration_s":1,"elapsed_s":5,"delay_ns_histogram":[[4000000000,1]]}"#;
    assert_eq!(trial(waited).unwrap().delay.histogram.unwrap().count(), 1);
}

#[test]
fn a_field_that_cannot_be_read_is_named_in_words_of_the_protocol() {
    let slice = r#","slices":[{"duration_s":0.5,"offered":4}]"#;
    for (wrong, says) in [
        (
            after(["10.5", "10", "5", "1"], ""),
            r#""intended" is 10.5: it must be a whole number, 0 or more and below 2^64"#,
        ),
        (after(["-1", "10", "5", "1"], ""), r#""intended" is -1: it must be a whole"#),
        (after(["10", "\"10\"", "5", "1"], ""), r#""offered" is "10": it must be a whole"#),
        (after(["10", "10", "null", "1"], ""), r#"it has no "forwarded""#),
        (
            after(["10", "10", "5", "0"], ""),
            r#""duration_s" is 0: it must be a number of seconds above 0 and below 1.8e19"#,
        ),
        (after(["10", "10", "5", "-1"], ""), r#""duration_s" is -1: it must"#),
        (after(["10", "10", "5", "1e300"], ""), r#""duration_s" is 1e+300: it must"#),
        (after(["10", "10", "5", "1"], slice), r#"it has no "slices[0].forwarded""#),
        (after(["10", "10", "5", "1"], r#","slices":[7]"#), r#""slices[0]" is 7: it must be an object"#),
        (
            after(["10", "10", "5", "1"], r#","delay_ns_histogram":[[1,2],[3]]"#),
            r#""delay_ns_histogram[1]" is [3]: it must be [value_ns, count], two whole numbers"#,
        ),
        (after(["10", "10", "5", "1"], r#","caveats":["x",3]"#), r#""caveats[1]" is 3: it must be words"#),
    ] {
        assert!(wrong.contains(says), "{wrong}");
    }
    for (line, says) in [
        ("OK", ""),
        ("[]", ""),
        ("7", ""),
        ("{", ": EOF while parsing an object at byte 1"),
        (r#"{"intended":1}{}"#, ": trailing characters at byte 15"),
    ] {
        assert_eq!(trial(line).unwrap_err(), format!("it is not one JSON object{says}"), "{line}");
    }
}

#[test]
fn a_number_that_is_too_large_is_called_that() {
    let wrong = after(["10", "1e400", "5", "1"], "");
    assert!(wrong.contains("the number at byte ") && wrong.contains("is beyond 1.8e308"), "{wrong}");
    let wrong = after(["10", "18446744073709551616", "5", "1"], "");
    assert!(wrong.contains("below 2^64"), "{wrong}");
}

#[test]
fn what_would_fill_the_record_is_refused_with_the_bound_that_it_passed() {
    let caveats = |text: &str, count: usize| format!(r#","caveats":[{}]"#, vec![text; count].join(","));
    let words = |length: usize| format!("\"{}\"", "é".repeat(length));
    let coded = |length: usize| format!(r#"{{"code":"{}","text":"x"}}"#, "c".repeat(length));
    let slices = |count: usize| {
        format!(
            r#","slices":[{}]"#,
            vec![r#"{"duration_s":1e-9,"offered":0,"forwarded":0}"#; count].join(",")
        )
    };
    for (within, beyond, says) in [
        (
            caveats("\"x\"", 100),
            caveats("\"x\"", 101),
            "\"caveats\" has 101 entries, and at most 100 are taken",
        ),
        (
            caveats(&words(1000), 1),
            caveats(&words(1001), 1),
            "the text of \"caveats[0]\" has 1001 characters, and at most 1000 are taken",
        ),
        (caveats(&coded(64), 2), caveats(&coded(65), 2), "the code of \"caveats[0]\" has 65 characters"),
        (slices(10_000), slices(10_001), "\"slices\" has 10001 entries, and at most 10000 are taken"),
    ] {
        let line =
            |more: &str| format!(r#"{{"intended":10,"offered":10,"forwarded":5,"duration_s":1{more}}}"#);
        assert!(trial(&line(&within)).is_ok(), "{says}");
        let why = trial(&line(&beyond)).unwrap_err();
        assert!(why.starts_with(says), "{why}");
    }
}

#[test]
fn who_may_leave_out_what_was_asked_was_asked_for_what_the_load_is_or_for_one_packet_more() {
    let intended = |offered: u64, asked| {
        let line = format!(r#"{{"offered":{offered},"forwarded":1,"duration_s":1}}"#);
        Answer::read_of(&line, asked).map(|answer| answer.intended)
    };
    assert_eq!([9, 10, 11, 12].map(|offered| intended(offered, Some(10)).unwrap()), [10, 10, 11, 10]);
    assert!(intended(10, None).unwrap_err().to_string().contains("intended"));
}
