//! How well a trial's arrivals were kept: what was asked, what left, what arrived.

use crate::{Arrival, GapLaw, Stamp, TrialInput};
use dropline_stats::Spacing;
use dropline_stats::spacing::ideal_distance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arrivals as they were, beside what was asked. What was not measured is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrivalFidelity {
    /// Packets a second that left ÷ those the schedule had, − 1; `None` where nothing was intended.
    pub rate_error: Option<f64>,
    /// The schedule itself, of at most [`LOOKED_AT`] packets; `None` for closed loops.
    pub intended: Option<Spaced>,
    /// Departures.
    pub left: Option<Spaced>,
    /// Departures by the kernel's stamps, of a sample of neighbouring packets: their gaps alone.
    pub sampled: Option<Spaced>,
    /// How late that sample left.
    pub sampled_lateness: Option<SampledLateness>,
    /// Arrivals at a receiver of ours.
    pub arrived: Option<Spaced>,
    /// How long the clients of a closed loop slept before their packets, where they were asked to.
    pub thought: Option<Thought>,
    /// The cheapest send measured in this session: no two packets that leave one by one are closer.
    pub send_cost_ns: Option<u64>,
    /// Kolmogorov's distance that a sender reaches at best whose packets are never closer than the cost of
    /// a send: the share of gaps that should be shorter.
    pub ks_floor: Option<f64>,
}

/// How much later than due the packets of a sample left by the kernel's stamps, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledLateness {
    /// Packets of the sample.
    pub packets: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
}

/// How clients slept before their packets. Their packets' gaps have no distribution that was asked for; their
/// sleeps have.
#[derive(Clone, Debug, PartialEq)]
pub struct Thought {
    /// How long, in the mean.
    pub asked_ns: f64,
    /// How long it was, as if sleeps were gaps; `ks` is to the distribution asked for.
    pub slept: Spaced,
}

/// Numbers about the gaps of a stream of packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Spaced {
    /// Packets whose times were looked at.
    pub packets: u64,
    /// Mean gap.
    pub mean_gap_ns: Option<f64>,
    /// Coefficient of variation of the gaps: 0 for constant, 1 for Poisson.
    pub variation: Option<f64>,
    /// Kolmogorov's distance of the gaps to the distribution asked for, or to the gaps drawn where it has
    /// no closed form. `None` where gaps are equal, or many of them, as in bursts: any jitter makes it 1/2 then.
    pub ks: Option<f64>,
    /// What 95 % of perfect samples of this size stay below.
    pub ks_ideal: Option<f64>,
    /// Share of gaps within a tenth of the one asked for; only where gaps are equal, or many of them.
    pub within_tenth: Option<f64>,
    /// Index of dispersion for counts in windows of 1, 10 and 100 ms.
    pub dispersion: [Option<f64>; 3],
    /// Times that went backward: a clock was set, or packets overtook one another.
    pub backward: u64,
    /// Where times were taken.
    pub stamp: Stamp,
}

/// A judgement of a trial's arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// No further from what was asked than chance and the cost of a send make it.
    AsAsked,
    /// Further, but fewer than a tenth of the gaps are displaced.
    Near,
    /// Something else arrived than what was asked.
    NotAsAsked,
}

/// Departures as they are told by a sender: constant memory, no allocation a packet.
#[derive(Clone, Debug, Default)]
pub struct Departed {
    spacing: Spacing,
    /// Due and left.
    first: Option<(u64, u64)>,
    last: (u64, u64),
}

impl Departed {
    /// Nothing has left. All memory is taken here.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all; takes no memory.
    pub fn clear(&mut self) {
        self.spacing.clear();
        self.first = None;
    }

    /// A packet that was due then left then; both in ns after the trial's start.
    pub fn packet(&mut self, due_ns: u64, left_ns: u64) {
        self.first.get_or_insert((due_ns, left_ns));
        self.last = (due_ns, left_ns);
        self.spacing.event(left_ns);
    }

    /// The times told so far.
    pub fn spacing(&self) -> &Spacing {
        &self.spacing
    }

    /// How much longer than the schedule the packets took, in ns: lateness of the last less that of the first.
    fn stretch_ns(&self) -> i128 {
        let lateness = |(due, left): (u64, u64)| i128::from(left) - i128::from(due);
        self.first.map_or(0, |first| lateness(self.last) - lateness(first))
    }
}

