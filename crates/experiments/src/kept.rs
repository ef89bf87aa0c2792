//! A file of runs: a line of JSON each, written as they end, so that what was measured is not measured again.

use dropline_archive::reading;
use dropline_failure::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
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
    let run = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|why| {
            Failure::environment(format!("line {} of {} is no run: {why}", index + 1, path.display()))
                .advice("it is left as it is: name another file: --keep FILE")
        })
    };
    let runs: Vec<T> = whole.lines().enumerate().map(run).collect::<Result<_, _>>()?;
    if whole.len() < text.len() {
        // Only a file that is known by its runs is cut.
        if runs.is_empty() {
            run((0, &text))?;
        }
        let cut = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(whole.len() as u64));
        cut.map_err(|why| Failure::environment(format!("cannot write {}: {why}", path.display())))?;
    }
    Ok(runs)
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
}
