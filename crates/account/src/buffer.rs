//! How many packets a UDP socket's receive buffer holds, and when reading makes room again.

use std::collections::VecDeque;

/// The header a datagram came under; it takes room in the buffer too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFamily {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Memory that Linux charges a socket for one waiting datagram of `payload_bytes`, over loopback and veth.
///
/// Its own record of the datagram (256 B), and the power of two (576 B for the smallest) that holds payload,
/// headers, head room and 320 B of fragment list; from 16 005 B on, payload in pages beside a small head.
/// Found the same on kernel 6.18 for every size tried; drivers of real interfaces may charge more.
pub fn truesize(payload_bytes: u32, family: AddressFamily) -> u32 {
    /// Largest payload over IPv4 and what it is charged.
    const STEPS: [(u32, u32); 6] =
        [(197, 832), (645, 1280), (1669, 2304), (3717, 4352), (7813, 8448), (16_004, 16_640)];
    /// The longer header, less what alignment had wasted.
    const V6_LESS: u32 = 13;
    let payload = match family {
        AddressFamily::V4 => payload_bytes,
        AddressFamily::V6 => payload_bytes.saturating_add(V6_LESS),
    };
    STEPS
        .into_iter()
        .find(|(largest, _)| payload <= *largest)
        .map_or(payload_bytes.saturating_add(832), |(_, charged)| charged)
}

/// Datagrams charged `truesize` each that fit a buffer of `buffer_bytes`, the doubled SO_RCVBUF that the
/// kernel reserved. An empty buffer takes one of any size.
pub fn packets_held(buffer_bytes: u64, truesize: u32) -> u64 {
    (buffer_bytes / u64::from(truesize.max(1))).max(1)
}

/// What waits at a receiving socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    room: Room,
    /// Charged: what waits, and what was read and not yet given back.
    charged: u64,
    /// Read and not yet given back.
    owed: u64,
    /// Waiting datagrams, oldest first: what each is charged.
    sizes: VecDeque<u32>,
    /// The oldest of them, as many as the reader took over at its last visit to the socket's own list.
    readers: usize,
}

/// How much can wait at a receiving socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// As Linux has it: each datagram is charged its [`truesize`], and what reading frees is given back only
    /// when it comes to a quarter of the buffer or the reader's list is empty.
    Linux {
        /// The doubled SO_RCVBUF.
        buffer_bytes: u64,
    },
    /// So many datagrams, each place free again when its datagram is read.
    Packets(u64),
    /// No end of room.
    Unlimited,
}

impl Waiting {
    pub(crate) fn new(room: Room) -> Self {
        Self { room, charged: 0, owed: 0, sizes: VecDeque::new(), readers: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Puts a datagram there; false if there is no room for it.
    pub(crate) fn arrive(&mut self, truesize: u32) -> bool {
        let fits = match self.room {
            Room::Linux { buffer_bytes } => {
                self.charged == 0 || self.charged + u64::from(truesize) <= buffer_bytes
            }
            Room::Packets(room) => (self.sizes.len() as u64) < room,
            Room::Unlimited => true,
        };
        if fits {
            self.charged += u64::from(truesize);
            self.sizes.push_back(truesize);
        }
        fits
    }

    /// Takes the oldest datagram; false if none waits.
    pub(crate) fn read(&mut self) -> bool {
        if self.readers == 0 {
            self.readers = self.sizes.len();
        }
        let Some(size) = self.sizes.pop_front() else { return false };
        self.readers -= 1;
        self.owed += u64::from(size);
        let holds_back = match self.room {
            Room::Linux { buffer_bytes } => self.owed < buffer_bytes / 4 && self.readers > 0,
            Room::Packets(_) | Room::Unlimited => false,
        };
        if !holds_back {
            self.charged -= self.owed;
            self.owed = 0;
            // Giving back, the reader takes over what came meanwhile.
            self.readers = self.sizes.len();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_charged_by_the_step_it_falls_on() {
        let v4 = [
            (0, 832),
            (197, 832),
            (198, 1280),
            (645, 1280),
            (646, 2304),
            (1669, 2304),
            (1670, 4352),
            (3718, 8448),
            (7814, 16_640),
            (16_004, 16_640),
            (16_005, 16_837),
            (65_490, 66_322),
        ];
        for (payload, charged) in v4 {
            assert_eq!(truesize(payload, AddressFamily::V4), charged, "{payload} B");
        }
        let v6 = [(184, 832), (185, 1280), (632, 1280), (633, 2304), (1656, 2304), (1657, 4352)];
        for (payload, charged) in v6 {
            assert_eq!(truesize(payload, AddressFamily::V6), charged, "{payload} B");
        }
    }

    #[test]
    fn a_buffer_holds_the_packets_that_were_counted_in_it() {
        // SO_RCVBUF asked for, payload, datagrams that a socket nobody reads kept.
        let counted = [
            (2304, 16, 5),
            (2304, 600, 3),
            (2304, 1472, 2),
            (4096, 16, 9),
            (4096, 600, 6),
            (4096, 1472, 3),
            (26_624, 16, 64),
            (26_624, 600, 41),
            (26_624, 1472, 23),
            (50_000, 16, 120),
            (50_000, 600, 78),
            (50_000, 1472, 43),
            (106_496, 16, 256),
            (106_496, 600, 166),
            (106_496, 1472, 92),
        ];
        for (asked, payload, kept) in counted {
            let size = truesize(payload, AddressFamily::V4);
            assert_eq!(packets_held(2 * asked, size), kept, "{asked} B of {payload} B");
            let mut waiting = Waiting::new(Room::Linux { buffer_bytes: 2 * asked });
            assert_eq!((0..1000).filter(|_| waiting.arrive(size)).count() as u64, kept);
        }
        assert_eq!(packets_held(2304, 66_322), 1, "an empty buffer takes one of any size");
    }

    #[test]
    fn while_draining_a_buffer_makes_room_a_quarter_at_a_time() {
        let mut waiting = Waiting::new(Room::Linux { buffer_bytes: 64 * 832 });
        while waiting.arrive(832) {}
        for read in 1..16 {
            assert!(waiting.read());
            assert!(!waiting.arrive(832), "after {read} reads of a full buffer of 64");
        }
        assert!(waiting.read());
        assert_eq!((0..64).filter(|_| waiting.arrive(832)).count(), 16);
    }

    #[test]
    fn an_empty_reader_gives_everything_back() {
        let mut waiting = Waiting::new(Room::Linux { buffer_bytes: 64 * 832 });
        (0..3).for_each(|_| assert!(waiting.arrive(832)));
        (0..3).for_each(|_| assert!(waiting.read()));
        assert!(!waiting.read() && waiting.len() == 0);
        assert_eq!((0..100).filter(|_| waiting.arrive(832)).count(), 64);
    }

    #[test]
    fn places_that_are_counted_are_free_at_once() {
        let mut waiting = Waiting::new(Room::Packets(2));
        assert!(waiting.arrive(1) && waiting.arrive(1) && !waiting.arrive(1));
        assert!(waiting.read() && waiting.arrive(1) && !waiting.arrive(1));
        assert_eq!(waiting.len(), 2);
    }
}
