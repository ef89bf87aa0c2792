//! The answer of a record in one sentence, and in one line with how sure it is: what a page, a chat and a pull request
//! begin with.

use crate::number::{self, percent};
use crate::prose;
use crate::search_groups::{Line, SearchGroups};
use crate::search_summary::{Piece, SearchSummary};
use crate::verdict_word::Standing;
use dropline_record::{CaveatLine, LoadUnit, Record, TrialLine};

/// The answer, how sure it is, of which target, from when: one line for a chat.
pub fn line(record: &Record) -> String {
    let header = &record.header;
    let when = prose::date(&header.started);
    let answer = words(std::slice::from_ref(record));
    let certificates = SearchSummary::of(record).map_or_else(Vec::new, |finding| finding.certificates());
    let certified: String = certificates.iter().map(|words| format!(" {words}")).collect();
    let words =
        format!("{answer} {}.{certified} {}, {when}", prose::sentence_case(&sure(record)), header.target);
    dropline_printable::in_one_line(&words).replace(['\u{a0}', '\u{202f}'], " ")
}

/// The answer of a record as a sentence.
pub fn said(record: &Record) -> String {
    words(std::slice::from_ref(record))
}

/// The answer of records as a sentence.
pub(crate) fn words(records: &[Record]) -> String {
    match records {
        [only] => of_record(only),
        many => plain(&of_several(many, &SearchGroups::of(many))),
    }
}

fn of_record(record: &Record) -> String {
    match SearchSummary::of(record) {
        Some(finding) => plain(&finding.sentence()),
        None => crate::back_to_back::sentence(record).unwrap_or_else(|| of_trials(record)),
    }
}

/// A trial that had less of its time was cut short.
const WHOLE: f64 = 0.98;

/// What is said of a record that ended before its first trial did.
pub(crate) const NO_TRIAL: &str = "No trial was finished.";

/// How sure the answer of a record is, and how many caveats it has: `precise enough, 1 caveat`.
pub(crate) fn sure(record: &Record) -> String {
    let caveats = record.caveats();
    let mut words: Vec<String> = match SearchSummary::of(record) {
        Some(finding) => standings(&finding),
        None if caveats.iter().any(CaveatLine::is_invalidating) && !said(record).contains("not valid") => {
            vec!["not valid".into()]
        }
        None => Vec::new(),
    };
    // What keeps an answer from being one is told below its row, and the report has it behind a `!`.
    let is_settled = |finding: &SearchSummary| finding.standings.iter().all(Standing::settled);
    if caveats.is_empty() && SearchSummary::of(record).is_some_and(|finding| !is_settled(&finding)) {
        return words.join(", ");
    }
    words.push(match caveats.len() as u64 {
        // Its caveats are of the comparison, which is made anew each time.
        0 if record.header.verb == "compare" => "not judged here".into(),
        0 => "no caveat".into(),
        several => number::plural(several, "caveat"),
    });
    words.join(", ")
}

/// How sure each goal is, once where all are alike.
fn standings(finding: &SearchSummary) -> Vec<String> {
    let words: Vec<_> = finding.standings.iter().map(Standing::short).collect();
    match words.split_first() {
        None => Vec::new(),
        Some((first, rest)) if rest.iter().all(|other| other == first) => vec![first.to_string()],
        Some(_) => finding.names.iter().zip(&words).map(|(name, word)| format!("{name} {word}")).collect(),
    }
}

/// A sentence without its colours.
pub(crate) fn plain(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}

/// What became of the packets of all trials of a record that is no search, of each target where they had several.
pub(crate) fn of_trials(record: &Record) -> String {
    let what = record.header.load_unit;
    let (trials, last) = match record.trials.as_slice() {
        [] => return NO_TRIAL.into(),
        [only] => return of_trial(only, what),
        [.., last] => (&record.trials, last),
    };
    let mut targets: Vec<(&str, u64, u64)> = Vec::new();
    for trial in trials {
        let (lost, offered) = (trial.lost.0, trial.offered.0);
        match targets.iter_mut().find(|(target, ..)| *target == trial.target) {
            Some((_, all_lost, all_offered)) => {
                *all_lost = all_lost.saturating_add(lost);
                *all_offered = all_offered.saturating_add(offered);
            }
            None => targets.push((&trial.target, lost, offered)),
        }
    }
    let several = targets.len() > 1;
    let told: Vec<String> = targets
        .iter()
        .enumerate()
        .map(|(index, (target, lost, offered))| {
            let what = if index == 0 { format!(" {}", what.many()) } else { String::new() };
            let of = if several { format!(" by {target}") } else { String::new() };
            format!("{} of {}{what}{of}", number::count(*lost), number::count(*offered))
        })
        .collect();
    let whole = number::plural(trials.len() as u64, "trial");
    let next = match record.header.verb.as_str() {
        "compare" => " Whether they differ is said by dropline compare of this record.",
        _ => "",
    };
    format!("Lost in {whole}: {}{}.{next}", number::listed(&told), cut_short(last))
}

