//! The simulated systems, by name.

mod breakdown;
mod bucket;
mod clumped;
mod drooping;
mod inconsistent;
mod knee;
mod lossy_below;
mod mixed;
mod overdispersed;
mod queue;
mod random;
mod restless;
mod smooth;
mod steady;

use dropline_stats::Histogram;
use dropline_trial::{Rate, Ratio};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use std::time::Duration;

/// Every system, in the order of help texts. A new one is a file beside this and a line here.
static ALL: [&dyn Behaviour; 33] = [
    &knee::HARD,
    &smooth::CONSISTENT,
    &smooth::SOFT,
    &knee::NOISY,
    &knee::DIPS,
    &inconsistent::INCONSISTENT,
    &steady::LOSSLESS,
    &steady::DEAD,
    &clumped::CLUMPED,
    &overdispersed::OVERDISPERSED,
    &drooping::DROOPING,
    &breakdown::BREAKDOWN,
    &bucket::BUCKET,
    &random::RANDOM,
    &restless::TWO_STATE,
    &restless::DRIFT,
    &lossy_below::FLOOR,
    &lossy_below::BAND,
    &lossy_below::RANDOM_LOSS,
    &lossy_below::SLOPE,
    &restless::COLD_START,
    &mixed::REORDERING,
    &mixed::GRADUAL,
    &mixed::RED,
    &mixed::NEAR_GOAL,
    &mixed::MICROBURSTS,
    &mixed::SLOW_START,
    &mixed::OUTAGES,
    &mixed::PAUSES,
    &mixed::MODES,
    &mixed::HASHING,
    &mixed::TWO_KNEES,
    &queue::QUEUE,
];

/// How a system under test behaves.
pub trait Behaviour: fmt::Debug + Send + Sync {
    /// The word after `sim:`, and what it stands for, in one line.
    fn name_and_about(&self) -> [&'static str; 2];

    /// The capacity around which one is drawn when none is chosen: the middle of the default range.
    fn nominal_capacity(&self) -> Rate {
        Rate::from_millipps(9_000_000_000)
    }

    /// How many packets of an offer are lost by a system with this capacity.
    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64;

    /// The same for a trial at its place in a search; another answer only where systems change meanwhile.
    fn lost_at(&self, _: Moment, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        self.lost(capacity, offer, chance)
    }

    /// How long each packet of an offer was under way; `None` where only counts are simulated.
    fn delays(&self, _capacity: Rate, _offer: &Offer, _chance: &mut ChaCha8Rng) -> Option<Histogram> {
        None
    }

    /// The load up to which one more trial at constant load, `duration` long, loses more than `loss_ratio`
    /// with at most `probability`; `None` if no load parts good trials from bad ones.
    fn truth(&self, capacity: Rate, loss_ratio: Ratio, duration: Duration, probability: f64) -> Option<Rate>;
}

/// Where a trial stands in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// From 1.
    pub number: u64,
    /// Of the search: the chance of what lasts longer than a trial.
    pub seed: u64,
}

/// What one trial offers to a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// How many packets.
    pub packets: u64,
    /// The intended load.
    pub load: Rate,
    /// Over which time.
    pub duration: Duration,
    /// Whether they come at equal distances; otherwise their number is chance.
    pub constant: bool,
}

impl Offer {
    /// Packets a second that came: the intended load when it is constant, else what chance made of it.
    fn pps(&self) -> f64 {
        if self.constant { self.load.as_pps() } else { self.packets as f64 / self.duration.as_secs_f64() }
    }

    /// ⌈(load − `limit`) · duration⌉: what is above a limit of packets a second, at most all.
    fn above(&self, limit: Rate) -> u64 {
        const PER_PACKET: u128 = 1_000_000_000_000; // millipackets a second × nanoseconds
        let nanos = self.duration.as_nanos();
        let forwarded = u128::from(limit.as_millipps()) * nanos;
        let came = if self.constant {
            u128::from(self.load.as_millipps()) * nanos
        } else {
            u128::from(self.packets) * PER_PACKET
        };
        let above = came.saturating_sub(forwarded).div_ceil(PER_PACKET);
        self.packets.min(u64::try_from(above).unwrap_or(u64::MAX))
    }
}

