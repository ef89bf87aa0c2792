//! A comparison on a terminal: the verdict first.

mod story;

pub(crate) use story::{first_line, is_mostly_of_loss};

use super::layout::{self, Columns, Page, Side};
use super::unit;
use crate::number::{self, JOIN, apart, digits, percent, percent_of, plural, three};
use crate::style::{Ink, Style};
use dropline_record::compared::{ComparedModeLine, QuestionLine, WidthLine};
use dropline_record::{Compared, VerdictWord};

/// How often all questions together may find a difference that is none.
const LEVEL: f64 = 0.05;
/// Peaks of a side that are named, the heaviest.
const SHOWN_MODES: usize = 4;

/// The answer of `compare` as text. Ends with a newline.
pub fn compared_text(compared: &Compared, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Ink::Strong, &first_line(compared, "   "));
    page.gap();
    page.columns(&questions_table(compared));
    page.caveats(&compared.caveats);
    page.gap();
    for (name, line) in questions(compared) {
        if let Some(why) = reason(line) {
            page.fact(&name, &why);
        }
    }
    if let Some(more) = longer(compared) {
        page.fact("to decide", &more);
    }
    if let Some(words) = spread(compared) {
        page.fact("spread", &words);
    }
    if let Some(modes) = &compared.modes {
        page.fact("modes", &format!("peaks at {} → {}", peaks(&modes.a), peaks(&modes.b)));
    }
    page.fact("A", &side(&compared.a));
    page.fact("B", &side(&compared.b));
    if page.style.verbose {
        method(&mut page, compared);
    }
    page.into_text()
}

/// The answer of `compare` in a line.
pub fn compared_line(compared: &Compared) -> String {
    first_line(compared, ": ")
}

/// How the answer came about.
fn method(page: &mut Page, compared: &Compared) {
    if let Some(slower) = compared.p_b_slower {
        page.fact(
            "in pairs",
            &format!("an event of B is longer than one of A in {} of pairs", percent(slower)),
        );
    }
    if let Some(limit) = compared.deff_limit {
        page.fact(
            "holds",
            &format!(
                "the verdict holds while events vary less than {}{JOIN}times as much as known",
                three(limit)
            ),
        );
    }
    let words = format!("{}; the samples that intervals rest on are {}", compared.estimator, compared.design);
    page.fact("method", &words);
}

/// The heaviest peaks, in order.
fn peaks(modes: &[ComparedModeLine]) -> String {
    let mut heaviest = modes.to_vec();
    heaviest.sort_by(|x, y| y.mass.total_cmp(&x.mass));
    let left_out = heaviest.split_off(heaviest.len().min(SHOWN_MODES)).len();
    heaviest.sort_by(|x, y| x.peak.total_cmp(&y.peak));
    let each = heaviest.iter().map(|mode| format!("{} ({})", three(mode.peak), percent(mode.mass)));
    let more = if left_out > 0 { format!(" and {left_out} smaller") } else { String::new() };
    format!("{}{more}", each.collect::<Vec<_>>().join(", "))
}

/// A row a question.
pub(crate) fn questions_table(compared: &Compared) -> Columns {
    let asked = [typical(compared), high(compared), tail(compared)].into_iter().chain(loss(compared));
    let rows = asked.map(|row| {
        let ink = match row.verdict {
            VerdictWord::Regressed => Ink::Lost,
            VerdictWord::Improved => Ink::Strong,
            _ => Ink::Plain,
        };
        layout::Row {
            cells: vec![
                (row.name, Ink::Plain),
                (row.change, Ink::Strong),
                (row.interval, Ink::Plain),
                (row.verdict.words(), ink),
            ],
            note: None,
            said: Some(row.note.trim().to_owned()).filter(|note| !note.is_empty()),
        }
    });
    let interval = format!("{} interval", percent(compared.level));
    let heads = ["question", "B against A", interval.as_str(), "verdict"];
    Columns { heads: heads.map(|head| (head.to_owned(), Side::Left)).into(), rows: rows.collect() }
}

struct Row {
    name: String,
    change: String,
    interval: String,
    verdict: VerdictWord,
    note: String,
}

fn percentile(compared: &Compared) -> String {
    format!("p{}", (compared.percentile * 1e6).round() / 1e4)
}

fn typical(compared: &Compared) -> Row {
    difference(&compared.core, "typical", "median ", compared.unit_ns)
}

fn high(compared: &Compared) -> Row {
    difference(&compared.high_percentile, &percentile(compared), "", compared.unit_ns)
}

