//! Tracepoints in the world around: LTTng, babeltrace2, C++ and Python.

use crate::{Done, root, target};
use std::time::Instant;

/// Builds the tracepoints as an LTTng provider, where `dropline` finds it.
pub(crate) fn build() -> Done {
    let place = target().join("trace");
    std::fs::create_dir_all(&place).map_err(|why| format!("cannot create {}: {why}", place.display()))?;
    let library = place.join("libdropline_lttng.so").to_string_lossy().into_owned();
    let source = "c/trace/lttng/dropline_lttng.c";
    let words =
        ["-O2", "-Wall", "-shared", "-fPIC", "-Ic/trace/lttng", "-o", &library, source, "-llttng-ust"];
    crate::run("cc", &words)
}

/// The tests that need them.
pub(crate) fn test() -> Done {
    let begun = Instant::now();
    // Events, rings and their layout need neither an operating system nor its library.
    let core = ["check", "--locked", "--package", "dropline-trace", "--lib", "--no-default-features"];
    crate::run("cargo", &core)?;
    orders()?;
    let tests = ["test", "--locked", "--workspace", "--test", "lttng", "--", "--ignored"];
    crate::run("cargo", &tests)?;
    eprintln!("make test-trace took {} s", begun.elapsed().as_secs());
    Ok(())
}

/// Every order in which the writer and the reader of a ring can meet (loom).
fn orders() -> Done {
    let place = target().join("loom").to_string_lossy().into_owned();
    let words =
        ["test", "--locked", "--release", "--package", "dropline-trace", "--lib", "--target-dir", &place];
    crate::run("env", &[&["RUSTFLAGS=--cfg loom", "cargo"], &words[..], &["orders"]].concat())
}

/// What an event costs, ours and others'.
pub(crate) fn bench() -> Done {
    let manifest = root().join("experiments/trace-cost/Cargo.toml").to_string_lossy().into_owned();
    let place = target().join("trace");
    let directory = place.to_string_lossy();
    crate::run(
        "cargo",
        &["build", "--release", "--locked", "--manifest-path", &manifest, "--target-dir", &directory],
    )?;
    let library = place.join("libdropline_lttng.so");
    let program = place.join("release/dropline-trace-cost").to_string_lossy().into_owned();
    crate::run("env", &[&format!("DROPLINE_LTTNG={}", library.display()), &program])
}