/// One of the simulated systems.
#[derive(Clone, Copy, Debug)]
pub struct System(&'static dyn Behaviour);

/// A word that names no simulated system.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no simulated system {word:?}; there are {names}", names = System::names().join(", "))]
pub struct UnknownSystem {
    /// What was asked for.
    pub word: String,
}

impl System {
    /// The system called `word`.
    ///
    /// # Errors
    /// If there is none; the message lists those there are.
    pub fn named(word: &str) -> Result<Self, UnknownSystem> {
        Self::all().find(|system| system.name() == word).ok_or_else(|| UnknownSystem { word: word.into() })
    }

    /// Every system.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(|&behaviour| Self(behaviour))
    }

    /// Every name.
    pub fn names() -> Vec<&'static str> {
        Self::all().map(Self::name).collect()
    }

    /// The word after `sim:`.
    pub fn name(self) -> &'static str {
        self.0.name_and_about()[0]
    }

    /// What it stands for, in one line.
    pub fn about(self) -> &'static str {
        self.0.name_and_about()[1]
    }

    /// The capacity around which one is drawn when none is chosen.
    pub fn nominal_capacity(self) -> Rate {
        self.0.nominal_capacity()
    }

    /// How many packets of an offer are lost by a system with this capacity; never more than were offered.
    pub fn lost(self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        self.0.lost(capacity, offer, chance).min(offer.packets)
    }

    /// The same for a trial at its place in a search, for systems that change meanwhile.
    pub fn lost_at(self, moment: Moment, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        self.0.lost_at(moment, capacity, offer, chance).min(offer.packets)
    }

    /// How long each packet of an offer was under way; `None` where only counts are simulated.
    pub fn delays(self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> Option<Histogram> {
        self.0.delays(capacity, offer, chance)
    }

    /// The load up to which one more trial of `duration` at constant load loses more than `loss_ratio` with a
    /// probability of at most `exceed_ratio`, or at most 0.5 where that is 0.
    ///
    /// It depends on the duration wherever loss is a matter of chance. `None` if no load parts good trials
    /// from bad ones.
    pub fn truth(
        self,
        capacity: Rate,
        loss_ratio: Ratio,
        duration: Duration,
        exceed_ratio: Ratio,
    ) -> Option<Rate> {
        let probability = if exceed_ratio == Ratio::ZERO { 0.5 } else { exceed_ratio.as_f64() };
        self.0.truth(capacity, loss_ratio, duration, probability)
    }
}

