//! What turns the result of a search into an exit code: conditions, a requirement, a search to compare with.

use super::super::{conditions_to_fail, object, style};
use crate::args::{Requirement, SearchArgs};
use crate::plan;
use dropline_archive::record_file::read_record;
use dropline_failure::Failure;
use dropline_record::LoadUnit;
use dropline_record::{ComparedSearches, GoalLine, Record};
use dropline_targets::Target;
use dropline_verbs::compare::searches::{Searched, compare};
use dropline_verbs::fail_if::{AskedSearch, CheckedCondition, FailIf, check_required, unmet};
use dropline_verbs::plan::AlgorithmPlan;
use dropline_verbs::search_arguments::Question;
use serde_json::Value;

/// All of it, checked before anything is sent.
pub(super) struct Gate {
    fail_if: Vec<FailIf>,
    require: Option<Requirement>,
    baseline: Option<Baseline>,
}

struct Baseline {
    searched: Searched,
    smallest_effect: Option<f64>,
}

/// How one search stands to the gate.
pub(super) struct Held {
    checked: Vec<CheckedCondition>,
    compared: Option<ComparedSearches>,
    unmet: Option<String>,
}

impl Gate {
    pub(super) fn of(args: &SearchArgs) -> Result<Self, Failure> {
        let (asked, load_unit, goals) = asked(args)?;
        args.require.map_or(Ok(()), |required| check_required(required.word(), &asked))?;
        let baseline = args.baseline.as_deref().map(|path| {
            let several =
                args.repeat > 1 || args.traffic.frame.as_deref().is_some_and(|sizes| sizes.contains(','));
            if several {
                return Err(Failure::usage(
                    "--baseline is compared with one search, and several are asked for",
                )
                .advice("leave --repeat out and name one frame size"));
            }
            let searched = Searched::read(path)?;
            searched.fits(load_unit, &goals)?;
            let smallest_effect = plan::smallest_effect(args.smallest_effect.as_deref())?;
            Ok(Baseline { searched, smallest_effect })
        });
        Ok(Self {
            fail_if: conditions_to_fail(&args.keep, Some(&asked))?,
            require: args.require,
            baseline: baseline.transpose()?,
        })
    }

    pub(super) fn hold(&self, record: &Record) -> Result<Held, Failure> {
        let against = |baseline: &Baseline| {
            let found = Searched::of("this search", record.clone())?;
            compare(&baseline.searched, &found, baseline.smallest_effect)
        };
        Ok(Held {
            checked: self.fail_if.iter().map(|condition| condition.hold(record)).collect(),
            // A search that was stopped before its first trial has nothing to compare.
            compared: self
                .baseline
                .as_ref()
                .filter(|_| !record.trials.is_empty())
                .map(against)
                .transpose()?,
            unmet: self.require.and_then(|what| unmet(what.word(), record).or_else(|| doubted(record))),
        })
    }
}

impl Held {
    /// Whether the search does not pass; says on stderr what it fails by.
    pub(super) fn fails(&self) -> bool {
        let met = self.checked.iter().filter(|checked| checked.failed).map(|checked| &checked.text);
        let why: Vec<&String> = met.chain(&self.unmet).collect();
        why.iter().for_each(|why| note!("{why}"));
        !why.is_empty() || self.compared.as_ref().is_some_and(ComparedSearches::is_worse)
    }

    /// Whether a condition holds of a trial that says more about us than about the target, or the baseline does.
    pub(super) fn is_invalid(&self) -> bool {
        self.compared.as_ref().is_some_and(|compared| compared.not_valid.is_some())
            || self.checked.iter().any(|checked| checked.failed && !checked.valid)
    }

    /// The record as one object, with how it stands to the gate.
    pub(super) fn object(&self, record: &Record) -> Value {
        let mut object = object(record, &self.checked);
        if let Some(compared) = &self.compared {
            object["baseline"] = serde_json::to_value(compared).expect("a comparison is JSON");
        }
        object
    }

    /// The comparison as text.
    pub(super) fn text(&self) -> Option<String> {
        let compared = self.compared.as_ref()?;
        Some(format!(
            "\nagainst the baseline:\n{}",
            dropline_report::compared_searches_text(compared, style())
        ))
    }
}

/// What is required is not met by an answer that a caveat denies.
fn doubted(record: &Record) -> Option<String> {
    dropline_report::doubted(record).map(|why| format!("the answer does not stand as it is stated: {why}"))
}

/// What is asked for, what its loads count, and its goals; of a search that goes on as its record says.
fn asked(args: &SearchArgs) -> Result<(AskedSearch, LoadUnit, Vec<GoalLine>), Failure> {
    let (medians, certified, goals, delays, load_unit) = match &args.resume {
        Some(path) => {
            let header = read_record(path)?.header;
            let search = header.search.ok_or_else(|| {
                Failure::usage(format!("{} is of one trial: there is nothing to resume", path.display()))
            })?;
            let medians = search.has_level();
            (medians, search.certify, search.goals, !search.delay_at.is_empty(), header.load_unit)
        }
        None => {
            let target = Target::parse(args.target.as_deref().unwrap_or_default())?;
            let Question { algorithm, goals, within, .. } = plan::question(args)?;
            let goals = goals.iter().map(|goal| GoalLine::from(goal).within(within)).collect();
            let medians = matches!(algorithm, AlgorithmPlan::Credible { .. });
            (medians, args.certify, goals, !args.delay_at.is_empty(), target.load_unit())
        }
    };
    let loss_ratios = goals.iter().map(|goal| goal.loss_ratio).collect();
    Ok((AskedSearch { loss_ratios, medians, certified, delays }, load_unit, goals))
}
