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
    mean: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
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

/// Figures of which one is the other rounded differ by less than so many seconds, and such a share.
const ROUNDED: f64 = 1e-6;
const ROUNDED_OF: f64 = 1e-3;

fn imported(benchmark: Benchmark) -> Result<Imported, ImportError> {
    let Benchmark { command, mean, min, max, times, exit_codes } = benchmark;
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
    let runs = number_of(times.len(), "run");
    let failed = (failed > 0).then(|| format!("{failed} of {runs} failed; their times are among the events"));
    let found = times.iter().copied();
    let stated = [
        ("mean", mean, found.clone().sum::<f64>() / times.len() as f64),
        ("min", min, found.clone().fold(f64::INFINITY, f64::min)),
        ("max", max, found.fold(0.0, f64::max)),
    ];
    let is_another = |said: f64, of_runs: f64| (said - of_runs).abs() > ROUNDED + of_runs * ROUNDED_OF;
    let others = stated.iter().filter_map(|(name, said, of_runs)| {
        let said = said.filter(|said| is_another(*said, *of_runs))?;
        Some(format!("{name} {said:.6} s, of its runs {of_runs:.6} s"))
    });
    let others = others.collect::<Vec<_>>().join("; ");
    let others = (!others.is_empty()).then(|| {
        format!("what it states is not that of its {runs}, which were taken: {others}; was it edited, or put together from several?")
    });
    let notes = failed.into_iter().chain(others).collect();
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

    #[test]
    fn figures_that_contradict_the_runs_beside_them_are_told() {
        let stated = serde_json::from_str::<serde_json::Value>(JSON).unwrap();
        for name in ["mean", "min", "max"] {
            let notes = |factor: f64| {
                let mut other = stated.clone();
                other["results"][1][name] = (other["results"][1][name].as_f64().unwrap() * factor).into();
                parse(&other.to_string()).unwrap().swap_remove(1).notes
            };
            assert!(notes(1.0).is_empty() && notes(1.000_5).is_empty(), "as it was, and rounded");
            for factor in [0.0, 0.9, 1.1, -1.0] {
                let notes = notes(factor);
                let says = format!("not that of its 20 runs, which were taken: {name} ");
                assert!(notes.len() == 1 && notes[0].contains(&says), "{name}: {notes:?}");
            }
        }
        let without = parse(r#"{"results": [{"command": "c", "times": [0.5, 0.7], "exit_codes": [0, 0]}]}"#);
        assert!(without.unwrap()[0].notes.is_empty(), "what is not stated contradicts nothing");
    }
}
