//! What a line makes of what was measured, and the words that it has for it.

use super::{goal, line, record, trial};
use dropline_record::{
    AnswerLine, BoundsLine, CaveatLine, CertifiedLine, CourseWord, CurveLine, DesignWord, DistributionLine,
    EndWord, GoalLine, LawWord, LoadUnit, OutlookLine, PassagesLine, ResultWord, VerdictWord, below_zero,
};
use dropline_search::{Bound, Bounds, CurvePoint, GoalOutcome, GoalResult, Irregular, Outlook};
use dropline_stats::compare::{Design, Overall, Verdict};
use dropline_stats::drift::Course;
use dropline_stats::{Counted, Histogram, LawVerdict, Meaning};
use dropline_trial::passages::{Passages, Pipe};
use dropline_trial::{Caveat, Delay, Rate, Ratio, Slice, Trial};
use serde_json::json;
use std::time::Duration;

fn pps(load: u64) -> Rate {
    Rate::from_millipps(load * 1000)
}

fn outcome(result: GoalResult) -> GoalOutcome {
    GoalOutcome {
        lower: Some(pps(100)),
        upper: Some(pps(200)),
        conditional_throughput_pps: Some(99.0),
        result,
    }
}

#[test]
fn an_answer_says_what_was_found_in_its_words() {
    let (median, level) = (pps(150), Ratio::new(0.95).unwrap());
    let (middle, sure) = (Some(150.0), Some(0.95));
    for (result, word, words, median_pps, level) in [
        (GoalResult::Regular, ResultWord::Regular, "regular", None, None),
        (GoalResult::Narrow { median, level }, ResultWord::Narrow, "narrow", middle, sure),
        (GoalResult::Wide { median, level }, ResultWord::Wide, "wide", middle, sure),
        (GoalResult::AtMaximum { level }, ResultWord::AtMaximum, "at maximum", None, sure),
        (GoalResult::BelowMinimum { level }, ResultWord::BelowMinimum, "below minimum", None, sure),
    ] {
        let answer = AnswerLine::new(goal(), &outcome(result));
        assert_eq!((answer.result, answer.result.words(), answer.why.as_deref()), (word, words, None));
        assert_eq!((answer.lower_pps, answer.upper_pps), (Some(100.0), Some(200.0)));
        assert_eq!((answer.median_pps, answer.level), (median_pps, level), "{words}");
        assert_eq!(
            (answer.is_below_minimum(), answer.about_others()),
            (word == ResultWord::BelowMinimum, None)
        );
        assert_eq!(CertifiedLine::new(&outcome(result)).result, word);
    }
    for (why, word, is_generators, is_starved, is_unfinished) in [
        (Irregular::AtMaximum, "at_maximum", false, false, false),
        (Irregular::BelowMinimum, "below_minimum", false, false, false),
        (Irregular::GeneratorLimited, "generator_limited", true, false, false),
        (Irregular::TargetStarved, "target_starved", true, true, false),
        (Irregular::Unfinished, "unfinished", false, false, true),
    ] {
        let mut answer = AnswerLine::new(goal(), &outcome(GoalResult::Irregular(why)));
        assert_eq!((answer.result.words(), answer.why.as_deref()), ("irregular", Some(word)));
        let is = (answer.is_generators(), answer.is_starved(), answer.is_unfinished());
        assert_eq!(is, (is_generators, is_starved, is_unfinished), "{word}");
        let about = answer.about_others().map(|others| others.split_whitespace().next().unwrap());
        let others = if is_starved { Some("other") } else { is_generators.then_some("its") };
        assert_eq!((about, answer.is_below_minimum()), (others, why == Irregular::BelowMinimum), "{word}");
        assert_eq!(CertifiedLine::new(&outcome(GoalResult::Irregular(why))).why.as_deref(), Some(word));
        answer.leave_unfinished();
        let left = if is_generators { word } else { "unfinished" };
        assert_eq!((answer.result, answer.why.as_deref()), (ResultWord::Irregular, Some(left)));
    }
}

