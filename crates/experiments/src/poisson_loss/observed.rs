//! What one run counted, and what the models say it should have lost.

use super::fitted::Fitted;
use super::row::Row;
use dropline_account::{AddressFamily, Arriving, Replayed, Room, Server, Service, Stalls, md1k_loss, replay};
use dropline_stats::Spacing;
use serde::{Deserialize, Serialize};

/// One run of a row, as it is kept: a line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Observed {
    /// The row's key.
    pub(super) row: String,
    /// From 1.
    pub(super) run: u32,
    /// Whether server and clients went before normal processes.
    pub(super) fifo: bool,
    /// Packets that left.
    pub(super) offered: u64,
    /// Packets that the server read.
    pub(super) received: u64,
    /// What the server's socket says it dropped (SO_MEMINFO).
    pub(super) dropped: u64,
    /// From the first packet to the last.
    pub(super) span_ns: u64,
    /// Index of dispersion at 1, 10 and 100 ms.
    pub(super) dispersion: [Option<f64>; 3],
    /// From reading a packet to reading the next.
    pub(super) service_ns: u64,
    /// From arrival to reading, of an idle server.
    pub(super) wake_ns: u64,
    /// How long the server stood still with work waiting.
    pub(super) stalled_ns: u64,
    /// The largest backlog: of the replay with stalls and endless room.
    pub(super) largest_backlog: u64,
    /// Packets that each model loses.
    pub(super) predicted: Predicted,
    /// The first moments.
    pub(super) moments: Vec<Moment>,
}

/// Packets that models lose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Predicted {
    /// M/D/1/K: chance is all there is to it. A ratio of the offered.
    pub(super) md1k: Option<f64>,
    /// G/D/1/K: the arrivals replayed, each place free when its packet is read.
    pub(super) plain: u64,
    /// The same with the kernel's rule: room comes back in quarters.
    pub(super) lumps: u64,
    /// The same with the service time of each packet and the server's stalls.
    pub(super) stalls: u64,
}

/// A millisecond of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Moment {
    /// Packets that arrived.
    pub(super) arrived: u64,
    /// Most that waited when one arrived.
    pub(super) backlog: u64,
    /// Packets lost, by the replay with stalls.
    pub(super) lost: u64,
}

/// How much of a run is kept to be drawn.
const SHOWN_MS: usize = 120;
/// Payload of the packets.
pub(super) const PAYLOAD: u32 = 16;

impl Observed {
    /// From what clients and server wrote down; `None` when the server did next to nothing.
    pub(super) fn of(
        row: &Row,
        run: u32,
        fifo: bool,
        arrivals: &[u64],
        times: &[[u64; 2]],
        dropped: u64,
    ) -> Option<Self> {
        let fitted = Fitted::of(arrivals, times)?;
        let (&first, &last) = (arrivals.first()?, arrivals.last()?);
        let mut spacing = Spacing::new();
        arrivals.iter().for_each(|&at| spacing.event(at));
        let room = u64::from(row.room);
        let linux = Room::Linux { buffer_bytes: 2 * row.buffer_bytes() };
        let run_model = |room, service, stalls: Stalls, wake_ns| {
            let server = Server {
                room,
                family: AddressFamily::V4,
                queue: None,
                workers: 1,
                batch: 1,
                wake_ns,
                read_ns: 0,
                service,
                stalls,
            };
            replay(arrivals.iter().map(|&at_ns| Arriving { at_ns, payload_bytes: PAYLOAD }), &server, 0)
        };
        // Each packet's own service time: a mean drifts away from when the server was through, and a packet that it
        // still has when others take its CPU keeps a quarter of the buffer. A wake-up that took long is a stall; what
        // is left is that of the quickest.
        let course = || Service::Course(fitted.course.clone());
        let with_stalls = |room| run_model(room, course(), fitted.stalls.clone(), fitted.quick_ns);
        let even = || Service::Fixed(fitted.service_ns);
        let (full, endless) = (with_stalls(linux), with_stalls(Room::Unlimited));
        let rate = (arrivals.len() - 1) as f64 / (last - first).max(1) as f64;
        Some(Self {
            row: row.key(),
            run,
            fifo,
            offered: arrivals.len() as u64,
            received: times.len() as u64,
            dropped,
            span_ns: last - first,
            dispersion: spacing.dispersion(),
            service_ns: fitted.service_ns,
            wake_ns: fitted.wake_ns,
            stalled_ns: fitted.stalls.total_ns(),
            largest_backlog: endless.largest_backlog,
            predicted: Predicted {
                md1k: md1k_loss(rate * fitted.service_ns as f64, row.room + 1),
                plain: run_model(Room::Packets(room), even(), Stalls::default(), fitted.wake_ns).lost(),
                lumps: run_model(linux, even(), Stalls::default(), fitted.wake_ns).lost(),
                stalls: full.lost(),
            },
            moments: moments(arrivals, &full),
        })
    }

