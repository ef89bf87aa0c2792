//! A history in a store that speaks S3: the same as one in a directory, and nothing is lost when the store is away.

mod command;
mod nights;
mod readers;

use command::{Bench, Ended};
use nights::{add, changed, nights};
use readers::{NIGHTS, Store, free_port, must, python};
use serde_json::Value;

/// Runs to the end with what the environment says of the store.
fn run(bench: &Bench, store: &Store, words: &[&str]) -> Ended {
    Ended::from(store.knows(bench.command(words)).output().unwrap())
}

fn done(bench: &Bench, store: &Store, words: &[&str]) -> Ended {
    let ended = run(bench, store, words);
    assert_eq!(ended.code, Some(0), "{words:?}: {}{}", ended.errors, ended.text);
    ended
}

fn added(bench: &Bench, store: &Store, files: &[&str]) -> Vec<String> {
    let words = ["history", "add", "--unfinished", "--history", NIGHTS, "--json"];
    let told = done(bench, store, &[&words[..], files].concat()).json();
    told.as_array().unwrap().iter().map(|line| line["added"].as_str().unwrap().to_owned()).collect()
}

fn words(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

#[test]
fn a_history_in_a_store_holds_lists_and_trends_what_one_in_a_directory_does() {
    let (bench, store) = (Bench::new(), Store::new());
    let names = changed(&bench, 8, 8);
    let begun: String = bench.read("0.jsonl").lines().take(5).map(|line| format!("{line}\n")).collect();
    bench.write("begun.jsonl", &begun);
    assert_eq!(added(&bench, &store, &["begun.jsonl"]), ["new"]);
    let told = added(&bench, &store, &words(&names));
    assert_eq!(
        (told[0].as_str(), told[1..].iter().all(|word| word == "new")),
        ("completed", true),
        "{told:?}"
    );
    assert_eq!(added(&bench, &store, &["begun.jsonl", "3.jsonl"]), ["known"; 2]);
    add(&bench, &words(&names));
    let both = |before: &[&str], after: &[&str]| {
        let of = |named: &'static str| [before, &[named], after].concat();
        let there = done(&bench, &store, &of(NIGHTS));
        (there, bench.done(&of("nights")))
    };
    let (there, here) = both(&["history", "list"], &["--json"]);
    assert_eq!(there.json()["records"], here.json()["records"]);
    assert_eq!(there.json()["records"].as_array().unwrap().len(), 16);
    let (there, here) = both(&["history", "export"], &["--to=csv"]);
    assert_eq!(there.text, here.text);
    let (there, here) = both(&["trend"], &["--json"]);
    assert_eq!(there.text.replace(NIGHTS, "nights"), here.text);
    let (there, here) = both(&["history", "index"], &["--check", "--json"]);
    assert_eq!(there.json(), here.json());
    // What is acknowledged lies beside the records there too.
    let change = there_is_a_change(&here_trend(&bench));
    done(&bench, &store, &["trend", NIGHTS, "--acknowledge", &change]);
    let known = done(&bench, &store, &["trend", NIGHTS, "--json"]).json();
    assert_eq!(known["series"][0]["changes"][0]["acknowledged"], true, "{known}");
    done(&bench, &store, &["report", NIGHTS, "--site", "there"]);
    bench.done(&["report", "nights", "--site", "here"]);
    let pages = |site: &str| nights::pages(&bench.path(site));
    assert_eq!(pages("there"), pages("here"));
    let gone = done(&bench, &store, &["history", "prune", NIGHTS, "--keep=3", "--yes", "--json"]).json();
    assert_eq!(gone["done"], true);
    let left = done(&bench, &store, &["history", "list", NIGHTS, "--json"]).json();
    assert_eq!(left["records"].as_array().unwrap().len() as u64, gone["left"].as_u64().unwrap());
}

fn here_trend(bench: &Bench) -> Value {
    bench.done(&["trend", "nights", "--json"]).json()
}

fn there_is_a_change(trend: &Value) -> String {
    trend["series"][0]["changes"][0]["id"].as_str().unwrap_or_else(|| panic!("{trend}")).to_owned()
}

#[test]
fn a_damaged_index_in_a_store_is_told_and_the_records_are_read() {
    let (bench, store) = (Bench::new(), Store::new());
    let names = nights(&bench, 2);
    assert_eq!(added(&bench, &store, &words(&names)), ["new"; 2]);
    assert!(done(&bench, &store, &["history", "list", NIGHTS]).errors.is_empty());
    let script = "import boto3, os\n\
        store = boto3.client('s3', endpoint_url=os.environ['AWS_ENDPOINT_URL'], region_name='us-east-1')\n\
        store.put_object(Bucket='measurements', Key='our/nights/index.jsonl', Body=b'garbage\\n')";
    let mut damaging = python();
    damaging.args(["-c", script]);
    must(&mut store.knows(damaging));
    for words in [&["history", "list", NIGHTS, "--json"][..], &["trend", NIGHTS]] {
        let told = run(&bench, &store, words);
        assert!(told.errors.contains("index.jsonl is damaged"), "{words:?}: {}", told.errors);
    }
    let listed = done(&bench, &store, &["history", "list", NIGHTS, "--json"]).json();
    assert_eq!(listed["records"].as_array().unwrap().len(), 2);
}

#[test]
fn two_programs_that_file_in_a_store_at_once_lose_no_record() {
    const EACH: usize = 8;
    let (bench, store) = (Bench::new(), Store::new());
    let names = nights(&bench, 2 * EACH - EACH / 2);
    // Half of the records are added by both.
    let mine = [&names[..EACH], &names[EACH / 2..]];
    std::thread::scope(|scope| {
        for files in mine {
            let (bench, store) = (&bench, &store);
            std::thread::Builder::new()
                .spawn_scoped(scope, move || {
                    files.iter().for_each(|file| {
                        added(bench, store, &[file]);
                    })
                })
                .unwrap();
        }
    });
    let listed = done(&bench, &store, &["history", "list", NIGHTS, "--json"]).json();
    assert_eq!(listed["records"].as_array().unwrap().len(), names.len());
    assert_eq!(listed["left_out"], serde_json::json!([]));
    done(&bench, &store, &["history", "index", NIGHTS]);
    done(&bench, &store, &["history", "index", NIGHTS, "--check"]);
}

#[test]
fn two_programs_that_add_the_same_files_at_once_file_each_once() {
    let (bench, store) = (Bench::new(), Store::new());
    let names = nights(&bench, 10);
    let files: Vec<&str> = names.iter().map(String::as_str).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            std::thread::Builder::new().spawn_scoped(scope, || added(&bench, &store, &files)).unwrap();
        }
    });
    let listed = done(&bench, &store, &["history", "list", NIGHTS, "--json"]).json();
    assert_eq!(listed["records"].as_array().unwrap().len(), names.len());
    assert_eq!(listed["left_out"], serde_json::json!([]), "nothing is there twice");
}

