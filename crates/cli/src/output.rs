//! Results on stdout. A reader that goes away (`| head`) ends the program quietly.

use dropline::Failure;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// Prints a result, with a newline at its end.
///
/// # Errors
/// If stdout cannot be written, other than by being closed.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    match out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(end.as_bytes()))
        .and_then(|()| out.flush())
    {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::environment(format!("cannot write the result: {why}")))
        }
        _ => Ok(()),
    }
}

/// Prints a JSON value, indented.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(&serde_json::to_string_pretty(value).expect("a result is JSON"))
}

/// Writes a file that the user named.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|why| Failure::environment(format!("cannot write {}: {why}", path.display())))
}
