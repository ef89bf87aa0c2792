//! What a contributor runs: `cargo xtask setup PART`, `book`, `demo`, `test` and the parts of their own.

mod audio;
mod book;
mod demo;
mod dist;
mod embedded;
mod fleet;
mod flowgraph;
mod link;
mod python;
mod services;
mod setup;
mod suites;
mod test;
mod trace;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

const USAGE: &str = "\
cargo xtask setup PART   install what a part needs: PARTS
cargo xtask demo         the main job on embedded parts, in under three minutes
cargo xtask test         everything in the default build
cargo xtask audio        trials and a search of jackd with its dummy driver
cargo xtask book         the documents as a site in target/book, with mdBook
cargo xtask dist         what users install: a Debian package, an archive, an image with a static program, a wheel
cargo xtask embedded     c/heartbeat on its machines: budgets, rules, mutations
cargo xtask fleet        agents that measure together, over a nats-server
cargo xtask flowgraph    FutureSDR and GNU Radio graphs
cargo xtask services     trials of real servers: knot, nsd, memcached, chrony, dnsmasq, nginx, stamp-suite
cargo xtask link         a bridge between two interfaces, by frames made in the kernel
cargo xtask pages        pages of real searches, looked at in Chromium
cargo xtask portable     the portable way to move packets
cargo xtask python       the Python wheel: its types, its tests, its examples
cargo xtask trace        tracepoints with LTTng, babeltrace2, C++ and Python
cargo xtask bench-trace  what an event costs, beside others' ways to record one
cargo xtask fuzz N       c/heartbeat under N made-up histories of packets";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["setup", part] => setup::run(part),
        ["audio"] => audio::test(),
        ["book"] => book::build(),
        ["demo"] => demo::run(),
        ["dist"] => dist::run_all(),
        ["embedded"] => embedded::run(),
        ["fleet"] => fleet::test(),
        ["flowgraph"] => flowgraph::test(),
        ["fuzz", inputs] => embedded::fuzz(inputs),
        ["bench-trace"] => trace::bench(),
        ["services"] => services::test(),
        ["link"] => link::test(),
        ["pages"] => test::pages(),
        ["portable"] => test::portable(),
        ["python"] => python::test(),
        ["trace"] => trace::test(),
        ["test"] => test::run(),
        _ => Err(USAGE.replacen("needs: PARTS", &format!("needs: {}", setup::parts()), 1)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// What went wrong, in words.
type Done = Result<(), String>;

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a directory of the repository").to_owned()
}

/// Where cargo builds.
fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from))
}

/// Whether a file was changed after another; `None` where one of them is not there.
fn newer(a: &Path, b: &Path) -> Option<bool> {
    Some(a.metadata().ok()?.modified().ok()? >= b.metadata().ok()?.modified().ok()?)
}

/// What took so long is told its time.
const LONG: Duration = Duration::from_secs(10);

/// Runs a program in the repository, shown before it runs; its failure is an error.
fn run(program: &str, words: &[&str]) -> Done {
    run_in(&root(), program, words)
}

/// The same in another directory.
fn run_in(directory: &Path, program: &str, words: &[&str]) -> Done {
    eprintln!("+ {program} {}", words.join(" "));
    let begun = Instant::now();
    let status = Command::new(program).args(words).current_dir(directory).status();
    took(&[program, &words.join(" ")].join(" "), begun);
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} {} failed: {status}", words.join(" "))),
        Err(why) => Err(format!("{program} cannot be started: {why}")),
    }
}

/// Says how long something took, if it was long.
fn took(what: &str, begun: Instant) {
    if begun.elapsed() >= LONG {
        eprintln!("= {} s: {what}", begun.elapsed().as_secs());
    }
}

/// The program as the tests have it: after `make test` there is nothing left to compile.
fn tested_dropline() -> Result<PathBuf, String> {
    // A test of the commands needs it; it has the features that the whole workspace asks for.
    run("cargo", &["build", "--locked", "--workspace", "--test", "services"])?;
    Ok(target().join("debug/dropline"))
}

/// The features of the program that packages hold: all but the project's own studies.
const SHIPPED: [&str; 2] = ["--no-default-features", "--features=fleet"];

/// The program that users run, built with optimisation.
fn build_dropline() -> Result<PathBuf, String> {
    run("cargo", &["build", "--release", "--locked", "--package", "dropline"])?;
    Ok(target().join("release/dropline"))
}
