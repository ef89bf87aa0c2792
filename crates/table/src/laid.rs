//! Columns as Arrow lays them out in memory.

use crate::{Column, Values, bits};
use std::ffi::CStr;

/// A column as its buffers lie in memory.
#[derive(Debug)]
pub(crate) struct Laid {
    pub(crate) name: String,
    /// The format's word for the type.
    pub(crate) format: &'static CStr,
    /// How many values are absent.
    pub(crate) absent: usize,
    /// Which are there, and then what the format asks of the type.
    pub(crate) buffers: Vec<Buffer>,
}

/// Bytes where every type of number may stand.
#[derive(Debug)]
pub(crate) struct Buffer(pub(crate) Vec<u64>);

impl Buffer {
    fn of(bytes: &[u8]) -> Self {
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_ne_bytes(word)
        };
        Self(bytes.chunks(8).map(word).collect())
    }
}

impl Laid {
    pub(crate) fn of(column: &Column) -> Self {
        let (format, valid, rest) = match &column.values {
            Values::Integers(all) => (c"l", there(all), vec![wide(all, i64::cast_unsigned)]),
            Values::Times(all) => (c"tsu:UTC", there(all), vec![wide(all, i64::cast_unsigned)]),
            Values::Numbers(all) => (c"g", there(all), vec![wide(all, f64::to_bits)]),
            Values::Truths(all) => {
                (c"b", there(all), vec![Buffer::of(&bits(all.iter().map(|truth| truth.unwrap_or_default())))])
            }
            Values::Texts(all) => (c"U", there(all), texts(all)),
        };
        let (absent, valid) = valid;
        let buffers = std::iter::once(valid).chain(rest).collect();
        Self { name: column.name.clone(), format, absent, buffers }
    }
}

/// How many are absent, and which are there.
fn there<T>(all: &[Option<T>]) -> (usize, Buffer) {
    let absent = all.iter().filter(|value| value.is_none()).count();
    (absent, Buffer::of(&bits(all.iter().map(Option::is_some))))
}

/// Values of eight bytes each.
fn wide<T: Copy + Default>(all: &[Option<T>], word: impl Fn(T) -> u64) -> Buffer {
    Buffer(all.iter().map(|value| word(value.unwrap_or_default())).collect())
}

/// Where each text begins, and the end; then all of them.
fn texts(all: &[Option<String>]) -> Vec<Buffer> {
    let (mut starts, mut bytes) = (vec![0], Vec::new());
    for text in all {
        bytes.extend(text.as_deref().unwrap_or_default().as_bytes());
        starts.push(bytes.len() as u64);
    }
    vec![Buffer(starts), Buffer::of(&bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_lies_as_the_format_says() {
        let laid = |values| Laid::of(&Column { name: "a".into(), values });
        let bytes = |buffer: &Buffer| buffer.0.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
        let texts = laid(Values::Texts(vec![Some("ab".into()), None, Some("c".into())]));
        assert_eq!((texts.format, texts.absent), (c"U", 1));
        assert_eq!(bytes(&texts.buffers[0])[0], 0b101);
        assert_eq!(texts.buffers[1].0, [0, 2, 2, 3]);
        assert_eq!(bytes(&texts.buffers[2])[..3], *b"abc");
        let truths = laid(Values::Truths(vec![Some(true), None, Some(false), Some(true)]));
        assert_eq!(bytes(&truths.buffers[0])[0], 0b1101);
        assert_eq!(bytes(&truths.buffers[1])[0], 0b1001);
        let numbers = laid(Values::Integers(vec![Some(-1), None]));
        assert_eq!((numbers.absent, &numbers.buffers[1].0), (1, &vec![u64::MAX, 0]));
        assert_eq!(laid(Values::Numbers(vec![])).buffers.len(), 2);
    }
}
