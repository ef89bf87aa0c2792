//! What the kernel and the programs counted: plain numbers, as somebody read them.

use crate::{Place, Way};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that could be read at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The network namespaces that packets pass, in no order.
    pub spaces: Vec<Space>,
    /// The sockets that take what is sent to the target; `None` where they are not to be seen.
    pub target: Option<TargetSockets>,
    /// Packets that the per-CPU backlogs had no room for, of the whole machine (`softnet_stat`, column 2).
    pub backlog_drops: Option<u64>,
    /// Packets that the kernel dropped, by place, of the whole machine (`skb:kfree_skb`).
    pub reasons: Option<BTreeMap<Place, u64>>,
}

/// One network namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// What tells it from others: the number of its file.
    pub id: u64,
    /// What it is to the trial.
    pub role: Role,
    /// Counters of its IP and UDP layers.
    pub stack: Stack,
    /// Its interfaces; `None` where they are not to be seen.
    pub devices: Option<Vec<Device>>,
    /// Whether packets can be dropped before the IP layer by somebody's rule or program; `None` if that is
    /// not to be seen.
    pub hooked: Option<bool>,
    /// Whether a rule of a firewall may drop the trial's packets where that leaves no trace in the counters here; `None` if
    /// that is not to be seen.
    pub ruled: Option<bool>,
    /// The only way on which such a rule may; `None` where it may on both, or nobody can tell.
    pub ruled_way: Option<Way>,
    /// Of whose packets that arrive rules of a firewall may drop some, in the IP layer.
    pub drops_arriving: Bars,
    /// Of whose that leave.
    pub drops_leaving: Bars,
    /// Whether the other side's address is an own one here too: what comes from there cannot be (a martian).
    pub source_is_own: bool,
    /// Whether the next hop towards the other side has a hardware address; `None` if none is needed, or
    /// nobody can tell.
    pub neighbour_found: Option<bool>,
    /// What its interfaces saw pass of the trial's own flow; `None` where that is not to be seen.
    #[serde(default)]
    pub flow: Option<Flow>,
}

/// Packets of one flow that passed a host, as its interfaces saw them: those to the target, and those that come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// To the target: that came in.
    pub came_out: u64,
    /// That left.
    pub left_out: u64,
    /// From the target: that came in.
    pub came_back: u64,
    /// That left.
    pub left_back: u64,
}

impl Flow {
    /// How much each grew.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            came_out: self.came_out.saturating_sub(before.came_out),
            left_out: self.left_out.saturating_sub(before.left_out),
            came_back: self.came_back.saturating_sub(before.came_back),
            left_back: self.left_back.saturating_sub(before.left_back),
        }
    }
}

/// Whose packets rules of a firewall may drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bars {
    /// That is not to be seen.
    #[default]
    Unseen,
    /// Nobody's: there is no such rule.
    Nothing,
    /// Those of others alone: no such rule may meet the trial's.
    Others,
    /// The trial's too.
    Ours,
}

/// What a namespace is to a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Role {
    /// Ours, and the target's is another.
    Near,
    /// The target's, and ours is another.
    Far,
    /// Ours and the target's: each packet raises the counters of both sides here.
    Both,
    /// On the way: a router, a bridge.
    Between,
}

