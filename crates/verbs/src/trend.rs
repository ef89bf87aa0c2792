//! Many records: when did a limit move?

mod acknowledged;
pub mod confirm;
mod confirming;
mod nights;
mod sources;

pub use acknowledged::{Acknowledged, acknowledge};

use acknowledged::{Come, Moved, Told};
use confirming::Confirming;
use dropline_failure::{Failure, quoted};
use dropline_record::{
    ChangeLine, DriftingLine, IndexLine, LeftOutLine, MarkLine, PointLine, Quantity, Record, SegmentLine,
    SeriesLine, Trends, VerdictWord,
};
use dropline_stats::compare::{SMALLEST_EFFECT, Verdict};
use dropline_stats::trend::{
    Behind, Change, Drifting, ESTIMATOR, Segment, Sized, Trend, Wanted, Widths, YOUNG,
};
use dropline_trial::number_of;
use nights::{Night, Nights, Open, Without};
use sources::{once, read, record_at};
use std::path::{Path, PathBuf};

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Followed {
    /// A change by a smaller share does not matter; the usual one where nothing is said.
    pub smallest_effect: Option<f64>,
    /// Only these; all that an index keeps where nothing is said.
    pub quantities: Vec<Quantity>,
    /// The target that is measured beside the others, to be taken out of these.
    pub reference: Option<String>,
}

/// Reads records, and the records of directories, and looks for changes in each history.
///
/// # Errors
/// If a path that was named cannot be read, nothing in them is a night, or there is no history of the reference.
pub fn trend(paths: &[PathBuf], followed: &Followed) -> Result<Trends, Failure> {
    let mut left_out = Vec::new();
    let lines = read(paths, &followed.quantities, &mut left_out)?;
    let record = |source: &str| record_at(Path::new(source)).ok();
    let trends = of_lines(lines, left_out, &record, followed, || Acknowledged::beside(paths))?;
    if trends.series.is_empty() { Err(nothing(&trends.left_out)) } else { Ok(trends) }
}

/// The same of what an index says of records, each by its name; no series where none of them is a night.
pub(crate) fn of_lines(
    lines: Vec<(String, IndexLine)>,
    mut left_out: Vec<LeftOutLine>,
    record: &dyn Fn(&str) -> Option<Record>,
    followed: &Followed,
    acknowledged: impl FnOnce() -> Result<Acknowledged, Failure>,
) -> Result<Trends, Failure> {
    let smallest_effect = followed.smallest_effect.unwrap_or(SMALLEST_EFFECT);
    let (mut nights, mut silent) = (Vec::new(), Vec::new());
    for (source, line) in once(lines, record, &mut left_out) {
        let (found, without) = Night::all(&source, &line, &followed.quantities);
        nights.extend(found);
        for Without { series, why } in without {
            silent.extend(series);
            // Of a record that lost its end, that is said already.
            if line.finished || !left_out.iter().any(|left: &LeftOutLine| left.source == source) {
                left_out.push(LeftOutLine { source: source.clone(), why });
            }
        }
    }
    let (confirming, nights) = Confirming::out_of(nights);
    let acknowledged = if nights.is_empty() { Acknowledged::default() } else { acknowledged()? };
    let (mut histories, again) = Nights::all(nights);
    left_out.extend(again);
    if let Some(reference) = &followed.reference {
        if !histories.iter().any(|history| history.nights[0].series.target == *reference) {
            return Err(Failure::usage(format!(
                "there is no history of the reference {}",
                quoted(reference)
            ))
            .advice("name its target as its records do:  dropline history list"));
        }
        let (divided, without) = Nights::beside(histories, reference);
        histories = divided;
        left_out.extend(without);
    }
    let of = |history: &Nights| {
        let more_is_better = history.nights[0].quantity.more_is_better();
        line(history, Wanted { smallest_effect, more_is_better }, &acknowledged, &confirming)
    };
    let series: Vec<SeriesLine> = histories
        .iter()
        .map(|history| {
            let is_divided =
                history.nights[0].series.target != followed.reference.as_deref().unwrap_or_default();
            let reference = followed.reference.clone().filter(|_| is_divided);
            SeriesLine { reference, silent: history.silent(&silent), ..of(history) }
        })
        .collect();
    let told = series.iter().flat_map(|series| series.changes.iter().map(|change| change.id.clone()));
    left_out.extend(confirming.left_out(&told.collect()));
    Ok(Trends { series, smallest_effect, estimator: ESTIMATOR.into(), left_out })
}

