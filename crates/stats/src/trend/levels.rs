//! A row cut into levels, at changes and at marks.

use super::weighted::Weighted;

/// Levels, one from each start to the next.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Levels {
    /// First nights of the levels; the first is 0.
    starts: Vec<usize>,
    /// Which of them are marks, or the beginning.
    is_mark: Vec<bool>,
    means: Vec<f64>,
    count: usize,
}

impl Levels {
    /// Of changes at these places, in any order.
    pub(super) fn of(row: &Weighted, changes: &[usize]) -> Self {
        let mut starts: Vec<(usize, bool)> = row.stretches.iter().map(|&start| (start, true)).collect();
        starts.extend(changes.iter().map(|&place| (place, false)));
        starts.sort_unstable();
        let (starts, is_mark): (Vec<usize>, Vec<bool>) = starts.into_iter().unzip();
        let end = |index: usize| starts.get(index + 1).copied().unwrap_or(row.len());
        let means = (0..starts.len()).map(|index| row.mean(starts[index], end(index))).collect();
        Self { starts, is_mark, means, count: row.len() }
    }

    /// First nights of new levels, without marks.
    pub(super) fn changes(&self) -> impl Iterator<Item = usize> {
        self.starts.iter().zip(&self.is_mark).filter(|(_, is_mark)| !**is_mark).map(|(start, _)| *start)
    }

    /// Start, end and mean of each level.
    pub(super) fn segments(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        (0..self.starts.len()).map(|index| (self.starts[index], self.end(index), self.means[index]))
    }

    /// The level that begins at this night ends before that one.
    pub(super) fn end_of(&self, place: usize) -> usize {
        self.end(self.index_of(place))
    }

    /// The level before the one that begins here began there.
    pub(super) fn start_before(&self, place: usize) -> usize {
        self.starts[self.index_of(place) - 1]
    }

    /// How many nights of the level that begins here are nearer to it than to the one before: a night that is back where it was before
    /// is none that tells of the new level, however short that is.
    pub(super) fn holding(&self, row: &Weighted, place: usize) -> usize {
        let (before, after) = (self.level_of(place - 1), self.level_of(place));
        let is_nearer = |night: &usize| (row.seen[*night] - after).abs() < (row.seen[*night] - before).abs();
        (place..self.end_of(place)).filter(is_nearer).count()
    }

    pub(super) fn level_of(&self, night: usize) -> f64 {
        self.means[self.index_of(night)]
    }

    /// What is left of each night.
    pub(super) fn residuals(&self, row: &Weighted) -> Vec<f64> {
        let mut residuals = Vec::with_capacity(row.len());
        for (start, end, mean) in self.segments() {
            residuals.extend(row.values[start..end].iter().map(|value| value - mean));
        }
        residuals
    }

    fn end(&self, index: usize) -> usize {
        self.starts.get(index + 1).copied().unwrap_or(self.count)
    }

    fn index_of(&self, night: usize) -> usize {
        self.starts.partition_point(|start| *start <= night) - 1
    }
}
