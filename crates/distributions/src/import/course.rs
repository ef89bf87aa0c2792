//! How alike neighbours are among values that stand in the order in which they were measured.

/// Sums over values as they stream by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Course {
    /// Sums are of differences to it.
    first: Option<f64>,
    last: f64,
    count: u64,
    sum: f64,
    squares: f64,
    products: f64,
    rises: bool,
    falls: bool,
}

/// Fewer values tell nothing.
const FEWEST: u64 = 100;
/// As many standard errors away from none, it is no chance.
const SURELY: f64 = 4.0;

impl Course {
    pub(super) fn add(&mut self, value: f64) {
        let first = *self.first.get_or_insert(value);
        let value = value - first;
        if self.count > 0 {
            self.products += value * self.last;
            self.rises |= value > self.last;
            self.falls |= value < self.last;
        }
        (self.last, self.count) = (value, self.count + 1);
        self.sum += value;
        self.squares += value * value;
    }

    /// Correlation of each value with the one before it; `None` where it may be chance, or the values are sorted, and so
    /// in no order of time.
    pub(super) fn correlation(&self) -> Option<f64> {
        let n = self.count as f64;
        if self.count < FEWEST || !(self.rises && self.falls) {
            return None;
        }
        let mean = self.sum / n;
        let variance = self.squares / n - mean * mean;
        let correlation = (self.products / (n - 1.0) - mean * mean) / variance;
        (correlation > SURELY / n.sqrt()).then_some(correlation.min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values whose neighbours are as alike as that, from a generator of chance.
    fn correlation(share: f64, order: impl FnOnce(&mut Vec<f64>)) -> Option<f64> {
        let (mut state, mut level) = (7u64, 0.0);
        let mut values: Vec<f64> = (0..20_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                level = share * level + (state >> 40) as f64 / f64::from(1 << 24) - 0.5;
                1e6 + level
            })
            .collect();
        order(&mut values);
        let mut course = Course::default();
        values.into_iter().for_each(|value| course.add(value));
        course.correlation()
    }

    #[test]
    fn alike_neighbours_are_seen_and_sorted_values_have_no_order() {
        assert_eq!(correlation(0.0, |_| {}), None);
        for share in [0.3, 0.9, 0.99] {
            let found = correlation(share, |_| {}).unwrap();
            assert!((found - share).abs() < 0.03, "{share}: {found}");
        }
        assert_eq!(correlation(0.9, |values| values.sort_by(f64::total_cmp)), None);
    }
}
