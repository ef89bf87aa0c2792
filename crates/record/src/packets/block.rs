//! A block of packets: it needs no other block to be read.

use super::varint::{fold, put, take, unfold};
use dropline_trial::{PacketTime, PacketTimes};

/// Up to 4096 packets in their bytes: count, length and checksum, 32 bits each, little end first; then the
/// packets. The checksum is over count, length and packets.
pub(super) struct Block;

/// What is written of each packet, beside when it was due and when it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    /// When it came back.
    pub(super) back: bool,
    /// Its stream; else all have stream 0.
    pub(super) stream: bool,
    /// Its length.
    pub(super) payload_bytes: bool,
}

impl Columns {
    pub(super) fn of(times: &PacketTimes) -> Self {
        Self {
            back: times.returns.is_some(),
            stream: times.iter().any(|packet| packet.stream != 0),
            payload_bytes: times.departures.has_lengths(),
        }
    }

    pub(super) fn bits(self) -> u8 {
        u8::from(self.back) | u8::from(self.stream) << 1 | u8::from(self.payload_bytes) << 2
    }

    /// `None` for columns that this version does not know.
    pub(super) fn from_bits(bits: u8) -> Option<Self> {
        let has = |bit: u8| bits & (1 << bit) != 0;
        (bits < 8).then(|| Self { back: has(0), stream: has(1), payload_bytes: has(2) })
    }
}

const HEAD: usize = 12;

impl Block {
    pub(super) const LONGEST: usize = 4096;

    pub(super) fn write(packets: &[PacketTime], columns: Columns, bytes: &mut Vec<u8>) {
        let mut body = Vec::with_capacity(8 * packets.len());
        let mut due = 0i128;
        for packet in packets {
            put(fold(i128::from(packet.due_ns) - due), &mut body);
            due = i128::from(packet.due_ns);
            put_since(packet.left_ns, due, &mut body);
            if columns.back {
                put_since(packet.back_ns, packet.left_ns.map_or(due, i128::from), &mut body);
            }
            if columns.stream {
                put(u128::from(packet.stream), &mut body);
            }
            if columns.payload_bytes {
                put(u128::from(packet.payload_bytes.unwrap_or(0)), &mut body);
            }
        }
        let mut head = Vec::with_capacity(HEAD);
        head.extend((packets.len() as u32).to_le_bytes());
        head.extend((body.len() as u32).to_le_bytes());
        head.extend(checksum(&head, &body).to_le_bytes());
        bytes.extend(head);
        bytes.extend(body);
    }

    /// The checksum of the block that begins there.
    pub(super) fn checksum_of(bytes: &[u8]) -> Option<&[u8]> {
        bytes.get(8..HEAD)
    }

    /// The packets of the block at the start of these bytes, and the bytes after it; `None` unless it is
    /// whole and its checksum right.
    pub(super) fn read(bytes: &[u8], columns: Columns) -> Option<(Vec<PacketTime>, &[u8])> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let count = usize::try_from(word(0)).ok().filter(|count| (1..=Self::LONGEST).contains(count))?;
        let (mut body, after) = rest.split_at_checked(usize::try_from(word(4)).ok()?)?;
        if checksum(&head[..8], body) != word(8) {
            return None;
        }
        let mut packets = Vec::with_capacity(count);
        let mut due = 0i128;
        for _ in 0..count {
            due += unfold(take(&mut body)?);
            let due_ns = u64::try_from(due).ok()?;
            let left_ns = take_since(&mut body, due)?;
            let since = left_ns.map_or(due, i128::from);
            let back_ns = if columns.back { take_since(&mut body, since)? } else { None };
            let mut short = |wanted: bool| match wanted {
                true => u16::try_from(take(&mut body)?).ok().map(Some),
                false => Some(None),
            };
            let stream = short(columns.stream)?.unwrap_or(0);
            let payload_bytes = short(columns.payload_bytes)?;
            packets.push(PacketTime { due_ns, left_ns, back_ns, stream, payload_bytes });
        }
        body.is_empty().then_some((packets, after))
    }
}

/// 0 for never, else one more than the folded difference.
fn put_since(time: Option<u64>, since: i128, bytes: &mut Vec<u8>) {
    put(time.map_or(0, |time| fold(i128::from(time) - since) + 1), bytes);
}

/// The outer `None` for bytes that are no such time, the inner one for never.
fn take_since(bytes: &mut &[u8], since: i128) -> Option<Option<u64>> {
    match take(bytes)? {
        0 => Some(None),
        more => u64::try_from(since + unfold(more - 1)).ok().map(Some),
    }
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head);
    sum.update(body);
    sum.finalize()
}
