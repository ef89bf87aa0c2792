//! Chances over a chance: several curves, both axes logarithmic, each named at its end.

use super::axes::{Frame, spread, widest};
use super::canvas::{Anchor, Canvas, Drawing, Path, text_width};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};

/// Curves of positive numbers over the same positive numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// What they show, in a sentence.
    pub title: String,
    /// How to read them.
    pub caption: String,
    /// Name of the axis below.
    pub x_name: String,
    /// Name of the axis at the left.
    pub y_name: String,
    /// Where all curves have a point, ascending.
    pub x: Vec<f64>,
    /// The curves; the first is the one it is about.
    pub curves: Vec<Curve>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Over each `x`.
    pub y: Vec<f64>,
}

/// The plot; `None` where there is nothing to draw on logarithmic axes.
pub(crate) fn curves(of: &Curves) -> Option<Plot> {
    let positive = |values: &[f64]| values.iter().all(|value| *value > 0.0 && value.is_finite());
    let whole = |curve: &Curve| curve.y.len() == of.x.len() && positive(&curve.y);
    if of.x.len() < 2 || of.curves.is_empty() || !positive(&of.x) || !of.curves.iter().all(whole) {
        return None;
    }
    Some(Plot {
        name: "curves",
        title: of.title.clone(),
        caption: of.caption.clone(),
        desc: format!("{} over {}, {} curves. {}.", of.y_name, of.x_name, of.curves.len(), of.title),
        wide: draw(of, Room::Full),
        narrow: draw(of, Room::Narrow),
        numbers: numbers(of),
    })
}

fn draw(of: &Curves, room: Room) -> Drawing {
    let narrow = room == Room::Narrow;
    let mut canvas = Canvas::new(room.width(), if narrow { 340.0 } else { 420.0 });
    let all = of.curves.iter().flat_map(|curve| curve.y.iter().copied());
    let (low, high) = all.fold((f64::INFINITY, 0.0f64), |(low, high), y| (low.min(y), high.max(y)));
    let labels = |scale: &Scale, most| -> Vec<(f64, String)> {
        scale.ticks(most).into_iter().map(|at| (at, power(at))).collect()
    };
    let names = of.curves.iter().map(|curve| text_width(&curve.name)).fold(0.0, f64::max);
    let left = widest(&labels(&Scale::logarithmic((low, high), (1.0, 0.0)), 8)) + 10.0;
    let right = canvas.width - names - 10.0;
    let frame = Frame { left, right, top: 24.0, bottom: canvas.height - 44.0 };
    let x = Scale::logarithmic((of.x[0], of.x[of.x.len() - 1]), (frame.left, frame.right));
    let y = Scale::logarithmic((low, high), (frame.bottom, frame.top));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, &of.y_name);
    frame.rows(&mut canvas, &y, &labels(&y, 8));
    frame.columns(&mut canvas, &x, &labels(&x, if narrow { 4 } else { 8 }), true);
    frame.name_columns(&mut canvas, &of.x_name);
    frame.left_axis(&mut canvas, None);
    // The first is drawn last, above the others.
    for (place, curve) in of.curves.iter().enumerate().rev() {
        let mut path = Path::default();
        for (at, (&point, &value)) in of.x.iter().zip(&curve.y).enumerate() {
            let (px, py) = (x.at(point), y.at(value));
            if at == 0 { path.start(&canvas, px, py) } else { path.line(&canvas, px, py) }
        }
        canvas.path(&format!("curve {}", class(place, 's', 'r')), &path);
    }
    let ends: Vec<f64> = of.curves.iter().map(|curve| y.at(curve.y[of.x.len() - 1]) + 4.0).collect();
    let places = spread(&ends, 14.0, frame.top + 4.0, frame.bottom);
    for (place, (curve, at)) in of.curves.iter().zip(places).enumerate() {
        canvas.text(if place == 0 { "t0" } else { "" }, Anchor::Start, frame.right + 6.0, at, &curve.name);
    }
    let first = of.x.iter().zip(&of.curves[0].y);
    let marks = first.map(|(&point, &value)| (x.at(point), y.at(value))).collect();
    canvas.finish(marks)
}

/// The first has a colour, the others are greys.
fn class(place: usize, colour: char, grey: char) -> String {
    if place == 0 { format!("{colour}0") } else { format!("{grey}{}", place.min(4)) }
}

fn power(value: f64) -> String {
    format!("{value:.0e}")
}

fn numbers(of: &Curves) -> Numbers {
    let heads = std::iter::once(of.x_name.clone()).chain(of.curves.iter().map(|curve| curve.name.clone()));
    let rows = of.x.iter().enumerate().map(|(at, x)| {
        let values: Vec<String> = of.curves.iter().map(|curve| format!("{:.2e}", curve.y[at])).collect();
        let named = of.curves.iter().zip(&values).map(|(curve, value)| format!("{} {value}", curve.name));
        let words = format!("{} {x:.1e}: {}", of.x_name, named.collect::<Vec<_>>().join(", "));
        Reading { words, cells: std::iter::once(format!("{x:.1e}")).chain(values).collect() }
    });
    Numbers { heads: heads.collect(), rows: rows.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Curves {
        let curve = |name: &str, y: [f64; 3]| Curve { name: name.into(), y: y.to_vec() };
        Curves {
            title: "The sum passes more".into(),
            caption: "Lower is better.".into(),
            x_name: "bit error rate".into(),
            y_name: "chance".into(),
            x: vec![1e-6, 1e-4, 1e-2],
            curves: vec![curve("sum", [1e-17, 1e-11, 1e-6]), curve("code", [1e-60, 1e-40, 1e-20])],
        }
    }

    #[test]
    fn every_curve_is_drawn_named_and_told_in_numbers() {
        let plot = curves(&two()).unwrap();
        for drawing in [&plot.wide, &plot.narrow] {
            assert_eq!(drawing.body.matches("class=\"curve ").count(), 2);
            assert!(drawing.body.contains(">sum</text>") && drawing.body.contains(">code</text>"));
            assert_eq!(drawing.marks.len(), plot.numbers.rows.len());
            assert!(!drawing.body.contains("NaN"));
        }
        assert_eq!(plot.numbers.rows[1].cells, ["1.0e-4", "1.00e-11", "1.00e-40"]);
    }

    #[test]
    fn what_has_no_logarithm_is_not_drawn() {
        let mut none = two();
        none.curves[1].y[0] = 0.0;
        assert!(curves(&none).is_none());
        let mut short = two();
        short.curves[0].y.pop();
        assert!(curves(&short).is_none());
    }
}
