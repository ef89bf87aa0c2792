//! Several processes at once: `poisson+constant`, `64*onoff:on=1ms,off=9ms`.

use super::parameters::{ArrivalError, count};
use super::{Draw, GapLaw, KINDS, Pace, Process, ReadTimes, read_one};
use crate::{Rate, TrialInput, seed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;

/// The parts of a sum, each with how many times it is written to be there; `None` if the word is no sum.
///
/// A `+` parts only where the name of a process follows, so that names of files may hold it.
pub(super) fn parts(word: &str) -> Option<Vec<(u32, &str)>> {
    let begins = |text: &str| {
        let text = copies(text).map_or(text, |(_, rest)| rest);
        let name = text.split([':', '+']).next().unwrap_or_default();
        KINDS.iter().any(|kind| kind.name == name)
    };
    let mut ends: Vec<usize> =
        word.match_indices('+').map(|(at, _)| at).filter(|&at| begins(&word[at + 1..])).collect();
    ends.push(word.len());
    let mut from = 0;
    let parts: Vec<(u32, &str)> = ends
        .into_iter()
        .map(|end| {
            let part = &word[from..end];
            from = (end + 1).min(word.len());
            copies(part).unwrap_or((1, part))
        })
        .collect();
    (parts.len() > 1 || parts.iter().any(|(copies, _)| *copies > 1)).then_some(parts)
}

/// `64*rest`.
fn copies(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = text.split_once('*')?;
    Some((count(number).ok()?, rest))
}

/// Reads each part.
pub(super) fn read(
    parts: &[(u32, &str)],
    read_times: &mut ReadTimes<'_>,
) -> Result<Arc<dyn Process>, ArrivalError> {
    let parts = parts
        .iter()
        .map(|(copies, word)| {
            let process = read_one(word, read_times)?;
            match process.pace() {
                Pace::Own(_) | Pace::Closed(_) => {
                    Err(ArrivalError::new(format!("{word} has its own clocks: it cannot be part of a sum")))
                }
                _ => Ok((*copies, process)),
            }
        })
        .collect::<Result<Vec<_>, _>>()?;
    let copies = parts.iter().map(|(copies, _)| u64::from(*copies)).sum::<u64>();
    if copies > MOST {
        return Err(ArrivalError::new(format!("a sum of {copies} processes: at most {MOST}")));
    }
    Ok(Arc::new(Sum { parts, copies }))
}

/// More processes are not drawn side by side.
const MOST: u64 = 10_000;

/// Independent processes with an equal share of the load each, merged in order.
#[derive(Debug)]
struct Sum {
    parts: Vec<(u32, Arc<dyn Process>)>,
    copies: u64,
}

impl Sum {
    fn each(&self) -> impl Iterator<Item = &Arc<dyn Process>> {
        self.parts.iter().flat_map(|(copies, process)| std::iter::repeat_n(process, *copies as usize))
    }

    /// The load of copy `index`: shares of a whole number of millipackets that sum up to it.
    fn load(&self, load: Rate, index: u64) -> Rate {
        let upto = |n: u64| u128::from(load.as_millipps()) * u128::from(n) / u128::from(self.copies);
        Rate::from_millipps((upto(index + 1) - upto(index)) as u64)
    }
}

impl Process for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn gap_law(&self, load: Rate) -> GapLaw {
        // Poisson processes sum up to one.
        let all_poisson = self.parts.iter().all(|(_, part)| part.name() == super::poisson::KIND.name);
        if all_poisson { GapLaw::Exponential { mean_ns: super::mean_ns(load) } } else { GapLaw::Drawn }
    }

    fn check(&self, load: Rate) -> Result<(), ArrivalError> {
        self.each().zip(0..).try_for_each(|(process, index)| process.check(self.load(load, index)))
    }

    fn slack(&self, input: TrialInput) -> f64 {
        let part = |(process, index): (&Arc<dyn Process>, u64)| {
            1.0 + process.slack(TrialInput { load: self.load(input.load, index), ..input })
        };
        self.each().zip(0..).map(part).sum()
    }

    fn draw(&self, input: TrialInput, seed: u64) -> Box<dyn Draw> {
        let parts = self.each().zip(0..).map(|(process, index)| {
            process.draw(
                TrialInput { load: self.load(input.load, index), ..input },
                seed::of_trial(seed, index + 1),
            )
        });
        let mut merged = Merged { parts: parts.collect(), next: BinaryHeap::new() };
        (0..merged.parts.len()).for_each(|part| merged.fetch(part));
        Box::new(merged)
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (copies, part)) in self.parts.iter().enumerate() {
            f.write_str(if index > 0 { "+" } else { "" })?;
            if *copies > 1 {
                write!(f, "{copies}*")?;
            }
            fmt::Display::fmt(part, f)?;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Merged {
    parts: Vec<Box<dyn Draw>>,
    /// The next departure of each part.
    next: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Merged {
    fn fetch(&mut self, part: usize) {
        if let Some(due) = self.parts[part].next() {
            self.next.push(Reverse((due, part)));
        }
    }
}

impl Draw for Merged {
    fn next(&mut self) -> Option<u64> {
        let Reverse((due, part)) = self.next.pop()?;
        self.fetch(part);
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrival;
    use dropline_stats::Spacing;
    use std::time::Duration;

    #[test]
    fn each_part_has_its_share_of_the_load_and_its_own_chance() {
        let input = TrialInput { load: Rate::pps(300.0).unwrap(), duration: Duration::from_millis(20) };
        let all: Vec<u64> = "3*constant".parse::<Arrival>().unwrap().departures(input, 1).collect();
        assert_eq!(all, [0, 0, 0, 10_000_000, 10_000_000, 10_000_000]);
        let two: Vec<u64> = "2*poisson".parse::<Arrival>().unwrap().departures(input, 1).collect();
        assert!(two.windows(2).all(|pair| pair[0] != pair[1]), "{two:?}");
    }

    #[test]
    fn many_sources_that_are_seldom_on_come_near_poisson() {
        let input = TrialInput { load: Rate::pps(20_000.0).unwrap(), duration: Duration::from_secs(20) };
        let dispersion = |word: &str| {
            let mut spacing = Spacing::new();
            word.parse::<Arrival>().unwrap().departures(input, 1).for_each(|due| spacing.event(due));
            spacing.dispersion()[0].unwrap()
        };
        let (one, many) = (dispersion("onoff:on=10ms,off=90ms"), dispersion("100*onoff:on=10ms,off=90ms"));
        // On or off in a window of 1 ms: 1 + 0.09 · a² ÷ 20 with a = 200 packets, and 2 in each of 100.
        assert!(one > 100.0 && (2.0..3.5).contains(&many), "{one} and {many}");
    }

    #[test]
    fn a_plus_in_the_name_of_a_file_parts_nothing() {
        assert_eq!(parts("replay:a+b.ns"), None);
        assert_eq!(parts("replay:a+b.ns+poisson"), Some(vec![(1, "replay:a+b.ns"), (1, "poisson")]));
        assert_eq!(parts("constant"), None);
    }
}
