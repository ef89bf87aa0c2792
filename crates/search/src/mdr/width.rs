//! Arithmetic of relative widths, (upper − lower) ÷ upper, on a logarithmic scale of loads.

use dropline_trial::Rate;

/// A width doubled so many times. Two equal steps would be 2w − w²; a little less makes sure that half of a
/// doubled width is never above the original.
pub(super) fn doubled(width: f64, times: u8) -> f64 {
    (0..times).fold(width, |width, _| 1.999 * width - width * width)
}

/// The load one width below; always another one, as far as there is one.
pub(super) fn below(load: Rate, width: f64) -> Rate {
    let next = Rate::from_millipps(load.as_millipps().saturating_sub(1));
    millipps(load.as_millipps() as f64 * (1.0 - width)).min(next)
}

/// The load one width above; always another one, as far as there is one.
pub(super) fn above(load: Rate, width: f64) -> Rate {
    let next = Rate::from_millipps(load.as_millipps().saturating_add(1));
    millipps(load.as_millipps() as f64 / (1.0 - width)).max(next)
}

/// The load in the middle of two, √(lower · upper): neither of them where there is a load between.
pub(super) fn middle(lower: Rate, upper: Rate) -> Rate {
    let halved = 1.0 - libm::sqrt(1.0 - relative(lower, upper));
    let next = Rate::from_millipps(lower.as_millipps() + 1);
    let last = Rate::from_millipps(upper.as_millipps() - 1);
    above(lower, halved).min(last).max(next)
}

/// Width of an interval relative to its upper end.
pub(super) fn relative(lower: Rate, upper: Rate) -> f64 {
    (upper.as_millipps() - lower.as_millipps()) as f64 / upper.as_millipps() as f64
}

/// The load nearest to so many millipackets a second.
pub(super) fn millipps(value: f64) -> Rate {
    Rate::from_millipps(libm::round(value) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn rate(millipps: u64) -> Rate {
        Rate::from_millipps(millipps)
    }

    #[test]
    fn half_of_a_doubled_width_is_never_above_the_original() {
        for billionths in (1..1_000_000_000).step_by(99_991) {
            let width = f64::from(billionths) / 1e9;
            let half = 1.0 - libm::sqrt(1.0 - doubled(width, 1));
            assert!(half <= width, "{width}");
        }
    }

    #[test]
    fn the_middle_of_two_and_eight_is_four() {
        assert_eq!(middle(rate(2_000), rate(8_000)), rate(4_000));
        assert_eq!(middle(rate(5), rate(7)), rate(6));
    }

    #[test]
    fn a_step_always_reaches_another_load() {
        assert_eq!((below(rate(10), 0.001), above(rate(10), 0.001)), (rate(9), rate(11)));
        assert_eq!(below(Rate::LOWEST, 0.5), Rate::LOWEST);
        assert_eq!(above(Rate::HIGHEST, 0.5), Rate::HIGHEST);
        assert_eq!((below(rate(1000), 0.25), above(rate(750), 0.25)), (rate(750), rate(1000)));
    }
}
