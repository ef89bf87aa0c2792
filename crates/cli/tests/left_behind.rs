//! What a killed run leaves behind: nothing that runs.
#![cfg(target_os = "linux")]

mod command;

use command::Bench;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Processes that this one started, by their `stat`: number, name, state, parent.
fn children(of: &Child) -> Vec<u32> {
    let is_child = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()?;
        (parent == of.id()).then_some(pid)
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(is_child).collect()
}

fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn no_program_that_a_killed_run_started_outlives_it() {
    let bench = Bench::new();
    for (words, count) in [
        (&["trial", "exec:sleep 1000", "--load=1kpps", "--background=sleep 1000"][..], 2),
        (&["trial", "flowgraph:exec:sleep 1000"], 1),
    ] {
        let words = [words, &["--duration=600s", "-q", "-o", "-"]].concat();
        let mut run = bench.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("it starts its programs", || children(&run).len() == count);
        let started = children(&run);
        run.kill().unwrap();
        run.wait().unwrap();
        wait_until("they end", || !started.iter().any(|&pid| runs(pid)));
    }
}

#[test]
fn no_program_that_a_program_of_a_killed_run_started_outlives_it() {
    let bench = Bench::new();
    // A sleep that only this test starts.
    let length = format!("{}", 100_000 + std::process::id());
    let sleeps = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let words = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        words.filter(|words| *words == format!("sleep\0{length}\0").into_bytes()).count()
    };
    let starts = format!("sh -c 'sleep {length} & sleep {length}; true'");
    for words in [&["trial", "exec:", "--load=1kpps", "--background"][..], &["trial", "flowgraph:exec:"]] {
        let mut words: Vec<String> = words.iter().map(|&word| word.into()).collect();
        words[1].push_str(&starts);
        let mut count = 2;
        if words.last().unwrap() == "--background" {
            words.push(starts.clone());
            count = 4;
        }
        words.extend(["--duration=600s", "-q", "-o", "-"].map(String::from));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut run = bench.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("they start theirs", || sleeps() == count);
        run.kill().unwrap();
        run.wait().unwrap();
        wait_until("all of them end", || sleeps() == 0);
    }
}
