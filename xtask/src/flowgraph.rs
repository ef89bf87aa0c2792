//! FutureSDR and GNU Radio graphs: programs of their own, built apart from the workspace.

use crate::{Done, root, target};
use std::time::Instant;

/// Builds both programs and puts them where `dropline` finds them.
pub(crate) fn build() -> Done {
    let place = target().join("flowgraph");
    let bin = place.join("bin");
    std::fs::create_dir_all(&bin).map_err(|why| format!("cannot create {}: {why}", bin.display()))?;
    cargo(&["build", "--release", "--locked"])?;
    let cmake = place.join("gnuradio");
    let [source, cmake, bin] = [root().join("crates/flowgraph/gnuradio"), cmake, bin]
        .map(|path| path.to_string_lossy().into_owned());
    crate::run("cmake", &["-S", &source, "-B", &cmake])?;
    crate::run("cmake", &["--build", &cmake, "--parallel"])?;
    let futuresdr = place.join("release/dropline-futuresdr").to_string_lossy().into_owned();
    crate::run("cp", &[&futuresdr, &format!("{cmake}/dropline-gnuradio"), &bin])
}

/// The rules of the programs alone, then the programs as targets: every sample and every granule accounted for.
pub(crate) fn test() -> Done {
    let begun = Instant::now();
    cargo(&["fmt", "--check"])?;
    cargo(&["clippy", "--release", "--locked", "--all-targets", "--", "--deny", "warnings"])?;
    cargo(&["test", "--release", "--locked"])?;
    // Of the whole workspace, so that what make test has built is what is needed. One after another: each has the
    // machine's CPUs to itself.
    let graphs = ["test", "--locked", "--workspace", "--test", "graphs", "--", "--ignored"];
    crate::run("cargo", &[&graphs[..], &["--test-threads", "1"]].concat())?;
    eprintln!("make test-flowgraph took {} s", begun.elapsed().as_secs());
    Ok(())
}

/// Cargo in the programs' own workspace.
fn cargo(words: &[&str]) -> Done {
    let manifest = root().join("crates/flowgraph/Cargo.toml").to_string_lossy().into_owned();
    let target = target().join("flowgraph").to_string_lossy().into_owned();
    let (verb, rest) = words.split_first().expect("cargo is told what to do");
    let target = if *verb == "fmt" { Vec::new() } else { vec!["--target-dir", target.as_str()] };
    crate::run("cargo", &[&[*verb, "--manifest-path", &manifest], target.as_slice(), rest].concat())
}
