//! An outage: a time in which next to nothing came back, within a trial in which else next to everything did.

use crate::{Caveat, Slice, Trial};

/// Fewer packets are no outage.
const LEAST: u64 = 10;

impl Trial {
    /// The longest run of slices in which more than half of the packets were missing, where most slices miss a tenth at
    /// most: overload is no outage.
    pub fn outage(&self) -> Option<Caveat> {
        let sent: Vec<&Slice> = self.slices.iter().filter(|slice| slice.offered > 0).collect();
        let clear = sent.iter().filter(|slice| missing(slice) * 10 <= slice.offered).count();
        if 2 * clear < sent.len() {
            return None;
        }
        let mut runs: Vec<Run> = Vec::new();
        let (mut at_ns, mut goes_on) = (0, false);
        for slice in &self.slices {
            let length_ns = slice.duration.as_nanos() as u64;
            let is_dark = missing(slice) * 2 > slice.offered;
            if is_dark {
                let share = missing(slice) as f64 / slice.offered as f64;
                if !goes_on {
                    // What is missing of the first slice is its end.
                    let before = (length_ns as f64 * (1.0 - share)) as u64;
                    runs.push(Run { at_ns: at_ns + before, ..Run::default() });
                }
                let run = runs.last_mut().expect("it was begun");
                run.for_ns += (length_ns as f64 * share) as u64;
                run.missing += missing(slice);
                run.offered += slice.offered;
            }
            // A slice without a packet says nothing.
            goes_on = is_dark || goes_on && slice.offered == 0;
            at_ns += length_ns;
        }
        runs.retain(|run| run.missing >= LEAST);
        let outages = runs.len() as u64;
        let Run { at_ns, for_ns, missing, offered } = runs.into_iter().max_by_key(|run| run.for_ns)?;
        Some(Caveat::Outage { at_ns, for_ns, missing, offered, outages })
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    at_ns: u64,
    for_ns: u64,
    missing: u64,
    offered: u64,
}

fn missing(slice: &Slice) -> u64 {
    slice.offered.saturating_sub(slice.forwarded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rate, TrialInput};
    use std::time::Duration;

    /// Slices of a quarter of a second with a hundred packets each; so many of each came back.
    fn of(forwarded: &[u64]) -> Option<Caveat> {
        let input = TrialInput { load: Rate::from_millipps(400_000), duration: Duration::from_secs(10) };
        let slice = |&forwarded: &u64| Slice {
            duration: Duration::from_millis(250),
            offered: 100,
            forwarded,
            delay: None,
        };
        Trial { slices: forwarded.iter().map(slice).collect(), ..Trial::new(1, input, 7) }.outage()
    }

    #[test]
    fn a_second_in_which_nothing_came_back_is_told_with_its_time_and_length() {
        let mut forwarded = [100; 40];
        forwarded[12..16].fill(0);
        let expected = |at_ms: u64, for_ms: u64, missing, offered, outages| {
            Some(Caveat::Outage {
                at_ns: at_ms * 1_000_000,
                for_ns: for_ms * 1_000_000,
                missing,
                offered,
                outages,
            })
        };
        assert_eq!(of(&forwarded), expected(3000, 1000, 400, 400, 1));
        forwarded[12] = 40;
        assert_eq!(of(&forwarded), expected(3100, 900, 360, 400, 1), "the end of its first slice");
        forwarded[30] = 20;
        assert_eq!(of(&forwarded), expected(3100, 900, 360, 400, 2), "the longest of two");
    }

    #[test]
    fn overload_and_chance_are_no_outage() {
        assert_eq!(of(&[40; 40]), None, "all slices miss as much");
        assert_eq!(of(&[80, 85, 70, 40, 90, 80]), None, "most miss more than a tenth");
        assert_eq!(of(&[100; 40]), None);
        assert_eq!(of(&[]), None);
    }
}
