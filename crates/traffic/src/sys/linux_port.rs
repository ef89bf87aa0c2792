//! Linux: a look at packets on their way to somebody else's socket (packet(7)).

use super::set_raw_option;
use crate::sys::stamp_packets;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::UdpSocket;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// What is kept of each packet: the longest IP header and that of UDP fit.
const KEPT: u32 = 96;
/// linux/filter.h: what the kernel knows of a packet beside its bytes.
const AD_OFF: u32 = 0u32.wrapping_sub(0x1000);
const AD_PROTOCOL: u32 = AD_OFF;
const AD_PACKET_TYPE: u32 = AD_OFF.wrapping_add(4);

/// A socket that gets a copy of each UDP datagram that arrives on this network namespace's interfaces for
/// `port`, from its IP header on, with the kernel's stamp. Copies of fragments but the first are not taken.
///
/// It is told as a UDP socket, of which only receiving means anything.
///
/// # Errors
/// If the privilege lacks (`CAP_NET_RAW`).
pub(crate) fn tap_port(port: u16) -> io::Result<UdpSocket> {
    // Protocol 0: nothing comes before the filter stands.
    // SAFETY: makes a socket; the number is checked before it is owned.
    let socket = unsafe {
        libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0)
    };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a file descriptor that was just made and belongs to nobody else.
    let socket = UdpSocket::from(unsafe { OwnedFd::from_raw_fd(socket) });
    only(&socket, port)?;
    let number = socket.as_raw_fd();
    set_raw_option(number, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
    // Without room for what comes in a stall of ours; more than the system grants is cut to it.
    set_raw_option(number, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 32 << 20)
        .or_else(|_| set_raw_option(number, libc::SOL_SOCKET, libc::SO_RCVBUF, 32 << 20))?;
    stamp_packets(&socket)?;
    // SAFETY: a plain C structure for which all zeroes is a value.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: the kernel reads the address, of the length given.
    let bound = unsafe {
        libc::bind(number, (&raw const address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t)
    };
    if bound < 0 { Err(io::Error::last_os_error()) } else { Ok(socket) }
}

/// Copies that found no room at the tap since this was last asked.
pub(crate) fn tap_drops(tap: &UdpSocket) -> io::Result<u32> {
    /// `struct tpacket_stats`: packets, of those dropped. Reading sets both to 0.
    #[derive(Default)]
    #[repr(C)]
    struct Statistics {
        packets: u32,
        drops: u32,
    }
    let mut said = Statistics::default();
    let mut length = size_of::<Statistics>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into the structure, which is as long.
    let answer = unsafe {
        libc::getsockopt(
            tap.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut said).cast(),
            &raw mut length,
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(said.drops) }
}

/// Lets pass what was sent to this host, over UDP, to this port.
fn only(socket: &UdpSocket, port: u16) -> io::Result<()> {
    const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
    const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
    const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const IF_ANY: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let port = u32::from(port);
    let mut program = [
        step(LOAD_WORD, 0, 0, AD_PACKET_TYPE),
        step(IF_EQUAL, 0, 14, 0), // PACKET_HOST
        step(LOAD_WORD, 0, 0, AD_PROTOCOL),
        step(IF_EQUAL, 1, 0, 0x0800),
        step(IF_EQUAL, 7, 11, 0x86DD),
        // IPv4: UDP, not a later fragment, and the port behind a header of any length.
        step(LOAD_BYTE, 0, 0, 9),
        step(IF_EQUAL, 0, 9, 17),
        step(LOAD_HALF, 0, 0, 6),
        step(IF_ANY, 7, 0, 0x1FFF),
        step(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0, 0, 0),
        step(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 0, 0, 2),
        step(IF_EQUAL, 5, 4, port),
        // IPv6 without further headers.
        step(LOAD_BYTE, 0, 0, 6),
        step(IF_EQUAL, 0, 2, 17),
        step(LOAD_HALF, 0, 0, 42),
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
