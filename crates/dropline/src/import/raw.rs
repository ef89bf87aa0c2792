//! One value a line. Values stream: a hundred megabytes take no more memory than a hundred lines.

use super::{ImportError, Imported, guessed};
use dropline_stats::counted::LARGEST_TICK;
use dropline_stats::{CountError, Counted, Meaning};
use std::collections::BTreeMap;
use std::io::{self, BufRead};

const VALUE: &str = "a number such as 12 or 12.5";
/// More different values are kept in cells of a 1024th of their size.
const MOST_DISTINCT: usize = 100_000;
/// More decimals than this are no measurement.
const MOST_DECIMALS: u32 = 9;
/// A longer line is none of numbers.
const LONGEST: u64 = 256;
/// Progress is told every so many bytes.
const PROGRESS: u64 = 16 << 20;

/// Why a stream of values ended.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not of the format.
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// Reads a text of values.
///
/// # Errors
/// If a line is no number, or there is none.
pub fn parse(text: &str, unit_ns: Option<u64>) -> Result<Imported, ImportError> {
    read(text.as_bytes(), text.len() as u64, unit_ns, &mut |_| {}).map_err(|why| match why {
        StreamError::Import(why) => why,
        StreamError::Io(_) => ImportError::Ends { expected: VALUE },
    })
}

/// Reads values as they stream by. Empty lines and lines that begin with `#` say nothing.
///
/// # Errors
/// As [`parse`], and if the source breaks.
pub fn read(
    mut source: impl BufRead,
    size: u64,
    unit_ns: Option<u64>,
    progress: &mut dyn FnMut(&str),
) -> Result<Imported, StreamError> {
    let mut values = Values::default();
    let mut line = Vec::new();
    let (mut number, mut bytes, mut told) = (0, 0u64, 0u64);
    loop {
        line.clear();
        let length = io::Read::take(&mut source, LONGEST).read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            break;
        }
        number += 1;
        bytes += length;
        let text = str::from_utf8(&line).unwrap_or("bytes that are not text").trim();
        if !text.is_empty() && !text.starts_with('#') {
            let value = Decimal::parse(text).ok_or_else(|| ImportError::line(number, text, VALUE))?;
            values.add(value).map_err(ImportError::from)?;
        }
        if bytes - told >= PROGRESS {
            told = bytes;
            progress(&format!("read {} of {} MB, {} values", bytes >> 20, size >> 20, values.count));
        }
    }
    if values.count == 0 {
        return Err(ImportError::Ends { expected: VALUE }.into());
    }
    Ok(values.imported(unit_ns)?)
}

/// digits ÷ 10^decimals, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Decimal {
    digits: i64,
    decimals: u32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !all_digits(unsigned) || !all_digits(fraction) || (unsigned.is_empty() && fraction.is_empty()) {
            return None;
        }
        let decimals = u32::try_from(fraction.len()).ok().filter(|&count| count <= MOST_DECIMALS)?;
        let digits: i64 = format!("0{unsigned}{fraction}").parse().ok()?;
        Some(Self { digits: if whole.starts_with('-') { -digits } else { digits }, decimals })
    }
}

/// Values counted by tick; the tick is the finest decimal that was seen.
#[derive(Default)]
struct Values {
    decimals: u32,
    ticks: BTreeMap<i64, u64>,
    /// Whether neighbours were put together.
    merged: bool,
    count: u64,
}

impl Values {
    fn add(&mut self, value: Decimal) -> Result<(), CountError> {
        if value.decimals > self.decimals {
            let finer = 10i64.pow(value.decimals - self.decimals);
            let ticks = std::mem::take(&mut self.ticks);
            for (tick, count) in ticks {
                let tick = tick.checked_mul(finer).filter(|tick| tick.abs() <= LARGEST_TICK);
                self.ticks.insert(tick.ok_or(CountError::TooLarge(i64::MAX))?, count);
            }
            self.decimals = value.decimals;
        }
        let tick = value.digits.checked_mul(10i64.pow(self.decimals - value.decimals));
        let tick =
            tick.filter(|tick| tick.abs() <= LARGEST_TICK).ok_or(CountError::TooLarge(value.digits))?;
        *self.ticks.entry(if self.merged { cell(tick) } else { tick }).or_default() += 1;
        self.count += 1;
        if self.ticks.len() > MOST_DISTINCT && !self.merged {
            self.merged = true;
            let ticks = std::mem::take(&mut self.ticks);
            ticks.into_iter().for_each(|(tick, count)| *self.ticks.entry(cell(tick)).or_default() += count);
        }
        Ok(())
    }

