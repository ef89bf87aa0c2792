//! Doubts that deny an answer: where one of them stands, the headline gives way to what the trials bear out.

use dropline_record::{AnswerLine, CaveatLine, GoalLine, Purpose, Record, TrialLine};

/// A caveat that denies answers.
struct Denial {
    code: &'static str,
    /// What it comes to, in a headline.
    words: &'static str,
    /// Numbers of the caveat that are loads: what is stated holds them.
    loads: &'static [&'static str],
    /// Whether it is about this goal, in this record.
    about: fn(&Record, &CaveatLine, &GoalLine) -> bool,
}

/// What was lost is the doing of a rule of the service: no loss bounds what it can do.
const LIMITED: &str = "answers_limited";

/// Every caveat that denies an answer, the one that explains most first. All others leave it standing.
const DENIALS: [Denial; 12] = [
    Denial {
        code: "goals_contradict",
        words: "the answers to its goals contradict one another",
        loads: &["low_pps", "high_pps"],
        about: is_named,
    },
    Denial {
        code: LIMITED,
        words: "a limit of the service's answers is why requests were lost",
        loads: &[],
        about: all,
    },
    Denial {
        code: "target_unreachable",
        words: "the target went away during the search",
        loads: &[],
        about: died,
    },
    Denial {
        code: "outages",
        words: "nearly nothing came through of some trials",
        loads: &["lowest_pps", "borne_pps"],
        about: all,
    },
    Denial {
        code: "two_states",
        words: "the target has two states",
        loads: &["slow_pps", "fast_pps"],
        about: all,
    },
    Denial {
        code: "carries_over",
        words: "what one trial leaves comes into the next",
        loads: &["after_loss_pps", "rested_pps"],
        about: all,
    },
    Denial {
        code: "unsteady",
        words: "the target did not stay the same",
        loads: &["low_pps", "high_pps"],
        about: all,
    },
    Denial {
        code: "loss_below",
        words: "packets were lost far below too",
        loads: &["intended_load_pps"],
        about: is_zero_loss,
    },
    Denial {
        code: "bad_moments",
        words: "a few bad trials contradict the others",
        loads: &["lowest_pps", "borne_pps"],
        about: decide,
    },
    Denial {
        code: "slowed",
        words: "the target became slower during the search",
        loads: &["before_pps", "then_pps"],
        about: is_above_the_lowest,
    },
    Denial { code: "drift", words: "the target changed during the search", loads: &[], about: all },
    Denial { code: "warm_up", words: "the target was slower at first than later on", loads: &[], about: all },
];

/// Codes of the caveats that deny an answer, the one that explains most first.
pub fn denying() -> impl Iterator<Item = &'static str> {
    DENIALS.iter().map(|denial| denial.code)
}

/// Whether a rule of the service is why requests were lost, however busy this machine was.
pub(crate) fn is_limited(record: &Record) -> bool {
    record.result.iter().flat_map(|result| &result.caveats).any(|caveat| caveat.code == LIMITED)
}

fn all(_: &Record, _: &CaveatLine, _: &GoalLine) -> bool {
    true
}

/// Whether the goal's limit is not below all loads that were allowed: a target that became so slow that it fails at the lowest
/// one still has its limit below that.
fn is_above_the_lowest(record: &Record, _: &CaveatLine, goal: &GoalLine) -> bool {
    let answers = record.answers().unwrap_or_default();
    !answers.iter().any(|answer| answer.goal == *goal && answer.is_below_minimum())
}

fn is_zero_loss(_: &Record, _: &CaveatLine, goal: &GoalLine) -> bool {
    goal.loss_ratio == 0.0
}

/// Whether the goal's bound is that of a few bad trials.
fn decide(_: &Record, caveat: &CaveatLine, goal: &GoalLine) -> bool {
    let number = |name: &str| caveat.numbers.get(name);
    number("decide").and_then(serde_json::Value::as_bool) == Some(true)
        && number("loss_ratio").and_then(serde_json::Value::as_f64) == Some(goal.loss_ratio)
}

/// Whether the answer to the goal rests on a trial in which the target died.
fn died(record: &Record, _: &CaveatLine, goal: &GoalLine) -> bool {
    let failed = |trial: &TrialLine| {
        trial.trial_loss_ratio.or(trial.loss_ratio).is_none_or(|ratio| ratio > goal.loss_ratio)
    };
    let counts = |trial: &&TrialLine| trial.purpose == Purpose::Search && !trial.void;
    record.trials.iter().filter(counts).any(|trial| trial.target_went_away() && failed(trial))
}

