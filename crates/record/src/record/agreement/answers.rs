//! Whether answers are ones that the trials before them allow: for whoever reads a record and cannot search again.

use super::is_near;
use crate::{AnswerLine, CaveatLine, CurveLine, Purpose, ResultLine, ResultWord, SearchLine, TrialLine};

/// Where trials part cleanly into those that failed and those that did not, an interval lies no farther beyond them.
const BEYOND: f64 = 1.1;
/// Loads are kept to a thousandth of a packet.
const ROUNDED: f64 = 1e-6;
/// What a search for intervals takes as its level: `dropline_search` refuses another.
const LEVELS: std::ops::RangeInclusive<f64> = 0.5..=0.999;

/// No search has another level.
pub(super) fn of_level(search: &SearchLine) -> Result<(), String> {
    search.level.filter(|level| !LEVELS.contains(level)).map_or(Ok(()), |level| {
        Err(format!(
            "itself: its level is {level}, and levels are from {} to {}",
            LEVELS.start(),
            LEVELS.end()
        ))
    })
}

/// The curve is one of shares that lie in order, at loads that were searched.
pub(super) fn of_curve(search: &SearchLine, result: &ResultLine) -> Result<(), String> {
    for CurveLine { load_pps, low, median, high } in &result.loss_curve {
        if !super::limits::in_range(search, *load_pps) {
            return Err(format!(
                "its header: its loss_curve has a load of {load_pps}, and loads from {} to {} were asked for",
                search.min_load_pps, search.max_load_pps
            ));
        }
        let is_in_order = low <= median && median <= high && (0.0..=1.0).contains(low) && *high <= 1.0;
        if !is_in_order {
            return Err(format!(
                "itself: its loss_curve at {load_pps} goes from {low} over {median} to {high}, and shares of loss do not fall so"
            ));
        }
    }
    Ok(())
}

/// An answer that says how narrow it is, or that it is as narrow as was asked, is.
pub(super) fn of_width(number: u64, answer: &AnswerLine) -> Result<(), String> {
    let (ResultWord::Narrow | ResultWord::Regular, Some(lower), Some(upper)) =
        (answer.result, answer.lower_pps, answer.upper_pps)
    else {
        return Ok(());
    };
    let (width, asked) = (1.0 - lower / upper, answer.goal.width);
    if width <= asked * (1.0 + ROUNDED) + ROUNDED {
        return Ok(());
    }
    Err(format!(
        "itself: goal {number} is {}, its width is {width}, and one of {asked} was asked for",
        answer.result.words()
    ))
}

/// A credible interval as narrow as was asked for is not called wide. Only where a load far below it lost packets is its
/// lower end another one, one that was tried or the lowest, and then it is called wide however narrow it is.
pub(super) fn of_wide(
    trials: &[TrialLine],
    search: &SearchLine,
    number: u64,
    answer: &AnswerLine,
) -> Result<(), String> {
    let (ResultWord::Wide, Some(lower), Some(upper)) = (answer.result, answer.lower_pps, answer.upper_pps)
    else {
        return Ok(());
    };
    let is_wide = (1.0 - lower / upper) * (1.0 + ROUNDED) + ROUNDED > answer.goal.width;
    let mut tried = trials.iter().map(|trial| trial.intended_load_pps).chain([search.min_load_pps]);
    if is_wide || tried.any(|load| is_near(load, lower)) {
        return Ok(());
    }
    let (width, asked) = (1.0 - lower / upper, answer.goal.width);
    Err(format!("itself: goal {number} is wide, its width is {width}, and one of {asked} was asked for"))
}

/// A bound is a load that was tried, with the end that makes it a bound; an interval lies where trials do not all
/// contradict it.
pub(super) fn of_trials(
    trials: &[TrialLine],
    search: &SearchLine,
    number: u64,
    answer: &AnswerLine,
) -> Result<(), String> {
    let ratio = answer.goal.loss_ratio;
    let searched = || trials.iter().filter(|trial| trial.purpose == Purpose::Search);
    let (lower, upper) = (answer.lower_pps, answer.upper_pps.filter(|_| !answer.is_generators()));
    if search.has_level() {
        let tells_nothing = |caveat: &CaveatLine| caveat.caveat().tells_nothing();
        let tells = |trial: &&TrialLine| !trial.void && !trial.caveats.iter().any(tells_nothing);
        let certain = || searched().filter(tells);
        let loads = |ended: fn(&TrialLine, f64) -> bool| {
            certain().filter(move |trial| ended(trial, ratio)).map(|trial| trial.intended_load_pps)
        };
        let (Some(met), Some(failed)) = (loads(has_met).reduce(f64::max), loads(has_failed).reduce(f64::min))
        else {
            return Ok(());
        };
        let is_beyond = lower.is_some_and(|lower| lower > failed * BEYOND)
            || upper.is_some_and(|upper| upper * BEYOND < met);
        return match met < failed && is_beyond {
            true => Err(format!(
                "the trials before it: goal {number} is between {} and {}, and every trial up to {met} met it and every \
                 one from {failed} on failed it",
                lower.unwrap_or(search.min_load_pps),
                upper.unwrap_or(search.max_load_pps)
            )),
            false => Ok(()),
        };
    }
    let ended = |load: f64, has: fn(&TrialLine, f64) -> bool| {
        searched().any(|trial| is_near(trial.intended_load_pps, load) && has(trial, ratio))
    };
    for (end, load, has, words) in [
        ("lower_pps", lower, has_met as fn(&TrialLine, f64) -> bool, "met"),
        ("upper_pps", upper, has_failed, "failed"),
    ] {
        if let Some(load) = load.filter(|&load| !ended(load, has)) {
            return Err(format!(
                "the trials before it: {end} of goal {number} is {load}, and none there {words} it"
            ));
        }
    }
    Ok(())
}

/// Whether a trial may have met a goal of this loss.
fn has_met(trial: &TrialLine, ratio: f64) -> bool {
    trial.trial_loss_ratio.or(trial.loss_ratio).is_some_and(|loss| loss <= ratio + super::DIGITS)
}

/// Whether it may have failed it; one that offered nothing did.
fn has_failed(trial: &TrialLine, ratio: f64) -> bool {
    trial.trial_loss_ratio.or(trial.loss_ratio).is_none_or(|loss| loss > ratio - super::DIGITS && loss > 0.0)
}
