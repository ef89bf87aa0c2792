//! HdrHistogram's interval logs, versions 1.2 and 1.3: a line an interval, its histogram in V2 deflate and base64.

use super::sliced::Slicer;
use super::{ImportError, Imported, guessed};
use dropline_stats::histogram::v2_deflate_cells;
use dropline_stats::{Counted, Event, Histogram, Meaning, Rounding};
use std::collections::BTreeMap;

const INTERVAL: &str = "[Tag=…,]start, length, maximum and a histogram";

/// Reads all intervals, those of a tag as one distribution. Values are nanoseconds unless another unit is named.
///
/// # Errors
/// If a line is no interval, or its histogram is broken.
pub fn parse(text: &str, unit_ns: Option<u64>) -> Result<Vec<Imported>, ImportError> {
    /// What came of a tag: its intervals and their cells together, from, to, count.
    #[derive(Default)]
    struct Tagged {
        intervals: usize,
        all: Vec<(i64, i64, u64)>,
        slicer: Slicer,
    }
    let mut tags: BTreeMap<String, Tagged> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("\"StartTimestamp\"") {
            continue;
        }
        let wrong = || ImportError::line(index + 1, line, INTERVAL);
        let (tag, rest) = match line.strip_prefix("Tag=") {
            Some(tagged) => tagged.split_once(',').ok_or_else(wrong)?,
            None => ("", line),
        };
        let fields: Vec<&str> = rest.split(',').map(str::trim).collect();
        let [start, length, maximum, histogram] = fields.as_slice() else { return Err(wrong()) };
        let finite =
            |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(wrong);
        let (start, length, _) = (finite(start)?, finite(length)?, finite(maximum)?);
        let tick = |value: u64| i64::try_from(value).map_err(|_| wrong());
        let cells: Vec<(i64, i64, u64)> = v2_deflate_cells(histogram.trim_matches('"'))
            .map_err(|_| wrong())?
            .into_iter()
            .map(|(low, high, count)| Ok((tick(low)?, tick(high)?, count)))
            .collect::<Result<_, ImportError>>()?;
        let Tagged { intervals, all, slicer } = tags.entry(tag.to_owned()).or_default();
        *intervals += 1;
        slicer.push(start, length, &cells);
        all.extend(cells);
        // What came again adds up: a long log takes no more than its cells.
        all.sort_unstable();
        all.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 = kept.2.saturating_add(next.2);
            }
            same
        });
    }
    if tags.is_empty() {
        return Err(ImportError::Ends { expected: INTERVAL });
    }
    let unit = unit_ns.unwrap_or(1);
    let meaning =
        Meaning { unit_ns: unit, quantum_ns: unit as f64, rounding: Rounding::Round, event: Event::Unknown };
    tags.into_iter()
        .map(|(tag, Tagged { intervals, all, slicer })| {
            let mut notes = Vec::new();
            if unit_ns.is_none() {
                notes.push(guessed("nanoseconds"));
            }
            if intervals > 1 {
                notes.push(format!("{intervals} intervals are put together"));
            }
            let counted = Counted::ranges(meaning, all, None)?;
            let name = if tag.is_empty() { tag } else { format!("tag {tag}") };
            Ok(Imported { slices: slicer.finish(meaning)?, ..Imported::whole(counted, name, notes) })
        })
        .collect()
}

/// What a log has to hold: a distribution, or a part of its time.
#[derive(Clone, Copy, Debug)]
pub struct Interval<'a> {
    /// Which distribution it belongs to; without one it has no tag, and every reader shows it.
    pub tag: Option<&'a str>,
    /// When it began, in seconds from the log's start.
    pub begin_s: f64,
    /// Its length; 0 where that is not known.
    pub length_s: f64,
    /// Its events.
    pub counted: &'a Counted,
}