#[test]
fn a_search_that_was_broken_off_leaves_bounds_and_no_answer() {
    let level = Ratio::new(0.95).unwrap();
    let mut answer = AnswerLine::new(goal(), &outcome(GoalResult::Narrow { median: pps(150), level }));
    answer.outlook = Some(OutlookLine { budget_s: 1.0, width: 0.1, narrow_budget_s: 2.0 });
    answer.certified = Some(CertifiedLine::new(&outcome(GoalResult::Regular)));
    answer.leave_unfinished();
    assert_eq!((answer.lower_pps, answer.upper_pps), (Some(100.0), Some(200.0)));
    assert_eq!((answer.median_pps, answer.level, answer.conditional_throughput_pps), (None, None, None));
    assert_eq!((answer.outlook, answer.certified), (None, None));
    for (end, is_failure) in [
        (EndWord::Done, false),
        (EndWord::Budget, false),
        (EndWord::MaxTrials, false),
        (EndWord::Interrupted, false),
        (EndWord::TargetFailed, true),
        (EndWord::EndingFailed, true),
    ] {
        assert_eq!(end.is_failure(), is_failure, "{end:?}");
    }
}

#[test]
fn the_headline_is_the_median_else_the_throughput_else_the_lower_bound_and_none_of_an_open_interval() {
    let level = Ratio::new(0.95).unwrap();
    let headline = |result, lower, upper, throughput, median| {
        let mut answer = AnswerLine::new(goal(), &outcome(result));
        (answer.lower_pps, answer.upper_pps) = (lower, upper);
        (answer.conditional_throughput_pps, answer.median_pps) = (throughput, median);
        answer.headline_pps()
    };
    let wide = GoalResult::Wide { median: pps(150), level };
    let ends = (Some(1.0), Some(4.0));
    assert_eq!(headline(wide, ends.0, ends.1, Some(2.0), Some(3.0)), Some(3.0));
    assert_eq!(headline(wide, None, ends.1, Some(2.0), Some(3.0)), None);
    assert_eq!(headline(wide, ends.0, None, Some(2.0), Some(3.0)), None);
    assert_eq!(headline(GoalResult::Regular, ends.0, None, Some(2.0), None), Some(2.0));
    assert_eq!(headline(GoalResult::Regular, ends.0, None, None, None), Some(1.0));
    assert_eq!(headline(GoalResult::Regular, None, None, None, None), None);
}

#[test]
fn an_outlook_is_for_the_next_round_budget_that_is_a_third_longer() {
    let outlook = |narrow_in: Option<u64>, elapsed_s| {
        let narrow_in = narrow_in.map(Duration::from_secs);
        OutlookLine::new(&Outlook { width: 0.4, halved_in: Duration::from_secs(30), narrow_in }, elapsed_s)
    };
    assert_eq!(outlook(None, 10.0), None, "it is narrow");
    // Half of it is there in 30 s more: it falls with the root of 10 s and what comes after.
    let ten = outlook(Some(7), 10.0).unwrap();
    assert_eq!((ten.budget_s, ten.narrow_budget_s), (20.0, 17.0));
    assert!((ten.width - 0.4 * (10.0f64 / 20.0).sqrt()).abs() < 1e-12, "{ten:?}");
    for (elapsed, budget) in [(15.3, 20.0), (15.5, 36.0), (2700.0, 3600.0), (2800.0, 5600.0)] {
        assert_eq!(outlook(Some(7), elapsed).unwrap().budget_s, budget, "{elapsed}");
    }
}

#[test]
fn bounds_after_a_trial_keep_whether_they_are_borne_out() {
    let bound = |load, valid| Some(Bound { load: pps(load), valid });
    let bounds = [
        Bounds { lower: bound(100, true), upper: bound(200, false), median: Some(pps(150)) },
        Bounds { lower: None, upper: bound(300, true), median: None },
    ];
    let expected = [
        BoundsLine {
            lower_pps: Some(100.0),
            lower_valid: true,
            upper_pps: Some(200.0),
            upper_valid: false,
            median_pps: Some(150.0),
        },
        BoundsLine { upper_pps: Some(300.0), upper_valid: true, ..BoundsLine::default() },
    ];
    let line = line(&trial(1, 100, 0), "sim:hard", Duration::ZERO).in_search("final".into(), &bounds);
    assert_eq!((line.phase.as_deref(), line.bounds), (Some("final"), expected.to_vec()));
    let curve = CurveLine::from(&CurvePoint { load: pps(7), low: 0.1, median: 0.2, high: 0.3 });
    assert_eq!((curve.load_pps, curve.low, curve.median, curve.high), (7.0, 0.1, 0.2, 0.3));
}

