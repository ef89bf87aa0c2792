//! One end: an interface in a network namespace of this machine, and whether frames may be sent there.

use crate::error::LinkError;
use crate::frame::DESTINATION;
use crate::sys::{Seen, look};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An interface as the user names it: `IF`, or `NETNS/IF`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    namespace: Option<String>,
    interface: String,
}

/// The kernel says once a second which interfaces are up (linkwatch).
const COMES_UP: Duration = Duration::from_secs(3);
const LOOKS_AGAIN: Duration = Duration::from_millis(20);

/// Where `ip netns` keeps namespaces by their names.
const NAMES: &str = "/run/netns";

impl LinkEnd {
    /// Reads one.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(word: &str) -> Result<Self, LinkError> {
        let wrong = || LinkError::Word(word.into());
        let (namespace, interface) = match word.split_once('/') {
            Some((namespace, interface)) => (Some(namespace), interface),
            None => (None, word),
        };
        let is_name = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
        // As the kernel has it (dev_valid_name).
        let fits = interface.len() < libc::IFNAMSIZ
            && !interface.contains([':'])
            && !interface.contains(char::is_whitespace);
        if !fits || !is_name(interface) || !namespace.is_none_or(is_name) {
            return Err(wrong());
        }
        Ok(Self { namespace: namespace.map(str::to_owned), interface: interface.into() })
    }

    /// The file of its namespace; `None` for the one of the calling thread.
    pub fn namespace(&self) -> Option<PathBuf> {
        self.namespace.as_ref().map(|name| Path::new(NAMES).join(name))
    }

    /// Its name in its namespace.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Looks at it, and whether frames of a trial may be there; `though_used` lets them be where others are.
    pub(crate) fn open(&self, though_used: bool) -> Result<Opened, LinkError> {
        let space = Space::of(self)?;
        let seen = space.inside(|| self.look())?;
        let seen = seen.map_err(|why| LinkError::NoInterface { port: self.to_string(), why })?;
        let (routes, forwards) = space.inside(|| (Routes::here(), self.is_forwarding()))?;
        let is_own = self.namespace.is_none() || space.is_own();
        let unfit = |what| LinkError::Unfit { port: self.to_string(), what };
        if seen.loopback {
            return Err(unfit("is loopback: what leaves there comes back, and nothing is between"));
        }
        let hardware = seen.hardware.ok_or_else(|| unfit("is not an Ethernet interface"))?;
        if !seen.up {
            return Err(unfit("is down, or nothing is at its other end: ip link set dev IF up"));
        }
        let in_use = match () {
            () if routes.has_default(&self.interface) => Some("carries the default route of its namespace"),
            () if is_own && (seen.addressed || routes.has_address(&self.interface)) => {
                Some("has an address of this machine")
            }
            () if forwards && routes.lead(DESTINATION.octets()) => {
                Some("passes on to others what it receives (net.ipv4.conf.IF.forwarding)")
            }
            () => None,
        };
        match in_use.filter(|_| !though_used) {
            Some(how) => Err(LinkError::InUse { port: self.to_string(), how }),
            None => Ok(Opened { space, port: self.clone(), seen, hardware }),
        }
    }
}

impl LinkEnd {
    /// Whether its namespace routes what comes in there.
    fn is_forwarding(&self) -> bool {
        let place = Path::new("/proc/sys/net/ipv4/conf").join(&self.interface).join("forwarding");
        std::fs::read_to_string(place).is_ok_and(|text| text.trim() != "0")
    }

    /// What it is. One that was switched on just now is up a moment later.
    fn look(&self) -> io::Result<Seen> {
        let until = Instant::now() + COMES_UP;
        loop {
            let seen = look(&self.interface)?;
            if seen.up || Instant::now() > until {
                return Ok(seen);
            }
            std::thread::sleep(LOOKS_AGAIN);
        }
    }
}

impl fmt::Display for LinkEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.interface),
            None => f.write_str(&self.interface),
        }
    }
}

/// An interface that was looked at.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) space: Space,
    pub(crate) port: LinkEnd,
    pub(crate) seen: Seen,
    pub(crate) hardware: [u8; 6],
}

impl Opened {
    /// What became of it since it was looked at, where that matters to frames that are under way.
    pub(crate) fn changed(&self) -> Option<LinkError> {
        let how = match self.space.inside(|| look(self.port.interface())) {
            Ok(Ok(now)) if now.index != self.seen.index || now.hardware != self.seen.hardware => {
                "became another interface"
            }
            Ok(Ok(now)) if !now.up => "was switched off, or lost its other end",
            Ok(Ok(_)) => return None,
            Ok(Err(_)) => "went away",
            Err(why) => return Some(why),
        };
        Some(LinkError::Changed { port: self.port.to_string(), how })
    }
}

/// A network namespace, held open; `None` is that of whoever asks.
#[derive(Debug)]
pub(crate) struct Space(Option<File>);

impl Space {
    /// That of a port.
    ///
    /// # Errors
    /// If it is not there.
    pub(crate) fn of(port: &LinkEnd) -> Result<Self, LinkError> {
        let (Some(path), Some(name)) = (port.namespace(), &port.namespace) else { return Ok(Self(None)) };
        File::open(path)
            .map(|file| Self(Some(file)))
            .map_err(|why| LinkError::Namespace { name: name.clone(), why })
    }

