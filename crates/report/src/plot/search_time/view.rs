//! Which loads and times a search-time graph shows.

use super::steps::steps;
use crate::number::Loads;
use crate::search_summary::SearchSummary;

/// The axis never zooms in further than to this share of its loads.
const NARROWEST: f64 = 0.03;

/// The loads and times that are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct View {
    /// In packets a second.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// End of the time axis, in seconds.
    pub(crate) until: f64,
    /// The unit is shared too.
    pub(crate) loads: Loads,
}

/// The part of the loads in which the searches decided, for all of them together.
///
/// It holds every final bound and where the bounds were most of the time; the wide first bounds of a search are
/// cut, with marks at the edge.
pub(crate) fn common_view(findings: &[SearchSummary], loads: Loads, until: f64) -> View {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut lowers: Vec<(f64, f64)> = Vec::new();
    let mut uppers: Vec<(f64, f64)> = Vec::new();
    for finding in findings {
        for goal in 0..finding.answers.len() {
            let (lower, upper) = finding.ends(goal);
            for load in [lower, upper, finding.point(goal)].into_iter().flatten() {
                if load.is_finite() && load >= 0.0 {
                    (low, high) = (low.min(load), high.max(load));
                }
            }
            for step in steps(finding, goal) {
                let weight = step.to - step.from;
                lowers.extend(step.bounds.lower_pps.map(|load| (load, weight)));
                uppers.extend(step.bounds.upper_pps.map(|load| (load, weight)));
            }
        }
    }
    if low > high {
        let trials = findings.iter().flat_map(|finding| &finding.record.trials);
        for load in
            trials.map(|trial| trial.intended_load_pps).filter(|load| load.is_finite() && *load >= 0.0)
        {
            (low, high) = (low.min(load), high.max(load));
        }
    }
    if low > high {
        (low, high) = (0.0, 1.0);
    }
    let span = (high - low).max(high * NARROWEST).max(1e-3);
    let lower = weighted_quantile(&mut lowers, 0.15).unwrap_or(low).max(low - span / 2.0);
    let upper = weighted_quantile(&mut uppers, 0.85).unwrap_or(high).min(high + span / 2.0);
    (low, high) = (low.min(lower), high.max(upper));
    let pad = ((span - (high - low)) / 2.0).max((high - low) * 0.1);
    let low = if low - pad < high * 0.25 { 0.0 } else { low - pad };
    View { low, high: high + pad, until, loads }
}

/// The value that this share of the weight does not exceed.
fn weighted_quantile(values: &mut Vec<(f64, f64)>, q: f64) -> Option<f64> {
    values.retain(|(value, weight)| value.is_finite() && *value >= 0.0 && *weight > 0.0);
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    values.iter().find_map(|&(value, weight)| {
        sum += weight;
        (sum >= q * all).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weighted_quantile_counts_time_not_values() {
        let mut values = vec![(1.0, 1.0), (2.0, 98.0), (3.0, 1.0)];
        assert_eq!(weighted_quantile(&mut values, 0.15), Some(2.0));
        assert_eq!(weighted_quantile(&mut Vec::new(), 0.5), None);
    }
}
