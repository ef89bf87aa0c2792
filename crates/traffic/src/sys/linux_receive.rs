//! Packets that arrive together, with the kernel's stamps, and cut apart where they came as a train.

use super::{BATCH, send_messages, socket_address, wait_readable};
use crate::packet::control::{controls, software_stamp};
use crate::sys::Entrance;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::time::Duration;

/// Buffers for packets that arrive together.
pub(crate) struct ReceiveBatch {
    /// What is kept of each message; the rest is cut off.
    keep: usize,
    /// From the buffer of one message to the next. No power of two, for such buffers share a few lines of the cache.
    stride: usize,
    bytes: Vec<u8>,
    sources: Vec<libc::sockaddr_storage>,
    parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    /// Room for control messages; none are asked for while this is empty.
    controls: Vec<Room>,
    /// Messages of the last call, whose lengths are not those of their buffers any more.
    used: usize,
    pieces: Vec<Piece>,
    replies: Vec<libc::mmsghdr>,
    reply_parts: Vec<libc::iovec>,
}

/// What is asked for beside a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Controls {
    None,
    Stamps,
    Trains,
}

/// A packet in the buffer of a message.
#[derive(Clone, Copy)]
struct Piece {
    message: usize,
    start: usize,
    length: usize,
}

/// A stamp (three times) and the length of a train's packets.
type Room = [u64; 12];

/// Packets that one call can bring: trains of at most this many.
const LONGEST_TRAIN: usize = 128;
/// Bytes.
const CACHE_LINE: usize = 64;
/// linux/udp.h.
const UDP_GRO: i32 = 104;

// SAFETY: the raw pointers point into vectors that the same value owns and never resizes.
unsafe impl Send for ReceiveBatch {}

impl ReceiveBatch {
    /// Keeps the first `keep` bytes of each packet.
    pub(crate) fn new(keep: usize) -> Self {
        Self::build(keep, Controls::None)
    }

    /// The same, with the kernel's stamps where the socket takes them.
    pub(crate) fn with_stamps(keep: usize) -> Self {
        Self::build(keep, Controls::Stamps)
    }

    /// For sockets that leave trains together: whole messages are kept, packets are told apart here.
    pub(crate) fn with_trains() -> Self {
        Self::build(65_535, Controls::Trains)
    }

