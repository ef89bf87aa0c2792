//! Whether limits moved between two searches, in words that every front end shares.

use crate::number::{JOIN, Loads, decimals_of, digits, fixed, low, percent, rounded, three};
use crate::search_summary::{goal_words, limit_words};
use crate::verdict;
use dropline_record::{
    AnswerLine, ComparedSearches, MovedLine, OpenLine, ResultWord, SearchedLine, VerdictWord,
};

/// The verdict and what it comes to.
pub(crate) fn first_line(compared: &ComparedSearches) -> String {
    let ComparedSearches { verdict, not_valid, caveats, .. } = compared;
    verdict::told(*verdict, not_valid.as_deref(), caveats, ": ", || story(compared))
}

/// `B takes 9.1 % less than A for no loss, at least 4 % less than A for 0.5 % loss`: what was found, in one line.
fn story(compared: &ComparedSearches) -> String {
    let found = || {
        let is_found =
            |line: &&MovedLine| matches!(line.verdict, VerdictWord::Improved | VerdictWord::Regressed);
        compared.goals.iter().filter(is_found)
    };
    let known: Vec<String> = found()
        .filter(|line| line.ratio.is_some())
        .map(|line| format!("{} for {}", moved(line), goal(line)))
        .collect();
    let takes = (!known.is_empty()).then(|| format!("B takes {}", known.join(", ")));
    let bounded = found().filter(|line| line.ratio.is_none()).map(|line| moved_by(line, compared));
    let found: Vec<String> = takes.into_iter().chain(bounded).collect();
    match (found.is_empty(), compared.verdict) {
        (false, _) => found.join("; "),
        (true, VerdictWord::Equivalent) => {
            format!("no limit moved by {} or more", percent(compared.smallest_effect))
        }
        (true, _) => undecided(compared),
    }
}

/// What is to say where nothing was found: first why an answer does not stand, then that an interval excludes no change.
fn undecided(compared: &ComparedSearches) -> String {
    let mut doubts = compared.goals.iter().filter_map(|line| Some((goal(line), line.doubted.as_ref()?)));
    if let Some((goal, why)) = doubts.next() {
        return format!("whether the limit for {goal} moved is not known, for {why}");
    }
    match compared.goals.iter().any(excludes_none) {
        true => format!(
            "a limit seems to have moved, and these searches do not show that it did by {} or more",
            percent(compared.smallest_effect)
        ),
        false => match named(compared, VerdictWord::Equivalent) {
            settled if settled.is_empty() => {
                "these searches do not show that a limit moved, and do not rule it out".into()
            }
            settled => format!(
                "these searches do not show that the limit for {} moved, and do not rule it out; that for {} did not move by {} or \
                 more",
                named(compared, VerdictWord::NoEvidence),
                settled,
                percent(compared.smallest_effect)
            ),
        },
    }
}

/// The goals of a verdict.
fn named(compared: &ComparedSearches, verdict: VerdictWord) -> String {
    let of = compared.goals.iter().filter(|line| line.verdict == verdict);
    crate::number::listed(&of.map(goal).collect::<Vec<_>>())
}

/// Whether the interval of an undecided goal excludes that nothing changed.
fn excludes_none(line: &MovedLine) -> bool {
    line.verdict == VerdictWord::NoEvidence
        && (line.low.is_some_and(|low| low > 1.0) || line.high.is_some_and(|high| high < 1.0))
}

/// `9.1 % less than A`.
fn moved(line: &MovedLine) -> String {
    let less_or_more = |ratio: f64| {
        if ratio >= MANY {
            return format!("{} times as much as A", change_of(line, ratio).trim_start_matches('×'));
        }
        let word = if ratio < 1.0 { "less" } else { "more" };
        format!("{} {word} than A", change_of(line, ratio).trim_start_matches(['+', '\u{2212}']))
    };
    line.ratio.map_or_else(String::new, less_or_more)
}

