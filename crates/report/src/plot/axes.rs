//! The frame of a plot: ticks, grid, names of the axes, and the mark of an axis that is cut.

use super::canvas::{Anchor, Canvas, Path, text_width};
use super::scale::Scale;
use crate::number::{Loads, fixed};

/// The rectangle of the data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Frame {
    /// Horizontal lines with their values at the left.
    pub(super) fn rows(&self, canvas: &mut Canvas, scale: &Scale, ticks: &[(f64, String)]) {
        let mut grid = Path::default();
        for (value, label) in ticks {
            let y = scale.at(*value);
            grid.start(canvas, self.left, y);
            grid.line(canvas, self.right, y);
            canvas.text("tick", Anchor::End, self.left - 7.0, y + 4.0, label);
        }
        canvas.path("grid", &grid);
    }

    /// Values along the bottom, those that do not fit left out.
    pub(super) fn columns(&self, canvas: &mut Canvas, scale: &Scale, ticks: &[(f64, String)], lines: bool) {
        let (mut grid, mut marks) = (Path::default(), Path::default());
        for (value, label) in ticks {
            let x = scale.at(*value);
            if !canvas.text_if_free("tick", Anchor::Middle, x, self.bottom + 16.0, label) {
                continue;
            }
            marks.start(canvas, x, self.bottom);
            marks.line(canvas, x, self.bottom + 4.0);
            if lines {
                grid.start(canvas, x, self.top);
                grid.line(canvas, x, self.bottom);
            }
        }
        canvas.path("grid", &grid);
        canvas.path("axis", &marks);
        canvas.line("axis", (self.left, self.bottom), (self.right, self.bottom));
    }

    /// The name below the right end of the bottom axis.
    pub(super) fn name_columns(&self, canvas: &mut Canvas, name: &str) {
        canvas.text("tick", Anchor::End, self.right, self.bottom + 34.0, name);
    }

    /// The left axis, with a break mark and words when it does not begin at zero.
    pub(super) fn left_axis(&self, canvas: &mut Canvas, cut: Option<&str>) {
        let Some(words) = cut else {
            canvas.line("axis", (self.left, self.top), (self.left, self.bottom));
            return;
        };
        let (x, y) = (self.left, self.bottom - 14.0);
        let mut path = Path::default();
        path.start(canvas, x, self.top);
        path.line(canvas, x, y);
        path.line(canvas, x - 4.0, y + 3.0);
        path.line(canvas, x + 4.0, y + 6.0);
        path.line(canvas, x, y + 9.0);
        path.line(canvas, x, self.bottom);
        canvas.path("axis bold", &path);
        canvas.text("tick", Anchor::Start, 0.0, self.bottom + 34.0, words);
    }
}

/// Round loads with the labels of their unit.
pub(super) fn load_ticks(scale: &Scale, loads: Loads, most: usize) -> Vec<(f64, String)> {
    let unit = loads.scaled(1.0);
    let in_unit = Scale::linear((scale.low * unit, scale.high * unit), (0.0, 1.0));
    let ticks = in_unit.ticks(most);
    let step =
        if ticks.len() > 1 { ticks[1] - ticks[0] } else { ticks.first().copied().unwrap_or(1.0).max(1.0) };
    let decimals = (-step.abs().log10()).ceil().clamp(0.0, 6.0) as usize;
    ticks.into_iter().map(|tick| (tick / unit, fixed(tick, decimals))).collect()
}

/// Room for the widest of these labels.
pub(super) fn widest(ticks: &[(f64, String)]) -> f64 {
    ticks.iter().map(|(_, label)| text_width(label)).fold(24.0, f64::max)
}

/// Moves positions apart until each has its height of room, none above `top` or below `bottom`.
pub(super) fn spread(wanted: &[f64], height: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut placed = wanted.to_vec();
    let mut least = top;
    for &index in &order {
        placed[index] = placed[index].max(least);
        least = placed[index] + height;
    }
    let mut most = bottom;
    for &index in order.iter().rev() {
        placed[index] = placed[index].min(most).max(top);
        most = placed[index] - height;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_move_apart_and_stay_inside() {
        assert_eq!(spread(&[50.0, 52.0], 20.0, 0.0, 100.0), [50.0, 70.0]);
        assert_eq!(spread(&[95.0, 94.0], 20.0, 0.0, 100.0), [100.0, 80.0]);
        assert_eq!(spread(&[10.0, 60.0], 20.0, 0.0, 100.0), [10.0, 60.0]);
    }
}
