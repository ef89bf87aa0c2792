//! A goal in words, and what a search asked of it.

use crate::number::{self, JOIN};
use dropline_record::{AnswerLine, GoalLine, SearchLine};

/// A goal in words that stay together: `0.5 % loss`, `p99 < 200 us`.
pub(crate) fn goal_words(goal: &GoalLine) -> String {
    let words = goal.words();
    if goal.within_s.is_some() {
        words.replace(' ', &JOIN.to_string())
    } else {
        words.replace(" %", &format!("{JOIN}%"))
    }
}

/// What a limit is, as a table has it: `drops above`, `p99 reaches 200 us at`.
pub(crate) fn limit_words<'a>(goals: impl Iterator<Item = &'a GoalLine>) -> String {
    let mut bounds: Vec<Option<(String, String)>> = goals.map(GoalLine::bound_words).collect();
    bounds.dedup();
    match bounds.as_slice() {
        [Some((what, bound))] => format!("{what} reaches {} at", bound.replace(' ', &JOIN.to_string())),
        [Some(_), ..] => "reaches its bound at".into(),
        _ => "drops above".into(),
    }
}

/// `without loss`, `with at most 0.5 % loss`, `with p99 < 200 us`.
pub(crate) fn loss_words(goal: &GoalLine) -> String {
    if goal.within_s.is_some() {
        format!("with {}", goal_words(goal))
    } else if goal.loss_ratio == 0.0 {
        "without loss".into()
    } else {
        format!("with at most {}", goal.words().replace(" %", &format!("{JOIN}%")))
    }
}

/// All attributes of a goal but its loss ratio, defaults included (RFC 9971 R33).
pub(crate) fn attributes(goal: &GoalLine) -> String {
    format!(
        "exceed ratio {}, trial {}, initial trial {}, duration sum {}, width {} of the upper bound",
        number::percent(goal.exceed_ratio),
        number::seconds(goal.trial_duration_s),
        number::seconds(goal.initial_trial_duration_s),
        number::seconds(goal.duration_sum_s),
        number::percent(goal.width)
    )
}

/// What a trial's time counts as (RFC 9971 §4.5.8).
pub(crate) fn effective_words(search: &SearchLine) -> String {
    match search.effective_duration.as_str() {
        "elapsed_s" => "all it cost, waits and overheads included (elapsed_s)".into(),
        "duration_s" => "as long as the load was offered (duration_s)".into(),
        other => other.into(),
    }
}

/// Names of the goals; goals of one loss ratio are numbered.
pub(super) fn names(answers: &[AnswerLine]) -> Vec<String> {
    let words: Vec<String> = answers.iter().map(|answer| goal_words(&answer.goal)).collect();
    let shared = |word: &String| words.iter().filter(|other| *other == word).count() > 1;
    words
        .iter()
        .enumerate()
        .map(
            |(index, word)| {
                if shared(word) { format!("{word} (goal{JOIN}{})", index + 1) } else { word.clone() }
            },
        )
        .collect()
}
