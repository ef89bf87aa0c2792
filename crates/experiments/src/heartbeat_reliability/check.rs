//! Checks over the four bytes behind a heartbeat's checksum, each by its definition.

/// The fixed byte of a heartbeat.
pub const MAGIC: u8 = 0xf1;

/// A check that could stand in front of a heartbeat's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// RFC 1950 §8.2: the heartbeat's own.
    Adler32,
    /// Two sums of bytes modulo 255 (RFC 905 annex B without its check characters' transformation).
    Fletcher16,
    /// Two sums of big-endian 16-bit words modulo 65,535.
    Fletcher32,
    /// CRC-16/CCITT: x^16 + x^12 + x^5 + 1, most significant bit first, from 0xffff.
    Crc16,
    /// CRC-32 of IEEE 802.3 (RFC 1952 §8), least significant bit first.
    Crc32,
}

/// How the check's answer changes when the payload does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Two halves of `half_bits`, each a sum of what the payload's bits contribute, modulo `modulus`.
    Additive {
        /// What each half is reduced by.
        modulus: u32,
        /// Width of a half.
        half_bits: u32,
    },
    /// The change of the check depends on the changed bits alone (linear over two elements).
    Linear,
}

impl Check {
    /// All of them, the heartbeat's own first.
    pub const ALL: [Self; 5] = [Self::Adler32, Self::Fletcher16, Self::Fletcher32, Self::Crc16, Self::Crc32];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adler32 => "Adler-32",
            Self::Fletcher16 => "Fletcher-16",
            Self::Fletcher32 => "Fletcher-32",
            Self::Crc16 => "CRC-16/CCITT",
            Self::Crc32 => "CRC-32",
        }
    }

    /// Width of the check.
    pub fn bits(self) -> u32 {
        match self {
            Self::Fletcher16 | Self::Crc16 => 16,
            Self::Adler32 | Self::Fletcher32 | Self::Crc32 => 32,
        }
    }

    /// Width of a frame: check and payload.
    pub fn frame_bits(self) -> u32 {
        self.bits() + 32
    }

    /// What its weights can be counted by.
    pub fn structure(self) -> Structure {
        match self {
            Self::Adler32 => Structure::Additive { modulus: 65_521, half_bits: 16 },
            Self::Fletcher16 => Structure::Additive { modulus: 255, half_bits: 8 },
            Self::Fletcher32 => Structure::Additive { modulus: 65_535, half_bits: 16 },
            Self::Crc16 | Self::Crc32 => Structure::Linear,
        }
    }

    /// The check of four bytes.
    pub fn of(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Adler32 => {
                let (a, b) = sums(bytes.map(u32::from), 1, 65_521);
                b << 16 | a
            }
            Self::Fletcher16 => {
                let (a, b) = sums(bytes.map(u32::from), 0, 255);
                b << 8 | a
            }
            Self::Fletcher32 => {
                let word = |high: u8, low: u8| u32::from(high) << 8 | u32::from(low);
                let words = [word(bytes[0], bytes[1]), word(bytes[2], bytes[3])];
                let (a, b) = sums(words, 0, 65_535);
                b << 16 | a
            }
            Self::Crc16 => u32::from(bytes.into_iter().fold(0xffff_u16, |crc, byte| {
                (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
                    if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
                })
            })),
            Self::Crc32 => !bytes.into_iter().fold(u32::MAX, |crc, byte| {
                (0..8).fold(crc ^ u32::from(byte), |crc, _| {
                    if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ 0xedb8_8320 }
                })
            }),
        }
    }
}

/// The sum of the terms and the sum of its running values, modulo `modulus`.
fn sums<const N: usize>(terms: [u32; N], first: u32, modulus: u32) -> (u32, u32) {
    terms.into_iter().fold((first, 0), |(a, b), term| {
        let a = (a + term) % modulus;
        (a, (b + a) % modulus)
    })
}

/// Whether eight bytes are a heartbeat with a right checksum, whatever its variable.
pub fn accepted(packet: [u8; 8]) -> bool {
    let [c0, c1, c2, c3, payload @ ..] = packet;
    payload[0] == MAGIC && u32::from_be_bytes([c0, c1, c2, c3]) == Check::Adler32.of(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_check_gives_its_published_value() {
        // Check values of catalogues are over nine bytes; over four the same definitions give these.
        assert_eq!(Check::Adler32.of(*b"Wiki"), 0x03da_0195);
        assert_eq!(Check::Crc32.of(*b"abcd"), 0xed82_cd11);
        assert_eq!(Check::Crc16.of(*b"abcd"), 0x2cf6);
        assert_eq!(Check::Fletcher16.of(*b"abcd"), 0xd78b);
        assert_eq!(Check::Fletcher32.of(*b"badc"), 0x2926_c6c4);
    }

    #[test]
    fn the_facts_vectors_are_accepted_and_a_flipped_bit_is_not() {
        let vectors: [[u8; 8]; 5] = [
            [0x03, 0xc8, 0x00, 0xf2, 0xf1, 0, 0, 0],
            [0x04, 0x8d, 0x01, 0x6b, 0xf1, 0x00, 0x4c, 0x2d],
            [0x03, 0xea, 0x01, 0x04, 0xf1, 0x05, 0x06, 0x07],
            [0x07, 0x82, 0x03, 0x2f, 0xf1, 0x3f, 0xff, 0xff],
            [0x04, 0x88, 0x01, 0x32, 0xf1, 0x40, 0, 0],
        ];
        for vector in vectors {
            assert!(accepted(vector), "{vector:02x?}");
            for bit in 0..64 {
                let mut flipped = vector;
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(!accepted(flipped), "{vector:02x?} bit {bit}");
            }
        }
        assert!(!accepted(*b"AreyouOK"));
    }
}
