//! `import` and `export`: distributions to a record, and to the formats of others.

use crate::Failure;
use crate::import::{Format, Imported, hlog};
use dropline_record::DistributionLine;
use dropline_record::schema::Line;
use dropline_stats::Counted;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// The record of imported distributions: a line each.
pub fn lines(source: &str, format: Format, imported: &[Imported]) -> String {
    let mut text = String::new();
    for part in imported {
        let mut line = DistributionLine::new(source, format.word(), &part.name, &part.counted, &part.notes);
        part.slices.iter().for_each(|slice| line.push_slice(slice.begin_s, slice.length_s, &slice.counted));
        let line = serde_json::to_string(&Line::Distribution(Box::new(line))).expect("a line is JSON");
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Writes a new record, all of it or nothing.
///
/// # Errors
/// If the file exists, or cannot be written.
pub fn keep(path: &Path, text: &str) -> Result<(), Failure> {
    let cannot =
        |why: &std::io::Error| Failure::environment(format!("cannot write {}: {why}", path.display()));
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|why| match why.kind() {
            ErrorKind::AlreadyExists => {
                Failure::usage(format!("{} exists already", path.display())).advice("name another: -o FILE")
            }
            _ => cannot(&why),
        })?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|why| {
        let _ = std::fs::remove_file(path);
        cannot(&why)
    })
}

/// A row a cell: part, lowest and highest value, count; values in nanoseconds.
pub fn csv(imported: &[Imported]) -> String {
    let mut text = String::from("part,low_ns,high_ns,count\n");
    for part in imported {
        let quantum = part.counted.meaning().quantum_ns;
        let name = part.name.replace('"', "\"\"");
        for (low, high, count) in part.counted.cells() {
            let _ = writeln!(text, "\"{name}\",{},{},{count}", low as f64 * quantum, high as f64 * quantum);
        }
        if let Some(above) = part.counted.above() {
            let _ = writeln!(text, "\"{name}\",{},,{}", above.from as f64 * quantum, above.count);
        }
    }
    text
}

/// OpenMetrics 1.0: one histogram, a label for each part.
pub fn openmetrics(imported: &[Imported]) -> String {
    let mut text = String::from(
        "# TYPE dropline_delay_seconds histogram\n# UNIT dropline_delay_seconds seconds\n\
         # HELP dropline_delay_seconds Delays as they were counted.\n",
    );
    for part in imported {
        let name: String = part.name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let quantum = part.counted.meaning().quantum_ns;
        let mut below = 0u64;
        for (_, high, count) in part.counted.cells() {
            below += count;
            let le = high as f64 * quantum / 1e9;
            let _ = writeln!(text, "dropline_delay_seconds_bucket{{part=\"{name}\",le=\"{le:?}\"}} {below}");
        }
        let count = part.counted.count();
        let _ = writeln!(text, "dropline_delay_seconds_bucket{{part=\"{name}\",le=\"+Inf\"}} {count}");
        let _ = writeln!(text, "dropline_delay_seconds_count{{part=\"{name}\"}} {count}");
        if let Some(sum) = sum_seconds(&part.counted) {
            let _ = writeln!(text, "dropline_delay_seconds_sum{{part=\"{name}\"}} {sum:?}");
        }
    }
    text.push_str("# EOF\n");
    text
}

/// The sum that the format asks for; none where delays are below zero or not known.
fn sum_seconds(counted: &Counted) -> Option<f64> {
    let (sum, _) = counted.sums()?;
    let least = counted.cells().next().map_or(0, |(low, _, _)| low);
    (least >= 0).then(|| sum as f64 * counted.meaning().quantum_ns / 1e9)
}

/// HdrHistogram's log, and how many events have no place in it.
pub fn hdr_log(imported: &[Imported]) -> (String, u64) {
    let parts: Vec<(String, Counted)> =
        imported.iter().map(|part| (part.name.clone(), part.counted.clone())).collect();
    hlog::write(&parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Hints;
    use dropline_stats::{Above, Meaning};

    fn part() -> Imported {
        let above = Some(Above { from: 200, count: 2 });
        let counted = Counted::ticks(Meaning::default(), [(6, 3), (7, 1)], above).unwrap();
        Imported { counted, name: "thread \"0\"".into(), notes: vec!["a note".into()], slices: Vec::new() }
    }

    #[test]
    fn a_record_of_import_is_read_as_it_was_written() {
        let text = lines("a.hist", Format::Cyclictest, &[part(), part()]);
        assert_eq!(Format::of(&text), Format::Record);
        assert_eq!(Format::Record.parse(&text, Hints::default()).unwrap(), [part(), part()]);
    }

    #[test]
    fn openmetrics_buckets_add_up() {
        assert_eq!(
            openmetrics(&[part()]).lines().skip(3).collect::<Vec<_>>(),
            [
                r#"dropline_delay_seconds_bucket{part="thread \"0\"",le="6e-6"} 3"#,
                r#"dropline_delay_seconds_bucket{part="thread \"0\"",le="7e-6"} 4"#,
                r#"dropline_delay_seconds_bucket{part="thread \"0\"",le="+Inf"} 6"#,
                r#"dropline_delay_seconds_count{part="thread \"0\""} 6"#,
                "# EOF",
            ],
            "the sum of events of unknown length is not known"
        );
    }

    #[test]
    fn csv_keeps_what_is_known_only_to_be_long() {
        assert_eq!(csv(&[part()]).lines().last(), Some(r#""thread ""0""",200000,,2"#));
        assert_eq!(hdr_log(&[part()]).1, 2);
    }
}
