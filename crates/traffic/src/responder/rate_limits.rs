//! Whom a reflector answers: nobody in a circle, no service, no crowd.
//!
//! One datagram with a forged source can set two reflectors at each other. A trial's packet is marked once it is
//! answered, and no answer is answered. Other bytes cannot be marked, but are known when they come back: a source
//! from which the same come again and again is taken for a reflector, and left alone until it is silent. What answers
//! may also change them each time, and so lose every mark: what is no packet of a trial is therefore answered a few
//! times, whatever it is, and then not until its source was silent. A load of ours does not meet that: it carries its
//! header.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Answers to datagrams of one source that came from it before; beyond, it is taken for a reflector.
const AGAIN: u32 = 4;
/// Without it for so long, a datagram is as new.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);
/// Datagrams, and sources of such, remembered; each makes one that had its place be forgotten.
const PLACES: usize = 1024;
/// Answers to other bytes than a trial's that a source has until one was refused it, and it was silent then for as long as is
/// remembered.
///
/// With [`HARMED`] and those to packets that are repeated, a circle has fewer than a hundred packets: each answer
/// causes one.
const OTHERS: u32 = 32;
/// Answers to packets that came to harm; each whole packet of a trial gives one back.
const HARMED: u32 = 12;
/// Sources remembered before those that were silent are forgotten.
const SOURCES: usize = 1024;
/// Ports below are those of services: DNS, NTP, echo, chargen.
const SERVICES: u16 = 1024;

/// What a reflector remembers of those it answered.
#[derive(Debug)]
pub(crate) struct RateLimits {
    own: SocketAddr,
    key: RandomState,
    datagrams: Vec<SeenDatagram>,
    /// Those that sent something again.
    again: Vec<SeenDatagram>,
    /// Sources of other bytes.
    others: HashMap<IpAddr, Source>,
    /// Packets that came to harm and may still be answered.
    harmed: u32,
}

/// What was seen of a datagram or a source.
#[derive(Clone, Copy, Debug, Default)]
struct SeenDatagram {
    hash: u64,
    times: u32,
    last: Duration,
}

/// How often a source of other bytes was answered, whether it was not since, and when it last sent such.
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    answered: u32,
    was_refused: bool,
    last: Duration,
}

impl RateLimits {
    /// Those of a reflector that listens at `own`.
    pub(crate) fn new(own: SocketAddr) -> Self {
        let places = vec![SeenDatagram::default(); PLACES];
        Self {
            own,
            key: RandomState::new(),
            datagrams: places.clone(),
            again: places,
            others: HashMap::new(),
            harmed: HARMED,
        }
    }

    /// Whether bytes that are no message of ours may be answered at `now`, from any fixed moment.
    pub(crate) fn admit_other(&mut self, source: SocketAddr, bytes: &[u8], now: Duration) -> bool {
        let datagram = seen(&mut self.datagrams, self.key.hash_one((source, bytes)), now);
        let comes_again = datagram.times > 0;
        datagram.times = 1;
        let again = seen(&mut self.again, self.key.hash_one(source), now);
        again.times = (again.times + u32::from(comes_again)).min(AGAIN + 1);
        again.times <= AGAIN && self.may_go_to(source) && self.is_in_budget(source.ip(), now)
    }

    /// Whether a reply may go there at all: never in a circle, to a service, or to many.
    pub(crate) fn may_go_to(&self, source: SocketAddr) -> bool {
        source.port() >= SERVICES && source.port() != self.own.port() && is_one(source)
    }

    /// A packet of a trial came whole: one that comes to harm may be answered for it.
    pub(crate) fn note_whole(&mut self) {
        self.harmed = HARMED.min(self.harmed + 1);
    }

    /// Whether a packet that came to harm may be answered: what makes one of each answer sends none that is whole.
    pub(crate) fn admit_harmed(&mut self) -> bool {
        let admitted = self.harmed > 0;
        self.harmed -= u32::from(admitted);
        admitted
    }

    fn is_in_budget(&mut self, source: IpAddr, now: Duration) -> bool {
        let is_old = |last: Duration| now.saturating_sub(last) > FORGOTTEN_AFTER;
        if self.others.len() >= SOURCES {
            self.others.retain(|_, source| !is_old(source.last));
        }
        // A host with IPv6 has a network of 64 bits for itself.
        let owner = match source.to_canonical() {
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
            ip => ip,
        };
        if self.others.len() >= SOURCES && !self.others.contains_key(&owner) {
            return false;
        }
        let source = self.others.entry(owner).or_default();
        if source.was_refused && is_old(source.last) {
            *source = Source::default();
        }
        source.last = now;
        let admitted = source.answered < OTHERS;
        source.answered += u32::from(admitted);
        source.was_refused |= !admitted;
        admitted
    }
}

/// What is remembered under a hash; nothing of what was not seen for a while.
fn seen(places: &mut [SeenDatagram], hash: u64, now: Duration) -> &mut SeenDatagram {
    let place = &mut places[hash as usize % PLACES];
    if place.hash != hash || now.saturating_sub(place.last) > FORGOTTEN_AFTER {
        *place = SeenDatagram { hash, ..SeenDatagram::default() };
    }
    place.last = now;
    place
}

/// Whether a session-sender of STAMP may be there: at no service's port but its own.
pub(crate) fn may_be_sender(source: SocketAddr) -> bool {
    const STAMP: u16 = 862;
    is_one(source) && (source.port() >= SERVICES || source.port() == STAMP)
}

