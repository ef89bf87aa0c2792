//! What would lose fewer packets: the replay once more, with one thing changed.

mod doubt;

use crate::replay::replay_until;
use crate::{Arriving, Room, Server, Service, Stalls};
use dropline_trial::seed;
use rand::Rng as _;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use doubt::Doubt;
pub use doubt::Predicted;

/// Whether a change would spare half of the loss or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Even in its worst case.
    Helps,
    /// In its best case, and not in its worst.
    MayHelp,
    /// More comes than is served: it is full a little later, and loses as much from then on.
    Postpones,
    /// Not even in its best case.
    DoesNot,
}

/// Something that could be changed, and what would be lost then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Remedy {
    /// What is changed.
    #[serde(flatten)]
    pub change: Change,
    /// What would be lost.
    pub lost: Predicted,
    /// Whether more comes than is served, so that it is only full a little later.
    pub postpones: bool,
    /// What must be lost: more came than can be served in the time, as fast as the server is then.
    pub must_be_lost: u64,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// A larger buffer at the socket.
    Buffer {
        /// How many times as large.
        times: u32,
        /// SO_RCVBUF to ask for.
        rcvbuf_bytes: u64,
    },
    /// A longer queue of the server's own.
    Queue {
        /// How many times as long.
        times: u32,
        /// Packets.
        packets: u64,
    },
    /// Several packets with one system call, at 1 us saved for each packet but the first.
    Batch {
        /// At most.
        packets: u32,
    },
    /// One worker more, with a CPU to run on.
    Worker,
    /// A CPU that nobody else uses: no stalls.
    OwnCpu,
    /// No CPU quota, or one that is not used up.
    NoQuota,
    /// Every other packet.
    HalfTheLoad,
    /// As many packets, equally far apart.
    ConstantArrivals,
}

impl Remedy {
    fn of(change: Change, lost: Predicted, must_be_lost: u64) -> Self {
        Self { change, lost, postpones: false, must_be_lost }
    }

    /// What would be lost, with what the replay of things as they were is off by: what it has too little may be lost whatever is
    /// changed, and what it has too much may not be, down to what must be lost. What was measured is known to be between
    /// two numbers, where it is doubted. What only takes packets or work away makes no server lose more than it did.
    pub(crate) fn beside(&self, [least, most]: [u64; 2], replayed: u64) -> Predicted {
        let Predicted { lost, low, high } = self.lost;
        let must = self.must_be_lost.min(low);
        let high = high.saturating_add(most.saturating_sub(replayed));
        let at_most = if self.change == Change::ConstantArrivals { u64::MAX } else { most };
        let [low, lost, high] = [low.saturating_sub(replayed.saturating_sub(least)).max(must), lost, high]
            .map(|it| it.min(at_most));
        Predicted { lost, low, high }
    }
}

impl Change {
    /// Whether the server has a CPU for itself.
    pub fn is_a_cpu(self) -> bool {
        matches!(self, Self::OwnCpu | Self::NoQuota)
    }

    /// Whether more packets can wait.
    pub(crate) fn is_more_room(self) -> bool {
        matches!(self, Self::Buffer { .. } | Self::Queue { .. })
    }
}

/// Cost of the system call that a batch saves.
const READ_NS: u64 = 1_000;
/// Packets that a batch takes at most.
const BATCH: u32 = 32;
/// The largest change of a buffer that is tried.
const LARGEST: u32 = 64;

/// The same server in other ways, as far as anything says how it would be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Otherwise {
    /// On a CPU that nobody else uses.
    pub(crate) own_cpu: Option<OnOwnCpu>,
    /// Its pauses come after so many packets, and not at their times: who serves more pauses more.
    pub(crate) pausing_by_work: Option<Server>,
}

/// A server on a CPU that nobody else uses: how fast it is there is known to be between two.
#[derive(Clone, Debug)]
pub(crate) struct OnOwnCpu {
    /// As fast as its own running time allows.
    pub(crate) best: Server,
    /// As slow as its pace was.
    pub(crate) worst: Server,
}

impl Server {
    /// Pauses that it makes after as many packets each, of `served` in all; other stalls stay at their times.
    pub(crate) fn pausing_by_work(&self, pauses: &Stalls, served: u64, service_ns: f64) -> Option<Self> {
        /// More are not worth their memory.
        const MOST: u64 = 1 << 22;
        let lengths: Vec<u64> = pauses.intervals().iter().map(|(begin, end)| end - begin).collect();
        let apart = served.min(MOST).checked_div(lengths.len() as u64)?.max(1);
        let each = lengths.iter().flat_map(|length| {
            let usual = (1..apart).map(|_| service_ns as u64);
            usual.chain(std::iter::once(service_ns as u64 + length))
        });
        let service = Service::Drawn(each.collect());
        Some(Self { service, stalls: self.stalls.without(pauses), ..self.clone() })
    }
}