    /// Whether it is that of the calling thread, by whatever name.
    fn is_own(&self) -> bool {
        let identity = |metadata: io::Result<std::fs::Metadata>| metadata.ok().map(|it| (it.dev(), it.ino()));
        let own = identity(std::fs::metadata("/proc/thread-self/ns/net"));
        self.0.as_ref().is_none_or(|file| own.is_some() && identity(file.metadata()) == own)
    }

    /// Does `work` on a thread inside.
    ///
    /// # Errors
    /// If it may not be entered.
    pub(crate) fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LinkError> {
        let Some(file) = &self.0 else { return Ok(work()) };
        std::thread::scope(|scope| {
            let enter = || -> io::Result<T> {
                let kind = rustix::thread::LinkNameSpaceType::Network;
                rustix::thread::move_into_link_name_space(file.as_fd(), Some(kind))?;
                Ok(work())
            };
            let thread = std::thread::Builder::new().spawn_scoped(scope, enter).map_err(LinkError::Thread)?;
            let done = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done.map_err(LinkError::of("entering a network namespace", "CAP_SYS_ADMIN"))
        })
    }
}

/// What the tables of a namespace say of its interfaces.
#[derive(Default)]
struct Routes {
    route: String,
    ipv6_route: String,
    if_inet6: String,
}

impl Routes {
    /// Those of the calling thread's namespace.
    fn here() -> Self {
        let read = |name: &str| {
            std::fs::read_to_string(Path::new("/proc/thread-self/net").join(name)).unwrap_or_default()
        };
        Self { route: read("route"), ipv6_route: read("ipv6_route"), if_inet6: read("if_inet6") }
    }

    /// Whether a route to everywhere leads by an interface.
    fn has_default(&self, interface: &str) -> bool {
        let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let older = self.route.lines().skip(1).map(fields).any(|route| {
            let at = |field: usize| route.get(field).map(String::as_str);
            // Half of all addresses is as good as all of them: two routes make a default one.
            let is_wide = |mask: &str| u32::from_str_radix(mask, 16).is_ok_and(|mask| mask.count_ones() <= 1);
            at(0) == Some(interface) && at(7).is_some_and(is_wide)
        });
        older
            || self.ipv6_route.lines().map(fields).any(|route| {
                let at = |field: usize| route.get(field).map(String::as_str);
                at(9) == Some(interface) && matches!(at(1), Some("00" | "01"))
            })
    }

    /// Whether a route leads to an address.
    fn lead(&self, to: [u8; 4]) -> bool {
        let number = |text: Option<&str>| text.and_then(|text| u32::from_str_radix(text, 16).ok());
        self.route.lines().skip(1).any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (destination, mask) = (number(fields.get(1).copied()), number(fields.get(7).copied()));
            destination
                .zip(mask)
                .is_some_and(|(destination, mask)| u32::from_ne_bytes(to) & mask == destination)
        })
    }

    /// Whether it has an IPv6 address of more than the link.
    fn has_address(&self, interface: &str) -> bool {
        self.if_inet6.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // The scope of the link is 20.
            fields.get(5) == Some(&interface) && fields.get(3) != Some(&"20")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_an_interface_with_or_without_its_namespace() {
        for (word, namespace, interface) in [
            ("eth0", None, "eth0"),
            ("lab/near", Some("/run/netns/lab"), "near"),
            ("a.b/veth-1", Some("/run/netns/a.b"), "veth-1"),
        ] {
            let port = LinkEnd::parse(word).unwrap();
            assert_eq!((port.namespace(), port.interface()), (namespace.map(PathBuf::from), interface));
            assert_eq!(port.to_string(), word);
        }
        for bad in ["", "/", "a/", "/b", "a/b/c", "../x/y", "..", "a b", "sixteen-letters-", "e:0"] {
            assert!(LinkEnd::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_interface_with_a_default_route_or_an_address_is_known() {
        let routes = Routes {
            route: "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                    eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                    eth1\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
                .into(),
            ipv6_route: "00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
                         fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth2\n\
                         fe800000000000000000000000000000 40 00000000000000000000000000000000 00 \
                         00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth1\n"
                .into(),
            if_inet6: "fe80000000000000020000fffe000001 02 40 20 80     eth1\n\
                       20010db8000000000000000000000001 03 40 00 80     eth3\n"
                .into(),
        };
        let default = ["eth0", "eth1", "eth2", "eth3"].map(|name| routes.has_default(name));
        assert_eq!(default, [true, false, true, false]);
        assert_eq!(["eth1", "eth3"].map(|name| routes.has_address(name)), [false, true]);
        assert!(routes.lead([198, 19, 0, 1]), "by the default route");
        let (head, local) = (routes.route.lines().next().unwrap(), routes.route.lines().nth(2).unwrap());
        let halves = "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000080\t0\t0\t0";
        let of = |lines: &[&str]| Routes { route: [&[head], lines].concat().join("\n"), ..Routes::default() };
        assert!(of(&[halves]).has_default("eth0"), "half of all addresses");
        assert!(!of(&[local]).lead([198, 19, 0, 1]) && of(&[local]).lead([172, 17, 9, 9]));
    }
}
