//! Everything in the default build: format, lints, tests, the page in a browser.

use crate::{Done, root, suites, tested_dropline};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

pub(crate) fn run() -> Done {
    let begun = Instant::now();
    crate::run("cargo", &["fmt", "--all", "--check"])?;
    crate::run("cargo", &["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    // What users install has no studies, and a program without agents is promised too.
    for features in [&crate::SHIPPED[..], &crate::SHIPPED[..1]] {
        let words =
            [&["clippy", "--locked", "--package", "dropline"], features, &["--", "--deny", "warnings"]];
        crate::run("cargo", &words.concat())?;
    }
    let mut unsteady = Vec::new();
    suites::run(&["--workspace"], &["pages"], &mut unsteady)?;
    heartbeats(&tested_dropline()?)?;
    eprintln!("make test took {} s", begun.elapsed().as_secs());
    are_steady(&unsteady);
    Ok(())
}

/// The portable way to move packets, where it is not the one in use.
pub(crate) fn portable() -> Done {
    let mut unsteady = Vec::new();
    suites::run(&["--package", "dropline-traffic", "--features", "portable"], &[], &mut unsteady)?;
    are_steady(&unsteady);
    Ok(())
}

/// Names the tests that failed once and passed by themselves.
fn are_steady(unsteady: &[String]) {
    if !unsteady.is_empty() {
        eprintln!("Failed once and passed by itself, to be made steady: {}", unsteady.join(", "));
    }
}

/// A program whose one trial has delays to draw, the same each time.
const TRIAL: &str = r#"exec:sh -c 'read line; echo "{\"intended\":1000000,\"offered\":1000000,
    \"forwarded\":999990,\"duration_s\":1.0,\"delay_ns_histogram\":[[30000,500000],[60000,400000],
    [200000,90000],[900000,9990]]}" | tr -d "\n"; echo'"#;

/// Pages of real searches, looked at in headless Chromium.
pub(crate) fn pages() -> Done {
    let dropline = tested_dropline()?;
    let directory = root().join("target/pages");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).map_err(|why| format!("cannot create target/pages: {why}"))?;
    for (name, words) in [
        ("credible", &["search", "sim:noisy", "--seed=8"][..]),
        ("certified", &["search", "sim:soft", "--certify"]),
        ("mlr", &["search", "sim:soft", "--algorithm", "mlr"]),
        (
            "mdr",
            &[
                "search",
                "sim:inconsistent",
                "--seed=8",
                "--algorithm",
                "mdr",
                "--goal",
                "0",
                "--goal",
                "0.5%",
            ],
        ),
        ("binary", &["search", "sim:consistent", "--algorithm", "binary"]),
        ("trial", &["trial", TRIAL, "--load", "1Mpps", "--duration", "1s"]),
    ] {
        let record = directory.join(format!("{name}.jsonl")).to_string_lossy().into_owned();
        let page = directory.join(format!("{name}.html")).to_string_lossy().into_owned();
        let shots = directory.join(name).to_string_lossy().into_owned();
        let dropline = dropline.to_string_lossy().into_owned();
        crate::run(&dropline, &[words, &["--quiet", "--output", &record]].concat())?;
        crate::run(&dropline, &["report", &record, "--html", &page])?;
        look(&[&page, &record], &shots)?;
    }
    others(&dropline.to_string_lossy(), &directory.to_string_lossy())
}

/// The page of a heartbeat watch with 64 live variables.
fn heartbeats(dropline: &std::path::Path) -> Done {
    let dropline = dropline.to_string_lossy().into_owned();
    crate::run("node", &["tests/browser/heartbeat.mjs", &dropline, "target/pages/heartbeat"])
}

/// Pages that are of no single record, and plots that stand alone.
fn others(dropline: &str, directory: &str) -> Done {
    let at = |name: &str| format!("{directory}/{name}");
    let (credible, certified, trial) = (at("credible.jsonl"), at("certified.jsonl"), at("trial.jsonl"));
    let (slow, moved) = (at("slow.txt"), at("moved.jsonl"));
    let values =
        |add: u32| -> String { (0..4000).map(|n| format!("{}\n", 20 + add + n * 7919 % 97)).collect() };
    for (name, add) in [(at("quick.txt"), 0), (slow.clone(), 9)] {
        std::fs::write(&name, values(add)).map_err(|why| format!("cannot write {name}: {why}"))?;
    }
    let noisy = "sim:noisy?capacity=9Mpps";
    crate::run(dropline, &["search", noisy, "--seed=8", "--quiet", "--output", &moved])?;
    let units = ["--from", "raw", "--unit", "us"];
    let quick = at("quick.txt");
    let pages: [(&str, Vec<&str>); 5] = [
        ("several", vec!["report", &credible, &certified]),
        ("fit", [&["fit", &quick][..], &units].concat()),
        ("compared", [&["compare", &quick, &slow][..], &units].concat()),
        ("searches", vec!["compare", &credible, &moved]),
        ("trend", vec!["trend", &credible, &moved]),
    ];
    for (name, words) in pages {
        let page = at(&format!("{name}.html"));
        // What became worse ends with 1.
        let ended = Command::new(dropline).args(words).args(["--html", &page]).output();
        if ended.is_err() || !std::path::Path::new(&page).exists() {
            return Err(format!("dropline drew no page of {name}: {ended:?}"));
        }
        look(&[&page], &at(name))?;
    }
    histories(dropline, directory, &[&credible, &moved, &trial])?;
    for (name, record) in [("credible-plots", &credible), ("trial-plots", &trial)] {
        crate::run(dropline, &["report", record, "--svg", &at(name)])?;
        crate::run("node", &["tests/browser/plots.mjs", &at(name)])?;
    }
    Ok(())
}

/// The pages of a history: as files, and those that a server has alone.
fn histories(dropline: &str, directory: &str, records: &[&str]) -> Done {
    let (history, site) = (format!("{directory}/nights"), format!("{directory}/site"));
    crate::run(dropline, &[&["history", "add", "--history", &history][..], records].concat())?;
    crate::run(dropline, &["report", &history, "--site", &site])?;
    let list = format!("{site}/index.html");
    let text = std::fs::read_to_string(&list).map_err(|why| format!("the site has no list: {why}"))?;
    let first = |start: &str| {
        let link = text
            .split("href=\"")
            .find(|rest| rest.starts_with(start))
            .and_then(|rest| rest.split('"').next());
        link.map(|link| format!("{site}/{link}")).ok_or(format!("the list leads to no {start}"))
    };
    for page in [list.clone(), first("trends")?, first("record/")?, first("trend/")?] {
        look(&[&page], &site)?;
    }
    let mut view = Command::new(dropline)
        .args(["view", &history])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|why| format!("dropline view does not start: {why}"))?;
    let mut line = String::new();
    let read = view.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    let looked = match (read, line.trim().strip_prefix("open ")) {
        (Some(Ok(_)), Some(list)) => look(&[list, "--name", "view"], &site)
            .and_then(|()| look(&[&format!("{list}?goal=much"), "--name", "asked"], &site)),
        _ => Err(format!("dropline view says no address: {line}")),
    };
    let _ = view.kill();
    let _ = view.wait();
    looked
}

/// A page, with its record where it is of one.
fn look(files: &[&str], shots: &str) -> Done {
    let node = Command::new("node").arg("--version").output().is_ok();
    if !node {
        return Err(
            "node is missing: the page cannot be looked at (Debian package nodejs, 18 or newer)".into()
        );
    }
    crate::run("node", &[&["tests/browser/check.mjs"], files, &["--shots", shots]].concat())
}