/// Counters of the IP and UDP layers of one namespace (`/proc/net/snmp`, `netstat`, `snmp6`), of the IP version
/// that the trial's packets have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Udp.InDatagrams: read by programs.
    pub udp_read: u64,
    /// Udp.NoPorts.
    pub no_ports: u64,
    /// Udp.InErrors.
    pub in_errors: u64,
    /// Udp.RcvbufErrors, part of `in_errors`.
    pub receive_buffer_errors: u64,
    /// Udp.SndbufErrors: full send buffers and queueing disciplines.
    pub send_buffer_errors: u64,
    /// Udp.InCsumErrors, part of `in_errors`.
    pub checksum_errors: u64,
    /// Udp.MemErrors, part of `in_errors`.
    pub memory_errors: u64,
    /// Ip.InReceives.
    pub received: u64,
    /// The same of the other IP version.
    pub received_otherwise: u64,
    /// Ip.InDelivers.
    pub delivered: u64,
    /// Ip.ForwDatagrams.
    pub forwarded: u64,
    /// Ip.InHdrErrors: times to live that ran out, and broken headers.
    pub header_errors: u64,
    /// Ip.InAddrErrors: not ours, and we do not forward.
    pub address_errors: u64,
    /// IpExt.InNoRoutes.
    pub in_no_routes: u64,
    /// Ip.InUnknownProtos.
    pub unknown_protocols: u64,
    /// Ip.InDiscards and IpExt.InTruncatedPkts.
    pub in_discards: u64,
    /// TcpExt.IPReversePathFilter.
    pub rp_filtered: u64,
    /// Ip.ReasmReqds: fragments that came.
    pub fragments: u64,
    /// Ip.ReasmOKs: packets made of them.
    pub reassembled: u64,
    /// Ip.ReasmFails: packets given up.
    pub reassembly_failures: u64,
    /// Packets of which a fragment is still waited for now (FRAG inuse); it also falls.
    pub incomplete: u64,
    /// Icmp.InMsgs: received messages of the control protocol.
    pub icmp_received: u64,
    /// Icmp.OutMsgs.
    pub icmp_sent: u64,
    /// Ip.OutRequests: what programs and the kernel wanted to send.
    pub requested: u64,
    /// Ip.OutTransmits: given to a device.
    pub transmitted: u64,
    /// Ip.OutDiscards.
    pub out_discards: u64,
    /// Ip.OutNoRoutes.
    pub out_no_routes: u64,
}

/// One interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its number in its namespace.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Whether the trial's packets pass it, or may, where nobody can tell.
    pub on_path: bool,
    /// Which way packets go that leave through it; `None` if both, or nobody can tell.
    pub leaves: Option<Way>,
    /// Whether it stands on its own: not above or below another interface of this namespace.
    pub own: bool,
    /// Whether it and what it leads to are up.
    pub up: bool,
    /// Times that it found or lost its peer, or was switched off.
    pub carrier_changes: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that it dropped on arrival.
    pub receive_drops: u64,
    /// Packets with another host's hardware address.
    pub other_host: u64,
    /// Packets that left.
    pub transmitted: u64,
    /// Packets that it dropped instead.
    pub transmit_drops: u64,
    /// What its queueing disciplines dropped; `None` if that is not to be seen.
    pub queue_drops: Option<u64>,
    /// Packets that wait in them now.
    pub queue_waiting: u64,
    /// What a queueing discipline dropped on arrival (ingress).
    pub ingress_drops: u64,
    /// What filters dropped on arrival or on leaving, in one counter (clsact).
    pub filter_drops: u64,
}

/// The sockets that take what is sent to the target, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetSockets {
    /// A number that differs when they are not the same sockets any more.
    pub identity: u64,
    /// Packets that they did not take: no room, no memory, or a filter refused.
    pub drops: u64,
    /// Memory that packets waiting there are charged for, in bytes.
    pub waiting_bytes: u64,
}

