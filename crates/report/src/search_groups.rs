//! Several searches: what they share, where they differ, how far they scatter.

use crate::number::{self, JOIN, Loads};
use crate::search_summary::{SearchSummary, loss_words};
use crate::traffic;
use crate::verdict_word::Standing;
use dropline_record::LoadUnit;
use dropline_record::{Record, sample};

/// Searches grouped by what differs between them.
#[derive(Clone, Debug)]
pub(crate) struct SearchGroups {
    /// What all of them have, in words.
    pub(crate) shared: String,
    /// A line a group and goal.
    pub(crate) lines: Vec<Line>,
    pub(crate) loads: Loads,
    /// Searches, and those of them that were cut off: no number of theirs is in a spread.
    pub(crate) searches: usize,
    pub(crate) cut_off: usize,
}

/// One goal of searches that differ in nothing but chance.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What makes the group, empty when there is only one.
    pub(crate) label: String,
    pub(crate) goal: String,
    /// `without loss`, `with at most 0.5 % loss`.
    pub(crate) loss: String,
    /// Whether the number is a forwarding rate, else a load.
    pub(crate) forwarded: bool,
    /// Colour of the goal.
    pub(crate) ink: usize,
    pub(crate) searches: usize,
    /// Those that are shown: where all were cut off, these, of which no number is found.
    pub(crate) shown: usize,
    /// As its own page writes them, or as its searches have them together.
    pub(crate) loads: Loads,
    pub(crate) headline: Spread,
    pub(crate) elapsed: Spread,
    /// Of the first search, of those that came to their end if one did.
    pub(crate) lower_pps: Option<f64>,
    pub(crate) upper_pps: Option<f64>,
    /// Relative to the same goal of the first group.
    pub(crate) change: Option<f64>,
    /// Of the first search.
    pub(crate) trials: u64,
    /// How sure the first search is.
    pub(crate) result: String,
    /// What the one search states, with its unit and without, and both ends: the words of its own page.
    pub(crate) stated: Option<Stated>,
    /// The answers that do not stand.
    pub(crate) unsettled: Vec<Standing>,
}

/// What one search says of a goal.
#[derive(Clone, Debug)]
pub(crate) struct Stated {
    pub(crate) finds: String,
    pub(crate) bounds: String,
    /// In cells of a table that has the unit of all; `None` for an end that is not stated.
    pub(crate) cells: [Option<String>; 3],
}

/// How far numbers scatter; each is `None` without numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: Option<f64>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    /// Half the range from the 16 % to the 84 % quantile; `None` below two numbers.
    pub(crate) half_range: Option<f64>,
}

impl SearchGroups {
    pub(crate) fn of(records: &[Record]) -> Self {
        let findings = SearchSummary::all(records);
        let labels = labels(records);
        let highest = records.iter().map(traffic::highest_load).fold(0.0, f64::max);
        let unit = records.first().map_or(LoadUnit::Packets, |record| record.header.load_unit);
        let loads = Loads::of(unit, findings.iter().flat_map(|finding| &finding.answers), highest);
        let searches: Vec<(&str, &SearchSummary)> = records
            .iter()
            .zip(&labels.each)
            .filter(|(record, _)| record.header.search.is_some())
            .map(|(_, label)| label.as_str())
            .zip(&findings)
            .collect();
        let mut groups: Vec<(&str, Vec<&SearchSummary>)> = Vec::new();
        for (label, finding) in searches {
            match groups.iter_mut().find(|(known, _)| *known == label) {
                Some((_, group)) => group.push(finding),
                None => groups.push((label, vec![finding])),
            }
        }
        let mut goals: Vec<&String> = Vec::new();
        for name in findings.iter().flat_map(|finding| &finding.names) {
            if !goals.contains(&name) {
                goals.push(name);
            }
        }
        let mut lines: Vec<Line> = Vec::new();
        for goal in goals {
            let first = lines.len();
            for (label, group) in &groups {
                let Some(mut line) = Line::of(label, goal, group, loads) else { continue };
                if let Some(reference) = lines.get(first) {
                    let both = reference.unsettled.is_empty() && line.unsettled.is_empty();
                    line.change = change(reference.headline.median, line.headline.median).filter(|_| both);
                }
                lines.push(line);
            }
        }
        let cut_off = findings.iter().filter(|finding| !finding.record.is_finished()).count();
        Self { shared: labels.shared, lines, loads, searches: findings.len(), cut_off }
    }

