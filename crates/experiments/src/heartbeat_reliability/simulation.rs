//! The arithmetic tried out: chance is aimed where plain random packets would show nothing.

use super::chance::{Polling, RandomPacket, wilson};
use super::check::MAGIC;
use super::check::{Check, accepted};
use super::payload::{STORABLE, payload};
use super::swap::stored;
use super::weight::{Weights, choose};
use dropline_trial::seed;
use rand::Rng as _;
use rand::seq::index;
use serde::Serialize;

/// One way of trying, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Simulation {
    /// What was drawn, and what counts as a hit.
    pub what: String,
    /// Draws.
    pub tried: u64,
    /// Hits.
    pub hits: u64,
    /// The chance of a hit by the formulas.
    pub expected: f64,
    /// Wilson's 95 % interval from the hits; null when nothing was tried.
    pub interval: Option<(f64, f64)>,
}

impl Simulation {
    fn of(what: &str, tried: u64, expected: f64, mut hit: impl FnMut() -> bool) -> Self {
        let hits = (0..tried).filter(|_| hit()).count() as u64;
        Self { what: what.into(), tried, hits, expected, interval: wilson(hits, tried) }
    }

    /// Whether the hits agree with the formula: within five standard deviations of the number expected.
    pub fn agrees(&self) -> bool {
        let expected = self.expected * self.tried as f64;
        let deviation = (expected * (1.0 - self.expected)).sqrt().max(1.0);
        (self.hits as f64 - expected).abs() <= 5.0 * deviation
    }

    /// Share of hits; `None` when nothing was tried.
    pub fn share(&self) -> Option<f64> {
        (self.tried > 0).then(|| self.hits as f64 / self.tried as f64)
    }
}

/// Random packets, a part of each drawn and the rest made right: the chances multiply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Splitting {
    /// One for each part.
    pub parts: Vec<Simulation>,
    /// Product of the parts that make an accepted packet; null if a part had no hit.
    pub accepted: Option<f64>,
    /// Of all parts: a stored one.
    pub stored: Option<f64>,
}

/// Tries the parts of a random packet one by one, `draws` times each.
pub fn random_packets(draws: u64, seed: u64) -> Splitting {
    let mut chance = seed::generator(seed);
    let mut drawn = |what: &str, expected: f64, change: fn(&mut [u8; 8], u32), hit: fn([u8; 8]) -> bool| {
        Simulation::of(what, draws, expected, || {
            let mut packet = right(chance.random_range(0..STORABLE));
            change(&mut packet, chance.random());
            hit(packet)
        })
    };
    let half = 2_f64.powi(-16);
    let parts = vec![
        drawn("upper half of the checksum random, all else right; accepted", half, upper, accepted),
        drawn("lower half of the checksum random, all else right; accepted", half, lower, accepted),
        drawn("magic byte random, checksum made to fit it; accepted", 1.0 / 256.0, magic, accepted),
        drawn("variable random, checksum made to fit it; stored", 0.25, variable, stored),
    ];
    let product = |parts: &[Simulation]| -> Option<f64> {
        let product = parts.iter().map(Simulation::share).product::<Option<f64>>()?;
        (product > 0.0).then_some(product)
    };
    Splitting { accepted: product(&parts[..3]), stored: product(&parts), parts }
}

/// Random packets as they come, damaged heartbeats, and false values at polls.
pub fn others(draws: u64, seed: u64, adler: &Weights, kept: f64, polling: Polling) -> Vec<Simulation> {
    let mut chance = seed::generator(seed::of_trial(seed, 1));
    let plain = Simulation::of(
        "all eight bytes random, nothing aimed; accepted",
        draws,
        RandomPacket::count().accepted,
        || accepted(chance.random()),
    );
    let replaced =
        Simulation::of("payload replaced by another, checksum kept; stored as another", draws, kept, || {
            let before = chance.random_range(0..STORABLE);
            let after = chance.random_range(0..STORABLE);
            let mut packet = right(before);
            packet[4..].copy_from_slice(&payload(after));
            before != after && stored(packet)
        });
    let mut all = vec![plain, replaced];
    for flips in [3, 4] {
        let expected = adler.mean(flips as usize).map_or(0.0, |mean| mean / choose(64, flips));
        let what = format!("{flips} of 64 bits flipped, wherever; stored as another");
        all.push(Simulation::of(&what, draws, expected, || {
            let mut packet = right(chance.random_range(0..STORABLE));
            for bit in index::sample(&mut chance, 64, flips as usize) {
                packet[bit / 8] ^= 1 << (bit % 8);
            }
            stored(packet)
        }));
    }
    all.push(poll(draws, &mut chance, polling));
    all
}

