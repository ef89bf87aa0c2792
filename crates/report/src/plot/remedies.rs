//! What each change would lose, beside what was lost: a bar and an interval each, in three classes.

use super::canvas::{Anchor, Canvas, Drawing, Path};
use super::scale::Scale;
use super::{Numbers, Plot, Reading, Room};
use crate::explained::{change_words, verdict_words};
use crate::number::{count, listed};
use dropline_record::Explanation;
use dropline_record::remedy::{Predicted, Verdict};

/// Changes that a title names.
const NAMED: usize = 3;

/// A bar.
struct Row {
    words: String,
    lost: u64,
    interval: Option<(u64, u64)>,
    verdict: &'static str,
    condition: &'static str,
    /// Classes of its bar and of its interval and words.
    class: [&'static str; 2],
}

/// The changes that were replayed; `None` where none was.
pub(crate) fn remedies(found: &Explanation) -> Option<Plot> {
    found.remedies.first()?;
    let rows = rows(found);
    let title = title(found);
    let numbers = rows.iter().map(|row| {
        let interval =
            row.interval.map_or_else(String::new, |(low, high)| format!("[{}, {}]", count(low), count(high)));
        let verdict = [row.verdict, row.condition];
        let verdict: Vec<&str> = verdict.into_iter().filter(|words| !words.is_empty()).collect();
        Reading {
            words: format!("{}: {} lost {interval} {}", row.words, count(row.lost), verdict.join(", "))
                .trim_end()
                .into(),
            cells: vec![row.words.clone(), count(row.lost), interval, verdict.join(", ")],
        }
    });
    Some(Plot {
        name: "remedies",
        desc: format!("Packets lost as it was, and with each change. {title}."),
        title,
        caption: "Packets that would be lost, by replaying the recorded arrivals: a bar for the most likely number, a line \
                  for 95 % of the replays. A change helps if half of the loss or more is spared even at the end of its \
                  line, and may help if that is so at the beginning alone."
            .into(),
        numbers: Numbers {
            heads: ["change", "lost", "95 % of replays", "whether it helps"].map(String::from).into(),
            rows: numbers.collect(),
        },
        wide: draw(&rows, Room::Full),
        narrow: draw(&rows, Room::Narrow),
    })
}

fn rows(found: &Explanation) -> Vec<Row> {
    let interval = |predicted: Predicted| Some((predicted.low, predicted.high));
    let plain = |words: &str, lost, interval| Row {
        words: words.into(),
        lost,
        interval,
        verdict: "",
        condition: "",
        class: ["fill4", "open"],
    };
    let as_it_was = found.model.into_iter().flat_map(|model| {
        [
            plain("as it was, measured", model.measured, None),
            plain("as it was, replayed", model.replay.lost, interval(model.replay)),
        ]
    });
    let changed = found.remedies.iter().map(|remedy| {
        let (words, condition) = change_words(found, remedy);
        let verdict = found.verdict(remedy);
        Row {
            words,
            lost: remedy.lost.lost,
            interval: interval(remedy.lost),
            verdict: verdict_words(verdict).1,
            condition,
            class: match verdict {
                Verdict::Helps => ["fbetter", "better"],
                Verdict::MayHelp | Verdict::Postpones => ["fopen", "open"],
                Verdict::DoesNot => ["fworse", "worse"],
            },
        }
    });
    as_it_was.chain(changed).collect()
}

/// Which changes help, or that none does.
fn title(found: &Explanation) -> String {
    let named = |wanted: Verdict| -> Vec<String> {
        let those = found.remedies.iter().filter(|remedy| found.verdict(remedy) == wanted);
        those.map(|remedy| change_words(found, remedy).0).collect()
    };
    let words = |mut names: Vec<String>| {
        let more = names.split_off(names.len().min(NAMED)).len();
        names.extend((more > 0).then(|| format!("{more} more")));
        listed(&names)
    };
    match (named(Verdict::Helps), named(Verdict::MayHelp)) {
        (helps, _) if !helps.is_empty() => format!("What would help: {}", words(helps)),
        (_, may) if !may.is_empty() => format!("What would help is not sure; what may: {}", words(may)),
        _ => "What would help is not among the changes that were replayed".into(),
    }
}

fn draw(rows: &[Row], room: Room) -> Drawing {
    let narrow = room == Room::Narrow;
    let (height, head) = if narrow { (62.0, 22.0) } else { (34.0, 22.0) };
    let mut canvas = Canvas::new(room.width(), head + height * rows.len() as f64 + 44.0);
    let bottom = canvas.height - 44.0;
    let (left, right) = if narrow { (0.0, canvas.width - 10.0) } else { (330.0, canvas.width - 120.0) };
    let most = rows
        .iter()
        .map(|row| row.interval.map_or(row.lost, |(_, high)| high.max(row.lost)))
        .max()
        .unwrap_or(1);
    let x = Scale::linear((0.0, most.max(1) as f64 * 1.04), (left, right));
    canvas.text("tick", Anchor::Start, left, 12.0, "packets lost");
    let ticks: Vec<(f64, String)> = x
        .ticks(if narrow { 4 } else { 6 })
        .into_iter()
        .filter(|tick| tick.fract() == 0.0)
        .map(|tick| (tick, count(tick as u64)))
        .collect();
    let mut grid = Path::default();
    for (value, label) in ticks {
        canvas.text_if_free("tick", Anchor::Middle, x.at(value), bottom + 16.0, &label);
        grid.start(&canvas, x.at(value), head);
        grid.line(&canvas, x.at(value), bottom);
    }
    canvas.path("grid", &grid);
    canvas.line("axis", (left, bottom), (right, bottom));
    let mut marks = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let top = head + height * index as f64;
        let middle = if narrow { top + 40.0 } else { top + height / 2.0 };
        let [bar, line] = row.class;
        let verdict = format!("name t{line}");
        if narrow {
            canvas.text("value", Anchor::Start, 0.0, top + 14.0, &row.words);
            canvas.text_if_free(&verdict, Anchor::Start, 0.0, top + 28.0, row.verdict);
            canvas.text("tick", Anchor::End, canvas.width, top + 28.0, &count(row.lost));
        } else {
            canvas.text("value", Anchor::End, left - 12.0, middle + 4.0, &row.words);
            canvas.text(&verdict, Anchor::Start, right + 14.0, middle + 4.0, row.verdict);
        }
        canvas.rect(bar, (left, x.clamped(row.lost as f64)), (middle - 6.0, middle + 6.0));
        if let Some((low, high)) = row.interval {
            let ends = [low, high].map(|end| x.clamped(end as f64));
            canvas.line("axis bold", (ends[0], middle), (ends[1], middle));
            for end in ends {
                canvas.line("axis bold", (end, middle - 5.0), (end, middle + 5.0));
            }
        }
        marks.push((x.clamped(row.lost as f64), middle));
    }
    canvas.finish(marks)
}
