//! A trial's time in slices: when were packets lost?

use super::axes::Frame;
use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::number::{self, count, fixed, percent};
use dropline_record::{SliceLine, TrialLine};

/// The graph of a trial; `None` without slices.
///
/// `what` is lost: packets, wake-ups.
pub(crate) fn slices(trial: &TrialLine, room: Room, what: &str) -> Option<Plot> {
    if trial.slices.is_empty() {
        return None;
    }
    let lost: Vec<u64> = trial.slices.iter().map(lost).collect();
    Some(Plot {
        name: "slices",
        title: title(&lost, what),
        caption: format!("Of the {what} that were due in each slice, those that did not come."),
        desc: format!("Lost {what} over the time of the trial. {}.", title(&lost, what)),
        wide: draw(trial, &lost, room, what),
        narrow: draw(trial, &lost, Room::Narrow, what),
        numbers: numbers(trial, &lost),
    })
}

fn lost(slice: &SliceLine) -> u64 {
    slice.offered.0.saturating_sub(slice.forwarded.0)
}

/// A slice with less than so many times its even share of the loss is as the others.
const EVEN: f64 = 2.0;

fn title(lost: &[u64], what: &str) -> String {
    let all: u64 = lost.iter().copied().fold(0, u64::saturating_add);
    let with = lost.iter().filter(|lost| **lost > 0).count();
    let Some((worst, most)) =
        lost.iter().enumerate().max_by_key(|(index, lost)| (**lost, usize::MAX - index))
    else {
        return "No slices".into();
    };
    if all == 0 {
        return format!("No slice lost any of its {what}");
    }
    let (share, even) = (*most as f64 / all as f64, 1.0 / lost.len() as f64);
    let slices = number::plural(lost.len() as u64, "slice");
    let is_more = share > EVEN * even && is_beyond_chance(lost, *most, all);
    match (is_more, heavier_half(lost)) {
        (true, _) => format!("Loss in {with} of {slices}; slice {} has {} of it", worst + 1, percent(share)),
        (false, Some((half, share))) => {
            format!("Loss in {with} of {slices}; {} of it in the {half} half", percent(share))
        }
        (false, None) => format!("Loss in {with} of {slices}, about evenly"),
    }
}

/// Whether a slice of some lost more than packets that are lost one by one in as many slices ever would: by so many standard
/// deviations of its even share.
fn is_beyond_chance(lost: &[u64], most: u64, all: u64) -> bool {
    let even = all as f64 / lost.len() as f64;
    most as f64 > even + APART * even.sqrt()
}

/// Halves that differ by so many standard errors are not alike; nor does less than so much in one of them matter.
const APART: f64 = 4.0;
const HEAVIER: f64 = 0.55;

/// The half of the slices that lost more than scatters from slice to slice, and its share; a slice in the middle is of neither.
fn heavier_half(lost: &[u64]) -> Option<(&'static str, f64)> {
    let half = lost.len() / 2;
    let each = [&lost[..half], &lost[lost.len() - half..]].map(|slices| {
        let count = slices.len() as f64;
        let mean = slices.iter().map(|lost| *lost as f64).sum::<f64>() / count;
        let squares: f64 = slices.iter().map(|lost| (*lost as f64 - mean).powi(2)).sum();
        // Packets that are lost one by one scatter as their number does.
        (mean, (squares / (count - 1.0)).max(mean) / count)
    });
    let [(first, of_first), (second, of_second)] = each;
    let is_apart = (first - second).abs() > APART * (of_first + of_second).sqrt();
    let share = first.max(second) / (first + second);
    let name = if first > second { "first" } else { "second" };
    (half > 2 && is_apart && share > HEAVIER).then_some((name, share))
}

