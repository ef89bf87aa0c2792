//! Linux: a copy of what arrives at interfaces for one UDP port (packet(7)).

use super::{set_raw_option, set_receive_buffer, stamp_packets};
use std::ffi::CString;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::UdpSocket;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// What is kept of each frame: the link's header, the longest IP header and that of UDP fit.
const KEPT: u32 = 118;
/// linux/filter.h: what the kernel knows of a packet beside its bytes.
const AD_OFF: u32 = 0u32.wrapping_sub(0x1000);
const AD_PROTOCOL: u32 = AD_OFF;
const AD_PACKET_TYPE: u32 = AD_OFF.wrapping_add(4);
const AD_VLAN_TAG_PRESENT: u32 = AD_OFF.wrapping_add(48);
/// linux/filter.h: from here on bytes are counted from the IP header, whatever the link has before it.
const NET_OFF: u32 = 0u32.wrapping_sub(0x10_0000);

/// A socket that gets a copy of each UDP datagram that arrives for `port` at `interface`, or at any of this network
/// namespace: a virtio header before the frame (`PACKET_VNET_HDR`: it tells trains), with the kernel's stamps, and
/// room for `bytes` of them. Copies of fragments but the first are not taken.
///
/// It is no UDP socket, but reads like one.
///
/// # Errors
/// If the privilege lacks (`CAP_NET_RAW`), or there is no such interface.
pub(crate) fn open_tap(interface: Option<&str>, port: u16, bytes: usize) -> io::Result<UdpSocket> {
    let number = interface.map_or(Ok(0), number_of)?;
    // Protocol 0: nothing comes before the filter stands and it is bound.
    // SAFETY: makes a socket; the number is checked before it is owned.
    let socket = unsafe {
        libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0)
    };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a file descriptor that was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    set_raw_option(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
    set_raw_option(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
    let socket = UdpSocket::from(socket);
    only(&socket, port)?;
    set_receive_buffer(&socket, bytes)?;
    stamp_packets(&socket)?;
    // SAFETY: a plain C structure for which all zeroes is a value.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = number;
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

fn number_of(interface: &str) -> io::Result<libc::c_int> {
    let name = CString::new(interface).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: reads a string that ends with a zero byte.
    let number = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if number == 0 { Err(io::Error::last_os_error()) } else { Ok(number as libc::c_int) }
}

/// Lets pass what was sent to this host, over UDP, to this port. What still carries the tag of a virtual network
/// comes once more, without it, from the interface of that network.
fn only(socket: &UdpSocket, port: u16) -> io::Result<()> {
    const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
    const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
    const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const IF_ANY: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let ip = |at: u32| NET_OFF.wrapping_add(at);
    let port = u32::from(port);
    let mut program = [
        step(LOAD_WORD, 0, 0, AD_PACKET_TYPE),
        step(IF_EQUAL, 0, 16, 0), // PACKET_HOST
        step(LOAD_WORD, 0, 0, AD_VLAN_TAG_PRESENT),
        step(IF_EQUAL, 0, 14, 0),
        step(LOAD_WORD, 0, 0, AD_PROTOCOL),
        step(IF_EQUAL, 1, 0, 0x0800),
        step(IF_EQUAL, 7, 11, 0x86DD),
        // IPv4: UDP, not a later fragment, and the port behind a header of any length.
        step(LOAD_BYTE, 0, 0, ip(9)),
        step(IF_EQUAL, 0, 9, 17),
        step(LOAD_HALF, 0, 0, ip(6)),
        step(IF_ANY, 7, 0, 0x1FFF),
        step(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0, 0, ip(0)),
        step(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 0, 0, ip(2)),
        step(IF_EQUAL, 5, 4, port),
        // IPv6 without further headers.
        step(LOAD_BYTE, 0, 0, ip(6)),
        step(IF_EQUAL, 0, 2, 17),
        step(LOAD_HALF, 0, 0, ip(42)),
        step(IF_EQUAL, 1, 0, port),
        step(RETURN, 0, 0, 0),
        step(RETURN, 0, 0, KEPT),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies the program, of the length given, during the call.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const filter).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
