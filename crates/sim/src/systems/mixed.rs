//! Systems with a hard limit and one trouble beside it, of the kinds that real targets have.
//!
//! What chance decides about a trial ([`Trouble`]) does not depend on its load, and more load never loses less: so the
//! load that each of many fixed trials just bears can be solved, and the truth is a quantile of those.

use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio, seed};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution as _, Pareto, Poisson, StandardNormal};
use std::time::Duration;

/// Standard deviation of the logarithm of the limit.
const SCATTER: f64 = 0.002;
/// Trials from which a truth is taken.
const TRUTH_TRIALS: u32 = 4000;
/// A load below all that is searched, as a multiple of the capacity.
const NO_LOAD: f64 = 1e-6;

/// A hard limit that scatters by 0.2 %, and what goes wrong beside it.
#[derive(Debug)]
pub(super) struct Mixed {
    name: &'static str,
    about: &'static str,
    trouble: Trouble,
}

/// What goes wrong. Loads and shares are multiples of the limit, times are seconds.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// Packets are lost one by one, with this probability at a load.
    OneByOne(fn(f64) -> f64),
    /// Other traffic comes in Poisson bursts into the same buffer.
    Bursts { a_second: f64, length: f64, load: f64, buffer: f64 },
    /// Each trial begins with a time at a share of the limit.
    SlowStart { length: f64, share: f64 },
    /// Nothing comes through for times with a heavy tail.
    Outages { a_second: f64, shortest: f64, tail: f64 },
    /// Nothing is served for a while once in each period; a buffer bears some of it.
    Pauses { period: f64, length: f64, buffer: f64 },
    /// Some trials find a share of the limit only.
    Modes { often: f64, share: f64 },
    /// So many flows are hashed anew in each trial onto so many cores.
    Hashing { flows: u32, cores: u32 },
    /// Two parts with fixed shares of the load and of the limit.
    Parts([(f64, f64); 2]),
}

/// Packets that overtake one another and come too late.
pub(super) const REORDERING: Mixed = Mixed {
    name: "reordering",
    about: "below a hard limit a share of 0.0000027 · (load/limit)^20 is lost (packets that come too late)",
    trouble: Trouble::OneByOne(|load| 2.7e-6 * libm::pow(load.min(1.0), 20.0)),
};

/// A table, a timer or a cache that fails a little oftener with each packet more.
pub(super) const GRADUAL: Mixed = Mixed {
    name: "gradual",
    about: "below a hard limit a share of 0.001 · e^(12 (load/limit − 1)) is lost",
    trouble: Trouble::OneByOne(|load| 1e-3 * libm::exp(12.0 * (load.min(1.0) - 1.0))),
};

/// A queue that drops early.
pub(super) const RED: Mixed = Mixed {
    name: "red",
    about: "drops at random from 0.7 of its limit on, 2 % at the limit (random early detection)",
    trouble: Trouble::OneByOne(|load| 0.02 * ((load.min(1.0) - 0.7) / 0.3).max(0.0)),
};

/// A cable that is nearly as bad as the goal allows.
pub(super) const NEAR_GOAL: Mixed = Mixed {
    name: "near-goal",
    about: "a hard limit; of a thousand packets four are lost at any load (as much as a goal just allows)",
    trouble: Trouble::OneByOne(|_| 4e-3),
};

/// Neighbours that send at once.
pub(super) const MICROBURSTS: Mixed = Mixed {
    name: "microbursts",
    about: "five bursts of 1 ms a second, half its limit, share a small buffer with the load",
    trouble: Trouble::Bursts { a_second: 5.0, length: 1e-3, load: 0.5, buffer: 1e-4 },
};

/// A flow table, a governor, a compiler: each trial finds it cold.
pub(super) const SLOW_START: Mixed = Mixed {
    name: "slow-start",
    about: "runs at 0.7 of its limit for the first 100 ms of each trial (a clock that is slow to rise)",
    trouble: Trouble::SlowStart { length: 0.1, share: 0.7 },
};

