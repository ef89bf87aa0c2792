//! hyperfine's `--export-json`: how long each run of each command took, in seconds.

use super::order::OrderTaker;
use super::{ImportError, Imported};
use dropline_stats::{Counted, Event, Meaning, Rounding};
use dropline_trial::number_of;
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    results: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    command: String,
    times: Option<Vec<f64>>,
    #[serde(default)]
    exit_codes: Vec<Option<i32>>,
}

/// Reads all runs, those of a command as one distribution.
///
/// # Errors
/// If it is no such JSON, or a command has no times.
pub(super) fn parse(text: &str) -> Result<Vec<Imported>, ImportError> {
    let expected = "hyperfine's JSON, with results and their times";
    let file: File = serde_json::from_str(text).map_err(|why| ImportError::json(text, &why, expected))?;
    if file.results.is_empty() {
        return Err(ImportError::Lacks { what: "results" });
    }
    file.results.into_iter().map(imported).collect()
}

fn imported(benchmark: Benchmark) -> Result<Imported, ImportError> {
    let Benchmark { command, times, exit_codes } = benchmark;
    let times = times.filter(|times| !times.is_empty());
    let times =
        times.ok_or(ImportError::Lacks { what: "times of single runs: export them with --export-json" })?;
    if let Some(wrong) = times.iter().find(|time| !(0.0..=1e6).contains(*time)) {
        return Err(ImportError::Disagrees { line: 1, what: format!("a run of {command:?} took {wrong} s") });
    }
    let meaning =
        Meaning { unit_ns: 1_000_000, quantum_ns: 1.0, rounding: Rounding::Round, event: Event::Each };
    let mut course = OrderTaker::default();
    let ticks = times.iter().map(|time| (time * 1e9).round() as i64).inspect(|&tick| course.add(tick));
    let counted = Counted::ticks(meaning, ticks.map(|tick| (tick, 1)), None)?;
    let order = course.finish(meaning)?;
    let failed = exit_codes.iter().filter(|code| **code != Some(0)).count();
    let notes = match failed {
        0 => Vec::new(),
        _ => vec![format!(
            "{failed} of {} failed; their times are among the events",
            number_of(times.len(), "run")
        )],
    };
    Ok(Imported { order, ..Imported::whole(counted, command, notes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of hyperfine 1.15: 20 runs of `true` and of `sleep 0.01`.
    const JSON: &str = include_str!("../../tests/formats/hyperfine.json");

    #[test]
    fn each_run_is_an_event_to_the_nanosecond() {
        let read = parse(JSON).unwrap();
        let found: Vec<_> = read.iter().map(|part| (part.name.as_str(), part.counted.count())).collect();
        assert_eq!(found, [("true", 20), ("sleep 0.01", 20)]);
        assert_eq!(read[0].counted.cells().next(), Some((594_884, 594_884, 1)));
        assert!(read.iter().all(|part| part.notes.is_empty()), "it names its unit");
    }

    #[test]
    fn what_is_no_time_is_not_imported() {
        let broken = |from: &str, to: &str| parse(&JSON.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(broken("0.004348907", "-0.004").contains("took -0.004 s"));
        assert!(broken("0.004348907", "null").starts_with("line 13"));
        assert!(broken("\"times\"", "\"time\"").contains("--export-json"));
        let failed = parse(&JSON.replacen("        0,\n", "        1,\n", 1)).unwrap();
        assert_eq!(failed[0].notes, ["1 of 20 runs failed; their times are among the events"]);
    }
}