impl PartialEq for System {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for System {}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_the_names_there_are() {
        let error = System::named("herd").unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no simulated system \"herd\"; there are hard, consistent, soft, noisy, dips, \
             inconsistent, lossless, dead, clumped, overdispersed, drooping, breakdown, bucket, random, \
             two-state, drift, floor, band, random-loss, slope, cold-start, reordering, gradual, red, near-goal, microbursts, slow-start, outages, pauses, modes, hashing, two-knees, queue"
        );
        for name in System::names() {
            assert_eq!(System::named(name).unwrap().name(), name);
        }
    }

    /// As multiples of the capacity: zero loss in trials of 1, 10, 30 and 60 s, then 0.5 % loss in 1 s.
    /// Those of the inconsistent system were sampled, so they are met within two standard errors of 10 000
    /// trials; the others to the last digit.
    #[test]
    fn truths_are_the_known_multiples_of_the_capacity() {
        let known: [(&str, [f64; 5]); 6] = [
            ("hard", [1.0, 1.0, 1.0, 1.0, 1.00503]),
            ("consistent", [0.99591, 0.99476, 0.99421, 0.99387, 1.00503]),
            ("soft", [0.94460, 0.93308, 0.92759, 0.92412, 1.00273]),
            ("noisy", [1.0, 1.0, 1.0, 1.0, 1.00503]),
            ("dips", [0.99933, 0.99933, 0.99933, 0.99933, 1.00435]),
            ("inconsistent", [0.99966, 0.99507, 0.97746, 0.92147, 1.00487]),
        ];
        let half_percent = Ratio::new(0.005).unwrap();
        for (name, multiples) in known {
            let system = System::named(name).unwrap();
            let capacity = system.nominal_capacity();
            let asked = [
                (Ratio::ZERO, 1),
                (Ratio::ZERO, 10),
                (Ratio::ZERO, 30),
                (Ratio::ZERO, 60),
                (half_percent, 1),
            ];
            let tolerances =
                if name == "inconsistent" { [3e-4, 3e-4, 6e-4, 2e-3, 3e-4] } else { [1.1e-5; 5] };
            for (((loss_ratio, seconds), expected), tolerance) in
                asked.into_iter().zip(multiples).zip(tolerances)
            {
                let truth =
                    system.truth(capacity, loss_ratio, Duration::from_secs(seconds), Ratio::ZERO).unwrap();
                let multiple = truth.as_pps() / capacity.as_pps();
                assert!(
                    (multiple - expected).abs() < tolerance,
                    "{name}, {loss_ratio}, {seconds} s: {multiple:.6} instead of {expected}"
                );
            }
        }
    }

    #[test]
    fn systems_without_a_knee_have_no_truth() {
        for name in ["lossless", "dead", "queue"] {
            let system = System::named(name).unwrap();
            let second = Duration::from_secs(1);
            assert_eq!(system.truth(system.nominal_capacity(), Ratio::ZERO, second, Ratio::ZERO), None);
        }
    }

    /// The truth is what trials say: at it, the share of bad ones is the probability asked for.
    #[test]
    fn at_the_truth_as_many_trials_are_bad_as_the_exceed_ratio_says() {
        let trials = 2000u32;
        let (second, tenth) = (Duration::from_secs(1), Ratio::new(0.1).unwrap());
        for name in [
            "consistent",
            "soft",
            "noisy",
            "dips",
            "inconsistent",
            "clumped",
            "overdispersed",
            "drooping",
            "breakdown",
            "drift",
            "floor",
            "random-loss",
            "slope",
            "cold-start",
            "reordering",
            "gradual",
            "red",
            "near-goal",
            "microbursts",
            "slow-start",
            "outages",
            "pauses",
            "modes",
            "hashing",
            "two-knees",
        ] {
            let system = System::named(name).unwrap();
            let capacity = system.nominal_capacity();
            for (loss_ratio, exceed_ratio, expected) in [
                (Ratio::ZERO, Ratio::ZERO, 0.5),
                (Ratio::new(0.005).unwrap(), Ratio::ZERO, 0.5),
                (Ratio::ZERO, tenth, 0.1),
                (Ratio::new(0.02).unwrap(), tenth, 0.1),
            ] {
                let Some(load) = system.truth(capacity, loss_ratio, second, exceed_ratio) else {
                    assert!(
                        name == "outages" && expected < 0.39,
                        "{name}: two trials of five meet an outage"
                    );
                    continue;
                };
                let offer =
                    Offer { packets: load.packets_in(second), load, duration: second, constant: true };
                let bad = (0..trials)
                    .filter(|&trial| {
                        let lost = system.lost(
                            capacity,
                            &offer,
                            &mut dropline_trial::seed::generator(u64::from(trial)),
                        );
                        loss_ratio.is_exceeded_by(lost, offer.packets)
                    })
                    .count();
                let share = bad as f64 / f64::from(trials);
                let error = (expected * (1.0 - expected) / f64::from(trials)).sqrt();
                assert!(
                    (share - expected).abs() < 4.0 * error,
                    "{name}, {loss_ratio}: {share} of the trials are bad, not {expected}"
                );
            }
        }
    }
}
