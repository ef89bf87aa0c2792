//! What one trial does, as far as it is unknown: nine numbers, and the likelihood of a count.
//!
//! A trial has a capacity of its own: its logarithm is θ + σ·z, and with probability ε it is lowered by
//! U(0, 0.35). At u = ln(load ÷ capacity) the mean loss ratio is b·s·ln(1 + e^y) ÷ e^u with
//! y = (e^u − 1) ÷ s: nothing far below the capacity, the excess far above it (steeper where forwarding
//! droops, b > 1), and s says how gently it sets in. Losses come in clumps of mean size c, and their mean
//! scatters by τ from trial to trial. Beside what the capacity loses, a share f·e^(r·(ln load − θ)) is lost at
//! any load, however low: the floor f of a bad cable where r is 0, a loss that grows with a power of the load, or where
//! r is −1 as many packets a second at any load: a collector of garbage, a timer.

use super::constants::model::{
    ANYWHERE, BELIEF, DEEPEST, DEEPEST_FLOOR, FAR, IN_TIME, MOST_FLOOR, NO_FLOOR, SHOWS, STEEPEST_RISE,
    UNFORESEEN,
};
use super::normal::Normal;
use dropline_trial::Trial;

/// How many numbers are unknown.
pub(super) const UNKNOWNS: usize = 9;
/// θ, ln s, ln σ, logit ε, ln c, ln τ, ln b, ln f, and of r the root of its share of [`STEEPEST_RISE`]: below 0 it is 0, below
/// [`IN_TIME`] −1.
pub(super) type Unknowns = [f64; UNKNOWNS];

/// ln E for exponential E, as three normals: weight, mean, variance.
const LOG_EXPONENTIAL: [(f64, f64, f64); 3] =
    [(0.0986, -2.635, 1.637 * 1.637), (0.4477, -0.959, 0.951 * 0.951), (0.4537, 0.247, 0.639 * 0.639)];
/// Mean and variance of ln E.
const LOG_EXPONENTIAL_MEAN: f64 = -0.577_215_664_901_532_9;
const LOG_EXPONENTIAL_VARIANCE: f64 = 1.644_934_066_848_226_4;

/// What was seen in a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Evidence {
    /// Logarithm of the load in packets a second.
    pub(super) log_load: f64,
    pub(super) packets: f64,
    pub(super) lost: f64,
    /// Of the lost packets, how many at most the target did not lose: its own loss is between.
    pub(super) doubted: f64,
    /// Place among all trials of the search.
    pub(super) number: usize,
}

impl Evidence {
    /// What the target did with the load it was really offered; `None` when nothing was, or the trial
    /// tells nothing.
    pub(super) fn of(trial: &Trial, number: usize) -> Option<Self> {
        let offered = trial.offered as f64;
        let share = trial.intended.map_or(1.0, |intended| (offered / intended.max(1) as f64).min(1.0));
        (trial.offered > 0 && !trial.tells_nothing()).then(|| Self {
            log_load: libm::log(trial.input.load.as_pps() * share),
            packets: offered,
            lost: trial.lost() as f64,
            doubted: trial.lost_by_us() as f64,
            number,
        })
    }

    pub(super) fn loss_ratio(&self) -> f64 {
        self.lost / self.packets
    }

    /// What the target lost at least.
    fn surely_lost(&self) -> f64 {
        self.lost - self.doubted
    }

    /// Whether it only says that its load is above the knee.
    pub(super) fn is_far(&self) -> bool {
        self.surely_lost() > FAR * self.packets
    }

    /// Whether it only says between what and what the target's loss is.
    pub(super) fn is_vague(&self) -> bool {
        self.doubted > BELIEF * self.lost && !self.is_far()
    }

    /// Whether its load is so far above a knee that its excess alone would be [`FAR`].
    pub(super) fn is_far_above(&self, knee: f64) -> bool {
        self.log_load + libm::log1p(-FAR) > knee
    }

