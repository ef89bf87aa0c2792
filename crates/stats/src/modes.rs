//! How many peaks a distribution has, and where: the k-mode test of counts.
//!
//! The most likely distribution with at most k modes rises and falls k times. Isotonic pieces (PAVA) put together by
//! a dynamic programme give it exactly, on any lattice. The first k that a parametric bootstrap from that fit does
//! not reject is the number of modes. A mode is a peak, not a code path: two paths may share a peak.

use crate::binned::grid;
use crate::chance::{multinomial, p_value, seeded};
use crate::likelihood::Lattice;
use crate::{Binned, Cell};

/// Name of the estimator.
pub const ESTIMATOR: &str =
    "k-mode maximum likelihood; the first k not rejected at 5 % by a parametric bootstrap";
/// A k is rejected below this.
const LEVEL: f64 = 0.05;
/// More modes are not looked for.
const MOST_MODES: usize = 8;
/// Finer cells are put together.
const MOST_CELLS: usize = 200;
/// Fewer events bear no statement about peaks: the lattice itself is made by them.
const FEWEST: u64 = 30;
const DRAWS: u32 = 499;
const ENOUGH: u32 = 30;

/// The modes that the events bear out.
#[derive(Clone, Debug, PartialEq)]
pub struct Modes {
    /// From low to high.
    pub modes: Vec<Mode>,
    /// What each number of modes that was tried makes of the events, from 1 on.
    pub tried: Vec<TriedModes>,
}

/// A peak and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Smallest recorded value.
    pub low: f64,
    /// Largest recorded value.
    pub high: f64,
    /// Recorded value of the most frequent cell; where events share no tick, of the middle event where they are densest.
    pub peak: f64,
    /// Events.
    pub mass: u64,
}

/// At most so many modes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriedModes {
    /// How many.
    pub modes: usize,
    /// Largest log likelihood.
    pub log_likelihood: f64,
    /// Twice what one mode more gains.
    pub gain: f64,
    /// How often so many modes gain as much by chance.
    pub p: f64,
}

impl Modes {
    /// Of these events; none of fewer than 30, or where the length of some is not known.
    pub fn of(binned: &Binned, seed: u64) -> Self {
        if binned.above().is_some() || binned.count() < FEWEST {
            return Self { modes: Vec::new(), tried: Vec::new() };
        }
        let (cells, are_ticks) = cells(binned);
        let widths: Vec<f64> = cells.iter().map(|(low, high, _)| high - low).collect();
        let counts: Vec<f64> = cells.iter().map(|(_, _, events)| *events).collect();
        let likelihoods = log_likelihoods(&counts, &widths, MOST_MODES + 1);
        let mut rng = seeded(seed);
        let mut tried = Vec::new();
        for modes in 1..=MOST_MODES {
            let (here, next) = (likelihoods[modes - 1], likelihoods[modes]);
            let gain = 2.0 * (next - here);
            let chances: Vec<f64> =
                densities(&counts, &widths, modes).iter().zip(&widths).map(|(d, width)| d * width).collect();
            let p = if gain <= 1e-6 {
                1.0
            } else {
                p_value(gain, DRAWS, ENOUGH, || {
                    let drawn = multinomial(&mut rng, binned.count(), &chances);
                    let drawn: Vec<f64> = drawn.iter().map(|&count| count as f64).collect();
                    let found = log_likelihoods(&drawn, &widths, modes + 1);
                    2.0 * (found[modes] - found[modes - 1])
                })
            };
            tried.push(TriedModes { modes, log_likelihood: here, gain, p });
            if p > LEVEL {
                break;
            }
        }
        let modes = tried.last().map_or(1, |tried| tried.modes);
        let density = densities(&counts, &widths, modes);
        Self { modes: ranges(&cells, &density, binned.cells(), are_ticks), tried }
    }
}

