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

/// What a filter does of which nobody can tell where it leads packets, in words: a program, or an action that is not one of those
/// that only drop, count or mark. `None` if the message tells another.
pub fn not_known(message: Message<'_>) -> Option<String> {
    let find = |kind| Attributes::find(message.body, FIXED, kind).filter(|_| message.kind == NEW_FILTER);
    if find(KIND).is_some_and(|kind| text(kind) == "bpf") {
        return Some("a program of tc (BPF)".into());
    }
    let action = foreign_action(find(OPTIONS)?, DEPTH)?;
    Some(format!("the action {action} of tc"))
}

/// An action among these attributes that may lead packets elsewhere, by its name.
fn foreign_action(attributes: &[u8], depth: usize) -> Option<String> {
    /// What drops, counts or marks packets, and leaves them where they are.
    const HARMLESS: [&str; 9] =
        ["gact", "police", "connmark", "csum", "ctinfo", "gate", "sample", "simple", "skbedit"];
    let is_name = |name: &[u8]| {
        name.split_last().is_some_and(|(end, name)| {
            *end == 0 && name.len() > 1 && name.iter().all(|&byte| byte.is_ascii_lowercase() || byte == b'_')
        })
    };
    let named = Attributes::find(attributes, 0, KIND).filter(|name| is_name(name));
    if let (Some(name), Some(_)) = (named, Attributes::find(attributes, 0, OPTIONS)) {
        // What comes back by an interface is looked at for itself.
        return Some(text(name)).filter(|name| name != "mirred" && !HARMLESS.contains(&name.as_str()));
    }
    let inner = depth.checked_sub(1)?;
    Attributes::behind(attributes, 0).find_map(|(_, value)| foreign_action(value, inner))
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
    use crate::message::attribute;
    use proptest::prelude::*;

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
    fn of_actions_those_alone_are_let_be_that_leave_packets_where_they_are() {
        let told = |kind: &[u8], action: &[u8]| {
            let options = attribute(OPTIONS, &filter(action, 9));
            let body = [&[0; FIXED][..], &attribute(KIND, kind), &options].concat();
            not_known(Message { kind: NEW_FILTER, number: 1, body: &body })
        };
        assert_eq!(told(b"u32\0", b"police\0"), None);
        assert_eq!(told(b"u32\0", MIRRED), None, "that is told by where it leads");
        assert_eq!(told(b"flower\0", b"pedit\0").as_deref(), Some("the action pedit of tc"));
        assert_eq!(told(b"u32\0", b"bpf\0").as_deref(), Some("the action bpf of tc"));
        assert_eq!(told(b"bpf\0", b"gact\0").as_deref(), Some("a program of tc (BPF)"));
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
            let _ = not_known(Message { kind: NEW_FILTER, number: 0, body: &bytes });
        }
    }
}
