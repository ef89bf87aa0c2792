//! One end: an interface in a network namespace of this machine.

use crate::error::LinkError;
use crate::sys::{Seen, look};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
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

    /// Looks at it, and whether frames can leave and come out there.
    pub(crate) fn open(&self) -> Result<Opened, LinkError> {
        let space = Space::of(self)?;
        let seen = space.inside(|| self.look())?;
        let seen = seen.map_err(|why| LinkError::NoInterface { port: self.to_string(), why })?;
        let unfit = |what| LinkError::Unfit { port: self.to_string(), what };
        if seen.loopback {
            return Err(unfit("is loopback: what leaves there comes back, and nothing is between"));
        }
        let hardware = seen.hardware.ok_or_else(|| unfit("is not an Ethernet interface"))?;
        if !seen.up {
            return Err(unfit("is down, or nothing is at its other end: ip link set dev IF up"));
        }
        Ok(Opened { space, port: self.clone(), seen, hardware })
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
    /// What became of it since it was looked at, in words, where that matters to frames that are under way.
    pub(crate) fn changed(&self) -> Option<String> {
        let how = match self.space.inside(|| look(self.port.interface())) {
            Ok(Ok(now)) if now.index != self.seen.index || now.hardware != self.seen.hardware => {
                "became another interface"
            }
            Ok(Ok(now)) if !now.up => "was switched off, or lost its other end",
            Ok(Ok(_)) => return None,
            Ok(Err(_)) => "went away",
            Err(_) => "cannot be looked at any more",
        };
        Some(format!("{} {how}", self.port))
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
}
