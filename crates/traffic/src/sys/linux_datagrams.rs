//! Short datagrams many at a time: taken from a socket that waits for the first, sent over a connected one.

use super::{BATCH, send_messages, socket_address};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;

/// Room for datagrams that arrive together.
pub(crate) struct InBatch {
    /// What is kept of each datagram; the rest is cut off.
    keep: usize,
    bytes: Vec<u8>,
    sources: Vec<libc::sockaddr_storage>,
    parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

// SAFETY: the raw pointers point into vectors that the same value owns and never resizes.
unsafe impl Send for InBatch {}

impl InBatch {
    /// Keeps the first `keep` bytes of each of up to `count` datagrams.
    pub(crate) fn new(count: usize, keep: usize) -> Self {
        // SAFETY: plain C structures for which all zeroes is a value.
        let message: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: as above.
        let source: libc::sockaddr_storage = unsafe { MaybeUninit::zeroed().assume_init() };
        let mut batch = Self {
            keep,
            bytes: vec![0; keep * count],
            sources: vec![source; count],
            parts: Vec::with_capacity(count),
            messages: vec![message; count],
        };
        for bytes in batch.bytes.chunks_exact_mut(keep) {
            batch.parts.push(libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: keep });
        }
        for ((message, part), source) in
            batch.messages.iter_mut().zip(&mut batch.parts).zip(&mut batch.sources)
        {
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_name = (&raw mut *source).cast();
        }
        batch
    }

    /// Waits for a datagram, as long as the socket waits, and takes what else is there.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        for message in &mut self.messages {
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        }
        // SAFETY: every message points to one part of `keep` bytes and to room for an address, in vectors
        // that `self` owns, that keep their place since `new`, and that are alive during the call.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                self.messages.len() as libc::c_uint,
                libc::MSG_WAITFORONE,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(received).map_err(|_| io::Error::last_os_error())
    }

    /// Bytes of datagram `at` of the last `receive`, as far as they were kept.
    pub(crate) fn datagram(&self, at: usize) -> &[u8] {
        let length = (self.messages[at].msg_len as usize).min(self.keep);
        &self.bytes[at * self.keep..][..length]
    }

    /// Where datagram `at` came from.
    pub(crate) fn source(&self, at: usize) -> Option<SocketAddr> {
        socket_address(&self.sources[at])
    }
}

/// Datagrams of one length that leave in one system call.
pub(crate) struct OutBatch<const LENGTH: usize> {
    datagrams: Vec<[u8; LENGTH]>,
    parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

// SAFETY: the raw pointers are written anew by every `send`, from vectors that the same value owns, and are
// not read between calls.
unsafe impl<const LENGTH: usize> Send for OutBatch<LENGTH> {}

impl<const LENGTH: usize> OutBatch<LENGTH> {
    pub(crate) fn new() -> Self {
        // SAFETY: a plain C structure for which all zeroes is a value.
        let message: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        Self {
            datagrams: Vec::with_capacity(BATCH),
            parts: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH],
            messages: vec![message; BATCH],
        }
    }

    /// Adds a datagram; at most [`BATCH`] fit.
    pub(crate) fn push(&mut self, datagram: [u8; LENGTH]) {
        assert!(self.datagrams.len() < BATCH, "a batch holds {BATCH} datagrams");
        self.datagrams.push(datagram);
    }

    pub(crate) fn len(&self) -> usize {
        self.datagrams.len()
    }

    pub(crate) fn clear(&mut self) {
        self.datagrams.clear();
    }

    /// Sends the datagrams from `first` on over a connected socket without waiting; returns how many left.
    /// An error is about datagram `first` alone: it did not leave.
    pub(crate) fn send(&mut self, socket: &UdpSocket, first: usize) -> io::Result<usize> {
        let count = self.datagrams.len() - first;
        for at in 0..count {
            let bytes = self.datagrams[first + at].as_ptr().cast_mut().cast();
            self.parts[at] = libc::iovec { iov_base: bytes, iov_len: LENGTH };
            let header = &mut self.messages[at].msg_hdr;
            header.msg_iov = &raw mut self.parts[at];
            header.msg_iovlen = 1;
        }
        send_messages(socket.as_raw_fd(), &mut self.messages[..count])
    }
}
