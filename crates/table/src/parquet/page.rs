//! The values of a column as a page: which are there, then these.

use super::compact::{Struct, varint};
use crate::{Values, bits};
use flate2::{Compression, write::GzEncoder};
use std::io::Write as _;

/// Values as they are.
pub(crate) const PLAIN: i64 = 0;
/// Runs of the same value, with their lengths.
pub(crate) const RUNS: i64 = 3;

/// A page with its header.
pub(crate) struct Page {
    pub(crate) bytes: Vec<u8>,
    /// How long it would be if nothing had been made smaller.
    pub(crate) plain_bytes: i64,
}

impl Page {
    /// That of some rows.
    pub(crate) fn of(values: &Values, start: usize, rows: usize) -> Self {
        let end = start + rows;
        let body = match values {
            Values::Integers(all) | Values::Times(all) => {
                body(&all[start..end], |found| found.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Values::Numbers(all) => {
                body(&all[start..end], |found| found.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Values::Texts(all) => {
                body(&all[start..end], |found| found.iter().copied().flat_map(text).collect())
            }
            Values::Truths(all) => body(&all[start..end], |found| bits(found.iter().map(|truth| **truth))),
        };
        let mut small = GzEncoder::new(Vec::new(), Compression::default());
        let small = small.write_all(&body).and_then(|()| small.finish()).expect("memory takes it");
        let mut values = Struct::default();
        values.i32(1, rows as i64);
        values.i32(2, PLAIN);
        values.i32(3, RUNS);
        values.i32(4, RUNS);
        let mut header = Struct::default();
        header.i32(1, 0);
        header.i32(2, body.len() as i64);
        header.i32(3, small.len() as i64);
        header.inner(5, values);
        let mut bytes = header.end();
        let plain_bytes = (bytes.len() + body.len()) as i64;
        bytes.extend(&small);
        Self { bytes, plain_bytes }
    }
}

/// Which are there, and those that are.
fn body<T>(all: &[Option<T>], plain: impl Fn(&[&T]) -> Vec<u8>) -> Vec<u8> {
    let mut levels = Vec::new();
    for run in all.chunk_by(|one, next| one.is_some() == next.is_some()) {
        varint(&mut levels, (run.len() as u64) << 1);
        levels.push(u8::from(run[0].is_some()));
    }
    let found: Vec<&T> = all.iter().flatten().collect();
    let mut bytes = (levels.len() as u32).to_le_bytes().to_vec();
    bytes.extend(levels);
    bytes.extend(plain(&found));
    bytes
}

fn text(text: &String) -> Vec<u8> {
    let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_which_values_are_there_before_those_that_are() {
        let all = [Some(true), Some(false), None, None, None, Some(true)];
        let packed = |found: &[&bool]| bits(found.iter().map(|truth| **truth));
        assert_eq!(body(&all, packed), [6, 0, 0, 0, 4, 1, 6, 0, 2, 1, 0b101]);
        assert_eq!(body(&[None::<bool>], packed), [2, 0, 0, 0, 2, 0]);
        assert_eq!(bits([true; 9].into_iter()), [0xff, 1]);
        assert_eq!(text(&"ab".to_owned()), [2, 0, 0, 0, b'a', b'b']);
    }
}