    /// Logarithm of what came through a second: the trial's own capacity, where losses are an excess and not chance.
    pub(super) fn log_forwarded(&self) -> f64 {
        self.log_load + libm::log1p(-self.loss_ratio())
    }

    /// How long packets were sent, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.packets / libm::exp(self.log_load)
    }
}

/// A system, its unknowns taken out of their logarithms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) theta: f64,
    softness: f64,
    variance: f64,
    dips: f64,
    clump: f64,
    tau_squared: f64,
    steepness: f64,
    log_floor: f64,
    rise: f64,
}

/// What is lost at a load beside what the capacity loses.
#[derive(Clone, Copy, Debug)]
struct Floor {
    /// Lost packets in the mean.
    mean: f64,
    /// Their variance.
    variance: f64,
}

/// Counts between which so many lost packets were, the lower one left out.
fn believed(lost: f64) -> (f64, f64) {
    let most = if BELIEF * lost < 1.0 { lost } else { (1.0 + BELIEF) * lost };
    ((lost - 1.0).min(lost * (1.0 - BELIEF)), most)
}

/// Where the mean number of lost packets is a given one.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// u there.
    at: f64,
    /// du ÷ d ln(mean loss) there.
    per_log: f64,
    /// d ln(that) ÷ d ln(mean loss): 0 where loss grows exponentially, 1 where it is the excess.
    growth: f64,
}

impl Shape {
    pub(super) fn new(unknowns: &Unknowns) -> Self {
        let [theta, softness, scatter, dips, clump, tau, steepness, log_floor, rise] = *unknowns;
        let odds = libm::exp(dips);
        Self {
            theta,
            softness: libm::exp(softness),
            variance: libm::exp(2.0 * scatter),
            dips: odds / (1.0 + odds),
            clump: libm::exp(clump),
            tau_squared: libm::exp(2.0 * tau),
            steepness: libm::exp(steepness),
            log_floor,
            rise: match rise < IN_TIME {
                true => -1.0,
                false => STEEPEST_RISE * rise.max(0.0) * rise.max(0.0),
            },
        }
    }

    /// The same system with another θ.
    pub(super) fn at(self, theta: f64) -> Self {
        Self { theta, ..self }
    }

    /// Share of the packets that is lost so far above θ beside what the capacity loses; there it grows no more.
    fn floor_share(&self, above: f64) -> f64 {
        libm::exp(self.log_floor + self.rise * above.min(0.0)).min(MOST_FLOOR)
    }

    /// What is lost of so many packets beside what the capacity loses; `None` where that is nothing.
    fn floor(&self, above: f64, packets: f64) -> Option<Floor> {
        let mean = self.floor_share(above) * packets;
        (mean > NO_FLOOR).then_some(Floor { mean, variance: mean * (self.clump + self.tau_squared * mean) })
    }

    /// The level at which `share` of all packets are lost in the mean: the inverse of the loss curve.
    ///
    /// With X = ln(1 + e^y): y = X + ln(1 − e^−X), and X = X₀·(1 + s·ln(1 − e^−X)) where
    /// X₀ = share ÷ (s·(b − share)); one step from X₀ is exact to second order.
    fn level(&self, share: f64) -> Level {
        let share = share.min(0.97 * self.steepness);
        let first = share / (self.softness * (self.steepness - share));
        let gone = libm::exp(-first);
        let left = if first < 1e-5 { first } else { 1.0 - gone };
        let log_left = libm::log(left);
        let bent = (self.softness * log_left).max(-0.9);
        let x = first * (1.0 + bent);
        let y = x + log_left + bent * first * gone / left;
        let excess = (self.softness * y).max(-0.95);
        let sigmoid = left + bent * first * gone;
        let slope = (1.0 + excess) * sigmoid / (self.softness * x) - 1.0;
        Level {
            at: libm::log1p(excess),
            per_log: (1.0 / slope.max(1e-3)).clamp(1e-7, 10.0),
            growth: 1.0 - first * gone / left,
        }
    }

