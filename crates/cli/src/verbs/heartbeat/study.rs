//! A study as text, JSON or page, with the sentences of the original's notes behind it.

use crate::output as out;
use crate::verbs::style;
use dropline_failure::Failure;
use dropline_record::{Study, Table};
use serde::Serialize;
use std::path::Path;

/// What a verb found, in all its forms.
pub(super) struct Findings<'a, T> {
    /// For scripts.
    pub(super) data: &'a T,
    /// For people.
    pub(super) study: Study,
    /// The notes' sentences as a table, for the page.
    pub(super) sentences_table: Table,
    /// The same in paragraphs.
    pub(super) sentences: Study,
    /// What is drawn on the page.
    pub(super) curves: &'a [dropline_report::Curves],
}

impl<T: Serialize> Findings<'_, T> {
    /// Writes the page if one is asked for, then prints text or one JSON object.
    pub(super) fn tell(self, page: Option<&Path>, json: bool) -> Result<(), Failure> {
        let text = || {
            let (study, sentences) = (
                dropline_report::study_text(&self.study, style()),
                dropline_report::study_text(&self.sentences, style()),
            );
            format!("{study}\n{sentences}")
        };
        if json {
            out::print_json(self.data)?
        } else {
            out::print_painted(&text())?
        }
        if let Some(path) = page {
            let mut whole = self.study;
            whole.tables.push(self.sentences_table);
            out::draw(path, dropline_report::study_with_curves_html(&whole, self.curves))?;
        }
        Ok(())
    }
}
