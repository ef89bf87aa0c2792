//! What explains the order of slow trials and of fast ones: a change, turns, or what trials leave to one another.
//!
//! Where all trials are independent of one another, any order of these is as probable as any other. Of what may be instead, the
//! explanation under which the order is most probable is held against that: how often a random order is explained as well is
//! counted over many of them. The best of all explanations is looked for in each of these too, so that it is one test.
//!
//! Loads are chosen by what was seen, though, and a search that goes up while trials meet the goal puts those that do first. Where
//! the target breaks down above its limit, and how much is lost tells nothing, an explanation has to be so much more probable than
//! that trials fail by their loads alone, no less often at a higher one, that chance seldom has it whatever loads are chosen: a ratio
//! of likelihoods, the one a mixture and the other the largest there is (Ville 1939; Wasserman and others 2020).

use crate::crossed::{Before, Crossed, Told, breaks};
use dropline_trial::seed;
use rand::Rng as _;

/// Random orders.
const ORDERS: u32 = 1999;
/// What is rarer than this among them is said of the target.
const RARE: f64 = 0.005;
/// What is rarer than this is looked into.
const LOOKED_INTO: f64 = 0.05;
/// So many that are slow right after a loss, the last ones, are looked into.
const IN_A_ROW: usize = 3;
/// Of trials that an explanation puts together, so many are of its kind.
const OF_ITS_KIND: f64 = 0.75;
/// So often a target must have recovered before it is said that what slowed it was left by the trial before.
const RECOVERED: usize = 2;

/// Turns put slow trials after slow ones too: what trials leave must explain more than they do, by this in logarithms.
const CLEARLY: f64 = 2.0;

/// What explains the order of slow trials and fast ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    /// From this place on they are of the other kind.
    Change(usize),
    /// A trial is like the one before it.
    Turns,
    /// Slow trials are those that came right after one that lost packets.
    CarryOver,
}

/// The kinds of trials in their order, and what was before each.
#[derive(Clone, Debug)]
struct Kinds {
    slow: Vec<bool>,
    before: Vec<Before>,
    /// Of a target that breaks down, how probable they are by their loads alone, as a logarithm.
    by_load: Option<f64>,
}

/// The order that trials are in, and how often chance has it, where that is seldom.
pub(crate) fn order(told: &[Told]) -> Option<(Order, f64)> {
    let mut kinds = Kinds::of(told);
    let (order, gain) = kinds.explained()?;
    let by_chance = match kinds.by_load {
        Some(by_load) => Some(kinds.at_most(order, gain, by_load)).filter(|at_most| *at_most <= RARE),
        None => kinds.by_chance(gain),
    };
    Some((order, by_chance?))
}

/// The same where it is looked at once more: twice as many looks find as much by chance.
pub(crate) fn order_once_more(told: &[Told]) -> Option<(Order, f64)> {
    order(told).filter(|(_, by_chance)| *by_chance <= RARE / 9.0)
}

/// Whether trials show that the target became another one.
pub(crate) fn is_another(crossed: &Crossed) -> bool {
    let seen = crossed.seen();
    [order(&Crossed::told(&seen)), order_once_more(&Crossed::told_far(&seen))]
        .iter()
        .any(|found| matches!(found, Some((Order::Change(_), _))))
}

/// Whether the last of these, several in a row, may be slow only for what those before them left: most that came after a loss are slow and most
/// that came after a rest are not, as chance has it now and then (Fisher's exact test).
pub(crate) fn may_be_carried_over(told: &[Told]) -> bool {
    let kinds = Kinds::of(told);
    let is_so = |one: &Told| one.is_slow && one.seen.before == Before::Loss;
    let is_one = told.len() >= IN_A_ROW && told.iter().rev().take(IN_A_ROW).all(is_so);
    let [(slow_after, after), (slow_else, rested), _] = kinds.by_what_was_before();
    is_one && are_apart((slow_after, after), (slow_else, rested)) && {
        let (slow, all) = (slow_after + slow_else, after + rested);
        let more: f64 = (slow_after..=slow.min(after)).map(|of| hypergeometric(of, after, slow, all)).sum();
        more <= LOOKED_INTO
    }
}