fn draw(trial: &TrialLine, lost: &[u64], room: Room, what: &str) -> Drawing {
    let mut canvas = Canvas::new(room.width(), if room == Room::Narrow { 240.0 } else { 330.0 });
    let frame = Frame { left: 58.0, right: canvas.width - 12.0, top: 30.0, bottom: canvas.height - 44.0 };
    let until: f64 =
        trial.slices.iter().map(|slice| slice.duration_s).filter(|length| length.is_finite()).sum();
    let time = Scale::linear((0.0, until.max(1e-9)), (frame.left, frame.right));
    let most = lost.iter().copied().max().unwrap_or(0).max(1) as f64;
    let y = Scale::linear((0.0, most * 1.08), (frame.bottom, frame.top));
    canvas.text("tick", Anchor::Start, 0.0, 12.0, &format!("{what} lost"));
    let whole = |value: &f64| (value - value.round()).abs() < 1e-6;
    let ticks: Vec<(f64, String)> =
        y.ticks(5).into_iter().filter(whole).map(|value| (value, fixed(value, 0))).collect();
    frame.rows(&mut canvas, &y, &ticks);
    let ticks: Vec<(f64, String)> =
        time.ticks(8).into_iter().map(|value| (value, number::three(value))).collect();
    frame.columns(&mut canvas, &time, &ticks, false);
    frame.name_columns(&mut canvas, "time, s");
    let (mut bars, mut at) = (Path::default(), 0.0);
    let mut marks = Vec::with_capacity(lost.len());
    for (slice, &lost) in trial.slices.iter().zip(lost) {
        let (left, right) = (time.clamped(at), time.clamped(at + slice.duration_s));
        let top = y.clamped(lost as f64);
        let gap = if right - left > 4.0 { 1.0 } else { 0.0 };
        if lost > 0 {
            bars.start(&canvas, left, frame.bottom);
            bars.line(&canvas, left, top);
            bars.line(&canvas, right - gap, top);
            bars.line(&canvas, right - gap, frame.bottom);
            bars.close();
        }
        marks.push(((left + right) / 2.0, top));
        at += slice.duration_s;
    }
    canvas.path("bar", &bars);
    canvas.finish(marks)
}

fn numbers(trial: &TrialLine, lost: &[u64]) -> Numbers {
    let heads =
        ["slice", "from, s", "offered", "forwarded", "lost"].iter().map(|head| (*head).to_owned()).collect();
    let mut at = 0.0;
    let rows = trial
        .slices
        .iter()
        .zip(lost)
        .enumerate()
        .map(|(index, (slice, lost))| {
            let from = at;
            at += slice.duration_s;
            Reading {
                words: format!(
                    "slice {} from {} s: lost {} of {}",
                    index + 1,
                    fixed(from, 2),
                    count(*lost),
                    count(slice.offered.0)
                ),
                cells: vec![
                    (index + 1).to_string(),
                    fixed(from, 2),
                    count(slice.offered.0),
                    count(slice.forwarded.0),
                    count(*lost),
                ],
            }
        })
        .collect();
    Numbers { heads, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_that_halves_in_the_middle_is_not_called_even() {
        let scattered = |mean: u64, slice: u64| mean + (slice * 7919) % (mean / 4) - mean / 8;
        let of = |mean: fn(u64) -> u64| {
            let lost: Vec<u64> = (0..40).map(|slice| scattered(mean(slice), slice)).collect();
            title(&lost, "packets").replace(number::JOIN, " ")
        };
        let fell = of(|slice| if slice < 20 { 190 } else { 90 });
        assert!(
            fell.starts_with("Loss in 40 of 40 slices; 6") && fell.ends_with("in the first half"),
            "{fell}"
        );
        assert!(of(|slice| if slice < 20 { 90 } else { 190 }).ends_with("in the second half"));
        assert!(of(|_| 140).ends_with("about evenly"));
        for few in [&[][..], &[3], &[3, 4], &[9, 5, 4, 6], &[0, 0]] {
            assert!(!title(few, "packets").contains("half"), "{few:?}");
        }
    }
}
