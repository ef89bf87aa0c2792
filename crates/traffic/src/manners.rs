//! Whom a reflector answers: nobody in a circle, no service, no crowd.
//!
//! One datagram with a forged source can set two reflectors at each other. What comes back unchanged is known by
//! its bytes: a trial's packets all differ, so the same ones from the same source are answered a few times only.

use dropline_payload::Tag;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Answers to the same datagram of the same source; a circle of two reflectors ends after twice as many.
const SAME: u32 = 8;
/// Without it for so long, a datagram is as new.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);
/// Datagrams remembered; each makes one that had its place be forgotten.
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
    keys: [u64; 2],
    places: Vec<Place>,
    /// When each source of other bytes may have all its answers again.
    full_at: HashMap<IpAddr, Duration>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    datagram: u64,
    answers: u32,
    last: Duration,
}

impl Manners {
    /// Those of a reflector that listens at `own`.
    pub(crate) fn new(own: SocketAddr) -> Self {
        let key = RandomState::new();
        let keys = [key.hash_one(0), key.hash_one(1) | 1];
        Self { own, key, keys, places: vec![Place::default(); PLACES], full_at: HashMap::new() }
    }

    /// Whether a packet of a trial may be answered at `now`, from any fixed moment.
    pub(crate) fn admit_packet(&mut self, source: SocketAddr, tag: Tag, index: u64, now: Duration) -> bool {
        // Of every packet of a trial: two multiplications, where a hash made for strangers' bytes takes ten times that.
        let from = match source.ip() {
            IpAddr::V4(ip) => ip.to_bits().into(),
            IpAddr::V6(ip) => folded(ip.to_bits() as u64 ^ self.keys[0], (ip.to_bits() >> 64) as u64 | 1),
        };
        let from = from ^ (u64::from(tag.0) << 32) ^ (u64::from(source.port()) << 16);
        let datagram = folded(index ^ self.keys[0], folded(from ^ self.keys[1], self.keys[1]) | 1);
        self.may_go_to(source) && self.is_new(datagram, now)
    }

    /// The same of bytes that are no message of ours.
    pub(crate) fn admit_other(&mut self, source: SocketAddr, bytes: &[u8], now: Duration) -> bool {
        self.may_go_to(source)
            && self.is_new(self.key.hash_one((source, bytes)), now)
            && self.is_in_budget(source.ip(), now)
    }

    /// Whether a reply may go there at all: never in a circle, to a service, or to many.
    pub(crate) fn may_go_to(&self, source: SocketAddr) -> bool {
        source.port() >= SERVICES && source.port() != self.own.port() && is_one(source)
    }

    fn is_new(&mut self, datagram: u64, now: Duration) -> bool {
        let place = &mut self.places[datagram as usize % PLACES];
        if place.datagram != datagram || now.saturating_sub(place.last) > FORGOTTEN_AFTER {
            *place = Place { datagram, answers: 0, last: now };
        }
        place.last = now;
        place.answers += u32::from(place.answers <= SAME);
        place.answers <= SAME
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

/// A product's halves, one on the other.
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product ^ (product >> 64)) as u64
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
    fn the_packets_of_a_trial_are_all_answered_and_one_that_comes_again_and_again_is_not() {
        let mut manners = Manners::new(at("127.0.0.1:7007"));
        let source = at("127.0.0.1:40000");
        assert!((0..100_000).all(|index| manners.admit_packet(source, Tag(7), index, ms(index / 1000))));
        let circle = (0..1000).filter(|_| manners.admit_packet(source, Tag(7), 5, ms(200))).count();
        assert_eq!(circle, SAME as usize);
        let slow = (0..1000).filter(|&turn| manners.admit_packet(source, Tag(7), 6, ms(200 + turn * 500)));
        assert_eq!(slow.count(), SAME as usize, "however slow it is");
        assert!(manners.admit_packet(source, Tag(7), 5, ms(600_000)), "long afterwards it is as new");
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
