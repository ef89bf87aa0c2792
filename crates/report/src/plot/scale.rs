//! From values to pixels, and where the ticks are.

/// A straight or logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    /// Lowest and highest value shown.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Their pixels.
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Scale {
    /// A straight axis; a range without extent gets one.
    pub(crate) fn linear((low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let (low, high) = if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) };
        let high = if high > low { high } else { low + low.abs().max(1.0) * 0.1 };
        Self { low, high, from, to, logarithmic: false }
    }

    /// A logarithmic axis of positive values.
    pub(crate) fn logarithmic((low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let low = if low.is_finite() && low > 0.0 { low } else { 1.0 };
        let high = if high.is_finite() && high > low { high } else { low * 10.0 };
        Self { low, high, from, to, logarithmic: true }
    }

    /// The pixel of a value; beyond the ends for values beyond them.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.low * 1e-9) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + (self.to - self.from) * share
    }

    /// As [`at`](Self::at), at the ends for values beyond them.
    pub(crate) fn clamped(&self, value: f64) -> f64 {
        let value = if value.is_nan() { self.low } else { value };
        self.at(value.clamp(self.low, self.high))
    }

    pub(crate) fn shows(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// At most about `most` round values in the range, ascending.
    pub(crate) fn ticks(&self, most: usize) -> Vec<f64> {
        if self.logarithmic { self.log_ticks(most) } else { self.linear_ticks(most) }
    }

    fn linear_ticks(&self, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|&step| step >= rough * 0.999);
        let step = step.unwrap_or(power * 10.0);
        let first = (self.low / step - 1e-9).ceil();
        let last = (self.high / step + 1e-9).floor();
        if step.is_nan() || step <= 0.0 || !(last - first).is_finite() || last - first > 1000.0 {
            return Vec::new();
        }
        (0..=(last - first).max(-1.0) as i64 as usize).map(|index| (first + index as f64) * step).collect()
    }

    fn log_ticks(&self, most: usize) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let steps: &[f64] = if decades * 3.0 <= most as f64 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let all: Vec<f64> = (first..=last)
            .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
            .filter(|&value| value >= self.low * 0.999_999 && value <= self.high * 1.000_001)
            .collect();
        if all.len() < 3 && decades < 1.0 {
            return self.linear_ticks(most.min(6));
        }
        let stride = all.len().div_ceil(most.max(1)).max(1);
        all.into_iter().step_by(stride).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let scale = Scale::linear((181.0, 201.0), (0.0, 100.0));
        assert_eq!(scale.ticks(10), [182.0, 184.0, 186.0, 188.0, 190.0, 192.0, 194.0, 196.0, 198.0, 200.0]);
        let scale = Scale::logarithmic((20e3, 2e6), (0.0, 100.0));
        assert_eq!(scale.ticks(8), [20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6]);
        assert_eq!(scale.ticks(3), [100e3, 1e6]);
        let narrow = Scale::logarithmic((12.0, 46.0), (0.0, 100.0));
        assert_eq!(narrow.ticks(8), [20.0, 30.0, 40.0], "one round number does not make an axis");
    }

    #[test]
    fn a_range_without_extent_still_has_an_axis() {
        for scale in [
            Scale::linear((5.0, 5.0), (0.0, 1.0)),
            Scale::linear((f64::NAN, 5.0), (0.0, 1.0)),
            Scale::logarithmic((0.0, 0.0), (0.0, 1.0)),
        ] {
            assert!(scale.at(scale.low).is_finite() && scale.high > scale.low, "{scale:?}");
        }
    }
}