/// Whether the goal is one of the two that the caveat speaks of.
fn is_named(_: &Record, caveat: &CaveatLine, goal: &GoalLine) -> bool {
    let ratio = |name: &str| caveat.numbers.get(name).and_then(serde_json::Value::as_f64);
    ["strict_loss_ratio", "loose_loss_ratio"].into_iter().any(|name| ratio(name) == Some(goal.loss_ratio))
}

/// Of a trial's lost packets, how many may be our own doing, where that is half of them or more.
pub(crate) fn loss_that_may_be_ours(trial: &TrialLine) -> Option<u64> {
    let doubt = trial.caveats.iter().find(|caveat| caveat.code == "loss_doubted")?;
    doubt.numbers.get("ours")?.as_u64()
}

/// Whether a trial's delays from when packets were due are for the most part our own lateness.
pub(crate) fn are_delays_ours(trial: &TrialLine) -> bool {
    trial.caveats.iter().any(|caveat| caveat.code == "delays_doubted")
}

/// Why the answers of a search do not stand as they are stated, where a caveat denies one of them.
pub fn doubted(record: &Record) -> Option<&'static str> {
    record
        .result
        .iter()
        .flat_map(|result| &result.goals)
        .find_map(|answer| Some(Denied::of(record, answer)?.why))
}

/// The caveats of a record in the order of what they decide: first those that deny an answer, then those that leave
/// nothing said of the target, then those about our own side, then all others.
pub(crate) fn decisive_first(record: &Record, mut caveats: Vec<CaveatLine>) -> Vec<CaveatLine> {
    let goals: Vec<AnswerLine> = record.answers().unwrap_or_default();
    let rank = |caveat: &CaveatLine| {
        let denies = |denial: &Denial| {
            denial.code == caveat.code
                && goals.iter().any(|answer| (denial.about)(record, caveat, &answer.goal))
        };
        match DENIALS.iter().position(denies) {
            Some(place) => place,
            None if caveat.is_invalidating() => DENIALS.len(),
            None if caveat.is_disturbing() => DENIALS.len() + 1,
            None => DENIALS.len() + 2,
        }
    };
    caveats.sort_by_cached_key(rank);
    caveats
}

/// An answer that is denied: why, and the loads that what was seen leaves open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Denied {
    /// In a few words.
    pub why: &'static str,
    /// The lowest load that is open, in packets a second; `None` where nothing bounds it from below.
    pub low_pps: Option<f64>,
    /// The highest, in packets a second; `None` where nothing bounds it from above.
    pub high_pps: Option<f64>,
}

impl Denied {
    /// `None` where nothing denies the answer, or it has no load that could be denied. What is open is never narrower
    /// than the interval that is denied: where it would be, it holds that too.
    pub fn of(record: &Record, answer: &AnswerLine) -> Option<Self> {
        let Self { why, low_pps, high_pps } = Self::by_trials(record, answer)?;
        let open = Self { why, low_pps, high_pps };
        let (Some(low), Some(high)) = (low_pps, high_pps) else { return Some(open) };
        Some(match (answer.lower_pps, answer.upper_pps) {
            (Some(lower), Some(upper)) if high * lower >= upper * low => open,
            (lower, upper) => Self {
                low_pps: lower.map(|lower| lower.min(low)),
                high_pps: upper.map(|upper| upper.max(high)),
                ..open
            },
        })
    }

