//! A change that was measured again: what the fresh values say of it.

use super::{SizedChange, Trend, WantedEffect};
use crate::compare::Verdict;
use crate::sample::{deviation, mean};
use crate::special::student_quantile;

/// What fresh values are held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Against<'a> {
    /// Values of what was good, measured in turns with them: what a day has in common is in both.
    Good(&'a [f64]),
    /// The level before the change, of so many nights.
    Before {
        /// The level.
        level: f64,
        /// Its nights.
        nights: usize,
    },
}

/// What fresh values say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confirmed {
    /// Fresh level ÷ the other − 1.
    pub size: f64,
    /// Lower end of its 95 % interval.
    pub size_low: f64,
    /// Upper end.
    pub size_high: f64,
    /// What that says.
    pub verdict: Verdict,
}

impl Confirmed {
    /// Of values that scatter as the nights of this history do; `None` where there are none on a side.
    ///
    /// # Panics
    /// If a value is not above zero.
    pub fn of(fresh: &[f64], against: Against<'_>, trend: &Trend, wanted: WantedEffect) -> Option<Self> {
        let logs = |values: &[f64]| {
            assert!(values.iter().all(|value| *value > 0.0), "values are above zero");
            values.iter().map(|value| value.ln()).collect::<Vec<_>>()
        };
        let level = |values: &[f64]| mean(&logs(values));
        let count = |values: &[f64]| values.len() as f64;
        let alike = trend.likeness.clamp(0.0, 0.95);
        let (other, variance) = match against {
            Against::Good(good) => (level(good)?, (1.0 - alike) * (1.0 / count(fresh) + 1.0 / count(good))),
            Against::Before { level, nights } => {
                let today = alike + (1.0 - alike) / count(fresh);
                (level.ln(), today + (1.0 + alike) / (1.0 - alike) / nights.max(1) as f64)
            }
        };
        let nights = trend.segments.last().map_or(0, |last| last.end) as f64;
        let freedom = (nights * (1.0 - alike) / (1.0 + alike) - 2.0).max(3.0);
        // Nights that happened to be alike say nothing of fresh values that are not.
        let apart = |values: &[f64]| deviation(&logs(values)).unwrap_or(0.0);
        let beside = if let Against::Good(good) = against { apart(good) } else { 0.0 };
        let scatter = trend.scatter.max(apart(fresh)).max(beside);
        let half = student_quantile(freedom, 0.975) * scatter * variance.sqrt();
        let SizedChange { size, low, high, verdict } = SizedChange::of(level(fresh)? - other, half, wanted);
        Some(Self { size, size_low: low, size_high: high, verdict })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::Night;

    const WANTED: WantedEffect = WantedEffect { smallest_effect: 0.02, more_is_better: true };

    /// Twenty nights that scatter by a hundredth, and three of a level a tenth lower.
    fn trend() -> Trend {
        let level = |index: usize| if index < 20 { 1e6 } else { 9e5 };
        let value = |index: usize| level(index) * (1.0 + 0.01 * (index as f64 * 2.4).sin());
        let night = |index| Night { day: index as f64, value: value(index), error: None, is_marked: false };
        Trend::of(&(0..23).map(night).collect::<Vec<_>>(), WANTED).unwrap()
    }

    #[test]
    fn fresh_values_of_the_new_level_confirm_it_and_those_of_the_old_one_do_not() {
        let trend = trend();
        let before = Against::Before { level: 1e6, nights: 20 };
        let of = |fresh: &[f64], against| Confirmed::of(fresh, against, &trend, WANTED).unwrap();
        let confirmed = of(&[9.0e5, 9.05e5], before);
        assert_eq!(confirmed.verdict, Verdict::Regressed);
        assert!(confirmed.size_low < -0.0975 && -0.0975 < confirmed.size_high, "{confirmed:?}");
        assert_ne!(of(&[9.98e5, 1.003e6], before).verdict, Verdict::Regressed);
        assert_eq!(Confirmed::of(&[], before, &trend, WANTED), None);
    }

    #[test]
    fn fresh_values_that_are_further_apart_than_the_nights_widen_what_they_say() {
        let alike: Vec<Night> = (0..16)
            .map(|index| Night {
                day: f64::from(index),
                value: if index < 8 { 1e6 } else { 9e5 },
                error: None,
                is_marked: false,
            })
            .collect();
        let trend = Trend::of(&alike, WANTED).unwrap();
        let of = |fresh: &[f64]| {
            Confirmed::of(fresh, Against::Before { level: 1e6, nights: 8 }, &trend, WANTED).unwrap()
        };
        let apart = of(&[1.02e6, 1.10e6]);
        assert!(apart.size_low < 0.02 && apart.size_high > 0.1, "{apart:?}");
        assert_ne!(apart.verdict, Verdict::Improved);
    }

    #[test]
    fn what_a_day_has_in_common_is_no_change_beside_a_good_one() {
        let trend = trend();
        let of = |fresh: &[f64], good: &[f64]| {
            Confirmed::of(fresh, Against::Good(good), &trend, WANTED).unwrap().verdict
        };
        assert_eq!(of(&[9e5, 9.01e5], &[1e6, 1.001e6]), Verdict::Regressed);
        assert_ne!(of(&[9e5, 9.01e5], &[9e5, 9.02e5]), Verdict::Regressed);
        let few = Confirmed::of(&[9e5], Against::Good(&[1e6]), &trend, WANTED).unwrap();
        let more = Confirmed::of(&[9e5; 4], Against::Good(&[1e6; 4]), &trend, WANTED).unwrap();
        assert!(more.size_high - more.size_low < few.size_high - few.size_low);
        assert_eq!(Confirmed::of(&[9e5], Against::Good(&[]), &trend, WANTED), None);
    }
}
