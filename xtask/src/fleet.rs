//! Agents that measure together, over a nats-server on this machine; every one of them killed, stopped and cut off.

use crate::{Done, run};
use std::time::Instant;

/// One after the other: each counts what is on the wire.
pub(crate) fn test() -> Done {
    let begun = Instant::now();
    run(
        "cargo",
        &["test", "--locked", "-p", "dropline", "--test", "fleet", "--", "--ignored", "--test-threads=1"],
    )?;
    eprintln!("make test-fleet took {} s", begun.elapsed().as_secs());
    Ok(())
}
