//! How events are spread over time: the gaps between them, and how unevenly they are counted.

mod window;

use window::Window;

/// Gaps and counts of a stream of events, told one by one, in constant memory.
///
/// Gaps are kept in a log-linear histogram of 2⁻¹⁰ relative width (1 ns below 2 us), so a distribution is
/// known to about 0.001 of its range; counts in windows of [`WINDOWS_NS`], from the first event on. An
/// event costs no allocation and no division by a variable.
#[derive(Clone, Debug)]
pub struct Spacing {
    cells: Vec<u64>,
    first_ns: Option<u64>,
    last_ns: u64,
    gaps: u64,
    /// Sum of the squares of the gaps, exact.
    squares: u128,
    backward: u64,
    windows: [Window; WINDOWS_NS.len()],
}

/// Lengths of the windows in which events are counted: 1, 10 and 100 ms.
pub const WINDOWS_NS: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];

/// Cells an octave, as a power of two.
const FINENESS: u32 = 10;
const PER_OCTAVE: usize = 1 << FINENESS;
/// Longer gaps count as this: 73 minutes.
const LONGEST_NS: u64 = (1 << 42) - 1;

impl Default for Spacing {
    fn default() -> Self {
        Self::new()
    }
}

impl Spacing {
    /// No events yet. All memory is taken here.
    pub fn new() -> Self {
        Self {
            cells: vec![0; cell_of(LONGEST_NS) + 1],
            first_ns: None,
            last_ns: 0,
            gaps: 0,
            squares: 0,
            backward: 0,
            windows: WINDOWS_NS.map(Window::new),
        }
    }

    /// Forgets all events; takes no memory.
    pub fn clear(&mut self) {
        self.cells.fill(0);
        (self.first_ns, self.last_ns, self.gaps, self.squares, self.backward) = (None, 0, 0, 0, 0);
        self.windows = WINDOWS_NS.map(Window::new);
    }

    /// An event at this time. One before its predecessor counts at its predecessor's time, and in
    /// [`backward`](Self::backward).
    pub fn event(&mut self, at_ns: u64) {
        let Some(first) = self.first_ns else {
            self.first_ns = Some(at_ns);
            self.last_ns = at_ns;
            self.windows.iter_mut().for_each(|window| window.begin(at_ns));
            return;
        };
        debug_assert!(first <= self.last_ns, "the last event is never before the first");
        let at_ns = if at_ns < self.last_ns {
            self.backward += 1;
            self.last_ns
        } else {
            at_ns
        };
        let gap = at_ns - self.last_ns;
        self.last_ns = at_ns;
        self.gaps += 1;
        self.squares += u128::from(gap) * u128::from(gap);
        self.cells[cell_of(gap)] += 1;
        self.windows.iter_mut().for_each(|window| window.event(at_ns));
    }

    /// A gap by itself, as of a sample of neighbours: distributions know it, windows do not.
    pub fn gap(&mut self, gap_ns: u64) {
        self.first_ns.get_or_insert(0);
        self.last_ns += gap_ns;
        self.gaps += 1;
        self.squares += u128::from(gap_ns) * u128::from(gap_ns);
        self.cells[cell_of(gap_ns)] += 1;
    }

    /// How many events there were.
    pub fn count(&self) -> u64 {
        self.gaps + u64::from(self.first_ns.is_some())
    }

