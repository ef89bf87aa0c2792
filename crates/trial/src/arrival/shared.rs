//! One generator's share of a schedule that several offer together.

use super::{ArrivalError, Draw, GapLaw, Pace, Process, mean_ns, poisson};
use crate::{Rate, TrialInput, seed};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which of several generators this is, and what share of the load each of them offers.
///
/// All draw the schedule of the whole load from the same seed, and each takes its own packets of it: counts add up to those of
/// one generator to the packet, and agent k of N sends at T + k ÷ load without anybody telling it so.
#[derive(Clone, Debug)]
pub struct Share {
    /// Which one, from 0.
    index: usize,
    /// Where the share of each ends, on a line as long as all shares.
    ends: Arc<[u64]>,
    /// The load of all, in millipackets a second; 0 until it was told.
    whole: Arc<AtomicU64>,
    /// The turn of the first packet of all in the next trial.
    turn: Arc<AtomicU64>,
}

/// Which places in a row of all are one generator's: so many one after the other, and again a round later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnPlaces {
    /// The first.
    begin: u64,
    /// Of each round.
    own: u64,
    /// Places of a round.
    pub round: u64,
}

impl OwnPlaces {
    /// Of a generator that is alone.
    pub const ALONE: Self = Self { begin: 0, own: 1, round: 1 };

    /// The place of its packet number `index`, counted from 0. No two generators have one in common.
    pub fn place(&self, index: u64) -> u64 {
        match self.own {
            own if own == self.round => index,
            own => (index / own).saturating_mul(self.round).saturating_add(self.begin + index % own),
        }
    }
}

impl Share {
    /// Share number `index` of these; `None` if there is none, or one of them is zero.
    pub fn new(index: usize, shares: &[u32]) -> Option<Self> {
        if index >= shares.len() || shares.contains(&0) {
            return None;
        }
        let common = shares.iter().fold(0, |common, &share| divisor(common, share.into()));
        let ends = shares.iter().scan(0, |end, &share| {
            *end += u64::from(share) / common;
            Some(*end)
        });
        Some(Self { index, ends: ends.collect(), whole: Arc::default(), turn: Arc::default() })
    }

    /// Says which turn the first packet of all has in the next trial.
    pub fn begin_at(&self, turn: u64) {
        self.turn.store(turn, Ordering::Relaxed);
    }

    /// Which turn that is.
    pub fn first_turn(&self) -> u64 {
        self.turn.load(Ordering::Relaxed)
    }

    /// The places of its packets among those of all: to the packet, where generators have turns; where chance says whose a packet is,
    /// so that each has its own.
    pub fn places(&self) -> OwnPlaces {
        let (begin, end) = self.place();
        OwnPlaces { begin, own: end - begin, round: self.length() }
    }

    /// The same where all send as many, as before the first trial.
    pub fn even_places(&self) -> OwnPlaces {
        OwnPlaces { begin: self.index as u64, own: 1, round: self.ends.len() as u64 }
    }

    /// Says what all offer together in the next trial; returns what this one does. The shares add up to the load exactly.
    pub fn of(&self, load: Rate) -> Rate {
        self.whole.store(load.as_millipps(), Ordering::Relaxed);
        let upto = |end: u64| u128::from(load.as_millipps()) * u128::from(end) / u128::from(self.length());
        let (begin, end) = self.place();
        Rate::from_millipps((upto(end) - upto(begin)) as u64)
    }

    fn length(&self) -> u64 {
        self.ends.last().copied().unwrap_or(1)
    }

    /// Where the share lies on the line.
    fn place(&self) -> (u64, u64) {
        (self.index.checked_sub(1).map_or(0, |before| self.ends[before]), self.ends[self.index])
    }

    fn is_mine(&self, at: u64) -> bool {
        let (begin, end) = self.place();
        (begin..end).contains(&at)
    }

    /// Whether all have the same share.
    fn is_even(&self) -> bool {
        self.length() == self.ends.len() as u64
    }
}

/// The greatest that divides both.
pub fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// A process of which a share is taken.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) process: Arc<dyn Process>,
    pub(super) share: Share,
}

impl Process for Shared {
    fn name(&self) -> &'static str {
        self.process.name()
    }

    fn pace(&self) -> Pace {
        self.process.pace()
    }

    fn gap_law(&self, load: Rate) -> GapLaw {
        match self.process.gap_law(load) {
            law @ GapLaw::Exponential { .. } => law,
            GapLaw::Equal { .. } if self.share.is_even() => GapLaw::Equal { gap_ns: mean_ns(load) },
            _ => GapLaw::Drawn,
        }
    }

    fn check(&self, load: Rate) -> Result<(), ArrivalError> {
        self.process.check(load)
    }

    fn slack(&self, input: TrialInput) -> f64 {
        self.process.slack(input)
    }

    fn share(&self) -> Option<&Share> {
        Some(&self.share)
    }

    fn draw(&self, input: TrialInput, seed: u64) -> Box<dyn Draw> {
        match self.share.whole.load(Ordering::Relaxed) {
            // Before the first trial packets are sent that are nobody's share.
            0 => self.process.draw(input, seed),
            whole => {
                let input = TrialInput { load: Rate::from_millipps(whole), ..input };
                // Taken by chance, a Poisson process is one again, whenever the others start.
                let by_chance = self.process.name() == poisson::KIND.name;
                Box::new(Taken {
                    whole: self.process.draw(input, seed),
                    share: self.share.clone(),
                    chance: by_chance.then(|| seed::generator(seed::of_trial(seed, TURNS))),
                    next: 0,
                })
            }
        }
    }
}

