//! What the replies say about the server: how long it took for each packet, and when it did nothing.

use crate::Stalls;
use dropline_trial::PacketTimes;

/// A server as its replies show it.
///
/// Of a packet that waited while the one before it was served, the time since that one's reply is its
/// service time; of one that found the server idle, it is its delay less what idle packets need beside. What
/// is far longer than usual is no service but a stall: the server had work and did nothing. Several workers
/// look like one that is as fast as all of them together.
#[derive(Clone, Debug, PartialEq)]
pub struct Served {
    /// From when on each service time holds, and the service time, in ns: in order of time.
    pub services: Vec<(u64, u64)>,
    /// Mean service time.
    pub mean_ns: f64,
    /// Standard error of the mean, from the means of runs of neighbours.
    pub error_ns: f64,
    /// From the arrival of a packet at an idle server to when it is read, about.
    pub wake_ns: u64,
    /// Delay of a packet that finds the server idle.
    pub idle_delay_ns: u64,
    /// Packets that found it idle.
    pub found_idle: u64,
    /// When the server had work and did nothing.
    pub stalls: Stalls,
    /// Packets that waited for the one before them.
    pub waited: u64,
}

/// Replies this close to one another were taken from our socket in one go.
const TOGETHER_NS: u64 = 1_000;
/// Way of a reply from the target's send to our stamp, and of a request to its socket: 2 us each on one host.
const WAYS_NS: u64 = 4_000;
/// Packets in a run whose mean is looked at.
const RUN: usize = 16;
/// What lasts this much longer than a service is a stall.
const STALL: u64 = 4;
/// And at least this much longer.
const SHORTEST_STALL_NS: u64 = 100_000;

/// Replies that came together, and what they say.
struct Clump {
    before_ns: u64,
    at_ns: u64,
    packets: u64,
    /// When its first packet left for the target.
    left_ns: u64,
}

impl Clump {
    /// Whether its first packet was at the target, and not just about to be, when the reply before it left.
    fn waited(&self) -> bool {
        self.left_ns + 2 * WAYS_NS < self.before_ns
    }
}

impl Served {
    /// Fewer packets that waited say too little about the service time.
    const FEWEST: usize = 8;

    /// Twice its error may be so large a part of a service time that is stated.
    const KNOWN: f64 = 0.5;

    /// Whether the service time is known well enough to say how fast the server is at most.
    pub fn is_known(&self) -> bool {
        2.0 * self.error_ns <= Self::KNOWN * self.mean_ns
    }

    /// What the replies say; `None` where none were seen, or too few of packets that waited.
    pub fn of(packets: &PacketTimes) -> Option<Self> {
        let clumps = clumps(packets);
        let waited: Vec<&Clump> = clumps.iter().filter(|clump| clump.waited()).collect();
        let usual_ns = usual(&waited)?;
        let limit = (usual_ns * STALL).max(usual_ns + SHORTEST_STALL_NS);
        let idle_delay_ns = idle_delay(&clumps, limit).unwrap_or(usual_ns + WAYS_NS);
        let beside = idle_delay_ns.saturating_sub(usual_ns);

        let mut stalls = Vec::new();
        let mut services = Vec::with_capacity(clumps.len());
        let mut of_waiting = Vec::with_capacity(waited.len());
        for clump in &clumps {
            // When the server could begin with the first of them.
            let began =
                if clump.waited() { clump.before_ns } else { (clump.left_ns + beside).max(clump.before_ns) };
            let each = clump.at_ns.saturating_sub(began) / clump.packets;
            if each > limit {
                stalls.push((began, clump.at_ns.saturating_sub(usual_ns * clump.packets)));
            } else {
                services.push((began, each));
                if clump.waited() {
                    of_waiting.extend(std::iter::repeat_n(each as f64, clump.packets as usize));
                }
            }
        }
        let mean_ns = dropline_stats::sample::mean(&of_waiting)?;
        let runs: Vec<f64> = of_waiting.chunks_exact(RUN).filter_map(dropline_stats::sample::mean).collect();
        let scatter_ns = dropline_stats::sample::standard_error(&runs).unwrap_or(mean_ns / 4.0);
        // Whoever catches up after a wait, or waits for less than a stall, has a mean that no longer run of it has.
        let error_ns = scatter_ns.max((mean_ns - usual_ns as f64).abs() / 2.0);
        Some(Self {
            services,
            mean_ns,
            error_ns,
            wake_ns: beside.saturating_sub(WAYS_NS),
            idle_delay_ns,
            found_idle: clumps.iter().filter(|clump| !clump.waited()).map(|clump| clump.packets).sum(),
            stalls: Stalls::new(stalls),
            waited: of_waiting.len() as u64,
        })
    }
}