/// `the limit for no loss fell to less than 1.000 kpps, by at least 98 %`: a limit that is beyond the loads that were tried.
fn moved_by(line: &MovedLine, compared: &ComparedSearches) -> String {
    let loads = loads(compared).as_fine_as(compared.load_unit, &line.of_b);
    let at_least = |load: f64| format!("at least {}", loads.with_unit(loads.floor(load)));
    let less = |load: f64| format!("less than {}", loads.with_unit(loads.ceil(load)));
    let (how, to, by) = match line.verdict {
        VerdictWord::Improved => ("rose", line.of_b.lower_pps.map(at_least), line.low),
        _ => ("fell", line.of_b.upper_pps.map(less), line.high),
    };
    let to = to.map_or_else(String::new, |to| format!(" to {to}"));
    let least = |ratio: f64| match ratio >= MANY {
        true => format!(", {} or more", times(ratio, f64::floor)),
        false => format!(", by at least {}{JOIN}%", low((ratio - 1.0).abs() * 100.0)),
    };
    let by = by.map_or_else(String::new, least);
    format!("the limit for {} {how}{to}{by}", goal(line))
}

/// What the columns of limits are called: `A drops above`, or that a delay reaches its bound.
pub(crate) fn limit_heads(compared: &ComparedSearches) -> [String; 2] {
    let words = limit_words(compared.goals.iter().map(|line| &line.of_a.goal));
    ["A", "B"].map(|side| match words.as_str() {
        "drops above" => format!("{side} {words}, {}", loads(compared).unit),
        _ => format!("{side}: {words}, {}", loads(compared).unit),
    })
}

/// The goal with a number that stays with its unit.
pub(crate) fn goal(line: &MovedLine) -> String {
    goal_words(&line.of_a.goal)
}

/// `−9.1 %`: the change that a ratio is.
pub(crate) fn change(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "unknown".into(), |ratio| in_three(ratio, |change| change))
}

/// From here on a limit is so many times the other, and no per cent more.
const MANY: f64 = 10.0;

/// `×138 000`.
fn times(ratio: f64, round: fn(f64) -> f64) -> String {
    let coarse = 10f64.powf(ratio.log10().floor() - 2.0);
    format!("×{}", three(rounded(ratio / coarse, 0, round).round() * coarse))
}

/// The same in three digits, rounded in one direction.
pub(crate) fn in_three(ratio: f64, round: fn(f64) -> f64) -> String {
    if ratio >= MANY {
        return times(ratio, round);
    }
    let (change, decimals) = in_per_cent(ratio, decimals_of((ratio - 1.0) * 100.0, 3), round);
    // Behind 99 as many digits as tell what is left.
    let value = digits(change, if change < -99.0 { 2 + decimals as i32 } else { 3 });
    format!("{}{value}{JOIN}%", if ratio > 1.0 { "+" } else { "" })
}

/// The change that a ratio is, in per cent, rounded to so many decimals, and to more where a limit that is not 0 would have fallen by all.
fn in_per_cent(ratio: f64, decimals: usize, round: fn(f64) -> f64) -> (f64, usize) {
    let told = |decimals| (rounded((ratio - 1.0) * 100.0, decimals, round), decimals);
    let is_all = |(change, _): &(f64, usize)| ratio > 0.0 && *change <= -100.0;
    (decimals..9).map(told).find(|told| !is_all(told)).unwrap_or_else(|| told(9))
}

/// What became of a limit, in digits that its interval supports.
pub(crate) fn told(line: &MovedLine) -> String {
    line.ratio.map_or_else(|| change(None), |ratio| change_of(line, ratio))
}

/// A change in digits that the interval supports: ten units of the last one at least from end to end.
fn change_of(line: &MovedLine, ratio: f64) -> String {
    change_to(line, ratio, |change| change)
}

