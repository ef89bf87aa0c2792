//! What a search says, in words that every front end shares.

use crate::number::{self, JOIN, Loads};
use crate::prose::sentence_case;
use crate::traffic::highest_load;
use dropline_record::{AnswerLine, GoalLine, Record, ResultWord, SearchLine, TrialLine};

/// A search as it is shown: its answers, or what was known when it was cut off.
#[derive(Clone, Debug)]
pub(crate) struct Finding<'a> {
    pub(crate) record: &'a Record,
    pub(crate) search: &'a SearchLine,
    pub(crate) answers: Vec<AnswerLine>,
    /// Names of the goals, each of its own.
    pub(crate) names: Vec<String>,
    /// Colours of the goals, by their place in the palette.
    pub(crate) inks: Vec<usize>,
    pub(crate) loads: Loads,
}

/// A piece of a sentence; the number of a goal is in its colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) goal: Option<usize>,
}

impl<'a> Finding<'a> {
    /// `None` when the record is no search.
    pub(crate) fn of(record: &'a Record) -> Option<Self> {
        let search = record.header.search.as_ref()?;
        let answers = record.answers()?;
        let loads = Loads::of(&record.header.load_unit, &answers, highest_load(record));
        let names = names(&answers);
        let inks = (0..answers.len()).map(palette).collect();
        Some(Self { record, search, answers, names, inks, loads })
    }

    /// Searches that are shown together: a goal has one colour in all of them.
    pub(crate) fn all(records: impl IntoIterator<Item = &'a Record>) -> Vec<Self> {
        let mut findings: Vec<Self> = records.into_iter().filter_map(Self::of).collect();
        let mut known: Vec<String> = Vec::new();
        // Searches for many goals tell the order.
        let mut order: Vec<usize> = (0..findings.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(findings[index].names.len()));
        for index in order {
            let finding = &mut findings[index];
            finding.inks = finding
                .names
                .iter()
                .map(|name| {
                    let place = known.iter().position(|other| other == name).unwrap_or_else(|| {
                        known.push(name.clone());
                        known.len() - 1
                    });
                    palette(place)
                })
                .collect();
        }
        findings
    }

