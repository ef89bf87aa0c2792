//! OpenMetrics 1.0 text that is being written.
//!
//! Owns how a sample, a family and a histogram stand in it. It knows no record and no server.
//! Start reading at [`Exposition`].

use dropline_printable::escaped;
use dropline_stats::Counted;
use std::fmt::{Display, Write as _};

/// Names and values; values are escaped when they are written.
pub type Labels = Vec<(&'static str, String)>;

/// OpenMetrics text that is being written.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Begins a family of samples.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.begin(name, kind, None, help);
    }

    /// Begins a family of gauges in a unit, which its name ends with.
    pub fn unit_family(&mut self, name: &str, unit: &str, help: &str) {
        self.begin(name, "gauge", Some(unit), help);
    }

    /// Begins a family of a kind, in a unit or in none.
    pub fn begin(&mut self, name: &str, kind: &str, unit: Option<&str>, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if let Some(unit) = unit {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {help}");
    }

    /// A family of gauges with all its samples; nothing where there are none.
    pub fn gauges(
        &mut self,
        name: &str,
        unit: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_some() {
            self.begin(name, "gauge", Some(unit).filter(|unit| !unit.is_empty()), help);
        }
        samples.for_each(|(labels, value)| self.sample_of(name, &labels, value));
    }

    /// Cumulative buckets; with count and sum where the sum is known.
    pub fn histogram(&mut self, name: &str, labels: &Labels, counted: &Counted, sum: Option<f64>) {
        let quantum = counted.meaning().quantum_ns;
        let bucket = format!("{name}_bucket");
        let mut with_end = |end: &str, below: u64| {
            let mut labels = labels.clone();
            labels.push(("le", end.into()));
            self.sample_of(&bucket, &labels, below);
        };
        // Nobody knows how many events of unknown length are below a longer one.
        let known_to = counted.above().map_or(f64::INFINITY, |above| above.from as f64 * quantum);
        let mut cells = counted.cells().peekable();
        let mut below = 0;
        for (end_ns, end) in BUCKETS.into_iter().filter(|(end_ns, _)| *end_ns < known_to) {
            while let Some((_, _, count)) = cells.next_if(|(_, high, _)| *high as f64 * quantum <= end_ns) {
                below += count;
            }
            with_end(end, below);
        }
        with_end("+Inf", counted.count());
        if let Some(sum) = sum {
            self.sample_of(&format!("{name}_count"), labels, counted.count());
            self.sample_of(&format!("{name}_sum"), labels, sum);
        }
    }

    /// A sample of a family as it was at a time, in milliseconds since 1970. Those of the same labels follow one another in order of
    /// time.
    pub fn sample_at(&mut self, name: &str, labels: &Labels, value: f64, at_ms: i64) {
        let (second, ms) = (at_ms.div_euclid(1000), at_ms.rem_euclid(1000));
        match ms {
            0 => self.sample_of(name, labels, format_args!("{value} {second}")),
            ms => self.sample_of(name, labels, format_args!("{value} {second}.{ms:03}")),
        }
    }

    /// A sample of a family, with its labels.
    pub fn sample_of(&mut self, name: &str, labels: &Labels, value: impl Display) {
        let labels: Vec<(&str, &dyn Display)> =
            labels.iter().map(|(label, value)| (*label, value as &dyn Display)).collect();
        self.sample(name, &labels, value);
    }

    /// Adds a sample of the family begun last.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let value = value.to_string();
            let value = escaped(&value).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{value}\"", if at == 0 { '{' } else { ',' });
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    /// The text with its last line.
    pub fn finish(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}

/// The sum when each event is in the middle of its cell; `None` where a cell is wider than a hundredth, or events
/// are below zero or known only to be long.
pub fn middle_seconds(counted: &Counted) -> Option<f64> {
    if counted.above().is_some() {
        return None;
    }
    let quantum = counted.meaning().quantum_ns;
    let middle = |(low, high, count): (i64, i64, u64)| {
        (low >= 0 && (high - low).saturating_mul(100) <= high)
            .then_some((low as f64 + high as f64) / 2.0 * count as f64)
    };
    counted.cells().map(middle).sum::<Option<f64>>().map(|sum| sum * quantum / 1e9)
}

/// Upper ends of the buckets, in nanoseconds and in seconds as the format writes them.
const BUCKETS: [(f64, &str); 15] = [
    (1e3, "1e-06"),
    (3e3, "3e-06"),
    (1e4, "1e-05"),
    (3e4, "3e-05"),
    (1e5, "0.0001"),
    (3e5, "0.0003"),
    (1e6, "0.001"),
    (3e6, "0.003"),
    (1e7, "0.01"),
    (3e7, "0.03"),
    (1e8, "0.1"),
    (3e8, "0.3"),
    (1e9, "1.0"),
    (3e9, "3.0"),
    (1e10, "10.0"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_stats::{Above, Meaning};

    fn text(cells: &[(i64, i64, u64)], above: Option<Above>) -> String {
        let counted = Counted::ranges(Meaning::default(), cells.iter().copied(), above).unwrap();
        let mut text = Exposition::default();
        let part = vec![("part", "thread \"0\"\n\\".to_owned())];
        text.histogram("x", &part, &counted, middle_seconds(&counted));
        text.finish()
    }

    #[test]
    fn buckets_are_the_same_for_all_and_add_up_to_count_and_sum() {
        let text = text(&[(6, 6, 3), (10, 10, 1), (20_000_000, 20_000_000, 2)], None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 16 + 2 + 1);
        assert_eq!(lines[1], r#"x_bucket{part="thread \"0\"\n\\",le="3e-06"} 0"#, "labels are escaped");
        assert!(lines[2].ends_with(r#"le="1e-05"} 4"#), "a value on the edge is in the bucket: {}", lines[2]);
        assert!(lines[14].ends_with(r#"le="10.0"} 4"#) && lines[15].ends_with(r#"le="+Inf"} 6"#));
        assert!(lines[16].starts_with("x_count{") && lines[16].ends_with(" 6"));
        assert!(lines[17].starts_with("x_sum{") && lines[17].ends_with(" 40.000028"), "{}", lines[17]);
    }

    #[test]
    fn what_is_not_known_of_long_events_is_not_claimed() {
        let text = text(&[(6, 6, 3)], Some(Above { from: 200, count: 2 }));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5 + 1 + 1, "no bucket beyond 200 us, no sum: {text}");
        assert!(lines[4].ends_with(r#"le="0.0001"} 3"#) && lines[5].ends_with(r#"le="+Inf"} 5"#));
        let [wide, negative] = [[(100, 200, 1)], [(-3, -3, 1)]].map(|cells| self::text(&cells, None));
        assert!(!wide.contains("x_sum") && !negative.contains("x_sum") && !negative.contains("x_count"));
    }
}