/// A link that renegotiates, a collector of garbage.
pub(super) const OUTAGES: Mixed = Mixed {
    name: "outages",
    about: "now and then all is lost for 2 ms or much longer, in two trials of a second of five",
    trouble: Trouble::Outages { a_second: 0.5, shortest: 2e-3, tail: 1.2 },
};

/// A housekeeping task on the same core.
pub(super) const PAUSES: Mixed = Mixed {
    name: "pauses",
    about: "stops for 20 ms each 1.5 s, and its buffer holds half of that (housekeeping)",
    trouble: Trouble::Pauses { period: 1.5, length: 0.02, buffer: 0.01 },
};

/// A flow that lands on a slower core, a buffer that is placed badly.
pub(super) const MODES: Mixed = Mixed {
    name: "modes",
    about: "45 trials of 100 run at 0.9 of its limit (memory that is placed badly)",
    trouble: Trouble::Modes { often: 0.45, share: 0.9 },
};

/// Receive-side scaling.
pub(super) const HASHING: Mixed = Mixed {
    name: "hashing",
    about: "1024 flows are hashed onto four cores, in another way in each trial; the fullest core loses first",
    trouble: Trouble::Hashing { flows: 1024, cores: 4 },
};

/// A line card that is slower than its neighbour.
pub(super) const TWO_KNEES: Mixed = Mixed {
    name: "two-knees",
    about: "three packets of ten go by a part that takes a fifth of the limit",
    trouble: Trouble::Parts([(0.3, 0.2), (0.7, 0.8)]),
};

/// What chance decided about one trial.
#[derive(Clone, Debug)]
struct Drawn {
    /// As a multiple of the capacity.
    limit: f64,
    /// What a trouble is made of: see [`Trouble::draw`].
    parts: Vec<f64>,
}

impl Trouble {
    fn draw(self, seconds: f64, chance: &mut ChaCha8Rng) -> Vec<f64> {
        let poisson =
            |mean: f64, chance: &mut ChaCha8Rng| Poisson::new(mean).map_or(0.0, |count| count.sample(chance));
        match self {
            Self::OneByOne(_) | Self::SlowStart { .. } | Self::Parts(_) => Vec::new(),
            // How many there are.
            Self::Bursts { a_second, .. } => vec![poisson(a_second * seconds, chance)],
            // How long it is out in all.
            Self::Outages { a_second, shortest, tail } => {
                let count = poisson(a_second * seconds, chance) as u64;
                let length = Pareto::new(shortest, tail).expect("a scale and a shape above 0");
                let out: f64 = (0..count).map(|_| length.sample(chance)).sum();
                vec![out.min(seconds)]
            }
            // How long each pause is that falls into the trial.
            Self::Pauses { period, length, .. } => {
                let first = -length + (period * chance.random::<f64>());
                let begins = std::iter::successors(Some(first), |begin| Some(begin + period));
                begins
                    .take_while(|&begin| begin < seconds)
                    .map(|begin| (begin + length).min(seconds) - begin.max(0.0))
                    .filter(|&within| within > 0.0)
                    .collect()
            }
            // What is there of the limit.
            Self::Modes { often, share } => vec![if chance.random_bool(often) { share } else { 1.0 }],
            // Each core's share of the flows.
            Self::Hashing { flows, cores } => {
                let mut counts = vec![0.0; cores as usize];
                (0..flows).for_each(|_| counts[chance.random_range(0..cores as usize)] += 1.0);
                counts.iter().map(|count| count / f64::from(flows)).collect()
            }
        }
    }

    /// Probability that a packet is lost that the limit let through.
    fn one_by_one(self, load: f64) -> f64 {
        if let Self::OneByOne(loss) = self { loss(load) } else { 0.0 }
    }

