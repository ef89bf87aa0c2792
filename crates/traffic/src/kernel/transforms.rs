//! Asking for policies of IPsec (XFRM).

use super::look_error::seen;
use super::netlink::Netlink;
use dropline_netrules::transforms::{policies, transforms};
use std::io;
use std::net::IpAddr;
use std::path::Path;

/// The destination, as `10.0.0.0/8`, of a policy of the calling thread's namespace that may transform what leaves for
/// `address`; `None` where there is none, this user may not list them, or this kernel has no IPsec.
///
/// # Errors
/// If they could not be looked at.
pub(crate) fn transforming(address: IpAddr, is_own: bool) -> io::Result<Option<String>> {
    if is_own && address.is_ipv4() && is_loopback_spared() {
        return Ok(None);
    }
    let Some(mut netlink) = seen(Netlink::open(libc::NETLINK_XFRM))? else { return Ok(None) };
    let mut found = None;
    let told = netlink.ask(&policies(), |message| {
        found = found.take().or_else(|| transforms(message, address));
    });
    if found.is_none() {
        seen(told)?;
    }
    Ok(found)
}

/// Loopback of version 4 is by default let alone by all policies.
fn is_loopback_spared() -> bool {
    let spared = |of: &str| {
        let file = Path::new("/proc/sys/net/ipv4/conf").join(of).join("disable_xfrm");
        std::fs::read_to_string(file).is_ok_and(|said| said.trim() != "0")
    };
    spared("lo") || spared("all")
}
