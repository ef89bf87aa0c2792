//! What a search was asked for, as words: read by the code that reads them on the command line.

use dropline_failure::Failure;
use dropline_search::{Limits, Preset};
use dropline_targets::Target;
use dropline_traffic::Targets;
use dropline_trial::{LoadRange, Rate, Ratio, TrafficProfile, quantities};
use dropline_verbs::goals::{self, WrittenGoal};
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use pyo3::prelude::*;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Words of a search, as Python hands them over.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    goals: Vec<String>,
    algorithm: Option<String>,
    preset: Option<String>,
    level: Option<String>,
    certify: bool,
    elapsed: bool,
    budget: Option<String>,
    max_trials: Option<u64>,
    min_load: Option<String>,
    max_load: Option<String>,
    seed: Option<u64>,
    warm_up: Option<String>,
    delay_at: Vec<String>,
}

impl Asked {
    /// The plan of a search of this target. What nobody said is what the command line would take.
    pub(crate) fn plan(
        &self,
        target: Target,
        stop: &Arc<AtomicBool>,
    ) -> Result<(SearchPlan, Option<Rate>), Failure> {
        target.consent(&Targets::default())?;
        let preset = self.preset()?;
        let algorithm = self.algorithm(preset)?;
        let written: Vec<WrittenGoal> = match (self.goals.as_slice(), preset) {
            ([], None) => ["0", "0.5%"].map(WrittenGoal::parse).into_iter().collect::<Result<_, _>>()?,
            (goals, _) => goals.iter().map(|goal| WrittenGoal::parse(goal)).collect::<Result<_, _>>()?,
        };
        let goals = match preset {
            Some(_) if !written.is_empty() => {
                return Err(Failure::usage("preset says the goals: leave goals out"));
            }
            Some(preset) => preset.goals(),
            None => written.iter().map(|goal| goal.resolve(algorithm)).collect::<Result<_, _>>()?,
        };
        let mut profile = TrafficProfile::default();
        profile.drain = preset.map_or(profile.drain, Preset::drain);
        profile.seed = self.seed.unwrap_or(profile.seed);
        let (range, generator_limit) = self.range(&target, &profile, stop)?;
        let budget = self.budget.as_deref().map(|text| read("budget", quantities::positive_duration(text)));
        let warm_up = self.warm_up.as_deref().map(|text| read("warm_up", quantities::duration(text)));
        let plan = SearchPlan {
            profile,
            preset,
            within: goals::within(&written)?,
            limits: Limits {
                budget: budget.transpose()?.or(algorithm.default_budget()),
                max_trials: self.max_trials,
            },
            warm_up: warm_up.transpose()?.unwrap_or(algorithm.default_warm_up()),
            delay_at: self
                .delay_at
                .iter()
                .map(|share| positive("delay_at", share))
                .collect::<Result<_, _>>()?,
            ..SearchPlan::of(target, algorithm, goals, range)
        };
        plan.search().map(|_| (plan, generator_limit))
    }

    /// Other limits for a search that is resumed.
    pub(crate) fn limit(&self, limits: &mut Limits) -> Result<(), Failure> {
        if let Some(text) = &self.budget {
            limits.budget = Some(read("budget", quantities::positive_duration(text))?);
        }
        limits.max_trials = self.max_trials.or(limits.max_trials);
        Ok(())
    }

    fn preset(&self) -> Result<Option<Preset>, Failure> {
        self.preset.as_deref().map(|word| word.parse().map_err(Failure::usage)).transpose()
    }

    fn algorithm(&self, preset: Option<Preset>) -> Result<AlgorithmPlan, Failure> {
        let implied = if preset.is_some() { "mlr" } else { "credible" };
        let mut algorithm = AlgorithmPlan::parse(self.algorithm.as_deref().unwrap_or(implied))?;
        let name = algorithm.name();
        if preset.is_some() && name != "mlr" {
            return Err(Failure::usage(format!("preset implies algorithm=\"mlr\", not {name:?}")));
        }
        match &mut algorithm {
            AlgorithmPlan::Credible { level, certify } => {
                *certify = self.certify;
                if let Some(text) = &self.level {
                    *level = positive("level", text)?;
                }
            }
            AlgorithmPlan::Mlr { effective } => {
                *effective = preset.map_or(*effective, Preset::effective);
                if self.elapsed {
                    *effective = Preset::Csit.effective();
                }
            }
            AlgorithmPlan::Binary | AlgorithmPlan::Mdr { .. } => {}
        }
        if name != "credible" && (self.level.is_some() || self.certify) {
            return Err(Failure::usage(format!(
                "level and certify are of algorithm=\"credible\": {name} gives bounds, without a confidence level"
            )));
        }
        Ok(algorithm)
    }

    fn range(
        &self,
        target: &Target,
        profile: &TrafficProfile,
        stop: &Arc<AtomicBool>,
    ) -> Result<(LoadRange, Option<Rate>), Failure> {
        let (lowest, highest) = target.default_range();
        let given = |name: &str, text: &Option<String>| {
            text.as_deref()
                .map(|text| read(name, read(name, quantities::load(text))?.with(profile.packet)))
                .transpose()
        };
        let min = given("min_load", &self.min_load)?.unwrap_or(lowest);
        let (max, limit) = match given("max_load", &self.max_load)?.or(highest) {
            Some(max) => (max, None),
            None if target.is_udp() => {
                let limit = dropline_targets::generator_limit(profile, stop)?;
                (limit, Some(limit))
            }
            None => {
                return Err(target.unreadable().unwrap_or_else(|| {
                    Failure::usage("max_load is needed: only you know what performs the trials can send")
                }));
            }
        };
        let range =
            LoadRange::new(min, max).map_err(|why| Failure::usage(format!("min_load, max_load: {why}")))?;
        Ok((range, limit))
    }
}

fn positive(name: &str, text: &str) -> Result<Ratio, Failure> {
    match read(name, quantities::ratio(text))? {
        Ratio::ZERO => Err(Failure::usage(format!("{name}: a share must be above 0, such as 95%"))),
        share => Ok(share),
    }
}

/// A written quantity, with a usage error that names the argument.
fn read<T>(name: &str, value: Result<T, impl Display>) -> Result<T, Failure> {
    value.map_err(|why| Failure::usage(format!("{name}: {why}")))
}

/// A time in seconds.
pub(crate) fn seconds(name: &str, value: f64) -> Result<Duration, Failure> {
    let time = read(name, Duration::try_from_secs_f64(value))?;
    if time.is_zero() { Err(Failure::usage(format!("{name}: a duration must be above 0"))) } else { Ok(time) }
}
