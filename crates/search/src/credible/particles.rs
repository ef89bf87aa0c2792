//! What is believed after some trials: weighted particles, moved by Metropolis steps.

use super::constants::model::{BELIEF, DEEPEST};
use super::constants::particles::{
    ALONE, AT_ONCE, CHUNK, DIPPED, DRAWS, LEAST_STEP, LIKELIHOODS, MOST_SWEEPS, PARTICLES, POINTED, STEPPED,
    STEPS, SWEEPS,
};
use super::model::{Evidence, Shape, UNKNOWNS, Unknowns};
use super::normal::Normal;
use super::prior::{self, ShownFloor};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;

#[derive(Clone, Copy, Debug)]
struct Particle {
    unknowns: Unknowns,
    /// Log prior and likelihood of all but the newest trial.
    settled: f64,
    /// Log likelihood of the newest trial.
    newest: f64,
    weight: f64,
}

/// The posterior of one system.
#[derive(Debug)]
pub(super) struct Particles {
    particles: Vec<Particle>,
    seen: Vec<Evidence>,
    chance: ChaCha8Rng,
    /// Which particle moves next.
    turn: usize,
}

impl Particles {
    /// What is believed after the first trials, when θ is somewhere between two values.
    ///
    /// Systems are drawn from the prior, each with a θ that one of the trials points to, or that is anywhere,
    /// and weighed by how likely the trials are, over how likely that θ was to be drawn.
    pub(super) fn new(between: (f64, f64), seen: Vec<Evidence>, mut chance: ChaCha8Rng) -> Self {
        let normal = Normal::tables();
        let step = step(&seen);
        let floors: Vec<ShownFloor> = seen.iter().filter_map(shown_floor).collect();
        let particles: Vec<Particle> = (0..DRAWS)
            .map(|_| {
                let (mut unknowns, drawn) = prior::draw(|| chance.random::<f64>(), step.is_some(), &floors);
                let shape = Shape::new(&unknowns);
                let pointers: Vec<(f64, f64)> = seen.iter().filter_map(|one| shape.pointed_at(one)).collect();
                let places = Places { between, pointers: &pointers, step };
                unknowns[0] = places.draw(&mut chance);
                let settled = log_likelihood(&shape.at(unknowns[0]), &seen, normal);
                let weight = settled - libm::log(places.density(unknowns[0])) + libm::log(drawn);
                Particle { unknowns, settled: settled + prior::log_prior(&unknowns), newest: 0.0, weight }
            })
            .collect();
        let mut cloud = Self { particles, seen, chance, turn: 0 };
        let best = cloud.particles.iter().map(|particle| particle.weight).fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for particle in &mut cloud.particles {
            particle.weight = libm::exp(particle.weight - best);
            sum += particle.weight;
        }
        cloud.particles.iter_mut().for_each(|particle| particle.weight /= sum);
        cloud.resample();
        cloud.rejuvenate(LIKELIHOODS.min(SWEEPS * PARTICLES * cloud.seen.len()), None);
        cloud
    }

    /// What was learned from.
    pub(super) fn seen(&self) -> &[Evidence] {
        &self.seen
    }

    /// Learns from a trial: its likelihood is let in by degrees, so that the particles can follow.
    pub(super) fn learn(&mut self, evidence: Evidence) {
        let normal = Normal::tables();
        for particle in &mut self.particles {
            let shape = Shape::new(&particle.unknowns);
            particle.newest = libm::log(shape.likelihood(&evidence, normal));
        }
        let mut budget = LIKELIHOODS.min(MOST_SWEEPS * PARTICLES * (self.seen.len() + 1));
        let mut degree = 0.0;
        while degree < 1.0 {
            let step = self.bearable_step(1.0 - degree);
            self.reweight(step);
            degree += step;
            if degree < 1.0 || self.effective() < 0.5 {
                self.resample();
                let moves = AT_ONCE.min(SWEEPS * PARTICLES * (self.seen.len() + 1)).min(budget);
                self.rejuvenate(moves, Some((&evidence, degree)));
                budget -= moves;
            }
        }
        self.rejuvenate(budget, Some((&evidence, 1.0)));
        for particle in &mut self.particles {
            particle.settled += particle.newest;
            particle.newest = 0.0;
        }
        self.seen.push(evidence);
    }

    /// Standard deviation of the logarithm of the trials' capacities, which is less with this probability.
    pub(super) fn scatter(&self, share: f64) -> f64 {
        self.quantile(2, share).map_or(0.0, libm::exp)
    }

    /// Logarithm of the capacity in the middle of all trials, which is less with this probability.
    pub(super) fn theta(&self, share: f64) -> f64 {
        self.quantile(0, share).unwrap_or(0.0)
    }

    /// The value of an unknown that it is below with this probability.
    fn quantile(&self, unknown: usize, share: f64) -> Option<f64> {
        let mut values: Vec<(f64, f64)> =
            self.particles.iter().map(|particle| (particle.unknowns[unknown], particle.weight)).collect();
        values.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut below = 0.0;
        let reached = values.iter().find(|(_, weight)| {
            below += weight;
            below >= share
        });
        reached.map(|(value, _)| *value)
    }

