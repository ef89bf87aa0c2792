//! Asking for the older tables of a firewall (iptables-legacy).

use super::look_error::seen;
use crate::sys;
use dropline_netrules::legacy_tables::LegacyTable;
use std::io;

/// Where the kernel lists the older tables of a namespace.
const LISTS: [(&str, sys::IpVersion); 2] = [
    ("/proc/thread-self/net/ip_tables_names", sys::IpVersion::V4),
    ("/proc/thread-self/net/ip6_tables_names", sys::IpVersion::V6),
];

/// Whether this kernel has such tables at all: then each namespace lists its own.
pub(super) fn are_there() -> bool {
    LISTS.iter().any(|(names, _)| std::path::Path::new(names).exists())
}

/// The tables of the calling thread's namespace; `None` where this user may not see what is in one.
///
/// # Errors
/// If a table could not be read.
pub(super) fn tables() -> io::Result<Option<Vec<LegacyTable>>> {
    let mut tables = Vec::new();
    for (names, version) in LISTS {
        // A kernel that lists none has none.
        let names = match std::fs::read_to_string(names) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
            names => match seen(names)? {
                Some(names) => names,
                None => return Ok(None),
            },
        };
        for name in names.lines() {
            let Some(entries) = seen(unchanged(|| sys::older_rules(version, name)))? else { return Ok(None) };
            let is_version_4 = version == sys::IpVersion::V4;
            tables.push(LegacyTable { is_version_4, name: name.to_owned(), entries });
        }
    }
    Ok(Some(tables))
}

/// How often a table that is changed while it is read is read anew.
const READ: usize = 20;

/// What is read of a table while nobody changes it: between its size and its rules the kernel says EAGAIN of one that grew or shrank.
fn unchanged<T>(mut read: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..READ {
        match read() {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
            read => return read,
        }
    }
    read()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_changed_while_it_is_read_is_read_anew() {
        let mut left = 3;
        let mut read = || {
            left -= 1;
            if left > 0 { Err(io::Error::from_raw_os_error(libc::EAGAIN)) } else { Ok("rules") }
        };
        assert_eq!(unchanged(&mut read).unwrap(), "rules");
        let always = || -> io::Result<()> { Err(io::Error::from_raw_os_error(libc::EAGAIN)) };
        assert_eq!(unchanged(always).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let other = || -> io::Result<()> { Err(io::Error::from_raw_os_error(libc::EPERM)) };
        assert_eq!(unchanged(other).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
