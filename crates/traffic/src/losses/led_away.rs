//! Which of a trial's packets a rule led elsewhere: they met no listener, while those of other streams were answered.

use crate::packet::received_set::ReceivedSet;
use crate::send::spread::Spread;
use dropline_account::Place;
use dropline_trial::Trial;

/// A stream that would have lost fewer than this by its share of the loss says nothing.
const LEAST: u64 = 10;

/// Moves what met no listener to [`Place::LedAway`], where a stream was spared: a service that is gone answers no stream, so
/// each loses its share. `intended` packets had their turns, and those in `seen` came back.
pub(crate) fn find(trial: &mut Trial, intended: u64, seen: &ReceivedSet, spread: &Spread) {
    let Some(lost_at) = &mut trial.lost_at else { return };
    let key = Place::NoListener.name();
    let lost = lost_at.get(key).copied().unwrap_or(0);
    if lost < LEAST || !is_one_spared(lost, intended, seen, spread) {
        return;
    }
    lost_at.remove(key);
    lost_at.insert(Place::LedAway.name().to_owned(), lost);
}

/// Whether a stream lost less than half of its share.
fn is_one_spared(lost: u64, intended: u64, seen: &ReceivedSet, spread: &Spread) -> bool {
    let mut streams = vec![[0_u64; 2]; spread.streams()];
    let mut turns = spread.turns();
    for index in 0..intended {
        let [had, missing] = &mut streams[turns.stream()];
        *had += 1;
        *missing += u64::from(seen.count(index..index + 1) == 0);
        turns.take();
    }
    streams.into_iter().any(|[had, missing]| {
        let share = u128::from(lost) * u128::from(had) / u128::from(intended.max(1));
        share >= u128::from(LEAST) && u128::from(missing) * 2 < share
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::{Part, Rate, TrialInput};
    use std::time::Duration;

    /// Of 1 600 packets of 16 streams, those that `lost` says are lost where nobody listens.
    fn places(lost: impl Fn(u64, usize) -> bool) -> Vec<(String, u64)> {
        let parts: Vec<Part> = (0..16).map(|number| Part { name: number.to_string(), share: 1 }).collect();
        let spread = Spread::new(&parts).unwrap();
        let mut seen = ReceivedSet::default();
        for index in (0..1_600).filter(|&index| !lost(index, spread.stream_of(index))) {
            seen.insert(index);
        }
        let missing = 1_600 - seen.count(0..1_600);
        let input = TrialInput { load: Rate::pps(1_600.0).unwrap(), duration: Duration::from_secs(1) };
        let lost_at = Some([("no_listener".to_owned(), missing)].into());
        let mut trial = Trial { lost_at, ..Trial::new(1, input, 7) };
        find(&mut trial, 1_600, &seen, &spread);
        trial.lost_at.unwrap().into_iter().collect()
    }

    #[test]
    fn what_met_no_listener_while_another_stream_was_answered_all_the_time_was_led_away() {
        assert_eq!(places(|_, stream| stream < 5), [("led_away".to_owned(), 500)]);
        assert_eq!(
            places(|index, stream| stream < 5 && index > 800).len(),
            1,
            "a rule that begins in mid-trial"
        );
        assert_eq!(places(|index, stream| stream < 5 && index > 800)[0].0, "led_away");
    }

    #[test]
    fn a_service_that_is_gone_meanwhile_loses_of_every_stream_and_is_not_excused() {
        assert_eq!(places(|index, _| index >= 1_000), [("no_listener".to_owned(), 600)]);
        assert_eq!(places(|index, _| (300..900).contains(&index)), [("no_listener".to_owned(), 600)]);
        assert_eq!(places(|index, _| index >= 1_595), [("no_listener".to_owned(), 5)]);
    }
}
