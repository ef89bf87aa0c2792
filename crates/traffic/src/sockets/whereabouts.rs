//! Is the target on this machine? Without consent, traffic never leaves it.

use super::consented::Consented;
use super::flows::Flows;
use crate::error::{Detour, NoLeash};
use crate::kernel::look_error::seen;
use crate::kernel::namespaces::{process_in, tables_that_show};
use crate::kernel::path_passed::PathPassed;
use crate::kernel::segment;
use crate::kernel::segment::Gap;
use crate::kernel::transforms::transforming;
use crate::kernel::view::View;
use dropline_netrules::firewall::Seat;
use dropline_netrules::routes::{Flow, Route};
use dropline_netrules::visit::{By, Tuple};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Where packets to an address end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// On this machine, in this network namespace: loopback, or the address of an interface.
    Here,
    /// In another network namespace of this machine, which has the address and gets what is sent there over
    /// virtual interfaces alone.
    OtherNamespace {
        /// The `/proc/…/net` directory of a process there; `None` if none runs there.
        net: Option<PathBuf>,
    },
    /// Off this machine, or nobody can tell. Packets go there where the host consented, and nowhere else.
    Elsewhere,
}

impl Whereabouts {
    /// Where packets end. What this user may not look at counts as elsewhere.
    pub fn of(packets: impl Into<Flows>) -> Self {
        Way::to(&packets.into()).map_or(Self::Elsewhere, |way| way.end)
    }

    /// Whether packets stay on this machine.
    pub fn is_this_machine(&self) -> bool {
        *self != Self::Elsewhere
    }
}

/// The way of packets to an address, as far as it is known without sending one.
pub(crate) struct Way {
    pub(crate) end: Whereabouts,
    /// The interface that they leave by; `None` for an own address of an interface that is not loopback's.
    pub(crate) interface: Option<u32>,
    /// The next hop, where it is not the address itself.
    pub(crate) gateway: Option<IpAddr>,
    /// What they may pass, where that was seen.
    pub(crate) passed: Option<PathPassed>,
}

/// The loopback interface has this number in every namespace.
const LOOPBACK: u32 = 1;

impl Way {
    /// # Errors
    /// If it may lead off this machine.
    pub(crate) fn to(packets: &Flows) -> Result<Self, NoLeash> {
        let address = packets.address.to_canonical();
        let elsewhere = || NoLeash::Elsewhere(address);
        let unknown = |why: io::Error| NoLeash::NotLooked { address, why: why.to_string() };
        let mut here = seen(View::here()).map_err(unknown)?;
        let route = here.as_mut().and_then(|here| here.route(address));
        let is_own =
            address.is_loopback() || address.is_unspecified() || route.is_some_and(|route| route.local);
        if let Some(here) = &mut here {
            unled(here, packets, route, is_own)?;
        }
        untransformed(address, transforming(address, is_own))?;
        unencapsulated(address, route)?;
        if address.is_loopback() || address.is_unspecified() {
            return Self::here(Some(LOOPBACK), here, address);
        }
        if address.is_multicast() {
            return Err(elsewhere());
        }
        let (mut here, route) = (here.ok_or_else(elsewhere)?, route.ok_or_else(elsewhere)?);
        if route.local {
            let interface = here.has_address(LOOPBACK, address).then_some(LOOPBACK);
            return Self::here(interface, Some(here), address);
        }
        let interface = route.through.ok_or_else(elsewhere)?;
        // What is bound to the interface has one of the routes over it, which may be another.
        let bound = here.route_by(Some(interface), address).ok_or_else(elsewhere)?;
        unencapsulated(address, Some(bound))?;
        let gateway = bound.gateway.filter(|&gateway| gateway != address);
        if packets.target().is_some_and(Consented::is_to) {
            return Self::to_a_host_that_consented(here, interface, gateway, address);
        }
        let rule = rule_to_a_gateway(&mut here, interface, address)?;
        let other = |net, passed| Self {
            end: Whereabouts::OtherNamespace { net },
            interface: Some(interface),
            gateway,
            passed,
        };
        let tuples = packets.tuples(bound.source, &[address]);
        let source = tuples[0].source.filter(|_| tuples.len() == 1);
        let packet = Tuple { source, ..tuples[0].clone() };
        match segment::holder(here, interface, &packet, gateway) {
            Ok(mut passed) => {
                known(&mut passed, address)?;
                let sources: Vec<IpAddr> = tuples.iter().filter_map(|packet| packet.source).collect();
                untransformed(address, passed.replies_transformed(&sources))?;
                let namespace = passed.views[passed.holder.0].id;
                Ok(other(process_in(namespace), Some(passed)))
            }
            Err(Gap::Nobody { has: Some(_), .. }) if rule.is_some() => {
                Err(NoLeash::Diverted { address, by: Detour::Rule { rule } })
            }
            Err(Gap::Nobody { has: Some(namespace), router }) => {
                let way = match (gateway, router) {
                    (Some(gateway), Some(router)) => {
                        format!(
                            "go by way of {gateway}, and would be passed on by {router}, which is a router for them"
                        )
                    }
                    (Some(gateway), None) => format!("go by way of {gateway}, a router"),
                    (None, _) => "leave by an interface behind which that namespace is not".into(),
                };
                Err(NoLeash::Apart { address, namespace, way })
            }
            Err(Gap::Nobody { has: None, .. }) => Err(elsewhere()),
            Err(Gap::LedAway(rule)) => Err(NoLeash::LedAway { address, rule }),
            Err(Gap::Diverted(Detour::Gateway(_))) if rule.is_some() => {
                Err(NoLeash::Diverted { address, by: Detour::Rule { rule } })
            }
            Err(Gap::Diverted(by)) => Err(NoLeash::Diverted { address, by }),
            Err(Gap::NotLooked(why)) => Err(NoLeash::NotLooked { address, why }),
            Err(Gap::LeadsOff(interface, kind)) => {
                let kind =
                    if kind.is_empty() { "a network card, or what looks like one".into() } else { kind };
                Err(NoLeash::LeadsOff { address, interface, kind })
            }
            Err(Gap::Unseen(name)) => match tables_that_show(address, interface, gateway) {
                Some(net) => Ok(other(Some(net), None)),
                None => Err(NoLeash::Unseen { address, interface: name }),
            },
        }
    }
}

