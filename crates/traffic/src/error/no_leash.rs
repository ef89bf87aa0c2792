//! Why packets to a service cannot be kept on this machine, and what leads them elsewhere.

use std::io;
use std::net::{IpAddr, SocketAddr};

/// Why packets to a service cannot be kept on this machine.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoLeash {
    /// No namespace that packets to it would come to has the address.
    #[error("{0} is not on this machine or in one of its network namespaces")]
    Elsewhere(IpAddr),
    /// A namespace of this machine has the address, and packets to it do not come there by themselves.
    #[error("{address} is an address of {namespace}, but packets to it {way}: that is not followed")]
    Apart {
        /// Where packets were to go.
        address: IpAddr,
        /// Who has it, by its name.
        namespace: String,
        /// The way that they go, in words.
        way: String,
    },
    /// Another namespace has the address than had it when the measurement began.
    #[error(
        "{address} was an address of {from} when this measurement began, and packets to it come to {to} now"
    )]
    Moved {
        /// Where packets were to go.
        address: IpAddr,
        /// Who had it, by its name.
        from: String,
        /// Who has it.
        to: String,
    },
    /// They would leave by an interface behind which anything may be.
    #[error(
        "packets to {address} pass interface {interface} ({kind}), and where it leads is not followed: that may be another host"
    )]
    LeadsOff {
        /// Where packets were to go.
        address: IpAddr,
        /// By its name.
        interface: String,
        /// What it is, in words.
        kind: String,
    },
    /// This user may not look there.
    #[error(
        "whether {address} is in a network namespace of this machine cannot be seen: packets to it pass \
         {interface}, and what is at its other end is hidden from this user"
    )]
    Unseen {
        /// Where packets were to go.
        address: IpAddr,
        /// By its name.
        interface: String,
    },
    /// A rule of a firewall on the way copies packets, or hands them on, past what could hold them, or sets the time to live
    /// that holds them.
    #[error(
        "packets to {address} may not stay on this machine: a rule of a firewall that they, or their replies, may meet \
         gives them, or copies of them, to another host, or lets routers pass them on ({rule})"
    )]
    LedAway {
        /// Where packets were to go.
        address: IpAddr,
        /// What the rule does, and its chain.
        rule: String,
    },
    /// Packets of the trial before left by an interface that is not on the way.
    #[error(
        "packets of the trial before, or copies of them, left by {interface}, which is not on the path to {address} or back"
    )]
    LeftElsewhere {
        /// Where packets were to go.
        address: IpAddr,
        /// By its name, and that of its namespace.
        interface: String,
    },
    /// A way leads them, as it stands now, past the namespace that has the address.
    #[error("packets to {address} do not stay on this machine for certain: {by}")]
    Diverted {
        /// Where packets were to go.
        address: IpAddr,
        /// What leads them.
        by: Detour,
    },
    /// The system had no thread, no file or no memory left to look with.
    #[error("whether packets to {address} stay on this machine could not be found out: {why}")]
    NotLooked {
        /// Where packets were to go.
        address: IpAddr,
        /// In the system's words.
        why: String,
    },
    /// The address is of this machine, but not of its loopback interface, where alone packets can be held.
    #[error(
        "{0} is an IPv6 address of this machine that loopback does not have: packets that are kept from leaving loopback do \
         not reach it"
    )]
    Loose(IpAddr),
}

impl NoLeash {
    /// Whether the address is another host's, as far as can be told: one that may have consented.
    pub fn is_of_another_host(&self) -> bool {
        matches!(self, Self::Elsewhere(_) | Self::Apart { .. } | Self::LeadsOff { .. } | Self::Unseen { .. })
    }

