//! What is uncertain about a replayed loss: it is replayed many times, each with what is uncertain drawn anew.

use crate::replay::replay_until;
use crate::{Arriving, Replayed, Room, Server, Service, packets_held, truesize};
use dropline_trial::seed;
use rand::Rng as _;
use schemars::JsonSchema;
use serde::Serialize;

/// A loss that a replay predicts, with what it leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Predicted {
    /// Median of the replays.
    pub lost: u64,
    /// Least of 95 % of them.
    pub low: u64,
    /// Most of 95 % of them.
    pub high: u64,
}

impl Predicted {
    /// From the best case of one to the worst of another, which is the likelier one.
    pub(crate) fn up_to_worst(self, worst: Self) -> Self {
        Self { low: self.low.min(worst.low), high: self.high.max(worst.high), ..worst }
    }
}

/// What is uncertain about a server that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Doubt {
    /// Standard error of its mean service time over the mean.
    pub(crate) service: f64,
    /// Replays.
    pub(crate) runs: u64,
    /// Chance.
    pub(crate) seed: u64,
    /// When nobody waits for a packet any more: what is not served then is lost, whatever is changed.
    pub(crate) end_ns: u64,
}

/// Services in whose neighbourhood measured times are exchanged.
const NEIGHBOURS: usize = 16;

impl Doubt {
    /// As many replays as are affordable, nine at least.
    pub(crate) fn of(service: f64, packets: usize, seed: u64, end_ns: u64) -> Self {
        /// Replayed packets that take about a tenth of a second.
        const AFFORDABLE: usize = 1_500_000;
        let runs = (AFFORDABLE / packets.max(1)).clamp(9, 49) as u64;
        Self { service, runs, seed, end_ns }
    }

    /// The loss, replayed with what is uncertain drawn anew: the mean service time within its error, each
    /// service time among its neighbours', waking up by half of itself. What still waits at the end is not lost.
    pub(crate) fn predict(self, arrivals: &[Arriving], server: &Server) -> Predicted {
        self.predicted(arrivals, server, Replayed::lost)
    }

    /// The same of a server that something was changed in: what still waits at the end is lost.
    pub(crate) fn predict_changed(self, arrivals: &[Arriving], server: &Server) -> Predicted {
        self.predicted(arrivals, server, Replayed::missed)
    }

    fn predicted(self, arrivals: &[Arriving], server: &Server, of: fn(&Replayed) -> u64) -> Predicted {
        let mut losses: Vec<u64> = (0..self.runs)
            .map(|run| {
                let (drawn, seed) = (self.drawn(server, run), seed::of_trial(self.seed, run));
                of(&replay_until(arrivals.iter().copied(), &drawn, seed, self.end_ns))
            })
            .collect();
        losses.sort_unstable();
        let at = |share: f64| losses[((losses.len() - 1) as f64 * share).round() as usize];
        Predicted { lost: at(0.5), low: at(0.025), high: at(0.975) }
    }

    /// What must be lost: more arrives than is served, without a stall, as fast as the service may be, until the last has come,
    /// and than waits then and is served until the end.
    pub(super) fn must_be_lost(self, arrivals: &[Arriving], server: &Server) -> u64 {
        /// Standard errors of the service time that are given to it.
        const ERRORS: f64 = 3.0;
        let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else { return 0 };
        let end_ns = self.end_ns.max(last.at_ns);
        let served = |until_ns: u64| {
            let at_once =
                server.service.packets_within(first.at_ns, until_ns) * f64::from(server.workers.max(1));
            at_once / (1.0 - ERRORS * self.service).max(0.1)
        };
        let least = arrivals.iter().map(|packet| packet.payload_bytes).min().unwrap_or(0);
        let served = served(end_ns).min(served(last.at_ns) + server.holds(least));
        (arrivals.len() as u64).saturating_sub((served.ceil() as u64).saturating_add(1))
    }

