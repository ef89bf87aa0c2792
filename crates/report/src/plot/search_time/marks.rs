//! The trials: dashes with discs, triangles at the edges, and the phases they belong to.

use super::Drawn;
use crate::number::{Loads, percent};
use crate::plot::axes::Frame;
use crate::plot::canvas::{Anchor, Canvas, Path, text_width};
use crate::plot::shown_loss;
use dropline_record::Purpose;

/// What the size of a disc says.
pub(super) fn legend(canvas: &mut Canvas, right: f64) {
    let mut x = right - 330.0;
    canvas.text("tick", Anchor::Start, x, 12.0, "a trial, lost:");
    x += 88.0;
    let mut ring = Path::default();
    ring.disc(canvas, x, 8.0, 3.2);
    canvas.path("hollow", &ring);
    canvas.text("tick", Anchor::Start, x + 9.0, 12.0, "none");
    x += 62.0;
    for (ratio, step) in [(1e-5, 74.0), (1e-3, 66.0), (3e-2, 60.0)] {
        let mut disc = Path::default();
        disc.disc(canvas, x, 8.0, radius(ratio));
        canvas.path("disc", &disc);
        canvas.text("tick", Anchor::Start, x + 11.0, 12.0, &percent(ratio));
        x += step;
    }
}

/// Grows with the logarithm of the loss ratio.
fn radius(ratio: f64) -> f64 {
    (2.0 + (ratio.max(1e-9).log10() + 5.0) * 1.25).clamp(2.0, 7.0)
}

/// Faint lines where a phase begins, with its name where there is room.
pub(super) fn phases(canvas: &mut Canvas, drawn: &Drawn) {
    let (frame, time) = (drawn.frame, &drawn.time);
    let mut before: Option<&str> = None;
    let mut lines = Path::default();
    for trial in &drawn.finding.record.trials {
        let name = match (&trial.phase, trial.purpose) {
            (Some(phase), _) => phase.as_str(),
            (None, Purpose::DelayAt) => "delay",
            (None, _) => continue,
        };
        if before == Some(name) {
            continue;
        }
        let x = time.clamped(trial.at_s);
        if before.is_some() {
            lines.start(canvas, x, frame.top - 14.0);
            lines.line(canvas, x, frame.bottom);
        }
        canvas.text_if_free("tick", Anchor::Start, x + 4.0, frame.top - 4.0, name);
        before = Some(name);
    }
    canvas.path("phase", &lines);
}

/// Dashes and discs, triangles at the edges; where each trial's mark stands.
pub(super) fn trials(canvas: &mut Canvas, drawn: &Drawn) -> Vec<(f64, f64)> {
    let Drawn { trials, view, frame, ref rate, ref time, .. } = *drawn;
    let shrink = match (frame.right - frame.left) / trials.len().max(1) as f64 {
        room if room < 2.0 => 0.55,
        room if room < 5.0 => 0.75,
        _ => 1.0,
    };
    let (mut dashes, mut discs, mut hollow) = (Path::default(), Path::default(), Path::default());
    let (mut lossy, mut lossless) = (Path::default(), Path::default());
    let mut edges: [Vec<(f64, f64)>; 2] = [Vec::new(), Vec::new()];
    let mut marks = Vec::with_capacity(trials.len());
    for trial in trials {
        let (from, to) = (time.clamped(trial.at_s), time.clamped(trial.at_s + trial.duration_s));
        let x = (from + to) / 2.0;
        let load = trial.intended_load_pps;
        if rate.shows(load) {
            let y = rate.at(load);
            dashes.start(canvas, from, y);
            dashes.line(canvas, to, y);
            if trial.lost.0 == 0 {
                hollow.disc(canvas, x, y, 3.2 * shrink);
            } else {
                discs.disc(canvas, x, y, radius(shown_loss(trial)) * shrink);
            }
            marks.push((x, y));
        } else {
            let up = load > view.high;
            let y = if up { frame.top + 7.0 } else { frame.bottom - 8.0 };
            let path = if trial.lost.0 == 0 { &mut lossless } else { &mut lossy };
            path.triangle(canvas, x, y, up);
            edges[usize::from(up)].push((x, load));
            marks.push((x, y));
        }
    }
    canvas.path("dash", &dashes);
    canvas.path("hollow", &hollow);
    canvas.path("disc", &discs);
    canvas.path("hollow", &lossless);
    canvas.path("tri", &lossy);
    for (up, edge) in edges.iter().enumerate() {
        let y = if up == 1 { frame.top + 11.0 } else { frame.bottom - 4.0 };
        edge_labels(canvas, frame, y, edge, view.loads);
    }
    marks
}

/// The loads of the trials at an edge, in words beside each group of triangles.
///
/// Groups that leave no room for their words become one.
fn edge_labels(canvas: &mut Canvas, frame: Frame, y: f64, edge: &[(f64, f64)], loads: Loads) {
    for &(x, _) in edge {
        canvas.keep_free((x - 5.0, x + 5.0), (y - 9.0, y + 2.0));
    }
    for apart in [42.0, 90.0, 180.0, 360.0, f64::INFINITY] {
        let mut attempt = canvas.clone();
        let mut groups = edge.chunk_by(|a, b| b.0 - a.0 < apart);
        if groups.all(|group| edge_label(&mut attempt, frame, y, group, loads)) {
            *canvas = attempt;
            return;
        }
    }
}

/// The words of one group at its right or its left; says whether there was room.
fn edge_label(canvas: &mut Canvas, frame: Frame, y: f64, group: &[(f64, f64)], loads: Loads) -> bool {
    let mut words: Vec<String> = group.iter().take(3).map(|(_, load)| loads.short(*load)).collect();
    if group.len() > 3 {
        words.push(format!("… {} trials", group.len()));
    }
    let words = words.join(", ");
    let (first, last) = (group[0].0, group[group.len() - 1].0);
    (last + 9.0 + text_width(&words) < frame.right
        && canvas.text_if_free("halo", Anchor::Start, last + 9.0, y, &words))
        || (first - 9.0 - text_width(&words) > frame.left
            && canvas.text_if_free("halo", Anchor::End, first - 9.0, y, &words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discs_grow_with_the_logarithm_of_loss() {
        assert_eq!((radius(1e-5), radius(1e-3), radius(1.0)), (2.0, 4.5, 7.0));
    }
}