    /// When the first event was.
    pub fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }

    /// When the last event was.
    pub fn last_ns(&self) -> Option<u64> {
        self.first_ns.map(|_| self.last_ns)
    }

    /// Events that were told with a time before their predecessor's.
    pub fn backward(&self) -> u64 {
        self.backward
    }

    /// Mean gap; `None` below two events.
    pub fn mean_ns(&self) -> Option<f64> {
        let first = self.first_ns?;
        (self.gaps > 0).then(|| (self.last_ns - first) as f64 / self.gaps as f64)
    }

    /// Coefficient of variation of the gaps, deviation ÷ mean (divisor n): 0 for equal gaps, 1 for
    /// exponential ones. `None` below two events, or if all are at one time.
    pub fn variation(&self) -> Option<f64> {
        let mean = self.mean_ns().filter(|&mean| mean > 0.0)?;
        let square = self.squares as f64 / self.gaps as f64;
        Some((square / (mean * mean) - 1.0).max(0.0).sqrt())
    }

    /// Index of dispersion for counts, variance (divisor n − 1) ÷ mean, in windows of [`WINDOWS_NS`]: 1
    /// for a Poisson process at any length (Cox and Lewis 1966).
    ///
    /// `None` where fewer than two whole windows passed, or nothing was in them.
    pub fn dispersion(&self) -> [Option<f64>; WINDOWS_NS.len()] {
        self.windows.map(Window::dispersion)
    }

    /// Kolmogorov's distance between the gaps and a distribution: the largest difference between the share
    /// of gaps shorter than x and `below(x)`, x in ns at the cells' ends. `None` below two events.
    pub fn distance_to(&self, below: impl Fn(f64) -> f64) -> Option<f64> {
        self.largest(|upper, share| (share - below(upper)).abs())
    }

    /// The same distance between two samples of gaps (Smirnov). `None` if one has none.
    pub fn distance_between(&self, other: &Self) -> Option<f64> {
        let (mine, theirs) = (self.gaps as f64, other.gaps as f64);
        if self.gaps == 0 || other.gaps == 0 {
            return None;
        }
        let (mut left, mut right, mut largest) = (0u64, 0u64, 0.0f64);
        for (a, b) in self.cells.iter().zip(&other.cells) {
            if a | b != 0 {
                (left, right) = (left + a, right + b);
                largest = largest.max((left as f64 / mine - right as f64 / theirs).abs());
            }
        }
        Some(largest)
    }

    /// Share of gaps that would have to change by more than a tenth for the two distributions to be one: the
    /// largest difference between the share of gaps below x here and of those below x ÷ 1.1 or 1.1·x there. Where
    /// many gaps are equal, any jitter makes a distance of 1/2 of [`distance_between`](Self::distance_between);
    /// this one is 0 then. `None` if one has none.
    pub fn displaced_from(&self, other: &Self) -> Option<f64> {
        if self.gaps == 0 || other.gaps == 0 {
            return None;
        }
        let below = |of: &Self| {
            let mut sum = 0;
            let running = |&count: &u64| {
                sum += count;
                sum as f64 / of.gaps as f64
            };
            of.cells.iter().map(running).collect::<Vec<f64>>()
        };
        let (mine, theirs) = (below(self), below(other));
        // The share below a time that is a tenth shorter; an empty one where there is no shorter cell.
        let earlier = |shares: &[f64], upper_ns: u64| {
            let cell = cell_of((upper_ns as f64 / 1.1) as u64);
            cell.checked_sub(1).map_or(0.0, |cell| shares[cell])
        };
        let excess = |cell: usize| {
            let upper_ns = lower_end(cell + 1);
            (earlier(&theirs, upper_ns) - mine[cell]).max(earlier(&mine, upper_ns) - theirs[cell])
        };
        let occupied = |cell: &usize| self.cells[*cell] | other.cells[*cell] != 0;
        // A difference is largest just before a cell in which something is.
        let cells = (1..self.cells.len()).filter(occupied).map(|cell| cell - 1);
        let last = self.cells.iter().rposition(|&count| count > 0).into_iter();
        Some(cells.chain(last).map(excess).fold(0.0, f64::max))
    }

    /// The largest share of gaps that are equal, to the fineness of a cell, and above `least_ns`.
    pub fn most_alike(&self, least_ns: u64) -> Option<f64> {
        let first = cell_of(least_ns.min(LONGEST_NS));
        let most = self.cells[first..].iter().max()?;
        (self.gaps > 0).then(|| *most as f64 / self.gaps as f64)
    }

    /// Share of gaps shorter than `upper_ns`, to the fineness of a cell. `None` below two events.
    pub fn share_below(&self, upper_ns: u64) -> Option<f64> {
        let shorter: u64 = self.cells[..cell_of(upper_ns.min(LONGEST_NS))].iter().sum();
        (self.gaps > 0).then(|| shorter as f64 / self.gaps as f64)
    }

    /// Share of gaps from `low_ns` to `high_ns`, to the fineness of a cell. `None` below two events.
    pub fn share_within(&self, low_ns: u64, high_ns: u64) -> Option<f64> {
        let (low, high) = (cell_of(low_ns.min(LONGEST_NS)), cell_of(high_ns.min(LONGEST_NS)));
        let inside: u64 = self.cells.get(low..=high)?.iter().sum();
        (self.gaps > 0).then(|| inside as f64 / self.gaps as f64)
    }

    /// The occupied cells, ascending: (lower end in ns, upper end in ns, gaps); a gap of g ns was at least
    /// g and below g + 1.
    pub fn cells(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let occupied = self.cells.iter().enumerate().filter(|(_, count)| **count > 0);
        occupied.map(|(cell, &count)| (lower_end(cell), lower_end(cell + 1), count))
    }

    /// `measure(upper end, share of gaps below it)` at the ends of all cells up to the last occupied one;
    /// empty cells count, as a distribution goes on where no gap is.
    fn largest(&self, measure: impl Fn(f64, f64) -> f64) -> Option<f64> {
        let last = self.cells.iter().rposition(|&count| count > 0)?;
        let (mut sum, mut largest) = (0u64, 0.0f64);
        for (cell, &count) in self.cells[..=last].iter().enumerate() {
            sum += count;
            largest = largest.max(measure(lower_end(cell + 1) as f64, sum as f64 / self.gaps as f64));
        }
        Some(largest)
    }
}