/// How much of the time that was asked for a trial had, where that is less.
fn cut_short(trial: &TrialLine) -> String {
    let (had, asked) = (trial.duration_s, trial.intended_duration_s);
    match asked.is_finite() && had.is_finite() && had < asked * WHOLE {
        true => {
            format!("; the last one was stopped after {} of {}", number::seconds(had), number::seconds(asked))
        }
        false => String::new(),
    }
}

/// What the replies of a service said: that they came is not all.
fn replies(trial: &TrialLine) -> String {
    let said = |replies| format!(" The replies: {}.", crate::traffic::replies_words(replies));
    trial.replies.as_ref().map_or_else(String::new, said)
}

/// What became of the packets of a trial, or how long its granules took.
pub(crate) fn of_trial(trial: &TrialLine, what: LoadUnit) -> String {
    let (what, lost_word) = (what.many(), what.lost());
    if let (Some(_), Some(delay), 0) = (&trial.passages, &trial.delay_ns, trial.lost.0)
        && let Some(p50) = delay.p50
    {
        let slow = delay
            .p99
            .map_or_else(String::new, |p99| format!(", one in 100 {} or longer", number::nanoseconds(p99)));
        return format!("Half of the granules take {} or less{slow}.", number::nanoseconds(p50));
    }
    let offered = number::count(trial.offered.0);
    match (trial.offered.0, trial.lost.0) {
        (0, _) => format!("There were no {what}."),
        (_, 0) => format!(
            "None of {offered} {what} was {lost_word}{}.{}",
            cut_short(trial).replace("the last one", "the trial"),
            replies(trial)
        ),
        (_, lost) => {
            let ratio = percent(trial.loss_ratio.unwrap_or(0.0));
            let ours = crate::denial::loss_that_may_be_ours(trial).map_or_else(String::new, |ours| {
                format!("; {} of them perhaps not by the target: not valid", number::count(ours))
            });
            format!(
                "{} of {offered} {what} were {lost_word}, {ratio}{ours}{}.{}",
                number::count(lost),
                cut_short(trial).replace("the last one", "the trial"),
                replies(trial)
            )
        }
    }
}

/// What each of several trials lost that no search offered, or that none lost any.
fn of_single_trials(records: &[Record]) -> String {
    let trials: Vec<&TrialLine> = records.iter().flat_map(|record| &record.trials).collect();
    let what = records.first().map_or(LoadUnit::Packets, |record| record.header.load_unit).many();
    let share = |trial: &&TrialLine| trial.loss_ratio.filter(|_| trial.lost.0 > 0);
    let lossy: Vec<f64> = trials.iter().filter_map(share).collect();
    let whole = number::plural(trials.len() as u64, "trial");
    let least = lossy.iter().copied().fold(f64::INFINITY, f64::min);
    match (trials.len(), lossy.len()) {
        (0, _) => "None of these records has a trial.".into(),
        (_, 0) => format!("None of {whole} lost any {what}."),
        (all, lossy_ones) => {
            let most = lossy.iter().copied().fold(0.0, f64::max);
            let range = match percent(least) == percent(most) {
                true => percent(most),
                false => format!("{} to {}", percent(least), percent(most)),
            };
            let which = if all == lossy_ones {
                format!("All of {whole}")
            } else {
                format!("{lossy_ones} of {whole}")
            };
            format!("{which} lost {what}: {range}.")
        }
    }
}

/// The first goal of every group, or its spread over the searches.
pub(crate) fn of_several(records: &[Record], groups: &SearchGroups) -> Vec<Piece> {
    let plain = |text: String| Piece { text, goal: None };
    let Some(first) = groups.lines.first() else {
        return vec![plain(of_single_trials(records))];
    };
    let verb = if first.forwarded { "it forwards" } else { "it takes" };
    let mut pieces = vec![plain(format!("{} {verb} ", prose::sentence_case(&first.loss)))];
    let lines: Vec<&Line> = groups.lines.iter().filter(|line| line.goal == first.goal).collect();
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            pieces.push(plain(if index + 1 == lines.len() { " and ".into() } else { ", ".into() }));
        }
        let loads = line.loads;
        let known = || line.headline.median.map(|load| loads.with_unit(load));
        let finds = line.stated.as_ref().map(|stated| stated.finds.clone());
        let load = finds.or_else(known).unwrap_or_else(|| "an unknown load".into());
        pieces.push(Piece { text: load, goal: Some(line.ink) });
        let with = if line.label.is_empty() { String::new() } else { format!(" with {}", line.label) };
        let spread = match (line.searches, line.headline.min, line.headline.max) {
            (2.., Some(min), Some(max)) => {
                format!(
                    ", the median of {} searches from {} to {}",
                    line.searches,
                    loads.bare(min),
                    loads.bare(max)
                )
            }
            _ => String::new(),
        };
        let doubt = match line.unsettled.iter().all(|standing| standing.denied().is_some()) {
            _ if line.unsettled.is_empty() => "",
            true => ", doubted",
            false => ", not settled",
        };
        pieces.push(plain(format!("{with}{spread}{doubt}")));
    }
    pieces.push(plain(".".into()));
    pieces
}
