//! Results on stdout, words on stderr. A reader that goes away (`| head`, a terminal) ends neither in a panic.

use crate::lines;
use clap::ArgMatches;
use dropline_archive::whole_file;
use dropline_failure::Failure;
use dropline_printable::{printable, printable_json};
use std::fs::File;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Says something on stderr, in lines of its own, no wider than its terminal; nobody may be there to hear it. What would
/// steer a terminal is replaced.
macro_rules! note {
    ($($words:tt)*) => {
        $crate::output::note(&dropline_failure::without_numbers(&format!($($words)*)))
    };
}

/// What `note!` does.
pub(crate) fn note(words: &str) {
    let width = std::io::stderr().is_terminal().then(|| console::Term::stderr().size_checked()).flatten();
    let width = width.map_or(usize::MAX, |(_, columns)| columns.into());
    say(&lines::told(&printable(words), width));
}

/// Says it on stderr as it is, in a line of its own.
pub(crate) fn say(text: &str) {
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Prints words, with a newline at their end. What would steer a terminal is replaced, colours too: whatever a file's
/// name is, it is only shown.
///
/// # Errors
/// If stdout cannot be written, other than by being closed.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write_out(&printable(text))
}

/// Prints what [`report`](dropline_report) made, with the colours that it gave.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_painted(text: &str) -> Result<(), Failure> {
    write_out(&colored(text))
}

/// Prints what another program shall read: its lines end as they do in a file. A pipe may lead to a terminal, so what
/// would steer one is replaced here too.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_data(text: &str) -> Result<(), Failure> {
    let lines: Vec<_> = text.split("\r\n").map(printable).collect();
    write_out(&lines.join("\r\n"))
}

/// Columns of the terminal that help is for; as wide as it comes where there is none.
pub(crate) fn columns() -> usize {
    let asked = || std::env::var("COLUMNS").ok()?.parse().ok();
    let shown = std::io::stdout().is_terminal().then(terminal_width).flatten();
    shown.or_else(asked).unwrap_or(usize::MAX)
}

/// Columns of the terminal that stdout is; a pipe has as many as its reader likes.
pub(crate) fn terminal_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return Some(120);
    }
    let (_, columns) = console::Term::stdout().size_checked()?;
    Some(usize::from(columns))
}

/// Labels with what to type, in one line where it has room, else each below its label; a command that is longer than a
/// line is broken as a shell reads it back.
pub(crate) fn commands(rows: &[(&str, String)], width: usize) -> String {
    let line: Vec<String> = rows.iter().map(|(label, words)| format!("{label}  {words}")).collect();
    let line = line.join("     ");
    if line.chars().count() <= width {
        return line;
    }
    let row = |(label, words): &(&str, String)| {
        let line = format!("{label}  {words}");
        if line.chars().count() <= width { line } else { format!("{label}\n{}", broken(words, width)) }
    };
    rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

/// Words in lines that end in a backslash; a word alone may still be longer.
fn broken(words: &str, width: usize) -> String {
    let mut lines = vec![String::from(" ")];
    for word in words.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        // The blank before the word, and the blank and the backslash behind it.
        if line.trim().is_empty() || line.chars().count() + 1 + word.chars().count() + 2 <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(format!("    {word}"));
        }
    }
    lines.join(" \\\n")
}

/// Prints what is not text, to a program that reads it.
///
/// # Errors
/// If stdout is a terminal; else as [`print`].
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() {
        return Err(Failure::usage("what would be printed is not text").advice("name a file for it: -o FILE"));
    }
    write_all(bytes)
}

fn write_out(text: &str) -> Result<(), Failure> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write_all(format!("{text}{end}").as_bytes())
}

fn write_all(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(why) if !is_nobody_there(&why) => {
            Err(Failure::environment(format!("cannot write the result: {why}")))
        }
        _ => Ok(()),
    }
}

