//! A line of a record of import: one distribution, exactly as it was counted.

use crate::Count;
use dropline_stats::{Above, CountError, Counted, Event, Meaning, Rounding};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Events counted by value, with what a value stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DistributionLine {
    /// Version of this format: `dropline/1`.
    pub schema: String,
    /// The file that it was read from.
    pub source: String,
    /// The format of that file.
    pub format: String,
    /// Which part of the file it is: a thread, a tag.
    pub name: String,
    /// Values are stated in this unit, in nanoseconds.
    pub unit_ns: u64,
    /// What a tick is worth, in nanoseconds.
    pub quantum_ns: f64,
    /// `round` or `floor`: which true values a tick stands for.
    pub rounding: String,
    /// What was counted: `each`, `maximum` (of `event_of`), `unknown`.
    pub event: String,
    /// How many in a row the event is the largest of.
    pub event_of: Option<Count>,
    /// Events, those above included.
    pub count: Count,
    /// Lowest tick, highest tick and count of each occupied cell.
    pub cells: Vec<(i64, i64, Count)>,
    /// From which tick on the length of an event is not known.
    pub above_from: Option<i64>,
    /// How many of those.
    pub above_count: Option<Count>,
    /// Where its meaning was guessed, or something was left out.
    pub notes: Vec<String>,
    /// The same events by when they were, in order; empty where the file does not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<DistributionSlice>,
}

/// The events of one part of the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DistributionSlice {
    /// When it began, in seconds of the file's own time.
    pub begin_s: f64,
    /// Its length.
    pub duration_s: f64,
    /// Lowest tick, highest tick and count of each occupied cell.
    pub cells: Vec<(i64, i64, Count)>,
}

impl DistributionLine {
    /// The line of counted events.
    pub fn new(source: &str, format: &str, name: &str, counted: &Counted, notes: &[String]) -> Self {
        let meaning = counted.meaning();
        let (event, event_of) = match meaning.event {
            Event::Each => ("each", None),
            Event::MaximumOf(k) => ("maximum", Some(Count(k))),
            Event::Unknown => ("unknown", None),
        };
        Self {
            schema: crate::schema::CURRENT.into(),
            source: source.into(),
            format: format.into(),
            name: name.into(),
            unit_ns: meaning.unit_ns,
            quantum_ns: meaning.quantum_ns,
            rounding: if meaning.rounding == Rounding::Floor { "floor" } else { "round" }.into(),
            event: event.into(),
            event_of,
            count: Count(counted.count()),
            cells: counted.cells().map(|(low, high, count)| (low, high, Count(count))).collect(),
            above_from: counted.above().map(|above| above.from),
            above_count: counted.above().map(|above| Count(above.count)),
            notes: notes.to_vec(),
            slices: Vec::new(),
        }
    }

    /// Adds the events of the next part of the time, counted in the same ticks.
    pub fn push_slice(&mut self, begin_s: f64, duration_s: f64, counted: &Counted) {
        let cells = counted.cells().map(|(low, high, count)| (low, high, Count(count))).collect();
        self.slices.push(DistributionSlice { begin_s, duration_s, cells });
    }

    /// The counted events again.
    ///
    /// # Errors
    /// If the counts are no distribution.
    pub fn counted(&self) -> Result<Counted, CountError> {
        let above = self.above_from.zip(self.above_count).map(|(from, count)| Above { from, count: count.0 });
        counted(self.meaning(), &self.cells, above)
    }

    /// Those of one of its slices.
    ///
    /// # Errors
    /// If the counts are no distribution.
    pub fn slice(&self, slice: &DistributionSlice) -> Result<Counted, CountError> {
        counted(self.meaning(), &slice.cells, None)
    }

    fn meaning(&self) -> Meaning {
        Meaning {
            unit_ns: self.unit_ns.max(1),
            quantum_ns: if self.quantum_ns > 0.0 && self.quantum_ns.is_finite() {
                self.quantum_ns
            } else {
                1.0
            },
            rounding: if self.rounding == "floor" { Rounding::Floor } else { Rounding::Round },
            event: match (self.event.as_str(), self.event_of) {
                ("each", _) => Event::Each,
                ("maximum", Some(k)) => Event::MaximumOf(k.0),
                _ => Event::Unknown,
            },
        }
    }
}

fn counted(
    meaning: Meaning,
    cells: &[(i64, i64, Count)],
    above: Option<Above>,
) -> Result<Counted, CountError> {
    Counted::ranges(meaning, cells.iter().map(|&(low, high, count)| (low, high, count.0)), above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Line;

    #[test]
    fn what_was_counted_is_stored_exactly() {
        let meaning =
            Meaning { rounding: Rounding::Floor, event: Event::MaximumOf(48), ..Meaning::default() };
        let above = Some(Above { from: 200, count: 34 });
        let counted = Counted::ranges(meaning, [(-3, -3, 1), (7, 9, (1 << 60) + 1)], above).unwrap();
        let mut line = DistributionLine::new("a.hist", "cyclictest", "thread 0", &counted, &[]);
        line.push_slice(0.5, 2.0, &counted);
        let text = serde_json::to_string(&Line::Distribution(Box::new(line))).unwrap();
        assert!(
            text.contains(r#""line":"distribution""#) && text.contains(r#"[7,9,"1152921504606846977"]"#),
            "{text}"
        );
        let Line::Distribution(back) = serde_json::from_str(&text).unwrap() else {
            panic!("another line: {text}")
        };
        let of_slice = back.slice(&back.slices[0]).unwrap();
        assert_eq!((of_slice.meaning(), of_slice.above()), (meaning, None));
        assert!(of_slice.cells().eq(counted.cells()));
        assert_eq!(back.counted(), Ok(counted));
    }
}
