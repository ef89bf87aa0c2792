//! fio's `--output-format=json+`: what `json` has, and the histogram of each direction's latencies as `bins`.
//!
//! A bin is called by the value in the middle of its cell, in nanoseconds; cells are those of the histogram log.

use super::{ImportError, Imported, fio};
use dropline_stats::{Counted, Event, Meaning, Rounding};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct File {
    #[serde(alias = "client_stats")]
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    read: Option<Direction>,
    write: Option<Direction>,
    trim: Option<Direction>,
    sync: Option<Direction>,
}

#[derive(Deserialize)]
struct Direction {
    slat_ns: Option<Latency>,
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
}

#[derive(Deserialize)]
struct Latency {
    #[serde(rename = "N")]
    count: u64,
    min: Option<f64>,
    max: Option<f64>,
    bins: Option<BTreeMap<String, u64>>,
}

/// Reads each kind of latency of each job and direction that has bins.
///
/// # Errors
/// If it is no such JSON, a bin is none of fio's, or its bins do not add up to its own number.
pub(super) fn parse(text: &str) -> Result<Vec<Imported>, ImportError> {
    let expected = "fio's JSON, with jobs and their latencies";
    let file: File = serde_json::from_str(text).map_err(|why| ImportError::json(text, &why, expected))?;
    let mut imported = Vec::new();
    for job in &file.jobs {
        let directions =
            [("read", &job.read), ("write", &job.write), ("trim", &job.trim), ("sync", &job.sync)];
        for (direction, of) in directions {
            let Some(of) = of else { continue };
            for (kind, latency) in [("slat", &of.slat_ns), ("clat", &of.clat_ns), ("lat", &of.lat_ns)] {
                let Some(latency) = latency else { continue };
                let Some(bins) = latency.bins.as_ref().filter(|bins| latency.count > 0 || !bins.is_empty())
                else {
                    continue;
                };
                let name = format!("{} {direction} {kind}", job.jobname);
                imported.push(Imported::whole(counted(&name, latency, bins)?, name, Vec::new()));
            }
        }
    }
    if imported.is_empty() {
        return Err(ImportError::Lacks {
            what: "bins of latencies: fio writes them with --output-format=json+",
        });
    }
    Ok(imported)
}

fn counted(name: &str, latency: &Latency, bins: &BTreeMap<String, u64>) -> Result<Counted, ImportError> {
    let count = latency.count;
    let disagrees = |what: String| ImportError::Disagrees { line: 1, what };
    let ranges = bins.iter().map(|(bin, &count)| {
        let cell = bin.parse().ok().and_then(fio::of_middle);
        let (low, high) =
            cell.ok_or_else(|| disagrees(format!("{name} has a bin {bin:?}, which fio has not")))?;
        Ok((low, high, count))
    });
    let mut ranges = ranges.collect::<Result<Vec<(i64, i64, u64)>, ImportError>>()?;
    // The ends are known exactly: no event was shorter or longer, wherever its cell ends.
    let within = |end: Option<f64>, (low, high, _): (i64, i64, u64)| {
        end.map(|end| end as i64).filter(|end| (low..=high).contains(end))
    };
    if let Some(first) = ranges.iter_mut().min_by_key(|(low, ..)| *low)
        && let Some(min) = within(latency.min, *first)
    {
        first.0 = min;
    }
    if let Some(last) = ranges.iter_mut().max_by_key(|(_, high, _)| *high)
        && let Some(max) = within(latency.max, *last)
    {
        last.1 = max;
    }
    let meaning = Meaning { unit_ns: 1000, quantum_ns: 1.0, rounding: Rounding::Floor, event: Event::Each };
    let counted = Counted::ranges(meaning, ranges, None)?;
    if counted.count() != count {
        return Err(disagrees(format!("{name} has {} in its bins and {count} in its N", counted.count())));
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of fio 3.33: 64 reads and writes of 4 KiB in memory.
    const JSON: &str = include_str!("../../tests/formats/fio.json");

    #[test]
    fn each_latency_of_each_direction_is_a_distribution() {
        let read = parse(JSON).unwrap();
        let found: Vec<_> = read.iter().map(|part| (part.name.as_str(), part.counted.count())).collect();
        assert_eq!(
            found,
            [
                ("small read clat", 29),
                ("small read lat", 29),
                ("small write clat", 35),
                ("small write lat", 35)
            ]
        );
        assert_eq!(read[0].counted.cells().next(), Some((1422, 1423, 1)));
        let longest: Vec<_> =
            read.iter().map(|part| part.counted.cells().last().map(|(_, high, _)| high)).collect();
        assert_eq!(longest, [11_817, 12_518, 10_816, 10_856].map(Some), "no event is longer than fio saw");
    }

    #[test]
    fn plain_json_has_no_bins_and_says_how_to_get_them() {
        let plain =
            r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": {"clat_ns": {"N": 3}}}]}"#;
        assert!(parse(plain).unwrap_err().to_string().contains("--output-format=json+"));
    }

    #[test]
    fn what_does_not_add_up_is_not_imported() {
        let broken = |from: &str, to: &str| parse(&JSON.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(broken("\"1416\" : 1", "\"1416\" : 2").contains("30 in its bins and 29 in its N"));
        assert!(broken("\"1416\" : 1", "\"1417\" : 1").contains("a bin \"1417\""));
        assert!(broken("\"1416\" : 1", "\"1416\" : -1").starts_with("line 66"));
    }
}
