//! The formats that are read: one table of their words, what tells them, and who reads them.

use super::{
    Hints, ImportError, Imported, array, cyclictest, cyclictest_json, fio, fio_json, hgrm, hlog, hyperfine,
    own_record, raw, table,
};

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our own.
    Record,
    /// fio's `--output-format=json+`.
    FioJson,
    /// hyperfine's `--export-json`.
    Hyperfine,
    /// `cyclictest --json`.
    CyclictestJson,
    /// HdrHistogram's interval log.
    Hlog,
    /// `cyclictest -h`, or `-v`.
    Cyclictest,
    /// HdrHistogram's percentiles: what wrk2 prints.
    Hgrm,
    /// `fio --write_hist_log`.
    Fio,
    /// A JSON array of numbers.
    Json,
    /// Columns, apart by commas.
    Csv,
    /// Columns, apart by tabs or blanks.
    Tsv,
    /// One value a line.
    Raw,
}

/// All that is to be known of a format.
struct Known {
    format: Format,
    /// The word of `--from`.
    word: &'static str,
    /// What it is, for people.
    what: &'static str,
    /// Whether a file of this beginning is one.
    looks: fn(&str) -> bool,
    /// The unit that is taken where a file does not name one; `None` where its times have one, and no hint can name another.
    unit: Option<&'static str>,
    read: fn(&str, &Hints) -> Result<Vec<Imported>, ImportError>,
}

/// In the order in which a file is looked at: the first one that it looks like.
const FORMATS: [Known; 12] = [
    Known {
        format: Format::Record,
        word: "record",
        what: "a record of Dropline",
        looks: |head| is_object(head) && first_line(head).contains("\"line\":"),
        unit: None,
        read: |text, hints| own_record::parse(text, hints.trial),
    },
    Known {
        format: Format::FioJson,
        word: "fio-json",
        what: "fio --output-format=json+",
        looks: |head| is_object(head) && head.contains("\"fio version\""),
        unit: None,
        read: |text, _| fio_json::parse(text),
    },
    Known {
        format: Format::Hyperfine,
        word: "hyperfine",
        what: "hyperfine --export-json",
        looks: |head| is_object(head) && head.contains("\"results\"") && head.contains("\"command\""),
        unit: None,
        read: |text, _| hyperfine::parse(text),
    },
    Known {
        format: Format::CyclictestJson,
        word: "cyclictest-json",
        what: "cyclictest --json",
        looks: |head| {
            is_object(head)
                && ["\"file_version\"", "\"cmdline", "\"thread\""].iter().any(|key| head.contains(key))
        },
        unit: Some("us"),
        read: |text, hints| cyclictest_json::parse(text, hints.unit_ns),
    },
    Known {
        format: Format::Hlog,
        word: "hlog",
        what: "HdrHistogram's interval log",
        looks: |head| {
            let first = first_line(head);
            first.starts_with("#[Histogram log")
                || head.contains("HISTFAAA")
                || first.starts_with("\"StartTimestamp\"")
        },
        unit: Some("ns"),
        read: |text, hints| hlog::parse(text, hints.unit_ns),
    },
    Known {
        format: Format::Cyclictest,
        word: "cyclictest",
        what: "cyclictest -h, or -v",
        looks: cyclictest::looks,
        unit: Some("us"),
        read: |text, hints| cyclictest::parse(text, hints.unit_ns),
    },
    Known {
        format: Format::Hgrm,
        word: "hgrm",
        what: "wrk2 --latency, or HdrHistogram's percentiles",
        looks: hgrm::looks,
        unit: Some("ms"),
        read: |text, hints| hgrm::parse(text, hints.unit_ns),
    },
    Known {
        format: Format::Fio,
        word: "fio",
        what: "fio --write_hist_log",
        looks: fio::looks,
        unit: None,
        read: |text, _| fio::parse(text),
    },
    Known {
        format: Format::Json,
        word: "json",
        what: "a JSON array of numbers",
        looks: |head| head.trim_start().starts_with('['),
        unit: Some("us"),
        read: |text, hints| array::parse(text, hints.unit_ns).map(|imported| vec![imported]),
    },
    Known {
        format: Format::Csv,
        word: "csv",
        what: "columns separated by commas or semicolons",
        looks: |head| table::looks(head) == Some(table::Apart::Commas),
        unit: Some("us"),
        read: |text, hints| table::parse(text, table::Apart::Commas, hints).map(|imported| vec![imported]),
    },
    Known {
        format: Format::Tsv,
        word: "tsv",
        what: "columns separated by tabs or blanks, such as value and count",
        looks: |head| table::looks(head) == Some(table::Apart::Blanks),
        unit: Some("us"),
        read: |text, hints| table::parse(text, table::Apart::Blanks, hints).map(|imported| vec![imported]),
    },
    Known {
        format: Format::Raw,
        word: "raw",
        what: "one value on each line",
        looks: |head| !is_object(head),
        unit: Some("us"),
        read: |text, hints| raw::parse(text, hints.unit_ns).map(|imported| vec![imported]),
    },
];

