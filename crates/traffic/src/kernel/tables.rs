//! The kernel's tables of counters, as text: `/proc/net/snmp`, `netstat`, `snmp6`, `sockstat`, `softnet_stat`.

use dropline_account::Stack;
use std::net::IpAddr;

/// Text of one namespace's tables; what could not be read is empty.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// `/proc/net/snmp`: a line of names, a line of values, for each protocol.
    pub snmp: String,
    /// `/proc/net/netstat`, in the same form.
    pub netstat: String,
    /// `/proc/net/snmp6`: a name and a value a line.
    pub snmp6: String,
    /// `/proc/net/sockstat` and `sockstat6`.
    pub sockstat: String,
}

impl Tables {
    /// Counters of one IP version. One that this kernel does not have is 0, as it never counts.
    pub fn stack(&self, version: Version) -> Stack {
        // The other version always has something to do: neighbours, routers, multicast.
        let ours = |of: Version, count: u64| if of == version { count } else { 0 };
        let v4 = |name: &str| ours(Version::V4, paired(&self.snmp, name));
        let more = |name: &str| ours(Version::V4, paired(&self.netstat, name));
        let v6 = |name: &str| ours(Version::V6, single(&self.snmp6, name));
        let both = |protocol: &str, name: &str| {
            v4(&format!("{protocol}: {name}")).saturating_add(v6(&format!("{protocol}6{name}")))
        };
        Stack {
            received_otherwise: match version {
                Version::V4 => single(&self.snmp6, "Ip6InReceives"),
                Version::V6 => paired(&self.snmp, "Ip: InReceives"),
            },
            udp_read: both("Udp", "InDatagrams"),
            no_ports: both("Udp", "NoPorts"),
            in_errors: both("Udp", "InErrors"),
            receive_buffer_errors: both("Udp", "RcvbufErrors"),
            send_buffer_errors: both("Udp", "SndbufErrors"),
            checksum_errors: both("Udp", "InCsumErrors"),
            memory_errors: both("Udp", "MemErrors"),
            received: both("Ip", "InReceives"),
            delivered: both("Ip", "InDelivers"),
            forwarded: v4("Ip: ForwDatagrams").saturating_add(v6("Ip6OutForwDatagrams")),
            header_errors: both("Ip", "InHdrErrors"),
            address_errors: both("Ip", "InAddrErrors"),
            in_no_routes: more("IpExt: InNoRoutes").saturating_add(v6("Ip6InNoRoutes")),
            unknown_protocols: both("Ip", "InUnknownProtos"),
            in_discards: both("Ip", "InDiscards")
                .saturating_add(more("IpExt: InTruncatedPkts"))
                .saturating_add(v6("Ip6InTruncatedPkts")),
            rp_filtered: more("TcpExt: IPReversePathFilter"),
            fragments: both("Ip", "ReasmReqds"),
            reassembled: both("Ip", "ReasmOKs"),
            reassembly_failures: both("Ip", "ReasmFails"),
            incomplete: self.incomplete(version),
            icmp_received: both("Icmp", "InMsgs"),
            icmp_sent: both("Icmp", "OutMsgs"),
            requested: both("Ip", "OutRequests"),
            transmitted: both("Ip", "OutTransmits"),
            out_discards: both("Ip", "OutDiscards"),
            out_no_routes: both("Ip", "OutNoRoutes"),
        }
    }

    /// Packets of which fragments wait: the lines `FRAG: inuse 3 memory 4608` and `FRAG6: …`.
    fn incomplete(&self, version: Version) -> u64 {
        let name = match version {
            Version::V4 => "FRAG: inuse ",
            Version::V6 => "FRAG6: inuse ",
        };
        let of = |line: &str| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok();
        self.sockstat.lines().find_map(of).unwrap_or(0)
    }
}

