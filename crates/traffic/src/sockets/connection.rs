//! Sockets that trial traffic leaves by, each held on this machine.

use super::flows::Flows;
use super::leash::Leash;
use crate::error::{NoLeash, UdpError};
use socket2::{Domain, SockRef, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Where the streams' packets come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Addresses of this machine that the streams have in turn; empty: the one that the system prefers.
    pub addresses: Vec<IpAddr>,
    /// The first port; each further stream has the next one. `None`: any free ones.
    pub first_port: Option<u16>,
}

/// Where the streams' packets go, beside the target that was named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Addresses that the streams have in turn; empty: that of the target.
    pub addresses: Vec<IpAddr>,
    /// Ports that the streams have in turn, from the target's on; 0 is 1.
    pub ports: u16,
}

/// `A-B` or `A,B,C`: at most 65 536 addresses from the one to the other. `None` if it is not written so.
pub fn read_addresses(words: &str) -> Option<Vec<IpAddr>> {
    const MOST: u32 = 65_536;
    let mut all = Vec::new();
    for word in words.split(',') {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        match (first.parse().ok()?, last.parse().ok()?) {
            (IpAddr::V4(first), IpAddr::V4(last)) => {
                let (first, last) = (first.to_bits(), last.to_bits());
                last.checked_sub(first).filter(|&further| further < MOST)?;
                all.extend((first..=last).map(|bits| IpAddr::from(Ipv4Addr::from_bits(bits))));
            }
            (IpAddr::V6(first), IpAddr::V6(last)) => {
                let (first, last) = (first.to_bits(), last.to_bits());
                last.checked_sub(first).filter(|&further| further < u128::from(MOST))?;
                all.extend((first..=last).map(|bits| IpAddr::from(Ipv6Addr::from_bits(bits))));
            }
            _ => return None,
        }
    }
    Some(all)
}

impl Sources {
    pub(crate) fn of_stream(&self, stream: usize, target: SocketAddr) -> SocketAddr {
        let any: IpAddr = match target {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let ip = match self.addresses.len() {
            0 => any,
            count => self.addresses[stream % count],
        };
        // Beyond the last port the system says that there is none: 0 would be any.
        let port =
            self.first_port.map_or(0, |first| u16::try_from(usize::from(first) + stream).unwrap_or(first));
        SocketAddr::new(ip, port)
    }
}

impl Sources {
    /// What so many streams send from here to one of the addresses of `targets`, and to all its ports.
    pub(crate) fn flows(&self, target: SocketAddr, streams: usize, targets: &Targets) -> Flows {
        Flows::from(target).with_ports(targets.ports).with_sources(&self.addresses, self.first_port, streams)
    }
}

impl Targets {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.addresses.len().max(1) * usize::from(self.ports.max(1))
    }

    /// All addresses first, then all on the next port.
    pub(crate) fn of_stream(&self, stream: usize, target: SocketAddr) -> SocketAddr {
        let addresses = self.addresses.len().max(1);
        let ip = self.addresses.get(stream % addresses).copied().unwrap_or(target.ip());
        let further = (stream / addresses) % usize::from(self.ports.max(1));
        // Beyond the last port there is none: 0 is refused by the system.
        let port = u16::try_from(usize::from(target.port()) + further).unwrap_or(0);
        SocketAddr::new(ip, port)
    }
}

/// A socket of this machine from which packets go to `target` alone, and that hears of it alone.
pub(crate) fn connect(target: SocketAddr, payload: u32) -> Result<UdpSocket, UdpError> {
    connect_from(Sources::default().of_stream(0, target), Leash::towards(target), target, payload)
}

/// A socket that hears what comes to another's address and port from anywhere but that one's target. Nothing is sent by it:
/// what is not connected may be led elsewhere packet by packet.
pub(crate) fn listening_beside(connected: &UdpSocket) -> io::Result<UdpSocket> {
    let own = connected.local_addr()?;
    let beside = Socket::new(Domain::for_address(own), Type::DGRAM, None)?;
    SockRef::from(connected).set_reuse_address(true)?;
    beside.set_reuse_address(true)?;
    beside.bind(&own.into())?;
    Ok(beside.into())
}

/// The same from a source of ours. No packet leaves through a socket that is not held on this machine.
pub(crate) fn connect_from(
    source: SocketAddr,
    leash: Result<Leash, NoLeash>,
    target: SocketAddr,
    payload: u32,
) -> Result<UdpSocket, UdpError> {
    let leash = leash.map_err(|why| UdpError::NoLeash { target, why })?;
    let source = leash.source(source);
    let socket = UdpSocket::bind(source).map_err(|why| UdpError::Source { address: source, source: why })?;
    leash.hold(&socket, target).map_err(|error| UdpError::of_holding(error, target, payload))?;
    socket.set_nonblocking(true).map_err(UdpError::system("opening a socket"))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_the_targets_in_turn_all_addresses_before_the_next_port() {
        let target = "127.0.0.1:7007".parse().unwrap();
        let addresses = vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
        let targets = Targets { addresses, ports: 2 };
        let of = |stream| targets.of_stream(stream, target).to_string();
        assert_eq!(
            (0..5).map(of).collect::<Vec<_>>(),
            ["127.0.0.2:7007", "127.0.0.3:7007", "127.0.0.2:7008", "127.0.0.3:7008", "127.0.0.2:7007"]
        );
        assert_eq!(targets.count(), 4);
        assert_eq!(Targets::default().of_stream(3, target), target);
    }

    #[test]
    fn streams_have_the_sources_in_turn() {
        let target = "127.0.0.1:7007".parse().unwrap();
        let sources = Sources {
            addresses: vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()],
            first_port: Some(40_000),
        };
        let of = |stream| sources.of_stream(stream, target).to_string();
        assert_eq!([of(0), of(1), of(2)], ["127.0.0.2:40000", "127.0.0.3:40001", "127.0.0.2:40002"]);
        assert_eq!(Sources::default().of_stream(3, target).to_string(), "0.0.0.0:0");
    }
}
