//! When each packet of one trial was due, left and came back.

use crate::Stamp;

/// Each packet of one trial by its index, as far as there was room.
///
/// Two halves that two threads fill: what the sender notes and what the receiver notes. Neither ever
/// allocates while packets move; packets beyond the room are counted, not kept. Times are nanoseconds after
/// the trial's start. In memory a packet is 26 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketTimes {
    /// What the sender noted.
    pub departures: DepartureTimes,
    /// What the receiver noted; `None` where nobody saw packets come back (one-way targets, traffic of
    /// others): then it is not known which packets were lost.
    pub returns: Option<ReturnTimes>,
}

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTime {
    /// When it was due, or, where nobody asked for it, when it left.
    pub due_ns: u64,
    /// When it left; `None` if it never did (refused, or given up).
    pub left_ns: Option<u64>,
    /// When it came back; `None` if it did not, or nobody watched.
    pub back_ns: Option<u64>,
    /// Number of its stream, from 0.
    pub stream: u16,
    /// UDP payload, where packets differ in it; else that of the traffic profile.
    pub payload_bytes: Option<u16>,
}

/// When packets were due and left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DepartureTimes {
    due_ns: Vec<u64>,
    left_ns: Vec<u64>,
    stream: Vec<u16>,
    /// Empty, or as long as the others.
    payload_bytes: Vec<u16>,
    room: usize,
    left_out: u64,
    /// Where the times of leaving were taken.
    pub stamp: Stamp,
}

/// When packets came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnTimes {
    back_ns: Vec<u64>,
    /// Where the times were taken.
    pub stamp: Stamp,
}

/// Stands for "never" in the columns; no trial lasts 584 years.
const NEVER: u64 = u64::MAX;

impl PacketTimes {
    /// Packets that are kept unless told otherwise: 4 Mi, 110 MB in memory and about 30 MB on disk.
    pub const ROOM: usize = 4 << 20;

    /// Room for `room` packets; all memory is taken and touched now. `returns` where replies are awaited.
    pub fn with_room(room: usize, returns: bool) -> Self {
        Self {
            departures: DepartureTimes::with_room(room),
            returns: returns.then(|| ReturnTimes::with_room(room)),
        }
    }

    /// Packets that are kept.
    pub fn len(&self) -> usize {
        self.departures.due_ns.len()
    }

    /// Whether no packet is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Packets for which there was no room: those after the ones that are kept.
    pub fn left_out(&self) -> u64 {
        self.departures.left_out
    }

    /// Packet `index`, from 0.
    pub fn get(&self, index: usize) -> Option<PacketTime> {
        let sent = &self.departures;
        let known = |time: u64| (time != NEVER).then_some(time);
        Some(PacketTime {
            due_ns: *sent.due_ns.get(index)?,
            left_ns: known(sent.left_ns[index]),
            back_ns: self.returns.as_ref().and_then(|back| back.back_ns.get(index).copied()).and_then(known),
            stream: sent.stream[index],
            payload_bytes: sent.payload_bytes.get(index).copied(),
        })
    }

    /// All packets in order of their index.
    pub fn iter(&self) -> impl Iterator<Item = PacketTime> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Adds what other threads of the same trial noted: each notes all packets as due, and its own as left or back.
    pub fn merge(&mut self, other: &Self) {
        let (sent, others) = (&mut self.departures, &other.departures);
        let first = |own: &mut u64, other: u64| *own = (*own).min(other);
        sent.left_ns.iter_mut().zip(&others.left_ns).for_each(|(own, &other)| first(own, other));
        let known = sent.len();
        if others.len() > known {
            sent.due_ns.extend_from_slice(&others.due_ns[known..]);
            sent.left_ns.extend_from_slice(&others.left_ns[known..]);
            sent.stream.extend_from_slice(&others.stream[known..]);
            sent.payload_bytes.extend(others.payload_bytes.get(known..).unwrap_or_default());
        }
        sent.left_out = sent.left_out.max(others.left_out);
        if let (Some(back), Some(others)) = (&mut self.returns, &other.returns) {
            back.back_ns.iter_mut().zip(&others.back_ns).for_each(|(own, &other)| first(own, other));
        }
    }

    /// Forgets all packets and keeps the room.
    pub fn clear(&mut self) {
        let used = self.len();
        let sent = &mut self.departures;
        sent.due_ns.clear();
        sent.left_ns.clear();
        sent.stream.clear();
        sent.payload_bytes.clear();
        sent.left_out = 0;
        if let Some(back) = &mut self.returns {
            let used = used.min(back.back_ns.len());
            back.back_ns[..used].fill(NEVER);
        }
    }
}

