//! The file beside a record that keeps the times of each packet of a trial.

mod block;
mod varint;

use block::{Block, Columns};
use dropline_trial::{PacketTime, PacketTimes, Stamp};

/// The times of one trial's packets, as `RECORD.packets` keeps them.
///
/// A head, then blocks of up to 4096 packets; head and blocks have a checksum each, and a block needs no
/// other block to be read. So a file that was cut off or damaged keeps every whole block before the damage.
/// Times are differences: from one packet's due time to the next one's, from due to left, from left to back;
/// at most 16 B a packet where none of them is above 17 s, 5 to 8 B commonly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketFile {
    /// Number of the trial, within its record.
    pub trial: u64,
    /// Chance of the trial: tells the file of another trial of the same number.
    pub seed: u64,
    /// The packets.
    pub times: PacketTimes,
    /// Packets that the head promises and no whole block holds: the file was cut off or damaged.
    pub missing: u64,
}

/// Why bytes are no packet file.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum PacketFileError {
    /// They begin with something else.
    #[error("this is not a file of packet times")]
    NotPackets,
    /// Written by a version that this one does not know.
    #[error("the packet times have version {0}, and this program reads version {VERSION}{advice}", advice = newer(*.0))]
    UnknownVersion(u8),
    /// The head is cut off, or its checksum is wrong: nothing can be said about the rest.
    #[error("the head of the packet times is damaged")]
    Head,
}

const MAGIC: [u8; 7] = *b"dlpkts\n";
const VERSION: u8 = 1;
/// Magic, version, trial, seed, packets, left out, columns, two stamps, a spare byte, checksum.
const HEAD: usize = 8 + 4 * 8 + 4 + 4;

impl PacketFile {
    /// Follows the name of the record.
    pub const SUFFIX: &str = ".packets";

    /// Writes the times of a trial's packets.
    pub fn to_bytes(trial: u64, seed: u64, times: &PacketTimes) -> Vec<u8> {
        let columns = Columns::of(times);
        let mut bytes = Vec::with_capacity(HEAD + 8 * times.len());
        bytes.extend(MAGIC);
        bytes.push(VERSION);
        for number in [trial, seed, times.len() as u64, times.left_out()] {
            bytes.extend(number.to_le_bytes());
        }
        let back = times.returns.as_ref().map_or(Stamp::App, |back| back.stamp);
        bytes.extend([columns.bits(), stamp_byte(times.departures.stamp), stamp_byte(back), 0]);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        let mut first = 0;
        while first < times.len() {
            let packets: Vec<PacketTime> =
                (first..times.len()).take(Block::LONGEST).filter_map(|index| times.get(index)).collect();
            first += packets.len();
            Block::write(&packets, columns, &mut bytes);
        }
        bytes
    }

    /// What tells these bytes from those of any other trial: the checksums of their head and of their first block.
    pub fn identity(bytes: &[u8]) -> String {
        let head = bytes.get(HEAD - 4..HEAD).unwrap_or_default();
        let block = bytes.get(HEAD..).and_then(Block::checksum_of).unwrap_or_default();
        head.iter().chain(block).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote, up to the first block that is not whole.
    ///
    /// # Errors
    /// If the head is not one of a packet file, or damaged.
    pub fn read(bytes: &[u8]) -> Result<Self, PacketFileError> {
        if bytes.get(..MAGIC.len()) != Some(&MAGIC[..]) {
            return Err(PacketFileError::NotPackets);
        }
        let head = bytes.get(..HEAD).ok_or(PacketFileError::Head)?;
        if head[7] != VERSION {
            return Err(PacketFileError::UnknownVersion(head[7]));
        }
        let (said, checksum) = head.split_at(HEAD - 4);
        if crc32fast::hash(said).to_le_bytes() != checksum {
            return Err(PacketFileError::Head);
        }
        let number = |index: usize| {
            let at = 8 + 8 * index;
            u64::from_le_bytes(said[at..at + 8].try_into().expect("eight bytes"))
        };
        let columns = Columns::from_bits(said[40]).ok_or(PacketFileError::Head)?;
        let stamps = (stamp_of(said[41]), stamp_of(said[42]));
        let (Some(left_stamp), Some(back_stamp)) = stamps else { return Err(PacketFileError::Head) };
        let (promised, left_out) = (number(2), number(3));
        let mut packets: Vec<PacketTime> = Vec::new();
        let mut rest = &bytes[HEAD..];
        while let Some((more, after)) = Block::read(rest, columns) {
            packets.extend(more);
            rest = after;
        }
        let missing = promised.saturating_sub(packets.len() as u64);
        let mut times = times_of(&packets, columns.back);
        times.departures.stamp = left_stamp;
        if let Some(back) = &mut times.returns {
            back.stamp = back_stamp;
        }
        times.departures.leave_out(left_out);
        Ok(Self { trial: number(0), seed: number(1), times, missing })
    }
}

/// The times of these packets in order, with those of what came back where they are kept.
fn times_of(packets: &[PacketTime], returns: bool) -> PacketTimes {
    let mut times = PacketTimes::with_room(packets.len(), returns);
    for (index, packet) in packets.iter().enumerate() {
        match packet.payload_bytes {
            Some(bytes) => {
                times.departures.push_of(packet.due_ns, packet.left_ns, packet.stream, bytes);
            }
            None => times.departures.push(packet.due_ns, packet.left_ns, packet.stream),
        }
        if let (Some(back), Some(back_ns)) = (&mut times.returns, packet.back_ns) {
            back.note(index as u64, back_ns);
        }
    }
    times
}

/// What helps with another version: an older one than the first was never written.
fn newer(version: u8) -> &'static str {
    if version > VERSION { ": use a newer dropline" } else { ", as no dropline wrote: the file is damaged" }
}

