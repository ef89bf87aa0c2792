//! Numbers in as few bytes as they need: seven bits a byte, the least first, the top bit says "more".

/// Appends a number.
pub(super) fn put(mut value: u128, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push((value as u8) | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a number; `None` if the bytes end within it or it has more than ten digits, as no time has.
pub(super) fn take(bytes: &mut &[u8]) -> Option<u128> {
    let mut value = 0u128;
    for digit in 0..10 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u128::from(byte & 0x7F) << (7 * digit);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// A signed number as an unsigned one: 0, −1, 1, −2, … as 0, 1, 2, 3, …
pub(super) fn fold(value: i128) -> u128 {
    ((value << 1) ^ (value >> 127)) as u128
}

/// The signed number again.
pub(super) fn unfold(value: u128) -> i128 {
    ((value >> 1) as i128) ^ -((value & 1) as i128)
}
