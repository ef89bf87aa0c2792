//! Every system: the clock on the wall, no say about CPUs and priorities.

use super::Farewell;
use std::io;
use std::process::{Child, Command};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Now by the one clock that all processes share everywhere. It can be set: then clients begin and end then.
pub(crate) fn monotonic_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Sleeps until then by the same clock.
pub(crate) fn sleep_until_ns(at_ns: u64) {
    std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(monotonic_ns())));
}

/// Sleeps for as long.
pub(crate) fn sleep_for(length: Duration) {
    std::thread::sleep(length);
}

/// Not known here.
pub(crate) fn go_first(_: u8) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not known here.
pub(crate) fn end_with_parent() {}

/// Not known here.
pub(crate) fn ask_to_end(_: &Child) {}

/// Nothing is tied to it here.
#[derive(Debug)]
pub(crate) struct Tether;

/// Starts a program; it is not told of our end.
pub(crate) fn start_with_us(command: &mut Command, _: Farewell) -> io::Result<(Child, Tether)> {
    Ok((command.spawn()?, Tether))
}
