//! A table for a program in the same process, by [Arrow's C interface](https://arrow.apache.org/docs/format/CDataInterface.html):
//! pandas, Polars, DuckDB and pyarrow take it without a copy through text.

use crate::Column;
use crate::laid::Laid;

pub use crate::sys::Stream;

/// The table as a stream of one batch, which a reader takes or leaves.
///
/// # Panics
/// If the columns are not of one length.
#[must_use]
pub fn stream(columns: &[Column]) -> Stream {
    Stream::new(crate::rows(columns), columns.iter().map(Laid::of).collect())
}