/// Heartbeats and polls as two combs over time; a false value lands somewhere and waits for either.
fn poll(draws: u64, chance: &mut impl rand::Rng, polling: Polling) -> Simulation {
    let (heartbeat, poll) = (polling.heartbeat.as_secs_f64(), polling.poll.as_secs_f64());
    let next = |now: f64, phase: f64, period: f64| phase + ((now - phase) / period).ceil() * period;
    Simulation::of("false value in a variable in use; seen at a poll", draws, polling.used_seen(), || {
        let phases = (chance.random::<f64>() * heartbeat, chance.random::<f64>() * poll);
        let now = (1.0 + chance.random::<f64>()) * 100.0 * heartbeat.max(poll);
        next(now, phases.1, poll) < next(now, phases.0, heartbeat)
    })
}

/// The heartbeat with payload number `index`.
fn right(index: u32) -> [u8; 8] {
    with_check(payload(index))
}

fn with_check(payload: [u8; 4]) -> [u8; 8] {
    let mut packet = [0; 8];
    packet[..4].copy_from_slice(&Check::Adler32.of(payload).to_be_bytes());
    packet[4..].copy_from_slice(&payload);
    packet
}

fn upper(packet: &mut [u8; 8], random: u32) {
    packet[..2].copy_from_slice(&random.to_be_bytes()[..2]);
}

fn lower(packet: &mut [u8; 8], random: u32) {
    packet[2..4].copy_from_slice(&random.to_be_bytes()[..2]);
}

fn magic(packet: &mut [u8; 8], random: u32) {
    let [_, _, _, _, _, rest @ ..] = *packet;
    *packet = with_check([random.to_be_bytes()[0], rest[0], rest[1], rest[2]]);
}

fn variable(packet: &mut [u8; 8], random: u32) {
    let [_, _, _, _, _, _, from, value] = *packet;
    *packet = with_check([MAGIC, random.to_be_bytes()[0], from, value]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heartbeat_reliability::payload::{Sharing, checks};
    use std::time::Duration;

    #[test]
    fn the_parts_of_a_random_packet_multiply_to_2_to_the_minus_40() {
        let tried = random_packets(1 << 20, 7);
        assert!(tried.parts.iter().all(|part| part.hits > 0 && part.agrees()), "{tried:#?}");
        let off = tried.accepted.unwrap().log2() + 40.0;
        assert!(off.abs() < 1.5, "2^{off}");
        assert_eq!(random_packets(1000, 7), random_packets(1000, 7));
    }

    #[test]
    fn damage_and_polls_go_as_the_formulas_say() {
        let adler = Weights::of(Check::Adler32, 4);
        let kept = Sharing::of(&checks(Check::Adler32, STORABLE)).kept_checksum_fits;
        let polling = Polling { heartbeat: Duration::from_secs(7), poll: Duration::from_secs(31), used: 8 };
        let tried = others(1 << 20, 7, &adler, kept, polling);
        assert!(tried.iter().all(Simulation::agrees), "{tried:#?}");
        assert_eq!(tried[0].hits, 0, "plain random packets show nothing");
        assert!(tried[1..].iter().all(|part| part.hits > 0), "{tried:#?}");
    }

    #[test]
    fn a_simulation_far_from_its_formula_does_not_agree() {
        let off = Simulation::of("always", 1000, 0.5, || true);
        assert!(!off.agrees());
        assert_eq!(Simulation::of("never tried", 0, 0.5, || true).share(), None);
    }
}
