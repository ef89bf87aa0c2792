//! netdevice(7): what an interface is.

use super::{checked, owned};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// What the kernel says of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) index: u32,
    /// Its hardware address; `None` where it is no Ethernet interface.
    pub(crate) hardware: Option<[u8; 6]>,
    pub(crate) up: bool,
    pub(crate) loopback: bool,
    pub(crate) mtu: u32,
    /// Whether it has an IPv4 address.
    pub(crate) addressed: bool,
}

/// Looks at an interface of the namespace of the calling thread.
///
/// # Errors
/// If it is not there.
pub(crate) fn look(name: &str) -> io::Result<Seen> {
    let socket = asking()?;
    let ask = |request: libc::c_ulong| -> io::Result<libc::ifreq> {
        let mut asked = named(name)?;
        // SAFETY: these requests read the name and write into the same structure, which lives here.
        checked(unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &raw mut asked) }.into())?;
        Ok(asked)
    };
    // SAFETY: after the kernel's answer the number of the interface is what the union holds.
    let index = unsafe { ask(libc::SIOCGIFINDEX)?.ifr_ifru.ifru_ifindex };
    // SAFETY: as above, its hardware address.
    let hardware = unsafe { ask(libc::SIOCGIFHWADDR)?.ifr_ifru.ifru_hwaddr };
    // SAFETY: as above, its flags.
    let flags = libc::c_int::from(unsafe { ask(libc::SIOCGIFFLAGS)?.ifr_ifru.ifru_flags });
    // SAFETY: as above, its MTU.
    let mtu = unsafe { ask(libc::SIOCGIFMTU)?.ifr_ifru.ifru_mtu };
    let is_ethernet = hardware.sa_family == libc::ARPHRD_ETHER;
    Ok(Seen {
        index: index as u32,
        hardware: is_ethernet.then(|| std::array::from_fn(|byte| hardware.sa_data[byte] as u8)),
        up: flags & libc::IFF_UP != 0 && flags & libc::IFF_RUNNING != 0,
        loopback: flags & libc::IFF_LOOPBACK != 0,
        mtu: mtu as u32,
        addressed: ask(libc::SIOCGIFADDR).is_ok(),
    })
}

/// The name of its driver; the interface is of the namespace of the calling thread.
///
/// # Errors
/// If it is not there, or says nothing of that.
pub(crate) fn driver(name: &str) -> io::Result<String> {
    const SAYS_DRIVER: u32 = 3;
    /// `struct ethtool_drvinfo`.
    #[repr(C)]
    struct Told {
        command: u32,
        driver: [u8; 32],
        rest: [u8; 160],
    }
    let socket = asking()?;
    let mut told = Told { command: SAYS_DRIVER, driver: [0; 32], rest: [0; 160] };
    let mut asked = named(name)?;
    asked.ifr_ifru.ifru_data = (&raw mut told).cast();
    // SAFETY: the kernel reads the name and the command, and writes into what the request leads to, of the length that this command
    // has; both live here.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut asked) }.into())?;
    let end = told.driver.iter().position(|&byte| byte == 0).unwrap_or(told.driver.len());
    Ok(String::from_utf8_lossy(&told.driver[..end]).into_owned())
}

/// A socket to ask by.
fn asking() -> io::Result<OwnedFd> {
    // SAFETY: makes a socket.
    owned(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) }.into())
}

/// A request about an interface.
fn named(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: a plain C structure for which all zeroes is a value.
    let mut asked: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= asked.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in asked.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(asked)
}
