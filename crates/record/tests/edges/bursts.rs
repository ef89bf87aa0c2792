//! The longest burst of back-to-back frames: what its trials say, and what a record of it may say.

use super::{against, changed, header, line, trial};
use dropline_record::{
    BURST, BackToBackLine, BurstsLine, ComparedBursts, Count, EndWord, Header, Record, ResultLine, TrialLine,
};
use dropline_stats::Histogram;
use dropline_trial::{Delay, Trial};
use serde_json::json;
use std::time::Duration;

const TARGET: &str = "link:a,b";

/// Of one repetition, how many frames each burst had, and how many of them were lost.
type Tried<'a> = &'a [(u64, u64)];

fn asked() -> Header {
    let bursts = Some(BurstsLine { repetitions: 2, rate_pps: 1000.0 });
    Header { target: TARGET.into(), search: None, bursts, ..header() }
}

fn trials(repetitions: &[Tried]) -> Vec<TrialLine> {
    let mut lines = Vec::new();
    for (repetition, tried) in (1..).zip(repetitions) {
        for &(frames, lost) in *tried {
            let at = lines.len() as u64;
            let mut line = line(&trial(at + 1, frames, lost), TARGET, Duration::from_secs(at));
            line.phase = Some(format!("{BURST}{repetition}"));
            lines.push(line);
        }
    }
    lines
}

fn found(trials: &[TrialLine], is_going_on: bool) -> BackToBackLine {
    BackToBackLine::of(&asked(), trials, is_going_on).unwrap()
}

#[test]
fn the_longest_burst_is_one_frame_shorter_than_the_shortest_that_lost_one() {
    for (tried, longest) in [
        (&[(10, 0), (12, 1), (11, 2)][..], Some(10)),
        (&[(11, 1), (10, 0), (12, 0)], Some(10)),
        (&[(1, 1)], Some(0)),
        (&[(2, 1)], None),
        (&[(10, 0), (12, 1)], None),
        (&[(10, 0)], None),
    ] {
        let found = found(&trials(&[tried]), false);
        let known: Vec<u64> = found.longest_frames.iter().map(|frames| frames.0).collect();
        assert_eq!((known, found.unanswered), (longest.into_iter().collect(), longest.is_none().into()));
    }
    let mut ours = trials(&[&[(10, 0), (11, 0)]]);
    ours[1].generator_lost = Count(1);
    assert_eq!(found(&ours, false).longest_frames, [Count(10)], "a frame that we lost was one too many too");
}

#[test]
fn a_repetition_that_is_under_way_has_no_answer_yet_and_lacks_none() {
    let of = |repetitions: &[Tried], is_going_on| found(&trials(repetitions), is_going_on).unanswered;
    let (whole, begun): (Tried, Tried) = (&[(10, 0), (11, 1)], &[(10, 0)]);
    assert_eq!((of(&[whole, begun], true), of(&[whole, begun], false)), (0, 1));
    assert_eq!((of(&[begun, whole], true), of(&[begun, begun], true)), (1, 1));
}

#[test]
fn the_mean_of_two_repetitions_has_an_interval_and_one_has_none() {
    let two = found(&trials(&[&[(10, 0), (11, 1)], &[(12, 0), (13, 1)]]), false);
    assert_eq!((two.mean_frames, two.level), (Some(11.0), Some(0.95)));
    // Student's t of one degree of freedom is 12.706, and the standard error 1.
    for (end, value) in [(two.low_frames, 11.0 - 12.7062), (two.high_frames, 11.0 + 12.7062)] {
        assert!((end.unwrap() - value).abs() < 1e-3, "{two:?}");
    }
    let one = found(&trials(&[&[(10, 0), (11, 1)]]), false);
    assert_eq!((one.mean_frames, one.low_frames, one.high_frames, one.level), (Some(10.0), None, None, None));
}

#[test]
fn a_burst_that_was_void_is_counted_as_sent_again_and_for_nothing_else() {
    let mut lines = trials(&[&[(10, 0), (5, 1), (11, 1)]]);
    lines[1].void = true;
    let found = found(&lines, false);
    assert_eq!((found.longest_frames, found.sent_again), (vec![Count(10)], 1));
}

#[test]
fn frames_leave_as_fast_as_the_last_of_them_was_late() {
    let rate = |frames, late_ns: Option<u64>, void| {
        let histogram = late_ns.map(|late_ns| {
            let mut values = Histogram::new();
            values.record_n(late_ns, frames);
            values
        });
        let one = Trial { lateness: Delay { histogram, ..Delay::default() }, ..trial(1, frames, 0) };
        let mut line = line(&one, TARGET, Duration::ZERO);
        (line.phase, line.void) = (Some(format!("{BURST}1")), void);
        found(&[line], false).rate_pps
    };
    let late = |late_ns| rate(100, Some(late_ns), false);
    assert_eq!((late(0), rate(2, Some(0), false)), (Some(100.0), Some(2.0)));
    assert!((late(1_000_000_000).unwrap() - 50.0).abs() < 0.1);
    assert_eq!(
        (rate(100, None, false), rate(1, Some(0), false), rate(100, Some(0), true)),
        (None, None, None)
    );
}