/// Low end, high end and events of every cell, empty ones too, and whether they are the ticks of the events. Where values have no
/// common tick, or too many, a grid takes their place: gaps between single events are no valleys.
fn cells(binned: &Binned) -> (Vec<(f64, f64, f64)>, bool) {
    let lattice = Lattice::of(binned);
    if lattice.dense && lattice.cells.len() <= MOST_CELLS {
        return (lattice.cells, true);
    }
    let edges = grid::edges(binned.cells(), MOST_CELLS);
    let filled = grid::filled(binned.cells(), &edges);
    let events = |cell: &Option<Cell>| cell.map_or(0.0, |cell| cell.count as f64);
    (edges.windows(2).zip(&filled).map(|(edge, cell)| (edge[0], edge[1], events(cell))).collect(), false)
}

/// Parts of a lattice that only rise, or only fall: their largest log likelihood, from every cell to every other.
struct Pieces {
    cells: usize,
    rising: Vec<f64>,
    falling: Vec<f64>,
}

impl Pieces {
    fn of(counts: &[f64], widths: &[f64]) -> Self {
        let cells = counts.len();
        let mut pieces = Self {
            cells,
            rising: vec![0.0; (cells + 1) * (cells + 1)],
            falling: vec![0.0; (cells + 1) * (cells + 1)],
        };
        let mut blocks = Blocks::default();
        for from in 0..cells {
            for rising in [true, false] {
                blocks.clear();
                for to in from..cells {
                    blocks.push(counts[to], widths[to], rising);
                    let place = from * (cells + 1) + to + 1;
                    let table = if rising { &mut pieces.rising } else { &mut pieces.falling };
                    table[place] = blocks.log_likelihood;
                }
            }
        }
        pieces
    }

    /// Of the cells from `from` to before `to`.
    fn at(&self, from: usize, to: usize, rising: bool) -> f64 {
        let place = from * (self.cells + 1) + to;
        if rising { self.rising[place] } else { self.falling[place] }
    }
}

/// Neighbours that were pooled because they violated the order.
#[derive(Default)]
struct Blocks {
    /// Events, width, what it adds to the log likelihood, cells.
    blocks: Vec<(f64, f64, f64, usize)>,
    log_likelihood: f64,
}

impl Blocks {
    fn clear(&mut self) {
        self.blocks.clear();
        self.log_likelihood = 0.0;
    }

    fn push(&mut self, mut events: f64, mut width: f64, rising: bool) {
        let mut cells = 1;
        while let Some(&(before, before_width, adds, before_cells)) = self.blocks.last() {
            let (left, right) = (before * width, events * before_width);
            if (rising && left < right) || (!rising && left > right) {
                break;
            }
            self.blocks.pop();
            self.log_likelihood -= adds;
            events += before;
            width += before_width;
            cells += before_cells;
        }
        let adds = if events > 0.0 { events * (events / width).ln() } else { 0.0 };
        self.log_likelihood += adds;
        self.blocks.push((events, width, adds, cells));
    }
}

/// Best log likelihood of the first cells by number of pieces, and where the last piece begins.
struct Programme {
    best: Vec<Vec<f64>>,
    begins: Vec<Vec<usize>>,
}

impl Programme {
    /// Pieces rise and fall in turn; the first rises. A piece may be empty.
    fn of(pieces: &Pieces, count: usize) -> Self {
        let cells = pieces.cells;
        let mut best = vec![vec![f64::NEG_INFINITY; cells + 1]];
        best[0][0] = 0.0;
        let mut begins = vec![vec![0; cells + 1]];
        for piece in 0..count {
            let rising = piece % 2 == 0;
            let (mut row, mut from) = (vec![f64::NEG_INFINITY; cells + 1], vec![0; cells + 1]);
            for (begin, &before) in best[piece].iter().enumerate() {
                if before == f64::NEG_INFINITY {
                    continue;
                }
                for end in begin..=cells {
                    let value = before + pieces.at(begin, end, rising);
                    if value > row[end] {
                        row[end] = value;
                        from[end] = begin;
                    }
                }
            }
            best.push(row);
            begins.push(from);
        }
        Self { best, begins }
    }
}