#[test]
fn a_search_is_kept_here_and_filed_there_and_later_where_the_store_was_away() {
    let (bench, store) = (Bench::new(), Store::new());
    let search = ["search", "sim:noisy", "-q", "--max-trials=5", "--history", NIGHTS];
    let filed = done(&bench, &store, &[&search[..], &["-o", "a.jsonl"]].concat());
    assert!(filed.errors.contains("filed as s3://measurements/our/nights/20"), "{}", filed.errors);
    let mut away = store.knows(bench.command(&[&search[..], &["-o", "b.jsonl"]].concat()));
    let away = Ended::from(away.env("AWS_ENDPOINT_URL", format!("http://{}", free_port())).output().unwrap());
    assert_eq!(away.code, Some(4), "{}", away.errors);
    for said in ["is kept in b.jsonl", "cannot be reached", "dropline history add b.jsonl"] {
        assert!(away.errors.contains(said), "{said} is not in {}", away.errors);
    }
    let listed = || done(&bench, &store, &["history", "list", NIGHTS, "--json"]).json()["records"].clone();
    assert_eq!(listed().as_array().unwrap().len(), 1);
    assert_eq!(added(&bench, &store, &["a.jsonl", "b.jsonl"]), ["known", "new"]);
    assert_eq!(listed().as_array().unwrap().len(), 2);
}