/// The probability that so many `of` the slow are among those `after` a loss, where that does not matter.
fn hypergeometric(of: usize, after: usize, slow: usize, all: usize) -> f64 {
    libm::exp(ln_choose(after, of) + ln_choose(all - after, slow - of) - ln_choose(all, slow))
}

/// Logarithm of how many ways there are to choose so many.
pub(crate) fn ln_choose(from: usize, count: usize) -> f64 {
    match count <= from {
        true => (0..count).map(|step| libm::log((from - step) as f64 / (step + 1) as f64)).sum(),
        false => f64::NEG_INFINITY,
    }
}

/// Whether so many slow ones of all are most on the one side, and few on the other.
fn are_apart((slow, of): (usize, usize), (slow_there, of_those): (usize, usize)) -> bool {
    slow as f64 >= OF_ITS_KIND * of as f64 && slow_there as f64 <= (1.0 - OF_ITS_KIND) * of_those as f64
}

impl Kinds {
    fn of(told: &[Told]) -> Self {
        Self {
            slow: told.iter().map(|one| one.is_slow).collect(),
            before: told.iter().map(|one| one.seen.before).collect(),
            by_load: breaks(told.iter().map(|one| one.seen.loss_ratio())).then(|| by_load(told)),
        }
    }

    /// What explains the order best, and by how much better than that all orders are as probable: as a logarithm of probabilities.
    fn explained(&self) -> Option<(Order, f64)> {
        let slow = &self.slow;
        let last = *slow.last()?;
        let (all, of_last) = (slow.len(), slow.iter().filter(|slow| **slow == last).count());
        let mut before = 0;
        let turns = self.turns();
        let mut best = turns;
        let mut consider = |order, found| {
            if best.is_none_or(|(_, best)| found >= best) {
                best = Some((order, found));
            }
        };
        let enough = turns.map_or(f64::NEG_INFINITY, |(_, found)| found + CLEARLY);
        if let Some(found) = self.carry_over().filter(|found| *found >= enough) {
            consider(Order::CarryOver, found);
        }
        for place in 1..all {
            before += usize::from(slow[place - 1] == last);
            // Those next to the place and at the end are of the kind of that side.
            if slow[place] == last && are_apart((of_last - before, all - place), (before, place)) {
                let found = likelihood(before, place) + likelihood(of_last - before, all - place);
                consider(Order::Change(place), found);
            }
        }
        best.map(|(order, found)| (order, found - likelihood(of_last, all)))
    }

    /// How probable it is where a trial is like the one before it more often than not.
    fn turns(&self) -> Option<(Order, f64)> {
        let from = |kind: bool| self.slow.windows(2).filter(move |pair| pair[0] == kind);
        let [(fast, left_fast), (slow, left_slow)] = [false, true]
            .map(|kind| (from(kind).count(), from(kind).filter(|pair| pair[0] != pair[1]).count()));
        let all = fast + slow;
        let is_like = all > 0 && (left_fast + left_slow) * all < 2 * fast * slow;
        is_like.then(|| (Order::Turns, likelihood(left_fast, fast) + likelihood(left_slow, slow)))
    }

    /// How probable it is where trials right after a loss are slow, and those after a rest are not, even where the target was slow
    /// before that.
    fn carry_over(&self) -> Option<f64> {
        let first = self.slow.iter().position(|slow| *slow)?;
        let since = self.slow.iter().zip(&self.before).skip(first);
        let recovered = since.filter(|&(slow, before)| !slow && *before == Before::Rest).count();
        let groups = self.by_what_was_before();
        (recovered >= RECOVERED && are_apart(groups[0], groups[1]))
            .then(|| groups.iter().map(|&(slow, of)| likelihood(slow, of)).sum())
    }

