//! When packets were lost: in bursts, or spread over the trial.

use crate::Stalls;
use schemars::JsonSchema;
use serde::Serialize;

/// When packets were lost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Losses {
    /// Packets lost.
    pub lost: u64,
    /// How they lie in time.
    pub shape: Shape,
    /// Bursts: losses less than a millisecond apart, or of packets of which each came next after the last.
    pub bursts: u64,
    /// Median of the packets that a burst lost.
    pub median_burst: u64,
    /// The burst that lost most.
    pub longest: Burst,
    /// Most packets lost one right after the other.
    pub longest_run: u64,
    /// Packets from one loss to the next, where they are far more alike than at random; else null.
    pub every: Option<f64>,
    /// Index of dispersion of the losses in windows of 1, 10 and 100 ms: 1 if they are spread at random.
    pub dispersion: [Option<f64>; 3],
    /// Lost while the server did nothing, or within a millisecond after; null where that was not seen.
    pub while_stalled: Option<u64>,
}

/// Losses that belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Burst {
    /// First loss.
    pub from_ns: u64,
    /// Last loss.
    pub to_ns: u64,
    /// Packets lost.
    pub packets: u64,
}

/// How losses lie in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Nearly every 10 ms has its losses.
    AllTheTime,
    /// Together, with times without loss between.
    Bursts,
    /// Every so many packets, or by turns: far more evenly than at random.
    Regular,
    /// As chance spreads them.
    Spread,
}

/// Losses further apart are two bursts, unless no packet between them came through.
const APART_NS: u64 = 1_000_000;

impl Losses {
    /// From the times of the lost packets, in order, the positions they had among all packets, and the time
    /// in which packets were sent; `None` if none was lost.
    pub fn of(lost: &[(u64, usize)], duration_ns: u64, stalls: Option<&Stalls>) -> Option<Self> {
        let (&(first_ns, _), _) = lost.split_first()?;
        let mut bursts = vec![Burst { from_ns: first_ns, to_ns: first_ns, packets: 0 }];
        let (mut run, mut longest_run, mut expected) = (0u64, 0u64, usize::MAX);
        for &(at_ns, position) in lost {
            let last = bursts.last_mut().expect("there is a first one");
            if at_ns.saturating_sub(last.to_ns) > APART_NS && position != expected {
                bursts.push(Burst { from_ns: at_ns, to_ns: at_ns, packets: 1 });
            } else {
                last.to_ns = at_ns;
                last.packets += 1;
            }
            run = if position == expected { run + 1 } else { 1 };
            expected = position + 1;
            longest_run = longest_run.max(run);
        }
        let mut sizes: Vec<u64> = bursts.iter().map(|burst| burst.packets).collect();
        sizes.sort_unstable();
        let dispersion =
            [1_000_000, 10_000_000, 100_000_000].map(|window| dispersion(lost, duration_ns, window));
        let windows = duration_ns.div_ceil(10_000_000).max(1) as usize;
        let mut with_loss: Vec<u64> = lost.iter().map(|(at_ns, _)| at_ns / 10_000_000).collect();
        with_loss.dedup();
        let shape = if with_loss.len() * 10 >= windows * 9 && lost.len() >= 10 * windows {
            Shape::AllTheTime
        } else if (lost.len() > 2 && dispersion[1].is_some_and(|index| index > 2.0))
            || is_one_run(bursts.len(), lost.len(), longest_run)
        {
            Shape::Bursts
        } else if is_even(dispersion[1], lost) {
            Shape::Regular
        } else {
            Shape::Spread
        };
        let during = |stalls: &Stalls| {
            let near = |at_ns: u64| !stalls.runs_at(at_ns) || stalls.ended_within(at_ns, APART_NS);
            lost.iter().filter(|(at_ns, _)| near(*at_ns)).count() as u64
        };
        Some(Self {
            lost: lost.len() as u64,
            shape,
            bursts: bursts.len() as u64,
            median_burst: sizes[sizes.len() / 2],
            longest: bursts.iter().copied().max_by_key(|burst| burst.packets).unwrap_or_default(),
            longest_run,
            every: None,
            dispersion,
            while_stalled: stalls.map(during),
        })
    }
}

/// Fewer distances than these show no rule.
const FEWEST: usize = 10;
/// At random the variance of the distances is (1 − p) ÷ p²; a rule leaves this share of it at most.
const EVEN: f64 = 0.1;

/// Losses that chance could have spread, where there are fewer, say nothing.
const FEW: usize = 50;

/// Whether nearly all losses are one behind the other: a target that fell silent, however little of the trial is left.
fn is_one_run(bursts: usize, lost: usize, longest_run: u64) -> bool {
    lost >= FEWEST && bursts <= 2 && longest_run * 10 >= lost as u64 * 9
}

