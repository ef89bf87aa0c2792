//! Filters of traffic control that give packets, or copies of them, to another interface, by the side of routes and of what
//! holds sockets here.

use super::links;
use super::look_error::seen;
use super::netlink::Netlink;
use dropline_netrules::links::Link;
use dropline_netrules::message::Message;
use dropline_netrules::redirects;
use std::collections::BTreeSet;
use std::io;

/// An interface at which packets are given to another, and that; `None` where there is none, or this user may not see. Those
/// of hardware are left out, as no packet of ours leaves by them; so is what comes back: to a device that only queues.
///
/// # Errors
/// If it could not be looked at.
pub(super) fn leading_away(netlink: &mut Netlink) -> io::Result<Option<String>> {
    let Some(links) = seen(links::links(netlink))? else { return Ok(None) };
    let name = |index: u32| links.iter().find(|link| link.index == index).map(|link| link.name.as_str());
    for link in links.iter().filter(|link| !link.kind.is_empty() || link.is_loopback()) {
        if let Some(to) = filters(netlink, link, |message| redirects::led_away(message, &links))? {
            let to = to.and_then(name).unwrap_or("an interface that is not known");
            return Ok(Some(format!("mirred of tc at interface {}, to {to}", link.name)));
        }
    }
    Ok(None)
}

/// What is said of the first filter of an interface of which anything is.
///
/// # Errors
/// If they could not be looked at.
pub(super) fn filters<T>(
    netlink: &mut Netlink,
    link: &Link,
    says: impl Fn(Message<'_>) -> Option<T>,
) -> io::Result<Option<T>> {
    for parent in parents(netlink, link)? {
        let mut found = None;
        let told = netlink.ask(&redirects::filters_asked(link.index, parent), |message| {
            found = found.take().or_else(|| says(message));
        });
        if found.is_some() {
            return Ok(found);
        }
        seen(told)?;
    }
    Ok(None)
}

/// What filters of an interface hang on.
fn parents(netlink: &mut Netlink, link: &Link) -> io::Result<BTreeSet<u32>> {
    let mut parents = BTreeSet::new();
    for asked in redirects::parents_asked(link.index) {
        seen(netlink.ask(&asked, |message| parents.extend(redirects::parents(message, link.index))))?;
    }
    Ok(parents)
}