/// The log of these intervals, in nanoseconds: with three digits, as other programs read it. It begins at so many
/// seconds since 1970.
///
/// Events below zero, and events known only to be long, have no place in it: how many there were is told.
pub fn write(start_unix_s: i64, intervals: &[Interval<'_>]) -> (String, u64) {
    let mut log = format!(
        "#[Histogram log format version 1.3]\n#[BaseTime: {start_unix_s}.000 (seconds since epoch)]\n\
         #[StartTime: {start_unix_s}.000 (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
    );
    let mut left_out = 0;
    for Interval { tag, begin_s, length_s, counted } in intervals {
        let mut histogram = Histogram::new();
        for (low, high, count) in counted.cells() {
            let value = (low as f64 + high as f64) / 2.0 * counted.meaning().quantum_ns;
            if value < 0.0 {
                left_out += count;
            } else {
                histogram.record_n(value.round() as u64, count);
            }
        }
        left_out += counted.above().map_or(0, |above| above.count);
        let tag = tag.map_or_else(String::new, |tag| {
            format!("Tag={},", tag.replace(|sign: char| !sign.is_ascii_alphanumeric(), "_"))
        });
        let maximum = histogram.max().unwrap_or(0) as f64 / 1e6;
        let histogram = histogram.to_v2_deflate();
        log.push_str(&format!("{tag}{begin_s:.3},{length_s:.3},{maximum:.3},{histogram}\n"));
    }
    (log, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    fn counted(ticks: &[(i64, u64)]) -> Counted {
        Counted::ticks(Meaning::default(), ticks.iter().copied(), None).unwrap()
    }

    fn one(tag: Option<&str>, ticks: &[(i64, u64)]) -> String {
        write(0, &[Interval { tag, begin_s: 0.0, length_s: 1.0, counted: &counted(ticks) }]).0
    }

    #[test]
    fn the_library_of_the_format_reads_what_is_written() {
        let (first, second) = (counted(&[(6, 2257), (100, 1)]), counted(&[(7, 3)]));
        let interval = |tag, begin_s, counted| Interval { tag, begin_s, length_s: 2.5, counted };
        let (log, left_out) =
            write(1_795_253_460, &[interval(Some("thread 0"), 0.0, &first), interval(None, 3.25, &second)]);
        assert_eq!(left_out, 0);
        let mut found = Vec::new();
        for entry in IntervalLogIterator::new(log.as_bytes()) {
            if let LogEntry::Interval(interval) = entry.unwrap() {
                let bytes = base64::Engine::decode(
                    &base64::engine::general_purpose::STANDARD,
                    interval.encoded_histogram(),
                )
                .unwrap();
                let histogram: hdrhistogram::Histogram<u64> =
                    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                found.push((
                    interval.tag().map(|tag| tag.as_str().to_owned()),
                    interval.start_timestamp().as_secs_f64(),
                    interval.duration().as_secs_f64(),
                    histogram.len(),
                    histogram.max(),
                ));
            }
        }
        assert_eq!(found, [(Some("thread_0".into()), 0.0, 2.5, 2258, 100_031), (None, 3.25, 2.5, 3, 7003)]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let log = one(Some("a"), &[(6, 2257), (100, 1)]);
        let read = parse(&log, None).unwrap();
        assert_eq!((read[0].name.as_str(), read[0].counted.count()), ("tag a", 2258));
        let cells: Vec<_> = read[0].counted.cells().collect();
        assert!(cells[0].0 <= 6000 && cells[0].1 >= 6000 && cells[0].1 - cells[0].0 < 8, "{cells:?}");
    }

    #[test]
    fn intervals_of_a_tag_add_up() {
        let log = one(Some("a"), &[(6, 2)]);
        let line = log.lines().last().unwrap();
        let twice = format!("{log}{line}\n");
        let read = parse(&twice, Some(1)).unwrap();
        assert_eq!((read.len(), read[0].counted.count(), read[0].notes.len()), (1, 4, 1));
    }

    #[test]
    fn a_broken_interval_is_named() {
        let log = one(Some("a"), &[(6, 2)]);
        let cut = &log[..log.len() - 9];
        assert!(parse(cut, None).unwrap_err().to_string().starts_with("line 5"));
        assert!(
            parse(&log.replace("0.000,1.000", "NaN,1.000"), None)
                .unwrap_err()
                .to_string()
                .starts_with("line 5")
        );
        assert!(
            parse("#[Histogram log format version 1.3]\n", None)
                .unwrap_err()
                .to_string()
                .starts_with("the file ends")
        );
    }
}
