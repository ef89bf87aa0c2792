//! The beginning of a pipe: granules that travel through empty buffers and starting threads.

/// What is done about the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarmUpCut {
    /// It is counted like the rest; what was found is said.
    #[default]
    Nothing,
    /// As many passages of each pipe as are found to be unlike the others.
    Found,
    /// So many passages of each pipe.
    Passages(u64),
}

/// Passages of a batch (MSER-5).
const BATCH: usize = 5;
/// Batches below which nothing is said.
const FEWEST: usize = 20;
/// The beginning is told from the rest when its mean is so many standard errors away.
const APART: f64 = 4.0;

/// How many of the first delays are unlike the others: 0 where none is, `None` where there are too few to tell, or
/// where the delays have not settled within the first half.
///
/// MSER-5 (K. P. White 1997, "An effective truncation heuristic for bias reduction in simulation output"): of all
/// beginnings that could be left out, the one without which the mean of the rest is known best. It always finds some
/// beginning, so what it finds must also be unlike the rest.
pub(crate) fn find(delays: &[i64]) -> Option<u64> {
    let batches: Vec<f64> = delays
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().map(|&delay| delay as f64).sum::<f64>() / 5.0)
        .collect();
    if batches.len() < FEWEST {
        return None;
    }
    let half = batches.len() / 2;
    // From the end, so that each beginning adds one batch to what is left.
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0, 0.0, 0.0);
    for (index, batch) in batches.iter().enumerate().rev() {
        count += 1.0;
        let off = batch - mean;
        mean += off / count;
        squares += off * (batch - mean);
        let error = squares / (count * count);
        if index < half && error <= best.0 {
            best = (error, index, mean, (squares / (count - 1.0)).sqrt());
        }
    }
    let (_, cut, mean, deviation) = best;
    if cut == 0 {
        return Some(0);
    }
    let before = batches[..cut].iter().sum::<f64>() / cut as f64;
    let apart = (before - mean).abs() > APART * deviation / (cut as f64).sqrt();
    match (apart, cut + 1 == half) {
        (false, _) => Some(0),
        (true, true) => None,
        (true, false) => Some((cut * BATCH) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays that scatter, from a generator that repeats.
    fn noise(count: usize) -> impl Iterator<Item = i64> {
        let mut state = 1u64;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 54) as i64
        })
        .take(count)
    }

    #[test]
    fn a_beginning_of_slow_granules_is_found() {
        let delays: Vec<i64> =
            noise(1000).enumerate().map(|(n, noise)| noise + if n < 40 { 9000 } else { 5000 }).collect();
        // A batch or two more may go with it, where that makes the rest's mean surer.
        assert!(find(&delays).is_some_and(|cut| (40..=60).contains(&cut)), "{:?}", find(&delays));
    }

    #[test]
    fn delays_that_only_scatter_have_no_beginning() {
        assert_eq!(find(&noise(1000).collect::<Vec<_>>()), Some(0));
        assert_eq!(find(&[7; 500]), Some(0));
    }

    #[test]
    fn delays_that_still_grow_have_not_settled() {
        assert_eq!(find(&(0..1000).collect::<Vec<_>>()), None);
        assert_eq!(find(&[1, 2, 3]), None, "too few");
    }
}