/// What a measurer knows of a trial's packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed<'a> {
    /// Packets that the load asked for; `None` for closed loops.
    pub intended: Option<u64>,
    /// Packets that left.
    pub offered: u64,
    /// When they left, and where that was taken.
    pub left: Option<(&'a Departed, Stamp)>,
    /// Gaps between neighbours that the kernel stamped when they left, and how late those packets were.
    pub sampled: Option<(&'a Spacing, SampledLateness)>,
    /// When they arrived at a receiver of ours, and where that was taken.
    pub arrived: Option<(&'a Spacing, Stamp)>,
    /// How clients' sleeps were to be distributed, and how long they were, as gaps.
    pub thought: Option<(GapLaw, &'a Spacing)>,
    /// The cheapest send measured in this session.
    pub send_cost_ns: Option<u64>,
}

/// Of a schedule, at most this many departures are drawn again to compare with.
pub const LOOKED_AT: usize = 1 << 20;

impl ArrivalFidelity {
    /// Compares what left and arrived with what `arrival` asked for. Draws the trial's departures again,
    /// so it costs some ns a packet: after the trial, not in it.
    pub fn of(arrival: &Arrival, input: TrialInput, seed: u64, observed: &Observed<'_>) -> Self {
        let law = arrival.gap_law(input.load);
        let mut schedule = Spacing::new();
        arrival.departures(input, seed).take(LOOKED_AT).for_each(|due| schedule.event(due));
        let asked = (schedule.count() > 1).then_some((law, &schedule));
        let spaced =
            |spacing: &Spacing, stamp| (spacing.count() > 0).then(|| Spaced::of(spacing, asked, stamp));
        Self {
            rate_error: observed.left.and_then(|(departed, _)| rate_error(input, observed, departed)),
            intended: asked.and_then(|_| spaced(&schedule, Stamp::App)),
            left: observed.left.and_then(|(departed, stamp)| spaced(departed.spacing(), stamp)),
            sampled: observed.sampled.and_then(|(spacing, _)| spaced(spacing, Stamp::Kernel)),
            sampled_lateness: observed.sampled.map(|(_, lateness)| lateness).filter(|late| late.packets > 0),
            arrived: observed.arrived.and_then(|(spacing, stamp)| spaced(spacing, stamp)),
            thought: observed.thought.and_then(|(law, slept)| Thought::of(law, slept)),
            send_cost_ns: observed.send_cost_ns,
            ks_floor: asked
                .filter(|(law, _)| !matches!(law, GapLaw::Equal { .. }))
                .zip(observed.send_cost_ns)
                .and_then(|((law, drawn), cost)| law.below(cost as f64).or_else(|| drawn.share_below(cost))),
        }
    }

    /// Arrivals of traffic that nobody asked for: as they were.
    pub fn overheard(arrived: &Spacing, stamp: Stamp) -> Self {
        let arrived = (arrived.count() > 0).then(|| Spaced::of(arrived, None, stamp));
        Self { arrived, ..Self::default() }
    }

    /// Whether what left, or where that is not known what arrived, is what was asked. `None` for closed
    /// loops, and where nothing was measured.
    pub fn fidelity(&self) -> Option<Fidelity> {
        self.intended.as_ref()?;
        let seen = self.left.as_ref().or(self.arrived.as_ref())?;
        let rate = self.rate_error.unwrap_or(0.0).abs();
        let (excellent, fair) = match (seen.ks, seen.within_tenth) {
            (Some(ks), _) => {
                let chance = seen.ks_ideal.unwrap_or(0.0);
                let floor = ABOVE_FLOOR * self.ks_floor.unwrap_or(0.0);
                (ks <= chance.max(floor), ks <= chance.max(floor).max(DISPLACED))
            }
            (None, Some(within)) => (within >= 1.0 - DISPLACED, within >= 0.5),
            (None, None) => return None,
        };
        Some(match () {
            () if excellent && rate <= RATE => Fidelity::AsAsked,
            () if fair && rate <= 10.0 * RATE => Fidelity::Near,
            () => Fidelity::NotAsAsked,
        })
    }
}

/// Rate errors up to this are as asked.
const RATE: f64 = 0.002;
/// Share of displaced gaps that is still near.
const DISPLACED: f64 = 0.1;
/// A distance up to this many times the floor is the floor's doing.
const ABOVE_FLOOR: f64 = 1.5;

impl Thought {
    fn of(law: GapLaw, slept: &Spacing) -> Option<Self> {
        let asked_ns = match law {
            GapLaw::Equal { gap_ns } => gap_ns,
            GapLaw::Exponential { mean_ns } => mean_ns,
            GapLaw::Drawn => return None,
        };
        let sleeps = slept.count().checked_sub(1).filter(|&sleeps| sleeps > 0)?;
        let slept = Spaced { packets: sleeps, ..Spaced::of(slept, Some((law, slept)), Stamp::App) };
        Some(Self { asked_ns, slept })
    }
}

impl Spaced {
    fn of(spacing: &Spacing, asked: Option<(GapLaw, &Spacing)>, stamp: Stamp) -> Self {
        let ks = asked.and_then(|(law, drawn)| match law {
            GapLaw::Equal { .. } => None,
            GapLaw::Drawn if is_lumped(drawn) => None,
            GapLaw::Drawn => spacing.distance_between(drawn),
            law => spacing.distance_to(|gap| law.below(gap).unwrap_or(1.0)),
        });
        let within_tenth = match asked {
            Some((GapLaw::Equal { gap_ns }, _)) => {
                // Departures are whole nanoseconds: gaps of one rate differ by one.
                let low = (gap_ns * 0.9).floor() as u64;
                spacing.share_within(low, (gap_ns * 1.1).ceil() as u64)
            }
            Some((GapLaw::Drawn, drawn)) if is_lumped(drawn) => {
                spacing.displaced_from(drawn).map(|displaced| 1.0 - displaced)
            }
            _ => None,
        };
        let gaps = spacing.count().saturating_sub(1);
        Self {
            packets: spacing.count(),
            mean_gap_ns: spacing.mean_ns(),
            variation: spacing.variation(),
            ks,
            ks_ideal: ks.and_then(|_| ideal_distance(gaps)),
            within_tenth,
            dispersion: spacing.dispersion(),
            backward: spacing.backward(),
            stamp,
        }
    }
}

/// Whether many gaps of a schedule are equal, as those within bursts: then any jitter makes Kolmogorov's distance large.
fn is_lumped(drawn: &Spacing) -> bool {
    /// Nobody keeps shorter gaps to a tenth.
    const SHORTEST_NS: u64 = 2_000;
    /// Of all gaps.
    const MANY: f64 = 0.1;
    drawn.most_alike(SHORTEST_NS).is_some_and(|share| share > MANY)
}

/// Offered ÷ intended, in the time that was asked for and what the packets took longer.
fn rate_error(input: TrialInput, observed: &Observed<'_>, departed: &Departed) -> Option<f64> {
    let intended = observed.intended.filter(|&intended| intended > 0)?;
    let asked_ns = input.duration.as_nanos() as f64;
    let took_ns = asked_ns + departed.stretch_ns() as f64;
    (took_ns > 0.0).then(|| observed.offered as f64 / intended as f64 * asked_ns / took_ns - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use std::time::Duration;

    const SEED: u64 = 5;

    fn input(pps: f64) -> TrialInput {
        TrialInput { load: Rate::pps(pps).unwrap(), duration: Duration::from_secs(2) }
    }

    /// What is kept if a packet due at `due` leaves at `left(due)`, and leaves are `cost` ns apart at least.
    fn kept(arrival: &Arrival, pps: f64, cost: u64, left: impl Fn(u64) -> u64) -> ArrivalFidelity {
        let mut departed = Departed::new();
        let mut free = 0;
        for due in arrival.departures(input(pps), SEED) {
            let at = left(due).max(free);
            free = at + cost;
            departed.packet(due, at);
        }
        let packets = departed.spacing().count();
        let observed = Observed {
            intended: Some(packets),
            offered: packets,
            left: Some((&departed, Stamp::App)),
            send_cost_ns: Some(cost),
            ..Observed::default()
        };
        ArrivalFidelity::of(arrival, input(pps), SEED, &observed)
    }

    #[test]
    fn a_schedule_kept_to_the_nanosecond_is_as_asked() {
        let kept = kept(&Arrival::poisson(), 10_000.0, 0, |due| due);
        assert_eq!((kept.rate_error, kept.fidelity()), (Some(0.0), Some(Fidelity::AsAsked)));
        let (left, intended) = (kept.left.unwrap(), kept.intended.unwrap());
        assert_eq!(left, intended);
        assert!(left.ks < left.ks_ideal, "{left:?}");
        assert!((left.variation.unwrap() - 1.0).abs() < 0.03);
        assert!(left.dispersion.iter().all(|index| (0.5..1.6).contains(&index.unwrap())), "{left:?}");
    }

    #[test]
    fn a_sender_whose_sends_cost_two_microseconds_stands_at_its_floor() {
        let kept = kept(&Arrival::poisson(), 100_000.0, 2_200, |due| due);
        let (ks, floor) = (kept.left.as_ref().unwrap().ks.unwrap(), kept.ks_floor.unwrap());
        assert!((floor - 0.1975).abs() < 1e-3, "1 − exp(−0.22): {floor}");
        assert!((1.0..1.3).contains(&(ks / floor)), "{ks} over {floor}");
        assert_eq!(kept.fidelity(), Some(Fidelity::AsAsked));
        assert!(kept.rate_error.unwrap().abs() < 1e-5);
    }

    #[test]
    fn a_sender_that_sleeps_through_a_tick_is_told_that_it_was_not_poisson() {
        let kept = kept(&Arrival::poisson(), 10_000.0, 0, |due| due.div_ceil(1_000_000) * 1_000_000);
        assert_eq!(kept.fidelity(), Some(Fidelity::NotAsAsked));
        let left = kept.left.unwrap();
        assert!(left.ks.unwrap() > 0.8, "{left:?}");
        assert!(left.variation.unwrap() > 2.5, "{left:?}");
    }

    #[test]
    fn equal_gaps_are_judged_by_the_share_within_a_tenth() {
        let even = kept(&Arrival::constant(), 10_000.0, 0, |due| due + 700);
        assert_eq!(even.left.as_ref().unwrap().within_tenth, Some(1.0));
        assert_eq!((even.left.as_ref().unwrap().ks, even.ks_floor), (None, None));
        assert_eq!(even.fidelity(), Some(Fidelity::AsAsked));
        let lumps = kept(&Arrival::constant(), 10_000.0, 0, |due| due / 1_000_000 * 1_000_000);
        assert_eq!(lumps.left.as_ref().unwrap().within_tenth, Some(0.0));
        assert_eq!(lumps.fidelity(), Some(Fidelity::NotAsAsked));
    }

    #[test]
    fn bursts_with_a_little_jitter_are_bursts_and_even_gaps_are_none() {
        let bursts: Arrival = "bursts:size=32,idle=1ms".parse().unwrap();
        let jitter = |due: u64| due + due / 7 % 900;
        let lumped = kept(&bursts, 20_000.0, 0, jitter);
        let left = lumped.left.as_ref().unwrap();
        assert_eq!((left.ks, left.within_tenth), (None, Some(1.0)));
        assert_eq!(lumped.fidelity(), Some(Fidelity::AsAsked));
        // As many packets, but each alone.
        let n = std::cell::Cell::new(0);
        let even = kept(&bursts, 20_000.0, 0, |_| n.replace(n.get() + 1) * 50_000);
        assert_eq!(even.fidelity(), Some(Fidelity::NotAsAsked));
        assert!(even.left.unwrap().within_tenth.unwrap() < 0.1);
    }

    #[test]
    fn a_sender_that_took_longer_was_slower() {
        let kept = kept(&Arrival::constant(), 1_000.0, 0, |due| due + due / 100);
        assert!((kept.rate_error.unwrap() + 0.0099).abs() < 1e-4, "{:?}", kept.rate_error);
    }

    #[test]
    fn a_closed_loop_is_described_and_not_judged() {
        let mut departed = Departed::new();
        (0..100).for_each(|n| departed.packet(0, n * 90_000));
        let observed = Observed { offered: 100, left: Some((&departed, Stamp::App)), ..Observed::default() };
        let kept = ArrivalFidelity::of(&"yield:n=4".parse().unwrap(), input(1000.0), SEED, &observed);
        assert_eq!((kept.rate_error, kept.intended.clone(), kept.fidelity()), (None, None, None));
        assert_eq!(kept.left.unwrap().ks, None);
    }
}