/// Largest log likelihood with at most 1, 2, … `most` modes.
fn log_likelihoods(counts: &[f64], widths: &[f64], most: usize) -> Vec<f64> {
    let n: f64 = counts.iter().sum();
    let same: f64 =
        counts.iter().zip(widths).map(|(count, width)| count * width.ln()).sum::<f64>() - n * n.ln();
    let programme = Programme::of(&Pieces::of(counts, widths), 2 * most);
    (1..=most).map(|modes| programme.best[2 * modes][counts.len()] + same).collect()
}

/// Density in each cell of the most likely distribution with at most so many modes.
fn densities(counts: &[f64], widths: &[f64], modes: usize) -> Vec<f64> {
    let n: f64 = counts.iter().sum();
    let programme = Programme::of(&Pieces::of(counts, widths), 2 * modes);
    let mut densities = vec![0.0; counts.len()];
    let mut end = counts.len();
    for piece in (0..2 * modes).rev() {
        let begin = programme.begins[piece + 1][end];
        let mut blocks = Blocks::default();
        (begin..end).for_each(|cell| blocks.push(counts[cell], widths[cell], piece % 2 == 0));
        let mut cell = begin;
        for (events, width, _, cells) in blocks.blocks {
            for _ in 0..cells {
                densities[cell] = events / n / width;
                cell += 1;
            }
        }
        end = begin;
    }
    densities
}

/// The ranges between the valleys of a density, of the events themselves: a cell of a grid has no value that was recorded. The lowest
/// cell of a valley belongs to what is below it.
fn ranges(cells: &[(f64, f64, f64)], density: &[f64], events: &[Cell], are_ticks: bool) -> Vec<Mode> {
    let mut ends = Vec::new();
    let mut lowest = 0;
    let mut falling = false;
    for cell in 1..cells.len() {
        if density[cell] < density[cell - 1] {
            falling = true;
            lowest = cell;
        } else if density[cell] == density[cell - 1] && falling {
            lowest = cell;
        } else if density[cell] > density[cell - 1] && falling {
            falling = false;
            ends.push(cells[lowest].1);
        }
    }
    ends.push(f64::INFINITY);
    let mut left = events;
    let mut modes = Vec::new();
    for end in ends {
        let (inside, beyond) = left.split_at(left.partition_point(|cell| cell.low < end));
        if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
            let peak = if are_ticks { most_frequent(inside) } else { densest(inside) };
            let mass = inside.iter().map(|cell| cell.count).sum();
            modes.push(Mode { low: first.value, high: last.value, peak, mass });
        }
        left = beyond;
    }
    modes
}

fn most_frequent(cells: &[Cell]) -> f64 {
    let density = |cell: &Cell| cell.count as f64 / (cell.high - cell.low);
    let most = cells.iter().max_by(|a, b| density(a).total_cmp(&density(b)).then(b.low.total_cmp(&a.low)));
    most.map_or(f64::NAN, |cell| cell.value)
}

/// How often the densest half is looked for in what is left.
const HALVES: usize = 3;

