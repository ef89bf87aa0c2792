//! Bytes in another order: every storable heartbeat, every swap, every rotation.

use super::check::Check;
use super::check::MAGIC;
use super::payload::{STORABLE, VARIABLES, payload};

/// What became of reordered heartbeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Reordered {
    /// Packets in another order of bytes.
    pub tried: u64,
    /// Of these, the same bytes as before: nothing is wrong with them.
    pub unchanged: u64,
    /// Of these, stored although they had changed.
    pub stored: u64,
}

impl Reordered {
    /// All 28 swaps of two bytes.
    pub fn swaps() -> Self {
        let mut orders = Vec::new();
        for first in 0..8 {
            for second in first + 1..8 {
                let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
                order.swap(first, second);
                orders.push(order);
            }
        }
        Self::of(&orders, 0..STORABLE)
    }

    /// All 7 rotations.
    pub fn rotations() -> Self {
        let orders: Vec<[usize; 8]> =
            (1..8).map(|by| std::array::from_fn(|place| (place + by) % 8)).collect();
        Self::of(&orders, 0..STORABLE)
    }

    fn of(orders: &[[usize; 8]], indices: std::ops::Range<u32>) -> Self {
        let mut counts = Self::default();
        for index in indices {
            let content = payload(index);
            let [c0, c1, c2, c3] = Check::Adler32.of(content).to_be_bytes();
            let [m, variable, from, value] = content;
            let packet = [c0, c1, c2, c3, m, variable, from, value];
            for order in orders {
                let moved = order.map(|place| packet[place]);
                counts.tried += 1;
                if moved == packet {
                    counts.unchanged += 1;
                } else if stored(moved) {
                    counts.stored += 1;
                }
            }
        }
        counts
    }
}

/// Whether a table takes these eight bytes.
pub fn stored(packet: [u8; 8]) -> bool {
    packet[4] == MAGIC && u32::from(packet[5]) < VARIABLES && super::check::accepted(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_swap_of_two_bytes_and_no_rotation_passes() {
        let swaps = Reordered::swaps();
        assert_eq!((swaps.tried, swaps.stored), (28 << 22, 0));
        assert!(swaps.unchanged > 0, "from and value may be equal");
        let rotations = Reordered::rotations();
        assert_eq!((rotations.tried, rotations.stored), (7 << 22, 0));
    }

    #[test]
    fn an_order_that_leaves_the_packet_as_it_is_counts_as_unchanged() {
        let same = Reordered::of(&[[0, 1, 2, 3, 4, 5, 6, 7]], 0..10);
        assert_eq!(same, Reordered { tried: 10, unchanged: 10, stored: 0 });
    }
}
