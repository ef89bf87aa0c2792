//! Departures as they were once recorded.

use super::parameters::ArrivalError;
use super::{Draw, Kind, Pace, Process, ReadTimes};
use crate::{Rate, TrialInput};
use std::fmt;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "replay",
    written: "replay:FILE",
    about: "recorded departures: a file with one time in ns on each line, RECORD.packets or a capture (pcap, pcapng); scaled to --load, else at their own rate",
    read: |_| Err(ArrivalError::new("replay needs a file: replay:FILE")),
};

/// Why a text holds no departure times.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum DeparturesError {
    /// A line is something else than a whole number of nanoseconds.
    #[error("line {line} is not a whole number of ns: {text:?}")]
    NoNumber {
        /// From 1.
        line: usize,
        /// Its beginning.
        text: String,
    },
    /// Fewer than two: there is no rate.
    #[error("it holds {0} departure times; two that differ at least make a rate")]
    TooFew(usize),
    /// From the first to the last is longer than a recording can be.
    #[error("its times span more than a year: are they nanoseconds?")]
    TooLong,
}

/// A year: the times of a recording are nanoseconds, and still are when it has begun again.
const LONGEST_NS: u64 = 366 * 86_400 * 1_000_000_000;

/// Departure times in ns, one a line, in any order; empty lines and those that begin with `#` are skipped.
/// The first is at 0 of the result.
///
/// # Errors
/// If a line is no number, or there are fewer than two.
pub fn read_times(text: &str) -> Result<Vec<u64>, DeparturesError> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let mut times = lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(line, text)| {
            let wrong = || DeparturesError::NoNumber { line, text: text.chars().take(30).collect() };
            text.parse::<u64>().map_err(|_| wrong())
        })
        .collect::<Result<Vec<u64>, _>>()?;
    times.sort_unstable();
    if times.len() < 2 || times[0] == times[times.len() - 1] {
        return Err(DeparturesError::TooFew(times.len()));
    }
    let first = times[0];
    times.iter_mut().for_each(|time| *time -= first);
    Ok(times)
}

/// The process of this file.
pub(super) fn read(name: &str, read_times: &mut ReadTimes<'_>) -> Result<Arc<dyn Process>, ArrivalError> {
    if name.is_empty() {
        return Err(ArrivalError::new("replay needs a file: replay:FILE"));
    }
    let wrong = |why| ArrivalError::new(format!("replay:{name}: {why}"));
    let mut times = read_times(name).map_err(wrong)?;
    times.sort_unstable();
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
        return Err(wrong(DeparturesError::TooFew(0).to_string()));
    };
    if first == last {
        return Err(wrong(DeparturesError::TooFew(times.len()).to_string()));
    }
    times.iter_mut().for_each(|time| *time -= first);
    // After the last packet comes a mean gap, then the first again: the rate is that of the gaps.
    let gaps = times.len() as u128 - 1;
    let period_ns = u64::try_from(u128::from(last - first) * (gaps + 1) / gaps)
        .ok()
        .filter(|&period| period <= LONGEST_NS)
        .ok_or_else(|| wrong(DeparturesError::TooLong.to_string()))?;
    let millipps = times.len() as u128 * 1_000_000_000_000 / u128::from(period_ns);
    let rate = Rate::from_millipps(u64::try_from(millipps).unwrap_or(u64::MAX));
    Ok(Arc::new(Replay { name: name.into(), times: times.into(), period_ns, rate }))
}

#[derive(Debug)]
struct Replay {
    name: String,
    /// The first is 0.
    times: Arc<[u64]>,
    /// When the recording begins again.
    period_ns: u64,
    rate: Rate,
}

impl Process for Replay {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn pace(&self) -> Pace {
        Pace::LoadOr(self.rate)
    }

    fn slack(&self, _input: TrialInput) -> f64 {
        // A round that is not through has more or less than its share.
        self.times.len() as f64
    }

    fn draw(&self, input: TrialInput, _seed: u64) -> Box<dyn Draw> {
        // At its own rate times are kept to the nanosecond.
        let scaled_ns = if input.load == self.rate {
            self.period_ns as f64
        } else {
            self.times.len() as f64 * super::mean_ns(input.load)
        };
        let times = Arc::clone(&self.times);
        Box::new(Reel { times, scale: scaled_ns / self.period_ns as f64, scaled_ns, round: 0, next: 0 })
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", KIND.name, self.name)
    }
}

#[derive(Debug)]
struct Reel {
    times: Arc<[u64]>,
    scale: f64,
    scaled_ns: f64,
    round: u64,
    next: usize,
}

impl Draw for Reel {
    fn next(&mut self) -> Option<u64> {
        if self.next == self.times.len() {
            self.next = 0;
            self.round += 1;
        }
        let due = self.round as f64 * self.scaled_ns + self.times[self.next] as f64 * self.scale;
        self.next += 1;
        Some(due as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrival;
    use std::time::Duration;

    fn replay(times: &[u64], load: Option<f64>) -> Vec<u64> {
        let arrival = Arrival::parse("replay:x", &mut |_| Ok(times.to_vec())).unwrap();
        let Pace::LoadOr(own) = arrival.pace() else { panic!("it has a rate of its own") };
        let load = load.map_or(own, |pps| Rate::pps(pps).unwrap());
        arrival.departures(TrialInput { load, duration: Duration::from_micros(25) }, 1).collect()
    }

    #[test]
    fn a_recording_begins_again_after_a_mean_gap() {
        assert_eq!(
            replay(&[1_000, 1_500, 9_000], None),
            [0, 500, 8_000, 12_000, 12_500, 20_000, 24_000, 24_500]
        );
    }

    #[test]
    fn with_a_load_its_time_is_stretched() {
        // Three packets in 12 us are 250 kpps; at 125 kpps everything takes twice as long.
        assert_eq!(replay(&[0, 500, 8_000], Some(125_000.0)), [0, 1_000, 16_000, 24_000]);
    }

    #[test]
    fn a_file_is_a_number_a_line() {
        assert_eq!(read_times("# ns\n300\n\n 100\n250\n"), Ok(vec![0, 150, 200]));
        assert_eq!(read_times("100\nx1\n"), Err(DeparturesError::NoNumber { line: 2, text: "x1".into() }));
        assert_eq!(read_times("5\n5\n"), Err(DeparturesError::TooFew(2)));
        assert_eq!(read_times(""), Err(DeparturesError::TooFew(0)));
    }
}