#[test]
fn an_outage_is_said_once_and_delays_below_zero_are_those_of_whichever_has_some() {
    let slice =
        |forwarded| Slice { duration: Duration::from_millis(100), offered: 100, forwarded, delay: None };
    let slices: Vec<Slice> = [100, 100, 100, 0, 100, 100, 100].map(slice).into();
    let of = |trial: &Trial| line(trial, "sim:hard", Duration::ZERO);
    let dark = Trial { slices, ..trial(1, 700, 100) };
    let codes = |trial: &Trial| of(trial).caveats.iter().map(|one| one.code.clone()).collect::<Vec<_>>();
    assert_eq!(codes(&dark), ["outage"]);
    let told = Trial { caveats: vec![dark.outage().unwrap()], ..dark.clone() };
    assert_eq!(codes(&told), ["outage"]);
    let negative = |delay, service_delay| {
        let delays =
            |negative| Delay { negative, negative_min_ns: Some(-(negative as i64)), ..Delay::default() };
        let line =
            of(&Trial { delay: delays(delay), service_delay: delays(service_delay), ..trial(1, 100, 0) });
        (line.negative.count.0, line.negative.min)
    };
    assert_eq!((negative(3, 5), negative(0, 5)), ((3, Some(-3)), (5, Some(-5))));
    assert_eq!(negative(0, 0), (0, None));
    let mut died = of(&trial(1, 100, 0));
    assert!(!died.target_went_away());
    died.caveats.push(CaveatLine::said("target_unreachable", "so"));
    assert!(died.target_went_away());
}

#[test]
fn a_doubt_disturbs_or_invalidates_as_the_caveat_does() {
    for (caveat, disturbs, invalidates) in [
        (Caveat::GeneratorLost { dropped: 1 }, true, true),
        (Caveat::GeneratorStarved { waited_ns: 1 }, true, false),
        (Caveat::EventsMissing { recorded: 1, missing: 1 }, false, true),
        (Caveat::Interrupted, false, false),
    ] {
        let line = CaveatLine::from(&caveat);
        assert_eq!((line.is_disturbing(), line.is_invalidating()), (disturbs, invalidates), "{}", line.code);
    }
}

#[test]
fn granules_a_second_are_counted_from_the_first_to_the_last() {
    let rate = |granules, span_ns| {
        let mut values = Histogram::new();
        values.record_n(1000, granules);
        let delay = Delay { histogram: Some(values), ..Delay::default() };
        let passages =
            Passages { pipes: vec![Pipe { delay, span_ns, ..Pipe::default() }], ..Passages::default() };
        PassagesLine::from(&passages).pipes[0].granules_per_s
    };
    assert_eq!(rate(5, Some((1_000_000_000, 3_000_000_000))), Some(2.0));
    assert_eq!((rate(2, Some((0, 1))), rate(1, Some((0, 1)))), (Some(1e9), None));
    assert_eq!((rate(5, Some((7, 7))), rate(5, None)), (None, None), "no time at all");
}

#[test]
fn values_below_zero_are_said_in_the_singular_and_the_plural() {
    let said = |ticks: &[(i64, u64)]| {
        below_zero(&Counted::ticks(Meaning::default(), ticks.iter().copied(), None).unwrap())
    };
    assert_eq!(
        (said(&[(0, 9), (1, 3)]), said(&[(-1, 1), (2, 5)])),
        (None, Some("1 value is below zero".into()))
    );
    assert_eq!(said(&[(-2, 1), (-1, 1), (0, 7)]), Some("2 values are below zero".into()));
    let one = Counted::ticks(Meaning::default(), [(-1, 1)], None).unwrap();
    for (note, is_read) in [("1 value is below zero", true), ("so", false)] {
        let line = DistributionLine::new("file", "raw", "", &one, &[note.to_owned()]);
        assert_eq!(line.counted().is_ok(), is_read, "{note}");
    }
}

