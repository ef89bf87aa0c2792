//! Linux: a copy of what arrives at interfaces for one UDP port (packet(7)).

use super::{set_raw_option, set_receive_buffer, stamp_packets};
use crate::sys::Mark;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::{IpAddr, SocketAddr, UdpSocket};
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
    let socket = unbound()?;
    set_raw_option(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
    only(&socket, &mut arriving_for(port))?;
    set_receive_buffer(&socket, bytes)?;
    stamp_packets(&socket)?;
    bind(socket, number)
}

/// A socket that gets a copy of the head of each UDP datagram that begins as a trial's packet and has this `mark`, and passes
/// the interface of this number: leaving by it, or, if `arriving`, coming in there for whoever has it. Nothing else costs more
/// than a look of the kernel's.
///
/// # Errors
/// If the privilege lacks (`CAP_NET_RAW`), or there is no such interface.
pub(crate) fn open_tap_of_trial(interface: u32, mark: Mark<'_>, arriving: bool) -> io::Result<UdpSocket> {
    let socket = unbound()?;
    tap_trial(&socket, mark, arriving)?;
    bind(socket, interface as libc::c_int)
}

/// A socket that only counts UDP datagrams which have this address and port as where they go, or as where they are `from`, and pass
/// the interface of this number: leaving by it, or, if `arriving`, coming in there for whoever has it. No copy is made of them.
///
/// # Errors
/// If the privilege lacks (`CAP_NET_RAW`), or there is no such interface.
pub(crate) fn open_count(
    interface: u32,
    end: SocketAddr,
    from: bool,
    arriving: bool,
) -> io::Result<UdpSocket> {
    let socket = unbound()?;
    only(&socket, &mut with_end(end, from, arriving))?;
    // What finds no room is counted all the same.
    set_receive_buffer(&socket, 0)?;
    bind(socket, interface as libc::c_int)
}

/// What such a socket counted since it was read last.
///
/// # Errors
/// If the system does not say.
pub(crate) fn counted(socket: &UdpSocket) -> io::Result<u64> {
    let mut counts = [0u32; 2];
    let mut length = size_of::<[u32; 2]>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `counts`, which is that long: a `tpacket_stats`.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            counts.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(counts[0].into()) }
}

/// Lets the tap of a trial be that of another.
///
/// # Errors
/// If the system does not allow it.
pub(crate) fn tap_trial(tap: &UdpSocket, mark: Mark<'_>, arriving: bool) -> io::Result<()> {
    match mark {
        Mark::Tag(tag) => only(tap, &mut with_tag(tag, arriving)),
        Mark::Ports(ports) => only(tap, &mut with_ports(ports, arriving)),
    }
}

/// A tap to which nothing comes before its filter stands and it is bound: its protocol is 0.
fn unbound() -> io::Result<UdpSocket> {
    // SAFETY: makes a socket; the number is checked before it is owned.
    let socket = unsafe {
        libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0)
    };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a file descriptor that was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    set_raw_option(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
    Ok(UdpSocket::from(socket))
}