fn difference(line: &QuestionLine, name: &str, what: &str, unit_ns: u64) -> Row {
    let unit = unit(unit_ns);
    let relative =
        line.relative.map_or(String::new(), |share| format!(" ({}{JOIN}%)", signed(share * 100.0)));
    Row {
        name: name.into(),
        change: match line.estimate {
            Some(shift) => format!("{what}{}{JOIN}{unit}{relative}", signed(shift)),
            None if line.lost_of_a || line.lost_of_b => {
                format!(
                    "{what}{} → {}{}",
                    of_side(line.of_a, line.lost_of_a),
                    of_side(line.of_b, line.lost_of_b),
                    // A loss has no unit.
                    match (line.lost_of_a, line.lost_of_b) {
                        (_, false) => format!("{JOIN}{unit}"),
                        (false, true) => format!(" (in{JOIN}{unit})"),
                        (true, true) => String::new(),
                    }
                )
            }
            None => "too few events".into(),
        },
        interval: interval(line, signed),
        verdict: line.verdict,
        note: note(line, |effect| format!("{}{JOIN}{unit}", three(effect))),
    }
}

fn tail(compared: &Compared) -> Row {
    let tail = &compared.tail_mass;
    let line = &tail.question;
    let unit = unit(compared.unit_ns);
    let change = match (line.of_a, line.of_b) {
        (Some(a), Some(b)) => {
            let ratio = line.estimate.map_or(String::new(), |ratio| format!("  x{}", three(ratio)));
            format!("{}{ratio}", apart([a, b], percent_of).join(" → "))
        }
        _ => "no events".into(),
    };
    Row {
        name: tail.threshold.map_or_else(|| "tail".into(), |at| format!("above {}{JOIN}{unit}", three(at))),
        change,
        interval: interval(line, three),
        verdict: line.verdict,
        note: if line.estimate.is_some() {
            note(line, |ratio| format!("x{}", three(ratio)))
        } else {
            String::new()
        },
    }
}

/// A quantile of a side: a number, or that it is among what the side lost.
fn of_side(value: Option<f64>, is_lost: bool) -> String {
    match value {
        _ if is_lost => "lost".into(),
        Some(value) => three(value),
        None => "\u{2013}".into(),
    }
}

/// `None` where nobody counted what was lost.
fn loss(compared: &Compared) -> Option<Row> {
    let loss = compared.loss.as_ref()?;
    let line = &loss.question;
    let shares = match (line.of_a, line.of_b) {
        (Some(a), Some(b)) => apart([a, b], percent_of),
        (a, b) => [a, b].map(|share| share.map_or_else(|| "\u{2013}".into(), percent)),
    };
    Some(Row {
        name: "lost".into(),
        change: shares.join(" → "),
        interval: interval(line, points),
        verdict: line.verdict,
        note: String::new(),
    })
}

/// A difference of shares.
pub(crate) fn points(difference: f64) -> String {
    let sign = if difference > 0.0 {
        "+"
    } else if difference < 0.0 {
        "\u{2212}"
    } else {
        ""
    };
    format!("{sign}{}", percent(difference.abs()))
}

/// What an undecided question still allows, or why a difference found is none that matters.
fn note(line: &QuestionLine, words: impl Fn(f64) -> String) -> String {
    match (line.verdict, line.low, line.high) {
        (VerdictWord::NoEvidence, Some(low), Some(high)) if line.estimate.is_some() => {
            if reason(line).is_some() {
                "   a difference if it were the only question".into()
            } else if is_beyond(line, low, high) {
                // What keeps it from being evidence is told as a doubt.
                "   a difference by these events alone (see the ! below)".into()
            } else if is_ratio(line) {
                format!("   could be {}", number::ends(Some(low), Some(high), words).join(" to "))
            } else if low > 0.0 || high < 0.0 {
                format!("   a difference, but perhaps less than {}", words(line.smallest_effect))
            } else {
                let (less, more) = (low.abs(), high.abs());
                let words = |most| words(number::in_three(most, f64::ceil));
                // Ends that are far from even are told apart: the nearer one is what is possible at all.
                match less.max(more) > 2.0 * less.min(more) {
                    true => format!("   could be {} less to {} more", words(less), words(more)),
                    false => format!("   could be {} either way", words(less.max(more))),
                }
            }
        }
        (VerdictWord::Equivalent, _, _) => format!("   within {}", words(line.smallest_effect)),
        _ => String::new(),
    }
}

/// Each question with its name.
fn questions(compared: &Compared) -> impl Iterator<Item = (String, &QuestionLine)> {
    let loss = compared.loss.as_ref().map(|loss| ("lost".into(), &loss.question));
    [
        ("typical".into(), &compared.core),
        (percentile(compared), &compared.high_percentile),
        ("slow events".into(), &compared.tail_mass.question),
    ]
    .into_iter()
    .chain(loss)
}

fn is_ratio(line: &QuestionLine) -> bool {
    let of = line.of_a.zip(line.of_b).zip(line.estimate);
    of.is_some_and(|((a, b), estimate)| (b - a - estimate).abs() > 1e-9)
}

/// Whether this interval has nothing in it that would not matter.
fn is_beyond(line: &QuestionLine, low: f64, high: f64) -> bool {
    let zone = match is_ratio(line) {
        true => (1.0 / (1.0 + line.smallest_effect), 1.0 + line.smallest_effect),
        false => (-line.smallest_effect, line.smallest_effect),
    };
    low > zone.1 || high < zone.0
}