#[test]
fn words_are_those_of_what_was_found() {
    let verdicts = [
        (Verdict::Improved, VerdictWord::Improved),
        (Verdict::Regressed, VerdictWord::Regressed),
        (Verdict::Equivalent, VerdictWord::Equivalent),
        (Verdict::NoEvidence, VerdictWord::NoEvidence),
    ];
    assert!(verdicts.into_iter().all(|(found, word)| VerdictWord::from(found) == word));
    for (found, word, is_worse) in [
        (Overall::Improved, VerdictWord::Improved, false),
        (Overall::Regressed, VerdictWord::Regressed, true),
        (Overall::Mixed, VerdictWord::Mixed, true),
        (Overall::Traded, VerdictWord::Traded, true),
        (Overall::Equivalent, VerdictWord::Equivalent, false),
        (Overall::NoEvidence, VerdictWord::NoEvidence, false),
    ] {
        assert_eq!((VerdictWord::from(found), word.is_worse()), (word, is_worse));
        let is_change = matches!(found, Overall::Improved | Overall::Regressed);
        assert_eq!(word.is_change(), is_change, "{word}");
    }
    assert_eq!(VerdictWord::NoEvidence.words(), "no evidence");
    assert_eq!(VerdictWord::NoEvidence.to_string(), "no_evidence");
    let designs = [
        (Design::Whole, DesignWord::Independent),
        (Design::Apart, DesignWord::Apart),
        (Design::Interleaved, DesignWord::Interleaved),
    ];
    assert!(designs.into_iter().all(|(found, word)| DesignWord::from(found) == word));
    let courses = [
        (Course::Steady, CourseWord::Steady),
        (Course::Trend, CourseWord::Trend),
        (Course::Step, CourseWord::Step),
        (Course::Undecided, CourseWord::Undecided),
    ];
    assert!(courses.into_iter().all(|(found, word)| CourseWord::from(found) == word));
    let laws = [
        (LawVerdict::Fits, LawWord::Fits),
        (LawVerdict::Close, LawWord::Close),
        (LawVerdict::DoesNotFit, LawWord::DoesNotFit),
        (LawVerdict::Undecided, LawWord::Undecided),
    ];
    assert!(laws.into_iter().all(|(found, word)| LawWord::from(found) == word));
    for (unit, one, many) in [
        (LoadUnit::Packets, "packet", "packets"),
        (LoadUnit::Samples, "sample", "samples"),
        (LoadUnit::Granules, "granule", "granules"),
        (LoadUnit::Wakeups, "wake-up", "wake-ups"),
        (LoadUnit::Cycles, "cycle", "cycles"),
        (LoadUnit::Requests, "request", "requests"),
    ] {
        assert_eq!((unit.one(), unit.many()), (one, many));
        assert_eq!(unit.lost(), if unit == LoadUnit::Wakeups { "missed" } else { "lost" });
    }
    assert_eq!(LoadUnit::Granules.rates(), ["/s", "k/s", "M/s", "G/s"]);
}

#[test]
fn a_goal_is_said_as_it_is_written() {
    let said = |loss_ratio, within_ns: Option<u64>| {
        GoalLine { loss_ratio, ..goal() }.within(within_ns.map(Duration::from_nanos)).words()
    };
    for (loss_ratio, within_ns, words) in [
        (0.0, None, "no loss"),
        (0.005, None, "0.5 % loss"),
        (1e-9, None, "0.0000001 % loss"),
        (0.1, None, "10 % loss"),
        (0.0, Some(200_000), "max < 200 us"),
        (0.01, Some(1_500_000), "p99 < 1.5 ms"),
        (0.001, Some(2_000_000_000), "p99.9 < 2 s"),
        (0.5, Some(1_000_000), "p50 < 1 ms"),
        (0.5, Some(1000), "p50 < 1 us"),
        (0.5, Some(999), "p50 < 999 ns"),
        (0.5, Some(10_000_000_000), "p50 < 10 s"),
    ] {
        assert_eq!(said(loss_ratio, within_ns), words);
    }
    assert_eq!(goal().bound_words(), None);
}

#[test]
fn doubts_about_the_whole_are_those_of_its_one_trial_else_of_its_result_and_of_reading_it() {
    let said = |code: &str| CaveatLine::said(code, "so");
    let result = json!({
        "goals": [], "trial_seconds": 1.0, "elapsed_s": 1.0, "interrupted": false, "ended_by": "done",
        "caveats": [said("of_result")],
    });
    let codes = |verb: &str, has_result: bool| {
        let mut record = record(&[(100, 0)]);
        record.header.verb = verb.into();
        record.trials[0].caveats.push(said("of_trial"));
        record.reading.push(said("of_reading"));
        record.result = has_result.then(|| serde_json::from_value(result.clone()).unwrap());
        record.caveats().into_iter().map(|caveat| caveat.code).collect::<Vec<_>>()
    };
    assert_eq!(codes("trial", false), ["of_reading", "of_trial"]);
    assert_eq!(codes("watch", false), ["of_reading", "of_trial"]);
    assert_eq!(codes("search", true), ["of_reading", "of_result"]);
    assert_eq!(codes("search", false), ["of_reading"]);
}
