//! The bounds as steps, shaded between them.

use super::Drawn;
use super::steps::{Step, steps, thinned};
use crate::plot::canvas::{Canvas, Path};
use dropline_record::BoundsLine;

/// Bands and bounds of all goals.
pub(super) fn bounds(canvas: &mut Canvas, drawn: &Drawn) {
    let finding = drawn.finding;
    let goals: Vec<(usize, Vec<Step>)> = (0..finding.answers.len())
        .map(|goal| (finding.inks[goal], thinned(steps(finding, goal), &drawn.time)))
        .collect();
    for (ink, steps) in &goals {
        let band = band(canvas, drawn, steps);
        canvas.path(&format!("band f{ink}"), &band);
    }
    for (ink, steps) in &goals {
        let (median, _) = stairs(canvas, drawn, steps, Side::Median);
        canvas.path(&format!("median s{ink}"), &median);
        for side in [Side::Lower, Side::Upper] {
            let (valid, invalid) = stairs(canvas, drawn, steps, side);
            canvas.path(&format!("bound s{ink}"), &valid);
            canvas.path(&format!("bound invalid s{ink}"), &invalid);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
    /// Between the ends of an interval.
    Median,
}

impl Side {
    /// The bound at this side, or the middle, and whether trials bear it out.
    fn of(self, bounds: &BoundsLine) -> (Option<f64>, bool) {
        match self {
            Self::Lower => (bounds.lower_pps.filter(|load| load.is_finite()), bounds.lower_valid),
            Self::Upper => (bounds.upper_pps.filter(|load| load.is_finite()), bounds.upper_valid),
            Self::Median => (bounds.median_pps.filter(|load| load.is_finite()), true),
        }
    }
}

/// The area between the bounds, where both are known. Where an earlier goal has the same, it is its.
fn band(canvas: &Canvas, drawn: &Drawn, steps: &[Step]) -> Path {
    let (rate, time) = (&drawn.rate, &drawn.time);
    let both = |step: &Step| {
        let (lower, upper) = (step.bounds.lower_pps?, step.bounds.upper_pps?);
        (upper >= lower && step.shared != [true; 2]).then(|| (rate.clamped(lower), rate.clamped(upper)))
    };
    let mut path = Path::default();
    for run in steps.chunk_by(|a, b| both(a).is_some() == both(b).is_some()) {
        let corners: Vec<(f64, f64, f64, f64)> = run
            .iter()
            .filter_map(|step| {
                let (lower, upper) = both(step)?;
                Some((time.clamped(step.from), time.clamped(step.to), lower, upper))
            })
            .collect();
        let Some(first) = corners.first() else { continue };
        path.start(canvas, first.0, first.3);
        for (from, to, _, upper) in &corners {
            path.line(canvas, *from, *upper);
            path.line(canvas, *to, *upper);
        }
        for (from, to, lower, _) in corners.iter().rev() {
            path.line(canvas, *to, *lower);
            path.line(canvas, *from, *lower);
        }
        path.close();
    }
    path
}

/// One bound, or the middle, over time: what its trials bear out, and what they do not.
fn stairs(canvas: &Canvas, drawn: &Drawn, steps: &[Step], side: Side) -> (Path, Path) {
    let (frame, rate, time) = (drawn.frame, &drawn.rate, &drawn.time);
    let mut paths = (Path::default(), Path::default());
    let mut before: Option<f64> = None;
    for step in steps {
        let (load, valid) = side.of(&step.bounds);
        let Some(load) = load else {
            before = None;
            continue;
        };
        let path = if valid { &mut paths.0 } else { &mut paths.1 };
        let (from, to) = (time.clamped(step.from), time.clamped(step.to));
        // Lines of two goals at one load stand beside one another.
        let beside = if step.shared.get(side as usize) == Some(&true) { 2.0 } else { 0.0 };
        let y = (rate.at(load) + beside).clamp(frame.top, frame.bottom);
        if let Some(before) = before.filter(|before| *before != y) {
            path.start(canvas, from, before);
            path.line(canvas, from, y);
        }
        if rate.shows(load) {
            path.start(canvas, from, y);
            path.line(canvas, to, y);
        }
        before = Some(y);
    }
    paths
}
