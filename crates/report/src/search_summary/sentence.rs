//! The answer of a search as one sentence.

use super::goal_words::loss_words;
use super::{Piece, SearchSummary};
use crate::number;
use crate::standing::Standing;
use dropline_record::{AnswerLine, Purpose, TrialLine};

impl SearchSummary<'_> {
    /// The answer as one sentence.
    pub(crate) fn sentence(&self) -> Vec<Piece> {
        let verb = if self.is_forwarding() { "It forwards " } else { "It takes " };
        let mut pieces = vec![Piece { text: verb.into(), goal: None }];
        let last = self.answers.len().saturating_sub(1);
        for (index, answer) in self.answers.iter().enumerate() {
            if index > 0 {
                let join = if index == last { ", and " } else { ", " };
                pieces.push(Piece { text: join.into(), goal: None });
            }
            self.clause(index, answer, &mut pieces);
        }
        if self.answers.is_empty() {
            return vec![Piece { text: "The search had no goal.".into(), goal: None }];
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
        pieces.push(Piece { text: format!("{why}."), goal: None });
        pieces
    }

    fn clause(&self, index: usize, answer: &AnswerLine, pieces: &mut Vec<Piece>) {
        let mut say = |before: &str, load: String, after: String| {
            pieces.push(Piece { text: before.into(), goal: None });
            pieces.push(Piece { text: load, goal: Some(index) });
            pieces.push(Piece { text: after, goal: None });
        };
        let loss = loss_words(&answer.goal);
        let loads = self.loads;
        let bounds = (answer.lower_pps, answer.upper_pps);
        match (self.standings[index].clone(), bounds, answer.headline_pps()) {
            (Standing::Doubted(denied), _, _) => match (denied.low_pps, denied.high_pps) {
                (Some(low), Some(high)) => {
                    let ends = format!("{} and {}", loads.bare(low), loads.with_unit(high));
                    say("between ", ends, format!(" {loss}"));
                }
                (Some(low), None) => say("at least ", loads.with_unit(low), format!(" {loss}")),
                (None, Some(high)) => say("less than ", loads.with_unit(high), format!(" {loss}")),
                (None, None) => say("", "an unknown load".into(), format!(" {loss}")),
            },
            (standing, (lower, upper), Some(headline)) if standing.settled() => {
                say("", loads.with_unit(headline), format!(" {loss}, {}", loads.interval(lower, upper)));
            }
            (Standing::AtMaximum, (lower, _), headline) => match lower.or(headline) {
                Some(load) => {
                    say("at least ", loads.with_unit(load), format!(" {loss}, the highest load allowed"));
                }
                None => say("", "an unknown load".into(), format!(" {loss}")),
            },
            (Standing::GeneratorLimited, (Some(lower), _), _) if self.failed_by_itself(answer).is_some() => {
                let ends = "and what ends it above is not known, for trials were disturbed";
                say("at least ", loads.with_unit(lower), format!(" {loss}, {ends}"));
            }
            (Standing::GeneratorLimited, (Some(lower), _), _) => {
                let ends = self.lateness().unwrap_or_else(|| "where our generator ends".into());
                say("at least ", loads.with_unit(lower), format!(" {loss}, {ends}"));
            }
            (Standing::TargetStarved, (lower, _), _) => {
                let ends = "above that other programs kept the target from its CPU";
                match lower {
                    Some(lower) => say("at least ", loads.with_unit(lower), format!(" {loss}; {ends}")),
                    None => say(
                        "",
                        "an unknown load".into(),
                        format!(" {loss}, for other programs kept the target from its CPU"),
                    ),
                }
            }
            (Standing::GeneratorLimited, (None, _), _) => {
                say("", "an unknown load".into(), format!(" {loss}, for our generator was disturbed"));
            }
            (Standing::BelowMinimum, _, _) => say(
                "not even ",
                loads.with_unit(self.search.min_load_pps),
                format!(" {loss}, the lowest load allowed"),
            ),
            (_, (Some(lower), Some(upper)), _) => say(
                "between ",
                format!("{} and {}", loads.bare(lower), loads.with_unit(upper)),
                format!(" {loss}, not settled"),
            ),
            (_, (Some(lower), None), _) => {
                say("at least ", loads.with_unit(lower), format!(" {loss}, not settled"));
            }
            (_, (None, Some(upper)), _) => {
                say("less than ", loads.with_unit(upper), format!(" {loss}, not settled"));
            }
            (_, (None, None), _) => say("", "an unknown load".into(), format!(" {loss}")),
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
