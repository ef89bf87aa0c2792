//! One UDP socket, asked for by its addresses (sock_diag): the cheapest look at somebody else's buffer.

use super::netlink::Netlink;
use dropline_netrules::message::Request;
use dropline_netrules::socket_state::SocketState;
use std::io;
use std::net::SocketAddr;

/// Asks again and again for the socket that takes what `from` sends to `to`.
#[derive(Debug)]
pub(crate) struct Diag {
    netlink: Netlink,
    request: Request,
}

impl Diag {
    /// In the namespace of the calling thread.
    pub(crate) fn open(from: SocketAddr, to: SocketAddr) -> io::Result<Self> {
        Ok(Self { netlink: Netlink::open(libc::NETLINK_SOCK_DIAG)?, request: SocketState::asked(from, to) })
    }

    /// `None` if there is no such socket.
    pub(crate) fn look(&mut self) -> Option<SocketState> {
        let mut found = None;
        self.netlink.ask(&self.request, |message| found = SocketState::read(message)).ok()?;
        found
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
