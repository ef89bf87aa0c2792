//! A measurer whose trials take no time.

use crate::{Moment, Offer, Settings, System};
use dropline_trial::{
    Arrival, Delay, DelayKind, LoadRange, Measurer, Rate, Ratio, TrafficProfile, Trial, TrialInput, seed,
};
use rand_distr::{Distribution as _, Poisson};
use std::convert::Infallible;
use std::time::Duration;

/// Chance is drawn from one stream for the system and another for the arrivals, so that a change of the
/// arrival process does not change what the system does.
const ARRIVALS: u64 = 1;

/// The loads a search on a `sim:` target uses when none are given: 10 kpps to 64-byte line rate on 10 Gbit/s
/// Ethernet.
pub fn default_range() -> LoadRange {
    LoadRange::new(Rate::from_millipps(10_000_000), Rate::from_millipps(14_880_952_000))
        .expect("10 kpps is below 14.88 Mpps")
}

/// Performs trials on a simulated system, in virtual time.
///
/// Counts are simulated, and of some systems delays: order and duplicates are not known of it.
#[derive(Clone, Debug)]
pub struct Simulated {
    system: System,
    capacity: Rate,
    overhead: Duration,
    profile: TrafficProfile,
    next_trial: u64,
}

impl Simulated {
    /// A system that will be asked for trials numbered from `first_trial`; trial k has the same chance
    /// whichever number came first, so a resumed search goes on as it would have.
    pub fn new(system: System, settings: Settings, profile: TrafficProfile, first_trial: u64) -> Self {
        let capacity = settings.capacity_of(system);
        Self { system, capacity, overhead: settings.overhead, profile, next_trial: first_trial }
    }

    /// What is simulated.
    pub fn system(&self) -> System {
        self.system
    }

    /// The capacity chosen or drawn.
    pub fn capacity(&self) -> Rate {
        self.capacity
    }

    /// The load up to which one more trial of `duration` loses more than `loss_ratio` with a probability of
    /// at most `exceed_ratio`, or at most 0.5 where that is 0.
    ///
    /// `None` where no load parts good trials from bad ones, and for arrivals that are not constant.
    pub fn truth(&self, loss_ratio: Ratio, duration: Duration, exceed_ratio: Ratio) -> Option<Rate> {
        let known = self.profile.arrival.is_constant();
        known.then(|| self.system.truth(self.capacity, loss_ratio, duration, exceed_ratio)).flatten()
    }

    /// How many packets the arrival process sends in a trial.
    fn arrivals(&self, input: TrialInput, trial_seed: u64) -> u64 {
        if self.profile.arrival != Arrival::poisson() {
            return input.load.packets_in(input.duration);
        }
        let mean = input.load.as_pps() * input.duration.as_secs_f64();
        let mut chance = seed::generator(trial_seed);
        chance.set_stream(ARRIVALS);
        Poisson::new(mean).map_or(mean, |packets| packets.sample(&mut chance)) as u64
    }
}

