//! Linux: batches of packets, exact drop counts; addresses and short datagrams are next door.

use super::BATCH;
use dropline_payload::{HEADER_BYTES, filler};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::{AsRawFd as _, RawFd};
use std::time::Duration;

#[path = "linux_addresses.rs"]
mod addresses;

#[path = "linux_datagrams.rs"]
mod datagrams;

pub(crate) use addresses::{addresses_elsewhere, leads_off_this_machine, local_addresses};
pub(crate) use datagrams::{InBatch, OutBatch};

/// Packets of one stream that leave in one system call: a header each, one filler for all.
pub(crate) struct SendBatch {
    headers: Vec<[u8; HEADER_BYTES]>,
    filler: Vec<u8>,
    parts: Vec<[libc::iovec; 2]>,
    messages: Vec<libc::mmsghdr>,
}

// SAFETY: the raw pointers in `parts` and `messages` are written anew by every `send`, from vectors that
// the same value owns, and are not read between calls.
unsafe impl Send for SendBatch {}

impl SendBatch {
    /// Packets with `payload` bytes, at least the header's.
    pub(crate) fn new(payload: usize) -> Self {
        Self {
            headers: Vec::with_capacity(BATCH),
            filler: filler(payload.saturating_sub(HEADER_BYTES)),
            // SAFETY: both are plain C structures for which all zeroes is a value.
            parts: vec![unsafe { MaybeUninit::zeroed().assume_init() }; BATCH],
            // SAFETY: as above.
            messages: vec![unsafe { MaybeUninit::zeroed().assume_init() }; BATCH],
        }
    }

    /// Adds a packet; at most [`BATCH`] fit.
    pub(crate) fn push(&mut self, header: [u8; HEADER_BYTES]) {
        assert!(self.headers.len() < BATCH, "a batch holds {BATCH} packets");
        self.headers.push(header);
    }

    pub(crate) fn len(&self) -> usize {
        self.headers.len()
    }

    pub(crate) fn clear(&mut self) {
        self.headers.clear();
    }

    /// Sends the packets from `first` on over a connected socket without waiting; returns how many left.
    /// An error is about packet `first` alone: it did not leave.
    pub(crate) fn send(&mut self, socket: &UdpSocket, first: usize) -> io::Result<usize> {
        let count = self.headers.len() - first;
        for at in 0..count {
            self.parts[at] = [
                libc::iovec { iov_base: self.headers[first + at].as_ptr() as *mut _, iov_len: HEADER_BYTES },
                libc::iovec { iov_base: self.filler.as_ptr() as *mut _, iov_len: self.filler.len() },
            ];
            let header = &mut self.messages[at].msg_hdr;
            header.msg_iov = self.parts[at].as_mut_ptr();
            header.msg_iovlen = 2;
        }
        send_messages(socket, &mut self.messages[..count])
    }
}

/// Buffers for packets that arrive together.
pub(crate) struct ReceiveBatch {
    /// What is kept of each packet; the rest is cut off.
    keep: usize,
    bytes: Vec<u8>,
    sources: Vec<libc::sockaddr_storage>,
    parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    replies: Vec<libc::mmsghdr>,
}

// SAFETY: the raw pointers point into vectors that the same value owns and never resizes.
unsafe impl Send for ReceiveBatch {}

