//! One UDP socket, asked for by its addresses (sock_diag): the cheapest look at somebody else's buffer.

use super::links::written;
use super::netlink::{Attributes, Message, Netlink, Request, word};
use std::io;
use std::net::SocketAddr;

/// What the kernel tells about a UDP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketState {
    /// Its number among all files of its kind.
    pub inode: u64,
    /// Memory that waiting packets are charged for.
    pub waiting_bytes: u64,
    /// Memory that it may hold: the doubled SO_RCVBUF.
    pub buffer_bytes: u64,
    /// Packets that it did not take.
    pub drops: u64,
}

/// Asks again and again for the socket that takes what `from` sends to `to`.
#[derive(Debug)]
pub(crate) struct Diag {
    netlink: Netlink,
    request: Request,
}

const BY_FAMILY: u16 = 20;
/// Asked for, and answered with: the memory of the socket.
const MEMORY: u8 = 7;

impl Diag {
    /// In the namespace of the calling thread.
    pub(crate) fn open(from: SocketAddr, to: SocketAddr) -> io::Result<Self> {
        Ok(Self { netlink: Netlink::open(libc::NETLINK_SOCK_DIAG)?, request: request(from, to) })
    }

    /// `None` if there is no such socket.
    pub(crate) fn look(&mut self) -> Option<SocketState> {
        let mut found = None;
        self.netlink.ask(&self.request, |message| found = SocketState::read(message)).ok()?;
        found
    }
}

/// The kernel's names for both ends are the other way round here (for historical reasons, it says): its
/// source is where packets come from.
fn request(from: SocketAddr, to: SocketAddr) -> Request {
    let (family, source) = written(from.ip());
    let (_, destination) = written(to.ip());
    let mut fixed = vec![family, libc::IPPROTO_UDP as u8, 1 << (MEMORY - 1), 0];
    fixed.extend_from_slice(&u32::MAX.to_ne_bytes());
    fixed.extend_from_slice(&from.port().to_be_bytes());
    fixed.extend_from_slice(&to.port().to_be_bytes());
    for address in [source, destination] {
        fixed.extend_from_slice(&address);
        fixed.resize(fixed.len() + 16 - address.len(), 0);
    }
    // Any interface; any cookie.
    fixed.extend_from_slice(&[0; 4]);
    fixed.extend_from_slice(&[0xff; 8]);
    Request::one(BY_FAMILY, &fixed)
}

impl SocketState {
    /// Reads one from a netlink message; `None` if it is another message, or torn.
    pub fn read(message: Message<'_>) -> Option<Self> {
        /// Bytes of `inet_diag_msg`.
        const FIXED: usize = 72;
        if message.kind != BY_FAMILY {
            return None;
        }
        let memory = Attributes::find(message.body, FIXED, MEMORY.into())?;
        // Offsets: the queue's length at 56, the number at 68; in the memory the limit is second, drops ninth.
        Some(Self {
            inode: word(message.body, 68)?.into(),
            waiting_bytes: word(message.body, 56)?.into(),
            buffer_bytes: word(memory, 4)?.into(),
            drops: word(memory, 32)?.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_socket_is_seen_from_outside_as_it_sees_itself() {
        let target = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (from, to) = (sender.local_addr().unwrap(), target.local_addr().unwrap());
        let mut diag = Diag::open(from, to).unwrap();
        let empty = diag.look().unwrap();
        assert_eq!((empty.waiting_bytes, empty.drops), (0, 0));
        let reserved = socket2::SockRef::from(&target).recv_buffer_size().unwrap();
        assert_eq!(empty.buffer_bytes, reserved as u64);
        for _ in 0..3 {
            sender.send_to(&[0; 64], to).unwrap();
        }
        let filled = diag.look().unwrap();
        assert_eq!(filled.inode, empty.inode);
        assert!(filled.waiting_bytes > 0 && filled.waiting_bytes.is_multiple_of(3), "{filled:?}");
        target.recv(&mut [0; 64]).unwrap();
        assert_eq!(
            diag.look().unwrap().waiting_bytes,
            filled.waiting_bytes / 3 * 2,
            "what was read waits no more"
        );
        drop(target);
        assert_eq!(diag.look(), None);
    }
}
