//! Holding a socket so that its packets cannot leave this machine, whatever is made of their address.
//!
//! An address says where packets are meant to go; a firewall, a load balancer or a router may send them
//! elsewhere. So a socket is bound to the interface behind which the address was seen, and its packets may not
//! be passed on by any router: what is led astray on this machine finds no way to leave it.

use super::whereabouts::Way;
use crate::error::NoLeash;
use crate::packet::attribution::salt;
use dropline_payload::{Message, Tag};
use socket2::SockRef;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// How a socket is held that sends to a service of this machine.
#[derive(Clone, Debug)]
pub struct Leash {
    /// The interface that its packets leave by; `None` where it is proven that they leave by none.
    interface: Option<NonZeroU32>,
}

/// Questions to an own address, and how long each answer is waited for.
const QUESTIONS: u64 = 3;
const ANSWER_WITHIN: Duration = Duration::from_millis(200);

impl Leash {
    /// How a socket is held that sends to `target`. What is sent to find out, if anything, cannot leave
    /// loopback.
    ///
    /// # Errors
    /// If packets to it cannot be kept on this machine.
    pub fn towards(target: SocketAddr) -> Result<Self, NoLeash> {
        match Self::known(target.ip())? {
            Some(leash) => Ok(leash),
            None if answers_on_loopback(target).unwrap_or(false) => Ok(Self { interface: None }),
            None => Err(NoLeash::Loose(target.ip())),
        }
    }

    /// The same of any service at an address, with nothing sent; `None` where it must be asked.
    ///
    /// # Errors
    /// As above.
    pub fn known(address: IpAddr) -> Result<Option<Self>, NoLeash> {
        let interface = Way::to(address)?.interface.and_then(NonZeroU32::new);
        Ok(interface.map(|interface| Self { interface: Some(interface) }))
    }

    /// Binds the socket to the interface, lets no router pass its packets on, and connects it.
    ///
    /// # Errors
    /// If the system does not allow it: Linux before 5.7 lets only CAP_NET_RAW bind to an interface.
    pub fn hold(&self, socket: &UdpSocket, target: SocketAddr) -> io::Result<()> {
        self.bind(socket, target)?;
        socket.connect(target)
    }

    fn bind(&self, socket: &UdpSocket, target: SocketAddr) -> io::Result<()> {
        let socket = SockRef::from(socket);
        if self.interface.is_some() {
            socket.bind_device_by_index_v4(self.interface)?;
        }
        if target.is_ipv6() {
            socket.set_unicast_hops_v6(1)?;
        }
        socket.set_ttl_v4(1)
    }
}

/// Whether the service answers a question from loopback's own address, which cannot leave that interface: then
/// no rule leads its address elsewhere. (Of a socket that has another interface's address, the kernel takes the
/// replies to come in there: such a one cannot be bound to loopback.)
fn answers_on_loopback(target: SocketAddr) -> io::Result<bool> {
    let loopback: IpAddr = match target {
        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    let socket = UdpSocket::bind((loopback, 0))?;
    Leash { interface: NonZeroU32::new(1) }.bind(&socket, target)?;
    let tag = Tag(salt() as u32);
    for number in 0..QUESTIONS {
        let question = Message::CountQuery { tag, number };
        socket.send_to(&question.encode(), target)?;
        let until = Instant::now() + ANSWER_WITHIN;
        let mut answer = [0; dropline_payload::HEADER_BYTES];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            socket.set_read_timeout(Some(left))?;
            // Of a longer datagram only this much is taken. Whatever else comes is nobody's answer.
            let Ok((length, _)) = socket.recv_from(&mut answer) else { break };
            let of_ours = [question, Message::CountAnswer { tag, number, counts: Default::default() }];
            if of_ours.iter().any(|message| message.header() == answer[..length]) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
