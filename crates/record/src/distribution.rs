//! A line of a record of import: one distribution, exactly as it was counted.

use crate::Count;
use dropline_stats::{Above, Counted, Event, Meaning, Rounding};
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
    /// The tick of each event, in the order in which they were measured; empty where the file does not say, or of too many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<i64>,
    /// Of too many events to keep each: stretches of them in their order, with lowest tick, highest tick and count of each
    /// occupied cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<Vec<(i64, i64, Count)>>,
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
            schema: crate::header::CURRENT.into(),
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
            events: Vec::new(),
            stretches: Vec::new(),
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
    /// What the line says against itself.
    pub fn counted(&self) -> Result<Counted, String> {
        if self.schema != crate::header::CURRENT {
            return Err(format!("schema is {:?}, and {:?} is read", self.schema, crate::header::CURRENT));
        }
        let above = match (self.above_from, self.above_count) {
            (None, None) => None,
            (Some(from), Some(Count(count))) if count > 0 => Some(Above { from, count }),
            _ => {
                return Err(
                    "above_from is told without how many events in above_count, or the reverse".into()
                );
            }
        };
        let counted = counted(self.meaning()?, &self.cells, above)?;
        if counted.count() != self.count.0 {
            return Err(format!("count is {}, and its cells make it {}", self.count.0, counted.count()));
        }
        if let (Some(above), Some((_, high, _))) = (above, counted.cells().last())
            && above.from <= high
        {
            return Err(format!("above_from is {}, and a cell goes up to {high}", above.from));
        }
        match below_zero(&counted) {
            Some(note) if !self.notes.contains(&note) => {
                Err(format!("by its cells {note}, and none of its notes says so"))
            }
            _ => Ok(counted),
        }
    }

    /// Those of its slices, in order: when one began, its length, and its events.
    ///
    /// # Errors
    /// What a slice says against itself, the one before it or the whole.
    pub fn counted_slices(&self) -> Result<Vec<(f64, f64, Counted)>, String> {
        let (meaning, mut left, mut since) = (self.meaning()?, self.count.0, f64::NEG_INFINITY);
        let read = |(number, slice): (u32, &DistributionSlice)| {
            let DistributionSlice { begin_s, duration_s, cells } = slice;
            let wrong = |what: String| format!("slice {number}: {what}");
            if *begin_s < since || *duration_s < 0.0 {
                return Err(wrong(format!(
                    "it begins at {begin_s} s and lasts {duration_s} s, which is not the order of time"
                )));
            }
            since = *begin_s;
            let counted = counted(meaning, cells, None).map_err(wrong)?;
            left = left.checked_sub(counted.count()).ok_or_else(|| {
                wrong(format!("with it the slices have more events than count, which is {}", self.count.0))
            })?;
            Ok((*begin_s, *duration_s, counted))
        };
        (1..).zip(&self.slices).map(read).collect()
    }

    /// Adds the next stretch of its events, counted in the same ticks.
    pub fn push_stretch(&mut self, counted: &Counted) {
        self.stretches.push(counted.cells().map(|(low, high, count)| (low, high, Count(count))).collect());
    }

    /// Its events in their order, those of the whole.
    ///
    /// # Errors
    /// If there are others, or another number of them.
    pub fn events_in_order(&self) -> Result<&[i64], String> {
        if self.events.is_empty() {
            return Ok(&self.events);
        }
        self.counted()?;
        let mut events = self.events.clone();
        events.sort_unstable();
        let count = |low: i64, high: i64| {
            events.partition_point(|tick| *tick <= high) - events.partition_point(|tick| *tick < low)
        };
        let other = self.cells.iter().find(|(low, high, Count(of))| count(*low, *high) as u64 != *of);
        match other {
            Some((low, high, Count(of))) => Err(format!(
                "its cell from {low} to {high} has {of} events, and {} of its events in order are there",
                count(*low, *high)
            )),
            None if events.len() as u64 != self.count.0 => {
                Err(format!("count is {}, and there are {} events in order", self.count.0, events.len()))
            }
            None => Ok(&self.events),
        }
    }

    /// Its stretches of events, in their order.
    ///
    /// # Errors
    /// What a stretch says against itself, or all of them against the whole.
    pub fn counted_stretches(&self) -> Result<Vec<Counted>, String> {
        let meaning = self.meaning()?;
        let read = |(number, cells): (u32, &Vec<(i64, i64, Count)>)| {
            counted(meaning, cells, None).map_err(|what| format!("stretch {number}: {what}"))
        };
        let stretches: Vec<Counted> = (1..).zip(&self.stretches).map(read).collect::<Result<_, _>>()?;
        let sum: u64 = stretches.iter().map(Counted::count).sum();
        if !stretches.is_empty() && sum != self.count.0 {
            return Err(format!("count is {}, and its stretches make it {sum}", self.count.0));
        }
        Ok(stretches)
    }

    fn meaning(&self) -> Result<Meaning, String> {
        let unit_ns = self.unit_ns;
        if !UNITS_NS.contains(&unit_ns) {
            return Err(format!("unit_ns is {unit_ns}, and a unit is one of {UNITS_NS:?}"));
        }
        let quantum_ns = self.quantum_ns;
        let is_of_unit = |decimals| (unit_ns as f64 / 10f64.powi(decimals) / quantum_ns - 1.0).abs() < 1e-9;
        if !(0..=MOST_DECIMALS).any(is_of_unit) {
            return Err(format!(
                "quantum_ns is {quantum_ns:e}, and it must be unit_ns, {unit_ns}, divided by 1, 10, 100 … or 10^9"
            ));
        }
        let rounding = match self.rounding.as_str() {
            "floor" => Rounding::Floor,
            "round" => Rounding::Round,
            other => return Err(format!("rounding is {other:?}, and there are round, floor")),
        };
        let event = match (self.event.as_str(), self.event_of) {
            ("each", None) => Event::Each,
            ("unknown", None) => Event::Unknown,
            ("maximum", Some(Count(k))) if k > 0 => Event::MaximumOf(k),
            (event, of) => {
                return Err(format!(
                    "event is {event:?} and event_of is {}, and there are each, unknown, and maximum of a number",
                    of.map_or("null".into(), |of| of.0.to_string())
                ));
            }
        };
        Ok(Meaning { unit_ns, quantum_ns, rounding, event })
    }
}

