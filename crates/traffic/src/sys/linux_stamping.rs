//! The kernel's stamps of packets that arrive and of packets that leave.

use super::{Exit, Queued, ReceiveBatch, SendBatch, set_option, wait_readable};
use crate::packet::control::{Extended, controls, software_stamp};
use crate::packet::frame::Head;
use std::io;
use std::mem::MaybeUninit;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd as _, RawFd};
use std::time::{Duration, Instant};

/// Stamps of arrivals for all packets, of departures for those calls that ask for one. Numbers of departures
/// are ours; their bytes are not sent back to us.
///
/// # Errors
/// If the kernel takes no stamps.
pub(crate) fn stamp_packets(socket: &UdpSocket) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as libc::c_int)
}

/// Waits until stamps are taken: the kernel begins to some time after it is asked.
///
/// Where loopback does not work, this is only a wait.
pub(crate) fn wait_for_stamps() {
    const LONGEST: Duration = Duration::from_millis(100);
    let until = Instant::now() + LONGEST;
    let seen = || -> io::Result<bool> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(socket.local_addr()?)?;
        stamp_packets(&socket)?;
        let mut batch = ReceiveBatch::with_stamps(16);
        while Instant::now() < until {
            socket.send(&[0; 16])?;
            if wait_readable(std::slice::from_ref(&socket), LONGEST)? && batch.receive(&socket)? > 0 {
                // One stamped packet may have been asked for by somebody else; the switch is for all.
                if batch.stamp(0).is_some() {
                    return Ok(true);
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(false)
    };
    if !seen().unwrap_or(false) {
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    }
}

/// Takes what waits in the error queue; `None` when it is empty.
pub(crate) fn next_queued(socket: RawFd) -> Option<Queued> {
    let mut controls_room = [0u64; 32];
    let mut byte = [0u8; 1];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: a plain C structure for which all zeroes is a value.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = controls_room.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&controls_room) as _;
    // SAFETY: the message points to one byte and to 256 bytes for control messages, alive during the call.
    let taken = unsafe { libc::recvmsg(socket, &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) };
    if taken < 0 {
        return None;
    }
    let length = message.msg_controllen.min(size_of_val(&controls_room));
    // SAFETY: words are bytes, and `length` is at most that of the room.
    let bytes = unsafe { std::slice::from_raw_parts(controls_room.as_ptr().cast::<u8>(), length) };
    Some(read_queued(bytes))
}

/// What the control messages of an entry of the error queue say.
fn read_queued(bytes: &[u8]) -> Queued {
    let (mut stamp, mut number) = (None, None);
    for control in controls(bytes) {
        match (control.level, control.kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => stamp = software_stamp(control.data),
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                number = Extended::read(control.data)
                    .filter(|said| said.origin == Extended::ORIGIN_TIMESTAMPING)
                    .map(|said| said.data);
            }
            _ => {}
        }
    }
    match (stamp, number) {
        (Some(stamp_ns), Some(number)) => Queued::Left { number, stamp_ns },
        _ => Queued::Error,
    }
}

/// Whether the kernel takes the numbers that we give to departures (Linux 6.13), found by asking for one.
pub(crate) fn can_stamp_departures() -> bool {
    let tried = || -> io::Result<bool> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(socket.local_addr()?)?;
        socket.set_nonblocking(true)?;
        stamp_packets(&socket)?;
        let mut batch = SendBatch::new(dropline_payload::HEADER_BYTES, 1, Head::default());
        batch.push([0; dropline_payload::HEADER_BYTES], Some(4711));
        batch.send(&Exit::Many(&socket), 0).map_err(|refused| refused.error)?;
        let queued = std::iter::from_fn(|| next_queued(socket.as_raw_fd())).next();
        Ok(matches!(queued, Some(Queued::Left { number: 4711, .. })))
    };
    tried().unwrap_or(false)
}
