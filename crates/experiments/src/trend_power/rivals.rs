//! Other projects' detectors, where they are installed: they are shown the same histories.

use super::detectors::{Detector, Ended, Question, Told};
use super::histories::History;
use dropline_failure::Failure;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Seek as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

const SCRIPT: &str = "experiments/trend-power/rivals.py";
/// Interpreters that may have the packages.
const PYTHONS: [&str; 3] = ["target/trend-rivals/bin/python", ".venv/bin/python", "python3"];

/// Those that can be asked here, and their versions.
#[derive(Clone, Debug, Default)]
pub(super) struct Rivals {
    python: &'static str,
    pub(super) versions: BTreeMap<String, String>,
}

impl Rivals {
    /// Those of the first interpreter that has any.
    pub(super) fn installed() -> Self {
        if !Path::new(SCRIPT).exists() {
            return Self::default();
        }
        let versions = |python: &&'static str| {
            let output = Command::new(python).arg(SCRIPT).stderr(Stdio::null()).output().ok()?;
            let versions: BTreeMap<String, String> = serde_json::from_slice(&output.stdout).ok()?;
            (!versions.is_empty()).then_some(Self { python, versions })
        };
        PYTHONS.iter().find_map(versions).unwrap_or_default()
    }

    pub(super) fn has(&self, detector: Detector) -> bool {
        self.versions.contains_key(detector.word())
    }

    /// What one of them finds with these seeds.
    ///
    /// # Errors
    /// If it fails, or does not answer each question.
    pub(super) fn find(&self, detector: Detector, seeds: &[u64]) -> Result<Vec<Ended>, Failure> {
        let questions = detector.questions();
        let asked: Vec<(u64, Question, Vec<History>)> = seeds
            .iter()
            .flat_map(|&seed| {
                questions.iter().map(move |&question| (seed, question, question.histories(seed)))
            })
            .collect();
        let failed =
            |why: String| Failure::environment(format!("{} could not be asked: {why}", detector.name()));
        let file = written(&asked).map_err(|why| failed(why.to_string()))?;
        let output = Command::new(self.python)
            .args([SCRIPT, detector.word()])
            .stdin(file)
            .output()
            .map_err(|why| failed(why.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(failed(said.lines().last().unwrap_or("it said nothing").to_owned()));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut answers = text.lines().map(serde_json::from_str::<Vec<usize>>);
        let mut ended = Vec::with_capacity(asked.len());
        for (seed, question, histories) in asked {
            let mut told = Vec::with_capacity(histories.len());
            for history in histories {
                let changes = answers.next().ok_or_else(|| failed("an answer is missing".into()))?;
                let changes = changes.map_err(|why| failed(why.to_string()))?;
                told.push((history, Told { changes, drifts: 0 }));
            }
            ended.push(Ended::of(detector, question, seed, &told));
        }
        Ok(ended)
    }
}

/// The values of all histories, a line each, in a file without a name.
fn written(asked: &[(u64, Question, Vec<History>)]) -> std::io::Result<File> {
    let mut lines = BufWriter::new(tempfile::tempfile()?);
    for history in asked.iter().flat_map(|(_, _, histories)| histories) {
        let values: Vec<f64> = history.nights.iter().map(|night| night.value).collect();
        serde_json::to_writer(&mut lines, &values)?;
        lines.write_all(b"\n")?;
    }
    let mut file = lines.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}
