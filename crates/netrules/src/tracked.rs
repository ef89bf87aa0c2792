//! Connection tracking: where an entry that is there already leads the packets of a flow, whatever the rules say by now.

use crate::message::{Attributes, Message, Request, attribute};
use crate::routes;
use std::net::{IpAddr, SocketAddr};

const GET_ENTRY: u16 = (1 << 8) | 1;
const NEW_ENTRY: u16 = 1 << 8;
/// Bytes of `nfgenmsg`.
const FIXED: usize = 4;
/// Attributes of an entry: the flow as it began, and that of its replies.
const ORIGINAL: u16 = 1;
const REPLY: u16 = 2;
/// Of a flow: addresses and protocol.
const ADDRESSES: u16 = 1;
const PROTOCOL: u16 = 2;
/// What holds other attributes says so.
const NESTED: u16 = 1 << 15;
const UDP: u8 = 17;

/// Asks for the entry that UDP packets belong to which go so, in a zone; 0 is that of all for which no rule sets another.
pub fn asked(from: SocketAddr, to: SocketAddr, zone: u16) -> Request {
    const ZONE: u16 = 18;
    let family = routes::written(from.ip()).0;
    let asked = Request::one(GET_ENTRY, &[family, 0, 0, 0]).with(ORIGINAL | NESTED, &flow(from, to));
    if zone == 0 { asked } else { asked.with(ZONE, &zone.to_be_bytes()) }
}

/// Where packets that go so are sent by the entry that a message tells, and whom they come from then; `None` if it is another
/// message, torn, or an entry of others. What an entry knows as replies it gives back to whom it takes to have asked.
pub fn leads(message: Message<'_>, from: SocketAddr, to: SocketAddr) -> Option<(IpAddr, IpAddr)> {
    let entry = |kind| Attributes::find(message.body, FIXED, kind).filter(|_| message.kind == NEW_ENTRY);
    let (original, reply) = (Flow::read(entry(ORIGINAL)?)?, Flow::read(entry(REPLY)?)?);
    let these = Flow { from, to };
    let other = if original == these { reply } else { Some(original).filter(|_| reply == these)? };
    Some((other.from.ip(), other.to.ip()))
}

/// One direction of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flow {
    from: SocketAddr,
    to: SocketAddr,
}

impl Flow {
    fn read(flow: &[u8]) -> Option<Self> {
        let (addresses, protocol) =
            (Attributes::find(flow, 0, ADDRESSES)?, Attributes::find(flow, 0, PROTOCOL)?);
        let end = |kinds: [u16; 2], port| {
            let address =
                kinds.iter().find_map(|&kind| routes::address(Attributes::find(addresses, 0, kind)?))?;
            let port = Attributes::find(protocol, 0, port)?.first_chunk()?;
            Some(SocketAddr::new(address, u16::from_be_bytes(*port)))
        };
        Some(Self { from: end([1, 3], 2)?, to: end([2, 4], 3)? })
    }
}

fn flow(from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let (_, source) = routes::written(from.ip());
    let (_, destination) = routes::written(to.ip());
    let [of_source, of_destination] = kinds(from.ip());
    let addresses = [attribute(of_source, &source), attribute(of_destination, &destination)].concat();
    let protocol = [
        attribute(1, &[UDP]),
        attribute(2, &from.port().to_be_bytes()),
        attribute(3, &to.port().to_be_bytes()),
    ];
    [attribute(ADDRESSES | NESTED, &addresses), attribute(PROTOCOL | NESTED, &protocol.concat())].concat()
}

/// The attributes of source and destination, which each version of IP has of its own.
fn kinds(address: IpAddr) -> [u16; 2] {
    if address.is_ipv4() { [1, 2] } else { [3, 4] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn where_an_entry_leads_packets_is_read_in_either_direction() {
        let [here, target, other] =
            ["10.9.0.1:5555", "10.9.0.2:7007", "10.9.0.3:7007"].map(|end| end.parse().unwrap());
        let body = |original: (SocketAddr, SocketAddr), reply: (SocketAddr, SocketAddr)| {
            let [original, reply] = [original, reply].map(|(from, to)| flow(from, to));
            [&[2, 0, 0, 0][..], &attribute(ORIGINAL, &original), &attribute(REPLY, &reply)].concat()
        };
        let read = |kind, body: &[u8]| leads(Message { kind, number: 1, body }, here, target);
        let plain = body((here, target), (target, here));
        assert_eq!(read(NEW_ENTRY, &plain), Some((target.ip(), here.ip())));
        assert_eq!(read(NEW_ENTRY + 2, &plain), None);
        let translated = body((here, target), (other, here));
        assert_eq!(read(NEW_ENTRY, &translated), Some((other.ip(), here.ip())));
        // Another began, and what is sent to the target is taken for a reply to that.
        let of_another = body((other, here), (here, target));
        assert_eq!(read(NEW_ENTRY, &of_another), Some((other.ip(), here.ip())));
        assert_eq!(read(NEW_ENTRY, &body((here, other), (other, here))), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let end = "10.9.0.1:5555".parse().unwrap();
            let _ = leads(Message { kind: NEW_ENTRY, number: 0, body: &body }, end, end);
        }
    }
}
