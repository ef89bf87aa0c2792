//! Packets of one stream that leave together: one by one, many in a call, as a train, or as frames.

use super::{Exit, FrameSocket, Refused};
use crate::packet::control::{Control, write};
use crate::packet::frame::{Head, checksum};
use crate::sys::{BATCH, TRAIN};
use dropline_payload::{HEADER_BYTES, filler};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::UdpSocket;
use std::os::fd::{AsRawFd as _, RawFd};

/// Packets that leave together. Of one length, their bytes lie one after the other, so that a train is a single piece of
/// memory; all but the headers is written once. Of several lengths, each has the room of the longest, and none is in a train.
pub(crate) struct SendBatch {
    /// Link, network and UDP headers before each payload: of frames only.
    head: Head,
    /// From the start of one packet to that of the next.
    stride: usize,
    /// Packets that there is room for.
    room: usize,
    /// Packets that the kernel takes as one train.
    train: usize,
    bytes: Vec<u8>,
    /// Of each packet, without the room behind it.
    lengths: Vec<usize>,
    len: usize,
    /// Which packets the kernel shall stamp, and by which number it shall call them.
    asked: Vec<Option<u32>>,
    parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    controls: Vec<Room>,
}

/// Room for the control messages of one packet: three of a word each, with their headers.
type Room = [u64; 10];

/// What a train may hold: the kernel's limit before 6.9, and the longest UDP payload.
const TRAIN_BEFORE: usize = 64;
const LONGEST_PAYLOAD: usize = 65_507;
/// linux/udp.h.
const UDP_SEGMENT: i32 = 103;
/// asm-generic/socket.h: the number by which the kernel calls a packet that it stamps (Linux 6.13).
const SCM_TS_OPT_ID: i32 = 81;

// SAFETY: the raw pointers in `parts` and `messages` are written anew by every `send`, from vectors that
// the same value owns, and are not read between calls.
unsafe impl Send for SendBatch {}

