//! The first trials, forgotten when they look like those of a target that had to warm up, and taken back when it turns
//! out to be slow now and then.

use super::constants::discarded::{LEAST_TO_GO_ON, LONGER, LOOKS_BACK, STILL_COLD};
use super::diagnostics::Diagnostics;
use super::model::Evidence;
use dropline_trial::Caveat;

/// What was forgotten, and why.
#[derive(Debug)]
pub(super) struct Discarded {
    doubt: Diagnostics,
    trials: Vec<Evidence>,
    /// For the first load, tried again, found a faster target.
    by_first: bool,
}

impl Discarded {
    /// Parts what is to be forgotten from the rest, when so many trials have been made; `cold_until` is the number of the
    /// trial that showed that those before it found a slower target.
    pub(super) fn part(
        seen: &[Evidence],
        made: usize,
        cold_until: Option<usize>,
        doubt: Diagnostics,
    ) -> Option<(Self, Vec<Evidence>)> {
        let last = match cold_until {
            Some(number) if made >= number + LONGER => number + STILL_COLD,
            None if LOOKS_BACK.contains(&made) && doubt.warm_up.is_some() => made / 2,
            _ => return None,
        };
        let (trials, rest): (Vec<Evidence>, Vec<Evidence>) = seen.iter().partition(|one| one.number <= last);
        let forgotten = Self { doubt, trials, by_first: cold_until.is_some() };
        (!forgotten.trials.is_empty() && rest.len() >= LEAST_TO_GO_ON).then_some((forgotten, rest))
    }

    /// Whether it is undone by a target that is as slow as at first again.
    pub(super) fn is_undone_by_slowness(&self) -> bool {
        self.by_first
    }

    /// All trials again, with those since.
    pub(super) fn taken_back(self, since: &[Evidence]) -> Vec<Evidence> {
        self.trials.into_iter().chain(since.iter().copied()).collect()
    }

    /// What was said of the first trials when they were forgotten.
    pub(super) fn caveats(&self) -> Vec<Caveat> {
        Diagnostics { warm_up: self.doubt.warm_up, ..Diagnostics::default() }.caveats()
    }
}

#[cfg(test)]
mod tests {
    use super::super::random_orders::Strange;
    use super::*;

    fn seen(trials: usize) -> Vec<Evidence> {
        (1..=trials)
            .map(|number| Evidence { log_load: 16.0, packets: 9e6, lost: 0.0, doubted: 0.0, number })
            .collect()
    }

    fn numbers(of: &[Evidence]) -> Vec<usize> {
        of.iter().map(|one| one.number).collect()
    }

    #[test]
    fn what_a_cold_target_did_is_forgotten_nine_trials_later_and_taken_back_whole() {
        let part = |made: usize| Discarded::part(&seen(made), made, Some(6), Diagnostics::default());
        assert!(part(14).is_none());
        let (forgotten, rest) = part(15).unwrap();
        assert_eq!(numbers(&rest), (9..=15).collect::<Vec<_>>());
        assert!(forgotten.is_undone_by_slowness() && forgotten.caveats().is_empty());
        assert_eq!(numbers(&forgotten.taken_back(&rest)), (1..=15).collect::<Vec<_>>());
    }

    #[test]
    fn first_trials_that_look_bad_are_half_of_them_and_the_doubt_is_kept() {
        let strange = Strange { correlation: 0.9, by_chance: 0.002 };
        let cold = Diagnostics { warm_up: Some(strange), drift: Some(strange), ..Diagnostics::default() };
        let part = |made: usize, doubt: Diagnostics| Discarded::part(&seen(made), made, None, doubt);
        assert!(part(11, cold).is_none() && part(12, Diagnostics::default()).is_none());
        let (forgotten, rest) = part(12, cold).unwrap();
        assert_eq!(numbers(&rest), (7..=12).collect::<Vec<_>>());
        assert_eq!(forgotten.caveats(), [Caveat::WarmUp { by_chance: 0.002 }]);
        assert!(!forgotten.is_undone_by_slowness());
    }

    #[test]
    fn nothing_is_forgotten_when_too_little_would_be_left() {
        let few: Vec<Evidence> = seen(10);
        assert!(Discarded::part(&few, 15, Some(6), Diagnostics::default()).is_none());
    }
}
