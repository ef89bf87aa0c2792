//! Adler-32 (RFC 1950 §9).

/// The largest prime below 2^16.
pub(crate) const MODULUS: u32 = 65521;

/// The checksum of up to 5,552 bytes: so many cannot overflow before the one reduction at the end.
pub(crate) fn adler32(bytes: &[u8]) -> u32 {
    debug_assert!(bytes.len() <= 5552);
    let (a, b) = bytes.iter().fold((1u32, 0u32), |(a, b), &byte| {
        let a = a + u32::from(byte);
        (a, b + a)
    });
    ((b % MODULUS) << 16) | (a % MODULUS)
}