    /// P(a trial's own u is below `distance` on top of the mean one), where u has this variance.
    fn below(&self, distance: f64, variance: f64, normal: &Normal) -> f64 {
        let deviation = libm::sqrt(variance);
        let z = distance / deviation;
        let dipped = deviation / DEEPEST * (normal.integral(z) - normal.integral(z - DEEPEST / deviation));
        (1.0 - self.dips) * normal.below(z) + self.dips * dipped
    }

    /// P(nothing is lost), when u of the mean capacity is `above` the level where c packets are.
    fn nothing_lost(&self, above: f64, per_log: f64, normal: &Normal) -> f64 {
        let squared = per_log * per_log;
        let own = self.variance + squared * self.tau_squared;
        let mut upright = 0.0;
        for (weight, mean, variance) in LOG_EXPONENTIAL {
            let deviation = libm::sqrt(own + squared * variance);
            upright += weight * normal.below((per_log * mean - above) / deviation);
        }
        let deviation = libm::sqrt(own + squared * LOG_EXPONENTIAL_VARIANCE);
        let z = (per_log * LOG_EXPONENTIAL_MEAN - above) / deviation;
        let dipped = deviation / DEEPEST * (normal.integral(z) - normal.integral(z - DEEPEST / deviation));
        (1.0 - self.dips) * upright + self.dips * dipped
    }

    /// How many packets must be lost in the mean for an even chance of at most `lost`.
    fn even(&self, lost: f64) -> f64 {
        lost + 0.75 * self.clump
    }

    fn noisy(&self, level: Level, mean: f64) -> f64 {
        self.variance + level.per_log * level.per_log * (self.clump / mean + self.tau_squared)
    }

    /// P(what was seen), about: counts are believed to 3 %, and a loss beyond [`FAR`] only to be that.
    pub(super) fn likelihood(&self, seen: &Evidence, normal: &Normal) -> f64 {
        if seen.is_far() {
            let less = self.at_most(FAR * seen.packets, seen.packets, seen.log_load, normal);
            return ANYWHERE + (1.0 - ANYWHERE) * (1.0 - less).max(0.0);
        }
        if seen.is_vague() {
            let at_most = |lost: f64| self.at_most(lost, seen.packets, seen.log_load, normal);
            let fewer = if seen.surely_lost() < 1.0 { 0.0 } else { at_most(seen.surely_lost() - 1.0) };
            return (at_most(seen.lost) - fewer).max(0.0) + UNFORESEEN;
        }
        let above = seen.log_load - self.theta;
        let floor = self.floor(above, seen.packets);
        let probability = if let Some(floor) = floor.filter(|_| seen.lost > 0.0) {
            let (fewest, most) = believed(seen.lost);
            self.at_most_with(&floor, most, seen.packets, above, normal)
                - self.at_most_with(&floor, fewest, seen.packets, above, normal)
        } else if seen.lost > 0.0 {
            let (fewest, most) = believed(seen.lost);
            let (fewest, most) = (self.even(fewest), self.even(most));
            let mean = 0.5 * (fewest + most);
            let level = self.level(mean / seen.packets);
            let distance = level.at - above;
            // Both ends as `at_most` has them, to first order: chances of all counts must sum to 1.
            let at_most = |count: f64| {
                let log = libm::log(count / mean);
                let per_log = (level.per_log * (1.0 + level.growth * log)).max(0.1 * level.per_log);
                let variance = self.noisy(Level { per_log, ..level }, count);
                let at = level.per_log * log * (1.0 + 0.5 * level.growth * log);
                self.below(distance + at, variance, normal)
            };
            at_most(most) - at_most(fewest)
        } else {
            let level = self.level(self.clump / seen.packets);
            let none_of_floor = floor.map_or(1.0, |floor| self.floor_loses_nothing(&floor, normal));
            none_of_floor * self.nothing_lost(above - level.at, level.per_log, normal)
        };
        probability.max(0.0) + UNFORESEEN
    }

