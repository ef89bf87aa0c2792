//! Where in the gap between two packets a CPU is least likely to do something else.
//!
//! A CPU is interrupted at fixed distances, by its own timer some 100 to 1000 times a second, for 2 to 60 us. A constant
//! load whose gap divides that distance meets every interruption at the same place of a gap, or none: 10 kpps beside
//! 250 ticks a second has either each fortieth packet late, or no packet. So the trial starts where it has none.

use dropline_trial::Rate;
use std::time::{Duration, Instant};

/// When a CPU did something else, as seen by a thread that looked at the clock all the while.
#[derive(Debug)]
pub(crate) struct Interruptions {
    since: Instant,
    /// From and until, in ns after `since`.
    each: Vec<(u64, u64)>,
}

/// What is shorter delays no packet that is worth a word.
const SHORTEST_NS: u64 = 2_000;
/// Interruptions that are kept: a CPU with more has no quiet place.
const MOST: usize = 1 << 10;
/// A packet that leaves so shortly before an interruption can still be hit by it: about what a send takes.
const SENDING_NS: u64 = 5_000;
/// The parts of a gap that are told apart.
const PARTS: usize = 128;
/// Nobody waits longer than this for a better start.
const LONGEST_GAP_NS: u64 = 10_000_000;

impl Interruptions {
    /// Looks at the clock and nothing else for so long: six ticks at least, for those that tick 100 times a second.
    pub(crate) const LISTENING: Duration = Duration::from_millis(60);

    /// Watches the CPU that the calling thread is on.
    pub(crate) fn listen(time: Duration) -> Self {
        let since = Instant::now();
        let each = heard(time.as_nanos() as u64, || since.elapsed().as_nanos() as u64);
        Self { since, each }
    }

    /// The first moment from `earliest` on at which a constant load of this rate is best begun; `earliest` itself
    /// where its gap is longer than anybody waits.
    pub(crate) fn best_start(&self, earliest: Instant, load: Rate) -> Instant {
        let cycle = Cycle(load);
        if self.each.is_empty() || cycle.gap_ns() > LONGEST_GAP_NS {
            return earliest;
        }
        let here = cycle.place(earliest.saturating_duration_since(self.since).as_nanos() as u64);
        earliest + Duration::from_nanos(cycle.ns_between(here, cycle.quietest(&self.each)))
    }
}

/// Where a clock that is read all the while jumps: from and until, in ns.
fn heard(until_ns: u64, mut now: impl FnMut() -> u64) -> Vec<(u64, u64)> {
    let (mut each, mut last) = (Vec::with_capacity(MOST), now());
    while last < until_ns && each.len() < MOST {
        let here = now();
        if here - last > SHORTEST_NS {
            each.push((last, here));
        }
        last = here;
    }
    each
}

/// The gap between two packets of a constant load, gone round and round. Places are counted in [`Cycle::PLACES`]: so
/// that a time in ns has one, exactly, at any rate.
#[derive(Clone, Copy)]
struct Cycle(Rate);

impl Cycle {
    /// ns in a second, by 1000 for a rate in millipackets.
    const PLACES: u64 = 1_000_000_000_000;

    fn gap_ns(self) -> u64 {
        Self::PLACES / self.0.as_millipps()
    }

    /// Where this time is.
    fn place(self, ns: u64) -> u64 {
        (u128::from(ns) * u128::from(self.0.as_millipps()) % u128::from(Self::PLACES)) as u64
    }

    /// From one place forward to the next one like `to`.
    fn ns_between(self, from: u64, to: u64) -> u64 {
        (to + Self::PLACES - from) % Self::PLACES / self.0.as_millipps()
    }

    /// The middle of the longest stretch in which a packet meets fewest of these.
    fn quietest(self, each: &[(u64, u64)]) -> u64 {
        let mut hits = [0_u32; PARTS];
        let part = |place: u64| (place / (Self::PLACES / PARTS as u64)) as usize;
        for &(from, until) in each {
            let from = from.saturating_sub(SENDING_NS);
            let touched = match until - from >= self.gap_ns() {
                true => PARTS,
                false => (part(self.place(until)) + PARTS - part(self.place(from))) % PARTS + 1,
            };
            let first = part(self.place(from));
            (first..first + touched).for_each(|part| hits[part % PARTS] += 1);
        }
        let least = hits.iter().min().expect("there are parts");
        let stretch =
            |first: usize| (0..PARTS).take_while(|ahead| hits[(first + ahead) % PARTS] == *least).count();
        let longest = (0..PARTS).rev().max_by_key(|&first| stretch(first)).expect("there are parts");
        (2 * longest + stretch(longest)) as u64 % (2 * PARTS as u64) * (Self::PLACES / (2 * PARTS as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of 20 us, 250 a second from 3.37 ms on, and ten of a host's own among them.
    fn ticking() -> Vec<(u64, u64)> {
        let ticks = (0..15).map(|tick| 3_370_000 + tick * 4_000_000).map(|at| (at, at + 20_000));
        ticks.chain((0..6).map(|tick| 1_150_000 + tick * 10_000_000).map(|at| (at, at + 10_000))).collect()
    }

    fn met(load: Rate, begin_ns: u64, each: &[(u64, u64)]) -> usize {
        let due = |packet: u64| begin_ns + packet * 1_000_000_000_000 / load.as_millipps();
        let is_hit = |at: u64| each.iter().any(|&(from, until)| (from..until).contains(&at));
        (0..).map(due).take_while(|&at| at < 60_000_000).filter(|&at| is_hit(at)).count()
    }

    #[test]
    fn a_load_whose_gap_divides_the_ticks_meets_none_of_them() {
        let heard = Interruptions { since: Instant::now(), each: ticking() };
        for pps in [1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0] {
            let load = Rate::pps(pps).unwrap();
            for late in [0, 7_777, 50_000, 123_456_789] {
                let earliest = heard.since + Duration::from_nanos(late);
                let begin = heard.best_start(earliest, load);
                let waited = (begin - earliest).as_nanos() as u64;
                assert!(waited <= Cycle(load).gap_ns(), "{pps}: nobody waits for more than a gap");
                let begin_ns = (begin - heard.since).as_nanos() as u64 % Cycle(load).gap_ns();
                assert_eq!(met(load, begin_ns, &heard.each), 0, "{pps} from {late}");
            }
        }
        assert_eq!(met(Rate::pps(10_000.0).unwrap(), 70_000, &heard.each), 15, "else it meets each tick");
    }

    #[test]
    fn where_nothing_is_heard_or_the_gap_is_long_the_trial_starts_at_once() {
        let now = Instant::now();
        let start = |each, pps| Interruptions { since: now, each }.best_start(now, Rate::pps(pps).unwrap());
        assert_eq!(start(vec![], 10_000.0), now);
        assert_eq!(start(ticking(), 10.0), now);
        assert_eq!(start(ticking(), 1e12), now, "a gap shorter than 1 ns has no places");
    }

    #[test]
    fn an_interruption_is_a_jump_of_the_clock_and_not_a_step() {
        let mut clock = [0, 40, 80, 80 + SHORTEST_NS, 30_000, 30_040, 50_000, 60_000, 90_000].into_iter();
        let jumps = heard(60_000, || clock.next().expect("nobody listens any longer"));
        assert_eq!(jumps, [(80 + SHORTEST_NS, 30_000), (30_040, 50_000), (50_000, 60_000)]);
        assert_eq!(clock.next(), Some(90_000));
        let mut busy = (0..).step_by(5_000);
        assert_eq!(heard(u64::MAX, || busy.next().unwrap()).len(), MOST);
    }
}
