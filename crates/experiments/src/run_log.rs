//! A file of runs: a line of JSON each, written as they end, so that what was measured is not measured again.

use dropline_archive::reading;
use dropline_failure::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// The runs of a file that was kept; none of one that does not exist. A torn last line is performed again.
///
/// # Errors
/// If it cannot be read, or holds other lines.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failure> {
    let text = match reading::text(path, reading::MOST_BYTES) {
        Ok(text) => text,
        Err(why) if why.is_missing() => return Ok(Vec::new()),
        Err(why) => return Err(why.of(path)),
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let no_run = |(line, why): (usize, String)| {
        Failure::environment(format!("line {line} of {} is not a run: {why}", path.display()))
            .advice("it is left as it is: name another file: --keep FILE")
    };
    let found: Vec<T> = runs(whole).map_err(no_run)?;
    if whole.len() < text.len() {
        // Only a file that is known by its runs is cut.
        if found.is_empty() {
            runs::<T>(&text).map_err(no_run)?;
        }
        let cut = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(whole.len() as u64));
        cut.map_err(|why| Failure::environment(format!("cannot write {}: {why}", path.display())))?;
    }
    Ok(found)
}

/// The runs of a text, and at least one.
///
/// # Errors
/// If a line is no run, or there is none.
pub(super) fn some<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Failure> {
    let found = runs(text).map_err(|(line, why)| format!("line {line} is not a run: {why}"));
    let found = found.and_then(|runs| if runs.is_empty() { Err("no run was kept".into()) } else { Ok(runs) });
    found.map_err(Failure::environment)
}

/// No run counts so much, nor takes so many nanoseconds: two hours. As many runs as a file can hold add up without an
/// overflow.
const MOST: f64 = (1u64 << 43) as f64;

/// The runs of whole lines; of one that is none, its number and why.
fn runs<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, (usize, String)> {
    let run = |line: &str| -> Result<T, String> {
        let value: Value = serde_json::from_str(line).map_err(|why| why.to_string())?;
        match beyond(&value) {
            Some(number) => Err(format!("it says {number}, which is more than any run counts")),
            None => serde_json::from_value(value).map_err(|why| why.to_string()),
        }
    };
    (1..).zip(text.lines()).map(|(number, line)| run(line).map_err(|why| (number, why))).collect()
}

/// A number that no run holds; a seed may be any.
fn beyond(value: &Value) -> Option<&serde_json::Number> {
    match value {
        Value::Number(number) => {
            Some(number).filter(|number| number.as_f64().is_none_or(|it| it.abs() > MOST))
        }
        Value::Array(values) => values.iter().find_map(beyond),
        Value::Object(fields) => {
            fields.iter().filter(|(name, _)| *name != "seed").find_map(|(_, value)| beyond(value))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

/// Adds a run.
///
/// # Errors
/// If it cannot be written.
pub(super) fn append<T: Serialize>(path: &Path, run: &T) -> Result<(), Failure> {
    append_together(path, std::slice::from_ref(run))
}

/// Adds runs that belong together.
///
/// # Errors
/// If they cannot be written.
pub(super) fn append_together<T: Serialize>(path: &Path, runs: &[T]) -> Result<(), Failure> {
    let lines: String =
        runs.iter().map(|run| serde_json::to_string(run).expect("a run is JSON") + "\n").collect();
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened
        .and_then(|mut file| file.write_all(lines.as_bytes()))
        .map_err(|why| Failure::environment(format!("cannot write {}: {why}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_taken_off_and_another_kind_of_line_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.jsonl");
        assert!(read::<u32>(&path).unwrap().is_empty());
        append(&path, &1).unwrap();
        append(&path, &2).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, whole.clone() + "3").unwrap();
        assert_eq!(read::<u32>(&path).unwrap(), [1, 2]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
        std::fs::write(&path, "1\nno run\n").unwrap();
        assert!(read::<u32>(&path).unwrap_err().to_string().contains("line 2"));
        for others in ["no run\nnor this", "all in one line", "{\"a\": 1}"] {
            std::fs::write(&path, others).unwrap();
            assert!(read::<u32>(&path).is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), others, "it is left as it is");
        }
    }

    #[test]
    fn a_kept_run_that_counts_more_than_any_run_can_is_refused_and_a_seed_may_be_any() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.jsonl");
        for wrong in ["{\"lost\":18446744073709551615}", "{\"each\":[1,-1e300]}"] {
            std::fs::write(&path, format!("{{\"lost\":8796093022208}}\n{wrong}\n")).unwrap();
            let why = read::<Value>(&path).unwrap_err().to_string();
            assert!(why.contains("line 2") && why.contains("more than any run counts"), "{why}");
        }
        std::fs::write(&path, "{\"seed\":18446744073709551615}\n").unwrap();
        assert_eq!(read::<Value>(&path).unwrap()[0]["seed"], u64::MAX);
    }
}
