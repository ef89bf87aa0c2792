//! One stream file of a trace: packets in order, events in order within them.

use crate::CtfError;
use crate::bits::{Cursor, Seen, Torn, chosen};
use crate::metadata::{EventClass, Metadata, StreamClass, Type};
use std::io::{self, Read};
use std::path::PathBuf;

/// Reads a file packet by packet; memory holds one packet.
pub(super) struct Stream {
    /// For errors.
    path: PathBuf,
    file: Box<dyn Read>,
    /// Bytes of the packet, and of what was read ahead of it.
    bytes: Vec<u8>,
    /// Bytes of the packet in `bytes`; the rest belongs to the next.
    packet: usize,
    at: usize,
    end: usize,
    class: Option<u64>,
    seen: Seen,
    ended: bool,
    pub(super) counts: StreamCounts,
    last_discarded: Option<u64>,
    last_packet: Option<u64>,
    /// Where the next event's header begins; its stamp was read already.
    pub(super) next: Option<Next>,
    pub(super) cpu: Option<u32>,
}

/// An event whose header was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) clock: u64,
    pub(super) stream: u64,
    pub(super) event: u64,
}

/// What a stream said or suffered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamCounts {
    pub(super) discarded: u64,
    pub(super) lost_packets: u64,
    pub(super) torn: u64,
    pub(super) unknown: u64,
}

/// What is read of a packet before its length is known.
const FIRST: usize = 4096;
/// A packet larger than this is damage: it would be read whole.
const LARGEST: u64 = 1 << 30;

impl Stream {
    pub(super) fn open(path: PathBuf, file: Box<dyn Read>, metadata: &Metadata) -> Result<Self, CtfError> {
        let mut stream = Self {
            path,
            file,
            bytes: Vec::new(),
            packet: 0,
            at: 0,
            end: 0,
            class: None,
            seen: Seen { slots: vec![0; metadata.slots], clock: 0 },
            ended: false,
            counts: StreamCounts::default(),
            last_discarded: None,
            last_packet: None,
            next: None,
            cpu: None,
        };
        stream.advance(metadata)?;
        Ok(stream)
    }

    /// Reads the header of the next event, over packets; `next` is `None` at the end.
    pub(super) fn advance(&mut self, metadata: &Metadata) -> Result<(), CtfError> {
        self.next = None;
        while !self.ended {
            if self.at < self.end
                && let Some((id, class)) = self.class.and_then(|id| Some((id, metadata.streams.get(&id)?)))
            {
                match self.header(id, class) {
                    Ok(Some(next)) => {
                        self.next = Some(next);
                        return Ok(());
                    }
                    Ok(None) => {}
                    Err(Torn) => self.counts.torn += 1,
                }
            }
            self.at = self.end;
            self.packet(metadata)?;
        }
        Ok(())
    }

    /// Reads what follows the header that was read last. `each` gets each integer of the event's fields.
    pub(super) fn fields(
        &mut self,
        class: &StreamClass,
        event: &EventClass,
        each: impl FnMut(usize, i64),
    ) -> bool {
        let mut cursor = Cursor { bytes: &self.bytes[..self.packet], at: self.at, end: self.end };
        let context = [class.event_context.as_ref(), event.context.as_ref()];
        let read = context
            .into_iter()
            .flatten()
            .try_for_each(|context| cursor.pass(context, &mut self.seen))
            .and_then(|()| cursor.fields(&event.fields, &mut self.seen, each));
        self.at = if read.is_ok() { cursor.at } else { self.end };
        self.counts.torn += u64::from(read.is_err());
        read.is_ok()
    }

    /// The rest of this packet cannot be read: an event that the metadata does not know has no known length.
    pub(super) fn skip_packet(&mut self) {
        self.counts.unknown += 1;
        self.at = self.end;
    }

    fn header(&mut self, stream: u64, class: &StreamClass) -> Result<Option<Next>, Torn> {
        let mut cursor = Cursor { bytes: &self.bytes[..self.packet], at: self.at, end: self.end };
        let mut event = 0;
        if let Some(Type::Struct(header)) = &class.event_header {
            cursor.align(header.align)?;
            if cursor.at == cursor.end {
                return Ok(None);
            }
            for (name, field) in &header.fields {
                match field {
                    Type::Int(int) | Type::Enum(int, _) => {
                        let value = cursor.int(int, &mut self.seen)?;
                        if name == "id" {
                            event = value as u64;
                        }
                    }
                    Type::Variant { slot, choices, .. } => {
                        let chosen = chosen(choices, self.seen.slots[*slot]).ok_or(Torn)?;
                        if let Type::Struct(fields) = chosen {
                            cursor.fields(fields, &mut self.seen, |place, value| {
                                if fields.fields[place].0 == "id" {
                                    event = value as u64;
                                }
                            })?;
                        } else {
                            cursor.pass(chosen, &mut self.seen)?;
                        }
                    }
                    other => cursor.pass(other, &mut self.seen)?,
                }
            }
        }
        self.at = cursor.at;
        Ok(Some(Next { clock: self.seen.clock, stream, event }))
    }

