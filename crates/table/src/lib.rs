//! A table, and the forms in which other programs take one.
//!
//! Owns [`Column`]: values of one type, any of which may be absent. [`parquet::file`] makes a file of columns, [`arrow::stream`]
//! hands them to a program in the same process by [Arrow's C interface](https://arrow.apache.org/docs/format/CStreamInterface.html).
//! It knows nothing of ours.

pub mod arrow;
mod laid;
pub mod parquet;
mod sys;

/// What a column holds, a value or nothing for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integers(Vec<Option<i64>>),
    /// Other numbers.
    Numbers(Vec<Option<f64>>),
    /// Text.
    Texts(Vec<Option<String>>),
    /// Microseconds since 1970, in UTC.
    Times(Vec<Option<i64>>),
    /// Whether something is so.
    Truths(Vec<Option<bool>>),
}

/// A column with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub values: Values,
}

impl Values {
    /// How many rows it has.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Integers(all) | Self::Times(all) => all.len(),
            Self::Numbers(all) => all.len(),
            Self::Texts(all) => all.len(),
            Self::Truths(all) => all.len(),
        }
    }
}

/// How many rows a table of these has.
///
/// # Panics
/// If the columns are not of one length.
fn rows(columns: &[Column]) -> usize {
    let rows = columns.first().map_or(0, |column| column.values.rows());
    assert!(columns.iter().all(|column| column.values.rows() == rows), "a table has one number of rows");
    rows
}

/// Eight to a byte, the first lowest.
fn bits(truths: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut bytes = vec![0; truths.len().div_ceil(8)];
    truths.enumerate().for_each(|(at, truth)| bytes[at / 8] |= u8::from(truth) << (at % 8));
    bytes
}