/// No trial has this number: its chance is nobody else's.
const TURNS: u64 = u64::MAX;

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.process, f)
    }
}

#[derive(Debug)]
struct Taken {
    whole: Box<dyn Draw>,
    share: Share,
    /// Decides whose each packet is; without it they have turns.
    chance: Option<ChaCha8Rng>,
    next: u64,
}

impl Draw for Taken {
    fn next(&mut self) -> Option<u64> {
        loop {
            let due = self.whole.next()?;
            let length = self.share.length();
            let at = match &mut self.chance {
                Some(chance) => chance.random_range(0..length),
                None => self.next,
            };
            self.next = if self.next + 1 == length { 0 } else { self.next + 1 };
            if self.share.is_mine(at) {
                return Some(due);
            }
        }
    }

    fn left(&self) -> Option<u64> {
        if self.chance.is_some() {
            return None;
        }
        let (begin, end) = self.share.place();
        let (left, length) = (self.whole.left()?, self.share.length());
        let rest = left % length;
        let of_rest = (0..rest).filter(|step| (begin..end).contains(&((self.next + step) % length))).count();
        Some(left / length * (end - begin) + of_rest as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrival;
    use proptest::prelude::*;
    use std::time::Duration;

    fn input(pps: f64, ms: u64) -> TrialInput {
        TrialInput { load: Rate::pps(pps).unwrap(), duration: Duration::from_millis(ms) }
    }

    /// What each of the shares sends.
    fn each(arrival: &Arrival, whole: TrialInput, shares: &[u32]) -> Vec<Vec<u64>> {
        let of = |index| {
            let share = Share::new(index, shares).unwrap();
            let input = TrialInput { load: share.of(whole.load), ..whole };
            let departures = || arrival.clone().shared(share.clone()).departures(input, 9);
            let all: Vec<u64> = departures().collect();
            assert_eq!(departures().remaining(), all.len() as u64, "{arrival}");
            all
        };
        (0..shares.len()).map(of).collect()
    }

    #[test]
    fn agent_k_of_n_sends_at_k_intervals_after_the_first() {
        let all = each(&Arrival::constant(), input(1000.0, 10), &[1, 1, 1, 1]);
        assert_eq!(all[1], [1_000_000, 5_000_000, 9_000_000]);
        assert_eq!(all[3], [3_000_000, 7_000_000]);
    }

    #[test]
    fn the_places_of_all_are_those_of_one_generator_and_its_packets_have_them_in_their_order() {
        for shares in [vec![1], vec![1, 1], vec![2, 1, 4], vec![4, 2]] {
            let whole = input(1000.0, 100);
            let all: Vec<u64> = Arrival::constant().departures(whole, 9).collect();
            let mut seen = vec![false; all.len()];
            for (index, own) in each(&Arrival::constant(), whole, &shares).iter().enumerate() {
                let places = Share::new(index, &shares).unwrap().places();
                for (rank, due) in (0..).zip(own) {
                    let place = usize::try_from(places.place(rank)).unwrap();
                    assert_eq!(all[place], *due, "{shares:?}");
                    assert!(!std::mem::replace(&mut seen[place], true));
                }
            }
            assert!(seen.iter().all(|seen| *seen), "{shares:?}");
        }
    }

    #[test]
    fn shares_of_a_load_add_up_to_it_exactly() {
        let load = Rate::from_millipps(1_000_001);
        let shares = [2, 1, 4];
        let parts = (0..3).map(|index| Share::new(index, &shares).unwrap().of(load).as_millipps());
        let parts: Vec<u64> = parts.collect();
        assert_eq!(parts.iter().sum::<u64>(), 1_000_001);
        assert_eq!(parts, [285_714, 142_857, 571_430]);
        assert!(Share::new(3, &shares).is_none() && Share::new(0, &[0, 1]).is_none());
    }

    #[test]
    fn a_poisson_process_is_parted_by_chance_so_that_no_part_knows_the_others() {
        let mut spacing = dropline_stats::Spacing::new();
        let all = each(&Arrival::poisson(), input(100_000.0, 4000), &[1, 1]);
        all[0].iter().for_each(|&due| spacing.event(due));
        let dispersion = spacing.dispersion()[0].unwrap();
        assert!((dispersion - 1.0).abs() < 0.1, "turns would have made it 0.5: {dispersion}");
    }

    proptest! {
        #[test]
        fn together_the_shares_are_what_one_generator_would_send(
            kind in 0usize..9, pps in 100.0f64..20_000.0, shares in prop::collection::vec(1u32..9, 1..9),
        ) {
            let arrival = &Arrival::examples()[kind];
            let whole = input(pps, 500);
            let mut together: Vec<u64> = each(arrival, whole, &shares).concat();
            together.sort_unstable();
            let alone: Vec<u64> = arrival.departures(whole, 9).collect();
            prop_assert_eq!(together, alone);
        }
    }
}
