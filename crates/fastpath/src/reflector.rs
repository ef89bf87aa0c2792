//! A reflector in the kernel: packets of ours to a service are sent back at its interface, before they reach the service.

use crate::error::LinkError;
use crate::instructions;
use crate::judge::attached;
use crate::link_end::LinkEnd;
use crate::sys::{Attached, Map, Mapped, Mode, driver};
use dropline_payload::{Message, Tag};
use std::net::SocketAddrV4;
use std::sync::atomic::Ordering;

const CAPABILITIES: &str = "CAP_BPF and CAP_NET_ADMIN";
/// The driver of pairs of interfaces.
const PAIR: &str = "veth";

/// A word of its page; as in `struct page` of `bpf/reflector.c`.
#[derive(Clone, Copy, Debug)]
enum OfPage {
    Address,
    Port,
    Mark,
    Reflected,
}

/// It stands there until it is dropped, or the process ends.
#[derive(Debug)]
pub struct KernelReflector {
    _attached: Attached,
    mode: Mode,
    page: (Map, Mapped),
}

impl KernelReflector {
    /// Puts one at an interface, for the packets of ours that go to this service and want a reply.
    ///
    /// # Errors
    /// If the interface is not fit, or this user may not.
    pub fn at(end: &LinkEnd, service: SocketAddrV4) -> Result<Self, LinkError> {
        let port = end.open()?;
        let bytes = (OfPage::Reflected as usize + 1) * size_of::<u64>();
        let making = LinkError::of("making a BPF map", CAPABILITIES);
        let map = Map::array(bytes as u32, 1).map_err(&making)?;
        let page = Mapped::of(&map).map_err(&making)?;
        let header = Message::Packet { tag: Tag(0), index: 0, reply_wanted: true }.header();
        let [a, b, c, d, ..] = header;
        for (word, value) in [
            (OfPage::Address, u64::from(u32::from_ne_bytes(service.ip().octets()))),
            (OfPage::Port, service.port().into()),
            (OfPage::Mark, u32::from_ne_bytes([a, b, c, d]).into()),
        ] {
            page.words()[word as usize].store(value, Ordering::Release);
        }
        let program =
            instructions::reflector(&map).map_err(LinkError::of("loading a BPF program", CAPABILITIES))?;
        // What the driver of a pair sends back itself arrives only where another program stands at the other end.
        let is_pair = port.space.inside(|| driver(end.interface()))?.is_ok_and(|name| name == PAIR);
        let (attached, mode) = attached(&program, &port, if is_pair { Mode::Generic } else { Mode::Native })?;
        Ok(Self { _attached: attached, mode, page: (map, page) })
    }

    /// Packets that were sent back.
    pub fn reflected(&self) -> u64 {
        self.page.1.words()[OfPage::Reflected as usize].load(Ordering::Acquire)
    }

    /// In words, where it stands.
    pub fn words(&self) -> &'static str {
        match self.mode {
            Mode::Native => "by XDP in the driver",
            Mode::Generic => "by XDP behind the driver",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_the_same_on_both_sides() {
        let text = include_str!("../bpf/reflector.c");
        let (_, text) = text.split_once("struct page {").unwrap();
        let (text, _) = text.split_once("};").unwrap();
        let fields = text.lines().filter_map(|line| line.trim().strip_prefix("u64 ")?.split_once(';'));
        let ours = [OfPage::Address, OfPage::Port, OfPage::Mark, OfPage::Reflected];
        assert_eq!(
            fields.map(|(name, _)| name.to_owned()).collect::<Vec<_>>(),
            ours.map(|word| format!("{word:?}").to_lowercase())
        );
    }
}