    /// Particles with their weights, which sum to 1.
    pub(super) fn weighted(&self) -> impl Iterator<Item = (Shape, f64)> {
        self.particles.iter().map(|particle| (Shape::new(&particle.unknowns), particle.weight))
    }

    /// `count` particles of equal weight, evenly spread over the weights.
    pub(super) fn sample(&self, count: usize) -> Vec<Shape> {
        self.spread(count, 0.5).into_iter().map(|index| Shape::new(&self.particles[index].unknowns)).collect()
    }

    /// How much of the newest likelihood can be let in without losing most particles.
    fn bearable_step(&self, most: f64) -> f64 {
        let effective = |step: f64| {
            let best = self.particles.iter().map(|p| p.newest).fold(f64::NEG_INFINITY, f64::max);
            let (mut sum, mut squares) = (0.0, 0.0);
            for particle in &self.particles {
                let weight = particle.weight * libm::exp(step * (particle.newest - best));
                sum += weight;
                squares += weight * weight;
            }
            sum * sum / squares / PARTICLES as f64
        };
        let enough = 0.35f64.min(0.7 * self.effective());
        if effective(most) >= enough {
            return most;
        }
        let (mut low, mut high) = (0.0, most);
        for _ in 0..7 {
            let middle = 0.5 * (low + high);
            if effective(middle) >= enough { low = middle } else { high = middle }
        }
        low.max(LEAST_STEP).min(most)
    }

    fn reweight(&mut self, step: f64) {
        let best = self.particles.iter().map(|p| p.newest).fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for particle in &mut self.particles {
            particle.weight *= libm::exp(step * (particle.newest - best));
            sum += particle.weight;
        }
        for particle in &mut self.particles {
            particle.weight /= sum;
        }
    }

    /// Effective share of the particles.
    fn effective(&self) -> f64 {
        let squares: f64 = self.particles.iter().map(|particle| particle.weight * particle.weight).sum();
        1.0 / squares / PARTICLES as f64
    }

    /// Indices at `count` even steps through the weights.
    fn spread(&self, count: usize, offset: f64) -> Vec<usize> {
        let (mut index, mut below) = (0, self.particles[0].weight);
        (0..count)
            .map(|number| {
                let goal = (number as f64 + offset) / count as f64;
                while below < goal && index + 1 < self.particles.len() {
                    index += 1;
                    below += self.particles[index].weight;
                }
                index
            })
            .collect()
    }

    fn resample(&mut self) {
        let offset = self.chance.random::<f64>();
        let kept = self.spread(PARTICLES, offset);
        self.particles = kept
            .into_iter()
            .map(|index| Particle { weight: 1.0 / PARTICLES as f64, ..self.particles[index] })
            .collect();
    }

    /// Moves as many particles as so many likelihoods pay for, each by a Metropolis step.
    fn rejuvenate(&mut self, likelihoods: usize, newest: Option<(&Evidence, f64)>) {
        let trials = self.seen.len() + usize::from(newest.is_some());
        let moves = likelihoods / trials.max(1);
        if moves == 0 {
            return;
        }
        let root = self.covariance_root();
        let normal = Normal::tables();
        for _ in 0..moves {
            let index = self.turn % PARTICLES;
            let size = STEPS[(self.turn / PARTICLES + index) % STEPS.len()];
            self.turn = self.turn.wrapping_add(1);
            let old = self.particles[index];
            let mut unknowns = old.unknowns;
            let normals = self.normals();
            if size == ALONE {
                unknowns[0] += libm::exp(unknowns[2]) * normals[0];
            } else {
                for (row, unknown) in root.iter().zip(&mut unknowns) {
                    let step: f64 = row.iter().zip(&normals).map(|(factor, z)| factor * z).sum();
                    *unknown += size * step;
                }
            }
            let accept: f64 = libm::log(self.chance.random::<f64>().max(1e-300));
            let prior = prior::log_prior(&unknowns);
            if prior == f64::NEG_INFINITY {
                continue;
            }
            let shape = Shape::new(&unknowns);
            let settled = prior + log_likelihood(&shape, &self.seen, normal);
            let (newest, degree) = newest.map_or((0.0, 0.0), |(evidence, degree)| {
                (libm::log(shape.likelihood(evidence, normal)), degree)
            });
            if accept < settled - old.settled + degree * (newest - old.newest) {
                self.particles[index] = Particle { unknowns, settled, newest, weight: old.weight };
            }
        }
    }

