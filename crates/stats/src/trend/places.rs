//! Places where a level may have changed, and sets of them: from many to none.

use super::FEWEST;
use super::weighted::Weighted;

/// An interval is shorter than the next longer one by this factor.
const SHRINK: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// So many places are looked at together.
const MOST: usize = 300;
/// Sets of different size that are tried.
const SETS: usize = 14;
/// At least so many nights a change, on average: fewer are the rhythm of something.
const SPARSE: usize = 12;

/// Sets of changes to choose from; none is always among them.
pub(super) fn proposed(row: &Weighted) -> Vec<Vec<usize>> {
    let candidates = candidates(row);
    let mut sets = vec![Vec::new()];
    let Some(&(largest, _)) = candidates.first() else { return sets };
    let mut places: Vec<usize> = candidates.iter().take(MOST).map(|(_, place)| *place).collect();
    places.sort_unstable();
    let smallest = (2.0 * difference_variance(row)).min(largest);
    if largest <= 0.0 {
        return sets;
    }
    let ratio = (largest / smallest.max(1e-9 * largest)).powf(1.0 / (SETS - 1) as f64);
    let most = (row.len() / SPARSE).max(1);
    for index in 0..SETS {
        let price = largest / ratio.powi(index as i32);
        let set = best_set(row, &places, price);
        if set.len() > most {
            break;
        }
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

/// A variance from differences, which steps are few of; half their median square, as of normal ones.
fn difference_variance(row: &Weighted) -> f64 {
    let mut squares: Vec<f64> = (1..row.len())
        .map(|night| {
            (row.values[night] - row.values[night - 1]).powi(2)
                / (row.variances[night] + row.variances[night - 1])
        })
        .collect();
    squares.sort_by(f64::total_cmp);
    squares[squares.len() / 2] / 0.4549
}

/// The best place of each seeded interval, with what it gains; best first, each place once.
fn candidates(row: &Weighted) -> Vec<(f64, usize)> {
    let mut found: Vec<(f64, usize)> = Vec::new();
    for (index, &start) in row.stretches.iter().enumerate() {
        let end = row.stretches.get(index + 1).copied().unwrap_or(row.len());
        let count = end - start;
        let mut length = count as f64;
        while length >= (2 * FEWEST) as f64 {
            let nights = length.round() as usize;
            let pieces = if nights == count { 1 } else { (2 * count).div_ceil(nights) };
            for piece in 0..pieces {
                let from = start + (count - nights) * piece / (pieces - 1).max(1);
                found.extend(best(row, from, from + nights));
            }
            length *= SHRINK;
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let mut is_known = vec![false; row.len()];
    found.retain(|(_, place)| !std::mem::replace(&mut is_known[*place], true));
    found
}

/// The place in an interval at which two levels cost least.
pub(super) fn best(row: &Weighted, from: usize, to: usize) -> Option<(f64, usize)> {
    let places = (from + FEWEST)..=to.checked_sub(FEWEST)?;
    places
        .map(|place| (row.gain(from, place, to), place))
        .max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))
}

/// The changes, of these places, with which levels cost least, each change at this price; exact, by dynamic programming.
fn best_set(row: &Weighted, places: &[usize], price: f64) -> Vec<usize> {
    let mut set = Vec::new();
    for (index, &start) in row.stretches.iter().enumerate() {
        let end = row.stretches.get(index + 1).copied().unwrap_or(row.len());
        let within = places.iter().copied().filter(|place| start < *place && *place < end);
        let stops: Vec<usize> = std::iter::once(start).chain(within).chain([end]).collect();
        let mut costs = vec![-price];
        let mut from = vec![0];
        for stop in 1..stops.len() {
            let reached = (0..stop).filter(|before| stops[stop] - stops[*before] >= FEWEST || *before == 0);
            let (cost, before) = reached
                .map(|before| (costs[before] + row.cost(stops[before], stops[stop]) + price, before))
                .min_by(|one, other| one.0.total_cmp(&other.0))
                .expect("the start reaches every stop");
            costs.push(cost);
            from.push(before);
        }
        let mut stop = from[stops.len() - 1];
        while stop > 0 {
            set.push(stops[stop]);
            stop = from[stop];
        }
    }
    set.sort_unstable();
    set
}
