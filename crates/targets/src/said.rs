//! What a program that we started says for people: shown on our stderr, a line at a time.

use dropline_printable::lines;
use std::io::{self, BufReader, Read, Write as _};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What it started may keep its stderr open, and is not waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Shows lines until there are no more.
pub(crate) struct Said(JoinHandle<()>);

impl Said {
    /// From now on. Nobody may be there to read it, and the program is not stopped for that.
    pub(crate) fn shown(source: impl Read + Send + 'static) -> Self {
        let show = |line: String| drop(io::stderr().write_all((line + "\n").as_bytes()));
        Self(thread::spawn(move || lines(BufReader::new(source)).for_each(show)))
    }

    /// All that it said before its end stands before what is said next.
    pub(crate) fn wait(&self) {
        let until = Instant::now() + LAST_WORDS;
        while !self.0.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
