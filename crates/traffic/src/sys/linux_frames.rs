//! Linux: frames of our own, past the queueing discipline (packet(7)).

use super::set_raw_option;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

/// A socket that takes whole Ethernet frames for one interface.
#[derive(Debug)]
pub(crate) struct FrameSocket(OwnedFd);

impl FrameSocket {
    /// Opens one on the interface of this number.
    ///
    /// # Errors
    /// If the privilege lacks (`CAP_NET_RAW`), or the interface is gone.
    pub(crate) fn open(interface: u32) -> io::Result<Self> {
        // Protocol 0: it receives nothing.
        // SAFETY: makes a socket; the number is checked before it is owned.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a file descriptor that was just made and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        set_raw_option(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        // SAFETY: a plain C structure for which all zeroes is a value.
        let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface as libc::c_int;
        // SAFETY: the kernel reads the address, of the length given.
        let bound = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if bound < 0 { Err(io::Error::last_os_error()) } else { Ok(Self(socket)) }
    }

    pub(crate) fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
