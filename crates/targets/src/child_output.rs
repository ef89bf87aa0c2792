//! What a program that we started says for people: shown on our stderr, a line at a time.

use dropline_failure::Failure;
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
    ///
    /// # Errors
    /// If no thread can be started for it.
    pub(crate) fn shown(source: impl Read + Send + 'static) -> Result<Self, Failure> {
        let show = |line: String| drop(io::stderr().write_all((line + "\n").as_bytes()));
        let listen = move || lines(BufReader::new(source)).for_each(show);
        thread::Builder::new().spawn(listen).map(Self).map_err(|why| Failure::thread(&why))
    }

    /// All that it said before its end stands before what is said next.
    pub(crate) fn wait(&self) {
        let until = Instant::now() + LAST_WORDS;
        while !self.0.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
