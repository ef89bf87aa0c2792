//! One UDP socket as sock_diag tells of it, asked for by its addresses.

use crate::message::{Attributes, Message, Request, word};
use crate::routes::written;
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

/// UDP.
const UDP: u8 = 17;
const BY_FAMILY: u16 = 20;
/// Asked for, and answered with: the memory of the socket.
const MEMORY: u8 = 7;

impl SocketState {
    /// Asks for the one that takes what `from` sends to `to`. The kernel's names for both ends are the other way round here (for historical reasons, it says): its
    /// source is where packets come from.
    pub fn asked(from: SocketAddr, to: SocketAddr) -> Request {
        let (family, source) = written(from.ip());
        let (_, destination) = written(to.ip());
        let mut fixed = vec![family, UDP, 1 << (MEMORY - 1), 0];
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
