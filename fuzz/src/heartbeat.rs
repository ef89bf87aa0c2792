//! Datagrams that reach an aggregator.

use dropline_aggregator::table::{Rejection, Table};
use dropline_aggregator::wire::{Heartbeat, PACKET_BYTES, REQUEST, Report, VARIABLES};

/// A history of datagrams leaves the table that its heartbeats make, and what is refused has one reason.
///
/// Each datagram is a byte of what it is, two of the second it came, and its own bytes; the checksum of some is
/// made right, as none would be by chance.
pub fn check(bytes: &[u8]) {
    let mut table = Table::default();
    let mut last: [Option<(u16, Heartbeat)>; VARIABLES] = [None; VARIABLES];
    let mut rest = bytes;
    while let [what, high, low, more @ ..] = rest {
        let now = u16::from_be_bytes([*high, *low]);
        let length = (usize::from(what >> 2) % 12).min(more.len());
        let (noise, next) = more.split_at(length);
        rest = next;
        let datagram = match (what & 3, noise) {
            (0, [variable, from, value, ..]) => {
                Heartbeat { variable: *variable, from: *from, value: *value }.encode().to_vec()
            }
            (1, [variable, from, value, at, with, ..]) => {
                let heartbeat = Heartbeat { variable: variable % 64, from: *from, value: *value };
                let mut near = heartbeat.encode();
                near[usize::from(*at) % PACKET_BYTES] ^= with;
                near.to_vec()
            }
            (2, [at, with, ..]) => {
                let mut near = REQUEST;
                near[usize::from(*at) % PACKET_BYTES] ^= with;
                near.to_vec()
            }
            _ => noise.to_vec(),
        };
        let expected = by_definition(&datagram);
        assert_eq!(table.keep(u64::from(now), &datagram), expected, "{datagram:02x?}");
        if let Ok(heartbeat) = expected {
            let never_set = (now, heartbeat.from, heartbeat.value) == (0, 0, 0);
            last[usize::from(heartbeat.variable)] = Some((if never_set { 1 } else { now }, heartbeat));
        }
    }
    let report = Report::decode(table.report()).expect("its own report is whole");
    for (entry, last) in report.entries.iter().zip(last) {
        let (seconds, from, value) = last.map_or((0, 0, 0), |(now, of)| (now, of.from, of.value));
        assert_eq!((entry.seconds, entry.from, entry.value), (seconds, from, value));
    }
}

fn by_definition(datagram: &[u8]) -> Result<Heartbeat, Rejection> {
    let [c0, c1, c2, c3, magic, variable, from, value] = *datagram else {
        return Err(Rejection::WrongLength);
    };
    let (mut a, mut b) = (1u32, 0u32);
    for byte in [magic, variable, from, value] {
        a = (a + u32::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    if magic != 0xf1 {
        Err(Rejection::NotAHeartbeat)
    } else if u32::from_be_bytes([c0, c1, c2, c3]) != b << 16 | a {
        Err(Rejection::WrongChecksum)
    } else if usize::from(variable) >= VARIABLES {
        Err(Rejection::NoSuchVariable)
    } else {
        Ok(Heartbeat { variable, from, value })
    }
}