/// Whether it could not be written because its reader is gone: the other end of a pipe, or a terminal. What a disk does
/// not take is lost.
fn is_nobody_there(why: &std::io::Error) -> bool {
    /// A terminal that hung up answers so, on each Unix.
    const EIO: i32 = 5;
    let is_device = || {
        let stdout = std::io::stdout().as_fd().try_clone_to_owned().map(File::from);
        let found = stdout.and_then(|stdout| stdout.metadata());
        found.is_ok_and(|found| found.file_type().is_char_device())
    };
    why.kind() == ErrorKind::BrokenPipe || why.raw_os_error() == Some(EIO) && is_device()
}

/// Prints lines of JSON.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_lines(json: &str) -> Result<(), Failure> {
    write_out(&printable_json(json))
}

/// Prints a JSON value, indented.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    write_out(&printable_json(&serde_json::to_string_pretty(value).expect("a result is JSON")))
}

/// Printable text in which the colours stay that [`report`](dropline_report) gave it: no record's own came so far.
pub(crate) fn colored(text: &str) -> String {
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

/// A stream to a reader who may go away: that ends what is heard, and is no error.
pub(crate) struct Heard<W>(pub(crate) W);

impl<W: std::io::Write> std::io::Write for Heard<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.0.write(bytes) {
            Err(why) if is_nobody_there(&why) => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self.0.flush() {
            Err(why) if is_nobody_there(&why) => Ok(()),
            flushed => flushed,
        }
    }
}

/// Writes a page or a plot that the user named: whole or not at all, and over no file that is none of ours.
///
/// # Errors
/// If another file is there, or it cannot be written.
pub(crate) fn draw(path: &Path, drawn: impl AsRef<[u8]>) -> Result<(), Failure> {
    whole_file::draw(path, drawn.as_ref(), dropline_report::MARK)
}

/// Whether all files that a verb is told to draw or to make may stand where they shall, asked before it begins. A record
/// is asked for where it begins.
///
/// # Errors
/// If one of them would take the place of another file.
pub(crate) fn may_write(verb: &ArgMatches) -> Result<(), Failure> {
    let file = |name| verb.try_get_one::<PathBuf>(name).ok().flatten();
    if let Some(page) = file("html") {
        if file("output") == Some(page) || file("resume") == Some(page) {
            return Err(Failure::usage(format!("{} would be both record and page", page.display()))
                .advice("name another file for the page: --html FILE"));
        }
        whole_file::may_draw(page, dropline_report::MARK)?;
    }
    file("times").map_or(Ok(()), |times| whole_file::may_create(times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stay_and_nothing_else_steers() {
        let painted = "\x1b[1;38;5;75ma\x1b[0m b\n";
        assert_eq!(colored(painted), painted);
        assert_eq!(colored("\x1b[2Ja\x1b]0;t\x07\u{202e}"), "\u{fffd}[2Ja\u{fffd}]0;t\u{fffd}\u{fffd}");
    }

    #[test]
    fn what_to_type_fits_its_terminal_and_is_read_back_by_a_shell() {
        let rows = [
            ("record", "dropline-20261121-0931.jsonl".to_owned()),
            ("page", "dropline report dropline-20261121-0931.jsonl --html".into()),
        ];
        assert!(!commands(&rows, 120).contains('\n'));
        for width in [40, 60, 80] {
            let shown = commands(&rows, width);
            assert!(shown.lines().all(|line| line.chars().count() <= width), "{shown}");
            let typed = shown.replace(" \\\n", " ");
            let words: Vec<&str> = typed.split_whitespace().collect();
            assert_eq!(words.join(" "), format!("record {} page {}", rows[0].1, rows[1].1), "{shown}");
        }
    }

    #[test]
    fn a_stream_whose_reader_is_gone_ends_quietly() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut stream = Heard(writer);
        assert!(stream.write_all(b"nobody hears this").and_then(|()| stream.flush()).is_ok());
    }
}