    /// θ that what was seen points to, and its deviation; `None` when nothing was lost, or too much to say.
    pub(super) fn pointed_at(&self, seen: &Evidence) -> Option<(f64, f64)> {
        if seen.lost == 0.0 || seen.is_far() || seen.is_vague() {
            return None;
        }
        let mean = self.even(seen.lost);
        // As high as it is at θ, which is not known yet.
        let (level, noise) = match self.floor(0.0, seen.packets) {
            Some(floor) if mean - floor.mean < SHOWS * libm::sqrt(floor.variance) => return None,
            Some(floor) => self.beside(&floor, mean, seen.packets),
            None => {
                let level = self.level(mean / seen.packets);
                (level, self.noisy(level, mean))
            }
        };
        Some((seen.log_load - level.at, libm::sqrt(noise) + BELIEF * level.per_log))
    }

    /// P(at most `lost` of `packets` are lost at a load).
    pub(super) fn at_most(&self, lost: f64, packets: f64, log_load: f64, normal: &Normal) -> f64 {
        let above = log_load - self.theta;
        let floor = self.floor(above, packets);
        if lost < 1.0 {
            let level = self.level(self.clump / packets);
            let none_of_floor = floor.map_or(1.0, |floor| self.floor_loses_nothing(&floor, normal));
            return none_of_floor * self.nothing_lost(above - level.at, level.per_log, normal);
        }
        if let Some(floor) = floor {
            return self.at_most_with(&floor, lost, packets, above, normal);
        }
        let mean = self.even(lost);
        let level = self.level(mean / packets);
        self.below(level.at - above, self.noisy(level, mean), normal)
    }

    /// P(at most `lost` of `packets` are lost) with a floor: what it alone may lose, and the capacity no more than the
    /// rest.
    fn at_most_with(&self, floor: &Floor, lost: f64, packets: f64, above: f64, normal: &Normal) -> f64 {
        if lost < 1.0 {
            let level = self.level(self.clump / packets);
            return self.floor_loses_nothing(floor, normal)
                * self.nothing_lost(above - level.at, level.per_log, normal);
        }
        let mean = self.even(lost);
        let (level, noise) = self.beside(floor, mean, packets);
        normal.below(self.levelled(mean) - self.levelled(floor.mean))
            * self.below(level.at - above, noise, normal)
    }

    /// A count whose variance is c·mean + τ²·mean², transformed so that its deviation is 1 whatever the mean.
    fn levelled(&self, count: f64) -> f64 {
        let tau = libm::sqrt(self.tau_squared);
        2.0 / tau * libm::asinh(tau * libm::sqrt(count / self.clump))
    }

    /// P(a floor loses nothing): its clumps are Poisson, their mean scatters by τ.
    fn floor_loses_nothing(&self, floor: &Floor, normal: &Normal) -> f64 {
        let log_clumps = libm::log(floor.mean / self.clump);
        let of = |(weight, mean, variance): (f64, f64, f64)| {
            weight * normal.below((mean - log_clumps) / libm::sqrt(variance + self.tau_squared))
        };
        LOG_EXPONENTIAL.into_iter().map(of).sum()
    }

    /// Where the capacity loses so many packets less than a floor does in the mean, and the variance of u there.
    fn beside(&self, floor: &Floor, mean: f64, packets: f64) -> (Level, f64) {
        let rest = mean - floor.mean;
        // Never below what chance makes of the floor.
        let rest = 0.5 * (rest + libm::sqrt(rest * rest + floor.variance));
        let level = self.level(rest / (packets - floor.mean));
        let square = rest * rest;
        let chance = self.clump / rest + self.tau_squared + floor.variance / (square + floor.variance);
        (level, self.variance + level.per_log * level.per_log * chance)
    }

    /// Mean loss ratio at a load, and the same for capacities some deviations lower and higher.
    pub(super) fn mean_loss(&self, log_load: f64, deviations: f64) -> f64 {
        let u = log_load - self.theta + deviations * libm::sqrt(self.variance);
        let ratio = libm::exp(u);
        let y = (ratio - 1.0) / self.softness;
        let softplus = if y > 0.0 { y + libm::log1p(libm::exp(-y)) } else { libm::log1p(libm::exp(y)) };
        let floor = self.floor_share(log_load - self.theta);
        (floor + (1.0 - floor) * self.steepness * self.softness * softplus / ratio).clamp(0.0, 1.0)
    }