fn stamp_byte(stamp: Stamp) -> u8 {
    match stamp {
        Stamp::App => 0,
        Stamp::Kernel => 1,
        Stamp::Nic => 2,
    }
}

fn stamp_of(byte: u8) -> Option<Stamp> {
    [Stamp::App, Stamp::Kernel, Stamp::Nic].into_iter().find(|&stamp| stamp_byte(stamp) == byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steady(count: u64, step_ns: u64) -> Vec<PacketTime> {
        (0..count)
            .map(|n| PacketTime {
                due_ns: n * step_ns,
                left_ns: Some(n * step_ns + 1_200),
                back_ns: (n % 50 > 0).then_some(n * step_ns + 38_000),
                stream: 0,
                payload_bytes: None,
            })
            .collect()
    }

    #[test]
    fn a_common_packet_takes_less_than_eight_bytes_and_none_more_than_sixteen() {
        let size = |packets: &[PacketTime]| {
            PacketFile::to_bytes(1, 7, &times_of(packets, true)).len() as f64 / packets.len() as f64
        };
        let common = size(&steady(100_000, 10_000));
        assert!(common < 8.0, "{common} B a packet at 100 kpps");
        let slow: Vec<PacketTime> = (0..10_000u64)
            .map(|n| PacketTime {
                due_ns: n * 17_000_000_000,
                left_ns: Some(n * 17_000_000_000 + 17_000_000_000),
                back_ns: Some(n * 17_000_000_000 + 34_000_000_000),
                stream: (n % 128) as u16,
                payload_bytes: None,
            })
            .collect();
        assert!(size(&slow) <= 16.02, "{} B a packet at the slowest", size(&slow));
    }

    #[test]
    fn a_torn_file_keeps_its_whole_blocks_and_says_how_many_are_missing() {
        let packets = steady(10_000, 10_000);
        let bytes = PacketFile::to_bytes(3, 7, &times_of(&packets, true));
        let read = PacketFile::read(&bytes[..bytes.len() - 1]).unwrap();
        assert_eq!((read.times.len(), read.missing), (8192, 1808));
        assert_eq!(read.times, times_of(&packets[..8192], true));
    }

    #[test]
    fn where_times_were_taken_is_kept_of_either_way() {
        for (left, back) in
            [(Stamp::App, Stamp::Kernel), (Stamp::Kernel, Stamp::Nic), (Stamp::Nic, Stamp::App)]
        {
            let mut times = times_of(&steady(3, 10), true);
            times.departures.stamp = left;
            times.returns.as_mut().unwrap().stamp = back;
            let mut bytes = PacketFile::to_bytes(1, 7, &times);
            assert_eq!(PacketFile::read(&bytes).unwrap().times, times);
            bytes[41] = 3;
            let checksum = crc32fast::hash(&bytes[..HEAD - 4]).to_le_bytes();
            bytes[HEAD - 4..HEAD].copy_from_slice(&checksum);
            assert_eq!(PacketFile::read(&bytes), Err(PacketFileError::Head), "taken by nobody that is known");
        }
    }

    #[test]
    fn other_bytes_and_other_versions_are_told_apart() {
        assert_eq!(PacketFile::read(b"{\"schema\""), Err(PacketFileError::NotPackets));
        let mut bytes = PacketFile::to_bytes(1, 7, &times_of(&steady(3, 10), true));
        bytes[7] = 2;
        assert_eq!(PacketFile::read(&bytes), Err(PacketFileError::UnknownVersion(2)));
        for (version, advice) in [(0, "damaged"), (2, "use a newer dropline")] {
            assert!(PacketFileError::UnknownVersion(version).to_string().contains(advice), "{version}");
        }
        bytes[7] = 1;
        bytes[9] ^= 1;
        assert_eq!(PacketFile::read(&bytes), Err(PacketFileError::Head));
    }

    #[test]
    fn a_trial_is_told_from_another_of_the_same_counts_also_where_its_end_is_cut_off() {
        let packets = steady(10_000, 10_000);
        let bytes = PacketFile::to_bytes(1, 7, &times_of(&packets, true));
        assert_eq!(PacketFile::identity(&bytes).len(), 16);
        assert_eq!(PacketFile::identity(&bytes), PacketFile::identity(&bytes[..bytes.len() - 1]));
        let mut others = packets;
        others[17].left_ns = Some(others[17].left_ns.unwrap() + 1);
        let other = PacketFile::to_bytes(1, 7, &times_of(&others, true));
        assert_ne!(PacketFile::identity(&bytes), PacketFile::identity(&other));
        assert_eq!(PacketFile::identity(b""), "");
    }

    /// The format once more, read as it is written down: a bit at a time, a byte at a time.
    mod twin {
        use super::PacketTime;

        fn crc(bytes: &[u8]) -> u32 {
            let mut crc = u32::MAX;
            for &byte in bytes {
                for bit in 0..8 {
                    let low = (crc ^ (u32::from(byte) >> bit)) & 1;
                    crc = (crc >> 1) ^ (low * 0xEDB8_8320);
                }
            }
            !crc
        }

        fn number(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u128> {
            let mut value = 0;
            for digit in 0.. {
                let byte = *bytes.next()?;
                value += u128::from(byte % 128) * 128u128.pow(digit);
                if byte < 128 {
                    return Some(value);
                }
            }
            None
        }

        fn signed(value: u128) -> i128 {
            let half = (value / 2) as i128;
            if value.is_multiple_of(2) { half } else { -half - 1 }
        }

        pub(super) fn read(bytes: &[u8]) -> Option<Vec<PacketTime>> {
            let flags = bytes[40];
            let mut packets = Vec::new();
            let mut at = 48;
            while at < bytes.len() {
                let four = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
                let (count, length) = (four(at)?, four(at + 4)? as usize);
                let body = bytes.get(at + 12..at + 12 + length)?;
                let summed = [&bytes[at..at + 8], body].concat();
                if crc(&summed) != four(at + 8)? {
                    return None;
                }
                let mut rest = body.iter();
                let mut due = 0i128;
                for _ in 0..count {
                    due += signed(number(&mut rest)?);
                    let left = number(&mut rest)?;
                    let left_ns = (left > 0).then(|| due + signed(left - 1));
                    let back = if flags & 1 > 0 { number(&mut rest)? } else { 0 };
                    let since = left_ns.unwrap_or(due);
                    let back_ns = (back > 0).then(|| since + signed(back - 1));
                    let stream = if flags & 2 > 0 { number(&mut rest)? as u16 } else { 0 };
                    let payload_bytes = if flags & 4 > 0 { Some(number(&mut rest)? as u16) } else { None };
                    packets.push(PacketTime {
                        due_ns: due as u64,
                        left_ns: left_ns.map(|time| time as u64),
                        back_ns: back_ns.map(|time| time as u64),
                        stream,
                        payload_bytes,
                    });
                }
                at += 12 + length;
            }
            Some(packets)
        }
    }

    fn any_time() -> impl Strategy<Value = u64> {
        // All ones stands for "never" in memory.
        prop_oneof![0..20_000u64, 0..20_000_000_000u64, 0..u64::MAX]
    }

    prop_compose! {
        fn any_packet(lengths: bool, streams: u16)(
            due_ns in any_time(),
            left_ns in proptest::option::of(any_time()),
            back_ns in proptest::option::of(any_time()),
            stream in 0..=streams,
            bytes in any::<u16>(),
        ) -> PacketTime {
            PacketTime { due_ns, left_ns, back_ns, stream, payload_bytes: lengths.then_some(bytes) }
        }
    }

    fn any_packets() -> impl Strategy<Value = (Vec<PacketTime>, bool)> {
        (any::<bool>(), any::<bool>(), prop_oneof![Just(0u16), Just(u16::MAX)]).prop_flat_map(
            |(lengths, returns, streams)| {
                (proptest::collection::vec(any_packet(lengths, streams), 0..300), Just(returns))
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written_and_what_the_obvious_reader_reads(
            (packets, returns) in any_packets(), trial in any::<u64>(), seed in any::<u64>()
        ) {
            let times = times_of(&packets, returns);
            let bytes = PacketFile::to_bytes(trial, seed, &times);
            let read = PacketFile::read(&bytes).unwrap();
            prop_assert_eq!((read.trial, read.seed, read.missing), (trial, seed, 0));
            prop_assert_eq!(&read.times, &times);
            let obvious = twin::read(&bytes).unwrap();
            prop_assert_eq!(obvious, times.iter().collect::<Vec<_>>());
        }

        #[test]
        fn a_cut_or_a_flipped_bit_never_changes_what_is_kept(cut in 0.0f64..1.0, at in 0.0f64..1.0, bit in 0..8u8) {
            let packets = steady(9000, 777);
            let bytes = PacketFile::to_bytes(1, 7, &times_of(&packets, true));
            let mut damaged = bytes[..(bytes.len() as f64 * cut) as usize].to_vec();
            let place = (damaged.len() as f64 * at) as usize;
            if let Some(byte) = damaged.get_mut(place) {
                *byte ^= 1 << bit;
            }
            if let Ok(read) = PacketFile::read(&damaged) {
                let kept = read.times.len();
                prop_assert!(kept % Block::LONGEST == 0 || kept == 9000);
                prop_assert_eq!(kept as u64 + read.missing, 9000);
                prop_assert_eq!(read.times, times_of(&packets[..kept], true));
            }
        }
    }
}
