//! Linux: whose an address is, in this network namespace and in the others.

use std::fs::File;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

/// Addresses that packets sent to are delivered on this machine, in this namespace.
pub(crate) fn local_addresses() -> Vec<(IpAddr, u8)> {
    addresses_at(&PathBuf::from("/proc/thread-self/net"))
}

/// Addresses that other network namespaces of this machine hold, each with the `/proc/…/net` directory
/// of a process there, if one runs there. What may not be looked at is left out.
pub(crate) fn addresses_elsewhere() -> Vec<(IpAddr, Option<PathBuf>)> {
    use std::os::unix::fs::MetadataExt as _;
    let namespace = |path: PathBuf| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let mut seen = std::collections::BTreeSet::new();
    seen.extend(namespace("/proc/thread-self/ns/net".into()));
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        if !process.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        if namespace(process.path().join("ns/net")).is_some_and(|id| seen.insert(id)) {
            let net = process.path().join("net");
            found.extend(addresses_at(&net).into_iter().map(|(ip, _)| (ip, Some(net.clone()))));
        }
    }
    for named in std::fs::read_dir("/run/netns").into_iter().flatten().flatten() {
        if namespace(named.path()).is_some_and(|id| seen.insert(id)) {
            // A thread of its own, which ends there: this one must stay where it is.
            let inside = std::thread::spawn(move || {
                let entered = File::open(named.path()).is_ok_and(|namespace| {
                    // SAFETY: moves the calling thread, which nobody else uses, into the namespace.
                    unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) == 0 }
                });
                if entered { local_addresses() } else { Vec::new() }
            });
            found.extend(inside.join().unwrap_or_default().into_iter().map(|(ip, _)| (ip, None)));
        }
    }
    found
}

/// Local addresses (with their prefix length) by the routing tables of one namespace.
fn addresses_at(net: &std::path::Path) -> Vec<(IpAddr, u8)> {
    let read = |name| std::fs::read_to_string(net.join(name)).unwrap_or_default();
    let mut addresses = ipv4_addresses(&read("fib_trie"));
    addresses.extend(ipv6_addresses(&read("if_inet6")));
    addresses
}

/// Entries of `fib_trie` such as `|-- 10.0.0.1` followed by `/32 host LOCAL`.
fn ipv4_addresses(fib_trie: &str) -> Vec<(IpAddr, u8)> {
    let mut address = None;
    let mut found = Vec::new();
    for line in fib_trie.lines().map(str::trim) {
        if let Some(leaf) = line.strip_prefix("|-- ") {
            address = leaf.parse::<Ipv4Addr>().ok();
        } else if let (Some(ip), Some(prefix)) = (address, line.strip_suffix(" host LOCAL"))
            && let Some(length) = prefix.strip_prefix('/').and_then(|length| length.parse().ok())
            && !found.contains(&(ip.into(), length))
        {
            found.push((ip.into(), length));
        }
    }
    found
}

/// Lines of `if_inet6`: the address in 32 hexadecimal digits comes first.
fn ipv6_addresses(if_inet6: &str) -> Vec<(IpAddr, u8)> {
    let digits = |line: &str| u128::from_str_radix(line.split_whitespace().next()?, 16).ok();
    if_inet6.lines().filter_map(digits).map(|bits| (Ipv6Addr::from(bits).into(), 128)).collect()
}

/// Whether packets that leave with `source` as their address could reach a network outside this machine.
///
/// They cannot over a pair of virtual interfaces (veth), nor over a bridge that only such are plugged
/// into. Everything else could: tunnels and VLANs are virtual too, but end elsewhere.
pub(crate) fn leads_off_this_machine(source: IpAddr) -> bool {
    let interfaces = interfaces_with(source);
    interfaces.is_empty() || interfaces.iter().any(|interface| !is_closed(interface))
}

fn is_closed(interface: &str) -> bool {
    let ports = || {
        std::fs::read_dir(format!("/sys/class/net/{interface}/brif"))
            .map(|ports| ports.flatten().map(|port| port.file_name().to_string_lossy().into_owned()))
    };
    match driver(interface).as_deref() {
        Some("veth") => true,
        Some("bridge") => {
            ports().is_ok_and(|mut ports| ports.all(|port| driver(&port).as_deref() == Some("veth")))
        }
        _ => false,
    }
}

/// Names of the interfaces that hold this address.
fn interfaces_with(address: IpAddr) -> Vec<String> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: on success the call stores a list, which is freed below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Vec::new();
    }
    let mut names = Vec::new();
    let mut entry = first;
    // SAFETY: the list ends with a null pointer; each entry has a C string as its name and, if it has an
    // address, one of the length that its family says.
    unsafe {
        while let Some(interface) = entry.as_ref() {
            if !interface.ifa_addr.is_null() {
                let held = match i32::from((*interface.ifa_addr).sa_family) {
                    libc::AF_INET => {
                        let v4 = interface.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                        Some(IpAddr::from(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr))))
                    }
                    libc::AF_INET6 => {
                        let v6 = interface.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned();
                        Some(IpAddr::from(Ipv6Addr::from(v6.sin6_addr.s6_addr)))
                    }
                    _ => None,
                };
                if held == Some(address) {
                    names.push(std::ffi::CStr::from_ptr(interface.ifa_name).to_string_lossy().into_owned());
                }
            }
            entry = interface.ifa_next;
        }
        libc::freeifaddrs(first);
    }
    names
}

/// The kernel driver behind an interface, such as `veth`, as ethtool shows it.
fn driver(interface: &str) -> Option<String> {
    const ETHTOOL_GDRVINFO: u32 = 3;
    /// `struct ethtool_drvinfo` (linux/ethtool.h), of which only the driver's name is read.
    #[repr(C)]
    struct DriverInformation {
        command: u32,
        driver: [u8; 32],
        rest: [u8; 160],
    }
    let mut information = DriverInformation { command: ETHTOOL_GDRVINFO, driver: [0; 32], rest: [0; 160] };
    // SAFETY: a plain C structure for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    if interface.len() >= request.ifr_name.len() {
        return None;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut information).cast();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    // SAFETY: the request names an interface and points to a structure of the length that this command
    // fills: 4 + 32 + 160 bytes.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    let length = information.driver.iter().position(|&byte| byte == 0)?;
    (result == 0).then(|| String::from_utf8_lossy(&information.driver[..length]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_read_from_the_routing_tables() {
        let fib_trie = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.9.0.1\n        /32 host LOCAL\n     \
                        |-- 10.9.0.255\n        /32 link BROADCAST\n     +-- 127.0.0.0/8 2 0 2\n        \
                        |-- 127.0.0.0\n           /8 host LOCAL\n";
        assert_eq!(
            ipv4_addresses(fib_trie),
            [(Ipv4Addr::new(10, 9, 0, 1).into(), 32), (Ipv4Addr::new(127, 0, 0, 0).into(), 8)]
        );
        let if_inet6 = "00000000000000000000000000000001 01 80 10 80       lo\n";
        assert_eq!(ipv6_addresses(if_inet6), [(Ipv6Addr::LOCALHOST.into(), 128)]);
    }

    #[test]
    fn a_driver_is_known_by_its_name() {
        assert_eq!(driver("there-is-none"), None);
        assert_eq!(interfaces_with(Ipv4Addr::LOCALHOST.into()), ["lo"]);
    }
}
