//! The words of a search, as Python hands them over.

use dropline_failure::Failure;
use dropline_search::mlr::EffectiveDuration;
use dropline_search::{Limits, Preset};
use dropline_targets::Target;
use dropline_traffic::Targets;
use dropline_trial::{Drain, Rate, TrafficProfile};
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use dropline_verbs::search_arguments::{SearchArguments, Spelling};
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Each has the name of its argument.
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
    /// What they mean is what they mean on the command line.
    fn arguments(&self) -> Result<SearchArguments<'_>, Failure> {
        Ok(SearchArguments {
            spelling: Spelling::Keywords,
            goals: &self.goals,
            algorithm: self.algorithm.as_deref().map(AlgorithmPlan::parse).transpose()?,
            preset: self.preset.as_deref().map(|word| word.parse().map_err(Failure::usage)).transpose()?,
            level: self.level.as_deref(),
            certify: self.certify,
            effective: self.elapsed.then_some(EffectiveDuration::Elapsed),
            budget: self.budget.as_deref(),
            max_trials: self.max_trials,
            min_load: self.min_load.as_deref(),
            max_load: self.max_load.as_deref(),
            warm_up: self.warm_up.as_deref(),
            delay_at: &self.delay_at,
            seed: self.seed,
            ..SearchArguments::default()
        })
    }

    /// The plan of a search of this target, and the generator's limit where it was measured.
    pub(crate) fn plan(
        &self,
        target: Target,
        stop: &Arc<AtomicBool>,
    ) -> Result<(SearchPlan, Option<Rate>), Failure> {
        target.consent(&Targets::default())?;
        let asked = self.arguments()?;
        let replayed = asked.replayed(&target);
        let question = asked.question(replayed.as_ref())?;
        let drain = question.preset.map_or_else(Drain::default, Preset::drain);
        let profile = TrafficProfile { drain, ..TrafficProfile::default() };
        let mut limit = None;
        let plan = asked.plan(target, &question, profile, replayed.as_ref(), &mut |profile| {
            let measured = dropline_targets::generator_limit(profile, stop)?;
            limit = Some(measured);
            Ok(measured)
        })?;
        Ok((plan, limit))
    }

    /// Other limits for a search that is resumed.
    pub(crate) fn limit(&self, limits: &mut Limits) -> Result<(), Failure> {
        self.arguments()?.limit(limits)
    }
}

/// A time in seconds.
pub(crate) fn seconds(name: &str, value: f64) -> Result<Duration, Failure> {
    let time = Duration::try_from_secs_f64(value).map_err(|why| Failure::usage(format!("{name}: {why}")))?;
    if time.is_zero() { Err(Failure::usage(format!("{name}: a duration must be above 0"))) } else { Ok(time) }
}
