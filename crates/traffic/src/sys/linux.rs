//! Linux: options and counters of sockets, waiting; batches, stamps, CPUs and addresses are next door.

use super::{BATCH, Exit, Queued, Refused};
use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::{AsRawFd as _, RawFd};
use std::time::Duration;

#[path = "linux_cpus.rs"]
mod cpus;

#[path = "linux_datagrams.rs"]
mod datagrams;

#[path = "linux_frames.rs"]
mod frames;

#[path = "linux_netlink.rs"]
mod netlink;

#[path = "linux_programs.rs"]
mod programs;
#[path = "linux_receive.rs"]
mod receive;

#[path = "linux_send.rs"]
mod send;

#[path = "linux_stamping.rs"]
mod stamping;
#[path = "linux_tables.rs"]
mod tables;

#[path = "linux_tap.rs"]
mod tap;

#[path = "linux_tracepoint.rs"]
mod tracepoint;

pub(crate) use cpus::{allowed_cpus, prefer, real_time, run_on};
pub(crate) use datagrams::{InBatch, OutBatch};
pub(crate) use frames::FrameSocket;
pub(crate) use netlink::{link_to, neighbour};
pub(crate) use programs::programs_at;
pub(crate) use receive::ReceiveBatch;
pub(crate) use send::SendBatch;
pub(crate) use stamping::{can_stamp_departures, stamp_packets, wait_for_stamps};
pub(crate) use tables::older_rules;
pub(crate) use tap::{counted, open_count, open_tap, open_tap_of_trial, tap_trial};
pub(crate) use tracepoint::count_tracepoint;

/// Sends without waiting; how many left, or why the first did not.
fn send_messages(socket: RawFd, messages: &mut [libc::mmsghdr]) -> io::Result<usize> {
    // SAFETY: the callers filled every message with pointers into vectors they own, which outlive the
    // call; the kernel only reads what they point to.
    let sent = unsafe {
        libc::sendmmsg(
            socket,
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
    wait_and_hear(sockets, longest, |_, _| {})
}

/// The same; what waits in the error queues is passed on, with the number of its socket.
///
/// # Errors
/// As above.
pub(crate) fn wait_and_hear(
    sockets: &[UdpSocket],
    longest: Duration,
    mut hear: impl FnMut(usize, Queued),
) -> io::Result<bool> {
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
    let mut readable = false;
    for (at, (socket, answer)) in sockets.iter().zip(&*asked).enumerate() {
        readable |= answer.revents & libc::POLLIN != 0;
        if answer.revents & libc::POLLERR != 0 {
            hear_queued(socket, |queued| hear(at, queued))?;
        }
    }
    Ok(readable)
}

/// Empties the socket's error queue.
///
/// # Errors
/// What the network reported, of which the queue holds a copy since [`report_refusals`].
pub(crate) fn hear_queued(socket: &UdpSocket, mut hear: impl FnMut(Queued)) -> io::Result<()> {
    let error = socket.take_error()?;
    while let Some(queued) = stamping::next_queued(socket.as_raw_fd()) {
        hear(queued);
    }
    error.map_or(Ok(()), Err)
}

/// Lets calls that receive wait by themselves, `longest` at most.
pub(crate) fn let_wait(socket: &UdpSocket, longest: Duration) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(longest))
}

/// Asks to be told when the sending queue of an interface drops a packet (`ENOBUFS`), which otherwise
/// looks like success (ip(7), `IP_RECVERR`).
pub(crate) fn report_refusals(socket: &UdpSocket) -> io::Result<()> {
    match socket.local_addr()? {
        SocketAddr::V4(_) => set_option(socket, libc::IPPROTO_IP, libc::IP_RECVERR, 1),
        SocketAddr::V6(_) => set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1),
    }
}

/// Lets trains that arrive stay together (udp(7), `UDP_GRO`); whoever receives tells the packets apart.
pub(crate) fn keep_trains(socket: &UdpSocket) -> io::Result<()> {
    const UDP_GRO: i32 = 104;
    set_option(socket, libc::SOL_UDP, UDP_GRO, 1)
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

/// Time since 1970 as of the kernel's last tick.
pub(crate) fn coarse_now() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists since Linux 2.6.32, and the kernel writes one timespec to where it may.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut now) };
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
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
    set_raw_option(socket.as_raw_fd(), level, name, value)
}

fn set_raw_option(socket: RawFd, level: i32, name: i32, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the value is an integer of the length given.
    let result = unsafe {
        libc::setsockopt(
            socket,
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
