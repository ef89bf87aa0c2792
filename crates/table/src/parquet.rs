//! A table as a Parquet file: as much of the [format](https://parquet.apache.org/docs/file-format/) as a flat table needs, plain
//! values, pages that gzip made small. Readers of others know all of it.

mod compact;
mod page;

use crate::{Column, Values, rows};
use compact::Struct;
use page::Page;

/// What a file begins and ends with.
const MAGIC: &[u8] = b"PAR1";
/// Rows that stand together: a reader takes one such group at a time.
const ROWS_OF_GROUP: usize = 1 << 16;
/// How small pages are made.
const CODEC_GZIP: i64 = 2;

/// The table as a file.
///
/// # Panics
/// If the columns are not of one length.
pub fn file(columns: &[Column]) -> Vec<u8> {
    let rows = rows(columns);
    let mut bytes = MAGIC.to_vec();
    let starts = (0..rows).step_by(ROWS_OF_GROUP);
    let groups: Vec<Struct> =
        starts.map(|start| group(columns, start, ROWS_OF_GROUP.min(rows - start), &mut bytes)).collect();
    let schema = std::iter::once(root(columns.len())).chain(columns.iter().map(Column::schema)).collect();
    let mut about = Struct::default();
    about.i32(1, 1);
    about.structs(2, schema);
    about.i64(3, rows as i64);
    about.structs(4, groups);
    about.text(6, concat!("dropline version ", env!("CARGO_PKG_VERSION")));
    let about = about.end();
    bytes.extend(&about);
    bytes.extend((about.len() as u32).to_le_bytes());
    bytes.extend(MAGIC);
    bytes
}

/// Writes the pages of some rows, and says where they are.
fn group(columns: &[Column], start: usize, rows: usize, bytes: &mut Vec<u8>) -> Struct {
    let (mut chunks, mut size) = (Vec::new(), 0);
    for column in columns {
        let place = bytes.len() as i64;
        let page = Page::of(&column.values, start, rows);
        size += page.plain_bytes;
        bytes.extend(&page.bytes);
        let mut about = Struct::default();
        about.i32(1, column.values.kind());
        about.i32s(2, &[page::PLAIN, page::RUNS]);
        about.texts(3, &[&column.name]);
        about.i32(4, CODEC_GZIP);
        about.i64(5, rows as i64);
        about.i64(6, page.plain_bytes);
        about.i64(7, page.bytes.len() as i64);
        about.i64(9, place);
        let mut chunk = Struct::default();
        chunk.i64(2, place);
        chunk.inner(3, about);
        chunks.push(chunk);
    }
    let mut group = Struct::default();
    group.structs(1, chunks);
    group.i64(2, size);
    group.i64(3, rows as i64);
    group
}

/// What stands above the columns in the schema.
fn root(columns: usize) -> Struct {
    let mut element = Struct::default();
    element.text(4, "schema");
    element.i32(5, columns as i64);
    element
}

impl Column {
    /// What the schema says of it.
    fn schema(&self) -> Struct {
        const OPTIONAL: i64 = 1;
        let mut element = Struct::default();
        element.i32(1, self.values.kind());
        element.i32(3, OPTIONAL);
        element.text(4, &self.name);
        match &self.values {
            Values::Texts(_) => {
                element.i32(6, 0);
                element.inner(10, Struct::holding(1, Struct::default()));
            }
            Values::Times(_) => {
                element.i32(6, 10);
                let mut time = Struct::default();
                time.truth(1, true);
                time.inner(2, Struct::holding(2, Struct::default()));
                element.inner(10, Struct::holding(8, time));
            }
            Values::Integers(_) | Values::Numbers(_) | Values::Truths(_) => {}
        }
        element
    }
}

impl Values {
    /// The format's number for how they are stored.
    fn kind(&self) -> i64 {
        match self {
            Self::Truths(_) => 0,
            Self::Integers(_) | Self::Times(_) => 2,
            Self::Numbers(_) => 5,
            Self::Texts(_) => 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_begins_and_ends_with_its_mark_and_says_how_long_its_last_part_is() {
        let column = Column { name: "a".into(), values: Values::Integers(vec![Some(1), None]) };
        for columns in [vec![], vec![column]] {
            let file = file(&columns);
            assert!(file.starts_with(MAGIC) && file.ends_with(MAGIC));
            let size = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap());
            assert!(size > 0 && (size as usize) <= file.len() - 12);
        }
    }

    #[test]
    #[should_panic(expected = "one number of rows")]
    fn columns_of_different_lengths_are_not_a_table() {
        let of = |rows| Column { name: "a".into(), values: Values::Integers(vec![None; rows]) };
        file(&[of(1), of(2)]);
    }
}
