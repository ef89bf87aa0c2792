//! Linux: a copy of what arrives at an interface (packet(7)).

use super::{set_raw_option, set_receive_buffer, stamp_packets};
use std::ffi::CString;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::UdpSocket;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// A socket that gets a copy of each frame that arrives at `interface`, a virtio header before it (`PACKET_VNET_HDR`:
/// it tells trains), with the kernel's stamps, and room for `bytes` of them.
///
/// It is no UDP socket, but reads like one.
///
/// # Errors
/// If the privilege lacks (`CAP_NET_RAW`), or there is no such interface.
pub(crate) fn open_tap(interface: &str, bytes: usize) -> io::Result<UdpSocket> {
    let name = CString::new(interface).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: reads a string that ends with a zero byte.
    let number = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if number == 0 {
        return Err(io::Error::last_os_error());
    }
    // Protocol 0: it receives nothing before it is bound to one interface.
    // SAFETY: makes a socket; the number is checked before it is owned.
    let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a file descriptor that was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    set_raw_option(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
    set_raw_option(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
    let socket = UdpSocket::from(socket);
    set_receive_buffer(&socket, bytes)?;
    stamp_packets(&socket)?;
    // SAFETY: a plain C structure for which all zeroes is a value.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = number as libc::c_int;
    // SAFETY: the kernel reads the address, of the length given.
    let bound = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if bound < 0 { Err(io::Error::last_os_error()) } else { Ok(socket) }
}
