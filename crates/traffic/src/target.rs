//! What is measured.

use std::fmt;
use std::net::SocketAddr;

/// A UDP service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpTarget {
    /// Where it listens.
    pub address: SocketAddr,
    /// What comes back.
    pub reply: Reply,
}

/// What a target sends back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Each packet as it came: one that comes back otherwise is lost.
    Echo,
    /// Each packet's header, which says whose answer it is; what follows may be anything.
    Any,
    /// Nothing: it is asked for its counts, or its socket on this machine is looked at.
    None,
}

impl fmt::Display for UdpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "udp://{}", self.address)?;
        match self.reply {
            Reply::Echo => Ok(()),
            Reply::Any => f.write_str("?reply=any"),
            Reply::None => f.write_str("?reply=none"),
        }
    }
}
