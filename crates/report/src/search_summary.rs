//! What a search says, in words that every front end shares.

mod goal_words;
mod sentence;
mod widths;

pub(crate) use goal_words::{attributes, effective_words, goal_words, limit_words, loss_words};
use widths::WIDTH_DIGITS;
pub(crate) use widths::{relative_width, width, width_words};

use crate::denial::{disputed, failed_and_passed, that_count};
use crate::number::{self, JOIN, Loads};
use crate::prose::sentence_case;
use crate::traffic::highest_load;
use crate::verdict_word::{Standing, tried_at_lowest, unfinished_words};
use dropline_record::{AnswerLine, EndWord, Purpose, Record, SearchLine, TargetKind, TrialLine, word_of};

/// A search as it is shown: its answers, or what was known when it was cut off.
#[derive(Clone, Debug)]
pub(crate) struct SearchSummary<'a> {
    pub(crate) record: &'a Record,
    pub(crate) search: &'a SearchLine,
    pub(crate) answers: Vec<AnswerLine>,
    /// Whether each answer is one.
    pub(crate) standings: Vec<Standing>,
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

impl<'a> SearchSummary<'a> {
    /// `None` when the record is no search.
    pub(crate) fn of(record: &'a Record) -> Option<Self> {
        let search = record.header.search.as_ref()?;
        let answers = record.answers()?;
        let loads = Loads::of(record.header.load_unit, &answers, highest_load(record));
        let names = goal_words::names(&answers);
        let inks = (0..answers.len()).map(palette).collect();
        let standings = answers.iter().map(|answer| Standing::of(record, answer)).collect();
        Some(Self { record, search, answers, standings, names, inks, loads })
    }

    /// The ends of what is stated of a goal: of its interval or bounds, or of what a doubt leaves open.
    pub(crate) fn ends(&self, goal: usize) -> (Option<f64>, Option<f64>) {
        match (self.standings[goal].denied(), &self.answers[goal]) {
            (Some(denied), _) => (denied.low_pps, denied.high_pps),
            (None, answer) => (answer.lower_pps, answer.upper_pps),
        }
    }

    /// The one load that is stated of a goal; a doubted answer has none.
    pub(crate) fn point(&self, goal: usize) -> Option<f64> {
        match self.standings[goal].denied() {
            Some(_) => None,
            None => self.answers[goal].headline_pps(),
        }
    }