/// Lets a tap get what passes an interface; 0 is any of this network namespace.
fn bind(socket: UdpSocket, number: libc::c_int) -> io::Result<UdpSocket> {
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

/// Instructions of a filter (linux/filter.h).
const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
const LOAD_WORD_BEHIND: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_IND;
const LOAD_HALF_BEHIND: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_IND;
const LOAD_LENGTH: u32 = libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_ANY: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const TO_40: u32 = libc::BPF_LDX | libc::BPF_IMM;
const GO_ON: u32 = libc::BPF_JMP | libc::BPF_JA;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// Bytes from the IP header on.
fn ip(at: u32) -> u32 {
    NET_OFF.wrapping_add(at)
}

/// Lets pass what was sent to this host, over UDP, to this port. What still carries the tag of a virtual network
/// comes once more, without it, from the interface of that network.
fn arriving_for(port: u16) -> [libc::sock_filter; 20] {
    let port = u32::from(port);
    [
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
        step(LOAD_LENGTH, 0, 0, ip(0)),
        step(LOAD_HALF_BEHIND, 0, 0, ip(2)),
        step(IF_EQUAL, 5, 4, port),
        // IPv6 without further headers.
        step(LOAD_BYTE, 0, 0, ip(6)),
        step(IF_EQUAL, 0, 2, 17),
        step(LOAD_HALF, 0, 0, ip(42)),
        step(IF_EQUAL, 1, 0, port),
        step(RETURN, 0, 0, 0),
        step(RETURN, 0, 0, KEPT),
    ]
}

/// linux/if_packet.h: to this host, and leaving.
const HOST: u32 = 0;
const OUTGOING: u32 = 4;

/// Lets pass what leaves, or what came in for this host, over UDP, with one of these ports at either end. Of more ports than
/// a filter has room for, whatever is UDP passes.
fn with_ports(ports: &BTreeSet<u16>, arriving: bool) -> Vec<libc::sock_filter> {
    /// Two steps for each port at each end; the kernel's memory for a socket's options bounds what it takes.
    const MOST: usize = 500;
    let drop = step(RETURN, 0, 0, 0);
    let mut steps = vec![
        step(LOAD_WORD, 0, 0, AD_PACKET_TYPE),
        step(IF_EQUAL, 1, 0, if arriving { HOST } else { OUTGOING }),
        drop,
        step(LOAD_WORD, 0, 0, AD_PROTOCOL),
        step(IF_EQUAL, 2, 0, 0x0800),
        step(IF_EQUAL, 9, 0, 0x86DD),
        drop,
        // IPv4: UDP, not a later fragment, and the ports behind a header of any length.
        step(LOAD_BYTE, 0, 0, ip(9)),
        step(IF_EQUAL, 1, 0, 17),
        drop,
        step(LOAD_HALF, 0, 0, ip(6)),
        step(IF_ANY, 0, 1, 0x1FFF),
        drop,
        step(LOAD_LENGTH, 0, 0, ip(0)),
        step(GO_ON, 0, 0, 4),
        // IPv6 without further headers.
        step(LOAD_BYTE, 0, 0, ip(6)),
        step(IF_EQUAL, 1, 0, 17),
        drop,
        step(TO_40, 0, 0, 40),
    ];
    if ports.len() <= MOST {
        for end in [0, 2] {
            steps.push(step(LOAD_HALF_BEHIND, 0, 0, ip(end)));
            for &port in ports {
                steps.extend([step(IF_EQUAL, 0, 1, port.into()), step(RETURN, 0, 0, KEPT)]);
            }
        }
        steps.push(drop);
    } else {
        steps.push(step(RETURN, 0, 0, KEPT));
    }
    steps
}

/// Lets pass what leaves, or what came in for this host, and is a trial's packet with this tag.
fn with_tag(tag: u32, arriving: bool) -> [libc::sock_filter; 22] {
    /// How a trial's packet begins, and where its tag is, behind the header of UDP.
    const BEGINS: u32 = 0xd701;
    const PACKET: u32 = 8;
    const TAG: u32 = 12;
    [
        step(LOAD_WORD, 0, 0, AD_PACKET_TYPE),
        step(IF_EQUAL, 0, 18, if arriving { HOST } else { OUTGOING }),
        step(LOAD_WORD, 0, 0, AD_PROTOCOL),
        step(IF_EQUAL, 1, 0, 0x0800),
        step(IF_EQUAL, 9, 15, 0x86DD),
        // IPv4: UDP, not a later fragment.
        step(LOAD_BYTE, 0, 0, ip(9)),
        step(IF_EQUAL, 0, 13, 17),
        step(LOAD_HALF, 0, 0, ip(6)),
        step(IF_ANY, 11, 0, 0x1FFF),
        step(LOAD_LENGTH, 0, 0, ip(0)),
        step(LOAD_HALF_BEHIND, 0, 0, ip(PACKET)),
        step(IF_EQUAL, 0, 8, BEGINS),
        step(LOAD_WORD_BEHIND, 0, 0, ip(TAG)),
        step(IF_EQUAL, 7, 6, tag),
        // IPv6 without further headers.
        step(LOAD_BYTE, 0, 0, ip(6)),
        step(IF_EQUAL, 0, 4, 17),
        step(LOAD_HALF, 0, 0, ip(40 + PACKET)),
        step(IF_EQUAL, 0, 2, BEGINS),
        step(LOAD_WORD, 0, 0, ip(40 + TAG)),
        step(IF_EQUAL, 1, 0, tag),
        step(RETURN, 0, 0, 0),
        step(RETURN, 0, 0, KEPT),
    ]
}

/// Lets pass what leaves, or what came in for this host, over UDP, and has this address and port at one end.
fn with_end(end: SocketAddr, from: bool, arriving: bool) -> Vec<libc::sock_filter> {
    let drop = step(RETURN, 0, 0, 0);
    let port_at = if from { 0 } else { 2 };
    let mut steps = vec![
        step(LOAD_WORD, 0, 0, AD_PACKET_TYPE),
        step(IF_EQUAL, 1, 0, if arriving { HOST } else { OUTGOING }),
        drop,
        step(LOAD_WORD, 0, 0, AD_PROTOCOL),
    ];
    match end.ip().to_canonical() {
        IpAddr::V4(address) => {
            steps.extend([step(IF_EQUAL, 1, 0, 0x0800), drop]);
            let mut is = |at: u32, code: u32, value: u32| {
                steps.extend([step(code, 0, 0, at), step(IF_EQUAL, 1, 0, value), drop]);
            };
            is(ip(9), LOAD_BYTE, 17);
            is(ip(if from { 12 } else { 16 }), LOAD_WORD, address.to_bits());
            // Not a later fragment, and the port behind a header of any length.
            steps.extend([step(LOAD_HALF, 0, 0, ip(6)), step(IF_ANY, 0, 1, 0x1FFF), drop]);
            steps.push(step(LOAD_LENGTH, 0, 0, ip(0)));
        }
        IpAddr::V6(address) => {
            steps.extend([step(IF_EQUAL, 1, 0, 0x86DD), drop]);
            let mut is = |at: u32, code: u32, value: u32| {
                steps.extend([step(code, 0, 0, at), step(IF_EQUAL, 1, 0, value), drop]);
            };
            is(ip(6), LOAD_BYTE, 17);
            let first = if from { 8 } else { 24 };
            for (word, at) in address.octets().chunks_exact(4).zip((first..).step_by(4)) {
                is(ip(at), LOAD_WORD, u32::from_be_bytes(word.try_into().expect("four bytes")));
            }
            steps.push(step(TO_40, 0, 0, 40));
        }
    }
    steps.extend([
        step(LOAD_HALF_BEHIND, 0, 0, ip(port_at)),
        step(IF_EQUAL, 1, 0, end.port().into()),
        drop,
        step(RETURN, 0, 0, KEPT),
    ]);
    steps
}

/// Gives a tap its filter.
fn only(socket: &UdpSocket, program: &mut [libc::sock_filter]) -> io::Result<()> {
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

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::time::Duration;

    #[test]
    fn datagrams_to_one_end_are_counted_whether_there_is_room_for_them_or_not_and_no_others() {
        let loopback = number_of("lo").unwrap() as u32;
        for address in [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), (Ipv6Addr::LOCALHOST, 0).into()] {
            let Ok(to) = UdpSocket::bind(address) else { continue };
            let [from, other] = [0; 2].map(|_| UdpSocket::bind(address).unwrap());
            let at = |socket: &UdpSocket| socket.local_addr().unwrap();
            let count = |from: bool, arriving: bool| open_count(loopback, at(&to), from, arriving);
            let come = match count(false, true) {
                Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
                    assert!(std::env::var("CI").as_deref() != Ok("true"), "it needs CAP_NET_RAW");
                    return;
                }
                come => come.unwrap(),
            };
            let [leave, back] = [count(false, false).unwrap(), count(true, true).unwrap()];
            for _ in 0..1000 {
                from.send_to(b"counted", at(&to)).unwrap();
                from.send_to(b"not", at(&other)).unwrap();
            }
            to.send_to(b"back", at(&from)).unwrap();
            let counts = [&come, &leave, &back].map(|socket| counted(socket).unwrap());
            assert_eq!(counts, [1000, 1000, 1], "{address}");
            assert_eq!(counted(&come).unwrap(), 0, "since it was read last");
        }
    }

    #[test]
    fn a_tap_of_ports_is_given_what_has_one_of_them_at_either_end_and_nothing_else() {
        let loopback = number_of("lo").unwrap() as u32;
        for address in [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), (Ipv6Addr::LOCALHOST, 0).into()] {
            // Not every machine has IPv6.
            let Ok(ours) = UdpSocket::bind(address) else { continue };
            let [other, third] = [0; 2].map(|_| UdpSocket::bind(address).unwrap());
            let at = |socket: &UdpSocket| socket.local_addr().unwrap();
            let many: BTreeSet<u16> = (1..=400).chain([at(&ours).port()]).collect();
            let tap = match open_tap_of_trial(loopback, Mark::Ports(&many), false) {
                Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
                    assert!(std::env::var("CI").as_deref() != Ok("true"), "it needs CAP_NET_RAW");
                    return;
                }
                tap => tap.unwrap(),
            };
            ours.send_to(b"ask", at(&other)).unwrap();
            other.send_to(b"answer", at(&ours)).unwrap();
            third.send_to(b"neither", at(&other)).unwrap();
            ours.send_to(b"once more", at(&third)).unwrap();
            tap.set_nonblocking(false).unwrap();
            tap.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            for said in [&b"ask"[..], b"answer", b"once more"] {
                let mut frame = [0; 200];
                let length = tap.recv(&mut frame).unwrap();
                assert!(frame[..length].ends_with(said), "{address}: {:?}", &frame[..length]);
            }
        }
    }
}
