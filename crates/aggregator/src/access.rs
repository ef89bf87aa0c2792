//! Who may have a report: networks, places nothing may be sent to, and how often.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

/// Addresses that share a prefix, as `10.0.0.0/8` or `::1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    length: u8,
}

/// A word that names no network.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a network; write 192.168.1.0/24, 192.168.1.7 or fd00::/8")]
pub struct NetworkError(String);

impl Network {
    /// This machine's own addresses.
    pub const LOOPBACK: [Self; 2] = [
        Self { address: IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), length: 8 },
        Self { address: IpAddr::V6(Ipv6Addr::LOCALHOST), length: 128 },
    ];

    /// Whether the address is in it.
    pub fn holds(&self, address: IpAddr) -> bool {
        let differing = match (address.to_canonical(), self.address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => u128::from(a.to_bits() ^ b.to_bits()) << 96,
            (IpAddr::V6(a), IpAddr::V6(b)) => a.to_bits() ^ b.to_bits(),
            _ => return false,
        };
        differing.leading_zeros() >= u32::from(self.length)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(word: &str) -> Result<Self, NetworkError> {
        let wrong = || NetworkError(word.to_owned());
        let (address, length) = match word.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (word, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(longest), str::parse::<u8>).map_err(|_| wrong())?;
        if length > longest {
            return Err(wrong());
        }
        // Senders are told apart by their IPv4 addresses, however their packets came.
        match (address, address.to_canonical()) {
            (IpAddr::V6(_), canonical @ IpAddr::V4(_)) => {
                let length = length.checked_sub(96).ok_or_else(wrong)?;
                Ok(Self { address: canonical, length })
            }
            _ => Ok(Self { address, length }),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// How often reports leave. Each monitor and all together have a token bucket: so many at once, then
/// one for each `interval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of one monitor (an IPv4 address, or an IPv6 network of 64 bits).
    pub monitor: Bucket,
    /// Of all monitors.
    pub all: Bucket,
}

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Time in which a token comes back.
    pub interval: Duration,
    /// Tokens it holds.
    pub burst: u32,
}

impl Default for Limits {
    /// Ten a second and twenty at once for a monitor, ten times that for all.
    fn default() -> Self {
        Self {
            monitor: Bucket { interval: Duration::from_millis(100), burst: 20 },
            all: Bucket { interval: Duration::from_millis(10), burst: 200 },
        }
    }
}

impl Bucket {
    /// When it would be full again after one more token is taken at `now`; `None` if it is empty.
    ///
    /// `full_at` says all there is to know of a bucket: it misses one token for each interval until then.
    fn take(self, full_at: Duration, now: Duration) -> Option<Duration> {
        let full_at = full_at.max(now) + self.interval;
        (full_at - now <= self.interval * self.burst).then_some(full_at)
    }
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// Its source is in none of the networks that may have reports.
    NotAllowed,
    /// Its source is the aggregator's own address and port: an answer would come back as a packet.
    OwnAddress,
    /// Its source is no place of one machine: port 0, a multicast, broadcast or unspecified address.
    NoPlace,
    /// Its source is the port of a service (below 1024): no monitor asks from there, a forged request may.
    LowPort,
    /// This monitor asks too often.
    TooOften,
    /// All monitors together ask too often.
    TooOftenAll,
}

impl Refusal {
    /// All of them, in the order they are looked at.
    pub const ALL: [Self; 6] =
        [Self::OwnAddress, Self::NoPlace, Self::NotAllowed, Self::LowPort, Self::TooOften, Self::TooOftenAll];

    /// As counts call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotAllowed => "not_allowed",
            Self::OwnAddress => "own_address",
            Self::NoPlace => "no_place",
            Self::LowPort => "low_port",
            Self::TooOften => "too_often",
            Self::TooOftenAll => "too_often_all",
        }
    }
}