    /// The same, by what trials and caveats say alone.
    fn by_trials(record: &Record, answer: &AnswerLine) -> Option<Self> {
        let caveats = record.result.as_ref().map(|result| result.caveats.as_slice()).unwrap_or_default();
        let found: Vec<(&Denial, &CaveatLine)> = DENIALS
            .iter()
            .flat_map(|denial| {
                let of = |caveat: &&CaveatLine| {
                    caveat.code == denial.code && (denial.about)(record, caveat, &answer.goal)
                };
                caveats.iter().filter(of).map(move |caveat| (denial, caveat))
            })
            .collect();
        let (first, caveat) = found.first()?;
        let why = first.words;
        if let Some(since) = caveat.numbers.get("since_trial").and_then(serde_json::Value::as_u64) {
            // What it does now is what trials since then showed.
            let trials: Vec<TrialLine> =
                record.trials.iter().filter(|trial| trial.number >= since).cloned().collect();
            let [low_pps, high_pps] = open_ends(&trials, &answer.goal);
            let is_borne = disputed(&trials, &answer.goal, 0).is_empty()
                && low_pps.zip(answer.lower_pps).is_some_and(|(borne, lower)| lower <= borne)
                && high_pps.zip(answer.upper_pps).is_some_and(|(failed, upper)| failed <= upper)
                // The middle may still be that of before.
                && answer.median_pps.is_none_or(|middle| {
                    low_pps.is_none_or(|borne| borne <= middle) && high_pps.is_none_or(|failed| middle <= failed)
                });
            // What still changes will not be tomorrow what it was in the last trials.
            let by_degrees =
                caveat.numbers.get("by_degrees").and_then(serde_json::Value::as_bool) == Some(true);
            // It is beyond what it was in the last trials by then.
            let is_faster = caveat.numbers.get("correlation").and_then(serde_json::Value::as_f64) > Some(0.0);
            let low_pps = low_pps.filter(|_| !by_degrees || is_faster);
            let high_pps = high_pps.filter(|_| !by_degrees || !is_faster);
            return (!is_borne || by_degrees).then_some(Self { why, low_pps, high_pps });
        }
        if first.code == LIMITED {
            let [low_pps, _] = open_ends(&record.trials, &answer.goal);
            return Some(Self { why, low_pps, high_pps: None });
        }
        let named = found.iter().flat_map(|(denial, caveat)| {
            denial.loads.iter().filter_map(|name| caveat.numbers.get(*name)?.as_f64())
        });
        let open = open_ends(&record.trials, &answer.goal);
        let stated = [answer.lower_pps.or(open[0]), answer.upper_pps.or(open[1])];
        let loads =
            named.chain(stated.into_iter().flatten()).chain(disputed(&record.trials, &answer.goal, 0));
        let loads: Vec<f64> = loads.filter(|load| load.is_finite() && *load >= 0.0).collect();
        // A load that was only tried bounds nothing.
        Some(Self {
            why,
            low_pps: stated[0].and(loads.iter().copied().min_by(f64::total_cmp)),
            high_pps: stated[1].and(loads.iter().copied().max_by(f64::total_cmp)),
        })
    }
}

/// Where an answer is open to one side: the highest load that met the goal below all that failed it, and the lowest that failed
/// it above all that met it.
fn open_ends(trials: &[TrialLine], goal: &GoalLine) -> [Option<f64>; 2] {
    let [failed, passed] = failed_and_passed(trials, goal);
    let below = passed.iter().copied().rfind(|load| failed.first().is_none_or(|failed| load < failed));
    let above = failed.iter().copied().find(|load| passed.last().is_none_or(|passed| load > passed));
    [below, above]
}

/// Trials that tell of the target: what our own side may have done is left out.
pub(crate) fn that_count(trials: &[TrialLine]) -> impl Iterator<Item = &TrialLine> {
    trials.iter().filter(|trial| {
        trial.purpose == Purpose::Search
            && !trial.void
            && !trial.caveats.iter().any(CaveatLine::is_disturbing)
            && trial.loss_ratio.is_some()
    })
}

/// The loads at which a trial exceeded the goal's loss, and those at which one did not, ascending; what our own side may
/// have done is left out.
pub fn failed_and_passed(trials: &[TrialLine], goal: &GoalLine) -> [Vec<f64>; 2] {
    let told = that_count(trials);
    let (failed, passed): (Vec<&TrialLine>, Vec<&TrialLine>) =
        told.partition(|trial| trial.loss_ratio.is_some_and(|loss| loss > goal.loss_ratio));
    [failed, passed].map(|trials| {
        let mut loads: Vec<f64> = trials.iter().map(|trial| trial.intended_load_pps).collect();
        loads.sort_by(f64::total_cmp);
        loads
    })
}

/// The lowest load at which a trial exceeded the goal's loss and the highest at which one did not, where they cross; of
/// the former so many are passed over: a target may pause, and none takes more than it can.
pub fn disputed(trials: &[TrialLine], goal: &GoalLine, passed_over: usize) -> Vec<f64> {
    let [failed, passed] = failed_and_passed(trials, goal);
    let failed = failed.get(passed_over).copied();
    let passed = passed.last().copied();
    failed
        .zip(passed)
        .filter(|(failed, passed)| failed < passed)
        .map_or_else(Vec::new, |(low, high)| vec![low, high])
}
