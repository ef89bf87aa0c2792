//! The loss curve that is believed in, for a reader's eye.

use super::constants::curve::{DRAWS, POINTS};
use super::particles::Particles;
use super::view;
use crate::CurvePoint;
use dropline_trial::{LoadRange, Rate};

/// What is believed of the mean loss between two loads, and as far again to either side; loads are logarithms.
pub(super) fn around(cloud: &Particles, lowest: f64, highest: f64, range: LoadRange) -> Vec<CurvePoint> {
    let draws = cloud.sample(DRAWS);
    let margin = (highest - lowest).max(1e-3);
    let (min, max) = view::logs(range);
    let (from, to) = ((lowest - margin).clamp(min, max), (highest + margin).clamp(min, max));
    if from >= to {
        // All that is believed of lies beyond the loads that may be used.
        return Vec::new();
    }
    let point = |index: usize| {
        let log_load = from + (to - from) * index as f64 / (POINTS - 1) as f64;
        let mut losses: Vec<f64> = draws.iter().map(|shape| shape.mean_loss(log_load, 0.0)).collect();
        losses.sort_by(f64::total_cmp);
        let at = |share: f64| losses[((losses.len() - 1) as f64 * share) as usize];
        let load = Rate::pps(libm::exp(log_load)).ok()?;
        Some(CurvePoint { load, low: at(0.025), median: at(0.5), high: at(0.975) })
    };
    (0..POINTS).filter_map(point).collect()
}
