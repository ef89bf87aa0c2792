//! How wide intervals are, in numbers and in words.

use crate::number;
use dropline_record::AnswerLine;

/// Digits of how wide an interval is.
pub(super) const WIDTH_DIGITS: i32 = 2;

/// How wide an interval is, and what was asked for where that was not reached: in as many digits as tell them apart.
pub(crate) fn width_words(width: f64, asked: f64) -> String {
    if width <= asked * (1.0 + 1e-9) {
        return number::percent_of(width, WIDTH_DIGITS);
    }
    let told = |digits| [width, asked].map(|width| number::percent_of(width, digits));
    let [width, asked] =
        (WIDTH_DIGITS..=9).map(told).find(|[width, asked]| width != asked).unwrap_or_else(|| told(3));
    format!("{width}, asked {asked}")
}

/// Relative distance of the bounds, (upper − lower) ÷ upper.
pub(crate) fn width(answer: &AnswerLine) -> Option<f64> {
    relative_width(answer.lower_pps, answer.upper_pps)
}

/// (upper − lower) ÷ upper.
pub(crate) fn relative_width(lower: Option<f64>, upper: Option<f64>) -> Option<f64> {
    let (lower, upper) = (lower?, upper?);
    (upper > 0.0 && upper >= lower).then(|| (upper - lower) / upper)
}