    /// Logarithm of the load at which a trial of `seconds` loses more than `ratio` with probability `exceed`.
    pub(super) fn goal_load(&self, ratio: f64, exceed: f64, seconds: f64, normal: &Normal) -> f64 {
        let mut log_load = self.theta;
        for _ in 0..2 {
            let packets = (libm::exp(log_load) * seconds).max(1.0);
            let allowed = libm::floor(ratio * packets);
            let reached = if allowed < 1.0 {
                self.lossless_reach(packets, 1.0 - exceed, normal)
            } else {
                let mean = self.even(allowed);
                let level = self.level(mean / packets);
                let deviation = libm::sqrt(self.noisy(level, mean));
                level.at + self.dipped_reach(1.0 - exceed, |share| deviation * normal.quantile(share))
            };
            log_load = self.theta + reached;
        }
        let floor = self.floor(log_load - self.theta, libm::exp(log_load) * seconds);
        if floor.is_some() {
            self.lowered_by_floor(log_load, ratio, exceed, seconds, normal)
        } else {
            log_load
        }
    }

    /// The same below `high`, where the floor matters: found by halving, for P(more is lost) falls nowhere with the load.
    fn lowered_by_floor(&self, high: f64, ratio: f64, exceed: f64, seconds: f64, normal: &Normal) -> f64 {
        let is_good = |log_load: f64| {
            let packets = (libm::exp(log_load) * seconds).max(1.0);
            self.at_most(libm::floor(ratio * packets), packets, log_load, normal) >= 1.0 - exceed
        };
        let (mut low, mut high, mut step) = (high, high, 1e-3);
        while !is_good(low) && high - low < DEEPEST_FLOOR {
            (high, low, step) = (low, low - step, 3.0 * step);
        }
        for _ in 0..12 {
            let middle = 0.5 * (low + high);
            if is_good(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    /// u up to which nothing is lost with probability `good`.
    fn lossless_reach(&self, packets: f64, good: f64, normal: &Normal) -> f64 {
        let level = self.level(self.clump / packets);
        level.at
            + self.dipped_reach(good, |share| {
                // The same for every u: what ln E adds to the scatter of the capacity.
                let squared = level.per_log * level.per_log;
                let own = self.variance + squared * self.tau_squared;
                let parts = LOG_EXPONENTIAL.map(|(weight, mean, variance)| {
                    (weight, level.per_log * mean, 1.0 / libm::sqrt(own + squared * variance))
                });
                let nothing_lost = |above: f64| -> f64 {
                    parts.iter().map(|(weight, mean, per)| weight * normal.below((mean - above) * per)).sum()
                };
                let widest =
                    9.0 * (libm::sqrt(self.variance) + level.per_log * (2.0 + libm::sqrt(self.tau_squared)));
                // P(nothing lost) falls with u: the reach below the level is what is left of it.
                let (mut low, mut high) = (-widest, widest);
                for _ in 0..14 {
                    let middle = 0.5 * (low + high);
                    if nothing_lost(middle) > 1.0 - share {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                0.5 * (low + high)
            })
    }

    /// Above which u a trial is good with probability `good`, when without dips it is `reach(share)` for
    /// the share of bad ones.
    fn dipped_reach(&self, good: f64, reach: impl Fn(f64) -> f64) -> f64 {
        let upright = 1.0 - self.dips;
        if good < upright * 0.998 {
            return reach(1.0 - good / upright);
        }
        // Only some dips may be bad: the load must be below what deep ones leave.
        let harmless = ((good - upright) / self.dips.max(1e-9)).clamp(0.0, 1.0);
        reach(0.002) - DEEPEST * harmless
    }
}

#[cfg(test)]
mod tests;
