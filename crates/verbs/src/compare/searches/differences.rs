//! What else differs between two searches, and what either doubts: the ratio of their limits says nothing of it.

use super::super::SAME_DATA;
use super::super::conditions::{conditions, otherwise};
use super::{Searched, bound_above, listed};
use crate::resume::going_on;
use dropline_record::{AnswerLine, CaveatLine, GoalLine, MovedLine};
use dropline_report::denying;
use dropline_trial::number_of;

/// Doubts of where the limit is, beside those that deny an answer and those of our own side.
const ABOUT_THE_LIMIT: [&str; 4] = ["interrupted", "outage", "target_starved", "waiting_grew"];

/// What a reader of the ratios has to know.
pub(super) fn caveats(
    a: &Searched,
    b: &Searched,
    goals: &[MovedLine],
    alone: &[GoalLine],
) -> Vec<CaveatLine> {
    let mut caveats: Vec<CaveatLine> = same(a, b).into_iter().collect();
    caveats.extend([a, b].into_iter().flat_map(doubts));
    caveats.extend(goals.iter().flat_map(about_goal));
    if !alone.is_empty() {
        let only = |side: &Searched| {
            let is_own = |goal: &&GoalLine| side.answers.iter().any(|answer| answer.goal == **goal);
            let own: Vec<GoalLine> = alone.iter().filter(is_own).cloned().collect();
            (!own.is_empty()).then(|| format!("only {} was asked for {}", side.name, listed(&own)))
        };
        let words: Vec<String> = [a, b].into_iter().filter_map(only).collect();
        caveats.push(CaveatLine::said("goals_left_out", format!("not compared: {}", words.join(", "))));
    }
    caveats.extend(otherwise(conditions(&a.record), conditions(&b.record)));
    if !are_same(a, b) {
        caveats.push(CaveatLine::said(
            "not_interleaved",
            "the searches were made at different times: whatever else changed in between is in the ratio, and not in its \
             interval",
        ));
    }
    caveats
}

/// Trials that both have.
fn shared(a: &Searched, b: &Searched) -> usize {
    a.record.trials.len().min(b.record.trials.len())
}

/// Whether both are one measurement, as far as the shorter one goes: there is nothing to compare.
pub(super) fn are_same(a: &Searched, b: &Searched) -> bool {
    let both = shared(a, b);
    a.record.trials[..both] == b.record.trials[..both]
}

/// What was measured once, however many files hold it.
fn same(a: &Searched, b: &Searched) -> Option<CaveatLine> {
    are_same(a, b).then(|| {
        let both = shared(a, b);
        CaveatLine::said(
            SAME_DATA,
            format!(
                "{} of {} are in {} too, number for number: a file, its copy or its resumption, or \
                 a simulation repeated with its seed; that says nothing about whether a limit moved: search again",
                number_of(both, "trial"),
                a.name,
                b.name
            ),
        )
    })
}

fn doubts(side: &Searched) -> Vec<CaveatLine> {
    let Searched { name, record, answers } = side;
    let of_limit = |caveat: &CaveatLine| {
        let code = caveat.code.as_str();
        caveat.is_disturbing() || denying().any(|one| one == code) || ABOUT_THE_LIMIT.contains(&code)
    };
    let mut doubts: Vec<CaveatLine> = record
        .caveats()
        .into_iter()
        .filter(of_limit)
        .chain(record.reading.iter().cloned())
        .map(|caveat| CaveatLine { text: format!("{name}: {}", caveat.text), ..caveat })
        .collect();
    if answers.iter().any(|answer| answer.why.as_deref() == Some("unfinished")) {
        doubts.push(CaveatLine::said(
            "unfinished",
            format!(
                "{name}: the search did not finish, and what it knew after {} is compared; resume it:  {}",
                number_of(record.trials.len(), "trial"),
                going_on(name, &record.header)
            ),
        ));
    }
    doubts
}

fn about_goal(line: &MovedLine) -> Vec<CaveatLine> {
    let words = line.of_a.goal.words();
    let mut caveats = Vec::new();
    let mut say = |code: &str, text: String| caveats.push(CaveatLine::said(code, text));
    let is_open = |answer: &AnswerLine| answer.lower_pps.is_none() || bound_above(answer).is_none();
    let is_unfinished = |answer: &AnswerLine| answer.why.as_deref() == Some("unfinished");
    let is_of_others = line.of_a.is_generators() || line.of_b.is_generators();
    let are_open = is_open(&line.of_a) && is_open(&line.of_b) && line.low.is_none() && line.high.is_none();
    if are_open && (is_unfinished(&line.of_a) || is_unfinished(&line.of_b)) {
        say(
            "not_known_yet",
            format!(
                "{words}: neither search knows its limit from both sides yet, so their ratio is not known; resume what did \
                 not finish, and compare again"
            ),
        );
    } else if are_open && !is_of_others {
        say(
            "beyond_range",
            format!(
                "{words}: both limits are beyond the loads that were tried, so their ratio is not known; search both \
                 again with a lower --min-load or a higher --max-load"
            ),
        );
    } else if let Some((side, _)) =
        [("A", &line.of_a), ("B", &line.of_b)].into_iter().find(|(_, of)| is_unfinished(of))
    {
        say(
            "not_known_yet",
            format!(
                "{words}: the search of {side} did not come to its end, and its bounds are what single trials showed; resume \
                 it (search --resume FILE, with a larger --budget if that ended it), and compare again"
            ),
        );
    } else if is_of_others {
        // It is not valid, which is said elsewhere.
    } else if line.of_a.level.and(line.of_b.level).is_none() {
        say(
            "bounds_have_no_level",
            format!(
                "{words}: bounds do not say how often they hold the true value, and those of two searches of one target \
                 that varies need not meet; they were widened until the trials of both searches rule out what is beyond, and \
                 --algorithm credible says more"
            ),
        );
    }
    let asked = |goal: &GoalLine| {
        let exceed = (goal.exceed_ratio * 1e11).round() / 1e9;
        format!("trials of {} s, of which {exceed} % may lose more", goal.trial_duration_s)
    };
    let (of_a, of_b) = (asked(&line.of_a.goal), asked(&line.of_b.goal));
    if of_a != of_b {
        say(
            "goals_differ",
            format!(
                "{words}: A asks about {of_a}, and B about {of_b}: where loss is random these have different limits"
            ),
        );
    }
    caveats
}