/// The replies in the order in which they came, those that came together as one.
fn clumps(packets: &PacketTimes) -> Vec<Clump> {
    let mut replies: Vec<(u64, u64)> =
        packets.iter().filter_map(|packet| Some((packet.back_ns?, packet.left_ns?))).collect();
    replies.sort_unstable();
    let mut clumps: Vec<Clump> = Vec::new();
    for (at_ns, left_ns) in replies {
        match clumps.last_mut() {
            Some(last) if at_ns - last.at_ns <= TOGETHER_NS => {
                last.packets += 1;
                last.left_ns = last.left_ns.min(left_ns);
            }
            last => {
                let before_ns = last.map_or(0, |last| last.at_ns);
                clumps.push(Clump { before_ns, at_ns, packets: 1, left_ns });
            }
        }
    }
    clumps
}

/// Median over runs of the time between replies to packets that waited: neither a stall nor replies that
/// were taken late and together move it.
fn usual(waited: &[&Clump]) -> Option<u64> {
    if waited.iter().map(|clump| clump.packets as usize).sum::<usize>() < Served::FEWEST {
        return None;
    }
    let mut means: Vec<u64> = waited
        .chunks(RUN)
        .map(|run| {
            let time: u64 = run.iter().map(|clump| clump.at_ns - clump.before_ns).sum();
            time / run.iter().map(|clump| clump.packets).sum::<u64>()
        })
        .collect();
    means.sort_unstable();
    Some(means[means.len() / 2].max(1))
}