/// Decides which requests get a report.
#[derive(Debug)]
pub struct Gate {
    own: SocketAddr,
    monitors: Vec<Network>,
    limits: Option<Limits>,
    /// When each monitor's bucket is full again.
    full_at: HashMap<IpAddr, Duration>,
    all_full_at: Duration,
}

/// Monitors remembered before those with full buckets are forgotten.
const REMEMBERED: usize = 1024;

impl Gate {
    /// A gate of the aggregator that listens at `own`.
    pub fn new(own: SocketAddr, monitors: Vec<Network>, limits: Option<Limits>) -> Self {
        Self { own, monitors, limits, full_at: HashMap::new(), all_full_at: Duration::ZERO }
    }

    /// Whether a request from `source` at `now` (from any fixed moment) gets a report.
    ///
    /// # Errors
    /// Why not.
    pub fn admit(&mut self, source: SocketAddr, now: Duration) -> Result<(), Refusal> {
        let ip = source.ip().to_canonical();
        let own = self.own.ip().to_canonical();
        // Bound to every address, any address with its port may be its own.
        if source.port() == self.own.port() && (ip == own || own.is_unspecified()) {
            return Err(Refusal::OwnAddress);
        }
        let broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
        if source.port() == 0 || ip.is_multicast() || ip.is_unspecified() || broadcast {
            return Err(Refusal::NoPlace);
        }
        if !self.monitors.iter().any(|network| network.holds(ip)) {
            return Err(Refusal::NotAllowed);
        }
        let Some(limits) = self.limits else { return Ok(()) };
        if source.port() < 1024 {
            return Err(Refusal::LowPort);
        }
        if self.full_at.len() >= REMEMBERED {
            self.full_at.retain(|_, full_at| *full_at > now);
        }
        let monitor = monitor(ip);
        let full_at = self.full_at.get(&monitor).copied().unwrap_or_default();
        let full_at = limits.monitor.take(full_at, now).ok_or(Refusal::TooOften)?;
        self.all_full_at = limits.all.take(self.all_full_at, now).ok_or(Refusal::TooOftenAll)?;
        self.full_at.insert(monitor, full_at);
        Ok(())
    }
}

