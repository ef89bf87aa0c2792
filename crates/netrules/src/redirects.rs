//! Filters of traffic control that give packets, or copies of them, to another interface, by the side of routes and of what
//! holds sockets here.

use crate::links::Link;
use crate::message::{Attributes, Message, Request, text, word};

const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
const NEW_CLASS: u16 = 40;
const GET_CLASS: u16 = 42;
const NEW_FILTER: u16 = 44;
const GET_FILTER: u16 = 46;
/// Bytes of `tcmsg`, and where in them the interface and the handle are.
const FIXED: usize = 20;
const INTERFACE: usize = 4;
const HANDLE: usize = 8;
/// Attributes of a filter, of an action and of what that action does; where the interface is in the last (`tc_mirred`).
const OPTIONS: u16 = 2;
const KIND: u16 = 1;
const PARAMETERS: u16 = 2;
const TO: usize = 24;
/// The action's kind, as it stands in a filter whatever that looks at.
const MIRRED: &[u8] = b"mirred\0";
/// Attributes are in one another so often, at most: filter, actions, one of them, what it does.
const DEPTH: usize = 6;
/// Handle of what stands before the network stack, and the places of its filters.
const CLSACT: u32 = 0xffff_0000;
const ARRIVING: u32 = 0xffff_fff2;
const LEAVING: u32 = 0xffff_fff3;

/// Ask for what filters of an interface hang on: its queueing disciplines, and their classes.
pub fn parents_asked(interface: u32) -> [Request; 2] {
    [GET_QDISC, GET_CLASS].map(|asked| Request::all(asked, &fixed(interface, 0)))
}

/// Those that a message tells. All interfaces' are told where one's are asked for.
pub fn parents(message: Message<'_>, interface: u32) -> Vec<u32> {
    let is_its =
        [NEW_QDISC, NEW_CLASS].contains(&message.kind) && word(message.body, INTERFACE) == Some(interface);
    match word(message.body, HANDLE).filter(|_| is_its) {
        Some(CLSACT) => vec![CLSACT, ARRIVING, LEAVING],
        None | Some(0) => Vec::new(),
        Some(handle) => vec![handle],
    }
}

/// Asks for the filters that hang on one.
pub fn filters_asked(interface: u32, parent: u32) -> Request {
    Request::all(GET_FILTER, &fixed(interface, parent))
}

/// Whether the filter that a message tells gives packets away for good, and the number of the interface that it gives them to,
/// where that is told.
pub fn led_away(message: Message<'_>, links: &[Link]) -> Option<Option<u32>> {
    let options = Attributes::find(message.body, FIXED, OPTIONS).filter(|_| message.kind == NEW_FILTER)?;
    redirected(options).filter(|to| leaves(*to, links))
}

/// Whether what is given to that interface does not come back here: a queue alone hands it on where it was, and loopback is
/// this namespace. What is not known may lead anywhere.
fn leaves(to: Option<u32>, links: &[Link]) -> bool {
    let to = links.iter().find(|link| Some(link.index) == to);
    to.is_none_or(|link| link.kind != "ifb" && !link.is_loopback())
}

/// What every request about traffic control begins with.
fn fixed(interface: u32, parent: u32) -> [u8; FIXED] {
    let mut fixed = [0; FIXED];
    fixed[INTERFACE..HANDLE].copy_from_slice(&interface.to_ne_bytes());
    fixed[12..16].copy_from_slice(&parent.to_ne_bytes());
    fixed
}

/// Whether a filter gives packets to another interface, and its number where that is told.
fn redirected(options: &[u8]) -> Option<Option<u32>> {
    let is_there = options.windows(MIRRED.len()).any(|bytes| bytes == MIRRED);
    is_there.then(|| target(options, DEPTH))
}

/// The interface that the first such action among these attributes gives packets to. Each kind of filter has its actions
/// in another attribute, so all are looked into.
fn target(attributes: &[u8], depth: usize) -> Option<u32> {
    let is_one = Attributes::find(attributes, 0, KIND).is_some_and(|kind| text(kind) == "mirred");
    if is_one {
        let does = Attributes::find(attributes, 0, OPTIONS)?;
        return word(Attributes::find(does, 0, PARAMETERS)?, TO);
    }
    let inner = depth.checked_sub(1)?;
    Attributes::behind(attributes, 0).find_map(|(_, value)| target(value, inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn filter(kind: &[u8], to: u32) -> Vec<u8> {
        let parameters = [&[0; TO][..], &to.to_ne_bytes()].concat();
        let action =
            [attribute(KIND, kind), attribute(OPTIONS, &attribute(PARAMETERS, &parameters))].concat();
        [attribute(5, &[1, 2, 3]), attribute(7, &attribute(1, &action))].concat()
    }

    #[test]
    fn an_action_is_found_wherever_a_filter_has_it() {
        assert_eq!(redirected(&filter(MIRRED, 9)), Some(Some(9)));
        assert_eq!(redirected(&filter(b"gact\0", 9)), None);
        assert_eq!(redirected(MIRRED), Some(None), "one that cannot be read leads anywhere");
    }

    #[test]
    fn what_only_queues_hands_packets_on_where_they_were() {
        let link = |index, name: &str, kind: &str| Link {
            index,
            name: name.into(),
            kind: kind.into(),
            ..Link::default()
        };
        let links = [link(1, "lo", ""), link(2, "eth0", ""), link(3, "ifb0", "ifb"), link(4, "near", "veth")];
        let leave = [Some(1), Some(2), Some(3), Some(4), Some(5), None].map(|to| leaves(to, &links));
        assert_eq!(leave, [false, true, false, true, true, true]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = redirected(&[&bytes[..], MIRRED, &bytes].concat());
        }
    }
}