/// What is said of values below zero, which a delay cannot have; `None` where there are none.
pub fn below_zero(counted: &Counted) -> Option<String> {
    let below: u64 = counted.cells().filter(|(low, ..)| *low < 0).map(|(.., count)| count).sum();
    match below {
        0 => None,
        1 => Some("1 value is below zero".into()),
        _ => Some(format!("{below} values are below zero")),
    }
}

/// A nanosecond to a second.
const UNITS_NS: [u64; 4] = [1, 1000, 1_000_000, 1_000_000_000];
/// No value that is read keeps more.
const MOST_DECIMALS: i32 = 9;

/// The events of cells that are stored as they are kept: occupied, ascending, and none in another.
fn counted(meaning: Meaning, cells: &[(i64, i64, Count)], above: Option<Above>) -> Result<Counted, String> {
    let stored = || cells.iter().map(|&(low, high, count)| (low, high, count.0));
    let counted = Counted::ranges(meaning, stored(), above).map_err(|why| why.to_string())?;
    let mut kept = counted.cells();
    let other = stored().find(|cell| kept.next().as_ref() != Some(cell));
    drop(kept);
    other.map_or(Ok(counted), |(low, high, _)| {
        Err(format!(
            "the cell from {low} to {high} is empty, is there twice, overlaps another or is not in order"
        ))
    })
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
        let counted = Counted::ranges(meaning, [(-3, -3, 1), (7, 9, (1 << 53) - 40)], above).unwrap();
        let notes = [below_zero(&counted).unwrap()];
        let mut line = DistributionLine::new("a.hist", "cyclictest", "thread 0", &counted, &notes);
        let part = Counted::ticks(meaning, [(-3, 1), (8, 2)], None).unwrap();
        line.push_slice(0.5, 2.0, &part);
        let text = serde_json::to_string(&Line::Distribution(Box::new(line))).unwrap();
        assert!(
            text.contains(r#""line":"distribution""#) && text.contains(r#"[7,9,9007199254740952]"#),
            "{text}"
        );
        let Line::Distribution(back) = serde_json::from_str(&text).unwrap() else {
            panic!("another line: {text}")
        };
        assert_eq!(back.counted_slices(), Ok(vec![(0.5, 2.0, part)]));
        assert_eq!(back.counted(), Ok(counted));
    }
}
