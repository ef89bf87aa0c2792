//! A server as its own times show it: how long a packet takes it, how long it takes to wake up, when it stood
//! still.

use dropline_account::Stalls;
use std::sync::Arc;

/// What the times of one run say about its server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fitted {
    /// From reading a packet to reading the next, while packets wait. Mean.
    pub(super) service_ns: u64,
    /// The same of each packet, stalls left out: when it was read, and how long it took.
    pub(super) course: Arc<[(u64, u64)]>,
    /// From a packet's arrival to its reading, if the server had nothing to do. Median.
    pub(super) wake_ns: u64,
    /// The same when nobody had its CPU.
    pub(super) quick_ns: u64,
    /// When it had work and did none: others had its CPU.
    pub(super) stalls: Stalls,
}

/// Between two packets that waited, a server that runs does not take longer than this; nor to wake up.
const BREATH_NS: u64 = 8_000;
/// Longer than usual by more than this is a stall.
const STALL_NS: u64 = 10_000;
/// A wake-up later than the quick ones by more than this is one too: others had the CPU.
const LATE_NS: u64 = 2_000;

impl Fitted {
    /// From when packets arrived, and when the server read and had served each; both in order of time.
    /// `None` when it never had two packets in a row.
    pub(super) fn of(arrivals: &[u64], times: &[[u64; 2]]) -> Option<Self> {
        let mut served: Vec<u64> = times.iter().map(|[read, done]| done.saturating_sub(*read)).collect();
        if times.len() < 2 {
            return None;
        }
        let usual_serving = median(&mut served)?;
        let mut cycles: Vec<u64> = Vec::new();
        // When the next packet came after the server was through, when it read one.
        let mut woken: Vec<(u64, u64)> = Vec::new();
        let mut stalls: Vec<(u64, u64)> = Vec::new();
        let mut course = Vec::with_capacity(times.len());
        if let (Some(&came), Some(&[read, _])) = (arrivals.first(), times.first()) {
            woken.push((came, read.max(came)));
        }
        let mut first = 0;
        for (at, &[read, done]) in times.iter().enumerate() {
            let over = done.saturating_sub(read).saturating_sub(usual_serving);
            let stalled = if over > STALL_NS { over } else { 0 };
            stalls.push((done - stalled, done));
            let next = times.get(at + 1).map(|[next, _]| *next);
            let breath = next.map(|next| next.saturating_sub(done)).filter(|&breath| breath <= BREATH_NS);
            course.push((read, done.saturating_sub(read + stalled), breath));
            let Some(next) = next else { break };
            if breath.is_some() {
                cycles.push(next - read);
                continue;
            }
            while first < arrivals.len() && arrivals[first] < done {
                first += 1;
            }
            match arrivals.get(first) {
                // It had nothing to do until one came, and a stall before that changes nothing.
                Some(&came) if came < next => woken.push((came, next)),
                // Nothing came meanwhile: what it read had waited all the time.
                _ => stalls.push((done, next)),
            }
        }
        let usual = median(&mut cycles).unwrap_or(usual_serving);
        let even: Vec<u64> = cycles.into_iter().filter(|&cycle| cycle <= usual + STALL_NS).collect();
        let service_ns = match even.len() as u64 {
            0 => usual,
            count => even.iter().sum::<u64>() / count,
        };
        let mut wakes: Vec<u64> = woken.iter().map(|(came, read)| read - came).collect();
        let wake_ns = median(&mut wakes).unwrap_or(0);
        // Where every wake-up waits for others to leave the CPU, none was quick.
        let quick_ns = lowest_tenth(&wakes).unwrap_or(0).min(BREATH_NS);
        stalls.extend(woken.into_iter().filter(|(came, read)| read - came > quick_ns + LATE_NS));
        // Where it was through and slept, its breath is the usual one.
        let usual_breath = usual.saturating_sub(usual_serving);
        let course =
            course.into_iter().map(|(read, work, breath)| (read, work + breath.unwrap_or(usual_breath)));
        Some(Self { service_ns, course: course.collect(), wake_ns, quick_ns, stalls: Stalls::new(stalls) })
    }
}

fn median(values: &mut [u64]) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// Of values in order.
fn lowest_tenth(values: &[u64]) -> Option<u64> {
    values.get(values.len() / 10).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_busy_shows_its_service_time_and_one_that_was_idle_its_wake_up() {
        // Bursts of four every millisecond; it wakes up in 3 us and takes 41 us a packet.
        let mut arrivals = Vec::new();
        let mut times = Vec::new();
        for burst in 0..20u64 {
            let begun = burst * 1_000_000;
            arrivals.extend([begun; 4]);
            times.extend((0..4).map(|k| [begun + 3_000 + k * 41_000, begun + 43_000 + k * 41_000]));
        }
        let fitted = Fitted::of(&arrivals, &times).unwrap();
        assert_eq!((fitted.service_ns, fitted.wake_ns), (41_000, 3_000));
        assert_eq!(fitted.stalls.intervals(), []);
    }

    #[test]
    fn work_that_waited_while_nothing_came_is_a_stall() {
        let arrivals = [0, 0, 0, 10_000_000, 10_000_000, 10_000_000];
        let times = [
            [2_000, 42_000],
            [43_000, 83_000],
            // Not read for 5 ms though it was there.
            [5_083_000, 5_123_000],
            [10_002_000, 10_042_000],
            [10_043_000, 10_083_000],
            // 30 us too long in hand.
            [10_084_000, 10_154_000],
        ];
        let fitted = Fitted::of(&arrivals, &times).unwrap();
        assert_eq!(fitted.stalls.intervals(), [(83_000, 5_083_000), (10_124_000, 10_154_000)]);
        assert_eq!(fitted.service_ns, 41_000);
    }

    #[test]
    fn others_that_run_as_soon_as_it_sleeps_do_not_take_its_cpu_before_it_was_through() {
        // On one CPU: three packets arrive while it waits for the CPU, it serves them, then it is asleep.
        let mut arrivals = Vec::new();
        let mut times = Vec::new();
        for burst in 1..20u64 {
            let begun = burst * 20_000_000;
            arrivals.extend([begun, begun + 10_000, begun + 20_000]);
            times.extend((0..3).map(|k| [begun + 2_000_000 + k * 42_000, begun + 2_040_000 + k * 42_000]));
        }
        let fitted = Fitted::of(&arrivals, &times).unwrap();
        assert_eq!(fitted.stalls.intervals()[..2], [(20_000_000, 22_000_000), (40_000_000, 42_000_000)]);
        assert_eq!((fitted.wake_ns, fitted.quick_ns), (2_000_000, BREATH_NS));
        // The last of each burst has no packet behind it, and takes as long as the others.
        assert!(fitted.course.iter().all(|&(_, took)| took == 42_000));
    }

    #[test]
    fn a_server_without_packets_is_not_fitted() {
        assert_eq!(Fitted::of(&[], &[]), None);
        assert_eq!(Fitted::of(&[1], &[[2, 3]]), None);
    }
}