/// Delay that one in four packets that found the server idle stayed below; `None` where so few of them took longer than
/// `limit`: it may have been kept from reading them.
fn idle_delay(clumps: &[Clump], limit: u64) -> Option<u64> {
    let mut delays: Vec<u64> = clumps
        .iter()
        .filter(|clump| !clump.waited() && clump.packets == 1)
        .map(|clump| clump.at_ns.saturating_sub(clump.left_ns))
        .collect();
    delays.sort_unstable();
    let is_enough = delays.len() >= Served::FEWEST;
    delays.get(delays.len() / 4).copied().filter(|delay| is_enough || *delay <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets that leave at these times and come back at those.
    fn times(packets: &[(u64, Option<u64>)]) -> PacketTimes {
        let mut times = PacketTimes::with_room(packets.len(), true);
        for (index, &(left, back)) in packets.iter().enumerate() {
            times.departures.push(left, Some(left), 0);
            if let Some(back) = back {
                times.returns.as_mut().unwrap().note(index as u64, back);
            }
        }
        times
    }

    /// Bursts of 20 each 20 ms; a server that wakes in 30 us, takes 40 us each, and 4 us of ways.
    fn bursts(stall: Option<(u64, u64)>) -> PacketTimes {
        let stalls = Stalls::new(stall.into_iter().collect());
        let mut packets = Vec::new();
        for burst in 0..20u64 {
            let begin = burst * 20_000_000;
            let mut free = stalls.running_from(begin + 32_000);
            for n in 0..20u64 {
                free = stalls.done(free, 40_000);
                packets.push((begin + n * 2000, Some(free + 2000)));
            }
        }
        times(&packets)
    }

    #[test]
    fn the_service_time_is_that_between_replies_to_packets_that_waited() {
        let served = Served::of(&bursts(None)).unwrap();
        assert_eq!((served.mean_ns, served.error_ns, served.waited), (40_000.0, 0.0, 20 * 19));
        assert_eq!(served.stalls, Stalls::default());
    }

    #[test]
    fn what_an_idle_server_needs_beside_is_waking_up_and_the_ways() {
        let served = Served::of(&bursts(None)).unwrap();
        assert_eq!((served.idle_delay_ns, served.wake_ns), (74_000, 30_000));
    }

    #[test]
    fn few_packets_that_found_it_idle_do_not_say_how_long_it_takes_to_wake() {
        // Three that came while it had no CPU for 70 ms, and a burst that it never empties.
        let late = (0..3u64).map(|n| (n * 100_000_000, Some(n * 100_000_000 + 70_000_000)));
        let burst = (0..400u64).map(|n| (300_000_000 + n * 2_000, Some(370_000_000 + n * 20_000)));
        let packets: Vec<(u64, Option<u64>)> = late.chain(burst).collect();
        let served = Served::of(&times(&packets)).unwrap();
        assert_eq!(served.mean_ns, 20_000.0);
        assert!(served.wake_ns < 100_000, "{}", served.wake_ns);
    }

    #[test]
    fn what_a_server_makes_up_after_a_wait_is_in_the_error_of_its_service_time() {
        // 20 us each; after each 100 of them no CPU for 2 ms, of which the next 30 make up what they can, in 2 us each.
        let mut packets = Vec::new();
        let mut at = 0;
        for n in 0..6_000u64 {
            at += match n % 100 {
                0 => 2_000_000,
                1..30 => 2_000,
                _ => 20_000,
            };
            packets.push((n, Some(1_000_000 + at)));
        }
        let served = Served::of(&times(&packets)).unwrap();
        assert!(served.mean_ns < 17_000.0, "{}", served.mean_ns);
        assert!(served.mean_ns + 2.0 * served.error_ns >= 20_000.0, "{} {}", served.mean_ns, served.error_ns);
    }

    #[test]
    fn a_server_that_does_nothing_with_work_at_hand_is_stalled() {
        let begin = 5 * 20_000_000 + 300_000;
        let served = Served::of(&bursts(Some((begin, begin + 3_000_000)))).unwrap();
        let [(from, to)] = served.stalls.intervals() else { panic!("{:?}", served.stalls) };
        assert!(from.abs_diff(begin) <= 42_000 && to.abs_diff(begin + 3_000_000) <= 42_000, "{from} {to}");
        assert!((served.mean_ns - 40_000.0).abs() < 1.0, "{}", served.mean_ns);
    }

    #[test]
    fn replies_taken_late_and_together_are_no_stall_and_no_slow_service() {
        // Every ten replies are stamped when the tenth is here.
        let packets: Vec<(u64, Option<u64>)> =
            (0..1000u64).map(|n| (n * 1000, Some((n / 10 + 1) * 10 * 40_000))).collect();
        let served = Served::of(&times(&packets)).unwrap();
        assert_eq!((served.mean_ns, served.stalls.total_ns()), (40_000.0, 0));
    }

    #[test]
    fn a_service_time_that_may_be_half_of_itself_is_not_known() {
        let of = |mean_ns, error_ns| Served { mean_ns, error_ns, ..Served::of(&bursts(None)).unwrap() };
        assert!(Served::of(&bursts(None)).unwrap().is_known() && of(36_500.0, 6_850.0).is_known());
        // As seen of a server that takes 200 us: 16.6 us, and 105 us a packet.
        assert!(!of(16_600.0, 6_250.0).is_known() && !of(105_000.0, 130_500.0).is_known());
    }

    #[test]
    fn too_little_waiting_says_nothing() {
        let lonely: Vec<(u64, Option<u64>)> =
            (0..50).map(|n| (n * 1_000_000, Some(n * 1_000_000 + 50_000))).collect();
        assert_eq!(Served::of(&times(&lonely)), None);
        assert_eq!(Served::of(&PacketTimes::with_room(0, false)), None);
    }
}