/// The middle event of the shortest interval with half of the events, of the half of those that are the densest again, and so on
/// (the half-sample mode of Bickel and Fruehwirth 2006, stopped early: the last events of it are chance).
fn densest(mut cells: &[Cell]) -> f64 {
    let events = |cells: &[Cell]| cells.iter().map(|cell| cell.count).sum::<u64>();
    for _ in 0..HALVES {
        let half = events(cells).div_ceil(2);
        let (mut first, mut held, mut best) = (0, 0, None);
        for (last, cell) in cells.iter().enumerate() {
            held += cell.count;
            while held - cells[first].count >= half {
                held -= cells[first].count;
                first += 1;
            }
            let length = cell.high - cells[first].low;
            if held >= half && best.is_none_or(|(_, _, shortest)| length < shortest) {
                best = Some((first, last, length));
            }
        }
        let Some((first, last, _)) = best else { break };
        cells = &cells[first..=last];
    }
    let (mut before, half) = (0, events(cells).div_ceil(2));
    let middle = cells.iter().find(|cell| {
        before += cell.count;
        before >= half
    });
    middle.map_or(f64::NAN, |cell| cell.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::{IDLE, IOZONE64, binned, ticks};
    use crate::{Counted, Meaning};

    fn likelihoods_of(data: &str) -> Vec<f64> {
        let cells = Lattice::of(&binned(data)).cells;
        let counts: Vec<f64> = cells.iter().map(|cell| cell.2).collect();
        log_likelihoods(&counts, &vec![1.0; counts.len()], 8)
    }

    #[test]
    fn likelihoods_by_number_of_modes_are_those_of_the_reference() {
        let tables = [
            (
                IDLE,
                [
                    -24405.243046,
                    -24385.011336,
                    -24380.214040,
                    -24377.169517,
                    -24374.311925,
                    -24371.478712,
                    -24368.706123,
                    -24366.403538,
                ],
            ),
            (
                IOZONE64,
                [
                    -28351.907249,
                    -28346.871405,
                    -28341.924321,
                    -28337.700111,
                    -28333.653707,
                    -28330.425190,
                    -28327.652601,
                    -28325.009089,
                ],
            ),
        ];
        for (data, table) in tables {
            for (found, reference) in likelihoods_of(data).iter().zip(table) {
                assert!((found - reference).abs() < 1e-5, "{found} {reference}");
            }
        }
    }

    #[test]
    fn the_idle_machine_has_two_modes_and_the_busy_one_a_shoulder() {
        let idle = Modes::of(&binned(IDLE), 7);
        assert_eq!(
            idle.modes,
            [
                Mode { low: 6.0, high: 11.0, peak: 7.0, mass: 7483 },
                Mode { low: 12.0, high: 100.0, peak: 16.0, mass: 2917 }
            ]
        );
        assert!((idle.tried[0].gain - 40.463).abs() < 1e-3 && idle.tried[0].p <= 0.01, "{:?}", idle.tried);
        assert!(
            (idle.tried[1].gain - 9.595).abs() < 1e-3 && (0.2..0.5).contains(&idle.tried[1].p),
            "{:?}",
            idle.tried
        );
        let busy = Modes::of(&binned(IOZONE64), 7);
        assert_eq!(busy.modes, [Mode { low: 6.0, high: 161.0, peak: 9.0, mass: 10_400 }]);
        assert!((busy.tried[0].gain - 10.072).abs() < 1e-3 && busy.tried[0].p > 0.6, "{:?}", busy.tried);
    }

    #[test]
    fn modes_move_with_their_events() {
        let shifted = ticks(IDLE).into_iter().map(|(tick, count)| (tick + 5000, count));
        let modes = Modes::of(&Counted::ticks(Meaning::default(), shifted, None).unwrap().binned(), 7).modes;
        assert_eq!(
            modes.iter().map(|mode| (mode.low, mode.peak)).collect::<Vec<_>>(),
            [(5006.0, 5007.0), (5012.0, 5016.0)]
        );
    }

    #[test]
    fn too_few_events_have_no_modes_and_equal_ones_have_one() {
        let of = |ticks: &[(i64, u64)]| {
            Modes::of(&Counted::ticks(Meaning::default(), ticks.iter().copied(), None).unwrap().binned(), 7)
                .modes
                .len()
        };
        assert_eq!((of(&[]), of(&[(7, 1)]), of(&[(7, 900)]), of(&[(7, 1), (90, 1)])), (0, 0, 1, 0));
        assert_eq!(of(&[(7, 900), (90, 900)]), 2);
    }

    #[test]
    fn rare_modes_far_away_are_seen() {
        let near = (0..40).map(|k: i64| (100 + k, 1000 - 40 * (k - 20).unsigned_abs()));
        let far = (0..20).map(|k: i64| (5000 + k, 10));
        let modes =
            Modes::of(&Counted::ticks(Meaning::default(), near.chain(far), None).unwrap().binned(), 7).modes;
        assert_eq!(modes.iter().map(|mode| mode.mass).collect::<Vec<_>>(), [24_000, 200]);
    }

    #[test]
    fn events_of_a_fine_clock_that_share_no_tick_have_the_modes_of_their_law() {
        let mut chance = crate::chance::seeded(3);
        for paths in [1, 2] {
            let mut draw = |at: usize| {
                let normal: f64 = rand_distr::Distribution::sample(&rand_distr::StandardNormal, &mut chance);
                let middle = if at % 3 < paths - 1 { 61_000.0f64 } else { 40_000.0 };
                (middle.ln() + 0.08 * normal).exp()
            };
            // Cells of two binary digits less than a value has, as a recorder keeps it.
            let ranges: Vec<(i64, i64, u64)> = (0..4000)
                .map(|at| draw(at) as i64)
                .map(|value| (value / 32 * 32, value / 32 * 32 + 31, 1))
                .collect();
            let binned = Counted::ranges(Meaning::default(), ranges, None).unwrap().binned();
            assert!(binned.cells().len() > MOST_CELLS);
            let found = Modes::of(&binned, 1);
            assert_eq!(found.modes.len(), paths, "{:?} {:?}", found.modes, found.tried);
        }
    }

    /// Draws of a standard normal law.
    fn normals(seed: u64, count: usize) -> Vec<f64> {
        let mut chance = crate::chance::seeded(seed);
        (0..count)
            .map(|_| rand_distr::Distribution::sample(&rand_distr::StandardNormal, &mut chance))
            .collect()
    }

    #[test]
    fn ranges_and_peaks_of_a_fine_clock_are_those_of_its_events_and_not_of_a_grid() {
        for seed in 11..16 {
            // Nine in ten near 100 us, one in ten near 500, some far beyond: a grid over all of it is coarse near 100.
            let values: Vec<f64> = normals(seed, 20_000)
                .into_iter()
                .enumerate()
                .map(|(n, normal)| match n % 200 {
                    0 => 2_000.0 + 500.0 * normal.abs() + 200.0 * (n / 200) as f64,
                    1..20 => 500.0 * (0.1 * normal).exp(),
                    _ => 100.0 * (0.05 * normal).exp(),
                })
                .collect();
            let ticks = values.iter().map(|value| ((value * 1000.0) as i64, 1));
            let found =
                Modes::of(&Counted::ticks(Meaning::default(), ticks, None).unwrap().binned(), 1).modes;
            assert!(found.len() >= 2, "{found:?}");
            for mode in &found {
                let inside = values.iter().map(|value| (value * 1000.0).trunc());
                let inside = inside.filter(|value| (mode.low..=mode.high).contains(value)).count();
                assert_eq!(
                    inside as u64, mode.mass,
                    "what a range is said to hold is what lies in it: {mode:?}"
                );
            }
            assert!((found[0].peak / 100e3 - 1.0).abs() < 0.02, "{found:?}");
            assert!((found[1].peak / 500e3 - 1.0).abs() < 0.06, "{found:?}");
        }
    }

    #[test]
    fn the_peak_of_a_law_that_only_falls_is_at_its_begin() {
        let ticks = (0..10_000).map(|n| ((20e3 - 50e3 * ((f64::from(n) + 0.5) / 10_000.0).ln()) as i64, 1));
        let found = Modes::of(&Counted::ticks(Meaning::default(), ticks, None).unwrap().binned(), 1).modes;
        assert!(
            found.len() == 1 && (20e3..25e3).contains(&found[0].peak) && found[0].low < 20.02e3,
            "{found:?}"
        );
    }
}