#[test]
fn trials_that_are_all_bursts_are_of_such_a_search_whatever_an_older_header_says() {
    let older = Header { bursts: None, ..asked() };
    let mut lines = trials(&[&[(10, 0), (11, 1)]]);
    assert!(BackToBackLine::of(&older, &lines, false).is_some());
    lines[1].phase = Some("final".into());
    assert_eq!(BackToBackLine::of(&older, &lines, false), None);
    assert_eq!(BackToBackLine::of(&older, &[], false), None);
    assert!(BackToBackLine::of(&asked(), &[], false).is_some());
}

/// A search that ended, with what follows from its trials.
fn ended(repetitions: &[Tried], by: EndWord) -> Record {
    let mut record = Record::begin(asked());
    record.trials = trials(repetitions);
    let seconds = record.trials.len() as f64;
    let back_to_back = found(&record.trials, by != EndWord::Done);
    let result = json!({
        "goals": [], "trial_seconds": seconds, "elapsed_s": seconds, "interrupted": false, "ended_by": by,
        "back_to_back": back_to_back, "caveats": [],
    });
    record.result = Some(serde_json::from_value(result).unwrap());
    record
}

#[test]
fn the_result_of_a_search_for_bursts_is_what_follows_from_its_trials() {
    let good = ended(&[&[(10, 0), (11, 1)], &[(12, 0), (13, 1)], &[(10, 0)]], EndWord::Done);
    assert_eq!(against(&good), "");
    let with = |change: fn(&mut BackToBackLine)| {
        changed(&good, |record| {
            change(record.result.as_mut().unwrap().back_to_back.as_mut().unwrap());
        })
    };
    assert_eq!(with(|line| line.high_frames = line.high_frames.map(|end| end + 1e-10)), "");
    for change in [
        (|line| line.longest_frames[0] = Count(11)) as fn(&mut BackToBackLine),
        |line| line.mean_frames = Some(11.1),
        |line| line.low_frames = None,
        |line| line.high_frames = Some(23.0),
        |line| line.rate_pps = Some(1.0),
        |line| line.sent_again += 1,
        |line| line.unanswered += 1,
    ] {
        assert!(with(change).contains("its back_to_back is not what follows from them"), "{}", with(change));
    }
    let result =
        |change: fn(&mut ResultLine)| changed(&good, |record| change(record.result.as_mut().unwrap()));
    assert!(result(|line| line.back_to_back = None).contains("its back_to_back is not"));
    assert!(result(|line| line.trial_seconds = 4.0).contains("trial_seconds is 4"));
    assert!(result(|line| line.interrupted = true).contains("interrupted says otherwise"));
    let of_goals = super::answered(&[(100, 0)], &json!({ "result": "irregular", "why": "unfinished" }));
    let goals = changed(&good, |record| {
        record.result.as_mut().unwrap().goals = of_goals.result.unwrap().goals;
    });
    assert!(goals.contains("the number of goals is 1"), "{goals}");
}

#[test]
fn what_is_under_way_when_a_search_for_bursts_ends_early_lacks_no_answer() {
    let mut record = ended(&[&[(10, 0), (11, 1)], &[(12, 0)]], EndWord::Budget);
    assert_eq!((against(&record), record.back_to_back().unwrap().unanswered), (String::new(), 0));
    record.result.as_mut().unwrap().ended_by = EndWord::Done;
    assert!(against(&record).contains("its back_to_back is not"));
    record.result = None;
    assert_eq!(record.back_to_back().unwrap().unanswered, 0, "it goes on");
    assert_eq!(record.to_object()["back_to_back"]["longest_frames"], json!([10]));
}

#[test]
fn a_comparison_of_bursts_is_worse_where_they_became_shorter() {
    let side = json!({
        "source": "a.jsonl", "target": TARGET, "started": "2026-11-21T09:31:00Z", "frame_bytes": 64, "asked_pps": 1000.0,
        "back_to_back": found(&[], false),
    });
    for (verdict, is_worse) in
        [("improved", false), ("regressed", true), ("equivalent", false), ("no_evidence", false)]
    {
        let compared: ComparedBursts = serde_json::from_value(json!({
            "verdict": verdict, "ratio": null, "low": null, "high": null, "level": null, "smallest_effect": 0.02,
            "a": side, "b": side, "estimator": "so", "caveats": [],
        }))
        .unwrap();
        assert_eq!(compared.is_worse(), is_worse, "{verdict}");
    }
}
