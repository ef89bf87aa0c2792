//! What a trial of a pipeline saw, in words for terminal and page.

use crate::number::{self, JOIN};
use dropline_record::PassagesLine;
use dropline_record::passages_line::{PassageLine, Percentile, PipeLine, RecorderLine};

/// What is not known.
const NONE: &str = "\u{2013}";

/// `ring, tsc: 2 000 events, none missing`.
pub(crate) fn recorder(recorder: &RecorderLine) -> String {
    let counts = [
        ("without room", recorder.discarded),
        ("of threads without a ring", recorder.homeless),
        ("written over", recorder.lapped),
        ("lost packets", recorder.lost_packets),
        ("unreadable", recorder.unreadable),
        ("of pipes beyond those followed", recorder.foreign),
    ];
    let missing: Vec<String> = counts
        .into_iter()
        .filter(|(_, count)| count.0 > 0)
        .map(|(what, count)| format!("{} {what}", number::count(count.0)))
        .collect();
    let missing = if missing.is_empty() { "none missing".into() } else { missing.join(", ") };
    format!(
        "{}, {}: {}, {missing}",
        recorder.name,
        recorder.clock,
        number::plural(recorder.recorded.0, "event")
    )
}

/// `32 768 samples; at a sink 1 for 4 at its source`.
pub(crate) fn granule(passages: &PassagesLine) -> String {
    let size = passages.granularity.map_or_else(
        || "of unknown size: granularity= in the target says it".into(),
        |samples| number::plural(samples.0, "sample"),
    );
    match passages.ratio {
        [sink, source] if sink == source => size,
        [sink, source] => format!("{size}; {} at a sink for {} at its source", sink.0, source.0),
    }
}

/// Heads of the table of pipes.
pub(crate) const HEADS: [&str; 9] =
    ["pipe", "passed", "rate", "p5", "p50", "p95", "p99.9", "max", "in flight"];

/// A row of it.
pub(crate) fn row(passages: &PassagesLine, pipe: &PipeLine) -> [String; 9] {
    let value = |p: f64| at(pipe, p).and_then(|found| found.value_ns).map_or_else(|| NONE.into(), time);
    [
        pipe.pipe.to_string(),
        number::count(pipe.counts.passed.0),
        pipe.granules_per_s.map_or_else(|| NONE.into(), |granules| rate(passages, granules)),
        value(0.05),
        value(0.5),
        value(0.95),
        value(0.999),
        pipe.delay_ns.as_ref().and_then(|delay| delay.max).map_or_else(|| NONE.into(), number::nanoseconds),
        in_flight(passages, pipe)
            .map_or_else(|| NONE.into(), |samples| number::count(samples.round() as u64)),
    ]
}

/// The median with its interval, what was cut, and what became of events that are at one end alone.
pub(crate) fn note(passages: &PassagesLine, pipe: &PipeLine) -> String {
    let mut notes = Vec::new();
    if let Some(Percentile { low_ns: Some(low), high_ns: Some(high), .. }) = at(pipe, 0.5) {
        let level = number::percent(passages.level);
        notes.push(format!("p50 in [{}, {}] at {level}", time(*low), time(*high)));
    }
    let counts = pipe.counts;
    let named = [
        ("on their way at the end", counts.in_flight),
        ("on their way at the start", counts.before_start),
        ("did not arrive", counts.without_rx),
        ("not seen to leave", counts.without_tx),
        ("waited too long", counts.crowded_tx),
        ("arrived too early", counts.crowded_rx),
        ("twice at the source", counts.duplicated_tx),
        ("twice at the sink", counts.duplicated_rx),
        ("warm-up, cut", pipe.warm_up_cut),
    ];
    let seen = named.into_iter().filter(|(_, count)| count.0 > 0);
    notes.extend(seen.map(|(what, count)| format!("{what}{JOIN}{}", number::count(count.0))));
    if let (Some(sampled), Some(by_delay)) =
        (pipe.sampled_in_flight.filter(|sampled| *sampled > 0.0), in_flight(passages, pipe))
    {
        notes.push(format!(
            "by Little's law {} of what a sampler saw in flight",
            number::three(by_delay / sampled)
        ));
    }
    notes.join(", ")
}

