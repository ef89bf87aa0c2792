//! Files that a user names, and those beside them: what each is, or why it cannot be read.

use dropline_archive::record_file::{Output, packets_beside, read_record};
use dropline_distributions::import::Hints;
use dropline_record::PacketFile;
use dropline_targets::Target;
use dropline_trial::{PacketTimes, Rate, TrafficProfile, TrialInput};
use dropline_verbs::explain::{explain, explanation_of};
use dropline_verbs::observer::Unwatched;
use dropline_verbs::search::Conditions;
use dropline_verbs::trial::{TrialPlan, trial};
use std::path::Path;
use std::time::Duration;

const RECORD: &str = include_str!("../../record/tests/records/dropline-1.jsonl");

/// Everything of the record of a search but its result.
fn search() -> &'static str {
    RECORD.lines().next().unwrap()
}

#[test]
fn what_cannot_be_read_is_not_compared_with_a_search_as_what_it_does_not_hold() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("search.jsonl"), search()).unwrap();
    std::fs::write(path("text"), "dear diary\n").unwrap();
    std::fs::write(path("cut.jsonl"), &search()[..200]).unwrap();
    std::fs::write(path("empty"), "").unwrap();
    std::fs::create_dir(path("directory")).unwrap();
    let all = [
        ("nofile", "cannot read"),
        ("directory", "cannot read"),
        ("text", "nothing of it was imported"),
        ("empty", "is empty"),
        ("cut.jsonl", "measure again"),
    ];
    for (name, says) in all {
        for (a, b) in [("search.jsonl", name), (name, "search.jsonl")] {
            let why = dropline_verbs::compare::read(&path(a), &path(b), &Hints::default()).unwrap_err();
            let text = why.to_string();
            assert!(
                why.exit_code() == 4 && text.contains(name) && text.contains(says),
                "{a} and {b}: {} {text}",
                why.exit_code()
            );
        }
    }
    std::fs::write(path("values"), "1\n2\n3\n").unwrap();
    let why =
        dropline_verbs::compare::read(&path("search.jsonl"), &path("values"), &Hints::default()).unwrap_err();
    assert!(why.exit_code() == 2 && why.to_string().contains("values holds delays"), "{why}");
}

/// A record of a trial beside which the times of its packets were kept.
fn with_packets(path: &Path) {
    let plan = TrialPlan {
        target: Target::parse("sim:hard").unwrap(),
        profile: TrafficProfile::default(),
        input: TrialInput { load: Rate::pps(1000.0).unwrap(), duration: Duration::from_secs(1) },
        keep_packets: 0,
    };
    let mut made = trial(&plan, &Output::Nowhere, &Conditions::default(), &mut Unwatched).unwrap().record;
    // Of a simulation nothing is explained.
    made.header.target = "udp://127.0.0.1:7007".into();
    made.trials[0].target = made.header.target.clone();
    let mut times = PacketTimes::with_room(10, false);
    (0..10u64).for_each(|n| times.departures.push(n * 1000, Some(n * 1000), 0));
    let bytes = PacketFile::to_bytes(made.trials[0].number, made.trials[0].seed, &times);
    made.trials[0].packets = Some(dropline_record::PacketsLine {
        file: "kept".into(),
        kept: dropline_record::Count(10),
        left_out: dropline_record::Count(0),
        identity: PacketFile::identity(&bytes),
    });
    std::fs::write(path, made.to_lines()).unwrap();
    std::fs::write(packets_beside(path), bytes).unwrap();
}

#[test]
fn what_lies_beside_a_record_is_read_only_where_it_is_a_file_and_otherwise_said_to_be_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lost.jsonl");
    with_packets(&path);
    explain(&path).unwrap();
    let beside = packets_beside(&path);
    std::fs::remove_file(&beside).unwrap();
    let mut record = read_record(&path).unwrap();
    assert!(explanation_of(&path, &mut record).is_none() && record.reading.is_empty());
    // A pipe without a writer would be waited for.
    assert!(std::process::Command::new("mkfifo").arg(&beside).status().unwrap().success());
    let why = explain(&path).unwrap_err();
    assert!(why.exit_code() == 4 && why.to_string().contains("it is not a file"), "{why}");
    assert!(explanation_of(&path, &mut record).is_none());
    assert_eq!(record.reading[0].code, "packets_unread");
    assert!(record.reading[0].text.contains("it is not a file"), "{}", record.reading[0].text);
}