    /// How many searches are left out, and how to go on with them; `None` where all came to their end.
    pub(crate) fn left_out(&self) -> Option<String> {
        let (were, are) = match self.cut_off {
            0 => return None,
            1 => ("was cut off before its end and is", "it"),
            _ => ("were cut off before their end and are", "each"),
        };
        Some(format!(
            "{} of {} searches {were} left out of what was found, for it was not sure yet; to resume {are}:  dropline \
             search --resume RECORD",
            self.cut_off, self.searches
        ))
    }

    /// Whether groups have names.
    pub(crate) fn labelled(&self) -> bool {
        self.lines.iter().any(|line| !line.label.is_empty())
    }

    /// Whether some searches differ in nothing but chance.
    pub(crate) fn repeated(&self) -> bool {
        self.lines.iter().any(|line| line.searches > 1)
    }
}

impl Line {
    /// `None` when the group has no such goal.
    fn of(label: &str, goal: &str, group: &[&SearchSummary], loads_of_all: Loads) -> Option<Self> {
        let place = |finding: &SearchSummary| finding.names.iter().position(|name| name == goal);
        let ended: Vec<&SearchSummary> =
            group.iter().copied().filter(|finding| finding.record.is_finished()).collect();
        // Of searches that were all cut off, what was known is shown, and no number is found.
        let shown = if ended.is_empty() { group } else { &ended };
        let answers: Vec<_> =
            shown.iter().filter_map(|finding| finding.answers.get(place(finding)?)).collect();
        let first = answers.first()?;
        let standings: Vec<&Standing> =
            shown.iter().filter_map(|finding| finding.standings.get(place(finding)?)).collect();
        let found: &[_] = if ended.is_empty() { &[] } else { &answers };
        let headlines: Vec<f64> =
            found.iter().filter_map(|answer| answer.headline_pps()).filter(|load| load.is_finite()).collect();
        let unit = shown[0].record.header.load_unit;
        let loads = Loads::of(unit, answers.iter().copied(), 0.0);
        let times: Vec<f64> = ended.iter().map(|finding| finding.elapsed_s()).collect();
        Some(Self {
            label: label.into(),
            goal: goal.into(),
            loss: loss_words(&first.goal),
            forwarded: first.median_pps.is_none() && first.conditional_throughput_pps.is_some(),
            ink: place(shown[0]).map_or(0, |place| shown[0].inks[place]),
            searches: found.len(),
            shown: shown.len(),
            headline: Spread::of(&headlines),
            elapsed: Spread::of(&times),
            lower_pps: first.lower_pps,
            upper_pps: first.upper_pps,
            change: None,
            stated: stated(shown, loads_of_all, place),
            loads,
            trials: shown[0].record.trials.len() as u64,
            result: standings.first()?.short().into_owned(),
            unsettled: standings.into_iter().filter(|standing| !standing.settled()).cloned().collect(),
        })
    }
}

/// What is said of a goal where one search is shown; without a number where it was cut off.
fn stated(
    shown: &[&SearchSummary],
    loads_of_all: Loads,
    place: impl Fn(&SearchSummary) -> Option<usize>,
) -> Option<Stated> {
    let [finding] = shown else { return None };
    let goal = place(finding)?;
    let is_found = finding.record.is_finished() || !finding.standings[goal].settled();
    let finds = |unit| finding.headline(goal, unit).filter(|_| is_found);
    let is_doubted = finding.standings[goal].denied().is_some();
    // A table has one unit in its head.
    let is_alone = finding.loads_of(goal).unit != loads_of_all.unit;
    let [lower, upper] = finding.end_words(goal, is_alone).map(|end| end.filter(|_| !is_doubted));
    let unknown = || "\u{2013}".to_owned();
    Some(Stated {
        finds: finds(true).unwrap_or_else(unknown),
        bounds: if is_doubted { "none".into() } else { finding.interval(goal) },
        cells: [finds(is_alone), lower, upper],
    })
}

