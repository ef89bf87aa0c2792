//! Waiting that still grows when a trial ends: its loss is that of its duration, and not of longer ones.

use crate::{Caveat, Slice, Trial};

/// Slices of a quarter of a trial, at least.
const FEWEST: usize = 2;
/// A trial of which one packet in so many was lost says by itself that more came than was served.
const LOST: u64 = 20;
/// Waiting that grew by less than one in so many parts of the trial may be chance.
const GREW: f64 = 50.0;

impl Trial {
    /// The doubt about a trial that lost few packets while ever more waited up to its end: the mean delay of each quarter is
    /// longer than that of the one before, the last by as much as the others, and by more than chance has it.
    pub fn waiting_grew(&self) -> Option<Caveat> {
        if self.extra.is_some() || self.is_interrupted() || self.lost() > self.offered / LOST {
            return None;
        }
        let quarter = self.slices.len() / 4;
        if quarter < FEWEST {
            return None;
        }
        let quarters = [0, 1, 2, 3].map(|at| {
            // What a quarter too many would hold is left out of the middle.
            let from = if at < 2 { at * quarter } else { self.slices.len() - (4 - at) * quarter };
            mean_delay(&self.slices[from..from + quarter])
        });
        let [first, second, third, last] = [quarters[0]?, quarters[1]?, quarters[2]?, quarters[3]?];
        let steps = [second - first, third - second, last - third];
        let still_grows = steps[2] * 2.0 >= (steps[0] + steps[1]) / 2.0;
        let duration_ns = self.duration.as_nanos() as f64;
        let grew =
            steps.iter().all(|step| *step > 0.0) && still_grows && (last - first) * GREW >= duration_ns;
        grew.then_some(Caveat::WaitingGrew {
            from_ns: first as u64,
            to_ns: last as u64,
            duration_ns: duration_ns as u64,
        })
    }
}

fn mean_delay(slices: &[Slice]) -> Option<f64> {
    let recorded = || slices.iter().filter_map(|slice| slice.delay.as_ref());
    let replies: u64 = recorded().map(|delays| delays.count).sum();
    let sum_ns: u128 = recorded().map(|delays| delays.sum_ns).sum();
    (replies > 0).then(|| sum_ns as f64 / replies as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rate, TrialInput};
    use dropline_stats::Recorder;
    use std::time::Duration;

    /// A second at 1 kpps in 40 slices, whose replies take so long.
    fn trial(lost: u64, delay_us: impl Fn(u64) -> u64) -> Trial {
        let input = TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) };
        let slice = |at: u64| {
            let mut delays = Recorder::new();
            (0..25).for_each(|n| delays.record(delay_us(at * 25 + n) * 1000));
            Slice {
                duration: Duration::from_millis(25),
                offered: 25,
                forwarded: 25,
                delay: Some(delays.recorded()),
            }
        };
        let slices = (0..40).map(slice).collect();
        Trial { offered: 1000, forwarded: 1000 - lost, slices, ..Trial::new(1, input, 7) }
    }

    #[test]
    fn waiting_that_grows_to_the_end_of_a_trial_that_lost_little_is_said_and_what_settles_or_is_short_is_not()
    {
        // A third more comes than is served, and a buffer holds it.
        let growing = trial(3, |packet| 300 * packet).waiting_grew();
        assert!(matches!(growing, Some(Caveat::WaitingGrew { from_ns, to_ns, .. }) if to_ns > 6 * from_ns));
        assert_eq!(trial(60, |packet| 300 * packet).waiting_grew(), None, "its loss says it");
        assert_eq!(trial(0, |packet| 20 * packet).waiting_grew(), None, "2 % of the trial's time");
        assert_eq!(
            trial(0, |packet| 300 * packet.min(500)).waiting_grew(),
            None,
            "it does not grow any more"
        );
        assert_eq!(
            trial(0, |packet| 300 * packet.abs_diff(500)).waiting_grew(),
            None,
            "it was long at first"
        );
        let short = Trial { slices: trial(0, |packet| 300 * packet).slices[..6].to_vec(), ..trial(0, |_| 1) };
        assert_eq!(short.waiting_grew(), None);
        let said = growing.unwrap().to_string();
        assert!(said.contains("--duration 4s") && said.contains("trial=4s"), "{said}");
    }
}