impl Measurer for Simulated {
    type Error = Infallible;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Infallible> {
        let number = self.next_trial;
        self.next_trial += 1;
        let trial_seed = self.profile.trial_seed(number);
        let packets = self.arrivals(input, trial_seed);
        let constant = self.profile.arrival.is_constant();
        let offer = Offer { packets, load: input.load, duration: input.duration, constant };
        let moment = Moment { number, seed: self.profile.seed };
        let mut chance = seed::generator(trial_seed);
        let lost = self.system.lost_at(moment, self.capacity, &offer, &mut chance);
        let delays = self.system.delays(self.capacity, &offer, &mut chance);
        Ok(Trial {
            delay_kind: delays.as_ref().map(|_| DelayKind::RoundTrip),
            delay: delays.map_or_else(Delay::default, Delay::of),
            intended: Some(packets),
            offered: packets,
            forwarded: packets.saturating_sub(lost),
            elapsed: input.duration + self.overhead,
            ..Trial::new(number, input, trial_seed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(pps: f64, seconds: f64) -> TrialInput {
        TrialInput { load: Rate::pps(pps).unwrap(), duration: Duration::from_secs_f64(seconds) }
    }

    fn simulated(name: &str, profile: TrafficProfile, first_trial: u64) -> Simulated {
        let settings = Settings { capacity: Some(Rate::pps(9e6).unwrap()), ..Settings::default() };
        Simulated::new(System::named(name).unwrap(), settings, profile, first_trial)
    }

    #[test]
    fn a_trial_costs_its_duration_and_the_overhead() {
        let trial = simulated("hard", TrafficProfile::default(), 1).measure(input(9e6, 30.0)).unwrap();
        assert_eq!((trial.duration.as_millis(), trial.elapsed.as_millis()), (30_000, 30_500));
        assert_eq!((trial.offered, trial.intended, trial.lost()), (270_000_000, Some(270_000_000), 0));
    }

    #[test]
    fn a_resumed_simulation_goes_on_as_if_it_had_not_stopped() {
        for system in System::all() {
            for arrival in [Arrival::constant(), Arrival::poisson()] {
                let profile = TrafficProfile { arrival, ..TrafficProfile::default() };
                let mut whole = simulated(system.name(), profile.clone(), 1);
                let all: Vec<Trial> = (0..6).map(|_| whole.measure(input(9.1e6, 1.0)).unwrap()).collect();
                let mut rest = simulated(system.name(), profile, 4);
                for trial in &all[3..] {
                    assert_eq!(rest.measure(input(9.1e6, 1.0)).unwrap(), *trial);
                }
            }
        }
    }

    #[test]
    fn poisson_arrivals_change_how_many_packets_come_and_not_what_the_system_does() {
        let poisson = TrafficProfile { arrival: Arrival::poisson(), ..TrafficProfile::default() };
        let mut constant = simulated("noisy", TrafficProfile::default(), 1);
        let mut random = simulated("noisy", poisson, 1);
        let counts: Vec<f64> = (0..400)
            .map(|_| {
                let (even, odd) = (
                    constant.measure(input(9.5e6, 1.0)).unwrap(),
                    random.measure(input(9.5e6, 1.0)).unwrap(),
                );
                assert_eq!(random.arrivals(odd.input, odd.seed), odd.offered);
                if even.lost() > 0 && odd.lost() > 0 {
                    assert_eq!(even.forwarded, odd.forwarded, "the same capacity in trial {}", even.number);
                }
                odd.offered as f64
            })
            .collect();
        let mean = counts.iter().sum::<f64>() / 400.0;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 399.0;
        assert!((mean - 9.5e6).abs() < 4.0 * (9.5e6f64 / 400.0).sqrt(), "{mean}");
        assert!((variance / 9.5e6 - 1.0).abs() < 4.0 * (2.0f64 / 400.0).sqrt(), "{variance}");
    }

    #[test]
    fn a_trial_of_a_billion_packets_is_counted_without_a_loop_over_them() {
        for system in System::all() {
            for arrival in [Arrival::constant(), Arrival::poisson()] {
                let profile = TrafficProfile { arrival, ..TrafficProfile::default() };
                let mut long = simulated(system.name(), profile, 1);
                let trial = long.measure(input(1e12, 1e6)).unwrap();
                assert!(trial.forwarded <= trial.offered && trial.offered > 990_000_000_000_000_000);
            }
        }
    }

    #[test]
    fn a_trial_too_short_for_a_packet_is_answered_with_nothing_offered() {
        for system in System::all() {
            let mut target = simulated(system.name(), TrafficProfile::default(), 1);
            let trial = target.measure(input(0.001, 1.0)).unwrap();
            assert_eq!((trial.offered, trial.forwarded), (0, 0));
        }
    }

    #[test]
    fn a_truth_is_only_claimed_for_the_arrivals_it_was_derived_for() {
        let ask = |arrival| {
            let profile = TrafficProfile { arrival, ..TrafficProfile::default() };
            simulated("hard", profile, 1).truth(Ratio::ZERO, Duration::from_secs(1), Ratio::ZERO)
        };
        assert_eq!(ask(Arrival::constant()), Some(Rate::pps(9e6).unwrap()));
        assert_eq!(ask(Arrival::poisson()), None);
    }
}
