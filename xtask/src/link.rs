//! `link:` targets: frames over a bridge in network namespaces of the tests' own.

use crate::Done;
use std::time::Instant;

/// The instructions of both programs beside their sources, what the judge counts, and trials and a search by the program.
pub(crate) fn test() -> Done {
    let begun = Instant::now();
    // Of the whole workspace, so that what make test has built is what is needed.
    crate::run("cargo", &["test", "--locked", "--workspace", "--lib", "instructions"])?;
    let tests = ["test", "--locked", "--workspace", "--test", "link", "--", "--ignored", "--test-threads=1"];
    crate::run("cargo", &tests)?;
    eprintln!("make test-link took {} s", begun.elapsed().as_secs());
    Ok(())
}