    /// Reads the next packet's header and context, and all of it into memory.
    fn packet(&mut self, metadata: &Metadata) -> Result<(), CtfError> {
        self.bytes.drain(..self.packet.min(self.bytes.len()));
        (self.packet, self.at, self.end) = (0, 0, 0);
        self.fill(FIRST)?;
        if self.bytes.is_empty() {
            self.ended = true;
            return Ok(());
        }
        let Some((head, content, size)) = self.envelope(metadata) else {
            // Without its length the next packet cannot be found either.
            self.counts.torn += 1;
            self.ended = true;
            return Ok(());
        };
        let size = size.filter(|&bits| bits > 0);
        match size {
            Some(bits) if bits / 8 <= LARGEST && bits.is_multiple_of(8) && bits as usize >= head => {
                self.fill(bits as usize / 8)?;
                let cut = self.bytes.len() < bits as usize / 8;
                self.counts.torn += u64::from(cut);
                self.packet = self.bytes.len().min(bits as usize / 8);
            }
            Some(_) => {
                self.counts.torn += 1;
                self.ended = true;
                return Ok(());
            }
            // One packet that is the whole file.
            None => {
                self.fill(LARGEST as usize)?;
                self.packet = self.bytes.len();
            }
        }
        let there = 8 * self.packet;
        self.end = content.map_or(there, |bits| usize::try_from(bits).unwrap_or(there).min(there));
        self.at = head.min(self.end);
        Ok(())
    }

    /// Bits of header and context, of the content, and of the whole packet; `None` if that cannot be read.
    fn envelope(&mut self, metadata: &Metadata) -> Option<(usize, Option<u64>, Option<u64>)> {
        let mut cursor = Cursor { bytes: &self.bytes, at: 0, end: 8 * self.bytes.len() };
        let (mut magic, mut stream) = (None, 0);
        if let Some(Type::Struct(header)) = &metadata.packet_header {
            cursor
                .fields(header, &mut self.seen, |place, value| match header.fields[place].0.as_str() {
                    "magic" => magic = Some(value as u32),
                    "stream_id" => stream = value as u64,
                    _ => {}
                })
                .ok()?;
        }
        if magic.is_some_and(|magic| magic != 0xC1FC_1FC1) {
            return None;
        }
        let class = metadata.streams.get(&stream)?;
        let (mut content, mut size, mut begins) = (None, None, None);
        let (mut discarded, mut number, mut cpu) = (None, None, None);
        if let Some(Type::Struct(context)) = &class.packet_context {
            cursor
                .fields(context, &mut self.seen, |place, value| match context.fields[place].0.as_str() {
                    "content_size" => content = Some(value as u64),
                    "packet_size" => size = Some(value as u64),
                    "timestamp_begin" => begins = Some(value as u64),
                    "events_discarded" => discarded = Some((value as u64, bits_of(&context.fields[place].1))),
                    "packet_seq_num" => number = Some(value as u64),
                    "cpu_id" => cpu = u32::try_from(value).ok(),
                    _ => {}
                })
                .ok()?;
        }
        let head = cursor.at;
        self.seen.clock = begins.unwrap_or(self.seen.clock);
        self.cpu = cpu;
        self.class = Some(stream);
        if let Some((now, bits)) = discarded {
            let before = self.last_discarded.replace(now).unwrap_or(0);
            let grown = match u64::MAX >> (64 - bits.clamp(1, 64)) {
                // No count of 64 bits comes round: one that went back is another beginning.
                u64::MAX if now < before => now,
                mask => now.wrapping_sub(before) & mask,
            };
            // Damage can make a number larger than any count.
            self.counts.discarded = self.counts.discarded.saturating_add(grown);
        }
        if let Some(now) = number {
            let expected = self.last_packet.replace(now).map_or(now, |before| before.wrapping_add(1));
            // A number that went back is another beginning, not 2⁶⁴ lost packets.
            self.counts.lost_packets = self.counts.lost_packets.saturating_add(now.saturating_sub(expected));
        }
        Some((head, content, size))
    }

    /// Reads until `bytes` are there, or the file ends.
    fn fill(&mut self, bytes: usize) -> Result<(), CtfError> {
        let missing = bytes.saturating_sub(self.bytes.len()) as u64;
        match self.file.by_ref().take(missing).read_to_end(&mut self.bytes) {
            Ok(_) => Ok(()),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => self.fill(bytes),
            Err(why) => Err(CtfError::System(self.path.clone(), why)),
        }
    }
}

fn bits_of(of: &Type) -> u32 {
    match of {
        Type::Int(int) | Type::Enum(int, _) => int.bits,
        _ => 64,
    }
}