/// Why an interval beyond what matters is no evidence all the same: several questions were asked.
pub(crate) fn reason(line: &QuestionLine) -> Option<String> {
    let is_beyond = line.verdict == VerdictWord::NoEvidence && is_beyond(line, line.low?, line.high?);
    let by_chance = line.by_chance.filter(|by_chance| is_beyond && *by_chance > LEVEL)?;
    Some(format!(
        "random scatter makes one of all these questions look like this in {} of comparisons, and {} is the most for evidence",
        percent(by_chance),
        percent(LEVEL)
    ))
}

fn interval(line: &QuestionLine, words: impl Fn(f64) -> String) -> String {
    if line.low.is_none() && line.high.is_none() {
        return String::new();
    }
    let [low, high] = number::ends(line.low, line.high, words);
    format!("[{low},{JOIN}{high}]")
}

fn spread(compared: &Compared) -> Option<String> {
    let unit = unit(compared.unit_ns);
    let say = |name: &str, width: &WidthLine| {
        let (a, b, ratio) = (width.of_a?, width.of_b?, width.estimate?);
        let interval = match (width.low, width.high) {
            (Some(low), Some(high)) => format!(" [{},{JOIN}{}]", number::low(low), number::high(high)),
            _ => " (too few to say how sure that is)".into(),
        };
        Some(format!("{name} {}{JOIN}{unit}  x{}{interval}", apart([a, b], digits).join(" → "), three(ratio)))
    };
    let words: Vec<String> = [
        say("between quartiles", &compared.spread.quartiles),
        say("standard deviation", &compared.spread.standard_deviation),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!words.is_empty()).then(|| words.join("   "))
}

fn side(side: &dropline_record::compared::SideLine) -> String {
    let blocks = if side.blocks > 1 { format!(" in {} blocks", side.blocks) } else { String::new() };
    let time =
        side.duration_s.map_or(String::new(), |seconds| format!(", {}", crate::number::seconds(seconds)));
    format!("{}   {}{blocks}{time}", side.source, plural(side.count.0, "event"))
}

/// What to do about an undecided question.
fn longer(compared: &Compared) -> Option<String> {
    let questions = [&compared.core, &compared.high_percentile, &compared.tail_mass.question];
    let times = questions.iter().filter_map(|line| line.needed).reduce(f64::max)?;
    Some(match compared.more_s {
        Some(more) if more < 1e6 => {
            let time = if more >= 120.0 {
                format!("{}{JOIN}more minutes", three((more / 60.0).ceil()))
            } else {
                format!("{}{JOIN}more seconds", three(more.ceil()))
            };
            format!("{time} would decide it:  dropline compare --abba A B --duration TIME")
        }
        _ => format!("about {} times as many events would decide it", three(times.ceil())),
    })
}

fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", three(value)) } else { three(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_that_is_larger_than_what_matters_is_never_said_to_be_perhaps_less() {
        let line = |low, high| QuestionLine {
            estimate: Some((low + high) / 2.0),
            low: Some(low),
            high: Some(high),
            smallest_effect: 0.977,
            by_chance: Some(0.08),
            verdict: VerdictWord::NoEvidence,
            ..QuestionLine::default()
        };
        let words = |value: f64| format!("{value} us");
        for sign in [1.0, -1.0] {
            let (near, far) = (17.9 * sign, 36.6 * sign);
            let said = note(&line(f64::min(near, far), f64::max(near, far)), words);
            assert!(said.contains("the only question") && !said.contains("perhaps"), "{said}");
            let why = reason(&line(f64::min(near, far), f64::max(near, far))).unwrap();
            assert!(why.contains("in 8\u{a0}% of comparisons, and 5\u{a0}% is"), "{why}");
        }
        // A share of long events, as a ratio.
        let tail =
            QuestionLine { of_a: Some(0.01), of_b: Some(0.0195), smallest_effect: 0.02, ..line(1.11, 3.53) };
        let said = note(&QuestionLine { estimate: Some(1.95), ..tail }, |ratio| format!("x{ratio}"));
        assert!(said.contains("the only question") && !said.contains("could be"), "{said}");
        assert!(note(&line(0.5, 36.6), words).contains("perhaps less than 0.977 us"));
        // Where it is not chance that keeps it from being evidence, but too few turns, say.
        for by_chance in [None, Some(1e-9)] {
            let steps = || (-8..=8).map(|step| 0.3 * f64::from(step));
            for (low, high) in
                steps().flat_map(|low| steps().map(move |high| (low, high))).filter(|(l, h)| l < h)
            {
                let said = note(&QuestionLine { by_chance, ..line(low, high) }, words);
                let (nothing, ignored) = (low <= 0.0 && high >= 0.0, low <= 0.977 && high >= -0.977);
                let is_open = said.contains("either way") || said.contains(" less to ");
                assert_eq!(is_open, nothing, "{low} {high}: {said}");
                assert_eq!(said.contains("perhaps less"), ignored && !nothing, "{low} {high}: {said}");
                assert_eq!(said.contains("by these events alone"), !ignored, "{low} {high}: {said}");
            }
        }
    }
}