impl ReceiveBatch {
    /// Keeps the first `keep` bytes of each packet.
    pub(crate) fn new(keep: usize) -> Self {
        // SAFETY: plain C structures for which all zeroes is a value.
        let zeroed: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: as above.
        let source: libc::sockaddr_storage = unsafe { MaybeUninit::zeroed().assume_init() };
        Self {
            keep,
            bytes: vec![0; keep * BATCH],
            sources: vec![source; BATCH],
            parts: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH],
            messages: vec![zeroed; BATCH],
            replies: vec![zeroed; BATCH],
        }
    }

    /// Takes what waits at the socket, at most [`BATCH`] packets, without waiting: `WouldBlock` if
    /// there is none.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        let bytes = self.bytes.as_mut_ptr();
        for at in 0..BATCH {
            // SAFETY: `bytes` holds `keep` bytes for each of the `BATCH` packets.
            let iov_base = unsafe { bytes.add(at * self.keep) }.cast();
            self.parts[at] = libc::iovec { iov_base, iov_len: self.keep };
            let header = &mut self.messages[at].msg_hdr;
            header.msg_iov = &raw mut self.parts[at];
            header.msg_iovlen = 1;
            header.msg_name = (&raw mut self.sources[at]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        }
        // SAFETY: every message points to one part of `keep` bytes and to room for an address, all owned
        // by `self` and alive during the call.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(received).map_err(|_| io::Error::last_os_error())
    }

    /// Bytes of packet `at` of the last `receive`, as far as they were kept.
    pub(crate) fn packet(&self, at: usize) -> &[u8] {
        let length = (self.messages[at].msg_len as usize).min(self.keep);
        &self.bytes[at * self.keep..][..length]
    }

    /// Where packet `at` came from.
    pub(crate) fn source(&self, at: usize) -> Option<SocketAddr> {
        socket_address(&self.sources[at])
    }

    /// Sends the `chosen` packets back to where they came from, unchanged, from the `first` of them on;
    /// returns how many left. An error is about the first alone.
    pub(crate) fn echo(&mut self, socket: &UdpSocket, chosen: &[usize], first: usize) -> io::Result<usize> {
        let count = chosen.len() - first;
        for (reply, &at) in self.replies.iter_mut().zip(&chosen[first..]) {
            let length = (self.messages[at].msg_len as usize).min(self.keep);
            self.parts[at].iov_len = length;
            *reply = self.messages[at];
            reply.msg_hdr.msg_flags = 0;
        }
        send_messages(socket, &mut self.replies[..count])
    }
}

