//! Integer-nanosecond histograms that merge exactly.

mod v2;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

/// The longest value kept apart, in nanoseconds: one hour. Longer ones count as this value and in
/// [`Histogram::saturated`].
pub const LONGEST_NS: u64 = 3_600_000_000_000;

/// The most values a histogram holds, for that is what it can be stored with: one a nanosecond for 292 years.
pub const MOST: u64 = i64::MAX as u64;

/// A log-linear histogram of nanoseconds with three significant digits (HdrHistogram).
///
/// Merging two histograms is exact: it adds counts. Recording allocates nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    inner: hdrhistogram::Histogram<u64>,
    saturated: u64,
}

/// Why a stored histogram could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HistogramError {
    /// Not base64. The record was edited or cut; use an intact copy.
    #[error("a histogram is not base64")]
    NotBase64,
    /// Not HdrHistogram's V2 deflate format.
    #[error("a histogram is not in HdrHistogram V2 deflate format: {0}")]
    NotV2Deflate(&'static str),
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram: values from 1 ns to [`LONGEST_NS`].
    pub fn new() -> Self {
        let inner = hdrhistogram::Histogram::new_with_max(LONGEST_NS, 3)
            .expect("an hour at three digits is a legal range");
        Self { inner, saturated: 0 }
    }

    /// Counts one value in nanoseconds.
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Counts `count` values of `value_ns`; none of them is no value, so it moves neither minimum nor maximum.
    ///
    /// A histogram that holds [`MOST`] values takes no more.
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        let count = count.min(MOST.saturating_sub(self.count()));
        if count == 0 {
            return;
        }
        if value_ns > LONGEST_NS {
            self.saturated += count;
        }
        self.inner.saturating_record_n(value_ns, count);
    }

    /// Adds all counts of `other`; exact, as long as both together hold no more than [`MOST`].
    pub fn merge(&mut self, other: &Self) {
        if self.count() + other.count() > MOST {
            other.cells().for_each(|(value_ns, count)| self.record_n(value_ns, count));
            return;
        }
        self.inner.add(&other.inner).expect("every histogram here has one range");
        self.saturated += other.saturated;
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// How many values were above [`LONGEST_NS`] and count as that.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Smallest value to three digits; `None` when empty.
    pub fn min(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.inner.min())
    }

    /// Largest value to three digits; `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.inner.max())
    }

    /// Smallest recorded value that at least `⌈q·n⌉` values do not exceed (nearest rank), to three
    /// digits.
    ///
    /// `None` when empty, and when fewer than one value is expected beyond `q`: a p99.9 of 500 values
    /// would only repeat the maximum.
    ///
    /// # Panics
    /// If `q` is not in `[0, 1]`.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        assert!((0.0..=1.0).contains(&q), "a quantile is in [0, 1]");
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let beyond = (1.0 - q) * self.count() as f64;
        // 1e-9 forgives 1 − 0.999 not being 0.001.
        (self.count() > 0 && beyond >= 1.0 - 1e-9)
            .then(|| self.inner.value_at_quantile(q).min(self.inner.max()))
    }

    /// The occupied cells, ascending: (highest value of the cell in ns, count).
    pub fn cells(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.inner.iter_recorded().map(|cell| (cell.value_iterated_to(), cell.count_at_value()))
    }

    /// The occupied cells, ascending: (lowest value of the cell in ns, highest, count).
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.cells().map(|(highest, count)| (self.inner.lowest_equivalent(highest), highest, count))
    }

    /// HdrHistogram's V2 deflate format in base64, as other tools read it.
    pub fn to_v2_deflate(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.inner, &mut bytes)
            .expect("writing to memory does not fail");
        STANDARD.encode(bytes)
    }

    /// Reads what [`to_v2_deflate`](Self::to_v2_deflate), or another HdrHistogram, wrote.
    ///
    /// # Errors
    /// If the text is not such a histogram.
    pub fn from_v2_deflate(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD.decode(text).map_err(|_| HistogramError::NotBase64)?;
        let mut histogram = Self::new();
        for cell in v2::Cells::of(&bytes)? {
            let (_, value_ns, count) = cell?;
            histogram.record_n(value_ns, count);
        }
        Ok(histogram)
    }
}

/// The cells of any histogram in HdrHistogram's V2 deflate format, in base64: lowest value, highest value, count.
///
/// # Errors
/// If the text is not such a histogram.
pub fn v2_deflate_cells(text: &str) -> Result<Vec<(u64, u64, u64)>, HistogramError> {
    let bytes = STANDARD.decode(text).map_err(|_| HistogramError::NotBase64)?;
    v2::Cells::of(&bytes)?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_numbers() {
        let empty = Histogram::new();
        assert_eq!((empty.min(), empty.quantile(0.5), empty.max()), (None, None, None));
    }

    #[test]
    fn a_value_that_never_occurred_is_no_maximum() {
        let mut histogram = Histogram::new();
        histogram.record(1000);
        histogram.record_n(9000, 0);
        assert_eq!(histogram.max(), Some(1000));
    }

    #[test]
    fn a_percentile_that_the_count_cannot_bear_is_refused() {
        let mut histogram = Histogram::new();
        for value in 1..=500 {
            histogram.record(value);
        }
        assert_eq!(histogram.quantile(0.99), Some(495));
        assert_eq!(histogram.quantile(0.999), None);
        histogram.record_n(7, 500);
        assert!(histogram.quantile(0.999).is_some());
    }

    #[test]
    fn what_a_histogram_cannot_hold_it_does_not_take() {
        let mut full = Histogram::new();
        full.record_n(5, u64::MAX);
        full.record_n(LONGEST_NS + 1, u64::MAX);
        assert_eq!((full.count(), full.saturated()), (MOST, 0));
        let mut more = Histogram::new();
        more.record_n(7, 3);
        more.merge(&full);
        assert_eq!(more.cells().collect::<Vec<_>>(), [(5, MOST - 3), (7, 3)]);
        assert_eq!(Histogram::from_v2_deflate(&more.to_v2_deflate()).unwrap().count(), MOST);
    }

    #[test]
    fn a_cut_histogram_is_an_error_not_a_panic() {
        assert_eq!(Histogram::from_v2_deflate("!"), Err(HistogramError::NotBase64));
        let text = Histogram::new().to_v2_deflate();
        assert!(Histogram::from_v2_deflate(&text[..text.len() / 8 * 4]).is_err());
    }

    proptest! {
        #[test]
        fn storing_keeps_every_count(values in prop::collection::vec(0u64..1_000_000_000_000, 0..200)) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&value| histogram.record(value));
            let stored = Histogram::from_v2_deflate(&histogram.to_v2_deflate()).unwrap();
            prop_assert_eq!(histogram.cells().collect::<Vec<_>>(), stored.cells().collect::<Vec<_>>());
        }

        #[test]
        fn quantiles_are_nearest_ranks_to_three_digits(
            mut values in prop::collection::vec(1u64..10_000_000, 10..300), q in 0.0f64..0.9,
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&value| histogram.record(value));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).max(1);
            let exact = values[rank - 1] as f64;
            let stated = histogram.quantile(q).unwrap() as f64;
            prop_assert!((stated - exact).abs() <= exact * 1.01e-3 + 1.0, "{stated} for {exact}");
        }
    }
}
