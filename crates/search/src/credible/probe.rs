//! Trials far below the load that was found, to see whether nothing is lost there.

use dropline_trial::{Caveat, Rate, Trial, TrialInput};
use std::time::Duration;

/// Shares of the lower end that are tried, in this order.
const SHARES: [f64; 3] = [0.9, 0.7, 0.5];
/// A probe is as long as this share of a full trial.
const LENGTH: f64 = 0.5;
/// How often the first loss must come again: once is not enough where one trial in six is a slow one.
const CONFIRMATIONS: usize = 2;

/// The probes below one lower end.
///
/// A first loss may be one of the bad trials that a goal allows: it must come again before it is believed.
#[derive(Debug)]
pub(super) struct Probe {
    wanted: Vec<TrialInput>,
    /// Losses at the first lossy load, until they are believed.
    suspicions: usize,
    lossy: Vec<Trial>,
    clean: Option<Rate>,
}

impl Probe {
    /// Below `lower`, the end found with trials of `duration`; none below `min`.
    pub(super) fn below(lower: Rate, duration: Duration, min: Rate) -> Self {
        let duration = duration.mul_f64(LENGTH).max(Duration::from_nanos(1));
        let loads = SHARES.iter().rev().filter_map(|share| Rate::pps(lower.as_pps() * share).ok());
        Self {
            wanted: loads.filter(|&load| load >= min).map(|load| TrialInput { load, duration }).collect(),
            suspicions: 0,
            lossy: Vec::new(),
            clean: None,
        }
    }

    /// How long all of them take, when a full trial of `duration` waits so much longer.
    pub(super) fn cost(duration: Duration, waits: Duration) -> Duration {
        (waits + duration.mul_f64(LENGTH)) * SHARES.len() as u32
    }

    pub(super) fn next_trial(&self) -> Option<TrialInput> {
        self.wanted.last().copied()
    }

    pub(super) fn record(&mut self, trial: &Trial) {
        if trial.lost() == 0 {
            // What only our own side spoiled says nothing.
            let clean = trial.offered > 0 && !trial.is_void_at(dropline_trial::Ratio::ZERO);
            if clean && self.suspicions == 0 && self.clean.is_none() {
                self.clean = Some(trial.input.load);
            }
            self.suspicions = 0;
            self.wanted.pop();
        } else if self.lossy.is_empty() && self.suspicions < CONFIRMATIONS {
            self.suspicions += 1;
        } else {
            self.suspicions = 0;
            self.lossy.push(trial.clone());
            self.clean = None;
            self.wanted.pop();
        }
    }

    /// The lowest load that lost packets, and the highest below it that did not.
    pub(super) fn found(&self) -> Option<(Rate, Option<Rate>)> {
        let lowest = self.lossy.last()?.input.load;
        Some((lowest, self.clean.filter(|&clean| clean < lowest)))
    }

    pub(super) fn caveat(&self) -> Option<Caveat> {
        self.lossy.last().map(|trial| Caveat::LossBelow {
            intended_load_pps: trial.input.load.as_pps(),
            offered: trial.offered,
            lost: trial.lost(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe() -> Probe {
        Probe::below(Rate::pps(1000.0).unwrap(), Duration::from_secs(1), Rate::pps(10.0).unwrap())
    }

    /// Answers each probe with a number of lost packets; gives the loads that were asked.
    fn answer(probe: &mut Probe, lost: &[u64]) -> Vec<u64> {
        let mut asked = Vec::new();
        for (&lost, number) in lost.iter().zip(1..) {
            let input = probe.next_trial().unwrap();
            asked.push(input.load.as_millipps() / 1000);
            let intended = input.load.packets_in(input.duration);
            let forwarded = intended - lost;
            let trial = Trial::new(number, input, 1);
            probe.record(&Trial { intended: Some(intended), offered: intended, forwarded, ..trial });
        }
        asked
    }

    #[test]
    fn a_loss_that_does_not_come_again_is_forgotten() {
        let mut probe = probe();
        assert_eq!(answer(&mut probe, &[1, 1, 0, 0, 0]), [900, 900, 900, 700, 500]);
        assert_eq!((probe.next_trial(), probe.found(), probe.caveat()), (None, None, None));
    }

    #[test]
    fn a_lossy_band_is_bracketed() {
        let mut probe = probe();
        assert_eq!(answer(&mut probe, &[1, 3, 2, 0, 0]), [900, 900, 900, 700, 500]);
        let [upper, lower] = [900.0, 700.0].map(|pps| Rate::pps(pps).unwrap());
        assert_eq!(probe.found(), Some((upper, Some(lower))));
        assert!(matches!(probe.caveat(), Some(Caveat::LossBelow { lost: 2, offered: 450, .. })));
    }

    #[test]
    fn a_floor_has_nothing_clean_below() {
        let mut probe = probe();
        assert_eq!(answer(&mut probe, &[1, 1, 1, 1, 1]), [900, 900, 900, 700, 500]);
        assert_eq!(probe.found(), Some((Rate::pps(500.0).unwrap(), None)));
    }
}
