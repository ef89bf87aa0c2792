//! What is asked about a bus and its monitor, and everything that follows.

use super::chance::{Polling, RandomPacket, at_least_one, between_s, none_in, tries_to_show};
use super::check::Check;
use super::found::{CheckLine, ErrorCurves, ErrorLine, Polls, Reliability, Trying, Waiting};
use super::pattern::Patterns;
use super::payload::{STORABLE, Sharing, checks};
use super::simulation;
use super::swap::Reordered;
use super::verdict::sentences;
use super::weight::{Undetected, Weights, random_tag_mean, random_tag_undetected};
use dropline_trial::Rate;
use std::time::Duration;

/// Frames a second on the bus of the original's notes.
const SEED_RATE: f64 = 4000.0;
/// Distances shown in the comparison.
const DISTANCES: u32 = 4;
const DAY_S: f64 = 86_400.0;
const KEYED_TAG: &str = "32-bit keyed tag";

/// A bus, its senders and its monitor.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Frames a second that are no heartbeats, as random as can be.
    pub frame_rate: Rate,
    /// Chances that a bit arrives wrong.
    pub bit_error_rates: Vec<f64>,
    /// Heartbeats and polls.
    pub polling: Polling,
    /// Random packets that some test tried without seeing one accepted.
    pub tried: u64,
    /// Level of what that shows.
    pub level: f64,
    /// Draws of each simulation.
    pub draws: u64,
    /// Chance of the simulations.
    pub seed: u64,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            frame_rate: Rate::pps(SEED_RATE).expect("a rate"),
            bit_error_rates: vec![1e-3, 1e-4, 1e-5, 1e-6],
            polling: Polling { heartbeat: Duration::from_secs(1), poll: Duration::from_secs(60), used: 64 },
            tried: 100_000,
            level: 0.95,
            draws: 4_000_000,
            seed: 7,
        }
    }
}

impl Question {
    /// Computes and tries everything. Takes seconds; depends on nothing but what is asked.
    pub fn answer(&self) -> Reliability {
        let rate = self.frame_rate.as_pps();
        let random = RandomPacket::count();
        let all = checks(Check::Adler32, 1 << 24);
        let (stored, all) = (Sharing::of(&all[..STORABLE as usize]), Sharing::of(&all));
        let weights: Vec<Weights> = Check::ALL.iter().map(|check| Weights::of(*check, DISTANCES)).collect();
        let patterns = Patterns::enumerate();
        let mut found = Reliability {
            random,
            waiting: waiting(rate, random),
            trying: Trying {
                tried: self.tried,
                level: self.level,
                at_most: none_in(self.tried, self.level),
                tries_for_2_to_minus_32: tries_to_show(2_f64.powi(-32), self.level),
                tries_for_2_to_minus_40: tries_to_show(2_f64.powi(-40), self.level),
            },
            checks: self.lines(&weights),
            curves: ErrorCurves::of(&weights),
            bursts: patterns.bursts(),
            shortest_burst_bits: patterns.shortest_burst(),
            swaps: Reordered::swaps(),
            rotations: Reordered::rotations(),
            polls: polls(self.polling, rate, random),
            splitting: simulation::random_packets(self.draws, self.seed),
            simulations: simulation::others(
                self.draws,
                self.seed,
                &weights[0],
                stored.kept_checksum_fits,
                self.polling,
            ),
            stored,
            all,
            sentences: Vec::new(),
        };
        found.sentences = sentences(&found);
        found
    }

    fn lines(&self, weights: &[Weights]) -> Vec<CheckLine> {
        let errors = |frame_bits: u32, undetected: &dyn Fn(f64) -> Undetected| {
            let line = |p: &f64| {
                let chance = undetected(*p);
                ErrorLine {
                    bit_error_rate: *p,
                    any_error: -f64::exp_m1(f64::from(frame_bits) * f64::ln_1p(-p)),
                    undetected: chance,
                    between_s: (chance.counted > 0.0)
                        .then(|| between_s(self.frame_rate.as_pps(), chance.counted)),
                }
            };
            self.bit_error_rates.iter().map(line).collect()
        };
        let mut lines: Vec<CheckLine> = Check::ALL
            .iter()
            .zip(weights)
            .map(|(check, weights)| CheckLine {
                name: check.name(),
                bits: check.bits(),
                minimum_distance: weights.minimum_distance(),
                pairs: Some(weights.pairs.clone()),
                mean: (1..=DISTANCES as usize).filter_map(|d| weights.mean(d)).collect(),
                undetected: errors(check.frame_bits(), &|p| weights.undetected(p)),
            })
            .collect();
        lines.push(CheckLine {
            name: KEYED_TAG,
            bits: 32,
            minimum_distance: None,
            pairs: None,
            mean: (1..=DISTANCES).map(random_tag_mean).collect(),
            undetected: errors(64, &|p| {
                let chance = random_tag_undetected(p);
                Undetected { counted: chance, at_most: chance }
            }),
        });
        lines
    }
}

fn waiting(rate: f64, random: RandomPacket) -> Waiting {
    Waiting {
        frame_rate_pps: rate,
        accepted_s: between_s(rate, random.accepted),
        stored_s: between_s(rate, random.stored),
        checksum_alone_s: between_s(rate, random.checksum_alone),
        seed_accepted_s: between_s(SEED_RATE, random.accepted),
        seed_stored_s: between_s(SEED_RATE, random.stored),
        seed_checksum_alone_s: between_s(SEED_RATE, random.checksum_alone),
        stored_in_a_day: at_least_one(rate, random.stored, DAY_S),
        stored_in_a_year: at_least_one(rate, random.stored, 365.25 * DAY_S),
    }
}

fn polls(polling: Polling, rate: f64, random: RandomPacket) -> Polls {
    Polls {
        heartbeat_s: polling.heartbeat.as_secs_f64(),
        poll_s: polling.poll.as_secs_f64(),
        used: polling.used,
        used_seen: polling.used_seen(),
        used_seen_random: polling.used_seen_random(),
        unused_seen: 1.0,
        seen: polling.seen(),
        between_seen_s: between_s(rate, random.stored * polling.seen()),
    }
}

impl ErrorCurves {
    fn of(weights: &[Weights]) -> Self {
        let bit_error_rates: Vec<f64> =
            (0..=40).map(|tenth| 10f64.powf(f64::from(tenth) / 10.0 - 6.0)).collect();
        let over = |chance: &dyn Fn(f64) -> f64| bit_error_rates.iter().map(|p| chance(*p)).collect();
        let counted = Check::ALL.iter().zip(weights);
        let mut undetected: Vec<(&'static str, Vec<f64>)> = counted
            .map(|(check, weights)| (check.name(), over(&|p| weights.undetected(p).counted)))
            .collect();
        undetected.push((KEYED_TAG, over(&random_tag_undetected)));
        Self { bit_error_rates, undetected }
    }
}
