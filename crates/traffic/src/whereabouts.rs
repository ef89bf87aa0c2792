//! Is the target on this machine? Without consent, traffic never leaves it.

use crate::sys::{addresses_elsewhere, leads_off_this_machine, local_addresses};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::PathBuf;

/// Where packets to an address end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// On this machine, in this network namespace: loopback, or the address of an interface.
    Here,
    /// In another network namespace of this machine, reached over virtual interfaces alone.
    OtherNamespace {
        /// The `/proc/…/net` directory of a process there; `None` if none runs there.
        net: Option<PathBuf>,
    },
    /// Off this machine, or nobody can tell.
    Elsewhere,
}

impl Whereabouts {
    /// Where packets to `address` end. What this user may not look at counts as elsewhere.
    pub fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        if address.is_loopback() || address.is_unspecified() {
            return Self::Here;
        }
        if address.is_multicast() {
            return Self::Elsewhere;
        }
        if local_addresses().into_iter().any(|(network, length)| is_within(address, network, length)) {
            return Self::Here;
        }
        match addresses_elsewhere().into_iter().find(|(held, _)| *held == address) {
            Some((_, net))
                if source_towards(address).is_some_and(|source| !leads_off_this_machine(source)) =>
            {
                Self::OtherNamespace { net }
            }
            _ => Self::Elsewhere,
        }
    }

    /// Whether packets stay on this machine.
    pub fn is_this_machine(&self) -> bool {
        *self != Self::Elsewhere
    }
}

/// The address that packets to `address` leave with; nothing is sent.
fn source_towards(address: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((address, 9)).ok()?;
    socket.local_addr().ok().map(|source| source.ip())
}

fn is_within(address: IpAddr, network: IpAddr, length: u8) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let differing = address.to_bits() ^ network.to_bits();
            differing.leading_zeros() >= u32::from(length)
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let differing = address.to_bits() ^ network.to_bits();
            differing.leading_zeros() >= u32::from(length)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_here_and_the_world_is_not() {
        for here in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0"] {
            assert_eq!(Whereabouts::of(here.parse().unwrap()), Whereabouts::Here, "{here}");
        }
        // Documentation, benchmarking and multicast addresses: nobody's.
        for elsewhere in ["192.0.2.1", "198.18.0.1", "2001:db8::1", "239.1.2.3", "255.255.255.255"] {
            assert!(!Whereabouts::of(elsewhere.parse().unwrap()).is_this_machine(), "{elsewhere}");
        }
    }

    #[test]
    fn a_network_holds_the_addresses_that_share_its_prefix() {
        let within = |address: &str, network: &str, length| {
            is_within(address.parse().unwrap(), network.parse().unwrap(), length)
        };
        assert!(within("127.9.9.9", "127.0.0.0", 8));
        assert!(within("10.0.0.1", "10.0.0.1", 32));
        assert!(!within("10.0.0.2", "10.0.0.1", 32));
        assert!(!within("::1", "0.0.0.1", 32));
    }
}
