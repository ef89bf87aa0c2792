//! Values out of a packet's bits (CTF 1.8 §4): aligned bytes on the fast path, bit fields otherwise.

use crate::metadata::{Int, Labels, Struct, Type};

/// Where reading stands in a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    /// The next bit.
    pub(super) at: usize,
    /// The first bit that is not content.
    pub(super) end: usize,
}

/// The content ends in the middle of a value, or says what cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Torn;

/// What reading learns on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Integers that lengths and tags depend on.
    pub(super) slots: Vec<i128>,
    /// The stream's clock, in ticks.
    pub(super) clock: u64,
}

impl Cursor<'_> {
    pub(super) fn align(&mut self, bits: u32) -> Result<(), Torn> {
        let bits = bits.max(1) as usize;
        self.at = self.at.checked_add(bits - 1).ok_or(Torn)? & !(bits - 1);
        if self.at <= self.end { Ok(()) } else { Err(Torn) }
    }

    /// The value's bits, sign-extended if it has a sign.
    #[inline]
    pub(super) fn int(&mut self, int: &Int, seen: &mut Seen) -> Result<i64, Torn> {
        self.align(int.align)?;
        let bits = int.bits as usize;
        let end = self.at + bits;
        if end > self.end {
            return Err(Torn);
        }
        let mut raw = if self.at.is_multiple_of(8) && bits.is_multiple_of(8) {
            let bytes = self.bytes.get(self.at / 8..end / 8).ok_or(Torn)?;
            whole_bytes(bytes, int.big_endian)
        } else {
            self.bit_field(bits, int.big_endian)?
        };
        self.at = end;
        if int.clock.is_some() {
            seen.clock = advanced(seen.clock, raw, int.bits);
        }
        if int.signed && bits < 64 && raw >> (bits - 1) & 1 == 1 {
            raw |= u64::MAX << bits;
        }
        if let Some(slot) = int.keep {
            seen.slots[slot] = if int.signed { i128::from(raw as i64) } else { i128::from(raw) };
        }
        Ok(raw as i64)
    }

    /// Bits that lie within bytes: from the lowest on in little-endian order, from the highest in big-endian.
    fn bit_field(&self, bits: usize, big_endian: bool) -> Result<u64, Torn> {
        let mut raw = 0;
        for offset in 0..bits {
            let at = self.at + offset;
            let byte = *self.bytes.get(at / 8).ok_or(Torn)?;
            if big_endian {
                raw = raw << 1 | u64::from(byte >> (7 - at % 8) & 1);
            } else {
                raw |= u64::from(byte >> (at % 8) & 1) << offset;
            }
        }
        Ok(raw)
    }

    /// Passes a value of any type, keeping what others depend on.
    pub(super) fn pass(&mut self, of: &Type, seen: &mut Seen) -> Result<(), Torn> {
        match of {
            Type::Int(int) | Type::Enum(int, _) => self.int(int, seen).map(drop),
            Type::Float { bits, align } => {
                self.align(*align)?;
                self.skip(*bits as usize)
            }
            Type::Text => self.text(),
            Type::Struct(fields) => {
                self.align(fields.align)?;
                fields.fields.iter().try_for_each(|(_, field)| self.pass(field, seen))
            }
            Type::Variant { slot, choices, .. } => {
                let of = chosen(choices, seen.slots[*slot]).ok_or(Torn)?;
                self.pass(of, seen)
            }
            Type::Array(of, count) => self.pass_many(of, *count, seen),
            Type::Sequence { of, slot, .. } => {
                let count = u64::try_from(seen.slots[*slot]).map_err(|_| Torn)?;
                self.pass_many(of, count, seen)
            }
        }
    }

    fn pass_many(&mut self, of: &Type, count: u64, seen: &mut Seen) -> Result<(), Torn> {
        self.align(of.align())?;
        if let Type::Int(int) = of
            && int.clock.is_none()
            && int.keep.is_none()
            && int.bits.is_multiple_of(int.align)
        {
            let bits = count.checked_mul(u64::from(int.bits)).and_then(|bits| usize::try_from(bits).ok());
            return self.skip(bits.ok_or(Torn)?);
        }
        for _ in 0..count {
            let begun = self.at;
            self.pass(of, seen)?;
            if self.at == begun {
                // Any number of nothings.
                break;
            }
        }
        Ok(())
    }

    fn skip(&mut self, bits: usize) -> Result<(), Torn> {
        self.at = self.at.checked_add(bits).filter(|&at| at <= self.end).ok_or(Torn)?;
        Ok(())
    }

    fn text(&mut self) -> Result<(), Torn> {
        self.align(8)?;
        let rest = self.bytes.get(self.at / 8..self.end / 8).ok_or(Torn)?;
        let length = rest.iter().position(|&byte| byte == 0).ok_or(Torn)?;
        self.skip(8 * (length + 1))
    }

    /// Reads a structure whose integers are wanted: `each` gets the field's place and value.
    #[inline]
    pub(super) fn fields(
        &mut self,
        of: &Struct,
        seen: &mut Seen,
        mut each: impl FnMut(usize, i64),
    ) -> Result<(), Torn> {
        self.align(of.align)?;
        for (place, (_, field)) in of.fields.iter().enumerate() {
            match field {
                Type::Int(int) | Type::Enum(int, _) => each(place, self.int(int, seen)?),
                other => self.pass(other, seen)?,
            }
        }
        Ok(())
    }
}

