//! Whether anything changed over time, in words.

use super::unit;
use crate::number::{JOIN, apart, count, digits, nanoseconds, nanoseconds_of, percent_of, plural, three};
use dropline_record::CourseWord;
use dropline_record::{DriftLine, Fit, TrialLine};

/// What the slices of a distribution say: a sentence each.
pub(crate) fn fit(fit: &Fit) -> Vec<String> {
    let Some(slices) = &fit.slices else { return Vec::new() };
    let unit = unit(fit.unit_ns);
    let value = |value: f64, many| format!("{}{JOIN}{unit}", digits(value, many));
    let mut said: Vec<String> = slices.course.iter().map(|line| words(line, &value)).collect();
    if let Some(effective) = slices.effective_count.filter(|effective| *effective < 0.9 * fit.count.0 as f64)
    {
        said.push(format!(
            "the median is as uncertain as that of {} ({})",
            plural(effective.round() as u64, "independent event"),
            plural(slices.slices.len() as u64, "slice")
        ));
    }
    said
}

/// What the slices of a trial say.
pub(crate) fn trial(trial: &TrialLine) -> Vec<String> {
    let value = |ns: f64, many| nanoseconds_of(ns.max(0.0).round(), many);
    let said = trial.course.iter().map(|line| words(line, &value));
    match outage(trial) {
        Some(outage) => {
            std::iter::once(outage).chain(said.map(|words| format!("but for that, {words}"))).collect()
        }
        None => said.collect(),
    }
}

/// `an outage of 1 s after 3.25 s: 10 000 of 10 250 packets did not come back`.
fn outage(trial: &TrialLine) -> Option<String> {
    let caveat = trial.caveats.iter().find(|caveat| caveat.code == "outage")?;
    let number = |name: &str| caveat.numbers.get(name)?.as_u64();
    let more = match number("outages")? {
        1 => String::new(),
        all => format!(", the longest of {all}"),
    };
    Some(format!(
        "an outage of {} after {}{more}: {} of {} did not come back",
        nanoseconds(number("for_ns")?),
        nanoseconds(number("at_ns")?),
        count(number("missing")?),
        plural(number("offered")?, "packet")
    ))
}

fn words(line: &DriftLine, value: &dyn Fn(f64, i32) -> String) -> String {
    let long = line.of == "long";
    let name = if long { "share of long events" } else { "median" };
    let say = |at: f64, many| if long { percent_of(at, many) } else { value(at, many) };
    let sign = if line.change < 0.0 { "fell" } else { "rose" };
    match line.course {
        CourseWord::Trend => format!(
            "{name} {sign} by {} from first to last slice (p{JOIN}{})",
            say(line.change.abs(), 3),
            chance(line.change_p)
        ),
        CourseWord::Step => {
            let [before, after] = apart([line.before, line.after], say);
            format!(
                "{name} went from {before} to {after} after {}{JOIN}s (p{JOIN}{})",
                three(line.step_at_s),
                chance(line.step_p)
            )
        }
        CourseWord::Undecided => {
            format!("{name} wanders, and this took too short to say whether that is a trend: measure longer")
        }
        _ => format!("{name} is steady: no trend or step beyond random scatter"),
    }
}

fn chance(p: f64) -> String {
    if p < 0.01 { "<\u{a0}0.01".into() } else { three(p) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_said_with_its_numbers() {
        let line = DriftLine {
            of: "median".into(),
            course: CourseWord::Step,
            step_at_s: 6.25,
            before: 12.1,
            after: 14.0,
            step_p: 0.004,
            change: -2.0,
            change_p: 0.02,
            ..DriftLine::default()
        };
        let value = |value: f64, _| format!("{value} us");
        assert_eq!(
            words(&line, &value),
            "median went from 12.1 us to 14 us after 6.25\u{a0}s (p\u{a0}<\u{a0}0.01)"
        );
        let trend = DriftLine { course: CourseWord::Trend, ..line.clone() };
        assert_eq!(words(&trend, &value), "median fell by 2 us from first to last slice (p\u{a0}0.02)");
        let long = DriftLine { of: "long".into(), before: 0.05, after: 0.11, ..line };
        assert!(words(&long, &value).starts_with("share of long events went from 5\u{a0}% to 11\u{a0}%"));
    }
}
