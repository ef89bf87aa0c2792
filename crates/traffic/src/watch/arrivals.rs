//! What the tap brings: when packets arrived, and how they were spread.

use super::presence::Presence;
use super::tap::Tap;
use crate::packet::clock_join::ClockJoin;
use dropline_stats::Spacing;
use dropline_trial::{PacketTimes, Stamp};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Packets whose times are kept.
const ROOM: usize = 2 << 20;
/// Batches that may wait at the tap; where packets come without a pause, there are always more.
pub(super) const MOST_WAITING: usize = 4096;

/// What the tap brings.
pub(super) struct Arrivals {
    tap: Tap,
    pub(super) times: PacketTimes,
    pub(super) spacing: Spacing,
    /// How many packets had a payload of so many bytes.
    sizes: BTreeMap<u16, u64>,
    pub(super) join: ClockJoin,
    /// Packets that came in a train behind its first.
    pub(super) in_trains: u64,
    missed_before: u32,
    pub(super) missed: u64,
}

impl Arrivals {
    pub(super) fn new(mut tap: Tap) -> io::Result<Self> {
        // What came before the counters were read is of no interest.
        for _ in 0..MOST_WAITING {
            if tap.receive(Duration::ZERO, |_| {})? == 0 {
                break;
            }
        }
        let mut times = PacketTimes::with_room(ROOM, false);
        times.departures.stamp = Stamp::Kernel;
        let missed_before = tap.missed().unwrap_or(0);
        let (spacing, join) = (Spacing::new(), ClockJoin::default());
        let sizes = BTreeMap::new();
        Ok(Self { tap, times, spacing, sizes, join, in_trains: 0, missed_before, missed: 0 })
    }

    /// Waits for copies and takes those that are there; whether there were any.
    pub(super) fn take(
        &mut self,
        epoch: Instant,
        longest: Duration,
        presence: &mut Presence,
    ) -> io::Result<bool> {
        let Self { tap, times, spacing, sizes, join, in_trains, .. } = self;
        let mut now_ns = None;
        let taken = tap.receive(longest, |tapped| {
            // Read once for all that came together, after the first of them was there.
            let now_ns = *now_ns.get_or_insert_with(|| {
                let now_ns = epoch.elapsed().as_nanos() as u64;
                let real_ns =
                    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i64);
                join.observe(now_ns, real_ns, epoch.elapsed().as_nanos() as u64);
                now_ns
            });
            let stamp = tapped.stamp_ns;
            let at_ns = stamp.and_then(|stamp| join.trial_ns(stamp, 0, now_ns)).unwrap_or(now_ns);
            let payload_bytes = u16::try_from(tapped.payload_bytes).unwrap_or(u16::MAX);
            *sizes.entry(payload_bytes).or_default() += u64::from(tapped.datagrams);
            presence.arrived(at_ns, tapped.datagrams.into());
            *in_trains += u64::from(tapped.datagrams).saturating_sub(1);
            // Those of a train arrive at once.
            for _ in 0..tapped.datagrams {
                spacing.event(at_ns);
                times.departures.push_of(at_ns, Some(at_ns), 0, payload_bytes);
            }
        })?;
        self.missed = u64::from(self.tap.missed().unwrap_or(0).wrapping_sub(self.missed_before));
        Ok(taken > 0)
    }

    /// The payload of the packet in the middle, by size; `None` where none came.
    pub(super) fn usual_payload_bytes(&self) -> Option<u16> {
        let mut before = 0;
        let half = self.sizes.values().sum::<u64>() / 2;
        self.sizes.iter().find_map(|(&bytes, count)| {
            before += count;
            (before > half).then_some(bytes)
        })
    }
}
