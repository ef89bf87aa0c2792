//! Many clients, woken by one clock.

use super::parameters::{ArrivalError, count, duration, written};
use super::{Draw, Kind, Pace, Process};
use crate::{Rate, TrialInput, seed};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "ticks",
    written: "ticks:n=128,period=20ms[,groups=1|phase=out][,jitter=0us]",
    about: "n clients that each send one packet every period, all at one tick or in groups; takes no --load",
    read: |parameters| {
        let clients = parameters.need("n", count)?;
        let period_ns = parameters.need("period", duration)?.as_nanos() as u64;
        let groups = parameters.take("groups", count)?;
        let phase = parameters.take("phase", super::parameters::choice(&[("in", false), ("out", true)]))?;
        let jitter = parameters
            .take("jitter", crate::quantities::duration)?
            .map_or(0, |jitter| jitter.as_nanos() as u64);
        if groups.is_some() && phase.is_some() {
            return Err(ArrivalError::new("ticks: groups and phase say the same thing; give one"));
        }
        let groups = groups.unwrap_or(if phase == Some(true) { clients } else { 1 });
        if groups > clients {
            return Err(ArrivalError::new(format!("ticks: {groups} groups of {clients} clients")));
        }
        Ok(Arc::new(Ticks::new(clients, period_ns, groups, jitter)))
    },
};

/// Client c belongs to group c mod `groups`; wake-up k of group g is at (k + g ÷ groups) · period, and each
/// client's packet leaves up to `jitter` later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    clients: u32,
    period_ns: u64,
    groups: u32,
    jitter_ns: u64,
}

impl Ticks {
    pub(super) fn new(clients: u32, period_ns: u64, groups: u32, jitter_ns: u64) -> Self {
        Self { clients: clients.max(1), period_ns: period_ns.max(1), groups: groups.max(1), jitter_ns }
    }

    fn rate(self) -> Rate {
        let millipps = u128::from(self.clients) * 1_000_000_000_000 / u128::from(self.period_ns);
        Rate::from_millipps(u64::try_from(millipps).unwrap_or(u64::MAX))
    }
}

impl Process for Ticks {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn pace(&self) -> Pace {
        Pace::Own(self.rate())
    }

    fn draw(&self, _input: TrialInput, seed: u64) -> Box<dyn Draw> {
        let mut due = Due { ticks: *self, chance: seed::generator(seed), heap: BinaryHeap::new() };
        (0..self.clients).for_each(|client| due.push(client, 0));
        Box::new(due)
    }
}

impl fmt::Display for Ticks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:n={},period={}", KIND.name, self.clients, written(self.period_ns))?;
        match self.groups {
            1 => {}
            groups if groups == self.clients => f.write_str(",phase=out")?,
            groups => write!(f, ",groups={groups}")?,
        }
        if self.jitter_ns > 0 { write!(f, ",jitter={}", written(self.jitter_ns)) } else { Ok(()) }
    }
}

/// The next packet of each client: when, whose, and at which wake-up.
#[derive(Debug)]
struct Due {
    ticks: Ticks,
    chance: ChaCha8Rng,
    heap: BinaryHeap<Reverse<(u64, u32, u64)>>,
}

impl Due {
    fn push(&mut self, client: u32, wake_up: u64) {
        let Ticks { period_ns, groups, jitter_ns, .. } = self.ticks;
        let offset = u128::from(client % groups) * u128::from(period_ns) / u128::from(groups);
        let late = if jitter_ns > 0 { self.chance.random_range(0..=jitter_ns) } else { 0 };
        let due = wake_up.saturating_mul(period_ns).saturating_add(offset as u64).saturating_add(late);
        self.heap.push(Reverse((due, client, wake_up)));
    }
}

impl Draw for Due {
    fn next(&mut self) -> Option<u64> {
        let Reverse((due, client, wake_up)) = self.heap.pop()?;
        self.push(client, wake_up + 1);
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrival;
    use dropline_stats::Spacing;
    use std::time::Duration;

    fn departures(word: &str, ms: u64) -> Vec<u64> {
        let input = TrialInput { load: Rate::LOWEST, duration: Duration::from_millis(ms) };
        word.parse::<Arrival>().unwrap().departures(input, 1).collect()
    }

    #[test]
    fn all_clients_send_at_each_tick_and_never_between() {
        let all = departures("ticks:n=128,period=20ms", 60_000);
        assert_eq!(all.len(), 384_000, "one packet a client each two ticks of 10 ms, for a minute");
        assert!(
            all.chunks(128)
                .enumerate()
                .all(|(tick, due)| due.iter().all(|&at| at == tick as u64 * 20_000_000))
        );
    }

    #[test]
    fn out_of_phase_they_are_a_constant_load() {
        let all = departures("ticks:n=4,period=20ms,phase=out", 40);
        assert_eq!(all, (0..8).map(|n| n * 5_000_000).collect::<Vec<u64>>());
        let pairs = departures("ticks:n=4,period=20ms,groups=2", 20);
        assert_eq!(pairs, [0, 0, 10_000_000, 10_000_000]);
    }

    #[test]
    fn one_tick_of_many_clients_is_dispersed_by_their_number() {
        let mut spacing = Spacing::new();
        departures("ticks:n=128,period=20ms", 20_000).into_iter().for_each(|due| spacing.event(due));
        let [fine, middle, coarse] = spacing.dispersion().map(Option::unwrap);
        // 128 in one window of w ms, none in 20/w − 1: variance ÷ mean is 128 (1 − w/20).
        assert!((fine - 121.6).abs() < 0.1 && (middle - 64.0).abs() < 0.1 && coarse == 0.0);
    }

    #[test]
    fn jitter_delays_each_packet_by_its_own_chance() {
        let all = departures("ticks:n=100,period=1ms,jitter=200us", 10);
        assert!(all.is_sorted() && all.iter().all(|due| due % 1_000_000 <= 200_000));
        assert!(all[99] > 150_000, "{}", all[99]);
    }
}