/// The same, rounded in one direction.
fn change_to(line: &MovedLine, ratio: f64, round: fn(f64) -> f64) -> String {
    let ends = line.low.zip(line.high).filter(|(low, high)| high > low && *high < MANY);
    let Some((low, high)) = ends else {
        return in_three(ratio, round);
    };
    let decimals = (-((high - low) * 10.0).log10()).ceil().clamp(0.0, 4.0) as usize;
    let (change, decimals) = in_per_cent(ratio, decimals, round);
    let value = fixed(change, decimals);
    let is_zero = value.chars().all(|sign| matches!(sign, '0' | '.'));
    format!("{}{value}{JOIN}%", if ratio > 1.0 && !is_zero { "+" } else { "" })
}

/// `[−11.6 %, −6.4 %]`, or the one end that is known: each rounded outwards.
pub(crate) fn interval(line: &MovedLine) -> String {
    let [low, high] = [(line.low, f64::floor as fn(f64) -> f64), (line.high, f64::ceil)]
        .map(|(end, round)| end.map(|ratio| change_to(line, ratio, round)));
    match (low, high) {
        (Some(low), Some(high)) => format!("[{low}, {high}]"),
        (Some(low), None) => format!("{low} or more"),
        (None, Some(high)) => format!("{high} or less"),
        (None, None) => "not bounded".into(),
    }
}

const AT_RANDOM: &str = "of several goals one moves as far at random";

/// What an undecided goal still allows, or why what was found does not matter.
pub(crate) fn note(line: &MovedLine, smallest_effect: f64) -> Option<String> {
    let effect = percent(smallest_effect);
    let zone = 1.0 + smallest_effect;
    let beyond = line.low.is_some_and(|low| low > zone) || line.high.is_some_and(|high| high * zone < 1.0);
    let is_open_below = |open: Option<OpenLine>| open.is_some_and(|open| open.low_pps.is_none());
    let bears_nothing = is_open_below(line.open_a) || is_open_below(line.open_b);
    let others = line.of_a.about_others().or_else(|| line.of_b.about_others());
    match (line.verdict, line.low, line.high) {
        _ if line.doubted.is_some() => line.doubted.as_ref().map(|doubted| match excludes_none(line) {
            true if bears_nothing => {
                format!(
                    "{doubted}; no trial met the goal since, so the range is of what failed, not of a limit"
                )
            }
            true if beyond => format!("{doubted}; by itself what its trials leave open moved; {AT_RANDOM}"),
            true => format!("{doubted}; what its trials leave open moved, but perhaps by less than {effect}"),
            false => doubted.clone(),
        }),
        (VerdictWord::Equivalent, _, _) => Some(format!("within {effect}")),
        (VerdictWord::NoEvidence, _, _) if others.is_some() => {
            others.map(|others| format!("an answer is about {others}, and not about the target"))
        }
        (VerdictWord::NoEvidence, _, _) if beyond => {
            Some(format!("by itself it would have moved; {AT_RANDOM}"))
        }
        (VerdictWord::NoEvidence, _, _) if excludes_none(line) => {
            Some(format!("it moved, but perhaps by less than {effect}"))
        }
        (VerdictWord::NoEvidence, Some(low), Some(high)) => Some(format!(
            "it could be {} to {}",
            change_to(line, low, f64::floor),
            change_to(line, high, f64::ceil)
        )),
        _ => None,
    }
}

