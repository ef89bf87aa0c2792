//! The loads a search may try: so few that trials of different goals meet at the same ones.

use crate::Goal;
use dropline_trial::{LoadRange, Rate};

/// Steps within the finest width.
pub(super) const STEPS: usize = 4;

/// Loads from the lowest to the highest allowed, in equal logarithmic steps down from the highest; the step
/// above the lowest is shorter. Both ends belong to it.
#[derive(Debug)]
pub(super) struct Grid {
    range: LoadRange,
    step: f64,
    last: usize,
}

impl Grid {
    /// A grid on which [`STEPS`] steps are within the width of each goal.
    pub(super) fn new(range: LoadRange, goals: &[Goal]) -> Self {
        let finest = goals.iter().map(width).fold(f64::INFINITY, f64::min);
        // Less by what rounding to whole loads can add to a distance, which matters most at the lowest load.
        let rounding = 2.0 / (finest * range.min().as_millipps() as f64);
        let step = finest / STEPS as f64 * (1.0 - rounding.clamp(1e-9, 0.5));
        let last = libm::ceil((log(range.max()) - log(range.min())) / step) as usize;
        Self { range, step, last }
    }

    /// Index of the highest load; that of the lowest is 0.
    pub(super) fn last(&self) -> usize {
        self.last
    }

    pub(super) fn load(&self, index: usize) -> Rate {
        match index {
            0 => self.range.min(),
            index if index >= self.last => self.range.max(),
            index => {
                let at = log(self.range.max()) - (self.last - index) as f64 * self.step;
                self.range.clamp(Rate::from_millipps(libm::round(libm::exp(at)) as u64))
            }
        }
    }

    /// Position of a load, between indices where it is not on the grid.
    pub(super) fn position(&self, load: Rate) -> f64 {
        self.last as f64 - (log(self.range.max()) - log(load)) / self.step
    }

    /// Index of a load, the nearest where it is not on the grid.
    pub(super) fn index(&self, load: Rate) -> usize {
        if load == self.range.min() { 0 } else { self.nearest(self.position(load)) }
    }

    /// Nearest index to a position.
    pub(super) fn nearest(&self, position: f64) -> usize {
        libm::round(position).clamp(0.0, self.last as f64) as usize
    }

    /// A ratio of loads as a number of steps.
    pub(super) fn steps(&self, ratio: f64) -> f64 {
        libm::log(ratio) / self.step
    }

    /// A distance in steps as a difference of logarithms.
    pub(super) fn logarithm(&self, steps: f64) -> f64 {
        steps * self.step
    }

    /// Steps within the width of a goal, at least one.
    pub(super) fn within(&self, goal: &Goal) -> usize {
        ((width(goal) / self.step) as usize).max(1)
    }
}

/// A goal's width as a difference of logarithms.
fn width(goal: &Goal) -> f64 {
    -libm::log1p(-goal.width.as_f64())
}

fn log(load: Rate) -> f64 {
    libm::log(load.as_millipps() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    #[test]
    fn every_load_of_the_grid_is_found_again_and_four_steps_are_within_the_width() {
        let goal = Preset::Csit.goals()[0];
        let range = LoadRange::new(Rate::pps(9001.0).unwrap(), Rate::pps(1.5e5).unwrap()).unwrap();
        let grid = Grid::new(range, &[goal]);
        assert_eq!((grid.load(0), grid.load(grid.last())), (range.min(), range.max()));
        for index in 0..=grid.last() {
            assert_eq!(grid.index(grid.load(index)), index);
            let higher = grid.load((index + STEPS).min(grid.last()));
            assert!(crate::mlr::close_enough(&goal, grid.load(index), higher), "{index}");
        }
    }
}
