//! The socket of a target on this machine.

use crate::kernel::process::Process;
use crate::kernel::socket_table::AtSocket;
use crate::sockets::whereabouts::Whereabouts;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The socket of this machine that takes what is sent to a target.
#[derive(Clone, Debug)]
pub struct TargetSocket {
    net: PathBuf,
    target: SocketAddr,
}

impl TargetSocket {
    /// Finds it; `None` if it is not on this machine, or not to be seen.
    pub fn find(target: SocketAddr) -> Option<Self> {
        let net = match Whereabouts::of(target) {
            Whereabouts::Here => PathBuf::from("/proc/thread-self/net"),
            Whereabouts::OtherNamespace { net } => net?,
            Whereabouts::Elsewhere => return None,
        };
        let found = Self { net, target };
        found.look().is_some().then_some(found)
    }

    /// What the kernel shows of it now; `None` if it is gone.
    pub fn look(&self) -> Option<AtSocket> {
        AtSocket::read(&self.net, self.target)
    }

    /// The process that holds it, and its name; `None` if this user may not look at it.
    pub fn program(&self) -> Option<(u32, Option<String>)> {
        let process = Process::with_socket(self.look()?.inode)?;
        Some((process.pid, process.name))
    }
}
