//! What remains when all counters were heard, and can only have been lost at one place; and what the kernel's reasons say.

use super::{Hearing, LONGEST_TRAIN, QUESTIONS};
use crate::{Place, Role, Site, Space, Way};

/// Why a place was given packets that no counter counted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inference {
    Arrivals,
    Between,
    Closed,
    Down,
    Heard,
    Neighbour,
    Reason,
    Refused,
    Shut,
    Trains,
}

impl Inference {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Arrivals => {
                "more packets arrived at the interfaces than came to the IP layer, and other protocols' \
                 arrivals are among them"
            }
            Self::Between => {
                "more packets left one host than came to the next one that was observed, and other programs' are among both"
            }
            Self::Closed => "the target closed its socket; what waited there vanishes without a counter",
            Self::Down => {
                "an interface on the path was down, or its peer was, and the kernel counts next to none of \
                 what is given to one"
            }
            Self::Heard => {
                "both ends share the namespace that counts what meets no listener, and as many packets were read there as \
                 requests and replies together: the requests came, so replies went to ports at which nobody listens"
            }
            Self::Neighbour => {
                "the next hop's hardware address was not found, and the kernel does not count what waits for it"
            }
            Self::Reason => {
                "the kernel's tracepoint names it, in which the drops of all programs and namespaces are mixed"
            }
            Self::Refused => {
                "the system refused to send them, and the kernel counts what a firewall refused like what a full \
                 send buffer did once the socket has waited for room, or what a program in front of the interface did: it was \
                 the one or the other"
            }
            Self::Shut => {
                "the target closed its socket, and the kernel counted as many packets that met none; other programs' may be among \
                 them"
            }
            Self::Trains => {
                "packets left in trains, and below the socket the kernel counts a train as one packet"
            }
        }
    }
}

impl Hearing<'_> {
    pub(super) fn infer(&mut self, site: Site, packets: u64, why: Inference) {
        let got = self.ledger.claim(site, packets);
        if got > 0 {
            self.inferred.push((site, got, why));
        }
    }

    /// What no counter counts, and can be what remains.
    pub(super) fn remainders(&mut self) {
        let counted = self.ledger.places().iter().filter(|(site, _)| site.place.counts_trains());
        // What was answered from elsewhere was heard one by one.
        let elsewhere =
            |site: Site| if site == Site::back(Place::NoListener) { self.outcome.elsewhere } else { 0 };
        let counted = counted.map(|(&site, packets)| (site, packets.saturating_sub(elsewhere(site))));
        if let Some((site, ticks)) = counted.max_by_key(|(_, ticks)| *ticks) {
            let behind = ticks.saturating_mul(LONGEST_TRAIN - 1).min(self.outcome.in_trains);
            self.infer(site, behind, Inference::Trains);
        }
        if self.outcome.closed {
            self.ledger.hear(self.target_space());
            // What came once it was closed met no socket, whoever else was sent packets meanwhile.
            let met_none = self.withheld.remove(&Place::NoListener).unwrap_or(0);
            self.infer(Site::out(Place::NoListener), met_none, Inference::Shut);
            self.infer(Site::out(Place::Unread), u64::MAX, Inference::Closed);
        }
        for space in &self.grown.spaces {
            self.ledger.hear(Some(space.id));
            let Some(devices) = &space.devices else { continue };
            let left: u64 = devices.iter().map(|device| device.transmitted).sum();
            let dropped: u64 = devices.iter().filter_map(|device| device.queue_drops).sum();
            // What the IP layer gave away and no interface sent.
            let stuck = space.stack.transmitted.saturating_sub(left).saturating_sub(dropped);
            let way = space.departs().unwrap_or(Way::Out);
            if space.is_cut() {
                self.infer(Site { way, place: Place::LinkDown }, stuck, Inference::Down);
            } else if space.neighbour_found == Some(false) && stuck > 0 {
                // The few frames that left are the kernel's own questions.
                let asked = left.min(QUESTIONS);
                self.infer(Site { way, place: Place::Neighbour }, stuck + asked, Inference::Neighbour);
            }
            if space.hooked.is_none() {
                let way = space.arrives().unwrap_or(Way::Out);
                self.infer(Site { way, place: Place::Ingress }, space.vanished_before(), Inference::Arrivals);
            }
        }
    }

    /// Whether packets can vanish at a place, uncounted, on the trial's own way: what the kernel says is of all
    /// namespaces of the machine.
    fn is_on_the_way(&self, place: Place) -> bool {
        let spaces = || self.grown.spaces.iter();
        match place {
            Place::Ingress => spaces().any(|space| space.hooked != Some(false)),
            Place::Netfilter => self.spaces_ruled().next().is_some(),
            Place::LinkDown => spaces().any(|space| space.devices.is_none() || space.is_cut()),
            Place::Neighbour => {
                spaces().any(|space| space.role != Role::Both && space.neighbour_found != Some(true))
            }
            Place::Softnet => spaces().any(|space| {
                space.devices.is_none() || space.devices().any(|device| device.receive_drops > 0)
            }),
            Place::Unread => self.outcome.closed || self.grown.target.is_none(),
            _ => true,
        }
    }

    /// The only way on which packets can vanish at a place, uncounted; `None` if both, or nobody can tell.
    fn way_of(&self, place: Place) -> Option<Way> {
        let mut ways = self.spaces_ruled().map(|space| space.ruled_way).filter(|_| place == Place::Netfilter);
        let first = ways.next()??;
        ways.all(|way| way == Some(first)).then_some(first)
    }

    fn spaces_ruled(&self) -> impl Iterator<Item = &Space> {
        self.grown.spaces.iter().filter(|space| space.ruled != Some(false))
    }

    /// What the kernel says it dropped packets for, beyond what was claimed.
    pub(super) fn reasons(&mut self) {
        self.ledger.hear(None);
        let reasons = self.grown.reasons.iter().flatten();
        for (&place, &packets) in reasons {
            if place.is_told_by_generator() || !self.is_on_the_way(place) {
                continue;
            }
            let claimed: u64 = self
                .ledger
                .places()
                .iter()
                .filter(|(site, _)| site.place == place)
                .map(|(_, packets)| packets)
                .sum();
            // Our own socket's drops are no loss of the target's.
            let ours = if place == Place::ReceiveBuffer { self.outcome.generator_lost } else { 0 };
            let withheld = self.withheld.get(&place).copied().unwrap_or(0);
            let more = packets.saturating_sub(claimed).saturating_sub(ours).saturating_sub(withheld);
            let way = self.way_of(place);
            let got = match way {
                Some(way) => self.ledger.claim(Site { way, place }, more),
                None => self.ledger.claim_either(place, more),
            };
            if got > 0 {
                self.inferred.push((Site { way: way.unwrap_or(Way::Out), place }, got, Inference::Reason));
            }
        }
    }
}

impl Place {
    /// Whether the kernel counts a train of packets as one here.
    fn counts_trains(self) -> bool {
        !matches!(
            self,
            Self::ReceiveBuffer
                | Self::SocketFilter
                | Self::UdpMemory
                | Self::ServiceQueue
                | Self::Unread
                | Self::Late
                | Self::ReplyTruncated
                | Self::ReplyExtended
                | Self::ReplyChanged
                | Self::Unexplained
        )
    }
}