impl Stack {
    /// How much each counter grew. A counter that fell began anew and says nothing: 0.
    pub fn since(&self, before: &Self) -> Self {
        let grew = |of: fn(&Self) -> u64| of(self).saturating_sub(of(before));
        Self {
            udp_read: grew(|s| s.udp_read),
            no_ports: grew(|s| s.no_ports),
            in_errors: grew(|s| s.in_errors),
            receive_buffer_errors: grew(|s| s.receive_buffer_errors),
            send_buffer_errors: grew(|s| s.send_buffer_errors),
            checksum_errors: grew(|s| s.checksum_errors),
            memory_errors: grew(|s| s.memory_errors),
            received: grew(|s| s.received),
            received_otherwise: grew(|s| s.received_otherwise),
            delivered: grew(|s| s.delivered),
            forwarded: grew(|s| s.forwarded),
            header_errors: grew(|s| s.header_errors),
            address_errors: grew(|s| s.address_errors),
            in_no_routes: grew(|s| s.in_no_routes),
            unknown_protocols: grew(|s| s.unknown_protocols),
            in_discards: grew(|s| s.in_discards),
            rp_filtered: grew(|s| s.rp_filtered),
            fragments: grew(|s| s.fragments),
            reassembled: grew(|s| s.reassembled),
            reassembly_failures: grew(|s| s.reassembly_failures),
            incomplete: grew(|s| s.incomplete),
            icmp_received: grew(|s| s.icmp_received),
            icmp_sent: grew(|s| s.icmp_sent),
            requested: grew(|s| s.requested),
            transmitted: grew(|s| s.transmitted),
            out_discards: grew(|s| s.out_discards),
            out_no_routes: grew(|s| s.out_no_routes),
        }
    }

    /// What a socket's filter refused: errors that have no counter of their own. Valid for differences.
    pub fn filtered(&self) -> u64 {
        self.in_errors
            .saturating_sub(self.receive_buffer_errors)
            .saturating_sub(self.checksum_errors)
            .saturating_sub(self.memory_errors)
    }

    /// Packets of which parts came, and not all. Valid for differences.
    pub fn in_parts(&self) -> u64 {
        self.reassembly_failures.saturating_add(self.incomplete)
    }