#[test]
fn what_changed_in_a_store_is_measured_again_and_filed_there() {
    let (bench, store) = (Bench::new(), Store::new());
    // The target is as good as it was: what was lower is not confirmed, and is told as nothing else either.
    let names = changed(&bench, 8, 8);
    added(&bench, &store, &words(&names));
    let confirm = ["trend", NIGHTS, "--confirm", "--fail-if", "regressed"];
    let ended = run(&bench, &store, &confirm);
    assert_eq!(ended.code, Some(0), "{}{}", ended.text, ended.errors);
    assert!(
        ended.text.contains("not confirmed") && !ended.text.contains("IMPROVED"),
        "{}{}",
        ended.text,
        ended.errors
    );
    assert!(ended.errors.contains("filed as s3://"), "{}", ended.errors);
    let again = run(&bench, &store, &confirm);
    assert!(again.errors.contains("nothing is to be confirmed"), "{}{}", again.text, again.errors);
}

#[test]
fn a_store_that_reads_nothing_is_an_error_and_its_index_stays() {
    let (bench, store) = (Bench::new(), Store::new());
    let names = nights(&bench, 3);
    added(&bench, &store, &words(&names));
    let before = done(&bench, &store, &["history", "list", NIGHTS, "--json"]).json();
    let object = |line: &Value| {
        format!(
            "<Contents><Key>our/nights/{}</Key><Size>{}</Size></Contents>",
            line["file"].as_str().unwrap(),
            line["bytes"]
        )
    };
    let objects: String = before["records"].as_array().unwrap().iter().map(object).collect();
    let list = format!("<ListBucketResult><IsTruncated>false</IsTruncated>{objects}</ListBucketResult>");
    // One that lists, and refuses to read anything.
    let broken = readers::answering(move |head| match head.contains("list-type=2") {
        true => (200, list.clone()),
        false => (503, String::new()),
    });
    let at_broken = |words: &[&str]| {
        let mut command = store.knows(bench.command(words));
        Ended::from(command.env("AWS_ENDPOINT_URL", format!("http://{broken}")).output().unwrap())
    };
    for words in [&["trend", NIGHTS][..], &["history", "list", NIGHTS], &["history", "index", NIGHTS]] {
        let ended = at_broken(words);
        assert_eq!(ended.code, Some(4), "{words:?}: {}{}", ended.text, ended.errors);
        assert!(ended.errors.contains("503"), "{words:?}: {}", ended.errors);
    }
    assert_eq!(done(&bench, &store, &["history", "list", NIGHTS, "--json"]).json(), before);
}

#[test]
fn a_store_is_not_asked_openly_elsewhere_nor_without_a_secret_and_says_who_may_not() {
    let (bench, store) = (Bench::new(), Store::new());
    let asked = |name: &str, value: &str| {
        let mut command = store.knows(bench.command(&["history", "list", NIGHTS]));
        Ended::from(command.env(name, value).output().unwrap())
    };
    for (name, value, code, said) in [
        ("AWS_ENDPOINT_URL", "http://192.0.2.1:9000", 2, "AWS_ALLOW_HTTP"),
        ("AWS_SECRET_ACCESS_KEY", "", 2, "AWS_SECRET_ACCESS_KEY is not set"),
        ("AWS_SECRET_ACCESS_KEY", "wrong", 4, "403"),
    ] {
        let ended = asked(name, value);
        assert_eq!(ended.code, Some(code), "{}", ended.errors);
        assert!(ended.errors.contains(said), "{said} is not in {}", ended.errors);
    }
    let missing = run(&bench, &store, &["history", "list", "s3://another-bucket/x"]);
    assert!(
        missing.code == Some(4) && missing.errors.contains("make the bucket first"),
        "{}",
        missing.errors
    );
}