/// Everything that can be tried on a server, the most effective first.
pub(crate) fn remedies(
    arrivals: &[Arriving],
    server: &Server,
    otherwise: &Otherwise,
    doubt: Doubt,
) -> Vec<Remedy> {
    let half = half(arrivals, doubt.seed);
    let apart = equally_apart(arrivals);
    let batch = Change::Batch { packets: BATCH };
    let worker = doubt.must_be_lost(arrivals, &with_a_worker(server));
    let mut found = vec![Remedy::of(Change::Worker, with_a_worker_more(arrivals, server, doubt), worker)];
    let mut tried = |change: Change, arrivals: &[Arriving], server: &Server, by_work: Option<Server>| {
        let mut lost = doubt.predict_changed(arrivals, server);
        if let Some(by_work) = by_work {
            lost.high = lost.high.max(doubt.predict_changed(arrivals, &by_work).high);
        }
        found.push(Remedy::of(change, lost, doubt.must_be_lost(arrivals, server)));
    };
    let by_work = otherwise.pausing_by_work.as_ref();
    if let Some((change, larger)) = more_room(arrivals, server, doubt.end_ns) {
        let roomy = |server: &Server| Server { room: larger.room, queue: larger.queue, ..server.clone() };
        tried(change, arrivals, &larger, by_work.map(roomy));
    }
    tried(batch, arrivals, &batched(server), by_work.map(batched));
    tried(Change::HalfTheLoad, &half, server, by_work.cloned());
    tried(Change::ConstantArrivals, &apart, server, by_work.cloned());
    if let Some(OnOwnCpu { best, worst }) = &otherwise.own_cpu {
        let least = doubt.must_be_lost(arrivals, best);
        let [best, worst] = [best, worst].map(|server| doubt.predict_changed(arrivals, server));
        found.push(Remedy::of(Change::OwnCpu, best.up_to_worst(worst), least));
    }
    found.sort_by_key(|remedy| (remedy.lost.lost, remedy.lost.high));
    found
}

fn with_a_worker(server: &Server) -> Server {
    Server { workers: server.workers + 1, ..server.clone() }
}

/// A worker more may stall when the other does, or go on: nothing says which.
fn with_a_worker_more(arrivals: &[Arriving], server: &Server, doubt: Doubt) -> Predicted {
    let more = with_a_worker(server);
    let lost = doubt.predict_changed(arrivals, &more);
    if server.stalls.total_ns() == 0 {
        return lost;
    }
    let going_on = doubt.predict_changed(arrivals, &Server { stalls: Stalls::default(), ..more });
    Predicted { low: lost.low.min(going_on.low), ..lost }
}

/// The smallest buffer or queue, in doublings, with which no more is missed than with the largest that is tried.
fn more_room(arrivals: &[Arriving], server: &Server, end_ns: u64) -> Option<(Change, Server)> {
    let larger = |times: u32| -> Option<(Change, Server)> {
        match (server.queue, server.room) {
            (Some(queue), _) => {
                let packets = queue * u64::from(times);
                Some((Change::Queue { times, packets }, Server { queue: Some(packets), ..server.clone() }))
            }
            (None, Room::Linux { buffer_bytes }) => {
                let buffer_bytes = buffer_bytes * u64::from(times);
                // The kernel doubles what is asked for.
                let change = Change::Buffer { times, rcvbuf_bytes: buffer_bytes / 2 };
                Some((change, Server { room: Room::Linux { buffer_bytes }, ..server.clone() }))
            }
            (None, _) => None,
        }
    };
    let missed = |server: &Server| replay_until(arrivals.iter().copied(), server, 0, end_ns).missed();
    let largest = larger(LARGEST)?;
    let least = missed(&largest.1);
    let doublings = (1..LARGEST.ilog2()).map(|doubling| 1 << doubling);
    doublings.filter_map(larger).find(|(_, server)| missed(server) <= least).or(Some(largest))
}

