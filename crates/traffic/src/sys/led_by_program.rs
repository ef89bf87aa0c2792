//! Tests only: programs at the control group of this process that write other addresses into what it connects, and programs at
//! interfaces (bpf(2)).

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};

/// What a program of the kernel may be attached to: a `connect` of IPv4, and the question who is at the other end.
const CONNECT: u32 = 10;
const PEER_NAME: u32 = 29;
const LOAD_PROGRAM: libc::c_long = 5;
const ATTACH: libc::c_long = 28;
/// Programs that see addresses of sockets.
const OF_ADDRESSES: u32 = 18;

/// Until it is dropped, whoever of this control group connects to `from` is connected to `to`, and is told that it is `from`.
pub(crate) fn lead(from: Ipv4Addr, to: Ipv4Addr) -> io::Result<[OwnedFd; 2]> {
    Ok([attach(CONNECT, from, to)?, attach(PEER_NAME, to, from)?])
}

/// What a program may stand at of an interface: both sides of traffic control (tcx), and before all else (XDP).
pub(crate) const PLACES: [u32; 3] = [46, 47, 37];

/// Until it is dropped, a program that lets all pass stands at an interface of the calling thread's namespace.
pub(crate) fn stand_at(interface: u32, place: u32) -> io::Result<OwnedFd> {
    const OF_TRAFFIC_CONTROL: u32 = 3;
    const OF_XDP: u32 = 6;
    let (kind, lets_pass) =
        if place == PLACES[2] { (OF_XDP, 2) } else { (OF_TRAFFIC_CONTROL, -1_i32 as u32) };
    let program = load(kind, place, &[0xb7 | u64::from(lets_pass) << 32, 0x95])?;
    link(&program, interface, place)
}

fn attach(point: u32, from: Ipv4Addr, to: Ipv4Addr) -> io::Result<OwnedFd> {
    let program = load(OF_ADDRESSES, point, &instructions(from, to))?;
    let group = std::fs::File::open(own_group()?)?;
    link(&program, group.as_fd().as_raw_fd() as u32, point)
}

fn load(kind: u32, point: u32, code: &[u64]) -> io::Result<OwnedFd> {
    let license = c"GPL";
    let mut wanted = [0_u64; 16];
    wanted[0] = u64::from(kind) | (code.len() as u64) << 32;
    (wanted[1], wanted[2]) = (code.as_ptr().addr() as u64, license.as_ptr().addr() as u64);
    // Those of traffic control say where they stand when they are attached.
    wanted[8] = if kind == 3 { 0 } else { u64::from(point) << 32 };
    bpf(LOAD_PROGRAM, &wanted)
}

fn link(program: &OwnedFd, to: u32, point: u32) -> io::Result<OwnedFd> {
    let mut wanted = [0_u64; 16];
    wanted[0] = program.as_raw_fd() as u64 | u64::from(to) << 32;
    wanted[1] = point.into();
    bpf(ATTACH, &wanted)
}

/// Loads the address, and where it is `from`, stores `to`; lets all pass.
fn instructions(from: Ipv4Addr, to: Ipv4Addr) -> [u64; 6] {
    /// Where a program sees the address.
    const ADDRESS: u64 = 4 << 16;
    let value = |ip: Ipv4Addr| u64::from(u32::from_ne_bytes(ip.octets())) << 32;
    [
        0x61 | 0x12 << 8 | ADDRESS,
        0x56 | 0x02 << 8 | 2 << 16 | value(from),
        0xb4 | 0x03 << 8 | value(to),
        0x63 | 0x31 << 8 | ADDRESS,
        0xb7 | 1 << 32,
        0x95,
    ]
}

/// The directory of this process's group in the second version of control groups.
fn own_group() -> io::Result<String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts")?;
    let groups = std::fs::read_to_string("/proc/self/cgroup")?;
    let mounted = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"));
    let root = mounted.and_then(|line| line.split(' ').nth(1)).ok_or(io::ErrorKind::NotFound)?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::")).ok_or(io::ErrorKind::NotFound)?;
    Ok(format!("{root}{own}"))
}

fn bpf(command: libc::c_long, wanted: &[u64; 16]) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads the structure, of the size that is stated, and what it points to, which outlives the call.
    let made = unsafe { libc::syscall(libc::SYS_bpf, command, wanted.as_ptr(), size_of_val(wanted)) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a file descriptor that was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(made as i32) })
}
