//! Linux: where packets to an address leave, asked of the kernel (rtnetlink(7)).

use crate::packet::frame::{Link, attributes};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// Bytes of `struct nlmsghdr`, `struct rtmsg`, `struct ndmsg`, `struct ifinfomsg`.
const HEADER: usize = 16;
const ROUTE: usize = 12;
const NEIGHBOUR: usize = 12;
const LINK: usize = 16;
/// if_arp.h: Ethernet.
const ETHERNET: u16 = 1;
/// neighbour.h: states in which the address is known.
const KNOWN: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x80;

/// The interface that packets to `target` leave by, and where they go next.
///
/// # Errors
/// If there is no route.
pub(crate) fn link_to(target: IpAddr) -> io::Result<Link> {
    let socket = open()?;
    let (interface, next_hop) = route(&socket, target)?;
    let link = ask(&socket, libc::RTM_GETLINK, &link_request(interface))?;
    let kind = u16::from_ne_bytes(field(&link, HEADER + 2)?);
    let flags = u32::from_ne_bytes(field(&link, HEADER + 8)?);
    let of = |kind| attribute(&link, HEADER + LINK, kind);
    let ethernet =
        of(libc::IFLA_ADDRESS).filter(|_| kind == ETHERNET).and_then(|bytes| bytes.try_into().ok());
    let mtu = of(libc::IFLA_MTU).and_then(|bytes| bytes.try_into().ok()).map_or(1500, u32::from_ne_bytes);
    let queue = of(libc::IFLA_QDISC)
        .map(|name| String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
        .unwrap_or_default();
    let loopback = flags & libc::IFF_LOOPBACK as u32 != 0;
    Ok(Link { interface, next_hop, ethernet, loopback, mtu, queue })
}

/// The neighbour's hardware address on that link.
///
/// # Errors
/// If it is not known (yet).
pub(crate) fn neighbour(link: &Link) -> io::Result<[u8; 6]> {
    let unknown = || io::Error::other("the neighbour's hardware address is not known");
    let answer = ask(&open()?, libc::RTM_GETNEIGH, &neighbour_request(link.interface, link.next_hop))
        .map_err(|_| unknown())?;
    let state = u16::from_ne_bytes(field(&answer, HEADER + 8)?);
    attribute(&answer, HEADER + NEIGHBOUR, libc::NDA_LLADDR)
        .and_then(|bytes| bytes.try_into().ok())
        .filter(|_| state & KNOWN != 0)
        .ok_or_else(unknown)
}

fn open() -> io::Result<OwnedFd> {
    // SAFETY: makes a socket; the number is checked before it is owned.
    let socket =
        unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a file descriptor that was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Interface and next hop.
fn route(socket: &OwnedFd, target: IpAddr) -> io::Result<(u32, IpAddr)> {
    let mut request = vec![0; ROUTE];
    request[0] = family(target);
    request[1] = octets(target).len() as u8 * 8;
    push_attribute(&mut request, libc::RTA_DST, &octets(target));
    let answer = ask(socket, libc::RTM_GETROUTE, &request)?;
    let interface = attribute(&answer, HEADER + ROUTE, libc::RTA_OIF)
        .and_then(|bytes| bytes.try_into().ok())
        .map(u32::from_ne_bytes)
        .ok_or_else(|| io::Error::other("the route has no interface"))?;
    let next_hop = match attribute(&answer, HEADER + ROUTE, libc::RTA_GATEWAY) {
        Some(bytes) => {
            address(bytes).ok_or_else(|| io::Error::other("the route's gateway is not an address"))?
        }
        None => target,
    };
    Ok((interface, next_hop))
}

fn link_request(interface: u32) -> Vec<u8> {
    let mut request = vec![0; LINK];
    request[4..8].copy_from_slice(&interface.to_ne_bytes());
    request
}

fn neighbour_request(interface: u32, address: IpAddr) -> Vec<u8> {
    let mut request = vec![0; NEIGHBOUR];
    request[0] = family(address);
    request[4..8].copy_from_slice(&interface.to_ne_bytes());
    push_attribute(&mut request, libc::NDA_DST, &octets(address));
    request
}

/// Sends one request and returns its answer.
fn ask(socket: &OwnedFd, kind: u16, body: &[u8]) -> io::Result<Vec<u8>> {
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend_from_slice(&((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(body);
    // SAFETY: the kernel reads `message`, which is alive during the call.
    let sent = unsafe { libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut answer = vec![0; 16 << 10];
    // SAFETY: the kernel writes at most the length given into `answer`.
    let length = unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    answer.truncate(length);
    let said = u32::from_ne_bytes(field(&answer, 0)?) as usize;
    answer.truncate(said);
    if u16::from_ne_bytes(field(&answer, 4)?) == libc::NLMSG_ERROR as u16 {
        let number = i32::from_ne_bytes(field(&answer, HEADER)?);
        return Err(io::Error::from_raw_os_error(-number));
    }
    Ok(answer)
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> io::Result<[u8; N]> {
    bytes
        .get(at..at + N)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| io::Error::other("the kernel's answer is cut off"))
}

fn attribute(message: &[u8], from: usize, kind: u16) -> Option<&[u8]> {
    attributes(message.get(from..)?).find(|(found, _)| *found == kind).map(|(_, data)| data)
}

fn push_attribute(request: &mut Vec<u8>, kind: u16, data: &[u8]) {
    request.extend_from_slice(&((4 + data.len()) as u16).to_ne_bytes());
    request.extend_from_slice(&kind.to_ne_bytes());
    request.extend_from_slice(data);
    request.resize(request.len().next_multiple_of(4), 0);
}

fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into()),
        16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into()),
        _ => None,
    }
}