    /// Whether any answer is doubted.
    pub(crate) fn is_doubted(&self) -> bool {
        self.standings.iter().any(|standing| standing.denied().is_some())
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
    pub(crate) fn headline_words(&self) -> String {
        if self.is_forwarding() {
            return "conditional throughput".into();
        }
        limit_words(self.answers.iter().map(|answer| &answer.goal))
    }

    /// Whether what is stated is what was forwarded.
    fn is_forwarding(&self) -> bool {
        let is = |answer: &AnswerLine| answer.level.is_none() && answer.conditional_throughput_pps.is_some();
        self.answers.iter().any(is)
    }

    /// What the bounds are, in words.
    pub(crate) fn bounds_words(&self) -> String {
        match self.answers.iter().find_map(|answer| answer.level) {
            Some(level) => format!("{} interval", number::percent(level)),
            None => "bounds".into(),
        }
    }

    /// What stands in brackets, and what it cost.
    pub(crate) fn explanation(&self) -> String {
        let has_end = |answer: &AnswerLine| answer.lower_pps.is_some() || answer.upper_pps.is_some();
        let mut each = self.standings.iter().zip(&self.answers);
        if !each.any(|(standing, answer)| standing.settled() && has_end(answer)) {
            return format!("{}.", sentence_case(&self.cost_and_end()));
        }
        let brackets = match self.answers.iter().find_map(|answer| answer.level) {
            Some(level) => format!(
                "Brackets hold the true value with {} probability, if the target is the same in all trials.",
                number::percent(level)
            ),
            None => {
                "Brackets hold two loads that were tried: one that met the goal, and one that did not.".into()
            }
        };
        format!("{brackets} {}.", sentence_case(&self.cost_and_end()))
    }

    /// What it cost: trials, traffic, time.
    pub(crate) fn cost(&self) -> String {
        let trials = self.record.trials.len() as u64;
        let traffic = self.trial_seconds();
        let elapsed = self.elapsed_s();
        format!(
            "{}, {} of traffic, {} with waits{}",
            number::plural(trials, "trial"),
            number::seconds(traffic),
            number::seconds(elapsed),
            if self.is_simulated() { ", simulated" } else { "" }
        )
    }

    /// Whether its time is not that of a clock.
    fn is_simulated(&self) -> bool {
        TargetKind::of(&self.record.header.target).is_some_and(|kind| kind.is_simulated)
    }

    /// The same, and what ended it where that is neither an answer nor a caveat.
    pub(crate) fn cost_and_end(&self) -> String {
        let end = match self.record.ended_by() {
            Some(EndWord::Budget) if !self.standings.iter().all(|one| *one == Standing::Narrow) => {
                "; its budget ended it"
            }
            Some(EndWord::Budget) if self.has_crossed_trials() => {
                "; loads failed that other trials met, so it made sure of these answers until its budget ended it"
            }
            Some(EndWord::Budget) => "; it made sure of these answers until its budget ended it",
            Some(EndWord::MaxTrials) => "; --max-trials ended it",
            Some(EndWord::Done) if self.standings.iter().any(Standing::is_of_our_side) => {
                "; its algorithm asked for no more trials"
            }
            _ => "",
        };
        self.cost() + end
    }

    /// Whether a trial failed a goal at a load above which another one met it.
    fn has_crossed_trials(&self) -> bool {
        self.answers.iter().any(|answer| !disputed(&self.record.trials, &answer.goal, 0).is_empty())
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

    /// How the loads of a goal are written: as all of the search, or in a unit of its own where they are nearly nothing.
    pub(crate) fn loads_of(&self, goal: usize) -> Loads {
        self.loads.suiting(self.record.header.load_unit, &self.answers[goal])
    }

    /// A load of a goal; without its unit where the table has it.
    fn load_words(&self, goal: usize, load: f64, unit: bool) -> String {
        let loads = self.loads_of(goal);
        if unit || loads.unit != self.loads.unit { loads.with_unit(load) } else { loads.bare(load) }
    }

    /// The one load that is stated of an answer. Without a level it is a lower end, and never more than is known.
    pub(crate) fn stated(&self, goal: usize, load: f64) -> f64 {
        if self.answers[goal].level.is_none() { self.loads_of(goal).floor(load) } else { load }
    }

    /// Both ends of what an answer states, with their unit or without.
    pub(crate) fn end_words(&self, goal: usize, unit: bool) -> [Option<String>; 2] {
        let (loads, answer) = (self.loads_of(goal), &self.answers[goal]);
        let ends =
            [answer.lower_pps.map(|load| loads.floor(load)), answer.upper_pps.map(|load| loads.ceil(load))];
        ends.map(|end| end.map(|load| self.load_words(goal, load, unit)))
    }

    /// Both ends in brackets, with their unit.
    pub(crate) fn interval(&self, goal: usize) -> String {
        let (loads, answer) = (self.loads_of(goal), &self.answers[goal]);
        match (answer.lower_pps, answer.upper_pps) {
            (None, None) => "none".into(),
            (lower, upper) => format!("{} {}", loads.interval(lower, upper), loads.unit),
        }
    }

    /// The headline number with its unit or without; `≥` before it where the target does more, `<` where less, two where it
    /// is doubted.
    pub(crate) fn headline(&self, goal: usize, unit: bool) -> Option<String> {
        let loads = self.loads_of(goal);
        let with = |load: f64| self.load_words(goal, load, unit);
        let at_least = |load: f64| format!("≥{JOIN}{}", with(loads.floor(load)));
        let less = |load: f64| format!("<{JOIN}{}", with(loads.ceil(load)));
        if let Some(denied) = self.standings[goal].denied() {
            return Some(match (denied.low_pps, denied.high_pps) {
                (Some(low), Some(high)) => {
                    format!("{} to {}", loads.bare(loads.floor(low)), with(loads.ceil(high)))
                }
                (Some(low), None) => at_least(low),
                (None, Some(high)) => less(high),
                (None, None) => "unknown".into(),
            });
        }
        let answer = &self.answers[goal];
        if self.standings[goal] == Standing::BelowMinimum {
            return Some(less(self.search.min_load_pps));
        }
        let is_cut_off = self.standings[goal].is_cut_off();
        if (is_cut_off || self.standings[goal] == Standing::Wide) && answer.headline_pps().is_none() {
            return answer.lower_pps.map(at_least).or_else(|| answer.upper_pps.map(less));
        }
        let load = answer.headline_pps()?;
        let more = self.standings[goal] == Standing::AtMaximum
            || self.standings[goal].is_of_our_side()
            || is_cut_off && answer.upper_pps.is_none();
        Some(if more { at_least(load) } else { with(self.stated(goal, load)) })
    }

    /// How sure the answer is, and what that means: the words of the table, then why.
    pub(crate) fn standing_words(&self, goal: usize) -> String {
        let standing = &self.standings[goal];
        match self.why(goal) {
            Some(why) => format!("{}: {why}", standing.short()),
            None => standing.short().into_owned(),
        }
    }

    /// The answers that do not stand, and why: those of which the same is to be said together.
    pub(crate) fn unsettled(&self) -> Vec<(Vec<usize>, String)> {
        let mut said: Vec<(Vec<usize>, String)> = Vec::new();
        for goal in (0..self.answers.len()).filter(|&goal| !self.standings[goal].settled()) {
            let words = self.standing_words(goal);
            match said.iter_mut().find(|(_, known)| *known == words) {
                Some((goals, _)) => goals.push(goal),
                None => said.push((vec![goal], words)),
            }
        }
        said
    }

    /// Whether more is known than the words of the table.
    pub(crate) fn has_why(&self, goal: usize) -> bool {
        self.why(goal).is_some()
    }

    /// What was lost at the lowest load, and at the highest one, far above it, at which it was about as much. As much must have come
    /// through too: a target that bears no more than a share of the lowest load loses nearly all at any.
    fn lost_at_any_load(&self) -> Option<[(f64, f64); 2]> {
        const FAR: f64 = 10.0;
        const ALIKE: f64 = 2.0;
        let lost = |trial: &TrialLine| Some((trial.intended_load_pps, trial.loss_ratio?));
        let tried: Vec<(f64, f64)> = that_count(&self.record.trials).filter_map(lost).collect();
        let &(least, low) = tried.iter().min_by(|one, other| one.0.total_cmp(&other.0))?;
        let alike = |one: f64, other: f64| (one / ALIKE..=one * ALIKE).contains(&other);
        let is_alike = |(load, ratio): &&(f64, f64)| {
            *load >= FAR * least && alike(low, *ratio) && alike(1.0 - low, 1.0 - ratio)
        };
        let &above = tried.iter().filter(is_alike).max_by(|one, other| one.0.total_cmp(&other.0))?;
        (low > 0.0).then_some([(least, low), above])
    }

    /// What a load that was borne is, where no limit was found: the highest that was allowed, or one below it.
    fn highest_allowed(&self, goal: usize, borne: f64) -> String {
        match self.search.max_load_pps {
            most if borne >= most * (1.0 - 1e-9) => "the highest load allowed".into(),
            most => format!(
                "and its limit may be above {}, the highest load allowed",
                self.loads_of(goal).with_unit(most)
            ),
        }
    }

    /// A load in a unit of its own, where it is far from the others.
    fn own_unit(&self, load: f64) -> String {
        Loads::of(self.record.header.load_unit, [], load).with_unit(load)
    }

    /// `17 of 19 trials`: how many of those at the lowest load failed a goal.
    fn failed_at_lowest(&self, answer: &AnswerLine) -> Option<String> {
        let (failed, of) = tried_at_lowest(self.record, answer).filter(|(failed, _)| *failed > 0)?;
        Some(format!("{failed} of {}", number::plural(of, "trial")))
    }

    /// What trials at the lowest load say where it is no lower end.
    fn why_no_lower(&self, answer: &AnswerLine) -> Option<String> {
        let failed = self.failed_at_lowest(answer).filter(|_| answer.lower_pps.is_none())?;
        let lowest = self.own_unit(self.search.min_load_pps);
        Some(format!("no lower end, {failed} at {lowest}, the lowest load allowed, failed the goal"))
    }

    /// How many trials met a goal that tell of the target, in words, and the highest of their loads.
    fn met(&self, answer: &AnswerLine) -> Option<(String, f64)> {
        let [_, met] = failed_and_passed(&self.record.trials, &answer.goal);
        let all = self.record.trials.iter().filter(|trial| trial.purpose == Purpose::Search).count() as u64;
        Some((format!("{} of {}", met.len(), number::plural(all, "trial")), *met.last()?))
    }

    /// What was borne, and what was not offered, or not told, of a goal without one of its ends.
    fn why_of_our_side(&self, goal: usize, as_asked: bool) -> String {
        let answer = &self.answers[goal];
        let load = |load: f64| self.loads.with_unit(self.loads.floor(load));
        let others = match as_asked {
            true => "what other trials lost may not be the target's doing",
            false => "other trials were not offered as asked, or lost what may be our own doing",
        };
        let fails = answer.upper_pps.map_or_else(String::new, |upper| {
            format!("; it fails at {}", self.loads.with_unit(self.loads.ceil(upper)))
        });
        match (answer.lower_pps, self.met(answer)) {
            (Some(lower), met) => format!(
                "the target does at least {}{}; {others}",
                load(lower),
                met.filter(|(_, highest)| *highest > lower).map_or_else(String::new, |(_, highest)| {
                    format!(", and a trial at {} met the goal too", load(highest))
                })
            ),
            (None, Some((trials, highest))) => format!(
                "not valid, {trials} met the goal, up to {}, but no bound rests on these, for {others}{fails}",
                load(highest)
            ),
            (None, None) => {
                format!("not valid, no trial that was as asked met the goal, and {others}{fails}")
            }
        }
    }

    fn why(&self, goal: usize) -> Option<String> {
        let answer = &self.answers[goal];
        let load = |load: Option<f64>| load.map_or_else(|| "this".into(), |load| self.loads.with_unit(load));
        let least = |lower: Option<f64>| load(lower.map(|lower| self.loads.floor(lower)));
        let at_least = || format!("the target does at least {}", least(answer.lower_pps));
        Some(match &self.standings[goal] {
            Standing::Regular => {
                "a load that met the goal and one that did not are as close as was asked for".into()
            }
            Standing::Narrow => "the interval is within the width that was asked for".into(),
            Standing::Wide => "the interval is wider than was asked for; search longer (--budget)".into(),
            Standing::AtMaximum => {
                let allowed = answer.lower_pps.map(|lower| self.highest_allowed(goal, lower));
                let allowed = allowed.unwrap_or_else(|| "the highest load allowed".into());
                format!("{}, {allowed}; raise --max-load", at_least())
            }
            Standing::BelowMinimum => {
                let lowest = load(Some(self.search.min_load_pps));
                match self.lost_at_any_load() {
                    Some(lost) => {
                        let [low, above] = lost.map(|(load, ratio)| {
                            format!("{} at {}", number::percent(ratio), self.own_unit(load))
                        });
                        let next = match self.is_simulated() {
                            true => "",
                            false => "; dropline trial and dropline explain say where packets are lost",
                        };
                        format!(
                            "the goal fails even at {lowest}, the lowest load allowed, and about as much is lost far above ({low}, \
                             {above}): look for a cause that is not the load{next}"
                        )
                    }
                    None => {
                        let failed = self.failed_at_lowest(answer);
                        let failed =
                            failed.map_or_else(String::new, |failed| format!(" ({failed} there failed it)"));
                        format!(
                            "the goal fails even at {lowest}, the lowest load allowed{failed}; lower --min-load"
                        )
                    }
                }
            }
            standing @ (Standing::GeneratorLimited | Standing::Disturbed)
                if answer.lower_pps.is_none() || answer.upper_pps.is_none() =>
            {
                self.why_of_our_side(goal, *standing == Standing::Disturbed)
            }
            Standing::GeneratorLimited => format!("the upper bound is our generator's, {}", at_least()),
            Standing::Disturbed => format!(
                "the target takes {} and fails at {}; trials between say more of this machine than of the target",
                least(answer.lower_pps),
                load(answer.upper_pps.map(|upper| self.loads.ceil(upper)))
            ),
            Standing::TargetStarved => {
                let also = answer
                    .lower_pps
                    .map_or_else(String::new, |lower| format!("; it does at least {}", least(Some(lower))));
                format!("not valid, other programs ran there{also}")
            }
            Standing::Unfinished => unfinished_words(self.record).into(),
            Standing::BrokenOff { more, .. } => more.clone(),
            Standing::Doubted(denied) => {
                let stated = self.interval(goal);
                let so = match answer.level {
                    Some(level) => format!(
                        "the {} interval of a target that stays the same would be {stated}",
                        number::percent(level)
                    ),
                    None => format!("the bounds {stated} are what single trials showed"),
                };
                let same = (denied.low_pps, denied.high_pps) == (answer.lower_pps, answer.upper_pps);
                let is_nothing = answer.lower_pps.is_none() && answer.upper_pps.is_none();
                if same || is_nothing { denied.why.into() } else { format!("{}; {so}", denied.why) }
            }
            Standing::Other(_) => return None,
        })
    }

    /// What a longer search would buy: `60 s would give 1.1 %, 0.5 % takes about 5 min`; `None` where the answer
    /// is narrow, nothing is known, or the answer is doubted: more of the same would not help.
    pub(crate) fn outlook(&self, goal: usize) -> Option<String> {
        let answer = &self.answers[goal];
        let caveats = self.record.result.iter().flat_map(|result| &result.caveats);
        // Nor does what trials before a change cost say anything of the next search, or what is not the target's.
        if answer.is_generators()
            || caveats.into_iter().any(|caveat| caveat.numbers.contains_key("since_trial"))
        {
            return None;
        }
        let wide = width(answer)
            .map_or_else(String::new, |width| format!("{} wide; ", number::percent_of(width, WIDTH_DIGITS)));
        if answer.outlook.is_none() && self.standings[goal] == Standing::Wide {
            let no_lower = self.why_no_lower(answer).map_or_else(String::new, |why| format!("{why}; "));
            return Some(format!("{wide}{no_lower}{}", self.what_helps()));
        }
        let outlook = answer.outlook.as_ref().filter(|_| self.standings[goal].denied().is_none())?;
        let asked = number::percent(answer.goal.width);
        let takes = outlook.narrow_budget_s;
        let narrow = match takes / self.elapsed_s() {
            times if times > EVER => {
                format!("{asked} is out of reach; ask for less: width=2% behind the goal")
            }
            // No square root is sure so far ahead.
            times if times > SOON => {
                format!("{asked} would take some {} (--budget {:.0}s)", long_time(takes), round_up(takes))
            }
            _ => format!("{asked} takes about --budget {:.0}s", round_up(takes)),
        };
        if outlook.narrow_budget_s <= outlook.budget_s {
            return Some(format!("{wide}{narrow}"));
        }
        let (budget, then) = (outlook.budget_s, number::percent(round(outlook.width)));
        Some(format!("{wide}--budget {budget:.0}s would make it {then}; {narrow}"))
    }

    /// Whether trials fail at any load now and then: longer ones do so more often.
    fn has_outages(&self) -> bool {
        let mut caveats = self.record.result.iter().flat_map(|result| &result.caveats);
        caveats.any(|caveat| OUTAGES.contains(&caveat.code.as_str()))
    }

    /// What to do about an interval that is wide, where nobody knows what a longer search would give.
    fn what_helps(&self) -> &'static str {
        match self.record.ended_by() {
            Some(EndWord::MaxTrials) => "more trials (--max-trials) would make it more precise",
            Some(EndWord::Done) if self.has_outages() => {
                "what fails at any load has to be mended before a limit shows"
            }
            Some(EndWord::Done) => "longer trials (trial=5s behind the goal) may make it more precise",
            _ => "a longer search (--budget) would make it more precise",
        }
    }

    /// The same of each goal that has it, with its name: `By RFC 9971, no loss: regular, [a, b] Mpps.`
    pub(crate) fn certificates(&self) -> Vec<String> {
        let told = self.names.iter().zip(&self.answers);
        told.filter_map(|(name, answer)| Some(format!("By RFC 9971, {name}: {}.", self.certificate(answer)?)))
            .collect()
    }

    /// What RFC 9971 says of a goal, where that was asked for: `regular, [a, b] Mpps, 9.0 Mpps conditional
    /// throughput`.
    pub(crate) fn certificate(&self, answer: &AnswerLine) -> Option<String> {
        let certified = answer.certified.as_ref()?;
        let word = match &certified.why {
            Some(why) => format!("irregular: {}", why.replace('_', " ")),
            None => word_of(&certified.result).replace('_', " "),
        };
        let bounds = match (certified.lower_pps, certified.upper_pps) {
            (None, None) => "no bounds".into(),
            (lower, upper) => format!("{} {}", self.loads.interval(lower, upper), self.loads.unit),
        };
        let throughput = certified.conditional_throughput_pps.map_or_else(String::new, |load| {
            format!(", conditional throughput {}", self.loads.with_unit(self.loads.floor(load)))
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

/// Caveats of trials that fail at any load now and then: longer trials show that more often.
const OUTAGES: [&str; 3] = ["bad_moments", "fails_anywhere", "outages"];

/// What takes more than so many times as long as the search took is told roughly.
const SOON: f64 = 10.0;
/// What takes more than so many times as long is not offered at all.
const EVER: f64 = 100.0;

/// A time that nobody counts in seconds, rounded up: `24 min`, `2.5 h`.
fn long_time(seconds: f64) -> String {
    let told = |value: f64, unit: &str| format!("{}{JOIN}{unit}", number::digits(round_up(value), 2));
    match seconds {
        _ if seconds < 120.0 => told(seconds, "s"),
        _ if seconds < 7200.0 => told(seconds / 60.0, "min"),
        _ => told(seconds / 3600.0, "h"),
    }
}

/// Colours that the palette has; further goals share the last.
fn palette(place: usize) -> usize {
    place.min(3)
}

/// To two digits: an outlook is no better known.
fn round(value: f64) -> f64 {
    let step = 10f64.powf(value.abs().max(1e-9).log10().floor() - 1.0);
    (value / step).round() * step
}

/// The same of a time to come: never less.
fn round_up(value: f64) -> f64 {
    let step = 10f64.powf(value.abs().max(1e-9).log10().floor() - 1.0);
    (value / step - 1e-9).ceil() * step
}
