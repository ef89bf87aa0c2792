//! The first trials, forgotten when they look like those of a target that had to warm up, and taken back when it turns
//! out to be slow now and then.

use super::constants::discarded::{LEAST_TO_GO_ON, LONGER, LOOKS_BACK, STILL_COLD};
use super::model::Evidence;

/// What was forgotten, and why.
#[derive(Debug)]
pub(super) struct Discarded {
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
        warms_up: bool,
    ) -> Option<(Self, Vec<Evidence>)> {
        let last = match cold_until {
            Some(number) if made >= number + LONGER => number + STILL_COLD,
            None if LOOKS_BACK.contains(&made) && warms_up => made / 2,
            _ => return None,
        };
        let (trials, rest): (Vec<Evidence>, Vec<Evidence>) = seen.iter().partition(|one| one.number <= last);
        let forgotten = Self { trials, by_first: cold_until.is_some() };
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
}

#[cfg(test)]
mod tests {
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
        let part = |made: usize| Discarded::part(&seen(made), made, Some(6), false);
        assert!(part(14).is_none());
        let (forgotten, rest) = part(15).unwrap();
        assert_eq!(numbers(&rest), (9..=15).collect::<Vec<_>>());
        assert!(forgotten.is_undone_by_slowness());
        assert_eq!(numbers(&forgotten.taken_back(&rest)), (1..=15).collect::<Vec<_>>());
    }

    #[test]
    fn first_trials_that_look_bad_are_half_of_them() {
        let part = |made: usize, warms_up: bool| Discarded::part(&seen(made), made, None, warms_up);
        assert!(part(11, true).is_none() && part(12, false).is_none());
        let (forgotten, rest) = part(12, true).unwrap();
        assert_eq!(numbers(&rest), (7..=12).collect::<Vec<_>>());
        assert!(!forgotten.is_undone_by_slowness());
    }

    #[test]
    fn nothing_is_forgotten_when_too_little_would_be_left() {
        let few: Vec<Evidence> = seen(10);
        assert!(Discarded::part(&few, 15, Some(6), false).is_none());
    }
}