/// A passage: pipe, granule, when it left from the first arrival on, how long it took.
pub(crate) fn slow(passages: &PassagesLine, passage: &PassageLine) -> [String; 4] {
    let left = passage.tx_ns.0 as f64 - passages.timeline.origin_ns.0 as f64;
    let delay = passage.rx_ns.0.saturating_sub(passage.tx_ns.0);
    [
        passage.pipe.to_string(),
        number::count(passage.n.0),
        format!("{}{JOIN}s", number::fixed(left / 1e9, 6)),
        number::nanoseconds(delay),
    ]
}

/// Samples between source and sink by Little's law: throughput times mean delay.
fn in_flight(passages: &PassagesLine, pipe: &PipeLine) -> Option<f64> {
    Some(pipe.granules_per_s? * pipe.mean_ns? / 1e9 * samples(passages) as f64)
}

/// Samples at the source for one passage.
fn samples(passages: &PassagesLine) -> u64 {
    passages.granularity.map_or(1, |samples| samples.0) * passages.ratio[1].0
}

fn rate(passages: &PassagesLine, granules_per_s: f64) -> String {
    let rate = granules_per_s * samples(passages) as f64;
    let unit = if passages.granularity.is_some() { "sps" } else { "/s" };
    let (scale, prefix) = match rate {
        _ if rate >= 1e6 => (1e6, "M"),
        _ if rate >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    format!("{}{JOIN}{prefix}{unit}", number::three(rate / scale))
}

fn at(pipe: &PipeLine, p: f64) -> Option<&Percentile> {
    pipe.percentiles.iter().find(|found| (found.p - p).abs() < 1e-9)
}

fn time(ns: f64) -> String {
    number::nanoseconds(ns.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_record::Count;
    use dropline_record::passages_line::PassageCountsLine;

    fn pipe() -> PipeLine {
        let stated = |p, value_ns, low_ns, high_ns| Percentile { p, value_ns, low_ns, high_ns };
        PipeLine {
            pipe: 3,
            counts: PassageCountsLine {
                passed: Count(12_204),
                in_flight: Count(2),
                without_rx: Count(1),
                ..PassageCountsLine::default()
            },
            delay_ns: None,
            negative: dropline_record::NegativeLine::default(),
            percentiles: vec![
                stated(0.05, Some(353_000.0), None, None),
                stated(0.5, Some(359_000.0), Some(358_600.0), Some(359_400.0)),
                stated(0.999, None, None, None),
            ],
            mean_ns: Some(360_000.0),
            first_ns: None,
            last_ns: None,
            granules_per_s: Some(2_000.0),
            sampled_in_flight: Some(23_000.0),
            warm_up_found: None,
            warm_up_cut: Count(8),
            silent_ns: None,
        }
    }

    #[test]
    fn a_pipe_is_a_row_with_what_became_of_its_events() {
        let passages = PassagesLine {
            granularity: Some(Count(32_768)),
            ratio: [Count(1), Count(1)],
            level: 0.95,
            ..PassagesLine::default()
        };
        let row = row(&passages, &pipe()).join(" | ").replace(['\u{a0}', '\u{202f}'], " ");
        assert_eq!(row, "3 | 12 204 | 65.5 Msps | 353 us | 359 us | \u{2013} | \u{2013} | \u{2013} | 23 593");
        assert_eq!(
            note(&passages, &pipe()).replace(['\u{a0}', '\u{202f}'], " "),
            "p50 in [359 us, 359 us] at 95 %, on their way at the end 2, did not arrive 1, warm-up, cut 8, by Little's \
             law 1.03 of what a sampler saw in flight"
        );
        let changed = PassagesLine { ratio: [Count(1), Count(4)], granularity: None, ..passages };
        assert!(granule(&changed).ends_with("1 at a sink for 4 at its source"), "{}", granule(&changed));
    }
}