/// The choice that a tag's value leads to.
pub(super) fn chosen(choices: &[(Labels, Type)], tag: i128) -> Option<&Type> {
    let leads = |labels: &Labels| labels.iter().any(|&(_, low, high)| (low..=high).contains(&tag));
    choices.iter().find(|(labels, _)| leads(labels)).map(|(_, of)| of)
}

#[inline]
fn whole_bytes(bytes: &[u8], big_endian: bool) -> u64 {
    match (<[u8; 8]>::try_from(bytes), <[u8; 4]>::try_from(bytes)) {
        (Ok(eight), _) => {
            if big_endian {
                u64::from_be_bytes(eight)
            } else {
                u64::from_le_bytes(eight)
            }
        }
        (_, Ok(four)) => {
            u64::from(if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
        }
        _ if big_endian => bytes.iter().fold(0, |raw, &byte| raw << 8 | u64::from(byte)),
        _ => bytes.iter().rev().fold(0, |raw, &byte| raw << 8 | u64::from(byte)),
    }
}

/// A clock that was at `clock` and whose lowest `bits` now read `raw`: it wraps, it never goes back.
fn advanced(clock: u64, raw: u64, bits: u32) -> u64 {
    if bits >= 64 {
        return raw;
    }
    let span = 1u64 << bits;
    let high = clock & !(span - 1);
    let next = high | raw;
    if next < clock { next.wrapping_add(span) } else { next }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_stamp_continues_the_clock_over_its_wrap() {
        assert_eq!(advanced(0x1_0000_00ff, 0x05, 8), 0x1_0000_0105);
        assert_eq!(advanced(0x1_0000_0004, 0x05, 8), 0x1_0000_0005);
        assert_eq!(advanced(7, 3, 64), 3);
    }

    proptest! {
        #[test]
        fn bytes_and_bits_agree(bytes in prop::collection::vec(any::<u8>(), 16), first in 0usize..8, big: bool,
                                width in 1usize..9) {
            let int = Int { bits: 8 * width as u32, align: 8, signed: false, big_endian: big, clock: None, keep: None };
            let mut cursor = Cursor { bytes: &bytes, at: 8 * first, end: 128 };
            let by_bits = cursor.bit_field(8 * width, big).unwrap();
            prop_assert_eq!(cursor.int(&int, &mut Seen::default()).unwrap() as u64, by_bits);
        }
    }
}
