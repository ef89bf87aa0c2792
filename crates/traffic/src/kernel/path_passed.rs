//! What packets to an address pass, and replies to them: the namespaces and interfaces of a way, and what is asked of them.

use super::look_error::seen;
use super::programs;
use super::tracked;
use super::transforms::transforming;
use super::view::View;
use crate::error::Detour;
use dropline_netrules::routes::{Flow, Route};
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// What packets to an address may pass that no router passes on, and replies to them.
#[derive(Debug)]
pub(crate) struct PathPassed {
    /// The namespaces; the first is where packets leave.
    pub(crate) views: Vec<View>,
    /// Of each, the interfaces.
    pub(crate) interfaces: Vec<BTreeSet<u32>>,
    /// Those of them by which packets come in for whoever has the interface.
    pub(crate) ends: Vec<BTreeSet<u32>>,
    /// Which of them has the address, and the interface that they come in by.
    pub(crate) holder: (usize, u32),
}

impl PathPassed {
    /// One interface alone: loopback, or the one by which packets leave for another host.
    pub(crate) fn one(here: View, interface: u32) -> Self {
        Self {
            views: vec![here],
            interfaces: vec![[interface].into()],
            ends: vec![BTreeSet::new()],
            holder: (0, interface),
        }
    }

    /// What carries least of the way to an address, in words, and how many bytes in one piece.
    pub(crate) fn carries_least(&mut self, address: IpAddr) -> Option<(String, u32)> {
        let each = self.views.iter_mut().zip(&self.interfaces).enumerate();
        let least = each.filter_map(|(at, (view, interfaces))| {
            view.carries_least(interfaces, Some(address).filter(|_| at == 0))
        });
        least.min_by_key(|(_, mtu)| *mtu)
    }

    /// What stands at an interface of the way of which nobody can tell where it sends packets.
    ///
    /// # Errors
    /// If it could not be looked at.
    pub(crate) fn not_known(&mut self) -> io::Result<Option<Detour>> {
        for (view, interfaces) in self.views.iter_mut().zip(&self.interfaces) {
            if let Some(what) = programs::at(view, interfaces)? {
                return Ok(Some(Detour::NotKnown { what: what.into() }));
            }
        }
        Ok(None)
    }

    /// What connection tracking has of a flow from before that leads its packets elsewhere.
    ///
    /// # Errors
    /// If it could not be looked at.
    pub(crate) fn tracked_elsewhere(
        &mut self,
        from: SocketAddr,
        to: SocketAddr,
    ) -> io::Result<Option<Detour>> {
        let on_way =
            self.views.iter_mut().zip(&self.interfaces).filter(|(_, interfaces)| !interfaces.is_empty());
        for (view, _) in on_way {
            if let Some(other) = tracked::elsewhere(view, from, to)? {
                return Ok(Some(Detour::Tracked {
                    port: from.port(),
                    to: other,
                    namespace: view.name.as_str().into(),
                }));
            }
        }
        Ok(None)
    }

    /// A policy of IPsec where the address is that may transform what leaves there for one of these, in words.
    ///
    /// # Errors
    /// If they could not be looked at.
    pub(crate) fn replies_transformed(&self, to: &[IpAddr]) -> io::Result<Option<String>> {
        let view = &self.views[self.holder.0];
        for &to in to.iter().filter(|_| self.holder.0 > 0) {
            if let Some(policy) = seen(view.inside(|| transforming(to, false)))?.transpose()?.flatten() {
                return Ok(Some(format!("{policy} in {}", view.name)));
            }
        }
        Ok(None)
    }

    /// Who has the address: the number of its namespace, and its name.
    pub(crate) fn whose(&self) -> (u64, &str) {
        let view = &self.views[self.holder.0];
        (view.id, &view.name)
    }

    /// What leads replies of a flow to where nothing of the way is, by their type of service alone or by all else, as `kinds`
    /// say.
    ///
    /// # Errors
    /// If it could not be looked at.
    pub(crate) fn replies_led_elsewhere(
        &mut self,
        flow: &Flow,
        kinds: &[bool],
    ) -> io::Result<Option<String>> {
        let (at, _) = self.holder;
        if at == 0 {
            return Ok(None);
        }
        // What is no station's own, as where a host answers for another, is the near end's.
        let (before, [far, behind @ ..]) = self.views.split_at_mut(at) else { return Ok(None) };
        let stations = std::cell::RefCell::new(before.iter_mut().skip(1).chain(behind).collect::<Vec<_>>());
        let is_a_stations = |hop: IpAddr| {
            stations.borrow_mut().iter_mut().any(|view| view.route(hop).is_some_and(|route| route.local))
        };
        let on_way = &self.interfaces[at];
        let elsewhere = |route: &Route| {
            !route.local
                && (route.encapsulated
                    || route.through.is_some_and(|through| !on_way.contains(&through))
                    || route.gateway.is_some_and(is_a_stations))
        };
        for &by_service in kinds {
            if let Some(led) = far.led_elsewhere(flow, by_service, elsewhere)? {
                return Ok(Some(led));
            }
        }
        Ok(None)
    }
}
