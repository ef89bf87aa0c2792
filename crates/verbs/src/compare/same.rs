//! Whether two sides are one measurement: the same events, which two would not have by chance.

use super::side::{Pair, Side};
use dropline_distributions::import::Order;
use dropline_stats::Counted;

/// Whether both sides hold the same events and would not by chance: there is nothing to compare.
pub(super) fn is_same(pair: &Pair) -> bool {
    /// Independent measurements are so rarely equal by chance that they are taken for one.
    const BY_CHANCE: f64 = 1e-6;
    let is_equal = pair.a.blocks == pair.b.blocks && pair.a.lost == pair.b.lost;
    is_equal && (pair.is_one_file || chance_of_another(&pair.a) < BY_CHANCE)
}

/// With which probability another measurement of the same target counts as many in each cell of each block: cells but the
/// fullest of a block as Poisson's, of which two of mean m are equal with a probability below 1.1 ÷ √(4πm).
fn chance_of_another(side: &Side) -> f64 {
    let equal = |count: u64| (1.1 / (4.0 * std::f64::consts::PI * count as f64).sqrt()).min(1.0);
    let of_counts = |counts: Vec<u64>| {
        let fullest = counts.iter().copied().max().unwrap_or(0);
        counts.into_iter().filter(|&count| count > 0).map(equal).product::<f64>() / equal(fullest)
    };
    // Blocks of events in a row are cut from what was counted as one.
    let together = usize::from(side.order != Order::Unknown) * side.blocks.len();
    let lost: Vec<u64> = side.lost.clone().unwrap_or_default();
    let of_blocks = |(number, blocks): (usize, &[Counted])| {
        let mut cells = std::collections::BTreeMap::<(i64, i64), u64>::new();
        for (low, high, count) in blocks.iter().flat_map(Counted::cells) {
            *cells.entry((low, high)).or_default() += count;
        }
        let above = blocks.iter().filter_map(Counted::above).map(|above| above.count).sum();
        of_counts(cells.into_values().chain([above, lost.get(number).copied().unwrap_or(0)]).collect())
    };
    side.blocks.chunks(together.max(1)).enumerate().map(of_blocks).product()
}

#[cfg(test)]
mod tests {
    use super::super::side::Neighbours;
    use super::*;
    use dropline_stats::Meaning;

    /// Two sides of one block with these delays and counts.
    fn pair(counts: &[(i64, u64)], lost: u64) -> Pair {
        let meaning = Meaning {
            unit_ns: 1_000,
            quantum_ns: 1_000.0,
            rounding: dropline_stats::Rounding::Floor,
            event: dropline_stats::Event::Each,
        };
        let block = Counted::ticks(meaning, counts.iter().copied(), None).unwrap();
        let side = Side {
            name: "a".into(),
            meaning,
            blocks: vec![block],
            lost: Some(vec![lost]),
            doubts: Vec::new(),
            is_invalid: false,
            seconds: None,
            order: Order::Unknown,
            notes: Vec::new(),
            conditions: Vec::new(),
            kind: None,
        };
        Pair {
            a: side.clone(),
            b: side,
            interleaved: false,
            seed: None,
            is_one_file: false,
            is_in_haste: false,
            neighbours: Neighbours::Unknown,
            doubts: Vec::new(),
        }
    }

    #[test]
    fn equal_counts_are_one_measurement_only_where_two_would_not_be_equal_by_chance() {
        let spread: Vec<(i64, u64)> = (0..12).map(|at| (20 + at, 300 + 7 * at as u64)).collect();
        assert!(is_same(&pair(&spread, 0)), "twelve cells of hundreds");
        let steady = [(31, 9_991), (32, 6), (35, 1)];
        assert!(!is_same(&pair(&steady, 0)), "a quick target answers nearly always in one time");
        assert!(!is_same(&pair(&[(31, 10_000)], 0)) && !is_same(&pair(&[], 0)), "nothing differs");
        assert!(!is_same(&pair(&[(31, 5_000), (90, 5_000)], 0)), "two cells may be equal by chance");
        assert!(is_same(&Pair { is_one_file: true, ..pair(&steady, 0) }), "but not one file");
        let other = pair(&spread[1..], 0).b;
        assert!(!is_same(&Pair { b: other, ..pair(&spread, 0) }), "what differs is two measurements");
    }

    #[test]
    fn two_counts_of_one_mean_are_equal_no_more_often_than_is_said() {
        // The probability itself, by its sum.
        for mean in [1_u32, 2, 5, 20, 100] {
            let mut of_count = (-f64::from(mean)).exp();
            let mut equal = 0.0;
            for count in 1..1_000 {
                equal += of_count * of_count;
                of_count *= f64::from(mean) / f64::from(count);
            }
            let said = chance_of_another(&pair(&[(31, 1_000_000), (40, mean.into())], 0).a);
            assert!(equal <= said && said < 1.2 * equal, "{mean}: {equal} {said}");
        }
    }
}
