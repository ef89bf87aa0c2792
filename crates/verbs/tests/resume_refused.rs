//! What a `--resume` refuses or leaves undone: the file stays as it was, and why is said.

mod searches;

use dropline_archive::record_file::{Output, read_record};
use dropline_record::record::header_line;
use dropline_search::Limits;
use dropline_verbs::observer::Unwatched;
use dropline_verbs::plan::SearchPlan;
use searches::{conditions, file, plan, recorded, resume, resumed, seconds};
use std::path::Path;
use std::time::Duration;

#[test]
fn a_record_whose_own_header_no_search_has_is_said_to_contradict_itself() {
    let (_directory, path) = file();
    let mut plan = plan("sim:soft", "mlr", &["0"]);
    plan.limits.max_trials = Some(6);
    recorded(&plan, &path);
    let text = std::fs::read_to_string(&path).unwrap();
    for (what, from, to) in [
        ("lowest load", "\"min_load_pps\":10000.0", "\"min_load_pps\":9999.99999"),
        ("highest load", "\"max_load_pps\":14880952.0", "\"max_load_pps\":14880952.00001"),
    ] {
        let edited = text.replacen(from, to, 1);
        assert_ne!(edited, text, "{what}");
        std::fs::write(&path, &edited).unwrap();
        let plan = SearchPlan::of_record(&read_record(&path).unwrap(), &path).unwrap();
        let error = resume(&plan, &path).unwrap_err();
        let says = error.to_string();
        assert!(says.contains("contradicts itself") && says.contains(what), "{says}");
        assert!(error.exit_code() == 4 && !says.contains("--resume"), "{says}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), edited);
    }
}

#[test]
fn a_refused_resume_leaves_the_file_byte_for_byte() {
    let (_directory, path) = file();
    let mut plan = plan("sim:soft", "mlr", &["0"]);
    plan.limits.max_trials = Some(6);
    recorded(&plan, &path);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let edited = |from: &str, to: &str| text.replacen(from, to, 1);
    let load = lines[3].split("intended_load_pps\":").nth(1).unwrap().split(',').next().unwrap();
    let cases = [
        ("contradicts itself: forwarding_rate_pps", edited(load, "12345.0")),
        ("contradicts its header: target", edited("sim:soft", "sim:hard")),
        ("bounds that do not follow", edited("\"upper_pps\":null", "\"upper_pps\":14880952.0")),
        ("not the one that the search would make", edited("\"max_load_pps\":1", "\"max_load_pps\":2")),
        ("trial 2 is missing", [lines[0], lines[1], lines[3], lines[4]].concat()),
        ("trial 2 is missing", [lines[0], lines[1], lines[1], lines[2]].concat()),
        ("would start a program", text.replace("sim:soft", "exec:touch made")),
        ("would start a program", text.replace("sim:soft", "flowgraph:exec:touch made")),
        ("would start a program", text.replace("sim:soft", "jack:")),
        ("would open a file outside of its own directory", text.replace("sim:soft", "replay:/etc/passwd")),
        (
            "would open a file outside of its own directory",
            text.replace("sim:soft", "dns://127.0.0.1:5?queries=/etc/passwd"),
        ),
        (
            "not of the record's own directory",
            text.replace("\"arrival\":\"constant\"", "\"arrival\":\"replay:/etc/passwd\""),
        ),
        ("did not consent", text.replace("sim:soft", "udp://203.0.113.9:7")),
        ("would ask the network for the host of", text.replace("sim:soft", "udp://host.invalid:7")),
        ("would ask the network for the host of", text.replace("sim:soft", "heartbeat://host.invalid:7")),
        ("unknown variant `x\\u000a  curl", edited("\"line\":\"trial\"", "\"line\":\"x\\n  curl\"")),
        ("use a newer dropline", edited("dropline/1", "dropline/2")),
        ("is empty", String::new()),
        ("nothing was measured", lines[0][..lines[0].len() / 2].to_owned()),
    ];
    for (why, text) in cases {
        for torn in ["", "{\"line\":\"trial\",\"numb"] {
            let before = [text.as_bytes(), torn.as_bytes()].concat();
            if text.is_empty() && !torn.is_empty() {
                continue;
            }
            std::fs::write(&path, &before).unwrap();
            let refused = read_record(&path).and_then(|record| {
                let more = Limits { max_trials: Some(50), budget: None };
                resume(&SearchPlan { limits: more, ..SearchPlan::of_record(&record, &path)? }, &path)
                    .map(|_| ())
            });
            let error = refused.unwrap_err();
            assert!(error.exit_code() == 4 && error.to_string().contains(why), "{why}: {error}");
            assert_eq!(std::fs::read(&path).unwrap(), before, "{why}");
        }
    }
    assert!(!Path::new("made").exists());
}

#[test]
fn a_finished_record_opens_nothing_and_shows_its_answer() {
    let (_directory, path) = file();
    let found = recorded(&plan("sim:hard", "mlr", &["0"]), &path);
    let text = std::fs::read_to_string(&path).unwrap();
    for target in ["exec:touch made", "udp://203.0.113.9:7", "replay:/nonexistent"] {
        std::fs::write(&path, text.replace("sim:hard", target)).unwrap();
        let before = std::fs::read(&path).unwrap();
        assert_eq!(resumed(&path, None).result, found.result, "{target}");
        let longer = Limits { budget: Some(Duration::from_secs(9999)), max_trials: None };
        assert_eq!(
            resumed(&path, Some(longer)).result,
            found.result,
            "more time, and nothing more is wanted"
        );
        assert_eq!(std::fs::read(&path).unwrap(), before, "{target}");
    }
    // All trials are there, and only the answer was not written any more.
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let cut = lines[..lines.len() - 1].concat().replace("sim:hard", "exec:touch made");
    std::fs::write(&path, cut).unwrap();
    assert_eq!(resumed(&path, None).result, found.result);
    assert!(!Path::new("made").exists());
}

#[test]
fn limits_that_were_spent_before_a_resume_are_said_and_add_no_trial() {
    for (algorithm, limits, other, says) in [
        ("credible", seconds(30), seconds(3), "--budget 3 s was spent before this --resume"),
        ("mlr", seconds(30), seconds(3), "--budget 3 s was spent before this --resume"),
        (
            "mlr",
            Limits { budget: None, max_trials: Some(9) },
            Limits { budget: None, max_trials: Some(2) },
            "--max-trials 2 was spent before this --resume: 9 trials of this record",
        ),
        // The limit that was named, and not the one that the record has.
        (
            "mlr",
            Limits { budget: Some(Duration::from_secs(3)), max_trials: None },
            Limits { budget: Some(Duration::from_secs(3)), max_trials: Some(1) },
            "--max-trials 1 was spent before this --resume",
        ),
    ] {
        let (_directory, path) = file();
        let mut plan = plan("sim:soft", algorithm, &["0"]);
        plan.limits = limits;
        let made = recorded(&plan, &path).trials.len();
        plan.limits = other;
        let record = resume(&plan, &path).unwrap().record;
        assert_eq!(record.trials.len(), made);
        let said = record.caveats();
        assert!(said.iter().any(|caveat| caveat.text.starts_with(says)), "{algorithm}: {said:?}");
        // With as much again it goes on, and nothing of the kind is said.
        plan.limits = Limits { budget: Some(Duration::from_secs(300)), max_trials: Some(made as u64 + 1) };
        let said = resume(&plan, &path).unwrap().record.caveats();
        assert!(said.iter().all(|caveat| caveat.code != "limit_spent_before"), "{algorithm}: {said:?}");
    }
}

/// A search that time and the number of its trials end at once has nothing to add where more trials alone are allowed; what more time
/// would tell is said then as if the number had never been there.
#[test]
fn what_more_time_would_tell_is_said_once_a_number_of_trials_is_no_limit_any_more() {
    for (algorithm, has_outlook) in [("credible", true), ("mlr", false)] {
        let (_directory, whole) = file();
        let mut plan = plan("sim:soft", algorithm, &["0.5%,width=0.1%"]);
        plan.limits = seconds(20);
        let undisturbed = recorded(&plan, &whole).result.unwrap();
        let made = read_record(&whole).unwrap().trials.len() as u64;
        let (_directory, path) = file();
        plan.limits.max_trials = Some(made);
        let ended = recorded(&plan, &path).result.unwrap();
        assert!(ended.goals.iter().all(|answer| answer.outlook.is_none()), "{algorithm}");
        let more = Limits { max_trials: Some(made + 50), ..plan.limits };
        for _ in 0..2 {
            let resumed = resumed(&path, Some(more)).result.unwrap();
            assert_eq!(
                (&resumed.goals, resumed.ended_by),
                (&undisturbed.goals, undisturbed.ended_by),
                "{algorithm}"
            );
            assert_eq!(
                resumed.goals.iter().any(|answer| answer.outlook.is_some()),
                has_outlook,
                "{algorithm}"
            );
            let kept = read_record(&path).unwrap();
            assert_eq!((kept.trials.len() as u64, kept.limits.len()), (made, 1), "{algorithm}");
        }
    }
}

#[test]
fn a_record_is_kept_only_in_a_file_of_its_own() {
    let plan = plan("sim:hard", "binary", &["0"]);
    let taken = |path: &str| {
        let output = Output::File(path.into());
        dropline_verbs::search::search(&plan, &output, &conditions(), &mut Unwatched).unwrap_err().to_string()
    };
    assert!(taken("/dev/null").contains("not a file that a record can be kept in"));
    let (directory, _) = file();
    let path = directory.path().join("two words.jsonl");
    std::fs::write(&path, header_line(&recorded(&plan, &directory.path().join("other")).header)).unwrap();
    assert!(taken(path.to_str().unwrap()).contains(&format!("--resume '{}'", path.display())));
}
