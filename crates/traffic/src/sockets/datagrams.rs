//! Short datagrams many at a time, for services and clients that are not trial traffic.

use crate::sys::{BATCH, InBatch, OutBatch, receive_drops, set_receive_buffer};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Most datagrams that leave together.
pub const MOST: usize = BATCH;

/// Takes datagrams from a socket, as many as wait there.
pub struct Inbox(InBatch);

impl Inbox {
    /// Room for `count` datagrams at a time, of each of which the first `keep` bytes are kept.
    ///
    /// # Panics
    /// If one of them is zero.
    pub fn new(count: usize, keep: usize) -> Self {
        assert!(count > 0 && keep > 0, "room for nothing");
        Self(InBatch::new(count, keep))
    }

    /// Waits for a datagram as long as the socket waits, and takes what else is there; how many.
    ///
    /// # Errors
    /// `WouldBlock` when the socket's time is over, and what the system reports.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.0.receive(socket)
    }

    /// Datagram `at` of the last [`receive`](Self::receive), as far as it was kept.
    pub fn datagram(&self, at: usize) -> &[u8] {
        self.0.datagram(at)
    }

    /// Where datagram `at` came from.
    pub fn source(&self, at: usize) -> Option<SocketAddr> {
        self.0.source(at)
    }
}

/// Datagrams of one length that leave together over a connected socket.
pub struct Outbox<const LENGTH: usize>(OutBatch<LENGTH>);

impl<const LENGTH: usize> Outbox<LENGTH> {
    /// An empty one.
    #[expect(clippy::new_without_default, reason = "a buffer for system calls, not a value")]
    pub fn new() -> Self {
        Self(OutBatch::new())
    }

    /// Adds a datagram.
    ///
    /// # Panics
    /// If it holds [`MOST`] already.
    pub fn push(&mut self, datagram: [u8; LENGTH]) {
        self.0.push(datagram);
    }

    /// How many it holds.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Sends what it holds from datagram `first` on; how many left.
    ///
    /// # Errors
    /// About datagram `first` alone: it did not leave.
    pub fn send(&mut self, socket: &UdpSocket, first: usize) -> io::Result<usize> {
        self.0.send(socket, first)
    }
}

/// Asks for a receive buffer of `bytes`, beyond the system's limit where that is allowed; what the system
/// really reserved (Linux: twice what it granted).
///
/// # Errors
/// If the system refuses altogether.
pub fn receive_buffer(socket: &UdpSocket, bytes: u64) -> io::Result<u64> {
    set_receive_buffer(socket, usize::try_from(bytes).unwrap_or(usize::MAX)).map(|bytes| bytes as u64)
}

/// Datagrams that the socket had no room for since it was opened, modulo 2³²; `None` where that is not
/// known.
pub fn socket_drops(socket: &UdpSocket) -> Option<u32> {
    receive_drops(socket)
}

/// Time since 1970 as of the system's last tick, a few milliseconds ago at most: the cheapest clock there is.
pub fn coarse_now() -> Duration {
    crate::sys::coarse_now()
}

/// The name of a system error, such as `ENOBUFS`.
pub fn errno_name(error: &io::Error) -> String {
    crate::sys::errno_name(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_arrive_in_order_with_their_source_and_are_cut_where_asked() {
        let inside = UdpSocket::bind("127.0.0.1:0").unwrap();
        inside.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let outside = UdpSocket::bind("127.0.0.1:0").unwrap();
        outside.connect(inside.local_addr().unwrap()).unwrap();
        let mut outbox = Outbox::<10>::new();
        (0..MOST as u8).for_each(|number| outbox.push([number; 10]));
        let mut first = 0;
        while first < outbox.len() {
            first += outbox.send(&outside, first).unwrap();
        }
        let mut inbox = Inbox::new(5, 9);
        let mut seen = 0;
        while seen < MOST {
            let count = inbox.receive(&inside).unwrap();
            assert!((1..=5).contains(&count));
            for at in 0..count {
                assert_eq!(inbox.datagram(at), [seen as u8; 9]);
                assert_eq!(inbox.source(at), outside.local_addr().ok());
                seen += 1;
            }
        }
        outside.send(&[]).unwrap();
        assert_eq!(inbox.receive(&inside).unwrap(), 1);
        assert_eq!(inbox.datagram(0), [0u8; 0], "an empty datagram is a datagram");
    }

    #[test]
    fn a_socket_that_waits_no_longer_says_so() {
        let inside = UdpSocket::bind("127.0.0.1:0").unwrap();
        inside.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let error = Inbox::new(4, 9).receive(&inside).unwrap_err();
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut));
    }

    #[test]
    fn the_coarse_clock_is_the_clock() {
        let fine = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        assert!(coarse_now().abs_diff(fine) < Duration::from_secs(1));
    }
}
