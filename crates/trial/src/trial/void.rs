//! Why a trial is no evidence: said in it.

use crate::{Caveat, Ratio, Trial};

impl Trial {
    /// Keeps why it is [void](Trial::is_void_at) at a goal's loss ratio, where it is: what of its loss may not be the target's,
    /// what was not offered, and what our own side dropped. A doubt of an earlier count of its loss gives way.
    pub fn say_why_void(&mut self, ratio: Ratio) {
        if !self.is_void_at(ratio) || self.tells_nothing() {
            return;
        }
        let (lost, ours) = (self.lost(), self.lost_by_us());
        if ours > 0 {
            if let Some(starved) = self.starved_target() {
                self.caveats.retain(|caveat| !matches!(caveat, Caveat::TargetStarved { .. }));
                self.caveats.push(starved);
            }
            self.caveats.retain(|caveat| !matches!(caveat, Caveat::LossDoubted { .. }));
            if !self.is_told(&["answers_after_drain"]) {
                self.caveats.push(Caveat::LossDoubted { lost, ours });
            }
        }
        if self.generator_lost > 0 && !self.is_told(&["generator_lost", "delay_unknown"]) {
            self.caveats.push(Caveat::GeneratorLost { dropped: self.generator_lost });
        }
        let is_short = self.offered == 0 || self.is_short();
        let intended = self.intended.unwrap_or(0);
        if is_short && !self.is_told(&["generator_limited", "link_down", "left_elsewhere", "interrupted"]) {
            let offered = self.offered;
            self.caveats.push(Caveat::GeneratorLimited { intended, offered, error: None, interface: None });
        }
    }

    fn is_told(&self, codes: &[&str]) -> bool {
        self.caveats.iter().any(|caveat| codes.contains(&caveat.code()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::disturbance::Disturbance;
    use crate::{Delay, Rate, TargetActivity, TrialInput};
    use dropline_stats::Histogram;
    use proptest::prelude::*;
    use std::time::Duration;

    fn second() -> TrialInput {
        TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) }
    }

    #[test]
    fn replies_that_are_late_while_the_target_had_no_cpu_make_a_trial_void_and_that_is_said() {
        // 20 of 1 000 replies took 3 ms where a goal wants 2, and others had the target's CPU for 21 ms of the second.
        let mut delays = Histogram::new();
        delays.record_n(30_000, 980);
        delays.record_n(3_000_000, 20);
        let watched = TargetActivity {
            waited_ns: Some(21_000_000),
            others_ns: Some(1_790_000_000),
            ..TargetActivity::default()
        };
        let service_delay = Delay { histogram: Some(delays), ..Delay::default() };
        let counted =
            Trial { intended: Some(1000), offered: 1000, forwarded: 1000, ..Trial::new(1, second(), 7) };
        let mut trial = Trial { service_delay, watched: Some(watched), ..counted };
        trial.forward_within(Duration::from_millis(2));
        let ratio = Ratio::new(0.01).unwrap();
        assert!(trial.is_void_at(ratio) && trial.caveats.is_empty());
        trial.say_why_void(ratio);
        let codes: Vec<&str> = trial.caveats.iter().map(Caveat::code).collect();
        assert_eq!(codes, ["target_starved", "loss_doubted"]);
        trial.say_why_void(ratio);
        assert_eq!(trial.caveats.len(), 2, "once");
    }

    proptest! {
        #[test]
        fn a_void_trial_says_why(
            intended in proptest::option::of(0..3000u64),
            [offered, back, dropped, displaced] in prop::array::uniform4(0..3000u64),
            [waited_ms, others_ms, own_ms] in prop::array::uniform3(0..2000u64),
            bound in proptest::option::of(0..3000u64),
            goal in 0..1000u32,
            place in prop::sample::select(vec!["receive_buffer", "unexplained", "link_down", "led_away", "checksum"]),
            told in 0..4u8,
        ) {
            let ns = |ms: u64| Some(ms * 1_000_000);
            let mut delays = Histogram::new();
            (0..back.min(offered)).for_each(|at| delays.record_n(at * 1000, 1));
            let mut trial = Trial {
                intended,
                offered,
                forwarded: back,
                generator_lost: dropped / 3,
                disturbance: Some(Disturbance { displaced: displaced / 10, waited: Duration::from_millis(own_ms / 4) }),
                delay: Delay { histogram: Some(delays), ..Delay::default() },
                watched: Some(TargetActivity { waited_ns: ns(waited_ms), others_ns: ns(others_ms), ..TargetActivity::default() }),
                ..Trial::new(1, second(), 7)
            };
            trial.lost_at = Some([(place.to_owned(), trial.lost())].into());
            match told {
                1 => trial.caveats.push(Caveat::LinkDown { interface: "lo".into() }),
                2 => trial.caveats.push(Caveat::LeftElsewhere { packets: 1, interface: "away".into() }),
                3 => trial.caveats.push(Caveat::Reported { code: "loss_doubted".into(), text: "so".into() }),
                _ => {}
            }
            if let Some(bound) = bound {
                trial.forward_within(Duration::from_micros(bound));
            }
            let ratio = Ratio::new(f64::from(goal) / 1000.0).unwrap();
            let before = trial.caveats.clone();
            trial.say_why_void(ratio);
            if trial.is_void_at(ratio) {
                let says = |caveat: &Caveat| caveat.disturbs() || caveat.invalidates() || caveat.code() == "delay_unknown";
                prop_assert!(trial.caveats.iter().any(says), "{trial:?}");
            } else {
                prop_assert_eq!(&trial.caveats, &before, "a trial that counts needs no excuse");
            }
        }
    }
}