impl DepartureTimes {
    fn with_room(room: usize) -> Self {
        // Filled once, so that no page is touched for the first time while packets move.
        let touched = |value: u64| {
            let mut column = vec![value; room];
            column.clear();
            column
        };
        let mut stream = vec![u16::MAX; room];
        stream.clear();
        Self {
            due_ns: touched(NEVER),
            left_ns: touched(NEVER),
            stream,
            payload_bytes: Vec::new(),
            room,
            left_out: 0,
            stamp: Stamp::App,
        }
    }

    /// Notes the next packet in order of the index: when it was due and when it left, if it did.
    pub fn push(&mut self, due_ns: u64, left_ns: Option<u64>, stream: u16) {
        if self.due_ns.len() == self.room {
            self.left_out += 1;
            return;
        }
        self.due_ns.push(due_ns);
        self.left_ns.push(left_ns.unwrap_or(NEVER));
        self.stream.push(stream);
    }

    /// Notes the next packet, of a length of its own. All packets of a trial are noted this way, or none.
    pub fn push_of(&mut self, due_ns: u64, left_ns: Option<u64>, stream: u16, payload_bytes: u16) {
        if self.due_ns.len() < self.room {
            self.payload_bytes.push(payload_bytes);
        }
        self.push(due_ns, left_ns, stream);
    }

    /// Notes that packet `index`, which was noted as due, has left.
    pub fn left(&mut self, index: u64, left_ns: u64) {
        let place = usize::try_from(index).ok().and_then(|index| self.left_ns.get_mut(index));
        if let Some(place) = place {
            *place = left_ns;
        }
    }

    /// Counts packets that had no room.
    pub fn leave_out(&mut self, packets: u64) {
        self.left_out += packets;
    }

    /// Packets that were noted and kept.
    pub fn len(&self) -> usize {
        self.due_ns.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.due_ns.is_empty()
    }

    /// Whether packets have lengths of their own.
    pub fn has_lengths(&self) -> bool {
        !self.payload_bytes.is_empty()
    }
}

impl ReturnTimes {
    fn with_room(room: usize) -> Self {
        Self { back_ns: vec![NEVER; room], stamp: Stamp::App }
    }

    /// Notes that packet `index` came back. The first time counts.
    pub fn note(&mut self, index: u64, back_ns: u64) {
        let place = usize::try_from(index).ok().and_then(|index| self.back_ns.get_mut(index));
        if let Some(place) = place
            && *place == NEVER
        {
            *place = back_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_beyond_the_room_are_counted_and_not_kept() {
        let mut times = PacketTimes::with_room(2, true);
        for index in 0..5 {
            times.departures.push(10 * index, Some(10 * index + 1), 0);
            times.returns.as_mut().unwrap().note(index, 10 * index + 7);
        }
        assert_eq!((times.len(), times.left_out()), (2, 3));
        let second = times.get(1).unwrap();
        assert_eq!((second.due_ns, second.left_ns, second.back_ns), (10, Some(11), Some(17)));
        assert_eq!(times.get(2), None);
    }

    #[test]
    fn the_first_copy_says_when_a_packet_came_back() {
        let mut times = PacketTimes::with_room(1, true);
        times.departures.push(0, Some(0), 0);
        let back = times.returns.as_mut().unwrap();
        back.note(0, 5);
        back.note(0, 9);
        assert_eq!(times.get(0).unwrap().back_ns, Some(5));
    }

    #[test]
    fn threads_put_their_notes_together() {
        let (mut even, mut odd) = (PacketTimes::with_room(8, true), PacketTimes::with_room(8, true));
        for index in 0..5u64 {
            let left = |own: bool| own.then_some(10 * index + 1);
            if index < 4 {
                even.departures.push(10 * index, left(index % 2 == 0), (index % 2) as u16);
            }
            odd.departures.push(10 * index, left(index % 2 == 1), (index % 2) as u16);
        }
        odd.returns.as_mut().unwrap().note(2, 99);
        even.merge(&odd);
        let left: Vec<Option<u64>> = even.iter().map(|packet| packet.left_ns).collect();
        assert_eq!(left, [Some(1), Some(11), Some(21), Some(31), None], "nobody sent the last");
        assert_eq!(even.get(2).unwrap().back_ns, Some(99));
    }

    #[test]
    fn a_cleared_log_knows_nothing_of_the_last_trial() {
        let mut times = PacketTimes::with_room(4, true);
        times.departures.push(0, Some(0), 0);
        times.returns.as_mut().unwrap().note(0, 5);
        times.clear();
        times.departures.push(3, None, 1);
        let packet = times.get(0).unwrap();
        assert_eq!((packet.due_ns, packet.left_ns, packet.back_ns, packet.stream), (3, None, None, 1));
        assert_eq!(times.len(), 1);
    }
}
