//! One value a line. Values stream: a hundred megabytes take no more memory than a hundred lines.

use super::values::{Decimal, VALUE, Values, no_value};
use super::{ImportError, Imported};
use dropline_archive::reading::Unread;
use dropline_stats::CountError;
use dropline_trial::number_of;
use std::io::BufRead;

/// A longer line is none of numbers.
const LONGEST: u64 = 256;
/// Progress is told every so many bytes.
const PROGRESS: u64 = 16 << 20;

/// Why a stream of values ended.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// It cannot be read, or has no end.
    #[error(transparent)]
    Unread(#[from] Unread),
    /// It is not of the format.
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// How long a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A file of so many bytes.
    Known(u64),
    /// A pipe or a device, which nobody knows the end of: more bytes are not read.
    AtMost(u64),
}

/// Reads a text of values.
///
/// # Errors
/// If a line is no number, or there is none.
pub fn parse(text: &str, unit_ns: Option<u64>) -> Result<Imported, ImportError> {
    read(text.as_bytes(), Extent::Known(text.len() as u64), unit_ns, &mut |_| {}).map_err(|why| match why {
        StreamError::Import(why) => why,
        StreamError::Unread(_) => ImportError::Ends { expected: VALUE },
    })
}

/// Reads values as they stream by. Empty lines and lines that begin with `#` say nothing.
///
/// # Errors
/// As [`parse`], and if the source breaks or goes on beyond its bound.
pub fn read(
    mut source: impl BufRead,
    extent: Extent,
    unit_ns: Option<u64>,
    progress: &mut dyn FnMut(&str),
) -> Result<Imported, StreamError> {
    let mut values = Values::default();
    let mut line = Vec::new();
    let (mut number, mut bytes, mut told) = (0, 0u64, 0u64);
    // A comment may be longer than a line of numbers.
    let (mut begins, mut is_comment) = (true, false);
    loop {
        line.clear();
        let length = std::io::Read::take(&mut source, LONGEST).read_until(b'\n', &mut line);
        let length = length.map_err(Unread::from)? as u64;
        if length == 0 {
            break;
        }
        number += usize::from(begins);
        bytes += length;
        if let Extent::AtMost(most) = extent
            && bytes > most
        {
            return Err(Unread::Endless(most).into());
        }
        is_comment = if begins { line.trim_ascii_start().starts_with(b"#") } else { is_comment };
        begins = line.ends_with(b"\n");
        let text = str::from_utf8(&line).unwrap_or("bytes that are not text").trim();
        if !text.is_empty() && !is_comment {
            let value = Decimal::parse(text).ok_or_else(|| no_value(number, text))?;
            let beyond = |why: CountError| ImportError::Disagrees { line: number, what: why.to_string() };
            values.add(value, 1).map_err(beyond)?;
        }
        if bytes - told >= PROGRESS {
            told = bytes;
            let of = match extent {
                Extent::Known(size) => format!(" of {}", size >> 20),
                Extent::AtMost(_) => String::new(),
            };
            progress(&format!("read {}{of} MB, {}", bytes >> 20, number_of(values.count, "value")));
        }
    }
    if values.count == 0 {
        return Err(ImportError::Ends { expected: VALUE }.into());
    }
    Ok(values.imported(unit_ns)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_kept_as_they_were_written() {
        let read = parse("# a comment\n12\n12.34\n\n12.3\n-0.5\n", Some(1000)).unwrap();
        assert_eq!(
            read.counted.cells().collect::<Vec<_>>(),
            [(-50, -50, 1), (1200, 1200, 1), (1230, 1230, 1), (1234, 1234, 1)]
        );
        assert_eq!(read.counted.meaning().quantum_ns, 10.0);
        assert_eq!(read.counted.binned().cells()[3].value, 12.34);
    }

    #[test]
    fn what_is_no_number_is_named() {
        let broken = |text: &str| parse(text, None).unwrap_err().to_string();
        for bad in ["NaN", "inf", "1e", "12,5", "0x10", "--1", ".", "1.2.3", "12 13"] {
            assert_eq!(broken(&format!("1\n{bad}\n")), format!("line 2: {bad:?} where {VALUE} was expected"));
        }
        for large in ["99999999999999999999", "-1e30", "1e308"] {
            assert!(broken(&format!("1\n{large}\n")).starts_with(&format!("line 2: {large} is too large")));
        }
        assert!(broken("1\n4503599627370497\n").contains("beyond 2^52"));
        assert!(broken("4503599627370496\n0.1\n").contains("beyond 2^52"));
        assert!(broken("# nothing\n").starts_with("the file ends"));
        assert!(broken(&"1".repeat(300)).starts_with("line 1"));
    }

    #[test]
    fn a_long_comment_is_one_line_and_moves_no_blame() {
        let text = |value: &str| format!("# {}\n5\n{value}\n", "é 7 ".repeat(200));
        assert_eq!(parse(&text("6"), None).unwrap().counted.count(), 2);
        assert!(parse(&text("six"), None).unwrap_err().to_string().starts_with("line 3: \"six\""));
        assert!(parse(&text("4503599627370497"), None).unwrap_err().to_string().starts_with("line 3: "));
    }

    #[test]
    fn a_stream_that_does_not_end_is_refused_with_its_bound() {
        let endless = std::io::BufReader::new(Endless(b"5\n"));
        let why = read(endless, Extent::AtMost(1 << 20), None, &mut |_| {}).unwrap_err().to_string();
        assert!(why.contains("more than 1 MiB") && why.contains("endless pipe"), "{why}");
        let whole = read(&b"5\n6\n"[..], Extent::AtMost(4), None, &mut |_| {}).unwrap();
        assert_eq!(whole.counted.count(), 2, "what is as long as the bound is read");
    }

    /// What `yes` writes.
    struct Endless(&'static [u8]);

    impl std::io::Read for Endless {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let whole = to.len() / self.0.len() * self.0.len();
            to[..whole].chunks_mut(self.0.len()).for_each(|place| place.copy_from_slice(self.0));
            Ok(whole)
        }
    }

    #[test]
    fn a_long_read_tells_how_far_it_is() {
        let text = "123456\n".repeat(2_500_000);
        let mut told = Vec::new();
        let extent = Extent::Known(text.len() as u64);
        read(text.as_bytes(), extent, None, &mut |words| told.push(words.to_owned())).unwrap();
        assert_eq!(told, ["read 16 of 16 MB, 2396746 values"]);
    }
}
