//! Parts that tests play: a test that needs a program of its own starts this one again, to play one part.
//!
//! A part is an ignored test. `cargo test -- --ignored` comes to all of them, so each does nothing unless whoever started
//! the program asked for it by name.

// Each test file uses its part of this.
#![allow(dead_code)]

use std::process::Command;

/// The variable that names the part which is asked for.
const ASKED: &str = "DROPLINE_PART";

/// Whether this program was started to play it.
pub(crate) fn is_asked_for(name: &str) -> bool {
    std::env::var(ASKED).is_ok_and(|asked| asked == name)
}

/// Asks for it: the command starts this program, perhaps by way of another one.
pub(crate) fn ask<'a>(command: &'a mut Command, name: &str) -> &'a mut Command {
    command.env(ASKED, name).args(["--exact", name, "--ignored", "--nocapture"])
}

/// The same as the words of a command.
pub(crate) fn words(name: &str) -> String {
    let program = std::env::current_exe().unwrap();
    format!("env {ASKED}={name} '{}' --exact {name} --ignored --quiet", program.display())
}