/// What would decide the undecided goals.
pub(crate) fn longer(compared: &ComparedSearches) -> Option<String> {
    // More of the same does not settle an answer that its own search denies.
    let undecided = || compared.goals.iter().filter(|line| line.needed.is_some());
    if compared.goals.iter().any(|line| line.doubted.is_some()) {
        return None;
    }
    let times = undecided().filter_map(|line| line.needed).reduce(f64::max)?;
    let elapsed = compared.a.elapsed_s.max(compared.b.elapsed_s);
    let budget = (times * elapsed / 10.0).ceil() * 10.0;
    // A search ends where its interval is as narrow as asked, however much time it has.
    let mut answers = undecided().flat_map(|line| [&line.of_a, &line.of_b]);
    if answers.all(|answer| answer.result == ResultWord::Narrow) {
        return Some(format!(
            "both searches ended as narrow as they were asked to be: a width of {} for the goals, and about --budget {budget:.0}s, \
             would decide it",
            percent(
                compared.goals.iter().map(|line| line.of_b.goal.width).fold(f64::INFINITY, f64::min)
                    / times.sqrt()
            )
        ));
    }
    Some(if (10.0..7200.0).contains(&budget) {
        format!("about --budget {budget:.0}s in both searches would decide it")
    } else {
        format!("about {} times as long searches would decide it", three(times.ceil()))
    })
}

/// How loads of both sides are written.
pub(crate) fn loads(compared: &ComparedSearches) -> Loads {
    let answers = compared.goals.iter().flat_map(|line| [&line.of_a, &line.of_b]);
    Loads::of(compared.load_unit, answers, 0.0)
}

/// `8.33 [8.24, 8.42]`; what is beyond the loads that were tried has one end, and of a doubted one there are those
/// between which it is open. Its unit is that of the column, or stands behind it.
pub(crate) fn limit(answer: &AnswerLine, open: Option<OpenLine>, compared: &ComparedSearches) -> String {
    let ends = open.map_or((answer.lower_pps, answer.upper_pps), |open| (open.low_pps, open.high_pps));
    // As many digits as its own search shows.
    let common = loads(compared);
    let loads = common.as_fine_as(compared.load_unit, answer);
    let (low, high) =
        (ends.0.map(|low| loads.bare(loads.floor(low))), ends.1.map(|high| loads.bare(loads.ceil(high))));
    let words = match (low, high) {
        (Some(low), Some(high)) if open.is_some() => format!("doubted, {low} to {high}"),
        (Some(low), None) => format!("≥{JOIN}{low}"),
        (None, Some(high)) => format!("<{JOIN}{high}"),
        (None, None) => return "unknown".into(),
        (Some(low), Some(high)) => {
            let headline =
                answer.median_pps.map_or_else(String::new, |load| format!("{} ", loads.bare(load)));
            format!("{headline}[{low}, {high}]")
        }
    };
    if loads.unit == common.unit { words } else { format!("{words}{JOIN}{}", loads.unit) }
}

/// How often the intervals hold the true value, where they say.
pub(crate) fn interval_words(compared: &ComparedSearches) -> String {
    let level = compared.goals.iter().find_map(|line| line.level);
    level.map_or_else(|| "range".into(), |level| format!("{} interval", percent(level)))
}

/// `before.jsonl: sim:noisy, credible, 24 trials in 36 s, 2026-11-21T09:31:00Z`.
pub(crate) fn side(side: &SearchedLine) -> String {
    let SearchedLine { source, target, algorithm, started, trials, elapsed_s } = side;
    let trials = crate::number::plural(*trials, "trial");
    let time = crate::number::seconds(*elapsed_s);
    format!("{source}   {target}, {algorithm}, {trials} in {time}, {started}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_not_nothing_fell_by_less_than_all() {
        for round in [f64::floor, f64::round] {
            let said: Vec<String> =
                [0.001, 0.0004, 0.000_001_2].iter().map(|ratio| in_three(*ratio, round)).collect();
            assert!(said.iter().all(|words| words.contains("99.9")), "{said:?}");
        }
        assert_eq!(in_three(0.0004, f64::floor).replace(JOIN, " "), "\u{2212}99.96 %");
        assert_eq!(in_three(0.0, f64::floor).replace(JOIN, " "), "\u{2212}100 %");
        assert_eq!(in_three(0.912, f64::floor).replace(JOIN, " "), "\u{2212}8.8 %");
    }
}
