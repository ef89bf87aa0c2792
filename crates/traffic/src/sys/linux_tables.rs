//! Linux: the rules of the older tables of a firewall (ip_tables.h), which nftables does not show.

use super::super::IpVersion;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// Of both versions: IPT_SO_GET_INFO and IPT_SO_GET_ENTRIES, beside IP and beside IPv6.
const INFO: i32 = 64;
const ENTRIES: i32 = 65;
/// XT_TABLE_MAXNAMELEN, with its end.
const NAME: usize = 32;
/// `struct ipt_getinfo`: the name, which hooks, where each begins and ends, how many entries, how many bytes they take.
const INFO_BYTES: usize = NAME + 4 + 20 + 20 + 4 + 4;
/// `struct ipt_get_entries` before the entries: the name, their bytes, and what aligns them to eight.
const HEAD: usize = NAME + 8;
/// No table of rules is larger.
const MOST: usize = 64 << 20;

/// The entries of a table of the calling thread's namespace, as the kernel keeps them.
///
/// # Errors
/// If there is no such table, or this user may not see it.
pub(crate) fn older_rules(version: IpVersion, table: &str) -> io::Result<Vec<u8>> {
    let (family, level) = match version {
        IpVersion::V4 => (libc::AF_INET, libc::IPPROTO_IP),
        IpVersion::V6 => (libc::AF_INET6, libc::IPPROTO_IPV6),
    };
    // SAFETY: makes a socket; the number is checked before it is owned.
    let socket = unsafe { libc::socket(family, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::IPPROTO_RAW) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a file descriptor that was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut info = named(table, INFO_BYTES)?;
    ask(&socket, level, INFO, &mut info)?;
    let size = info.last_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
    let bytes = usize::try_from(size).unwrap_or(usize::MAX);
    if bytes > MOST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut all = named(table, HEAD + bytes)?;
    all[NAME..NAME + 4].copy_from_slice(&size.to_ne_bytes());
    ask(&socket, level, ENTRIES, &mut all)?;
    Ok(all.split_off(HEAD))
}

/// Zeros behind the name of a table.
fn named(table: &str, bytes: usize) -> io::Result<Vec<u8>> {
    if table.len() >= NAME {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut asked = table.as_bytes().to_vec();
    asked.resize(bytes, 0);
    Ok(asked)
}

fn ask(socket: &OwnedFd, level: i32, what: i32, bytes: &mut [u8]) -> io::Result<()> {
    let mut length = libc::socklen_t::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    // SAFETY: the kernel reads and writes at most `length` bytes at `bytes`, which is as long and alive.
    let asked = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, what, bytes.as_mut_ptr().cast(), &raw mut length)
    };
    if asked < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
