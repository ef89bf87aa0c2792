//! A field of a payload: what it holds, how it is written, and where.

use crate::service::Request;

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) kind: Kind,
    pub(super) notation: Notation,
    /// Bytes that it takes.
    pub(super) width: usize,
    /// Bytes of the payload before it.
    pub(super) at: usize,
}

/// What it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Says which request it is; the reply brings it back.
    Tag,
    /// How many requests were made before.
    Counter,
    /// Other bytes with each request.
    Random,
    /// When the request was made, in ns since 1970.
    Timestamp,
    /// Bytes of the whole payload, less so many.
    Length { less: u32 },
    /// Of all bytes of the payload, with this field as zeroes.
    Checksum(Sum),
}

/// How a checksum is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sum {
    /// Of IP and UDP (RFC 1071).
    Inet,
    /// Of Ethernet, gzip and zip.
    Crc32,
    /// All bytes added.
    Sum8,
    /// All bytes combined by exclusive or.
    Xor8,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    /// Bytes in network order.
    Big,
    /// Bytes the other way round.
    Little,
    /// Decimal digits, with zeroes before them.
    Decimal,
    /// Hexadecimal digits.
    Hex,
}

impl Field {
    /// Bits of the numbers that it holds.
    pub(super) fn bits(&self) -> u32 {
        let each = if self.notation == Notation::Hex { 4 } else { 8 };
        self.width as u32 * each
    }

    /// Whether a number stands in it without a digit cut off.
    pub(super) fn holds(&self, number: u64) -> bool {
        let each = match self.notation {
            Notation::Big | Notation::Little => 256,
            Notation::Decimal => 10,
            Notation::Hex => 16,
        };
        u128::from(number) < 256_u128.pow(8).min((0..self.width.min(20)).fold(1_u128, |most, _| most * each))
    }

    /// Appends it; what is about the whole payload as zeroes.
    pub(super) fn write(&self, request: Request, clock: fn() -> u64, bytes: &mut Vec<u8>) {
        match self.kind {
            Kind::Tag => self.push(request.number, bytes),
            Kind::Counter => self.push(request.turn, bytes),
            Kind::Timestamp => self.push(clock(), bytes),
            Kind::Random => self.push_random(request.number ^ request.turn.rotate_left(32), bytes),
            Kind::Length { .. } | Kind::Checksum(_) => bytes.resize(bytes.len() + self.width, 0),
        }
    }

    /// Writes what is about the whole payload.
    pub(super) fn complete(&self, payload: &mut [u8]) {
        let number = match self.kind {
            Kind::Length { less } => (payload.len() as u64).saturating_sub(less.into()),
            Kind::Checksum(sum) => sum.of(payload),
            Kind::Tag | Kind::Counter | Kind::Timestamp | Kind::Random => return,
        };
        let mut written = Vec::with_capacity(self.width);
        self.push(number, &mut written);
        payload[self.at..][..self.width].copy_from_slice(&written);
    }

    /// The number that stands where bytes begin; `None` if there is none.
    pub(super) fn read(&self, bytes: &[u8]) -> Option<u64> {
        let bytes = bytes.get(..self.width)?;
        let binary = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        match self.notation {
            Notation::Big => Some(bytes.iter().fold(0, binary)),
            Notation::Little => Some(bytes.iter().rev().fold(0, binary)),
            Notation::Hex => bytes
                .iter()
                .try_fold(0, |number, digit| Some(number << 4 | u64::from(char::from(*digit).to_digit(16)?))),
            Notation::Decimal => None,
        }
    }

    fn push(&self, number: u64, bytes: &mut Vec<u8>) {
        let (start, mut left) = (bytes.len(), number);
        for _ in 0..self.width {
            let (digit, rest) = match self.notation {
                Notation::Big | Notation::Little => (left as u8, left >> 8),
                Notation::Decimal => (b'0' + (left % 10) as u8, left / 10),
                Notation::Hex => (b"0123456789abcdef"[(left & 15) as usize], left >> 4),
            };
            bytes.push(digit);
            left = rest;
        }
        if self.notation != Notation::Little {
            bytes[start..].reverse();
        }
    }

    fn push_random(&self, number: u64, bytes: &mut Vec<u8>) {
        let end = bytes.len() + self.width;
        for part in 0.. {
            let each = Self { width: (end - bytes.len()).min(8), ..*self };
            if each.width == 0 {
                break;
            }
            each.push(mixed(number.wrapping_add(part)), bytes);
        }
    }
}

/// A number that looks like chance (splitmix64).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

impl Sum {
    /// As it is named, and the bytes that it has.
    pub(super) const ALL: [(&'static str, Self, usize); 4] = [
        ("inet", Self::Inet, 2),
        ("crc32", Self::Crc32, 4),
        ("sum8", Self::Sum8, 1),
        ("xor8", Self::Xor8, 1),
    ];

    fn of(self, bytes: &[u8]) -> u64 {
        match self {
            Self::Inet => {
                let words =
                    bytes.chunks(2).map(|two| u64::from(two[0]) << 8 | u64::from(*two.get(1).unwrap_or(&0)));
                let mut sum: u64 = words.sum();
                while sum > 0xffff {
                    sum = (sum & 0xffff) + (sum >> 16);
                }
                !sum & 0xffff
            }
            Self::Crc32 => {
                let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
                let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
                u64::from(!bytes.iter().fold(u32::MAX, byte))
            }
            Self::Sum8 => bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>() & 0xff,
            Self::Xor8 => bytes.iter().fold(0, |all, byte| all ^ u64::from(*byte)),
        }
    }
}
