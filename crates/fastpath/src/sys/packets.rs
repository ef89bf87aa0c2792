//! packet(7): frames of our own through a socket.

use super::{checked, owned};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

/// A socket that takes whole Ethernet frames for one interface.
#[derive(Debug)]
pub(crate) struct FrameSocket(OwnedFd);

/// What became of frames that were given to a socket.
#[derive(Debug)]
pub(crate) struct Sent {
    /// The first so many left.
    pub(crate) taken: usize,
    /// Why the next one did not.
    pub(crate) refused: Option<io::Error>,
}

impl FrameSocket {
    /// Opens one on an interface of the namespace of the calling thread, which receives nothing.
    ///
    /// # Errors
    /// If this user may not (`CAP_NET_RAW`), or the interface is gone.
    pub(crate) fn open(interface: u32) -> io::Result<Self> {
        Self::hearing(interface, 0)
    }

    /// The same that receives frames of one type.
    ///
    /// # Errors
    /// As of `open`.
    pub(crate) fn hearing(interface: u32, ethertype: u16) -> io::Result<Self> {
        // SAFETY: makes a socket. Of protocol 0 it receives nothing, until it is bound.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        let socket = owned(socket.into())?;
        // SAFETY: a plain C structure for which all zeroes is a value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface as libc::c_int;
        address.sll_protocol = ethertype.to_be();
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the kernel reads the address, of the length given.
        let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
        checked(bound.into())?;
        if ethertype == libc::ETH_P_IPV6 as u16 {
            hear_groups(&socket, interface)?;
        }
        Ok(Self(socket))
    }

    /// The next frame, if one comes in time.
    pub(crate) fn receive(&self, within: Duration) -> Option<Vec<u8>> {
        let mut wanted = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the kernel reads and writes one pollfd, which lives here.
        let ready = unsafe { libc::poll(&raw mut wanted, 1, within.as_millis() as libc::c_int) };
        let mut frame = vec![0; 256];
        // SAFETY: the kernel writes at most so many bytes into the frame.
        let read = (ready > 0).then(|| unsafe {
            libc::recv(self.0.as_raw_fd(), frame.as_mut_ptr().cast(), frame.len(), libc::MSG_DONTWAIT)
        })?;
        frame.truncate(usize::try_from(read).ok()?);
        Some(frame)
    }

    /// Gives it frames, in order, until it refuses one.
    pub(crate) fn send(&self, frames: &[Vec<u8>]) -> Sent {
        let mut parts: Vec<libc::iovec> = frames
            .iter()
            .map(|frame| libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = parts
            .iter_mut()
            .map(|part| {
                // SAFETY: a plain C structure for which all zeroes is a value.
                let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
                message.msg_hdr.msg_iov = part;
                message.msg_hdr.msg_iovlen = 1;
                message
            })
            .collect();
        let mut taken = 0;
        while taken < messages.len() {
            let rest = &mut messages[taken..];
            // SAFETY: so many messages, each of one part that lives until the call returns; the kernel reads the parts and writes
            // lengths into the messages.
            let sent = unsafe {
                libc::sendmmsg(self.0.as_raw_fd(), rest.as_mut_ptr(), rest.len() as u32, libc::MSG_DONTWAIT)
            };
            match checked(sent.into()) {
                Ok(sent) => taken += sent as usize,
                Err(why) => return Sent { taken, refused: Some(why) },
            }
        }
        Sent { taken, refused: None }
    }
}

/// Lets an interface take frames for groups, by which stations of IPv6 are asked, as long as the socket is there.
fn hear_groups(socket: &OwnedFd, interface: u32) -> io::Result<()> {
    let wanted = libc::packet_mreq {
        mr_ifindex: interface as libc::c_int,
        mr_type: libc::PACKET_MR_ALLMULTI as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    let length = size_of::<libc::packet_mreq>() as libc::socklen_t;
    let (level, option) = (libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP);
    // SAFETY: the kernel reads the wish, of the length given, which lives here.
    let set =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const wanted).cast(), length) };
    checked(set.into()).map(|_| ())
}
