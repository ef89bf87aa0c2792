//! A lookout for rules of this namespace's firewall that change: whether they did is cheap to ask, what they do is not.

use super::firewall::generation;
use super::netlink::Netlink;
use super::older;
use dropline_netrules::older::OlderTable;

/// The rules as they were when this was last asked.
#[derive(Debug)]
pub(crate) struct Lookout {
    filter: Option<Netlink>,
    last: Looked,
}

/// The generation of nftables' rules, and the older tables; `None` where they are not to be seen.
type Looked = (Option<u32>, Option<Vec<OlderTable>>);

impl Lookout {
    /// From now on, in the namespace of the calling thread.
    pub(crate) fn new() -> Self {
        let mut lookout = Self { filter: Netlink::open(libc::NETLINK_NETFILTER).ok(), last: (None, None) };
        lookout.last = lookout.look();
        lookout
    }

    fn look(&mut self) -> Looked {
        let tables = if older::are_there() { older::tables().ok().flatten() } else { None };
        // Counters of packets are among the bytes of a rule.
        (self.filter.as_mut().and_then(generation), tables.map(OlderTable::without_counts))
    }

    /// Whether they changed since this was last asked; asked by a thread of the same namespace.
    pub(crate) fn is_new(&mut self) -> bool {
        let now = self.look();
        let is_new = now != self.last;
        self.last = now;
        is_new
    }
}
