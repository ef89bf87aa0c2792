//! The places where a packet can vanish, by the names that a record has for them.

use dropline_trial::direction::host_and_place;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where packets can be lost on one host, from the sending program to the receiving one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Place {
    /// The receiving socket's buffer was full.
    ReceiveBuffer,
    /// A filter program at the receiving socket refused it.
    SocketFilter,
    /// Its UDP checksum was wrong.
    Checksum,
    /// No socket took packets at that port, or its socket was connected to another peer.
    NoListener,
    /// No socket took it, while packets of other streams were taken all the time: a rule led it elsewhere.
    LedAway,
    /// A queueing discipline had no room.
    Qdisc,
    /// The ring of an interface, or of the one at its other end, had no room.
    Ring,
    /// A firewall rule.
    Netfilter,
    /// A rule at the receiving device, before the network layer.
    Ingress,
    /// Its source address is one of the namespace that it came to.
    Martian,
    /// The reverse path filter: its source address is not reached the way it came.
    RpFilter,
    /// It carried another host's hardware address.
    OtherHost,
    /// The next hop's hardware address was never found.
    Neighbour,
    /// A device or its peer was down.
    LinkDown,
    /// It left one host and did not come to the next that was observed.
    Between,
    /// Its time to live ran out at a router.
    Ttl,
    /// A router knew no way, or does not forward.
    NoRoute,
    /// A fragment of it was missing.
    Fragment,
    /// The kernel's per-CPU backlog was full.
    Softnet,
    /// UDP as a whole had no memory left.
    UdpMemory,
    /// The sending socket's buffer was full; on the way back alone, as our own sends are told.
    SendBuffer,
    /// The target's own queue, behind its socket, was full.
    ServiceQueue,
    /// It waited at the socket when nobody looked any more, or the socket was closed over it.
    Unread,
    /// It came back after the drain had ended, or later than a goal allows.
    Late,
    /// It came back shorter than it was sent.
    ReplyTruncated,
    /// It came back longer than it was sent.
    ReplyExtended,
    /// It came back with other bytes than it was sent.
    ReplyChanged,
    /// No counter tells.
    Unexplained,
}

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Way {
    /// From us to the target.
    Out,
    /// From the target back to us.
    Back,
}

/// A place on one of the two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// Towards the target or back from it.
    pub way: Way,
    /// Where on that way.
    pub place: Place,
}

impl Place {
    /// All of them, in the order in which a record lists them.
    pub const ALL: [Self; 28] = [
        Self::ReceiveBuffer,
        Self::SocketFilter,
        Self::Checksum,
        Self::NoListener,
        Self::LedAway,
        Self::Qdisc,
        Self::Ring,
        Self::Netfilter,
        Self::Ingress,
        Self::Martian,
        Self::RpFilter,
        Self::OtherHost,
        Self::Neighbour,
        Self::LinkDown,
        Self::Between,
        Self::Ttl,
        Self::NoRoute,
        Self::Fragment,
        Self::Softnet,
        Self::UdpMemory,
        Self::SendBuffer,
        Self::ServiceQueue,
        Self::Unread,
        Self::Late,
        Self::ReplyTruncated,
        Self::ReplyExtended,
        Self::ReplyChanged,
        Self::Unexplained,
    ];

    /// Its name in a record, without the way.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReceiveBuffer => "receive_buffer",
            Self::SocketFilter => "socket_filter",
            Self::Checksum => "checksum",
            Self::NoListener => "no_listener",
            Self::LedAway => "led_away",
            Self::Qdisc => "qdisc",
            Self::Ring => "ring",
            Self::Netfilter => "netfilter",
            Self::Ingress => "ingress",
            Self::Martian => "martian",
            Self::RpFilter => "rp_filter",
            Self::OtherHost => "other_host",
            Self::Neighbour => "neighbour",
            Self::LinkDown => "link_down",
            Self::Between => "between",
            Self::Ttl => "ttl",
            Self::NoRoute => "no_route",
            Self::Fragment => "fragment",
            Self::Softnet => "softnet",
            Self::UdpMemory => "udp_memory",
            Self::SendBuffer => "send_buffer",
            Self::ServiceQueue => "service_queue",
            Self::Unread => "unread",
            Self::Late => "late",
            Self::ReplyTruncated => "reply_truncated",
            Self::ReplyExtended => "reply_extended",
            Self::ReplyChanged => "reply_changed",
            Self::Unexplained => "unexplained",
        }
    }
}