    fn drawn(self, server: &Server, run: u64) -> Server {
        let mut chance = seed::generator(seed::of_trial(self.seed ^ 0x5eed, run));
        // Twelve uniform numbers are as good a normal one as is needed here.
        let normal: f64 = (0..12).map(|_| chance.random::<f64>()).sum::<f64>() - 6.0;
        let factor = (1.0 + self.service * normal).max(0.1);
        let service = match &server.service {
            Service::Course(course) => Service::Course(
                (0..course.len())
                    .map(|at| {
                        let low = at.saturating_sub(NEIGHBOURS);
                        let high = (at + NEIGHBOURS).min(course.len() - 1);
                        (course[at].0, course[chance.random_range(low..=high)].1)
                    })
                    .collect(),
            ),
            service => service.clone(),
        };
        let service = service.scaled(factor);
        let wake_ns = (server.wake_ns as f64 * chance.random_range(0.5..1.5)) as u64;
        Server { service, wake_ns, ..server.clone() }
    }
}

impl Server {
    /// Most packets of so many bytes that wait or are served at once.
    fn holds(&self, payload_bytes: u32) -> f64 {
        let at_socket = match self.room {
            Room::Linux { buffer_bytes } => {
                packets_held(buffer_bytes, truesize(payload_bytes, self.family)) as f64
            }
            Room::Packets(packets) => packets as f64,
            Room::Unlimited => f64::INFINITY,
        };
        // A reader has a batch in its hands.
        let in_hand = u64::from(self.workers) * u64::from(self.batch);
        at_socket + self.queue.unwrap_or(0).saturating_add(in_hand) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_best_and_a_worst_case_reach_as_low_and_as_high_as_either() {
        let of = |lost, low, high| Predicted { lost, low, high };
        assert_eq!(of(1, 0, 9).up_to_worst(of(5, 4, 6)), of(5, 0, 9));
        assert_eq!(of(1, 3, 5).up_to_worst(of(5, 2, 6)), of(5, 2, 6));
    }

    #[test]
    fn as_many_replays_are_made_as_take_a_tenth_of_a_second_and_nine_at_least() {
        let runs = |packets| Doubt::of(0.0, packets, 7, 0).runs;
        assert_eq!([0, 1, 30_000, 100_000, 1_000_000].map(runs), [49, 49, 49, 15, 9]);
    }

    #[test]
    fn a_server_holds_what_waits_at_its_socket_and_in_its_queue_and_what_it_has_in_hand() {
        let of = |room, queue, workers, batch| {
            let service = Service::Fixed(1);
            let stalls = crate::Stalls::default();
            let family = crate::AddressFamily::V4;
            Server { room, family, queue, workers, batch, wake_ns: 0, read_ns: 0, service, stalls }.holds(600)
        };
        assert_eq!(of(Room::Linux { buffer_bytes: 10 * 1280 + 5 }, None, 1, 1), 11.0);
        assert_eq!(of(Room::Packets(20), Some(7), 2, 3), 33.0);
        assert_eq!(of(Room::Unlimited, None, 1, 1), f64::INFINITY);
    }

    #[test]
    fn service_times_are_exchanged_with_sixteen_neighbours_on_either_side_and_waking_by_half() {
        let course: Vec<(u64, u64)> = (0..200).map(|at| (at * 10, 1000 + at)).collect();
        let server = Server {
            room: Room::Unlimited,
            family: crate::AddressFamily::V4,
            queue: None,
            workers: 1,
            batch: 1,
            wake_ns: 10_000,
            read_ns: 0,
            service: Service::Course(course.as_slice().into()),
            stalls: crate::Stalls::default(),
        };
        let (mut nearest, mut furthest, mut waking) = (0i64, 0i64, vec![]);
        for run in 0..100 {
            let drawn = Doubt { service: 0.0, runs: 1, seed: 7, end_ns: 0 }.drawn(&server, run);
            let Service::Course(found) = &drawn.service else { panic!("{:?}", drawn.service) };
            for (&(at, ns), &(begin, own)) in found.iter().zip(&course) {
                assert_eq!(at, begin);
                (nearest, furthest) =
                    (nearest.min(ns as i64 - own as i64), furthest.max(ns as i64 - own as i64));
            }
            waking.push(drawn.wake_ns);
        }
        assert_eq!((nearest, furthest), (-16, 16));
        assert!(waking.iter().all(|ns| (5_000..15_000).contains(ns)), "{waking:?}");
        assert!(waking.iter().any(|ns| *ns < 6_000) && waking.iter().any(|ns| *ns > 14_000), "{waking:?}");
    }
}
