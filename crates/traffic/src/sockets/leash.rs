//! Holding a socket so that its packets cannot leave this machine, whatever is made of their address.
//!
//! An address says where packets are meant to go; a firewall, a load balancer or a router may send them
//! elsewhere, each packet otherwise. So a socket is bound to the interface behind which the address was seen, and its
//! packets may not be passed on by any router: what is led astray on this machine finds no way to leave it.

use super::consented::{Consented, HOPS};
use super::flows::Flows;
use super::whereabouts::{Way, unencapsulated};
use crate::error::{Detour, NoLeash};
use crate::kernel::path_passed::PathPassed;
use crate::kernel::socket_table::{self, AtSocket};
use dropline_netrules::routes::{Flow, Route};
use socket2::SockRef;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a socket is held that sends to a service of this machine.
#[derive(Clone, Debug)]
pub struct Leash {
    /// The interface that its packets leave by.
    interface: NonZeroU32,
    /// The address that they come from, if it is not the system's choice. The kernel takes replies to an address to come
    /// in at the interface that has it: a socket that is bound to loopback hears only those to loopback's own.
    from: Option<IpAddr>,
    /// The next hop, where it is not the address itself.
    gateway: Option<IpAddr>,
    /// What packets and replies may pass, where that was seen.
    passed: Option<Arc<Mutex<PathPassed>>>,
    /// Whether routes for types of service were asked for: they know no ports.
    is_asked_by_service: Arc<AtomicBool>,
}

/// The loopback interface has this number in every namespace.
const LOOPBACK: NonZeroU32 = NonZeroU32::new(1).expect("one is not zero");

impl Leash {
    /// How a socket is held that sends these packets, as to an address and port; nothing is sent to find out.
    ///
    /// # Errors
    /// If packets to it cannot be kept on this machine.
    pub fn towards(packets: impl Into<Flows>) -> Result<Self, NoLeash> {
        let packets = packets.into();
        let address = packets.address;
        let Way { interface, gateway, passed, .. } = Way::to(&packets)?;
        let passed = passed.map(|passed| Arc::new(Mutex::new(passed)));
        if let Some(interface) = interface.and_then(NonZeroU32::new) {
            return Ok(Self { interface, from: None, gateway, passed, is_asked_by_service: Arc::default() });
        }
        // What is bound to loopback reaches each own address of version 4, and of version 6 those that loopback has.
        let own = match address {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
                Ipv4Addr::LOCALHOST.to_ipv6_mapped().into()
            }
            IpAddr::V6(_) => return Err(NoLeash::Loose(address)),
        };
        let (interface, gateway) = (LOOPBACK, None);
        Ok(Self { interface, from: Some(own), gateway, passed, is_asked_by_service: Arc::default() })
    }

    /// Where a socket has to be bound that is to be held: `source`, unless any address would do.
    pub fn source(&self, source: SocketAddr) -> SocketAddr {
        let own = self.from.filter(|_| source.ip().is_unspecified());
        SocketAddr::new(own.unwrap_or(source.ip()), source.port())
    }

    /// Binds the socket to the interface, lets no router pass its packets on where no other host consented, connects it, and looks where that led it.
    ///
    /// # Errors
    /// If the system does not allow it (Linux before 5.7 lets only CAP_NET_RAW bind to an interface), or, a [`NoLeash`]
    /// inside, if packets of this socket would go another way.
    pub fn hold(&self, socket: &UdpSocket, target: SocketAddr) -> io::Result<()> {
        self.bind(socket, target)?;
        let asked = self.answering(target);
        socket.connect(asked)?;
        let ends = ends(socket)?;
        if !is_meant(asked, ends.1) {
            let by = Detour::Connected(ends.1);
            return Err(io::Error::other(NoLeash::Diverted { address: asked.ip().to_canonical(), by }));
        }
        self.follow(ends).map_err(io::Error::other)
    }

    /// Whether packets of the very socket with these ends go where any to that address do, and replies come back here.
    pub(crate) fn follow(&self, (own, led): (SocketAddr, SocketAddr)) -> Result<(), NoLeash> {
        let address = led.ip();
        let unknown = |why: io::Error| NoLeash::NotLooked { address, why: why.to_string() };
        let diverted = |by| Err(NoLeash::Diverted { address, by });
        let led_by = |rule| Err(NoLeash::Diverted { address, by: Detour::Rule { rule: Some(rule) } });
        let Some(mut passed) = self.passed() else { return Ok(()) };
        let is_asked = self.is_asked_by_service.swap(true, Ordering::Relaxed);
        let kinds = if is_asked { &[false][..] } else { &[false, true] };
        let out = Flow::plain(Some(own), led, Some(self.interface.get()));
        let back = Flow::plain(Some(led), own, None);
        let here = &mut passed.views[0];
        for flow in [Some(&out), Some(&back).filter(|_| self.interface == LOOPBACK)].into_iter().flatten() {
            unencapsulated(address, here.route_of(flow).map_err(unknown)?)?;
            for &by_service in kinds {
                let elsewhere = |route: &Route| self.is_elsewhere(route, address);
                if let Some(rule) = here.led_elsewhere(flow, by_service, elsewhere).map_err(unknown)? {
                    return led_by(rule);
                }
            }
        }
        if let Some(rule) = passed.replies_led_elsewhere(&back, kinds).map_err(unknown)? {
            return led_by(rule);
        }
        passed.tracked_elsewhere(own, led).map_err(unknown)?.map_or(Ok(()), diverted)
    }

    /// Whether the same namespace as before has the address that it leads to.
    ///
    /// # Errors
    /// If another has it.
    pub(crate) fn leads_where(&self, before: &Self, address: IpAddr) -> Result<(), NoLeash> {
        let whose = |leash: &Self| {
            leash.passed().map(|passed| {
                let (id, name) = passed.whose();
                (id, name.to_owned())
            })
        };
        match (whose(before), whose(self)) {
            (Some((then, from)), Some((now, to))) if then != now => Err(NoLeash::Moved { address, from, to }),
            _ => Ok(()),
        }
    }

    /// What packets and replies may pass, where that was seen.
    pub(crate) fn passed(&self) -> Option<MutexGuard<'_, PathPassed>> {
        Some(self.passed.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a route leads packets to an address otherwise than this.
    fn is_elsewhere(&self, route: &Route, address: IpAddr) -> bool {
        let is_this = route.through == Some(self.interface.get())
            && (self.interface == LOOPBACK || route.gateway.filter(|&to| to != address) == self.gateway);
        !route.local && !is_this
    }

    /// Whether nothing leaves by the interface now, for it is down.
    pub(crate) fn is_down(&self) -> bool {
        let Some(mut passed) = self.passed() else { return false };
        let links = passed.views[0].links().unwrap_or_default();
        links.iter().any(|link| link.index == self.interface.get() && !link.up)
    }

    /// The address that replies come from. A service that is bound to all addresses answers loopback's from loopback's.
    fn answering(&self, target: SocketAddr) -> SocketAddr {
        let is_own = |net: &str| AtSocket::has_address(Path::new(net), target);
        match self.from {
            Some(own) if !is_own("/proc/thread-self/net") => SocketAddr::new(own, target.port()),
            _ => target,
        }
    }

    fn bind(&self, socket: &UdpSocket, target: SocketAddr) -> io::Result<()> {
        let hops = if Consented::is_to(target) { HOPS } else { 1 };
        let socket = SockRef::from(socket);
        socket.bind_device_by_index_v4(Some(self.interface))?;
        if target.is_ipv6() {
            socket.set_unicast_hops_v6(hops)?;
        }
        socket.set_ttl_v4(hops)
    }
}

