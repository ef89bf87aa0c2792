//! The words of a search as users give them, and what is meant where they say nothing: the same for the command line and
//! for Python.

use crate::algorithm::AlgorithmPlan;
use crate::arrival_argument;
use crate::goals::{self, WrittenGoal};
use crate::plan::SearchPlan;
use dropline_failure::Failure;
use dropline_search::mlr::EffectiveDuration;
use dropline_search::{Goal, Limits, Preset, mdr};
use dropline_targets::Target;
use dropline_trial::{LoadRange, Rate, Ratio, TrafficProfile, quantities};
use std::fmt::Display;
use std::time::Duration;

/// How users spell an argument, for errors that name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// `--max-load 1kpps`, on a command line.
    #[default]
    Flags,
    /// `max_load="1kpps"`, in Python.
    Keywords,
}

impl Spelling {
    /// The argument alone.
    fn name(self, argument: &str) -> String {
        match self {
            Self::Flags => format!("--{}", argument.replace('_', "-")),
            Self::Keywords => argument.to_owned(),
        }
    }

    /// The argument with a value.
    fn with(self, argument: &str, value: &str) -> String {
        match self {
            Self::Flags => format!("{} {value}", self.name(argument)),
            Self::Keywords => format!("{argument}={value:?}"),
        }
    }
}

/// What was asked of a search; what nobody said has its default when it is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchArguments<'a> {
    /// How errors name what follows.
    pub spelling: Spelling,
    /// Loss ratios or bounds on the delay, each with its attributes.
    pub goals: &'a [String],
    /// Which algorithm, with its defaults.
    pub algorithm: Option<AlgorithmPlan>,
    /// The goals of another method.
    pub preset: Option<Preset>,
    /// Confidence level (a ratio) of `credible`.
    pub level: Option<&'a str>,
    /// Whether `credible` goes on until RFC 9971 calls the goals regular.
    pub certify: bool,
    /// Which rules of `mdr`.
    pub mdr_version: Option<mdr::Version>,
    /// Phases of `mdr` between the initial and the final one.
    pub mdr_phases: Option<u8>,
    /// How often an external step of `mdr` doubles the width.
    pub mdr_doublings: Option<u8>,
    /// What the time of a trial counts as in `mlr`.
    pub effective: Option<EffectiveDuration>,
    /// Time of all trials together.
    pub budget: Option<&'a str>,
    /// Number of trials.
    pub max_trials: Option<u64>,
    /// Lowest load.
    pub min_load: Option<&'a str>,
    /// Highest load.
    pub max_load: Option<&'a str>,
    /// Time of trials that are made before the search and dropped.
    pub warm_up: Option<&'a str>,
    /// Shares of each goal's load at which the delay is measured afterwards.
    pub delay_at: &'a [String],
    /// What is random in the search.
    pub seed: Option<u64>,
    /// Whether the streams of a profile were asked for; else there are as many as the target needs.
    pub keeps_streams: bool,
}

/// What is looked for, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Which algorithm.
    pub algorithm: AlgorithmPlan,
    /// The preset that set the goals.
    pub preset: Option<Preset>,
    /// What is looked for.
    pub goals: Vec<Goal>,
    /// A packet that comes back later counts as lost.
    pub within: Option<Duration>,
}

/// Loss ratios that are asked for where nobody names a goal.
pub const GOALS: [&str; 2] = ["0", "0.5%"];