impl Way {
    /// To another host: what leads packets elsewhere in this namespace is looked for, and what routers do with them is theirs.
    fn to_a_host_that_consented(
        here: View,
        interface: u32,
        gateway: Option<IpAddr>,
        address: IpAddr,
    ) -> Result<Self, NoLeash> {
        let mut passed = PathPassed::one(here, interface);
        known(&mut passed, address)?;
        Ok(Self { end: Whereabouts::Elsewhere, interface: Some(interface), gateway, passed: Some(passed) })
    }

    /// To an address of this namespace: packets are held at loopback, whichever interface has it.
    fn here(interface: Option<u32>, here: Option<View>, address: IpAddr) -> Result<Self, NoLeash> {
        let mut passed = here.map(|here| PathPassed::one(here, LOOPBACK));
        passed.as_mut().map_or(Ok(()), |passed| known(passed, address))?;
        Ok(Self { end: Whereabouts::Here, interface, gateway: None, passed })
    }
}

/// What leads packets to an address by way of a gateway, in words, where it is not the table of routes that all have.
fn rule_to_a_gateway(here: &mut View, interface: u32, address: IpAddr) -> Result<Option<String>, NoLeash> {
    const MAIN: u32 = 254;
    let flow = Flow::plain(None, SocketAddr::new(address, 0), Some(interface));
    let is_of_a_rule = |route: &Route| route.gateway.is_some() && route.table != Some(MAIN);
    let led = match here.route_of(&flow) {
        Ok(Some(route)) if is_of_a_rule(&route) => here.led_elsewhere(&flow, false, is_of_a_rule),
        other => other.map(|_| None),
    };
    led.map_err(|why| NoLeash::NotLooked { address, why: why.to_string() })
}

/// Nothing at the interfaces of a way sends packets where nobody can tell.
fn known(passed: &mut PathPassed, address: IpAddr) -> Result<(), NoLeash> {
    match passed.not_known() {
        Ok(None) => Ok(()),
        Ok(Some(by)) => Err(NoLeash::Diverted { address, by }),
        Err(why) => Err(NoLeash::NotLooked { address, why: why.to_string() }),
    }
}

/// No packets inside of others.
pub(super) fn unencapsulated(address: IpAddr, route: Option<Route>) -> Result<(), NoLeash> {
    match route {
        Some(route) if route.encapsulated => Err(NoLeash::Diverted { address, by: Detour::Encapsulation }),
        _ => Ok(()),
    }
}

/// The same of IPsec, which no route speaks of, by the policy that was found.
fn untransformed(address: IpAddr, policy: io::Result<Option<String>>) -> Result<(), NoLeash> {
    match policy {
        Ok(None) => Ok(()),
        Ok(Some(policy)) => Err(NoLeash::Diverted { address, by: Detour::Policy(policy) }),
        Err(why) => Err(NoLeash::NotLooked { address, why: why.to_string() }),
    }
}

/// No rule of this namespace that the packets, or replies to them, may meet leads them away.
fn unled(here: &mut View, packets: &Flows, route: Option<Route>, is_own: bool) -> Result<(), NoLeash> {
    let address = packets.address.to_canonical();
    let through = match route.and_then(|route| route.through) {
        _ if is_own => here.by(LOOPBACK),
        Some(index) => here.by(index),
        None => By::ANY,
    };
    let seat = if is_own { Seat::Both(&through) } else { Seat::Near(&through) };
    let tuples = match address {
        IpAddr::V4(_) if is_own => {
            // What goes to an own address comes from loopback's, and goes there where the service is bound to all.
            let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
            let preferred = if address.is_loopback() { route.and_then(|route| route.source) } else { None };
            packets.tuples(preferred.or(Some(loopback)), &[address, loopback])
        }
        _ => packets.tuples(route.and_then(|route| route.source), &[address]),
    };
    let through: Vec<_> = tuples.iter().flat_map(|packet| seat.through(packet)).collect();
    match here.leads_away(&through) {
        Ok(None) => Ok(()),
        Ok(Some(rule)) => Err(NoLeash::LedAway { address, rule }),
        Err(why) => Err(NoLeash::NotLooked { address, why: why.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_here_and_the_world_is_not() {
        for here in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0"] {
            assert_eq!(Whereabouts::of(here.parse::<IpAddr>().unwrap()), Whereabouts::Here, "{here}");
        }
        // Documentation, benchmarking and multicast addresses: nobody's.
        for elsewhere in ["192.0.2.1", "198.18.0.1", "2001:db8::1", "239.1.2.3", "255.255.255.255"] {
            assert!(!Whereabouts::of(elsewhere.parse::<IpAddr>().unwrap()).is_this_machine(), "{elsewhere}");
        }
    }
}