    /// Packets that were offered and not read.
    pub(super) fn lost(&self) -> u64 {
        self.offered.saturating_sub(self.received)
    }

    /// Lost ÷ offered.
    pub(super) fn loss_ratio(&self) -> f64 {
        self.lost() as f64 / self.offered.max(1) as f64
    }

    /// Offered a second.
    pub(super) fn rate_pps(&self) -> f64 {
        self.offered.saturating_sub(1) as f64 * 1e9 / self.span_ns.max(1) as f64
    }

    /// Load of the server: service time over mean gap.
    pub(super) fn rho(&self) -> f64 {
        self.rate_pps() * self.service_ns as f64 / 1e9
    }
}

/// The first milliseconds of a run.
fn moments(arrivals: &[u64], replayed: &Replayed) -> Vec<Moment> {
    let mut moments = vec![Moment::default(); SHOWN_MS];
    let first = arrivals.first().copied().unwrap_or(0);
    for (&at, seen) in arrivals.iter().zip(&replayed.seen) {
        let Some(moment) = moments.get_mut(((at - first) / 1_000_000) as usize) else { break };
        moment.arrived += 1;
        moment.backlog = moment.backlog.max(u64::from(seen.backlog) + u64::from(!seen.lost));
        moment.lost += u64::from(seen.lost);
    }
    moments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poisson_loss::row::{Layout, Senders};

    /// A server that takes 41 us a packet and wakes up in 3 us, with room for `room` in quarters.
    fn served(arrivals: &[u64], room: u64) -> (Vec<[u64; 2]>, u64) {
        let server = Server {
            room: Room::Linux { buffer_bytes: room * 832 },
            family: AddressFamily::V4,
            queue: None,
            workers: 1,
            batch: 1,
            wake_ns: 3_000,
            read_ns: 0,
            service: Service::Fixed(41_000),
            stalls: Stalls::default(),
        };
        let packets = arrivals.iter().map(|&at_ns| Arriving { at_ns, payload_bytes: PAYLOAD });
        let replayed = replay(packets, &server, 0);
        let mut free = 0;
        let taken = arrivals.iter().zip(&replayed.seen).filter(|(_, seen)| !seen.lost);
        let times = taken
            .map(|(&at, _)| {
                let read = free.max(at + 3_000);
                free = read + 41_000;
                [read, read + 40_000]
            })
            .collect();
        (times, replayed.lost())
    }

    #[test]
    fn ticks_are_predicted_to_the_packet_and_a_formula_for_chance_predicts_nothing() {
        let senders = Senders::Ticks { clients: 128, period_ms: 20, groups: 1 };
        let row = Row { senders, layout: Layout::One, room: 64, seconds: 1 };
        let arrivals: Vec<u64> =
            (0..50u64).flat_map(|tick| (0..128).map(move |k| tick * 20_000_000 + k * 2_000)).collect();
        let (times, lost) = served(&arrivals, 64);
        let seen = Observed::of(&row, 1, true, &arrivals, &times, lost).unwrap();
        assert_eq!((seen.lost(), seen.dropped, seen.predicted.stalls), (lost, lost, lost));
        assert!(seen.loss_ratio() > 0.4 && seen.predicted.md1k.unwrap() < 1e-9, "{seen:?}");
        assert!(seen.largest_backlog > 64 && seen.dispersion[0].unwrap() > 90.0);
        assert!((seen.rho() - 0.26).abs() < 0.01, "{}", seen.rho());
        assert_eq!(seen.moments[0].arrived, 128);
    }

    #[test]
    fn a_run_survives_its_line() {
        let row = Row { senders: Senders::Poisson(6_400), layout: Layout::Two, room: 64, seconds: 1 };
        let arrivals: Vec<u64> = (0..100).map(|n| n * 50_000).collect();
        let (times, lost) = served(&arrivals, 64);
        let seen = Observed::of(&row, 2, false, &arrivals, &times, lost).unwrap();
        let line = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<Observed>(&line).unwrap(), seen);
    }
}