/// Sends without waiting; how many left, or why the first did not.
fn send_messages(socket: &UdpSocket, messages: &mut [libc::mmsghdr]) -> io::Result<usize> {
    // SAFETY: the callers filled every message with pointers into vectors they own, which outlive the
    // call; the kernel only reads what they point to.
    let sent = unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            messages.len() as libc::c_uint,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

fn socket_address(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let storage: *const libc::sockaddr_storage = storage;
    // SAFETY: the storage is as large as any address and aligned for it, and its family, which the kernel
    // wrote, says which one it is; all fields are plain integers.
    unsafe {
        match i32::from((*storage).ss_family) {
            libc::AF_INET => {
                let address = &*storage.cast::<libc::sockaddr_in>();
                let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
                Some(SocketAddrV4::new(ip, u16::from_be(address.sin_port)).into())
            }
            libc::AF_INET6 => {
                let address = &*storage.cast::<libc::sockaddr_in6>();
                let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
                let port = u16::from_be(address.sin6_port);
                Some(SocketAddrV6::new(ip, port, address.sin6_flowinfo, address.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

/// Waits until one of the sockets has something, at most `longest`; whether one has.
///
/// # Errors
/// What the network reported about an earlier packet, such as a closed port.
pub(crate) fn wait_readable(sockets: &[UdpSocket], longest: Duration) -> io::Result<bool> {
    const FEW: usize = 8;
    let ask = |socket: &UdpSocket| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut few = [libc::pollfd { fd: -1, events: 0, revents: 0 }; FEW];
    let mut many = Vec::new();
    let asked = if sockets.len() <= FEW {
        few.iter_mut().zip(sockets).for_each(|(slot, socket)| *slot = ask(socket));
        &mut few[..sockets.len()]
    } else {
        many.extend(sockets.iter().map(ask));
        &mut many[..]
    };
    let longest = libc::timespec {
        tv_sec: libc::time_t::try_from(longest.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: longest.subsec_nanos().into(),
    };
    // SAFETY: `asked` is a slice of poll requests of the length given; the time is only read.
    let ready =
        unsafe { libc::ppoll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, &longest, std::ptr::null()) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) };
    }
    for (socket, answer) in sockets.iter().zip(&*asked) {
        if answer.revents & libc::POLLERR != 0 {
            let error = socket.take_error()?;
            empty_error_queue(socket.as_raw_fd());
            if let Some(error) = error {
                return Err(error);
            }
        }
    }
    Ok(ready > 0)
}

/// Errors wait in a queue of their own once [`report_refusals`] was asked for; their number is in
/// `SO_ERROR` already.
fn empty_error_queue(socket: RawFd) {
    let mut byte = [0u8; 1];
    // SAFETY: the buffer is one byte long, as the call is told.
    while unsafe { libc::recv(socket, byte.as_mut_ptr().cast(), 1, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) }
        >= 0
    {}
}

/// Asks to be told when the sending queue of an interface drops a packet (`ENOBUFS`), which otherwise
/// looks like success (ip(7), `IP_RECVERR`).
pub(crate) fn report_refusals(socket: &UdpSocket) -> io::Result<()> {
    match socket.local_addr()? {
        SocketAddr::V4(_) => set_option(socket, libc::IPPROTO_IP, libc::IP_RECVERR, 1),
        SocketAddr::V6(_) => set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1),
    }
}

/// Asks for a receive buffer of `bytes`, beyond the system's limit where that is allowed; returns what
/// the kernel reserves, which is twice what it grants.
pub(crate) fn set_receive_buffer(socket: &UdpSocket, bytes: usize) -> io::Result<usize> {
    let asked = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX / 2);
    if set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, asked).is_err() {
        set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, asked)?;
    }
    let mut reserved = [0u32; 1];
    read_option(socket, libc::SO_RCVBUF, &mut reserved)?;
    Ok(reserved[0] as usize)
}

/// Packets that this socket had no room for since it was opened (`SO_MEMINFO`, modulo 2³²).
pub(crate) fn receive_drops(socket: &UdpSocket) -> Option<u32> {
    memory_information(socket).map(|memory| memory[SK_MEMINFO_DROPS])
}

/// Bytes of kernel memory that the packets waiting at this socket are charged for.
pub(crate) fn receive_memory(socket: &UdpSocket) -> Option<u32> {
    memory_information(socket).map(|memory| memory[SK_MEMINFO_RMEM_ALLOC])
}

/// Places in what `SO_MEMINFO` answers (linux/sock_diag.h).
const SK_MEMINFO_RMEM_ALLOC: usize = 0;
const SK_MEMINFO_DROPS: usize = 8;

fn memory_information(socket: &UdpSocket) -> Option<[u32; 9]> {
    let mut memory = [0; 9];
    read_option(socket, libc::SO_MEMINFO, &mut memory).ok().map(|()| memory)
}

fn set_option(socket: &UdpSocket, level: i32, name: i32, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the value is an integer of the length given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn read_option<const N: usize>(socket: &UdpSocket, name: i32, value: &mut [u32; N]) -> io::Result<()> {
    let mut length = size_of::<[u32; N]>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `value`, which is that long.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets this thread's sleeps end when they should: the default slack is 50 us.
pub(crate) fn sharpen_sleep() {
    // SAFETY: sets one number of the calling thread; it can do no harm and its failure is harmless.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// The name of a system error, such as `ENOBUFS`; its number if it has no name here.
pub(crate) fn errno_name(error: &io::Error) -> String {
    let Some(number) = error.raw_os_error() else { return format!("{:?}", error.kind()) };
    let name = match number {
        libc::EACCES => "EACCES",
        libc::EAGAIN => "EAGAIN",
        libc::ECONNREFUSED => "ECONNREFUSED",
        libc::EHOSTDOWN => "EHOSTDOWN",
        libc::EHOSTUNREACH => "EHOSTUNREACH",
        libc::EINVAL => "EINVAL",
        libc::EIO => "EIO",
        libc::EMSGSIZE => "EMSGSIZE",
        libc::ENETDOWN => "ENETDOWN",
        libc::ENETUNREACH => "ENETUNREACH",
        libc::ENOBUFS => "ENOBUFS",
        libc::ENOMEM => "ENOMEM",
        libc::EPERM => "EPERM",
        _ => return format!("errno {number}"),
    };
    name.into()
}