/// Both ends of a connected socket as the kernel's own table has them: a program that writes another address into what is
/// connected may write the first one into what is told of it.
fn ends(socket: &UdpSocket) -> io::Result<(SocketAddr, SocketAddr)> {
    let told = (socket.local_addr()?, socket.peer_addr()?);
    let inode = rustix::fs::fstat(socket)?.st_ino;
    let (own, led) = socket_table::ends_of(Path::new("/proc/thread-self/net"), inode).unwrap_or(told);
    let canonical = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
    Ok((canonical(own), canonical(led)))
}

/// Whether a socket that was to be connected to one address and is to the other is where it should be. To connect to no
/// address is to connect to loopback.
fn is_meant(asked: SocketAddr, led: SocketAddr) -> bool {
    let ip = asked.ip().to_canonical();
    let is_there = if ip.is_unspecified() { led.ip().is_loopback() } else { led.ip() == ip };
    is_there && led.port() == asked.port()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_where_it_was_to_be_connected_to_or_at_loopback_where_that_was_nowhere() {
        let meant = |asked: &str, led: &str| is_meant(asked.parse().unwrap(), led.parse().unwrap());
        assert!(meant("127.0.0.1:7007", "127.0.0.1:7007") && meant("[::ffff:127.0.0.1]:9", "127.0.0.1:9"));
        assert!(meant("0.0.0.0:7007", "127.0.0.1:7007") && meant("[::]:7007", "[::1]:7007"));
        for led in ["127.0.0.1:7008", "10.9.0.2:7007", "[::1]:7007"] {
            assert!(!meant("127.0.0.1:7007", led), "{led}");
        }
        assert!(!meant("0.0.0.0:7007", "10.9.0.2:7007"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_socket_that_a_program_at_a_control_group_leads_elsewhere_is_not_held() {
        // Nobody else on this machine connects there.
        let [named, other] = [7, 8].map(|last| Ipv4Addr::new(127, 77, 213, last));
        let hold = || {
            let leash = Leash::towards(IpAddr::from(named)).unwrap();
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            leash.hold(&socket, (named, 7007).into()).map(|()| socket)
        };
        assert!(hold().is_ok(), "without the program");
        let _led = match crate::sys::led_by_program::lead(named, other) {
            Ok(led) => led,
            Err(why) if std::env::var("CI").as_deref() != Ok("true") => {
                eprintln!("skipped: no program can be attached: {why}");
                return;
            }
            Err(why) => panic!("no program can be attached: {why}"),
        };
        let unheld = UdpSocket::bind("0.0.0.0:0").unwrap();
        unheld.connect((named, 7007)).unwrap();
        assert_eq!(
            unheld.peer_addr().unwrap(),
            (named, 7007).into(),
            "who asks is told what it wants to hear"
        );
        let why = hold().unwrap_err();
        assert!(why.to_string().contains("127.77.213.8:7007"), "{why}");
    }
}