impl Format {
    /// Every format, in the order in which a file is looked at.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        FORMATS.iter().map(|known| known.format)
    }

    /// The format that `--from` names.
    pub fn named(word: &str) -> Option<Self> {
        FORMATS.iter().find(|known| known.word == word).map(|known| known.format)
    }

    /// The word of `--from`.
    pub fn word(self) -> &'static str {
        self.known().word
    }

    /// What it is, for people.
    pub fn what(self) -> &'static str {
        self.known().what
    }

    /// What a file of this beginning is; `None` for JSON that is none of these.
    pub fn of(head: &str) -> Option<Self> {
        FORMATS.iter().find(|known| (known.looks)(head)).map(|known| known.format)
    }

    /// Whether `--column` says something about it.
    pub fn has_columns(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv)
    }

    /// Whether its times have a unit already.
    pub fn says_its_unit(self) -> bool {
        self.known().unit.is_none()
    }

    /// Reads every distribution of a text of this format.
    ///
    /// # Errors
    /// If it is not of the format.
    pub fn parse(self, text: &str, hints: &Hints) -> Result<Vec<Imported>, ImportError> {
        (self.known().read)(text, hints)
    }

    fn known(self) -> &'static Known {
        FORMATS.iter().find(|known| known.format == self).expect("every format is in the table")
    }
}

fn first_line(head: &str) -> &str {
    head.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

fn is_object(head: &str) -> bool {
    head.trim_start().starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_its_format() {
        for (head, format) in [
            ("delay_usecs\tcount\n6\t2257\n", Format::Tsv),
            ("Delay   Count\n-----   -----\n6       2257\n", Format::Tsv),
            ("6 2257\n7 1\n", Format::Tsv),
            ("# /dev/cpu_dma_latency set to 0us\n# Histogram\n000000 000000\n", Format::Cyclictest),
            ("       0:       6:     835\n", Format::Cyclictest),
            ("{\"file_version\":1,\"cmdline:\":\"x\"}", Format::CyclictestJson),
            ("{\"line\":\"header\",\"schema\":\"dropline/1\"}\n", Format::Record),
            ("{\n  \"fio version\" : \"fio-3.33\",\n", Format::FioJson),
            ("{\n  \"results\": [\n    {\n      \"command\": \"true\",\n", Format::Hyperfine),
            ("#[Histogram log format version 1.3]\n", Format::Hlog),
            (
                "  Detailed Percentile spectrum:\n       Value   Percentile   TotalCount 1/(1-Percentile)\n",
                Format::Hgrm,
            ),
            (
                "Running 12s test @ http://127.0.0.1:80/\n  1 threads and 2 connections\n  Thread Stats   Avg\n",
                Format::Hgrm,
            ),
            ("latency_ms,code\n12.5,200\n", Format::Csv),
            ("latency_ms\n12.5\n13\n", Format::Csv),
            ("Latency (ms)\n12.5\n13\n", Format::Csv),
            ("3.559e+03\n", Format::Raw),
            ("-1\n", Format::Raw),
            (" [1, 2.5]", Format::Json),
            ("12.5\n13\n", Format::Raw),
            ("", Format::Raw),
        ] {
            assert_eq!(Format::of(head), Some(format), "{head:?}");
        }
        let fio = format!("500, 0, 4096{}\n", ", 0".repeat(1856));
        assert_eq!(Format::of(&fio[..4096]), Some(Format::Fio));
        assert_eq!(Format::of("{\"start\":{},\"intervals\":[]}"), None, "iperf3 keeps no latencies");
    }

    #[test]
    fn every_format_is_named_by_a_word_of_its_own() {
        for format in Format::all() {
            assert_eq!(Format::named(format.word()), Some(format));
        }
    }

    #[test]
    fn the_unit_that_is_taken_where_none_is_named_is_that_of_the_table_and_of_the_how_to() {
        let page = include_str!("../../../../docs/how-to/import-and-export.md");
        let log = hlog::write(
            0,
            &[hlog::Interval {
                tag: None,
                begin_s: 0.0,
                length_s: 1.0,
                counted: &raw::parse("5\n", Some(1)).unwrap().counted,
            }],
        );
        let samples = [
            (Format::CyclictestJson, r#"{"thread": {"0": {"histogram": {"7": 1}, "cycles": 1}}}"#),
            (Format::Hlog, log.0.as_str()),
            (Format::Cyclictest, "# Histogram\n000006 000003\n"),
            (Format::Hgrm, "Value Percentile TotalCount 1/(1-Percentile)\n1.5 1.0 1\n"),
            (Format::Json, "[5]"),
            (Format::Csv, "delay\n5\n"),
            (Format::Tsv, "delay\tcount\n5\t1\n"),
            (Format::Raw, "5\n"),
        ];
        for Known { format, word, what, unit, .. } in &FORMATS {
            let row = format!("| `{word}` | {what} | {} |", unit.unwrap_or("its own"));
            assert!(page.lines().any(|line| line == row), "the how-to lacks {row}");
            let Some(unit) = unit else { continue };
            let (_, text) = samples.iter().find(|(of, _)| of == format).expect("a sample of each");
            let taken = format.parse(text, &Hints::default()).unwrap()[0].counted.meaning().unit_ns;
            assert_eq!(super::super::unit_word(taken), *unit, "{word}");
        }
    }
}