/// The system call paid once a batch.
fn batched(server: &Server) -> Server {
    let less = |ns: u64| ns.saturating_sub(READ_NS);
    let service = match &server.service {
        Service::Course(course) => Service::Course(course.iter().map(|&(at, ns)| (at, less(ns))).collect()),
        Service::Drawn(measured) => Service::Drawn(measured.iter().map(|&ns| less(ns)).collect()),
        Service::Fixed(ns) => Service::Fixed(less(*ns)),
    };
    Server { service, batch: BATCH, read_ns: READ_NS, ..server.clone() }
}

/// Each packet stays with a chance of one half: a Poisson process stays one.
fn half(arrivals: &[Arriving], chance: u64) -> Vec<Arriving> {
    let mut chance = seed::generator(chance);
    arrivals.iter().copied().filter(|_| chance.random::<bool>()).collect()
}

pub(crate) fn equally_apart(arrivals: &[Arriving]) -> Vec<Arriving> {
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else { return Vec::new() };
    let span = u128::from(last.at_ns - first.at_ns);
    let gaps = (arrivals.len() as u128 - 1).max(1);
    arrivals
        .iter()
        .enumerate()
        .map(|(n, packet)| Arriving { at_ns: first.at_ns + (span * n as u128 / gaps) as u64, ..*packet })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AddressFamily;

    fn server() -> Server {
        Server {
            room: Room::Linux { buffer_bytes: 64 * 832 },
            family: AddressFamily::V4,
            queue: None,
            workers: 1,
            batch: 1,
            wake_ns: 30_000,
            read_ns: 0,
            service: Service::Fixed(40_000),
            stalls: Stalls::default(),
        }
    }

    /// 128 packets each 20 ms, for a second.
    fn ticks() -> Vec<Arriving> {
        (0..50u64)
            .flat_map(|tick| (0..128).map(move |n| tick * 20_000_000 + n * 100))
            .map(|at_ns| Arriving { at_ns, payload_bytes: 16 })
            .collect()
    }

    fn lost(found: &[Remedy], wanted: impl Fn(Change) -> bool) -> Predicted {
        found.iter().find(|remedy| wanted(remedy.change)).unwrap().lost
    }

    #[test]
    fn a_burst_is_cured_by_a_buffer_and_by_equal_gaps_and_not_by_batches() {
        let doubt = Doubt::of(0.01, 6400, 7, u64::MAX);
        let base = doubt.predict(&ticks(), &server());
        assert_eq!((base.lost, base.low, base.high), (3200, 3200, 3200));
        let found = remedies(&ticks(), &server(), &Otherwise::default(), doubt);
        assert_eq!(found[0].lost.high, 0);
        let buffer = found.iter().find(|remedy| matches!(remedy.change, Change::Buffer { .. })).unwrap();
        assert_eq!(buffer.change, Change::Buffer { times: 2, rcvbuf_bytes: 64 * 832 });
        assert_eq!(lost(&found, |change| change == Change::ConstantArrivals).high, 0);
        assert!(lost(&found, |change| matches!(change, Change::Batch { .. })).lost > 3000);
        assert!(lost(&found, |change| change == Change::HalfTheLoad).lost < 700);
        assert!(!found.iter().any(|remedy| remedy.change == Change::OwnCpu), "it never stalled");
    }

    #[test]
    fn a_stall_is_cured_by_a_cpu_of_its_own() {
        let steady: Vec<Arriving> =
            (0..10_000).map(|n| Arriving { at_ns: n * 100_000, payload_bytes: 16 }).collect();
        let stalled = Server { stalls: Stalls::new(vec![(500_000_000, 520_000_000)]), ..server() };
        let doubt = Doubt::of(0.01, steady.len(), 7, u64::MAX);
        let base = doubt.predict(&steady, &stalled).lost;
        // Six more while the first quarter of the buffer is read and not yet given back.
        assert!((140..=144).contains(&base), "200 arrive, 64 find room: {base}");
        let own_cpu = Some(OnOwnCpu { best: server(), worst: server() });
        let otherwise = Otherwise { own_cpu, ..Otherwise::default() };
        let found = remedies(&steady, &stalled, &otherwise, doubt);
        assert_eq!(lost(&found, |change| change == Change::OwnCpu).high, 0);
        assert!(lost(&found, |change| change == Change::ConstantArrivals).lost >= base - 1);
    }

    #[test]
    fn a_larger_buffer_is_no_sure_cure_of_pauses_that_may_come_with_the_work() {
        // 10 kpps; after 500 packets it sleeps for 100 ms: it takes 5 kpps at most.
        let steady: Vec<Arriving> =
            (0..30_000).map(|n| Arriving { at_ns: n * 100_000, payload_bytes: 16 }).collect();
        let pauses = (0..25).map(|n| (n * 120_000_000 + 20_000_000, n * 120_000_000 + 120_000_000));
        let pauses = Stalls::new(pauses.collect());
        let server = Server {
            service: Service::Fixed(6_000),
            stalls: pauses.clone(),
            room: Room::Linux { buffer_bytes: 256 * 832 },
            ..server()
        };
        let doubt = Doubt::of(0.01, steady.len(), 7, u64::MAX);
        let sure = remedies(&steady, &server, &Otherwise::default(), doubt);
        assert_eq!(lost(&sure, |change| matches!(change, Change::Buffer { .. })).high, 0);
        let pausing_by_work = server.pausing_by_work(&pauses, 25 * 500, 6_000.0);
        let found = remedies(&steady, &server, &Otherwise { pausing_by_work, own_cpu: None }, doubt);
        let buffer = lost(&found, |change| matches!(change, Change::Buffer { .. }));
        assert!(buffer.low == 0 && buffer.high > 10_000, "{buffer:?}");
    }

    #[test]
    fn what_is_not_served_when_nobody_waits_any_more_is_lost_whatever_is_changed() {
        // A second of 50 kpps at a server that takes 25: half of them are more than it serves.
        let fast: Vec<Arriving> =
            (0..50_000).map(|n| Arriving { at_ns: n * 20_000, payload_bytes: 16 }).collect();
        let lost_until = |end_ns: u64| {
            let doubt = Doubt::of(0.0, fast.len(), 7, end_ns);
            let found = remedies(&fast, &server(), &Otherwise::default(), doubt);
            lost(&found, |change| matches!(change, Change::Buffer { .. }))
        };
        let [at_once, after_a_drain] = [1_000_000_000, 1_050_000_000].map(lost_until);
        assert!(at_once.low > 24_900, "a buffer of 4 096 only holds what is not served: {at_once:?}");
        assert!((23_700..23_800).contains(&after_a_drain.lost), "1 250 more in the drain: {after_a_drain:?}");
    }

    #[test]
    fn what_must_be_lost_is_what_is_not_served_until_the_last_packet_came_and_finds_no_room_then() {
        // A second of 50 kpps at a server that takes 25; nobody stops waiting for ten seconds.
        let fast: Vec<Arriving> =
            (0..50_000).map(|n| Arriving { at_ns: n * 20_000, payload_bytes: 16 }).collect();
        let must =
            |server: &Server| Doubt::of(0.0, fast.len(), 7, 11_000_000_000).must_be_lost(&fast, server);
        let least = must(&server());
        let lost = crate::replay(fast.iter().copied(), &server(), 7).lost();
        assert!(least <= lost && lost - least <= 70, "25 000 served, 64 wait: {least} {lost}");
        let roomy = Server { room: Room::Linux { buffer_bytes: 30_000 * 832 }, ..server() };
        assert_eq!((must(&roomy), must(&Server { room: Room::Unlimited, ..server() })), (0, 0));
    }

    #[test]
    fn what_is_uncertain_about_the_service_widens_the_interval() {
        let fast: Vec<Arriving> =
            (0..10_000).map(|n| Arriving { at_ns: n * 30_000, payload_bytes: 16 }).collect();
        let sure = Doubt { service: 0.0, runs: 25, seed: 7, end_ns: u64::MAX }.predict(&fast, &server());
        let unsure = Doubt { service: 0.05, runs: 25, seed: 7, end_ns: u64::MAX }.predict(&fast, &server());
        assert!(sure.high - sure.low <= 2, "{sure:?}");
        assert!(unsure.high - unsure.low > 500, "{unsure:?}");
        assert!(unsure.low < sure.lost && sure.lost < unsure.high);
    }

    #[test]
    fn pauses_by_work_come_after_as_many_packets_each_and_are_in_the_time_of_the_last_one() {
        let pauses = Stalls::new(vec![(10, 30), (100, 150)]);
        let stalled = Server { stalls: Stalls::new(vec![(10, 30), (60, 61), (100, 150)]), ..server() };
        let by_work = |served| stalled.pausing_by_work(&pauses, served, 5.0).unwrap();
        assert_eq!(by_work(7).service, Service::Drawn([5, 5, 25, 5, 5, 55].into()));
        assert_eq!(by_work(7).stalls, Stalls::new(vec![(60, 61)]));
        assert_eq!(by_work(0).service, Service::Drawn([25, 55].into()));
        assert_eq!(stalled.pausing_by_work(&Stalls::default(), 7, 5.0), None);
    }

    #[test]
    fn a_change_is_off_by_what_the_replay_of_things_as_they_were_is_off_by() {
        let beside = |change, (lost, low, high), must_be_lost, measured, replayed| {
            let lost =
                Remedy::of(change, Predicted { lost, low, high }, must_be_lost).beside(measured, replayed);
            (lost.lost, lost.low, lost.high)
        };
        let worker = |lost, must, measured, replayed| beside(Change::Worker, lost, must, measured, replayed);
        assert_eq!(worker((50, 40, 80), 0, [100, 140], 120), (50, 20, 100), "20 too many, 20 too few");
        assert_eq!(worker((50, 40, 80), 30, [100, 140], 120), (50, 30, 100), "down to what must be lost");
        assert_eq!(
            worker((50, 40, 80), 60, [100, 140], 120),
            (50, 40, 100),
            "which is no more than is replayed"
        );
        assert_eq!(worker((150, 145, 200), 0, [100, 140], 120), (140, 125, 140), "no more than were lost");
        let apart = beside(Change::ConstantArrivals, (150, 145, 200), 0, [100, 140], 120);
        assert_eq!(apart, (150, 125, 220), "at equal distances it may be worse");
    }

    #[test]
    fn packets_that_a_worker_serves_are_counted_as_its_service_times_go() {
        let course = Service::Course([(100, 10), (200, 20)].into());
        let within = |service: &Service, from, to| service.packets_within(from, to);
        assert_eq!([within(&course, 0, 300), within(&course, 150, 250)], [25.0, 7.5]);
        assert_eq!(within(&course, 300, 340), 2.0, "the last one's holds until the end");
        assert_eq!(within(&Service::Fixed(40), 100, 300), 5.0);
        assert_eq!(within(&Service::Drawn([10, 30].into()), 0, 100), 5.0);
        let scaled = [Service::Fixed(40), Service::Drawn([10, 30].into()), course].map(|it| it.scaled(0.5));
        let half = [
            Service::Fixed(20),
            Service::Drawn([5, 15].into()),
            Service::Course([(100, 5), (200, 10)].into()),
        ];
        assert_eq!(scaled, half);
    }

    #[test]
    fn a_batch_spares_a_microsecond_of_each_packet_and_costs_one() {
        let of = |service| batched(&Server { service, ..server() });
        let fixed = of(Service::Fixed(3_000));
        assert_eq!((fixed.service, fixed.batch, fixed.read_ns), (Service::Fixed(2_000), 32, 1_000));
        assert_eq!(of(Service::Drawn([500, 1_500].into())).service, Service::Drawn([0, 500].into()));
        assert_eq!(of(Service::Course([(7, 1_500)].into())).service, Service::Course([(7, 500)].into()));
    }

    #[test]
    fn equal_distances_leave_the_first_and_the_last_packet_where_they_are() {
        let packets = |times: &[u64]| -> Vec<Arriving> {
            times.iter().map(|&at_ns| Arriving { at_ns, payload_bytes: 16 }).collect()
        };
        let apart = equally_apart(&packets(&[100, 101, 102, 400]));
        assert_eq!(apart, packets(&[100, 200, 300, 400]));
        assert_eq!((equally_apart(&packets(&[5])), equally_apart(&[])), (packets(&[5]), vec![]));
    }

    #[test]
    fn more_room_is_the_least_doubling_with_which_no_more_is_missed_than_with_sixty_four_times() {
        let burst = |packets: u64| -> Vec<Arriving> {
            (0..packets).map(|_| Arriving { at_ns: 0, payload_bytes: 16 }).collect()
        };
        let times = |packets, queue| {
            let found = more_room(&burst(packets), &Server { queue, ..server() }, u64::MAX).unwrap();
            match found.0 {
                Change::Buffer { times, .. } | Change::Queue { times, .. } => times,
                change => panic!("{change:?}"),
            }
        };
        assert_eq!(
            [100, 128, 129, 2_000, 2_049, 9_000].map(|packets| times(packets, None)),
            [2, 2, 4, 32, 64, 64]
        );
        let unlimited = Server { room: Room::Unlimited, ..server() };
        assert!(more_room(&burst(10), &unlimited, u64::MAX).is_none());
    }
}
