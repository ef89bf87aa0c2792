//! How the packets of a load leave, and why so.

use crate::means::SendMeans;
use crate::packet::frame::Link;
use std::fmt;

/// What a load asks of the way to the target.
pub(crate) struct AskedLoad {
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
    pub(crate) fn choose(told: SendMeans, asked: &AskedLoad, link: Option<&Link>, may_frame: bool) -> Self {
        let is = |means, why| Self { means, why };
        if told != SendMeans::Auto {
            return is(told, "as told");
        }
        let Some(link) = link else {
            return is(SendMeans::Sendmmsg, "the path to the target is not known");
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
            () => is(SendMeans::Sendmmsg, "longer than the path allows in one piece"),
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
        Leaving::choose(SendMeans::Auto, &AskedLoad { payload, pps }, link, true).means
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
}
