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

/// Asks for the entry of the UDP flow that begins so.
pub fn asked(from: SocketAddr, to: SocketAddr) -> Request {
    let (family, source) = routes::written(from.ip());
    let (_, destination) = routes::written(to.ip());
    let [of_source, of_destination] = kinds(from.ip());
    let addresses = [attribute(of_source, &source), attribute(of_destination, &destination)].concat();
    let protocol = [
        attribute(1, &[UDP]),
        attribute(2, &from.port().to_be_bytes()),
        attribute(3, &to.port().to_be_bytes()),
    ];
    let flow = [attribute(ADDRESSES | NESTED, &addresses), attribute(PROTOCOL | NESTED, &protocol.concat())];
    Request::one(GET_ENTRY, &[family, 0, 0, 0]).with(ORIGINAL | NESTED, &flow.concat())
}

/// Who answers the flow, by the entry that a message tells; `None` if it is another message, or torn.
pub fn answers(message: Message<'_>) -> Option<IpAddr> {
    let reply = Attributes::find(message.body, FIXED, REPLY).filter(|_| message.kind == NEW_ENTRY)?;
    let addresses = Attributes::find(reply, 0, ADDRESSES)?;
    [1, 3].iter().find_map(|&kind| routes::address(Attributes::find(addresses, 0, kind)?))
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
    fn who_answers_is_read_of_the_entry_and_of_nothing_else() {
        let [from, to] = ["10.9.0.1:5555", "10.9.0.3:7007"].map(|end| end.parse().unwrap());
        // What is asked for stands where an entry has the flow as it began.
        let asked = asked(from, to).numbered(1);
        let body = |kind: u16| [&[2, 0, 0, 0][..], &attribute(kind, &asked[24..])].concat();
        let read = |kind, body: &[u8]| answers(Message { kind, number: 1, body });
        assert_eq!(read(NEW_ENTRY, &body(REPLY)), Some(from.ip()));
        assert_eq!((read(NEW_ENTRY, &body(ORIGINAL)), read(NEW_ENTRY + 2, &body(REPLY))), (None, None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = answers(Message { kind: NEW_ENTRY, number: 0, body: &body });
        }
    }
}
