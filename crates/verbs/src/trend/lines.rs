//! A history with what changed in it, as lines.

use super::acknowledged::{Acknowledged, Come, Moved, Told};
use super::confirming::Confirming;
use super::nights::{Night, Nights, Open};
use dropline_record::{
    ChangeLine, ConfirmationLine, DriftingLine, MarkLine, PointLine, Quantity, SegmentLine, SeriesLine,
    VerdictWord,
};
use dropline_stats::compare::Verdict;
use dropline_stats::trend::{
    Behind, Change, Drifting, Segment, SizedChange, Trend, WantedEffect, Widths, YOUNG,
};

/// A history with what changed in it.
pub(super) fn of(
    history: &Nights,
    wanted: WantedEffect,
    acknowledged: &Acknowledged,
    confirming: &Confirming,
) -> SeriesLine {
    let points: Vec<PointLine> = history.nights.iter().map(Night::point).collect();
    let (history, mut spikes) = history.without_outages();
    let history = &history;
    let found = Trend::of(&history.nights_as_numbers(), wanted);
    let lines = Lines { history, id: history.id(), wanted, acknowledged, confirming };
    let at = |night: usize| lines.at(night);
    let changes: Vec<ChangeLine> = found.iter().flat_map(|found| lines.changes(found)).collect();
    let mut drifts: Vec<DriftingLine> = found.iter().flat_map(|found| lines.drifts(found)).collect();
    let last_mark = history.marks().map(|(night, _)| at(night)).last();
    let level = found.as_ref().and_then(|found| Some(found.segments.first()?.level));
    let sum = together(&changes, last_mark.as_deref(), matters(history, wanted, level));
    drifts.extend(
        sum.map(|(from, to, size)| DriftingLine { together: true, ..lines.drift(from, to, size, false) }),
    );
    spikes.extend(found.iter().flat_map(|found| &found.excursions).map(|night| at(*night)));
    spikes.sort();
    let segments = found.iter().flat_map(|found| &found.segments);
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
        segments: segments.map(|segment| lines.segment(segment)).collect(),
        widths: widths(found.as_ref().map(|found| found.widths)).into(),
        scatter: found.as_ref().map(|found| found.scatter),
        likeness: found.as_ref().map(|found| found.likeness),
        id: lines.id,
    }
}

/// What all lines of a history are made from.
struct Lines<'a> {
    history: &'a Nights,
    id: String,
    wanted: WantedEffect,
    acknowledged: &'a Acknowledged,
    confirming: &'a Confirming,
}

impl Lines<'_> {
    fn at(&self, night: usize) -> String {
        self.history.nights[night].at.clone()
    }

    fn commits(&self) -> Vec<Option<&String>> {
        self.history.nights.iter().map(|night| night.labels.get("commit")).collect()
    }

    /// What matters of a change from this level.
    fn matters(&self, before: Option<f64>) -> WantedEffect {
        matters(self.history, self.wanted, before)
    }

    fn changes(&self, found: &Trend) -> Vec<ChangeLine> {
        let certain = found.changes.iter().filter(|change| is_certain(self.history, found, change));
        certain.map(|change| self.change(found, change)).collect()
    }

    fn change(&self, found: &Trend, change: &Change) -> ChangeLine {
        let [at, at_low, at_high] = [change.at, change.at_low, change.at_high].map(|night| self.at(night));
        let Told { id, acknowledged, .. } = self.acknowledged.told(&Moved {
            series: &self.id,
            rises: change.size > 0.0,
            at: &at,
            at_low: &at_low,
            at_high: &at_high,
            behind: false,
        });
        let before = found.segments.iter().rfind(|segment| segment.end <= change.at);
        let after = found.segments.iter().find(|segment| change.at < segment.end);
        let until = after.map_or(self.history.nights.len(), |segment| segment.end);
        let confirmation = before
            .and_then(|before| self.confirming.of(&id, self.history, found, (before, until), self.wanted));
        let judged = self.matters(before.map(|before| before.level));
        let of_nights = VerdictWord::from(judged.verdict(change.size_low, change.size_high));
        let commits = self.commits();
        ChangeLine {
            id,
            at,
            at_low,
            at_high,
            size: change.size,
            size_low: change.size_low,
            size_high: change.size_high,
            verdict: confirmed(of_nights, change.size, confirmation.as_ref()),
            suspected: change.is_suspected && confirmation.is_none(),
            acknowledged,
            by_chance: change.by_chance,
            confirmation,
            commits: [
                commits[..change.at_low].iter().rev().flatten().next().map(|commit| (*commit).clone()),
                commits[change.at_high..].iter().flatten().next().map(|commit| (*commit).clone()),
            ],
        }
    }

    fn drifts(&self, found: &Trend) -> Vec<DriftingLine> {
        let drift = |drift: &Drifting| {
            let Drifting { size, size_low: low, size_high: high, .. } = *drift;
            let before = found.segments.iter().rfind(|one| one.end <= drift.from + 1);
            let verdict = self.matters(before.map(|before| before.level)).verdict(low, high);
            let size = SizedChange { size, low, high, verdict };
            self.drift(&self.at(drift.from), &self.at(drift.to), size, false)
        };
        found.drifts.iter().map(drift).chain(self.behind(found)).collect()
    }

    /// Levels that came back, and not to where they were.
    fn behind(&self, found: &Trend) -> Vec<DriftingLine> {
        let line = |behind: &Behind| {
            let Behind { before, after, size, size_low: low, size_high: high, .. } = *behind;
            let level = found.segments.iter().find(|one| one.end == before.1).map(|one| one.level);
            let verdict = self.matters(level).verdict(low, high);
            let ends = [before, after].map(|(start, end)| self.history.open(start, end));
            let size = SizedChange { size, low, high, verdict };
            (verdict == Verdict::Regressed && are_certain(ends, size.size > 0.0))
                .then(|| self.drift(&self.at(before.1 - 1), &self.at(after.0), size, true))
        };
        found.behind.iter().filter_map(line).collect()
    }

    /// A drift, or a level that stays `behind` the one before.
    fn drift(&self, from: &str, to: &str, size: SizedChange, behind: bool) -> DriftingLine {
        let SizedChange { size, low, high, verdict } = size;
        let moved = Moved { series: &self.id, rises: size > 0.0, at: to, at_low: from, at_high: to, behind };
        let Told { id, acknowledged, of_it } =
            self.acknowledged.told_as_far(&moved, &Come { size, low, high }, self.wanted);
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
    }

    fn segment(&self, segment: &Segment) -> SegmentLine {
        SegmentLine { from: self.at(segment.start), to: self.at(segment.end - 1), level: segment.level }
    }
}

