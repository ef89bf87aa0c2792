//! Nelder and Mead's simplex: the minimum of a function of a few variables, without its slopes.

/// Where a minimum was found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Minimum {
    pub(crate) at: Vec<f64>,
    pub(crate) value: f64,
}

/// How long a search may go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Function values.
    pub(crate) evaluations: usize,
    /// Ends when the values at all corners are this close.
    pub(crate) tolerance: f64,
}

/// A look around.
pub(crate) const GLANCE: Patience = Patience { evaluations: 60, tolerance: 1e-2 };
/// To the last digit that a likelihood of thousands of events has.
pub(crate) const EXACT: Patience = Patience { evaluations: 1500, tolerance: 2e-9 };

/// Searches from `start` with steps of these sizes. An infinite or undefined value is a wall.
pub(crate) fn minimum(
    function: &mut dyn FnMut(&[f64]) -> f64,
    start: &[f64],
    steps: &[f64],
    patience: Patience,
) -> Minimum {
    let mut value = |at: &[f64]| {
        let value = function(at);
        if value.is_nan() { f64::INFINITY } else { value }
    };
    let mut left = patience.evaluations;
    let mut best = Minimum { at: start.to_vec(), value: value(start) };
    // A simplex can collapse before it is there: it starts again, smaller, until that changes nothing.
    let mut scale = 1.0;
    loop {
        let sizes: Vec<f64> = steps.iter().map(|step| step * scale).collect();
        let found = descend(&mut value, &best, &sizes, patience.tolerance, &mut left);
        let gain = best.value - found.value;
        let first = scale == 1.0;
        if found.value <= best.value {
            best = found;
        }
        if left == 0
            || (!first
                && gain.is_finite()
                && gain < patience.tolerance.max(1e-9).max(1e-13 * best.value.abs()) * 10.0)
        {
            return best;
        }
        scale = if first { 0.1 } else { (scale * 0.3f64).max(1e-3) };
    }
}

fn descend(
    value: &mut dyn FnMut(&[f64]) -> f64,
    start: &Minimum,
    steps: &[f64],
    tolerance: f64,
    left: &mut usize,
) -> Minimum {
    let n = steps.len();
    let mut corners = vec![start.clone()];
    for (index, step) in steps.iter().enumerate() {
        let mut at = start.at.clone();
        at[index] += step;
        let value = value(&at);
        corners.push(Minimum { at, value });
    }
    *left = left.saturating_sub(n);
    loop {
        corners.sort_by(|a, b| a.value.total_cmp(&b.value));
        let (lowest, highest) = (corners[0].value, corners[n].value);
        let size = (0..n).map(|axis| (corners[n].at[axis] - corners[0].at[axis]).abs() / steps[axis].abs());
        let wide = size.fold(0.0, f64::max);
        if *left == 0
            || (highest - lowest <= tolerance.max(1e-14 * lowest.abs()) && wide < 1e-2)
            || wide < 1e-9
        {
            return corners.swap_remove(0);
        }
        *left -= 1;
        let centre: Vec<f64> = (0..n)
            .map(|axis| corners[..n].iter().map(|corner| corner.at[axis]).sum::<f64>() / n as f64)
            .collect();
        let mut towards = |share: f64| {
            let at: Vec<f64> =
                (0..n).map(|axis| centre[axis] + share * (corners[n].at[axis] - centre[axis])).collect();
            let value = value(&at);
            Minimum { at, value }
        };
        let reflected = towards(-1.0);
        if reflected.value < lowest {
            let expanded = towards(-2.0);
            *left = left.saturating_sub(1);
            corners[n] = if expanded.value < reflected.value { expanded } else { reflected };
        } else if reflected.value < corners[n - 1].value {
            corners[n] = reflected;
        } else {
            let contracted = towards(if reflected.value < highest { -0.5 } else { 0.5 });
            *left = left.saturating_sub(1);
            if contracted.value < highest.min(reflected.value) {
                corners[n] = contracted;
            } else {
                let first = corners[0].at.clone();
                for corner in &mut corners[1..] {
                    corner
                        .at
                        .iter_mut()
                        .zip(&first)
                        .for_each(|(at, first)| *at = first + 0.5 * (*at - first));
                    corner.value = value(&corner.at);
                }
                *left = left.saturating_sub(n);
            }
        }
    }
}

/// The minimum of a function of one variable that falls and then rises between two points: golden sections.
pub(crate) fn golden(function: &mut dyn FnMut(f64) -> f64, low: f64, high: f64, width: f64) -> (f64, f64) {
    const SECTION: f64 = 0.618_033_988_749_895;
    let (mut low, mut high) = (low, high);
    let (mut a, mut b) = (high - SECTION * (high - low), low + SECTION * (high - low));
    let (mut at_a, mut at_b) = (function(a), function(b));
    while high - low > width {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - SECTION * (high - low);
            at_a = function(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + SECTION * (high - low);
            at_b = function(b);
        }
    }
    if at_a <= at_b { (a, at_a) } else { (b, at_b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        let mut valley = |at: &[f64]| (1.0 - at[0]).powi(2) + 100.0 * (at[1] - at[0] * at[0]).powi(2);
        let found = minimum(&mut valley, &[-1.2, 1.0], &[0.5, 0.5], EXACT);
        assert!((found.at[0] - 1.0).abs() < 1e-4 && (found.at[1] - 1.0).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn walls_are_not_crossed() {
        let mut walled = |at: &[f64]| if at[0] < 0.0 { f64::NAN } else { at[0] + 1.0 };
        let found = minimum(&mut walled, &[3.0], &[1.0], EXACT);
        assert!(found.at[0] >= 0.0 && found.at[0] < 1e-6, "{found:?}");
    }

    #[test]
    fn golden_sections_find_the_bottom() {
        let (at, _) = golden(&mut |x: f64| (x - 0.3).abs(), -2.0, 5.0, 1e-9);
        assert!((at - 0.3).abs() < 1e-8);
    }
}