/// Who owns an address: an IPv6 host can take any of the 2⁶⁴ of its network.
fn monitor(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(word: &str) -> SocketAddr {
        word.parse().unwrap()
    }

    fn gate(own: &str, monitors: &[&str], limits: Option<Limits>) -> Gate {
        Gate::new(at(own), monitors.iter().map(|word| word.parse().unwrap()).collect(), limits)
    }

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_network_is_an_address_and_a_prefix() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.0"),
            ("192.168.1.7", "192.168.1.7", "192.168.1.6"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("fd00::/8", "fd12::1", "fe80::1"),
            ("127.0.0.0/8", "::ffff:127.0.0.1", "::1"),
        ] {
            let network: Network = network.parse().unwrap();
            assert!(network.holds(inside.parse().unwrap()), "{network} holds {inside}");
            assert!(!network.holds(outside.parse().unwrap()), "{network} does not hold {outside}");
        }
        for word in ["", "10.0.0.0/33", "::/129", "localhost", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(word.parse::<Network>().is_err(), "{word:?}");
        }
    }

    #[test]
    fn nothing_is_ever_sent_to_itself_or_to_no_place() {
        let mut gate = gate("127.0.0.1:9060", &["0.0.0.0/0", "::/0"], None);
        let mut admit = |source: &str| gate.admit(at(source), ms(0));
        assert_eq!(admit("127.0.0.1:9060"), Err(Refusal::OwnAddress));
        assert_eq!(admit("[::ffff:127.0.0.1]:9060"), Err(Refusal::OwnAddress));
        assert_eq!(admit("127.0.0.2:9060"), Ok(()), "another address with that port is not its own");
        for nowhere in ["127.0.0.1:0", "239.1.2.3:5", "255.255.255.255:5", "0.0.0.0:5", "[ff02::1]:5"] {
            assert_eq!(admit(nowhere), Err(Refusal::NoPlace), "{nowhere}");
        }
    }

    #[test]
    fn bound_to_every_address_its_own_port_is_never_answered() {
        let mut gate = gate("0.0.0.0:9060", &["0.0.0.0/0"], None);
        assert_eq!(gate.admit(at("10.1.2.3:9060"), ms(0)), Err(Refusal::OwnAddress));
        assert_eq!(gate.admit(at("10.1.2.3:9061"), ms(0)), Ok(()));
    }

    #[test]
    fn the_port_of_a_service_gets_no_report_unless_there_are_no_limits() {
        let limited = |limits| gate("10.0.0.1:9060", &["10.0.0.0/8"], limits).admit(at("10.0.0.2:7"), ms(0));
        assert_eq!(limited(Some(Limits::default())), Err(Refusal::LowPort));
        assert_eq!(limited(None), Ok(()));
    }

    #[test]
    fn only_the_named_networks_have_reports() {
        let mut gate = gate("10.0.0.1:9060", &["10.0.0.0/24"], None);
        assert_eq!(gate.admit(at("10.0.0.9:4000"), ms(0)), Ok(()));
        assert_eq!(gate.admit(at("10.0.1.9:4000"), ms(0)), Err(Refusal::NotAllowed));
    }

    #[test]
    fn a_monitor_has_twenty_reports_at_once_and_then_ten_a_second_whatever_its_port() {
        let mut gate = gate("10.0.0.1:9060", &["10.0.0.0/8"], Some(Limits::default()));
        for port in 2001..=2020 {
            assert_eq!(gate.admit(SocketAddr::new("10.0.0.2".parse().unwrap(), port), ms(0)), Ok(()));
        }
        assert_eq!(gate.admit(at("10.0.0.2:2021"), ms(99)), Err(Refusal::TooOften));
        assert_eq!(gate.admit(at("10.0.0.2:2021"), ms(100)), Ok(()), "a token comes back in 100 ms");
        assert_eq!(gate.admit(at("10.0.0.2:2021"), ms(199)), Err(Refusal::TooOften));
        assert_eq!(gate.admit(at("10.0.0.3:2021"), ms(199)), Ok(()), "another monitor is not held back");
        let (mut answered, mut now) = (0, ms(100_000));
        while now < ms(110_000) {
            answered += u32::from(gate.admit(at("10.0.0.2:2021"), now).is_ok());
            now += ms(1);
        }
        assert_eq!(answered, 20 + 99, "twenty that it saved, and one for each further 100 ms");
    }

    #[test]
    fn all_monitors_together_have_a_limit_and_few_of_them_are_remembered() {
        let mut gate = gate("10.0.0.1:9060", &["10.0.0.0/8"], Some(Limits::default()));
        let source = |number: u32| SocketAddr::new(Ipv4Addr::from_bits(0x0a01_0000 + number).into(), 2099);
        let answered = (0..10_000).filter(|&number| gate.admit(source(number), ms(0)).is_ok()).count();
        assert_eq!(answered, 200);
        assert_eq!(gate.admit(source(20_000), ms(0)), Err(Refusal::TooOftenAll));
        for number in 0..10_000 {
            let _ = gate.admit(source(number), ms(u64::from(number) * 20));
        }
        assert!(gate.full_at.len() <= REMEMBERED, "{} are remembered", gate.full_at.len());
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_bucket() {
        let mut gate = gate("[::1]:9060", &["::/0"], Some(Limits::default()));
        for host in 0..20u16 {
            assert_eq!(gate.admit(at(&format!("[2001:db8::{host:x}]:7007")), ms(0)), Ok(()));
        }
        assert_eq!(gate.admit(at("[2001:db8::ffff]:7007"), ms(0)), Err(Refusal::TooOften));
        assert_eq!(gate.admit(at("[2001:db8:0:1::1]:7007"), ms(0)), Ok(()));
    }
}
