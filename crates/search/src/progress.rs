//! What a search believes beyond its answer: for progress and report, never for a decision.

use dropline_trial::Rate;
use std::time::Duration;

/// What an algorithm with a model believes at some moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Belief {
    /// The loss curve, by ascending load.
    pub curve: Vec<CurvePoint>,
    /// What each goal's interval would come to, in the order of the goals; `None` where there is no interval.
    pub outlooks: Vec<Option<Outlook>>,
}

/// Mean loss ratio at a load: what is believed of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The load.
    pub load: Rate,
    /// 2.5, 50 and 97.5 % points of the belief.
    pub low: f64,
    /// See `low`.
    pub median: f64,
    /// See `low`.
    pub high: f64,
}

/// How one interval would become narrower, when widths fall with the square root of the trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// (upper − lower) ÷ upper now.
    pub width: f64,
    /// Time of trials from now until half of it.
    pub halved_in: Duration,
    /// Time of trials from now until the goal's width; `None` where that is reached.
    pub narrow_in: Option<Duration>,
}

impl Outlook {
    /// From a width that a search of so much time led to; what is to come takes a trial at least, of such a `cost`.
    pub(crate) fn new(width: f64, wanted: f64, spent: Duration, cost: Duration) -> Self {
        let until = |width_then: f64| {
            let ratio = width / width_then.max(1e-9);
            let more = spent.as_secs_f64() * (ratio * ratio - 1.0).max(0.0);
            Duration::try_from_secs_f64(more).unwrap_or(Duration::MAX).max(cost)
        };
        Self { width, halved_in: until(0.5 * width), narrow_in: (width > wanted).then(|| until(wanted)) }
    }

    /// The width after `more` time of trials.
    pub fn width_after(&self, more: Duration) -> f64 {
        let whole = self.halved_in.as_secs_f64() / 3.0;
        if whole > 0.0 { self.width * libm::sqrt(whole / (whole + more.as_secs_f64())) } else { self.width }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_width_takes_four_times_the_trials() {
        let outlook = Outlook::new(0.02, 0.005, Duration::from_secs(30), Duration::from_millis(1500));
        assert_eq!(outlook.halved_in, Duration::from_secs(90));
        assert_eq!(outlook.narrow_in, Some(Duration::from_secs(450)));
        assert!((outlook.width_after(Duration::from_secs(90)) - 0.01).abs() < 1e-12);
        let second = Duration::from_secs(1);
        assert_eq!(Outlook::new(0.004, 0.005, 6 * second, second).narrow_in, None);
    }

    #[test]
    fn what_is_to_come_takes_a_trial_at_least() {
        let (spent, second) = (Duration::from_secs(36), Duration::from_secs(1));
        assert_eq!(Outlook::new(0.00501, 0.005, spent, second).narrow_in, Some(second));
    }
}