/// The verdict of a change of this size, of which nights say `of_nights`: that of fresh searches, where there are some. Nights enough
/// since then say more than these; and what says the contrary confirms nothing, and is no change of these nights.
fn confirmed(of_nights: VerdictWord, size: f64, fresh: Option<&ConfirmationLine>) -> VerdictWord {
    match fresh {
        Some(fresh) if fresh.nights_since < YOUNG as u64 || fresh.verdict == of_nights => {
            let is_contrary = fresh.verdict.is_change() && (fresh.size > 0.0) != (size > 0.0);
            if is_contrary { VerdictWord::NoEvidence } else { fresh.verdict }
        }
        _ => of_nights,
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
fn matters(history: &Nights, wanted: WantedEffect, before: Option<f64>) -> WantedEffect {
    match before.filter(|_| history.nights[0].quantity == Quantity::Delivered) {
        Some(share) => {
            let lost = (1.0 - share).max(0.0);
            WantedEffect { smallest_effect: wanted.smallest_effect * lost / share, ..wanted }
        }
        None => wanted,
    }
}

/// Changes since the last one that is known, or since the last mark, of which none matters alone: what they come to, if that
/// does matter; from when to when.
fn together<'a>(
    changes: &'a [ChangeLine],
    since: Option<&str>,
    wanted: WantedEffect,
) -> Option<(&'a str, &'a str, SizedChange)> {
    let is_new = |line: &&ChangeLine| !line.acknowledged && since.is_none_or(|since| *line.at > *since);
    let mut run: Vec<&ChangeLine> = changes.iter().rev().take_while(is_new).collect();
    run.reverse();
    let [first, .., last] = run.as_slice() else { return None };
    if run.iter().any(|line| line.verdict.is_change() || line.suspected) {
        return None;
    }
    let size: f64 = run.iter().map(|line| line.size.ln_1p()).sum();
    let half = |line: &&ChangeLine| ((line.size_high.ln_1p() - line.size_low.ln_1p()) / 2.0).powi(2);
    let sum = SizedChange::of(size, run.iter().map(half).sum::<f64>().sqrt(), wanted);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_searches_decide_until_enough_nights_have_passed_and_the_contrary_confirms_nothing() {
        use VerdictWord::{Improved, NoEvidence, Regressed};
        let fresh = |verdict, size, nights_since| ConfirmationLine {
            fresh: Vec::new(),
            good: Vec::new(),
            nights_since,
            size,
            size_low: size - 0.01,
            size_high: size + 0.01,
            verdict,
        };
        let said = |line: &ConfirmationLine| confirmed(Regressed, -0.1, Some(line));
        let enough = YOUNG as u64;
        assert_eq!(confirmed(Regressed, -0.1, None), Regressed);
        assert_eq!(said(&fresh(NoEvidence, 0.0, enough - 1)), NoEvidence, "fresh searches found nothing");
        assert_eq!(said(&fresh(NoEvidence, 0.0, enough)), Regressed, "nights enough since then say more");
        assert_eq!(said(&fresh(Improved, 0.1, 0)), NoEvidence, "the contrary is no change of these nights");
        assert_eq!(said(&fresh(Regressed, -0.1, enough)), Regressed);
    }
}
