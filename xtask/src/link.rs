//! `link:` targets: frames over a bridge in network namespaces of the tests' own.

use crate::Done;
use std::time::Instant;

/// Trials and a search by the program; what the judge counts is tried in `make test`.
pub(crate) fn test() -> Done {
    let begun = Instant::now();
    // With the features of the whole workspace, for which make test has built it.
    let tests = ["test", "--locked", "--workspace", "--test", "link", "--", "--ignored", "--test-threads=1"];
    crate::run("cargo", &tests)?;
    eprintln!("make test-link took {} s", begun.elapsed().as_secs());
    Ok(())
}
