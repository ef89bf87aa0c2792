//! The answer of a search as one sentence.

use super::goal_words::loss_words;
use super::{Piece, SearchSummary};
use crate::number;
use crate::verdict_word::Standing;
use dropline_record::{AnswerLine, Purpose, TrialLine};

/// An interval from less than this share of its upper end has no middle that is worth a headline.
const HARDLY: f64 = 0.1;

/// What the sentence says of one goal, but for the goal itself.
struct Clause {
    before: &'static str,
    load: String,
    /// Behind the goal.
    end: String,
}

impl Clause {
    fn is_as(&self, other: &Self) -> bool {
        (self.before, &self.load, &self.end) == (other.before, &other.load, &other.end)
    }
}

impl SearchSummary<'_> {
    /// The answer as one sentence; what all goals share is said once, at its end.
    pub(crate) fn sentence(&self) -> Vec<Piece> {
        if self.answers.is_empty() {
            return vec![Piece { text: "The search had no goal.".into(), goal: None }];
        }
        let verb = if self.is_forwarding() { "It forwards " } else { "It takes " };
        let clauses: Vec<Clause> =
            self.answers.iter().enumerate().map(|(index, answer)| self.clause(index, answer)).collect();
        let shared = clauses.iter().all(|clause| clause.end == clauses[0].end);
        // One answer to all goals is said once.
        let is_one = clauses.len() > 1 && clauses.iter().all(|clause| clause.is_as(&clauses[0]));
        let last = clauses.len() - 1;
        let each = match clauses.len() {
            1 => "",
            2 => "both ",
            _ => "all ",
        };
        let mut pieces = Vec::new();
        let mut text = String::from(verb);
        for (index, clause) in clauses.into_iter().enumerate() {
            if is_one && index > 0 {
                text.push_str(if index == last { " or " } else { ", " });
                text.push_str(&loss_words(&self.answers[index].goal));
                if index == last {
                    text.push_str(&clause.end);
                }
                continue;
            }
            if index > 0 {
                text.push_str(if index == last { ", and " } else { ", " });
            }
            text.push_str(clause.before);
            pieces.push(Piece { text: std::mem::take(&mut text), goal: None });
            pieces.push(Piece { text: clause.load, goal: Some(index) });
            text = format!(" {}", loss_words(&self.answers[index].goal));
            match clause.end.strip_prefix(", [") {
                // One interval of several limits is no oversight.
                Some(ends) if index == last && shared && !is_one && index > 0 => {
                    text.push_str(&format!(", {each}in [{ends}"));
                }
                _ if index == last || !shared && !is_one => text.push_str(&clause.end),
                _ => {}
            }
        }
        let mut whys: Vec<&str> = Vec::new();
        for denied in self.standings.iter().filter_map(Standing::denied) {
            if !whys.contains(&denied.why) {
                whys.push(denied.why);
            }
        }
        if let Some(died) = self.standings.iter().find_map(Standing::died) {
            whys.push(died);
        }
        let why = if whys.is_empty() { String::new() } else { format!(": {}", whys.join("; ")) };
        pieces.push(Piece { text: format!("{text}{why}."), goal: None });
        pieces
    }

    fn clause(&self, index: usize, answer: &AnswerLine) -> Clause {
        let say = |before: &'static str, load: String, end: &str| Clause { before, load, end: end.into() };
        let loads = self.loads_of(index);
        let unknown = |end: &str| say("", "an unknown load".into(), end);
        let at_least = |load: f64, end: &str| say("at least ", loads.with_unit(loads.floor(load)), end);
        let less = |load: f64, end: &str| say("less than ", loads.with_unit(loads.ceil(load)), end);
        let between = |low: f64, high: f64, end: &str| say("between ", loads.between(low, "and", high), end);
        let (lower, upper) = (answer.lower_pps, answer.upper_pps);
        // Of a load of which some may be lost, what came through is less than the load.
        let came_through = |load: f64| match answer.headline_pps().filter(|_| self.is_forwarding()) {
            Some(through) => through.min(load),
            None => load,
        };
        match (&self.standings[index], (lower, upper), answer.headline_pps()) {
            (Standing::Doubted(denied), _, _) => match (denied.low_pps, denied.high_pps) {
                (Some(low), Some(high)) => between(low, high, ""),
                (Some(low), None) => at_least(low, ""),
                (None, Some(high)) => less(high, ""),
                (None, None) => unknown(""),
            },
            // The middle of what is hardly known is no answer.
            (Standing::Wide, (Some(low), Some(high)), Some(_)) if low < high * HARDLY => {
                between(low, high, "")
            }
            (standing, _, Some(headline)) if standing.settled() => {
                let headline = loads.with_unit(self.stated(index, headline));
                say("", headline, &format!(", {}", loads.interval(lower, upper)))
            }
            (Standing::AtMaximum, _, headline) => match lower.or(headline) {
                Some(load) if came_through(load) < load => {
                    let of = loads.with_unit(loads.floor(load));
                    at_least(came_through(load), &format!(", of {of}, {}", self.highest_allowed(index, load)))
                }
                Some(load) => at_least(load, &format!(", {}", self.highest_allowed(index, load))),
                None => unknown(""),
            },
            (Standing::Disturbed, (Some(lower), Some(upper)), _) => {
                let upper = loads.with_unit(loads.ceil(upper));
                at_least(
                    came_through(lower),
                    &format!(" (it fails at {upper}; trials between were disturbed)"),
                )
            }
            (Standing::GeneratorLimited, (Some(lower), _), _) => {
                match self.met(answer).filter(|(_, highest)| *highest > lower) {
                    Some((_, highest)) => {
                        let highest = loads.with_unit(loads.floor(highest));
                        at_least(came_through(lower), &format!("; a trial at {highest} met it too"))
                    }
                    None => {
                        let end = self.lateness().unwrap_or_else(|| "where our generator ends".into());
                        at_least(came_through(lower), &format!(", {end}"))
                    }
                }
            }
            (Standing::TargetStarved, (Some(lower), _), _) => {
                at_least(came_through(lower), "; above that other programs kept the target from its CPU")
            }
            (Standing::TargetStarved, _, _) => unknown(", for other programs kept the target from its CPU"),
            (Standing::Disturbed, (Some(lower), None), _) => {
                at_least(came_through(lower), "; trials above were disturbed")
            }
            (Standing::GeneratorLimited | Standing::Disturbed, _, _) => {
                match (self.met(answer), &self.standings[index]) {
                    (Some((trials, highest)), _) => {
                        let highest = loads.with_unit(loads.floor(highest));
                        unknown(&format!(", though {trials} met it, up to {highest}"))
                    }
                    (None, Standing::Disturbed) => unknown(", for trials were disturbed"),
                    _ => unknown(", for our generator was disturbed"),
                }
            }
            (Standing::BelowMinimum, _, _) => {
                say("not even ", loads.with_unit(self.search.min_load_pps), ", the lowest load allowed")
            }
            (_, (Some(lower), Some(upper)), _) => between(lower, upper, ", not settled"),
            (_, (Some(lower), None), _) => at_least(lower, ", not settled"),
            (_, (None, Some(upper)), _) => less(upper, ", not settled"),
            (_, (None, None), _) => unknown(""),
        }
    }

    /// How late packets left where that was so in every trial: then no load was offered as it was asked for.
    fn lateness(&self) -> Option<String> {
        let trials =
            self.record.trials.iter().filter(|trial| trial.purpose == Purpose::Search && !trial.void);
        let late = |trial: &TrialLine| {
            let caveat = trial.caveats.iter().find(|caveat| caveat.code == "arrivals_not_kept")?;
            caveat.numbers.get("lateness_p99_ns")?.as_u64()
        };
        let late: Option<Vec<u64>> = trials.map(late).collect();
        let most = late?.into_iter().max()?;
        Some(format!("offered in lumps: packets left {} late in every trial", number::nanoseconds(most)))
    }
}
