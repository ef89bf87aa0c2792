//! What waited at the target when packets arrived, from when they left and came back.

use dropline_trial::PacketTimes;

/// An arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub at_ns: u64,
    /// Packets at the target when it arrived, the one being served included.
    pub backlog: u32,
    /// Whether it was lost.
    pub lost: bool,
}

/// Backlogs of lost packets up to this share say how much fits: the rest is late stamps.
pub(super) const FULL: f64 = 0.9;

/// Packets at the target at each arrival, in order of time: those that had left and came back later.
/// Lost packets never were there.
pub(super) fn backlogs(packets: &PacketTimes) -> Vec<Moment> {
    let mut left: Vec<(u64, bool)> =
        packets.iter().filter_map(|packet| Some((packet.left_ns?, packet.back_ns.is_none()))).collect();
    left.sort_unstable();
    let mut back: Vec<u64> = packets.iter().filter_map(|packet| packet.back_ns).collect();
    back.sort_unstable();
    let (mut taken, mut returned) = (0usize, 0usize);
    left.into_iter()
        .map(|(at_ns, lost)| {
            while back.get(returned).is_some_and(|time| *time <= at_ns) {
                returned += 1;
            }
            let backlog = u32::try_from(taken.saturating_sub(returned)).unwrap_or(u32::MAX);
            taken += usize::from(!lost);
            Moment { at_ns, backlog, lost }
        })
        .collect()
}

/// Packets that waited when others were lost: this share of the lost packets found at most so many.
pub(super) fn backlog_of_the_lost(packets: &PacketTimes, share: f64) -> Option<u64> {
    packets.returns.as_ref()?;
    let mut found: Vec<u64> = backlogs(packets)
        .into_iter()
        .filter(|moment| moment.lost)
        // One of them was being served.
        .map(|moment| u64::from(moment.backlog).saturating_sub(1))
        .collect();
    if found.is_empty() {
        return None;
    }
    found.sort_unstable();
    Some(found[((found.len() - 1) as f64 * share) as usize].max(1))
}