impl SearchArguments<'_> {
    /// The search of the record that the target replays, where it replays one and no preset says what is asked.
    pub fn replayed(&self, target: &Target) -> Option<SearchPlan> {
        SearchPlan::of_record(&target.replayed()?, target.file()?).ok().filter(|_| self.preset.is_none())
    }

    /// The question, before a target is looked at. What was asked of a search that is `replayed` is asked again where
    /// nothing else is said.
    ///
    /// # Errors
    /// If a word cannot be read, or two of them do not go together.
    pub fn question(&self, replayed: Option<&SearchPlan>) -> Result<Question, Failure> {
        let is_mlr = matches!(self.algorithm, Some(AlgorithmPlan::Mlr { .. }));
        let is_csit = replayed.is_none() && self.goals.is_empty() && is_mlr && self.effective.is_none();
        let asked = self.preset.or(is_csit.then_some(Preset::Csit));
        let repeats = self.goals.is_empty() && self.algorithm.is_none();
        let preset = asked.or(replayed.filter(|_| repeats).and_then(|record| record.preset));
        let algorithm = self.algorithm(preset, replayed)?;
        if self.preset.is_some() && !self.goals.is_empty() {
            let goals = if self.spelling == Spelling::Flags { "--goal" } else { "goals" };
            let preset = self.name("preset");
            return Err(Failure::usage(format!("{preset} says what the goals are: leave {goals} out")));
        }
        let (goals, within) = match (asked, replayed) {
            (Some(preset), _) => (preset.goals(), None),
            (None, Some(record)) if self.goals.is_empty() => (record.goals.clone(), record.within),
            (None, _) => {
                let parse = WrittenGoal::parse;
                let written: Vec<WrittenGoal> = match self.goals {
                    [] => GOALS.into_iter().map(parse).collect::<Result<_, _>>()?,
                    goals => goals.iter().map(|goal| parse(goal)).collect::<Result<_, _>>()?,
                };
                let goals = written.iter().map(|goal| goal.resolve(algorithm)).collect::<Result<_, _>>()?;
                (goals, goals::within(&written)?)
            }
        };
        Ok(Question { algorithm, preset, goals, within })
    }

    fn algorithm(
        &self,
        preset: Option<Preset>,
        replayed: Option<&SearchPlan>,
    ) -> Result<AlgorithmPlan, Failure> {
        let implied = if self.preset.is_some() { "mlr" } else { AlgorithmPlan::all()[0].name() };
        let mut algorithm = match (self.algorithm, replayed) {
            (Some(named), _) => named,
            (None, Some(record)) if self.preset.is_none() => record.algorithm,
            (None, _) => AlgorithmPlan::parse(implied)?,
        };
        let mlr = self.spelling.with("algorithm", "mlr");
        if self.preset.is_some() && !matches!(algorithm, AlgorithmPlan::Mlr { .. }) {
            let preset = self.name("preset");
            return Err(Failure::usage(format!("{preset} implies {mlr}, not {}", algorithm.name())));
        }
        match &mut algorithm {
            AlgorithmPlan::Mlr { effective } => {
                *effective = self.effective.or(preset.map(Preset::effective)).unwrap_or(*effective);
            }
            AlgorithmPlan::Mdr { version, intermediate_phases, doublings } => {
                *version = self.mdr_version.unwrap_or(*version);
                *intermediate_phases = self.mdr_phases.unwrap_or(*intermediate_phases);
                *doublings = self.mdr_doublings.unwrap_or(*doublings);
            }
            AlgorithmPlan::Credible { level, certify } => {
                *certify |= self.certify;
                if let Some(text) = self.level {
                    *level = self.read("level", quantities::ratio(text))?;
                }
            }
            AlgorithmPlan::Binary => {}
        }
        let is_credible = matches!(algorithm, AlgorithmPlan::Credible { .. });
        let needs = |argument: &str, name: &str, why: &str| {
            let algorithm = self.spelling.with("algorithm", name);
            Err(Failure::usage(format!("{} needs {algorithm}{why}", self.name(argument))))
        };
        if self.level.is_some() && !is_credible {
            let why = ": the other algorithms give bounds, without a confidence level";
            return needs("level", "credible", why);
        }
        if self.certify && !is_credible {
            let why = match algorithm {
                AlgorithmPlan::Mlr { .. } => ": the bounds of mlr are those of RFC 9971 already",
                _ => ": it states bounds by RFC 9971 beside an interval",
            };
            return needs("certify", "credible", why);
        }
        let of_mdr = self.mdr_version.is_some() || self.mdr_phases.is_some() || self.mdr_doublings.is_some();
        if of_mdr && !matches!(algorithm, AlgorithmPlan::Mdr { .. }) {
            return needs("mdr_…", "mdr", "");
        }
        Ok(algorithm)
    }

    /// The plan of a search of this target for this question, by packets of this profile; a service's own requests, and the streams
    /// that it needs, are in their place. `generator_limit` is asked for only where nobody else says the highest load.
    ///
    /// # Errors
    /// If there is no load to search, a word cannot be read, or the algorithm cannot search for these goals.
    pub fn plan(
        &self,
        target: Target,
        question: &Question,
        mut profile: TrafficProfile,
        replayed: Option<&SearchPlan>,
        generator_limit: &mut dyn FnMut(&TrafficProfile) -> Result<Rate, Failure>,
    ) -> Result<SearchPlan, Failure> {
        if target.paces_itself() {
            return Err(Failure::usage(format!("{target} runs at its own pace: there is no load to search"))
                .advice("measure it with  dropline trial"));
        }
        arrival_argument::searchable(&profile.arrival)?;
        profile.seed = self.seed.or(replayed.map(|record| record.profile.seed)).unwrap_or(profile.seed);
        profile.packet = target.own_packet()?.unwrap_or(profile.packet);
        let spread = |profile, load| if self.keeps_streams { profile } else { target.spread(profile, load) };
        profile = spread(profile, target.default_range().0);
        let range = self.range(&target, &profile, generator_limit)?;
        profile = spread(profile, range.max());
        let Question { algorithm, preset, ref goals, within } = *question;
        let default = Limits { budget: algorithm.default_budget(), max_trials: None };
        let mut limits = replayed.map_or(default, |record| record.limits);
        self.limit(&mut limits)?;
        let warm_up = match self.warm_up {
            Some(text) => self.read("warm_up", quantities::duration(text))?,
            // A record holds none of it.
            None if replayed.is_some() => Duration::ZERO,
            None => algorithm.default_warm_up(),
        };
        let delay_at = self.delay_at.iter().map(|word| self.share(word)).collect::<Result<_, _>>()?;
        let goals = goals.clone();
        let plan = SearchPlan {
            profile,
            preset,
            within,
            limits,
            warm_up,
            delay_at,
            ..SearchPlan::of(target, algorithm, goals, range)
        };
        // An algorithm that cannot search for these goals says so before anything is sent.
        plan.search().map(|_| plan)
    }

    /// Writes other limits where they are given.
    ///
    /// # Errors
    /// If the budget is not a time above 0.
    pub fn limit(&self, limits: &mut Limits) -> Result<(), Failure> {
        if let Some(text) = self.budget {
            limits.budget = Some(self.read("budget", quantities::positive_duration(text))?);
        }
        limits.max_trials = self.max_trials.or(limits.max_trials);
        Ok(())
    }

    /// The loads that the search may use. `generator_limit` is asked for only where nobody else says the highest.
    ///
    /// # Errors
    /// If a word cannot be read, or nobody knows the highest load.
    pub fn range(
        &self,
        target: &Target,
        profile: &TrafficProfile,
        generator_limit: &mut dyn FnMut(&TrafficProfile) -> Result<Rate, Failure>,
    ) -> Result<LoadRange, Failure> {
        let (lowest, highest) = target.default_range();
        let given = |argument: &str, text: Option<&str>| {
            let rate = |text: &str| {
                let load = self.read(argument, quantities::load(text))?;
                target.load(&format!("{} {text:?}", self.name(argument)), load, profile.packet)
            };
            text.map(rate).transpose()
        };
        let min = given("min_load", self.min_load)?.unwrap_or(lowest);
        let max = match given("max_load", self.max_load)?.or(highest) {
            Some(max) => max,
            None if target.is_udp() => generator_limit(profile)?,
            None => {
                let max = self.name("max_load");
                return Err(target.unreadable().unwrap_or_else(|| {
                    Failure::usage(format!(
                        "{max} is needed: only you know what performs the trials can send"
                    ))
                }));
            }
        };
        let [lowest, highest] = ["min_load", "max_load"].map(|argument| self.name(argument));
        LoadRange::new(min, max).map_err(|why| Failure::usage(format!("{lowest}, {highest}: {why}")))
    }

    fn share(&self, word: &str) -> Result<Ratio, Failure> {
        match self.read("delay_at", quantities::ratio(word))? {
            Ratio::ZERO => Err(Failure::usage(format!("{}: a share must be above 0", self.name("delay_at")))),
            share => Ok(share),
        }
    }

    fn name(&self, argument: &str) -> String {
        self.spelling.name(argument)
    }

    /// A written quantity, with a usage error that names the argument.
    fn read<T>(&self, argument: &str, value: Result<T, impl Display>) -> Result<T, Failure> {
        value.map_err(|why| Failure::usage(format!("{}: {why}", self.name(argument))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::Arrival;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// What the command line means by it, Python means by it too.
    #[test]
    fn mlr_without_goals_has_csit_s_goals_and_its_time() {
        let algorithm = Some(AlgorithmPlan::parse("mlr").unwrap());
        let question = |goals: &[String], effective| {
            let asked = SearchArguments { algorithm, goals, effective, ..SearchArguments::default() };
            asked.question(None).unwrap()
        };
        let Question { preset, algorithm, .. } = question(&[], None);
        assert_eq!(preset, Some(Preset::Csit));
        assert_eq!(algorithm, AlgorithmPlan::Mlr { effective: Preset::Csit.effective() });
        let written = question(&words(&["0"]), None);
        assert_eq!(
            (written.preset, written.algorithm),
            (None, AlgorithmPlan::Mlr { effective: EffectiveDuration::Trial })
        );
        let elapsed = question(&words(&["0"]), Some(EffectiveDuration::Elapsed)).algorithm;
        assert_eq!(elapsed, AlgorithmPlan::Mlr { effective: EffectiveDuration::Elapsed });
    }

    /// Whoever asks, a service has its own requests and the streams that tell its replies apart.
    #[test]
    fn a_service_has_its_own_requests_and_as_many_streams_as_it_needs_where_nobody_says_how_many() {
        let target = Target::parse("dns://127.0.0.1:53?names=h{0..9}.example.org").unwrap();
        let plan = |keeps_streams, max_load| {
            let asked =
                SearchArguments { keeps_streams, max_load: Some(max_load), ..SearchArguments::default() };
            let question = asked.question(None).unwrap();
            let mut unasked = |_: &TrafficProfile| unreachable!("the highest load is said");
            asked.plan(target.clone(), &question, TrafficProfile::default(), None, &mut unasked).unwrap()
        };
        let [few, many] = ["1kpps", "400kpps"].map(|load| plan(false, load).profile);
        assert_eq!(Some(many.packet), target.own_packet().unwrap());
        assert!(few.streams.len() > 1 && many.streams.len() > few.streams.len(), "{few:?} {many:?}");
        assert_eq!(plan(true, "400kpps").profile.streams.len(), 1, "it was asked for");
    }

    #[test]
    fn what_runs_at_its_own_pace_has_no_load_to_search_whoever_asks() {
        let asked = SearchArguments { spelling: Spelling::Keywords, ..SearchArguments::default() };
        let plan = |word, arrival| {
            let (target, question) = (Target::parse(word).unwrap(), asked.question(None).unwrap());
            let profile = TrafficProfile { arrival, ..TrafficProfile::default() };
            asked
                .plan(target.at_own_pace(), &question, profile, None, &mut |_| unreachable!("refused before"))
        };
        let clients = arrival_argument::arrival("yield:n=4", None).unwrap();
        for refused in [plan("flowgraph:futuresdr", Arrival::constant()), plan("sim:hard", clients)] {
            assert!(refused.unwrap_err().to_string().contains("there is no load to search"));
        }
    }

    #[test]
    fn an_error_names_the_argument_as_it_was_spelt() {
        let binary = Some(AlgorithmPlan::parse("binary").unwrap());
        let goals = words(&["0"]);
        for (spelling, level, preset) in [
            (
                Spelling::Flags,
                "--level needs --algorithm credible: ",
                "--preset implies --algorithm mlr, not binary",
            ),
            (
                Spelling::Keywords,
                "level needs algorithm=\"credible\": ",
                "preset implies algorithm=\"mlr\", not binary",
            ),
        ] {
            let asked = SearchArguments { spelling, algorithm: binary, ..SearchArguments::default() };
            let said = |asked: SearchArguments<'_>| asked.question(None).unwrap_err().to_string();
            assert!(said(SearchArguments { level: Some("95%"), ..asked }).starts_with(level));
            assert_eq!(said(SearchArguments { preset: Some(Preset::Csit), ..asked }), preset);
            let both =
                SearchArguments { preset: Some(Preset::Csit), goals: &goals, algorithm: None, ..asked };
            assert!(said(both).contains("leave"));
        }
    }
}
