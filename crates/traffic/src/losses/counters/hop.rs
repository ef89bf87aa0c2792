//! One host alone on the way of packets that others send: what it counts of them, and whether it leads them elsewhere.

use super::passing::Passing;
use super::{Counters, Seat};
use crate::kernel::view::View;
use crate::sockets::flows::Flows;
use dropline_account::{Flow, Role, Way};
use dropline_netrules::firewall::Seat as Stands;
use dropline_netrules::routes::Route;
use dropline_netrules::visit::{By, Tuple};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// What a host is to packets of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// It has the target's address.
    Target,
    /// It is on the way, or may be.
    Between,
}

impl Counters {
    /// Datagrams to the target that came to such a host since this was made, and replies that left it; `None` where that is not to be
    /// seen.
    pub fn passed(&mut self) -> Option<Flow> {
        self.passing.as_mut()?.read()
    }

    /// What counts a trial's packets on this host alone, which they pass on their way from other hosts: the target's, or one
    /// between. `None` for `sources` that are not known.
    ///
    /// # Errors
    /// If the system has no counters, packets do not pass this host, or they come from it.
    pub fn at_hop(sources: &[IpAddr], target: SocketAddr) -> io::Result<(Self, Hop)> {
        let mut here = View::here()?;
        let lacks = |to: IpAddr| io::Error::other(format!("it has no route to {to}"));
        let address = target.ip().to_canonical();
        let out = here.route(address).ok_or_else(|| lacks(address))?;
        let mut leaves = BTreeMap::new();
        for &source in sources {
            let back = here.route(source).ok_or_else(|| lacks(source))?;
            if back.local {
                return Err(io::Error::other(format!(
                    "packets come from this host itself, from {source}, and what it lost of them is not told from what it lost of those \
                     that pass: observe hosts that do not send"
                )));
            }
            leaves.extend(back.through.map(|through| (through, Way::Back)));
        }
        if !out.local {
            leaves.extend(out.through.map(|through| (through, Way::Out)));
        }
        let hop = if out.local { Hop::Target } else { Hop::Between };
        let role = if out.local { Role::Far } else { Role::Between };
        let source = match sources {
            [one] => *one,
            _ => Ipv4Addr::UNSPECIFIED.into(),
        };
        let mut counters = Self { source, target, sockets: out.local, ..Self::of_any() };
        // What the kernel says of the whole machine is of other namespaces too.
        counters.reasons = None;
        counters.unseen.clear();
        counters.leave = leave(&out);
        counters.passing = Passing::of(target, &leaves);
        counters.places.push(Seat { role, view: here, leaves, faces: BTreeMap::new() });
        Ok((counters, hop))
    }

    /// What of such a host leads packets to the target elsewhere now, in words: an address that it has no more, a route that is
    /// another one than at first, a rule.
    ///
    /// # Errors
    /// If that could not be looked at.
    pub fn leads_elsewhere(&mut self) -> io::Result<Option<String>> {
        let (target, was) = (self.target, self.leave);
        let address = target.ip().to_canonical();
        let Some(seat) = self.places.first_mut() else { return Ok(None) };
        let (has_it, view) = (seat.role == Role::Far, &mut seat.view);
        let route = view.route(address);
        if has_it && route.is_none_or(|route| !route.local) {
            return Ok(Some(format!("it has the address {address} no more")));
        }
        let Some(route) = route else { return Ok(Some(format!("it has no route to {address}"))) };
        if leave(&route) != was {
            return Ok(Some(format!("its route to {address} is another one than at first")));
        }
        let by = By::ANY;
        let stands = if has_it { Stands::Far(&by, &by) } else { Stands::Between(&by) };
        let packets = Flows::from(target).tuples(None, &[address]);
        // What others send is no program's here.
        let packets = packets.into_iter().map(|packet| Tuple { is_own: Some(has_it), owner: None, ..packet });
        let through: Vec<_> = packets.flat_map(|packet| stands.through(&packet)).collect();
        view.leads_away(&through)
    }
}

/// By which interface and next hop packets leave that are not for this host.
fn leave(route: &Route) -> Option<(u32, Option<IpAddr>)> {
    route.through.filter(|_| !route.local).map(|through| (through, route.gateway))
}