impl SendBatch {
    /// Packets with `payload` bytes, at least the header's, and `room` for at most [`TRAIN`] of them.
    pub(crate) fn new(payload: usize, room: usize, head: Head) -> Self {
        let room = room.clamp(1, TRAIN);
        let mut packet = head.bytes.clone();
        packet.extend_from_slice(&[0; HEADER_BYTES]);
        packet.extend(filler(payload.saturating_sub(HEADER_BYTES)));
        Self {
            head,
            stride: packet.len(),
            room,
            train: TRAIN,
            bytes: packet.repeat(room),
            lengths: vec![packet.len(); room],
            len: 0,
            asked: vec![None; room],
            parts: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; room],
            // SAFETY: a plain C structure for which all zeroes is a value.
            messages: vec![unsafe { MaybeUninit::zeroed().assume_init() }; room],
            controls: vec![Room::default(); room],
        }
    }

    /// Adds a packet, which the kernel shall stamp under a number if one is given.
    pub(crate) fn push(&mut self, header: [u8; HEADER_BYTES], asked: Option<u32>) {
        assert!(self.len < self.room, "a batch holds {} packets", self.room);
        let start = self.len * self.stride;
        let packet = &mut self.bytes[start..start + self.stride];
        let head = self.head.bytes.len();
        packet[head..head + HEADER_BYTES].copy_from_slice(&header);
        if head > 0 {
            let at = self.head.checksum_at;
            packet[at..at + 2].copy_from_slice(&checksum(self.head.covered, &header).to_be_bytes());
        }
        self.asked[self.len] = asked;
        self.len += 1;
    }

    /// Adds a packet that is all of its bytes, as many as there is room for at most.
    pub(crate) fn push_whole(&mut self, bytes: &[u8], asked: Option<u32>) {
        assert!(self.len < self.room, "a batch holds {} packets", self.room);
        self.bytes[self.len * self.stride..][..bytes.len()].copy_from_slice(bytes);
        self.lengths[self.len] = bytes.len();
        self.asked[self.len] = asked;
        self.len += 1;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len == self.room
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Sends the packets from `first` on without waiting; returns how many left. An error says how many
    /// packets, from `first` on, it is about: they did not leave.
    pub(crate) fn send(&mut self, exit: &Exit<'_>, first: usize) -> Result<usize, Refused> {
        let one = |error| Refused { error, packets: 1 };
        match exit {
            Exit::Each(socket) => self.send_one(socket, first).map_err(one),
            Exit::Many(socket) => self.send_many(socket.as_raw_fd(), first).map_err(one),
            Exit::Train(socket) => self.send_train(socket, first),
            Exit::Frames(socket) => self.send_many(FrameSocket::as_raw_fd(socket), first).map_err(one),
            Exit::Nowhere => Ok(self.len - first),
        }
    }

    fn send_one(&mut self, socket: &UdpSocket, first: usize) -> io::Result<usize> {
        if self.asked[first].is_some() {
            return self.send_messages(socket.as_raw_fd(), first, 1);
        }
        let packet = &self.bytes[first * self.stride..][..self.lengths[first]];
        // SAFETY: the kernel reads `packet`, which is alive during the call, and nothing else.
        let sent = unsafe {
            libc::send(
                socket.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(1) }
    }

    fn send_many(&mut self, socket: RawFd, first: usize) -> io::Result<usize> {
        self.send_messages(socket, first, (self.len - first).min(BATCH))
    }

    fn send_messages(&mut self, socket: RawFd, first: usize, count: usize) -> io::Result<usize> {
        for at in 0..count {
            self.fill(at, first + at, self.lengths[first + at]);
            let used = match self.asked[first + at] {
                Some(number) => ask_for_stamp(&mut self.controls[at], 0, number),
                None => 0,
            };
            self.attach(at, used);
        }
        super::send_messages(socket, &mut self.messages[..count])
    }

    /// One call, cut into packets as late as can be (udp(7), `UDP_SEGMENT`).
    fn send_train(&mut self, socket: &UdpSocket, first: usize) -> Result<usize, Refused> {
        let most = (LONGEST_PAYLOAD / self.stride).clamp(1, self.train);
        let count = (self.len - first).min(most);
        if count == 1 {
            return self.send_one(socket, first).map_err(|error| Refused { error, packets: 1 });
        }
        self.fill(0, first, count * self.stride);
        let length = (self.stride as u16).to_ne_bytes();
        let control = Control { level: libc::SOL_UDP, kind: UDP_SEGMENT, data: &length };
        let mut used = write(room_bytes(&mut self.controls[0]), control);
        if let Some(number) = self.asked[first..first + count].iter().flatten().next() {
            used = ask_for_stamp(&mut self.controls[0], used, *number);
        }
        self.attach(0, used);
        match super::send_messages(socket.as_raw_fd(), &mut self.messages[..1]) {
            Ok(_) => Ok(count),
            // This kernel's trains are shorter.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && count > TRAIN_BEFORE => {
                self.train = TRAIN_BEFORE;
                self.send_train(socket, first)
            }
            Err(error) => Err(Refused { error, packets: count }),
        }
    }

    /// Lets message `at` be so many bytes from packet `first` on.
    fn fill(&mut self, at: usize, first: usize, length: usize) {
        let start = self.bytes[first * self.stride..][..length].as_mut_ptr();
        self.parts[at] = libc::iovec { iov_base: start.cast(), iov_len: length };
        let header = &mut self.messages[at].msg_hdr;
        header.msg_iov = &raw mut self.parts[at];
        header.msg_iovlen = 1;
    }

    /// Gives message `at` the first `used` bytes of its room for control messages.
    fn attach(&mut self, at: usize, used: usize) {
        let header = &mut self.messages[at].msg_hdr;
        header.msg_control =
            if used == 0 { std::ptr::null_mut() } else { self.controls[at].as_mut_ptr().cast() };
        header.msg_controllen = used as _;
    }
}

/// Asks for a stamp of this one call (linux/Documentation/networking/timestamping, §1.3.4 and §1.4).
fn ask_for_stamp(room: &mut Room, from: usize, number: u32) -> usize {
    let room = room_bytes(room);
    let software = libc::SOF_TIMESTAMPING_TX_SOFTWARE.to_ne_bytes();
    let flags = Control { level: libc::SOL_SOCKET, kind: libc::SO_TIMESTAMPING, data: &software };
    let after = from + write(&mut room[from..], flags);
    let number = number.to_ne_bytes();
    let name = Control { level: libc::SOL_SOCKET, kind: SCM_TS_OPT_ID, data: &number };
    after + write(&mut room[after..], name)
}

fn room_bytes(room: &mut Room) -> &mut [u8] {
    // SAFETY: words are bytes, any bytes are words, and the borrow is the same.
    unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), size_of::<Room>()) }
}
