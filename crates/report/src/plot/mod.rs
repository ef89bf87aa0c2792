//! The plots: each drawn twice, wide and narrow, with its words and its numbers.

pub(crate) mod canvas;
pub(crate) mod scale;

mod axes;
mod backlog;
mod burst;
mod calibration;
mod chart;
mod compared;
mod curves;
mod delay;
mod distribution;
mod gaps;
mod heat;
mod lanes;
mod loss;
mod over_time;
mod places;
mod questions;
mod remedies;
mod search_time;
mod slices;
mod spans;
mod standalone_style;
mod trend;
mod two_histograms;
mod two_searches;
mod whole_range;

pub use calibration::{Calibration, CalibrationLine};
pub use curves::{Curve, Curves};

pub(crate) use backlog::backlog;
pub(crate) use burst::burst;
pub(crate) use calibration::calibration;
pub(crate) use chart::chart;
pub(crate) use compared::compared;
pub(crate) use curves::curves;
pub(crate) use delay::{delays, trial_delay};
pub(crate) use distribution::distribution;
pub(crate) use gaps::gaps;
pub(crate) use heat::heat;
pub(crate) use lanes::lanes;
pub(crate) use loss::{LoadAxis, loss};
pub(crate) use over_time::{fit_over_time, over_time};
pub(crate) use places::places;
pub(crate) use questions::questions;
pub(crate) use remedies::remedies;
pub(crate) use search_time::{View, common_view, search_time, time_span};
pub(crate) use slices::slices;
pub(crate) use trend::trend;
pub(crate) use two_searches::together;
pub(crate) use whole_range::{delay_by_load, forwarded};

use crate::number::Loads;
use canvas::Drawing;
use dropline_printable::printable;
use dropline_record::{Purpose, TrialLine};
use std::collections::BTreeSet;

/// Colours and lines of all drawings, for page and file alike.
pub(crate) const STYLE: &str = include_str!("plot.css");

/// A plot with its words.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// Of its file, without an ending.
    pub(crate) name: &'static str,
    /// What was found, computed from the data.
    pub(crate) title: String,
    /// How to read it.
    pub(crate) caption: String,
    /// The result in a sentence, for who does not see it.
    pub(crate) desc: String,
    pub(crate) wide: Drawing,
    pub(crate) narrow: Drawing,
    pub(crate) numbers: Numbers,
}

/// The table below a plot: a row a mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Reading>,
}

/// The values of a mark.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// In a sentence.
    pub(crate) words: String,
    pub(crate) cells: Vec<String>,
}

/// How much room a drawing has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// All of the page.
    Full,
    /// A column of two.
    Half,
    /// A telephone.
    Narrow,
}

impl Room {
    pub(crate) fn width(self) -> f64 {
        match self {
            Self::Full => 1032.0,
            Self::Half => 496.0,
            Self::Narrow => 372.0,
        }
    }
}

impl Plot {
    /// The wide drawing as a file of its own; what would turn its text round is replaced.
    pub(crate) fn file(&self) -> String {
        printable(&self.wide.svg("plot", &self.title, &self.desc, Some(standalone_style::style())).0)
            .into_owned()
    }
}

/// A trial in a sentence: `trial 18: 191.1 kpps, lost 98 of 191 100 (0.051 %)`.
pub(crate) fn trial_words(trial: &TrialLine, loads: Loads) -> String {
    use crate::number::{count, percent};
    let lost = match trial.loss_ratio {
        Some(_) if trial.lost.0 == 0 => format!("lost none of {}", count(trial.offered.0)),
        Some(ratio) => {
            format!("lost {} of {} ({})", count(trial.lost.0), count(trial.offered.0), percent(ratio))
        }
        None => "nothing was offered".into(),
    };
    let purpose = match (&trial.phase, trial.purpose) {
        (Some(phase), _) => format!(", {phase}"),
        (None, Purpose::DelayAt) => ", for the delay".into(),
        (None, _) => String::new(),
    };
    format!("trial {}: {}, {lost}{purpose}", trial.number, loads.with_unit(trial.intended_load_pps))
}

/// Marks of a plot at most: more of them lie on one another.
const MARKS: usize = 1200;

/// Of very many trials one for each spot that the eye can tell from others, by where they stand in pixels.
pub(crate) fn apart<'a>(
    trials: &[&'a TrialLine],
    at: impl Fn(&TrialLine) -> (f64, f64),
) -> Vec<&'a TrialLine> {
    at_most(MARKS, 2.0, trials, at)
}

/// Marks of an overview at most: there most trials lie on one another, and others show them apart.
const OVERVIEW: usize = 40;

/// The same for an overview of sorted trials, in which a mark is as large as the distance of two; those that the title is
/// about are kept.
pub(crate) fn overview<'a>(
    trials: &[&'a TrialLine],
    told: &[&'a TrialLine],
    at: impl Fn(&TrialLine) -> (f64, f64),
) -> Vec<&'a TrialLine> {
    let is_told = |trial: &TrialLine| told.iter().any(|one| one.number == trial.number);
    let others = trials.iter().copied().filter(|trial| !is_told(trial));
    let first: Vec<&TrialLine> =
        trials.iter().copied().filter(|trial| is_told(trial)).chain(others).collect();
    let mut kept = at_most(OVERVIEW, 3.0, &first, at);
    for one in told {
        if !kept.iter().any(|trial| trial.number == one.number) {
            kept.push(one);
        }
    }
    kept.sort_by(|a, b| a.intended_load_pps.total_cmp(&b.intended_load_pps));
    kept
}

fn at_most<'a>(
    most: usize,
    mut spot: f64,
    trials: &[&'a TrialLine],
    at: impl Fn(&TrialLine) -> (f64, f64),
) -> Vec<&'a TrialLine> {
    let mut kept = trials.to_vec();
    while kept.len() > most {
        let mut taken = BTreeSet::new();
        kept = trials.to_vec();
        kept.retain(|trial| {
            let (x, y) = at(trial);
            taken.insert(((x / spot) as i64, (y / spot) as i64, trial.lost.0 > 0))
        });
        spot *= 1.4;
    }
    kept
}

/// What a caption says of trials that lie on others.
pub(crate) fn apart_words(all: usize, drawn: usize) -> String {
    if all == drawn {
        return String::new();
    }
    let [all, drawn] = [all, drawn].map(|trials| crate::number::count(trials as u64));
    format!(" Of {all} trials {drawn} are drawn, the others lie on these or beside them; the record has all.")
}

/// The loss ratio that a mark shows.
pub(crate) fn shown_loss(trial: &TrialLine) -> f64 {
    trial.loss_ratio.filter(|ratio| ratio.is_finite()).unwrap_or(0.0).clamp(0.0, 1.0)
}
