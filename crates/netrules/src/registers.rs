//! What is known of the registers in which rules compare: each word is one number, any between two, or any.

use std::ops::{Not, RangeInclusive};

/// Whether something is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It is not.
    Not,
    /// It is for some packets, or nobody can tell.
    Possibly,
    /// It is.
    Certainly,
}

/// How a register is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Not for Certainty {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Not => Self::Certainly,
            Self::Possibly => Self::Possibly,
            Self::Certainly => Self::Not,
        }
    }
}

/// The first word of a register, of which the longer ones have four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(usize);

/// Words of all registers together.
const WORDS: usize = 16;

impl Register {
    /// By nftables' number of it (`NFT_REG_1` …, `NFT_REG32_00` …); `None` if that is of none, or of the verdict.
    pub(super) fn of(number: u32) -> Option<Self> {
        match number {
            1..=4 => Some(Self(4 * (number as usize - 1))),
            8..=23 => Some(Self(number as usize - 8)),
            _ => None,
        }
    }
}

/// Four bytes as a number, the first of them the highest; `None` if it may be any.
pub(super) type Word = Option<RangeInclusive<u32>>;

/// All registers.
#[derive(Clone, Debug, Default)]
pub(super) struct Registers([Word; WORDS]);

impl Registers {
    /// Words of a register that holds so many bytes.
    pub(super) fn words(&self, register: Register, bytes: usize) -> &[Word] {
        let end = register.0.saturating_add(bytes.div_ceil(4)).min(WORDS);
        &self.0[register.0.min(end)..end]
    }

    /// Puts words into a register; what does not fit is left out.
    pub(super) fn set(&mut self, register: Register, words: impl IntoIterator<Item = Word>) {
        for (to, from) in self.0[register.0..].iter_mut().zip(words) {
            *to = from;
        }
    }

    /// Nothing is known of any.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Words of these bytes; the last is filled up with zeros.
pub(super) fn words_of(bytes: &[u8]) -> impl Iterator<Item = Word> {
    bytes.chunks(4).map(|chunk| {
        let (number, _) = number_of(chunk);
        Some(number..=number)
    })
}

/// Up to four bytes as a number, and which bits of it they are.
fn number_of(chunk: &[u8]) -> (u32, u32) {
    let mut bytes = [0; 4];
    bytes[..chunk.len()].copy_from_slice(chunk);
    let missing = 8 * (4 - chunk.len() as u32);
    (u32::from_be_bytes(bytes), u32::MAX.checked_shl(missing).unwrap_or(0))
}

/// How a value can stand to another.
#[derive(Clone, Copy)]
struct Orders {
    less: bool,
    equal: bool,
    greater: bool,
}

impl Orders {
    /// Of words to bytes, as `memcmp` has it.
    fn of(words: &[Word], bytes: &[u8]) -> Self {
        let mut orders = Self { less: false, equal: true, greater: false };
        let mut words = words.iter();
        for chunk in bytes.chunks(4) {
            if !orders.equal {
                break;
            }
            let (number, mask) = number_of(chunk);
            let (least, most) = match words.next().cloned().flatten() {
                Some(range) => (range.start() & mask, range.end() & mask),
                None => (0, mask),
            };
            orders.less |= least < number;
            orders.greater |= most > number;
            orders.equal = (least..=most).contains(&number);
        }
        orders
    }

    fn certainty(self, of: fn(std::cmp::Ordering) -> bool) -> Certainty {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let can_be = [(self.less, Less), (self.equal, Equal), (self.greater, Greater)];
        let mut of = can_be.into_iter().filter(|(can_be, _)| *can_be).map(|(_, order)| of(order));
        match (of.clone().all(|is_so| is_so), of.any(|is_so| is_so)) {
            (true, _) => Certainty::Certainly,
            (_, true) => Certainty::Possibly,
            _ => Certainty::Not,
        }
    }
}

/// Whether words stand so to bytes.
pub(super) fn compared(words: &[Word], how: Comparison, bytes: &[u8]) -> Certainty {
    use std::cmp::Ordering;
    Orders::of(words, bytes).certainty(match how {
        Comparison::Equal => Ordering::is_eq,
        Comparison::Unequal => Ordering::is_ne,
        Comparison::Less => Ordering::is_lt,
        Comparison::AtMost => Ordering::is_le,
        Comparison::Greater => Ordering::is_gt,
        Comparison::AtLeast => Ordering::is_ge,
    })
}

/// Whether words are from the first on, and no more than the last.
pub(super) fn within(words: &[Word], first: &[u8], last: &[u8]) -> Certainty {
    compared(words, Comparison::AtLeast, first).min(compared(words, Comparison::AtMost, last))
}

/// Words of which some bits are taken, and some are turned.
pub(super) fn masked<'a>(
    words: &'a [Word],
    mask: &'a [u8],
    turned: &'a [u8],
) -> impl Iterator<Item = Word> + 'a {
    words.iter().zip(mask.chunks(4)).enumerate().map(|(at, (word, mask))| {
        let (mask, _) = number_of(mask);
        let (turned, _) = turned.chunks(4).nth(at).map_or((0, 0), number_of);
        let of = |number: u32| (number & mask) ^ turned;
        match word {
            _ if mask == 0 => Some(turned..=turned),
            Some(range) if range.start() == range.end() => Some(of(*range.start())..=of(*range.start())),
            // The highest bits alone keep an order.
            Some(range) if mask.leading_ones() + mask.trailing_zeros() == 32 && turned == 0 => {
                Some(of(*range.start())..=of(*range.end()))
            }
            _ => None,
        }
    })
}