impl Spread {
    fn of(numbers: &[f64]) -> Self {
        let quantile = |q| sample::quantile(numbers, q);
        Self {
            median: sample::median(numbers),
            min: quantile(0.0),
            max: quantile(1.0),
            half_range: if numbers.len() > 1 { sample::half_range_16_84(numbers) } else { None },
        }
    }
}

/// What names each record, and what all share.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(crate) each: Vec<String>,
    pub(crate) shared: String,
}

/// Names for the records by what differs between them.
pub(crate) fn labels(records: &[Record]) -> Labels {
    let features: Vec<Vec<String>> = records.iter().map(features).collect();
    let count = features.first().map_or(0, Vec::len);
    let same = |index: usize| features.iter().all(|other| other[index] == features[0][index]);
    let each = features
        .iter()
        .map(|own| {
            let differing: Vec<&str> =
                (0..count).filter(|&index| !same(index)).map(|index| own[index].as_str()).collect();
            differing.join(", ")
        })
        .collect();
    let shared = match features.first() {
        Some(first) if records.len() > 1 => {
            let common: Vec<&str> =
                (0..count).filter(|&index| same(index)).map(|index| first[index].as_str()).collect();
            common.join(", ")
        }
        _ => String::new(),
    };
    Labels { each, shared }
}

/// What tells one search from another, in a fixed order.
fn features(record: &Record) -> Vec<String> {
    let header = &record.header;
    let profile = &header.profile;
    let parts = |name: &str, parts: &[dropline_record::Part]| match parts {
        [] | [_] => format!("one {name}"),
        many => {
            let shares: Vec<String> = many.iter().map(|part| part.share.to_string()).collect();
            format!("{} {name}s ({})", many.len(), shares.join(":"))
        }
    };
    let algorithm = match &header.search {
        Some(search) => {
            let version = search.mdr.as_ref().map_or_else(String::new, |mdr| format!(" ({})", mdr.version));
            format!("{}{version}", search.algorithm)
        }
        None => header.verb.clone(),
    };
    let longest = header
        .search
        .iter()
        .flat_map(|search| &search.goals)
        .map(|goal| goal.trial_duration_s)
        .chain(
            record.trials.iter().filter(|_| header.search.is_none()).map(|trial| trial.intended_duration_s),
        )
        .filter(|seconds| seconds.is_finite())
        .fold(0.0, f64::max);
    vec![
        header.target.clone(),
        algorithm,
        format!("{} trials", number::seconds(longest)),
        format!("{} arrivals", traffic::arrival_words(&profile.arrival)),
        match traffic::is_size_known(record) {
            true => number::bytes(profile.packet_bytes.into()),
            false => "packets of unknown size".into(),
        },
        parts("stream", &profile.streams),
        parts("direction", &profile.directions),
    ]
}

fn change(from: Option<f64>, to: Option<f64>) -> Option<f64> {
    let (from, to) = (from?, to?);
    (from > 0.0).then(|| to / from - 1.0)
}

/// `+5.1 %`, `−23 %`; what is not nothing is no `−100 %`.
pub(crate) fn change_words(change: f64) -> String {
    let sign = if change >= 0.0 { "+" } else { "\u{2212}" };
    let told = |digits| number::digits(change.abs() * 100.0, digits);
    let is_whole = |digits: &i32| change > -1.0 && change < 0.0 && told(*digits) == "100";
    let digits = (3..9).find(|digits| !is_whole(digits)).unwrap_or(9);
    format!("{sign}{}{JOIN}%", told(digits))
}

/// Which of the searches have no answer that stands.
pub(crate) fn unsettled_words(line: &Line) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for word in line.unsettled.iter().map(Standing::short) {
        if !kinds.iter().any(|kind| *kind == word) {
            kinds.push(word.into_owned());
        }
    }
    if line.shown == 1 {
        kinds.join(", ")
    } else {
        format!("{} of {} searches: {}", line.unsettled.len(), line.shown, kinds.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_has_no_spread_and_none_has_nothing() {
        assert_eq!(Spread::of(&[3.0]).half_range, None);
        assert_eq!(Spread::of(&[]).median, None);
        assert_eq!(Spread::of(&[1.0, 2.0, 9.0]).median, Some(2.0));
        assert_eq!(Spread::of(&[9.0, 1.0]).median, Some(5.0), "of an even number the mean of the middle two");
    }
}
