//! Which packets are to stay on this machine: where they go, and where they may come from.

use dropline_netrules::visit::Tuple;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// Packets to one address, by the ports that they may have at either end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flows {
    /// Where they go.
    pub(crate) address: IpAddr,
    ports: RangeInclusive<u16>,
    /// Addresses that they may come from; none: the one that the system prefers.
    sources: Vec<IpAddr>,
    source_ports: RangeInclusive<u16>,
}

/// Ports that a socket can have.
const ANY: RangeInclusive<u16> = 1..=u16::MAX;

impl From<IpAddr> for Flows {
    /// To whatever port.
    fn from(address: IpAddr) -> Self {
        Self { address, ports: ANY, sources: Vec::new(), source_ports: ANY }
    }
}

impl From<SocketAddr> for Flows {
    /// From whichever port the system gives.
    fn from(target: SocketAddr) -> Self {
        let source_ports = std::fs::read_to_string(GIVEN).ok().and_then(|said| given(&said)).unwrap_or(ANY);
        Self { ports: target.port()..=target.port(), source_ports, ..Self::from(target.ip()) }
    }
}

impl Flows {
    /// The address and port that all of them go to, where it is one.
    pub(crate) fn target(&self) -> Option<SocketAddr> {
        let (first, last) = (self.ports.start(), self.ports.end());
        (first == last).then(|| SocketAddr::new(self.address, *first))
    }

    /// The same to so many ports, from the first on.
    pub(crate) fn with_ports(self, ports: u16) -> Self {
        let first = *self.ports.start();
        Self { ports: in_a_row(first, ports.into()), ..self }
    }

    /// The same from these addresses, and from so many ports in a row where the first is told.
    pub(crate) fn with_sources(self, sources: &[IpAddr], first_port: Option<u16>, ports: usize) -> Self {
        Self {
            sources: sources.iter().map(|source| source.to_canonical()).collect(),
            source_ports: first_port.map_or(self.source_ports, |first| in_a_row(first, ports)),
            ..self
        }
    }

    /// What rules see of them, where the system prefers that source; `destinations` has the address itself, or others that
    /// stand for it.
    pub(crate) fn tuples(&self, preferred: Option<IpAddr>, destinations: &[IpAddr]) -> Vec<Tuple> {
        let sources = match self.sources.as_slice() {
            [] => vec![preferred],
            several => several.iter().copied().map(Some).collect(),
        };
        let of = |source: Option<IpAddr>, destination: IpAddr| Tuple {
            source,
            destination: Some(destination),
            source_ports: self.source_ports.clone(),
            destination_ports: self.ports.clone(),
            owner: Some(own()),
            ..Tuple::any(destination.is_ipv4())
        };
        destinations.iter().flat_map(|&to| sources.iter().map(move |&from| of(from, to))).collect()
    }
}

/// Where the kernel has the ports that it gives to sockets which ask for any, of the namespace of who reads it.
const GIVEN: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// User and group of this program, and of the clients that it starts.
fn own() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

fn given(said: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = said.trim().split_once(char::is_whitespace)?;
    Some(first.parse().ok()?..=last.trim().parse().ok()?)
}

/// So many ports, one at least.
fn in_a_row(first: u16, ports: usize) -> RangeInclusive<u16> {
    let last = usize::from(first).saturating_add(ports.saturating_sub(1));
    first..=u16::try_from(last).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_is_in_the_ports_of_both_ends() {
        let target: SocketAddr = "127.0.0.1:7007".parse().unwrap();
        let [near, far]: [IpAddr; 2] = ["127.0.0.2", "127.0.0.3"].map(|address| address.parse().unwrap());
        let flows = Flows::from(target).with_ports(3).with_sources(&[near, far], Some(4000), 8);
        let tuples = flows.tuples(None, &[target.ip()]);
        assert_eq!(tuples.iter().map(|tuple| tuple.source).collect::<Vec<_>>(), [Some(near), Some(far)]);
        assert_eq!((&tuples[0].source_ports, &tuples[0].destination_ports), (&(4000..=4007), &(7007..=7009)));
        assert_eq!((given("32768\t60999\n"), given("torn")), (Some(32_768..=60_999), None));
        let tuples = Flows::from(target).tuples(Some(near), &[target.ip(), far]);
        assert_eq!(
            tuples.iter().map(|tuple| tuple.destination).collect::<Vec<_>>(),
            [Some(target.ip()), Some(far)]
        );
        assert_eq!((tuples[0].source, &tuples[0].destination_ports), (Some(near), &(7007..=7007)));
    }
}