/// Whether they lie far more evenly in time than chance leaves them: of packets that leave evenly and of which a share p
/// is lost, each by itself, the dispersion is 1 − p.
fn is_even(dispersion: Option<f64>, lost: &[(u64, usize)]) -> bool {
    let all = lost.last().map_or(0, |(_, position)| position + 1);
    let kept = 1.0 - lost.len() as f64 / all.max(1) as f64;
    lost.len() >= FEW && kept > 0.1 && dispersion.is_some_and(|index| index < EVEN * 2.0 * kept)
}

impl Losses {
    /// The same, where losses come at regular distances, which are counted in packets: of losses whose positions are known.
    pub(crate) fn at_even_distances(self, lost: &[(u64, usize)]) -> Self {
        match every(lost) {
            Some(mean) if self.shape == Shape::AllTheTime => Self { every: Some(mean), ..self },
            Some(mean) => Self { shape: Shape::Regular, every: Some(mean), ..self },
            None => self,
        }
    }
}

/// The mean distance of losses in packets, where their distances are far more alike than at random.
fn every(lost: &[(u64, usize)]) -> Option<f64> {
    let gaps: Vec<f64> = lost.windows(2).map(|pair| pair[1].1.abs_diff(pair[0].1) as f64).collect();
    if gaps.len() < FEWEST {
        return None;
    }
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
    // Of each packet or of every other one lost, nothing is known by that: chance has hardly another choice.
    (mean >= 2.0 && variance <= EVEN * mean * (mean - 1.0)).then_some(mean)
}

