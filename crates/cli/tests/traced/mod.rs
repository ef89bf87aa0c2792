//! Programs with tracepoints: those of the package `dropline-trace`, which is not the one that is tested here, so
//! cargo is asked for them. It has nothing to compile but the first time.

// Each test file uses its part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The thirty lines of Rust that the documents show.
pub(crate) fn thirty_lines_of_rust() -> PathBuf {
    built("--example", "copy", "examples/copy")
}

/// The command that plays a part of `crates/trace/tests/parts/program.rs`.
pub(crate) fn part(name: &str) -> String {
    let program = "dropline-trace-parts";
    format!("'{}' {name}", built("--bin", program, program).display())
}

fn built(kind: &str, name: &str, path: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let done = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--package", "dropline-trace", kind, name, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    target.join("debug").join(path)
}