    /// What the headline number is, in words.
    pub(crate) fn headline_words(&self) -> &'static str {
        if self
            .answers
            .iter()
            .any(|answer| answer.level.is_none() && answer.conditional_throughput_pps.is_some())
        {
            "conditional throughput"
        } else {
            "drops above"
        }
    }

    /// What the bounds are, in words.
    pub(crate) fn bounds_words(&self) -> String {
        match self.answers.iter().find_map(|answer| answer.level) {
            Some(level) => format!("{} interval", number::percent(level)),
            None => "bounds".into(),
        }
    }

    /// The answer as one sentence.
    pub(crate) fn sentence(&self) -> Vec<Piece> {
        let verb = if self.headline_words() == "drops above" { "It takes " } else { "It forwards " };
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
        pieces.push(Piece { text: ".".into(), goal: None });
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
        match (Standing::of(answer), bounds, answer.headline_pps()) {
            (standing, (lower, upper), Some(headline)) if standing.settled() => {
                say("", loads.with_unit(headline), format!(" {loss}, {}", loads.interval(lower, upper)));
            }
            (Standing::AtMaximum { .. }, (lower, _), headline) => match lower.or(headline) {
                Some(load) => {
                    say("at least ", loads.with_unit(load), format!(" {loss}, the highest load allowed"));
                }
                None => say("", "an unknown load".into(), format!(" {loss}")),
            },
            (Standing::GeneratorLimited, (Some(lower), _), _) => {
                say("at least ", loads.with_unit(lower), format!(" {loss}, where our generator ends"));
            }
            (Standing::BelowMinimum { .. }, _, _) => say(
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

    /// What stands in brackets, and what it cost.
    pub(crate) fn explanation(&self) -> String {
        if !self.answers.iter().any(|answer| Standing::of(answer).settled()) {
            return format!("{}.", sentence_case(&self.cost()));
        }
        let brackets = match self.answers.iter().find_map(|answer| answer.level) {
            Some(level) => format!("Brackets hold the truth with {} probability.", number::percent(level)),
            None => {
                "Brackets hold the relevant bounds: a load that achieved the goal, and one that failed it."
                    .into()
            }
        };
        format!("{brackets} {}.", sentence_case(&self.cost()))
    }

    /// What it cost: trials, traffic, time.
    pub(crate) fn cost(&self) -> String {
        let trials = self.record.trials.len() as u64;
        let traffic = self.trial_seconds();
        let elapsed = self.elapsed_s();
        format!(
            "{}, {} of traffic, {} in all",
            number::plural(trials, "trial"),
            number::seconds(traffic),
            number::seconds(elapsed)
        )
    }

    /// Sum of the trials' durations.
    pub(crate) fn trial_seconds(&self) -> f64 {
        match &self.record.result {
            Some(result) => result.trial_seconds,
            None => self.record.trials.iter().map(|trial| trial.duration_s).sum(),
        }
    }

    /// Sum of what the trials cost.
    pub(crate) fn elapsed_s(&self) -> f64 {
        match &self.record.result {
            Some(result) => result.elapsed_s,
            None => self.record.trials.iter().map(|trial| trial.elapsed_s).sum(),
        }
    }

    /// The headline number with its unit or without; `≥` before it where the target does more.
    pub(crate) fn headline(&self, answer: &AnswerLine, unit: bool) -> Option<String> {
        let load = answer.headline_pps()?;
        let words = if unit { self.loads.with_unit(load) } else { self.loads.bare(load) };
        let more = matches!(Standing::of(answer), Standing::AtMaximum { .. } | Standing::GeneratorLimited);
        Some(if more { format!("≥{JOIN}{words}") } else { words })
    }

    /// Whether the answer is one, and if not, what it still says.
    pub(crate) fn standing_words(&self, answer: &AnswerLine) -> String {
        let load = |load: Option<f64>| load.map_or_else(|| "this".into(), |load| self.loads.with_unit(load));
        match Standing::of(answer) {
            Standing::Regular => "regular".into(),
            Standing::Narrow => "narrow: the interval is as narrow as asked".into(),
            Standing::Wide => "wide: the interval is wider than asked".into(),
            Standing::AtMaximum { irregular } => format!(
                "{}at maximum: the target does at least {}",
                prefix(irregular, ", "),
                load(answer.lower_pps)
            ),
            Standing::BelowMinimum { irregular } => format!(
                "{}below minimum: the goal fails even at {}, the lowest load allowed",
                prefix(irregular, ", "),
                load(Some(self.search.min_load_pps))
            ),
            Standing::GeneratorLimited => format!(
                "irregular, generator limited: the upper bound is our generator's, the target does at least {}",
                load(answer.lower_pps)
            ),
            Standing::Unfinished => {
                "irregular, unfinished: the search ended before the bounds were close enough".into()
            }
            Standing::Other(why) => format!("irregular: {why}"),
        }
    }

    /// What a longer search would buy: `60 s would give 1.1 %, 0.5 % takes about 5 min`; `None` where the answer
    /// is narrow, or nothing is known.
    pub(crate) fn outlook(&self, answer: &AnswerLine) -> Option<String> {
        let outlook = answer.outlook.as_ref()?;
        let wide =
            width(answer).map_or_else(String::new, |width| format!("{} wide; ", number::percent(width)));
        let asked = number::percent(answer.goal.width);
        let narrow = format!("{asked} takes about {}", number::seconds(round(outlook.narrow_budget_s)));
        if outlook.narrow_budget_s <= outlook.budget_s {
            return Some(format!("{wide}{narrow}"));
        }
        let (budget, then) = (number::seconds(outlook.budget_s), number::percent(round(outlook.width)));
        Some(format!("{wide}{budget} would give {then}, {narrow}"))
    }

    /// What RFC 9971 says of a goal, where that was asked for: `regular, [a, b] Mpps, 9.0 Mpps conditional
    /// throughput`.
    pub(crate) fn certificate(&self, answer: &AnswerLine) -> Option<String> {
        let certified = answer.certified.as_ref()?;
        let word = match &certified.why {
            Some(why) => format!("irregular: {}", why.replace('_', " ")),
            None => word(serde_json::to_value(certified.result)).replace('_', " "),
        };
        let bounds = match (certified.lower_pps, certified.upper_pps) {
            (None, None) => "no bounds".into(),
            (lower, upper) => format!("{} {}", self.loads.interval(lower, upper), self.loads.unit),
        };
        let throughput = certified.conditional_throughput_pps.map_or_else(String::new, |load| {
            format!(", conditional throughput {}", self.loads.with_unit(load))
        });
        Some(format!("{word}, {bounds}{throughput}"))
    }

    /// The delays measured after the search: goal, share, trial.
    pub(crate) fn delays(&self) -> Vec<(usize, f64, &'a TrialLine)> {
        let measured = self.record.result.iter().flat_map(|result| &result.delay_at);
        measured
            .filter_map(|delay| {
                let trial = self.record.trials.iter().find(|trial| trial.number == delay.trial)?;
                Some((delay.goal as usize, delay.share, trial))
            })
            .collect()
    }
}

/// Colours that the palette has; further goals share the last.
fn palette(place: usize) -> usize {
    place.min(3)
}

/// Whether an answer is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Regular,
    /// An interval as narrow as asked.
    Narrow,
    /// An interval wider than asked.
    Wide,
    /// Irregular where the algorithm states bounds.
    AtMaximum {
        irregular: bool,
    },
    /// Irregular where the algorithm states bounds.
    BelowMinimum {
        irregular: bool,
    },
    GeneratorLimited,
    Unfinished,
    /// A word that this version does not know.
    Other(String),
}

impl Standing {
    /// By the words of the record, so that later ones are shown too.
    pub(crate) fn of(answer: &AnswerLine) -> Self {
        let result = word(serde_json::to_value(answer.result));
        let irregular = answer.result == ResultWord::Irregular;
        match if irregular { answer.why.as_deref().unwrap_or("unfinished") } else { result.as_str() } {
            "regular" => Self::Regular,
            "narrow" => Self::Narrow,
            "wide" => Self::Wide,
            "at_maximum" => Self::AtMaximum { irregular },
            "below_minimum" => Self::BelowMinimum { irregular },
            "generator_limited" => Self::GeneratorLimited,
            "unfinished" => Self::Unfinished,
            other => Self::Other(other.replace('_', " ")),
        }
    }

    /// Whether both ends stand.
    pub(crate) fn settled(&self) -> bool {
        matches!(self, Self::Regular | Self::Narrow | Self::Wide)
    }

    /// In a word or two, for a table.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::Regular => "regular".into(),
            Self::Narrow => "narrow".into(),
            Self::Wide => "wide".into(),
            Self::AtMaximum { irregular } => format!("{}at maximum", prefix(*irregular, ": ")),
            Self::BelowMinimum { irregular } => format!("{}below minimum", prefix(*irregular, ": ")),
            Self::GeneratorLimited => "irregular: generator limited".into(),
            Self::Unfinished => "irregular: unfinished".into(),
            Self::Other(why) => format!("irregular: {why}"),
        }
    }
}