    /// How many are slow of those right after a loss and how many these are, of those after a rest, and of the others.
    fn by_what_was_before(&self) -> [(usize, usize); 3] {
        [Before::Loss, Before::Rest, Before::AsMuch].map(|what| {
            let such = || self.slow.iter().zip(&self.before).filter(move |(_, before)| **before == what);
            (such().filter(|(slow, _)| **slow).count(), such().count())
        })
    }

    /// How often chance has at most that an order is explained so well, where trials fail by their loads alone.
    fn at_most(&self, order: Order, gain: f64, by_load: f64) -> f64 {
        let of = |slow: bool| self.slow.iter().filter(|one| **one == slow).count();
        let all = self.slow.len();
        let (groups, places) = match order {
            Order::Change(place) => (vec![place, all - place], all),
            Order::Turns => (vec![of(true), of(false)], 1),
            Order::CarryOver => (self.by_what_was_before().map(|(_, of)| of).to_vec(), 1),
        };
        // What is the likeliest share afterwards, of all shares before (Krichevsky and Trofimov 1981).
        let cost = |of: &usize| 0.5 * libm::log(std::f64::consts::PI * (*of).max(1) as f64);
        let shares: f64 = groups.iter().map(cost).sum();
        let explained = gain + likelihood(of(true), all) - shares - libm::log(3.0 * places as f64);
        libm::exp(by_load - explained).min(1.0)
    }

    /// How often a random order is explained as well, where that is seldom: most are told after a few orders.
    fn by_chance(&mut self, gain: f64) -> Option<f64> {
        let too_many = (RARE * f64::from(ORDERS + 1)) as u32;
        let mut chance = seed::generator(u64::from(ORDERS));
        let mut as_well = 0;
        for _ in 0..ORDERS {
            for last in (1..self.slow.len()).rev() {
                self.slow.swap(last, chance.random_range(0..=last));
            }
            as_well += u32::from(self.explained().is_some_and(|(_, found)| found >= gain - 1e-9));
            if as_well >= too_many {
                return None;
            }
        }
        Some(f64::from(as_well + 1) / f64::from(ORDERS + 1))
    }
}

/// How probable it is, as a logarithm, that these are slow, where the share of those that are does not fall with the load: at most (an
/// isotonic regression, as in Ayer and others 1955).
fn by_load(told: &[Told]) -> f64 {
    let mut told: Vec<&Told> = told.iter().collect();
    told.sort_by(|one, other| one.seen.pps.total_cmp(&other.seen.pps));
    let mut blocks: Vec<(usize, usize)> = Vec::new();
    for at_one_load in told.chunk_by(|one, other| one.seen.pps == other.seen.pps) {
        let mut last = (at_one_load.iter().filter(|one| one.is_slow).count(), at_one_load.len());
        while let Some((slow, of)) = blocks.pop_if(|(slow, of)| *slow * last.1 >= last.0 * *of) {
            last = (last.0 + slow, last.1 + of);
        }
        blocks.push(last);
    }
    blocks.into_iter().map(|(slow, of)| likelihood(slow, of)).sum()
}

/// Logarithm of the probability of so many of all, each as probable as they are often.
fn likelihood(number: usize, of: usize) -> f64 {
    let part =
        |count: usize| if count == 0 { 0.0 } else { count as f64 * libm::log(count as f64 / of as f64) };
    part(number) + part(of - number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_of_a_table_is_that_of_fisher() {
        let all: f64 = (0..=3).map(|of| hypergeometric(of, 5, 3, 8)).sum();
        assert!((all - 1.0).abs() < 1e-12, "{all}");
        assert!((hypergeometric(3, 3, 3, 6) - 0.05).abs() < 1e-12);
        assert_eq!(hypergeometric(0, 5, 3, 6), 0.0, "one alone is not after a loss");
    }
}
