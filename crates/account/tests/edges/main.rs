//! Each rule at its edges, with exact numbers: what is enough and what is one less.

mod buffer;
mod course;
mod losses;
mod one_way;
mod own_queues;
mod pace;
mod queues;
mod reasons;
mod remedies;
mod service_times;
mod verdicts;
mod watched;

use dropline_account::explanation::Doubts;
use dropline_account::{AddressFamily, Bars, Device, Evidence, Explanation, Role, Space, Stack, explain};
use dropline_trial::{LostAt, PacketTimes, TargetActivity};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// A namespace in which no rule drops anything.
fn unruled(role: Role, stack: Stack, devices: Option<Vec<Device>>) -> Space {
    Space {
        id: 1,
        role,
        stack,
        devices,
        hooked: Some(false),
        ruled: Some(false),
        ruled_way: None,
        drops_arriving: Bars::Nothing,
        drops_leaving: Bars::Nothing,
        source_is_own: false,
        neighbour_found: Some(true),
        flow: None,
    }
}

/// What was seen of a trial.
struct Seen {
    packets: PacketTimes,
    watched: Option<TargetActivity>,
    lost_at: Option<LostAt>,
    lost: u64,
    duration_ns: u64,
    doubts: Doubts,
    unseen: bool,
}

impl Seen {
    /// A trial of which only its packets are known; what did not come back was lost.
    fn of(packets: PacketTimes) -> Self {
        let is_lost = packets.returns.is_some();
        let lost = packets.iter().filter(|packet| is_lost && packet.back_ns.is_none()).count() as u64;
        Self {
            packets,
            watched: None,
            lost_at: None,
            lost,
            duration_ns: 1,
            doubts: Doubts::default(),
            unseen: false,
        }
    }

    fn watched(self, watched: TargetActivity) -> Self {
        Self { watched: Some(watched), ..self }
    }

    fn lost_at(self, places: &[(&str, u64)]) -> Self {
        let lost = places.iter().map(|(_, packets)| packets).sum();
        let places = places.iter().map(|&(place, packets)| (place.to_owned(), packets)).collect();
        Self { lost_at: Some(places), lost, ..self }
    }

    fn explained(&self) -> Explanation {
        explain(&Evidence {
            packets: &self.packets,
            payload_bytes: 64,
            family: AddressFamily::V4,
            offered: self.packets.len() as u64,
            lost: self.lost,
            lost_at: self.lost_at.as_ref(),
            doubts: self.doubts,
            unseen: self.unseen,
            watched: self.watched.as_ref(),
            duration_ns: self.duration_ns,
            drain_ns: 1_000_000_000,
            seed: 7,
        })
    }
}

/// Packets that leave at these times, and come back at those.
fn times(packets: &[(u64, Option<u64>)]) -> PacketTimes {
    let mut times = PacketTimes::with_room(packets.len(), true);
    for (index, &(left, back)) in (0..).zip(packets) {
        times.departures.push(left, Some(left), 0);
        if let Some(back) = back {
            times.returns.as_mut().unwrap().note(index, back);
        }
    }
    times
}

/// A packet that finds the server idle at 1 ms and comes back 74 us later, and so many that leave with it and come back
/// after it, each so much later than the one before.
fn busy(waiting: u64, each_ns: u64) -> Vec<(u64, Option<u64>)> {
    (0..=waiting).map(|n| (MS, Some(1074 * US + n * each_ns))).collect()
}
