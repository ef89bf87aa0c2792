//! The verb `search`: around a target that is named, or a function of Python's.

use crate::asked::Asked;
use crate::attended::attended;
use crate::called::{Called, Raised};
use crate::kept::Record;
use crate::raised::raised;
use dropline_archive::record_file::{Output, read_record};
use dropline_failure::Failure;
use dropline_targets::{ProgramFile, Target};
use dropline_trial::TrafficProfile;
use dropline_verbs::observer::Unwatched;
use dropline_verbs::plan::SearchPlan;
use dropline_verbs::search::{Conditions, Finished, resume, search as search_of};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where a search is kept, and what it goes on with.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Kept {
    /// A new file for the record.
    record: Option<PathBuf>,
    /// A record that is gone on with.
    resume: Option<PathBuf>,
    /// The program `dropline`, where it is installed.
    program: Option<PathBuf>,
    /// What the record keeps as the command.
    command_line: Vec<String>,
}

/// Searches the target of this name; `measure` performs its trials where it is given, and the name is then only a name.
#[pyfunction]
pub(crate) fn search(
    py: Python<'_>,
    target: &str,
    measure: Option<Py<PyAny>>,
    asked: Asked,
    kept: Kept,
) -> PyResult<Record> {
    let (stop, function) = (Arc::<AtomicBool>::default(), Raised::default());
    let is_function = measure.is_some();
    let target = match measure {
        Some(measure) => {
            let profile = TrafficProfile::default();
            Target::given(target, Called { measure, profile, raised: function.clone() })
        }
        None => Target::parse(target),
    };
    let target = target.map_err(|why| raised(&why))?;
    let conditions = Conditions {
        command_line: kept.command_line,
        stop: Arc::clone(&stop),
        program: kept.program.map_or(ProgramFile::Missing, ProgramFile::File),
        ..Conditions::default()
    };
    let output = kept.record.map_or(Output::Nowhere, Output::File);
    let work = || perform(target, &asked, &output, kept.resume, conditions);
    // A function is called in the thread that searches: signals, tracebacks and what belongs to a thread are there.
    let (finished, signal) = match is_function {
        true => (py.detach(work), None),
        false => attended(py, &stop, work).map_err(|why| raised(&why))?,
    };
    let Finished { record, failure } = match finished {
        Ok(finished) => finished,
        Err(why) => return Err(function.take().or(signal).unwrap_or_else(|| raised(&why))),
    };
    let record = Record::of(record);
    let Some(why) = signal.or(function.take()).or(failure.map(|why| raised(&why))) else {
        return Ok(record);
    };
    // What was measured until then goes with what ended it; not every exception takes it.
    let _ = why.value(py).setattr("record", record);
    Err(why)
}

fn perform(
    target: Target,
    asked: &Asked,
    output: &Output,
    from: Option<PathBuf>,
    mut conditions: Conditions,
) -> Result<Finished, Failure> {
    if let Some(path) = from {
        let there = read_record(&path)?;
        let mut plan = SearchPlan::of_record(&there, &path)?;
        let (is_of, asked_for) = (&there.header.target, target.to_string());
        if *is_of != asked_for {
            return Err(Failure::usage(format!(
                "{} is a search of {is_of}, and this is another target: {asked_for}",
                path.display()
            ))
            .advice(
                "resume it with its own target; of a function, NAME in measurer:NAME is what name= says",
            ));
        }
        plan.target = target;
        asked.limit(&mut plan.limits)?;
        return resume(&plan, &path, &conditions, &mut Unwatched);
    }
    let (plan, generator_limit) = asked.plan(target, &conditions.stop)?;
    conditions.generator_limit = generator_limit;
    search_of(&plan, output, &conditions, &mut Unwatched)
}
