//! The command of CI jobs, `packaging/ci/dropline-gate`.

mod command;

use command::Bench;
use std::path::Path;
use std::process::{Command, Output};

/// One run of the job.
fn gate(bench: &Bench, target: &str) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let programs = Path::new(env!("CARGO_BIN_EXE_dropline")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    Command::new(root.join("packaging/ci/dropline-gate"))
        .args(["kept", target, "--budget", "30s"])
        .current_dir(bench.path("."))
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("GITHUB_STEP_SUMMARY", bench.path("said.md"))
        .output()
        .unwrap()
}

#[test]
fn a_job_fails_where_a_limit_fell_also_by_small_steps_and_keeps_the_best_run() {
    let bench = Bench::new();
    let at = |capacity: &str| gate(&bench, &format!("sim:consistent?capacity={capacity}"));
    assert_eq!(at("4Mpps").status.code(), Some(0), "the first run has nothing to be held against");
    let first = bench.read("kept/good.jsonl");
    // 1 % less is not enough to matter, and the next 1.5 % is 2.5 % of what was first.
    assert_eq!(at("3.96Mpps").status.code(), Some(0));
    assert_eq!(bench.read("kept/good.jsonl"), first, "what a run is held against does not creep");
    let fell = at("3.89Mpps");
    assert_eq!(fell.status.code(), Some(1), "{}", String::from_utf8_lossy(&fell.stderr));
    assert_eq!(bench.read("kept/good.jsonl"), first);
    assert!(bench.read("kept/summary.md").starts_with("**REGRESSED**: B takes 2."));
    assert!(bench.read("kept/run.html").contains("3.89Mpps"), "the page is of the run that failed");
    assert_eq!(at("4.4Mpps").status.code(), Some(0));
    assert_ne!(bench.read("kept/good.jsonl"), first, "a better run takes the place of the good one");
    assert_eq!(
        bench.read("said.md").matches("drops above").count(),
        4,
        "each run is told where the host shows it"
    );
}

#[test]
fn a_search_that_cannot_be_made_changes_nothing_that_is_kept() {
    let bench = Bench::new();
    assert_eq!(gate(&bench, "sim:consistent").status.code(), Some(0));
    let first = bench.read("kept/good.jsonl");
    assert_eq!(gate(&bench, "sim:nothing").status.code(), Some(2));
    assert_eq!(bench.read("kept/good.jsonl"), first);
    assert!(!bench.path("kept/run.jsonl").exists(), "nothing of the run before is taken for this one's");
}
