//! The storable payloads, numbered: what a heartbeat can say.

use super::check::{Check, MAGIC};

/// Variables that a table has.
pub const VARIABLES: u32 = 64;
/// Free bits of a storable heartbeat: 6 of the variable, 8 of `from`, 8 of the value.
pub const FREE_BITS: u32 = 22;
/// Storable heartbeats: 2^22.
pub const STORABLE: u32 = 1 << FREE_BITS;

/// The four bytes behind the checksum of payload number `index`: variable in the highest bits, value in
/// the lowest. Numbers up to 2^24 reach the variables that are not stored too.
pub fn payload(index: u32) -> [u8; 4] {
    let [_, variable, from, value] = index.to_be_bytes();
    [MAGIC, variable, from, value]
}

/// The check of every payload with a number below `count`.
pub fn checks(check: Check, count: u32) -> Vec<u32> {
    (0..count).map(|index| check.of(payload(index))).collect()
}

/// How unevenly checksums are used.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Sharing {
    /// Payloads looked at.
    pub payloads: u64,
    /// Checksums that any of them has.
    pub distinct_checksums: u64,
    /// Most payloads that share one.
    pub most_sharing: u64,
    /// Chance that another payload, drawn at random, fits the checksum that was kept.
    pub kept_checksum_fits: f64,
    /// For each byte of the checksum, as sent: how often each value stands there, from the most frequent.
    /// JSON has the first and third, the uneven ones.
    #[serde(rename = "bytes_0_and_2", serialize_with = "uneven")]
    pub bytes: [Vec<ByteShare>; 4],
    /// Entropy of each of these bytes.
    pub entropy_bits: [f64; 4],
}

/// A value of a byte and how often it stands there.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct ByteShare {
    /// The byte.
    pub value: u8,
    /// Its share, in (0, 1].
    pub share: f64,
}

impl Sharing {
    /// Counted over these checksums, one a payload.
    pub fn of(checksums: &[u32]) -> Self {
        let total = checksums.len() as f64;
        let (low, high) = checksums
            .iter()
            .fold((0, 0), |(low, high): (u32, u32), sum| (low.max(sum & 0xffff), high.max(sum >> 16)));
        let width = low as usize + 1;
        let mut users = vec![0_u64; width * (high as usize + 1)];
        let mut bytes = [[0_u64; 256]; 4];
        for sum in checksums {
            users[(sum >> 16) as usize * width + (sum & 0xffff) as usize] += 1;
            for (counts, byte) in bytes.iter_mut().zip(sum.to_be_bytes()) {
                counts[usize::from(byte)] += 1;
            }
        }
        let pairs: u64 = users.iter().map(|users| users * users.saturating_sub(1)).sum();
        Self {
            payloads: checksums.len() as u64,
            distinct_checksums: users.iter().filter(|users| **users > 0).count() as u64,
            most_sharing: users.iter().copied().max().unwrap_or(0),
            kept_checksum_fits: pairs as f64 / (total * total),
            bytes: bytes.map(|counts| shares(&counts, total)),
            entropy_bits: bytes.map(|counts| {
                shares(&counts, total).iter().map(|byte| -byte.share * byte.share.log2()).sum()
            }),
        }
    }

    /// Share of `value` in byte `place` of the checksum.
    pub fn share(&self, place: usize, value: u8) -> f64 {
        self.bytes[place].iter().find(|byte| byte.value == value).map_or(0.0, |byte| byte.share)
    }
}

fn uneven<S: serde::Serializer>(bytes: &[Vec<ByteShare>; 4], serializer: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&(&bytes[0], &bytes[2]), serializer)
}

fn shares(counts: &[u64; 256], total: f64) -> Vec<ByteShare> {
    let mut shares: Vec<ByteShare> = (0..=255)
        .zip(counts)
        .filter(|(_, count)| **count > 0)
        .map(|(value, count)| ByteShare { value, share: *count as f64 / total })
        .collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_form_is_the_checksum_of_every_payload() {
        for (index, sum) in (0..).zip(checks(Check::Adler32, 1 << 24)) {
            let [_, variable, from, value] = payload(index).map(u32::from);
            let closed = 0x03c8_00f2 + 0x3_0001 * variable + 0x2_0001 * from + 0x1_0001 * value;
            assert_eq!(sum, closed, "{index:06x}");
        }
    }

    #[test]
    fn storable_payloads_share_113794_checksums_and_all_of_them_260866() {
        let all = checks(Check::Adler32, 1 << 24);
        let stored = Sharing::of(&all[..STORABLE as usize]);
        let all = Sharing::of(&all);
        assert_eq!((stored.distinct_checksums, stored.most_sharing), (113_794, 64));
        assert_eq!((all.distinct_checksums, all.most_sharing), (260_866, 128));
        assert_eq!(format!("{:.2e}", stored.kept_checksum_fits), "1.15e-5");
        assert_eq!(format!("{:.1}", stored.kept_checksum_fits.log2()), "-16.4");
        assert_eq!(format!("{:.1}", all.kept_checksum_fits.log2()), "-17.5");
    }

    #[test]
    fn two_bytes_of_a_checksum_are_nearly_constant_and_two_are_flat() {
        let all = Sharing::of(&checks(Check::Adler32, 1 << 24));
        let values = |place: usize| -> Vec<u8> {
            let mut values: Vec<u8> = all.bytes[place].iter().map(|byte| byte.value).collect();
            values.sort_unstable();
            values
        };
        assert_eq!((values(0), values(2)), (vec![3, 4, 5, 6, 7, 8, 9], vec![0, 1, 2, 3]));
        assert_eq!(format!("{:.3} {:.3}", all.share(0, 6), all.share(2, 2)), "0.320 0.663");
        assert!(all.entropy_bits[1] > 7.99 && all.entropy_bits[3] > 7.99, "{:?}", all.entropy_bits);
    }
}