/// Whether it is a place of one machine.
pub(crate) fn is_one(source: SocketAddr) -> bool {
    let to_many = match source.ip().to_canonical() {
        IpAddr::V4(ip) => ip.is_broadcast() || ip.is_multicast(),
        IpAddr::V6(ip) => ip.is_multicast(),
    };
    source.port() != 0 && !source.ip().is_unspecified() && !to_many
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(word: &str) -> SocketAddr {
        word.parse().unwrap()
    }

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn replies_go_neither_in_circles_nor_to_services_nor_to_many() {
        let manners = RateLimits::new(at("127.0.0.1:7007"));
        for answered in ["127.0.0.1:40000", "[::1]:7008", "10.0.0.9:1024"] {
            assert!(manners.may_go_to(at(answered)), "{answered}");
        }
        let circles = ["127.0.0.1:7007", "127.0.0.2:7007", "[::1]:7007"];
        let services = ["127.0.0.1:7", "127.0.0.1:19", "10.0.0.1:53", "10.0.0.1:1023"];
        let many =
            ["127.0.0.1:0", "255.255.255.255:9999", "224.0.0.1:9999", "0.0.0.0:9999", "[ff02::1]:9999"];
        for refused in circles.iter().chain(&services).chain(&many) {
            assert!(!manners.may_go_to(at(refused)), "{refused}");
        }
    }

    #[test]
    fn what_comes_again_is_answered_a_few_times_and_its_source_is_then_left_alone_until_it_is_silent() {
        let mut manners = RateLimits::new(at("127.0.0.1:7007"));
        let (source, other) = (at("127.0.0.1:40000"), at("127.0.0.1:40001"));
        let circle = (0..1000).filter(|turn| manners.admit_other(source, b"a", ms(turn * 500))).count();
        assert_eq!(circle, 1 + AGAIN as usize, "however slow it is");
        assert!(!manners.admit_other(source, b"b", ms(500_000)), "a reflector's next forged datagram");
        assert!(manners.admit_other(other, b"a", ms(500_000)), "another port is somebody else");
        assert!(manners.admit_other(source, b"a", ms(600_000)), "long afterwards it is as new");
    }

    #[test]
    fn other_bytes_have_a_budget_of_their_source_until_it_was_silent() {
        let mut manners = RateLimits::new(at("127.0.0.1:7007"));
        let mut answered = |source: &str, now| {
            let each = |number: u32| manners.admit_other(at(source), &number.to_be_bytes(), ms(now));
            (0..1000).map(|number| number + now as u32 * 1000).map(each).filter(|&admitted| admitted).count()
        };
        assert_eq!(answered("10.0.0.1:5000", 0), OTHERS as usize);
        assert_eq!(answered("10.0.0.1:5001", 1), 0, "whatever its port");
        assert_eq!(answered("10.0.0.2:5000", 2), OTHERS as usize, "another source has its own");
        for now in (1000..100_000).step_by(9000) {
            assert_eq!(answered("10.0.0.1:5000", now), 0, "however slow it is");
        }
        assert_eq!(answered("10.0.0.1:5000", 111_000), OTHERS as usize, "after a silence");
    }

    #[test]
    fn a_circle_that_is_slower_than_what_is_remembered_ends_and_who_asks_again_is_answered_anew() {
        for (apart, changes) in [(11_000, 0), (11_000, 1), (60_000, 0), (3_600_000, 1)] {
            let mut manners = RateLimits::new(at("127.0.0.1:7007"));
            let mut is_answered = |number: u64| {
                let bytes = (number * changes).to_be_bytes();
                manners.admit_other(at("10.0.0.1:5000"), &bytes, ms(number * apart))
            };
            // Each packet but the first is made of an answer: without one there is no further one.
            let packets = (0..1000).take_while(|&number| is_answered(number)).count() as u64;
            assert_eq!(packets, u64::from(OTHERS), "{apart} ms apart");
            // Who sends another although nothing was answered is in no circle.
            let more = (packets + 1..1000).take_while(|&number| is_answered(number)).count();
            assert_eq!(more, OTHERS as usize, "{apart} ms apart");
        }
    }

    #[test]
    fn harmed_packets_are_answered_beside_whole_ones_and_a_few_without() {
        let mut manners = RateLimits::new(at("127.0.0.1:7007"));
        let beside = |manners: &mut RateLimits| {
            manners.note_whole();
            manners.admit_harmed()
        };
        assert!((0..1000).all(|_| beside(&mut manners)), "half of a load");
        (0..1000).for_each(|_| manners.note_whole());
        assert_eq!((0..1000).filter(|_| manners.admit_harmed()).count(), HARMED as usize);
    }

    #[test]
    fn many_sources_are_neither_all_remembered_nor_answered_without_being_remembered() {
        let mut manners = RateLimits::new(at("127.0.0.1:7007"));
        let mut admit = |number: u32, now| {
            let source = SocketAddr::new(std::net::Ipv4Addr::from_bits(0x0a00_0000 + number).into(), 5000);
            manners.admit_other(source, b"a", ms(now))
        };
        assert_eq!((0..5000).filter(|&number| admit(number, 0)).count(), SOURCES);
        assert!(admit(6000, 20_000), "once they were silent");
    }
}
