//! Trials far below the load that was found, to see whether nothing is lost there.

use super::constants::low_load_probe::{EXPECTED, LENGTH, LOADS, LOSSES, LOSSES_WHERE_EXPECTED, SHARES};
use dropline_trial::{Caveat, Rate, Trial, TrialInput};
use std::time::Duration;

/// The probes below one lower end.
///
/// A loss may be one of the bad trials that a goal allows: it must come again, there or elsewhere, before it is
/// believed.
#[derive(Debug)]
pub(super) struct LowLoadProbe {
    duration: Duration,
    /// Losses at one load before it is believed.
    losses: usize,
    /// From the highest down.
    places: Vec<ProbedLoad>,
}

/// A load that is probed.
#[derive(Debug)]
struct ProbedLoad {
    load: Rate,
    /// Nothing was lost the last time.
    clean: bool,
    /// And that says something: it was not only our own side that failed.
    borne: bool,
    lossy: Vec<Trial>,
}

impl LowLoadProbe {
    /// Below `lower`, the end found with trials of `duration`; none below `min`. `expected` is how probable a loss is, by
    /// what was seen near the knee, of a trial at a load that is so long.
    pub(super) fn below(
        lower: Rate,
        duration: Duration,
        min: Rate,
        expected: impl Fn(TrialInput) -> f64,
    ) -> Self {
        let duration = duration.mul_f64(LENGTH).max(Duration::from_nanos(1));
        let loads = SHARES.iter().filter_map(|share| Rate::pps(lower.as_pps() * share).ok());
        let place = |load| ProbedLoad { load, clean: false, borne: false, lossy: Vec::new() };
        let places: Vec<ProbedLoad> = loads.filter(|&load| load >= min).map(place).collect();
        let often = places.iter().any(|place| expected(TrialInput { load: place.load, duration }) > EXPECTED);
        let losses = if often { LOSSES_WHERE_EXPECTED } else { LOSSES };
        Self { duration, losses, places }
    }

    /// How long they take, when a full trial of `duration` waits so much longer.
    pub(super) fn cost(duration: Duration, waits: Duration) -> Duration {
        (waits + duration.mul_f64(LENGTH)) * SHARES.len() as u32
    }

    /// Each load once, from the highest down; then those again that lost and are not believed.
    pub(super) fn next_trial(&self) -> Option<TrialInput> {
        let fresh = self.places.iter().find(|place| !place.clean && place.lossy.is_empty());
        let believed = self.is_believed();
        let again = || self.places.iter().find(|place| !place.clean && !believed);
        // A clean load below a suspicion: the suspicion first.
        let place = match fresh {
            Some(fresh) if self.is_suspicious() && !believed && self.has_clean_below_a_loss() => {
                again().or(Some(fresh))
            }
            Some(fresh) => Some(fresh),
            None => again(),
        };
        place.map(|place| TrialInput { load: place.load, duration: self.duration })
    }

    /// Whether packets were lost that may be lost again.
    pub(super) fn is_suspicious(&self) -> bool {
        self.places.iter().any(|place| !place.lossy.is_empty())
    }

    fn has_clean_below_a_loss(&self) -> bool {
        let lossy = self.places.iter().position(|place| !place.lossy.is_empty() && !place.clean);
        lossy.is_some_and(|lossy| self.places[lossy..].iter().any(|place| place.clean))
    }

    pub(super) fn record(&mut self, trial: &Trial) {
        let Some(place) = self.places.iter_mut().find(|place| place.load == trial.input.load) else { return };
        let is_void = trial.is_void_at(dropline_trial::Ratio::ZERO);
        if trial.lost() > 0 && !is_void {
            place.lossy.push(trial.clone());
        } else {
            // A loss that does not come again is forgotten, and so is a place where ours does not end.
            place.clean = true;
            place.borne = trial.offered > 0 && !is_void;
            place.lossy.clear();
        }
    }

    fn is_believed(&self) -> bool {
        let lossy = || self.places.iter().filter(|place| !place.lossy.is_empty());
        lossy().count() >= LOADS || lossy().any(|place| place.lossy.len() >= self.losses)
    }

    /// The lowest load that lost packets, and the highest below it that did not.
    pub(super) fn found(&self) -> Option<(Rate, Option<Rate>)> {
        let lowest = self.lowest()?.input.load;
        let clean = self.places.iter().filter(|place| place.borne && place.load < lowest);
        Some((lowest, clean.map(|place| place.load).max()))
    }

    fn lowest(&self) -> Option<&Trial> {
        let lossy = self.places.iter().rev().find_map(|place| place.lossy.last());
        lossy.filter(|_| self.is_believed())
    }

    pub(super) fn caveat(&self) -> Option<Caveat> {
        self.lowest().map(|trial| Caveat::LossBelow {
            intended_load_pps: trial.input.load.as_pps(),
            offered: trial.offered,
            lost: trial.lost(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe() -> LowLoadProbe {
        expecting(0.01)
    }

    fn expecting(loss: f64) -> LowLoadProbe {
        let [lower, min] = [1000.0, 10.0].map(|pps| Rate::pps(pps).unwrap());
        LowLoadProbe::below(lower, Duration::from_secs(1), min, |_| loss)
    }

    /// Answers each probe with a number of lost packets; gives the loads that were asked.
    fn answer(probe: &mut LowLoadProbe, lost: &[u64]) -> Vec<u64> {
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
        assert_eq!(answer(&mut probe, &[1, 0, 1, 0, 0]), [900, 700, 900, 900, 500]);
        assert_eq!((probe.next_trial(), probe.found(), probe.caveat()), (None, None, None));
    }

    #[test]
    fn a_lossy_band_is_bracketed() {
        let mut probe = probe();
        assert_eq!(answer(&mut probe, &[1, 0, 3, 2, 0]), [900, 700, 900, 900, 500]);
        let [upper, lower] = [900.0, 700.0].map(|pps| Rate::pps(pps).unwrap());
        assert_eq!(probe.found(), Some((upper, Some(lower))));
        assert!(matches!(probe.caveat(), Some(Caveat::LossBelow { lost: 2, offered: 360, .. })));
    }

    #[test]
    fn where_a_loss_is_to_be_expected_it_must_come_once_more() {
        let mut dips = expecting(0.15);
        assert_eq!(answer(&mut dips, &[1, 0, 3, 2, 1]), [900, 700, 900, 900, 900]);
        assert!(dips.caveat().is_some());
        let mut dips = expecting(0.15);
        assert_eq!(answer(&mut dips, &[1, 0, 3, 2, 0, 0]), [900, 700, 900, 900, 900, 500]);
        assert_eq!((dips.next_trial(), dips.caveat()), (None, None));
    }

    #[test]
    fn a_floor_has_nothing_clean_below() {
        let mut probe = probe();
        assert_eq!(answer(&mut probe, &[1, 1, 1]), [900, 700, 500]);
        assert_eq!(probe.next_trial(), None);
        assert_eq!(probe.found(), Some((Rate::pps(500.0).unwrap(), None)));
    }
}
