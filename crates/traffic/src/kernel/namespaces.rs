//! The network namespaces of this machine, found by the files that stand for them.

use super::addresses;
use super::links;
use super::view::View;
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Files that stand for the namespaces of this machine, one each, as far as this user sees them.
pub(crate) fn namespaces() -> Vec<PathBuf> {
    let named = entries("/run/netns").map(|name| Path::new("/run/netns").join(name));
    let processes = processes().map(|process| process.join("ns/net"));
    let mut seen = Vec::new();
    named
        .chain(processes)
        .filter(|path| {
            let Ok(id) = path.metadata().map(|file| file.ino()) else { return false };
            let new = !seen.contains(&id);
            if new {
                seen.push(id);
            }
            new
        })
        .collect()
}

/// The `/proc/…/net` directory of a process in the namespace of this number, if one runs there.
pub(crate) fn process_in(namespace: u64) -> Option<PathBuf> {
    let is_in =
        |process: &PathBuf| process.join("ns/net").metadata().is_ok_and(|file| file.ino() == namespace);
    processes().find(is_in).map(|process| process.join("net"))
}

/// For a user who may not enter the namespace at the other end of interface `through`: the `/proc/…/net`
/// directory of a process there, if the kernel numbers it so, its tables show the address and the next hop towards it, and
/// nobody wrote by hand whose that hop is.
pub(crate) fn tables_that_show(address: IpAddr, through: u32, gateway: Option<IpAddr>) -> Option<PathBuf> {
    let mut here = View::here().ok()?;
    let hop = gateway.unwrap_or(address);
    if here.neighbour(through, hop).ok()?.is_some_and(|known| known.written) {
        return None;
    }
    let link = here.links()?.into_iter().find(|link| link.index == through)?;
    let number = link.other_namespace.filter(|_| link.kind == "veth")?;
    let netlink = here.netlink()?;
    let mut is_it = |process: &PathBuf| {
        let Ok(file) = File::open(process.join("ns/net")) else { return false };
        let shown = || addresses::of_namespace(&process.join("net"));
        u32::try_from(file.as_raw_fd())
            .is_ok_and(|file| links::namespace_number(netlink, file) == Some(number))
            && [address, hop].iter().all(|&at| shown().contains(&(at, longest_prefix(at))))
    };
    processes().find(|process| is_it(process)).map(|process| process.join("net"))
}

fn longest_prefix(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Directories of the processes that this user sees.
fn processes() -> impl Iterator<Item = PathBuf> {
    entries("/proc")
        .filter(|name| name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit))
        .map(|pid| Path::new("/proc").join(pid))
}

fn entries(directory: &str) -> impl Iterator<Item = std::ffi::OsString> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_namespace_is_among_those_of_the_machine() {
        let here = View::here().unwrap();
        let found = namespaces().iter().any(|path| path.metadata().is_ok_and(|file| file.ino() == here.id));
        assert!(found);
    }
}
