//! What another program says, a line at a time.

use super::printable;
use std::io::{BufRead, Read as _};

/// Of a longer line so many bytes are shown.
const LONGEST: u64 = 4096;

/// The lines of a program, each safe to be shown and none longer than a page; of a line that was written over with
/// carriage returns, what a terminal would show of it in the end.
pub fn lines(mut source: impl BufRead) -> impl Iterator<Item = String> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        if (&mut source).take(LONGEST).read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let is_cut = line.len() as u64 == LONGEST && !line.ends_with(b"\n");
        if is_cut {
            source.skip_until(b'\n').ok()?;
        }
        let text = String::from_utf8_lossy(&line);
        let last = text.trim_end_matches(['\n', '\r']).rsplit('\r').next().unwrap_or_default();
        Some(printable(last).into_owned() + if is_cut { "…" } else { "" })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_another_program_steers_nothing_and_is_no_longer_than_a_page() {
        let said = [
            b"plain\r\n\n\x1b[2Jcleared\n10 %\r20 %\r\n\xff\n".to_vec(),
            b"x".repeat(1 << 20),
            b"\nafter it\x07".to_vec(),
        ];
        let all = said.concat();
        let mut heard = lines(&all[..]);
        let mut next = || heard.next().unwrap();
        assert_eq!([next(), next(), next()], ["plain", "", "\u{fffd}[2Jcleared"]);
        assert_eq!([next(), next()], ["20 %", "\u{fffd}"]);
        assert_eq!(next(), "x".repeat(4096) + "…");
        assert_eq!(next(), "after it\u{fffd}");
        assert_eq!(heard.next(), None);
    }
}
