//! One stream's packets that are due.

use super::requests::Requests;
use crate::packet::frame::Head;
use crate::sys::{Exit, Refused, SendBatch, TRAIN};
use dropline_payload::HEADER_BYTES;

/// One stream's packets that leave together, and when each was due.
pub(crate) struct SendQueue {
    batch: SendBatch,
    packets: Vec<Due>,
    /// What is asked next.
    request: Vec<u8>,
}

/// A packet that is due.
#[derive(Clone, Copy)]
pub(crate) struct Due {
    pub(crate) index: u64,
    pub(crate) due_ns: u64,
}

/// Most memory for the packets of all queues, in bytes; more streams have less room each.
const MEMORY: usize = 64 << 20;

impl SendQueue {
    /// For packets with `payload` bytes, one of `queues`.
    pub(crate) fn new(payload: usize, queues: usize, head: Head) -> Self {
        let room = (MEMORY / queues.max(1) / (payload + head.bytes.len()).max(1)).clamp(1, TRAIN);
        Self {
            batch: SendBatch::new(payload, room, head),
            packets: Vec::with_capacity(TRAIN),
            request: Vec::with_capacity(payload),
        }
    }

    /// A packet is due; the kernel shall stamp it under a number if one is given.
    pub(crate) fn push(&mut self, header: [u8; HEADER_BYTES], index: u64, due_ns: u64, asked: Option<u32>) {
        self.batch.push(header, asked);
        self.packets.push(Due { index, due_ns });
    }

    /// A request is due, as a packet; the rest as of any.
    pub(crate) fn ask(&mut self, requests: Requests<'_>, index: u64, due_ns: u64, asked: Option<u32>) {
        self.request.clear();
        requests.write(index, &mut self.request);
        self.batch.push_whole(&self.request, asked);
        self.packets.push(Due { index, due_ns });
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.batch.is_full()
    }

    /// Sends the packets from `first` on; how many left, or how many did not and why.
    pub(crate) fn send(&mut self, exit: &Exit<'_>, first: usize) -> Result<usize, Refused> {
        self.batch.send(exit, first)
    }

    /// The `count` packets from `first` on.
    pub(crate) fn packets(&self, first: usize, count: usize) -> impl Iterator<Item = Due> + '_ {
        self.packets[first..first + count].iter().copied()
    }

    pub(crate) fn clear(&mut self) {
        self.batch.clear();
        self.packets.clear();
    }
}
