//! What a comparison comes to, in a sentence.

use super::{is_beyond, percentile, questions, reason};
use crate::number::percent;
use crate::verdict;
use dropline_record::compared::QuestionLine;
use dropline_record::{CaveatLine, Compared, DesignWord, VerdictWord};

/// The verdict and what it comes to.
pub(crate) fn first_line(compared: &Compared, join: &str) -> String {
    let Compared { verdict, not_valid, caveats, .. } = compared;
    verdict::told(*verdict, not_valid.as_deref(), caveats, join, || story(compared))
}

/// Whether one packet in ten or more is lost of one side that is not of the other: it comes before what is said of delays.
pub(crate) fn is_mostly_of_loss(compared: &Compared) -> bool {
    const MANY: f64 = 0.1;
    let loss = compared.loss.as_ref().and_then(|loss| loss.question.estimate);
    loss.is_some_and(|difference| difference.abs() >= MANY)
}

/// `typical faster, slow path more often`.
fn story(compared: &Compared) -> String {
    let core = match compared.core.verdict {
        VerdictWord::Regressed if compared.core.lost_of_b => Some("the typical one is lost"),
        VerdictWord::Improved => Some("typical faster"),
        VerdictWord::Regressed => Some("typical slower"),
        _ => None,
    };
    let high = match compared.high_percentile.verdict {
        VerdictWord::Improved => Some(format!("{} lower", percentile(compared))),
        VerdictWord::Regressed if compared.high_percentile.lost_of_b => {
            Some(format!("{} lost", percentile(compared)))
        }
        VerdictWord::Regressed => Some(format!("{} higher", percentile(compared))),
        _ => None,
    };
    let tail = match compared.tail_mass.question.verdict {
        VerdictWord::Improved => Some("slow path less often"),
        VerdictWord::Regressed => Some("slow path more often"),
        _ => None,
    };
    let loss = match compared.loss.as_ref().map(|loss| loss.question.verdict) {
        Some(VerdictWord::Improved) => Some("less is lost"),
        Some(VerdictWord::Regressed) => Some("more is lost"),
        _ => None,
    };
    // Where many are lost, all else follows from that.
    let (first, last) = if is_mostly_of_loss(compared) { (loss, None) } else { (None, loss) };
    let words = |found: Option<&str>| found.map(String::from);
    let found: Vec<String> =
        [words(first), words(core), high, words(tail), words(last)].into_iter().flatten().collect();
    match (found.is_empty(), compared.verdict) {
        (false, _) => found.join(", "),
        (true, VerdictWord::Equivalent) => "no difference that matters".into(),
        (true, _) if compared.core.verdict == VerdictWord::Equivalent => {
            "the typical one differs by less than matters; of the others too little is known to say".into()
        }
        (true, _) => {
            let wanders =
                |caveat: &CaveatLine| ["alike_slices", "dependent_events"].contains(&caveat.code.as_str());
            let in_turns = compared.design == DesignWord::Interleaved;
            if compared.caveats.iter().any(|caveat| caveat.code == "few_turns") {
                return "there are too few turns to tell a difference of A and B from how turns of one of them differ: \
                        measure longer"
                    .into();
            }
            let alone = |line: &QuestionLine| {
                let ends = line.low.zip(line.high).filter(|_| reason(line).is_none());
                ends.is_some_and(|(low, high)| is_beyond(line, low, high))
            };
            if questions(compared).any(|(_, line)| alone(line)) {
                return "what these events show by themselves may be scatter, for each is like the one before it: measure \
                        in turns (--abba), or longer"
                    .into();
            }
            undecided(compared.p_b_slower, compared.caveats.iter().any(wanders), in_turns)
        }
    }
}

/// From this share of pairs on, what was seen is a difference, though it may be chance.
const NEARLY_ALL: f64 = 0.95;

/// What was seen and is no evidence: hardly a pair the other way round is told with what keeps it from being any.
fn undecided(b_slower: Option<f64>, wanders: bool, in_turns: bool) -> String {
    let nearly_all = b_slower.map(|slower| (slower.max(1.0 - slower), slower > 0.5));
    let Some((share, longer)) = nearly_all.filter(|(share, _)| *share >= NEARLY_ALL) else {
        return "these events do not show a difference, and do not rule one out".into();
    };
    let how = if longer { "longer" } else { "shorter" };
    let why =
        if wanders { "the measurement wanders too much" } else { "there are too few events or time slices" };
    let cure = if in_turns { "measure longer" } else { "measure in turns (--abba), or longer" };
    format!(
        "an event of B is {how} than one of A in {} of pairs, but {why} to tell that from random scatter: {cure}",
        percent(share)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_every_pair_one_way_round_is_never_called_no_difference() {
        for slower in [None, Some(0.5), Some(0.94), Some(0.06)] {
            assert!(undecided(slower, true, false).contains("do not show a difference"), "{slower:?}");
        }
        for (slower, seen) in [
            (1.0, "longer than one of A in 100"),
            (0.0, "shorter than one of A in 100"),
            (0.05, "shorter than one of A in 95"),
        ] {
            let said = undecided(Some(slower), true, false);
            assert!(said.contains(seen) && !said.contains("do not show"), "{said}");
            assert!(
                said.contains("wanders too much") && said.ends_with("measure in turns (--abba), or longer"),
                "{said}"
            );
        }
        let few = undecided(Some(1.0), false, true);
        assert!(few.contains("too few events") && few.ends_with("measure longer"), "{few}");
    }
}
