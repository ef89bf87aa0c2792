//! The times that each thread of a trial keeps, and what they make together.

use dropline_stats::Spacing;
use dropline_trial::packets::{DepartureTimes, ReturnTimes};
use dropline_trial::{Departed, PacketTimes};

/// What each thread writes to.
pub(crate) struct Logs {
    /// The times of each packet, where they are kept: of a sender, of a receiver, or of one each.
    times: Vec<Option<PacketTimes>>,
    /// Of each sender.
    departed: Vec<Departed>,
    /// Of each receiver.
    arrived: Vec<Spacing>,
}

/// What one sender writes to.
pub(crate) type SenderLog<'a> = (Option<&'a mut DepartureTimes>, &'a mut Departed);
/// What one receiver writes to.
pub(crate) type ReceiverLog<'a> = (Option<&'a mut ReturnTimes>, &'a mut Spacing);

impl Logs {
    /// With room for the times of so many packets each; `None` keeps none. Without replies none come back.
    pub(crate) fn new(senders: usize, receivers: usize, room: Option<usize>, replies: bool) -> Self {
        let times = || room.map(|room| PacketTimes::with_room(room, replies));
        Self {
            times: (0..senders.max(receivers)).map(|_| times()).collect(),
            departed: (0..senders).map(|_| Departed::new()).collect(),
            arrived: (0..receivers).map(|_| Spacing::new()).collect(),
        }
    }

    /// One for each sender, and one for each receiver.
    pub(crate) fn parts(&mut self) -> (Vec<SenderLog<'_>>, Vec<ReceiverLog<'_>>) {
        let halves = self.times.iter_mut().map(|times| match times {
            Some(times) => (Some(&mut times.departures), times.returns.as_mut()),
            None => (None, None),
        });
        let (left, back): (Vec<_>, Vec<_>) = halves.unzip();
        (
            left.into_iter().zip(&mut self.departed).collect(),
            back.into_iter().zip(&mut self.arrived).collect(),
        )
    }

    /// The times of all packets, where they were kept; all departures in their order and all arrivals. Of several
    /// threads the orders are known only where all packets were kept.
    pub(crate) fn together(mut self) -> (Option<PacketTimes>, Option<Departed>, Option<Spacing>) {
        let mut times = self.times.into_iter().flatten();
        let all = times.next().map(|mut all| {
            times.for_each(|log| all.merge(&log));
            all
        });
        let whole = || all.as_ref().filter(|all| all.left_out() == 0);
        let one = |threads: usize| threads == 1;
        let departed = if one(self.departed.len()) { self.departed.pop() } else { whole().map(departed_of) };
        let arrived = if one(self.arrived.len()) { self.arrived.pop() } else { whole().map(arrived_of) };
        (all, departed, arrived)
    }
}

fn departed_of(packets: &PacketTimes) -> Departed {
    let mut left: Vec<(u64, u64)> =
        packets.iter().filter_map(|packet| Some((packet.left_ns?, packet.due_ns))).collect();
    left.sort_unstable();
    let mut departed = Departed::new();
    left.into_iter().for_each(|(left, due)| departed.packet(due, left));
    departed
}

fn arrived_of(packets: &PacketTimes) -> Spacing {
    let mut back: Vec<u64> = packets.iter().filter_map(|packet| packet.back_ns).collect();
    back.sort_unstable();
    let mut arrived = Spacing::new();
    back.into_iter().for_each(|at| arrived.event(at));
    arrived
}