    /// Packets that came to the IP layer and neither to a protocol nor on, for whatever reason. Valid for differences.
    pub fn lost_inside(&self) -> u64 {
        [
            self.vanished_inside(),
            self.rp_filtered,
            self.header_errors,
            self.address_errors,
            self.in_no_routes,
            self.in_discards,
            self.in_parts(),
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    /// Packets that the IP layer was to pass on or to send, and gave to no device: a firewall rule took them on their way through
    /// (Linux counts what is forwarded before it asks the rules). Valid for differences.
    pub fn vanished_passing(&self) -> u64 {
        let wanted = self.forwarded.saturating_add(self.requested);
        [self.transmitted, self.out_discards, self.out_no_routes]
            .into_iter()
            .fold(wanted, u64::saturating_sub)
    }

    /// Packets that came to the IP layer, were in order, and neither went to a protocol nor on: a firewall
    /// rule took them. Valid for differences.
    pub fn vanished_inside(&self) -> u64 {
        [
            self.delivered,
            self.forwarded,
            self.header_errors,
            self.address_errors,
            self.in_no_routes,
            self.unknown_protocols,
            self.in_discards,
            self.rp_filtered,
            self.fragments.saturating_sub(self.reassembled),
        ]
        .into_iter()
        .fold(self.received, u64::saturating_sub)
    }
}

impl Device {
    /// How much each counter grew; what is no counter is as it is now.
    pub fn since(&self, before: &Self) -> Self {
        let grew = |of: fn(&Self) -> u64| of(self).saturating_sub(of(before));
        Self {
            carrier_changes: grew(|d| d.carrier_changes),
            received: grew(|d| d.received),
            receive_drops: grew(|d| d.receive_drops),
            other_host: grew(|d| d.other_host),
            transmitted: grew(|d| d.transmitted),
            transmit_drops: grew(|d| d.transmit_drops),
            queue_drops: self.queue_drops.map(|now| now.saturating_sub(before.queue_drops.unwrap_or(0))),
            ingress_drops: grew(|d| d.ingress_drops),
            filter_drops: grew(|d| d.filter_drops),
            ..self.clone()
        }
    }
}

impl Space {
    /// How much each counter grew; interfaces that are new count from zero.
    pub fn since(&self, before: &Self) -> Self {
        let old = |device: &Device| {
            let devices = before.devices.as_deref().unwrap_or_default();
            devices.iter().find(|old| old.index == device.index && old.name == device.name)
        };
        let none = Device::default();
        let devices = self
            .devices
            .as_ref()
            .map(|devices| devices.iter().map(|device| device.since(old(device).unwrap_or(&none))).collect());
        let flow = self.flow.zip(before.flow).map(|(now, then)| now.since(&then));
        Self { stack: self.stack.since(&before.stack), devices, flow, ..self.clone() }
    }
}

impl Space {
    /// The interfaces that the trial's packets pass.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().flatten().filter(|device| device.on_path)
    }

    /// Whether an interface on the way is down, or was.
    pub(crate) fn is_cut(&self) -> bool {
        self.devices().any(|device| !device.up || device.carrier_changes > 0)
    }

    /// Whether its IP layer counts what it gives to devices: old kernels do not, and say 0.
    pub(crate) fn counts_what_it_gives(&self) -> bool {
        let sent: u64 = self.devices.iter().flatten().map(|device| device.transmitted).sum();
        self.stack.transmitted > 0 || sent < self.stack.forwarded.div_ceil(2)
    }

    /// Packets that arrived at interfaces and not at the IP layer; ARP and the like are among them.
    pub(crate) fn vanished_before(&self) -> u64 {
        let alone = self.devices.iter().flatten().filter(|device| device.own);
        let arrived: u64 = alone.map(|device| device.received.saturating_sub(device.other_host)).sum();
        arrived.saturating_sub(self.stack.received).saturating_sub(self.stack.received_otherwise)
    }

    /// Which way packets go that arrive here; `None` if both.
    pub(crate) fn arrives(&self) -> Option<Way> {
        match self.role {
            Role::Near => Some(Way::Back),
            Role::Far => Some(Way::Out),
            Role::Both | Role::Between => None,
        }
    }

    /// Which way packets go that arrive through an interface.
    pub(crate) fn arrives_through(&self, device: &Device) -> Option<Way> {
        match (self.role, device.leaves) {
            (Role::Between, Some(Way::Out)) => Some(Way::Back),
            (Role::Between, Some(Way::Back)) => Some(Way::Out),
            _ => self.arrives(),
        }
    }

    /// Which way packets go that depart from here.
    pub(crate) fn departs(&self) -> Option<Way> {
        match self.role {
            Role::Near => Some(Way::Out),
            Role::Far => Some(Way::Back),
            Role::Both | Role::Between => None,
        }
    }
}

impl Snapshot {
    /// How much each counter grew; only namespaces that were read both times are in it.
    pub fn since(&self, before: &Self) -> Self {
        let spaces = self.spaces.iter().filter_map(|space| {
            before.spaces.iter().find(|old| old.id == space.id).map(|old| space.since(old))
        });
        let grew = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let target = self.target.zip(before.target).map(|(now, then)| {
            // Other sockets count from zero, and the old ones took what they knew with them.
            let drops = if now.identity == then.identity { then.drops } else { 0 };
            TargetSockets { drops: now.drops.saturating_sub(drops), ..now }
        });
        let reasons = self.reasons.as_ref().zip(before.reasons.as_ref()).map(|(now, then)| {
            let old = |place: &Place| then.get(place).copied().unwrap_or(0);
            now.iter().map(|(place, count)| (*place, count.saturating_sub(old(place)))).collect()
        });
        Self {
            spaces: spaces.collect(),
            target,
            backlog_drops: grew(self.backlog_drops, before.backlog_drops),
            reasons,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_firewall_took_is_what_nothing_else_explains() {
        let stack = Stack {
            received: 1000,
            delivered: 700,
            forwarded: 100,
            rp_filtered: 30,
            header_errors: 20,
            // 90 fragments made 30 packets, which were delivered.
            fragments: 90,
            reassembled: 30,
            ..Stack::default()
        };
        assert_eq!(stack.vanished_inside(), 1000 - 700 - 100 - 30 - 20 - 60);
    }

    /// All counters of an interface, each another one.
    fn counted(times: u64) -> (Stack, Device, Flow) {
        let mut next = 0;
        let mut one = || {
            next += 1;
            next * times
        };
        let stack = Stack {
            udp_read: one(),
            no_ports: one(),
            in_errors: one(),
            receive_buffer_errors: one(),
            send_buffer_errors: one(),
            checksum_errors: one(),
            memory_errors: one(),
            received: one(),
            received_otherwise: one(),
            delivered: one(),
            forwarded: one(),
            header_errors: one(),
            address_errors: one(),
            in_no_routes: one(),
            unknown_protocols: one(),
            in_discards: one(),
            rp_filtered: one(),
            fragments: one(),
            reassembled: one(),
            reassembly_failures: one(),
            incomplete: one(),
            icmp_received: one(),
            icmp_sent: one(),
            requested: one(),
            transmitted: one(),
            out_discards: one(),
            out_no_routes: one(),
        };
        let device = Device {
            carrier_changes: one(),
            received: one(),
            receive_drops: one(),
            other_host: one(),
            transmitted: one(),
            transmit_drops: one(),
            queue_drops: Some(one()),
            queue_waiting: 9,
            ingress_drops: one(),
            filter_drops: one(),
            ..Device::default()
        };
        (stack, device, Flow { came_out: one(), left_out: one(), came_back: one(), left_back: one() })
    }

    #[test]
    fn each_counter_grew_by_what_it_is_now_less_what_it_was() {
        let ((before, device_before, flow_before), (now, device, flow)) = (counted(1), counted(3));
        let grown = (now.since(&before), device.since(&device_before), flow.since(&flow_before));
        assert_eq!(grown, counted(2));
    }

    #[test]
    fn what_no_counter_of_the_ip_layer_explains_is_lost_inside_or_passing() {
        let stack = counted(1).0;
        let inside = Stack { received: 1000, ..stack };
        let explained = 10 + 11 + 12 + 13 + 14 + 15 + 16 + 17;
        // Eighteen fragments came, and made nineteen packets: none is left over.
        assert_eq!(inside.vanished_inside(), 1000 - explained);
        assert_eq!(inside.lost_inside(), 1000 - explained + 17 + 12 + 13 + 14 + 16 + 20 + 21);
        let passing = Stack { forwarded: 300, requested: 50, ..stack };
        assert_eq!(passing.vanished_passing(), 350 - 25 - 26 - 27);
    }

    #[test]
    fn a_filter_is_what_remains_of_the_errors() {
        let stack = Stack {
            in_errors: 10,
            receive_buffer_errors: 4,
            checksum_errors: 1,
            memory_errors: 2,
            ..Stack::default()
        };
        assert_eq!(stack.filtered(), 3);
    }

    #[test]
    fn a_socket_that_was_replaced_counts_from_zero() {
        let at = |identity, drops| Snapshot {
            target: Some(TargetSockets { identity, drops, waiting_bytes: 0 }),
            ..Snapshot::default()
        };
        assert_eq!(at(1, 9).since(&at(1, 4)).target.unwrap().drops, 5);
        assert_eq!(at(2, 3).since(&at(1, 4)).target.unwrap().drops, 3);
    }

    #[test]
    fn an_ip_layer_of_which_half_of_what_it_forwards_was_sent_uncounted_does_not_count_what_it_gives() {
        let counts = |transmitted, forwarded, sent| {
            let device = Device { transmitted: sent, ..Device::default() };
            Space {
                id: 1,
                role: Role::Between,
                stack: Stack { transmitted, forwarded, ..Stack::default() },
                devices: Some(vec![device]),
                hooked: None,
                ruled: None,
                ruled_way: None,
                drops_arriving: Bars::Unseen,
                drops_leaving: Bars::Unseen,
                source_is_own: false,
                neighbour_found: None,
                flow: None,
            }
            .counts_what_it_gives()
        };
        assert_eq!([counts(1, 10, 10), counts(0, 10, 5), counts(0, 10, 4)], [true, false, true]);
        assert_eq!([counts(0, 9, 5), counts(0, 9, 4)], [false, true]);
    }
}
