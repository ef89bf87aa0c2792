//! Asking for entries of connection tracking.

use super::look_error::seen;
use super::view::View;
use dropline_netrules::tracked::{asked, leads};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Whom an entry of a namespace that is there already leads packets of a flow to, or replies, where that is neither for whom they
/// are nor the namespace itself; `None` where there is none, or this user may not see. It is asked for in each zone that a rule
/// there puts packets into.
///
/// # Errors
/// If it could not be looked at.
pub(super) fn elsewhere(view: &mut View, from: SocketAddr, to: SocketAddr) -> io::Result<Option<IpAddr>> {
    let zones = view.zones()?;
    for (zone, (from, to)) in zones.iter().flat_map(|&zone| [(zone, (from, to)), (zone, (to, from))]) {
        let Some(netlink) = view.netfilter() else { return Ok(None) };
        let mut led = None;
        seen(netlink.ask(&asked(from, to, zone), |message| led = leads(message, from, to)))?;
        let Some((destination, source)) = led else { continue };
        let is_own = |view: &mut View, address| view.route(address).is_some_and(|route| route.local);
        for (address, meant) in [(destination, to.ip()), (source, from.ip())] {
            if address != meant && !is_own(view, address) {
                return Ok(Some(address));
            }
        }
    }
    Ok(None)
}
