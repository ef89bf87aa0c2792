//! What is measured.

use dropline_payload::service::Service;
use dropline_trial::Packet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

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
    /// What its protocol has it say: it is asked in that, and what it says is judged.
    Service(&'static Service),
}

impl Reply {
    /// As a target begins that answers so.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Service(service) => service.protocol().scheme,
            Self::Echo | Self::Any | Self::None => "udp://",
        }
    }

    /// Whether anything comes back.
    pub(crate) fn is_answered(self) -> bool {
        match self {
            Self::Echo | Self::Any => true,
            Self::None => false,
            Self::Service(service) => service.is_answered(),
        }
    }

    /// Of a service that is asked so. Targets are copied as words are: what is asked is kept for as long as the program runs,
    /// once however often it is named.
    pub fn of_service(service: Service) -> Self {
        static NAMED: Mutex<Vec<&Service>> = Mutex::new(Vec::new());
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = named.iter().find(|known| ***known == service).copied();
        Self::Service(known.unwrap_or_else(|| {
            let kept: &'static Service = Box::leak(Box::new(service));
            named.push(kept);
            kept
        }))
    }
}

impl UdpTarget {
    /// What is sent to it, where packets like these are wished for: a service gets its requests, whose longest this is.
    pub(crate) fn packet(&self, wished: Packet) -> Packet {
        match self.reply {
            Reply::Service(service) => {
                let longest = u32::try_from(service.longest_request()).unwrap_or(u32::MAX);
                Packet::of_requests(longest, f64::from(longest)).unwrap_or(wished)
            }
            Reply::Echo | Reply::Any | Reply::None => wished,
        }
    }
}

impl fmt::Display for UdpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.reply.scheme(), self.address)?;
        match self.reply {
            Reply::Echo | Reply::Service(_) => Ok(()),
            Reply::Any => f.write_str("?reply=any"),
            Reply::None => f.write_str("?reply=none"),
        }
    }
}
