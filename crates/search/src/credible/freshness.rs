//! Whether the last trials bear out what is believed: a target that became faster shows it in a run of them, and in nothing else.
//!
//! Of each trial it is asked how probable so few lost packets were by what was believed before it was made. Somebody bets, at fair
//! odds for the belief, that they are few. Where the target stayed the same he ever multiplies what he has by a factor with a
//! probability of no more than its inverse (Ville 1939; Vovk and Wang 2021 have the odds). He begins anew when he has lost all that he won, so that what was long ago
//! does not weigh.

use super::constants::freshness::{ASKS, ENOUGH, POWER};

/// The trials since he began.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// Logarithm of what he has.
    wealth: f64,
    trials: Vec<Since>,
}

#[derive(Clone, Copy, Debug)]
struct Since {
    log_load: f64,
    loss_ratio: f64,
    /// Whether it was asked by then whether the target became faster.
    is_asked: bool,
}

impl Run {
    /// Learns from a trial at a load, and how probable it was that it would lose less, and no more.
    pub(super) fn note(&mut self, log_load: f64, loss_ratio: f64, (less, no_more): (f64, f64)) {
        let no_more = no_more.clamp(1e-9, 1.0);
        let less = less.clamp(0.0, no_more);
        let gain = match no_more - less > 1e-9 {
            true => (libm::pow(no_more, POWER) - libm::pow(less, POWER)) / (no_more - less),
            false => POWER * libm::pow(no_more, POWER - 1.0),
        };
        let is_asked = self.has(ASKS);
        // What no other explains is denied by two that fail, and not by one.
        self.wealth = (self.wealth + libm::log(gain)).min(libm::log(4.0 * ENOUGH));
        self.trials.push(Since { log_load, loss_ratio, is_asked });
        if self.wealth <= 1e-9 {
            *self = Self::default();
        }
    }

    /// Whether he has so many times what he had.
    pub(super) fn has(&self, factor: f64) -> bool {
        self.wealth >= libm::log(factor)
    }

    /// The highest load at which one of these trials lost no more than is allowed, and none more at it or below since; and the
    /// lowest above it at which one lost more meanwhile.
    pub(super) fn met_and_failed(&self, allowed: f64) -> (f64, f64) {
        let (mut met, mut failed) = (f64::NEG_INFINITY, f64::INFINITY);
        for &Since { log_load, loss_ratio, is_asked } in self.trials.iter().rev() {
            match loss_ratio <= allowed {
                true if log_load < failed => met = met.max(log_load),
                true => {}
                // That was the target before.
                false if log_load <= met || !is_asked => break,
                false => failed = failed.min(log_load),
            }
        }
        (met, failed)
    }

    /// The upper end that these trials leave of one that was believed: where the target became faster, what failed above those that
    /// met the goal since, and nothing where none did; otherwise what ever failed above the last one that passed it, which is
    /// `next`.
    pub(super) fn upper(&self, end: f64, allowed: f64, next: impl Fn(f64) -> f64) -> f64 {
        let (met, failed) = self.met_and_failed(allowed);
        match self.has(ENOUGH) {
            true => failed.max(end),
            false if met >= end => next(met).max(end),
            false => end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::seed;
    use rand::Rng as _;

    /// A trial that loses nothing, or half, at a load at which nothing is lost with this probability.
    fn note(run: &mut Run, load: f64, is_met: bool, probable: f64) {
        let loses_nothing = (0.0, probable);
        let loses_half = (1.0 - 1e-12, 1.0);
        run.note(load, if is_met { 0.0 } else { 0.5 }, if is_met { loses_nothing } else { loses_half });
    }

    #[test]
    fn of_trials_that_lose_what_was_believed_few_make_rich() {
        let mut rich = 0;
        for number in 0..2000 {
            let mut chance = seed::generator(number);
            let mut run = Run::default();
            for _ in 0..30 {
                // Three in ten lose nothing, and the others any number.
                let drawn = chance.random::<f64>();
                run.note(1.0, drawn, if drawn < 0.3 { (0.0, 0.3) } else { (drawn, drawn) });
            }
            rich += u32::from(run.has(ENOUGH));
        }
        assert!(rich <= 40, "{rich} of 2000: one in fifty is 40");
    }

    #[test]
    fn what_the_last_trials_passed_is_no_upper_end() {
        let mut run = Run::default();
        let next = |_: f64| 9.0;
        note(&mut run, 1.0, false, 0.1);
        assert_eq!(run.upper(1.0, 0.0, next), 1.0);
        note(&mut run, 1.1, true, 0.2);
        assert_eq!(run.upper(1.0, 0.0, next), 9.0, "one alone: what failed above it before");
        assert_eq!(run.upper(1.2, 0.0, next), 1.2, "it is below the end");
        note(&mut run, 1.1, true, 0.01);
        note(&mut run, 1.2, true, 0.01);
        assert_eq!(run.upper(1.0, 0.0, next), f64::INFINITY, "the target became faster");
        note(&mut run, 1.5, false, 0.01);
        assert_eq!(run.upper(1.0, 0.0, next), 1.5, "and what failed since is an end");
        note(&mut run, 1.1, false, 0.01);
        note(&mut run, 1.0, false, 0.01);
        assert_eq!(run.upper(1.0, 0.0, next), 1.0, "two that fail as before deny it");
    }
}