impl Place {
    /// Whether the generator alone can tell it, of a reply or of a remainder: no kernel has a reason for it,
    /// and its key names no way.
    pub fn is_told_by_generator(self) -> bool {
        matches!(
            self,
            Self::Late | Self::ReplyTruncated | Self::ReplyExtended | Self::ReplyChanged | Self::Unexplained
        )
    }
}

impl Site {
    /// Packets for which nothing says where they went, or on which way.
    pub const UNEXPLAINED: Self = Self { way: Way::Out, place: Place::Unexplained };

    /// On the way to the target.
    pub fn out(place: Place) -> Self {
        Self { way: Way::Out, place }
    }

    /// On the way back.
    pub fn back(place: Place) -> Self {
        Self { way: Way::Back, place }
    }

    /// The key of a record's `lost_at`: the place's name, on the way back with `return_` before it. What is
    /// late or unexplained is so whatever the way, and only a reply can come back otherwise than it was sent.
    pub fn key(self) -> String {
        let name = self.place.name();
        match (self.way, self.place) {
            (Way::Back, place) if !place.is_told_by_generator() => {
                format!("return_{name}")
            }
            _ => name.into(),
        }
    }

    /// Every site once, in the order of [`Place::ALL`], first those on the way to the target.
    pub fn all() -> impl Iterator<Item = Self> {
        let back = Place::ALL.into_iter().filter(|place| !place.is_told_by_generator()).map(Self::back);
        Place::ALL.into_iter().map(Self::out).chain(back)
    }

    /// The site that a record's key names, on whichever host; `None` for a key of a later version.
    pub fn of_key(key: &str) -> Option<Self> {
        let (_, key) = host_and_place(key);
        let (way, name) = match key.strip_prefix("return_") {
            Some(name) => (Way::Back, name),
            None => (Way::Out, key),
        };
        let place = Place::ALL.into_iter().find(|place| place.name() == name)?;
        let site = Self { way, place };
        (site.key() == key).then_some(site)
    }
}

impl fmt::Display for Site {
    /// As a person reads it: `receive buffer`, `receive buffer (return)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place.name().replace('_', " "))?;
        match self.way {
            Way::Back if self.key().starts_with("return_") => f.write_str(" (return)"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_that_are_promised() {
        let promised = "receive_buffer socket_filter checksum no_listener led_away qdisc ring netfilter ingress martian rp_filter \
                        other_host neighbour link_down between ttl no_route fragment softnet udp_memory \
                        service_queue unread late reply_truncated reply_extended reply_changed \
                        unexplained";
        for key in promised.split_whitespace() {
            assert_eq!(Site::of_key(key).map(Site::key).as_deref(), Some(key));
        }
        assert_eq!(Site::back(Place::SendBuffer).key(), "return_send_buffer");
    }

    #[test]
    fn what_makes_a_place_lose_more_is_said_of_places_that_there_are_and_once_of_each() {
        let mut places = Place::ALL.map(Place::name).into_iter();
        for (name, _) in dropline_trial::trial::disturbance::EXPOSURES {
            assert!(places.any(|place| place == name), "{name}, in the order of the places");
        }
    }

    #[test]
    fn a_key_names_one_site_and_a_strange_one_none() {
        for way in [Way::Out, Way::Back] {
            for place in Place::ALL {
                let key = Site { way, place }.key();
                assert_eq!(Site::of_key(&key).map(Site::key), Some(key));
            }
        }
        let all: std::collections::BTreeSet<String> = Site::all().map(Site::key).collect();
        assert_eq!((all.len(), Site::all().count()), (51, 51), "each has a key of its own");
        for strange in ["", "return_", "return_late", "return_unexplained", "elsewhere"] {
            assert_eq!(Site::of_key(strange), None, "{strange}");
        }
    }

    #[test]
    fn a_person_reads_words() {
        assert_eq!(Site::back(Place::ReceiveBuffer).to_string(), "receive buffer (return)");
        assert_eq!(Site::out(Place::NoListener).to_string(), "no listener");
        assert_eq!(Site::back(Place::Late).to_string(), "late", "whatever the way");
    }
}