/// Why there is no history.
fn nothing(left_out: &[LeftOutLine]) -> Failure {
    let first = left_out.first().map(|left| format!(": {}: {}", left.source, left.why)).unwrap_or_default();
    let files = match left_out.len() {
        0 => "there is no record in what was named".to_owned(),
        1 => format!("the only record is not a night of a history{first}"),
        count => format!("of {}, none is a night of a history{first}", number_of(count, "record")),
    };
    Failure::usage(files)
        .advice("keep a search of each night in one directory:  dropline search TARGET --history nights")
}

/// A history with what changed in it.
fn line(
    history: &Nights,
    wanted: Wanted,
    acknowledged: &Acknowledged,
    confirming: &Confirming,
) -> SeriesLine {
    let points: Vec<PointLine> = history.nights.iter().map(Night::point).collect();
    let (history, mut spikes) = history.without_outages();
    let history = &history;
    let found = Trend::of(&history.nights_as_numbers(), wanted);
    let at = |night: usize| history.nights[night].at.clone();
    let id = history.id();
    let changes = found.iter().flat_map(|found| found.changes.iter().map(move |change| (found, change)));
    let changes = changes.filter(|(found, change)| is_certain(history, found, change));
    let changes = changes.map(|(found, change)| {
        let commits: Vec<Option<&String>> =
            history.nights.iter().map(|night| night.labels.get("commit")).collect();
        let Told { id, acknowledged, .. } = acknowledged.told(&Moved {
            series: &id,
            rises: change.size > 0.0,
            at: &at(change.at),
            at_low: &at(change.at_low),
            at_high: &at(change.at_high),
            behind: false,
        });
        let before = found.segments.iter().rfind(|segment| segment.end <= change.at);
        let after = found.segments.iter().find(|segment| change.at < segment.end);
        let until = after.map_or(history.nights.len(), |segment| segment.end);
        let confirmation =
            before.and_then(|before| confirming.of(&id, history, found, (before, until), wanted));
        let judged = matters(history, wanted, before.map(|before| before.level));
        let of_nights = VerdictWord::from(judged.verdict(change.size_low, change.size_high));
        ChangeLine {
            id,
            at: at(change.at),
            at_low: at(change.at_low),
            at_high: at(change.at_high),
            size: change.size,
            size_low: change.size_low,
            size_high: change.size_high,
            verdict: confirmation.as_ref().map_or(of_nights, |fresh| {
                if fresh.nights_since >= YOUNG as u64 && fresh.verdict != of_nights {
                    return of_nights;
                }
                // Fresh searches that say the contrary do not confirm it, and are no change of these nights.
                let is_contrary = fresh.verdict.is_change() && (fresh.size > 0.0) != (change.size > 0.0);
                if is_contrary { VerdictWord::NoEvidence } else { fresh.verdict }
            }),
            suspected: change.is_suspected && confirmation.is_none(),
            acknowledged,
            by_chance: change.by_chance,
            confirmation,
            commits: [
                commits[..change.at_low].iter().rev().flatten().next().map(|commit| (*commit).clone()),
                commits[change.at_high..].iter().flatten().next().map(|commit| (*commit).clone()),
            ],
        }
    });
    let drifting = |(from, to): (&str, &str), Sized { size, low, high, verdict }: Sized, behind: bool| {
        let moved = Moved { series: &id, rises: size > 0.0, at: to, at_low: from, at_high: to, behind };
        let Told { id, acknowledged, of_it } =
            acknowledged.told_as_far(&moved, &Come { size, low, high }, wanted);
        DriftingLine {
            id,
            together: false,
            behind,
            from: from.to_owned(),
            to: to.to_owned(),
            size,
            size_low: low,
            size_high: high,
            verdict: VerdictWord::from(verdict),
            acknowledged,
            acknowledged_size: of_it,
        }
    };
    let drifts = found.iter().flat_map(|found| &found.drifts).map(|drift| {
        let Drifting { size, size_low: low, size_high: high, .. } = *drift;
        let before = found.iter().flat_map(|found| &found.segments).rfind(|one| one.end <= drift.from + 1);
        let verdict = matters(history, wanted, before.map(|before| before.level)).verdict(low, high);
        drifting((&at(drift.from), &at(drift.to)), Sized { size, low, high, verdict }, false)
    });
    let behind = found.iter().flat_map(|found| &found.behind).filter_map(|behind| {
        let Behind { before, after, size, size_low: low, size_high: high, .. } = *behind;
        let mut segments = found.iter().flat_map(|found| &found.segments);
        let level = segments.find(|one| one.end == before.1).map(|one| one.level);
        let verdict = matters(history, wanted, level).verdict(low, high);
        let ends = [before, after].map(|(start, end)| history.open(start, end));
        (verdict == Verdict::Regressed && are_certain(ends, size > 0.0))
            .then(|| drifting((&at(before.1 - 1), &at(after.0)), Sized { size, low, high, verdict }, true))
    });
    let segments = found.iter().flat_map(|found| &found.segments).map(|segment| SegmentLine {
        from: at(segment.start),
        to: at(segment.end - 1),
        level: segment.level,
    });
    let changes: Vec<ChangeLine> = changes.collect();
    let mut drifts: Vec<DriftingLine> = drifts.chain(behind).collect();
    let last_mark = history.marks().map(|(night, _)| at(night)).last();
    let level = found.as_ref().and_then(|found| Some(found.segments.first()?.level));
    drifts.extend(
        together(&changes, last_mark.as_deref(), matters(history, wanted, level))
            .map(|(from, to, size)| DriftingLine { together: true, ..drifting((from, to), size, false) }),
    );
    spikes.extend(found.iter().flat_map(|found| &found.excursions).map(|night| at(*night)));
    spikes.sort();
    let first = &history.nights[0];
    SeriesLine {
        target: first.series.target.clone(),
        quantity: first.quantity,
        loss_ratio: first.goal.as_ref().map(|goal| goal.loss_ratio),
        goal: first.words.clone(),
        reference: None,
        load_unit: first.load_unit,
        machine: first.series.machine.clone(),
        dropline: first.series.dropline.clone(),
        points,
        changes,
        drifts,
        silent: 0,
        spikes,
        marks: history.marks().map(|(night, text)| MarkLine { at: at(night), text }).collect(),
        segments: segments.collect(),
        widths: widths(found.as_ref().map(|found| found.widths)).into(),
        scatter: found.as_ref().map(|found| found.scatter),
        likeness: found.as_ref().map(|found| found.likeness),
        id,
    }
}