/// Variance over mean of the losses in windows; `None` with fewer than two whole windows.
fn dispersion(lost: &[(u64, usize)], duration_ns: u64, window: u64) -> Option<f64> {
    let windows = duration_ns / window;
    if windows < 2 {
        return None;
    }
    let mut squares = 0.0;
    let mut sum = 0.0;
    let in_windows = lost.iter().map(|(at_ns, _)| at_ns / window).filter(|&index| index < windows);
    let mut counts: std::collections::BTreeMap<u64, f64> = std::collections::BTreeMap::new();
    in_windows.for_each(|index| *counts.entry(index).or_default() += 1.0);
    for count in counts.values() {
        sum += count;
        squares += count * count;
    }
    let n = windows as f64;
    let mean = sum / n;
    (sum > 0.0).then(|| (squares - n * mean * mean) / (n - 1.0) / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lost: &[(u64, usize)], stalls: Option<&Stalls>) -> Losses {
        Losses::of(lost, 1_000_000_000, stalls).unwrap()
    }

    #[test]
    fn losses_together_are_a_burst_and_losses_apart_are_spread() {
        let burst: Vec<(u64, usize)> =
            (0..100u64).map(|n| (500_000_000 + n * 10_000, 1000 + n as usize)).collect();
        let found = of(&burst, None);
        assert_eq!((found.shape, found.bursts, found.longest_run), (Shape::Bursts, 1, 100));
        assert_eq!(found.longest, Burst { from_ns: 500_000_000, to_ns: 500_990_000, packets: 100 });
        let spread: Vec<(u64, usize)> = (0..50u64).map(|n| (n * 20_000_000, n as usize * 7)).collect();
        let found = of(&spread, None);
        assert_eq!((found.shape, found.bursts, found.longest_run), (Shape::Spread, 50, 1));
    }

    #[test]
    fn every_tenth_packet_is_not_lost_as_at_random() {
        let lost = |positions: Vec<usize>| -> Vec<(u64, usize)> {
            positions.into_iter().map(|at| (at as u64 * 50_000, at)).collect()
        };
        let found = |lost: &[(u64, usize)]| of(lost, None).at_even_distances(lost);
        let tenth = lost((0..200).map(|n| n * 10 + 3).collect());
        assert_eq!((found(&tenth).shape, found(&tenth).every), (Shape::Regular, Some(10.0)));
        let few = |count: usize| found(&lost((0..count).map(|n| n * 10).collect())).every;
        assert_eq!((few(10), few(11)), (None, Some(10.0)), "nine distances are no rule, and ten are");
        // One packet in 3.4: distances of three and of four.
        let uneven = found(&lost((0..200).map(|n| n * 34 / 10).collect()));
        assert!(uneven.shape == Shape::Regular && (uneven.every.unwrap() - 3.4).abs() < 0.05, "{uneven:?}");
        let mut state = 7u64;
        let random = lost(
            (0..2000)
                .filter(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    state >> 33 < (1 << 31) / 10
                })
                .collect(),
        );
        assert_eq!(found(&random).every, None);
        assert_ne!(found(&random).shape, Shape::Regular);
        let burst = lost((100..200).collect());
        assert_eq!((found(&burst).every, found(&burst).longest_run), (None, 100), "a run is no rule");
    }

    #[test]
    fn distances_that_vary_by_a_tenth_of_what_they_do_at_random_are_a_rule() {
        let every = |gaps: &[usize]| {
            let positions = gaps.iter().scan(0, |at, gap| {
                *at += gap;
                Some((0, *at))
            });
            every(&std::iter::once((0, 0)).chain(positions).collect::<Vec<_>>())
        };
        assert_eq!((every(&[2; 10]), every(&[1; 10])), (Some(2.0), None), "each packet is no rule");
        // At random distances of ten vary by ninety.
        assert_eq!(every(&[7, 13].repeat(5)), Some(10.0));
        assert_eq!(every(&[15, 15, 5, 5, 10, 10, 10, 10, 10, 10]), None);
    }

    #[test]
    fn what_is_lost_all_the_time_by_a_rule_stays_lost_all_the_time() {
        let lost: Vec<(u64, usize)> = (0..10_000u64).map(|n| (n * 100_000, n as usize * 10)).collect();
        let found = of(&lost, None).at_even_distances(&lost);
        assert_eq!((found.shape, found.every), (Shape::AllTheTime, Some(10.0)));
    }

    #[test]
    fn packets_of_a_slow_load_that_are_all_lost_for_a_while_are_one_burst() {
        let outage: Vec<(u64, usize)> =
            (0..300u64).map(|n| (300_000_000 + n * 2_000_000, 150 + n as usize)).collect();
        let found = of(&outage, None);
        assert_eq!((found.bursts, found.median_burst, found.longest.packets), (1, 300, 300));
    }

    #[test]
    fn a_target_that_falls_silent_early_lost_one_run_and_not_packets_here_and_there() {
        let lost: Vec<(u64, usize)> =
            (0..709u64).map(|n| (227_000_000 + n * 2_500_000 * 773 / 1773, 91 + n as usize)).collect();
        let found = of(&lost, None).at_even_distances(&lost);
        assert_eq!((found.shape, found.bursts), (Shape::Bursts, 1), "{found:?}");
    }

    #[test]
    fn what_is_lost_by_turns_is_more_even_than_at_random_though_no_distance_is_the_rule() {
        // Five of ten in each round: as where a server leaves one of two names unanswered.
        let pattern = [true, true, false, true, false, true, false, false, true, false];
        let lost: Vec<(u64, usize)> =
            (0..1000usize).filter(|at| pattern[at % 10]).map(|at| (at as u64 * 1_000_000, at)).collect();
        let found = of(&lost, None).at_even_distances(&lost);
        assert_eq!((found.shape, found.every), (Shape::Regular, None), "{found:?}");
        let mut state = 7u64;
        let mut coin = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33 < 1 << 30
        };
        let random: Vec<(u64, usize)> =
            (0..1000usize).filter(|_| coin()).map(|at| (at as u64 * 1_000_000, at)).collect();
        assert_eq!(of(&random, None).at_even_distances(&random).shape, Shape::Spread);
    }

    #[test]
    fn losses_in_every_hundredth_of_a_second_are_lost_all_the_time() {
        let lost: Vec<(u64, usize)> = (0..100_000u64).map(|n| (n * 10_000, n as usize * 2)).collect();
        assert_eq!(of(&lost, None).shape, Shape::AllTheTime);
    }

    #[test]
    fn losses_are_laid_to_the_stall_they_fell_into() {
        let stalls = Stalls::new(vec![(100_000_000, 103_000_000)]);
        let lost = [(102_000_000, 5), (103_500_000, 6), (105_000_000, 7)];
        assert_eq!(of(&lost, Some(&stalls)).while_stalled, Some(2));
        assert_eq!(of(&lost, None).while_stalled, None);
    }

    #[test]
    fn no_loss_has_no_time() {
        assert_eq!(Losses::of(&[], 1_000_000_000, None), None);
    }

    #[test]
    fn counts_that_chance_spread_have_a_dispersion_of_one() {
        let mut state = 1u64;
        let lost: Vec<(u64, usize)> = {
            let mut times: Vec<u64> = (0..5000)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) % 1_000_000_000
                })
                .collect();
            times.sort_unstable();
            times.into_iter().enumerate().map(|(position, at)| (at, position * 3)).collect()
        };
        let index = of(&lost, None).dispersion[0].unwrap();
        assert!((0.8..1.2).contains(&index), "{index}");
    }
}
