//! A record, held by Python.

use crate::raised::raised;
use dropline_archive::record_file::{parse, read_record};
use dropline_record::Record as Kept;
use dropline_report::Style;
use dropline_table::{Column, Values};
use dropline_verbs::compare::searches::Searched;
use dropline_verbs::validity;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::path::{Path, PathBuf};

/// A measurement as it is kept.
#[pyclass(frozen, module = "dropline._dropline")]
pub(crate) struct Record(Kept);

impl Record {
    pub(crate) fn of(record: Kept) -> Self {
        Self(record)
    }

    pub(crate) fn searched(&self, name: &str) -> PyResult<Searched> {
        Searched::of(name, self.0.clone()).map_err(|why| raised(&why))
    }
}

#[pymethods]
impl Record {
    /// The record of a file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        read_record(&path).map(Self).map_err(|why| raised(&why))
    }

    /// The record of its lines.
    #[staticmethod]
    fn parse(lines: &str) -> PyResult<Self> {
        parse(lines, Path::new("the record")).map(Self).map_err(|why| raised(&why))
    }

    /// As a file holds it.
    fn to_lines(&self) -> String {
        self.0.to_lines()
    }

    /// As one object, which is what `--json` prints.
    fn to_json(&self) -> String {
        dropline_report::object(&self.0).to_string()
    }

    /// As a page.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| dropline_report::html(std::slice::from_ref(&self.0)))
    }

    /// As text of this many columns.
    fn text(&self, width: usize) -> String {
        dropline_report::text(&self.0, Style { width, ..Style::default() })
    }

    /// As one line.
    fn line(&self) -> String {
        dropline_report::line(&self.0)
    }

    /// The trials as columns: a list each, by its name.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for Column { name, values } in dropline_report::trial_columns(&self.0) {
            match values {
                Values::Integers(all) | Values::Times(all) => columns.set_item(name, all)?,
                Values::Numbers(all) => columns.set_item(name, all)?,
                Values::Texts(all) => columns.set_item(name, all)?,
                Values::Truths(all) => columns.set_item(name, all)?,
            }
        }
        Ok(columns)
    }

    /// The same columns for a program that takes a stream of Arrow.
    fn arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let stream = dropline_table::arrow::stream(&dropline_report::trial_columns(&self.0));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Whether each answer is about the target, and not about what performed the trials.
    fn is_valid(&self) -> bool {
        !validity::is_generators(&self.0)
    }
}