    /// The one that an error of holding a socket is of.
    pub fn inside(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// What leads packets elsewhere, or keeps anybody from telling where they go; `None` where nothing was left to look with.
    pub(crate) fn leads(self) -> Option<String> {
        match self {
            Self::LedAway { rule, .. } => Some(rule),
            Self::Diverted { by, .. } => Some(by.to_string()),
            Self::NotLooked { .. } => None,
            other => Some(other.to_string()),
        }
    }

    /// Whether nobody was found to whom packets would come, which is so too of those that cannot leave.
    pub(crate) fn finds_nobody(&self) -> bool {
        matches!(self, Self::Elsewhere(_) | Self::Apart { .. } | Self::Loose(_))
    }
}

/// What leads packets elsewhere than to whoever has their address.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detour {
    /// A router that is not where the address is.
    #[error(
        "their route goes by way of {0}, and the namespace that they are for does not have that address there"
    )]
    Gateway(IpAddr),
    /// Another packet around each of them.
    #[error("their route puts them into other packets (an encapsulation), and where those go is not known")]
    Encapsulation,
    /// IPsec.
    #[error("a policy of IPsec for {0} may put them into other packets, and where those go is not known")]
    Policy(String),
    /// An entry in the table of neighbours.
    #[error(
        "the hardware address of their next hop {hop} is taken to be {hardware}, and no interface of the namespace that they \
         are for has that"
    )]
    Neighbour {
        /// Whose it is taken to be.
        hop: IpAddr,
        /// As it is written.
        hardware: String,
    },
    /// A bridge that does not know where they are to go, or knows otherwise.
    #[error(
        "bridge {bridge} {} {hardware}, which they or replies to them are for, and would send them out by {port}, which does \
         not lead there",
        if *is_known { "has the wrong port for" } else { "does not know behind which of its ports it finds" }
    )]
    Bridge {
        /// By its name, and that of its namespace.
        bridge: Box<str>,
        /// The hardware address of whom they are for.
        hardware: Box<str>,
        /// A port that leads to others.
        port: Box<str>,
        /// Whether the table of the bridge says so; else it floods.
        is_known: bool,
    },
    /// A rule or a route for some of them, by their port, mark, source or type of service.
    #[error(
        "a rule of routing leads some of them, or replies to them, another way, by their port, protocol, source, mark or type \
         of service{}",
        which(rule)
    )]
    Rule {
        /// The rule, its table and where that leads, where they are known.
        rule: Option<String>,
    },
    /// Interfaces on top of one of the way, beside which others get packets, or may.
    #[error(
        "interfaces are on top of interface {below}, which they pass (macvlan, ipvlan and their like), and {other} may get them, \
         or copies of them, too: that hangs on modes, hardware addresses and on what else is there, which may change at any moment"
    )]
    Stacked {
        /// The interface below, and its namespace.
        below: Box<str>,
        /// The interface that may get them, and its namespace.
        other: Box<str>,
    },
    /// A program, or an action of traffic control that does more than to drop and count.
    #[error("nobody can tell where it sends them, or copies of them: {what}")]
    NotKnown {
        /// What it is, and where it stands.
        what: Box<str>,
    },
    /// An entry of connection tracking, which stays when the rule that made it is taken away.
    #[error(
        "connection tracking in {namespace} has an entry of packets from port {port} from before, which leads them to {to} instead, \
         whatever the rules say now"
    )]
    Tracked {
        /// The port that the packets come from.
        port: u16,
        /// Where they would go.
        to: IpAddr,
        /// Where the entry is.
        namespace: Box<str>,
    },
    /// Two namespaces have the address.
    #[error(
        "{one} and {other} both have that address, and who of them gets packets hangs on who answers first when it is asked for"
    )]
    Shared {
        /// By its name.
        one: Box<str>,
        /// By its name.
        other: Box<str>,
    },
    /// A program at a control group writes another address into what is connected.
    #[error("a socket that is connected to it is led to {0} instead, by a program at a control group (eBPF)")]
    Connected(SocketAddr),
}

/// A rule that is known, behind what it does.
fn which(rule: &Option<String>) -> String {
    rule.as_ref().map(|rule| format!(" ({rule})")).unwrap_or_default()
}
