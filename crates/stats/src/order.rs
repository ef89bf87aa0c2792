//! Events in the order in which they were measured: whether those near one another are alike, and the blocks that then show
//! how much they vary.
//!
//! Events that follow one another alike are no independent witnesses. Whether they do is one permutation test: sums over
//! neighbours, of 2, 4, 8, … of them, vary more in the order of time than in any other. It looks at ranks, which see levels
//! that wander, and at which events are long, which sees spells.

use crate::chance::seeded;
use rand::seq::SliceRandom as _;

/// Name of the estimator.
pub const ESTIMATOR: &str = "permutation test at 5 % of the largest excess of the variance of sums over 2, 4, 8, … \
     neighbours, of ranks and of events above the 90th percentile";
/// Independent events are called dependent as rarely as this.
const LEVEL: f64 = 0.05;
/// Of few events what is alike shows worse, and is looked for more.
const FEW: usize = 50;
const LEVEL_OF_FEW: f64 = 0.1;
/// Fewer events have too few long ones for these to be alike.
const SHOWS_SPELLS: usize = 100;
/// Other orders that the order of time is held against.
const ORDERS: usize = 199;
/// Share of the events that is not long.
const SHORT: f64 = 0.9;
/// Sums are over no more than this part of the events.
const LONGEST: usize = 2;
/// Fewer events have no neighbours to speak of.
const FEWEST: usize = 8;
/// A shorter beginning, or one of fewer events, is no warm-up.
const SHORTEST_WARM_UP: usize = 5;
const FEWEST_TO_WARM: usize = 40;
/// So many standard errors a beginning is slower, the surest of all lengths.
const SURELY: f64 = 3.7;
/// Cuts of a side; of fewer than five events each, its events themselves.
const BLOCKS: usize = 40;
const LEAST_BLOCK: usize = 5;

/// Whether the events of either side, each in the order of time, are more alike with those near them than they would be in
/// another order. Sides of fewer than eight events say nothing about that.
pub fn are_dependent(sides: &[&[i64]], seed: u64) -> bool {
    let mut rows: Vec<Vec<[f64; 2]>> =
        sides.iter().filter(|side| side.len() >= FEWEST).map(|side| scored(side)).collect();
    let fewest = rows.iter().map(Vec::len).min().unwrap_or(0);
    let seen = excesses(&rows);
    if seen.is_empty() {
        return false;
    }
    let mut chance = seeded(seed);
    let others: Vec<Vec<f64>> = (0..ORDERS)
        .map(|_| {
            rows.iter_mut().for_each(|row| row.shuffle(&mut chance));
            excesses(&rows)
        })
        .collect();
    let scales = scales(&others);
    let seen = largest(&seen, &scales);
    let as_large = others.iter().filter(|other| largest(other, &scales) >= seen).count();
    is_rare(as_large, fewest)
}

/// Whether so few of the other orders are as large that the order of time is none of them by chance.
fn is_rare(as_large: usize, events: usize) -> bool {
    let level = if events < FEW { LEVEL_OF_FEW } else { LEVEL };
    ((as_large + 1) as f64) <= level * (ORDERS + 1) as f64
}

/// The mean and the scatter of each excess in other orders.
fn scales(others: &[Vec<f64>]) -> Vec<(f64, f64)> {
    (0..others[0].len())
        .map(|which| {
            let of = || others.iter().map(|other| other[which]);
            let mean = of().sum::<f64>() / others.len() as f64;
            (mean, of().map(|value| (value - mean).powi(2)).sum::<f64>().sqrt())
        })
        .collect()
}

/// The largest excess, each in the units of its own scatter, so that it is of equals.
fn largest(excesses: &[f64], scales: &[(f64, f64)]) -> f64 {
    let scaled = excesses.iter().zip(scales).filter(|(_, (_, scatter))| *scatter > 0.0);
    scaled.map(|(value, (mean, scatter))| (value - mean) / scatter).fold(f64::NEG_INFINITY, f64::max)
}