/// Whether a change is one, whatever the limit of nights is of which one end is known: a rise to what is a limit or more, a fall from
/// there; and the contrary of what is a limit or less.
fn is_certain(history: &Nights, found: &Trend, change: &Change) -> bool {
    let level = |holds: &dyn Fn(&Segment) -> bool| {
        let segment = found.segments.iter().find(|segment| holds(segment))?;
        history.open(segment.start, segment.end)
    };
    let (before, after) =
        (level(&|segment| segment.end == change.at), level(&|segment| segment.start == change.at));
    are_certain([before, after], change.size > 0.0)
}

/// The same of the ends of which one side is known before and after.
fn are_certain([before, after]: [Option<Open>; 2], rises: bool) -> bool {
    before.is_none_or(|open| (open == Open::Below) == rises)
        && after.is_none_or(|open| (open == Open::Above) == rises)
}

/// What matters of a change from this level. A share that came back is judged by what was lost of it: from 0.01 % lost to 1.5 % is 150
/// times, and hardly a change of what came back.
fn matters(history: &Nights, wanted: Wanted, before: Option<f64>) -> Wanted {
    match before.filter(|_| history.nights[0].quantity == Quantity::Delivered) {
        Some(share) => {
            let lost = (1.0 - share).max(0.0);
            Wanted { smallest_effect: wanted.smallest_effect * lost / share, ..wanted }
        }
        None => wanted,
    }
}

/// Changes since the last one that is known, or since the last mark, of which none matters alone: what they come to, if that
/// does matter; from when to when.
fn together<'a>(
    changes: &'a [ChangeLine],
    since: Option<&str>,
    wanted: Wanted,
) -> Option<(&'a str, &'a str, Sized)> {
    let is_new = |line: &&ChangeLine| !line.acknowledged && since.is_none_or(|since| *line.at > *since);
    let mut run: Vec<&ChangeLine> = changes.iter().rev().take_while(is_new).collect();
    run.reverse();
    let [first, .., last] = run.as_slice() else { return None };
    if run.iter().any(|line| line.verdict.is_change() || line.suspected) {
        return None;
    }
    let size: f64 = run.iter().map(|line| line.size.ln_1p()).sum();
    let half = |line: &&ChangeLine| ((line.size_high.ln_1p() - line.size_low.ln_1p()) / 2.0).powi(2);
    let sum = Sized::of(size, run.iter().map(half).sum::<f64>().sqrt(), wanted);
    VerdictWord::from(sum.verdict).is_change().then_some((first.at.as_str(), last.at.as_str(), sum))
}

fn widths(found: Option<Widths>) -> &'static str {
    match found {
        Some(Widths::Used) => "used",
        Some(Widths::Alike) => "alike",
        Some(Widths::NotFitting) => "not_fitting",
        Some(Widths::Unknown) | None => "unknown",
    }
}
