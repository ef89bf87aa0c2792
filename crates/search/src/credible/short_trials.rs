//! Shorter trials, where trials cost next to nothing but their length and their length does not matter.
//!
//! A steady target is found as well with a fifth of the time a trial. Two whole trials then have to agree with
//! what the short ones led to expect; where they do not, or trials scatter, the short ones are forgotten.

use super::constants::diagnostics::DRAWS;
use super::constants::short_trials::{AGREEING, FEWEST, LEFT, MOST, SHORT, SURPRISE, WAITS};
use super::diagnostics;
use super::model::Evidence;
use super::particles::Particles;
use dropline_trial::{LoadRange, Rate};
use std::time::Duration;

/// Whether trials are short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ShortTrials {
    /// Nothing is known against it; so many were made.
    Trying { made: usize },
    /// The answer would be narrow; so many whole trials were met, with surprises of this sum.
    Agreeing { met: usize, surprises: f64 },
    /// Whole trials only.
    Over,
}

impl ShortTrials {
    /// How long the next trial is at a load, when a whole one takes `whole` and the longest waits were these.
    pub(super) fn duration(
        self,
        load: Rate,
        range: LoadRange,
        whole: Duration,
        waits: Option<Duration>,
    ) -> Duration {
        let short = whole.mul_f64(SHORT);
        let fits = matches!(self, Self::Trying { .. })
            && waits.is_some_and(|waits| waits <= whole.mul_f64(WAITS))
            && load.as_pps() * short.as_secs_f64() >= FEWEST
            // What is said of an end of the range rests on whole trials.
            && range.min() < load
            && load < range.max();
        if fits { short } else { whole }
    }

    /// A trial was made.
    pub(super) fn note(&mut self, whole: bool) {
        if let (Self::Trying { made }, false) = (&mut *self, whole) {
            *made += 1;
        }
    }

    /// Whether whole ones are to be asked, when what is believed would be narrow or not.
    pub(super) fn ask_whole_ones(&mut self, narrow: bool) {
        // Where so many do not make it narrow, something is not as they make believe.
        if matches!(self, Self::Trying { made } if narrow || *made >= MOST) {
            *self = Self::Agreeing { met: 0, surprises: 0.0 };
        }
    }

    /// There is time for so many whole trials yet.
    pub(super) fn leave_time(&mut self, left: usize) {
        self.ask_whole_ones(left <= LEFT && matches!(self, Self::Trying { made: 1.. }));
    }

    /// What was believed met a whole trial; `false` when they disagree.
    pub(super) fn meets(&mut self, believed: &Particles, whole: &Evidence) -> bool {
        let Self::Agreeing { met, surprises } = self else { return true };
        let Some(surprise) = diagnostics::surprise(&believed.sample(DRAWS), whole) else { return true };
        // What is lost far above a knee, where another limit may begin, may deny what is believed and does not bear it out.
        if whole.is_far() {
            return surprise.abs() <= SURPRISE;
        }
        *met += 1;
        *surprises += surprise;
        surprises.abs() <= SURPRISE * libm::sqrt(*met as f64)
    }

    /// Whether an answer may rest on what was measured so far.
    pub(super) fn is_borne_out(self) -> bool {
        match self {
            Self::Trying { made } => made == 0,
            Self::Agreeing { met, .. } => met >= AGREEING,
            Self::Over => true,
        }
    }
}

/// Whether a trial was shorter than a whole one.
pub(super) fn is_short(seen: &Evidence, whole: Duration) -> bool {
    seen.seconds() < 0.5 * (1.0 + SHORT) * whole.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn agreeing(met: usize) -> ShortTrials {
        ShortTrials::Agreeing { met, surprises: 0.0 }
    }

    fn duration(short: ShortTrials, pps: u64, waits: Option<u64>) -> Duration {
        let rate = |pps: u64| Rate::from_millipps(pps * 1000);
        let range = LoadRange::new(rate(100), rate(1_000_000)).unwrap();
        short.duration(rate(pps), range, SECOND, waits.map(Duration::from_millis))
    }

    #[test]
    fn a_trial_is_short_where_waits_are_known_to_be_short_and_packets_are_enough() {
        let trying = ShortTrials::Trying { made: 0 };
        assert_eq!(duration(trying, 10_000, Some(20)), Duration::from_millis(200));
        assert_eq!(duration(trying, 10_000, None), SECOND, "waits are not known");
        assert_eq!(duration(trying, 10_000, Some(500)), SECOND, "waits cost more than is saved");
        assert_eq!(duration(trying, 4_000, Some(20)), SECOND, "800 packets");
        assert_eq!(duration(trying, 1_000_000, Some(20)), SECOND, "the highest load");
        assert_eq!(duration(agreeing(0), 10_000, Some(20)), SECOND);
        assert_eq!(duration(ShortTrials::Over, 10_000, Some(20)), SECOND);
    }

    #[test]
    fn an_answer_rests_on_whole_trials() {
        let mut short = ShortTrials::Trying { made: 0 };
        short.note(true);
        assert!(short.is_borne_out(), "all were whole");
        short.note(false);
        assert!(!short.is_borne_out() && !agreeing(1).is_borne_out());
        assert!(agreeing(2).is_borne_out() && ShortTrials::Over.is_borne_out());
    }
}
