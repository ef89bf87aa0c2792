//! Whether a measurement is one of its target: what our own side, or the path, did to it comes before any verdict.

use dropline_record::{AnswerLine, CaveatLine, Record, TargetKind, TrialLine};
use dropline_trial::number_of;

/// Whether what performed its trials is a program of somebody's, which alone knows more than it counted.
pub(crate) fn is_counted_elsewhere(target: &str) -> bool {
    TargetKind::of(target).is_some_and(|kind| kind.is_of_a_program)
}

/// Whether the trial says more about us than about the target.
pub fn is_invalid(line: &TrialLine) -> bool {
    line.caveats.iter().any(CaveatLine::is_invalidating)
}

/// Whether that is so of half of the trials or more.
pub(crate) fn are_mostly_invalid(lines: &[&TrialLine]) -> bool {
    2 * lines.iter().filter(|line| is_invalid(line)).count() >= lines.len().max(1)
}

/// Whether a goal's answer is about this generator and not about the target.
pub fn is_generators(record: &Record) -> bool {
    let goals = record.result.as_ref().map(|result| result.goals.as_slice()).unwrap_or_default();
    goals.iter().any(AnswerLine::is_generators)
}

/// The doubts of several trials, each kind once, with how many trials it is about.
pub(crate) fn doubts(lines: &[&TrialLine]) -> Vec<CaveatLine> {
    let mut found: Vec<(CaveatLine, usize)> = Vec::new();
    for caveat in lines.iter().flat_map(|line| &line.caveats) {
        match found.iter_mut().find(|(known, _)| known.code == caveat.code) {
            Some((_, trials)) => *trials += 1,
            None => found.push((caveat.clone(), 1)),
        }
    }
    let said = |(caveat, trials): (CaveatLine, usize)| match lines.len() {
        1 => caveat,
        all => {
            let text = format!("{trials} of {}, as in one of them: {}", number_of(all, "trial"), caveat.text);
            CaveatLine { text, ..caveat }
        }
    };
    found.into_iter().map(said).collect()
}