/// How many events at the beginning are slower than all that follows: a warm-up. 0 where there is none.
///
/// The beginning is as long as it is most surely slower (Mann and Whitney 1947), at most a third; it counts where its median is
/// beyond three quarters of the others, and the first half of what follows is no slower than the second: what falls all along
/// has no steady part.
pub fn warm_up(events: &[i64]) -> usize {
    let n = events.len();
    if n < FEWEST_TO_WARM {
        return 0;
    }
    let ranks: Vec<f64> = scored(events).into_iter().map(|[rank, _]| rank).collect();
    let sums = ranks.iter().scan(0.0, |sum, rank| {
        *sum += rank;
        Some(*sum)
    });
    let surely = |(at, sum): (usize, f64)| {
        let (head, rest) = ((at + 1) as f64, (n - at - 1) as f64);
        (at + 1, sum * (n as f64 / (head * rest)).sqrt())
    };
    let heads = sums.take(n / 3).enumerate().map(surely).filter(|(length, _)| *length >= SHORTEST_WARM_UP);
    let Some((length, sure)) = heads.max_by(|a, b| a.1.total_cmp(&b.1)) else { return 0 };
    let median = |part: &[i64], share: f64| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part[(part.len() as f64 * share) as usize]
    };
    let (head, rest) = events.split_at(length);
    let (middle, end) = rest.split_at(rest.len() / 2);
    let is_apart = median(head, 0.5) > median(rest, 0.75);
    let is_steady_then = median(middle, 0.5) <= median(end, 0.6);
    if sure > SURELY && is_apart && is_steady_then { length } else { 0 }
}

/// Cuts of equal length, in order, as the blocks of a comparison: of few events each is one.
pub fn blocks(events: &[i64]) -> impl Iterator<Item = &[i64]> {
    let blocks = if events.len() < BLOCKS * LEAST_BLOCK { events.len() } else { BLOCKS };
    (0..blocks).map(move |block| &events[block * events.len() / blocks..(block + 1) * events.len() / blocks])
}

/// The rank of each event and whether it is long, both less their means and in units of their deviation.
fn scored(events: &[i64]) -> Vec<[f64; 2]> {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|&at| events[at]);
    let mut scores = vec![[0.0; 2]; events.len()];
    let mut from = 0;
    for same in order.chunk_by(|&a, &b| events[a] == events[b]) {
        let middle = from as f64 + same.len() as f64 / 2.0;
        let is_long = from as f64 >= SHORT * events.len() as f64;
        same.iter().for_each(|&at| scores[at] = [middle, f64::from(u8::from(is_long))]);
        from += same.len();
    }
    for which in 0..2 {
        let n = scores.len() as f64;
        let mean = scores.iter().map(|score| score[which]).sum::<f64>() / n;
        let variance = scores.iter().map(|score| (score[which] - mean).powi(2)).sum::<f64>() / n;
        let deviation = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        scores.iter_mut().for_each(|score| score[which] = (score[which] - mean) / deviation);
    }
    scores
}

/// Of each length and each score: the mean square of sums over so many neighbours, of all sides together, to the power of a
/// third, whose scatter is about even.
fn excesses(rows: &[Vec<[f64; 2]>]) -> Vec<f64> {
    let sums: Vec<Vec<[f64; 2]>> = rows.iter().map(|row| summed(row)).collect();
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0) / LONGEST;
    let lengths = std::iter::successors(Some(2), |length| Some(length * 2)).take_while(|&it| it <= longest);
    let mut excesses = Vec::new();
    for length in lengths {
        let (mut squares, mut count) = ([0.0; 2], 0.0);
        for sums in sums.iter().filter(|sums| sums.len() > length * LONGEST) {
            for from in 0..sums.len() - length {
                for (which, squares) in squares.iter_mut().enumerate() {
                    *squares += (sums[from + length][which] - sums[from][which]).powi(2);
                }
            }
            count += (sums.len() - length) as f64;
        }
        let shown = if longest * LONGEST < SHOWS_SPELLS { 1 } else { 2 };
        excesses.extend(squares[..shown].iter().map(|squares| (squares / count / length as f64).cbrt()));
    }
    excesses
}

