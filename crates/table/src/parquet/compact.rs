//! Thrift's compact protocol, as far as what a Parquet file says of itself needs it.

/// A structure that is being written: its fields in order of their numbers.
#[derive(Default)]
pub(crate) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Struct {
    /// One with one structure in it.
    pub(crate) fn holding(field: u8, inner: Self) -> Self {
        let mut all = Self::default();
        all.inner(field, inner);
        all
    }

    pub(crate) fn truth(&mut self, field: u8, value: bool) {
        self.begin(field, if value { TRUE } else { FALSE });
    }

    pub(crate) fn i32(&mut self, field: u8, value: i64) {
        self.begin(field, I32);
        varint(&mut self.bytes, zigzag(value));
    }

    pub(crate) fn i64(&mut self, field: u8, value: i64) {
        self.begin(field, I64);
        varint(&mut self.bytes, zigzag(value));
    }

    pub(crate) fn text(&mut self, field: u8, text: &str) {
        self.begin(field, BINARY);
        binary(&mut self.bytes, text);
    }

    pub(crate) fn inner(&mut self, field: u8, inner: Self) {
        self.begin(field, STRUCT);
        self.bytes.extend(inner.end());
    }

    pub(crate) fn i32s(&mut self, field: u8, values: &[i64]) {
        self.list(field, I32, values, |bytes, value| varint(bytes, zigzag(*value)));
    }

    pub(crate) fn texts(&mut self, field: u8, texts: &[&str]) {
        self.list(field, BINARY, texts, |bytes, text| binary(bytes, text));
    }

    pub(crate) fn structs(&mut self, field: u8, all: Vec<Self>) {
        let ended: Vec<Vec<u8>> = all.into_iter().map(Self::end).collect();
        self.list(field, STRUCT, &ended, |bytes, one| bytes.extend(one));
    }

    /// Its bytes.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    /// A field's number is written as how much it is more than the one before it.
    fn begin(&mut self, field: u8, kind: u8) {
        debug_assert!(field > self.last && field - self.last < 16);
        self.bytes.push((field - self.last) << 4 | kind);
        self.last = field;
    }

    fn list<T>(&mut self, field: u8, kind: u8, all: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
        self.begin(field, LIST);
        if all.len() < 15 {
            self.bytes.push((all.len() as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, all.len() as u64);
        }
        all.iter().for_each(|one| write(&mut self.bytes, one));
    }
}

/// Seven bits a byte, the lowest first.
pub(crate) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn binary(bytes: &mut Vec<u8>, text: &str) {
    varint(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let of = |value: i64| {
            let mut bytes = Vec::new();
            varint(&mut bytes, zigzag(value));
            bytes
        };
        assert_eq!([of(0), of(-1), of(1), of(63)], [[0], [1], [2], [126]]);
        assert_eq!(of(64), [0x80, 1]);
        assert_eq!(of(i64::MIN).len(), 10);
    }

    #[test]
    fn a_list_of_fifteen_says_its_length_apart() {
        let list = |count: usize| {
            let mut all = Struct::default();
            all.i32s(2, &vec![0; count]);
            all.end()
        };
        assert_eq!(list(14)[..2], [0x29, 0xe5]);
        assert_eq!(list(15)[..3], [0x29, 0xf5, 15]);
    }
}
