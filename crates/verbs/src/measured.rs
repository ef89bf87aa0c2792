//! What a history follows of trials and of a comparison: one number each a night, with its interval.

use crate::compare::{compare, side};
use crate::validity;
use dropline_record::compared::QuestionLine;
use dropline_record::{Compared, MeasuredLine, Purpose, Quantity, Record, TrialLine};
use dropline_stats::compare::{Questions, wilson};
use dropline_stats::special::normal_quantile;
use dropline_stats::{Binned, Percentile, Replicates};

/// The percentiles that an index keeps; others are read from the records.
const KEPT: [f64; 2] = [50.0, 99.0];
/// How often an interval holds the true value.
pub(crate) const LEVEL: f64 = 0.95;

/// What an index keeps, and what a history is looked through for where nobody says.
pub fn kept() -> Vec<Quantity> {
    let trials = [Quantity::Limit, Quantity::Delivered].into_iter().chain(KEPT.map(Quantity::Percentile));
    trials.chain([Quantity::Core, Quantity::HighPercentile]).collect()
}

/// All of it, or why there is nothing; of a comparison, what its verdict says.
pub(crate) fn measured(record: &Record, compared: Option<&Compared>) -> Result<Vec<MeasuredLine>, String> {
    let found = match record.header.verb.as_str() {
        "trial" => {
            of_trials(record, &[&[Quantity::Delivered][..], &KEPT.map(Quantity::Percentile)].concat())?
        }
        "compare" => of_turns(compared.ok_or("it has no turn of both targets")?)?,
        verb => {
            return Err(format!("it was made by dropline {verb}, of which nothing is followed over time"));
        }
    };
    if found.is_empty() {
        Err("nothing came back, so there is no number to follow".into())
    } else {
        Ok(found)
    }
}

/// One quantity of trials, whichever percentile it is; `None` where the record has none.
pub(crate) fn one(record: &Record, quantity: Quantity) -> Option<MeasuredLine> {
    if record.header.verb != "trial" {
        return None;
    }
    of_trials(record, &[quantity]).ok()?.pop()
}

/// What a comparison of two targets in turns says; `None` of others, and where nothing can be compared.
pub(crate) fn verdict(record: &Record) -> Option<Compared> {
    let is_comparison = record.header.verb == "compare";
    let mut pair = is_comparison.then(|| side::turns(record, &record.header.target).ok())??;
    pair.is_in_haste = true;
    Some(compare(&pair, &Questions::default()))
}

fn of_trials(record: &Record, wanted: &[Quantity]) -> Result<Vec<MeasuredLine>, String> {
    let at_one_load = |trial: &&TrialLine| trial.purpose == Purpose::Trial;
    let trials: Vec<&TrialLine> = record.trials.iter().filter(at_one_load).collect();
    if trials.is_empty() {
        return Err("it holds no trial at one load".into());
    }
    if trials.iter().any(|trial| trial.intended_load_pps != trials[0].intended_load_pps) {
        return Err("its trials were offered different loads".into());
    }
    if validity::are_mostly_invalid(&trials) {
        return Err("its trials say more about the generator, or the path, than about the target".into());
    }
    let delays = Delays::of(&trials);
    let found = wanted.iter().filter_map(|quantity| match quantity {
        Quantity::Delivered => delivered(&trials),
        Quantity::Percentile(percent) => delays.as_ref()?.percentile(*percent),
        Quantity::Limit | Quantity::Core | Quantity::HighPercentile => None,
    });
    Ok(found.collect())
}

/// What came back of what was offered; what our own side lost counts for neither.
fn delivered(trials: &[&TrialLine]) -> Option<MeasuredLine> {
    let sum = |of: fn(&TrialLine) -> u64| trials.iter().map(|trial| of(trial)).sum::<u64>() as f64;
    let offered = sum(|trial| trial.offered.0.saturating_sub(trial.generator_lost.0));
    let share = 1.0 - sum(|trial| trial.lost.0) / offered;
    let (low, high) = wilson(share, offered, normal_quantile(f64::midpoint(1.0, LEVEL)));
    (offered > 0.0 && share > 0.0).then_some(MeasuredLine {
        quantity: Quantity::Delivered,
        value: share,
        low: Some(low),
        high: Some(high),
    })
}

/// The delays of trials, and how their slices differ.
struct Delays {
    all: Binned,
    replicates: Option<Replicates>,
    unit_ns: f64,
}

impl Delays {
    /// `None` where none were measured.
    fn of(trials: &[&TrialLine]) -> Option<Self> {
        let side = side::of_trials("", trials, true).ok()?;
        let blocks: Vec<Binned> = side.blocks.iter().map(dropline_stats::Counted::binned).collect();
        let all = Binned::together(&blocks);
        let replicates = Replicates::of(&blocks);
        (all.count() > 0).then_some(Self { all, replicates, unit_ns: side.meaning.unit_ns as f64 })
    }

    /// `None` where there are too few of them.
    fn percentile(&self, percent: f64) -> Option<MeasuredLine> {
        let p = percent / 100.0;
        let found = match &self.replicates {
            Some(replicates) => replicates.percentile(&self.all, p, LEVEL),
            None => Percentile::of(&self.all, p, LEVEL),
        };
        let ns = |value: Option<f64>| value.map(|value| value * self.unit_ns);
        let value = ns(found.value).filter(|value| *value > 0.0)?;
        let (low, high) = (ns(found.low), ns(found.high));
        Some(MeasuredLine { quantity: Quantity::Percentile(percent), value, low, high })
    }
}

/// By what B is A, in two questions.
fn of_turns(compared: &Compared) -> Result<Vec<MeasuredLine>, String> {
    if let Some(why) = &compared.not_valid {
        return Err(why.clone());
    }
    let asked = [(Quantity::Core, &compared.core), (Quantity::HighPercentile, &compared.high_percentile)];
    Ok(asked.into_iter().filter_map(|(quantity, question)| ratio(quantity, question)).collect())
}

fn ratio(quantity: Quantity, question: &QuestionLine) -> Option<MeasuredLine> {
    let of_a = question.of_a.filter(|of_a| *of_a > 0.0)?;
    let ratio = |difference: Option<f64>| difference.map(|difference| 1.0 + difference / of_a);
    let value = ratio(question.estimate).filter(|value| *value > 0.0)?;
    Some(MeasuredLine { quantity, value, low: ratio(question.low), high: ratio(question.high) })
}
