//! Results on stdout. A reader that goes away (`| head`) ends the program quietly.

use dropline::record::printable::{printable, printable_json};
use dropline::{Failure, whole_file};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// Prints a result, with a newline at its end. What would steer a terminal is replaced; colours stay.
///
/// # Errors
/// If stdout cannot be written, other than by being closed.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write_out(&colored(text))
}

fn write_out(text: &str) -> Result<(), Failure> {
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
    write_out(&printable_json(&serde_json::to_string_pretty(value).expect("a result is JSON")))
}

/// Printable text in which the colours stay that [`report`](dropline::report) gave it: no record's own came so far.
fn colored(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut out = printable(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let color =
            part.find('m').filter(|&end| part[..end].bytes().all(|sign| matches!(sign, b'0'..=b'9' | b';')));
        out.push_str(if color.is_some() { "\x1b[" } else { "\u{fffd}[" });
        out.push_str(&printable(part));
    }
    out
}

/// Writes a file that the user named: whole, or not at all.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    whole_file::write(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::colored;

    #[test]
    fn colours_stay_and_nothing_else_steers() {
        let painted = "\x1b[1;38;5;75ma\x1b[0m b\n";
        assert_eq!(colored(painted), painted);
        assert_eq!(colored("\x1b[2Ja\x1b]0;t\x07\u{202e}"), "\u{fffd}[2Ja\u{fffd}]0;t\u{fffd}\u{fffd}");
    }
}
