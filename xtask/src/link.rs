//! `link:` targets: frames over a bridge in network namespaces of the tests' own.

use crate::Done;
use std::time::Instant;

/// Parts of the tests in which little is sent and much is waited for: these run side by side. In all others a trial has the machine
/// for itself, but for what else runs there.
const MOSTLY_WAIT: [&str; 2] = ["safety::", "waiting::"];

/// The instructions of the programs beside their sources, what the judge counts, and trials and a search by the program.
pub(crate) fn test() -> Done {
    let begun = Instant::now();
    // Of the whole workspace, so that what make test has built is what is needed.
    crate::run("cargo", &["test", "--locked", "--workspace", "--lib", "instructions"])?;
    let tests = ["test", "--locked", "--workspace", "--test", "link", "--", "--ignored"];
    let alone = MOSTLY_WAIT.iter().flat_map(|part| ["--skip", part]).chain(["--test-threads=1"]);
    crate::run("cargo", &tests.into_iter().chain(alone).collect::<Vec<_>>())?;
    let beside = MOSTLY_WAIT.into_iter().chain(["--test-threads=3"]);
    crate::run("cargo", &tests.into_iter().chain(beside).collect::<Vec<_>>())?;
    eprintln!("make test-link took {} s", begun.elapsed().as_secs());
    Ok(())
}
