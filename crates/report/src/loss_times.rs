//! When packets were lost, in words.

use crate::number::{self, JOIN, count, nanoseconds, percent, plural};
use dropline_record::explanation::Explanation;
use dropline_record::losses::{Burst, Shape};

/// In bursts, at even distances or as at random, and how many while the target did nothing.
pub(crate) fn when(found: &Explanation) -> Option<String> {
    let when = found.when.as_ref()?;
    let longest = when.longest;
    let mut words = match when.shape {
        Shape::AllTheTime if when.every.is_some() => format!(
            "all the time: nearly every 10 ms loses some, {}",
            every_words(when.every.unwrap_or_default())
        ),
        Shape::AllTheTime => "all the time: nearly every 10 ms loses some".to_owned(),
        Shape::Bursts if when.bursts == 1 => {
            format!("in one burst of {}{}", plural(longest.packets, "packet"), span(longest))
        }
        Shape::Bursts => format!(
            "in {}, half of them of {} or more, the longest {}{}",
            plural(when.bursts, "burst"),
            plural(when.median_burst, "packet"),
            plural(longest.packets, "packet"),
            span(longest)
        ),
        Shape::Regular if when.every.is_none() => {
            "far more evenly than at random: what decides it goes by turns, as by what is asked".to_owned()
        }
        Shape::Regular => format!(
            "{} was lost, at distances far more even than at random",
            every_words(when.every.unwrap_or_default())
        ),
        Shape::Spread => "spread as at random".to_owned(),
    };
    if let Some(stalled) = when.while_stalled.filter(|stalled| *stalled > 0) {
        let share = stalled as f64 / when.lost.max(1) as f64;
        words.push_str(&format!("; {} of them while the target did nothing, or just after", percent(share)));
    }
    if let Some(index) = when.dispersion[1] {
        words.push_str(&format!("; dispersion over 10{JOIN}ms {}", number::three(index)));
    }
    Some(words)
}

/// ` in 2.1 ms`; nothing where all were lost at one moment, or between two looks.
fn span(burst: Burst) -> String {
    match burst.to_ns - burst.from_ns {
        0 => String::new(),
        span_ns => format!(" in {}", nanoseconds(span_ns)),
    }
}

/// `every 10th packet`, `about one packet in 3.4`.
pub(crate) fn every_words(distance: f64) -> String {
    /// From a whole number.
    const NEAR_WHOLE: f64 = 0.02;
    let whole = distance.round();
    if (distance - whole).abs() > NEAR_WHOLE {
        return format!("about one packet in {}", number::three(distance));
    }
    let whole = whole as u64;
    let ending = match (whole % 10, whole % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("every {}{ending} packet", count(whole))
}