/// The distance that 95 % of samples of `gaps` independent gaps from the very distribution stay below
/// (Kolmogorov; Stephens' correction for small samples). `None` without gaps.
pub fn ideal_distance(gaps: u64) -> Option<f64> {
    /// 95 % of the limiting distribution.
    const LIMIT: f64 = 1.358;
    let root = (gaps as f64).sqrt();
    (gaps > 0).then(|| (LIMIT / (root + 0.12 + 0.11 / root)).min(1.0))
}

/// Which cell a gap is in.
fn cell_of(gap_ns: u64) -> usize {
    let gap = gap_ns.min(LONGEST_NS);
    let shift = (u64::BITS - gap.leading_zeros()).saturating_sub(FINENESS + 1);
    (shift as usize) * PER_OCTAVE + (gap >> shift) as usize
}

/// The shortest gap of a cell.
fn lower_end(cell: usize) -> u64 {
    let shift = (cell / PER_OCTAVE).saturating_sub(1);
    ((cell - shift * PER_OCTAVE) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spaced(times: impl IntoIterator<Item = u64>) -> Spacing {
        let mut spacing = Spacing::new();
        times.into_iter().for_each(|at| spacing.event(at));
        spacing
    }

    #[test]
    fn one_event_has_no_gap_and_no_numbers() {
        let one = spaced([7]);
        assert_eq!((one.count(), one.mean_ns(), one.variation()), (1, None, None));
        assert_eq!((one.dispersion(), one.distance_to(|_| 0.0)), ([None; 3], None));
        assert_eq!(ideal_distance(0), None);
    }

    #[test]
    fn gaps_that_jitter_by_less_than_a_tenth_are_not_displaced() {
        let bursts =
            |jitter: u64| spaced((0..3200).map(|n| n / 32 * 1_600_000 + n % 32 * 18_750 + n % 7 * jitter));
        assert_eq!(bursts(0).displaced_from(&bursts(0)), Some(0.0));
        assert_eq!(bursts(250).displaced_from(&bursts(0)), Some(0.0));
        assert!(bursts(250).distance_between(&bursts(0)).unwrap() > 0.4);
        // 31 of 32 gaps are those within bursts.
        let even = spaced((0..3200).map(|n| n * 50_000));
        assert!(even.displaced_from(&bursts(0)).unwrap() > 0.96);
        assert!(even.displaced_from(&bursts(0)) == bursts(0).displaced_from(&even));
        assert!(bursts(0).most_alike(2_000).unwrap() > 0.96);
        assert_eq!(spaced([7]).displaced_from(&even), None);
    }

    #[test]
    fn equal_gaps_vary_by_nothing_and_all_are_within_a_tenth() {
        let even = spaced((0..=2000).map(|n| n * 100_000));
        assert_eq!((even.count(), even.mean_ns(), even.variation()), (2001, Some(1e5), Some(0.0)));
        assert_eq!(even.dispersion(), [Some(0.0), Some(0.0), Some(0.0)]);
        assert_eq!(even.share_within(90_000, 110_000), Some(1.0));
        assert_eq!(even.share_below(90_000), Some(0.0));
    }

    #[test]
    fn lumps_of_ten_each_millisecond_are_dispersed_at_no_window_and_vary_by_three() {
        let lumps = spaced((0..1000).flat_map(|lump| std::iter::repeat_n(lump * 1_000_000, 10)));
        assert_eq!(lumps.dispersion(), [Some(0.0), Some(0.0), Some(0.0)]);
        let variation = lumps.variation().unwrap();
        assert!((variation - 3.0).abs() < 0.01, "{variation}: nine gaps of nothing to one of all");
        assert!((lumps.share_below(1).unwrap() - 0.9).abs() < 1e-3);
    }

    #[test]
    fn a_lump_every_other_window_has_a_dispersion_of_half_its_size() {
        let lumps = spaced((0..=1000).flat_map(|lump| std::iter::repeat_n(lump * 2_000_000, 100)));
        let [fine, coarse, _] = lumps.dispersion();
        // Counts 100 and 0 in turn: variance 2500 over mean 50, divisor n − 1.
        assert!((fine.unwrap() - 50.0).abs() < 0.1, "{fine:?}");
        assert_eq!(coarse, Some(0.0), "500 in each ten milliseconds");
    }

    #[test]
    fn long_silence_counts_as_empty_windows() {
        let two = spaced([0, 3_600_000_000_000]);
        let [fine, _, _] = two.dispersion();
        assert_eq!(fine, Some(1.0), "one in 3.6 million: as rare events are");
    }

    #[test]
    fn time_that_goes_backward_is_told_and_makes_no_gap() {
        let back = spaced([10, 30, 20, 40]);
        assert_eq!((back.count(), back.backward(), back.last_ns()), (4, 1, Some(40)));
        assert_eq!(back.cells().map(|(low, _, n)| (low, n)).collect::<Vec<_>>(), [(0, 1), (10, 1), (20, 1)]);
    }

    #[test]
    fn the_distance_to_the_right_distribution_is_that_of_a_sample_and_to_a_wrong_one_is_not() {
        // A low-discrepancy sample of the exponential with a mean of 100 us.
        let mut at = 0.0;
        let gaps = (0..10_000).map(|n| -100_000.0 * (1.0 - (f64::from(n) * 0.618_033_988_75) % 1.0).ln());
        let sample = spaced(gaps.map(|gap| {
            at += gap;
            at as u64
        }));
        let exponential = |mean: f64| move |x: f64| 1.0 - (-x / mean).exp();
        assert!(sample.distance_to(exponential(1e5)).unwrap() < 0.002);
        // Largest difference of two exponentials whose means differ by a factor of 2: 1/4, at ln 2 / (λ1 − λ2).
        let wrong = sample.distance_to(exponential(2e5)).unwrap();
        assert!((wrong - 0.25).abs() < 0.002, "{wrong}");
        assert!((sample.variation().unwrap() - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_floor_under_the_gaps_shows_as_the_share_that_should_be_shorter() {
        let gaps: Vec<u64> = (1..10_000u32).map(|n| (-1e5 * (f64::from(n) / 1e4).ln()) as u64).collect();
        let times = |least: u64| {
            gaps.iter().scan(0, move |at, &gap| {
                *at += gap.max(least);
                Some(*at)
            })
        };
        let (ideal, held) = (spaced(times(0)), spaced(times(10_000)));
        let floor = ideal.share_below(10_000).unwrap();
        assert!((floor - (1.0 - (-0.1f64).exp())).abs() < 1e-3, "{floor}");
        assert!((held.distance_between(&ideal).unwrap() - floor).abs() < 1e-3);
    }

    #[test]
    fn an_ideal_sample_stays_below_the_critical_distance() {
        assert!((ideal_distance(10_000).unwrap() - 0.01358).abs() < 2e-5);
        assert!(ideal_distance(1).unwrap() <= 1.0);
    }

    #[test]
    fn a_cleared_meter_is_a_new_one() {
        let mut meter = spaced([5, 9, 1_000_000_000]);
        meter.clear();
        meter.event(100);
        meter.event(300);
        assert_eq!((meter.count(), meter.mean_ns(), meter.first_ns()), (2, Some(200.0), Some(100)));
        assert_eq!(meter.cells().count(), 1);
    }

    proptest! {
        #[test]
        fn every_gap_is_in_the_cell_that_holds_it(gap in 0u64..=LONGEST_NS) {
            let cell = cell_of(gap);
            prop_assert!(lower_end(cell) <= gap && gap < lower_end(cell + 1), "{gap} in {cell}");
            prop_assert!(lower_end(cell + 1) - lower_end(cell) <= (gap >> FINENESS) + 1);
        }

        #[test]
        fn variation_and_dispersion_agree_with_their_definitions(
            gaps in prop::collection::vec(0u64..3_000_000, 20..200),
        ) {
            let times: Vec<u64> = std::iter::once(0).chain(gaps.iter().scan(0, |at, gap| {
                *at += gap;
                Some(*at)
            })).collect();
            let spacing = spaced(times.iter().copied());
            let n = gaps.len() as f64;
            let mean = gaps.iter().sum::<u64>() as f64 / n;
            let variance = gaps.iter().map(|&gap| (gap as f64 - mean).powi(2)).sum::<f64>() / n;
            prop_assert!((spacing.variation().unwrap() - variance.sqrt() / mean).abs() < 1e-9);
            let windows = times.last().unwrap() / 1_000_000;
            if windows >= 2 {
                let counts: Vec<f64> = (0..windows)
                    .map(|k| times.iter().filter(|&&at| at / 1_000_000 == k).count() as f64)
                    .collect();
                let mean = crate::sample::mean(&counts).unwrap();
                let variance = crate::sample::deviation(&counts).unwrap().powi(2);
                prop_assert!((spacing.dispersion()[0].unwrap() - variance / mean).abs() < 1e-9);
            }
        }
    }
}
