//! How packets are sent and received: as told, or as fits.

use crate::frame::Link;
use crate::placement::{Cpus, Priority};
use std::fmt;
use std::str::FromStr;

/// How packets leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendMeans {
    /// As fits the load and the way to the target.
    #[default]
    Auto,
    /// One system call a packet.
    Send,
    /// All that are due in one system call, one after the other.
    Sendmmsg,
    /// All that are due as one train, which the kernel cuts into packets behind all queues (`UDP_SEGMENT`).
    Gso,
    /// As Ethernet frames of our own, past the queueing discipline (`AF_PACKET`).
    Packet,
}

/// How packets are received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReceiveMeans {
    /// As fits the CPUs at hand.
    #[default]
    Auto,
    /// Sleeping until packets are there.
    Block,
    /// Asking again and again, which keeps a CPU busy and spares whoever sends the wake-up.
    Spin,
    /// Spinning, and trains stay together until they are counted (`UDP_GRO`).
    Gro,
}

/// A word that is no means.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no way {word:?}; there are {known}")]
pub struct MeansError {
    word: String,
    known: String,
}

impl SendMeans {
    /// All, for help texts and errors.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Send, Self::Sendmmsg, Self::Gso, Self::Packet];

    /// The word a user types.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Send => "send",
            Self::Sendmmsg => "sendmmsg",
            Self::Gso => "gso",
            Self::Packet => "packet",
        }
    }
}

impl ReceiveMeans {
    /// All, for help texts and errors.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Block, Self::Spin, Self::Gro];

    /// The word a user types.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Block => "block",
            Self::Spin => "spin",
            Self::Gro => "gro",
        }
    }

    /// What fits `cpus` that are this program's own.
    pub(crate) fn or_for(self, cpus: usize) -> Self {
        /// For the sender, the receiver and somebody else.
        const ENOUGH: usize = 3;
        match self {
            Self::Auto if cpus >= ENOUGH => Self::Spin,
            Self::Auto => Self::Block,
            told => told,
        }
    }

    /// Whether it never sleeps.
    pub(crate) fn spins(self) -> bool {
        matches!(self, Self::Spin | Self::Gro)
    }
}

impl fmt::Display for SendMeans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ReceiveMeans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SendMeans {
    type Err = MeansError;

    fn from_str(word: &str) -> Result<Self, MeansError> {
        let all = Self::ALL;
        all.into_iter().find(|means| means.name() == word).ok_or_else(|| unknown(word, &all.map(Self::name)))
    }
}

impl FromStr for ReceiveMeans {
    type Err = MeansError;

    fn from_str(word: &str) -> Result<Self, MeansError> {
        let all = Self::ALL;
        all.into_iter().find(|means| means.name() == word).ok_or_else(|| unknown(word, &all.map(Self::name)))
    }
}

fn unknown(word: &str, known: &[&str]) -> MeansError {
    MeansError { word: word.into(), known: known.join(", ") }
}

/// What is chosen about moving packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Means {
    /// How packets leave.
    pub send: SendMeans,
    /// How they are received.
    pub receive: ReceiveMeans,
    /// Threads that send; each has streams of its own.
    pub senders: Option<usize>,
    /// Threads that receive; each has streams of its own.
    pub receivers: Option<usize>,
    /// Where they run.
    pub cpus: Cpus,
    /// Who goes first there.
    pub priority: Priority,
}

/// All that is chosen about moving packets, as opposed to the packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moving {
    /// How, by how many threads, where.
    pub means: Means,
    /// Where the streams' packets come from.
    pub sources: crate::Sources,
    /// Where they go, beside the target.
    pub targets: crate::Targets,
    /// The process that is the target, where that is known; else the one that holds its socket.
    pub target_pid: Option<u32>,
}

/// What a load asks of the way to the target.
pub(crate) struct Asked {
    pub(crate) payload: usize,
    pub(crate) pps: f64,
}

/// The way packets leave, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) means: SendMeans,
    pub(crate) why: &'static str,
}

/// More than one socket sends one by one over a virtual interface, by two thirds of the best seen.
pub(crate) const BEYOND_A_SOCKET_PPS: f64 = 250_000.0;
/// IPv6 and UDP headers.
const HEADERS: usize = 48;

impl Leaving {
    /// What fits. Where a queueing discipline waits on the way, only what it can count one by one is sent: it
    /// may drop a part of a train without a word, and frames of ours would pass it by.
    pub(crate) fn choose(told: SendMeans, asked: &Asked, link: Option<&Link>, may_frame: bool) -> Self {
        let is = |means, why| Self { means, why };
        if told != SendMeans::Auto {
            return is(told, "as told");
        }
        let Some(link) = link else {
            return is(SendMeans::Sendmmsg, "the way to the target is not known");
        };
        let queued = !link.loopback && link.queue != "noqueue";
        let fits = asked.payload + HEADERS <= link.mtu as usize;
        match () {
            () if queued => {
                is(SendMeans::Sendmmsg, "the interface has a queueing discipline that counts packets")
            }
            () if link.ethernet.is_some() && may_frame && fits && asked.pps > BEYOND_A_SOCKET_PPS => {
                is(SendMeans::Packet, "more than a socket sends over this interface")
            }
            () if fits => is(SendMeans::Gso, "what is due together leaves together"),
            () => is(SendMeans::Sendmmsg, "longer than the way allows in one piece"),
        }
    }
}

impl fmt::Display for Leaving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.means, self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(queue: &str, loopback: bool) -> Link {
        Link {
            interface: 1,
            next_hop: "10.0.0.1".parse().unwrap(),
            ethernet: (!loopback).then_some([1; 6]),
            loopback,
            mtu: 1500,
            queue: queue.into(),
        }
    }

    fn choose(link: Option<&Link>, pps: f64, payload: usize) -> SendMeans {
        Leaving::choose(SendMeans::Auto, &Asked { payload, pps }, link, true).means
    }

    #[test]
    fn trains_and_frames_are_sent_only_where_no_queue_would_miscount_them() {
        for pps in [1e3, 1e6] {
            assert_eq!(choose(Some(&link("tbf", false)), pps, 64), SendMeans::Sendmmsg);
            assert_eq!(choose(Some(&link("noqueue", true)), pps, 64), SendMeans::Gso);
            assert_eq!(choose(None, pps, 64), SendMeans::Sendmmsg);
        }
        assert_eq!(choose(Some(&link("noqueue", false)), 1e3, 64), SendMeans::Gso);
        assert_eq!(choose(Some(&link("noqueue", false)), 1e6, 64), SendMeans::Packet);
        assert_eq!(
            choose(Some(&link("noqueue", false)), 1e6, 1472),
            SendMeans::Sendmmsg,
            "with IPv6 too long"
        );
    }

    #[test]
    fn a_receiver_spins_where_a_cpu_is_left_for_others() {
        assert_eq!(ReceiveMeans::Auto.or_for(2), ReceiveMeans::Block);
        assert_eq!(ReceiveMeans::Auto.or_for(3), ReceiveMeans::Spin);
        assert_eq!(ReceiveMeans::Gro.or_for(1), ReceiveMeans::Gro, "as told");
    }

    #[test]
    fn means_are_read_as_they_are_written() {
        for means in SendMeans::ALL {
            assert_eq!(means.to_string().parse(), Ok(means));
        }
        for means in ReceiveMeans::ALL {
            assert_eq!(means.to_string().parse(), Ok(means));
        }
        let error = "fast".parse::<SendMeans>().unwrap_err().to_string();
        assert_eq!(error, "there is no way \"fast\"; there are auto, send, sendmmsg, gso, packet");
    }
}