    fn build(keep: usize, wanted: Controls) -> Self {
        let controls = wanted != Controls::None;
        let pieces = if wanted == Controls::Trains { BATCH * LONGEST_TRAIN } else { BATCH };
        let stride = (keep.div_ceil(CACHE_LINE) | 1) * CACHE_LINE;
        // SAFETY: plain C structures for which all zeroes is a value.
        let message: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: as above.
        let source: libc::sockaddr_storage = unsafe { MaybeUninit::zeroed().assume_init() };
        let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let mut batch = Self {
            keep,
            stride,
            bytes: vec![0; stride * BATCH],
            sources: vec![source; BATCH],
            parts: vec![none; BATCH],
            messages: vec![message; BATCH],
            controls: if controls { vec![Room::default(); BATCH] } else { Vec::new() },
            used: BATCH,
            pieces: Vec::with_capacity(pieces),
            replies: vec![message; BATCH],
            reply_parts: vec![none; BATCH],
        };
        for (at, bytes) in batch.bytes.chunks_exact_mut(stride).enumerate() {
            batch.parts[at] = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: keep };
            let header = &mut batch.messages[at].msg_hdr;
            header.msg_iov = &raw mut batch.parts[at];
            header.msg_iovlen = 1;
            header.msg_name = (&raw mut batch.sources[at]).cast();
            if controls {
                header.msg_control = batch.controls[at].as_mut_ptr().cast();
            }
        }
        batch
    }

    /// Most packets of one call.
    pub(crate) fn most(&self) -> usize {
        self.pieces.capacity()
    }

    /// Takes what waits at the socket, at most [`BATCH`] messages, without waiting: `WouldBlock` if
    /// there is none. Returns how many packets they are.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.take(socket, libc::MSG_DONTWAIT)
    }

    /// The same, but waits for the first of them, `longest` at most: in one system call where the socket waits.
    pub(crate) fn receive_or_wait(&mut self, socket: &UdpSocket, longest: Duration) -> io::Result<usize> {
        match self.take(socket, libc::MSG_WAITFORONE) {
            // A socket that does not wait by itself, or has waited already.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match wait_readable(std::slice::from_ref(socket), longest)? {
                    true => self.take(socket, libc::MSG_DONTWAIT),
                    false => Err(error),
                }
            }
            taken => taken,
        }
    }

    fn take(&mut self, socket: &UdpSocket, flags: libc::c_int) -> io::Result<usize> {
        let room = if self.controls.is_empty() { 0 } else { size_of::<Room>() };
        for message in &mut self.messages[..self.used] {
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            message.msg_hdr.msg_controllen = room;
        }
        self.used = 0;
        self.pieces.clear();
        // SAFETY: every message points to one part of `keep` bytes, to room for an address and, where its
        // length is not zero, to room for control messages: all in vectors that `self` owns, that keep their
        // place since `build`, and that are alive during the call.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                BATCH as libc::c_uint,
                flags,
                std::ptr::null_mut(),
            )
        };
        self.used = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        (0..self.used).for_each(|message| self.cut(message));
        Ok(self.pieces.len())
    }

    /// Tells the packets of a message apart.
    fn cut(&mut self, message: usize) {
        let length = (self.messages[message].msg_len as usize).min(self.keep);
        let start = message * self.stride;
        let train = self
            .control(message, libc::SOL_UDP, UDP_GRO)
            .and_then(|data| Some(i32::from_ne_bytes(data.get(..4)?.try_into().ok()?)))
            .and_then(|each| usize::try_from(each).ok())
            .filter(|&each| each > 0 && each < length);
        let Some(each) = train else { return self.pieces.push(Piece { message, start, length }) };
        for at in (0..length).step_by(each) {
            self.pieces.push(Piece { message, start: start + at, length: each.min(length - at) });
        }
    }

    /// When the kernel took packet `at` in, by its settable clock; `None` if it was not asked, or did not say.
    pub(crate) fn stamp(&self, at: usize) -> Option<i64> {
        self.control(self.pieces[at].message, libc::SOL_SOCKET, libc::SCM_TIMESTAMPING)
            .and_then(software_stamp)
    }

    fn control(&self, message: usize, level: i32, kind: i32) -> Option<&[u8]> {
        let room = self.controls.get(message)?;
        let length = (self.messages[message].msg_hdr.msg_controllen).min(size_of::<Room>());
        // SAFETY: words are bytes, and `length` is at most that of the room.
        let bytes = unsafe { std::slice::from_raw_parts(room.as_ptr().cast::<u8>(), length) };
        controls(bytes)
            .find(|control| (control.level, control.kind) == (level, kind))
            .map(|control| control.data)
    }

    /// Bytes of packet `at` of the last `receive`, as far as they were kept.
    pub(crate) fn packet(&self, at: usize) -> &[u8] {
        let Piece { start, length, .. } = self.pieces[at];
        &self.bytes[start..start + length]
    }

    /// The same, to be written to.
    pub(crate) fn packet_mut(&mut self, at: usize) -> &mut [u8] {
        let Piece { start, length, .. } = self.pieces[at];
        &mut self.bytes[start..start + length]
    }

    /// Where packet `at` came from.
    pub(crate) fn source(&self, at: usize) -> Option<SocketAddr> {
        socket_address(&self.sources[self.pieces[at].message])
    }

    /// Where frame `at` came in; `None` if the socket is no tap.
    pub(crate) fn entrance(&self, at: usize) -> Option<Entrance> {
        let storage: *const libc::sockaddr_storage = &raw const self.sources[self.pieces[at].message];
        // SAFETY: the storage is as large as any address and aligned for it, and its family, which the kernel
        // wrote, says which one it is; all fields are plain integers.
        let address = unsafe {
            if i32::from((*storage).ss_family) != libc::AF_PACKET {
                return None;
            }
            &*storage.cast::<libc::sockaddr_ll>()
        };
        // Loopback writes one like Ethernet's; tunnels and mobile modems have none.
        let header_bytes = match address.sll_hatype {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => 14,
            _ => 0,
        };
        Some(Entrance { interface: u32::try_from(address.sll_ifindex).ok()?, header_bytes })
    }

    /// Sends the `chosen` packets back to where they came from, unchanged, from the `first` of them on;
    /// returns how many left. An error is about the first alone.
    pub(crate) fn echo(&mut self, socket: &UdpSocket, chosen: &[usize], first: usize) -> io::Result<usize> {
        let count = (chosen.len() - first).min(BATCH);
        for (at, &packet) in chosen[first..first + count].iter().enumerate() {
            let Piece { message, start, length } = self.pieces[packet];
            let bytes = self.bytes[start..start + length].as_mut_ptr();
            self.reply_parts[at] = libc::iovec { iov_base: bytes.cast(), iov_len: length };
            let reply = &mut self.replies[at].msg_hdr;
            *reply = self.messages[message].msg_hdr;
            reply.msg_iov = &raw mut self.reply_parts[at];
            reply.msg_control = std::ptr::null_mut();
            reply.msg_controllen = 0;
            reply.msg_flags = 0;
        }
        send_messages(socket.as_raw_fd(), &mut self.replies[..count])
    }
}