    fn imported(self, unit_ns: Option<u64>) -> Result<Imported, ImportError> {
        let unit = unit_ns.unwrap_or(1000);
        let quantum_ns = unit as f64 / 10f64.powi(self.decimals as i32);
        let meaning = Meaning { unit_ns: unit, quantum_ns, ..Meaning::default() };
        let mut notes = Vec::new();
        if unit_ns.is_none() {
            notes.push(guessed("microseconds"));
        }
        let counted = if self.merged {
            notes.push("more than 100 000 different values: they are kept to a 1024th".into());
            let ranges = self.ticks.into_iter().map(|(low, count)| (low, low + width(low) - 1, count));
            Counted::ranges(meaning, ranges, None)?
        } else {
            Counted::ticks(meaning, self.ticks, None)?
        };
        Ok(Imported::whole(counted, String::new(), notes))
    }
}

/// The lowest tick of the cell that holds this one.
fn cell(tick: i64) -> i64 {
    tick.div_euclid(width(tick)) * width(tick)
}

/// Width of the cell of a tick: a 1024th of its leading power of two.
fn width(tick: i64) -> i64 {
    // Below zero a cell begins at its end that is further from zero.
    let size = if tick < 0 { (tick + 1).unsigned_abs() } else { tick.unsigned_abs() };
    1 << size.checked_ilog2().unwrap_or(0).saturating_sub(10)
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
        for bad in ["NaN", "inf", "1e3", "12,5", "0x10", "--1", ".", "1.2.3", "12 13", "99999999999999999999"]
        {
            assert_eq!(
                broken(&format!("1\n{bad}\n")),
                format!("line 2: {bad:?} where a number such as 12 or 12.5 was expected")
            );
        }
        assert!(broken("1\n4503599627370497\n").contains("beyond 2^52"));
        assert!(broken("4503599627370496\n0.1\n").contains("beyond 2^52"));
        assert!(broken("# nothing\n").starts_with("the file ends"));
        assert!(broken(&"1".repeat(300)).starts_with("line 1"));
    }

    #[test]
    fn very_many_values_stream_through_little_memory() {
        let mut values = Values::default();
        for tick in 0..300_000i64 {
            values.add(Decimal { digits: tick * 7919 % 40_000_000, decimals: 0 }).unwrap();
        }
        assert!(values.ticks.len() < 30_000, "{}", values.ticks.len());
        let read = values.imported(Some(1)).unwrap();
        assert_eq!((read.counted.count(), read.notes.len()), (300_000, 1));
        assert!(read.counted.cells().all(|(low, high, _)| high - low <= low.abs() / 1024 + 1));
    }

    #[test]
    fn every_tick_lies_in_its_cell() {
        for tick in
            [0, 1, 1023, 1024, 2047, 2048, 2049, 1 << 40, LARGEST_TICK, -1, -1024, -2048, -2049, -(1 << 40)]
        {
            let low = cell(tick);
            assert!((low..low + width(low)).contains(&tick), "{tick} in {low}+{}", width(low));
        }
    }

    #[test]
    fn a_long_read_tells_how_far_it_is() {
        let text = "123456\n".repeat(2_500_000);
        let mut told = Vec::new();
        read(text.as_bytes(), text.len() as u64, None, &mut |words| told.push(words.to_owned())).unwrap();
        assert_eq!(told, ["read 16 of 16 MB, 2396746 values"]);
    }
}
