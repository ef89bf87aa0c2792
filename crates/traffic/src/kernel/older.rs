//! Asking for the older tables of a firewall (iptables-legacy).

use super::seen::seen;
use crate::sys;
use dropline_netrules::older::OlderTable;
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
pub(super) fn tables() -> io::Result<Option<Vec<OlderTable>>> {
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
            let Some(entries) = seen(sys::older_rules(version, name))? else { return Ok(None) };
            let is_version_4 = version == sys::IpVersion::V4;
            tables.push(OlderTable { is_version_4, name: name.to_owned(), entries });
        }
    }
    Ok(Some(tables))
}