/// A version of the internet protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Version {
    /// That of the packets to an address.
    pub fn of(address: IpAddr) -> Self {
        if address.to_canonical().is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

/// Packets that the per-CPU backlogs had no room for: column 2 of each row of `softnet_stat`, in hex.
pub fn backlog_drops(softnet_stat: &str) -> Option<u64> {
    let of = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    softnet_stat
        .lines()
        .map(of)
        .try_fold(0_u64, |sum, row| sum.checked_add(row?))
        .filter(|_| !softnet_stat.is_empty())
}

/// The value below a name of a protocol: `Udp: NoPorts`. 0 if it is not there.
fn paired(table: &str, name: &str) -> u64 {
    let Some((protocol, name)) = name.split_once(' ') else { return 0 };
    let mut rows = table.lines().filter_map(|line| {
        let rest = line.strip_prefix(protocol)?;
        rest.starts_with(' ').then_some(rest)
    });
    let (Some(names), Some(values)) = (rows.next(), rows.next()) else { return 0 };
    names
        .split_whitespace()
        .zip(values.split_whitespace())
        .find(|(found, _)| *found == name)
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0)
}

/// The value on the line of a name. 0 if it is not there.
fn single(table: &str, name: &str) -> u64 {
    table
        .lines()
        .filter_map(|line| line.split_once(char::is_whitespace))
        .find(|(found, _)| *found == name)
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tables() -> Tables {
        Tables {
            snmp: "Ip: Forwarding InReceives InDelivers OutTransmits\nIp: 2 100 90 80\nUdp: InDatagrams NoPorts\n\
                   Udp: 7 3\nUdpLite: InDatagrams NoPorts\nUdpLite: 1000 1000\n"
                .into(),
            netstat: "TcpExt: SyncookiesSent IPReversePathFilter\nTcpExt: 4 5\nIpExt: InNoRoutes\nIpExt: 6\n".into(),
            snmp6: "Ip6InReceives                   \t11\nUdp6NoPorts \t2\n".into(),
            sockstat: "UDP: inuse 0 mem 237\nFRAG: inuse 3 memory 4608\nFRAG6: inuse 1 memory 9\n".into(),
        }
    }

    #[test]
    fn each_ip_version_has_its_own() {
        let stack = tables().stack(Version::V4);
        assert_eq!((stack.received, stack.delivered, stack.transmitted), (100, 90, 80));
        assert_eq!((stack.udp_read, stack.no_ports), (7, 3), "UDP-Lite is another protocol");
        assert_eq!((stack.incomplete, stack.received_otherwise), (3, 11));
        assert_eq!((stack.rp_filtered, stack.in_no_routes), (5, 6));
        let stack = tables().stack(Version::V6);
        assert_eq!((stack.received, stack.no_ports, stack.incomplete), (11, 2, 1));
        assert_eq!((stack.rp_filtered, stack.received_otherwise), (0, 100));
    }

    #[test]
    fn the_backlog_is_read_in_hex_and_over_all_processors() {
        let rows = "00000010 0000000a 00000000\n00000010 00000001 00000000\n";
        assert_eq!(backlog_drops(rows), Some(11));
        assert_eq!((backlog_drops(""), backlog_drops("torn\n")), (None, None));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_kernels_own_tables_are_understood() {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        socket.recv(&mut [0; 8]).unwrap();
        let stack = Tables { snmp: read("snmp"), ..Tables::default() }.stack(Version::V4);
        assert!(stack.received > 0 && stack.delivered > 0 && stack.udp_read > 0 && stack.transmitted > 0);
        assert!(backlog_drops(&read("softnet_stat")).is_some());
    }

    proptest! {
        #[test]
        fn torn_tables_are_no_reason_to_fail(cut in 0..400usize, with in "\\PC{0,20}") {
            let whole = tables();
            let torn = |text: &str| {
                let at = text.floor_char_boundary(cut.min(text.len()));
                format!("{}{with}{}", &text[..at], &text[at..])
            };
            let torn = Tables {
                snmp: torn(&whole.snmp),
                netstat: torn(&whole.netstat),
                snmp6: torn(&whole.snmp6),
                sockstat: torn(&whole.sockstat),
            };
            let _ = (torn.stack(Version::V4), torn.stack(Version::V6));
            let _ = backlog_drops(&torn.snmp);
        }
    }
}
