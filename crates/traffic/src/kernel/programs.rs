//! Programs of the kernel (BPF), and actions of traffic control, at the interfaces of a way: nobody can tell where they send
//! packets.

use super::look_error::seen;
use super::redirects::filters;
use super::view::View;
use crate::sys::programs_at;
use dropline_netrules::redirects::not_known;
use std::collections::BTreeSet;
use std::io;

/// What stands at one of these interfaces of a namespace of which nobody can tell where it sends packets, in words; `None`
/// where nothing does, or this user may not see.
///
/// # Errors
/// If it could not be looked at.
pub(super) fn at(view: &mut View, interfaces: &BTreeSet<u32>) -> io::Result<Option<String>> {
    if interfaces.is_empty() {
        return Ok(None);
    }
    let links = view.links().unwrap_or_default();
    let links: Vec<_> = links.into_iter().filter(|link| interfaces.contains(&link.index)).collect();
    let stands = seen(view.inside(|| first_with_program(interfaces)))?.flatten();
    for link in links {
        let what = match stands {
            _ if link.program => Some("a program of XDP (BPF)".into()),
            Some(index) if index == link.index => Some("a program of tc (BPF, tcx)".into()),
            _ => match view.netlink() {
                Some(netlink) => filters(netlink, &link, not_known)?,
                None => None,
            },
        };
        if let Some(what) = what {
            return Ok(Some(format!("{what} at interface {} of {}", link.name, view.name)));
        }
    }
    Ok(None)
}

/// The first of these interfaces of the calling thread's namespace that has programs of traffic control, as far as this user sees.
pub(super) fn first_with_program(interfaces: &BTreeSet<u32>) -> Option<u32> {
    interfaces.iter().copied().find(|&index| programs_at(index).is_ok_and(|programs| programs > 0))
}