fn prefix(irregular: bool, join: &str) -> String {
    if irregular { format!("irregular{join}") } else { String::new() }
}

/// To two digits: an outlook is no better known.
fn round(value: f64) -> f64 {
    let step = 10f64.powf(value.abs().max(1e-9).log10().floor() - 1.0);
    (value / step).round() * step
}

/// A word of the record as its JSON has it; empty when it is none.
pub(crate) fn word(value: serde_json::Result<serde_json::Value>) -> String {
    match value {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Relative distance of the bounds, (upper − lower) ÷ upper.
pub(crate) fn width(answer: &AnswerLine) -> Option<f64> {
    relative_width(answer.lower_pps, answer.upper_pps)
}

/// (upper − lower) ÷ upper.
pub(crate) fn relative_width(lower: Option<f64>, upper: Option<f64>) -> Option<f64> {
    let (lower, upper) = (lower?, upper?);
    (upper > 0.0 && upper >= lower).then(|| (upper - lower) / upper)
}

/// `without loss`, `with at most 0.5 % loss`.
pub(crate) fn loss_words(goal: &GoalLine) -> String {
    if goal.loss_ratio == 0.0 {
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
fn names(answers: &[AnswerLine]) -> Vec<String> {
    let words: Vec<String> =
        answers.iter().map(|answer| answer.goal.words().replace(" %", &format!("{JOIN}%"))).collect();
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
