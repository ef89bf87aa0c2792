//! Asking for an entry of connection tracking.

use super::seen::seen;
use super::view::View;
use dropline_netrules::tracked::{answers, asked};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Whom an entry of a namespace that is there already leads the packets of a flow to, where that is neither the target nor the
/// namespace itself; `None` where there is none, or this user may not see.
///
/// # Errors
/// If it could not be looked at.
pub(super) fn elsewhere(view: &mut View, from: SocketAddr, to: SocketAddr) -> io::Result<Option<IpAddr>> {
    let Some(netlink) = view.netfilter() else { return Ok(None) };
    let mut answering = None;
    seen(netlink.ask(&asked(from, to), |message| answering = answers(message)))?;
    let is_own = |view: &mut View, address| view.route(address).is_some_and(|route| route.local);
    Ok(answering.filter(|&address| address != to.ip() && !is_own(view, address)))
}
