//! The kernel's tables of UDP sockets, as text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// What the kernel shows of the sockets that a port's packets go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtSocket {
    /// Packets that found no room.
    pub drops: u64,
    /// Memory that waiting packets are charged for.
    pub waiting_bytes: u64,
    /// How many sockets they are.
    pub count: usize,
    /// The number of one of them, among all files of its kind.
    pub inode: u64,
    /// Differs when they are not the same sockets any more.
    pub identity: u64,
}

impl AtSocket {
    /// Reads `udp` and `udp6` in `net`; `None` if no socket takes what is sent to `target`.
    pub(crate) fn read(net: &Path, target: SocketAddr) -> Option<Self> {
        Self::of_table(&tables(net), target)
    }

    /// Whether a socket is bound to that very address and port, and not to all addresses.
    pub(crate) fn has_address(net: &Path, target: SocketAddr) -> bool {
        let is_it =
            |row: Row| row.port == target.port() && row.ip.to_canonical() == target.ip().to_canonical();
        tables(net).lines().filter_map(Row::read).any(is_it)
    }

    /// A socket bound to the address itself is preferred to one bound to all.
    pub(crate) fn of_table(table: &str, target: SocketAddr) -> Option<Self> {
        let rows = || table.lines().filter_map(Row::read);
        let target_ip = target.ip().to_canonical();
        let sum = |takes: &dyn Fn(IpAddr) -> bool| {
            rows().filter(|row| row.port == target.port() && takes(row.ip)).map(|row| row.counts).reduce(
                |a, b| Self {
                    drops: a.drops.saturating_add(b.drops),
                    waiting_bytes: a.waiting_bytes.saturating_add(b.waiting_bytes),
                    count: a.count + b.count,
                    inode: a.inode.min(b.inode),
                    identity: a.identity.rotate_left(1) ^ b.identity,
                },
            )
        };
        sum(&|ip| ip.to_canonical() == target_ip)
            .or_else(|| sum(&|ip| ip.is_unspecified() && (ip.is_ipv6() || target_ip.is_ipv4())))
    }
}

/// Both ends of the socket of this number, its own first.
pub(crate) fn ends_of(net: &Path, inode: u64) -> Option<(SocketAddr, SocketAddr)> {
    let tables = tables(net);
    let row = tables.lines().find(|line| Row::read(line).is_some_and(|row| row.counts.inode == inode))?;
    let mut ends = row.split_whitespace().skip(1).filter_map(end);
    Some((ends.next()?, ends.next()?))
}

fn tables(net: &Path) -> String {
    let table = |name| std::fs::read_to_string(net.join(name)).unwrap_or_default();
    table("udp") + &table("udp6")
}

/// One socket.
struct Row {
    ip: IpAddr,
    port: u16,
    counts: AtSocket,
}

impl Row {
    /// Fields 2 (local address), 5 (queues), 10 (inode) and 13 (drops), counted from 1.
    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let own = end(fields.get(1)?)?;
        let (_, waiting) = fields.get(4)?.split_once(':')?;
        let waiting_bytes = u64::from_str_radix(waiting, 16).ok()?;
        let inode = fields.get(9)?.parse().ok()?;
        let drops = fields.get(12)?.parse().ok()?;
        Some(Self {
            ip: own.ip(),
            port: own.port(),
            counts: AtSocket { drops, waiting_bytes, count: 1, inode, identity: inode },
        })
    }
}

/// An address and a port, as the tables have them.
fn end(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    // Words of four bytes, each printed as this machine's integer.
    let word =
        |at: usize| Some(u32::from_str_radix(address.get(8 * at..8 * at + 8)?, 16).ok()?.to_ne_bytes());
    let ip: IpAddr = if address.len() == 8 {
        Ipv4Addr::from(word(0)?).into()
    } else {
        let mut bytes = [0; 16];
        for at in 0..4 {
            bytes[4 * at..4 * at + 4].copy_from_slice(&word(at)?);
        }
        Ipv6Addr::from(bytes).into()
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: &str = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  306: 0100007F:1B5F 00000000:0000 07 00000000:00000340 00:00000000 00000000     0        0 4711 2 0000000000000000 17
  306: 00000000:1B5F 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4712 2 0000000000000000 5
  306: 00000000:1B60 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4713 2 0000000000000000 9
";
    const UDP6: &str = "  sl  local_address                         remote_address                        st tx_queue rx_queue
 1: 00000000000000000000000001000000:1B61 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 1 2 0 3
 1: 00000000000000000000000000000000:1B62 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 1 2 0 4
";

    fn drops(target: &str) -> Option<u64> {
        AtSocket::of_table(&[UDP, UDP6].concat(), target.parse().unwrap()).map(|socket| socket.drops)
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_socket_that_takes_the_packets_is_found() {
        assert_eq!(drops("127.0.0.1:7007"), Some(17), "its own address goes first");
        assert_eq!(drops("127.0.0.2:7007"), Some(5), "else the one bound to all");
        assert_eq!(drops("127.0.0.1:7008"), Some(9));
        assert_eq!(drops("[::1]:7009"), Some(3));
        assert_eq!(drops("127.0.0.1:7010"), Some(4), "a socket for both families");
        assert_eq!(drops("127.0.0.1:7011"), None);
        let waiting = AtSocket::of_table(&[UDP, UDP6].concat(), "127.0.0.1:7007".parse().unwrap());
        assert_eq!(waiting.unwrap().waiting_bytes, 832);
    }

    #[test]
    fn torn_lines_are_no_sockets() {
        for line in ["", "x", "1: 0100007F", "1: 0100007F:1B5F", "1: 01:1B5F a b 0:0", UDP6] {
            assert!(Row::read(line).is_none(), "{line:?}");
        }
    }
}
