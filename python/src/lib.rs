//! The extension module behind the Python package `dropline`: words in, JSON and records out. It decides nothing.
//!
//! Words are read by the code that reads them on the command line. Python's own half is `python/python/dropline`.

use pyo3::prelude::*;

mod asked;
mod asking;
mod attended;
mod called;
mod kept;
mod offline;
mod raised;
mod search;
mod simulated;

#[pymodule(gil_used = false)]
mod _dropline {
    #[pymodule_export]
    use super::asking::Search;
    #[pymodule_export]
    use super::kept::Record;
    #[pymodule_export]
    use super::offline::{compare, explain, fit};
    #[pymodule_export]
    use super::search::search;
    #[pymodule_export]
    use super::simulated::Simulated;
}
