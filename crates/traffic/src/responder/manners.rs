//! Whom a reflector answers: nobody in a circle, no service, no crowd.
//!
//! One datagram with a forged source can set two reflectors at each other. A trial's packet is marked once it is
//! answered, and no answer is answered. Other bytes cannot be marked, but are known when they come back: a source
//! from which the same come again and again is taken for a reflector, and left alone until it is silent.

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
/// Answers that a source of other bytes than a trial's has at once, and in which time one more.
const BURST: u32 = 64;
const INTERVAL: Duration = Duration::from_millis(10);
/// Sources remembered before those that may have all again are forgotten.
const SOURCES: usize = 1024;
/// Ports below are those of services: DNS, NTP, echo, chargen.
const SERVICES: u16 = 1024;

/// What a reflector remembers of those it answered.
#[derive(Debug)]
pub(crate) struct Manners {
    own: SocketAddr,
    key: RandomState,
    datagrams: Vec<Place>,
    /// Those that sent something again.
    again: Vec<Place>,
    /// When each source of other bytes may have all its answers again.
    full_at: HashMap<IpAddr, Duration>,
}

/// What was seen of a datagram or a source.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    hash: u64,
    times: u32,
    last: Duration,
}

impl Manners {
    /// Those of a reflector that listens at `own`.
    pub(crate) fn new(own: SocketAddr) -> Self {
        let places = vec![Place::default(); PLACES];
        Self {
            own,
            key: RandomState::new(),
            datagrams: places.clone(),
            again: places,
            full_at: HashMap::new(),
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

    fn is_in_budget(&mut self, source: IpAddr, now: Duration) -> bool {
        if self.full_at.len() >= SOURCES {
            self.full_at.retain(|_, full_at| *full_at > now);
        }
        // A host with IPv6 has a network of 64 bits for itself.
        let owner = match source.to_canonical() {
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
            ip => ip,
        };
        if self.full_at.len() >= SOURCES && !self.full_at.contains_key(&owner) {
            return false;
        }
        let full_at = self.full_at.entry(owner).or_default();
        let then = (*full_at).max(now) + INTERVAL;
        let admitted = then - now <= INTERVAL * BURST;
        if admitted {
            *full_at = then;
        }
        admitted
    }
}

/// What is remembered under a hash; nothing of what was not seen for a while.
fn seen(places: &mut [Place], hash: u64, now: Duration) -> &mut Place {
    let place = &mut places[hash as usize % PLACES];
    if place.hash != hash || now.saturating_sub(place.last) > FORGOTTEN_AFTER {
        *place = Place { hash, ..Place::default() };
    }
    place.last = now;
    place
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
        let manners = Manners::new(at("127.0.0.1:7007"));
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
        let mut manners = Manners::new(at("127.0.0.1:7007"));
        let (source, other) = (at("127.0.0.1:40000"), at("127.0.0.1:40001"));
        let circle = (0..1000).filter(|turn| manners.admit_other(source, b"a", ms(turn * 500))).count();
        assert_eq!(circle, 1 + AGAIN as usize, "however slow it is");
        assert!(!manners.admit_other(source, b"b", ms(500_000)), "a reflector's next forged datagram");
        assert!(manners.admit_other(other, b"a", ms(500_000)), "another port is somebody else");
        assert!(manners.admit_other(source, b"a", ms(600_000)), "long afterwards it is as new");
    }

    #[test]
    fn other_bytes_have_a_budget_of_their_source() {
        let mut manners = Manners::new(at("127.0.0.1:7007"));
        let mut answered = |source: &str, now| {
            let each = |number: u32| manners.admit_other(at(source), &number.to_be_bytes(), ms(now));
            (0..1000).map(|number| number + now as u32 * 1000).map(each).filter(|&admitted| admitted).count()
        };
        assert_eq!(answered("10.0.0.1:5000", 0), BURST as usize);
        assert_eq!(answered("10.0.0.1:5001", 1), 0, "whatever its port");
        assert_eq!(answered("10.0.0.2:5000", 2), BURST as usize, "another source has its own");
        assert_eq!(answered("10.0.0.1:5000", 100), 10, "one more each ten milliseconds");
    }
}