/// Words in which the bytes of each number of so many are in the other order.
pub(super) fn turned(words: &[Word], each: usize) -> impl Iterator<Item = Word> {
    words.iter().map(move |word| {
        let number =
            word.as_ref().filter(|range| range.start() == range.end()).map(|range| *range.start())?;
        let number = match each {
            2 => {
                u32::from(((number >> 16) as u16).swap_bytes()) << 16
                    | u32::from((number as u16).swap_bytes())
            }
            4 => number.swap_bytes(),
            _ => return None,
        };
        Some(number..=number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two bytes in front, as ports stand.
    fn port(range: RangeInclusive<u16>) -> Word {
        Some(u32::from(*range.start()) << 16..=u32::from(*range.end()) << 16)
    }

    #[test]
    fn a_range_of_ports_is_compared_as_each_of_its_ports_is() {
        use Certainty::{Certainly, Not, Possibly};
        let of = |range, how, other: u16| compared(&[port(range)], how, &other.to_be_bytes());
        assert_eq!(of(7..=7, Comparison::Equal, 7), Certainly);
        assert_eq!(of(7..=9, Comparison::Equal, 7), Possibly);
        assert_eq!(of(7..=9, Comparison::Equal, 10), Not);
        assert_eq!(of(7..=9, Comparison::Unequal, 10), Certainly);
        assert_eq!((of(7..=9, Comparison::Less, 10), of(7..=9, Comparison::Less, 9)), (Certainly, Possibly));
        assert_eq!((of(7..=9, Comparison::AtLeast, 7), of(7..=9, Comparison::Greater, 9)), (Certainly, Not));
        assert_eq!(compared(&[None], Comparison::Equal, &[0, 7]), Possibly);
        assert_eq!(within(&[port(5..=6)], &[0, 4], &[0, 9]), Certainly);
    }

    #[test]
    fn a_later_word_that_differs_is_enough() {
        let words = [None, Some(3..=3)];
        assert_eq!(compared(&words, Comparison::Equal, &[0, 0, 0, 1, 0, 0, 0, 4]), Certainty::Not);
        assert_eq!(compared(&words, Comparison::Equal, &[0, 0, 0, 1, 0, 0, 0, 3]), Certainty::Possibly);
    }

    proptest! {
        /// The obvious twin: every number of the range is compared by itself.
        #[test]
        fn what_is_certain_is_so_of_each_and_what_is_not_of_none(
            first in any::<u8>(), more in 0..40_u8, mask in any::<u8>(), turn in any::<u8>(), other in any::<u8>(), how in 0..6_usize
        ) {
            let last = first.saturating_add(more);
            let word = |byte: u8| u32::from(byte) << 24;
            let how = [
                Comparison::Equal, Comparison::Unequal, Comparison::Less, Comparison::AtMost, Comparison::Greater,
                Comparison::AtLeast,
            ][how];
            let words: Vec<Word> = masked(&[Some(word(first)..=word(last))], &[mask], &[turn]).collect();
            let each = |byte: u8| {
                let byte = (byte & mask) ^ turn;
                compared(&words_of(&[byte]).collect::<Vec<_>>(), how, &[other]) == Certainty::Certainly
            };
            match compared(&words, how, &[other]) {
                Certainty::Certainly => prop_assert!((first..=last).all(each)),
                Certainty::Not => prop_assert!(!(first..=last).any(each)),
                Certainty::Possibly => {}
            }
        }
    }
}