    /// What is lost of a load in a trial of so many seconds, both as multiples of the capacity; never less for more
    /// load.
    fn lost(self, load: f64, seconds: f64, drawn: &Drawn) -> f64 {
        let Drawn { limit, ref parts } = *drawn;
        let excess = |load: f64, limit: f64| (load - limit).max(0.0);
        let above = excess(load, limit) * seconds;
        match self {
            Self::OneByOne(_) => above,
            Self::Bursts { length, load: burst, buffer, .. } => {
                let both = (load.min(limit) + burst - limit) * length - buffer;
                above + parts[0] * both.max(0.0) * load / (load + burst)
            }
            Self::SlowStart { length, share } => {
                let slow = length.min(seconds);
                excess(load, share * limit) * slow + excess(load, limit) * (seconds - slow)
            }
            Self::Outages { .. } => load * parts[0] + excess(load, limit) * (seconds - parts[0]),
            Self::Pauses { buffer, .. } => {
                let through = load.min(limit);
                above + parts.iter().map(|pause| (through * pause - buffer * limit).max(0.0)).sum::<f64>()
            }
            Self::Modes { .. } => excess(load, limit * parts[0]) * seconds,
            Self::Hashing { cores, .. } => {
                let core = limit / f64::from(cores);
                parts.iter().map(|share| excess(load * share, core)).sum::<f64>() * seconds
            }
            Self::Parts(shares) => {
                shares.iter().map(|(load_share, share)| excess(load * load_share, limit * share)).sum::<f64>()
                    * seconds
            }
        }
    }
}

impl Mixed {
    fn draw(&self, z: f64, seconds: f64, chance: &mut ChaCha8Rng) -> Drawn {
        Drawn { limit: libm::exp(SCATTER * z), parts: self.trouble.draw(seconds, chance) }
    }
}

impl Behaviour for Mixed {
    fn name_and_about(&self) -> [&'static str; 2] {
        [self.name, self.about]
    }

    fn nominal_capacity(&self) -> Rate {
        Rate::from_millipps(6_000_000_000)
    }

    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let (seconds, load) = (offer.duration.as_secs_f64(), offer.pps() / capacity.as_pps());
        let z = StandardNormal.sample(chance);
        let drawn = self.draw(z, seconds, chance);
        let lost = libm::ceil(self.trouble.lost(load, seconds, &drawn) * capacity.as_pps()) as u64;
        let lost = lost.min(offer.packets);
        let loss = self.trouble.one_by_one(load);
        lost + Binomial::new(offer.packets - lost, loss).expect("a probability").sample(chance)
    }

    fn truth(&self, capacity: Rate, loss_ratio: Ratio, duration: Duration, probability: f64) -> Option<Rate> {
        let (seconds, good) = (duration.as_secs_f64(), 1.0 - loss_ratio.as_f64());
        let mut chance = seed::generator(0);
        let fixed: Vec<Drawn> = (0..TRUTH_TRIALS)
            .map(|index| {
                let z = tails::normal_quantile((f64::from(index) + 0.5) / f64::from(TRUTH_TRIALS));
                self.draw(z, seconds, &mut chance)
            })
            .collect();
        let bad = |load: f64, drawn: &Drawn| {
            let packets = load * capacity.as_pps() * seconds;
            let lost = libm::ceil(self.trouble.lost(load, seconds, drawn) * capacity.as_pps());
            let allowed = libm::floor(packets * loss_ratio.as_f64()) - lost;
            match self.trouble.one_by_one(load) {
                _ if allowed < 0.0 => 1.0,
                0.0 => 0.0,
                loss => tails::binomial_above(packets - lost, loss, allowed),
            }
        };
        let exceeds =
            |load: f64| fixed.iter().map(|drawn| bad(load, drawn)).sum::<f64>() / f64::from(TRUTH_TRIALS);
        // Where also next to no load is bad too often, none parts good trials from bad ones.
        if exceeds(NO_LOAD) > probability {
            return None;
        }
        tails::highest_load(capacity, 4.0 / good, probability, exceeds)
    }
}