/// Sums of all before each place, and of all.
fn summed(row: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sum = [0.0; 2];
    let mut sums = Vec::with_capacity(row.len() + 1);
    sums.push(sum);
    for score in row {
        sum = [sum[0] + score[0], sum[1] + score[1]];
        sums.push(sum);
    }
    sums
}

/// Whether events of these ranges, from low to high, are stretches of time: they follow one another in far fewer runs than they
/// would by chance.
pub fn are_stretches(events: &[f64], ranges: &[(f64, f64)]) -> bool {
    let of = |value: &f64| ranges.iter().rposition(|(low, _)| value >= low).unwrap_or(0);
    let which: Vec<usize> = events.iter().map(of).collect();
    let runs = 1 + which.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let n = which.len() as f64;
    let alike: f64 = (0..ranges.len())
        .map(|range| (which.iter().filter(|&&it| it == range).count() as f64 / n).powi(2))
        .sum();
    let by_chance = 1.0 + (n - 1.0) * (1.0 - alike);
    ranges.len() > 1 && which.len() >= FEWEST_TO_WARM && (runs as f64) < FEWER_RUNS * by_chance
}

/// Of stretches there is at most this part of the runs of chance.
const FEWER_RUNS: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution as _, StandardNormal};

    /// Events of an autoregression, so many, on a scale of delays.
    fn remembering(share: f64, count: usize, seed: u64) -> Vec<i64> {
        let mut chance = seeded(seed);
        let mut level: f64 = StandardNormal.sample(&mut chance);
        let mut next = |_| {
            let news: f64 = StandardNormal.sample(&mut chance);
            level = share * level + (1.0 - share * share).sqrt() * news;
            (100_000.0 * (0.35 * level).exp()) as i64
        };
        (0..count).map(&mut next).collect()
    }

    #[test]
    fn independent_pairs_are_seldom_called_dependent_and_those_that_remember_nearly_always() {
        let dependent = |share: f64, count: usize| {
            let pair = |seed: u64| [seed, 1000 + seed].map(|seed| remembering(share, count, seed));
            let are = |seed: &u64| {
                let [a, b] = pair(*seed);
                are_dependent(&[&a, &b], *seed)
            };
            (0..100).filter(are).count()
        };
        // 5 of 100, and three standard deviations of that.
        assert!(dependent(0.0, 300) <= 11, "{}", dependent(0.0, 300));
        for (share, count) in [(0.9, 20), (0.5, 60), (0.5, 300), (0.9, 300)] {
            assert!(dependent(share, count) >= 92, "{share} {count}: {}", dependent(share, count));
        }
        assert!(!are_dependent(&[&[5; 100], &[7; 3]], 1), "equal ones, and too few");
    }

    #[test]
    fn a_slow_beginning_is_counted_and_what_wanders_or_is_even_has_none() {
        for count in [100, 300, 5000] {
            let mut events = remembering(0.0, count, 7);
            assert_eq!(warm_up(&events), 0);
            events[..count / 10].iter_mut().for_each(|event| *event *= 2);
            let found = warm_up(&events);
            assert!(found.abs_diff(count / 10) <= 2 + count / 50, "{found} of {count}");
        }
        let falling: Vec<i64> = (0..300).map(|at| 10_000 - 20 * at + at * 37 % 101).collect();
        assert_eq!(warm_up(&falling), 0, "it has no steady part");
        let few = |count: i64| {
            let event = |at: i64| if at < 13 { 500 + at } else { 100 + at * 7 % 31 };
            warm_up(&(0..count).map(event).collect::<Vec<_>>())
        };
        assert_eq!((few(39), few(40)), (0, 13), "fewer than forty events say nothing of it");
    }

    /// The same from pairs: how often an event of the beginning is slower than one of the others, in standard errors.
    fn warm_up_by_pairs(events: &[i64]) -> usize {
        let n = events.len() as f64;
        let ties = |event: i64| events.iter().filter(|&&other| other == event).count() as f64;
        // The variance of ranks, less what equal ones take.
        let variance = (n * n - 1.0) / 12.0
            - events.iter().map(|&event| (ties(event).powi(2) - 1.0) / (12.0 * n)).sum::<f64>();
        let sure = |length: usize| {
            let (head, rest) = events.split_at(length);
            let slower = |one: i64| {
                let of =
                    |other: &i64| f64::from((one > *other) as u8) + 0.5 * f64::from((one == *other) as u8);
                rest.iter().map(of).sum::<f64>()
            };
            let pairs = (head.len() * rest.len()) as f64;
            (head.iter().map(|&one| slower(one)).sum::<f64>() - pairs / 2.0) / (pairs / n * variance).sqrt()
        };
        let best = (5..=events.len() / 3).max_by(|&a, &b| sure(a).total_cmp(&sure(b))).unwrap();
        let at = |part: &[i64], share: f64| {
            let mut part = part.to_vec();
            part.sort_unstable();
            part[(part.len() as f64 * share) as usize]
        };
        let (head, rest) = events.split_at(best);
        let (middle, end) = rest.split_at(rest.len() / 2);
        let is = sure(best) > 3.7 && at(head, 0.5) > at(rest, 0.75) && at(middle, 0.5) <= at(end, 0.6);
        if is { best } else { 0 }
    }

    #[test]
    fn the_beginning_is_the_one_whose_pairs_with_the_others_are_most_surely_slower() {
        let mut said = [0, 0];
        for seed in 0..200u64 {
            let mut events = remembering(0.0, 40 + seed as usize, seed);
            let (slow, more) = (3 + seed as usize % 17, 1.0 + (seed % 7) as f64 / 8.0);
            events[..slow].iter_mut().for_each(|event| *event = (*event as f64 * more) as i64);
            // Some are equal.
            events.iter_mut().for_each(|event| *event /= 1 + (seed % 3) as i64 * 4_000);
            let found = warm_up(&events);
            assert_eq!(found, warm_up_by_pairs(&events), "{seed}");
            said[usize::from(found > 0)] += 1;
        }
        assert!(said.iter().all(|times| *times > 40), "{said:?}");
    }

    #[test]
    fn events_are_scored_by_their_place_and_by_whether_they_are_long_and_equal_ones_by_neither() {
        let events: Vec<i64> = (0..40).map(|at| (at * 7 % 40) * 10).collect();
        let scores = scored(&events);
        for which in 0..2 {
            let mean = scores.iter().map(|score| score[which]).sum::<f64>() / 40.0;
            let square = scores.iter().map(|score| score[which].powi(2)).sum::<f64>() / 40.0;
            assert!(mean.abs() < 1e-9 && (square - 1.0).abs() < 1e-9, "{which}: {mean} {square}");
        }
        let of = |event: i64| scores[events.iter().position(|&it| it == event).unwrap()];
        // 39 less its mean 19.5, in deviations of 40 places.
        assert!((of(390)[0] - 19.5 / (1599.0f64 / 12.0).sqrt()).abs() < 1e-9, "{:?}", of(390));
        assert!(of(0)[0] == -of(390)[0] && of(390)[1] > 0.0 && of(0)[1] < 0.0);
        // A tenth is long: its deviation is 0.3.
        for event in 0..40 {
            let long = if event >= 36 { 0.9 } else { -0.1 };
            assert!((of(event * 10)[1] - long / 0.3).abs() < 1e-9, "{event}");
        }
        assert_eq!(scored(&[5; 4]), [[0.0; 2]; 4]);
    }

    #[test]
    fn sums_over_neighbours_exceed_by_how_far_those_go_one_way_and_spells_are_asked_of_a_hundred_events() {
        assert_eq!(summed(&[[1.0, 10.0], [2.0, 20.0]]), [[0.0, 0.0], [1.0, 10.0], [3.0, 30.0]]);
        let of = |row: Vec<[f64; 2]>| excesses(&[row]);
        // What is the same over so many neighbours has as many times the square of one.
        let ones = of(vec![[1.0, -1.0]; 98]);
        assert_eq!(ones.len(), 5);
        for (found, length) in ones.iter().zip([2.0f64, 4.0, 8.0, 16.0, 32.0]) {
            assert!((found - length.cbrt()).abs() < 1e-9, "{ones:?}");
        }
        let turns = of((0..100).map(|at| [f64::from(1 - 2 * (at % 2)), 1.0]).collect());
        assert_eq!((turns.len(), turns[0]), (10, 0.0));
        assert!((turns[9] - 32f64.cbrt()).abs() < 1e-9, "{turns:?}");
    }

    #[test]
    fn sums_are_of_sides_that_are_twice_as_long_at_least() {
        let with = |others: usize| excesses(&[vec![[1.0, 1.0]; 98], vec![[0.0, 0.0]; others]]);
        // Of ones, so many sums; of the others, so many that are nothing.
        let mean = |length: f64, others: f64| {
            let sums = 99.0 - length;
            (length * sums / (sums + others)).cbrt()
        };
        for (others, expected) in [
            (10, [mean(2.0, 9.0), mean(4.0, 7.0), mean(8.0, 0.0)]),
            (15, [mean(2.0, 14.0), mean(4.0, 12.0), mean(8.0, 0.0)]),
            (16, [mean(2.0, 15.0), mean(4.0, 13.0), mean(8.0, 9.0)]),
        ] {
            for (found, expected) in with(others).iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{others}: {found} {expected}");
            }
        }
    }

    #[test]
    fn an_order_is_rare_if_nine_of_the_others_are_as_large_and_of_few_events_nineteen() {
        assert_eq!([is_rare(9, 50), is_rare(10, 50)], [true, false]);
        assert_eq!([is_rare(19, 49), is_rare(20, 49)], [true, false]);
    }

    #[test]
    fn the_largest_excess_is_of_equals() {
        let scales = scales(&[vec![1.0, 10.0, 5.0], vec![3.0, 30.0, 5.0]]);
        assert_eq!(scales, [(2.0, 2f64.sqrt()), (20.0, 200f64.sqrt()), (5.0, 0.0)]);
        let of = |excesses: [f64; 3]| largest(&excesses, &scales);
        assert_eq!((of([4.0, 30.0, 9.0]), of([2.0, 50.0, 9.0])), (2.0 / 2f64.sqrt(), 30.0 / 200f64.sqrt()));
    }

    #[test]
    fn blocks_hold_all_events_in_order_and_few_events_are_blocks() {
        for (count, expected) in [(0, 0), (20, 20), (199, 199), (200, 40), (5001, 40)] {
            let events: Vec<i64> = (0..count).collect();
            let found: Vec<&[i64]> = blocks(&events).collect();
            assert_eq!((found.len(), found.concat()), (expected, events));
        }
    }

    #[test]
    fn modes_one_after_another_in_time_are_stretches_and_mixed_ones_are_not() {
        let ranges = [(0.0, 15.0), (15.5, 30.0)];
        let step: Vec<f64> = (0..200).map(|at| if at < 80 { 10.0 } else { 20.0 }).collect();
        let mixed: Vec<f64> = (0..200).map(|at| if at * 7919 % 101 < 40 { 10.0 } else { 20.0 }).collect();
        assert!(are_stretches(&step, &ranges) && !are_stretches(&mixed, &ranges));
        assert!(!are_stretches(&step, &ranges[..1]));
        assert!(
            are_stretches(&step[60..100], &ranges) && !are_stretches(&step[60..99], &ranges),
            "39 are few"
        );
        // Of 200 by halves, chance has 100.5 runs: a tenth of that is 10.05.
        let runs = |length: usize| -> Vec<f64> {
            (0..200).map(|at| if (at / length).is_multiple_of(2) { 10.0 } else { 20.0 }).collect()
        };
        assert!(are_stretches(&runs(20), &ranges), "ten runs");
        assert!(!are_stretches(&runs(20)[..199], &ranges), "of 199 chance has a hundredth less than 100");
        let mut eleven = runs(20);
        eleven[199] = 10.0;
        assert!(!are_stretches(&eleven, &ranges));
        // One between two ranges is of the lower, and one below all of the first.
        let between: Vec<f64> = step.iter().map(|&it| if it < 15.0 { -1.0 } else { 15.5 }).collect();
        assert!(are_stretches(&between, &ranges));
    }
}
