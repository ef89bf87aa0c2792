//! How often intervals hold the true value, against how often they say so.

use super::axes::Frame;
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::fixed;

/// Stated levels and achieved shares of many searches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    /// What was found, in a sentence.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// A line each.
    pub lines: Vec<CalibrationLine>,
}

/// One line of a calibration plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalibrationLine {
    /// Of what searches.
    pub name: String,
    /// Stated level, how many intervals held the true value, and of how many.
    pub points: Vec<(f64, u64, u64)>,
}

/// The plot; `None` where no interval was stated at all. At a level at which none was there is no point: it is not 0 %.
pub(crate) fn calibration(calibration: &Calibration) -> Option<Plot> {
    let stated = |line: &CalibrationLine| CalibrationLine {
        name: line.name.clone(),
        points: line.points.iter().copied().filter(|(_, _, of)| *of > 0).collect(),
    };
    let lines: Vec<CalibrationLine> =
        calibration.lines.iter().map(stated).filter(|line| !line.points.is_empty()).collect();
    if lines.is_empty() {
        return None;
    }
    let calibration = &Calibration { lines, ..calibration.clone() };
    Some(Plot {
        name: "calibration",
        title: calibration.title.clone(),
        caption: calibration.caption.clone(),
        desc: format!(
            "Achieved share of intervals that hold the true value over the stated level. {}.",
            calibration.title
        ),
        wide: draw(calibration, Room::Half),
        narrow: draw(calibration, Room::Narrow),
        numbers: numbers(calibration),
    })
}

fn draw(calibration: &Calibration, room: Room) -> Drawing {
    let mut canvas = Canvas::new(room.width(), 330.0);
    let frame = Frame { left: 44.0, right: canvas.width - 12.0, top: 30.0, bottom: canvas.height - 44.0 };
    let points = || calibration.lines.iter().flat_map(|line| &line.points);
    let low = points().map(|(level, held, of)| level.min(share(*held, *of))).fold(0.9, f64::min);
    let low = (low * 20.0).floor() / 20.0;
    let (x, y) = (
        Scale::linear((low, 1.0), (frame.left, frame.right)),
        Scale::linear((low, 1.0), (frame.bottom, frame.top)),
    );
    canvas.text("tick", Anchor::Start, 0.0, 12.0, "held the true value, %");
    let ticks = |scale: &Scale| -> Vec<(f64, String)> {
        scale.ticks(6).into_iter().map(|value| (value, fixed(value * 100.0, 0))).collect()
    };
    frame.rows(&mut canvas, &y, &ticks(&y));
    frame.columns(&mut canvas, &x, &ticks(&x), true);
    frame.name_columns(&mut canvas, "stated level, %");
    canvas.line("axis", (x.at(low), y.at(low)), (x.at(1.0), y.at(1.0)));
    let mut marks = Vec::new();
    for (index, line) in calibration.lines.iter().enumerate() {
        let ink = index.min(3);
        let (mut path, mut discs) = (Path::default(), Path::default());
        for (number, &(level, held, of)) in line.points.iter().enumerate() {
            let at = (x.clamped(level), y.clamped(share(held, of)));
            if number == 0 {
                path.start(&canvas, at.0, at.1)
            } else {
                path.line(&canvas, at.0, at.1)
            }
            discs.disc(&canvas, at.0, at.1, 3.6);
            marks.push(at);
        }
        canvas.path(&format!("stair s{ink}"), &path);
        canvas.path(&format!("f{ink}"), &discs);
        if let Some(&(level, held, of)) = line.points.first() {
            let (at, class) = ((x.clamped(level), y.clamped(share(held, of))), format!("halo t{ink}"));
            let _ = canvas.text_if_free(&class, Anchor::Start, at.0 + 7.0, at.1 - 7.0, &line.name)
                || canvas.text_if_free(&class, Anchor::Start, at.0 + 7.0, at.1 + 16.0, &line.name);
        }
    }
    canvas.finish(marks)
}

fn share(held: u64, of: u64) -> f64 {
    held as f64 / of as f64
}

fn numbers(calibration: &Calibration) -> Numbers {
    let heads = ["searches", "stated, %", "held the true value, %", "held", "of"];
    let rows = calibration.lines.iter().flat_map(|line| {
        line.points.iter().map(|&(level, held, of)| {
            let achieved = fixed(share(held, of) * 100.0, 1);
            Reading {
                words: format!("{}: stated {} %, achieved {achieved} %", line.name, fixed(level * 100.0, 0)),
                cells: vec![
                    line.name.clone(),
                    fixed(level * 100.0, 0),
                    achieved,
                    held.to_string(),
                    of.to_string(),
                ],
            }
        })
    });
    Numbers { heads: heads.iter().map(|head| (*head).to_owned()).collect(), rows: rows.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(points: &[(f64, u64, u64)]) -> Calibration {
        let line = CalibrationLine { name: "no loss".into(), points: points.to_vec() };
        Calibration { title: "Of 95 %".into(), lines: vec![line], ..Calibration::default() }
    }

    #[test]
    fn a_level_at_which_nothing_was_stated_is_not_drawn_as_never_right() {
        let plot = calibration(&with(&[(0.9, 0, 0), (0.95, 19, 20)])).unwrap();
        assert_eq!(plot.wide.marks.len(), 1);
        assert_eq!(plot.numbers.rows.len(), 1);
        assert!(calibration(&with(&[(0.9, 0, 0)])).is_none());
        assert!(calibration(&Calibration::default()).is_none());
    }
}
