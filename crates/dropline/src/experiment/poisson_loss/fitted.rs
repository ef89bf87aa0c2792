//! A server as its own times show it: how long a packet takes it, how long it takes to wake up, when it stood
//! still.

use dropline_account::Stalls;

/// What the times of one run say about its server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fitted {
    /// From reading a packet to reading the next, while packets wait.
    pub(super) service_ns: u64,
    /// From a packet's arrival to its reading, if the server had nothing to do. Median.
    pub(super) wake_ns: u64,
    /// The same when nobody had its CPU: of the quickest tenth.
    pub(super) quick_ns: u64,
    /// When it had work and did none: others had its CPU.
    pub(super) stalls: Stalls,
}

/// Between two packets that waited, a server that runs does not take longer than this.
const BREATH_NS: u64 = 8_000;
/// Longer than usual by more than this is a stall.
const STALL_NS: u64 = 10_000;
/// A wake-up later than the quick ones by more than this is one too: others had the CPU.
const LATE_NS: u64 = 2_000;

impl Fitted {
    /// From when packets arrived, and when the server read and had served each; both in order of time.
    /// `None` when it never had two packets in a row.
    pub(super) fn of(arrivals: &[u64], times: &[[u64; 2]]) -> Option<Self> {
        let mut busy: Vec<u64> = Vec::new();
        let mut served: Vec<u64> = Vec::new();
        // When the server was through, when the next packet came after that, when it read one.
        let mut woken: Vec<[u64; 3]> = Vec::new();
        let mut stalls: Vec<(u64, u64)> = Vec::new();
        let mut first = 0;
        for pair in times.windows(2) {
            let ([read, done], [next, _]) = (pair[0], pair[1]);
            served.push(done.saturating_sub(read));
            if next.saturating_sub(done) <= BREATH_NS {
                busy.push(next - read);
                continue;
            }
            while first < arrivals.len() && arrivals[first] < done {
                first += 1;
            }
            match arrivals.get(first) {
                Some(&came) if came < next => woken.push([done, came, next]),
                // Nothing came meanwhile: what it read had waited all the time.
                _ => stalls.push((done, next)),
            }
        }
        let usual = median(&mut busy.clone()).or_else(|| median(&mut served.clone()))?;
        let even: Vec<u64> = busy.into_iter().filter(|&cycle| cycle <= usual + STALL_NS).collect();
        let service_ns = match even.len() as u64 {
            0 => usual,
            count => even.iter().sum::<u64>() / count,
        };
        let mut wakes: Vec<u64> = woken.iter().map(|[_, came, read]| read - came).collect();
        let wake_ns = median(&mut wakes).unwrap_or(0);
        let quick_ns = lowest_tenth(&wakes).unwrap_or(0);
        // From when it was through, for packets may have waited then already; if none did, it had nothing to do
        // until one came, and a stall before that changes nothing.
        let slow = woken.into_iter().filter(|[_, came, read]| read - came > quick_ns + LATE_NS);
        stalls.extend(slow.map(|[done, _, read]| (done, read)));
        let usual_serving = median(&mut served).unwrap_or(0);
        stalls.extend(times.iter().filter_map(|&[read, done]| {
            let over = done.saturating_sub(read).saturating_sub(usual_serving);
            (over > STALL_NS).then_some((done - over, done))
        }));
        Some(Self { service_ns, wake_ns, quick_ns, stalls: Stalls::new(stalls) })
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
    fn a_server_without_packets_is_not_fitted() {
        assert_eq!(Fitted::of(&[], &[]), None);
        assert_eq!(Fitted::of(&[1], &[[2, 3]]), None);
    }
}
