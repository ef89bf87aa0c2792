//! Policies of IPsec (XFRM): what puts packets into others without a word of it in any route.

use crate::message::{Attributes, Message, Request, half, word};
use std::net::IpAddr;

const NEW_POLICY: u16 = 0x13;
const GET_POLICY: u16 = 0x15;
/// Bytes of `xfrm_userpolicy_info`.
const FIXED: usize = 168;
/// Offsets in it: the family of the addresses, the bits of the destination that count, and which way packets go.
const FAMILY: usize = 40;
const PREFIX: usize = 42;
const DIRECTION: usize = 160;
const LEAVING: u8 = 1;
/// Attributes: how packets are transformed, and the interface of IPsec that a policy is of.
const TEMPLATE: u16 = 5;
const INTERFACE: u16 = 31;

/// Asks for all policies.
pub fn policies() -> Request {
    Request::all(GET_POLICY, &[])
}

/// The destination of the policy that a message is of, if it may transform what leaves for an address.
pub fn transforms(message: Message<'_>, address: IpAddr) -> Option<String> {
    let body = message.body;
    let leaves = message.kind == NEW_POLICY && body.get(DIRECTION) == Some(&LEAVING);
    let template = Attributes::find(body, FIXED, TEMPLATE).filter(|_| leaves)?;
    let of_interface = Attributes::find(body, FIXED, INTERFACE).and_then(|number| word(number, 0));
    if template.is_empty() || of_interface.is_some_and(|number| number != 0) {
        return None;
    }
    let prefix = *body.get(PREFIX)?;
    let bits = |bytes: [u8; 16]| u128::from_be_bytes(bytes);
    let (family, own) = match address {
        IpAddr::V4(own) => (2, bits(own.to_ipv6_mapped().octets()) << 96),
        IpAddr::V6(own) => (10, bits(own.octets())),
    };
    let destination = bits(*body.first_chunk()?);
    let differ = (own ^ destination).checked_shr(128 - u32::from(prefix)).unwrap_or(0);
    let is_of = |other: i32| half(body, FAMILY).map(i32::from) == Some(other);
    (is_of(0) || is_of(family) && differ == 0).then(|| match address {
        IpAddr::V4(_) => format!("{}/{prefix}", std::net::Ipv4Addr::from((destination >> 96) as u32)),
        IpAddr::V6(_) => format!("{}/{prefix}", std::net::Ipv6Addr::from(destination)),
    })
}
