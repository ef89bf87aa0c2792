//! Holding a socket so that its packets cannot leave this machine, whatever is made of their address.
//!
//! An address says where packets are meant to go; a firewall, a load balancer or a router may send them
//! elsewhere, each packet otherwise. So a socket is bound to the interface behind which the address was seen, and its
//! packets may not be passed on by any router: what is led astray on this machine finds no way to leave it.

use super::whereabouts::Way;
use crate::error::NoLeash;
use crate::kernel::socket_table::AtSocket;
use socket2::SockRef;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::path::Path;

/// How a socket is held that sends to a service of this machine.
#[derive(Clone, Debug)]
pub struct Leash {
    /// The interface that its packets leave by.
    interface: NonZeroU32,
    /// The address that they come from, if it is not the system's choice. The kernel takes replies to an address to come
    /// in at the interface that has it: a socket that is bound to loopback hears only those to loopback's own.
    from: Option<IpAddr>,
}

/// The loopback interface has this number in every namespace.
const LOOPBACK: NonZeroU32 = NonZeroU32::new(1).expect("one is not zero");

impl Leash {
    /// How a socket is held that sends to an address; nothing is sent to find out.
    ///
    /// # Errors
    /// If packets to it cannot be kept on this machine.
    pub fn towards(address: IpAddr) -> Result<Self, NoLeash> {
        if let Some(interface) = Way::to(address)?.interface.and_then(NonZeroU32::new) {
            return Ok(Self { interface, from: None });
        }
        // What is bound to loopback reaches each own address of version 4, and of version 6 those that loopback has.
        let own = match address {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
                Ipv4Addr::LOCALHOST.to_ipv6_mapped().into()
            }
            IpAddr::V6(_) => return Err(NoLeash::Loose(address)),
        };
        Ok(Self { interface: LOOPBACK, from: Some(own) })
    }

    /// Where a socket has to be bound that is to be held: `source`, unless any address would do.
    pub fn source(&self, source: SocketAddr) -> SocketAddr {
        let own = self.from.filter(|_| source.ip().is_unspecified());
        SocketAddr::new(own.unwrap_or(source.ip()), source.port())
    }

    /// Binds the socket to the interface, lets no router pass its packets on, and connects it.
    ///
    /// # Errors
    /// If the system does not allow it: Linux before 5.7 lets only CAP_NET_RAW bind to an interface.
    pub fn hold(&self, socket: &UdpSocket, target: SocketAddr) -> io::Result<()> {
        self.bind(socket, target)?;
        socket.connect(self.answering(target))
    }

    /// The address that replies come from. A service that is bound to all addresses answers loopback's from loopback's.
    fn answering(&self, target: SocketAddr) -> SocketAddr {
        let is_own = |net: &str| AtSocket::has_address(Path::new(net), target);
        match self.from {
            Some(own) if !is_own("/proc/thread-self/net") => SocketAddr::new(own, target.port()),
            _ => target,
        }
    }

    /// The same without connecting it: for a packet that names its target.
    pub(super) fn bind(&self, socket: &UdpSocket, target: SocketAddr) -> io::Result<()> {
        let socket = SockRef::from(socket);
        socket.bind_device_by_index_v4(Some(self.interface))?;
        if target.is_ipv6() {
            socket.set_unicast_hops_v6(1)?;
        }
        socket.set_ttl_v4(1)
    }
}