    /// A lower triangle L with L·Lᵀ the cloud's covariance, a trifle widened.
    fn covariance_root(&self) -> [[f64; UNKNOWNS]; UNKNOWNS] {
        let mut mean = [0.0; UNKNOWNS];
        for particle in &self.particles {
            for (sum, value) in mean.iter_mut().zip(&particle.unknowns) {
                *sum += particle.weight * value;
            }
        }
        let mut covariance = [[0.0; UNKNOWNS]; UNKNOWNS];
        for particle in &self.particles {
            let mut off = particle.unknowns;
            off.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
            for row in 0..UNKNOWNS {
                for column in 0..=row {
                    covariance[row][column] += particle.weight * off[row] * off[column];
                }
            }
        }
        let mut root = [[0.0; UNKNOWNS]; UNKNOWNS];
        for row in 0..UNKNOWNS {
            for column in 0..=row {
                let known: f64 = (0..column).map(|k| root[row][k] * root[column][k]).sum();
                let rest = covariance[row][column] - known;
                root[row][column] = if row == column {
                    libm::sqrt(rest.max(1e-6 * covariance[row][row]).max(1e-14))
                } else {
                    rest / root[column][column]
                };
            }
        }
        root
    }

    /// Standard normal numbers (Box and Muller).
    fn normals(&mut self) -> [f64; UNKNOWNS + 1] {
        let mut normals = [0.0; UNKNOWNS + 1];
        for pair in normals.chunks_exact_mut(2) {
            let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.chance.random::<f64>()));
            let (sine, cosine) = libm::sincos(2.0 * std::f64::consts::PI * self.chance.random::<f64>());
            pair[0] = radius * cosine;
            pair[1] = radius * sine;
        }
        normals
    }
}

/// From the highest load that lost nothing to the lowest above it that lost far more than its excess, if there are
/// both.
fn step(seen: &[Evidence]) -> Option<(f64, f64)> {
    let good = seen.iter().filter(|one| one.lost == 0.0).map(|one| one.log_load).fold(f64::NAN, f64::max);
    let far = seen.iter().filter(|one| one.is_far() && one.log_load > good && !one.is_far_above(good));
    let far = far.map(|one| one.log_load).fold(f64::NAN, f64::min);
    (far > good).then_some((good, far))
}

/// A loss that a floor may have made, and how far off it may be: by the chance of single packets, and by as much again
/// as a count is believed.
fn shown_floor(one: &Evidence) -> Option<ShownFloor> {
    let shows = one.lost > 0.0 && !one.is_far() && !one.is_vague();
    shows.then(|| (libm::log(one.loss_ratio()), (2.0 * BELIEF).max(2.0 / libm::sqrt(one.lost))))
}

/// Where θ is drawn from to begin with: where a trial points to, above that by as much as a dip is deep, between
/// the loads where it seems to break down, or anywhere.
struct Places<'a> {
    between: (f64, f64),
    pointers: &'a [(f64, f64)],
    step: Option<(f64, f64)>,
}

impl Places<'_> {
    fn draw(&self, chance: &mut ChaCha8Rng) -> f64 {
        if let Some((low, high)) = self.step
            && chance.random::<f64>() < STEPPED
        {
            return low + chance.random::<f64>() * (high - low);
        }
        let kind = chance.random::<f64>();
        let place = chance.random::<f64>();
        if self.pointers.is_empty() || kind > POINTED + DIPPED {
            return self.between.0 + place * (self.between.1 - self.between.0);
        }
        let index = (chance.random::<f64>() * self.pointers.len() as f64) as usize;
        let (middle, deviation) = self.pointers[index.min(self.pointers.len() - 1)];
        if kind < POINTED {
            middle + deviation * Normal::tables().quantile(place)
        } else {
            middle + DEEPEST * place
        }
    }

    fn density(&self, theta: f64) -> f64 {
        match self.step {
            Some((low, high)) => {
                STEPPED * density_within(low, high, theta) + (1.0 - STEPPED) * self.other_density(theta)
            }
            None => self.other_density(theta),
        }
    }

    fn other_density(&self, theta: f64) -> f64 {
        let anywhere = density_within(self.between.0, self.between.1, theta);
        if self.pointers.is_empty() {
            return anywhere.max(1e-12);
        }
        let mut density = 0.0;
        for &(middle, deviation) in self.pointers {
            let z = (theta - middle) / deviation;
            let bell = libm::exp(-0.5 * z * z) / (deviation * libm::sqrt(2.0 * std::f64::consts::PI));
            density += POINTED * bell + DIPPED * density_within(middle, middle + DEEPEST, theta);
        }
        let rest = (1.0 - POINTED - DIPPED) * anywhere;
        (density / self.pointers.len() as f64 + rest).max(1e-12)
    }
}

/// Of a value that is anywhere between two.
fn density_within(low: f64, high: f64, value: f64) -> f64 {
    f64::from(u8::from(low <= value && value < high)) / (high - low)
}

fn log_likelihood(shape: &Shape, seen: &[Evidence], normal: &Normal) -> f64 {
    let product = |chunk: &[Evidence]| chunk.iter().map(|one| shape.likelihood(one, normal)).product::<f64>();
    seen.chunks(CHUNK).map(|chunk| libm::log(product(chunk))).sum()
}
